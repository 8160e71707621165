/*
 * What 16 bits cannot hold (R16, R17, R19, R20, R20a): verdicts over small graphs, a row each. A
 * row says its graph in a line:
 *
 *     a = Add(x, 1e-8); Div(y, a); a
 *
 * Statements with "=" name a value, all others are outputs of the model. x, y and z are inputs
 * [1, 4, 8]; 1e-8 is a constant of one value, {8: 1 2} one of shape [8] whose numbers are repeated
 * until it is full, <1 8 4> int64 numbers, ?{8: 1 0} truth values, _ an input left out. Attributes
 * are whole numbers: Softmax[axis=1](x), Transpose[perm=0 2 1](x).
 */
#include "daemon/compiler/limits/limits.h"
#include "daemon/compiler/passes/pass.h"
#include "tests/unit/compiler/graphs.h"
#include <ctype.h>
#include <math.h>
#include <stdlib.h>

enum { MOST_NAMES = 16, MOST_INPUTS = 8 };

struct reader {
    struct job *j;
    const char *at;
    char names[MOST_NAMES][16];
    struct value *values[MOST_NAMES];
    int count;
};

static void blanks(struct reader *r)
{
    while (*r->at == ' ' || *r->at == '\n')
        r->at++;
}

static bool take(struct reader *r, char c)
{
    blanks(r);
    if (*r->at != c)
        return false;
    r->at++;
    return true;
}

static void need(struct reader *r, char c)
{
    if (!take(r, c))
        fail_msg("no %c at %s", c, r->at);
}

static double read_number(struct reader *r)
{
    char *end;
    double number;

    blanks(r);
    number = strtod(r->at, &end);
    if (end == r->at)
        fail_msg("no number at %s", r->at);
    r->at = end;
    return number;
}

static struct value *read_tensor(struct reader *r, enum element_type type)
{
    struct graph *g = r->j->graph;
    struct shape s = SCALAR;
    double numbers[64];
    int given = 0;
    void *data;

    while (!take(r, ':')) {
        s.dim[s.axes++] = (int64_t)read_number(r);
        take(r, ',');
    }
    while (!take(r, '}'))
        numbers[given++] = read_number(r);
    struct tensor *t = tensor_new(&g->context->arena, type, &s, &data);
    for (int64_t i = 0; i < t->count; i++)
        if (type == TYPE_BOOL)
            ((unsigned char *)data)[i] = numbers[i % given] != 0;
        else
            ((float *)data)[i] = (float)numbers[i % given];
    return graph_constant(g, "c", t);
}

static struct value *read_ints(struct reader *r)
{
    int64_t ints[MOST_INPUTS];
    int count = 0;

    while (!take(r, '>'))
        ints[count++] = (int64_t)read_number(r);
    return graph_constant_ints(r->j->graph, "ints", count, ints);
}

static void read_attributes(struct reader *r, struct node *n)
{
    while (!take(r, ']')) {
        char name[16] = "";
        int64_t ints[MOST_INPUTS];
        int count = 0;

        blanks(r);
        sscanf(r->at, "%15[a-z_]", name);
        r->at += strlen(name);
        need(r, '=');
        do {
            ints[count++] = (int64_t)read_number(r);
            blanks(r);
        } while (isdigit((unsigned char)*r->at));
        if (count == 1 && strcmp(name, "axes") != 0)
            node_set_int(n, name, ints[0]);
        else
            node_set_ints(n, name, count, ints);
        take(r, ',');
    }
}

static struct value *read_value(struct reader *r);

static struct value *read_node(struct reader *r, const char *op)
{
    struct graph *g = r->j->graph;
    struct value *inputs[MOST_INPUTS];
    struct node attributes = {.graph = g}, *n;
    int count = 0;

