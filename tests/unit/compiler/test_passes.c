/* Each pass: what it does, and what it must leave alone. Results are compared through the reference
 * engine. */
#include "daemon/compiler/graph/reference.h"
#include "daemon/compiler/passes/pass.h"
#include "tests/unit/compiler/graphs.h"
#include <math.h>

static int run(struct job *j, const char *name)
{
    const struct pass *p = pass_find(name);

    assert_non_null(p);
    return pass_run(j->graph, p);
}

static struct tensor *noise(struct job *j, const struct value *v)
{
    void *data;
    struct tensor *t = tensor_new(&j->context.arena, TYPE_FLOAT32, &v->shape, &data);
    uint32_t random = 7;

    for (int64_t i = 0; i < t->count; i++) {
        random = random * 1664525 + 1013904223;
        ((float *)data)[i] = (float)(random >> 8) / (1 << 23) - 1;
    }
    return t;
}

/* Output 0 of the graph on noise. */
static const float *result(struct job *j, int64_t *count)
{
    struct graph *g = j->graph;
    struct tensor *in[8] = {NULL}, *out[8] = {NULL};

    for (int i = 0; i < g->input_count; i++)
        in[i] = noise(j, g->inputs[i]);
    assert_true(reference_run(g, in, out, NULL, &j->context.arena));
    *count = out[0]->count;
    return tensor_floats(&j->context, out[0], &j->context.arena);
}

/* Runs the pass, which must make so many changes and leave the result as it was. */
static void keeps_result(struct job *j, const char *pass, int changes)
{
    int64_t before_count, after_count;
    const float *before, *after;

    infer_graph(j->graph);
    assert_int_equal(j->context.diagnostics.errors, 0);
    before = result(j, &before_count);
    assert_int_equal(run(j, pass), changes);
    after = result(j, &after_count);
    assert_true(before_count == after_count);
    for (int64_t i = 0; i < after_count; i++)
        if (fabsf(before[i] - after[i]) > 1e-5f + 1e-5f * fabsf(before[i]))
            fail_msg("element %d: %g before, %g after", (int)i, (double)before[i],
                     (double)after[i]);
}

/* O3: the graph ends without a node. */
static void test_fold_to_nothing(void **state)
{
    WITH_JOB(j);
    struct graph *g = j->graph;
    struct value *y = NODE(g, "Add", "sum", FLOATS(g, SHAPE(1), 2), FLOATS(g, SHAPE(1), 3));

    (void)state;
    output(g, y);
    infer_graph(g);
    assert_int_equal(run(j, "fold"), 1);
    assert_int_equal(g->node_count, 0);
    assert_null(y->producer);
    assert_true(numbers(j, g->outputs[0])[0] == 5);
    assert_string_equal(g->outputs[0]->name, "sum");
    assert_int_equal(run(j, "dead"), 2);
    assert_int_equal(g->value_count, 1);
    END_JOB(j);
}

static void test_fold_lazily(void **state)
{
    WITH_JOB(j);
    struct graph *g = j->graph;
    struct value *x = input(g, "x", TYPE_FLOAT32, SHAPE(1, 512)), *w, *y;

    (void)state;
    w = NODE(g, "Mul", "w", NODE(g, "ConstantOfShape", "zeros", INTS(g, 512, 512)),
             FLOATS(g, SCALAR, 2));
    y = NODE(g, "MatMul", "y", x, w);
    output(g, y);
    infer_graph(g);
    assert_int_equal(run(j, "fold"), 2);
    assert_int_equal(g->node_count, 1);
    assert_null(w->constant->data);
    assert_non_null(w->constant->deferred);
    END_JOB(j);
}

static bool never(struct node *n, struct tensor *const *in, struct tensor **out,
                  struct arena *arena, struct arena *scratch)
{
    (void)n, (void)in, (void)out, (void)arena, (void)scratch;
    return false;
}

static void same_shape(struct node *n)
{
    infer_output(n, 0, n->inputs[0]->type, &n->inputs[0]->shape);
}

static const struct operator_functions never_functions = {.infer = same_shape, .evaluate = never};
static const struct operator never_row = {"Never", "", 1, 0, 1, 1, 1, 1, &never_functions, ""};

/* What cannot be evaluated stays, and nobody takes it for a constant. */
static void test_fold_refused(void **state)
{
    WITH_JOB(j);
    struct graph *g = j->graph;
    struct value *c = FLOATS(g, SHAPE(2), 1, 2), *y;

    (void)state;
    y = graph_node(g, &never_row, "stuck", &c, 1, 1)->outputs[0];
    output(g, y);
    infer_graph(g);
    assert_int_equal(run(j, "fold"), 0);
    assert_int_equal(g->node_count, 1);
    assert_null(y->constant);
    infer_graph(g);
    assert_null(y->constant);
    END_JOB(j);
}

static void test_dead(void **state)
{
    WITH_JOB(j);
    struct graph *g = j->graph;
    struct value *x = input(g, "x", TYPE_FLOAT32, SHAPE(2, 4)), *y, *gone;
    struct node *split;

    (void)state;
    split = graph_node(g, operator_get(&j->context, "Split"), "split", &x, 1, 2);
    split->position = 0;
    node_set_int(split, "axis", 1);
    node_set_int(split, "num_outputs", 2);
    y = NODE(g, "Relu", "y", split->outputs[1]);
    gone = NODE(g, "Relu", "gone", split->outputs[1]);
    NODE(g, "Add", "gone too", gone, FLOATS(g, SHAPE(1), 1));
    output(g, y);
    keeps_result(j, "dead", 2 + 1); /* two nodes, one constant */
    assert_int_equal(g->node_count, 2);
    assert_non_null(split->outputs[0]); /* required by Split */
    for (int i = 0; i < g->value_count; i++)
        assert_int_equal(g->values[i]->id, i);
    END_JOB(j);
}

#define STEP(...) v = NODE(g, __VA_ARGS__)

static void test_identity(void **state)
{
    WITH_JOB(j);
    struct graph *g = j->graph;
    struct value *x = input(g, "x", TYPE_FLOAT32, SHAPE(1, 4, 1)), *v;

    (void)state;
    STEP("Relu", "relu", x);
    STEP("Identity", "identity", v);
    STEP("Cast", "cast", v);
    node_set_int(v->producer, "to", TYPE_FLOAT32);
    STEP("Pad", "pad", v, INTS(g, 0, 0, 0, 0, 0, 0));
    STEP("Transpose", "transpose", v); /* only axes of length 1 change places */
    node_set_ints(v->producer, "perm", 3, (int64_t[]){2, 1, 0});
    STEP("Reshape", "reshape", v, INTS(g, 1, -1, 1));
    STEP("Expand", "expand", v, INTS(g, 4, 1));
    STEP("Concat", "concat", v, FLOATS(g, SHAPE(1, 0, 1), 0));
    node_set_int(v->producer, "axis", 1);
    STEP("Slice", "slice", v, INTS(g, 0), INTS(g, 100), INTS(g, 1));
    STEP("Mul", "mul", v, FLOATS(g, SHAPE(1), 1));
    STEP("Add", "add", FLOATS(g, SHAPE(4, 1), 0, 0, 0, 0), v);
    STEP("Div", "div", v, FLOATS(g, SCALAR, 1));
    STEP("Sub", "sub", v, FLOATS(g, SCALAR, 0));
    STEP("Dropout", "dropout", v);
    STEP("Tile", "tile", v, INTS(g, 1, 1, 1));
    STEP("Sum", "sum", v);
    output(g, v);
    keeps_result(j, "identity", 15);
    assert_int_equal(g->node_count, 1);
    assert_string_equal(g->outputs[0]->name, "sum");
    END_JOB(j);
}

