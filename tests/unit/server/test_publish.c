#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <uv.h>

#include "daemon/server/publish.h"
#include "daemon/server/server.h"
#include "daemon/server/turn.h"
#include "daemon/server/workspace.h"

enum { MANY = 2 * TURN_THINGS, TURNS = 50 };

static uv_loop_t loop;
static const struct server_options options;
static struct server server = {.loop = &loop, .options = &options};
static int turns;

static void path_of(int i, char path[32])
{
    snprintf(path, 32, "/none/%d.cs", i);
}

/* Takes all room of the turn before what is published has its part of it. */
static void before_timers(uv_check_t *check)
{
    struct member *member;
    char path[32];

    if (turns == 0) {
        for (int i = 0; i < MANY; i++) {
            path_of(i, path);
            publish_touch(server.publish, path);
        }
    } else if (turns == 2) {
        /* What was taken out to be published begins to be worked on. */
        for (int i = 0; i < MANY; i++) {
            path_of(i, path);
            member = member_new(server.workspace, MEMBER_SCRIPT, path);
            member->busy_since_ms = workspace_now_ms(server.workspace);
        }
    } else if (turns == TURNS) {
        uv_check_stop(check);
        uv_stop(check->loop);
    }
    turns++;
    while (turn_has_room(check->loop))
        turn_more(check->loop);
}

static void tick(uv_timer_t *timer)
{
    (void)timer;
}

static void test_turns(void **state)
{
    struct turn_figures figures;
    uv_check_t check;
    uv_timer_t timer;

    (void)state;
    assert_int_equal(uv_loop_init(&loop), 0);
    server.turn = turn_new(&loop);
    server.workspace = workspace_new(&server);
    server.publish = publish_new(&server);
    uv_check_init(&loop, &check);
    uv_check_start(&check, before_timers);
    uv_timer_init(&loop, &timer);
    uv_timer_start(&timer, tick, 1, 1);
    uv_run(&loop, UV_RUN_DEFAULT);
    turn_figures(server.turn, &figures);
    assert_true(figures.most_things <= TURN_THINGS + 1 && figures.cut >= TURNS - 2);
    workspace_free(server.workspace);
    publish_free(server.publish);
    turn_free(server.turn);
    uv_close((uv_handle_t *)&check, NULL);
    uv_close((uv_handle_t *)&timer, NULL);
    uv_run(&loop, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(&loop), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_turns),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