    if (take(r, '['))
        read_attributes(r, &attributes);
    need(r, '(');
    do
        inputs[count++] = read_value(r);
    while (take(r, ','));
    need(r, ')');
    n = graph_node(g, operator_get(g->context, op), "", inputs, count, 1);
    n->position = g->node_count - 1;
    n->attributes = attributes.attributes;
    n->attribute_count = attributes.attribute_count;
    n->attribute_room = attributes.attribute_room;
    return n->outputs[0];
}

static struct value *read_value(struct reader *r)
{
    char word[32] = "";

    if (take(r, '_'))
        return NULL;
    if (take(r, '{'))
        return read_tensor(r, TYPE_FLOAT32);
    if (take(r, '<'))
        return read_ints(r);
    if (take(r, '?')) {
        need(r, '{');
        return read_tensor(r, TYPE_BOOL);
    }
    if (isdigit((unsigned char)*r->at) || *r->at == '-') {
        const float number = (float)read_number(r);

        return floats(r->j->graph, "c", SCALAR, &number);
    }
    sscanf(r->at, "%31[A-Za-z0-9]", word);
    r->at += strlen(word);
    if (isupper((unsigned char)*word))
        return read_node(r, word);
    for (int i = 0; i < r->count; i++)
        if (!strcmp(r->names[i], word))
            return r->values[i];
    fail_msg("no value %s", word);
    return NULL;
}

/* The graph of a line. */
static void read_graph(struct job *j, const char *line)
{
    struct reader r = {.j = j, .at = line};
    struct value *list[MOST_NAMES];
    int count = 0;

    for (; r.count < 3; r.count++) {
        r.names[r.count][0] = "xyz"[r.count];
        r.values[r.count] = input(j->graph, r.names[r.count], TYPE_FLOAT32, SHAPE(1, 4, 8));
    }
    do {
        char name[16] = "";
        int length = 0;

        blanks(&r);
        if (sscanf(r.at, "%15[a-z] = %n", name, &length) == 1 && length) {
            r.at += length;
            r.values[r.count] = read_value(&r);
            memcpy(r.names[r.count++], name, sizeof name);
        } else {
            list[count++] = read_value(&r);
        }
    } while (take(&r, ';'));
    if (*r.at)
        fail_msg("what is %s", r.at);
    outputs(j->graph, count, list);
}

struct verdict {
    int code; /* 0: accepted; else exactly one of it, and no other */
    const char *graph;
};

static bool is_as_said(const struct diagnostics *d, int code)
{
    const char *name = d->count ? diagnostic_info(d->list[0].code)->name : "";

    return code ? d->count == 1 && strtol(name + 4, NULL, 10) == code : !d->count;
}

static int check_row(const struct verdict *row)
{
    const struct diagnostics *d;
    bool good;
    WITH_JOB(j);

    d = &j->context.diagnostics;
    read_graph(j, row->graph);
    infer_graph(j->graph);
    if (d->count)
        fail_msg("%s: %s", row->graph, d->list[0].message);
    passes_run(j->graph, NULL);
    report_limits(j->graph);
    good = is_as_said(d, row->code);
    if (!good)
        print_error("%s: not %d\n", row->graph, row->code);
    for (int k = 0; !good && k < d->count; k++)
        print_error("    %s\n", d->list[k].message);
    END_JOB(j);
    return !good;
}

/* All rows, so that one run shows everything that is wrong. */
static void check(const struct verdict *rows, size_t count)
{
    int wrong = 0;

    for (size_t i = 0; i < count; i++)
        wrong += check_row(&rows[i]);
    assert_int_equal(wrong, 0);
}

#define CHECK(rows) check(rows, sizeof(rows) / sizeof *(rows))

/* ---- R16 ---- */