/* Each of these looks like nothing, and is something. */
static void test_identity_refused(void **state)
{
    WITH_JOB(j);
    struct graph *g = j->graph;
    struct value *x = input(g, "x", TYPE_FLOAT32, SHAPE(1, 3, 3)), *v;

    (void)state;
    STEP("Mul", "widens", x, FLOATS(g, SHAPE(1, 1, 1, 1), 1));
    STEP("Reshape", "back", v, INTS(g, 1, 3, 3));
    STEP("Transpose", "swaps", v);
    node_set_ints(v->producer, "perm", 3, (int64_t[]){0, 2, 1});
    STEP("Slice", "turns", v, INTS(g, -1), INTS(g, -100), INTS(g, 1), INTS(g, -1));
    STEP("Pad", "shifts", v, INTS(g, 0, 0, 1, 0, 0, -1));
    STEP("Mul", "one is two", v, FLOATS(g, SHAPE(3), 1, 2, 1));
    STEP("Sub", "from zero", FLOATS(g, SCALAR, 0), v);
    STEP("Div", "under one", FLOATS(g, SCALAR, 1), v);
    output(g, v);
    keeps_result(j, "identity", 0);
    END_JOB(j);
}

static void test_merge(void **state)
{
    WITH_JOB(j);
    struct graph *g = j->graph;
    struct value *x = input(g, "x", TYPE_FLOAT32, SHAPE(1, 3)), *a, *b, *c, *d;

    (void)state;
    a = NODE(g, "Exp", "a", NODE(g, "Add", "p", x, FLOATS(g, SHAPE(3), 1, 2, 3)));
    b = NODE(g, "Exp", "b", NODE(g, "Add", "q", x, FLOATS(g, SHAPE(3), 1, 2, 3)));
    c = NODE(g, "Exp", "c",
             NODE(g, "Add", "r", x, FLOATS(g, SHAPE(1, 3), 1, 2, 3))); /* other shape */
    d = NODE(g, "LeakyRelu", "d", x);
    node_set_float(d->producer, "alpha", 0.5f);
    output(g, NODE(g, "Sum", "sum", a, b, c, d, NODE(g, "LeakyRelu", "e", x)));
    keeps_result(j, "merge", 1 + 2); /* the constant, Add, Exp */
    assert_int_equal(count_op(g, "Exp"), 2);
    assert_int_equal(count_op(g, "LeakyRelu"), 2); /* another alpha */
    END_JOB(j);
}

static void test_merge_outputs(void **state)
{
    WITH_JOB(j);
    struct graph *g = j->graph;
    struct value *x = input(g, "x", TYPE_FLOAT32, SHAPE(1, 3));

    (void)state;
    outputs(g, 2, (struct value *[]){NODE(g, "Exp", "a", x), NODE(g, "Exp", "b", x)});
    infer_graph(g);
    assert_int_equal(run(j, "merge"), 1);
    assert_ptr_equal(g->outputs[0], g->outputs[1]);
    assert_string_equal(g->output_names[1], "b");
    END_JOB(j);
}

static struct value *reduced(struct graph *g, const char *op, struct value *x, int64_t keepdims,
                             struct value *axes)
{
    struct value *v = NODE(g, op, "reduced", x, axes);

    node_set_int(v->producer, "keepdims", keepdims);
    return v;
}

/* One reduction, and what has the other shape is a Reshape of it. */
static void test_merge_reductions(void **state)
{
    WITH_JOB(j);
    struct graph *g = j->graph;
    struct value *x = input(g, "x", TYPE_FLOAT32, SHAPE(1, 3, 4, 5)), *a, *b, *c, *d, *e;

    (void)state;
    a = reduced(g, "ReduceMean", x, 1, INTS(g, 2, 3));
    b = reduced(g, "ReduceMean", x, 0, INTS(g, -1, 2));
    c = NODE(g, "GlobalAveragePool", "pool", x);
    d = reduced(g, "ReduceMean", x, 0, INTS(g, 2));   /* another axis */
    e = reduced(g, "ReduceMax", x, 1, INTS(g, 2, 3)); /* another operator */
    outputs(g, 3,
            (struct value *[]){NODE(g, "Sum", "sum", a, c, NODE(g, "Relu", "d", e)), b,
                               NODE(g, "Relu", "e", d)});
    keeps_result(j, "merge", 2 + 1); /* and the axes of a and e */
    assert_int_equal(count_op(g, "ReduceMean") + count_op(g, "GlobalAveragePool"), 2);
    assert_int_equal(count_op(g, "ReduceMax"), 1);
    assert_string_equal(g->outputs[1]->producer->op_type, "ReduceMean"); /* an output is no view */
    END_JOB(j);
}

/* Of a batch each layer is refused in its own words. */
static void test_merge_reductions_refused(void **state)
{
    WITH_JOB(j);
    struct graph *g = j->graph;
    struct value *x = input(g, "x", TYPE_FLOAT32, SHAPE(2, 3));

    (void)state;
    outputs(g, 2,
            (struct value *[]){reduced(g, "ReduceSum", x, 1, INTS(g, 0)),
                               reduced(g, "ReduceSum", x, 0, INTS(g, 0))});
    infer_graph(g);
    assert_int_equal(run(j, "merge"), 1); /* the axes */
    assert_int_equal(count_op(g, "ReduceSum"), 2);
    END_JOB(j);
}

/* ---- batchnorm ---- */

static struct value *weights(struct graph *g, struct shape shape, float first)
{
    float list[256];

    for (int i = 0; i < (int)shape_count(&shape); i++)
        list[i] = first + 0.25f * (float)(i % 7) - 0.1f * (float)(i % 5);
    return floats(g, "w", shape, list);
}

static struct value *batchnorm(struct graph *g, struct value *x, int channels)
{
    float list[4][8];
    struct value *in[5] = {x, NULL, NULL, NULL, NULL};

