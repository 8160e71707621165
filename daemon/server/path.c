#include "daemon/server/path.h"

#include "daemon/server/memory.h"
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define SETTLED_NS 2000000000

const char *path_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

char *path_folder(const char *path)
{
    const char *slash = strrchr(path, '/');

    if (!slash)
        return memory_text(".");
    return slash == path ? memory_text("/") : memory_printf("%.*s", (int)(slash - path), path);
}

char *path_join(const char *folder, const char *name)
{
    size_t length = strlen(folder);

    return memory_printf("%s%s%s", folder, length && folder[length - 1] == '/' ? "" : "/", name);
}

/* In place; path begins with a slash. */
static void squeeze(char *path)
{
    char *out = path;

    for (char *at = path; *at;) {
        char *end;

        while (*at == '/')
            at++;
        end = strchr(at, '/');
        if (!end)
            end = at + strlen(at);
        if (end - at == 2 && memcmp(at, "..", 2) == 0) {
            while (out > path && *--out != '/')
                ;
        } else if (end > at && !(end - at == 1 && *at == '.')) {
            *out++ = '/';
            memmove(out, at, (size_t)(end - at));
            out += end - at;
        }
        at = end;
    }
    if (out == path)
        *out++ = '/';
    *out = '\0';
}

char *path_canonical(const char *path)
{
    char *absolute, *folder, *resolved, *result = NULL;
    const char *name;

    if (*path == '/') {
        absolute = memory_text(path);
    } else {
        char *here = getcwd(NULL, 0);

        absolute = path_join(here ? here : "/", path);
        free(here);
    }
    for (size_t length = strlen(absolute); length > 1 && absolute[length - 1] == '/';)
        absolute[--length] = '\0';
    folder = path_folder(absolute);
    name = path_name(absolute);
    if (!*name || strcmp(name, ".") == 0 || strcmp(name, "..") == 0) {
        resolved = realpath(absolute, NULL);
        if (resolved)
            result = memory_text(resolved);
    } else {
        resolved = realpath(folder, NULL);
        if (resolved)
            result = path_join(resolved, name);
    }
    if (!result) {
        result = absolute;
        absolute = NULL;
        squeeze(result);
    }
    free(resolved);
    free(folder);
    free(absolute);
    return result;
}

bool path_inside(const char *folder, const char *path)
{
    size_t length = strlen(folder);

    return strncmp(folder, path, length) == 0 &&
           (path[length] == '\0' || path[length] == '/' || (length && folder[length - 1] == '/'));
}

bool path_ends(const char *path, const char *suffix)
{
    size_t length = strlen(path), end = strlen(suffix);

    return length >= end && strcmp(path + length - end, suffix) == 0;
}

static int64_t nanoseconds(struct timespec time)
{
    int64_t ns;

    if (__builtin_mul_overflow((int64_t)time.tv_sec, 1000000000, &ns))
        return 0;
    return __builtin_add_overflow(ns, (int64_t)time.tv_nsec, &ns) ? 0 : ns;
}

bool path_identity(const char *path, struct file_identity *identity)
{
    struct stat status;

    *identity = (struct file_identity){0};
    if (stat(path, &status) < 0 || !S_ISREG(status.st_mode))
        return false;
    *identity = (struct file_identity){.device = (uint64_t)status.st_dev,
                                       .inode = (uint64_t)status.st_ino,
                                       .size = (uint64_t)status.st_size,
                                       .modified_ns = nanoseconds(status.st_mtim),
                                       .changed_ns = nanoseconds(status.st_ctim)};
    return true;
}

bool file_identity_equal(const struct file_identity *a, const struct file_identity *b)
{
    return a->device == b->device && a->inode == b->inode && a->size == b->size &&
           a->modified_ns == b->modified_ns && a->changed_ns == b->changed_ns;
}

int64_t path_now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    return nanoseconds(now);
}

bool file_identity_settled(const struct file_identity *identity, int64_t at_ns)
{
    return at_ns - identity->modified_ns >= SETTLED_NS &&
           at_ns - identity->changed_ns >= SETTLED_NS;
}
