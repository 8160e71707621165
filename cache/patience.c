#include "cache/patience.h"

int64_t patience_now(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

struct timespec patience_time(int64_t moment)
{
    return (struct timespec){.tv_sec = (time_t)(moment / 1000),
                             .tv_nsec = (long)(moment % 1000) * 1000000};
}

bool patience_wait(int64_t deadline, int count)
{
    int64_t left = deadline - patience_now();

    if (left <= 0)
        return false;
    /* Locks are mostly held for a millisecond; one that is not will not end sooner for being asked
     * often. */
    int64_t pause = count < 3 ? 1 : count < 8 ? 4 : 15;
    struct timespec sleep = patience_time(pause < left ? pause : left);

    nanosleep(&sleep, NULL);
    return true;
}
