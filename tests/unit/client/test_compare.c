/* What `verify` takes for equal: one row a case, around each border. */
#include "client/compare.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static struct context context;

static struct tensor *floats(int count, const float *numbers)
{
    int64_t dim = count;
    struct shape shape = shape_of(1, &dim);
    void *data;
    struct tensor *t = tensor_new(&context.arena, TYPE_FLOAT32, &shape, &data);

    memcpy(data, numbers, (size_t)count * sizeof *numbers);
    return t;
}

static struct tensor *of_type(enum element_type type, int count, const int64_t *numbers)
{
    int64_t dim = count;
    struct shape shape = shape_of(1, &dim);
    void *data;
    struct tensor *t = tensor_new(&context.arena, type, &shape, &data);

    for (int i = 0; i < count; i++)
        payload_set_integer(data, type, i, numbers[i]);
    return t;
}

static struct comparison compare(const struct tolerance *tolerance, const struct meaning *meaning,
                                 const struct tensor *a, const struct tensor *b)
{
    static const struct tolerance usual;
    static const struct meaning real = {.name = "y"};
    struct comparison c;

    comparison_init(&c);
    comparison_add(&c, tolerance ? tolerance : &usual, meaning ? meaning : &real, a, b,
                   &context.arena);
    assert_true((c.failed == 0) == (c.why[0] == '\0'));
    return c;
}

#define FLOATS(...)                                                                                \
    floats((int)(sizeof((float[]){__VA_ARGS__}) / sizeof(float)), (float[]){__VA_ARGS__})

static void reals(void **state)
{
    (void)state;
    static const struct {
        float a, b, beside; /* another element of both */
        int failed;
    } rows[] = {
        {1, 1, 1, 0},
        /* 1e-4 + 4e-3 * max|b| + 1e-2 * |b|, max|b| = |b| = 1: 0.0141 */
        {1.014f, 1, 1, 0},
        {1.0142f, 1, 1, 1},
        {0.986f, 1, 1, 0},
        {0.9858f, 1, 1, 1},
        /* b = 0 next to 10: 0.0401 */
        {0.04f, 0, 10, 0},
        {0.0402f, 0, -10, 1},
        /* all zero: 1e-4 */
        {0.9e-4f, 0, 0, 0},
        {1.1e-4f, 0, 0, 1},
        {NAN, 1, 1, 1},
        {INFINITY, 1, 1, 1},
        {5, NAN, 1, 0},
        {NAN, NAN, 1, 0},
        /* an infinity counts as 65504, and is not the largest value of the tensor: 655.0441 */
        {INFINITY, INFINITY, 1, 0},
        {65504, INFINITY, 1, 0},
        {64900, INFINITY, 1, 0},
        {64800, INFINITY, 1, 1},
        {-65504, INFINITY, 1, 1},
        {-INFINITY, -INFINITY, 1, 0},
        {-INFINITY, INFINITY, 1, 1},
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct comparison c = compare(NULL, NULL, FLOATS(rows[i].a, rows[i].beside),
                                      FLOATS(rows[i].b, rows[i].beside));

        if (c.failed != rows[i].failed)
            fail_msg("row %zu: %g against %g", i, (double)rows[i].a, (double)rows[i].b);
    }
}

static void figures(void **state)
{
    struct comparison c;

    (void)state;
    c = compare(NULL, NULL, FLOATS(1, 2, 3.5f), FLOATS(1, 2, 4));
    assert_true(c.max_abs == 0.5 && c.max_rel == 0.125);
    assert_true(fabs(c.snr - 10 * log10(21 / 0.25)) < 1e-9);
    assert_string_equal(c.why, "output y, element 2 is 3.5 instead of 4");
    c = compare(NULL, NULL, FLOATS(1, 2), FLOATS(1, 2));
    assert_true(c.max_abs == 0 && c.max_rel == 0 && isinf(c.snr));
    /* the least ratio and the largest distances of all outputs stand */
    comparison_add(&c, &(struct tolerance){0}, &(struct meaning){.name = "z"}, FLOATS(0), FLOATS(2),
                   &context.arena);
    assert_true(c.max_abs == 2 && c.max_rel == 1 && c.snr == 0 && c.failed == 1);
}

