#include "daemon/compiler/operators/items.h"
#include "daemon/compiler/graph/accept.h"
#include "daemon/compiler/operators/operator.h"
#include <inttypes.h>
#include <string.h>

/* A walk over the graph. value->mark is not there to be had, so what depends on the batch is a
 * table by id. */
struct batch {
    struct graph *graph;
    int64_t items;
    bool *batched;   /* by value id: axis 0 is the batch */
    bool *silent;    /* by value id: nothing is said of what is computed from it */
    const char *why; /* of the last UNSURE or MIXES, NULL where its rule has no word for it … */
    const char *advice; /* … and what to do, NULL for the usual */
};

enum verdict { KEEPS, MIXES, UNSURE };

static bool is_batched(const struct batch *b, const struct value *v)
{
    return v && !v->constant && b->batched[v->id];
}

/* ---- one rule for each kind of operator ---- */

/* Axis 0 of operand i is, or would be by broadcasting, axis 0 of the output. */
static bool aligned(const struct node *n, int i)
{
    return n->inputs[i]->shape.axes == n->outputs[0]->shape.axes;
}

static bool equal_items_now(struct context *c, const struct value *v)
{
    struct arena *scratch = arena_child(&c->arena);
    const float *f = tensor_floats(c, v->constant, scratch);
    int64_t each = v->constant->count / v->shape.dim[0];
    bool equal = true;

    for (int64_t i = 1; equal && i < v->shape.dim[0]; i++)
        equal = !memcmp(f, f + i * each, (size_t)each * sizeof *f);
    arena_free(scratch);
    return equal;
}

/* All items of constant v (along axis 0) are equal, in every style. */
static bool equal_items(struct batch *b, struct value *v)
{
    struct context *c = b->graph->context;
    int style = c->style;
    bool equal = true;

    for (int s = 0; equal && s < (v->constant->varies ? c->styles : 1); s++) {
        c->style = v->constant->varies ? s : style;
        equal = equal_items_now(c, v);
    }
    c->style = style;
    return equal;
}

static enum verdict unsure(struct batch *b, const char *why, const char *advice)
{
    b->why = why;
    b->advice = advice;
    return UNSURE;
}

/* The first item of constant v, as a recipe; for node like, or NULL. */
static struct value *first_item(struct graph *g, struct value *v, const struct node *like)
{
    const int64_t zero = 0, one = 1;
    const struct operator* op = operator_get(g->context, "Slice");
    struct value *inputs[] = {v, graph_constant_ints(g, "", 1, &zero),
                              graph_constant_ints(g, "", 1, &one),
                              graph_constant_ints(g, "", 1, &zero)};
    struct node *slice = like ? graph_node_like(g, op, like, inputs, 4, 1)
                              : graph_node(g, op, v->name, inputs, 4, 1);

    infer_node(slice);
    return slice->outputs[0];
}

/* Operand slot has as many items as the batch and is no part of it: fine where it is a constant
 * whose items are all the same. */
static enum verdict same_for_all(struct batch *b, struct node *n, int slot)
{
    struct value *v = n->inputs[slot];
    struct arena *a = &b->graph->context->arena;

    if (!v->constant)
        return unsure(b, arena_printf(a, "its operand %s does not come from the batch", v->name),
                      NULL);
    if (!equal_items(b, v))
        return unsure(b, arena_printf(a, "its constant %s differs between the items", v->name),
                      NULL);
    node_set_input(n, slot, first_item(b->graph, v, n));
    return KEEPS;
}

static enum verdict elementwise(struct batch *b, struct node *n)
{
    for (int i = 0; i < n->input_count; i++) {
        struct value *v = n->inputs[i];

        if (!v)
            continue;
        if (is_batched(b, v)) {
            if (!aligned(n, i))
                return MIXES;
            continue;
        }
        if (!aligned(n, i) || v->shape.axes == 0 || v->shape.dim[0] == 1)
            continue;
        if (same_for_all(b, n, i) == UNSURE)
            return UNSURE;
    }
    return KEEPS;
}

/* The first operand alone may depend on the batch; the others are parameters. */
static enum verdict first_operand(struct batch *b, struct node *n)
{
    for (int i = 1; i < n->input_count; i++)
        if (is_batched(b, n->inputs[i]))
            return MIXES;
    return KEEPS;
}

