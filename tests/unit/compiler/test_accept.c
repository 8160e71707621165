/* Which inputs and values are taken, and the one code that each other one gets. */
#include "daemon/compiler/graph/accept.h"
#include "daemon/compiler/operators/items.h"
#include "tests/unit/compiler/graphs.h"

/* The only diagnostic, and whose it is. */
static void only(struct job *j, enum diagnostic_code code, const char *part)
{
    if (j->context.diagnostics.count != 1) {
        for (int i = 0; i < j->context.diagnostics.count; i++)
            fprintf(stderr, "%s\n", j->context.diagnostics.list[i].message);
        fail_msg("%d diagnostics", j->context.diagnostics.count);
    }
    if (j->context.diagnostics.list[0].code != code ||
        !strstr(j->context.diagnostics.list[0].message, part))
        fail_msg("%s", j->context.diagnostics.list[0].message);
}

static struct value *relu_of(struct job *j, enum element_type type, struct shape shape)
{
    struct value *x = input(j->graph, "image", type, shape);

    output(j->graph, NODE(j->graph, "Relu", "relu", x));
    return x;
}

#define INPUT_CASE(name, type, shape, code, part)                                                  \
    static void name(void **state)                                                                 \
    {                                                                                              \
        WITH_JOB(j);                                                                               \
        (void)state;                                                                               \
        relu_of(j, type, shape);                                                                   \
        accept_graph(j->graph);                                                                    \
        only(j, code, part);                                                                       \
        END_JOB(j);                                                                                \
    }
INPUT_CASE(test_dynamic, TYPE_FLOAT32, SHAPE(1, 3, -1, -1), TUKI0112,
           "input image: axes 2 and 3 have no fixed length")
INPUT_CASE(test_no_shape, TYPE_FLOAT32, shape_unknown, TUKI0112, "input image")
INPUT_CASE(test_five_axes, TYPE_FLOAT32, SHAPE(1, 1, 2, 3, 4), TUKI0114,
           "it has 5 axes [1, 1, 2, 3, 4]")
INPUT_CASE(test_one_axis, TYPE_FLOAT32, SHAPE(7), TUKI0114, "it has 1 axis [7]")
INPUT_CASE(test_half_type, TYPE_FLOAT16, SHAPE(1, -1), TUKI0115, "its elements are float16")
INPUT_CASE(test_batch, TYPE_FLOAT32, SHAPE(17, 3), TUKI0130, "its batch (axis 0) is 17")
INPUT_CASE(test_empty_axis, TYPE_FLOAT32, SHAPE(1, 0, 3), TUKI0114, "axis 1 has no elements")

/* What reads a value and gives nothing, as a refused layer may: its results are left out. */
static void nothing_from(struct value *v)
{
    v->producer->outputs[0] = NULL;
}

static void test_results_left_out(void **state)
{
    WITH_JOB(j);
    struct graph *g = j->graph;
    struct value *x = input(g, "x", TYPE_FLOAT32, SHAPE(2, 3));
    struct value *ids = input(g, "ids", TYPE_INT64, SHAPE(2, 3));
    struct value *above = NODE(g, "Greater", "above", x, FLOATS(g, SCALAR, 1));

    (void)state;
    nothing_from(NODE(g, "Flatten", "flat", input(g, "w", TYPE_FLOAT32, SHAPE(2, 3))));
    nothing_from(NODE(g, "Identity", "same", ids));
    nothing_from(NODE(g, "Not", "not", above));
    nothing_from(NODE(g, "Identity", "chosen", NODE(g, "ArgMax", "choice", x)));
    above->type = TYPE_BOOL;
    output(g, NODE(g, "Relu", "relu", x));
    accept_graph(g);
    assert_int_equal(reported(j, TUKI0115), 1); /* ids: nothing reads them as indices */
    END_JOB(j);
}

static void test_fine(void **state)
{
    WITH_JOB(j);

    (void)state;
    input(j->graph, "unread", TYPE_FLOAT64, SHAPE(-1)); /* nobody reads it: nobody looks */
    relu_of(j, TYPE_FLOAT32, SHAPE(16, 3, 5, 7));
    accept_graph(j->graph);
    assert_int_equal(j->context.diagnostics.count, 0);
    END_JOB(j);
}

