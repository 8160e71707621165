/* Intervals, norms of weights, and what plans make of both: limits, powers of two, warnings. */
#include "daemon/compiler/gpu/decompose.h"
#include "daemon/compiler/gpu/kernel.h"
#include "daemon/compiler/gpu/range.h"
#include "daemon/compiler/graph/floats.h"
#include "daemon/compiler/limits/limits.h"
#include "daemon/compiler/passes/pass.h"
#include "tests/unit/compiler/graphs.h"
#include <math.h>

/* ---- arithmetic ---- */

static uint64_t state = 1;

/* xorshift64*: G. Marsaglia; S. Vigna. 0 … 1 */
static double draw(void)
{
    state ^= state >> 12;
    state ^= state << 25;
    state ^= state >> 27;
    return (double)(state * 0x2545F4914F6CDD1Du >> 11) / 0x1p53;
}

/* Of all sizes and both signs, often ending at 0. */
static struct range any_range(void)
{
    double a = (draw() - 0.5) * exp2(draw() * 20 - 10), b = (draw() - 0.5) * exp2(draw() * 20 - 10);

    if (draw() < 0.2)
        a = 0;
    return range_make(fmin(a, b), fmax(a, b));
}

static double inside(const struct range *r)
{
    return draw() < 0.3 ? r->lo : draw() < 0.4 ? r->hi : r->lo + draw() * (r->hi - r->lo);
}

static void assert_within(double x, struct range r)
{
    double slack = 1e-12 * fabs(x);

    if (!isnan(x) && (x < r.lo - slack || x > r.hi + slack))
        fail_msg("%g is not within %g ... %g", x, r.lo, r.hi);
}

static void test_arithmetic(void **unused)
{
    static const double exponents[] = {-3, -2, -1, -0.5, 0, 0.5, 1, 1.5, 2, 3, 4, 7};

    (void)unused;
    for (int i = 0; i < 20000; i++) {
        struct range a = any_range(), b = any_range();
        double x = inside(&a), y = inside(&b), product = 1, sum = 0;
        int count = 1 + (int)(draw() * 5), some = (int)(draw() * (count + 1));

        assert_within(x + y, range_add(a, b));
        assert_within(x - y, range_subtract(a, b));
        assert_within(x * y, range_multiply(a, b));
        if (y != 0)
            assert_within(x / y, range_divide(a, b));
        assert_within(x, range_hull(a, b));
        assert_within(y, range_hull(a, b));
        assert_within(fabs(x), range_absolute(a));
        assert_within(-x, range_negate(a));
        assert_within(fmin(fmax(x, -0.5), 2), range_limit(a, -0.5, 2));
        for (size_t e = 0; e < sizeof exponents / sizeof *exponents; e++)
            if (x != 0)
                assert_within(pow(x, exponents[e]), range_power(a, exponents[e]));
        for (int k = 0; k < count; k++) {
            double z = inside(&a);

            if (k == some)
                assert_within(sum, range_partial_sum(a, count));
            product *= z;
            sum += z;
        }
        assert_within(product, range_product(a, count));
        assert_within(sum, range_sum(a, count));
        assert_within(sum / count, range_mean(a, count));
    }
}

static void assert_range(struct range r, double lo, double hi)
{
    assert_true(r.lo == lo);
    assert_true(r.hi == hi);
}

static void test_unbounded(void **unused)
{
    struct range any = range_unbounded(), positive = range_make(0, INFINITY);

    (void)unused;
    assert_range(range_multiply(any, range_make(0, 0)), 0, 0);
    assert_range(range_multiply(positive, range_make(0, 2)), 0, INFINITY);
    assert_range(range_multiply(positive, range_make(-1, 2)), -INFINITY, INFINITY);
    assert_range(range_divide(range_make(1, 1), range_make(1, INFINITY)), 0, 1);
    assert_range(range_divide(range_make(1, 1), positive), 0, INFINITY);
    assert_range(range_divide(range_make(1, 1), range_make(-2, 0)), -INFINITY, -0.5);
    assert_range(range_divide(positive, range_make(2, 4)), 0, INFINITY);
    assert_range(range_power(any, 2), 0, INFINITY);
    assert_range(range_power(any, 3), -INFINITY, INFINITY);
    assert_range(range_absolute(range_make(-3, 2)), 0, 3);
    assert_range(range_absolute(range_make(-3, -2)), 2, 3);
}