    for (int i = 0; i < channels; i++) {
        list[0][i] = 1.5f - (float)i;
        list[1][i] = 0.25f * (float)i;
        list[2][i] = -0.5f + (float)i;
        list[3][i] = 0.125f + (float)i;
    }
    for (int i = 0; i < 4; i++)
        in[i + 1] = floats(g, "p", SHAPE(channels), list[i]);
    return node(g, "BatchNormalization", "bn", in, 5);
}

static void test_batchnorm_conv(void **state)
{
    WITH_JOB(j);
    struct graph *g = j->graph;
    struct value *x = input(g, "x", TYPE_FLOAT32, SHAPE(1, 2, 4, 4)), *y;

    (void)state;
    y = batchnorm(g, NODE(g, "Conv", "conv", x, weights(g, SHAPE(3, 2, 3, 3), -0.5f)), 3);
    output(g, y);
    keeps_result(j, "batchnorm", 1);
    assert_int_equal(g->node_count, 1);
    assert_int_equal(g->nodes[0]->input_count, 3); /* a bias came */
    assert_string_equal(g->outputs[0]->name, "bn");
    assert_non_null(g->nodes[0]->inputs[1]->constant->deferred); /* a recipe */
    END_JOB(j);
}

/* Several constants in a row are rounded once: (w * 3) / 3 is w. */
static void test_batchnorm_chain(void **state)
{
    WITH_JOB(j);
    struct graph *g = j->graph;
    struct value *x = input(g, "x", TYPE_FLOAT32, SHAPE(1, 2, 4, 4)), *w, *y;

    (void)state;
    w = weights(g, SHAPE(3, 2, 1, 1), 0.1f);
    y = NODE(g, "Conv", "conv", x, w, FLOATS(g, SHAPE(3), 0.1f, 0.2f, 0.3f));
    y = NODE(g, "Mul", "mul", y, FLOATS(g, SHAPE(3, 1, 1), 3, 7, 11));
    y = NODE(g, "Add", "add", FLOATS(g, SHAPE(1, 3, 1, 1), 1, 2, 3), y);
    y = NODE(g, "Sub", "sub", y, FLOATS(g, SHAPE(3, 1, 1), 1, 2, 3));
    y = NODE(g, "Div", "div", y, FLOATS(g, SHAPE(3, 1, 1), 3, 7, 11));
    y = NODE(g, "Sub", "negate", FLOATS(g, SCALAR, 0.5f), y);
    output(g, y);
    keeps_result(j, "batchnorm", 5);
    assert_int_equal(g->node_count, 1);
    for (int i = 0; i < 6; i++)
        assert_true(numbers(j, g->nodes[0]->inputs[1])[i] == -numbers(j, w)[i]);
    assert_true(numbers(j, g->nodes[0]->inputs[2])[1] == (float)(0.5 - (double)0.2f));
    END_JOB(j);
}

static void test_batchnorm_transposed(void **state)
{
    WITH_JOB(j);
    struct graph *g = j->graph;
    struct value *x = input(g, "x", TYPE_FLOAT32, SHAPE(1, 4, 3, 3)), *y;

    (void)state;
    y = NODE(g, "ConvTranspose", "deconv", x, weights(g, SHAPE(4, 3, 2, 2), 0.3f));
    node_set_int(y->producer, "group", 2); /* 6 channels: 3 of each group */
    output(g, batchnorm(g, y, 6));
    keeps_result(j, "batchnorm", 1);
    assert_int_equal(g->node_count, 1);
    END_JOB(j);
}

static void test_batchnorm_gemm(void **state)
{
    for (int transposed = 0; transposed < 2; transposed++) {
        WITH_JOB(j);
        struct graph *g = j->graph;
        struct value *x = input(g, "x", TYPE_FLOAT32, SHAPE(2, 4)), *y;

        (void)state;
        y = NODE(g, "Gemm", "gemm", x, weights(g, transposed ? SHAPE(3, 4) : SHAPE(4, 3), 0.3f),
                 FLOATS(g, SHAPE(1, 3), 1, 2, 3));
        node_set_int(y->producer, "transB", transposed);
        node_set_float(y->producer, "alpha", 0.5f);
        node_set_float(y->producer, "beta", 2);
        output(g, batchnorm(g, y, 3));
        keeps_result(j, "batchnorm", 1);
        assert_int_equal(g->node_count, 1);
        END_JOB(j);
    }
}

static void test_batchnorm_matmul(void **state)
{
    WITH_JOB(j);
    struct graph *g = j->graph;
    struct value *x = input(g, "x", TYPE_FLOAT32, SHAPE(2, 4)), *y;

    (void)state;
    y = NODE(g, "MatMul", "product", x, weights(g, SHAPE(4, 3), 0.3f));
    output(g, batchnorm(g, y, 3));
    keeps_result(j, "batchnorm", 1);
    assert_int_equal(g->node_count, 2); /* the shift stays behind */
    assert_int_equal(count_op(g, "Add"), 1);
    assert_int_equal(run(j, "batchnorm"), 0);
    END_JOB(j);
}

/* O2: shared weights are copied, not changed. */
static void test_batchnorm_shared_weights(void **state)
{
    WITH_JOB(j);
    struct graph *g = j->graph;
    struct value *x = input(g, "x", TYPE_FLOAT32, SHAPE(1, 2, 4, 4)), *w, *a, *b;

    (void)state;
    w = weights(g, SHAPE(3, 2, 1, 1), 0.1f);
    a = batchnorm(g, NODE(g, "Conv", "a", x, w), 3);
    b = NODE(g, "Conv", "b", x, w);
    output(g, NODE(g, "Add", "sum", a, b));
    keeps_result(j, "batchnorm", 1);
    assert_ptr_equal(b->producer->inputs[1], w);
    END_JOB(j);
}

/* O2: the Conv has another reader, or is an output. */
static void test_batchnorm_read_elsewhere(void **state)
{
    WITH_JOB(j);
    struct graph *g = j->graph;
    struct value *x = input(g, "x", TYPE_FLOAT32, SHAPE(1, 2, 4, 4)), *a, *b;

    (void)state;
    a = NODE(g, "Conv", "a", x, weights(g, SHAPE(3, 2, 1, 1), 0.1f));
    b = NODE(g, "Conv", "b", x, weights(g, SHAPE(3, 2, 1, 1), 0.1f));
    outputs(g, 2, (struct value *[]){NODE(g, "Add", "sum", batchnorm(g, a, 3), a), b});
    batchnorm(g, b, 3);
    keeps_result(j, "batchnorm", 0);
    END_JOB(j);
}

/* A bare [C] lines up with the last axis; a constant may widen; one may change with the position.
 */
