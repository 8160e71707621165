#ifndef TESTS_GRAPHS_H
#define TESTS_GRAPHS_H
/*
 * Graphs made by hand, for the tests of the compiler's front half. Each test has a job of its own;
 * a job that is left by its way out fails the test.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "daemon/compiler/operators/operator.h"

struct job {
    struct context context;
    struct graph *graph;
};

/* Runs body with a fresh job. */
#define WITH_JOB(j)                                                                                \
    struct job j##_storage, *j = &j##_storage;                                                     \
    context_init(&j->context, NULL);                                                               \
    if (setjmp(j->context.escape)) {                                                               \
        fprintf(stderr, "left: %s\n", j->context.why);                                             \
        context_release(&j->context);                                                              \
        fail();                                                                                    \
    }                                                                                              \
    j->graph = graph_new(&j->context);                                                             \
    j->graph->opset = 21

#define END_JOB(j) context_release(&j->context)

#define SHAPE(...)                                                                                 \
    shape_of((int)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)), (int64_t[]){__VA_ARGS__})
#define SCALAR shape_of(0, NULL)
#define INTS(graph, ...)                                                                           \
    graph_constant_ints(graph, "ints", (int)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)),  \
                        (int64_t[]){__VA_ARGS__})
#define FLOATS(graph, shape, ...) floats(graph, "floats", shape, (float[]){__VA_ARGS__})

__attribute__((unused)) static struct value *floats(struct graph *g, const char *name,
                                                    struct shape shape, const float *numbers)
{
    return graph_constant_floats(g, name, &shape, numbers);
}

__attribute__((unused)) static struct value *input(struct graph *g, const char *name,
                                                   enum element_type type, struct shape shape)
{
    struct value *v = graph_value(g, name, type, &shape);

    v->recorded = shape;
    v->input = g->input_count;
    APPEND(&g->context->arena, g->inputs, g->input_count, g->input_room) = v;
    return v;
}

/* All outputs at once. */
__attribute__((unused)) static void outputs(struct graph *g, int count, struct value *const *list)
{
    struct arena *a = &g->context->arena;

    g->output_count = count;
    g->outputs = arena_memdup(a, list, (size_t)count * sizeof *list);
    g->output_names = NEW_ARRAY(a, count, const char *);
    g->output_shapes = NEW_ARRAY(a, count, struct shape);
    g->output_types = NEW_ARRAY(a, count, enum element_type);
    for (int i = 0; i < count; i++) {
        list[i]->output_count++;
        g->output_names[i] = list[i]->name;
        g->output_shapes[i] = shape_unknown;
    }
}

__attribute__((unused)) static void output(struct graph *g, struct value *v)
{
    outputs(g, 1, &v);
}

/* The node's first output; its position is that in the list. */
#define NODE(graph, op, name, ...)                                                                 \
    node(graph, op, name, (struct value *[]){__VA_ARGS__},                                         \
         (int)(sizeof((struct value *[]){__VA_ARGS__}) / sizeof(struct value *)))
__attribute__((unused)) static struct value *node(struct graph *g, const char *op, const char *name,
                                                  struct value **in, int count)
{
    struct node *n = graph_node(g, operator_get(g->context, op), name, in, count, 1);

    n->position = g->node_count - 1;
    return n->outputs[0];
}

__attribute__((unused)) static int count_op(const struct graph *g, const char *op)
{
    int count = 0;

    for (int i = 0; i < g->node_count; i++)
        count += !strcmp(g->nodes[i]->op_type, op);
    return count;
}

__attribute__((unused)) static int reported(const struct job *j, enum diagnostic_code code)
{
    int count = 0;

    for (int i = 0; i < j->context.diagnostics.count; i++)
        count += j->context.diagnostics.list[i].code == code;
    return count;
}

__attribute__((unused)) static void assert_shape(const struct value *v, struct shape shape)
{
    struct context *c = v->reader_count ? v->readers[0]->graph->context
                        : v->producer   ? v->producer->graph->context
                                        : NULL;

    if (!shape_equal(&v->shape, &shape))
        fail_msg("%s has the shape %s, not %s", v->name, c ? shape_text(&c->arena, &v->shape) : "?",
                 c ? shape_text(&c->arena, &shape) : "?");
}

__attribute__((unused)) static const float *numbers(struct job *j, const struct value *v)
{
    assert_non_null(v->constant);
    return tensor_floats(&j->context, v->constant, &j->context.arena);
}

#endif
