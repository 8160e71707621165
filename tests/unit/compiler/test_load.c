#include "daemon/compiler/graph/graph.h"
#include "daemon/compiler/model/load.h"
#include "daemon/compiler/operators/operator.h"
#include "tests/unit/compiler/onnx_bytes.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

/* One model, loaded. */
struct job {
    struct context c;
    struct files_memory memory;
    struct model m;
};

static struct job *load_from(struct files *files, const char *path, struct job *j)
{
    if (setjmp(j->c.escape) == 0)
        model_load(&j->c, files, path, &j->m);
    else
        fail_msg("the job was left: %s", j->c.why);
    return j;
}

static struct job *load_bytes(const void *bytes, size_t size)
{
    struct job *j = calloc(1, sizeof *j);

    context_init(&j->c, NULL);
    files_memory_init(&j->memory, "m.onnx", bytes, size);
    return load_from(&j->memory.files, "m.onnx", j);
}

static struct job *load(struct strbuf model)
{
    return load_bytes(model.text, model.length);
}

static struct job *load_path(const char *path)
{
    struct job *j = calloc(1, sizeof *j);

    context_init(&j->c, NULL);
    return load_from(&files_system, path, j);
}

static void done(struct job *j)
{
    model_close(&j->m);
    context_release(&j->c);
    free(j);
}

static int count_of(const struct job *j, enum diagnostic_code code, const char *text)
{
    int count = 0;

    for (int i = 0; i < j->c.diagnostics.count; i++)
        count += j->c.diagnostics.list[i].code == code &&
                 strstr(j->c.diagnostics.list[i].message, text) != NULL;
    return count;
}

static void print_all(const struct job *j)
{
    for (int i = 0; i < j->c.diagnostics.count; i++)
        print_message("%s %s\n", diagnostic_info(j->c.diagnostics.list[i].code)->name,
                      j->c.diagnostics.list[i].message);
}

/* Exactly this one, and nothing else. */
static void assert_only(struct job *j, enum diagnostic_code code, const char *text)
{
    if (count_of(j, code, text) != 1 || j->c.diagnostics.count != 1)
        print_all(j);
    assert_int_equal(count_of(j, code, text), 1);
    assert_int_equal(j->c.diagnostics.count, 1);
}

static void refused(struct strbuf model, enum diagnostic_code code, const char *text)
{
    struct job *j = load(model);

    assert_only(j, code, text);
    if ((code >= TUKI0101 && code <= TUKI0105) || code == TUKI0107)
        assert_null(j->m.graph);
    done(j);
}

static struct graph *good(struct job *j)
{
    if (j->c.diagnostics.count || !j->m.graph)
        print_all(j);
    assert_int_equal(j->c.diagnostics.count, 0);
    assert_non_null(j->m.graph);
    return j->m.graph;
}

static const int64_t two_three[] = {2, 3};

/* A graph with input x and output y of [2, 3] around what is added to it. */
static struct strbuf graph_xy(void)
{
    struct strbuf g = message();

    put(&g, GRAPH_INPUT, value_info("x", FLOAT, 2, two_three));
    put(&g, GRAPH_OUTPUT, value_info("y", FLOAT, 2, two_three));
    return g;
}

/* ---- wiring ---- */

static void wires_in_any_order(void **state)
{
    struct strbuf g = graph_xy();
    struct job *j;
    struct graph *graph;

    (void)state;
    put(&g, GRAPH_NODE, named(node("Neg", "b", "y"), "last"));
    put(&g, GRAPH_NODE, named(node("Abs", "x", "a"), "first"));
    put(&g, GRAPH_NODE, named(node("Relu", "a", "b"), "second"));
    put(&g, GRAPH_VALUE_INFO, value_info("a", FLOAT, 2, two_three));
    j = load(model_of(8, 13, g));
    graph = good(j);
    assert_int_equal(graph->node_count, 3);
    assert_string_equal(graph->nodes[0]->name, "first");
    assert_int_equal(graph->nodes[0]->position, 1);
    assert_string_equal(graph->nodes[2]->name, "last");
    assert_ptr_equal(graph->nodes[0]->inputs[0], graph->inputs[0]);
    assert_ptr_equal(graph->outputs[0], graph->nodes[2]->outputs[0]);
    assert_ptr_equal(graph->nodes[1]->inputs[0]->producer, graph->nodes[0]);
    assert_int_equal(graph->nodes[1]->inputs[0]->reader_count, 1);
    assert_int_equal(graph->nodes[1]->inputs[0]->recorded.dim[1], 3);
    assert_int_equal(graph->opset, 13);
    assert_int_equal(graph->ir_version, 8);
    assert_int_equal(graph->inputs[0]->input, 0);
    assert_int_equal(graph->inputs[0]->shape.dim[0], 2);
    assert_int_equal(graph->output_types[0], TYPE_FLOAT32);
    assert_string_equal(graph->output_names[0], "y");
    assert_int_equal(graph->outputs[0]->output_count, 1);
    done(j);
}

static struct strbuf node_of_bytes(const char *op, const char *in, size_t in_size, const char *out,
                                   size_t out_size)
{
    struct strbuf s = message();

    put_bytes(&s, 1, in, in_size);
    put_bytes(&s, 2, out, out_size);
    put_text(&s, 4, op);
    return s;
}

static void takes_any_name(void **state)
{
    struct strbuf g = graph_xy();
    struct job *j;
    struct graph *graph;
    char name[300];

    (void)state;
    memset(name, 'n', sizeof name);
    put(&g, GRAPH_NODE, named(node_of_bytes("Abs", "x", 1, "a\0b", 3), "same"));
    put(&g, GRAPH_NODE, named(node_of_bytes("Abs", "a\0b", 3, "a\0c", 3), "same"));
    put(&g, GRAPH_NODE, node_of_bytes("Abs", "a\0c", 3, name, sizeof name));
    put(&g, GRAPH_NODE, node_of_bytes("Abs", name, sizeof name, "\xff\n*/\x07\xc3\xa9", 7));
    put(&g, GRAPH_NODE, node_of_bytes("Abs", "\xff\n*/\x07\xc3\xa9", 7, "\xe2\x80\xa8", 3));
    put(&g, GRAPH_NODE, node_of_bytes("Abs", "\xe2\x80\xa8", 3, "y", 1));
    j = load(model_of(8, 13, g));
    graph = good(j);
    assert_int_equal(graph->node_count, 6);
    assert_string_equal(graph->nodes[0]->outputs[0]->name, "a\\x00b");
    assert_int_equal(graph->nodes[0]->outputs[0]->label.length, 3);
    assert_memory_equal(graph->nodes[0]->outputs[0]->label.bytes, "a\0b", 3);
    assert_string_equal(graph->nodes[1]->name, "same");
    assert_int_equal(strlen(graph->nodes[2]->outputs[0]->name), 300);
    assert_string_equal(graph->nodes[3]->outputs[0]->name, "\\xff\\n*/\\x07\xc3\xa9");
    assert_string_equal(graph->nodes[4]->outputs[0]->name, "\\u2028");
    assert_string_equal(graph->nodes[5]->name, "");
    done(j);
}

static void reports_undefined_values(void **state)
{
    struct strbuf g = graph_xy();
    struct job *j;

    (void)state;
    put(&g, GRAPH_NODE, named(node("Add", "x,ghost", "a"), "n"));
    put(&g, GRAPH_NODE, node("Add", "a,ghost", "y"));
    refused(model_of(8, 13, g), TUKI0105, "Add n: it reads ghost, which nothing defines");

    g = graph_xy();
    put(&g, GRAPH_NODE, node("Abs", "x", "y"));
    put(&g, GRAPH_NODE, named(node("Neg", "x", "y"), "again"));
    refused(model_of(8, 13, g), TUKI0105, "Neg again: value y is defined twice");

    g = graph_xy();
    put(&g, GRAPH_NODE, node("Abs", "x", "z"));
    refused(model_of(8, 13, g), TUKI0105, "output y: it is never produced");

    g = graph_xy();
    put(&g, GRAPH_NODE, named(node("Abs", "x", "x"), "n"));
    j = load(model_of(8, 13, g));
    assert_int_equal(count_of(j, TUKI0105, "Abs n: value x is defined twice"), 1);
    done(j);

    g = graph_xy();
    put(&g, GRAPH_INPUT, value_info("x", FLOAT, 2, two_three));
    put(&g, GRAPH_NODE, node("Abs", "x", "y"));
    refused(model_of(8, 13, g), TUKI0105, "input x: it is defined twice");
}

static void reports_cycles(void **state)
{
    struct strbuf g = graph_xy();

    (void)state;
    put(&g, GRAPH_NODE, named(node("Add", "x,c", "a"), "p"));
    put(&g, GRAPH_NODE, named(node("Relu", "a", "b"), "q"));
    put(&g, GRAPH_NODE, node("Neg", "b", "c"));
    put(&g, GRAPH_NODE, node("Abs", "b", "y"));
    refused(model_of(8, 13, g), TUKI0104, "Add p: 3 layers read each other in a circle: Add p, ");
    refused(model_of(8, 13, g), TUKI0104, "Neg #2");

    g = graph_xy();
    put(&g, GRAPH_NODE, named(node("Add", "x,y", "y"), "self"));
    refused(model_of(8, 13, g), TUKI0104, "Add self: it reads its own output");
}

/* ---- versions, operators ---- */