static enum verdict along_axis(struct batch *b, struct node *n, int64_t otherwise)
{
    int axis = shape_axis(&n->inputs[0]->shape, node_int(n, "axis", otherwise));

    return axis == 0 ? MIXES : first_operand(b, n);
}

static enum verdict last_axis(struct batch *b, struct node *n)
{
    return along_axis(b, n, -1);
}

static enum verdict first_axis(struct batch *b, struct node *n)
{
    return along_axis(b, n, 0);
}

static enum verdict concat(struct batch *b, struct node *n)
{
    if (shape_axis(&n->outputs[0]->shape, node_int(n, "axis", 0)) == 0)
        return MIXES;
    for (int i = 0; i < n->input_count; i++)
        if (!is_batched(b, n->inputs[i]) && same_for_all(b, n, i) == UNSURE)
            return UNSURE;
    return KEEPS;
}

static enum verdict matmul(struct batch *b, struct node *n)
{
    for (int i = 0; i < 2; i++) {
        struct value *v = n->inputs[i];
        int axes = v->shape.axes;

        if (is_batched(b, v)) {
            /* A row of the first operand is an item too; a second operand of two axes is summed
             * over. */
            if (axes < 2 || !aligned(n, i) || (i == 1 && axes == 2))
                return MIXES;
        } else if (axes >= 3 && aligned(n, i) && v->shape.dim[0] != 1) {
            if (same_for_all(b, n, i) == UNSURE)
                return UNSURE;
        }
    }
    return KEEPS;
}

static enum verdict gemm(struct batch *b, struct node *n)
{
    struct value *c = node_input(n, 2);

    if (!is_batched(b, n->inputs[0]) || node_int(n, "transA", 0) || is_batched(b, n->inputs[1]))
        return MIXES;
    if (c && !is_batched(b, c) && c->shape.axes == 2 && c->shape.dim[0] != 1) {
        if (same_for_all(b, n, 2) == UNSURE)
            return UNSURE;
    }
    return c && is_batched(b, c) && !aligned(n, 2) ? MIXES : KEEPS;
}

static enum verdict reduction(struct batch *b, struct node *n)
{
    int count;
    const int64_t *axes = node_constant_ints(n, 1, &count);

    (void)b;
    if (!axes || !count)
        return node_int(n, "noop_with_empty_axes", 0) ? KEEPS : MIXES;
    for (int i = 0; i < count; i++)
        if (shape_axis(&n->inputs[0]->shape, axes[i]) == 0)
            return MIXES;
    return KEEPS;
}

static enum verdict listed_axes(struct batch *b, struct node *n)
{
    static const int64_t usual[] = {0, 2, 3};
    int count;
    const int64_t *axes = node_ints(n, "axes", &count);

    (void)b;
    if (!axes)
        axes = usual, count = 3;
    for (int i = 0; i < count; i++)
        if (shape_axis(&n->inputs[0]->shape, axes[i]) == 0)
            return MIXES;
    return KEEPS;
}

static enum verdict transpose(struct batch *b, struct node *n)
{
    int count;
    const int64_t *perm = node_ints(n, "perm", &count);

    (void)b;
    return perm ? (perm[0] ? MIXES : KEEPS) : n->inputs[0]->shape.axes > 1 ? MIXES : KEEPS;
}

/* The output's shape with one item, as constant input 1. */
static void reshape_to_item(struct node *n)
{
    struct shape s = n->outputs[0]->shape;

    s.dim[0] = 1;
    node_set_input(n, 1, graph_constant_ints(n->graph, "", s.axes, s.dim));
}

static enum verdict reshape(struct batch *b, struct node *n)
{
    if (n->outputs[0]->shape.axes < 1 || n->outputs[0]->shape.dim[0] != b->items)
        return MIXES;
    reshape_to_item(n);
    return KEEPS;
}

static enum verdict expand(struct batch *b, struct node *n)
{
    if (!aligned(n, 0) || n->outputs[0]->shape.dim[0] != b->items)
        return MIXES;
    reshape_to_item(n);
    return KEEPS;
}

static enum verdict flatten(struct batch *b, struct node *n)
{
    (void)b;
    return shape_axis(&n->inputs[0]->shape, node_int(n, "axis", 1)) == 1 ||
                   (node_int(n, "axis", 1) == n->inputs[0]->shape.axes &&
                    n->inputs[0]->shape.axes == 1)
               ? KEEPS
               : MIXES;
}

