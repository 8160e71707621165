/*
 * Constants that are too large to be made: what is asked of them is computed, and nothing else.
 * Those that have to be made after all are refused before memory is asked for.
 */
#include "daemon/compiler/graph/blocks.h"
#include "daemon/compiler/operators/recipe.h"
#include "tests/unit/compiler/graphs.h"
#include <math.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define INT(node, name, number) node_set_int((node)->producer, name, number)

static struct value *scalar(struct graph *g, float number)
{
    struct shape s = SCALAR;

    return graph_constant_floats(g, "scalar", &s, &number);
}

/* 0, 1, 2 … as float32. */
static struct value *counted(struct graph *g, int64_t count)
{
    struct value *v = NODE(g, "Range", "range", graph_constant_ints(g, "start", 1, (int64_t[]){0}),
                           graph_constant_ints(g, "limit", 1, &count),
                           graph_constant_ints(g, "delta", 1, (int64_t[]){1}));

    v = NODE(g, "Cast", "cast", v);
    INT(v, "to", TYPE_FLOAT32);
    return v;
}

static struct value *expanded(struct graph *g, struct value *v, struct shape shape)
{
    return NODE(g, "Expand", "expand", v, graph_constant_ints(g, "shape", shape.axes, shape.dim));
}

static struct value *sliced(struct graph *g, struct value *v, int64_t start, int64_t end,
                            int64_t axis)
{
    return NODE(g, "Slice", "slice", v, INTS(g, start), INTS(g, end), INTS(g, axis));
}

static struct value *reshaped(struct graph *g, struct value *v, struct shape shape)
{
    return NODE(g, "Reshape", "reshape", v, graph_constant_ints(g, "shape", shape.axes, shape.dim));
}

/* ---- parts are what the whole has there ---- */

/* Elements in an order of their own, and each element once more than once. */
static void check_parts(struct job *j, struct value *v)
{
    struct context *c = &j->context;
    struct tensor *t = v->constant;
    size_t size = (size_t)type_bits(t->type) / 8;
    struct tensor **all;
    struct recipe *r;
    int64_t *at = NEW_ARRAY(&c->arena, t->count + 1, int64_t);

    assert_non_null(t->deferred);
    if (t->data)
        fail_msg("%s was evaluated before it is asked for", t->deferred->op_type);
    r = recipe_open(t);
    if (!r)
        fail_msg("%s cannot be had in parts", t->deferred->op_type);
    for (int round = 0; round < 3; round++) {
        int64_t count = round ? t->count : t->count / 2 + 1;
        char *parts;

        for (int64_t i = 0; i < count; i++)
            at[i] = round == 0 ? i : round == 1 ? (i * 7 + 3) % t->count : t->count - 1 - i / 2;
        parts = arena_memdup(&c->arena, recipe_read(r, t, (struct positions){count, at}),
                             (size_t)count * size);
        all = evaluate_node(t->deferred, &c->arena);
        for (int i = 0; i < t->deferred->output_count; i++) /* as if nobody had asked */
            t->deferred->outputs[i]->constant->data = NULL;
        for (int64_t i = 0; i < count; i++)
            if (memcmp(parts + (size_t)i * size,
                       (const char *)all[t->deferred_output]->data + (size_t)at[i] * size,
                       size) != 0)
                fail_msg("%s: element %lld differs", t->deferred->op_type, (long long)at[i]);
    }
    recipe_close(r);
}

