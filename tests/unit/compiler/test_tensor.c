/* Shapes, elements of every type, tensors in memory, in a file and not evaluated yet. */
#include "tests/unit/compiler/graphs.h"
#include <math.h>

static void test_shapes(void **state)
{
    struct shape a = SHAPE(2, 1, 3), b = SHAPE(4, 1), out, huge = SHAPE((int64_t)1 << 40, 1 << 30);
    struct shape none = SHAPE((int64_t)1 << 40, (int64_t)1 << 40, 0), open = SHAPE(1, -1);

    (void)state;
    assert_true(shape_broadcast(&a, &b, &out));
    assert_true(shape_equal(&out, &(struct shape){3, {2, 4, 3}}));
    b = SHAPE(4, 2);
    assert_false(shape_broadcast(&a, &b, &out));
    assert_true(shape_broadcast(&shape_unknown, &b, &out));
    assert_int_equal(out.axes, -1);
    assert_int_equal(shape_count(&a), 6);
    assert_int_equal(shape_count(&huge), -1);
    assert_int_equal(shape_count(&none), 0);
    assert_int_equal(shape_count(&open), -1);
    assert_false(shape_known(&open));
    assert_int_equal(shape_axis(&a, -1), 2);
    assert_int_equal(shape_axis(&a, 3), -1);
    assert_int_equal(shape_axis(&a, -4), -1);
    assert_string_equal(type_name(TYPE_INT4), "int4");
    assert_string_equal(type_name((enum element_type)99), "an unknown type");
    assert_int_equal(type_bits(TYPE_STRING), 0);
}

static void test_shape_text(void **state)
{
    struct shape open = SHAPE(1, -1, 64), scalar = SCALAR;
    WITH_JOB(j);

    (void)state;
    assert_string_equal(shape_text(&j->context.arena, &open), "[1, ?, 64]");
    assert_string_equal(shape_text(&j->context.arena, &scalar), "[]");
    assert_string_equal(shape_text(&j->context.arena, &shape_unknown), "unknown");
    END_JOB(j);
}

/* Every number that a small format can hold comes back as itself, and NaN as NaN. */
static void round_trips(enum element_type type)
{
    for (unsigned bits = 0; bits < 256; bits++) {
        uint8_t from = (uint8_t)bits, to = 0;
        double number = payload_number(&from, type, 0);

        if (type == TYPE_FLOAT4E2M1 && bits > 15)
            break;
        payload_set(&to, type, 0, number);
        if (isnan(number))
            assert_true(isnan(payload_number(&to, type, 0)));
        else if (!isinf(number)) /* float8 saturates */
            assert_int_equal(from, to);
    }
}

static void test_small_floats(void **state)
{
    uint8_t byte = 0;

    (void)state;
    round_trips(TYPE_FLOAT8E4M3FN);
    round_trips(TYPE_FLOAT8E4M3FNUZ);
    round_trips(TYPE_FLOAT8E5M2);
    round_trips(TYPE_FLOAT8E5M2FNUZ);
    round_trips(TYPE_FLOAT4E2M1);
    round_trips(TYPE_FLOAT8E8M0);
    byte = 0x7e;
    assert_true(payload_number(&byte, TYPE_FLOAT8E4M3FN, 0) == 448);
    byte = 0x01;
    assert_true(payload_number(&byte, TYPE_FLOAT8E5M2, 0) == 0x1p-16);
    payload_set(&byte, TYPE_FLOAT8E4M3FN, 0, 1e9);
    assert_int_equal(byte, 0x7e);
    payload_set(&byte, TYPE_FLOAT8E4M3FN, 0, 0x1p-10); /* half of the smallest: to even, 0 */
    assert_int_equal(byte, 0);
    payload_set(&byte, TYPE_FLOAT8E4M3FN, 0, 0x1.8p-10);
    assert_int_equal(byte, 1);
    payload_set(&byte, TYPE_FLOAT8E4M3FNUZ, 0, -1e-9);
    assert_int_equal(byte, 0); /* there is no -0 */
}