/* The axes that constant input 1 lists are axes of s. */
static enum verdict axes_of(struct batch *b, struct node *n, const struct shape *s)
{
    int count;
    const int64_t *axes = node_constant_ints(n, 1, &count);

    if (!axes)
        return unsure(b, "it has no axes", "Write the axes of the Squeeze in the export");
    for (int i = 0; i < count; i++)
        if (shape_axis(s, axes[i]) == 0)
            return MIXES;
    return KEEPS;
}

static enum verdict squeeze(struct batch *b, struct node *n)
{
    return axes_of(b, n, &n->inputs[0]->shape);
}

static enum verdict unsqueeze(struct batch *b, struct node *n)
{
    return axes_of(b, n, &n->outputs[0]->shape);
}

/* Slice, Pad, Tile …: items move where the length of axis 0 changes, or (reversed, shifted) where
 * asked to. */
static enum verdict keeps_length(struct batch *b, struct node *n)
{
    return n->outputs[0]->shape.dim[0] != b->items ? MIXES : first_operand(b, n);
}

/* An end counted in items would take too many of one. */
static enum verdict slice(struct batch *b, struct node *n)
{
    int count, steps;
    const int64_t *axes = node_constant_ints(n, 3, &count),
                  *step = node_constant_ints(n, 4, &steps);

    for (int i = 0; step && i < steps; i++)
        if (step[i] < 0 &&
            (!axes || i >= count ? i : shape_axis(&n->inputs[0]->shape, axes[i])) == 0)
            return MIXES;
    return keeps_length(b, n);
}

static enum verdict pad(struct batch *b, struct node *n)
{
    int count, listed = 0;
    const int64_t *pads = node_constant_ints(n, 1, &count),
                  *axes = node_input(n, 3) ? node_constant_ints(n, 3, &listed) : NULL;

    if (!axes && pads && count && pads[0])
        return MIXES;
    for (int i = 0; axes && pads && i < listed && i < count; i++)
        if (shape_axis(&n->inputs[0]->shape, axes[i]) == 0 && pads[i])
            return MIXES;
    return keeps_length(b, n);
}

/* The operands in slots (a set of bits) have the batch along axis 0, if they have it at all; the
 * others are parameters. */
static enum verdict carried(struct batch *b, struct node *n, unsigned slots)
{
    for (int i = 0; i < n->input_count; i++) {
        struct value *v = n->inputs[i];

        if (!v)
            continue;
        if (!(slots >> i & 1)) {
            if (is_batched(b, v))
                return MIXES;
            continue;
        }
        if (is_batched(b, v) || v->shape.axes < 1 || v->shape.dim[0] != b->items)
            continue;
        if (same_for_all(b, n, i) == UNSURE)
            return UNSURE;
    }
    return KEEPS;
}

static enum verdict all_carried(struct batch *b, struct node *n)
{
    return carried(b, n, ~0u);
}

/* Data, indices and updates along an axis. */
static enum verdict carried_along(struct batch *b, struct node *n)
{
    struct arena *a = &b->graph->context->arena;

    if (shape_axis(&n->inputs[0]->shape, node_int(n, "axis", 0)) == 0)
        return MIXES;
    /* Indices may be shorter than the data, and are no broadcast then. */
    for (int i = 0; i < n->input_count && i < 3; i++)
        if (n->inputs[i] && n->inputs[i]->shape.dim[0] != b->items)
            return unsure(
                b, arena_printf(a, "its operand %s has not as many items", n->inputs[i]->name),
                NULL);
    return carried(b, n, 7);
}

/* Weights and bias of a convolution with offsets and a mask. */
static enum verdict deform_conv(struct batch *b, struct node *n)
{
    return carried(b, n, 1 | 4 | 16);
}

/* Queries, keys, values, and what is cached; the mask broadcasts to [batch, heads, queries, keys].
 */
static enum verdict attention(struct batch *b, struct node *n)
{
    struct value *mask = node_input(n, 3);

    if (mask && mask->shape.axes < 4)
        return is_batched(b, mask) ? MIXES : carried(b, n, 1 | 2 | 4 | 16 | 32 | 64);
    return carried(b, n, 127);
}

