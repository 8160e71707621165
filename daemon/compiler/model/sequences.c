/*
 * Sequences and optional values are lists of other values while a model is loaded, and nothing of
 * them is left in the graph. Source: onnx/docs/Operators.md, SequenceConstruct 11 to SequenceMap 17
 * and Optional 15, 18.
 */
#include "daemon/compiler/model/unroll.h"
#include <inttypes.h>
#include <string.h>

/* In all sequences of a model, where they share none. */
enum { MOST_LISTED = 1 << 20 };

/* ---- what is given ---- */

static bool refuse(struct control *k)
{
    control_refuse(k);
    return true;
}

/* The sequence in input slot; KNOWN_NEVER: the call is refused. */
static enum known sequence_in(struct builder *b, struct control *k, int slot, struct held **list)
{
    struct value *v = k->call.inputs[slot];
    struct place place = build_place(&k->call);
    enum known known = control_held(b, v, list);

    if (known == KNOWN_NOW && *list && !(*list)->nothing)
        return KNOWN_NOW;
    if (known == KNOWN_NOW)
        build_report(b, &place, TUKI0106, "its input %s is not a sequence", v->name);
    if (known != KNOWN_LATER)
        control_refuse(k);
    return known == KNOWN_LATER ? KNOWN_LATER : KNOWN_NEVER;
}

/* Integers in input slot, which is there; KNOWN_NEVER: the call is refused. */
static enum known integers_in(struct builder *b, struct control *k, int slot, const char *what,
                              const int64_t **list, int64_t *count)
{
    struct value *v = k->call.inputs[slot];
    struct place place = build_place(&k->call);
    enum known known = control_know(b, k, v);
    int source = value_source(v);

    if (known == KNOWN_LATER || k->state != CONTROL_OPEN)
        return known;
    if (known == KNOWN_NOW && type_is_integer(v->type)) {
        *list = tensor_integers(b->c, v->constant, b->scratch);
        *count = v->constant->count;
        return KNOWN_NOW;
    }
    if (known == KNOWN_NOW) {
        build_report(b, &place, TUKI0106, "its %s is %s of %s", what, type_name(v->type),
                     shape_text(&b->c->arena, &v->shape));
    } else if (v->poisoned) {
        /* Whatever made it so was reported. */
    } else if (source >= 0) {
        build_report(b, &place, TUKI0116, INFER_DEPENDS, what, b->graph->inputs[source]->name);
        control_claim(b, v);
    } else {
        build_report(b, &place, TUKI0112, "its %s %s depends on a shape that is not fixed", what,
                     v->name);
    }
    control_refuse(k);
    return KNOWN_NEVER;
}

/* The position in input slot, 0 to last, from the back (of `count` places) where it is negative;
 * as it was where there is none. */
static enum known position_in(struct builder *b, struct control *k, int slot, int count, int last,
                              int64_t *at)
{
    struct place place = build_place(&k->call);
    const int64_t *list;
    int64_t given;
    enum known known = KNOWN_NOW;

    if (node_input(k->node, slot)) {
        known = integers_in(b, k, slot, "position", &list, &given);
        if (known != KNOWN_NOW)
            return known;
        if (given != 1) {
            build_report(b, &place, TUKI0106, "its position is %" PRId64 " numbers", given);
            control_refuse(k);
            return KNOWN_NEVER;
        }
        *at = list[0] < 0 ? list[0] + count : list[0];
    }
    if (*at >= 0 && *at <= last)
        return KNOWN_NOW;
    build_report(b, &place, TUKI0106, "position %" PRId64 " lies outside of its sequence of %d",
                 node_input(k->node, slot) ? list[0] : *at, count);
    control_refuse(k);
    return KNOWN_NEVER;
}

/* ---- what is given back ---- */

static void give(struct builder *b, struct control *k, struct value *v)
{
    control_take(k);
    if (k->call.outputs[0])
        build_pass_on(b, &k->call, v, k->call.outputs[0]);
}

static struct held *give_held(struct builder *b, struct control *k, int output)
{
    struct held *h = NEW(b->scratch, struct held);

    if (output < k->call.output_count && k->call.outputs[output])
        control_hold(b, k->call.outputs[output], h);
    return h;
}

