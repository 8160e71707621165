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

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_random_work)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
