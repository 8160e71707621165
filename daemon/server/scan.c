#include "daemon/server/scan.h"

#include "daemon/language/script.h"
#include "daemon/outputs.h"
#include "daemon/server/memory.h"
#include "daemon/server/path.h"
#include "daemon/server/table.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define DEPTH_LIMIT 64

struct walk {
    struct scan *scan;
    struct watch *watch;
    const atomic_bool *cancel;
    struct table visited; /* "device:inode" */
};

int scan_read_file(const char *path, size_t limit, char **bytes, size_t *size)
{
    struct buffer read_bytes = BUFFER_EMPTY;
    struct stat status;
    int descriptor, rc = 0;

    *bytes = NULL;
    *size = 0;
    /* Looking first keeps devices and pipes from being opened at all. */
    if (stat(path, &status) < 0)
        return -errno;
    if (!S_ISREG(status.st_mode))
        return S_ISDIR(status.st_mode) ? -EISDIR : -EINVAL;
    descriptor = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
    if (descriptor < 0)
        return -errno;
    for (;;) {
        ssize_t got;

        if (read_bytes.length > limit) {
            rc = -EFBIG;
            break;
        }
        rc = buffer_reserve(&read_bytes, 64 * 1024);
        if (rc < 0)
            break;
        got = pread(descriptor, read_bytes.data + read_bytes.length, 64 * 1024,
                    (off_t)read_bytes.length);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            rc = -errno;
        if (got <= 0)
            break;
        read_bytes.length += (size_t)got;
        read_bytes.data[read_bytes.length] = '\0';
    }
    close(descriptor);
    if (rc == 0) {
        *bytes = buffer_take(&read_bytes, size);
        if (!*bytes)
            rc = -ENOMEM;
    }
    buffer_release(&read_bytes);
    return rc;
}

static void add(char ***list, size_t *count, const char *path)
{
    *list = memory_grow(*list, *count, sizeof **list);
    (*list)[(*count)++] = memory_text(path);
}

static void visit_file(struct walk *walk, const char *path)
{
    struct scan *scan = walk->scan;

    atomic_fetch_add_explicit(&scan->files, 1, memory_order_relaxed);
    if (path_ends(path, ".onnx")) {
        add(&scan->models, &scan->model_count, path);
    } else if (path_ends(path, ".cs")) {
        char *bytes;
        size_t size;

        if (scan_read_file(path, CSHARP_TEXT_MAX, &bytes, &size) == 0 &&
            script_possible(bytes, size))
            add(&scan->scripts, &scan->script_count, path);
        free(bytes);
    }
}

static bool first_visit(struct walk *walk, int descriptor)
{
    struct stat status;
    char key[48];

    if (fstat(descriptor, &status) < 0)
        return false;
    snprintf(key, sizeof key, "%llx:%llx", (unsigned long long)status.st_dev,
             (unsigned long long)status.st_ino);
    return !table_put(&walk->visited, key, walk);
}

static void visit_folder(struct walk *walk, const char *path, int depth)
{
    int descriptor = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    DIR *folder = NULL;
    struct dirent *entry;
    struct stat here;
    bool temporary = false;

    if (descriptor < 0 || !first_visit(walk, descriptor))
        goto out;
    /* Watched before it is listed: what comes in between is seen twice, not never. */
    if (walk->watch) {
        int rc = watch_add(walk->watch, path);

        if ((rc == -ENOSPC || rc == -EMFILE) && !walk->scan->limit) {
            walk->scan->limit = rc;
            walk->scan->unwatched = memory_text(path);
        }
    }
    if (depth == 0 && fstat(descriptor, &here) == 0) {
        walk->scan->device = here.st_dev;
        walk->scan->inode = here.st_ino;
    }
    walk->scan->folders++;
    folder = fdopendir(descriptor);
    if (!folder)
        goto out;
    descriptor = -1;
    while ((entry = readdir(folder)) && !(walk->cancel && atomic_load(walk->cancel))) {
        struct stat status;
        char *child;

        temporary = temporary || outputs_is_temporary(entry->d_name);
        if (entry->d_name[0] == '.')
            continue;
        child = path_join(path, entry->d_name);
        if (entry->d_type == DT_DIR || (entry->d_type == DT_UNKNOWN && lstat(child, &status) == 0 &&
                                        S_ISDIR(status.st_mode))) {
            if (depth < DEPTH_LIMIT)
                visit_folder(walk, child, depth + 1);
        } else if (stat(child, &status) == 0 && S_ISREG(status.st_mode)) {
            visit_file(walk, child);
        }
        free(child);
    }
    if (temporary && outputs_sweep(path))
        path_list_add(&walk->scan->leftovers, path);
out:
    if (folder)
        closedir(folder);
    if (descriptor >= 0)
        close(descriptor);
}

static int compare(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

void scan_run(struct scan *scan, const char *folder, struct watch *watch, const atomic_bool *cancel)
{
    struct walk walk = {.scan = scan, .watch = watch, .cancel = cancel};

    visit_folder(&walk, folder, 0);
    table_release(&walk.visited);
    if (scan->script_count)
        qsort(scan->scripts, scan->script_count, sizeof *scan->scripts, compare);
    if (scan->model_count)
        qsort(scan->models, scan->model_count, sizeof *scan->models, compare);
}

void scan_release(struct scan *scan)
{
    for (size_t i = 0; i < scan->script_count; i++)
        free(scan->scripts[i]);
    for (size_t i = 0; i < scan->model_count; i++)
        free(scan->models[i]);
    free(scan->scripts);
    free(scan->models);
    free(scan->unwatched);
    path_list_release(&scan->leftovers);
}