static void test_integers(void **state)
{
    uint8_t packed[2] = {0x8f, 0x07}; /* -1, -8, 7 as int4: element 0 is the low nibble */
    int16_t wide = -5;
    uint64_t big = UINT64_MAX;
    int8_t narrow = 0;
    int64_t max;

    (void)state;
    assert_int_equal(payload_integer(packed, TYPE_INT4, 0), -1);
    assert_int_equal(payload_integer(packed, TYPE_INT4, 1), -8);
    assert_int_equal(payload_integer(packed, TYPE_INT4, 2), 7);
    assert_int_equal(payload_integer(packed, TYPE_UINT4, 1), 8);
    payload_set_integer(packed, TYPE_INT4, 1, 3);
    assert_int_equal(packed[0], 0x3f);
    assert_int_equal(payload_integer(&wide, TYPE_INT16, 0), -5);
    assert_true(payload_number(&big, TYPE_UINT64, 0) == 0x1p64);
    payload_set(&narrow, TYPE_INT8, 0, 200.7);
    assert_int_equal(narrow, 127);
    payload_set(&narrow, TYPE_INT8, 0, -1.9);
    assert_int_equal(narrow, -1);
    payload_set(&narrow, TYPE_INT8, 0, (double)NAN);
    assert_int_equal(narrow, 0);
    payload_set_integer(&narrow, TYPE_INT8, 0, 200); /* Cast keeps the low bits */
    assert_int_equal(narrow, -56);
    payload_set(&max, TYPE_INT64, 0, 1e30);
    assert_true(max == INT64_MAX);
    assert_int_equal(tensor_payload(TYPE_INT4, 3), 2);
    assert_int_equal(tensor_payload(TYPE_FLOAT64, (int64_t)1 << 61), -1);
    assert_int_equal(tensor_payload(TYPE_STRING, 1), -1);
}

static void test_bfloat(void **state)
{
    uint16_t bits;

    (void)state;
    payload_set(&bits, TYPE_BFLOAT16, 0,
                1.00390625); /* halfway between 0x3f80 and 0x3f81: to even */
    assert_int_equal(bits, 0x3f80);
    payload_set(&bits, TYPE_BFLOAT16, 0, 1.01171875);
    assert_int_equal(bits, 0x3f82);
    assert_true(payload_number(&bits, TYPE_BFLOAT16, 0) == 1.015625);
}

/* A file of 256 bytes 0, 1, 2 … that can become shorter. */
struct short_source {
    struct source source;
    uint64_t length;
    int reads;
};

static bool read_short(struct source *source, uint64_t offset, void *bytes, size_t size)
{
    struct short_source *s = (struct short_source *)source;

    s->reads++;
    if (offset + size > s->length)
        return false;
    for (size_t i = 0; i < size; i++)
        ((uint8_t *)bytes)[i] = (uint8_t)(offset + i);
    return true;
}

static void test_source(void **state)
{
    struct short_source s = {{read_short}, 256, 0};
    struct tensor t = {
        .type = TYPE_UINT8, .count = 4, .bytes = 4, .source = &s.source, .offset = 7};
    struct tensor same = t;
    void *data;
    WITH_JOB(j);

    (void)state;
    t.shape = same.shape = SHAPE(4);
    const int64_t *numbers_read = tensor_integers(&j->context, &t, &j->context.arena);
    assert_int_equal(numbers_read[3], 10);
    assert_null(t.data); /* nothing is kept */
    /* Content counts, not where it lies. */
    struct tensor *copy = tensor_new(&j->context.arena, TYPE_UINT8, &t.shape, &data);
    memcpy(data, (uint8_t[]){7, 8, 9, 10}, 4);
    assert_true(hash_equal(tensor_hash(&j->context, &t), tensor_hash(&j->context, copy)));
    same.type = TYPE_INT8;
    assert_false(hash_equal(tensor_hash(&j->context, &t), tensor_hash(&j->context, &same)));
    END_JOB(j);
}

static void test_truncated_source(void **state)
{
    struct short_source s = {{read_short}, 8, 0};
    struct tensor t = {
        .type = TYPE_UINT8, .count = 4, .bytes = 4, .source = &s.source, .offset = 7};
    struct context c;

    (void)state;
    context_init(&c, NULL);
    if (!setjmp(c.escape)) {
        tensor_data(&c, &t, &c.arena);
        fail();
    }
    assert_int_equal(c.reason, ESCAPE_SYSTEM);
    context_release(&c);
}

static int evaluations;

