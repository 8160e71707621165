/*
 * Evaluating nodes over constants, on demand.
 *
 * A constant that is not evaluated yet names the node that makes it; that node's inputs may be such
 * constants again. The whole recipe is walked with a stack of our own (chains may be as long as a
 * model) and evaluated in order; results in between go as soon as their last reader in the recipe
 * has run, but small ones stay for good, or shape computations would be repeated for everyone who
 * asks. Large ones are not made at all where their readers take them block by block (pick.c).
 */
#include "daemon/compiler/operators/recipe.h"
#include "daemon/compiler/operators/work.h"
#include <string.h>

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

        /* What only asks for a shape needs nothing evaluated. */
        if (e->next_input == e->node->input_count ||
            (r->pending == unevaluated && infer_shape_only(e->node))) {
            depth--;
            e->place = r->count;
            APPEND(r->scratch, r->order, r->count, r->room) = e;
            continue;
        }
        int i = e->next_input++;
        const struct value *v = e->node->inputs[i];
        if (!v || !v->constant || !r->pending(v->constant))
            continue;
        struct node *need = v->constant->deferred;
        if (!need->evaluation)
            APPEND(r->scratch, stack, depth, room) = enter(r, need);
        e->need[i] = need->evaluation;
        need->evaluation->uses++;
    }
    for (int i = 0; i < r->count; i++)
        r->order[i]->node->evaluation = NULL;
}

void recipe_fault(struct node *n)
{
    struct place place = node_place(n);

    if (!n->unevaluable)
        diagnose(n->graph->context, &place, TUKI0110, NULL,
                 "its inputs are constants, and this form of it cannot be computed beforehand");
    n->unevaluable = true;
}