/* ---- weights ---- */

static void test_row_sums(void **unused)
{
    static const float numbers[] = {1, -2, 3, -4, 5, -6};
    struct value *v, *t;
    WITH_JOB(j);

    (void)unused;
    v = floats(j->graph, "w", SHAPE(2, 3), numbers);
    assert_true(tensor_row_sum(&j->context, v->constant, 1, 2, 3, 0) == 15);
    assert_true(tensor_row_sum(&j->context, v->constant, 2, 3, 1, 0) == 9);
    assert_true(tensor_row_sum(&j->context, v->constant, 1, 1, 6, 0) == 21);
    assert_true(tensor_row_sum(&j->context, v->constant, 1, 2, 3, 0) == 15);
    /* Columns of the transposed matrix are rows of it. */
    t = NODE(j->graph, "Transpose", "t", v);
    infer_graph(j->graph);
    assert_true(tensor_row_sum(&j->context, t->constant, 3, 2, 1, 0) == 15);
    END_JOB(j);
}

/* Without more than a file's scan has noted, where that decides; else by reading. */
static void test_row_sums_of_figures(void **unused)
{
    static const float numbers[] = {1, -2, 3, -4, 5, -6};
    struct floats_figures rows[2];
    struct tensor *t;
    WITH_JOB(j);

    (void)unused;
    t = floats(j->graph, "w", SHAPE(2, 3), numbers)->constant;
    rows[0] = floats_figures(numbers, 3);
    rows[1] = floats_figures(numbers + 3, 3);
    assert_true(rows[1].sum == 15 && rows[1].largest == 6);
    t->rows = rows;
    assert_true(tensor_row_sum(&j->context, t, 2, 3, 1, 100) == 3 + 6);
    assert_true(tensor_row_sum(&j->context, t, 2, 3, 1, 2) == 3 + 6);
    rows[0].largest = 4;
    assert_true(tensor_row_sum(&j->context, t, 2, 3, 1, 9) == 9);
    assert_true(tensor_row_sum(&j->context, t, 1, 2, 3, 0) == 15);
    END_JOB(j);
}

static void test_tensor_range(void **unused)
{
    double least, greatest;
    struct tensor *t;
    WITH_JOB(j);

    (void)unused;
    t = FLOATS(j->graph, SHAPE(4), 1, NAN, -7, 3)->constant;
    tensor_range(&j->context, t, &least, &greatest);
    assert_true(least == -7 && greatest == 3);
    END_JOB(j);
}

/* ---- plans ---- */

static struct plan *plan_of(struct job *j, struct value *v)
{
    output(j->graph, v);
    infer_graph(j->graph);
    passes_run(j->graph, NULL);
    decompose_graph(j->graph);
    return plan_graph(j->graph, NULL);
}

static struct value *image(struct job *j)
{
    struct value *v = input(j->graph, "x", TYPE_FLOAT32, SHAPE(1, 4, 4, 4));

    v->read = true;
    return v;
}

static struct value *number(struct job *j, float x)
{
    return FLOATS(j->graph, SCALAR, x);
}

/* A convolution of one place, all of whose weights are w. */
static struct value *mixing(struct job *j, const char *name, struct value *x, float w)
{
    float *numbers = NEW_ARRAY(&j->context.arena, 16, float);