static void checks_versions(void **state)
{
    struct strbuf g = graph_xy(), model;

    (void)state;
    put(&g, GRAPH_NODE, node("Abs", "x", "y"));
    for (int ir = 1; ir <= 15; ir++) {
        struct job *j = load(model_of(ir, 13, g));

        assert_int_equal(count_of(j, TUKI0103, "IR version"), ir < 3 || ir > 13);
        assert_int_equal(j->m.graph != NULL, ir >= 3 && ir <= 13);
        done(j);
    }
    for (int opset = 5; opset <= 28; opset++) {
        struct job *j = load(model_of(8, opset, g));

        assert_int_equal(count_of(j, TUKI0103, "opset"), opset < 7 || opset > 26);
        done(j);
    }
    model = message();
    put_int(&model, 1, 8);
    put(&model, 7, g);
    refused(model, TUKI0101, "it has no opset_import");
    model = message();
    put_int(&model, 1, 8);
    refused(model, TUKI0101, "it has no graph");
    model = message();
    put_text(&model, 2, "somebody");
    refused(model, TUKI0101, "it has no ir_version");
    refused(message(), TUKI0101, "the file is empty");
    model = message();
    put_int(&model, 1, 8);
    put(&model, 7, g);
    put(&model, 8, opset_import("ai.onnx", 13));
    {
        struct job *j = load(model);

        assert_int_equal(good(j)->opset, 13);
        done(j);
    }
}

static void looks_operators_up(void **state)
{
    struct strbuf g, model;
    struct job *j;

    (void)state;
    g = graph_xy();
    put(&g, GRAPH_NODE, named(node("Frobnicate", "x", "y"), "f"));
    j = load(model_of(8, 13, g));
    assert_only(j, TUKI0110, "Frobnicate f: the operator Frobnicate is not supported");
    assert_non_null(j->m.graph);
    assert_true(j->m.graph->nodes[0]->outputs[0]->poisoned);
    done(j);

    g = graph_xy();
    put(&g, GRAPH_NODE, node("Mish", "x", "y"));
    refused(model_of(8, 13, g), TUKI0110, "Mish #0: Mish exists from opset 18 on");
    g = graph_xy();
    put(&g, GRAPH_NODE, node("Upsample", "x", "y"));
    refused(model_of(8, 13, g), TUKI0110, "Upsample exists up to opset 9");
    /* A word for yes or no that says neither. */
    g = graph_xy();
    put(&g, GRAPH_NODE, with(node("ReduceMax", "x", "y"), int_attribute("keepdims", 2)));
    refused(model_of(8, 13, g), TUKI0106, "its attribute keepdims is 2 instead of 0 or 1");
    /* Inputs that another opset brought. */
    g = graph_xy();
    put(&g, GRAPH_NODE, node("Clip", "x,x", "y"));
    refused(model_of(8, 10, g), TUKI0106, "it has 2 inputs; Clip takes at most 1 at opset 10");
    g = graph_xy();
    put(&g, GRAPH_NODE, node("Unsqueeze", "x", "y"));
    refused(model_of(8, 13, g), TUKI0106, "its input 1 is missing; Unsqueeze needs 2 at opset 13");
    g = graph_xy();
    put(&g, GRAPH_NODE, in_domain(node("Relu", "x", "y"), "my.own"));
    refused(model_of(8, 13, g), TUKI0111, "the model does not import the domain my.own of Relu");
    model = model_of(8, 13, g);
    put(&model, 8, opset_import("my.own", 1));
    refused(model, TUKI0111, "Relu is an operator of the domain my.own");
    g = graph_xy();
    put(&g, GRAPH_NODE, in_domain(node("Relu", "x", "y"), "ai.onnx"));
    j = load(model_of(8, 13, g));
    assert_string_equal(good(j)->nodes[0]->domain, "");
    assert_int_equal(j->m.graph->nodes[0]->opset, 13);
    done(j);
}

/* Beside the note that an input is taken as a constant. */
static void declared(struct strbuf model, enum diagnostic_code code, const char *text)
{
    struct job *j = load(model);

    assert_int_equal(count_of(j, code, text), 1);
    assert_int_equal(j->c.diagnostics.count, 2);
    done(j);
}

/* The types and shapes that a file records of its constants, and of inputs that are outputs. */
static void checks_records(void **state)
{
    static const int64_t two[] = {2}, one_two[] = {1, 2}, any_two[] = {-1};
    const float numbers[] = {1, 2};
    struct strbuf g, weights = raw_tensor("w", FLOAT, 1, two, numbers, sizeof numbers);

    (void)state;
    g = graph_xy();
    put(&g, GRAPH_INITIALIZER, weights);
    put(&g, GRAPH_INPUT, value_info("w", INT64, 1, two));
    put(&g, GRAPH_NODE, node("Add", "x,w", "y"));
    declared(model_of(8, 13, g), TUKI0106,
             "the constant w is float32, and the model records int64");
    g = graph_xy();
    put(&g, GRAPH_INITIALIZER, weights);
    put(&g, GRAPH_INPUT, value_info("w", FLOAT, 2, one_two));
    put(&g, GRAPH_NODE, node("Add", "x,w", "y"));
    declared(model_of(8, 13, g), TUKI0117,
             "the constant w has the shape [2], and the model records [1, 2]");
    g = graph_xy();
    put(&g, GRAPH_INITIALIZER, weights);
    put(&g, GRAPH_VALUE_INFO, value_info("w", FLOAT, 1, any_two));
    put(&g, GRAPH_NODE, node("Relu", "x", "y"));
    put(&g, GRAPH_OUTPUT, value_info("x", BOOL, 2, one_two));
    refused(model_of(8, 13, g), TUKI0106, "output x: it is float32, and the model records bool");
}

static void checks_arity(void **state)
{
    struct strbuf g;
    struct job *j;

    (void)state;
    g = graph_xy();
    put(&g, GRAPH_NODE, named(node("Add", ",x", "y"), "n"));
    refused(model_of(8, 13, g), TUKI0106, "Add n: its input 0 is missing");
    g = graph_xy();
    put(&g, GRAPH_NODE, node("Add", "x", "y"));
    refused(model_of(8, 13, g), TUKI0106, "its input 1 is missing; Add needs 2");
    g = graph_xy();
    put(&g, GRAPH_NODE, node("Abs", "x,x", "y"));
    refused(model_of(8, 13, g), TUKI0106, "it has 2 inputs; Abs takes at most 1");
    g = graph_xy();
    put(&g, GRAPH_NODE, node("Abs", "x", "y,z"));
    refused(model_of(8, 13, g), TUKI0106, "it has 2 outputs; Abs has at most 1");
    g = graph_xy();
    put(&g, GRAPH_NODE, node("Max", "x,,x", "y"));
    refused(model_of(8, 13, g), TUKI0106, "its input 1 is missing; Max takes any number, but none");
    /* Left out at the end, or in the middle. */
    g = graph_xy();
    put(&g, GRAPH_NODE, node("Abs", "x,,", "y,"));
    j = load(model_of(8, 13, g));
    assert_int_equal(good(j)->nodes[0]->input_count, 1);
    done(j);
    g = graph_xy();
    put(&g, GRAPH_NODE, node("Clip", "x,,x", "y"));
    j = load(model_of(8, 13, g));
    assert_int_equal(good(j)->nodes[0]->input_count, 3);
    assert_null(j->m.graph->nodes[0]->inputs[1]);
    done(j);
}

static void upgrades_once(void **state)
{
    const int64_t axes[] = {0}, dims[] = {1, 2, 3};
    struct strbuf g = message();
    struct job *j;
    struct graph *graph;

    (void)state;
    put(&g, GRAPH_INPUT, value_info("x", FLOAT, 3, dims));
    put(&g, GRAPH_OUTPUT, value_info("y", FLOAT, 2, two_three));
    put(&g, GRAPH_NODE, with(node("Squeeze", "x", "y"), ints_attribute("axes", 1, axes)));
    j = load(model_of(8, 11, g));
    graph = good(j);
    assert_int_equal(graph->node_count, 1);
    assert_int_equal(graph->nodes[0]->input_count, 2);
    assert_int_equal(tensor_integer(graph->nodes[0]->inputs[1]->constant, 0), 0);
    assert_null(node_find(graph->nodes[0], "axes"));
    done(j);
}

static void reads_attributes(void **state)
{
    struct strbuf g = graph_xy(), n = node("LSTM", "x,x,x", "y"), a;
    const int64_t ints[] = {-1, INT64_MIN, 7};
    float floats[] = {0.5f, -2};
    struct job *j;
    struct node *read;
    struct attribute *found;
    int count;

    (void)state;
    n = with(n, int_attribute("hidden_size", -5));
    a = message(); /* without a type, as before IR 2 */
    put_text(&a, 1, "clip");
    put_float(&a, 2, 1.5f);
    n = with(n, a);
    a = attribute_of("direction", 3);
    put_bytes(&a, 4, "a\0b", 3);
    n = with(n, a);
    a = attribute_of("activation_alpha", 6);
    put_bytes(&a, 7, floats, sizeof floats);
    n = with(n, a);
    a = attribute_of("activations", 8);
    put_text(&a, 9, "one");
    put_text(&a, 9, "");
    n = with(n, a);
    put(&g, GRAPH_NODE, n);
    put(&g, GRAPH_NODE, with(node("Transpose", "x", "t"), ints_attribute("perm", 3, ints)));
    j = load(model_of(8, 13, g));
    read = good(j)->nodes[0];
    assert_int_equal(node_int(read, "hidden_size", 0), -5);
    assert_true(node_float(read, "clip", 0) == 1.5f);
    assert_int_equal(node_ints(j->m.graph->nodes[1], "perm", &count)[1], INT64_MIN);
    assert_int_equal(count, 3);
    found = node_find(read, "direction");
    assert_int_equal(found->s.length, 3);
    assert_memory_equal(found->s.bytes, "a\0b", 4);
    found = node_find(read, "activation_alpha");
    assert_int_equal(found->count, 2);
    assert_true(found->floats[1] == -2);
    found = node_find(read, "activations");
    assert_int_equal(found->count, 2);
    assert_string_equal(found->strings[0].bytes, "one");
    done(j);

    g = graph_xy();
    put(&g, GRAPH_NODE,
        with(with(node("Abs", "x", "y"), int_attribute("i", 1)), int_attribute("i", 2)));
    refused(model_of(8, 13, g), TUKI0106, "the attribute i twice");
    g = graph_xy();
    put(&g, GRAPH_NODE, with(node("Abs", "x", "y"), attribute_of("i", 99)));
    refused(model_of(8, 13, g), TUKI0106, "attribute i has no type");
    g = graph_xy();
    put(&g, GRAPH_NODE, with(node("Abs", "x", "y"), ref_attribute("i", 2, "outer")));
    refused(model_of(8, 13, g), TUKI0106, "attribute i refers to");
}

