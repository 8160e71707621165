/*
 * Types and shapes of a whole graph, and with them what is known before anything runs.
 *
 * Recorded shapes are claims: they only help where inference finds nothing, and for the operators
 * whose shape comes from constant inputs they are compared (R6). A value of which a fault was
 * reported is poisoned, and whoever reads it keeps quiet; the silence ends where a reader's own
 * result is a float32 value of known shape again, so that one fault does not hide the next.
 */
#include "daemon/compiler/operators/operator.h"
#include "daemon/compiler/operators/types.h"
#include <stdarg.h>
#include <string.h>

static const struct {
    const char *op;
    int slot;
    const char *name;
} shape_like[] = {
#define SHAPE_LIKE(op, slot, name) {#op, slot, name},
#include "daemon/compiler/operators/shapelike.def"
#undef SHAPE_LIKE
};
enum { SHAPE_LIKE_COUNT = sizeof shape_like / sizeof *shape_like };

/* R6: what these record must be what they compute. Resize counts where it is nearest. */
static const char *const recorded_must_fit[] = {
    "Reshape", "Squeeze", "Unsqueeze", "Flatten", "Expand", "Tile", "Slice", "Split", "Resize",
};

/* Their result depends on their input's shape alone. */
static const char *const shape_only[] = {"Shape", "Size", "EyeLike"};

/* More bytes than this are never made into one constant. */
#define LARGEST_CONSTANT ((int64_t)1 << 40)

static bool is_standard(const struct node *n, const char *op)
{
    return !*n->domain && !strcmp(n->op_type, op);
}

bool infer_shape_only(const struct node *n)
{
    for (size_t i = 0; i < sizeof shape_only / sizeof *shape_only; i++)
        if (is_standard(n, shape_only[i]))
            return true;
    return false;
}

const char *infer_shape_like(const struct node *n, int slot)
{
    if (*n->domain)
        return NULL;
    for (int i = 0; i < SHAPE_LIKE_COUNT; i++)
        if (shape_like[i].slot == slot && !strcmp(shape_like[i].op, n->op_type))
            return shape_like[i].name;
    return NULL;
}

static bool reads_poison(const struct node *n)
{
    for (int i = 0; i < n->input_count; i++)
        if (n->inputs[i] && n->inputs[i]->poisoned)
            return true;
    return false;
}

static bool gives_poison(const struct node *n)
{
    for (int i = 0; i < n->output_count; i++)
        if (n->outputs[i] && n->outputs[i]->poisoned)
            return true;
    return false;
}

void node_poison(struct node *n)
{
    for (int i = 0; i < n->output_count; i++)
        if (n->outputs[i])
            n->outputs[i]->poisoned = true;
}

/* Reports unless silence is due; poisons in any case. */
static void fault_advise(struct node *n, enum diagnostic_code code, const char *advice,
                         const char *detail)
{
    struct place place = node_place(n);

    if (!reads_poison(n) && !gives_poison(n))
        diagnose(n->graph->context, &place, code, advice, "%s", detail);
    node_poison(n);
}

static void fault(struct node *n, enum diagnostic_code code, const char *detail)
{
    fault_advise(n, code, NULL, detail);
}

static void undefined(struct node *n, const char *advice, const char *detail, va_list arguments)
{
    struct strbuf text;

    strbuf_init(&text, &n->graph->context->arena);
    strbuf_vprintf(&text, detail, arguments);
    fault_advise(n, TUKI0106, advice, text.text);
}

void infer_fault(struct node *n, const char *detail, ...)
{
    va_list arguments;

    va_start(arguments, detail);
    undefined(n, NULL, detail, arguments);
    va_end(arguments);
}

void infer_advise(struct node *n, const char *advice, const char *detail, ...)
{
    va_list arguments;

    va_start(arguments, detail);
    undefined(n, advice, detail, arguments);
    va_end(arguments);
}

void infer_output(struct node *n, int i, enum element_type type, const struct shape *shape)
{
    if (i >= n->output_count || !n->outputs[i])
        return;
    n->outputs[i]->type = type;
    n->outputs[i]->shape = *shape;
}

int infer_axis(struct node *n, const struct shape *s, int64_t axis)
{
    int found = shape_axis(s, axis);

    if (found < 0 && s->axes >= 0)
        infer_fault(n, "axis %lld lies outside %s", (long long)axis,
                    shape_text(&n->graph->context->arena, s));
    return found;
}

