#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/server/settle.h"

static void expect(struct settle *settle, int64_t now, const char *path)
{
    char *next = settle_next(settle, now);

    if (path)
        assert_string_equal(next, path);
    else
        assert_null(next);
    free(next);
}

static void test_quiet(void **state)
{
    struct settle settle = {.ready = NULL};

    (void)state;
    assert_int_equal(settle_wait(&settle, 0), -1);
    settle_touch(&settle, "/a", 1000);
    assert_int_equal(settle_wait(&settle, 1000), SETTLE_QUIET_MS);
    expect(&settle, 1000 + SETTLE_QUIET_MS - 1, NULL);
    /* Another change: the quiet begins anew. */
    settle_touch(&settle, "/a", 1000 + SETTLE_QUIET_MS - 1);
    expect(&settle, 1000 + SETTLE_QUIET_MS, NULL);
    expect(&settle, 1000 + 2 * SETTLE_QUIET_MS - 1, "/a");
    expect(&settle, 1000 + 2 * SETTLE_QUIET_MS, NULL);
    assert_int_equal(settle_wait(&settle, 5000), -1);
    settle_release(&settle);
}

/* What never rests is looked at all the same, and then begins anew. */
static void test_limit(void **state)
{
    struct settle settle = {.ready = NULL};
    int64_t now = 0;

    (void)state;
    for (; now < SETTLE_LIMIT_MS; now += SETTLE_QUIET_MS / 2) {
        settle_touch(&settle, "/a", now);
        expect(&settle, now, NULL);
    }
    expect(&settle, SETTLE_LIMIT_MS, "/a");
    settle_touch(&settle, "/a", SETTLE_LIMIT_MS + 1);
    expect(&settle, SETTLE_LIMIT_MS + 2, NULL);
    settle_release(&settle);
}

static void test_order_and_forgetting(void **state)
{
    struct settle settle = {.ready = NULL};

    (void)state;
    settle_touch(&settle, "/b/x", 0);
    settle_touch(&settle, "/a", 10);
    settle_touch(&settle, "/b/y", 0);
    settle_touch(&settle, "/bb", 0);
    settle_forget(&settle, "/b", true);
    expect(&settle, SETTLE_QUIET_MS, "/bb");
    assert_int_equal(settle_wait(&settle, SETTLE_QUIET_MS), 10);
    settle_touch(&settle, "/0", 0);
    expect(&settle, 1000, "/0");
    settle_forget(&settle, "/a", false);
    expect(&settle, 1000, NULL);
    settle_release(&settle);
}

/* Many at random, against a list: each comes once, when it is due, and none that was forgotten. */
static void test_many(void **state)
{
    enum { MANY = 2000, STEPS = 4000 };
    static int64_t first[MANY], last[MANY];
    struct settle settle = {.ready = NULL};
    size_t came = 0;

    (void)state;
    srand(3);
    for (int i = 0; i < MANY; i++)
        first[i] = -1;
    for (int64_t now = 0; now < STEPS; now++) {
        char path[32], *next;

        for (int k = 0; k < 8 && now < STEPS - 3000; k++) {
            int i = rand() % MANY;

            snprintf(path, sizeof path, "/%d/%d", i % 40, i);
            settle_touch(&settle, path, now);
            first[i] = first[i] < 0 ? now : first[i];
            last[i] = now;
        }
        if (rand() % 100 == 0) {
            int folder = rand() % 40;

            snprintf(path, sizeof path, "/%d", folder);
            settle_forget(&settle, path, true);
            for (int i = folder; i < MANY; i += 40)
                first[i] = -1;
        }
        while ((next = settle_next(&settle, now))) {
            int i = atoi(strrchr(next, '/') + 1);

            assert_true(first[i] >= 0);
            assert_int_equal(now, last[i] + SETTLE_QUIET_MS < first[i] + SETTLE_LIMIT_MS
                                      ? last[i] + SETTLE_QUIET_MS
                                      : first[i] + SETTLE_LIMIT_MS);
            first[i] = -1;
            came++;
            free(next);
        }
    }
    assert_true(came > MANY / 2);
    assert_int_equal(settle_wait(&settle, STEPS), -1);
    settle_release(&settle);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_quiet),
        cmocka_unit_test(test_limit),
        cmocka_unit_test(test_order_and_forgetting),
        cmocka_unit_test(test_many),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
