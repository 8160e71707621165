#include "daemon/compiler/graph/accept.h"
#include "daemon/compiler/graph/advice.h"
#include "daemon/compiler/operators/operator.h"
#include <string.h>

enum { LARGEST_BATCH = 16 };

static struct place input_place(const struct value *v)
{
    return (struct place){.kind = PLACE_INPUT, .index = v->input, .layer = v->name};
}

/* ---- what the numbers of a value come from ---- */

/* For each value, by id: the first model input whose numbers (its shape or type alone do not count)
 * it is computed from, -1 if none. Before shapes are known. */
static int *sources_new(const struct graph *g, struct arena *scratch)
{
    int *sources = NEW_ARRAY(scratch, g->value_count, int);

    for (int i = 0; i < g->value_count; i++)
        sources[i] = g->values[i]->input;
    return sources;
}

static void trace(int *sources, const struct node *n)
{
    int count = node_called(n, "CastLike") ? 1 : n->input_count, source = -1;

    if (!infer_shape_only(n))
        for (int i = 0; i < count && source < 0; i++)
            if (n->inputs[i])
                source = sources[n->inputs[i]->id];
    for (int i = 0; i < n->output_count; i++)
        if (n->outputs[i])
            sources[n->outputs[i]->id] = source;
}

static const char *const quantisers[] = {
    "QuantizeLinear", "DynamicQuantizeLinear", "QLinearConv", "QLinearMatMul",
    "ConvInteger",    "MatMulInteger",         NULL,
};

bool graph_quantised(const struct graph *g)
{
    struct arena *scratch = arena_child(&g->context->arena);
    int *sources = sources_new(g, scratch);
    bool quantised = false;

    for (int i = 0; i < g->node_count && !quantised; i++) {
        const struct node *n = g->nodes[i];

        trace(sources, n);
        if (node_called_one_of(n, quantisers))
            for (int k = 0; k < n->input_count && !quantised; k++)
                quantised = n->inputs[k] && sources[n->inputs[k]->id] >= 0;
        else if (node_called(n, "DequantizeLinear"))
            quantised = n->input_count && n->inputs[0] && sources[n->inputs[0]->id] >= 0;
    }
    arena_free(scratch);
    return quantised;
}

/* ---- token ids ---- */

static bool is_token_type(enum element_type type)
{
    return type == TYPE_INT32 || type == TYPE_INT64;
}

/* What follows a value that may be token ids: found says whether a Gather reads it, the result
 * whether nothing else does; where a layer does, it is *other. Chains of Cast and Reshape are
 * walked with a list of our own. */
static bool only_indices(const struct value *v, bool *found, const struct node **other)
{
    struct context *c = v->reader_count ? v->readers[0]->graph->context : NULL;
    struct arena *scratch = c ? arena_child(&c->arena) : NULL;
    const struct value **list = NULL;
    int count = 0, room = 0;
    bool only = !v->output_count;

    *found = false;
    *other = NULL;
    if (!scratch)
        return false;
    APPEND(scratch, list, count, room) = v;
    for (int next = 0; next < count; next++) {
        const struct value *at = list[next];

        only &= !at->output_count;
        for (int i = 0; i < at->reader_count; i++) {
            const struct node *n = at->readers[i];
            const struct value *out = node_output(n, 0);
            int64_t to = node_int(n, "to", 0);

            if (node_called(n, "Gather") && node_input(n, 1) == at && node_input(n, 0) != at)
                *found = true;
            else if (node_called(n, "Identity") ||
                     (node_called(n, "Reshape") && node_input(n, 0) == at) ||
                     (node_called(n, "Cast") && (to == TYPE_INT32 || to == TYPE_INT64))) {
                if (out)
                    APPEND(scratch, list, count, room) = out;
            } else if (!infer_shape_only(n)) {
                only = false;
                *other = *other ? *other : n;
            }
        }
    }
    arena_free(scratch);
    return only;
}

bool value_is_tokens(const struct value *v)
{
    const struct node *other;
    bool found;

    return is_token_type(v->type) && only_indices(v, &found, &other) && found;
}