static void test_batchnorm_refused(void **state)
{
    WITH_JOB(j);
    struct graph *g = j->graph;
    struct value *x = input(g, "x", TYPE_FLOAT32, SHAPE(1, 2, 3, 3)), *w, *list[5];

    (void)state;
    w = weights(g, SHAPE(3, 2, 1, 1), 0.1f);
    list[0] = NODE(g, "Add", "last axis", NODE(g, "Conv", "a", x, w), FLOATS(g, SHAPE(3), 1, 2, 3));
    list[1] =
        NODE(g, "Mul", "widens", NODE(g, "Conv", "b", x, w), FLOATS(g, SHAPE(1, 1, 1, 1, 1), 2));
    list[2] = NODE(g, "Div", "under", FLOATS(g, SCALAR, 2), NODE(g, "Conv", "c", x, w));
    list[3] = NODE(g, "Add", "too large", NODE(g, "Conv", "d", x, w), FLOATS(g, SCALAR, 1e6f));
    /* 0.1 * 1e-4 * 1e-4 is below what 16 bits hold, though each constant is not */
    list[4] = NODE(g, "Mul", "half", NODE(g, "Conv", "e", x, w), FLOATS(g, SCALAR, 1e-4f));
    list[4] = NODE(g, "Mul", "too small", list[4], FLOATS(g, SCALAR, 1e-4f));
    list[4] = NODE(g, "Mul", "still too small", list[4], FLOATS(g, SCALAR, 1e4f));
    outputs(g, 5, list);
    infer_graph(g);
    assert_int_equal(run(j, "batchnorm"), 1); /* "half" alone */
    assert_int_equal(g->node_count, 5 + 6);
    END_JOB(j);
}

static void test_batchnorm_training(void **state)
{
    WITH_JOB(j);
    struct graph *g = j->graph;
    struct value *x = input(g, "x", TYPE_FLOAT32, SHAPE(1, 2, 3, 3)), *y;

    (void)state;
    y = batchnorm(g, NODE(g, "Conv", "a", x, weights(g, SHAPE(3, 2, 1, 1), 0.1f)), 3);
    node_set_int(y->producer, "training_mode", 1);
    output(g, y);
    infer_graph(g);
    assert_int_equal(run(j, "batchnorm"), 0);
    END_JOB(j);
}

static void test_all(void **state)
{
    WITH_JOB(j);
    struct graph *g = j->graph;
    struct value *x = input(g, "x", TYPE_FLOAT32, SHAPE(1, 2, 4, 4)), *y;
    struct pass_result results[32] = {{0}};
    int64_t count;
    int rows = 0;

    (void)state;
    y = NODE(g, "Conv", "conv", x,
             NODE(g, "Mul", "w2", weights(g, SHAPE(3, 2, 3, 3), -0.5f), FLOATS(g, SCALAR, 2)));
    y = batchnorm(g, NODE(g, "Identity", "i", y), 3);
    output(g, y);
    infer_graph(g);
    assert_int_equal(passes_run(g, results) > 0, 1);
    assert_int_equal(g->node_count, 1);
    result(j, &count);
    for (const struct pass *p = pass_rows(); p->name; p++, rows++) {
        assert_ptr_equal(results[rows].pass, p);
        assert_true(*p->matches && *p->principle && *p->example);
    }
    assert_null(pass_find("nothing"));
    END_JOB(j);
}

/* ---- layernorm ---- */

/* LayerNormalization (or, without means, RMSNormalization) of x [2, 3, 8] over its last axes,
 * written out. */
enum form { FORM_DIV, FORM_RECIPROCAL, FORM_POWER, FORMS };

static struct value *written_out(struct graph *g, struct value *x, bool means, enum form form,
                                 int axes)
{
    struct value *list = axes == 1 ? INTS(g, -1) : INTS(g, 1, 2), *d = x, *square, *sum, *mean;

    if (means) {
        mean = NODE(g, "ReduceMean", "mean", x, list);
        d = NODE(g, "Sub", "difference", x, mean);
    }
    square = form == FORM_DIV ? NODE(g, "Pow", "square", d, FLOATS(g, SCALAR, 2))
                              : NODE(g, "Mul", "square", d, d);
    mean = NODE(g, "ReduceMean", "variance", square, list);
    sum = NODE(g, "Add", "plus", mean, FLOATS(g, SCALAR, 1e-3f));
    if (form == FORM_POWER)
        return NODE(g, "Mul", "y", NODE(g, "Pow", "root", sum, FLOATS(g, SCALAR, -0.5f)), d);
    sum = NODE(g, "Sqrt", "root", sum);
    return form == FORM_DIV ? NODE(g, "Div", "y", d, sum)
                            : NODE(g, "Mul", "y", d, NODE(g, "Reciprocal", "inverse", sum));
}

static void recognises(bool means, enum form form)
{
    WITH_JOB(j);
    struct graph *g = j->graph;
    struct value *x = input(g, "x", TYPE_FLOAT32, SHAPE(2, 3, 8)), *y;

    y = written_out(g, x, means, form, 1);
    y = NODE(g, "Mul", "scaled", FLOATS(g, SHAPE(8), 1, 2, 3, 4, 5, 6, 7, 8), y);
    y = NODE(g, "Add", "shifted", y, FLOATS(g, SHAPE(8), 8, 7, 6, 5, 4, 3, 2, 1));
    output(g, y);
    keeps_result(j, "layernorm", 1);
    run(j, "dead");
    /* RMSNormalization has no bias: that stays an Add. */
    assert_int_equal(g->node_count, means ? 1 : 2);
    assert_int_equal(count_op(g, means ? "LayerNormalization" : "RMSNormalization"), 1);
    END_JOB(j);
}

static void test_layernorm(void **state)
{
    (void)state;
    for (int form = 0; form < FORMS; form++) {
        recognises(true, (enum form)form);
        recognises(false, (enum form)form);
    }
}

/* Over two axes, and with a scale of another shape, which stays behind. */
static void test_layernorm_axes(void **state)
{
    WITH_JOB(j);
    struct graph *g = j->graph;
    struct value *x = input(g, "x", TYPE_FLOAT32, SHAPE(2, 3, 8));

    (void)state;
    output(g, NODE(g, "Mul", "scaled", written_out(g, x, true, FORM_DIV, 2),
                   FLOATS(g, SHAPE(8), 1, 2, 3, 4, 5, 6, 7, 8)));
    keeps_result(j, "layernorm", 1);
    run(j, "dead");
    assert_int_equal(g->node_count, 2);
    END_JOB(j);
}

/* A value in the midst is an output too. */
static void refuses(const char *outside)
{
    WITH_JOB(j);
    struct graph *g = j->graph;
    struct value *x = input(g, "x", TYPE_FLOAT32, SHAPE(2, 3, 8)), *y, *other = NULL;

    y = written_out(g, x, true, FORM_DIV, 1);
    for (int k = 0; k < g->node_count; k++)
        if (!strcmp(g->nodes[k]->name, outside))
            other = g->nodes[k]->outputs[0];
    outputs(g, 2, (struct value *[]){y, other});
    keeps_result(j, "layernorm", 0);
    END_JOB(j);
}

