/*
 * From a graph to steps: what is computed together, what gets a texture, and how it lies in it.
 *
 * 1. Every ROLE_STEP operator gets a step. What follows on it and is read nowhere else joins it,
 * and then works on registers (join.c).
 * 2. Every other elementwise operator, and every view, is computed by its readers, unless a texture
 * of its own is cheaper in all: elements times fetches, against one draw more.
 * 3. Layouts: at the model's edge they are given; inside, the packed axis that costs the readers
 * least.
 * 4. Kernels are written, and with them it is known what each step reads: that gives the order.
 */
#include "daemon/compiler/gpu/excess.h"
#include "daemon/compiler/gpu/layer.h"
#include "daemon/compiler/gpu/range.h"
#include "daemon/compiler/gpu/steps_inside.h"
#include "daemon/compiler/operators/lower.h"
#include "daemon/compiler/operators/zeros.h"
#include <ctype.h>
#include <math.h>
#include <string.h>

/* ---- which nodes matter ---- */

/* " (at most 10 rows)": what the table of operators says. */
static const char *limits_text(struct arena *a, const struct operator* op)
{
    const char *text = op->documentation;
    size_t length = strlen(text);

    if (!length)
        return "";
    return arena_printf(a, " (%c%.*s)", tolower((unsigned char)*text),
                        (int)(length - 1 - (text[length - 1] == '.')), text + 1);
}

static bool node_supported(struct node *n)
{
    const struct operator_functions *f = n->op ? n->op->functions : NULL;
    struct place place = node_place(n);

    if (f && ((f->role == ROLE_ELEMENTWISE && is_expressed(n)) ||
              (f->role == ROLE_VIEW && f->view) || (f->role == ROLE_STEP && f->lower)))
        return true;
    diagnose(n->graph->context, &place, TUKI0110, operator_refusal(node_op(n))->advice,
             "this form of %s cannot be computed when the model runs%s", node_op(n),
             n->op && !*node_part(n) ? limits_text(&n->graph->context->arena, n->op) : "");
    return false;
}

static bool mark_live(struct graph *g)
{
    struct context *c = g->context;
    struct node **stack = NULL;
    int count = 0, room = 0;
    bool good = true;

    for (int i = 0; i < g->node_count; i++)
        g->nodes[i]->mark = 0;
    for (int i = 0; i < g->output_count; i++)
        if (g->outputs[i]->producer && !g->outputs[i]->constant)
            APPEND(&c->arena, stack, count, room) = g->outputs[i]->producer;
    while (count) {
        struct node *n = stack[--count];

        if (n->mark)
            continue;
        n->mark = 1;
        good = node_supported(n) && good;
        for (int i = 0; i < n->input_count; i++) {
            struct value *v = n->inputs[i];

            if (v && !v->constant && v->producer)
                APPEND(&c->arena, stack, count, room) = v->producer;
        }
    }
    return good;
}

static struct spot *spot_new(struct context *c, struct value *v)
{
    struct spot *s = NEW(&c->arena, struct spot);

    s->buffer = -1;
    /* Costs are asked for before this is known: a scalar has no axis that could be packed. */
    s->layout.packed = v->shape.axes ? 0 : -1;
    v->plan = s;
    return s;
}

int live_readers(const struct value *v, struct node **only)
{
    int count = 0;

    *only = NULL;
    for (int i = 0; i < v->reader_count; i++) {
        struct node *r = v->readers[i];

        if (!r->mark)
            continue;
        if (count && r != *only)
            *only = NULL;
        else if (!count)
            *only = r;
        count++;
    }
    return count;
}

/* ---- steps ---- */

struct step *step_new(struct plan *p, struct node *root, int output, struct value *v)
{
    struct context *c = p->context;
    struct step *s = NEW(&c->arena, struct step);

    s->root = root;
    s->root_output = output;
    s->packed = root ? wanted_axis(root, -1) : -1;
    s->value = v;
    s->buffer = -1;
    s->number = p->step_count;
    APPEND(&c->arena, p->steps, p->step_count, p->step_room) = s;
    if (root)
        APPEND(&c->arena, s->fused, s->fused_count, s->fused_room) = root;
    return s;
}

static int count_from(int walk, struct value *v, const struct value **seen, int count, int depth)
{
    struct spot *spot = v->plan;

    if (v->constant || !spot || depth > 64 || spot->walk == walk)
        return count;
    spot->walk = walk;
    if (spot->placement == PLACED_BUFFER) {
        for (int i = 0; i < count; i++)
            if (seen[i] == v)
                return count;
        if (count < MOST_READ_BUFFERS + 1)
            seen[count++] = v;
        return count;
    }
    if (v->producer && spot->placement != PLACED_JOINED)
        for (int i = 0; i < v->producer->input_count && count <= MOST_READ_BUFFERS; i++)
            if (v->producer->inputs[i])
                count = count_from(walk, v->producer->inputs[i], seen, count, depth + 1);
    return count;
}