static void test_parts(void **state)
{
    WITH_JOB(j);
    struct graph *g = j->graph;
    struct value *x, *y, *z, *some, *list[80];
    float numbers[60];
    int count = 0;

    (void)state;
    for (int i = 0; i < 60; i++)
        numbers[i] = (float)(i * i % 17) - 5.5f;
    x = floats(g, "x", SHAPE(3, 4, 5), numbers);
    y = floats(g, "y", SHAPE(4, 1), numbers + 7);
    z = floats(g, "z", SHAPE(2, 4, 5), numbers + 11);
    list[count++] = NODE(g, "Reshape", "r", x, INTS(g, 5, -1));
    list[count++] = NODE(g, "Flatten", "f", x);
    list[count++] = NODE(g, "Identity", "i", x);
    list[count++] = NODE(g, "Unsqueeze", "u", x, INTS(g, 1));
    list[count++] = NODE(g, "Squeeze", "s", y, INTS(g, 1));
    list[count++] = NODE(g, "Transpose", "t", x);
    list[count++] = NODE(g, "Transpose", "t", x);
    node_set_ints(list[count - 1]->producer, "perm", 3, (int64_t[]){2, 0, 1});
    list[count++] = NODE(g, "Slice", "s", x, INTS(g, -1, 1), INTS(g, INT64_MIN, 4), INTS(g, 2, 1),
                         INTS(g, -2, 2));
    list[count++] = NODE(g, "Expand", "e", y, INTS(g, 2, 4, 3));
    list[count++] = NODE(g, "Tile", "t", x, INTS(g, 2, 1, 3));
    for (int axis = 0; axis < 3; axis++) {
        list[count++] = NODE(g, "Gather", "g", x, INTS(g, 2, -1, 0, 2, 1));
        INT(list[count - 1], "axis", axis);
        list[count++] = NODE(g, "Split", "s", x, axis ? INTS(g, 1, 4 + axis - 2) : INTS(g, 1, 2));
        INT(list[count - 1], "axis", axis);
        list[count - 1]->producer->outputs = (struct value *[]){
            list[count - 1], graph_value(g, "second", TYPE_UNKNOWN, &shape_unknown)};
        list[count - 1]->producer->output_count = 2;
        list[count - 1]->producer->outputs = arena_memdup(
            &j->context.arena, list[count - 1]->producer->outputs, 2 * sizeof(struct value *));
        list[count - 1]->producer->outputs[1]->producer = list[count - 1]->producer;
        list[count] = list[count - 1]->producer->outputs[1];
        count++;
    }
    list[count++] = NODE(g, "Concat", "c", x, z, x);
    INT(list[count - 1], "axis", 0);
    list[count++] = NODE(g, "Concat", "c", x, x, x);
    INT(list[count - 1], "axis", 1);
    list[count++] = NODE(g, "Concat", "c", x, x);
    INT(list[count - 1], "axis", -1);
    for (int mode = 0; mode < 4; mode++) {
        static const char *const modes[] = {"constant", "reflect", "edge", "wrap"};

        list[count++] = NODE(g, "Pad", "p", x, INTS(g, 1, -1, 2, 0, 2, 3), scalar(g, 0.25f));
        node_set_string(list[count - 1]->producer, "mode", modes[mode]);
    }
    list[count++] = NODE(g, "Pad", "p", x, INTS(g, 1, -1, 2, 0, 2, 3));
    list[count++] = NODE(
        g, "GatherElements", "g", x,
        NODE(g, "Reshape", "r", INTS(g, 0, 1, -1, 2, 0, 0, 1, 2, 2, 1, 0, 1), INTS(g, 1, 4, 3)));
    INT(list[count - 1], "axis", 1);
    list[count++] =
        NODE(g, "GatherND", "g", x, NODE(g, "Reshape", "r", INTS(g, 2, 1, 0, -1), INTS(g, 2, 2)));
    list[count++] = NODE(g, "GatherND", "g", x,
                         NODE(g, "Reshape", "r", INTS(g, 2, 1, 0, -1, 3, 3), INTS(g, 3, 2, 1)));
    INT(list[count - 1], "batch_dims", 1);
    for (int k = -7; k <= 7; k += 7) {
        list[count++] = NODE(g, "Trilu", "t", x, INTS(g, k / 5));
        INT(list[count - 1], "upper", k < 0);
        list[count++] = NODE(
            g, "EyeLike", "e",
            NODE(g, "Squeeze", "s", NODE(g, "Slice", "s", x, INTS(g, 0), INTS(g, 1)), INTS(g, 0)));
        INT(list[count - 1], "k", k / 5);
    }
    list[count++] = NODE(g, "CenterCropPad", "c", x, INTS(g, 6, 3, 5));
    for (int batch = 0; batch < 2; batch++) {
        list[count++] =
            NODE(g, "ReverseSequence", "r", x, batch ? INTS(g, 3, 0, 2, 1) : INTS(g, 4, 1, 3));
        INT(list[count - 1], "batch_axis", batch);
        INT(list[count - 1], "time_axis", 1 - batch);
    }
    for (int way = 0; way < 3; way++) {
        some = NODE(g, "Reshape", "r", floats(g, "deep", SHAPE(48), numbers),
                    way ? INTS(g, 1, 12, 2, 2) : INTS(g, 1, 3, 4, 4));
        list[count++] = NODE(g, way ? "DepthToSpace" : "SpaceToDepth", "d", some);
        INT(list[count - 1], "blocksize", 2);
        node_set_string(list[count - 1]->producer, "mode", way == 2 ? "CRD" : "DCR");
    }
    list[count++] = NODE(g, "ConstantOfShape", "c", INTS(g, 3, 5));
    list[count++] = NODE(g, "Range", "r", scalar(g, 3), scalar(g, -2), scalar(g, -0.75f));
    list[count++] = counted(g, 30);
    list[count++] = NODE(g, "Add", "a", x, y);
    list[count++] = NODE(g, "Mul", "m", y, z);
    list[count++] = NODE(g, "Sum", "s", y, z, z, y);
    list[count++] = NODE(g, "Clip", "c", x, scalar(g, -1), scalar(g, 2));
    list[count++] = NODE(g, "LeakyRelu", "l", x);
    list[count++] = some = NODE(g, "Less", "l", x, y);
    list[count++] = NODE(g, "Where", "w", NODE(g, "Less", "l", z, y), z, y);
    list[count++] = NODE(g, "Not", "n", some);
    outputs(g, count, list);
    infer_graph(g);
    for (int i = 0; i < j->context.diagnostics.count; i++)
        fail_msg("%s", j->context.diagnostics.list[i].message);
    for (int i = 0; i < count; i++)
        check_parts(j, list[i]);
    assert_int_equal(j->context.diagnostics.count, 0);
    END_JOB(j);
}