static void tolerances_of_the_command_line(void **state)
{
    struct tolerance t = {.custom = true, .atol = 0.5, .rtol = 0.25};

    (void)state;
    assert_int_equal(compare(&t, NULL, FLOATS(5.5f), FLOATS(4)).failed, 0);
    assert_int_equal(compare(&t, NULL, FLOATS(5.625f), FLOATS(4)).failed, 1);
    t = (struct tolerance){.by_snr = true, .min_snr = 20};
    assert_int_equal(compare(&t, NULL, FLOATS(11, 0), FLOATS(10, 0)).failed, 0);
    assert_int_equal(compare(&t, NULL, FLOATS(11.01f, 0), FLOATS(10, 0)).failed, 1);
    assert_int_equal(compare(&t, NULL, FLOATS(NAN, 0), FLOATS(10, 0)).failed, 1);
    assert_int_equal(compare(&t, NULL, FLOATS(0), FLOATS(0)).failed, 0);
}

static void eight_bits(void **state)
{
    struct meaning m = {.name = "y", .quantised = true, .scale = 0.5f, .steps = TYPE_UINT8};

    (void)state;
    assert_int_equal(compare(NULL, &m, FLOATS(100.5f), FLOATS(100)).failed, 0);
    assert_int_equal(compare(NULL, &m, FLOATS(101), FLOATS(100)).failed, 1);
    m.scale = 1;
    assert_int_equal(compare(NULL, &m, of_type(TYPE_UINT8, 1, (int64_t[]){7}),
                             of_type(TYPE_UINT8, 1, (int64_t[]){8}))
                         .failed,
                     0);
    assert_int_equal(compare(NULL, &m, of_type(TYPE_UINT8, 1, (int64_t[]){6}),
                             of_type(TYPE_UINT8, 1, (int64_t[]){8}))
                         .failed,
                     1);
}

static void integers_and_booleans_are_exact(void **state)
{
    int64_t large = ((int64_t)1 << 53) + 1, beside = (int64_t)1 << 53;
    struct tolerance t = {.custom = true, .atol = 10, .rtol = 1};

    (void)state;
    assert_int_equal(
        compare(&t, NULL, of_type(TYPE_INT64, 1, &large), of_type(TYPE_INT64, 1, &large)).failed,
        0);
    assert_int_equal(
        compare(&t, NULL, of_type(TYPE_INT64, 1, &large), of_type(TYPE_INT64, 1, &beside)).failed,
        1);
    assert_int_equal(compare(&t, NULL, of_type(TYPE_BOOL, 2, (int64_t[]){0, 1}),
                             of_type(TYPE_BOOL, 2, (int64_t[]){1, 1}))
                         .failed,
                     1);
}

static void types_and_shapes_must_match(void **state)
{
    int64_t dims[] = {1, 2};
    struct shape shape = shape_of(2, dims);
    void *data;
    struct comparison c;

    (void)state;
    c = compare(NULL, NULL, FLOATS(0, 0), tensor_new(&context.arena, TYPE_FLOAT32, &shape, &data));
    assert_string_equal(c.why, "output y is float32 [2] instead of float32 [1, 2]");
    assert_int_equal(c.compared, 0);
    c = compare(NULL, NULL, FLOATS(0), of_type(TYPE_INT32, 1, (int64_t[]){0}));
    assert_string_equal(c.why, "output y is float32 [1] instead of int32 [1]");
}

static int begin(void **state)
{
    (void)state;
    context_init(&context, NULL);
    return 0;
}

static int end(void **state)
{
    (void)state;
    context_release(&context);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reals),
        cmocka_unit_test(figures),
        cmocka_unit_test(tolerances_of_the_command_line),
        cmocka_unit_test(eight_bits),
        cmocka_unit_test(integers_and_booleans_are_exact),
        cmocka_unit_test(types_and_shapes_must_match),
    };

    return cmocka_run_group_tests(tests, begin, end);
}