int count_buffers(struct plan *p, struct value *v, const struct value **seen, int count)
{
    return count_from(++p->walks, v, seen, count, 0);
}

void store_value(struct plan *p, struct value *v)
{
    struct spot *spot = v->plan;

    spot->placement = PLACED_BUFFER;
    spot->step = step_new(p, NULL, 0, v);
    APPEND(&p->context->arena, spot->step->fused, spot->step->fused_count, spot->step->fused_room) =
        v->producer;
}

bool is_to_be_stored(const struct value *v)
{
    return v->producer && functions_of(v->producer)->stores && !type_is_integer(v->type) &&
           !spot_of(v)->unrounded;
}

static void assign_roles(struct plan *p)
{
    struct graph *g = p->graph;

    for (int i = 0; i < g->input_count; i++) {
        struct spot *spot = spot_new(p->context, g->inputs[i]);

        spot->placement = PLACED_BUFFER;
    }
    for (int i = 0; i < g->node_count; i++) {
        struct node *n = g->nodes[i];

        if (!n->mark)
            continue;
        for (int o = 0; o < n->output_count; o++) {
            struct node *only;

            if (!n->outputs[o] || n->outputs[o]->constant)
                continue;
            struct spot *spot = spot_new(p->context, n->outputs[o]);
            spot->unrounded = zeros_matter(n->outputs[o]);
            if (!live_readers(n->outputs[o], &only) && !n->outputs[o]->output_count)
                continue;
            switch (functions_of(n)->role) {
            case ROLE_STEP:
                spot->placement = PLACED_BUFFER;
                spot->step = step_new(p, n, o, n->outputs[o]);
                break;
            case ROLE_VIEW:
                spot->placement = PLACED_VIEW;
                break;
            default:
                spot->placement = is_to_be_stored(n->outputs[o]) ? PLACED_BUFFER : PLACED_INLINE;
                break;
            }
        }
    }
}

bool is_computed_by_readers(const struct value *v)
{
    const struct spot *spot = v ? v->plan : NULL;

    /* Token ids on their way to Gather: 16 bits do not hold them. */
    if (v && type_is_integer(v->type))
        return false;
    return spot && !spot->unrounded &&
           (spot->placement == PLACED_INLINE || spot->placement == PLACED_VIEW);
}

/* Weights that a kernel computing v holds, and every kernel that computes it again. */
static int64_t weights_under(const struct value *v, int depth)
{
    const struct spot *spot = v->plan;
    int64_t total = 0;

    if (v->constant)
        return v->constant->count;
    if (!spot || !v->producer || spot->placement == PLACED_BUFFER || depth > 64 ||
        spot->placement == PLACED_JOINED)
        return 0;
    for (int i = 0; i < v->producer->input_count; i++)
        if (v->producer->inputs[i])
            total += weights_under(v->producer->inputs[i], depth + 1);
    return total;
}

/* Layouts are not chosen yet: it is assumed that what is stored can be fetched in fours. */
static double cost_each(struct kernel *k, struct value *v)
{
    return COST_OPERATION * operations(k, v) + COST_FETCH * fetches_computed(k, v);
}

/* In a step of its own. */
static double cost_stored(const struct value *v, double each)
{
    return COST_DRAW + cells_of(v) * (each + COST_FETCH);
}

/* What its readers spend on computing it above fetching it from there. */
static double cost_computed(const struct value *v, double reads, double each)
{
    return reads > 1 ? cells_of(v) * reads * (each - COST_FETCH) : 0;
}

double cost_alone(struct kernel *k, struct value *v)
{
    double each = cost_each(k, v), stored = cost_stored(v, each);

    return v->output_count ? stored : fmin(stored, cost_computed(v, readings(k, v), each));
}

static bool is_cheaper_stored(struct kernel *k, struct value *v)
{
    double reads = readings(k, v), each;

    if (reads <= 1)
        return false;
    each = cost_each(k, v);
    return cost_stored(v, each) < cost_computed(v, reads, each);
}

/* 16 bits hold a number whose square they do not. */
static bool is_square(const struct node *n)
{
    struct range exponent;

    if (!strcmp(n->op->name, "Mul"))
        return n->inputs[0] == n->inputs[1];
    if (strcmp(n->op->name, "Pow") || !n->inputs[1]->constant)
        return false;
    exponent = range_constant(n->graph->context, n->inputs[1]);
    return exponent.lo == 2 && exponent.hi == 2;
}

/* Of a view or a square that would be stored: what it is made of, where storing that serves the
 * readers as well and takes no more cells; else the value itself. */