/* ---- tensors ---- */

/* y = x, and w an initializer: its tensor. */
static struct strbuf model_with(struct strbuf tensor)
{
    struct strbuf g = graph_xy();

    put(&g, GRAPH_INITIALIZER, tensor);
    put(&g, GRAPH_NODE, node("Abs", "x", "y"));
    return model_of(8, 13, g);
}

static struct tensor *constant_named(const struct graph *g, const char *name)
{
    for (int i = 0; i < g->value_count; i++)
        if (!strcmp(g->values[i]->name, name))
            return g->values[i]->constant;
    fail_msg("there is no value %s", name);
    return NULL;
}

/* The numbers of a tensor as its typed field has them, packed or one by one. */
static struct strbuf typed(int type, int64_t count, const int64_t *dims, int axes, unsigned field,
                           const uint8_t *payload, size_t width, bool is_signed, bool packed)
{
    struct strbuf t = tensor_of("w", type, axes, dims), list = message();

    for (int64_t i = 0; i < count; i++) {
        uint64_t value = 0;

        memcpy(&value, payload + (size_t)i * width, width);
        if (is_signed && width < 8 && value >> (8 * width - 1))
            value |= ~(uint64_t)0 << (8 * width);
        if (field == 4 || field == 10) {
            if (!packed)
                put_varint(&t, field << 3 | (width == 4 ? 5 : 1));
            strbuf_add_bytes(packed ? &list : &t, &value, width);
        } else if (packed) {
            put_varint(&list, value);
        } else {
            put_int(&t, field, (int64_t)value);
        }
    }
    if (packed)
        put_bytes(&t, field, list.text, list.length);
    return t;
}

static void raw_and_typed_are_the_same(void **state)
{
    static const struct {
        int type;
        unsigned field;
        size_t width;
        bool is_signed;
        int per_number; /* elements in one */
    } kinds[] = {
        {FLOAT, 4, 4, false, 1},   {UINT8, 5, 1, false, 1},       {INT8, 5, 1, true, 1},
        {UINT16, 5, 2, false, 1},  {INT16, 5, 2, true, 1},        {INT32, 5, 4, true, 1},
        {INT64, 7, 8, true, 1},    {BOOL, 5, 1, false, 1},        {FLOAT16, 5, 2, false, 1},
        {DOUBLE, 10, 8, false, 1}, {UINT32, 11, 4, false, 1},     {UINT64, 11, 8, false, 1},
        {UINT4, 5, 1, false, 2},   {INT4, 5, 1, false, 2},        {BFLOAT16, 5, 2, false, 1},
        {17, 5, 1, false, 1},      {23, 5, 1, false, 2},          {COMPLEX64, 4, 4, false, 0},
        {25, 5, 1, false, 4},      {COMPLEX128, 10, 8, false, 0},
    };
    uint8_t *payload = malloc(5000 * 8);

    (void)state;
    for (size_t i = 0; i < 5000 * 8; i++)
        payload[i] = (uint8_t)(i * 37 + i / 7);
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++)
        for (int size = 0; size < 3; size++) {
            const int64_t counts[] = {3, 200, 5000};
            int64_t numbers = counts[size], dims[2] = {1, numbers * kinds[k].per_number};
            struct hash hash[3];

            if (kinds[k].per_number > 1)
                dims[1]--; /* the last number is not full */
            if (!kinds[k].per_number)
                dims[1] = (numbers &= ~1) / 2; /* complex: two numbers an element */
            for (size_t i = 0; kinds[k].type == BOOL && i < 5000; i++)
                payload[i] = i % 3 == 0;
            for (int form = 0; form < 3; form++) {
                struct strbuf t =
                    form ? typed(kinds[k].type, numbers, dims, 2, kinds[k].field, payload,
                                 kinds[k].width, kinds[k].is_signed, form == 1)
                         : raw_tensor("w", kinds[k].type, 2, dims, payload,
                                      (size_t)numbers * kinds[k].width);
                struct job *j = load(model_with(t));
                struct tensor *w = constant_named(good(j), "w");
                struct arena *scratch = arena_child(&j->c.arena);

                assert_int_equal(w->type, kinds[k].type);
                assert_int_equal(w->bytes, (size_t)numbers * kinds[k].width);
                assert_memory_equal(tensor_data(&j->c, w, scratch), payload, w->bytes);
                /* Small ones are in memory, others are read when asked for. */
                assert_int_equal(w->data != NULL, w->bytes <= 1024);
                hash[form] = tensor_hash(&j->c, w);
                assert_true(hash[form].low == hash[0].low && hash[form].high == hash[0].high);
                if (!w->data) {
                    uint8_t part[5];

                    assert_true(w->source->read(w->source, w->offset + 1001, part, sizeof part));
                    assert_memory_equal(part, payload + 1001, sizeof part);
                    assert_true(w->source->read(w->source, w->offset + w->bytes - 2, part, 2));
                    assert_memory_equal(part, payload + w->bytes - 2, 2);
                }
                done(j);
            }
        }
    free(payload);
}

static void typed_data_in_pieces(void **state)
{
    const int64_t dims[] = {700};
    struct strbuf t = tensor_of("w", FLOAT, 1, dims);
    float numbers[700];
    struct job *j;
    struct tensor *w;
    struct arena *scratch;

    (void)state;
    for (int i = 0; i < 700; i++)
        numbers[i] = (float)i / 3;
    put_bytes(&t, 4, numbers, 300 * 4);
    for (int i = 300; i < 400; i++)
        put_float(&t, 4, numbers[i]);
    put_bytes(&t, 4, numbers + 400, 0);
    put_bytes(&t, 4, numbers + 400, 300 * 4);
    j = load(model_with(t));
    w = constant_named(good(j), "w");
    scratch = arena_child(&j->c.arena);
    assert_memory_equal(tensor_data(&j->c, w, scratch), numbers, sizeof numbers);
    done(j);
}

static void refuses_malformed_tensors(void **state)
{
    const int64_t negative[] = {2, -1}, huge[] = {(int64_t)1 << 62, (int64_t)1 << 62},
                  large[] = {(int64_t)1 << 40}, six[] = {6}, none[] = {0, (int64_t)1 << 62},
                  many[9] = {1, 1, 1, 1, 1, 1, 1, 1, 1};
    char bytes[24] = {0};
    struct strbuf t;
    struct job *j;

    (void)state;
    refused(model_with(raw_tensor("w", FLOAT, 2, negative, bytes, 24)), TUKI0107,
            "initializer w: dim 1 is negative: -1");
    refused(model_with(raw_tensor("w", FLOAT, 2, huge, bytes, 24)), TUKI0107, "too many elements");
    refused(model_with(raw_tensor("w", FLOAT, 1, large, bytes, 24)), TUKI0107, "ask for");
    refused(model_with(raw_tensor("w", FLOAT, 1, six, bytes, 23)), TUKI0107,
            "ask for 24 bytes of elements, it holds 23");
    refused(model_with(raw_tensor("w", FLOAT, 1, six, bytes, 0)), TUKI0107, "it holds 0");
    refused(model_with(raw_tensor("w", 99, 1, six, bytes, 24)), TUKI0107, "unknown: 99");
    refused(model_with(raw_tensor("w", 0, 1, six, bytes, 24)), TUKI0107, "no element type");
    refused(model_with(raw_tensor("w", FLOAT, 9, many, bytes, 4)), TUKI0107, "9 axes");
    t = raw_tensor("w", FLOAT, 1, six, bytes, 24);
    put_bytes(&t, 4, bytes, 24);
    refused(model_with(t), TUKI0107, "in raw_data and in float_data");
    t = tensor_of("w", INT32, 1, six);
    put_bytes(&t, 4, bytes, 24);
    refused(model_with(t), TUKI0107, "float_data cannot hold elements of type int32");
    t = tensor_of("w", STRING, 1, six);
    put_text(&t, 6, "one");
    refused(model_with(t), TUKI0107, "it holds 1");
    /* No elements, and a scalar. */
    j = load(model_with(raw_tensor("w", FLOAT, 2, none, NULL, 0)));
    assert_int_equal(constant_named(good(j), "w")->count, 0);
    done(j);
    j = load(model_with(raw_tensor("w", FLOAT, 0, NULL, "\0\0\x80\x3f", 4)));
    assert_true(tensor_number(constant_named(good(j), "w"), 0) == 1);
    done(j);
}

static void initializers_are_no_inputs(void **state)
{
    struct strbuf g = message();
    const int64_t one[] = {1};
    struct job *j;
    struct graph *graph;

    (void)state;
    for (int i = 0; i < 3; i++)
        put(&g, GRAPH_INPUT, value_info(i == 1 ? "w" : i ? "x2" : "x0", FLOAT, 1, one));
    put(&g, GRAPH_INPUT, value_info("v", FLOAT, 1, one));
    put(&g, GRAPH_INITIALIZER, raw_tensor("w", FLOAT, 1, one, "\0\0\0\0", 4));
    put(&g, GRAPH_INITIALIZER, raw_tensor("v", FLOAT, 1, one, "\0\0\0\0", 4));
    put(&g, GRAPH_NODE, node("Sum", "x0,w,x2,v", "y"));
    put(&g, GRAPH_OUTPUT, value_info("y", FLOAT, 1, one));
    j = load(model_of(3, 13, g));
    assert_only(j, TUKI0144, "w, v are also graph inputs and are taken as constants");
    graph = j->m.graph;
    assert_int_equal(graph->input_count, 2);
    assert_string_equal(graph->inputs[1]->name, "x2");
    assert_int_equal(graph->inputs[1]->input, 1);
    assert_int_equal(graph->nodes[0]->inputs[1]->input, -1);
    assert_non_null(graph->nodes[0]->inputs[1]->constant);
    done(j);

    g = graph_xy();
    put(&g, GRAPH_NODE, node("Abs", "x", "y"));
    put(&g, GRAPH_INITIALIZER, raw_tensor("w", FLOAT, 1, one, "\0\0\0\0", 4));
    put(&g, GRAPH_INITIALIZER, raw_tensor("w", FLOAT, 1, one, "\0\0\0\0", 4));
    refused(model_of(8, 13, g), TUKI0105, "value w is defined by two initializers");
}

