#ifndef DAEMON_SERVER_WRITE_H
#define DAEMON_SERVER_WRITE_H
/*
 * Puts generated files beside their script (daemon/outputs.h), with what a daemon adds to that: its
 * own writes are announced to the watch, and what an asset came to is remembered in the cache, so
 * that after a start its bytes need not be made to know that they are right.
 *
 * On a worker; one write of a unit at a time.
 */
#include "cache/cache.h"
#include "daemon/outputs.h"
#include "daemon/server/watch.h"

struct write_order {
    struct compile *compile; /* COMPILE_OK */
    const char *folder;      /* of the script, canonical */
    bool with_source;        /* the `.cs` too */
    struct cache *cache;     /* may be NULL */
    struct watch *watch;     /* may be NULL */
    const atomic_bool *cancel;
};

/* outputs is filled, also where it fails (false); outputs_release() it in either case. */
bool write_files(const struct write_order *order, struct outputs *outputs);

#endif