bool value_carries_tokens(const struct value *v)
{
    const struct node *n = v->producer;
    const struct value *in = n ? node_input(n, 0) : NULL;

    if (!in || !is_token_type(v->type) ||
        !(node_called(n, "Cast") || node_called(n, "Reshape") || node_called(n, "Identity")))
        return false;
    while (in && in->producer)
        in = node_input(in->producer, 0);
    return in && in->input >= 0 && value_is_tokens(in);
}

/* ---- inputs ---- */

static const char *const weight_views[] = {
    "Transpose", "Reshape", "Identity", "Squeeze", "Unsqueeze", "Flatten", NULL,
};

/* R2: every reader, through views, takes it as the second operand of a product. */
bool value_is_weight(const struct value *v)
{
    struct context *c = v->reader_count ? v->readers[0]->graph->context : NULL;
    struct arena *scratch = c ? arena_child(&c->arena) : NULL;
    const struct value **list = NULL;
    int count = 0, room = 0;
    bool only = scratch && !v->output_count;

    if (scratch)
        APPEND(scratch, list, count, room) = v;
    for (int next = 0; only && next < count; next++)
        for (int i = 0; only && i < list[next]->reader_count; i++) {
            const struct node *n = list[next]->readers[i];
            const struct value *out = node_output(n, 0);

            if ((node_called(n, "MatMul") || node_called(n, "Gemm")) &&
                node_input(n, 1) == list[next] && node_input(n, 0) != list[next])
                continue;
            if (node_called_one_of(n, weight_views) && node_input(n, 0) == list[next] && out &&
                !out->output_count)
                APPEND(scratch, list, count, room) = out;
            else
                only = false;
        }
    if (scratch)
        arena_free(scratch);
    return only;
}

/* Types of results are not known yet, but for this. */
static bool makes_integers(const struct node *n)
{
    int64_t to = node_int(n, "to", 0);

    return node_called(n, "Cast") && (to == TYPE_INT32 || to == TYPE_INT64);
}

/* A fault of a layer claims model inputs that v is computed from: they get no code of their own.
 * Those of other types than float32 are claimed however far away they are, a float32 one only where
 * v is it. So are Casts to integers on the way: that there are any is no other fault. */
struct claims {
    int *sources;
    bool *seen; /* values that were walked already, by id */
    struct arena *scratch;
};

static void claim(struct claims *k, struct value *v)
{
    struct value **list = NULL;
    int count = 0, room = 0;

    APPEND(k->scratch, list, count, room) = v;
    for (int next = 0; next < count; next++) {
        struct value *at = list[next];

        if (at->input >= 0 && (at->type != TYPE_FLOAT32 || at == v))
            at->poisoned = true;
        if (at->producer && makes_integers(at->producer))
            at->poisoned = true;
        if (k->seen[at->id] || !at->producer || k->sources[at->id] < 0)
            continue;
        k->seen[at->id] = true;
        for (int i = 0; i < at->producer->input_count; i++)
            if (at->producer->inputs[i] && k->sources[at->producer->inputs[i]->id] >= 0)
                APPEND(k->scratch, list, count, room) = at->producer->inputs[i];
    }
}

static const struct {
    const char *op;
    int slot;
} convolution_weights[] = {
    {"Conv", 1}, {"ConvTranspose", 1}, {"DeformConv", 1}, {"ConvInteger", 1}, {"QLinearConv", 3}};

static bool is_convolution_weight(const struct node *n, int slot)
{
    for (size_t i = 0; i < sizeof convolution_weights / sizeof *convolution_weights; i++)
        if (convolution_weights[i].slot == slot && node_called(n, convolution_weights[i].op))
            return true;
    return false;
}

/* Whether that input of n is to be constant and is not. quiet: it claims its inputs, and n was
 * reported already. */