static void test_factors(void **unused)
{
    static const struct verdict rows[] = {
        /* Multipliers of two or more values. */
        {136, "Mul(x, {8: 1 1e6})"},
        {136, "Mul({8: 1 -1e6}, x)"},
        {136, "Mul(x, {8: 1 1e-8})"},
        {136, "Mul(x, {8: 1 -1e-8})"},
        {136, "Mul(x, {4,1: 65600})"},
        {136, "Mul(x, {1,4,1: 5.9e-8})"},
        {0, "Mul(x, {8: 65504 6e-8})"},
        {0, "Mul(x, {8: -65504 -6e-8 0})"},
        /* Exact zeros are fine, and so are single values. */
        {0, "Mul(x, {8: 0 1})"},
        {0, "Mul(x, 1e6)"},
        {0, "Mul(x, 1e-8)"},
        {0, "Mul(x, {1,1,1: 1e9})"},
        {0, "Div(x, {1: 1e-9})"},
        /* Constants divided by a computed value. */
        {136, "Div({8: 1 1e6}, x)"},
        {136, "Div({8: 1 1e-8}, x)"},
        {0, "Div({8: 1 0 -3}, x)"},
        {0, "Div(1e6, x)"},
        /* A divisor counts by its reciprocal. */
        {136, "Div(x, {8: 1 1e-6})"},
        {136, "Div(x, {8: 1 -1e8})"},
        {0, "Div(x, {8: 1 1e6})"},
        {0, "Div(x, {8: 1 2e-5})"},
        {136, "Div(x, {8: 1 1e-5})"},
        {0, "Div(x, {8: 1 0})"},
        /* Whose result would still be 16-bit: of what is known to be small, nothing is left. */
        {0, "Mul(Sigmoid(x), {8: 1 1e-8})"},
        {136, "Mul(Mul(Sigmoid(x), 100.0), {8: 1 1e-8})"},
        {0, "Mul(x, {8: 1 1e-13})"},
        {0, "Mul(Clip(x, 1.0, 2.0), {8: 1 1e6})"},
        {136, "Mul(Clip(x, 0.01, 2.0), {8: 1 1e6})"},
        {0, "Div({8: 1 1e-8}, Clip(x, 1.0, 2.0))"},
        {0, "Div({8: 1 1e6}, Sigmoid(x))"},
        /* … which is that of the chain. */
        {136, "Mul(Mul(Sigmoid(x), {8: 1 1e-9}), 1e9)"},
        {136, "Mul(Mul(x, {8: 1 1e6}), 1e-6)"},
        {136, "Mul(Clip(Mul(x, {8: 1 1e-13}), -1.0, 1.0), 1e10)"},
    };

    (void)unused;
    CHECK(rows);
}

static void test_addends(void **unused)
{
    static const struct verdict rows[] = {
        {136, "Add(x, {8: 0 1e5})"},
        {136, "Add({8: 0 -1e5}, x)"},
        {136, "Sub(x, {8: 0 1e5})"},
        {136, "Sub({4,1: 0 1e5}, x)"},
        {136, "Sum(x, y, {8: 0 1e5})"},
        {136, "Mean(x, {8: 0 1e5})"},
        {0, "Add(x, {8: 65504 -65504})"},
        /* Too small ones are accepted, and what Max, Min and Where have. */
        {0, "Add(x, {8: 1e-8 0})"},
        {0, "Sub(x, {8: 1e-30 0})"},
        {0, "Add(x, 1e-8)"},
        {0, "Max(x, {8: -1e9 1e-9})"},
        {0, "Min(x, {8: 1e9 1e-9})"},
        {0, "Where(?{8: 1 0}, x, {8: 1e9})"},
        {0, "Where(?{8: 1 0}, {8: 1e-9}, x)"},
        /* A single value, where the result of its chain is beyond for every input. */
        {136, "Add(x, 1e6)"},
        {136, "Sub(x, {1,1: 1e6})"},
        {136, "Sub(-1e6, x)"},
        {0, "Add(x, 1e5)"},
        {0, "Mul(Add(x, 1e6), 1e-6)"},
        {0, "Sub(Add(x, 1e6), 1e6)"},
        {0, "Sqrt(Add(x, 1e6))"},
        {136, "Mul(Add(x, 1e6), 0.5)"},
        {136, "Add(Sigmoid(x), 7e4)"},
        {136, "Relu(Add(Relu(x), 7e4))"},
        {0, "Relu(Sub(Relu(x), 7e4))"},
        {136, "Add(MatMul(x, {8,8: 1}), 1e6)"},
        {136, "Sum(x, y, 1e6)"},
        /* Not within a chain: it counts as 16-bit. */
        {136, "a = Add(x, 1e6); Mul(a, 1e-6); Relu(a)"},
        {136, "a = Add(x, 1e6); a; Mul(a, 1e-6)"},
        {136, "Mul(Add(x, 1e6), y)"},
        {136, "Mul(Reshape(Add(x, 1e6), <1 8 4>), 1e-6)"},
        /* In a chain or not, a tensor of them is 16-bit. */
        {136, "Mul(Add(x, {8: 1e6 2e6}), 1e-6)"},
    };

    (void)unused;
    CHECK(rows);
}