/* Whether so many elements more can be listed; false: refused. */
static bool afford(struct builder *b, struct control *k, int64_t count)
{
    struct place place = build_place(&k->call);

    if (count <= MOST_LISTED - b->controls->listed) {
        b->controls->listed += count;
        return true;
    }
    build_advise(b, &place, TUKI0110, "Export with shorter sequences",
                 "with it the sequences of the model hold more than %d elements", MOST_LISTED);
    control_refuse(k);
    return false;
}

/* A sequence that is another one but for places from at on: without `gone` of them, and v there
 * where it is not NULL. What is put behind all others shares the list with those before it. */
static void give_changed(struct builder *b, struct control *k, const struct held *list, int at,
                         int gone, struct value *v)
{
    int count = list->count - gone + (v != NULL), rest = list->count - at - gone;
    struct value_list *all = list->list;
    struct held *h;

    if (!v || rest || !all || all->count != list->count) {
        if (!afford(b, k, count))
            return;
        all = NEW(b->scratch, struct value_list);
        for (int i = 0; i < at; i++)
            APPEND(b->scratch, all->values, all->count, all->room) = list->values[i];
    }
    if (v)
        APPEND(b->scratch, all->values, all->count, all->room) = v;
    for (int i = 0; i < rest; i++)
        APPEND(b->scratch, all->values, all->count, all->room) = list->values[at + gone + i];
    control_take(k);
    h = give_held(b, k, 0);
    h->list = all;
    h->values = all->values;
    h->count = count;
}

/* ---- the operators ---- */

bool sequence_construct(struct builder *b, struct control *k)
{
    struct held *h;

    control_take(k);
    h = give_held(b, k, 0);
    h->values = k->call.inputs;
    h->count = k->call.input_count;
    return true;
}

bool sequence_insert(struct builder *b, struct control *k)
{
    struct held *list;
    int64_t at;
    enum known known = sequence_in(b, k, 0, &list);

    if (known == KNOWN_NOW) {
        at = list->count;
        known = position_in(b, k, 2, list->count, list->count, &at);
    }
    if (known == KNOWN_NOW)
        give_changed(b, k, list, (int)at, 0, k->call.inputs[1]);
    return known != KNOWN_LATER;
}

bool sequence_erase(struct builder *b, struct control *k)
{
    struct held *list;
    int64_t at;
    enum known known = sequence_in(b, k, 0, &list);

    if (known == KNOWN_NOW) {
        at = list->count - 1;
        known = position_in(b, k, 1, list->count, list->count - 1, &at);
    }
    if (known == KNOWN_NOW)
        give_changed(b, k, list, (int)at, 1, NULL);
    return known != KNOWN_LATER;
}

bool sequence_at(struct builder *b, struct control *k)
{
    struct held *list;
    int64_t at = 0;
    enum known known = sequence_in(b, k, 0, &list);

    if (known == KNOWN_NOW)
        known = position_in(b, k, 1, list->count, list->count - 1, &at);
    if (known == KNOWN_NOW)
        give(b, k, list->values[at]);
    return known != KNOWN_LATER;
}

bool sequence_length(struct builder *b, struct control *k)
{
    struct held *list;
    enum known known = sequence_in(b, k, 0, &list);

    if (known == KNOWN_NOW)
        give(b, k, unroll_number(b, TYPE_INT64, list->count));
    return known != KNOWN_LATER;
}

bool sequence_concat(struct builder *b, struct control *k)
{
    struct place place = build_place(&k->call);
    int64_t axis = node_int(k->node, "axis", 0);
    bool stacks = node_int(k->node, "new_axis", 0);
    struct held *list;
    struct value *v;
    enum known known = sequence_in(b, k, 0, &list);

    if (known != KNOWN_NOW)
        return known != KNOWN_LATER;
    if (!list->count) {
        build_report(b, &place, TUKI0106, "its sequence %s is empty", k->call.inputs[0]->name);
        return refuse(k);
    }
    if (stacks) {
        struct value_list all = {list->values, list->count, list->count};

        v = unroll_stack(b, k, &all, axis, false, NULL);
    } else {
        v = unroll_node(b, k, "Concat", list->values, list->count, NULL);
        node_set_int(v->producer, "axis", axis);
    }
    give(b, k, v);
    return true;
}