    for (int i = 0; i < 16; i++)
        numbers[i] = w;
    return NODE(j->graph, "Conv", name, x, floats(j->graph, "w", SHAPE(4, 4, 1, 1), numbers));
}

static int clamps(const struct plan *p)
{
    int count = 0;

    for (int i = 0; i < p->step_count; i++)
        count += strstr(p->steps[i]->text->body, "65504f") != NULL;
    return count;
}

static void test_limits(void **unused)
{
    struct plan *p;

    (void)unused;
    {
        WITH_JOB(j);
        p = plan_of(j, mixing(j, "c", image(j), 1));
        assert_int_equal(clamps(p), 1);
        assert_int_equal(reported(j, TUKI0135), 0);
        END_JOB(j);
    }
    {
        WITH_JOB(j);
        p = plan_of(j, mixing(j, "c", NODE(j->graph, "Sigmoid", "s", image(j)), 1000));
        assert_int_equal(clamps(p), 0);
        assert_int_equal(reported(j, TUKI0135), 0);
        END_JOB(j);
    }
    {
        WITH_JOB(j);
        p = plan_of(j, mixing(j, "c", NODE(j->graph, "Sigmoid", "s", image(j)), 20000));
        assert_int_equal(clamps(p), 1);
        assert_int_equal(reported(j, TUKI0135), 1);
        END_JOB(j);
    }
    {
        /* A last Clip is the limit. */
        WITH_JOB(j);
        p = plan_of(j, NODE(j->graph, "Clip", "l", mixing(j, "c", image(j), 1), number(j, -1),
                            number(j, 1)));
        assert_int_equal(clamps(p), 0);
        assert_non_null(strstr(p->steps[0]->text->body, "Mathf.Clamp("));
        END_JOB(j);
    }
    {
        /* What is stored once needs no limit again. */
        WITH_JOB(j);
        struct value *c = mixing(j, "c", image(j), 1);
        struct value *both[] = {c, NODE(j->graph, "Softmax", "s", c)};

        outputs(j->graph, 2, both);
        infer_graph(j->graph);
        passes_run(j->graph, NULL);
        decompose_graph(j->graph);
        p = plan_graph(j->graph, NULL);
        assert_true(p->step_count > 2);
        assert_int_equal(clamps(p), 1);
        assert_int_equal(reported(j, TUKI0135), 0);
        END_JOB(j);
    }
}

/* An inner texture whose known range is too large holds it times a power of two: nothing is lost,
 * and nothing is said. An output is as it is. */
static void test_held_smaller(void **unused)
{
    struct plan *p;
    struct value *c, *y;
    WITH_JOB(j);

    (void)unused;
    c = mixing(j, "c", NODE(j->graph, "Clip", "l", image(j), number(j, 0), number(j, 255)), 100);
    y = mixing(j, "d", c, 1e-3f);
    p = plan_of(j, y);
    assert_int_equal(p->step_count, 2);
    assert_true(spot_of(c)->exponent > 0);
    assert_false(spot_of(c)->limited);
    assert_int_equal(spot_of(y)->exponent, 0);
    assert_int_equal(reported(j, TUKI0135), 0);
    END_JOB(j);
}

/* Worst cases of worst cases say nothing: a second sum over a sum is of unknown size. Its sure
 * bounds hold all the same. */
static void test_sums_of_sums(void **unused)
{
    struct value *c, *d;
    WITH_JOB(j);

    (void)unused;
    c = mixing(j, "c", NODE(j->graph, "Tanh", "l", image(j)), 100);
    d = mixing(j, "d", c, 100);
    assert_non_null(plan_of(j, d));
    assert_true(range_is_known(&spot_of(c)->extent->reach));
    assert_false(range_is_known(&spot_of(d)->extent->reach));
    assert_true(range_is_known(&spot_of(d)->extent->computed));
    assert_int_equal(reported(j, TUKI0135), 0);
    END_JOB(j);
}

