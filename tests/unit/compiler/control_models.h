#ifndef TESTS_CONTROL_MODELS_H
#define TESTS_CONTROL_MODELS_H
/*
 * Models with bodies: written as text, and what they come to by the reference engine, or are
 * refused with.
 */
#include "daemon/compiler/graph/accept.h"
#include "daemon/compiler/graph/graph.h"
#include "daemon/compiler/graph/reference.h"
#include "daemon/compiler/model/load.h"
#include "tests/unit/compiler/coverage.h"
#include "tests/unit/compiler/onnx_bytes.h"
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

/* ---- models ---- */

/* "Add a,b -> c; Relu c -> d", appended to a graph. */
static inline void put_nodes(struct strbuf *g, const char *text)
{
    while (*text) {
        char op[64], inputs[256], outputs[256];
        int used = 0;

        if (sscanf(text, " %63s %255s -> %255[^; ]%n", op, inputs, outputs, &used) != 3)
            fail_msg("no nodes: %s", text);
        put(g, GRAPH_NODE, node(op, strcmp(inputs, "()") ? inputs : "", outputs));
        text += used;
        text += strspn(text, "; ");
    }
}

/* Of a type and no recorded shape. */
static inline struct strbuf bare(const char *name, size_t length)
{
    struct strbuf tensor = message(), info = message(), s = message();

    put_int(&tensor, 1, FLOAT);
    put(&info, 1, tensor);
    put_bytes(&s, 1, name, length);
    put(&s, 2, info);
    return s;
}

static inline void put_values(struct strbuf *g, unsigned field, const char *names)
{
    while (*names) {
        size_t length = strcspn(names, ",");

        put(g, field, bare(names, length));
        names += length + (names[length] == ',');
    }
}

/* A body: its inputs and outputs by name. */
static inline struct strbuf body(const char *inputs, const char *nodes, const char *outputs)
{
    struct strbuf g = message();

    put_values(&g, GRAPH_INPUT, inputs);
    put_nodes(&g, nodes);
    put_values(&g, GRAPH_OUTPUT, outputs);
    return g;
}

static inline struct strbuf loop(const char *inputs, const char *outputs, struct strbuf inside)
{
    return with(node("Loop", inputs, outputs), graph_attribute("body", inside));
}

static inline struct strbuf scan(const char *inputs, const char *outputs, int count,
                                 struct strbuf inside)
{
    return with(with(node("Scan", inputs, outputs), graph_attribute("body", inside)),
                int_attribute("num_scan_inputs", count));
}

static inline struct strbuf ints_of(const char *name, int64_t a, int64_t b)
{
    const int64_t list[] = {a, b};

    return ints_attribute(name, b == INT64_MIN ? 1 : 2, list);
}

static inline void put_int64(struct strbuf *g, const char *name, int64_t number)
{
    put(g, GRAPH_INITIALIZER, raw_tensor(name, INT64, 0, NULL, &number, sizeof number));
}

static inline void put_bool(struct strbuf *g, const char *name, bool value)
{
    char byte = value;

    put(g, GRAPH_INITIALIZER, raw_tensor(name, BOOL, 0, NULL, &byte, 1));
}

static inline void put_float32(struct strbuf *g, const char *name, float number)
{
    put(g, GRAPH_INITIALIZER, raw_tensor(name, FLOAT, 0, NULL, &number, sizeof number));
}

/* x of [1, 3] to y, with what many need: numbers, and truth values yes and no. */
static inline struct strbuf graph_xy(void)
{
    static const int64_t one_three[] = {1, 3};
    struct strbuf g = message();

    put(&g, GRAPH_INPUT, value_info("x", FLOAT, 2, one_three));
    put_values(&g, GRAPH_OUTPUT, "y");
    put_int64(&g, "zero", 0);
    put_int64(&g, "one", 1);
    put_int64(&g, "two", 2);
    put_int64(&g, "three", 3);
    put_bool(&g, "yes", true);
    put_bool(&g, "no", false);
    put_float32(&g, "half", 0.5f);
    return g;
}

/* ---- what they come to ---- */

struct job {
    struct context c;
    struct files_memory memory;
    struct model m;
};

static inline struct job *load(struct strbuf model)
{
    struct job *j = calloc(1, sizeof *j);

    context_init(&j->c, NULL);
    files_memory_init(&j->memory, "m.onnx", model.text, model.length);
    if (setjmp(j->c.escape) == 0) {
        model_load(&j->c, &j->memory.files, "m.onnx", &j->m);
        if (j->m.graph)
            accept_graph(j->m.graph);
    } else {
        fail_msg("the job was left: %s", j->c.why);
    }
    return j;
}

static inline void done(struct job *j)
{
    model_close(&j->m);
    context_release(&j->c);
    free(j);
}

static inline void print_all(const struct job *j)
{
    for (int i = 0; i < j->c.diagnostics.count; i++)
        print_message("%s %s\n", diagnostic_info(j->c.diagnostics.list[i].code)->name,
                      j->c.diagnostics.list[i].message);
}

/* The first output for x = 1, 2, 3 …, with its shape before it: "[1, 3] 2 4 6". */
static inline void gives(struct strbuf model, const char *expected)
{
    struct job *j = load(model);
    struct tensor *inputs[4], *outputs[4];
    struct strbuf text;
    const double *numbers;
    struct graph *g = j->m.graph;

    if (j->c.diagnostics.count || !g)
        print_all(j);
    assert_int_equal(j->c.diagnostics.count, 0);
    assert_non_null(g);
    if (setjmp(j->c.escape))
        fail_msg("the job was left: %s", j->c.why);
    for (int i = 0; i < g->input_count; i++) {
        void *data;

        inputs[i] = tensor_new(&j->c.arena, TYPE_FLOAT32, &g->inputs[i]->shape, &data);
        for (int64_t k = 0; k < inputs[i]->count; k++)
            ((float *)data)[k] = (float)(k + 1);
    }
    assert_true(reference_run(g, inputs, outputs, NULL, &j->c.arena));
    strbuf_init(&text, &j->c.arena);
    strbuf_add(&text, shape_text(&j->c.arena, &outputs[0]->shape));
    numbers = tensor_doubles(&j->c, outputs[0], &j->c.arena);
    for (int64_t i = 0; i < outputs[0]->count; i++)
        strbuf_printf(&text, " %g", numbers[i]);
    assert_string_equal(text.text, expected);
    done(j);
}

static inline void refused(struct strbuf model, enum diagnostic_code code, const char *text)
{
    struct job *j = load(model);

    if (j->c.diagnostics.count != 1 || j->c.diagnostics.list[0].code != code ||
        !strstr(j->c.diagnostics.list[0].message, text))
        print_all(j);
    assert_int_equal(j->c.diagnostics.count, 1);
    assert_int_equal(j->c.diagnostics.list[0].code, code);
    assert_non_null(strstr(j->c.diagnostics.list[0].message, text));
    done(j);
}

#endif