static bool check_slot(struct claims *k, struct node *n, int slot, bool quiet)
{
    struct graph *g = n->graph;
    struct value *v = node_input(n, slot);
    struct place place = node_place(n);
    const char *shape_like = infer_shape_like(n, slot);

    if (!v || k->sources[v->id] < 0 || (!shape_like && !is_convolution_weight(n, slot)))
        return false;
    claim(k, v);
    if (quiet)
        return true;
    if (shape_like)
        diagnose(g->context, &place, TUKI0116, NULL, INFER_DEPENDS, shape_like,
                 g->inputs[k->sources[v->id]]->name);
    else if (v->input >= 0)
        diagnose(g->context, &place, TUKI0119,
                 "Export the convolution with constant weights (PyTorch: export_params=True, "
                 "do_constant_folding=True)",
                 "its weights are the model input %s", v->name);
    else
        diagnose(g->context, &place, TUKI0119,
                 "Export the convolution with constant weights; what scales them when the model "
                 "runs may scale its input or its output instead",
                 "its weights %s are computed when the model runs%s", v->name,
                 v->producer ? arena_printf(&g->context->arena, ", by %s",
                                            node_title(v->producer, &g->context->arena))
                             : "");
    node_poison(n);
    return true;
}

/* Layers in order; what reads a reported one hears nothing of the inputs behind it. */
static void check_layers(struct graph *g, struct arena *scratch)
{
    struct claims k = {sources_new(g, scratch), NEW_ARRAY(scratch, g->value_count, bool), scratch};

    for (int i = 0; i < g->node_count; i++) {
        struct node *n = g->nodes[i];
        bool reported = false;

        trace(k.sources, n);
        for (int slot = 0; slot < n->input_count; slot++)
            reported |= check_slot(&k, n, slot, reported);
        for (int o = 0; reported && o < n->output_count; o++)
            if (n->outputs[o])
                k.sources[n->outputs[o]->id] = -1;
    }
}

/* "axis 2", "axes 0, 2 and 3" */
static const char *axes_text(struct arena *a, const bool *which, int axes)
{
    struct strbuf s;
    int total = 0, said = 0;

    for (int i = 0; i < axes; i++)
        total += which[i];
    strbuf_init(&s, a);
    strbuf_add(&s, total > 1 ? "axes " : "axis ");
    for (int i = 0; i < axes; i++)
        if (which[i]) {
            if (said)
                strbuf_add(&s, said == total - 1 ? " and " : ", ");
            strbuf_printf(&s, "%d", i);
            said++;
        }
    return s.text;
}

struct inputs {
    struct graph *graph;
    bool quantised;
    int64_t batch;           /* of the first input that has one; 0: none yet */
    const struct value *own; /* … and that input */
    int images;              /* inputs of an 8-bit model that were read so far */
};

/* The first code that applies to v, with its text, and with advice where the usual one does not
 * fit; 0 for none. Poisoned ones have theirs. */
