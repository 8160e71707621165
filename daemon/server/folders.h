#ifndef DAEMON_SERVER_FOLDERS_H
#define DAEMON_SERVER_FOLDERS_H
/*
 * The folders that are watched, and what each back end of the watch knows of them: one table, under
 * one lock, for all of them. Who walks a tree adds folders on a worker, while the loop thread hears
 * of changes and removes others. Any thread; freed with the last holder.
 */
#include <stdbool.h>
#include <stddef.h>

enum folders_kind { FOLDERS_EVENTS, FOLDERS_POLLED, FOLDERS_KINDS };

struct folders;

struct folders *folders_new(void); /* the caller is the first holder */
struct folders *folders_hold(struct folders *folders);
void folders_drop(struct folders *folders);

bool folders_has(struct folders *folders, const char *path); /* of any kind */
size_t folders_count(struct folders *folders);               /* each once */

/* --- for back ends: what belongs together is done between these --------------------------------
 */

void folders_lock(struct folders *folders);
void folders_unlock(struct folders *folders);
/* NULL where that kind does not watch it. */
void *folders_get(const struct folders *folders, enum folders_kind kind, const char *path);
/* There may be none of that kind. */
void folders_put(struct folders *folders, enum folders_kind kind, const char *path, void *value);
void folders_take(struct folders *folders, enum folders_kind kind, const char *path);
/* The path of folder or of one below it, borrowed until the next change; NULL: there is none. */
const char *folders_first(const struct folders *folders, enum folders_kind kind,
                          const char *folder);
/* All paths of the kind, borrowed until the lock is given back; an array to be freed. */
const char **folders_list(const struct folders *folders, enum folders_kind kind, size_t *count);

#endif
