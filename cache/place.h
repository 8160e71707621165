#ifndef CACHE_PLACE_H
#define CACHE_PLACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Where the cache's file lies: its folder, its permissions, the file system, putting it aside.
 * Knows no sqlite; but the names that sqlite appends (-wal, -shm, -journal) belong to the file and
 * move with it.
 *
 * `why` (n bytes) receives a sentence without a full stop when a function fails.
 */

/*
 * The real path (absolute, links resolved; malloc'ed, the caller frees it) of a cache that may lie
 * at `path`. Makes the folders that are missing (0700). NULL: no cache can lie there, because the
 * folder cannot be made or looked at, is on a file system over a network or in user space (whose
 * locks and shared memory sqlite cannot trust), or because something other than a regular file of
 * ours is there.
 */
char *place_find(const char *path, char *why, size_t n);

/*
 * Makes sure, before each opening, that `path` (as place_find() gave it) is a regular file of ours,
 * mode 0600: makes the folder and an empty file where missing. 0, or an errno: EMFILE, ENFILE and
 * ENOMEM pass, the others do not.
 */
int place_make(const char *path, char *why, size_t n);

/*
 * Takes the lock (flock on the folder) under which processes open the file and put it aside, so
 * that nobody opens one half of what another one is renaming. The descriptor, which the caller
 * closes to unlock; or a negative errno, -EWOULDBLOCK where the deadline (patience.h) came first.
 */
int place_lock(const char *path, int64_t deadline);

/*
 * Renames the file and what belongs to it to PATH.bad, over what is there. Under the lock. False:
 * the file is still where it was.
 */
bool place_put_aside(const char *path);
/* Removes what was put aside. */
void place_forget_aside(const char *path);

#endif