/* Cosines and sines of a place in a table are no items. */
static enum verdict rotary(struct batch *b, struct node *n)
{
    return carried(b, n, node_input(n, 3) ? 1 | 8 : 7);
}

static enum verdict recurrent(struct batch *b, struct node *n)
{
    if (node_int(n, "layout", 0))
        return carried(b, n, 1 | 16 | 32 | 64);
    b->why = "for its steps go along that axis";
    b->advice = "Export with the batch first (batch_first)";
    return MIXES;
}

/* The matrices are those of the last two axes. */
static enum verdict matrices(struct batch *b, struct node *n)
{
    return n->inputs[0]->shape.axes < 3 ? MIXES : first_operand(b, n);
}

static enum verdict gather_nd(struct batch *b, struct node *n)
{
    return node_int(n, "batch_dims", 0) ? carried(b, n, 3) : UNSURE;
}

static enum verdict tensor_scatter(struct batch *b, struct node *n)
{
    return carried(b, n, 7);
}

static enum verdict reverse_sequence(struct batch *b, struct node *n)
{
    return node_int(n, "batch_axis", 1) == 0 ? carried(b, n, 3) : MIXES;
}

/* The axis is constant input slot. */
static enum verdict axis_input(struct batch *b, struct node *n, int slot, int64_t otherwise)
{
    int count;
    const int64_t *axis = node_input(n, slot) ? node_constant_ints(n, slot, &count) : NULL;

    if (node_input(n, slot) && !axis)
        return UNSURE;
    return shape_axis(&n->inputs[0]->shape, axis ? axis[0] : otherwise) == 0 ? MIXES
                                                                             : first_operand(b, n);
}

static enum verdict cumulative(struct batch *b, struct node *n)
{
    return axis_input(b, n, 1, 0);
}

static enum verdict dft(struct batch *b, struct node *n)
{
    return axis_input(b, n, 2, -2);
}

/* Numbers in constant input slot that say an extent for each axis: axis 0 is one item's. */
static enum verdict extents(struct batch *b, struct node *n, int slot)
{
    int count;
    const int64_t *given = node_constant_ints(n, slot, &count);
    int64_t one[MAX_AXES];

    if (!given || !count || count > MAX_AXES)
        return UNSURE;
    memcpy(one, given, (size_t)count * sizeof *one);
    if (one[0] != b->items)
        return MIXES;
    one[0] = 1;
    node_set_input(n, slot, graph_constant_ints(n->graph, "", count, one));
    return first_operand(b, n);
}

static enum verdict affine_grid(struct batch *b, struct node *n)
{
    return extents(b, n, 1);
}

static enum verdict crop(struct batch *b, struct node *n)
{
    int count;
    const int64_t *axes = node_ints(n, "axes", &count);

    if (!axes)
        return extents(b, n, 1);
    for (int i = 0; i < count; i++)
        if (shape_axis(&n->inputs[0]->shape, axes[i]) == 0)
            return UNSURE;
    return first_operand(b, n);
}

static enum verdict resize(struct batch *b, struct node *n)
{
    struct value *sizes = node_input(n, 3);

    if (n->outputs[0]->shape.dim[0] != b->items)
        return MIXES;
    if (sizes && sizes->shape.axes == 1 && sizes->shape.dim[0] && !node_find(n, "axes"))
        return extents(b, n, 3);
    return first_operand(b, n);
}

/* Along an axis that is not the first; flattened, items would meet. */
static enum verdict compress(struct batch *b, struct node *n)
{
    return node_find(n, "axis") ? along_axis(b, n, 0) : MIXES;
}

static enum verdict einsum(struct batch *b, struct node *n)
{
    const char *text = node_string(n, "equation", ""), *arrow = strstr(text, "->");
    char letter = 0;
    int operand = 0;
    bool fresh = true;

    /* The batch letter begins every batched operand and the output, and stands nowhere else. */
    if (!arrow)
        return UNSURE;
    for (const char *t = text; t < arrow; t++) {
        if (*t == ' ')
            continue;
        if (*t == '.')
            return UNSURE;
        if (*t == ',') {
            operand++;
            fresh = true;
            continue;
        }
        if (fresh && operand < n->input_count && is_batched(b, n->inputs[operand])) {
            if (letter && letter != *t)
                return MIXES;
            letter = *t;
        } else if (letter && *t == letter) {
            return UNSURE;
        }
        fresh = false;
    }
    arrow += 2;
    while (*arrow == ' ')
        arrow++;
    return letter && *arrow == letter ? KEEPS : MIXES;
}