static void test_layernorm_refused(void **state)
{
    (void)state;
    refuses("difference");
    refuses("variance");
    refuses("root");
}

static void test_layernorm_other_axes(void **state)
{
    WITH_JOB(j);
    struct graph *g = j->graph;
    struct value *x = input(g, "x", TYPE_FLOAT32, SHAPE(2, 3, 8)), *y;

    (void)state;
    y = written_out(g, x, true, FORM_DIV, 1);
    for (int k = 0; k < g->node_count; k++)
        if (!strcmp(g->nodes[k]->name, "mean"))
            node_set_input(g->nodes[k], 1, INTS(g, 1, 2));
    output(g, y);
    infer_graph(g);
    /* What is left is x less another mean: no norm of x, but one of the difference without a mean.
     */
    keeps_result(j, "layernorm", 1);
    assert_int_equal(count_op(g, "RMSNormalization"), 1);
    END_JOB(j);
}

/* ---- other ways to write the same ---- */

/* One way to write a mean along the last axis of [2, 3, 8]. */
enum mean_form {
    MEAN_KEPT,
    MEAN_UNSQUEEZED,
    MEAN_RESHAPED,
    MEAN_SUM_TIMES,
    MEAN_SUM_OVER,
    MEAN_FORMS
};

static struct value *mean_by(struct graph *g, struct value *x, enum mean_form form)
{
    struct value *y;

    if (form == MEAN_SUM_TIMES || form == MEAN_SUM_OVER) {
        y = NODE(g, "ReduceSum", "sum", x, INTS(g, -1));
        return form == MEAN_SUM_OVER ? NODE(g, "Div", "share", y, FLOATS(g, SCALAR, 8))
                                     : NODE(g, "Mul", "share", FLOATS(g, SCALAR, 0.125f), y);
    }
    y = NODE(g, "ReduceMean", "mean", x, INTS(g, 2));
    if (form == MEAN_KEPT)
        return y;
    node_set_int(y->producer, "keepdims", 0);
    return form == MEAN_UNSQUEEZED ? NODE(g, "Unsqueeze", "kept", y, INTS(g, 2))
                                   : NODE(g, "Reshape", "kept", y, INTS(g, 2, 3, 1));
}

enum variance_form { VARIANCE_DEVIATIONS, VARIANCE_OF_SQUARES, VARIANCE_NOT_NEGATIVE, VARIANCES };

static struct value *variance_by(struct graph *g, struct value *x, struct value *mean,
                                 enum mean_form form, enum variance_form variance)
{
    struct value *v;

    if (variance == VARIANCE_DEVIATIONS) {
        v = NODE(g, "Sub", "deviation", x, mean);
        return mean_by(g, NODE(g, "Mul", "square", v, v), form);
    }
    v = NODE(g, "Sub", "v", mean_by(g, NODE(g, "Mul", "square", x, x), form),
             NODE(g, "Mul", "square", mean, mean));
    return variance == VARIANCE_OF_SQUARES ? v : NODE(g, "Max", "max", FLOATS(g, SCALAR, 0), v);
}

/* What is done with x, its mean and its variance. */
enum use_form { USE_DIVIDED, USE_SCALED_INVERSE, USE_SCALE_OVER, USE_SPREAD, USE_POWER, USES };

static struct value *used_by(struct graph *g, struct value *x, struct value *mean,
                             struct value *variance, enum use_form use)
{
    struct value *scale = FLOATS(g, SHAPE(8), 1, 2, 3, 4, 5, 6, 7, 8),
                 *bias = FLOATS(g, SHAPE(8), 8, 7, 6, 5, 4, 3, 2, 1),
                 *sum = NODE(g, "Add", "plus", variance, FLOATS(g, SCALAR, 1e-3f)), *root, *y;

    root = use == USE_POWER ? NODE(g, "Pow", "root", sum, FLOATS(g, SCALAR, 0.5f))
                            : NODE(g, "Sqrt", "root", sum);
    if (use == USE_SCALE_OVER)
        root = NODE(g, "Div", "inverse", scale, root);
    if (use == USE_SCALED_INVERSE || use == USE_SPREAD)
        root = NODE(g, "Mul", "inverse", NODE(g, "Reciprocal", "reciprocal", root), scale);
    if (use == USE_SPREAD)
        return NODE(g, "Add", "y", NODE(g, "Mul", "product", x, root),
                    NODE(g, "Sub", "rest", bias, NODE(g, "Mul", "moved", mean, root)));
    y = NODE(g, "Sub", "difference", x, mean);
    y = use == USE_DIVIDED || use == USE_POWER
            ? NODE(g, "Mul", "scaled", NODE(g, "Div", "y", y, root), scale)
            : NODE(g, "Mul", "y", y, root);
    return NODE(g, "Add", "shifted", y, bias);
}

/* Each combination is one LayerNormalization with scale and bias, and nothing else. */
static void normalises(enum mean_form means, enum variance_form variance, enum use_form use)
{
    WITH_JOB(j);
    struct graph *g = j->graph;
    struct value *x = input(g, "x", TYPE_FLOAT32, SHAPE(2, 3, 8)), *mean = mean_by(g, x, means);

    output(g, used_by(g, x, mean, variance_by(g, x, mean, means, variance), use));
    keeps_result(j, "layernorm", 1);
    run(j, "dead");
    assert_int_equal(g->node_count, 1);
    assert_int_equal(count_op(g, "LayerNormalization"), 1);
    END_JOB(j);
}

static void test_layernorm_forms(void **state)
{
    (void)state;
    for (int means = 0; means < MEAN_FORMS; means++)
        for (int variance = 0; variance < VARIANCES; variance++)
            for (int use = 0; use < USES; use++)
                normalises((enum mean_form)means, (enum variance_form)variance, (enum use_form)use);
}

/* Along the axes of an image: y = (x - mean) / Sqrt(variance + epsilon) * scale. */
static void normalises_images(struct value *(*axes)(struct graph *g), const char *becomes,
                              int transposed)
{
    WITH_JOB(j);
    struct graph *g = j->graph;
    struct value *x = input(g, "x", TYPE_FLOAT32, SHAPE(1, 3, 4, 5)), *d, *y;

    d = NODE(g, "Sub", "d", x, NODE(g, "ReduceMean", "mean", x, axes(g)));
    y = NODE(g, "ReduceMean", "variance", NODE(g, "Pow", "square", d, FLOATS(g, SCALAR, 2)),
             axes(g));
    y = NODE(g, "Sqrt", "root", NODE(g, "Add", "plus", y, FLOATS(g, SCALAR, 1e-12f)));
    y = NODE(g, "Mul", "scaled", NODE(g, "Div", "y", d, y), FLOATS(g, SHAPE(3, 1, 1), 1, 2, 3));
    output(g, y);
    keeps_result(j, "layernorm", 1);
    run(j, "dead");
    assert_int_equal(count_op(g, becomes), 1);
    assert_int_equal(count_op(g, "Transpose"), transposed);
    assert_int_equal(g->node_count, 2 + transposed);
    END_JOB(j);
}