static struct strbuf sparse_of(int index_axes, const int64_t *indices, const int64_t *dims,
                               int axes)
{
    struct strbuf s = message();
    const int64_t shape[] = {2, axes};
    float values[] = {5, 7};

    put(&s, 1, raw_tensor("sp", FLOAT, 1, shape, values, sizeof values));
    put(&s, 2,
        raw_tensor(NULL, INT64, index_axes, shape, indices,
                   (size_t)(index_axes == 2 ? 2 * axes : 2) * 8));
    for (int i = 0; i < axes; i++)
        put_int(&s, 3, dims[i]);
    return s;
}

static void makes_sparse_tensors_dense(void **state)
{
    const int64_t flat[] = {1, 5}, pairs[] = {0, 1, 1, 2}, outside[] = {1, 6},
                  outside_pair[] = {0, 1, 1, 3};
    const float expected[] = {0, 5, 0, 0, 0, 7};

    (void)state;
    for (int axes = 1; axes <= 2; axes++) {
        struct strbuf g = graph_xy();
        struct job *j;
        struct tensor *t;

        put(&g, GRAPH_SPARSE, sparse_of(axes, axes == 2 ? pairs : flat, two_three, 2));
        put(&g, GRAPH_NODE, node("Add", "x,sp", "y"));
        j = load(model_of(8, 13, g));
        t = constant_named(good(j), "sp");
        assert_int_equal(t->shape.dim[0], 2);
        assert_memory_equal(t->data, expected, sizeof expected);
        done(j);

        g = graph_xy();
        put(&g, GRAPH_SPARSE, sparse_of(axes, axes == 2 ? outside_pair : outside, two_three, 2));
        put(&g, GRAPH_NODE, node("Add", "x,sp", "y"));
        refused(model_of(8, 13, g), TUKI0107, "initializer sp: index 1 lies outside [2, 3]");
    }
}

/* Constant nodes become constants, whatever their form. */
static struct tensor *constant_of(struct job **j, struct strbuf attribute)
{
    struct strbuf g = graph_xy();

    put(&g, GRAPH_NODE, node("Abs", "x", "y"));
    put(&g, GRAPH_NODE, with(node("Constant", "", "k"), attribute));
    *j = load(model_of(8, 13, g));
    assert_int_equal(good(*j)->node_count, 1);
    return constant_named((*j)->m.graph, "k");
}

static void reads_constant_nodes(void **state)
{
    const int64_t ints[] = {4, -9}, flat[] = {1, 5};
    const float floats[] = {0.5f, 2, 3};
    struct strbuf a, g;
    struct job *j;
    struct tensor *t;

    (void)state;
    a = attribute_of("value", 4);
    put(&a, 5, raw_tensor(NULL, INT64, 1, flat, ints, 8));
    t = constant_of(&j, a);
    assert_int_equal(tensor_integer(t, 0), 4);
    done(j);
    a = attribute_of("value_float", 1);
    put_float(&a, 2, -1.5f);
    t = constant_of(&j, a);
    assert_true(t->type == TYPE_FLOAT32 && t->shape.axes == 0 && tensor_number(t, 0) == -1.5);
    done(j);
    a = attribute_of("value_floats", 6);
    put_bytes(&a, 7, floats, sizeof floats);
    t = constant_of(&j, a);
    assert_true(t->type == TYPE_FLOAT32 && t->shape.axes == 1 && t->count == 3);
    assert_memory_equal(t->data, floats, sizeof floats);
    done(j);
    t = constant_of(&j, int_attribute("value_int", INT64_MAX));
    assert_true(t->type == TYPE_INT64 && t->shape.axes == 0 && tensor_integer(t, 0) == INT64_MAX);
    done(j);
    t = constant_of(&j, ints_attribute("value_ints", 2, ints));
    assert_true(t->type == TYPE_INT64 && t->count == 2 && tensor_integer(t, 1) == -9);
    done(j);
    a = attribute_of("value_string", 3);
    put_text(&a, 4, "text");
    t = constant_of(&j, a);
    assert_true(t->type == TYPE_STRING && t->count == 1);
    done(j);
    a = attribute_of("value_strings", 8);
    put_text(&a, 9, "a");
    put_text(&a, 9, "b");
    t = constant_of(&j, a);
    assert_true(t->type == TYPE_STRING && t->shape.dim[0] == 2);
    done(j);
    a = attribute_of("sparse_value", 11);
    put(&a, 22, sparse_of(1, flat, two_three, 2));
    t = constant_of(&j, a);
    assert_true(t->count == 6 && tensor_number(t, 5) == 7);
    done(j);

    g = graph_xy();
    put(&g, GRAPH_NODE, node("Constant", "", "y"));
    refused(model_of(8, 13, g), TUKI0106, "Constant #0: it has no value");
    g = graph_xy();
    a = attribute_of("value", 4);
    put(&a, 5, raw_tensor(NULL, INT64, 1, flat, ints, 9));
    put(&g, GRAPH_NODE, with(node("Constant", "", "y"), a));
    refused(model_of(8, 13, g), TUKI0107, "Constant #0: attribute value: its dims [1] of int64");
}

/* ---- external data ---- */

static char folder[64];

static int make_folder(void **state)
{
    bytes_begin(state);
    strcpy(folder, "/tmp/onnxgpud-load-XXXXXX");
    return mkdtemp(folder) ? 0 : -1;
}

static int drop_folder(void **state)
{
    char command[128];

    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    bytes_end(state);
    return system(command);
}

static const char *in_folder(const char *name)
{
    return arena_printf(&bytes_context.arena, "%s/%s", folder, name);
}

static void write_file(const char *name, const void *bytes, size_t size)
{
    FILE *f = fopen(in_folder(name), "wb");

    assert_non_null(f);
    assert_int_equal(fwrite(bytes, 1, size, f), size);
    fclose(f);
}

static struct strbuf external_tensor(const char *name, const char *location, const char *offset,
                                     const char *length)
{
    struct strbuf t = tensor_of(name, FLOAT, 2, two_three);
    const char *pairs[][2] = {{"location", location}, {"offset", offset}, {"length", length}};

    for (int i = 0; i < 3; i++) {
        struct strbuf entry = message();

        if (!pairs[i][1])
            continue;
        put_text(&entry, 1, pairs[i][0]);
        put_text(&entry, 2, pairs[i][1]);
        put(&t, 13, entry);
    }
    put_int(&t, 14, 1);
    return t;
}

static void write_model(struct strbuf model)
{
    write_file("m.onnx", model.text, model.length);
}

static void refused_external(const char *location, const char *offset, const char *length,
                             enum diagnostic_code code, const char *text)
{
    struct job *j;

    write_model(model_with(external_tensor("w", location, offset, length)));
    j = load_path(in_folder("m.onnx"));
    assert_only(j, code, text);
    assert_null(j->m.graph);
    done(j);
}

static void reads_external_data(void **state)
{
    struct strbuf g = graph_xy();
    float numbers[512];
    struct job *j;
    struct graph *graph;
    struct hash first, again;

    (void)state;
    for (int i = 0; i < 512; i++)
        numbers[i] = (float)i;
    mkdir(in_folder("sub"), 0700);
    write_file("sub/w.bin", numbers, sizeof numbers);
    put(&g, GRAPH_INITIALIZER, external_tensor("late", "sub/w.bin", "400", "24"));
    put(&g, GRAPH_INITIALIZER, external_tensor("early", "./sub//w.bin", "0", NULL));
    put(&g, GRAPH_INITIALIZER, external_tensor("last", "sub/w.bin", "2024", NULL));
    put(&g, GRAPH_NODE, node("Sum", "x,early,late", "y"));
    write_model(model_of(8, 13, g));
    j = load_path(in_folder("m.onnx"));
    graph = good(j);
    assert_int_equal(j->m.external_count, 1);
    assert_string_equal(j->m.external[0], in_folder("sub/w.bin"));
    assert_int_equal(j->m.open_count, 2);
    assert_true(tensor_number(constant_named(graph, "late"), 1) == 101);
    assert_true(tensor_number(constant_named(graph, "early"), 5) == 5);
    assert_true(tensor_number(constant_named(graph, "last"), 5) == 511);
    first = j->m.content;
    assert_true(model_hash(&j->c, &files_system, in_folder("m.onnx"), &again));
    assert_true(first.low == again.low && first.high == again.high);
    done(j);

    numbers[300] = -1; /* which no tensor holds, but the file does */
    write_file("sub/w.bin", numbers, sizeof numbers);
    j = load_path(in_folder("m.onnx"));
    assert_false(first.low == j->m.content.low);
    done(j);
}