/* In training it is the batch that is normalised. */
static enum verdict batch_norm(struct batch *b, struct node *n)
{
    if (!node_int(n, "training_mode", 0))
        return first_operand(b, n);
    b->why = "which it normalises as in training";
    b->advice = "Export the model for inference (PyTorch: model.eval())";
    return MIXES;
}

/* Classes that differ between items are constants that do. */
static enum verdict loss(struct batch *b, struct node *n)
{
    (void)b;
    return strcmp(node_string(n, "reduction", "mean"), "none") != 0 ? MIXES : UNSURE;
}

/* The new axis comes in front of the items, or behind them. */
static enum verdict one_hot(struct batch *b, struct node *n)
{
    return shape_axis(&n->outputs[0]->shape, node_int(n, "axis", -1)) == 0 ? MIXES
                                                                           : first_operand(b, n);
}

/* What there is no rule for. */
static enum verdict unknown(struct batch *b, struct node *n)
{
    (void)b;
    (void)n;
    return UNSURE;
}

/* By number in operator_rows(). */
static enum verdict (*const rules[])(struct batch *b, struct node *n) = {
#define OPERATOR(name, domain, since, until, min_in, max_in, min_out, max_out, functions, batch,   \
                 jumps, documentation)                                                             \
    batch,
#include "daemon/compiler/operators/operators.def"
#undef OPERATOR
};

/* ---- the graph of one item ---- */

static void shrink(struct batch *b)
{
    struct graph *g = b->graph;

    /* What the file records holds for the whole batch. */
    for (int i = 0; i < g->value_count; i++)
        g->values[i]->recorded = shape_unknown;
    for (int i = 0; i < g->output_count; i++)
        g->output_shapes[i] = shape_unknown;
    for (int i = 0; i < g->input_count; i++)
        if (is_batched(b, g->inputs[i]))
            g->inputs[i]->shape.dim[0] = 1;
    for (int i = 0; i < g->node_count; i++)
        if (!g->nodes[i]->removed)
            infer_node(g->nodes[i]);
    g->items = (int)b->items;
}

/* What of the graph its outputs depend on, by value id. */
static bool *find_wanted(const struct graph *g)
{
    bool *wanted = NEW_ARRAY(&g->context->arena, g->value_count + 1, bool);

    for (int i = 0; i < g->output_count; i++)
        wanted[g->outputs[i]->id] = true;
    for (int i = g->node_count; i-- > 0;) {
        const struct node *n = g->nodes[i];
        bool any = false;

        for (int o = 0; o < n->output_count; o++)
            any = any || (n->outputs[o] && wanted[n->outputs[o]->id]);
        for (int k = 0; any && !n->removed && k < n->input_count; k++)
            if (n->inputs[k])
                wanted[n->inputs[k]->id] = true;
    }
    return wanted;
}

/* Whether n is there to be judged: it reads the batch, and something that is no constant is wanted
 * of it. */
static bool is_concerned(const struct batch *b, const struct node *n, const bool *wanted)
{
    bool reads = false, gives = false;

    for (int k = 0; k < n->input_count; k++)
        reads = reads || is_batched(b, n->inputs[k]);
    for (int o = 0; o < n->output_count; o++)
        gives = gives || (n->outputs[o] && !n->outputs[o]->constant && wanted[n->outputs[o]->id]);
    return reads && gives && !n->removed;
}

/* Whether a fault that was reported before keeps n from being judged. */
static bool is_hushed(const struct batch *b, const struct node *n)
{
    bool hushed = !n->op;

    for (int k = 0; k < n->input_count; k++) {
        const struct value *v = n->inputs[k];

        hushed = hushed || (v && (v->poisoned || !v->type || !shape_known(&v->shape) ||
                                  (!v->constant && b->silent[v->id])));
    }
    for (int o = 0; o < n->output_count; o++)
        hushed = hushed || (n->outputs[o] &&
                            (n->outputs[o]->poisoned || !shape_known(&n->outputs[o]->shape)));
    return hushed;
}

