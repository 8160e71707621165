#ifndef DAEMON_SERVER_SETTLE_H
#define DAEMON_SERVER_SETTLE_H
/*
 * When a change is worth looking at: after 50 ms without another one of the same file, at most 2 s
 * after the first. Pure: times in milliseconds come from the caller and never go backwards. A
 * zeroed settle is empty. Whatever is done to one path costs no look at the others.
 */
#include "daemon/server/tree.h"

#define SETTLE_QUIET_MS 50
#define SETTLE_LIMIT_MS 2000

struct settle_entry;

struct settle {
    struct tree paths; /* struct settle_entry */
    /* By the time at which each was due when it was put there; it may be later by now. */
    struct settle_heap {
        struct settle_entry **entries;
        size_t count;
    } waiting;
    struct settle_entry **ready; /* their time has come, by path */
    size_t ready_count, ready_at;
};

void settle_release(struct settle *settle);
void settle_touch(struct settle *settle, const char *path, int64_t now_ms);
/* Forgets the path, and with `below` all that lie below it. */
void settle_forget(struct settle *settle, const char *path, bool below);
/* A path whose time has come, taken out, a new C string; NULL: none. Of some that were due at once,
 * in the order of their bytes. */
char *settle_next(struct settle *settle, int64_t now_ms);
/* Milliseconds until there is something to look for, 0 for now; -1: nothing waits. */
int64_t settle_wait(struct settle *settle, int64_t now_ms);

#endif
