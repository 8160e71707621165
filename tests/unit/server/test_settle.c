#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>

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
    struct settle settle = {{NULL, 0, 0, 0}};

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
    struct settle settle = {{NULL, 0, 0, 0}};
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
    struct settle settle = {{NULL, 0, 0, 0}};

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_quiet),
        cmocka_unit_test(test_limit),
        cmocka_unit_test(test_order_and_forgetting),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
