#include "daemon/compiler/graph/accept.h"
#include "daemon/compiler/graph/advice.h"
#include "daemon/compiler/operators/operator.h"
#include <string.h>

enum { LARGEST_CHOICE = 2048 };

static const char *const comparisons[] = {
    "Equal", "Greater", "GreaterOrEqual", "Less", "LessOrEqual", "IsNaN", "IsInf", NULL,
};
static const char *const connectives[] = {"Not", "And", "Or", "Xor", "Identity", NULL};

static bool is_computed(const struct value *v)
{
    return v && !v->constant;
}

/* Who reads the truth values of v in a way that R18 does not name: its name for the text; NULL
 * where nobody does. A layer that was reported has its own fault. */
static const char MODEL_OUTPUT[] = "a model output";

static const char *other_reader(struct graph *g, const struct value *v)
{
    struct arena *scratch = arena_child(&g->context->arena);
    const struct value **list = NULL;
    const char *other = NULL;
    int count = 0, room = 0;

    APPEND(scratch, list, count, room) = v;
    for (int next = 0; next < count && !other; next++) {
        const struct value *at = list[next];

        if (at->output_count)
            other = MODEL_OUTPUT;
        for (int i = 0; i < at->reader_count && !other; i++) {
            const struct node *n = at->readers[i];
            const struct value *out = node_output(n, 0);

            if (out && out->poisoned)
                continue;
            if (node_called(n, "Where") && node_input(n, 0) == at && node_input(n, 1) != at &&
                node_input(n, 2) != at)
                continue;
            if (node_called(n, "Cast") && node_int(n, "to", 0) == TYPE_FLOAT32)
                continue;
            if (!node_called_one_of(n, connectives))
                other = node_title(n, &g->context->arena);
            else if (out)
                APPEND(scratch, list, count, room) = out;
        }
    }
    arena_free(scratch);
    return other;
}

static void report(struct node *n, enum diagnostic_code code, const char *advice,
                   const char *detail)
{
    struct place place = node_place(n);

    diagnose(n->graph->context, &place, code, advice, "%s", detail);
    node_poison(n);
}

static bool left_to_quantisation(enum element_type type)
{
    return type != TYPE_BOOL && type != TYPE_INT64 && type != TYPE_UINT64 && !type_is_float(type) &&
           type_bits(type) <= 32;
}

static const char *const choose_advice = "Output the scores and choose in the script";

static void check_comparison(struct node *n)
{
    struct arena *a = &n->graph->context->arena;
    const char *other;

    if (is_computed(node_input(n, 0)) && is_computed(node_input(n, 1))) {
        report(
            n, TUKI0127,
            "Compare their difference with 0 (a - b > 0 for a > b), make one of them a constant, "
            "or output the scores and choose in the script",
            "it compares two computed values");
        return;
    }
    other = other_reader(n->graph, n->outputs[0]);
    if (other == MODEL_OUTPUT)
        report(n, TUKI0127,
               "Cast it to float32 (PyTorch: .float()), or output the scores and choose in the "
               "script",
               "its result is a model output, where only the condition of Where and Cast to float "
               "may read it");
    else if (other)
        report(
            n, TUKI0127,
            "Choose by Where (torch.where) or cast it to float32 and go on with 0 and 1, make the "
            "condition a constant, or output the scores and choose in the script",
            arena_printf(a,
                         "its result is read by %s, where only the condition of Where and Cast "
                         "to float may read it",
                         other));
}

/* What is asked of all values. */
struct values {
    struct graph *graph;
    bool quantised;
    bool *chosen; /* by value id: it is the result of ArgMax or ArgMin, maybe under another name */
};

static const char *const renamings[] = {
    "Identity", "Cast", "Reshape", "Squeeze", "Unsqueeze", "Flatten", NULL,
};

/* Whether n gives its first input another name, and maybe other axes of length 1: what keepdims of
 * ArgMax decides. */
static bool renames(const struct node *n)
{
    const struct value *from = node_input(n, 0), *to = node_output(n, 0);
    const struct shape *in, *out;
    int i = 0, o = 0;

    if (!node_called_one_of(n, renamings) || !from || !to || from->type != to->type)
        return false;
    in = &from->shape;
    out = &to->shape;
    if (!shape_known(in) || !shape_known(out))
        return false;
    for (;;) {
        while (i < in->axes && in->dim[i] == 1)
            i++;
        while (o < out->axes && out->dim[o] == 1)
            o++;
        if (i == in->axes || o == out->axes)
            return i == in->axes && o == out->axes;
        if (in->dim[i++] != out->dim[o++])
            return false;
    }
}

/* Follows the indices that n returns to the model's outputs; the layer that reads them otherwise,
 * NULL where there is none. */