static void copy_infer(struct node *n)
{
    infer_output(n, 0, TYPE_FLOAT32, &n->inputs[0]->shape);
}

static bool add_one(struct node *n, struct tensor *const *in, struct tensor **out,
                    struct arena *arena, struct arena *scratch)
{
    const float *x = tensor_floats(n->graph->context, in[0], scratch);
    void *data;

    evaluations++;
    out[0] = tensor_new(arena, TYPE_FLOAT32, &in[0]->shape, &data);
    for (int64_t i = 0; i < in[0]->count; i++)
        ((float *)data)[i] = x[i] + 1;
    return true;
}

static bool never(struct node *n, struct tensor *const *in, struct tensor **out,
                  struct arena *arena, struct arena *scratch)
{
    (void)n, (void)in, (void)out, (void)arena, (void)scratch;
    return false;
}

static const struct operator_functions add_one_functions = {.infer = copy_infer,
                                                            .evaluate = add_one};
static const struct operator add_one_row = {"AddOne", "", 1, 0, 1, 1, 1, 1, &add_one_functions, ""};
static const struct operator_functions never_functions = {.infer = copy_infer, .evaluate = never};
static const struct operator never_row = {"Never", "", 1, 0, 1, 1, 1, 1, &never_functions, ""};

/* A chain of count nodes over a constant of n zeros. */
static struct value *chain(struct graph *g, int count, int64_t n)
{
    struct shape shape = SHAPE(n);
    void *data;
    struct value *v =
        graph_constant(g, "zeros", tensor_new(&g->context->arena, TYPE_FLOAT32, &shape, &data));

    for (int i = 0; i < count; i++)
        v = graph_node(g, &add_one_row, "", &v, 1, 1)->outputs[0];
    return v;
}

static void test_deferred(void **state)
{
    enum { LENGTH = 50000 }; /* deeper than any stack would take */
    WITH_JOB(j);
    struct value *v = chain(j->graph, LENGTH, 3);

    (void)state;
    output(j->graph, v);
    evaluations = 0;
    infer_graph(j->graph);
    assert_int_equal(evaluations, 0);
    assert_true(numbers(j, v)[2] == LENGTH);
    assert_int_equal(evaluations, LENGTH);
    numbers(j, v); /* small results are kept */
    assert_int_equal(evaluations, LENGTH);
    END_JOB(j);
}

static void test_deferred_large(void **state)
{
    WITH_JOB(j);
    struct value *v = chain(j->graph, 4, TENSOR_SMALL), *again;
    struct arena *scratch;

    (void)state;
    again = chain(j->graph, 4, TENSOR_SMALL);
    infer_graph(j->graph);
    evaluations = 0;
    struct hash recipe = tensor_hash(&j->context, v->constant);
    assert_int_equal(evaluations, 0); /* by recipe */
    assert_true(hash_equal(recipe, tensor_hash(&j->context, again->constant)));
    scratch = arena_child(&j->context.arena);
    assert_true(tensor_floats(&j->context, v->constant, scratch)[TENSOR_SMALL - 1] == 4);
    arena_free(scratch);
    assert_null(v->constant->data); /* not kept */
    assert_int_equal(evaluations, 4);
    /* Having been looked at changes no hash. */
    again->constant->hashed = false;
    assert_true(hash_equal(recipe, tensor_hash(&j->context, again->constant)));
    END_JOB(j);
}

static void test_unevaluable(void **state)
{
    WITH_JOB(j);
    struct value *v = chain(j->graph, 1, 2);

    (void)state;
    v = graph_node(j->graph, &never_row, "stuck", &v, 1, 1)->outputs[0];
    output(j->graph, v);
    infer_graph(j->graph);
    numbers(j, v);
    numbers(j, v);
    assert_int_equal(reported(j, TUKI0110), 1);
    END_JOB(j);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shapes),           cmocka_unit_test(test_shape_text),
        cmocka_unit_test(test_small_floats),     cmocka_unit_test(test_integers),
        cmocka_unit_test(test_bfloat),           cmocka_unit_test(test_source),
        cmocka_unit_test(test_truncated_source), cmocka_unit_test(test_deferred),
        cmocka_unit_test(test_deferred_large),   cmocka_unit_test(test_unevaluable),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