/* What stays of it, read as Mul and Add; what folds into its producer is not looked at. */
static void test_batch_normalization(void **unused)
{
    static const struct verdict rows[] = {
        {0, "BatchNormalization(x, {4: 1}, {4: 0}, {4: 0}, {4: 1})"},
        {136, "BatchNormalization(x, {4: 1 1e-9}, {4: 0}, {4: 0}, {4: 1})"},
        {136, "BatchNormalization(x, {4: 1 1e6}, {4: 0}, {4: 0}, {4: 1})"},
        {136, "BatchNormalization(x, {4: 1}, {4: 1e6 0}, {4: 0}, {4: 1})"},
        {136, "BatchNormalization(x, {4: 30}, {4: 0}, {4: -1e4 0}, {4: 1})"},
        {0, "BatchNormalization(x, {4: 0 1}, {4: 1e-9}, {4: 0}, {4: 1})"},
        {0, "BatchNormalization(x, {4: 1e3}, {4: 0}, {4: 0}, {4: 1e8})"},
        {0, "BatchNormalization(Conv(x, {4,4,1: 1e3 1}), {4: 1e-8 1e-8}, {4: 0}, {4: 0}, {4: 1})"},
        {0, "Mul(Conv(x, {4,4,1: 1}), {4,1: 2})"},
    };

    (void)unused;
    CHECK(rows);
}

/* ---- R17 ---- */

