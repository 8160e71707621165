#include "client/sources.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Folders nested deeper than this are not a project's. */
enum { DEEPEST = 128 };

static bool ends_in(const char *name, const char *ending)
{
    size_t length = strlen(name), tail = strlen(ending);

    return length > tail && !strcmp(name + length - tail, ending);
}

static void add_file(struct invocation *v, struct sources *s, const char *path, bool named,
                     const struct stat *status)
{
    for (int i = 0; i < s->count; i++)
        if (s->list[i].device == status->st_dev && s->list[i].inode == status->st_ino) {
            s->list[i].named = s->list[i].named || named;
            return;
        }
    APPEND(&v->context->arena, s->list, s->count, s->room) = (struct source_file){
        .path = path,
        .script = ends_in(path, ".cs"),
        .named = named,
        .device = status->st_dev,
        .inode = status->st_ino,
    };
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Names are gathered and the folder closed before any of them is looked at: neither the depth of
 * folders nor a way out costs descriptors. */
static const char **list_names(struct arena *arena, const char *path, int *count)
{
    DIR *folder = opendir(path);
    const char **names = NULL;
    int room = 0;

    *count = 0;
    if (!folder)
        return NULL;
    for (const struct dirent *e; (e = readdir(folder));)
        if (e->d_name[0] != '.')
            APPEND(arena, names, *count, room) = arena_strdup(arena, e->d_name);
    closedir(folder);
    if (*count)
        qsort(names, (size_t)*count, sizeof *names, compare_names);
    return names;
}

static void add_folder(struct invocation *v, struct sources *s, const char *path, int depth)
{
    struct arena *arena = &v->context->arena;
    size_t length = strlen(path);
    const char *slash = length && path[length - 1] == '/' ? "" : "/";
    int count;
    const char **names = list_names(arena, path, &count);

    for (int i = 0; i < count; i++) {
        const char *entry = arena_printf(arena, "%s%s%s", path, slash, names[i]);
        struct stat status;

        if (lstat(entry, &status))
            continue;
        if (S_ISDIR(status.st_mode)) {
            if (depth < DEEPEST)
                add_folder(v, s, entry, depth + 1);
        } else if ((ends_in(entry, ".cs") || ends_in(entry, ".onnx")) && !stat(entry, &status) &&
                   S_ISREG(status.st_mode)) {
            add_file(v, s, entry, false, &status);
        }
    }
}

void sources_collect(struct invocation *v, struct sources *sources)
{
    memset(sources, 0, sizeof *sources);
    for (int i = 0; i < v->operand_count; i++) {
        const char *path = v->operands[i];
        struct stat status;

        invocation_operand(v, path);
        if (stat(path, &status))
            continue;
        if (S_ISDIR(status.st_mode))
            add_folder(v, sources, path, 0);
        else
            add_file(v, sources, path, true, &status);
    }
}

char *source_text(struct arena *arena, const char *path, size_t *length)
{
    struct stat status;
    char *text = NULL;
    size_t used = 0;
    int descriptor = -1;

    /* Room first: the arena may leave the job, and nothing is to be open then. */
    if (stat(path, &status))
        return NULL;
    if (!S_ISREG(status.st_mode)) {
        errno = EINVAL;
        return NULL;
    }
    text = arena_alloc(arena, (size_t)status.st_size + 1);
    descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (descriptor < 0)
        return NULL;
    while (used < (size_t)status.st_size) {
        ssize_t got = read(descriptor, text + used, (size_t)status.st_size - used);

        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0) {
            int error = errno;

            close(descriptor);
            errno = error;
            return NULL;
        }
        if (got == 0)
            break;
        used += (size_t)got;
    }
    close(descriptor);
    *length = used;
    return text;
}

const char *source_folder(struct arena *arena, const char *path)
{
    const char *slash = strrchr(path, '/');
    size_t length = !slash ? 0 : slash == path ? 1 : (size_t)(slash - path);
    char *folder = arena_alloc(arena, length + 1);

    memcpy(folder, path, length);
    return folder;
}
