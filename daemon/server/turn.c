#include "daemon/server/turn.h"

#include "daemon/server/log.h"
#include "daemon/server/memory.h"
#include <stdlib.h>
#include <time.h>
#include <uv.h>

/* A longer turn is noted. */
#define LONG_US 10000

struct turn {
    uv_prepare_t prepare;
    int64_t began_us;
    size_t things;
    bool full;
    struct turn_figures figures;
};

static int64_t ran_us(void)
{
    struct timespec now;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

/* Before the loop waits. */
static void over(uv_prepare_t *handle)
{
    struct turn *turn = handle->data;
    int64_t now = ran_us(), took = now - turn->began_us;

    if (took > turn->figures.longest_us)
        turn->figures.longest_us = took;
    if (turn->things > turn->figures.most_things)
        turn->figures.most_things = turn->things;
    if (took > LONG_US)
        log_line(LOG_DEBUG, "a turn of the loop took %lld us", (long long)took);
    turn->figures.cut += turn->full;
    turn->began_us = now;
    turn->things = 0;
    turn->full = false;
}

struct turn *turn_new(struct uv_loop_s *loop)
{
    struct turn *turn = memory_new(sizeof *turn);

    uv_prepare_init(loop, &turn->prepare);
    turn->prepare.data = turn;
    turn->began_us = ran_us();
    uv_prepare_start(&turn->prepare, over);
    uv_unref((uv_handle_t *)&turn->prepare);
    loop->data = turn;
    return turn;
}

static void closed(uv_handle_t *handle)
{
    free(handle->data);
}

void turn_free(struct turn *turn)
{
    if (!turn)
        return;
    turn->prepare.loop->data = NULL;
    uv_close((uv_handle_t *)&turn->prepare, closed);
}

bool turn_has_room(struct uv_loop_s *loop)
{
    struct turn *turn = loop->data;

    if (!turn || turn->full)
        return !turn;
    turn->full = turn->things >= TURN_THINGS || ran_us() - turn->began_us >= TURN_US;
    return !turn->full;
}

void turn_did(struct uv_loop_s *loop, size_t things)
{
    struct turn *turn = loop->data;

    if (turn)
        turn->things += things;
}

bool turn_more(struct uv_loop_s *loop)
{
    turn_did(loop, 1);
    return turn_has_room(loop);
}

void turn_figures(const struct turn *turn, struct turn_figures *figures)
{
    *figures = turn->figures;
}