static void test_masks(void **unused)
{
    static const struct verdict rows[] = {
        {0, "Softmax(Add(x, {8: -65504 0}))"},
        {0, "Softmax(Add(x, {8: -1e9 0}))"},
        {0, "Softmax(Add({8: -inf 0}, x))"},
        {0, "Softmax(Add(x, {4,8: -3.4e38 -3.4e38 -3.4e38 -3.4e38 -3.4e38 -3.4e38 -3.4e38 0}))"},
        {0, "Softmax(Sub(x, {8: 1e9 0}))"},
        {0, "Softmax(Sum(x, y, {8: -1e9 0}))"},
        {0, "Softmax(Where(?{8: 1 0}, x, -inf))"},
        {0, "Softmax(Where(?{4,8: 1 0 0 0}, {1: -1e9}, x))"},
        {0, "Softmax(Where(?{8: 1 0}, {8: -1e9}, x))"},
        /* Masks that constant folding makes. */
        {0, "Softmax(Add(x, Expand({1,8: -1e9 0}, <1 4 8>)))"},
        {0, "Softmax(Add(x, Reshape({32: -1e9 0}, <4 8>)))"},
        {0, "Softmax(Add(x, Slice({4,16: -1e9 0}, <0>, <8>, <1>)))"},
        {137, "Softmax(Add(x, Slice({4,16: -1e9 -1e9 -1e9 -1e9 -1e9 -1e9 -1e9 -1e9 0 0 0 0 0 0 0 "
              "0}, <0>, <8>, <1>)))"},
        {0, "Softmax(Add(x, Mul(Sub(1.0, {8: 1 0}), -1e9)))"},
        {0, "Softmax(Add(x, Where(?{8: 1 0}, -inf, 0.0)))"},
        /* Whole rows. */
        {137, "Softmax(Add(x, {8: -1e9}))"},
        {137, "Softmax(Add(x, {8: -65504}))"},
        {0, "Softmax(Add(x, {8: -65472}))"},
        {137, "Softmax(Add(x, {4,1: -1e9 0}))"},
        {137, "Softmax(Add(x, {4,8: 0 0 0 0 0 0 0 0 -inf -1e9 -1e9 -1e9 -1e9 -1e9 -1e9 -1e9}))"},
        {137, "Softmax(Sub(x, {8: 1e9}))"},
        {137, "Softmax(Where(?{4,1: 1 0}, x, -inf))"},
        {137, "Softmax(Where(?{8: 1}, Add({8: -1e9}, {8: -1e9}), x))"},
        {137, "Softmax(Add(x, -1e9))"},
        /* … along the axis that is normalised. */
        {0, "Softmax[axis=1](Add(x, {4,1: -1e9 0}))"},
        {137, "Softmax[axis=1](Add(x, {8: -1e9 0}))"},
        {0, "Softmax[axis=1, flatten=1](Add(x, {4,1: -1e9 0}))"},
        {0, "Softmax[axis=1, flatten=1](Add(x, {8: -1e9 0}))"},
        {137, "Softmax[axis=2, flatten=1](Add(x, {4,1: -1e9 0}))"},
        /* Reshaped on the way. */
        {0, "Softmax(Reshape(Add(x, {8: -1e9 0}), <1 1 4 8>))"},
        {137, "Softmax(Reshape(Add(x, {8: -1e9 -1e9 -1e9 -1e9 0 0 0 0}), <1 8 4>))"},
        {0, "Softmax(Unsqueeze(Squeeze(Add(x, {8: -1e9 0}), <0>), <0>))"},
        /* In two parts. */
        {0, "Softmax(Add(y, Add(x, {8: -1e9 0})))"},
        {137, "Softmax(Add(y, Add(x, {8: -1e9})))"},
        {137, "Softmax(Add(Reshape(y, <4 1 8>), Add(x, {4,8: 0 0 0 0 0 0 0 0 -1e9 -1e9 -1e9 -1e9 "
              "-1e9 -1e9 -1e9 -1e9})))"},
        /* Inside an Attention. */
        {0, "Attention[q_num_heads=1, kv_num_heads=1](x, x, x, {4,4: -inf 0})"},
        {0, "Attention[q_num_heads=1, kv_num_heads=1](x, x, x, {4,4: -1e4})"},
        {137, "Attention[q_num_heads=1, kv_num_heads=1](x, x, x, {4,4: 0 0 0 -1e9 -1e9 -1e9 -1e9 "
              "-1e9 0 0 0 0 0 0 0 0})"},
        /* Not right before Softmax; not below. */
        {136, "Relu(Add(x, {8: -1e9 0}))"},
        {136, "Softmax(Mul(Add(x, {8: -1e9 0}), 0.5))"},
        {136, "Softmax(Transpose[perm=0 2 1](Add(x, {8: -1e9 0})))"},
        {136, "LogSoftmax(Add(x, {8: -1e9 0}))"},
        {136, "Softmax(Add(x, {8: 1e9 0}))"},
        {136, "Softmax(Sub(x, {8: -1e9 0}))"},
        {0, "Relu(Where(?{8: 1}, {8: -1e9}, x))"},
        {0, "Softmax(Where(Greater(y, 0.0), {8: -1e9}, x))"},
        {0, "Softmax(Add(x, {8: -1e4}))"},
    };

    (void)unused;
    CHECK(rows);
}