static struct value *image_axes(struct graph *g)
{
    return INTS(g, 2, -1);
}

static struct value *channel_axis(struct graph *g)
{
    return INTS(g, 1);
}

static void test_layernorm_images(void **state)
{
    (void)state;
    normalises_images(image_axes, "InstanceNormalization", 0);
    normalises_images(channel_axis, "LayerNormalization", 2);
}

/* Not what it looks like: a factor that is not 1 / count, another mean, items that would mix. */
static void test_layernorm_alike(void **state)
{
    WITH_JOB(j);
    struct graph *g = j->graph;
    struct value *x = input(g, "x", TYPE_FLOAT32, SHAPE(2, 3, 8)), *mean, *other, *d, *y[3];

    (void)state;
    mean = NODE(g, "Mul", "share", NODE(g, "ReduceSum", "sum", x, INTS(g, 2)),
                FLOATS(g, SCALAR, 0.124f));
    y[0] = used_by(g, x, mean, variance_by(g, x, mean, MEAN_KEPT, VARIANCE_OF_SQUARES),
                   USE_SCALED_INVERSE);
    mean = NODE(g, "ReduceMean", "mean", x, INTS(g, 2));
    other = NODE(g, "ReduceMean", "other", x, INTS(g, 1));
    y[1] =
        used_by(g, x, other, variance_by(g, x, mean, MEAN_KEPT, VARIANCE_DEVIATIONS), USE_SPREAD);
    mean = NODE(g, "ReduceMean", "items", x, INTS(g, 0));
    d = NODE(g, "Sub", "d", x, mean);
    mean = NODE(g, "ReduceMean", "variance", NODE(g, "Mul", "square", d, d), INTS(g, 0));
    y[2] = NODE(g, "Div", "y", d,
                NODE(g, "Sqrt", "root", NODE(g, "Add", "plus", mean, FLOATS(g, SCALAR, 1))));
    outputs(g, 3, y);
    keeps_result(j, "layernorm", 0);
    END_JOB(j);
}

/* ---- softmax ---- */

enum softmax_form { SOFTMAX_OVER, SOFTMAX_TIMES, SOFTMAX_ONE_OVER, SOFTMAX_LOG, SOFTMAX_FORMS };

/* Of x [2, 3, 8] along an axis. greatest: what is subtracted first; NULL: nothing. */
static struct value *softmax_by(struct graph *g, struct value *x, struct value *greatest, int axis,
                                enum softmax_form form)
{
    struct value *t = greatest ? NODE(g, "Sub", "t", x, greatest) : x, *e = NODE(g, "Exp", "e", t),
                 *sum = NODE(g, "ReduceSum", "sum", e, INTS(g, axis));

    switch (form) {
    case SOFTMAX_LOG:
        return NODE(g, "Sub", "y", t, NODE(g, "Log", "log", sum));
    case SOFTMAX_TIMES:
        return NODE(g, "Mul", "y", e, NODE(g, "Reciprocal", "inverse", sum));
    case SOFTMAX_ONE_OVER:
        return NODE(g, "Mul", "y", NODE(g, "Div", "inverse", FLOATS(g, SCALAR, 1), sum), e);
    default:
        return NODE(g, "Div", "y", e, sum);
    }
}

enum shift { SHIFT_NONE, SHIFT_LINE, SHIFT_ALL, SHIFTS };

static void is_softmax(enum softmax_form form, enum shift shift, int axis)
{
    WITH_JOB(j);
    struct graph *g = j->graph;
    struct value *x = input(g, "x", TYPE_FLOAT32, SHAPE(2, 3, 8)), *greatest = NULL;

    if (shift == SHIFT_LINE)
        greatest = NODE(g, "ReduceMax", "line", x, INTS(g, axis));
    else if (shift == SHIFT_ALL)
        greatest = NODE(g, "ReduceMax", "all", x, INTS(g, 0, 1, 2));
    output(g, softmax_by(g, x, greatest, axis, form));
    keeps_result(j, "softmax", 1);
    run(j, "dead");
    assert_int_equal(g->node_count, 1);
    assert_int_equal(count_op(g, form == SOFTMAX_LOG ? "LogSoftmax" : "Softmax"), 1);
    assert_int_equal(node_int(g->nodes[0], "axis", -9), axis);
    END_JOB(j);
}

static void test_softmax(void **state)
{
    (void)state;
    for (int form = 0; form < SOFTMAX_FORMS; form++)
        for (int shift = 0; shift < SHIFTS; shift++)
            for (int axis = 1; axis < 3; axis++)
                is_softmax((enum softmax_form)form, (enum shift)shift, axis);
}

static void test_softmax_logarithms(void **state)
{
    WITH_JOB(j);
    struct graph *g = j->graph;
    struct value *x = input(g, "x", TYPE_FLOAT32, SHAPE(2, 3, 8)), *y[3];

    (void)state;
    y[0] = NODE(g, "Log", "y", NODE(g, "Softmax", "softmax", x));
    y[2] = NODE(g, "Exp", "e", NODE(g, "LogSoftmax", "logarithms", x));
    y[1] = NODE(g, "Sub", "z", x, NODE(g, "ReduceLogSumExp", "sum", x, INTS(g, -1)));
    outputs(g, 3, y);
    keeps_result(j, "softmax", 3);
    run(j, "dead");
    assert_int_equal(g->node_count, 3);
    assert_int_equal(count_op(g, "LogSoftmax"), 2);
    assert_int_equal(count_op(g, "Softmax"), 1);
    END_JOB(j);
}

/* A sum over other axes, exponentials that are read elsewhere, a sum without its dims, and axis 0
 * of a batch. */
static void test_softmax_alike(void **state)
{
    WITH_JOB(j);
    struct graph *g = j->graph;
    struct value *x = input(g, "x", TYPE_FLOAT32, SHAPE(3, 3, 3)), *y[5], *e, *sum;

    (void)state;
    e = NODE(g, "Exp", "e", x);
    y[0] = NODE(g, "Div", "two axes", e, NODE(g, "ReduceSum", "sum", e, INTS(g, 0, 2)));
    e = NODE(g, "Exp", "e", x);
    y[1] = NODE(g, "Div", "read", e, NODE(g, "ReduceSum", "sum", e, INTS(g, 2)));
    y[2] = e;
    e = NODE(g, "Exp", "e", x);
    sum = NODE(g, "ReduceSum", "sum", e, INTS(g, 2));
    node_set_int(sum->producer, "keepdims", 0);
    y[3] = NODE(g, "Div", "other", e, sum);
    e = NODE(g, "Exp", "e", x);
    y[4] = NODE(g, "Div", "items", e, NODE(g, "ReduceSum", "sum", e, INTS(g, 0)));
    outputs(g, 5, y);
    keeps_result(j, "softmax", 0);
    END_JOB(j);
}

