#include "daemon/compiler/graph/reference.h"
#include "daemon/compiler/operators/operator.h"
#include <string.h>

/* What one value holds while the graph runs. */
struct cell {
    struct tensor *tensor;
    struct arena *memory; /* shared by the outputs of one node: of the first of them */
    int uses;             /* slots still to be read; outputs of the graph count as one more */
};

struct run {
    struct graph *graph;
    struct cell *cells; /* by value id */
    struct arena *scratch;
};

static struct tensor *lookup(struct run *r, struct value *v)
{
    return v->constant ? v->constant : r->cells[v->id].tensor;
}

/* The memory of a node's outputs goes when none of them is read any more. */
static void let_go(struct run *r, const struct node *n)
{
    struct arena *memory = NULL;

    for (int i = 0; i < n->output_count; i++) {
        const struct value *v = n->outputs[i];

        if (!v)
            continue;
        if (r->cells[v->id].uses)
            return;
        if (r->cells[v->id].memory)
            memory = r->cells[v->id].memory;
    }
    if (!memory)
        return;
    arena_free(memory);
    for (int i = 0; i < n->output_count; i++)
        if (n->outputs[i])
            r->cells[n->outputs[i]->id] = (struct cell){0};
}

static bool all_constant(const struct node *n)
{
    for (int i = 0; i < n->output_count; i++)
        if (n->outputs[i] && !n->outputs[i]->constant)
            return false;
    return true;
}

static bool step(struct run *r, struct node *n, struct reference_watch *watch)
{
    struct context *c = r->graph->context;
    struct arena_mark mark = arena_mark(r->scratch);
    struct tensor **in = NEW_ARRAY(r->scratch, n->input_count, struct tensor *);
    struct tensor **out = NEW_ARRAY(r->scratch, n->output_count, struct tensor *);
    struct arena *memory = arena_child(&c->arena);
    struct cell *first = NULL;

    for (int i = 0; i < n->input_count; i++)
        if (n->inputs[i] && !(in[i] = lookup(r, n->inputs[i])))
            BUG(c, "%s %s runs before what it reads", n->op_type, n->name);
    if (!evaluate_with(n, in, out, memory)) {
        struct place place = node_place(n);

        diagnose(c, &place, TUKI0110, NULL, "the reference does not compute this form of it");
        arena_free(memory);
        return false;
    }
    for (int i = 0; i < n->output_count; i++) {
        struct value *v = n->outputs[i];

        if (!v)
            continue;
        r->cells[v->id].tensor = out[i];
        if (!first)
            (first = &r->cells[v->id])->memory = memory;
        if (watch)
            watch->seen(watch, v, out[i]);
    }
    if (!first)
        arena_free(memory);
    else
        let_go(r, n); /* nothing may read it at all */
    for (int i = 0; i < n->input_count; i++) {
        struct value *v = n->inputs[i];

        if (v && !v->constant && v->producer && !--r->cells[v->id].uses)
            let_go(r, v->producer);
    }
    arena_rewind(r->scratch, mark);
    return true;
}

static bool place_inputs(struct run *r, struct tensor *const *inputs)
{
    struct graph *g = r->graph;
    struct arena *a = &g->context->arena;
    bool fit = true;

    for (int i = 0; i < g->input_count; i++) {
        const struct value *v = g->inputs[i];
        struct place place = {.kind = PLACE_INPUT, .index = i, .layer = v->name};

        r->cells[v->id].tensor = inputs[i];
        if (!inputs[i] && (v->reader_count || v->output_count)) {
            diagnose(g->context, &place, TUKI0106, "", "no tensor is given for it");
            fit = false;
        } else if (inputs[i] &&
                   (inputs[i]->type != v->type || !shape_equal(&inputs[i]->shape, &v->shape))) {
            diagnose(g->context, &place, TUKI0106, "",
                     "the tensor given for it is %s %s, not %s %s", type_name(inputs[i]->type),
                     shape_text(a, &inputs[i]->shape), type_name(v->type),
                     shape_text(a, &v->shape));
            fit = false;
        }
    }
    return fit;
}

/* A copy that does not depend on memory that is about to go. */
static struct tensor *keep(struct context *c, const struct tensor *t, struct arena *arena)
{
    struct arena *scratch = arena_child(&c->arena);
    struct tensor *copy;
    void *data;

    copy = tensor_new(arena, t->type, &t->shape, &data);
    if (t->bytes)
        memcpy(data, tensor_data(c, t, scratch), t->bytes);
    arena_free(scratch);
    return copy;
}

bool reference_run(struct graph *g, struct tensor *const *inputs, struct tensor **outputs,
                   struct reference_watch *watch, struct arena *arena)
{
    struct run r = {.graph = g, .scratch = arena_child(&g->context->arena)};
    bool done;

    r.cells = NEW_ARRAY(r.scratch, g->value_count, struct cell);
    done = place_inputs(&r, inputs);
    for (int i = 0; i < g->node_count; i++)
        for (int k = 0; k < g->nodes[i]->input_count; k++)
            if (g->nodes[i]->inputs[k])
                r.cells[g->nodes[i]->inputs[k]->id].uses += !all_constant(g->nodes[i]);
    for (int i = 0; i < g->output_count; i++)
        r.cells[g->outputs[i]->id].uses++;
    for (int i = 0; done && i < g->node_count; i++) {
        context_poll(g->context);
        if (!all_constant(g->nodes[i]))
            done = step(&r, g->nodes[i], watch);
    }
    for (int i = 0; done && i < g->output_count; i++) {
        const struct tensor *t = lookup(&r, g->outputs[i]);

        if (!t)
            BUG(g->context, "output %s was not computed", g->output_names[i]);
        outputs[i] = keep(g->context, t, arena);
    }
    for (int i = 0; i < g->value_count; i++)
        if (r.cells[i].memory)
            arena_free(r.cells[i].memory);
    arena_free(r.scratch);
    return done;
}