/* ---- R19 ---- */

static void test_clips(void **unused)
{
    static const struct verdict rows[] = {
        {138, "Div(y, Clip(x, 1e-10))"},
        {138, "Div(y, Clip(x, 1e-10, 1.0))"},
        {138, "Div(1.0, Clip(x, 1e-10))"},
        {138, "Mul(Div(1.0, Clip(x, 1e-10)), 1e-6)"},
        {138, "Div(y, Clip(x, 5.9e-8))"},
        {0, "Div(y, Clip(x, 6e-8))"},
        {0, "Div(y, Clip(x, 1e-3))"},
        {0, "Div(y, Clip(x, 0.0))"},
        {0, "Div(y, Clip(x, -1e-10))"},
        {0, "Div(y, Clip(x, _, 1.0))"},
        /* Through what only moves, but not through Expand. */
        {138, "Div(y, Reshape(Clip(Reshape(x, <1 8 4>), 1e-10), <1 4 8>))"},
        {138, "Div(Reshape(y, <1 8 4>), Transpose[perm=0 2 1](Clip(x, 1e-10)))"},
        {138, "Div(y, Unsqueeze(Clip(ReduceL2[keepdims=0](x, <2>), 1e-10), <2>))"},
        {138, "Div(y, Squeeze(Clip(Unsqueeze(x, <1>), 1e-10), <1>))"},
        {138, "Div(Flatten(y), Flatten(Clip(x, 1e-10)))"},
        {138, "Div(y, Reshape(Transpose[perm=0 2 1](Clip(x, 1e-10)), <1 4 8>))"},
        {0, "Div(y, Expand(Clip(ReduceL2(x, <2>), 1e-12), <1 4 8>))"},
        {0, "Div(y, Slice(Clip(x, 1e-10), <0>, <1>, <1>))"},
        /* It is the divisor that counts. */
        {0, "Div(Clip(x, 1e-10), y)"},
        {0, "Mul(y, Clip(x, 1e-10))"},
        {0, "Clip(x, 1e-10)"},
        /* Log and Reciprocal: right behind it they are computed with it. */
        {0, "Log(Clip(x, 1e-10))"},
        {0, "Reciprocal(Clip(x, 1e-10))"},
        {0, "Neg(Mul(Log(Clip(x, 1e-10, 1.0)), 0.5))"},
        {0, "Mul(Reciprocal(Clip(x, 1e-10)), 1e-10)"},
        {138, "Log(Reshape(Clip(x, 1e-10), <1 8 4>))"},
        {138, "Reciprocal(Transpose[perm=0 2 1](Clip(x, 1e-10)))"},
        {138, "Log(Expand(Clip(ReduceSum(x, <2>), 1e-10), <1 4 8>))"},
        {138, "Reciprocal(Expand(Clip(ReduceSum(x, <2>), 1e-10), <1 4 8>))"},
        {138, "Log(Squeeze(Expand(Clip(ReduceSum(x, <2>), 1e-10), <1 4 8>), <0>))"},
        {0, "Log(Reshape(Clip(x, 1e-4), <1 8 4>))"},
        {138, "Pow(Reshape(Clip(x, 1e-10), <1 8 4>), -0.5)"},
        /* Each reader once. */
        {138, "c = Clip(x, 1e-10); Div(y, c); Log(c); Mul(z, c)"},
    };

    (void)unused;
    CHECK(rows);
}

/* ---- R20 ---- */

