/*
 * Evaluating nodes over constants, on demand.
 *
 * A constant that is not evaluated yet names the node that makes it; that node's inputs may be such
 * constants again. The whole recipe is walked with a stack of our own (chains may be as long as a
 * model) and evaluated in order; results in between go as soon as their last reader in the recipe
 * has run, but small ones stay for good, or shape computations would be repeated for everyone who
 * asks.
 */
#include "daemon/compiler/operators/operator.h"
#include <string.h>

/* One node of a recipe while it is evaluated or hashed. */
struct evaluation {
    struct node *node;
    struct recipe *recipe;
    struct evaluation *shadowed; /* of a recipe around this one: an operator may ask for a constant
                                    while it runs */
    struct evaluation **need;    /* for each input slot: what has to run before, or NULL */
    int next_input;              /* of the walk */
    int uses;                    /* slots of nodes still to run that read an output */
    struct arena *memory;
    struct tensor **out;
    struct hash hash;
};

struct recipe {
    bool (*pending)(const struct tensor *t); /* not to be read yet */
    struct arena *scratch;
    struct evaluation **order;
    int count, room;
};

static bool unevaluated(const struct tensor *t)
{
    return t->deferred && !t->data;
}

static bool unhashed(const struct tensor *t)
{
    return t->deferred && !t->hashed && t->bytes > TENSOR_SMALL;
}

static struct evaluation *enter(struct recipe *r, struct node *n)
{
    struct evaluation *e = NEW(r->scratch, struct evaluation);

    e->node = n;
    e->recipe = r;
    e->shadowed = n->evaluation;
    e->need = NEW_ARRAY(r->scratch, n->input_count, struct evaluation *);
    n->evaluation = e;
    return e;
}

/* All nodes that n needs, each after those it needs itself; n is the last. */
static void recipe_collect(struct recipe *r, struct node *n)
{
    struct evaluation **stack = NULL;
    int depth = 0, room = 0;

    APPEND(r->scratch, stack, depth, room) = enter(r, n);
    while (depth) {
        struct evaluation *e = stack[depth - 1];

        if (e->next_input == e->node->input_count) {
            depth--;
            APPEND(r->scratch, r->order, r->count, r->room) = e;
            continue;
        }
        int i = e->next_input++;
        const struct value *v = e->node->inputs[i];
        if (!v || !v->constant || !r->pending(v->constant))
            continue;
        struct node *need = v->constant->deferred;
        if (!need->evaluation || need->evaluation->recipe != r)
            APPEND(r->scratch, stack, depth, room) = enter(r, need);
        e->need[i] = need->evaluation;
        need->evaluation->uses++;
    }
}

static void recipe_forget(struct recipe *r)
{
    for (int i = 0; i < r->count; i++)
        r->order[i]->node->evaluation = r->order[i]->shadowed;
}

/* A form that the operator cannot evaluate: said once; zeros stand in, for nothing is generated any
 * more. */
static void stand_in(struct node *n, struct arena *arena, struct tensor **out)
{
    struct place place = node_place(n);

    if (!n->unevaluable)
        diagnose(n->graph->context, &place, TUKI0110, NULL,
                 "its inputs are constants, and this form of it cannot be computed beforehand");
    n->unevaluable = true;
    for (int i = 0; i < n->output_count; i++) {
        void *data;

        if (n->outputs[i] && shape_known(&n->outputs[i]->shape))
            out[i] = tensor_new(arena, n->outputs[i]->type, &n->outputs[i]->shape, &data);
    }
}

static void check_result(struct node *n, const struct tensor *t, const struct value *v)
{
    struct context *c = n->graph->context;

    if (v->type && v->type != t->type)
        BUG(c, "%s %s was inferred to give %s and evaluated to %s", n->op_type, n->name,
            type_name(v->type), type_name(t->type));
    if (shape_known(&v->shape) && !shape_equal(&v->shape, &t->shape))
        BUG(c, "%s %s was inferred to give %s and evaluated to %s", n->op_type, n->name,
            shape_text(&c->arena, &v->shape), shape_text(&c->arena, &t->shape));
}

bool evaluate_with(struct node *n, struct tensor *const *in, struct tensor **out,
                   struct arena *arena)
{
    struct context *c = n->graph->context;
    struct arena *scratch;
    bool done, wanted = false;