/* Ways that part and meet, over streams: each level asks for other elements of the one before. */
static void test_ways(void **state)
{
    WITH_JOB(j);
    struct graph *g = j->graph;
    struct value *x = reshaped(g, counted(g, 3000 * 3000), SHAPE(3000, 3000)), *y;
    double expected[4] = {1000 * 3000 + 7, 7 * 3000 + 1000, 0, 2999 * 3000 + 2999};
    const float *got;

    (void)state;
    for (int i = 0; i < 40; i++)
        x = NODE(g, "Mul", "half", NODE(g, "Add", "add", x, NODE(g, "Transpose", "t", x)),
                 scalar(g, 0.5f));
    expected[0] = expected[1] = (expected[0] + expected[1]) / 2;
    y = NODE(g, "GatherND", "g", x,
             NODE(g, "Reshape", "r", INTS(g, 1000, 7, 7, 1000, 0, 0, 2999, 2999), INTS(g, 4, 2)));
    output(g, y);
    infer_graph(g);
    assert_int_equal(j->context.diagnostics.count, 0);
    got = numbers(j, y);
    for (int i = 0; i < 4; i++)
        assert_true(fabs((double)got[i] - expected[i]) < 1);
    END_JOB(j);
}

/* ---- large ones, in little memory ---- */

enum { LIMIT = 512 << 20 };

/* The numbers of v, which is all that is asked of the graph. */
static const float *asked(struct job *j, struct value *v)
{
    output(j->graph, v);
    infer_graph(j->graph);
    for (int i = 0; i < j->context.diagnostics.count; i++)
        fail_msg("%s", j->context.diagnostics.list[i].message);
    return numbers(j, v);
}