static void test_differing_batches(void **state)
{
    WITH_JOB(j);
    struct graph *g = j->graph;
    struct value *a = input(g, "a", TYPE_FLOAT32, SHAPE(4, 3));
    struct value *b = input(g, "b", TYPE_FLOAT32, SHAPE(1, 3));

    (void)state;
    output(g, NODE(g, "Add", "sum", a, b));
    accept_graph(g);
    only(j, TUKI0130, "input b: its batch (axis 0) is 1, and that of input a is 4");
    END_JOB(j);
}

/* R2: read only as the second operand of a product, through Transpose: one row, and no batch. */
static void test_weight_input(void **state)
{
    WITH_JOB(j);
    struct graph *g = j->graph;
    struct value *a = input(g, "a", TYPE_FLOAT32, SHAPE(4, 3));
    struct value *b = input(g, "b", TYPE_FLOAT32, SHAPE(1, 3));

    (void)state;
    output(g, NODE(g, "MatMul", "product", a, NODE(g, "Transpose", "t", b)));
    accept_graph(g);
    assert_int_equal(j->context.diagnostics.count, 0);
    END_JOB(j);
}

static void test_weight_rows(void **state)
{
    WITH_JOB(j);
    struct graph *g = j->graph;
    struct value *a = input(g, "a", TYPE_FLOAT32, SHAPE(4, 3));
    struct value *b = input(g, "b", TYPE_FLOAT32, SHAPE(3, 2));

    (void)state;
    output(g, NODE(g, "MatMul", "product", a, b));
    accept_graph(g);
    only(j, TUKI0114, "input b: it is read only as weights and has 3 rows");
    END_JOB(j);
}

static struct value *table(struct graph *g)
{
    return FLOATS(g, SHAPE(4, 2), 1, 2, 3, 4, 5, 6, 7, 8);
}

static void test_tokens(void **state)
{
    WITH_JOB(j);
    struct graph *g = j->graph;
    struct value *ids = input(g, "ids", TYPE_INT64, SHAPE(1, 5)), *cast;

    (void)state;
    cast = NODE(g, "Cast", "cast", ids);
    node_set_int(cast->producer, "to", TYPE_INT32);
    output(g, NODE(g, "Gather", "gather", table(g), cast));
    assert_true(value_is_tokens(ids));
    accept_graph(g);
    assert_int_equal(j->context.diagnostics.count, 0);
    END_JOB(j);
}

static void test_tokens_in_batch(void **state)
{
    WITH_JOB(j);
    struct graph *g = j->graph;
    struct value *ids = input(g, "ids", TYPE_INT64, SHAPE(2, 5));

    (void)state;
    output(g, NODE(g, "Gather", "gather", table(g), ids));
    accept_graph(g);
    only(j, TUKI0132, "token ids with a batch of 2");
    END_JOB(j);
}

/* Each item of a batch has an output of its own: a constant as an output is one item's, or none. */
static void constant_output(struct shape shape, bool equal, const char *part)
{
    WITH_JOB(j);
    struct graph *g = j->graph;
    struct value *x = input(g, "x", TYPE_FLOAT32, SHAPE(2, 4)), *shown[2];
    float numbers[24];

    for (int i = 0; i < 24; i++)
        numbers[i] = (float)(equal ? i % 4 : i);
    shown[0] = NODE(g, "Relu", "relu", x);
    shown[1] = graph_constant_floats(g, "known", &shape, numbers);
    outputs(g, 2, shown);
    accept_graph(g);
    split_items(g);
    if (part) {
        only(j, TUKI0131, part);
    } else {
        assert_int_equal(j->context.diagnostics.count, 0);
        assert_int_equal(g->items, 2);
        assert_int_equal(g->outputs[1]->shape.dim[0], 1);
        assert_int_equal(g->outputs[1]->constant->count, 4);
    }
    END_JOB(j);
}

/* Indices that are shorter than the data speak of its first items only. */
static void short_indices(const char *op, struct shape shape, const char *part)
{
    WITH_JOB(j);
    struct graph *g = j->graph;
    struct value *x = input(g, "x", TYPE_FLOAT32, SHAPE(2, 4)), *indices;
    const int64_t zeros[4] = {0};
    float numbers[4] = {0};

    indices = graph_constant_ints(g, "places", 4, zeros);
    indices->shape = indices->constant->shape = shape;
    indices->constant->count = shape_count(&shape);
    if (!strcmp(op, "GatherElements"))
        output(g, NODE(g, op, "moves", x, indices));
    else
        output(g,
               NODE(g, op, "moves", x, indices, graph_constant_floats(g, "new", &shape, numbers)));
    node_set_int(g->outputs[0]->producer, "axis", 1);
    accept_graph(g);
    split_items(g);
    if (part)
        only(j, TUKI0131, part);
    else
        assert_int_equal(j->context.diagnostics.count, 0);
    END_JOB(j);
}

