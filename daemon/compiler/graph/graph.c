#include "daemon/compiler/graph/graph.h"
#include "daemon/compiler/operators/work.h"
#include <string.h>

struct graph *graph_new(struct context *c)
{
    struct graph *g = NEW(&c->arena, struct graph);

    g->context = c;
    g->name = "";
    return g;
}

struct value *graph_value(struct graph *g, const char *name, enum element_type type,
                          const struct shape *shape)
{
    struct arena *a = &g->context->arena;
    struct value *v = NEW(a, struct value);

    v->name = arena_strdup(a, name ? name : "");
    v->label = (struct label){v->name, strlen(v->name)};
    v->type = type;
    v->shape = shape ? *shape : shape_unknown;
    v->recorded = shape_unknown;
    v->input = -1;
    v->source = -1;
    v->id = g->value_count;
    APPEND(a, g->values, g->value_count, g->value_room) = v;
    return v;
}

struct value *graph_constant(struct graph *g, const char *name, struct tensor *t)
{
    struct value *v = graph_value(g, name, t->type, &t->shape);

    v->constant = t;
    return v;
}

struct value *graph_constant_ints(struct graph *g, const char *name, int count, const int64_t *ints)
{
    struct shape shape = {.axes = 1, .dim = {count}};
    void *data;
    struct tensor *t = tensor_new(&g->context->arena, TYPE_INT64, &shape, &data);

    if (count)
        memcpy(data, ints, t->bytes);
    return graph_constant(g, name, t);
}

struct value *graph_constant_floats(struct graph *g, const char *name, const struct shape *shape,
                                    const float *floats)
{
    void *data;
    struct tensor *t = tensor_new(&g->context->arena, TYPE_FLOAT32, shape, &data);

    if (t->bytes)
        memcpy(data, floats, t->bytes);
    return graph_constant(g, name, t);
}

static void add_reader(struct value *v, struct node *n)
{
    APPEND(&n->graph->context->arena, v->readers, v->reader_count, v->reader_room) = n;
}

/* Readers are mostly dropped one after the other, from one end or the other: of many, too, none is
 * then far from an end, and only those between are moved. */
static void drop_reader(struct value *v, const struct node *n)
{
    int count = v->reader_count;

    for (int i = 0; i < count; i++) {
        int last = count - 1 - i;

        if (v->readers[last] == n) {
            memmove(v->readers + last, v->readers + last + 1, (size_t)i * sizeof *v->readers);
            v->reader_count--;
            return;
        }
        if (v->readers[i] == n && i < last) {
            memmove(v->readers + 1, v->readers, (size_t)i * sizeof *v->readers);
            v->readers++;
            v->reader_count--;
            v->reader_room--;
            return;
        }
    }
    BUG(n->graph->context, "a value does not know its reader %s", n->name);
}

void graph_append(struct graph *g, struct node *n)
{
    n->graph = g;
    APPEND(&g->context->arena, g->nodes, g->node_count, g->node_room) = n;
}

struct node *graph_node(struct graph *g, const struct operator* op, const char *name,
                        struct value *const *inputs, int input_count, int output_count)
{
    struct arena *a = &g->context->arena;
    struct node *n = NEW(a, struct node);

    n->name = arena_strdup(a, name ? name : "");
    n->op_type = op->name;
    n->domain = op->domain;
    n->op = op;
    n->opset = g->opset;
    n->position = -1;
    graph_append(g, n);
    node_pad_inputs(n, input_count);
    for (int i = 0; i < input_count; i++)
        node_set_input(n, i, inputs[i]);
    n->outputs = NEW_ARRAY(a, output_count, struct value *);
    n->output_count = output_count;
    for (int i = 0; i < output_count; i++) {
        struct value *v = graph_value(g, i ? arena_printf(a, "%s_output_%d", n->name, i) : n->name,
                                      TYPE_UNKNOWN, NULL);

        v->producer = n;
        v->producer_output = i;
        n->outputs[i] = v;
    }
    return n;
}

struct node *graph_node_like(struct graph *g, const struct operator* op, const struct node *origin,
                             struct value *const *inputs, int input_count, int output_count)
{
    struct node *n = graph_node(g, op, origin->name, inputs, input_count, output_count);

    n->position = origin->position;
    n->layer_op = origin->layer_op ? origin->layer_op : origin->op_type;
    return n;
}

void node_pad_inputs(struct node *n, int count)
{
    struct value **inputs;

    if (count <= n->input_count)
        return;
    inputs = NEW_ARRAY(&n->graph->context->arena, count, struct value *);
    if (n->input_count)
        memcpy(inputs, n->inputs, (size_t)n->input_count * sizeof *inputs);
    n->inputs = inputs;
    n->input_count = count;
}

void node_set_input(struct node *n, int slot, struct value *value)
{
    if (slot >= n->input_count) {
        if (!value)
            return;
        node_pad_inputs(n, slot + 1);
    }
    struct value *old = n->inputs[slot];
    if (old == value)
        return;
    if (old)
        drop_reader(old, n);
    n->inputs[slot] = value;
    if (value)
        add_reader(value, n);
}

/* A body's outputs are few, and bodies are rare: they are looked for only where the count says
 * there are more. */