static void refuses_external_data(void **state)
{
    char outside[80], numbers[100] = {0};
    struct strbuf g = graph_xy();
    struct job *j;
    struct hash hash;

    (void)state;
    write_file("w.bin", numbers, sizeof numbers);
    refused_external("gone.bin", NULL, NULL, TUKI0102,
                     "initializer w: its data file gone.bin cannot be used: there is no such file");
    refused_external("/etc/passwd", NULL, NULL, TUKI0102, "it is an absolute path");
    refused_external("../w.bin", NULL, NULL, TUKI0102, "it leaves the model's folder");
    refused_external("a/../w.bin", NULL, NULL, TUKI0102, "it leaves the model's folder");
    refused_external("", NULL, NULL, TUKI0102, "it is empty");
    refused_external(".", NULL, NULL, TUKI0102, "it is empty");
    refused_external("w.bin", "80", NULL, TUKI0102, "too short: 24 bytes from byte 80 on, of 100");
    refused_external("w.bin", "18446744073709551615", "24", TUKI0102, "too short");
    refused_external("w.bin", "0", "200", TUKI0102, "too short");
    refused_external("w.bin", "0", "20", TUKI0107, "has 20 bytes, its dims ask for 24");
    refused_external("w.bin", "x", "24", TUKI0107, "the offset of its external data is no number");
    refused_external("w.bin", "0", "99999999999999999999", TUKI0107, "the length of its external");
    refused_external(NULL, "0", "24", TUKI0107, "has no location");

    snprintf(outside, sizeof outside, "%s.outside", folder);
    mkdir(outside, 0700);
    assert_int_equal(
        rename(in_folder("w.bin"), arena_printf(&bytes_context.arena, "%s/w.bin", outside)), 0);
    assert_int_equal(symlink(outside, in_folder("link")), 0);
    refused_external("link/w.bin", "0", "24", TUKI0102, "it lies outside the model's folder");
    assert_int_equal(
        symlink(arena_printf(&bytes_context.arena, "%s/w.bin", outside), in_folder("file")), 0);
    refused_external("file", "0", "24", TUKI0102, "it lies outside the model's folder");
    unlink(arena_printf(&bytes_context.arena, "%s/w.bin", outside));
    rmdir(outside);
    mkdir(in_folder("dir"), 0700);
    refused_external("dir", "0", "24", TUKI0102, "it is a folder");
    assert_int_equal(mkfifo(in_folder("pipe"), 0600), 0);
    refused_external("pipe", "0", "24", TUKI0102, "it is no regular file");

    /* One a tensor; and a hash that misses a file is none. */
    put(&g, GRAPH_INITIALIZER, external_tensor("v", "gone.bin", NULL, NULL));
    put(&g, GRAPH_INITIALIZER, external_tensor("w", "gone.bin", NULL, NULL));
    put(&g, GRAPH_NODE, node("Abs", "x", "y"));
    write_model(model_of(8, 13, g));
    j = load_path(in_folder("m.onnx"));
    assert_int_equal(count_of(j, TUKI0102, "gone.bin"), 2);
    assert_int_equal(j->m.external_count, 1);
    assert_false(model_hash(&j->c, &files_system, in_folder("m.onnx"), &hash));
    done(j);
}

/* More data files than are held open. */
static void reads_many_data_files(void **state)
{
    struct strbuf g = graph_xy();
    float numbers[600] = {0};
    const int64_t dims[] = {600};
    struct job *j;

    (void)state;
    for (int i = 0; i < 50; i++) {
        const char *name = arena_printf(&bytes_context.arena, "w%d.bin", i);
        struct strbuf t = tensor_of(name, FLOAT, 1, dims), entry = message();

        numbers[7] = (float)i;
        write_file(name, numbers, sizeof numbers);
        put_text(&entry, 1, "location");
        put_text(&entry, 2, name);
        put(&t, 13, entry);
        put_int(&t, 14, 1);
        put(&g, GRAPH_INITIALIZER, t);
    }
    put(&g, GRAPH_NODE, node("Abs", "x", "y"));
    write_model(model_of(8, 13, g));
    j = load_path(in_folder("m.onnx"));
    good(j);
    assert_int_equal(j->m.external_count, 50);
    assert_true(j->m.open_count < 40);
    for (int i = 0; i < 50; i++) {
        struct arena *scratch = arena_child(&j->c.arena);
        struct tensor *t =
            constant_named(j->m.graph, arena_printf(&bytes_context.arena, "w%d.bin", i));

        assert_true(tensor_floats(&j->c, t, scratch)[7] == (float)i);
        arena_free(scratch);
    }
    /* Exchanged after loading: the old numbers are gone, and no others are given for them. */
    write_file("w49.bin", numbers, sizeof numbers - 4);
    assert_false(constant_named(j->m.graph, "w49.bin")
                     ->source->read(constant_named(j->m.graph, "w49.bin")->source, 0, numbers, 4));
    done(j);
}

static void needs_a_regular_file(void **state)
{
    struct job *j;

    (void)state;
    j = load_path(in_folder("none.onnx"));
    assert_only(j, TUKI0100, "none.onnx cannot be read: there is no such file");
    assert_null(j->m.graph);
    done(j);
    j = load_path(folder);
    assert_only(j, TUKI0100, "it is a folder");
    done(j);
    assert_int_equal(mkfifo(in_folder("pipe"), 0600), 0);
    j = load_path(in_folder("pipe"));
    assert_only(j, TUKI0100, "it is no regular file");
    done(j);
}

/* ---- functions ---- */

static struct strbuf function_of(const char *name, const char *inputs, const char *outputs)
{
    struct strbuf f = message();

    put_text(&f, 1, name);
    put_list(&f, 4, inputs);
    put_list(&f, 5, outputs);
    put_text(&f, 10, "local");
    put(&f, 9, opset_import("", 13));
    put(&f, 9, opset_import("local", 1));
    return f;
}

static struct strbuf with_function(struct strbuf model, struct strbuf function)
{
    put(&model, 25, function);
    return model;
}

static struct strbuf local_model(struct strbuf graph)
{
    struct strbuf m = model_of(8, 17, graph);

    put(&m, 8, opset_import("local", 1));
    return m;
}

static void inlines_functions(void **state)
{
    struct strbuf g = graph_xy(), f = function_of("Twice", "a", "b"),
                  outer = function_of("Nest", "p,q", "r");
    struct job *j;
    struct graph *graph;

    (void)state;
    /* Its nodes in the wrong order, and an opset of its own. */
    put(&f, 7, node("Neg", "t", "b"));
    put(&f, 7, named(node("Abs", "a", "t"), "inner"));
    put(&outer, 7, in_domain(node("Twice", "p", "m"), "local"));
    put(&outer, 7, node("Relu", "m", "r"));
    put(&g, GRAPH_NODE, named(in_domain(node("Nest", "x", "h"), "local"), "call"));
    put(&g, GRAPH_NODE, in_domain(node("Twice", "h", "y"), "local"));
    j = load(with_function(with_function(local_model(g), f), outer));
    graph = good(j);
    assert_int_equal(graph->node_count, 5);
    assert_string_equal(graph->nodes[0]->op_type, "Abs");
    assert_string_equal(graph->nodes[0]->name, "call/#0/inner");
    assert_int_equal(graph->nodes[0]->position, 0);
    assert_int_equal(graph->nodes[0]->opset, 13);
    assert_string_equal(graph->nodes[1]->op_type, "Neg");
    assert_string_equal(graph->nodes[2]->op_type, "Relu");
    assert_string_equal(graph->nodes[2]->outputs[0]->name, "h");
    assert_string_equal(graph->nodes[3]->name, "Twice #1/inner");
    assert_int_equal(graph->nodes[3]->position, 1);
    assert_ptr_equal(graph->outputs[0]->producer, graph->nodes[4]);
    done(j);
}

static void passes_attributes_to_functions(void **state)
{
    struct strbuf g = graph_xy(), f = function_of("F", "a", "b"), n = node("LRN", "a", "t"), d;
    struct job *j;
    struct graph *graph;

    (void)state;
    put_text(&f, 6, "slope");
    put_text(&f, 6, "never");
    d = attribute_of("way", 2);
    put_int(&d, 3, 42);
    put(&f, 11, d); /* a default */
    n = with(n, ref_attribute("alpha", 1, "slope"));
    n = with(n, ref_attribute("size", 2, "way"));
    n = with(n, ref_attribute("beta", 1, "never"));
    put(&f, 7, n);
    put(&f, 7, with(node("Elu", "t", "b"), ref_attribute("alpha", 1, "slope")));
    n = in_domain(node("F", "x", "m"), "local");
    d = attribute_of("slope", 1);
    put_float(&d, 2, 0.25f);
    n = with(n, d);
    put(&g, GRAPH_NODE, n);
    n = in_domain(node("F", "m", "y"), "local");
    n = with(n, int_attribute("way", 7));
    put(&g, GRAPH_NODE, n);
    j = load(with_function(local_model(g), f));
    graph = good(j);
    assert_int_equal(graph->node_count, 4);
    assert_true(node_float(graph->nodes[0], "alpha", 0) == 0.25f);
    assert_true(node_float(graph->nodes[1], "alpha", 0) == 0.25f);
    assert_int_equal(node_int(graph->nodes[0], "size", 0), 42);
    assert_null(node_find(graph->nodes[0], "beta"));
    assert_null(node_find(graph->nodes[2], "alpha"));
    assert_int_equal(node_int(graph->nodes[2], "size", 0), 7);
    done(j);
}

