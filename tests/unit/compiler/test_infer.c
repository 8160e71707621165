/* Inference over whole graphs: constants, records, one fault once; the reference engine; the text
 * view. */
#include "daemon/compiler/graph/reference.h"
#include "daemon/compiler/model/text.h"
#include "tests/unit/compiler/graphs.h"

static void test_shapes_and_constants(void **state)
{
    WITH_JOB(j);
    struct graph *g = j->graph;
    struct value *x = input(g, "x", TYPE_FLOAT32, SHAPE(2, 3, 4)), *shape, *first, *y, *product;
    int count;

    (void)state;
    /* reshape(x, [shape(x)[0], -1]), the way exporters write it */
    shape = NODE(g, "Shape", "shape", x);
    first = NODE(g, "Gather", "first", shape, INTS(g, 0));
    shape = NODE(g, "Concat", "dims", first, INTS(g, -1));
    node_set_int(shape->producer, "axis", 0);
    y = NODE(g, "Reshape", "y", x, shape);
    product = NODE(g, "Size", "size", y);
    output(g, y);
    infer_graph(g);
    assert_int_equal(j->context.diagnostics.count, 0);
    assert_shape(y, SHAPE(2, 12));
    assert_int_equal(node_constant_ints(y->producer, 1, &count)[0], 2);
    assert_int_equal(count, 2);
    assert_int_equal(tensor_integer(product->constant, 0), 24);
    assert_null(y->constant);
    assert_int_equal(value_source(y), 0);
    assert_int_equal(value_source(shape), -1); /* its shape only */
    END_JOB(j);
}

/* R5: the layer and the input are named, once, and nobody after it complains. */
static void test_depends(void **state)
{
    WITH_JOB(j);
    struct graph *g = j->graph;
    struct value *x = input(g, "x", TYPE_FLOAT32, SHAPE(2, 3));
    struct value *dims = input(g, "dims", TYPE_INT64, SHAPE(2)), *y;

    (void)state;
    y = NODE(g, "Reshape", "r", x, NODE(g, "Identity", "i", dims));
    output(g, NODE(g, "Relu", "after", NODE(g, "Add", "add", y, x)));
    infer_graph(g);
    assert_int_equal(j->context.diagnostics.count, 1);
    assert_int_equal(reported(j, TUKI0116), 1);
    assert_non_null(
        strstr(j->context.diagnostics.list[0].message, "Reshape r: it takes its shape"));
    assert_non_null(strstr(j->context.diagnostics.list[0].message, "dims"));
    assert_true(y->poisoned);
    END_JOB(j);
}

/* After a fault the record, where there is one, lets later faults be found. */
static void test_healing(void **state)
{
    WITH_JOB(j);
    struct graph *g = j->graph;
    struct value *x = input(g, "x", TYPE_FLOAT32, SHAPE(2, 3)), *bad, *quiet, *later;

    (void)state;
    bad = NODE(g, "Add", "bad", x, FLOATS(g, SHAPE(4), 1, 2, 3, 4));
    bad->recorded = SHAPE(2, 3);
    bad->type = TYPE_FLOAT32;
    quiet = NODE(g, "Add", "quiet", bad,
                 FLOATS(g, SHAPE(5), 1, 2, 3, 4, 5)); /* it reads a faulty one */
    quiet->recorded = SHAPE(2, 3);
    quiet->type = TYPE_FLOAT32;
    later = NODE(g, "Relu", "later", bad);
    output(g, NODE(g, "Add", "second", later, FLOATS(g, SHAPE(4), 1, 2, 3, 4)));
    infer_graph(g);
    assert_int_equal(reported(j, TUKI0106), 2);
    assert_int_equal(j->context.diagnostics.count, 2);
    assert_true(bad->poisoned);
    assert_true(quiet->poisoned);
    assert_false(later->poisoned);
    infer_graph(g); /* once more says nothing new */
    assert_int_equal(j->context.diagnostics.count, 2);
    END_JOB(j);
}

/* R6: only operators whose shape comes from constants are held to the record; symbolic dims fit
 * anything. */
