#ifndef CACHE_PATIENCE_H
#define CACHE_PATIENCE_H

#include <stdbool.h>
#include <stdint.h>

/*
 * How long the cache waits for somebody else before it calls the matter a miss: for another thread,
 * for another process at the folder's lock, for a lock of sqlite. Times are milliseconds of
 * CLOCK_MONOTONIC.
 */

#define PATIENCE_MS 200
/* After patience ran out once, nobody waits for this long: a compile asks hundreds of times. */
#define PATIENCE_PAUSE_MS 1000

int64_t patience_now(void);
/*
 * Sleeps a little before attempt number `count` (from 0), never past `deadline`. False, at once,
 * when it has come: give up.
 */
bool patience_wait(int64_t deadline, int count);

#endif