/* ---- transpose ---- */

static struct value *turned(struct graph *g, const char *name, struct value *x, int count,
                            const int64_t *perm)
{
    struct value *y = NODE(g, "Transpose", name, x);

    node_set_ints(y->producer, "perm", count, perm);
    infer_node(y->producer);
    return y;
}

static const int64_t to_last[] = {0, 2, 3, 1}, to_first[] = {0, 3, 1, 2};

/* Until nothing changes, as rounds of all passes would; the result stays what it was. */
static void settles(struct job *j, int nodes)
{
    int64_t before_count, after_count;
    const float *before, *after;

    infer_graph(j->graph);
    assert_int_equal(j->context.diagnostics.errors, 0);
    before = result(j, &before_count);
    while (run(j, "transpose"))
        run(j, "identity");
    run(j, "dead");
    after = result(j, &after_count);
    assert_true(before_count == after_count);
    assert_memory_equal(before, after, (size_t)after_count * sizeof *after);
    assert_int_equal(j->graph->node_count, nodes);
}

static void test_transpose_pairs(void **state)
{
    WITH_JOB(j);
    struct graph *g = j->graph;
    struct value *x = input(g, "x", TYPE_FLOAT32, SHAPE(1, 3, 4, 5)), *y[3];

    (void)state;
    y[0] = NODE(g, "Relu", "a", turned(g, "b", turned(g, "l", x, 4, to_last), 4, to_first));
    y[1] = turned(g, "l2", turned(g, "l1", x, 4, to_last), 4, to_last);
    y[2] = NODE(g, "Abs", "c", turned(g, "l3", x, 4, to_first));
    outputs(g, 3, y);
    settles(j, 4);
    assert_int_equal(count_op(g, "Transpose"), 2);
    END_JOB(j);
}

/* What TensorFlow has between two convolutions, its shortcut and its padding included. */
static void test_transpose_between(void **state)
{
    WITH_JOB(j);
    struct graph *g = j->graph;
    struct value *x = input(g, "x", TYPE_FLOAT32, SHAPE(1, 3, 4, 5)), *y, *last, *parts[2];

    (void)state;
    last = turned(g, "l", NODE(g, "Sigmoid", "s", x), 4, to_last);
    y = NODE(g, "Add", "bias", last, FLOATS(g, SHAPE(3), 1, 2, 3));
    y = NODE(g, "Max", "rows", FLOATS(g, SHAPE(4, 1, 1), -1, 0, 1, 2), y, FLOATS(g, SCALAR, -3));
    y = NODE(g, "Mul", "gate", y, NODE(g, "Tanh", "tanh", last));
    parts[0] = y, parts[1] = last;
    y = NODE(g, "Concat", "joined", parts[0], parts[1]);
    node_set_int(y->producer, "axis", -1);
    y = NODE(g, "Softmax", "softmax", y);
    y = NODE(g, "Pad", "padded", y, INTS(g, 0, 1, 2, 0, 0, 3, -1, 1), FLOATS(g, SCALAR, 9));
    output(g, NODE(g, "Neg", "n", turned(g, "b", y, 4, to_first)));
    settles(j, 9);
    assert_int_equal(count_op(g, "Transpose"), 0);
    END_JOB(j);
}

/* A bias behind a Transpose that stays is brought to its convolution all the same. */
static void test_transpose_parameter(void **state)
{
    WITH_JOB(j);
    struct graph *g = j->graph;
    struct value *x = input(g, "x", TYPE_FLOAT32, SHAPE(1, 2, 4, 4)), *y;

    (void)state;
    y = NODE(g, "Conv", "conv", x, weights(g, SHAPE(3, 2, 1, 1), 0.1f));
    y = NODE(g, "Add", "bias", FLOATS(g, SHAPE(3), 1, 2, 3), turned(g, "l", y, 4, to_last));
    output(g, NODE(g, "Relu", "relu", y));
    settles(j, 4);
    assert_int_equal(run(j, "batchnorm"), 1);
    run(j, "dead");
    assert_int_equal(g->node_count, 3);
    END_JOB(j);
}

/* What must stay: a Transpose without its like, an operand that is not transposed, the batch's
 * axis, and the Transposes that say how lines lie at the edge. */
static void test_transpose_refused(void **state)
{
    static const int64_t items[] = {1, 0, 2, 3}, line[] = {0, 2, 1};
    WITH_JOB(j);
    struct graph *g = j->graph;
    struct value *x = input(g, "x", TYPE_FLOAT32, SHAPE(2, 4, 4, 4)),
                 *lines = input(g, "lines", TYPE_FLOAT32, SHAPE(2, 3, 4)), *y[4];

    (void)state;
    y[0] = NODE(g, "Relu", "alone", turned(g, "l", x, 4, to_last));
    y[1] = turned(g, "b", NODE(g, "Add", "both", turned(g, "l", x, 4, to_last), x), 4, to_first);
    y[2] = turned(g, "b", turned(g, "l", x, 4, items), 4, items);
    y[3] = NODE(g, "Relu", "r", turned(g, "b", turned(g, "l", lines, 3, line), 3, line));
    outputs(g, 4, y);
    infer_graph(g);
    assert_int_equal(j->context.diagnostics.errors, 0);
    assert_int_equal(run(j, "transpose"), 0);
    END_JOB(j);
}

/* ---- groupnorm ---- */

/* x [2, 6, 4, 5] as groups of channels, normalised, and back. */
static struct value *in_groups(struct graph *g, struct value *x, int groups, float scale,
                               const int64_t *back)
{
    float scales[6], shifts[6] = {0};
    struct shape s = {.axes = 1, .dim = {groups}};
    struct value *y = NODE(g, "Reshape", "lines", x, INTS(g, 0, groups, -1));

    for (int i = 0; i < groups; i++)
        scales[i] = scale;
    y = NODE(g, "InstanceNormalization", "norm", y, graph_constant_floats(g, "s", &s, scales),
             graph_constant_floats(g, "b", &s, shifts));
    return NODE(g, "Reshape", "back", y, graph_constant_ints(g, "shape", 4, back));
}

static void recognises_groups(int groups, float scale, const int64_t *back, const char *becomes)
{
    WITH_JOB(j);
    struct graph *g = j->graph;
    struct value *x = input(g, "x", TYPE_FLOAT32, SHAPE(2, 6, 4, 5));

    output(g, in_groups(g, x, groups, scale, back));
    keeps_result(j, "groupnorm", becomes ? 1 : 0);
    run(j, "dead");
    assert_int_equal(g->node_count, becomes ? 1 : 3);
    assert_string_equal(g->nodes[becomes ? 0 : 1]->op->name,
                        becomes ? becomes : "InstanceNormalization");
    END_JOB(j);
}