static void test_short_indices_in_batch(void **state)
{
    (void)state;
    short_indices("ScatterElements", SHAPE(2, 1), NULL);
    short_indices("ScatterElements", SHAPE(1, 1), "its operand places has not as many items");
    short_indices("GatherElements", SHAPE(2, 2), NULL);
    short_indices("GatherElements", SHAPE(1, 2), "its operand places has not as many items");
}

static void test_constant_outputs_in_batch(void **state)
{
    (void)state;
    constant_output(SHAPE(2, 4), true, NULL);
    constant_output(SHAPE(2, 4), false, "a constant that differs between the 2 items");
    constant_output(SHAPE(3), true, "a constant, no part of any of the 2 items");
    constant_output(SHAPE(1, 4), true, "a constant, no part of any of the 2 items");
    constant_output((struct shape){.axes = 0}, true, "a constant, no part of any of the 2 items");
}

static void test_tokens_read_otherwise(void **state)
{
    WITH_JOB(j);
    struct graph *g = j->graph;
    struct value *ids = input(g, "ids", TYPE_INT64, SHAPE(1, 5)), *x;

    (void)state;
    x = NODE(g, "Cast", "cast", ids);
    node_set_int(x->producer, "to", TYPE_FLOAT32);
    outputs(g, 2, (struct value *[]){NODE(g, "Gather", "gather", table(g), ids), x});
    accept_graph(g);
    only(j, TUKI0115, "input ids: its elements are int64");
    END_JOB(j);
}

/* 0116 comes first: the int64 input with an open axis is reported as a shape, and as nothing else.
 */
static void test_shape_input(void **state)
{
    WITH_JOB(j);
    struct graph *g = j->graph;
    struct value *x = input(g, "x", TYPE_FLOAT32, SHAPE(2, 3));
    struct value *dims = input(g, "dims", TYPE_INT64, SHAPE(-1));

    (void)state;
    output(g, NODE(g, "Relu", "relu",
                   NODE(g, "Reshape", "r", x, NODE(g, "Add", "a", dims, INTS(g, 1)))));
    accept_graph(g);
    only(j, TUKI0116, "Reshape r: it takes its shape from the model input dims");
    END_JOB(j);
}

/* One layer, one report, though two of its inputs depend; what follows it keeps quiet, another
 * layer does not. */
static void test_shape_inputs(void **state)
{
    WITH_JOB(j);
    struct graph *g = j->graph;
    struct value *x = input(g, "x", TYPE_FLOAT32, SHAPE(2, 3));
    struct value *from = input(g, "from", TYPE_INT64, SHAPE(1));
    struct value *to = input(g, "to", TYPE_INT64, SHAPE(1)), *y;

    (void)state;
    y = NODE(g, "Slice", "s", x, from, to);
    y = NODE(g, "Reshape", "quiet", y, NODE(g, "Cast", "cast", y));
    node_set_int(g->nodes[1], "to", TYPE_INT64);
    outputs(g, 2, (struct value *[]){y, NODE(g, "Tile", "t", x, NODE(g, "Concat", "c", from, to))});
    accept_graph(g);
    assert_int_equal(reported(j, TUKI0116), 2);
    assert_int_equal(j->context.diagnostics.count, 2);
    assert_non_null(strstr(j->context.diagnostics.list[0].message, "Slice s: it takes its starts"));
    assert_non_null(strstr(j->context.diagnostics.list[1].message, "Tile t: it takes its repeats"));
    END_JOB(j);
}

/* CastLike reads a type: what it makes of a constant is one. */
static void test_cast_like(void **state)
{
    WITH_JOB(j);
    struct graph *g = j->graph;
    struct value *x = input(g, "x", TYPE_FLOAT32, SHAPE(2, 3)), *zero;

    (void)state;
    zero = NODE(g, "CastLike", "zero", INTS(g, 0), x);
    output(g, NODE(g, "Where", "w", NODE(g, "Less", "l", x, zero), zero, x));
    accept_graph(g);
    assert_int_equal(j->context.diagnostics.count, 0);
    assert_non_null(zero->constant);
    assert_int_equal(zero->type, TYPE_FLOAT32);
    END_JOB(j);
}