/* Zeros, for nothing is generated any more. */
static void stand_in(struct node *n, struct arena *arena, struct tensor **out)
{
    recipe_fault(n);
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

/* ---- which results are not made as a whole ---- */

static bool is_large(const struct node *n)
{
    for (int i = 0; i < n->output_count; i++)
        if (n->outputs[i] && n->outputs[i]->constant &&
            n->outputs[i]->constant->bytes > RECIPE_LARGE)
            return true;
    return false;
}

/* From the last node to the first: all readers of a node stand behind it. */
static void find_streams(struct recipe *r)
{
    for (int i = r->count - 1; i >= 0; i--) {
        struct evaluation *e = r->order[i];

        if (i < r->count - 1)
            e->streams = is_large(e->node) && !e->whole && pick_possible(e->node);
        r->streams += e->streams;
        for (int k = 0; k < e->node->input_count; k++)
            if (e->need[k] && is_large(e->need[k]->node) && !pick_reads_parts(e->node, k))
                e->need[k]->whole = e->node;
    }
}

/* ---- running ---- */

/* Elementwise operators on large tensors too: their numbers are float64 in between. */
static bool runs_in_blocks(const struct evaluation *e)
{
    if (!pick_possible(e->node))
        return false;
    for (int i = 0; i < e->node->input_count; i++)
        if (e->need[i] && e->need[i]->streams)
            return true;
    return e->node->op->functions->role == ROLE_ELEMENTWISE && is_large(e->node);
}

/* All elements of that tensor, in blocks. */
static struct tensor *assemble(struct recipe *r, struct evaluation *e, int output)
{
    struct value *v = e->node->outputs[output];
    void *data;
    struct tensor *t = tensor_new(e->memory, v->type, &v->shape, &data);
    size_t size = (size_t)type_bits(v->type) / 8;
    int64_t most = pick_block(r), *at = NEW_ARRAY(r->scratch, most, int64_t);

    for (int64_t first = 0; first < t->count; first += most) {
        struct positions p = {t->count - first < most ? t->count - first : most, at};

        for (int64_t i = 0; i < p.count; i++)
            at[i] = first + i;
        memcpy((char *)data + (size_t)first * size, pick(r, e, output, p), (size_t)p.count * size);
    }
    return t;
}

static struct tensor *input_of(const struct evaluation *e, int slot)
{
    const struct value *v = e->node->inputs[slot];

    if (!v)
        return NULL;
    if (!v->constant)
        BUG(e->node->graph->context, "%s %s was taken for a constant", e->node->op_type,
            e->node->name);
    return e->need[slot] && e->need[slot]->out ? e->need[slot]->out[v->constant->deferred_output]
                                               : v->constant;
}

/* What is read block by block is counted there. */
static double steps_of(const struct evaluation *e)
{
    double steps = runs_in_blocks(e) ? 0 : work_of(e->node);

    for (int i = 0; steps > 0 && i < e->node->input_count; i++)
        if (e->need[i] && e->need[i]->streams)
            steps -= WORK_ELEMENT * (double)e->node->inputs[i]->constant->count;
    return steps;
}

static void run(struct recipe *r, struct evaluation *e)
{
    struct node *n = e->node;
    struct tensor **in = NEW_ARRAY(r->scratch, n->input_count, struct tensor *);
    struct node *outer = work_begin(n, e->whole, steps_of(e));

    e->out = NEW_ARRAY(e->memory, n->output_count, struct tensor *);
    for (int i = 0; i < n->input_count; i++)
        in[i] = input_of(e, i);
    if (runs_in_blocks(e)) {
        for (int i = 0; i < n->output_count; i++)
            e->out[i] = n->outputs[i] ? assemble(r, e, i) : NULL;
    } else if (!evaluate_with(n, in, e->out, e->memory)) {
        stand_in(n, e->memory, e->out);
    }
    work_end(n, outer);
}

/* Results are there for whoever asks for the constant, small ones for good. */
static void lend(struct recipe *r, struct evaluation *e)
{
    for (int i = 0; i < e->node->output_count; i++) {
        struct tensor *t = e->node->outputs[i] ? e->node->outputs[i]->constant : NULL;

        if (!t || t->deferred != e->node || t->deferred_output != i || t->data || !e->out[i])
            continue;
        t->data = e->out[i]->data;
        if (t->data && !t->varies && t->bytes <= TENSOR_SMALL)
            t->data = arena_memdup(&r->context->arena, t->data, t->bytes);
    }
}

static void take_back(struct evaluation *e)
{
    for (int i = 0; e->out && i < e->node->output_count; i++) {
        struct tensor *t = e->node->outputs[i] ? e->node->outputs[i]->constant : NULL;

        if (t && e->out[i] && t->data == e->out[i]->data && t->deferred == e->node)
            t->data = NULL;
    }
    e->out = NULL;
    arena_free(e->memory);
    e->memory = NULL;
}

/* Runs what is no stream. The last one's results are in arena; NULL: it is a stream itself. */
static void recipe_run(struct recipe *r, struct arena *arena)
{
    /* What is computed on the way is held for the last one's sake. */
    struct node *asked = r->order[r->count - 1]->node, *outer = work_open(asked);

    find_streams(r);
    for (int i = 0; i < r->count; i++) {
        struct evaluation *e = r->order[i];
        bool last = i == r->count - 1;

        if (e->streams)
            continue;
        e->memory = last ? arena : arena_child(r->scratch);
        run(r, e);
        lend(r, e);
        if (last)
            e->memory = NULL;
        /* What a stream reads is needed as long as it may be asked. */
        for (int k = 0; k < e->node->input_count; k++)
            if (e->need[k] && !--e->need[k]->uses && !e->need[k]->streams)
                take_back(e->need[k]);
    }
    work_end(asked, outer);
}

static struct recipe *recipe_new(struct node *n)
{
    struct context *c = n->graph->context;
    struct arena *scratch = arena_child(&c->arena);
    struct recipe *r = NEW(scratch, struct recipe);

    *r = (struct recipe){.context = c, .pending = unevaluated, .scratch = scratch};
    recipe_collect(r, n);
    return r;
}

void recipe_close(struct recipe *r)
{
    for (int i = 0; i < r->count; i++)
        take_back(r->order[i]);
    arena_free(r->scratch);
}

struct tensor **evaluate_node(struct node *n, struct arena *arena)
{
    struct recipe *r = recipe_new(n);
    struct tensor **out;

    recipe_run(r, arena);
    out = r->order[r->count - 1]->out;
    recipe_close(r);
    return out;
}

struct recipe *recipe_open(const struct tensor *t)
{
    struct recipe *r;

    if (!t->deferred || t->data || !pick_possible(t->deferred))
        return NULL;
    r = recipe_new(t->deferred);
    r->order[r->count - 1]->streams = true;
    recipe_run(r, NULL);
    return r;
}

const void *recipe_read(struct recipe *r, const struct tensor *t, struct positions p)
{
    return pick(r, r->order[r->count - 1], t->deferred_output, p);
}

struct hash evaluate_hash(struct node *n, int output)
{
    struct context *c = n->graph->context;
    struct arena *scratch = arena_child(&c->arena);
    struct recipe r = {.context = c, .pending = unhashed, .scratch = scratch};
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
    hasher_add_hash(&h, r.order[r.count - 1]->hash);
    hasher_add_number(&h, (uint64_t)output);
    hash = hasher_finish(&h);
    arena_free(scratch);
    return hash;
}