static enum diagnostic_code judge(struct inputs *in, const struct value *v, const char **detail,
                                  const char **advice)
{
    struct arena *a = &in->graph->context->arena;
    const struct shape *s = &v->shape;
    bool weight = !in->quantised && value_is_weight(v), found = false, open[MAX_AXES] = {false};
    const struct node *other = NULL;
    bool tokens =
        !in->quantised && is_token_type(v->type) && only_indices(v, &found, &other) && found;
    int unknown = 0;

    if (found && ((s->axes == 2 && s->dim[0] > 1) || in->batch > 1)) {
        *detail = arena_printf(a, "token ids with a batch of %lld",
                               (long long)(s->axes == 2 && s->dim[0] > 1 ? s->dim[0] : in->batch));
        return TUKI0132;
    }
    if (v->type != TYPE_FLOAT32 && !tokens &&
        !(in->quantised && (v->type == TYPE_UINT8 || v->type == TYPE_INT8))) {
        *detail =
            arena_printf(a, "its elements are %s%s%s", type_name(v->type),
                         is_token_type(v->type) && !in->quantised
                             ? ", as only token ids that Gather reads may be"
                             : "",
                         other ? arena_printf(a, ", and %s reads them", node_title(other, a)) : "");
        *advice = advice_input_type(v->type, other);
        return TUKI0115;
    }
    if (s->axes < 0) {
        *detail = "its shape is not recorded";
        return TUKI0112;
    }
    for (int i = 0; i < s->axes; i++)
        unknown += open[i] = s->dim[i] < 0;
    if (unknown) {
        *detail = arena_printf(a, "%s %s no fixed length", axes_text(a, open, s->axes),
                               unknown > 1 ? "have" : "has");
        return TUKI0112;
    }
    if (in->quantised && in->images > 0) {
        *detail = "a second input, which an 8-bit model must not have";
        *advice = "Export an 8-bit model with one input";
        return TUKI0114;
    }
    if (in->quantised ? s->axes != 4
        : tokens      ? s->axes < 1 || s->axes > 2
                      : s->axes < 2 || s->axes > 4) {
        *detail = arena_printf(a, "it has %d %s %s, and %s are accepted", s->axes,
                               s->axes == 1 ? "axis" : "axes", shape_text(a, s),
                               in->quantised ? "4"
                               : tokens      ? "1 or 2"
                                             : "2 to 4");
        if (!tokens)
            *advice = advice_axes(a, s, in->batch, in->quantised);
        return TUKI0114;
    }
    if (weight && shape_product(s, 0, s->axes - 1) != 1) {
        *detail = arena_printf(a, "it is read only as weights and has %lld rows %s instead of one",
                               (long long)shape_product(s, 0, s->axes - 1), shape_text(a, s));
        *advice = "Export the weights as a constant (PyTorch: export_params=True), or as one row";
        return TUKI0114;
    }
    for (int i = 1; i < s->axes; i++)
        if (!s->dim[i]) {
            *detail = arena_printf(a, "its axis %d has no elements %s", i, shape_text(a, s));
            *advice = "Export with a shape that has elements";
            return TUKI0114;
        }
    if (weight || (tokens && s->axes == 1))
        return 0;
    if (s->dim[0] < 1 || s->dim[0] > LARGEST_BATCH) {
        *detail = arena_printf(a, "its batch (axis 0) is %lld, and 1 to %d are accepted",
                               (long long)s->dim[0], LARGEST_BATCH);
        if (in->batch == 1)
            *advice = advice_batch(a, v);
        return TUKI0130;
    }
    if (in->own && s->dim[0] != in->batch) {
        *detail = arena_printf(a, "its batch (axis 0) is %lld, and that of input %s is %lld",
                               (long long)s->dim[0], in->own->name, (long long)in->batch);
        if (in->batch == 1 || s->dim[0] == 1)
            *advice = advice_batch(a, in->batch == 1 ? v : in->own);
        return TUKI0130;
    }
    return 0;
}

/* The batch of the model, which token ids are held against wherever they stand. */
static void find_batch(struct inputs *in)
{
    for (int i = 0; i < in->graph->input_count && !in->own; i++) {
        const struct value *v = in->graph->inputs[i];

        if (v->read && !v->poisoned && v->type == TYPE_FLOAT32 && v->shape.axes >= 2 &&
            v->shape.axes <= 4 && v->shape.dim[0] >= 1 && v->shape.dim[0] <= LARGEST_BATCH &&
            !value_is_weight(v)) {
            in->own = v;
            in->batch = v->shape.dim[0];
        }
    }
}

void accept_inputs(struct graph *g)
{
    struct context *c = g->context;
    struct arena *scratch = arena_child(&c->arena);
    struct inputs in = {.graph = g, .quantised = graph_quantised(g)};

    for (int i = 0; i < g->input_count; i++)
        g->inputs[i]->read = g->inputs[i]->reader_count > 0;
    check_layers(g, scratch);
    find_batch(&in);
    for (int i = 0; i < g->input_count; i++) {
        struct value *v = g->inputs[i];
        struct place place = input_place(v);
        const char *detail = "", *advice = NULL;
        enum diagnostic_code code;

        if (!v->read && !v->output_count)
            continue;
        if (!v->poisoned && (code = judge(&in, v, &detail, &advice)) != 0) {
            diagnose(c, &place, code, advice, "%s", detail);
            v->poisoned = true;
        }
        in.images++;
    }
    arena_free(scratch);
}

void accept_unread(struct graph *g)
{
    for (int i = 0; i < g->input_count; i++) {
        struct value *v = g->inputs[i];
        struct place place = input_place(v);

        if (v->read && !v->reader_count && !v->output_count && !v->poisoned)
            diagnose(g->context, &place, TUKI0118, NULL,
                     "a layer reads it, but nothing of it is left in the result");
    }
}