static void slice_of_range(struct job *j)
{
    const float *got =
        asked(j, sliced(j->graph, counted(j->graph, 100000000), 5000000, 5000003, 0));

    assert_true(got[0] == 5000000 && got[1] == 5000001 && got[2] == 5000002);
}

static void squeezed_slice(struct job *j)
{
    struct graph *g = j->graph;
    struct value *x = NODE(g, "Sqrt", "root", counted(g, 100000000));
    const float *got;

    x = NODE(g, "Tile", "tile", reshaped(g, x, SHAPE(10000, 10000)), INTS(g, 3, 1));
    x = NODE(g, "Squeeze", "squeeze", sliced(g, sliced(g, x, 20002, 20003, 0), 9, 11, 1),
             INTS(g, 0));
    got = asked(j, x);
    assert_true(got[0] == sqrtf(20009) && got[1] == sqrtf(20010));
}

static void rows_of_identity(struct job *j)
{
    struct graph *g = j->graph;
    struct value *x = NODE(g, "ConstantOfShape", "zeros", INTS(g, 20000, 20000));
    const float *got;

    x = NODE(g, "Gather", "rows", NODE(g, "EyeLike", "eye", x), INTS(g, 7, -1));
    got = asked(j, x);
    assert_shape(x, SHAPE(2, 20000));
    for (int64_t i = 0; i < 40000; i++)
        assert_true(got[i] == (i == 7 || i == 39999));
}

static void element_of_sum(struct job *j)
{
    struct graph *g = j->graph;
    struct value *x =
        expanded(g, reshaped(g, counted(g, 20000), SHAPE(20000, 1)), SHAPE(20000, 20000));
    struct value *y = expanded(g, counted(g, 20000), SHAPE(20000, 20000));
    const float *got;

    x = NODE(g, "Sub", "difference", NODE(g, "Mul", "twice", x, scalar(g, 2)), y);
    got = asked(j, NODE(g, "GatherND", "g", x,
                        NODE(g, "Reshape", "r", INTS(g, 19999, 1, 3, 500), INTS(g, 2, 2))));
    assert_true(got[0] == 39997 && got[1] == -494);
}

static void mean_of_expanded(struct job *j)
{
    struct graph *g = j->graph;
    struct value *x = expanded(g, FLOATS(g, SHAPE(1), 1.25f), SHAPE(1, 300000000));

    assert_true(*asked(j, NODE(g, "ReduceMean", "mean", x, INTS(g, 1))) == 1.25f);
}

static void sum_over_sum(struct job *j)
{
    struct graph *g = j->graph;
    struct value *x = expanded(g, FLOATS(g, SHAPE(2, 1), 1, -3), SHAPE(2, 50000000));
    const float *got;

    x = NODE(g, "Add", "add", x, FLOATS(g, SHAPE(2, 1), 1, 5));
    got = asked(j, NODE(g, "ReduceSum", "sum", x, INTS(g, 1)));
    assert_true(got[0] == 100000000 && got[1] == 100000000);
}

static void greatest(struct job *j)
{
    struct graph *g = j->graph;
    struct value *x = reshaped(g, counted(g, 1 << 26), SHAPE(1 << 13, 1 << 13));
    const float *got;

    x = NODE(g, "Concat", "c", NODE(g, "ReduceMax", "most", x, INTS(g, 0, 1)),
             NODE(g, "ReduceMin", "least", x, INTS(g, 0, 1)));
    INT(x, "axis", 0);
    got = asked(j, x);
    assert_true(got[0] == (1 << 26) && got[1] == 0); /* 2^26 - 1 as float32 */
}