static struct value *better_stored(struct kernel *k, struct value *v)
{
    while (functions_of(v->producer)->role == ROLE_VIEW || is_square(v->producer)) {
        struct value *from = v->producer->inputs[0];
        enum placement was;
        double fetches;

        if (!is_computed_by_readers(from) || from->constant || !from->producer ||
            shape_count(&from->shape) > shape_count(&v->shape))
            break;
        was = spot_of(from)->placement;
        spot_of(from)->placement = PLACED_BUFFER;
        fetches = fetches_computed(k, v);
        spot_of(from)->placement = was;
        if (fetches > 1)
            break;
        v = from;
    }
    return v;
}

/* Whether n is a view of v alone. */
static bool views_only(const struct node *n, const struct value *v)
{
    for (int i = 0; i < n->input_count; i++)
        if (n->inputs[i] && n->inputs[i] != v && !n->inputs[i]->constant)
            return false;
    return functions_of(n)->role == ROLE_VIEW && n->output_count == 1;
}

/* Computing a value walks all ways from it to what it is computed from, one after another: where a
 * value is read twice they double. What has more of them, or longer ones, is cut before it is
 * walked. */
enum { MOST_WAYS = 64, LONGEST_WAY = 200 };

/* Whether all that is made of v is that it lies in a texture, or is an output, moved by views. */
static bool is_only_stored(const struct value *v)
{
    struct node *only;

    for (int length = 0; length < LONGEST_WAY; length++) {
        int readers = live_readers(v, &only);

        if (v->output_count || readers != 1)
            return v->output_count == 1 && !readers;
        if (functions_of(only)->stores)
            return true;
        if (!views_only(only, v))
            return false;
        v = only->outputs[0];
    }
    return false;
}

static void store_what_grows(struct plan *p)
{
    struct graph *g = p->graph;
    struct arena *scratch = arena_child(&p->context->arena);
    int *ways = NEW_ARRAY(scratch, g->value_count + 1, int);
    int *longest = NEW_ARRAY(scratch, g->value_count + 1, int);

    for (int i = 0; i < g->node_count; i++) {
        const struct node *n = g->nodes[i];
        int sum = 1, length = 0;

        for (int k = 0; n->mark && k < n->input_count; k++)
            if (n->inputs[k] && sum <= MOST_WAYS) {
                sum += ways[n->inputs[k]->id];
                length = longest[n->inputs[k]->id] > length ? longest[n->inputs[k]->id] : length;
            }
        for (int o = 0; n->mark && o < n->output_count; o++) {
            struct value *v = n->outputs[o];
            bool unrounded = v && v->plan && spot_of(v)->unrounded;

            if (!is_computed_by_readers(v) && !unrounded)
                continue;
            if (!unrounded && ((sum > MOST_WAYS && !is_only_stored(v)) || length == LONGEST_WAY)) {
                if (!is_square(n) || !is_computed_by_readers(n->inputs[0])) {
                    store_value(p, v);
                    continue;
                }
                store_value(p, n->inputs[0]);
                ways[n->inputs[0]->id] = longest[n->inputs[0]->id] = length = 0;
                sum = 1;
            }
            ways[v->id] = sum;
            longest[v->id] = length + 1;
        }
    }
    arena_free(scratch);
}

/* Whether computing v reads more textures than its readers have room for beside others of theirs,
 * or where it is only stored, than a kernel has. */
static bool reads_too_many(struct plan *p, struct value *v)
{
    const struct value *seen[MOST_READ_BUFFERS + 1];
    int count = count_buffers(p, v, seen, 0);

    return count > MOST_READ_BUFFERS || (count > MOST_READ_BUFFERS - 2 && !is_only_stored(v));
}

static void store_where_cheaper(struct plan *p, struct kernel *k)
{
    struct graph *g = p->graph;

    store_what_grows(p);
    /* What would read too many textures is cut where they have become too many; what holds a large
     * table is not to hold it once for each reader. */
    for (int i = 0; i < g->node_count; i++)
        for (int o = 0; g->nodes[i]->mark && o < g->nodes[i]->output_count; o++) {
            struct value *v = g->nodes[i]->outputs[o];

            if (is_computed_by_readers(v) &&
                (reads_too_many(p, v) ||
                 (v->reader_count > 1 && weights_under(v, 0) > MOST_REPEATED_WEIGHTS)))
                store_value(p, v);
        }
    /* From the last on: of a chain that is read often its end is stored, and what is before it is
     * then read once. */
    for (int i = g->node_count; i-- > 0;)
        for (int o = 0; g->nodes[i]->mark && o < g->nodes[i]->output_count; o++) {
            struct value *v = g->nodes[i]->outputs[o];

            context_poll(p->context);
            kernel_forget(k);
            if (is_computed_by_readers(v) && is_cheaper_stored(k, v))
                spot_of(better_stored(k, v))->placement = PLACED_BUFFER;
        }
    /* And from the first on: where what is before an end is stored, too, the end may be so little
     * that its readers compute it after all. */
    for (int i = 0; i < g->node_count; i++)
        for (int o = 0; g->nodes[i]->mark && o < g->nodes[i]->output_count; o++) {
            struct value *v = g->nodes[i]->outputs[o];
            struct spot *spot = v ? v->plan : NULL;

            if (!spot || spot->placement != PLACED_BUFFER || spot->step)
                continue;
            kernel_forget(k);
            spot->placement =
                functions_of(v->producer)->role == ROLE_VIEW ? PLACED_VIEW : PLACED_INLINE;
            if (reads_too_many(p, v) || is_cheaper_stored(k, v))
                store_value(p, v);
        }
}

