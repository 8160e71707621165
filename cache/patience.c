#include "cache/patience.h"
#include <time.h>

int64_t patience_now(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

bool patience_wait(int64_t deadline, int count)
{
    int64_t left = deadline - patience_now();

    if (left <= 0)
        return false;
    /* Locks are mostly held for a millisecond; one that is not will not end sooner for being asked
     * often. */
    int64_t pause = count < 3 ? 1 : count < 8 ? 4 : 15;
    struct timespec sleep = {.tv_nsec = (long)(pause < left ? pause : left) * 1000000};

    nanosleep(&sleep, NULL);
    return true;
}