static void test_tiny_addends(void **unused)
{
    static const struct verdict rows[] = {
        {139, "Div(y, Add(x, 1e-8))"},
        {139, "Reciprocal(Add(x, 1e-8))"},
        {139, "Log(Add(1e-8, x))"},
        {139, "Pow(Add(x, 1e-8), -0.5)"},
        {139, "Pow(Add(x, 1e-8), {8: 1 -1})"},
        {139, "Div(1.0, Add(x, 1e-8))"},
        {139, "Div(y, Add(x, {8: 1e-8 1}))"},
        {139, "Div(y, Sum(x, z, 1e-8))"},
        {139, "Div(y, Max(x, 1e-8))"},
        {139, "Log(Max(x, {8: 1e-8}))"},
        {139, "Div(y, Sub(x, 1e-8))"},
        {139, "Div(y, Min(Neg(Abs(x)), -1e-8))"},
        {0, "Div(y, Max(x, -1e-8))"},
        {0, "Div(y, Add(x, 6e-8))"},
        {0, "Div(y, Add(x, 1e-3))"},
        {0, "Div(Add(x, 1e-8), y)"},
        {0, "Pow(Add(x, 1e-8), 0.5)"},
        {0, "Mul(y, Add(x, 1e-8))"},
        {0, "Exp(Add(x, 1e-8))"},
        {0, "Div(y, Div(1e-8, x))"},
        /* Through layers that carry 0 as 0. */
        {139, "Div(y, Add(Add(x, 1e-8), z))"},
        {139, "Div(y, Sqrt(ReduceSum(Add(Relu(x), 1e-8), <2>)))"},
        {139, "Div(y, Sqrt(Add(ReduceMean(Mul(x, x), <2>), 1e-8)))"},
        {139, "Div(y, Expand(Add(ReduceSum(x, <2>), 1e-8), <1 4 8>))"},
        {139, "Log(Reshape(Add(x, 1e-8), <1 8 4>))"},
        {139, "Log(Transpose[perm=0 2 1](Abs(Neg(Relu(Add(x, 1e-8))))))"},
        {139, "Div(y, Tanh(Add(x, 1e-8)))"},
        {139, "Div(y, Sub(Add(x, 1e-8), z))"},
        {139, "Div(y, Sum(z, Add(x, 1e-8), z))"},
        {139, "Div(y, Mean(z, Add(x, 1e-8)))"},
        {139, "Div(y, Max(z, Add(x, 1e-8)))"},
        {139, "Div(y, Min(z, Add(x, 1e-8)))"},
        {139, "Div(y, Mul(z, Add(x, 1e-8)))"},
        {139, "Log(Concat[axis=1](z, Add(x, 1e-8)))"},
        {139, "Log(Slice(Add(x, 1e-8), <0>, <1>, <1>))"},
        {139, "Div(y, ReduceMax(Add(x, 1e-8), <2>))"},
        {139, "Div(y, GlobalAveragePool(Add(x, 1e-8)))"},
        {139, "Div(y, Max(Add(x, 1e-8), -1.0))"},
        {139, "Div(y, Add(Add(x, 1e-8), {8: 1 0}))"},
        {139, "Div(y, Sin(Add(x, 1e-8)))"},
        {139, "Log(ReduceSum(Add(x, 1e-8), <2>))"},
        {139, "ReduceLogSum(Add(x, 1e-8), <2>)"},
        /* Where the trace ends. */
        {0, "Div(y, Add(Add(x, 1e-8), 1.0))"},
        {0, "Div(y, Add(Add(x, 1e-8), {8: 1 -1}))"},
        {0, "Div(y, Max(Add(x, 1e-8), 1.0))"},
        {0, "Div(y, Clip(Add(x, 1e-8), 1e-3))"},
        {0, "Div(y, Exp(Add(x, 1e-8)))"},
        {0, "Div(y, Cos(Add(x, 1e-8)))"},
        {0, "Div(y, Sigmoid(Add(x, 1e-8)))"},
        {0, "Div(y, MatMul(Add(x, 1e-8), {8,8: 1}))"},
        {0, "Div(y, Conv(Add(x, 1e-8), {4,4,1: 1}))"},
        {0, "Div(Flatten(y), Gemm(Flatten(Add(x, 1e-8)), {32,32: 1}))"},
        {0, "Div(y, Softmax(Add(x, 1e-8)))"},
        {0, "Div(y, Sub(1.0, Add(x, 1e-8)))"},
        /* Once a reader; two tiny ones on the way are one. */
        {139, "Div(y, Add(Add(x, 1e-8), 1e-9))"},
        /* What is recognised computes in 32 bits inside. */
        {0, "d = Sub(x, ReduceMean(x, <2>)); Div(d, Sqrt(Add(ReduceMean(Mul(d, d), <2>), 1e-12)))"},
        {0, "Mul(x, Reciprocal(Sqrt(Add(ReduceMean(Mul(x, x), <2>), 1e-12))))"},
        {0, "LayerNormalization(x, {8: 1})"},
    };

    (void)unused;
    CHECK(rows);
}