static void shape_of_huge(struct job *j)
{
    struct graph *g = j->graph;
    struct value *x = expanded(g, FLOATS(g, SHAPE(1), 2), SHAPE(30000, 3000000));
    struct value *shape = NODE(g, "Shape", "shape", x), *size = NODE(g, "Size", "size", x);
    int count;

    outputs(g, 2, (struct value *[]){NODE(g, "Neg", "n", shape), NODE(g, "Neg", "n", size)});
    infer_graph(g);
    assert_int_equal(j->context.diagnostics.count, 0);
    assert_int_equal(node_constant_ints(g->outputs[0]->producer, 0, &count)[1], 3000000);
    assert_int_equal(node_constant_ints(g->outputs[1]->producer, 0, &count)[0], 90000000000);
}

static void one_of_where(struct job *j)
{
    struct graph *g = j->graph;
    struct value *x = counted(g, 200000000);
    struct value *y = expanded(g, scalar(g, -1), SHAPE(200000000));
    const float *got;

    x = NODE(g, "Where", "where", NODE(g, "Less", "less", x, scalar(g, 1000)), x, y);
    got = asked(j, NODE(g, "Gather", "one", x, INTS(g, 999, 199999999)));
    assert_true(got[0] == 999 && got[1] == -1);
}

static void padded_pieces(struct job *j)
{
    struct graph *g = j->graph;
    struct value *x = NODE(g, "Concat", "both", counted(g, 100000000), counted(g, 50000000));
    const float *got;

    INT(x, "axis", 0);
    x = NODE(g, "Pad", "pad", x, INTS(g, 10, 10), scalar(g, -7));
    x = NODE(g, "Split", "parts", x, INTS(g, 100000010 - 2, 50000010 + 2));
    x->producer->outputs = arena_memdup(
        &j->context.arena,
        (struct value *[]){x, graph_value(g, "rest", TYPE_UNKNOWN, &shape_unknown)}, 2 * sizeof x);
    x->producer->output_count = 2;
    x->producer->outputs[1]->producer = x->producer;
    x = x->producer->outputs[1];
    got = asked(j, NODE(g, "Gather", "some", x, INTS(g, 0, 1, 2, 50000001, 50000002)));
    assert_true(got[0] == 99999998 && got[1] == 99999999 && got[2] == 0 && got[3] == 49999999 &&
                got[4] == -7);
}