static void report(struct batch *b, const struct node *n, enum verdict verdict)
{
    struct context *c = b->graph->context;
    struct place place = node_place(n);

    if (verdict == MIXES && b->why)
        diagnose(
            c, &place, TUKI0129,
            arena_printf(&c->arena, "%s, or: %s", b->advice, diagnostic_info(TUKI0129)->advice),
            "it mixes the %" PRId64 " items of the batch (axis 0), %s", b->items, b->why);
    else if (verdict == MIXES)
        diagnose(c, &place, TUKI0129, NULL, "it mixes the %" PRId64 " items of the batch (axis 0)",
                 b->items);
    else if (b->why)
        diagnose(c, &place, TUKI0131,
                 b->advice ? arena_printf(&c->arena, "%s, or: %s", b->advice,
                                          diagnostic_info(TUKI0131)->advice)
                           : NULL,
                 "%s, so it cannot be told whether it computes each of the %" PRId64
                 " items of the batch on its own",
                 b->why, b->items);
    else
        diagnose(c, &place, TUKI0131, NULL,
                 "it cannot be told whether it computes each of the %" PRId64
                 " items of the batch on its own",
                 b->items);
}

/* false: something was reported. */
static bool judge_layers(struct batch *b)
{
    struct graph *g = b->graph;
    int count = g->node_count;
    const bool *wanted = find_wanted(g);
    bool good = true;

    for (int i = 0; i < count; i++) {
        struct node *n = g->nodes[i];
        enum verdict verdict;

        if (is_hushed(b, n)) {
            for (int o = 0; o < n->output_count; o++)
                if (n->outputs[o])
                    b->silent[n->outputs[o]->id] = true;
            continue;
        }
        if (!is_concerned(b, n, wanted))
            continue;
        for (int o = 0; o < n->output_count; o++)
            if (n->outputs[o])
                b->batched[n->outputs[o]->id] = true;
        b->why = b->advice = NULL;
        verdict = rules[n->op - operator_rows()](b, n);
        if (verdict == KEEPS)
            continue;
        report(b, n, verdict);
        good = false;
        /* Reported once: what follows is judged as if this layer were fine only where its shape
         * still fits. */
        for (int o = 0; o < n->output_count; o++)
            if (n->outputs[o] &&
                (n->outputs[o]->shape.axes < 1 || n->outputs[o]->shape.dim[0] != b->items))
                b->batched[n->outputs[o]->id] = false;
    }
    return good;
}

/* Each item has outputs of its own, so what they show has to be one item's. false: reported. */
static bool judge_outputs(struct batch *b)
{
    struct graph *g = b->graph;
    bool good = true;

    for (int i = 0; i < g->output_count; i++) {
        struct value *v = g->outputs[i];
        struct place place = {.kind = PLACE_OUTPUT, .index = i, .layer = g->output_names[i]};
        bool items = v->shape.axes > 0 && v->shape.dim[0] == b->items;

        if (!v->constant || v->poisoned || !shape_known(&v->shape) || v->type != TYPE_FLOAT32)
            continue;
        if (items && v->constant->count && equal_items(b, v)) {
            struct value *one = first_item(g, v, NULL);

            v->output_count--;
            one->output_count++;
            g->outputs[i] = one;
            continue;
        }
        diagnose(g->context, &place, TUKI0131, NULL,
                 items ? "it is a constant that differs between the %" PRId64 " items of the batch"
                       : "it is a constant, no part of any of the %" PRId64 " items of the batch",
                 b->items);
        good = false;
    }
    return good;
}

void split_items(struct graph *g)
{
    struct context *c = g->context;
    struct batch b = {.graph = g, .items = 1};
    bool faulty = c->diagnostics.errors > 0;

    g->items = 1;
    b.batched = NEW_ARRAY(&c->arena, g->value_count + 1, bool);
    b.silent = NEW_ARRAY(&c->arena, g->value_count + 1, bool);
    for (int i = 0; i < g->input_count; i++) {
        struct value *v = g->inputs[i];

        /* A weight is one row; passes may have made another input look like one. */
        if ((!v->reader_count && !v->output_count) || v->poisoned || v->shape.axes < 2 ||
            (v->shape.dim[0] == 1 && value_is_weight(v)))
            continue;
        b.items = v->shape.dim[0];
        b.batched[v->id] = true;
    }
    if (b.items < 2)
        return;
    if (judge_layers(&b) & judge_outputs(&b) && !faulty)
        shrink(&b);
}
