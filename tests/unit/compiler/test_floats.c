#include "daemon/compiler/graph/floats.h"
#include "daemon/compiler/graph/hex.h"
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

enum { COUNT = 77 };

static void fill(float *numbers)
{
    for (int i = 0; i < COUNT; i++)
        numbers[i] = (float)((i * 7919 + 13) % 1009 - 500) * 0.37f;
}

/* Every count, so that every way of ending a run of eight is met, at every address. */
static void figures_are_those_of_a_plain_loop(void **state)
{
    float numbers[COUNT];
    char moved[sizeof numbers + 4];

    (void)state;
    fill(numbers);
    for (size_t count = 0; count <= COUNT; count++)
        for (size_t shift = 0; shift < 4; shift++) {
            double sums[8] = {0}, sum = 0;
            float largest = 0;
            struct floats_figures f;

            for (size_t i = 0; i < count; i++) {
                sums[i % 8] += (double)numbers[i] * (double)numbers[i];
                largest = fmaxf(largest, fabsf(numbers[i]));
            }
            for (int k = 0; k < 8; k++)
                sum += sums[k];
            memcpy(moved + shift, numbers, count * sizeof *numbers);
            f = floats_figures(moved + shift, count);
            assert_memory_equal(&f.largest, &largest, sizeof largest);
            assert_memory_equal(&f.square_sum, &sum, sizeof sum);
        }
}

static void a_nan_is_the_largest(void **state)
{
    (void)state;
    for (int at = 0; at < COUNT; at++) {
        float numbers[COUNT];

        fill(numbers);
        numbers[(at + 1) % COUNT] = INFINITY;
        assert_true(isinf(floats_figures(numbers, COUNT).largest));
        numbers[at] = at % 2 ? NAN : -NAN;
        assert_true(isnan(floats_figures(numbers, COUNT).largest));
    }
}

static void limits_and_scales(void **state)
{
    (void)state;
    for (size_t count = 0; count <= COUNT; count++) {
        float numbers[COUNT], limited[COUNT], scaled[COUNT];

        fill(numbers);
        if (count > 2) {
            numbers[count / 2] = NAN;
            numbers[count / 3] = -INFINITY;
        }
        memcpy(limited, numbers, sizeof limited);
        memcpy(scaled, numbers, sizeof scaled);
        floats_limit(limited, count, 100);
        floats_scale(scaled, scaled, count, 1.0 / 3);
        for (size_t i = 0; i < COUNT; i++) {
            float x = numbers[i] != numbers[i] ? 0 : fminf(fmaxf(numbers[i], -100), 100);
            float y = (float)((double)numbers[i] * (1.0 / 3));

            if (i >= count) {
                assert_memory_equal(&limited[i], &numbers[i], sizeof x);
                assert_memory_equal(&scaled[i], &numbers[i], sizeof x);
                continue;
            }
            assert_memory_equal(&limited[i], &x, sizeof x);
            assert_true(scaled[i] == y || (isnan(scaled[i]) && isnan(y)));
        }
    }
}

static void prints_hexadecimal(void **state)
{
    uint8_t bytes[256];
    char text[2 * sizeof bytes + 1], pair[3];

    (void)state;
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (uint8_t)(255 - i);
    for (size_t count = 0; count <= sizeof bytes; count++) {
        memset(text, '?', sizeof text);
        hex_print(text, bytes, count);
        for (size_t i = 0; i < count; i++) {
            snprintf(pair, sizeof pair, "%02x", bytes[i]);
            assert_memory_equal(text + 2 * i, pair, 2);
        }
        assert_int_equal(text[2 * count], '?');
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(figures_are_those_of_a_plain_loop),
        cmocka_unit_test(a_nan_is_the_largest),
        cmocka_unit_test(limits_and_scales),
        cmocka_unit_test(prints_hexadecimal),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