static void replace_outputs(struct graph *g, struct value *from, struct value *to)
{
    for (int i = 0; i < g->output_count && from->output_count; i++)
        if (g->outputs[i] == from) {
            g->outputs[i] = to;
            from->output_count--;
            to->output_count++;
        }
    for (int i = 0; i < g->node_count && from->output_count; i++)
        for (int k = 0; k < g->nodes[i]->attribute_count; k++)
            if (g->nodes[i]->attributes[k].type == ATTRIBUTE_GRAPH)
                replace_outputs(g->nodes[i]->attributes[k].graph, from, to);
}

void value_replace(struct graph *g, struct value *from, struct value *to)
{
    if (from == to)
        return;
    /* An output's name goes with it, where the new value has none that the outside knows. */
    if (from->output_count && !to->output_count && to->input < 0 && to->producer) {
        to->name = from->name;
        to->label = from->label;
        if (shape_known(&from->recorded))
            to->recorded = from->recorded;
        to->recorded_type = from->recorded_type;
    }
    for (int i = 0; i < from->reader_count; i++) {
        struct node *n = from->readers[i];

        /* Of several slots all are found at once. */
        for (int slot = 0; (!i || n != from->readers[i - 1]) && slot < n->input_count; slot++)
            if (n->inputs[slot] == from) {
                n->inputs[slot] = to;
                add_reader(to, n);
            }
    }
    from->reader_count = 0;
    if (from->output_count)
        replace_outputs(g, from, to);
}

void node_remove(struct node *n)
{
    if (n->removed)
        return;
    /* The inputs stay written down: where the node is a recipe of a constant, it is evaluated
     * later. */
    for (int i = 0; i < n->input_count; i++)
        if (n->inputs[i])
            drop_reader(n->inputs[i], n);
    n->removed = true;
}

void graph_compact(struct graph *g)
{
    int kept = 0;

    for (int i = 0; i < g->node_count; i++)
        if (!g->nodes[i]->removed)
            g->nodes[kept++] = g->nodes[i];
    g->node_count = kept;
}

void graph_splice(struct graph *g, const struct node *after, struct node *const *nodes, int count)
{
    int at = g->node_count;

    for (int i = 0; after && i < g->node_count; i++)
        if (g->nodes[i] == after)
            at = i + 1;
    for (int i = 0; i < count; i++)
        graph_append(g, nodes[i]);
    memmove(g->nodes + at + count, g->nodes + at,
            (size_t)(g->node_count - count - at) * sizeof *g->nodes);
    for (int i = 0; i < count; i++)
        g->nodes[at + i] = nodes[i];
}

struct node *value_only_reader(const struct value *v)
{
    if (v->reader_count != 1 || v->output_count)
        return NULL;
    if (v->producer && v->readers[0]->graph != v->producer->graph)
        return NULL; /* a body may run many times */
    return v->readers[0];
}

/* What is kept as long as the job is counted together. */
static struct node *keep_begin(const struct node *n, const struct tensor *t)
{
    return work_open(t->deferred ? t->deferred : (struct node *)n);
}

static void keep_end(const struct node *n, struct node *outer, size_t bytes)
{
    n->graph->context->constants.kept += bytes;
    work_end((struct node *)n, outer);
}

bool node_called(const struct node *n, const char *op_type)
{
    return !*n->domain && !strcmp(n->op_type, op_type);
}

bool node_called_one_of(const struct node *n, const char *const *op_types)
{
    for (; *op_types; op_types++)
        if (node_called(n, *op_types))
            return true;
    return false;
}

const int64_t *node_constant_ints(const struct node *n, int i, int *count)
{
    struct context *c = n->graph->context;
    struct value *v = node_input(n, i);

    *count = 0;
    if (!v || !v->constant || v->constant->count > INT32_MAX || !type_bits(v->type))
        return NULL;
    *count = (int)v->constant->count;
    /* A view is asked for each element, and asks for its numbers each time. */
    if (!v->constant->integers || v->constant->varies) {
        struct node *outer = keep_begin(n, v->constant);

        v->constant->integers = tensor_integers(c, v->constant, &c->arena);
        keep_end(n, outer, v->constant->bytes + (size_t)v->constant->count * sizeof(int64_t));
    }
    return v->constant->integers;
}

const float *node_constant_floats(const struct node *n, int i, int *count)
{
    struct context *c = n->graph->context;
    struct value *v = node_input(n, i);

    *count = 0;
    if (!v || !v->constant || v->constant->count > INT32_MAX || !type_bits(v->type))
        return NULL;
    *count = (int)v->constant->count;
    if (!v->constant->floats || v->constant->varies) {
        struct node *outer = keep_begin(n, v->constant);

        v->constant->floats = tensor_floats(c, v->constant, &c->arena);
        keep_end(n, outer, v->constant->bytes + (size_t)v->constant->count * sizeof(float));
    }
    return v->constant->floats;
}

bool node_varies(const struct node *n)
{
    for (int i = 0; i < n->input_count; i++)
        if (n->inputs[i] && n->inputs[i]->constant && n->inputs[i]->constant->varies)
            return true;
    return false;
}

const char *node_title(const struct node *n, struct arena *a)
{
    const char *op = n->layer_op ? n->layer_op : n->op_type;

    return *n->name ? arena_printf(a, "%s %s", op, n->name)
                    : arena_printf(a, "%s #%d", op, n->position);
}

struct place node_place(const struct node *n)
{
    return (struct place){
        .kind = PLACE_LAYER,
        .index = n->position,
        .layer = n->name,
        .op = n->layer_op ? n->layer_op : n->op_type,
    };
}