static void test_records(void **state)
{
    WITH_JOB(j);
    struct graph *g = j->graph;
    struct value *x = input(g, "x", TYPE_FLOAT32, SHAPE(2, 3, 4)), *wrong, *open, *relu;

    (void)state;
    relu = NODE(g, "Relu", "relu", x);
    relu->recorded = SHAPE(7, 7);
    open = NODE(g, "Reshape", "open", relu, INTS(g, 6, 4));
    open->recorded = SHAPE(-1, 4);
    wrong = NODE(g, "Reshape", "wrong", open, INTS(g, 4, 6));
    wrong->recorded = SHAPE(6, 4);
    output(g, wrong);
    infer_graph(g);
    assert_int_equal(j->context.diagnostics.count, 1);
    assert_int_equal(reported(j, TUKI0117), 1);
    assert_non_null(strstr(j->context.diagnostics.list[0].message, "Reshape wrong"));
    assert_non_null(strstr(j->context.diagnostics.list[0].message, "[4, 6]"));
    assert_non_null(strstr(j->context.diagnostics.list[0].message, "[6, 4]"));
    assert_shape(relu, SHAPE(2, 3, 4));
    END_JOB(j);
}

/* The declared shape of a graph output is a record too. */
static void test_output_record(void **state)
{
    WITH_JOB(j);
    struct graph *g = j->graph;
    struct value *x = input(g, "x", TYPE_FLOAT32, SHAPE(2, 3));

    (void)state;
    output(g, NODE(g, "Reshape", "y", x, INTS(g, 6)));
    g->output_shapes[0] = SHAPE(3, 2);
    infer_graph(g);
    assert_int_equal(reported(j, TUKI0117), 1);
    END_JOB(j);
}

static void test_of_nothing_is_known(void **state)
{
    WITH_JOB(j);
    struct graph *g = j->graph;
    struct value *x = input(g, "x", TYPE_FLOAT32, SHAPE(1, 4)), *none, *sum, *y;

    (void)state;
    none = NODE(g, "Slice", "none", x, INTS(g, 0), INTS(g, 0), INTS(g, 1));
    sum = NODE(g, "ReduceSum", "sum", NODE(g, "Relu", "relu", none), INTS(g, 1));
    y = NODE(g, "Add", "y", x, sum);
    output(g, y);
    infer_graph(g);
    assert_int_equal(j->context.diagnostics.count, 0);
    assert_non_null(none->constant);
    assert_non_null(sum->constant);
    assert_true(tensor_floats(&j->context, sum->constant, &j->context.arena)[0] == 0);
    assert_null(y->constant);
    END_JOB(j);
}

/* An axis from the end of a value whose number of axes is not known. */
static void test_of_unknown_axes(void **state)
{
    WITH_JOB(j);
    struct graph *g = j->graph;
    struct value *x = input(g, "x", TYPE_FLOAT32, shape_unknown), *y;

    (void)state;
    y = NODE(g, "LayerNormalization", "norm", x, FLOATS(g, SHAPE(1), 1));
    node_set_int(y->producer, "axis", -8);
    output(g, y);
    infer_graph(g);
    assert_true(y->shape.axes < 0);
    END_JOB(j);
}

static void nothing(struct node *n)
{
    (void)n;
}
static const struct operator_functions silent_functions = {.infer = nothing};
static const struct operator silent_row = {"Silent", "", 1, 0, 1, 1, 1, 1, &silent_functions, ""};

static void test_not_inferred(void **state)
{
    WITH_JOB(j);
    struct graph *g = j->graph;
    struct value *x = input(g, "x", TYPE_FLOAT32, SHAPE(2, 3)), *y, *z;

    (void)state;
    y = graph_node(g, &silent_row, "found", &x, 1, 1)->outputs[0];
    y->recorded = SHAPE(5); /* the record helps where inference finds nothing */
    y->type = TYPE_FLOAT32;
    z = graph_node(g, &silent_row, "lost", &y, 1, 1)->outputs[0];
    output(g, NODE(g, "Relu", "after", z));
    infer_graph(g);
    assert_shape(y, SHAPE(5));
    assert_int_equal(j->context.diagnostics.count, 1);
    assert_int_equal(reported(j, TUKI0113), 1);
    assert_non_null(strstr(j->context.diagnostics.list[0].message, "Silent lost"));
    END_JOB(j);
}