static const char *input_name(const struct graph *g, int input)
{
    while (g->outer)
        g = g->outer;
    return input >= 0 && input < g->input_count ? g->inputs[input]->name : "";
}

void infer_depends(struct node *n, int slot)
{
    struct value *v = node_input(n, slot);
    const char *name = infer_shape_like(n, slot);
    struct arena *a = &n->graph->context->arena;
    int source = v ? value_source(v) : -1;

    if (source >= 0)
        fault(n, TUKI0116,
              arena_printf(a, INFER_DEPENDS, name ? name : arena_printf(a, "input %d", slot),
                           input_name(n->graph, source)));
    else
        fault(n, TUKI0116,
              arena_printf(a, "it computes its %s when the model runs",
                           name ? name : arena_printf(a, "input %d", slot)));
}

/* Number of inputs and outputs, required ones present. */
static bool arity_fits(struct node *n)
{
    const struct operator* op = n->op;

    if (n->input_count < op->min_inputs ||
        (op->max_inputs >= 0 && n->input_count > op->max_inputs)) {
        infer_fault(n, "it has %d inputs, which %s does not take", n->input_count, n->op_type);
        return false;
    }
    if (op->max_outputs >= 0 && n->output_count > op->max_outputs) {
        infer_fault(n, "it has %d outputs, which %s does not give", n->output_count, n->op_type);
        return false;
    }
    for (int i = 0; i < op->min_inputs; i++)
        if (!n->inputs[i]) {
            infer_fault(n, "its input %d is left out", i);
            return false;
        }
    return true;
}

/* Inferred first; the record fills what is still open. */
static void complete_from_record(struct value *v)
{
    if (v->shape.axes < 0)
        v->shape = v->recorded;
    else if (v->shape.axes == v->recorded.axes)
        for (int i = 0; i < v->shape.axes; i++)
            if (v->shape.dim[i] < 0)
                v->shape.dim[i] = v->recorded.dim[i];
}

static bool complete(const struct value *v)
{
    return v->type && shape_known(&v->shape);
}

/* Where a shape is already open before n, whoever left it open has answered for it (or it is the
 * model's input, which accept_inputs() looks at, and `optimize` does not mind). */
static bool inputs_complete(const struct node *n)
{
    for (int i = 0; i < n->input_count; i++)
        if (n->inputs[i] && !complete(n->inputs[i]))
            return false;
    return true;
}

/* R6. */
static void compare_with_record(struct node *n)
{
    struct graph *g = n->graph;
    struct arena *a = &g->context->arena;
    bool compared = false;

    for (size_t i = 0; i < sizeof recorded_must_fit / sizeof *recorded_must_fit; i++)
        compared |= is_standard(n, recorded_must_fit[i]);
    if (!compared || strcmp(node_string(n, "mode", "nearest"), "nearest"))
        return;
    for (int i = 0; i < n->output_count; i++) {
        struct value *v = n->outputs[i];
        const struct shape *record;

        if (!v || v->poisoned || v->constant)
            continue;
        record = &v->recorded;
        for (int k = 0; v->output_count && k < g->output_count; k++)
            if (g->outputs[k] == v && g->output_shapes &&
                shape_contradicts(&g->output_shapes[k], &v->shape))
                record = &g->output_shapes[k];
        if (shape_contradicts(record, &v->shape))
            fault(n, TUKI0117,
                  arena_printf(a, "its output %s has the shape %s, and the model records %s",
                               v->name, shape_text(a, &v->shape), shape_text(a, record)));
    }
}

/* What says how long, where or in which order is one list, or a single number. */
static bool lists_fit(struct node *n)
{
    for (int i = 0; i < n->input_count; i++) {
        const char *name = infer_shape_like(n, i);
        const struct value *v = n->inputs[i];

        if (!name || !v || v->shape.axes < 2)
            continue;
        infer_advise(n, "Make it a list of one axis in the export",
                     "its %s has the shape %s instead of one axis", name,
                     shape_text(&n->graph->context->arena, &v->shape));
        return false;
    }
    return true;
}

static enum element_type declared_type(const struct value *v)
{
    const struct graph *g = v->producer->graph;

    for (int k = 0; v->output_count && g->output_types && k < g->output_count; k++)
        if (g->outputs[k] == v && g->output_types[k] && g->output_types[k] != v->type)
            return g->output_types[k];
    return v->recorded_type ? v->recorded_type : v->type;
}

/* Constants of different types, which meet in the type that holds more, give the type that the
 * file says (O3). */
