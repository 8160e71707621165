#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/server/table.h"

/* Against an array that is looked through from one end to the other. */
static void test_random_work(void **state)
{
    enum { KEYS = 300 };
    static int values[KEYS];
    void *model[KEYS] = {NULL};
    struct table table = {NULL, 0, 0, 0, 0};
    uint32_t seed = 1;

    (void)state;
    for (int step = 0; step < 20000; step++) {
        char key[16];
        uint32_t k;

        seed = seed * 1664525u + 1013904223u;
        k = (seed >> 8) % KEYS;
        snprintf(key, sizeof key, "k%u", k);
        switch ((seed >> 24) % 3) {
        case 0:
            assert_ptr_equal(table_put(&table, key, &values[step % KEYS]), model[k]);
            model[k] = &values[step % KEYS];
            break;
        case 1:
            assert_ptr_equal(table_take(&table, key), model[k]);
            model[k] = NULL;
            break;
        default:
            assert_ptr_equal(table_get(&table, key), model[k]);
        }
    }
    size_t expected = 0, seen = 0, at = 0;
    const char *key;
    void *value;

    for (int k = 0; k < KEYS; k++)
        expected += model[k] != NULL;
    assert_int_equal(table.count, expected);
    while (table_each(&table, &at, &key, &value)) {
        assert_ptr_equal(value, model[atoi(key + 1)]);
        assert_ptr_equal(table_take(&table, key), value);
        seen++;
    }
    assert_int_equal(seen, expected);
    assert_int_equal(table.count, 0);
    table_release(&table);
}

static void put(struct table *table, int from, int to)
{
    static int something;
    char key[16];

    for (int i = from; i < to; i++) {
        snprintf(key, sizeof key, "%d", i);
        table_put(table, key, &something);
    }
}

/* Everything comes out once, what is put in meanwhile too, and nothing is left. */
static void test_pop(void **state)
{
    enum { KEYS = 1000 };
    struct table table = {.count = 0};
    bool seen[KEYS] = {false};
    size_t at = 0;
    int count = 0;
    char *key;

    (void)state;
    assert_null(table_pop(&table, &at));
    for (int round = 0; round < 2; round++) {
        put(&table, 0, KEYS / 4);
        memset(seen, 0, sizeof seen);
        for (count = 0; (key = table_pop(&table, &at)); count++) {
            assert_false(seen[atoi(key)]);
            seen[atoi(key)] = true;
            free(key);
            if (count < KEYS / 4 * 3)
                put(&table, KEYS / 4 + count, KEYS / 4 + count + 1);
        }
        assert_int_equal(count, KEYS);
        assert_int_equal(table.capacity, 0);
    }
}

/* What is there all the while comes, however the table grows or is emptied meanwhile. */
static void test_walk(void **state)
{
    enum { KEYS = 100, MORE = 1000 };
    struct table table = {.count = 0};
    struct table_walk walk = {.at = 0};
    bool seen[KEYS + MORE] = {false};
    const char *key;
    void *value;
    int steps = 0;

    (void)state;
    put(&table, 0, KEYS);
    while (table_walk(&table, &walk, &key, &value)) {
        seen[atoi(key)] = true;
        if (steps++ == KEYS / 2)
            put(&table, KEYS, KEYS + MORE);
    }
    for (int i = 0; i < KEYS; i++)
        assert_true(seen[i]);
    table_release(&table);
    assert_false(table_walk(&table, &walk, &key, &value));
    table_release(&table);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random_work),
        cmocka_unit_test(test_pop),
        cmocka_unit_test(test_walk),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
