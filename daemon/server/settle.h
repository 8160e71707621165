#ifndef DAEMON_SERVER_SETTLE_H
#define DAEMON_SERVER_SETTLE_H
/*
 * When a change is worth looking at: after 50 ms without another one of the same file, at most 2 s
 * after the first. Pure: times in milliseconds come from the caller and never go backwards. A
 * zeroed settle is empty.
 */
#include "daemon/server/table.h"

#define SETTLE_QUIET_MS 50
#define SETTLE_LIMIT_MS 2000

struct settle {
    struct table paths; /* struct settle_entry */
};

void settle_release(struct settle *settle);
void settle_touch(struct settle *settle, const char *path, int64_t now_ms);
/* Forgets the path, and with `below` all that lie below it. */
void settle_forget(struct settle *settle, const char *path, bool below);
/* A path whose time has come, taken out, a new C string; NULL: none. Of several, in the order of
 * their bytes. */
char *settle_next(struct settle *settle, int64_t now_ms);
/* Milliseconds until the next is due, 0 for now; -1: nothing waits. */
int64_t settle_wait(const struct settle *settle, int64_t now_ms);

#endif