static const struct node *reader_of_choice(struct values *all, const struct node *n)
{
    struct arena *scratch = arena_child(&all->graph->context->arena);
    const struct value **list = NULL;
    const struct node *other = NULL;
    int count = 0, room = 0;

    APPEND(scratch, list, count, room) = n->outputs[0];
    for (int next = 0; next < count && !other; next++) {
        const struct value *v = list[next];

        all->chosen[v->id] = true;
        for (int i = 0; i < v->reader_count && !other; i++)
            if (renames(v->readers[i]) && node_input(v->readers[i], 0) == v)
                APPEND(scratch, list, count, room) = v->readers[i]->outputs[0];
            else
                other = v->readers[i];
    }
    arena_free(scratch);
    return other;
}

static void check_choice(struct values *all, struct node *n)
{
    struct arena *a = &n->graph->context->arena;
    const struct shape *s = &n->inputs[0]->shape;
    int axis = shape_axis(s, node_int(n, "axis", 0));
    const struct node *reader;

    if (all->quantised)
        report(n, TUKI0127, choose_advice, "it returns integer indices");
    else if (axis >= 0 && s->dim[axis] > LARGEST_CHOICE)
        report(n, TUKI0128, NULL,
               arena_printf(a, "it chooses among %lld values, and at most %d are accepted",
                            (long long)s->dim[axis], LARGEST_CHOICE));
    else if ((reader = reader_of_choice(all, n)) != NULL)
        report(n, TUKI0128,
               node_called(reader, "Cast")
                   ? "Output it as it is, without the Cast, or output the scores and "
                     "choose in the script"
                   : NULL,
               arena_printf(a, "%s reads its result, which may only be a model output",
                            node_title(reader, a)));
}

/* Where all that reads v was reported for being shaped by it (TUKI0116), v is the same fault. */
static bool was_blamed(const struct value *v)
{
    bool blamed = v->reader_count && !v->output_count;

    for (int i = 0; blamed && i < v->reader_count; i++) {
        const struct node *n = v->readers[i];

        blamed = node_output(n, 0) && node_output(n, 0)->poisoned;
        for (int slot = 0; blamed && slot < n->input_count; slot++)
            blamed = n->inputs[slot] != v || infer_shape_like(n, slot);
    }
    return blamed;
}

static bool is_wanted(const struct value *v)
{
    return v && !v->constant && (v->reader_count || v->output_count) && !was_blamed(v);
}

static void check_node(struct values *all, struct node *n)
{
    struct arena *a = &n->graph->context->arena;
    bool quantised = all->quantised, poison = false;

    for (int i = 0; i < n->input_count; i++)
        poison |= n->inputs[i] && n->inputs[i]->poisoned;
    for (int i = 0; i < n->output_count; i++) {
        struct value *v = n->outputs[i];

        if (!v || v->constant)
            continue;
        if (v->poisoned)
            return;
        if (poison && v->type != TYPE_FLOAT32)
            v->poisoned = true;
    }
    if (poison)
        return;
    if (node_called(n, "TopK") && is_computed(node_input(n, 0))) {
        report(n, TUKI0127,
               "Output the scores and choose in the script; for the greatest alone, use ReduceMax "
               "(torch.amax)",
               "it orders computed values by size");
        return;
    }
    for (int i = 0; i < n->output_count; i++) {
        struct value *v = n->outputs[i];

        if (!is_wanted(v) || v->type == TYPE_FLOAT32 || all->chosen[v->id])
            continue;
        if (node_called_one_of(n, comparisons))
            check_comparison(n);
        else if (node_called_one_of(n, connectives) && v->type == TYPE_BOOL)
            ; /* the comparison before it has answered for its readers */
        else if (node_called(n, "ArgMax") || node_called(n, "ArgMin"))
            check_choice(all, n);
        else if (node_called(n, "NonZero") || node_called(n, "NonMaxSuppression") ||
                 node_called(n, "Unique") || (node_called(n, "MaxPool") && i == 1))
            report(n, TUKI0127, choose_advice, "it returns integer indices");
        else if (!(quantised && left_to_quantisation(v->type)) && !value_carries_tokens(v))
            report(n, TUKI0115, advice_value_type(v),
                   arena_printf(a, "its output %s has elements of type %s", v->name,
                                type_name(v->type)));
        if (v->poisoned)
            return;
    }
}

void accept_values(struct graph *g)
{
    struct arena *scratch = arena_child(&g->context->arena);
    struct values all = {g, graph_quantised(g), NEW_ARRAY(scratch, g->value_count + 1, bool)};

    for (int i = 0; i < g->node_count; i++)
        check_node(&all, g->nodes[i]);
    for (int i = 0; i < g->output_count; i++) {
        struct value *v = g->outputs[i];
        struct place place = {.kind = PLACE_OUTPUT, .index = i, .layer = g->output_names[i]};

        if (v->constant && !v->poisoned && v->type != TYPE_FLOAT32 &&
            !(all.quantised && left_to_quantisation(v->type))) {
            diagnose(g->context, &place, TUKI0115, NULL, "its elements are %s", type_name(v->type));
            v->poisoned = true;
        }
    }
    arena_free(scratch);
}

void accept_graph(struct graph *g)
{
    accept_inputs(g);
    infer_graph(g);
    accept_values(g);
}