static void functions_have_optional_ends(void **state)
{
    struct strbuf g = graph_xy(), f = function_of("F", "a,low,high", "b,rest,same"), k;
    struct job *j;
    struct graph *graph;

    (void)state;
    k = attribute_of("value_float", 1);
    put_float(&k, 2, 3);
    put(&f, 7, with(node("Constant", "", "rest"), k));
    put(&f, 7, node("Clip", "a,low,high", "b"));
    put(&g, GRAPH_NODE, in_domain(node("F", "x", "m"), "local"));
    put(&g, GRAPH_NODE, in_domain(node("F", "m,,rest", "u,rest,"), "local"));
    put(&g, GRAPH_NODE, node("Abs", "u", "y"));
    j = load(with_function(local_model(g), f));
    graph = good(j);
    assert_int_equal(graph->node_count, 3);
    assert_int_equal(graph->nodes[0]->input_count, 1);
    assert_int_equal(graph->nodes[1]->input_count, 3);
    assert_null(graph->nodes[1]->inputs[1]);
    assert_true(tensor_number(graph->nodes[1]->inputs[2]->constant, 0) == 3);
    done(j);

    /* An output that is an input, and one that nothing makes. */
    f = function_of("F", "a", "a,a,none");
    g = graph_xy();
    put(&g, GRAPH_NODE, in_domain(node("F", "x", "y,z"), "local"));
    j = load(with_function(local_model(g), f));
    graph = good(j);
    assert_ptr_equal(graph->outputs[0]->producer->inputs[0], graph->inputs[0]);
    assert_string_equal(graph->outputs[0]->producer->op_type, "Identity");
    done(j);
    g = graph_xy();
    put(&g, GRAPH_NODE, in_domain(node("F", "x", "y,z,w"), "local"));
    refused(with_function(local_model(g), f), TUKI0105,
            "F #0: output none of its function is never produced");
    g = graph_xy();
    put(&g, GRAPH_NODE, in_domain(node("F", "x,x", "y"), "local"));
    refused(with_function(local_model(g), f), TUKI0106, "it has 2 inputs and 1 outputs");
}

static void refuses_endless_functions(void **state)
{
    struct strbuf g = graph_xy(), f = function_of("F", "a", "b"), model;

    (void)state;
    put(&f, 7, in_domain(node("G", "a", "b"), "local"));
    put(&g, GRAPH_NODE, in_domain(node("F", "x", "y"), "local"));
    model = with_function(local_model(g), f);
    f = function_of("G", "a", "b");
    put(&f, 7, named(in_domain(node("F", "a", "b"), "local"), "again"));
    refused(with_function(model, f), TUKI0104, "the function F calls itself");

    /* Forty functions that each call the next one twice: 2^40 nodes. */
    g = graph_xy();
    put(&g, GRAPH_NODE, in_domain(node("F0", "x", "y"), "local"));
    model = local_model(g);
    for (int i = 0; i < 40; i++) {
        const char *next = arena_printf(&bytes_context.arena, "F%d", i + 1);

        f = function_of(arena_printf(&bytes_context.arena, "F%d", i), "a", "b");
        put(&f, 7, in_domain(node(next, "a", "t"), "local"));
        put(&f, 7, in_domain(node(next, "t", "b"), "local"));
        model = with_function(model, f);
    }
    f = function_of("F40", "a", "b");
    put(&f, 7, node("Abs", "a", "b"));
    refused(with_function(model, f), TUKI0101, "unfold to more than can be held");

    /* A hundred that each call the next one. */
    g = graph_xy();
    put(&g, GRAPH_NODE, in_domain(node("F0", "x", "y"), "local"));
    model = local_model(g);
    for (int i = 0; i < 100; i++) {
        f = function_of(arena_printf(&bytes_context.arena, "F%d", i), "a", "b");
        put(&f, 7,
            in_domain(node(arena_printf(&bytes_context.arena, "F%d", i + 1), "a", "b"), "local"));
        model = with_function(model, f);
    }
    f = function_of("F100", "a", "b");
    put(&f, 7, node("Abs", "a", "b"));
    refused(with_function(model, f), TUKI0101, "more than 64 deep");

    /* Twice the same, and an opset out of range. */
    g = graph_xy();
    put(&g, GRAPH_NODE, node("Abs", "x", "y"));
    refused(with_function(with_function(local_model(g), f), f), TUKI0105,
            "the function F100 is defined twice");
    f = message();
    put_text(&f, 1, "Old");
    put_text(&f, 10, "local");
    put(&f, 9, opset_import("", 3));
    g = graph_xy();
    put(&g, GRAPH_NODE, in_domain(node("Old", "", "y"), "local"));
    put_list(&f, 5, "b");
    refused(with_function(local_model(g), f), TUKI0103, "opset 3");
}

/* Overloads, and a function of the standard domain's name. */
static void functions_are_found_by_all_names(void **state)
{
    struct strbuf g = graph_xy(), f = function_of("F", "a", "b"), second, n;
    struct job *j;

    (void)state;
    put(&f, 7, node("Abs", "a", "b"));
    second = function_of("F", "a", "b");
    put(&second, 7, node("Neg", "a", "b"));
    put_text(&second, 13, "second");
    n = in_domain(node("F", "x", "m"), "local");
    put_text(&n, 8, "second");
    put(&g, GRAPH_NODE, n);
    put(&g, GRAPH_NODE, in_domain(node("F", "m", "y"), "local"));
    j = load(with_function(with_function(local_model(g), f), second));
    assert_string_equal(good(j)->nodes[0]->op_type, "Neg");
    assert_string_equal(j->m.graph->nodes[1]->op_type, "Abs");
    done(j);
}

/* ---- control flow ---- */

static struct strbuf branch(const char *op, const char *input, const char *output)
{
    struct strbuf g = message();

    if (op)
        put(&g, GRAPH_NODE, named(node(op, input, output), "inside"));
    put(&g, GRAPH_OUTPUT, value_info(output, FLOAT, 2, two_three));
    return g;
}

static struct strbuf if_of(const char *condition, const char *output, struct strbuf yes,
                           struct strbuf no)
{
    struct strbuf n = node("If", condition, output);

    n = with(n, graph_attribute("then_branch", yes));
    return with(n, graph_attribute("else_branch", no));
}

static struct strbuf truth(const char *name, bool value)
{
    char byte = value;

    return raw_tensor(name, BOOL, 0, NULL, &byte, 1);
}

static void takes_the_known_branch(void **state)
{
    (void)state;
    for (int value = 0; value < 2; value++) {
        struct strbuf g = graph_xy();
        struct job *j;
        struct graph *graph;

        put(&g, GRAPH_NODE,
            named(if_of("c", "y", branch("Relu", "t", "y"), branch("Neg", "t", "z")), "if"));
        put(&g, GRAPH_NODE, node("Abs", "x", "t"));
        put(&g, GRAPH_INITIALIZER, truth("c", value));
        j = load(model_of(8, 17, g));
        graph = good(j);
        assert_int_equal(graph->node_count, 2);
        assert_string_equal(graph->nodes[1]->op_type, value ? "Relu" : "Neg");
        assert_string_equal(graph->nodes[1]->name, "if/inside");
        assert_ptr_equal(graph->nodes[1]->inputs[0], graph->nodes[0]->outputs[0]);
        assert_int_equal(graph->nodes[0]->outputs[0]->reader_count, 1);
        assert_ptr_equal(graph->outputs[0], graph->nodes[1]->outputs[0]);
        done(j);
    }
}

/* An initializer of its own, an outer value, an outer constant, a branch inside a branch. */
static void branches_pass_values_on(void **state)
{
    struct strbuf g, inner;
    float numbers[6] = {1, 2, 3, 4, 5, 6};
    struct job *j;
    struct graph *graph;

    (void)state;
    g = graph_xy();
    inner = branch(NULL, NULL, "k");
    put(&inner, GRAPH_INITIALIZER, raw_tensor("k", FLOAT, 2, two_three, numbers, sizeof numbers));
    put(&g, GRAPH_NODE, if_of("c", "a", inner, branch(NULL, NULL, "x")));
    put(&g, GRAPH_NODE, if_of("d", "b", inner, branch(NULL, NULL, "x")));
    put(&g, GRAPH_NODE, node("Add", "a,b", "y"));
    put(&g, GRAPH_INITIALIZER, truth("c", true));
    put(&g, GRAPH_INITIALIZER, truth("d", false));
    j = load(model_of(8, 17, g));
    graph = good(j);
    assert_int_equal(graph->node_count, 2);
    assert_string_equal(graph->nodes[0]->op_type, "Identity");
    assert_ptr_equal(graph->nodes[0]->inputs[0], graph->inputs[0]);
    assert_true(tensor_number(graph->nodes[1]->inputs[0]->constant, 5) == 6);
    assert_null(graph->nodes[1]->inputs[0]->producer);
    done(j);

    g = graph_xy();
    inner = message();
    put(&inner, GRAPH_NODE, node("Abs", "x", "s"));
    put(&inner, GRAPH_NODE,
        if_of("c", "r", branch("Relu", "s", "q"), branch("Frobnicate", "s", "q")));
    put(&inner, GRAPH_OUTPUT, value_info("r", FLOAT, 2, two_three));
    put(&g, GRAPH_NODE, named(if_of("c", "y", inner, branch("Frobnicate", "x", "z")), "o"));
    put(&g, GRAPH_INITIALIZER, truth("c", true));
    j = load(model_of(8, 17, g));
    graph = good(j);
    assert_int_equal(graph->node_count, 2);
    assert_string_equal(graph->nodes[1]->name, "o/#1/inside");
    assert_ptr_equal(graph->outputs[0]->producer, graph->nodes[1]);
    done(j);
}

/* Known from a shape; and from what another If gives. */
static void computes_conditions(void **state)
{
    const int64_t scalar_two[] = {2};
    struct strbuf g = graph_xy(), yes, no;
    struct job *j;
    struct graph *graph;

    (void)state;
    put(&g, GRAPH_NODE, node("Shape", "x", "shape"));
    put(&g, GRAPH_NODE, node("Gather", "shape,zero", "n"));
    put(&g, GRAPH_NODE, node("Equal", "n,two", "c"));
    put(&g, GRAPH_INITIALIZER, raw_tensor("zero", INT64, 0, NULL, "\0\0\0\0\0\0\0\0", 8));
    put(&g, GRAPH_INITIALIZER, raw_tensor("two", INT64, 0, NULL, scalar_two, 8));
    yes = branch(NULL, NULL, "f");
    no = branch(NULL, NULL, "t");
    put(&g, GRAPH_INITIALIZER, truth("t", true));
    put(&g, GRAPH_INITIALIZER, truth("f", false));
    /* Reads what the next one decides. */
    put(&g, GRAPH_NODE, if_of("d", "y", branch("Relu", "x", "q"), branch("Neg", "x", "q")));
    put(&g, GRAPH_NODE, if_of("c", "d", yes, no));
    j = load(model_of(8, 17, g));
    graph = good(j);
    assert_string_equal(graph->outputs[0]->producer->op_type, "Neg");
    done(j);
}