/* One warning for each reason, at its first layer; a limit for each size. */
static void test_warnings(void **unused)
{
    struct value *x, *y, *list[5];
    const char *message;
    WITH_JOB(j);

    (void)unused;
    x = image(j);
    y = input(j->graph, "y", TYPE_FLOAT32, SHAPE(1, 4, 4, 4));
    y->read = true;
    list[0] = NODE(j->graph, "Exp", "e", x);
    list[1] = NODE(j->graph, "Exp", "f", y);
    list[2] = NODE(j->graph, "Mul", "m", x, y);
    list[3] = NODE(j->graph, "Exp", "half", NODE(j->graph, "Mul", "n", x, number(j, 0.5f)));
    list[4] = NODE(j->graph, "Sinh", "s", x);
    outputs(j->graph, 5, list);
    infer_graph(j->graph);
    assert_non_null(plan_graph(j->graph, NULL));
    diagnostics_sort(&j->context.diagnostics);
    assert_int_equal(j->context.diagnostics.count, 2);
    assert_int_equal(reported(j, TUKI0135), 2);
    assert_int_equal(j->context.diagnostics.errors, 0);
    message = j->context.diagnostics.list[0].message;
    assert_non_null(strstr(message, "Exp e: "));
    assert_non_null(strstr(message, "11.09"));
    assert_non_null(strstr(message, "; the same holds for Exp f, Exp half and Sinh s (once its "
                                    "input is beyond 11.78)"));
    message = j->context.diagnostics.list[1].message;
    assert_non_null(strstr(message, "Mul m: "));
    assert_non_null(strstr(message, "255.9"));
    END_JOB(j);
}

/* Weights of sums are read when they are written, and measured meanwhile: large ones take most of
 * the time of a compile, and a look at each would double it. */
static void test_weights_are_not_looked_at(void **unused)
{
    struct value *weights[3], *x;
    float *numbers;
    WITH_JOB(j);

    (void)unused;
    numbers = NEW_ARRAY(&j->context.arena, 64, float);
    for (int i = 0; i < 64; i++)
        numbers[i] = 0.01f * (float)i;
    x = image(j);
    weights[0] = floats(j->graph, "conv", SHAPE(4, 4, 1, 1), numbers);
    weights[1] = floats(j->graph, "transposed", SHAPE(4, 4, 2, 2), numbers);
    weights[2] = floats(j->graph, "product", SHAPE(5, 7), numbers);
    x = NODE(j->graph, "Relu", "r", NODE(j->graph, "Conv", "c", x, weights[0]));
    x = NODE(j->graph, "Relu", "s", NODE(j->graph, "ConvTranspose", "t", x, weights[1]));
    output(j->graph, NODE(j->graph, "MatMul", "m", x, weights[2]));
    infer_graph(j->graph);
    passes_run(j->graph, NULL);
    report_limits(j->graph);
    decompose_graph(j->graph);
    assert_non_null(plan_graph(j->graph, NULL));
    for (int i = 0; i < 3; i++)
        assert_false(weights[i]->constant->ranged);
    END_JOB(j);
}

/* ---- the table ---- */

static void test_rows(void **unused)
{
    (void)unused;
    for (const struct operator* op = operator_rows(); op->name; op++) {
        const struct operator_functions *f = op->functions;

        if ((f->lower || f->express) && !f->range)
            fail_msg("%s has no range function", op->name);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_arithmetic),   cmocka_unit_test(test_unbounded),
        cmocka_unit_test(test_row_sums),     cmocka_unit_test(test_row_sums_of_figures),
        cmocka_unit_test(test_tensor_range), cmocka_unit_test(test_limits),
        cmocka_unit_test(test_held_smaller), cmocka_unit_test(test_sums_of_sums),
        cmocka_unit_test(test_warnings),     cmocka_unit_test(test_weights_are_not_looked_at),
        cmocka_unit_test(test_rows),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
