#include "daemon/server/path.h"

#include "daemon/server/memory.h"
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define SETTLED_NS 2000000000
#define LINKS_MAX 40 /* as the kernel's */

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

/* --- links ------------------------------------------------------------------------------------ */

void path_list_add(struct path_list *paths, const char *path)
{
    if (path_list_has(paths, path))
        return;
    paths->list = memory_grow(paths->list, paths->count, sizeof *paths->list);
    paths->list[paths->count++] = memory_text(path);
}

bool path_list_has(const struct path_list *paths, const char *path)
{
    for (size_t i = 0; i < paths->count; i++)
        if (strcmp(paths->list[i], path) == 0)
            return true;
    return false;
}

bool path_list_inside(const struct path_list *paths, const char *folder)
{
    for (size_t i = 0; i < paths->count; i++)
        if (path_inside(folder, paths->list[i]))
            return true;
    return false;
}

void path_list_release(struct path_list *paths)
{
    for (size_t i = 0; i < paths->count; i++)
        free(paths->list[i]);
    free(paths->list);
    *paths = (struct path_list){NULL, 0};
}

/* What a link says; NULL: it is none, which is EINVAL, or cannot be reached. */
static char *link_text(const char *path)
{
    char text[PATH_MAX];
    ssize_t length = readlink(path, text, sizeof text - 1);

    if (length < 0)
        return NULL;
    text[length] = '\0';
    return memory_text(text);
}

/* The first component of the rest, taken off it; "" at the end. */
static char *take_component(char **rest)
{
    char *from = *rest + strspn(*rest, "/"), *name, *left;
    size_t length = strcspn(from, "/");

    name = memory_printf("%.*s", (int)length, from);
    left = memory_text(from + length);
    free(*rest);
    *rest = left;
    return name;
}

void path_trace(const char *path, bool end, struct path_list *links)
{
    char *here = memory_text("/"), *rest = memory_text(path);
    int met = 0;

    while (met < LINKS_MAX) {
        char *name = take_component(&rest), *next, *text;
        bool last = !*name, missing;

        if (strcmp(name, "..") == 0)
            next = path_folder(here);
        else if (!*name || strcmp(name, ".") == 0)
            next = memory_text(here);
        else
            next = path_join(here, name);
        text = link_text(next);
        missing = !text && errno != EINVAL;
        if (text) {
            char *longer = path_join(text, rest);

            met++;
            path_list_add(links, next);
            free(rest);
            rest = longer;
            if (*text == '/') {
                free(here);
                here = memory_text("/");
            }
            free(next);
        } else {
            free(here);
            here = next;
        }
        free(text);
        free(name);
        if (last || missing) {
            if (missing ? !last || met : met && end)
                path_list_add(links, here);
            break;
        }
    }
    free(here);
    free(rest);
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

bool path_identity(const char *path, struct file_identity *identity)
{
    struct stat status;

    *identity = (struct file_identity){0};
    if (stat(path, &status) < 0 || !S_ISREG(status.st_mode))
        return false;
    file_identity_of(&status, identity);
    return true;
}

bool file_identity_settled(const struct file_identity *identity, int64_t at_ns)
{
    return at_ns - identity->modified_ns >= SETTLED_NS &&
           at_ns - identity->changed_ns >= SETTLED_NS;
}