/* The lengths of the parts that SplitToSequence makes. */
static enum known part_lengths(struct builder *b, struct control *k, int64_t axis,
                               const int64_t **lengths, int64_t *count)
{
    struct value *v = k->call.inputs[0], *split = node_input(k->node, 1);
    struct place place = build_place(&k->call);
    enum known known = KNOWN_NOW;
    int64_t each = 1, length, *made;
    int at;

    if (split) {
        known = integers_in(b, k, 1, "split", lengths, count);
        if (known != KNOWN_NOW || split->shape.axes)
            return known;
        each = (*lengths)[0];
    }
    known = control_know_shape(b, k, v);
    if (known == KNOWN_LATER || k->state != CONTROL_OPEN)
        return known;
    at = shape_axis(&v->shape, axis);
    length = at < 0 ? -1 : v->shape.dim[at];
    if (v->poisoned) {
        /* Whatever made it so was reported. */
    } else if (v->shape.axes >= 0 && at < 0) {
        build_report(b, &place, TUKI0106, "axis %" PRId64 " lies outside of its input %s of %s",
                     axis, v->name, shape_text(&b->c->arena, &v->shape));
    } else if (length < 0) {
        build_report(b, &place, TUKI0112,
                     "into how many parts it splits depends on the shape of %s, which is not fixed",
                     v->name);
    } else if (each < 1) {
        build_report(b, &place, TUKI0106, "its split is %" PRId64, each);
    } else if (length / each >= MOST_LISTED) {
        build_advise(b, &place, TUKI0110, "Export with fewer parts",
                     "it splits %" PRId64 " elements into more than %d parts", length, MOST_LISTED);
    } else {
        *count = length / each + (length % each != 0);
        *lengths = made = NEW_ARRAY(b->scratch, *count, int64_t);
        for (int64_t i = 0; i < *count; i++)
            made[i] = i * each + each <= length ? each : length - i * each;
        return KNOWN_NOW;
    }
    control_refuse(k);
    return KNOWN_NEVER;
}

bool sequence_split(struct builder *b, struct control *k)
{
    int64_t axis = node_int(k->node, "axis", 0), count = 0;
    bool squeezes = !node_input(k->node, 1) && !node_int(k->node, "keepdims", 1);
    struct value *v = k->call.inputs[0];
    const int64_t *lengths;
    enum known known = part_lengths(b, k, axis, &lengths, &count);
    struct held *h;

    if (known != KNOWN_NOW)
        return known != KNOWN_LATER;
    if (!afford(b, k, count))
        return true;
    control_take(k);
    h = give_held(b, k, 0);
    h->count = (int)count;
    if (squeezes || !count) {
        h->values = NEW_ARRAY(b->scratch, count, struct value *);
        for (int i = 0; i < h->count; i++)
            h->values[i] = unroll_at(b, k, v, axis, i);
    } else {
        struct value *inputs[] = {v, graph_constant_ints(b->graph, "", h->count, lengths)};
        struct node *split =
            graph_node_like(b->graph, operator_get(b->c, "Split"), k->node, inputs, 2, h->count);

        node_set_int(split, "axis", axis);
        h->values = split->outputs;
    }
    return true;
}

/* One trip an element; further sequences go along, tensors are the same for all. */
bool sequence_map(struct builder *b, struct control *k)
{
    const Onnx__Graph *body = control_body(k, "body");
    struct place place = build_place(&k->call);
    int inputs = k->call.input_count, outputs;
    struct held **lists = NEW_ARRAY(b->scratch, inputs, struct held *);
    struct value **given = NEW_ARRAY(b->scratch, inputs, struct value *), **gives;
    struct unroll u = {.done = 0};
    enum known known = sequence_in(b, k, 0, &lists[0]);

    for (int i = 1; known == KNOWN_NOW && i < inputs; i++)
        known = k->call.inputs[i] ? control_held(b, k->call.inputs[i], &lists[i]) : KNOWN_NOW;
    if (known == KNOWN_LATER)
        return false;
    if (known == KNOWN_NEVER || !unroll_fits(b, k, body, inputs, k->call.output_count))
        return refuse(k);
    for (int i = 1; i < inputs; i++)
        if (lists[i] && lists[i]->count != lists[0]->count) {
            build_report(b, &place, TUKI0106, "its sequence %s has %d elements, and %s has %d",
                         k->call.inputs[i]->name, lists[i]->count, k->call.inputs[0]->name,
                         lists[0]->count);
            return refuse(k);
        }
    outputs = (int)body->n_output;
    gives = NEW_ARRAY(b->scratch, outputs, struct value *);
    u.most = lists[0]->count;
    u.collected_count = outputs;
    unroll_begin(b, k, &u, body);
    if (!unroll_afford(b, k, &u, u.most))
        return refuse(k);
    for (; u.done < u.most; u.done++) {
        for (int i = 0; i < inputs; i++)
            given[i] = lists[i] ? lists[i]->values[u.done] : k->call.inputs[i];
        if (!unroll_trip(b, k, &u, given, gives))
            return refuse(k);
        for (int i = 0; i < outputs; i++) {
            struct value_list *l = &u.collected[i];

            APPEND(b->scratch, l->values, l->count, l->room) = gives[i];
        }
    }
    control_take(k);
    for (int i = 0; i < outputs; i++) {
        struct held *h = give_held(b, k, i);

        h->values = u.collected[i].values;
        h->count = u.collected[i].count;
    }
    return true;
}