/* The shape of an open input is no input: the axis is what is wrong. */
static void test_shape_of_dynamic(void **state)
{
    WITH_JOB(j);
    struct graph *g = j->graph;
    struct value *x = input(g, "x", TYPE_FLOAT32, SHAPE(-1, 3));

    (void)state;
    output(g, NODE(g, "Reshape", "r", x, NODE(g, "Shape", "s", x)));
    accept_graph(g);
    only(j, TUKI0112, "input x: axis 0 has no fixed length");
    END_JOB(j);
}

static void test_computed_weights(void **state)
{
    WITH_JOB(j);
    struct graph *g = j->graph;
    struct value *x = input(g, "x", TYPE_FLOAT32, SHAPE(1, 1, 4, 4));
    struct value *w =
        input(g, "w", TYPE_FLOAT32, SHAPE(8, 1, -1, 1, 1)); /* claimed: no 0112, no 0114 */

    (void)state;
    output(g, NODE(g, "Conv", "conv", x, w));
    accept_graph(g);
    only(j, TUKI0119, "Conv conv: its weights are the model input w");
    END_JOB(j);
}

static void test_eight_bits(void **state)
{
    WITH_JOB(j);
    struct graph *g = j->graph;
    struct value *x = input(g, "x", TYPE_FLOAT32, SHAPE(1, 4));
    struct value *y = input(g, "y", TYPE_FLOAT32, SHAPE(1, 1, 2, 2));
    struct operator row = {"QuantizeLinear", "", 10, 0, 2, 3, 1, 1, NULL, ""};
    struct value *scale = FLOATS(g, SCALAR, 1);

    (void)state;
    graph_node(g, &row, "q", (struct value *[]){x, scale}, 2, 1);
    graph_node(g, &row, "r", (struct value *[]){y, scale}, 2, 1);
    assert_true(graph_quantised(g));
    accept_inputs(g);
    assert_int_equal(reported(j, TUKI0114), 2); /* two axes; a second input */
    assert_int_equal(j->context.diagnostics.count, 2);
    END_JOB(j);
}

/* R18 */
static void test_mask_by_constant(void **state)
{
    WITH_JOB(j);
    struct graph *g = j->graph;
    struct value *x = input(g, "x", TYPE_FLOAT32, SHAPE(1, 3)), *a, *b, *cast;
    struct value *zero = FLOATS(g, SCALAR, 0);

    (void)state;
    a = NODE(g, "Greater", "above", x, zero);
    b = NODE(g, "Not", "not",
             NODE(g, "And", "and", a, NODE(g, "Less", "below", x, FLOATS(g, SCALAR, 1))));
    cast = NODE(g, "Cast", "cast", b);
    node_set_int(cast->producer, "to", TYPE_FLOAT32);
    outputs(g, 2, (struct value *[]){NODE(g, "Where", "where", a, x, zero), cast});
    accept_graph(g);
    assert_int_equal(j->context.diagnostics.count, 0);
    END_JOB(j);
}

static void test_comparing_computed(void **state)
{
    WITH_JOB(j);
    struct graph *g = j->graph;
    struct value *x = input(g, "x", TYPE_FLOAT32, SHAPE(1, 3)), *a;

    (void)state;
    a = NODE(g, "Equal", "peak", x, NODE(g, "Relu", "relu", x));
    output(g, NODE(g, "Where", "where", a, x, FLOATS(g, SCALAR, 0)));
    accept_graph(g);
    only(j, TUKI0127, "Equal peak: it compares two computed values");
    END_JOB(j);
}

static void test_comparison_as_output(void **state)
{
    WITH_JOB(j);
    struct graph *g = j->graph;
    struct value *x = input(g, "x", TYPE_FLOAT32, SHAPE(1, 3));

    (void)state;
    output(g, NODE(g, "Not", "not", NODE(g, "Greater", "above", x, FLOATS(g, SCALAR, 0))));
    accept_graph(g);
    only(j, TUKI0127, "Greater above: its result is a model output");
    END_JOB(j);
}