/* An open axis of an input is nobody's fault after it. */
static void test_open_input(void **state)
{
    WITH_JOB(j);
    struct graph *g = j->graph;
    struct value *x = input(g, "x", TYPE_FLOAT32, SHAPE(-1, 3)), *y;

    (void)state;
    y = NODE(g, "Relu", "y", x);
    output(g, NODE(g, "Reshape", "flat", y, INTS(g, -1)));
    infer_graph(g);
    assert_int_equal(j->context.diagnostics.count, 0);
    assert_shape(y, SHAPE(-1, 3));
    END_JOB(j);
}

/* A refused layer (it has no operator) without results: there is nothing that says so of it. */
static void test_refused_without_results(void **state)
{
    WITH_JOB(j);
    struct graph *g = j->graph;
    struct node *n = NODE(g, "Abs", "abs", input(g, "x", TYPE_FLOAT32, SHAPE(2, 3)))->producer;

    (void)state;
    n->op = NULL;
    n->output_count = 0;
    infer_graph(g);
    assert_int_equal(j->context.diagnostics.count, 0);
    END_JOB(j);
}

static void test_arity(void **state)
{
    WITH_JOB(j);
    struct graph *g = j->graph;
    struct value *x = input(g, "x", TYPE_FLOAT32, SHAPE(2)), *y;

    (void)state;
    y = NODE(g, "Add", "half", x);
    output(g, NODE(g, "Add", "hole", y, NULL));
    NODE(g, "Add", "hole2", x, NULL);
    infer_graph(g);
    assert_int_equal(reported(j, TUKI0106), 2); /* the one in between reads a faulty value */
    END_JOB(j);
}

/* An axis of 1.0 is none, whatever it says; nor is a limit of another type than what it limits. */
static void test_types(void **state)
{
    WITH_JOB(j);
    struct graph *g = j->graph;
    struct value *x = input(g, "x", TYPE_FLOAT32, SHAPE(1, 2));
    struct value *axis = input(g, "axis", TYPE_FLOAT32, SHAPE(1));
    struct value *limit = input(g, "limit", TYPE_FLOAT64, SHAPE());

    (void)state;
    output(g, NODE(g, "ReduceSum", "sum", x, axis));
    output(g, NODE(g, "Clip", "clip", x, NULL, limit));
    infer_graph(g);
    assert_int_equal(reported(j, TUKI0106), 2);
    END_JOB(j);
}

/* What the k-th message says. */
static bool says(const struct job *j, int k, const char *text)
{
    return strstr(j->context.diagnostics.list[k].message, text) != NULL;
}

/* Each opset has its own types, and what is of one type is so to the last operand. */
static void test_types_of_opsets(void **state)
{
    WITH_JOB(j);
    struct graph *g = j->graph;
    struct value *x = input(g, "x", TYPE_FLOAT32, SHAPE(1, 2));
    struct value *bytes = input(g, "bytes", TYPE_INT8, SHAPE(1, 2));
    struct value *flag = input(g, "flag", TYPE_INT64, SHAPE()), *all[7];

    (void)state;
    all[0] = NODE(g, "Add", "old", bytes, bytes);
    all[0]->producer->opset = 13;
    all[1] = NODE(g, "Add", "new", bytes, bytes);
    all[1]->producer->opset = 14;
    all[2] = NODE(g, "Max", "max", x, x, x, bytes);
    all[3] = NODE(g, "Dropout", "drop", x, NULL, flag);
    all[4] = NODE(g, "Sigmoid", "sigmoid", bytes);
    /* (and a list of axes has one axis itself) */
    all[6] = NODE(g, "Reshape", "deep", x, NODE(g, "Unsqueeze", "list", INTS(g, 2, 1), INTS(g, 0)));
    all[5] = NODE(g, "Concat", "both", x, FLOATS(g, SHAPE(1, 1), 1), bytes);
    node_set_int(all[5]->producer, "axis", 0);
    outputs(g, 7, all);
    infer_graph(g);
    assert_int_equal(j->context.diagnostics.count, 6);
    assert_int_equal(reported(j, TUKI0106), 6);
    assert_true(says(j, 0, "its input 0 is int8, which Add takes from opset 14"));
    assert_true(says(j, 1, "its inputs are of different types, float32 and int8"));
    assert_true(says(j, 2, "its input 2 is int64, and Dropout takes bool there"));
    assert_true(says(j, 3, "and Sigmoid takes float32, float16, float64 or bfloat16"));
    assert_true(says(j, 4, "its shape has the shape [1, 2] instead of one axis"));
    assert_true(says(j, 5, "its inputs are of different types, float32 and int8"));
    assert_false(all[1]->poisoned);
    END_JOB(j);
}