/* What is an output is computed once. */
static void store_outputs(struct plan *p)
{
    struct graph *g = p->graph;

    for (int i = 0; i < g->output_count; i++)
        if (g->outputs[i]->plan && spot_of(g->outputs[i])->placement == PLACED_INLINE &&
            !spot_of(g->outputs[i])->unrounded)
            store_value(p, g->outputs[i]);
}

static void limit_steps(struct plan *p)
{
    for (int i = 0; i < p->step_count; i++) {
        struct step *s = p->steps[i];

        s->limited = s->copies ? copy_is_limited(p->context, s->value) : spot_of(s->value)->limited;
    }
}

/* ---- order ---- */

/* Steps in an order in which each stands after those that write what it reads; otherwise as they
 * were made. */
static void order_steps(struct plan *p)
{
    struct context *c = p->context;
    struct step **sorted = NEW_ARRAY(&c->arena, p->step_count + 1, struct step *), **stack;
    int count = 0, depth = 0;

    stack = NEW_ARRAY(&c->arena, p->step_count + 1, struct step *);
    for (int i = 0; i < p->step_count; i++) {
        if (p->steps[i]->mark == 2)
            continue;
        stack[depth++] = p->steps[i];
        while (depth) {
            struct step *s = stack[depth - 1], *first = NULL;

            s->mark = 1;
            for (int r = 0; r < s->read_count && !first; r++) {
                struct step *writer = spot_of(s->reads[r])->step;

                if (writer && writer->mark == 1 && writer != s)
                    BUG(c, "steps wait for each other");
                if (writer && !writer->mark)
                    first = writer;
            }
            if (first) {
                stack[depth++] = first;
                continue;
            }
            s->mark = 2;
            depth--;
            sorted[count++] = s;
        }
    }
    for (int i = 0; i < count; i++)
        sorted[i]->number = i;
    p->steps = sorted;
    p->step_room = p->step_count + 1;
}

static void write_kernels(struct plan *p, struct compile_cache *cache)
{
    struct context *c = p->context;

    for (int i = 0; i < p->step_count; i++) {
        struct step *s = p->steps[i];

        context_poll(c);
        layer_write(p, s, cache);
        for (int k = 0; k < s->text->parameter_count; k++)
            if (s->text->parameters[k].kind == PARAMETER_BUFFER)
                APPEND(&c->arena, s->reads, s->read_count, s->read_room) =
                    s->text->parameters[k].value;
    }
}

struct plan *plan_graph(struct graph *g, struct compile_cache *cache)
{
    struct context *c = g->context;
    struct plan *p = NEW(&c->arena, struct plan);
    struct kernel *k;
    bool good;

    p->context = c;
    p->graph = g;
    for (int i = 0; i < g->value_count; i++)
        g->values[i]->plan = NULL;
    if (!mark_live(g))
        return NULL;
    assign_roles(p);
    k = kernel_planning(p);
    join_steps(p, k);
    store_where_cheaper(p, k);
    store_outputs(p);
    plan_ranges(p);
    good = place_inputs(p);
    for (int i = 0; i < g->output_count; i++)
        good = place_output(p, i) && good;
    if (!good)
        return NULL;
    limit_steps(p);
    report_excess(p);
    /* From the last to the first: a value's readers have their layouts before it. */
    for (int i = p->step_count; i-- > 0;) {
        struct step *s = p->steps[i];

        if (s->buffer < 0)
            good = place_inner(p, k, s) && good;
    }
    kernel_planning_free(k);
    if (!good)
        return NULL;
    for (int i = 0; i < p->step_count; i++) {
        struct step *s = p->steps[i];

        if (s->buffer < 0)
            spot_of(s->value)->buffer = s->buffer =
                buffer_new(p, BUFFER_INNER, 0, s->value, &s->layout);
    }
    write_kernels(p, cache);
    order_steps(p);
    plan_share(p);
    plan_buffers(p);
    return p;
}
