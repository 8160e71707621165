#ifndef DAEMON_SERVER_PATH_H
#define DAEMON_SERVER_PATH_H
/*
 * Paths as the daemon knows files by. A canonical path is absolute; every link in its folder is
 * resolved, the name itself is not (an atomic save replaces a name, not what it leads to). Results
 * are new C strings. Any thread.
 */
#include "daemon/compiler/model/load.h"
#include <stdbool.h>

/* Where the folder does not exist: `.`, `..` and doubled slashes are taken out of the text. */
char *path_canonical(const char *path);
char *path_folder(const char *path);
const char *path_name(const char *path);
char *path_join(const char *folder, const char *name);
/* True where path is folder or lies below it; both canonical. */
bool path_inside(const char *folder, const char *path);
bool path_ends(const char *path, const char *suffix);

/* Paths that something depends on, each once. A zeroed list is empty. */
struct path_list {
    char **list;
    size_t count;
};
void path_list_add(struct path_list *paths, const char *path);
bool path_list_has(const struct path_list *paths, const char *path);
/* Whether one of them is folder or lies below it. */
bool path_list_inside(const struct path_list *paths, const char *folder);
void path_list_release(struct path_list *paths);

/* Adds the links that are met on the way to path (any absolute one), by canonical paths, and the
 * first thing on it that is missing or cannot be reached; with `end` what a link leads to in the
 * end, too. */
void path_trace(const char *path, bool end, struct path_list *links);

/* stat() in the compiler's terms, links followed; false: not there, or no regular file. */
bool path_identity(const char *path, struct file_identity *identity);
/* Whether a stat may stand for the content that was read at that time (started at_ns): both times 2
 * s older. */
bool file_identity_settled(const struct file_identity *identity, int64_t at_ns);

#endif