static void test_chains(void **unused)
{
    static const struct verdict rows[] = {
        {0, "Div(y, Sqrt(Clip(x, 1e-10)))"},
        {139, "Div(y, Sqrt(Clip(x, 1e-20)))"},
        {139, "Reciprocal(Sqrt(Clip(x, 1e-20)))"},
        {139, "Log(Expand(Sqrt(Clip(ReduceSum(x, <2>), 1e-20)), <1 4 8>))"},
        {0, "Div(y, Add(Sqrt(Clip(x, 1e-20)), 1e-3))"},
        {0, "Div(y, Add(Clip(x, 1e-10), 1.0))"},
        {139, "Div(y, Mul(Clip(x, 1e-10), 0.5))"},
        {139, "Div(y, Mul(Clip(x, 1e-10), {8: 1 -1}))"},
        {139, "Div(y, Neg(Clip(x, 1e-10)))"},
        {0, "Div(y, Floor(Clip(x, 1e-10)))"},
        /* Beyond 65504: what it ends in, or what reads it. */
        {139, "Pow(Clip(x, 1e-10), -0.5)"},
        {0, "Pow(Clip(x, 1e-9), -0.5)"},
        {139, "Div(1.0, Sqrt(Clip(x, 1e-10)))"},
        {0, "Div(1.0, Sqrt(Clip(x, 1e-9)))"},
        {139, "Div(y, Reciprocal(Clip(x, 1e-10)))"},
        {139, "Div(y, Exp(Clip(x, 1e-10)))"},
        {0, "Div(y, Exp(Clip(x, 1e-10, 10.0)))"},
        {0, "Mul(Sqrt(Clip(x, 1e-20)), y)"},
        {0, "Mul(Reciprocal(Sqrt(Clip(x, 1e-20))), 1e-10)"},
        {0, "Log(Sqrt(Clip(x, 1e-20)))"},
        {0, "Div(y, Neg(Log(Clip(x, 1e-10))))"},
        /* Read twice, the Clip is a value of its own. */
        {139, "c = Clip(x, 1e-10); Div(y, Sqrt(c)); Mul(z, c)"},
        {139, "c = Clip(x, 1e-10); Div(c, ReduceSum(c, <2>))"},
        {0, "c = Clip(x, 1e-4); Div(c, ReduceSum(c, <2>))"},
        /* Without a constant too small it is never this. */
        {0, "Div(1.0, Add(1.0, Exp(Neg(x))))"},
        {0, "Div(y, Exp(Neg(x)))"},
        {0, "Reciprocal(Mul(x, 1e-6))"},
        {0, "Log(Mul(Sigmoid(x), 1e-6))"},
    };

    (void)unused;
    CHECK(rows);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_factors),
        cmocka_unit_test(test_addends),
        cmocka_unit_test(test_batch_normalization),
        cmocka_unit_test(test_masks),
        cmocka_unit_test(test_clips),
        cmocka_unit_test(test_tiny_addends),
        cmocka_unit_test(test_chains),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