static void cast_to_declared(struct node *n)
{
    struct graph *g = n->graph;
    struct value *v = n->outputs[0], *own;
    enum element_type to = v ? declared_type(v) : TYPE_UNKNOWN;
    struct node *cast;

    if (!v || v->constant || to == v->type || !type_bits(to) || !type_bits(v->type) ||
        !types_meet(n))
        return;
    own = graph_value(g, v->name, v->type, &v->shape);
    own->producer = n;
    n->outputs[0] = own;
    cast = graph_node_like(g, operator_get(g->context, "Cast"), n, &own, 1, 1);
    cast->outputs[0] = v;
    v->producer = cast;
    v->type = to;
    node_set_int(cast, "to", to);
    g->node_count--;
    graph_splice(g, n, &cast, 1);
}

/* The types that the file records are claims, too. */
static void compare_types(struct node *n)
{
    for (int i = 0; i < n->output_count; i++) {
        const struct value *v = n->outputs[i];

        if (v && !v->poisoned && declared_type(v) != v->type)
            fault_advise(n, TUKI0106, "Run shape inference on the model and save it again",
                         arena_printf(&n->graph->context->arena,
                                      "its output %s is %s, and the model records %s", v->name,
                                      type_name(v->type), type_name(declared_type(v))));
    }
}

/* Shape and Size know their result as soon as the shape is known. */
static bool known_from_shape(struct node *n)
{
    struct value *in = node_input(n, 0), *out = n->output_count ? n->outputs[0] : NULL;
    struct context *c = n->graph->context;
    struct shape shape = {.axes = 0};
    struct tensor *t;
    void *data;

    if (!in || !out || out->constant || in->poisoned || !shape_known(&in->shape))
        return false;
    if (is_standard(n, "Size")) {
        int64_t count = shape_count(&in->shape);

        if (count < 0)
            return false;
        t = tensor_new(&c->arena, TYPE_INT64, &shape, &data);
        memcpy(data, &count, sizeof count);
    } else if (is_standard(n, "Shape")) {
        int64_t start = node_int(n, "start", 0), end = node_int(n, "end", in->shape.axes);
        int axes = in->shape.axes;

        start = start < -axes ? 0 : start < 0 ? start + axes : start > axes ? axes : start;
        end = end < -axes ? 0 : end < 0 ? end + axes : end > axes ? axes : end;
        shape.axes = 1;
        shape.dim[0] = end > start ? end - start : 0;
        t = tensor_new(&c->arena, TYPE_INT64, &shape, &data);
        if (shape.dim[0])
            memcpy(data, in->shape.dim + start, t->bytes);
    } else {
        return false;
    }
    out->type = t->type;
    out->shape = t->shape;
    out->constant = t;
    return true;
}

/* EyeLike and its kind: zeros of the same shape stand in for the input, so that they are over
 * constants. */
static void read_shape_alone(struct node *n)
{
    struct value *in = node_input(n, 0);
    struct tensor *t;
    void *data;

    if (!in || in->constant || in->poisoned || !complete(in) || !infer_shape_only(n))
        return;
    int64_t bytes = tensor_payload(in->type, shape_count(&in->shape));
    if (bytes < 0 || bytes > 1 << 20)
        return;
    t = tensor_new(&n->graph->context->arena, in->type, &in->shape, &data);
    node_set_input(n, 0, graph_constant(n->graph, in->name, t));
}

/* CastLike reads the type of its second input alone: it is a Cast, and over constants if its first
 * input is one. */
static void read_type_alone(struct node *n)
{
    const struct value *like = node_input(n, 1);

    if (!is_standard(n, "CastLike") || !like || !like->type || like->poisoned)
        return;
    node_set_int(n, "to", like->type);
    node_set_input(n, 1, NULL);
    n->input_count = 1;
    n->op = operator_get(n->graph->context, "Cast");
    n->op_type = n->op->name;
}

static bool has_body(const struct node *n)
{
    for (int i = 0; i < n->attribute_count; i++)
        if (n->attributes[i].type == ATTRIBUTE_GRAPH)
            return true;
    return false;
}

/* What has no elements is known before anything runs, and so is what is computed from it alone: a
 * sum over nothing, the product of two matrices that nothing is between. */
static void know_empty(struct node *n)
{
    for (int i = 0; i < n->output_count; i++) {
        struct value *v = n->outputs[i];
        void *data;

        if (v && !v->constant && complete(v) && type_bits(v->type) && shape_count(&v->shape) == 0)
            v->constant = tensor_new(&n->graph->context->arena, v->type, &v->shape, &data);
    }
}