/* Each in a process of its own, under a limit that none of the constants it names would fit in. */
static void check_limited(void (*body)(struct job *j))
{
#ifdef __SANITIZE_ADDRESS__
    (void)body;
    print_message("skipped: AddressSanitizer's shadow alone is beyond the limit\n");
    skip();
#else
    int status;
    pid_t child = fork();

    assert_true(child >= 0);
    if (child == 0) {
        struct rlimit limit = {LIMIT, LIMIT};
        struct job storage, *j = &storage;

        setrlimit(RLIMIT_AS, &limit);
        context_init(&j->context, NULL);
        if (setjmp(j->context.escape)) {
            fprintf(stderr, "left: %s\n", j->context.why);
            _exit(1);
        }
        j->graph = graph_new(&j->context);
        j->graph->opset = 21;
        body(j);
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
#endif
}

#define LIMITED(body)                                                                              \
    static void test_##body(void **state)                                                          \
    {                                                                                              \
        (void)state;                                                                               \
        check_limited(body);                                                                       \
    }
LIMITED(slice_of_range)
LIMITED(squeezed_slice)
LIMITED(rows_of_identity)
LIMITED(element_of_sum)
LIMITED(mean_of_expanded)
LIMITED(sum_over_sum)
LIMITED(greatest)
LIMITED(shape_of_huge)
LIMITED(one_of_where)
LIMITED(padded_pieces)

/* The one diagnostic that asking for what make() gives is refused with, once so many steps were
 * spent; it belongs to j. */
static const struct diagnostic *refusal(struct job *j, struct value *(*make)(struct graph *g),
                                        double spent)
{
    context_init(&j->context, NULL);
    j->context.constants.steps = spent;
    if (setjmp(j->context.escape) == 0) {
        j->graph = graph_new(&j->context);
        j->graph->opset = 21;
        asked(j, make(j->graph));
        fail();
    }
    assert_int_equal(j->context.reason, ESCAPE_REFUSED);
    assert_int_equal(j->context.diagnostics.count, 1);
    assert_int_equal(j->context.diagnostics.list[0].code, TUKI0110);
    return &j->context.diagnostics.list[0];
}

static struct value *ramp(struct graph *g)
{
    struct value *x = expanded(g, scalar(g, 1), SHAPE(INT64_C(1) << 36));

    return NODE(g, "Gather", "one", NODE(g, "CumSum", "ramp", x, INTS(g, 0)), INTS(g, 1));
}

static struct value *product(struct graph *g)
{
    struct value *x = expanded(g, scalar(g, 1), SHAPE(1 << 12, 1 << 12));

    return NODE(g, "Gather", "one", NODE(g, "MatMul", "product", x, x), INTS(g, 1));
}

/* Each of them is little. */
static struct value *products(struct graph *g)
{
    struct value *x = expanded(g, scalar(g, 0), SHAPE(1 << 8, 1 << 8)), *y = x;

    for (int i = 0; i < 20; i++)
        y = NODE(g, "MatMul", "product", y, x);
    return y;
}

/* The transform of one line holds the angles of all its elements, and others are not counted. */
static struct value *wide(struct graph *g)
{
    struct value *x = expanded(g, scalar(g, 1), SHAPE(1, 1 << 5, 1));

    x = NODE(g, "DFT", "wide", x, INTS(g, 1 << 27));
    return NODE(g, "ReduceSum", "sum", x);
}

/* What cannot be had in parts is refused by name, once, before memory is asked for. */
static void test_refused(void **state)
{
    struct job storage, *j = &storage;
    const struct diagnostic *d = refusal(j, ramp, 0);

    (void)state;
    assert_non_null(strstr(d->message, "Expand expand"));
    assert_non_null(strstr(d->message, "[68719476736] (256 GiB)"));
    assert_non_null(strstr(d->message, "by CumSum ramp"));
    END_JOB(j);
    d = refusal(j, wide, 0);
    assert_non_null(strstr(d->message, "DFT wide"));
    END_JOB(j);
}

/* What takes long is refused before it is begun, alone or with all that was computed before it. */
static void test_refused_for_work(void **state)
{
    struct job storage, *j = &storage;
    const struct diagnostic *d = refusal(j, product, 0);

    (void)state;
    assert_non_null(strstr(d->message, "MatMul product"));
    assert_non_null(strstr(d->message, "takes more than 8e+09 steps"));
    END_JOB(j);
    d = refusal(j, products, 7.9e9);
    assert_non_null(strstr(d->message, "with what was computed before it"));
    END_JOB(j);
}

/* The larger the file, the more may be spent. */
static void test_larger_file(void **state)
{
    WITH_JOB(j);
    const float *got;

    (void)state;
    j->context.constants.steps = 7.9e9;
    j->context.constants.file_bytes = 1 << 20;
    got = asked(j, products(j->graph));
    assert_true(got[0] == 0 && got[(1 << 16) - 1] == 0);
    assert_true(j->context.constants.steps > 8e9);
    END_JOB(j);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parts),
        cmocka_unit_test(test_ways),
        cmocka_unit_test(test_slice_of_range),
        cmocka_unit_test(test_squeezed_slice),
        cmocka_unit_test(test_rows_of_identity),
        cmocka_unit_test(test_element_of_sum),
        cmocka_unit_test(test_mean_of_expanded),
        cmocka_unit_test(test_sum_over_sum),
        cmocka_unit_test(test_greatest),
        cmocka_unit_test(test_shape_of_huge),
        cmocka_unit_test(test_one_of_where),
        cmocka_unit_test(test_padded_pieces),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_refused_for_work),
        cmocka_unit_test(test_larger_file),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