static void refuses_computed_conditions(void **state)
{
    struct strbuf g = graph_xy();
    struct job *j;

    (void)state;
    put(&g, GRAPH_INPUT, value_info("c", BOOL, 0, NULL));
    put(&g, GRAPH_NODE, node("Not", "c", "d"));
    put(&g, GRAPH_NODE,
        named(if_of("d", "y", branch("Relu", "x", "q"), branch("Neg", "x", "q")), "if"));
    refused(model_of(8, 17, g), TUKI0110, "If if: its condition is the model input c");

    g = graph_xy();
    put(&g, GRAPH_NODE, node("ReduceMax", "x", "m"));
    put(&g, GRAPH_NODE, named(node("Greater", "m,zero", "b"), "test"));
    put(&g, GRAPH_NODE, node("And", "t,b", "c"));
    put(&g, GRAPH_INITIALIZER, raw_tensor("zero", FLOAT, 0, NULL, "\0\0\0\0", 4));
    put(&g, GRAPH_INITIALIZER, truth("t", true));
    put(&g, GRAPH_NODE,
        named(if_of("c", "a", branch("Relu", "x", "q"), branch("Neg", "x", "q")), "if"));
    put(&g, GRAPH_NODE, if_of("c", "y", branch("Relu", "a", "q"), branch("Neg", "x", "q")));
    refused(model_of(8, 17, g), TUKI0127, "Greater test: its result decides between the branches");

    {
        const int64_t open[] = {2, -1};

        g = message();
        put(&g, GRAPH_INPUT, value_info("x", FLOAT, 2, open));
        put(&g, GRAPH_OUTPUT, value_info("y", FLOAT, 2, open));
        put(&g, GRAPH_NODE, node("Shape", "x", "s"));
        put(&g, GRAPH_NODE, node("Gather", "s,one", "n"));
        put(&g, GRAPH_NODE, node("Equal", "n,one", "c"));
        put(&g, GRAPH_INITIALIZER, raw_tensor("one", INT64, 0, NULL, "\1\0\0\0\0\0\0\0", 8));
        put(&g, GRAPH_NODE, if_of("c", "y", branch("Relu", "x", "q"), branch("Neg", "x", "q")));
        refused(model_of(8, 17, g), TUKI0112, "its condition c depends on a shape");
    }

    g = graph_xy();
    put(&g, GRAPH_INITIALIZER, truth("c", true));
    put(&g, GRAPH_NODE, node("If", "c", "y"));
    refused(model_of(8, 17, g), TUKI0106, "If #0: it has no then_branch");
    g = graph_xy();
    put(&g, GRAPH_INITIALIZER, truth("c", true));
    put(&g, GRAPH_NODE, if_of("c", "y,z", branch("Relu", "x", "q"), branch("Neg", "x", "q")));
    refused(model_of(8, 17, g), TUKI0106, "it has 2 outputs, its then_branch has 1");

    /* A branch that reads what the If gives. */
    g = graph_xy();
    put(&g, GRAPH_INITIALIZER, truth("c", true));
    put(&g, GRAPH_NODE, if_of("c", "y", branch("Relu", "z", "q"), branch("Neg", "x", "q")));
    put(&g, GRAPH_NODE, node("Abs", "y", "z"));
    j = load(model_of(8, 17, g));
    assert_only(j, TUKI0104, "2 layers read each other");
    assert_null(j->m.graph);
    done(j);
}

/* ---- damage ---- */

/* A bit of everything. */
static struct strbuf everything(void)
{
    struct strbuf g = graph_xy(), f = function_of("F", "a", "b"), a, model;
    const int64_t flat[] = {1, 5};
    float numbers[6] = {1, 2, 3, 4, 5, 6};

    put(&f, 7, with(node("LeakyRelu", "a", "b"), ref_attribute("alpha", 1, "slope")));
    put(&g, GRAPH_INITIALIZER, raw_tensor("w", FLOAT, 2, two_three, numbers, sizeof numbers));
    put(&g, GRAPH_INITIALIZER,
        typed(INT32, 6, two_three, 2, 5, (const uint8_t *)numbers, 4, true, true));
    put(&g, GRAPH_SPARSE, sparse_of(1, flat, two_three, 2));
    put(&g, GRAPH_INITIALIZER, external_tensor("e", "e.bin", "0", "24"));
    put(&g, GRAPH_INITIALIZER, truth("c", true));
    a = attribute_of("slope", 1);
    put_float(&a, 2, 0.25f);
    put(&g, GRAPH_NODE, with(in_domain(node("F", "x", "m"), "local"), a));
    put(&g, GRAPH_NODE, if_of("c", "n", branch("Relu", "m", "q"), branch("Neg", "m", "q")));
    put(&g, GRAPH_NODE, node("Add", "n,w", "y"));
    put(&g, GRAPH_VALUE_INFO, value_info("m", FLOAT, 2, two_three));
    model = local_model(g);
    return with_function(model, f);
}

/* Faults beyond any number are counted, not compared with each other. */
static void survives_many_faults(void **state)
{
    enum { NODES = 60000 };
    struct strbuf g = graph_xy();
    struct job *j;

    (void)state;
    for (int i = 0; i < NODES; i++)
        put(&g, GRAPH_NODE,
            node("Abs", arena_printf(&bytes_context.arena, "ghost%d", i),
                 i ? arena_printf(&bytes_context.arena, "o%d", i) : "y"));
    j = load(model_of(8, 13, g));
    assert_int_equal(count_of(j, TUKI0105, "which nothing defines"), 10000);
    assert_null(j->m.graph);
    done(j);
}

/* Sparse tensors that ask for more zeros than anybody has. */
static void bounds_dense_tensors(void **state)
{
    const int64_t dims[] = {50 << 20}, flat[] = {1, 5};
    struct strbuf g = graph_xy();
    struct job *j;

    (void)state;
    for (int i = 0; i < 3; i++) {
        struct strbuf s = sparse_of(1, flat, dims, 1);

        put(&g, GRAPH_SPARSE, s);
    }
    put(&g, GRAPH_NODE, node("Abs", "x", "y"));
    j = load(model_of(8, 13, g));
    assert_int_equal(count_of(j, TUKI0107, "cannot be made dense"), 1);
    done(j);
}

static void survives_damage(void **state)
{
    struct strbuf bytes = everything();
    char *copy = malloc(bytes.length);

    (void)state;
    for (size_t size = 0; size < bytes.length; size++) {
        char *cut = malloc(size + 1); /* its own end, for the sanitizer */
        struct job *j;

        memcpy(cut, bytes.text, size);
        j = load_bytes(cut, size);
        assert_true(j->m.graph || j->c.diagnostics.errors);
        done(j);
        free(cut);
    }
    for (size_t at = 0; at < bytes.length; at++)
        for (int bit = 0; bit < 8; bit++) {
            struct job *j;

            memcpy(copy, bytes.text, bytes.length);
            copy[at] = (char)(copy[at] ^ (1 << bit));
            j = load_bytes(copy, bytes.length);
            assert_true(j->m.graph || j->c.diagnostics.errors);
            done(j);
        }
    free(copy);
}

static void says_where_a_file_is_cut(void **state)
{
    struct strbuf g = graph_xy(), model;
    struct job *j;

    (void)state;
    put(&g, GRAPH_NODE, node("Abs", "x", "y"));
    model = model_of(8, 13, g);
    j = load_bytes(model.text, model.length - 20);
    assert_only(j, TUKI0101, "model: at byte 2, graph: its length");
    done(j);
}

/* ---- files that misbehave ---- */

/* A file in memory whose reads and looks can go wrong. */
static struct {
    struct files files;
    struct files_memory memory;
    int reads, open;
    int fail_at;        /* number of the read that fails, 0: none */
    int changes;        /* looks at the identity that each give another one */
    size_t ends_at;     /* no byte from here on, 0: all */
    atomic_bool cancel; /* set by the first read where cancels */
    bool cancels;
} faulty;

static struct file *faulty_open(struct files *f, struct arena *a, const char *path,
                                const char **why)
{
    struct file *file = faulty.memory.files.functions->open(&faulty.memory.files, a, path, why);

    (void)f;
    faulty.open += file != NULL;
    return file;
}

static int64_t faulty_read(struct file *f, uint64_t offset, void *bytes, size_t size)
{
    if (++faulty.reads == faulty.fail_at)
        return -1;
    atomic_store(&faulty.cancel, faulty.cancels);
    if (faulty.ends_at && offset + size > faulty.ends_at)
        size = offset < faulty.ends_at ? faulty.ends_at - (size_t)offset : 0;
    return faulty.memory.files.functions->read(f, offset, bytes, size);
}

static bool faulty_identity(struct file *f, struct file_identity *id)
{
    bool good = faulty.memory.files.functions->identity(f, id);

    if (faulty.changes > 0)
        id->modified_ns = faulty.changes--;
    return good;
}

static void faulty_close(struct file *f)
{
    faulty.open--;
    faulty.memory.files.functions->close(f);
}

static const struct files_functions faulty_functions = {
    .open = faulty_open, .read = faulty_read, .identity = faulty_identity, .close = faulty_close};

/* How loading ends. */
static enum escape_reason load_faulty(struct job *j, bool hash_only)
{
    struct hash hash;

    memset(j, 0, sizeof *j);
    atomic_store(&faulty.cancel, false);
    context_init(&j->c, &faulty.cancel);
    if (setjmp(j->c.escape) == 0) {
        if (hash_only)
            model_hash(&j->c, &faulty.files, "m.onnx", &hash);
        else
            model_load(&j->c, &faulty.files, "m.onnx", &j->m);
    }
    model_close(&j->m);
    return j->c.reason;
}