/* A node over constants gives constants, evaluated when somebody asks. */
static void propagate(struct node *n)
{
    struct arena *a = &n->graph->context->arena;

    if (!n->op->functions->evaluate || has_body(n) || n->unevaluable)
        return;
    for (int i = 0; i < n->input_count; i++)
        if (n->inputs[i] && (!n->inputs[i]->constant || n->inputs[i]->poisoned))
            return;
    for (int i = 0; i < n->output_count; i++) {
        const struct value *v = n->outputs[i];
        int64_t bytes;

        if (!v)
            continue;
        bytes = complete(v) ? tensor_payload(v->type, shape_count(&v->shape)) : -1;
        if (bytes < 0 || bytes > LARGEST_CONSTANT)
            return;
    }
    for (int i = 0; i < n->output_count; i++) {
        struct value *v = n->outputs[i];
        struct attribute *value = node_find(n, "value");

        if (!v || v->constant)
            continue;
        if (is_standard(n, "Constant") && value && value->type == ATTRIBUTE_TENSOR)
            v->constant = value->tensor;
        else
            v->constant = tensor_deferred(a, v->type, &v->shape, n, i);
    }
}

static void trace_source(struct node *n)
{
    int source = -1;

    if (!infer_shape_only(n))
        for (int i = 0; i < n->input_count && source < 0; i++)
            if (n->inputs[i] && !n->inputs[i]->constant)
                source = value_source(n->inputs[i]);
    for (int i = 0; i < n->output_count; i++)
        if (n->outputs[i])
            n->outputs[i]->source = source;
}

/* How many there are depends on the numbers: no inference, ours or another's, tells their shape. */
static bool finds_indices(const struct node *n)
{
    return is_standard(n, "NonZero") || is_standard(n, "NonMaxSuppression") ||
           is_standard(n, "Unique");
}

static void settle(struct node *n)
{
    struct arena *a = &n->graph->context->arena;
    bool quiet = reads_poison(n), faulty = gives_poison(n);

    for (int i = 0; i < n->output_count; i++) {
        struct value *v = n->outputs[i];

        if (!v)
            continue;
        complete_from_record(v);
        if (faulty)
            continue;
        if (!complete(v)) {
            if (quiet)
                v->poisoned = true;
            else if (inputs_complete(n) && finds_indices(n))
                fault_advise(n, TUKI0127,
                             is_standard(n, "NonZero")
                                 ? "Keep all elements and multiply by 0 or 1 (a comparison, cast "
                                   "to float), or output the scores and choose in the script"
                                 : "Output the scores and choose in the script",
                             "it returns integer indices");
            else if (inputs_complete(n))
                fault(n, TUKI0113,
                      arena_printf(a, "the shape of its output %s cannot be inferred", v->name));
        } else if (quiet && v->type != TYPE_FLOAT32) {
            v->poisoned = true;
        }
    }
    if (n->op && !quiet && !gives_poison(n)) {
        cast_to_declared(n);
        compare_types(n);
    }
    if (n->op && !quiet && !gives_poison(n)) {
        know_empty(n);
        propagate(n);
        compare_with_record(n);
    }
}

void infer_node(struct node *n)
{
    read_type_alone(n);
    trace_source(n);
    for (int i = 0; i < n->output_count; i++)
        if (n->outputs[i] && !n->outputs[i]->constant)
            n->outputs[i]->shape = shape_unknown;
    if (!n->op) {
        node_poison(n);
        settle(n);
        return;
    }
    if (arity_fits(n) && types_fit(n) && lists_fit(n) && !known_from_shape(n)) {
        bool depends = false;

        for (int i = 0; i < n->input_count; i++)
            if (n->inputs[i] && !n->inputs[i]->constant && infer_shape_like(n, i)) {
                infer_depends(n, i);
                depends = true;
            }
        if (!depends && n->op->functions->infer) {
            read_shape_alone(n);
            n->op->functions->infer(n);
        }
    }
    if (!n->removed)
        settle(n);
}

void infer_graph(struct graph *g)
{
    /* By index, and the list read anew each time: a node may put a body's nodes behind itself. */
    for (int i = 0; i < g->node_count; i++) {
        context_poll(g->context);
        if (!g->nodes[i]->removed)
            infer_node(g->nodes[i]);
    }
    graph_compact(g);
}
