#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/server/path.h"
#include "daemon/server/tree.h"

static int values[64];

static size_t below(const struct tree *tree, const char *folder)
{
    size_t count;

    free(tree_below(tree, folder, &count));
    return count;
}

static void test_paths(void **state)
{
    struct tree tree = {.count = 0};

    (void)state;
    assert_null(tree_get(&tree, "/a"));
    assert_null(tree_take(&tree, "/a"));
    assert_null(tree_pop(&tree, "/"));
    assert_null(tree_put(&tree, "/a/b/c", &values[0]));
    /* The folders on the way have no value. */
    assert_null(tree_get(&tree, "/a/b"));
    assert_null(tree_take(&tree, "/a/b"));
    assert_null(tree_put(&tree, "/a", &values[1]));
    assert_null(tree_put(&tree, "/ab", &values[2]));
    assert_ptr_equal(tree_put(&tree, "/ab", &values[3]), &values[2]);
    assert_int_equal(tree.count, 3);
    assert_int_equal(below(&tree, "/"), 3);
    assert_int_equal(below(&tree, "/a"), 2);
    assert_int_equal(below(&tree, "/a/b"), 1);
    assert_int_equal(below(&tree, "/a/b/c"), 1);
    assert_int_equal(below(&tree, "/b"), 0);
    assert_ptr_equal(tree_take(&tree, "/a"), &values[1]);
    assert_int_equal(below(&tree, "/a"), 1);
    assert_ptr_equal(tree_pop(&tree, "/a"), &values[0]);
    assert_null(tree_pop(&tree, "/a"));
    assert_ptr_equal(tree_take(&tree, "/ab"), &values[3]);
    assert_int_equal(tree.nodes.count, 0);
    tree_put(&tree, "/", &values[4]);
    tree_put(&tree, "/x/y", &values[5]);
    tree_release(&tree);
}

/* At random, against a list. */
static void test_random(void **state)
{
    struct tree tree = {.count = 0};
    bool there[64] = {false};
    char paths[64][32];

    (void)state;
    srand(7);
    for (int i = 0; i < 64; i++) {
        int length = 0;

        /* 0 to 63 in base 4: "/", "/1", "/1/2" … */
        for (int digits = i; digits || !length; digits /= 4)
            length +=
                snprintf(paths[i] + length, sizeof paths[i] - (size_t)length, "/%d", digits % 4);
    }
    for (int round = 0; round < 20000; round++) {
        int i = rand() % 64, expected = 0;

        switch (rand() % 4) {
        case 0:
        case 1:
            assert_ptr_equal(tree_put(&tree, paths[i], &values[i]), there[i] ? &values[i] : NULL);
            there[i] = true;
            break;
        case 2:
            assert_ptr_equal(tree_take(&tree, paths[i]), there[i] ? &values[i] : NULL);
            there[i] = false;
            break;
        default:
            if (rand() % 8 == 0)
                for (int *value; (value = tree_pop(&tree, paths[i]));) {
                    assert_true(there[value - values]);
                    assert_true(path_inside(paths[i], paths[value - values]));
                    there[value - values] = false;
                }
        }
        for (int k = 0; k < 64; k++)
            expected += there[k] && path_inside(paths[i], paths[k]);
        assert_int_equal(below(&tree, paths[i]), expected);
        assert_int_equal(tree_first(&tree, paths[i]) != NULL, expected > 0);
        assert_true(!expected || path_inside(paths[i], tree_first(&tree, paths[i])));
    }
    tree_release(&tree);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_paths),
        cmocka_unit_test(test_random),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