static void faulty_begin(struct strbuf model)
{
    memset(&faulty, 0, sizeof faulty);
    faulty.files.functions = &faulty_functions;
    files_memory_init(&faulty.memory, "m.onnx", model.text, model.length);
}

static void closes_files_however_it_ends(void **state)
{
    const int64_t dims[] = {400, 1000};
    struct strbuf g = graph_xy();
    char *weights = calloc(400 * 1000, 4);
    struct job j;

    (void)state;
    put(&g, GRAPH_INITIALIZER, raw_tensor("w", FLOAT, 2, dims, weights, 400 * 1000 * 4));
    put(&g, GRAPH_NODE, node("Abs", "x", "y"));
    for (int hash_only = 0; hash_only < 2; hash_only++) {
        enum escape_reason reason = ESCAPE_SYSTEM;

        faulty_begin(model_of(8, 13, g));
        for (int fail_at = 1; reason != ESCAPE_NONE; fail_at++) {
            faulty.reads = 0;
            faulty.fail_at = fail_at;
            reason = load_faulty(&j, hash_only);
            assert_true(reason == ESCAPE_NONE ? fail_at > 3 : reason == ESCAPE_SYSTEM);
            assert_int_equal(faulty.open, 0);
            context_release(&j.c);
        }
        faulty.reads = faulty.fail_at = 0;
        faulty.cancels = true;
        assert_int_equal(load_faulty(&j, hash_only), ESCAPE_CANCELLED);
        assert_int_equal(faulty.open, 0);
        context_release(&j.c);
    }
    free(weights);
}

static void reads_again_what_changes(void **state)
{
    struct strbuf g = graph_xy();
    struct job j;

    (void)state;
    put(&g, GRAPH_NODE, node("Abs", "x", "y"));
    faulty_begin(model_of(8, 13, g));
    faulty.changes = 3;
    assert_int_equal(load_faulty(&j, false), ESCAPE_NONE);
    assert_non_null(j.m.graph);
    assert_int_equal(faulty.reads, 3);
    context_release(&j.c);
    faulty.changes = 1000;
    assert_int_equal(load_faulty(&j, false), ESCAPE_SYSTEM);
    assert_non_null(strstr(j.c.why, "changes while it is"));
    context_release(&j.c);
    faulty.changes = 0;
    faulty.ends_at = 40;
    assert_int_equal(load_faulty(&j, false), ESCAPE_NONE);
    assert_int_equal(count_of(&j, TUKI0101, "at byte 40"), 1);
    assert_int_equal(count_of(&j, TUKI0101, "the file ends early"), 1);
    context_release(&j.c);
    assert_int_equal(faulty.open, 0);
}

/* ---- tensor files ---- */

static struct tensor *load_tensor(struct job *j, const char *name, const char **why)
{
    struct tensor *t = NULL;

    *why = "";
    if (setjmp(j->c.escape) == 0)
        t = tensor_load(&j->c, in_folder(name), why);
    else
        fail_msg("the job was left: %s", j->c.why);
    return t;
}

static void saves_and_loads_tensors(void **state)
{
    struct job *j = calloc(1, sizeof *j);
    struct shape shape = shape_of(2, two_three), scalar = shape_of(0, NULL);
    struct tensor *t, *back;
    const char *why;
    void *data;

    (void)state;
    context_init(&j->c, NULL);
    t = tensor_new(&j->c.arena, TYPE_FLOAT32, &shape, &data);
    for (int i = 0; i < 6; i++)
        payload_set(data, TYPE_FLOAT32, i, i / 8.0);
    assert_true(tensor_save(&j->c, t, "name", in_folder("t.pb")));
    back = load_tensor(j, "t.pb", &why);
    assert_non_null(back);
    assert_true(back->type == TYPE_FLOAT32 && shape_equal(&back->shape, &shape));
    assert_memory_equal(back->data, data, 24);
    t = tensor_new(&j->c.arena, TYPE_INT64, &scalar, &data);
    payload_set_integer(data, TYPE_INT64, 0, INT64_MIN);
    assert_true(tensor_save(&j->c, t, "", in_folder("t.pb")));
    back = load_tensor(j, "t.pb", &why);
    assert_int_equal(tensor_integer(back, 0), INT64_MIN);
    assert_false(tensor_save(&j->c, t, "", in_folder("none/t.pb")));

    assert_null(load_tensor(j, "gone.pb", &why));
    assert_string_equal(why, "there is no such file");
    write_file("bad.pb", "\x0a\x7f", 2);
    assert_null(load_tensor(j, "bad.pb", &why));
    assert_non_null(strstr(why, "at byte 0, dims[0]"));
    assert_int_equal(j->c.diagnostics.count, 0);
    done(j);
}

static void write_numpy(const char *name, int version, const char *header, const void *bytes,
                        size_t size)
{
    struct strbuf s = message();
    size_t length = strlen(header);

    strbuf_add_bytes(&s, "\x93NUMPY", 6);
    strbuf_char(&s, (char)version);
    strbuf_char(&s, 0);
    strbuf_char(&s, (char)length);
    strbuf_char(&s, (char)(length >> 8));
    if (version > 1)
        strbuf_add_bytes(&s, "\0\0", 2);
    strbuf_add(&s, header);
    strbuf_add_bytes(&s, bytes, size);
    write_file(name, s.text, s.length);
}

static void reads_numpy(void **state)
{
    struct job *j = calloc(1, sizeof *j);
    const int16_t numbers[] = {0, 1, 2, 3, 4, 5}, turned[] = {0, 2, 4, 1, 3, 5};
    struct tensor *t;
    const char *why;

    (void)state;
    context_init(&j->c, NULL);
    write_numpy("a.npy", 1, "{'descr': '<i2', 'fortran_order': False, 'shape': (2, 3), }   \n",
                numbers, 12);
    t = load_tensor(j, "a.npy", &why);
    assert_non_null(t);
    assert_true(t->type == TYPE_INT16 && t->shape.axes == 2 && t->shape.dim[1] == 3);
    assert_memory_equal(t->data, numbers, 12);
    write_numpy("a.npy", 2, "{'shape': (2, 3), 'fortran_order': True, 'descr': '<i2'}\n", numbers,
                12);
    t = load_tensor(j, "a.npy", &why);
    assert_non_null(t);
    assert_memory_equal(t->data, turned, 12);
    write_numpy("a.npy", 1, "{'descr': '<f2', 'fortran_order': False, 'shape': (), }", numbers, 2);
    t = load_tensor(j, "a.npy", &why);
    assert_true(t && t->shape.axes == 0 && t->type == TYPE_FLOAT16);
    write_numpy("a.npy", 1, "{'descr': '|b1', 'fortran_order': False, 'shape': (3,), }", "\1\0\1",
                3);
    t = load_tensor(j, "a.npy", &why);
    assert_true(t && t->shape.dim[0] == 3 && t->type == TYPE_BOOL);

    write_numpy("a.npy", 1, "{'descr': '>i2', 'fortran_order': False, 'shape': (6,), }", numbers,
                12);
    assert_null(load_tensor(j, "a.npy", &why));
    assert_non_null(strstr(why, "NumPy type"));
    write_numpy("a.npy", 1, "{'descr': '<i2', 'fortran_order': False, 'shape': (7,), }", numbers,
                12);
    assert_null(load_tensor(j, "a.npy", &why));
    assert_non_null(strstr(why, "it holds 12 bytes of elements, [7] of int16"));
    write_numpy("a.npy", 1,
                "{'descr': '<i2', 'fortran_order': False, 'shape': (99999999999999999999,), }",
                numbers, 12);
    assert_null(load_tensor(j, "a.npy", &why));
    write_numpy("a.npy", 1, "{'descr': '<i2', 'fortran_order': False}", numbers, 12);
    assert_null(load_tensor(j, "a.npy", &why));
    assert_non_null(strstr(why, "damaged"));
    write_file("a.npy", "\x93NUMPY\1\0\xff\xff{", 11);
    assert_null(load_tensor(j, "a.npy", &why));
    done(j);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, bytes_begin, bytes_end)
#define TEST_IN_FOLDER(name) cmocka_unit_test_setup_teardown(name, make_folder, drop_folder)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(wires_in_any_order),
        TEST(takes_any_name),
        TEST(reports_undefined_values),
        TEST(reports_cycles),
        TEST(checks_versions),
        TEST(looks_operators_up),
        TEST(checks_records),
        TEST(checks_arity),
        TEST(upgrades_once),
        TEST(reads_attributes),
        TEST(raw_and_typed_are_the_same),
        TEST(typed_data_in_pieces),
        TEST(refuses_malformed_tensors),
        TEST(initializers_are_no_inputs),
        TEST(makes_sparse_tensors_dense),
        TEST(reads_constant_nodes),
        TEST_IN_FOLDER(reads_external_data),
        TEST_IN_FOLDER(refuses_external_data),
        TEST_IN_FOLDER(reads_many_data_files),
        TEST_IN_FOLDER(needs_a_regular_file),
        TEST(inlines_functions),
        TEST(passes_attributes_to_functions),
        TEST(functions_have_optional_ends),
        TEST(refuses_endless_functions),
        TEST(functions_are_found_by_all_names),
        TEST(takes_the_known_branch),
        TEST(branches_pass_values_on),
        TEST(computes_conditions),
        TEST(refuses_computed_conditions),
        TEST(survives_damage),
        TEST(survives_many_faults),
        TEST(bounds_dense_tensors),
        TEST(says_where_a_file_is_cut),
        TEST(closes_files_however_it_ends),
        TEST(reads_again_what_changes),
        TEST_IN_FOLDER(saves_and_loads_tensors),
        TEST_IN_FOLDER(reads_numpy),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