    if (!n->op || !n->op->functions->evaluate)
        return false;
    /* An operator may count on one of its outputs being there. */
    for (int i = 0; i < n->output_count; i++)
        wanted = wanted || n->outputs[i];
    if (!wanted)
        return true;
    context_poll(c);
    scratch = arena_child(&c->arena);
    done = n->op->functions->evaluate(n, in, out, arena, scratch);
    arena_free(scratch);
    for (int i = 0; done && i < n->output_count; i++) {
        if (n->outputs[i] && !out[i])
            BUG(c, "%s %s left out its output %d", n->op_type, n->name, i);
        if (n->outputs[i])
            check_result(n, out[i], n->outputs[i]);
    }
    return done;
}

static void run(struct evaluation *e, struct arena *scratch)
{
    struct node *n = e->node;
    struct context *c = n->graph->context;
    struct tensor **in = NEW_ARRAY(scratch, n->input_count, struct tensor *);

    e->out = NEW_ARRAY(e->memory, n->output_count, struct tensor *);
    for (int i = 0; i < n->input_count; i++) {
        if (!n->inputs[i])
            continue;
        if (!n->inputs[i]->constant)
            BUG(c, "%s %s was taken for a constant", n->op_type, n->name);
        in[i] = e->need[i] ? e->need[i]->out[n->inputs[i]->constant->deferred_output]
                           : n->inputs[i]->constant;
    }
    if (!evaluate_with(n, in, e->out, e->memory))
        stand_in(n, e->memory, e->out);
    /* Small results become ordinary constants of the tensors that were waiting for them. */
    for (int i = 0; i < n->output_count; i++) {
        struct tensor *t = n->outputs[i] ? n->outputs[i]->constant : NULL;

        if (t && t->deferred == n && t->deferred_output == i && !t->data && !t->varies &&
            t->bytes <= TENSOR_SMALL && e->out[i] && e->out[i]->data)
            t->data = arena_memdup(&c->arena, e->out[i]->data, t->bytes);
    }
}

struct tensor **evaluate_node(struct node *n, struct arena *arena)
{
    struct arena *scratch = arena_child(&n->graph->context->arena);
    struct recipe r = {.pending = unevaluated, .scratch = scratch};
    struct tensor **out = NULL;

    recipe_collect(&r, n);
    for (int i = 0; i < r.count; i++) {
        struct evaluation *e = r.order[i];

        e->memory = e->node == n ? arena : arena_child(scratch);
        run(e, scratch);
        out = e->out;
        for (int k = 0; k < e->node->input_count; k++)
            if (e->need[k] && !--e->need[k]->uses)
                arena_free(e->need[k]->memory);
    }
    recipe_forget(&r);
    arena_free(scratch);
    return out;
}

struct hash evaluate_hash(struct node *n, int output)
{
    struct context *c = n->graph->context;
    struct arena *scratch = arena_child(&c->arena);
    struct recipe r = {.pending = unhashed, .scratch = scratch};
    struct hash hash = {0, 0};
    struct hasher h;

    recipe_collect(&r, n);
    for (int i = 0; i < r.count; i++) {
        struct evaluation *e = r.order[i];

        hasher_init(&h);
        hasher_add_text(&h, "recipe");
        node_hash(&h, e->node);
        hasher_add_number(&h, (uint64_t)e->node->input_count);
        for (int k = 0; k < e->node->input_count; k++) {
            struct value *v = e->node->inputs[k];

            if (v && e->need[k]) {
                hasher_add_number(&h, (uint64_t)v->constant->deferred_output);
                hasher_add_hash(&h, e->need[k]->hash);
            } else {
                hasher_add_number(&h, v ? UINT64_MAX - 1 : UINT64_MAX);
                if (v)
                    hasher_add_hash(&h, tensor_hash(c, v->constant));
            }
        }
        e->hash = hasher_finish(&h);
    }
    hasher_init(&h);
    hasher_add_hash(&h, n->evaluation->hash);
    hasher_add_number(&h, (uint64_t)output);
    hash = hasher_finish(&h);
    recipe_forget(&r);
    arena_free(scratch);
    return hash;
}