/* Of two words an attribute is one. */
static void test_choices(void **state)
{
    WITH_JOB(j);
    struct graph *g = j->graph;
    struct value *all[2];

    (void)state;
    all[0] = NODE(g, "Gelu", "gelu", input(g, "x", TYPE_FLOAT32, SHAPE(1, 2)));
    node_set_string(all[0]->producer, "approximate", "erf");
    all[1] = NODE(g, "BitShift", "shift", input(g, "a", TYPE_UINT8, SHAPE(1, 2)),
                  input(g, "b", TYPE_UINT8, SHAPE(1, 2)));
    node_set_string(all[1]->producer, "direction", "UP");
    outputs(g, 2, all);
    infer_graph(g);
    assert_true(says(j, 0, "its attribute approximate is \"erf\". Make it none or tanh"));
    assert_true(says(j, 1, "its attribute direction is \"UP\". Make it RIGHT or LEFT"));
    END_JOB(j);
}

/* A recorded type is a claim as a recorded shape is; constants of different types take it. */
static void test_recorded_types(void **state)
{
    WITH_JOB(j);
    struct graph *g = j->graph;
    struct value *x = input(g, "x", TYPE_FLOAT32, SHAPE(1, 2)), *all[3], *inner, *mixed;
    struct shape two = SHAPE(2);
    struct tensor *halves;
    const float *numbers;
    void *data;
    int count;

    (void)state;
    halves = tensor_new(&j->context.arena, TYPE_FLOAT64, &two, &data);
    memcpy(data, (double[]){0.5, 1.5}, 16);
    inner = NODE(g, "Relu", "inner", x);
    inner->recorded_type = TYPE_FLOAT64;
    all[0] = NODE(g, "Relu", "after", inner);
    all[1] = NODE(g, "Relu", "end", x);
    mixed = NODE(g, "Mul", "mixed", FLOATS(g, SHAPE(2), 2, 4), graph_constant(g, "halves", halves));
    mixed->recorded_type = TYPE_FLOAT32;
    all[2] = NODE(g, "Add", "sum", x, mixed);
    outputs(g, 3, all);
    g->output_types[1] = TYPE_INT64;
    infer_graph(g);
    assert_int_equal(j->context.diagnostics.count, 2);
    assert_true(says(j, 0,
                     "Relu inner: its output inner is float32, and the model records "
                     "float64. Run shape inference"));
    assert_true(says(j, 1, "Relu end: its output end is float32, and the model records int64"));
    assert_int_equal(mixed->type, TYPE_FLOAT32);
    numbers = node_constant_floats(all[2]->producer, 1, &count);
    assert_int_equal(count, 2);
    assert_true(numbers[0] == 1 && numbers[1] == 6);
    END_JOB(j);
}