bool optional_make(struct builder *b, struct control *k)
{
    if (node_input(k->node, 0)) {
        give(b, k, k->call.inputs[0]);
    } else {
        control_take(k);
        give_held(b, k, 0)->nothing = true;
    }
    return true;
}

/* From opset 18 on the input may be left out, or no optional value at all. */
bool optional_has(struct builder *b, struct control *k)
{
    struct value *v = node_input(k->node, 0);
    struct held *h = NULL;
    enum known known = v ? control_held(b, v, &h) : KNOWN_NOW;

    if (known == KNOWN_NEVER)
        return refuse(k);
    if (known == KNOWN_NOW)
        give(b, k, unroll_number(b, TYPE_BOOL, v && !(h && h->nothing)));
    return known != KNOWN_LATER;
}

bool optional_get(struct builder *b, struct control *k)
{
    struct value *v = k->call.inputs[0];
    struct place place = build_place(&k->call);
    struct held *h;
    enum known known = control_held(b, v, &h);

    if (known == KNOWN_NOW && h && h->nothing) {
        build_report(b, &place, TUKI0106, "its input %s holds no element", v->name);
        known = KNOWN_NEVER;
    }
    if (known == KNOWN_NEVER)
        return refuse(k);
    if (known == KNOWN_NOW)
        give(b, k, v);
    return known != KNOWN_LATER;
}

/* ---- what is left ---- */

static const char *kind_of(const struct held *h)
{
    return h->nothing ? "an optional value" : "a sequence";
}

/* n reads what is no tensor. */
static void report_reader(struct builder *b, struct node *n, const struct value *v,
                          const struct held *h)
{
    struct place place = node_place(n);

    build_report(b, &place, TUKI0106, "its input %s is %s, not a tensor", v->name, kind_of(h));
    n->op = NULL;
    node_poison(n);
}

void sequences_finish(struct builder *b)
{
    struct graph *g = b->graph;
    struct held *h;

    for (int i = 0; i < g->node_count; i++) {
        struct node *n = g->nodes[i];

        for (int slot = 0; !n->removed && n->op && slot < n->input_count; slot++) {
            struct value *v = n->inputs[slot];

            if (v && control_held(b, v, &h) == KNOWN_NOW && h && strcmp(n->op->name, "Identity"))
                report_reader(b, n, v, h);
        }
    }
    for (int i = 0; i < g->output_count; i++) {
        struct place place = {.kind = PLACE_OUTPUT, .index = i, .layer = g->output_names[i]};

        if (control_held(b, g->outputs[i], &h) == KNOWN_NOW && h)
            build_no_tensor(b, &place, kind_of(h));
    }
    /* Their other names go too. */
    for (int i = 0; i < g->node_count; i++) {
        struct node *n = g->nodes[i];

        if (!n->removed && n->op && n->output_count == 1 && n->outputs[0] &&
            control_held(b, n->outputs[0], &h) == KNOWN_NOW && h) {
            control_hold(b, n->outputs[0], h);
            n->outputs[0]->producer = NULL;
            n->outputs = NULL;
            n->output_count = 0;
            node_remove(n);
        }
    }
    for (int i = 0; i < g->value_count; i++)
        if (control_held(b, g->values[i], &h) == KNOWN_NOW && h)
            g->values[i]->poisoned = true;
}