static void test_groupnorm(void **state)
{
    static const int64_t same[] = {2, 6, 4, 5}, other[] = {2, 6, 5, 4};

    (void)state;
    recognises_groups(1, 1, same, "GroupNormalization");
    recognises_groups(3, 1, same, "GroupNormalization");
    recognises_groups(6, 1, same, "InstanceNormalization");
    recognises_groups(6, 2, same, "InstanceNormalization");
    /* A scale a group, groups that part channels, another shape afterwards. */
    recognises_groups(3, 2, same, NULL);
    recognises_groups(4, 1, same, NULL);
    recognises_groups(3, 1, other, NULL);
}

/* ---- reshape ---- */

static void test_reshape(void **state)
{
    WITH_JOB(j);
    struct graph *g = j->graph;
    struct value *x = input(g, "x", TYPE_FLOAT32, SHAPE(1, 3, 4, 5)), *y;

    (void)state;
    y = NODE(g, "Reshape", "line", x, INTS(g, -1));
    y = NODE(g, "Unsqueeze", "row", y, INTS(g, 0));
    y = NODE(g, "Squeeze", "line again", y, INTS(g, 0));
    output(g, NODE(g, "Reshape", "last", y, INTS(g, 1, 12, 5)));
    keeps_result(j, "reshape", 3);
    run(j, "dead");
    assert_int_equal(g->node_count, 1);
    END_JOB(j);
}

/* Beside what is no change of shape, over a merged batch, and where they say how an edge lies. */
static void test_reshape_refused(void **state)
{
    WITH_JOB(j);
    struct graph *g = j->graph;
    struct value *x = input(g, "x", TYPE_FLOAT32, SHAPE(2, 3, 4)),
                 *z = input(g, "z", TYPE_FLOAT32, SHAPE(2, 3, 4)), *y[3];

    (void)state;
    y[0] =
        NODE(g, "Reshape", "a", NODE(g, "Relu", "r", NODE(g, "Flatten", "f", x)), INTS(g, 2, 3, 4));
    y[1] = NODE(g, "Reshape", "b", NODE(g, "Reshape", "line", x, INTS(g, -1)), INTS(g, 2, 4, 3));
    y[2] = NODE(g, "Relu", "c",
                NODE(g, "Squeeze", "s", NODE(g, "Unsqueeze", "u", z, INTS(g, 1)), INTS(g, 1)));
    outputs(g, 3, y);
    keeps_result(j, "reshape", 0);
    END_JOB(j);
}

/* ---- depth ---- */

/* x [2, 12, 3, 4] as six axes, transposed, and back to [2, c, h, w]. */
static void moves_depth(const int64_t *six, const int64_t *perm, const int64_t *after,
                        const char *mode)
{
    WITH_JOB(j);
    struct graph *g = j->graph;
    struct value *x = input(g, "x", TYPE_FLOAT32, SHAPE(2, 12, 3, 4)), *y;

    y = NODE(g, "Reshape", "six", x, graph_constant_ints(g, "six axes", 6, six));
    y = turned(g, "turned", y, 6, perm);
    output(g, NODE(g, "Reshape", "four", y, graph_constant_ints(g, "four axes", 4, after)));
    keeps_result(j, "depth", mode ? 1 : 0);
    run(j, "dead");
    assert_int_equal(g->node_count, mode ? 1 : 3);
    if (mode) {
        assert_string_equal(g->nodes[0]->op->name, "DepthToSpace");
        assert_string_equal(node_string(g->nodes[0], "mode", ""), mode);
        assert_int_equal(node_int(g->nodes[0], "blocksize", 0), 2);
    }
    END_JOB(j);
}

static void test_depth(void **state)
{
    static const int64_t block_first[] = {2, 2, 2, 3, 3, 4}, block_last[] = {2, 3, 2, 2, 3, 4},
                         oblong[] = {2, 3, 4, 1, 3, 4}, dcr[] = {0, 3, 4, 1, 5, 2},
                         crd[] = {0, 1, 4, 2, 5, 3}, turned_block[] = {0, 1, 4, 3, 5, 2},
                         after[] = {2, 3, 6, 8}, other[] = {2, 3, 8, 6}, flat[] = {2, 3, 12, 4};

    (void)state;
    moves_depth(block_first, dcr, after, "DCR");
    moves_depth(block_last, crd, after, "CRD");
    /* Axes of a block that change places, another shape afterwards, a block that is no square. */
    moves_depth(block_last, turned_block, after, NULL);
    moves_depth(block_last, crd, other, NULL);
    moves_depth(oblong, crd, flat, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fold_to_nothing),
        cmocka_unit_test(test_fold_lazily),
        cmocka_unit_test(test_fold_refused),
        cmocka_unit_test(test_dead),
        cmocka_unit_test(test_identity),
        cmocka_unit_test(test_identity_refused),
        cmocka_unit_test(test_merge),
        cmocka_unit_test(test_merge_outputs),
        cmocka_unit_test(test_merge_reductions),
        cmocka_unit_test(test_merge_reductions_refused),
        cmocka_unit_test(test_batchnorm_conv),
        cmocka_unit_test(test_batchnorm_chain),
        cmocka_unit_test(test_batchnorm_transposed),
        cmocka_unit_test(test_batchnorm_gemm),
        cmocka_unit_test(test_batchnorm_matmul),
        cmocka_unit_test(test_batchnorm_shared_weights),
        cmocka_unit_test(test_batchnorm_read_elsewhere),
        cmocka_unit_test(test_batchnorm_refused),
        cmocka_unit_test(test_batchnorm_training),
        cmocka_unit_test(test_layernorm),
        cmocka_unit_test(test_layernorm_axes),
        cmocka_unit_test(test_layernorm_refused),
        cmocka_unit_test(test_layernorm_other_axes),
        cmocka_unit_test(test_layernorm_forms),
        cmocka_unit_test(test_layernorm_images),
        cmocka_unit_test(test_layernorm_alike),
        cmocka_unit_test(test_groupnorm),
        cmocka_unit_test(test_reshape),
        cmocka_unit_test(test_reshape_refused),
        cmocka_unit_test(test_depth),
        cmocka_unit_test(test_transpose_pairs),
        cmocka_unit_test(test_transpose_between),
        cmocka_unit_test(test_transpose_parameter),
        cmocka_unit_test(test_transpose_refused),
        cmocka_unit_test(test_softmax),
        cmocka_unit_test(test_softmax_logarithms),
        cmocka_unit_test(test_softmax_alike),
        cmocka_unit_test(test_all),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