/* What outputs there are depends on attributes and lengths. */
static void test_outputs_of_definition(void **state)
{
    WITH_JOB(j);
    struct graph *g = j->graph;
    struct value *x = input(g, "x", TYPE_FLOAT32, SHAPE(1, 3)), *one = FLOATS(g, SHAPE(3), 1, 1, 1);
    struct node *norm, *split;

    (void)state;
    norm = graph_node(g, operator_get(&j->context, "BatchNormalization"), "norm",
                      (struct value *[]){x, one, one, one, one}, 5, 3);
    norm->opset = 15;
    split = graph_node(g, operator_get(&j->context, "Split"), "split", &x, 1, 2);
    split->opset = 13;
    node_set_int(split, "axis", 1);
    node_set_int(split, "num_outputs", 2); /* as the upgrade does */
    outputs(g, 4,
            (struct value *[]){norm->outputs[0], norm->outputs[1], split->outputs[0],
                               split->outputs[1]});
    infer_graph(g);
    assert_int_equal(j->context.diagnostics.count, 2);
    assert_int_equal(reported(j, TUKI0106), 2);
    assert_true(says(j, 0, "it has outputs of its training, and training_mode is 0"));
    assert_true(says(j, 1, "axis 1 of length 3 cannot be split into 2 equal parts"));
    END_JOB(j);
}

/* The table is searched by name, and says one thing of an input at an opset. */
static void test_table_of_types(void **state)
{
    static const struct {
        const char *op, *slots;
        int since, until;
    } rows[] = {
#define INPUT_TYPE(op, slots, types, since, until) {#op, slots, since, until},
#include "daemon/compiler/operators/types.def"
#undef INPUT_TYPE
    };
    int count = sizeof rows / sizeof *rows;

    (void)state;
    for (int i = 0; i < count; i++) {
        assert_non_null(operator_find("", rows[i].op, rows[i].until ? rows[i].until : 26));
        assert_true(!rows[i].until || rows[i].since <= rows[i].until);
        assert_true(!i || strcmp(rows[i - 1].op, rows[i].op) <= 0);
        for (int k = i + 1; k < count && !strcmp(rows[k].op, rows[i].op); k++)
            assert_true(!strpbrk(rows[k].slots, rows[i].slots) ||
                        (rows[i].until && rows[k].since > rows[i].until) ||
                        (rows[k].until && rows[i].since > rows[k].until));
    }
}

static void test_huge_constant(void **state)
{
    WITH_JOB(j);
    struct graph *g = j->graph;
    struct value *big = NODE(g, "ConstantOfShape", "big", INTS(g, 1 << 14, 1 << 14)), *shape;

    (void)state;
    shape = NODE(g, "Shape", "shape", NODE(g, "Transpose", "t", big));
    output(g, shape);
    infer_graph(g);
    assert_int_equal(tensor_integer(shape->constant, 0), 1 << 14);
    assert_non_null(big->constant);
    assert_null(big->constant->data); /* a GiB that nobody makes */
    END_JOB(j);
}

struct seen {
    struct reference_watch watch;
    int count;
};

static void see(struct reference_watch *w, const struct value *v, const struct tensor *t)
{
    assert_int_equal(t->type, v->type);
    ((struct seen *)w)->count++;
}

static void test_reference(void **state)
{
    WITH_JOB(j);
    struct graph *g = j->graph;
    struct value *x = input(g, "x", TYPE_FLOAT32, SHAPE(2)), *y, *c;
    struct tensor *in[1], *out[3];
    struct seen seen = {{see}, 0};
    struct shape shape = SHAPE(2);
    void *data;

    (void)state;
    c = NODE(g, "Add", "c", FLOATS(g, SHAPE(2), 1, 2), FLOATS(g, SHAPE(2), 10, 20));
    y = NODE(g, "Mul", "y", NODE(g, "Add", "s", x, c), x);
    NODE(g, "Relu", "unread", y);
    outputs(g, 3, (struct value *[]){y, c, x});
    infer_graph(g);
    in[0] = tensor_new(&j->context.arena, TYPE_FLOAT32, &shape, &data);
    memcpy(data, (float[]){3, -4}, 8);
    assert_true(reference_run(g, in, out, &seen.watch, &j->context.arena));
    assert_true(tensor_number(out[0], 0) == (3 + 11) * 3);
    assert_true(tensor_number(out[0], 1) == (-4 + 22) * -4);
    assert_true(tensor_number(out[1], 1) == 22);
    assert_true(tensor_number(out[2], 1) == -4);
    assert_int_equal(seen.count, 3);
    shape = SHAPE(3);
    in[0] = tensor_new(&j->context.arena, TYPE_FLOAT32, &shape, &data);
    assert_false(reference_run(g, in, out, NULL, &j->context.arena));
    assert_int_equal(reported(j, TUKI0106), 1);
    END_JOB(j);
}