static struct value *argmax(struct graph *g, struct value *x)
{
    struct value *v = NODE(g, "ArgMax", "best", x);

    node_set_int(v->producer, "axis", 1);
    return v;
}

static void test_argmax(void **state)
{
    WITH_JOB(j);

    (void)state;
    output(j->graph, argmax(j->graph, input(j->graph, "x", TYPE_FLOAT32, SHAPE(1, 2048))));
    accept_graph(j->graph);
    assert_int_equal(j->context.diagnostics.count, 0);
    END_JOB(j);
}

static void test_argmax_long(void **state)
{
    WITH_JOB(j);

    (void)state;
    output(j->graph, argmax(j->graph, input(j->graph, "x", TYPE_FLOAT32, SHAPE(1, 2049))));
    accept_graph(j->graph);
    only(j, TUKI0128, "ArgMax best: it chooses among 2049 values");
    END_JOB(j);
}

static void test_argmax_read(void **state)
{
    WITH_JOB(j);
    struct value *v;

    (void)state;
    v = argmax(j->graph, input(j->graph, "x", TYPE_FLOAT32, SHAPE(1, 8)));
    v = NODE(j->graph, "Cast", "cast", v);
    node_set_int(v->producer, "to", TYPE_FLOAT32);
    output(j->graph, v);
    accept_graph(j->graph);
    only(j, TUKI0128, "ArgMax best: Cast cast reads its result");
    END_JOB(j);
}

static void test_inner_type(void **state)
{
    WITH_JOB(j);
    struct value *x, *v;

    (void)state;
    x = input(j->graph, "x", TYPE_FLOAT32, SHAPE(1, 8));
    v = NODE(j->graph, "Cast", "cast", x);
    node_set_int(v->producer, "to", TYPE_FLOAT16);
    output(j->graph, NODE(j->graph, "Relu", "relu", v));
    accept_graph(j->graph);
    only(j, TUKI0115, "Cast cast: its output cast has elements of type float16");
    END_JOB(j);
}

static void test_unread(void **state)
{
    WITH_JOB(j);
    struct graph *g = j->graph;
    struct value *x = input(g, "x", TYPE_FLOAT32, SHAPE(1, 8)), *shape, *cast;

    (void)state;
    shape = NODE(g, "Shape", "shape", x);
    cast = NODE(g, "Cast", "cast", shape);
    node_set_int(cast->producer, "to", TYPE_FLOAT32);
    output(g, cast);
    accept_graph(g);
    accept_unread(g);
    assert_int_equal(j->context.diagnostics.count, 0);
    value_replace(g, shape, graph_constant(g, "folded", shape->constant));
    node_remove(g->nodes[0]);
    accept_unread(g);
    only(j, TUKI0118, "input x");
    END_JOB(j);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_dynamic),
        cmocka_unit_test(test_no_shape),
        cmocka_unit_test(test_five_axes),
        cmocka_unit_test(test_one_axis),
        cmocka_unit_test(test_half_type),
        cmocka_unit_test(test_batch),
        cmocka_unit_test(test_empty_axis),
        cmocka_unit_test(test_results_left_out),
        cmocka_unit_test(test_fine),
        cmocka_unit_test(test_differing_batches),
        cmocka_unit_test(test_weight_input),
        cmocka_unit_test(test_weight_rows),
        cmocka_unit_test(test_tokens),
        cmocka_unit_test(test_tokens_in_batch),
        cmocka_unit_test(test_short_indices_in_batch),
        cmocka_unit_test(test_constant_outputs_in_batch),
        cmocka_unit_test(test_tokens_read_otherwise),
        cmocka_unit_test(test_shape_input),
        cmocka_unit_test(test_shape_inputs),
        cmocka_unit_test(test_cast_like),
        cmocka_unit_test(test_shape_of_dynamic),
        cmocka_unit_test(test_computed_weights),
        cmocka_unit_test(test_eight_bits),
        cmocka_unit_test(test_mask_by_constant),
        cmocka_unit_test(test_comparing_computed),
        cmocka_unit_test(test_comparison_as_output),
        cmocka_unit_test(test_argmax),
        cmocka_unit_test(test_argmax_long),
        cmocka_unit_test(test_argmax_read),
        cmocka_unit_test(test_inner_type),
        cmocka_unit_test(test_unread),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