/* The text between the columns of a range, both counted in code points. */
static void piece(const char *text, struct text_range r, char *out)
{
    int line = 1, at = 1;

    for (const char *p = text; *p; p++) {
        if (line == r.line && at >= r.column && at < r.end_column)
            *out++ = *p;
        if (*p == '\n') {
            line++;
            at = 1;
        } else if (((unsigned char)p[1] & 0xc0) != 0x80) {
            at++;
        }
    }
    *out = 0;
}

static void test_text(void **state)
{
    WITH_JOB(j);
    struct graph *g = j->graph;
    struct value *x = input(g, "Bild µ", TYPE_FLOAT32, SHAPE(1, 2)), *y;
    struct place place = {.kind = PLACE_LAYER, .index = 1, .layer = "zwölf", .op = "Add"};
    struct model_text *t;
    char word[64];

    (void)state;
    g->name = "net";
    g->ir_version = 8;
    y = NODE(g, "Add", "zwölf", x, FLOATS(g, SHAPE(1), 0.5f));
    y->producer->position = 1;
    y = NODE(g, "Reshape", "", y, INTS(g, 2, -1));
    y->producer->position = 0; /* stands first in the file */
    node_set_int(y->producer, "allowzero", 0);
    output(g, y);
    infer_graph(g);
    t = model_text_new(&j->context, g);
    assert_string_equal(t->text,
                        "model net (IR 8, opset 21)\n"
                        "input Bild µ: float32 [1, 2]\n"
                        "constants: 2 tensors, 3 elements, 20 bytes\n"
                        "#0 Reshape(zwölf, ints=[2, -1]) -> : float32 [2, 1] {allowzero=0}\n"
                        "#1 Add zwölf(Bild µ, floats=[0.5]) -> zwölf: float32 [1, 2]\n"
                        "output : float32 [2, 1]\n");
    assert_int_equal(t->length, strlen(t->text));
    piece(t->text, model_text_range(t, &place), word);
    assert_string_equal(word, "Add zwölf");
    place = (struct place){.kind = PLACE_LAYER, .index = 0, .layer = "", .op = "Reshape"};
    piece(t->text, model_text_range(t, &place), word);
    assert_string_equal(word, "Reshape");
    place = (struct place){.kind = PLACE_INPUT, .index = 0};
    piece(t->text, model_text_range(t, &place), word);
    assert_string_equal(word, "Bild µ");
    place = (struct place){.kind = PLACE_MODEL};
    piece(t->text, model_text_range(t, &place), word);
    assert_string_equal(word, "model net (IR 8, opset 21)");
    t = model_text_new(&j->context, NULL);
    assert_int_equal(model_text_range(t, &place).line, 1);
    END_JOB(j);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shapes_and_constants),
        cmocka_unit_test(test_depends),
        cmocka_unit_test(test_healing),
        cmocka_unit_test(test_records),
        cmocka_unit_test(test_output_record),
        cmocka_unit_test(test_of_nothing_is_known),
        cmocka_unit_test(test_not_inferred),
        cmocka_unit_test(test_open_input),
        cmocka_unit_test(test_refused_without_results),
        cmocka_unit_test(test_arity),
        cmocka_unit_test(test_types),
        cmocka_unit_test(test_types_of_opsets),
        cmocka_unit_test(test_table_of_types),
        cmocka_unit_test(test_outputs_of_definition),
        cmocka_unit_test(test_choices),
        cmocka_unit_test(test_recorded_types),
        cmocka_unit_test(test_of_unknown_axes),
        cmocka_unit_test(test_huge_constant),
        cmocka_unit_test(test_reference),
        cmocka_unit_test(test_text),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
