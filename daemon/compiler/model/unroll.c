/*
 * Loop and Scan as the nodes of their bodies, once for each trip. What a trip gives is what the
 * next one is given, by pointer: no node stands between them. What is collected over the trips is
 * stacked at the end.
 */
#include "daemon/compiler/model/control_inside.h"
#include <inttypes.h>
#include <string.h>

struct list {
    struct value **values;
    int count, room;
};

struct unroll {
    const Onnx__Graph *body;
    struct scope scope; /* the body's initializers, which all trips see */
    int64_t most;       /* trips; INT64_MAX: as long as the condition holds */
    int64_t done;
    struct value *condition; /* of the next trip; NULL: nothing asks for one */
    struct value **carried;  /* what the next trip is given, or the last one gave */
    int carried_count;
    struct list *collected; /* for each scan output, what each trip gave */
    int collected_count;
};

/* ---- nodes of our own ---- */

/* Gives to, or a new value where it is NULL. */
static struct value *make_node(struct builder *b, const struct control *k, const char *op,
                               struct value **inputs, int count, struct value *to)
{
    struct node *n = graph_node_like(b->graph, operator_get(b->c, op), k->node, inputs, count, 1);

    if (!to)
        return n->outputs[0];
    n->outputs[0] = to;
    to->producer = n;
    to->producer_output = 0;
    return to;
}

static struct value *make_number(struct builder *b, enum element_type type, int64_t number)
{
    struct shape scalar = {.axes = 0};
    void *data;
    struct tensor *t = tensor_new(&b->c->arena, type, &scalar, &data);

    if (type == TYPE_BOOL)
        *(uint8_t *)data = number != 0;
    else
        memcpy(data, &number, sizeof number);
    return graph_constant(b->graph, "", t);
}

/* v at one place of an axis, without that axis. */
static struct value *take(struct builder *b, const struct control *k, struct value *v, int64_t axis,
                          int64_t at)
{
    struct value *inputs[] = {v, make_number(b, TYPE_INT64, at)};
    struct value *taken = make_node(b, k, "Gather", inputs, 2, NULL);

    node_set_int(taken->producer, "axis", axis);
    return taken;
}

/* The values in a row along a new axis, last to first if reverse. */
static struct value *stack(struct builder *b, const struct control *k, const struct list *list,
                           int64_t axis, bool reverse, struct value *to)
{
    struct value **parts = NEW_ARRAY(b->scratch, list->count, struct value *);

    for (int i = 0; i < list->count; i++) {
        struct value *part = list->values[reverse ? list->count - 1 - i : i];
        struct value *inputs[] = {part, graph_constant_ints(b->graph, "", 1, &axis)};

        parts[i] = make_node(b, k, "Unsqueeze", inputs, 2, list->count == 1 ? to : NULL);
    }
    if (list->count == 1)
        return parts[0];
    to = make_node(b, k, "Concat", parts, list->count, to);
    node_set_int(to->producer, "axis", axis);
    return to;
}

/* ---- one trip ---- */

static void begin(struct builder *b, struct control *k, struct unroll *u, const Onnx__Graph *body)
{
    struct body *first = build_body(b, &k->call, &k->call.body->scope, k->call.body->imports);

    u->body = body;
    build_initializers(b, first, body);
    u->scope = first->scope;
    if (u->collected_count)
        u->collected = NEW_ARRAY(b->scratch, u->collected_count, struct list);
}

static bool too_much(struct builder *b, const struct control *k, const struct unroll *u)
{
    struct place place = build_place(&k->call);

    if (u->most == INT64_MAX)
        build_advise(b, &place, TUKI0110, "Export with fewer trips",
                     "after %" PRId64 " trips its condition still holds, and with them the loops "
                     "of the model unfold to more than %d layers",
                     u->done, MOST_UNROLLED);
    else
        build_advise(b, &place, TUKI0110, "Export with fewer trips",
                     "it makes %" PRId64 " trips over %zu layers, with which the loops of the "
                     "model unfold to more than %d",
                     u->most, u->body->n_node, MOST_UNROLLED);
    return false;
}

/* Whether so many trips more can be had. A trip without layers costs something too. */
static bool afford(struct builder *b, const struct control *k, const struct unroll *u,
                   int64_t trips)
{
    int64_t layers = u->body->n_node ? (int64_t)u->body->n_node : 1, cost;

    if (__builtin_mul_overflow(trips, layers, &cost) ||
        cost > MOST_UNROLLED - b->controls->unrolled)
        return too_much(b, k, u);
    return true;
}

/* Makes the body's nodes over given and finds what it gives; false where that is wrong (reported).
 */
static bool make_trip(struct builder *b, struct control *k, struct unroll *u,
                      struct value *const *given, struct value **gives)
{
    const Onnx__Graph *proto = u->body;
    struct place place = build_place(&k->call);
    int before = b->graph->node_count, reports = b->reports;
    struct body *body;

    if (!afford(b, k, u, 1) || !build_afford(b, &k->call, proto->n_node, proto->node))
        return false;
    body = build_body(b, &k->call, &u->scope, k->call.body->imports);
    for (size_t i = 0; i < proto->n_input; i++) {
        bool is_new;
        void **meaning = scope_place(&body->scope, label_from(proto->input[i]->name), &is_new);

        if (!is_new) {
            build_report(b, &place, TUKI0105, "its body defines the input %s twice",
                         label_text(&b->c->arena, label_from(proto->input[i]->name), LABEL_SHOWN));
            return false;
        }
        *meaning = given[i];
    }
    build_nodes(b, body, proto->n_node, proto->node, NULL, 0);
    for (size_t i = 0; i < proto->n_output; i++) {
        struct label label = label_from(proto->output[i]->name);
        void *meaning = NULL;

        if (!label.length || !scope_find(&body->scope, label, &meaning) || !meaning) {
            build_report(b, &place, TUKI0105, "output %s of its body is never produced",
                         label_text(&b->c->arena, label, LABEL_SHOWN));
            return false;
        }
        gives[i] = meaning;
    }
    build_upgrade(b, before);
    b->controls->unrolled += b->graph->node_count - before > (int)proto->n_node
                                 ? b->graph->node_count - before
                                 : (int64_t)proto->n_node + !proto->n_node;
    /* One trip says all that is wrong with the others. */
    return b->reports == reports;
}

/* Names of a body's inputs and outputs, and how many there have to be. */
static bool body_fits(struct builder *b, struct control *k, const Onnx__Graph *body, int inputs,
                      int outputs)
{
    struct place place = build_place(&k->call);

    if (!body)
        build_report(b, &place, TUKI0106, "it has no body");
    else if (inputs < 0 || outputs < 0 || body->n_input != (size_t)inputs ||
             body->n_output < (size_t)outputs)
        build_report(b, &place, TUKI0106,
                     "its body has %zu inputs and %zu outputs, which does not go with its %d and "
                     "%d",
                     body->n_input, body->n_output, k->call.input_count, k->call.output_count);
    else
        return true;
    return false;
}

/* ---- what comes out ---- */

static void give_carried(struct builder *b, struct control *k, const struct unroll *u)
{
    for (int i = 0; i < u->carried_count && i < k->call.output_count; i++)
        if (k->call.outputs[i])
            build_pass_on(b, &k->call, u->carried[i], k->call.outputs[i]);
}

/* The type and shape of what a trip would give, where none is made: what follows from one that is
 * thrown away, else what the body records. */
static void shape_of_trip(struct builder *b, struct control *k, struct unroll *u, int output,
                          struct value *const *given, enum element_type *type, struct shape *shape)
{
    int before = b->graph->node_count, open = b->controls->count;
    struct value **gives = NEW_ARRAY(b->scratch, u->body->n_output, struct value *);
    enum known known = KNOWN_NEVER;
    size_t axes;

    if (make_trip(b, k, u, given, gives)) {
        known = control_know_shape(b, k, gives[output]);
        *type = gives[output]->type;
        *shape = gives[output]->shape;
    }
    for (int i = open; i < b->controls->count; i++)
        control_refuse(b->controls->list[i]);
    for (int i = before; i < b->graph->node_count; i++)
        node_remove(b->graph->nodes[i]);
    if (known != KNOWN_NOW || !*type || !shape_known(shape))
        build_type(u->body->output[output]->type, type, shape, &axes);
}

/* A scan output of no trips: an axis of length 0 among the others. */
static bool give_empty(struct builder *b, struct control *k, struct unroll *u, int output,
                       int64_t axis, struct value *const *given, struct value *to)
{
    struct place place = build_place(&k->call);
    int reports = b->reports;
    enum element_type type = TYPE_UNKNOWN;
    struct shape one = shape_unknown, all = {.axes = 0};
    void *data;

    shape_of_trip(b, k, u, output, given, &type, &one);
    if (!type || !shape_known(&one) || one.axes == MAX_AXES || tensor_payload(type, 0) < 0) {
        if (b->reports == reports)
            build_report(b, &place, TUKI0113,
                         "it makes no trips, and the shape of its output %s cannot be inferred",
                         to->name);
        to->poisoned = true;
        return false;
    }
    all.axes = one.axes + 1;
    axis = shape_axis(&all, axis);
    if (axis < 0) {
        build_report(b, &place, TUKI0106, "its output axis lies outside of the output");
        to->poisoned = true;
        return false;
    }
    for (int a = 0; a < all.axes; a++)
        all.dim[a] = a == axis ? 0 : one.dim[a > axis ? a - 1 : a];
    to->constant = tensor_new(&b->c->arena, type, &all, &data);
    to->type = type;
    to->shape = all;
    return true;
}

/* ---- Loop ---- */

enum { LOOP_GIVEN = 2 }; /* inputs of a body before the carried ones: trip number and condition */

static void report_trip_count(struct builder *b, const struct control *k, const struct value *v)
{
    struct place place = build_place(&k->call);

    if (v->poisoned) {
        /* Whatever made it so was reported. */
    } else if (v->producer && value_source(v) < 0) {
        build_report(b, &place, TUKI0112, "its trip count %s depends on a shape that is not fixed",
                     v->name);
    } else {
        build_advise(b, &place, TUKI0110, "Export with a constant trip count",
                     "its trip count %s is %s", v->name,
                     v->producer ? "computed from the model's inputs" : "a model input");
        control_claim(b, v);
    }
}

static enum known trip_count(struct builder *b, struct control *k, int64_t *most)
{
    struct value *v = node_input(k->node, 0);
    struct place place = build_place(&k->call);
    struct arena *scratch;
    enum known known;

    *most = INT64_MAX;
    if (!v)
        return KNOWN_NOW;
    known = control_know(b, k, v);
    if (known == KNOWN_LATER || k->state != CONTROL_OPEN)
        return known;
    if (known == KNOWN_NEVER) {
        report_trip_count(b, k, v);
    } else if (v->constant->type != TYPE_INT64 || v->constant->count != 1) {
        build_report(b, &place, TUKI0106, "its trip count is %s of %s, not one int64",
                     type_name(v->constant->type), shape_text(&b->c->arena, &v->constant->shape));
        known = KNOWN_NEVER;
    } else {
        scratch = arena_child(&b->c->arena);
        *most = tensor_integers(b->c, v->constant, scratch)[0];
        if (*most < 0)
            *most = 0;
        arena_free(scratch);
    }
    if (known == KNOWN_NEVER)
        control_refuse(k);
    return known;
}

/* Reads what the call says; false: refused. */
static bool begin_loop(struct builder *b, struct control *k, int64_t most)
{
    const Onnx__Graph *body = control_body(k, "body");
    int carried = k->call.input_count > LOOP_GIVEN ? k->call.input_count - LOOP_GIVEN : 0;
    struct place place = build_place(&k->call);
    struct unroll *u = NEW(b->scratch, struct unroll);

    /* Inputs that are left out at the end are no carried values. */
    if (!body_fits(b, k, body, carried + LOOP_GIVEN, 1 + k->call.output_count))
        return false;
    *u = (struct unroll){.most = most,
                         .condition = node_input(k->node, 1),
                         .carried_count = carried,
                         .collected_count = (int)body->n_output - 1 - carried};
    if (u->collected_count < 0) {
        build_report(b, &place, TUKI0106, "its body takes %d carried values and gives %d", carried,
                     (int)body->n_output - 1);
        return false;
    }
    u->carried = NEW_ARRAY(b->scratch, carried + 1, struct value *);
    for (int i = 0; i < carried; i++) {
        u->carried[i] = node_input(k->node, LOOP_GIVEN + i);
        if (!u->carried[i]) {
            build_report(b, &place, TUKI0106, "its input %d is left out", LOOP_GIVEN + i);
            return false;
        }
    }
    begin(b, k, u, body);
    k->unroll = u;
    /* Said before anything is made, where it can be. */
    return u->condition || most == INT64_MAX || afford(b, k, u, most);
}

static void loop_given(struct builder *b, const struct unroll *u, struct value **given)
{
    given[0] = make_number(b, TYPE_INT64, u->done);
    given[1] = make_number(b, TYPE_BOOL, true);
    memcpy(given + LOOP_GIVEN, u->carried, (size_t)u->carried_count * sizeof *given);
}

static bool loop_trip(struct builder *b, struct control *k, struct unroll *u)
{
    struct value **given = NEW_ARRAY(b->scratch, LOOP_GIVEN + u->carried_count, struct value *);
    struct value **gives = NEW_ARRAY(b->scratch, u->body->n_output, struct value *);

    loop_given(b, u, given);
    if (!make_trip(b, k, u, given, gives))
        return false;
    /* Onnx/docs/Operators.md, Loop: without a condition that it begins with, what the body says of
     * it is ignored. */
    if (u->condition)
        u->condition = gives[0];
    memcpy(u->carried, gives + 1, (size_t)u->carried_count * sizeof *gives);
    for (int i = 0; i < u->collected_count; i++) {
        struct list *l = &u->collected[i];

        APPEND(b->scratch, l->values, l->count, l->room) = gives[1 + u->carried_count + i];
    }
    u->done++;
    return true;
}

static void end_loop(struct builder *b, struct control *k, struct unroll *u)
{
    struct value **given = NEW_ARRAY(b->scratch, LOOP_GIVEN + u->carried_count, struct value *);

    control_take(k);
    give_carried(b, k, u);
    if (!u->done)
        loop_given(b, u, given);
    for (int i = 0; i < u->collected_count; i++) {
        int output = u->carried_count + i;
        struct value *to = output < k->call.output_count ? k->call.outputs[output] : NULL;

        if (to && u->done)
            stack(b, k, &u->collected[i], 0, false, to);
        else if (to)
            give_empty(b, k, u, 1 + output, 0, given, to);
    }
}

bool unroll_loop(struct builder *b, struct control *k)
{
    bool progress = false;
    struct unroll *u;

    if (!k->unroll) {
        int64_t most;

        switch (trip_count(b, k, &most)) {
        case KNOWN_LATER:
            return false;
        case KNOWN_NEVER:
            return true;
        case KNOWN_NOW:
            break;
        }
        if (!begin_loop(b, k, most)) {
            control_refuse(k);
            return true;
        }
    }
    for (u = k->unroll; u->done < u->most; progress = true) {
        if (u->condition) {
            bool good;

            switch (control_know(b, k, u->condition)) {
            case KNOWN_LATER:
                return progress;
            case KNOWN_NEVER:
                if (k->state == CONTROL_OPEN)
                    control_refuse_condition(b, k, u->condition);
                return true;
            case KNOWN_NOW:
                break;
            }
            if (!control_holds(b, k, u->condition, &good)) {
                if (!good)
                    return true;
                break;
            }
        }
        if (!loop_trip(b, k, u)) {
            control_refuse(k);
            return true;
        }
    }
    end_loop(b, k, u);
    return true;
}

/* ---- Scan ---- */

/* A Scan as its call says it. Until opset 8 every input and output has the batch before all other
 * axes, and the scanned axis is the next one. */
struct scanning {
    bool batched;
    int state_count, scanned_count;
    struct value **states, **scanned;
    int64_t *axes;        /* of the scanned inputs */
    const int64_t *turns; /* directions; NULL: all forward */
    int64_t length, batch;
    struct value *lengths; /* of each item's sequence; NULL: all the same */
};

static const int64_t *scan_list(struct builder *b, struct control *k, const char *name, int count,
                                bool *good)
{
    struct place place = build_place(&k->call);
    int given;
    const int64_t *list = node_ints(k->node, name, &given);

    if (!list || given == count)
        return list;
    build_report(b, &place, TUKI0106, "its %s are %d numbers instead of %d", name, given, count);
    *good = false;
    return NULL;
}

static bool check_turns(struct builder *b, struct control *k, const char *name, const int64_t *list,
                        int count)
{
    struct place place = build_place(&k->call);

    for (int i = 0; list && i < count; i++)
        if (list[i] != 0 && list[i] != 1) {
            build_report(b, &place, TUKI0106, "its %s hold %" PRId64 ", and 0 and 1 are directions",
                         name, list[i]);
            return false;
        }
    return true;
}

static bool read_scan(struct builder *b, struct control *k, struct scanning *s)
{
    struct place place = build_place(&k->call);
    const char *turns;
    const int64_t *axes;
    int skipped, inputs;
    int64_t count;
    bool good = true;

    s->batched = build_opset(k->call.body) < 9;
    skipped = s->batched ? 1 : 0;
    inputs = k->call.input_count - skipped;
    k->node->attributes = build_attributes(b, k->call.body, &place, k->call.proto->n_attribute,
                                           k->call.proto->attribute, &k->node->attribute_count);
    k->node->attribute_room = k->node->attribute_count;
    count = node_int(k->node, "num_scan_inputs", 0);
    if (count < 1 || count > inputs) {
        build_report(b, &place, TUKI0106, "it scans %" PRId64 " of its %d inputs", count,
                     inputs > 0 ? inputs : 0);
        return false;
    }
    s->scanned_count = (int)count;
    s->state_count = inputs - (int)count;
    s->states = NEW_ARRAY(b->scratch, inputs, struct value *);
    s->scanned = s->states + s->state_count;
    for (int i = 0; i < inputs; i++) {
        s->states[i] = k->call.inputs[skipped + i];
        if (!s->states[i]) {
            build_report(b, &place, TUKI0106, "its input %d is left out", skipped + i);
            return false;
        }
    }
    s->lengths = s->batched ? k->call.inputs[0] : NULL;
    turns = s->batched ? "directions" : "scan_input_directions";
    s->turns = scan_list(b, k, turns, s->scanned_count, &good);
    axes = s->batched ? NULL : scan_list(b, k, "scan_input_axes", s->scanned_count, &good);
    s->axes = NEW_ARRAY(b->scratch, s->scanned_count, int64_t);
    for (int i = 0; i < s->scanned_count; i++)
        s->axes[i] = s->batched ? 1 : axes ? axes[i] : 0;
    return good && check_turns(b, k, turns, s->turns, s->scanned_count);
}

/* One length for all, or a fault. */
static bool same_length(struct builder *b, struct control *k, int input, int64_t length,
                        int64_t *common, const char *what)
{
    struct place place = build_place(&k->call);

    if (*common >= 0 && *common != length) {
        build_report(b, &place, TUKI0106,
                     "the %s of its input %d is %" PRId64 ", and %" PRId64 " before", what, input,
                     length, *common);
        return false;
    }
    *common = length;
    return true;
}

/* How long the sequences are; KNOWN_NEVER: reported, or what keeps it unknown was. */
static enum known scan_length(struct builder *b, struct control *k, struct scanning *s)
{
    struct place place = build_place(&k->call);

    s->length = s->batch = -1;
    for (int i = 0; i < s->scanned_count; i++) {
        struct value *v = s->scanned[i];
        enum known known = control_know_shape(b, k, v);
        int axis;

        if (known != KNOWN_NOW)
            return known;
        if (v->poisoned)
            return KNOWN_NEVER;
        axis = shape_axis(&v->shape, s->axes[i]);
        if (v->shape.axes >= 0 && (axis < 0 || (s->batched && v->shape.axes < 2))) {
            build_report(b, &place, TUKI0106, "axis %" PRId64 " lies outside of its input %s of %s",
                         s->axes[i], v->name, shape_text(&b->c->arena, &v->shape));
            return KNOWN_NEVER;
        }
        if (axis < 0 || v->shape.dim[axis] < 0 || (s->batched && v->shape.dim[0] < 0)) {
            build_report(b, &place, TUKI0112,
                         "how often it runs depends on the shape of %s, which is not fixed",
                         v->name);
            return KNOWN_NEVER;
        }
        if (!same_length(b, k, s->state_count + i, v->shape.dim[axis], &s->length, "length") ||
            (s->batched &&
             !same_length(b, k, s->state_count + i, v->shape.dim[0], &s->batch, "batch")))
            return KNOWN_NEVER;
    }
    return KNOWN_NOW;
}

/* Scan 8: how long the sequence of each item is; NULL: refused. */
static const int64_t *item_lengths(struct builder *b, struct control *k, const struct scanning *s)
{
    struct place place = build_place(&k->call);
    int64_t *lengths = NEW_ARRAY(b->scratch, s->batch, int64_t);
    const struct tensor *t = s->lengths ? s->lengths->constant : NULL;

    if (s->lengths && !t) {
        build_advise(b, &place, TUKI0110, "Export with constant sequence lengths",
                     "its sequence lengths %s are no constants", s->lengths->name);
        control_claim(b, s->lengths);
        return NULL;
    }
    if (t && (!type_is_integer(t->type) || t->count != s->batch)) {
        build_report(b, &place, TUKI0106,
                     "its sequence lengths are %s of %s, for a batch of "
                     "%" PRId64,
                     type_name(t->type), shape_text(&b->c->arena, &t->shape), s->batch);
        return NULL;
    }
    for (int64_t i = 0; i < s->batch; i++)
        lengths[i] = t ? tensor_integers(b->c, t, b->scratch)[i] : s->length;
    for (int64_t i = 0; i < s->batch; i++)
        if (lengths[i] < 0 || lengths[i] > s->length) {
            build_report(b, &place, TUKI0106,
                         "a sequence length is %" PRId64 ", and the sequences have %" PRId64,
                         lengths[i], s->length);
            return NULL;
        }
    return lengths;
}

/* All trips over one item; false: refused. */
static bool scan_item(struct builder *b, struct control *k, struct unroll *u,
                      const struct scanning *s, struct value *const *scanned, const int64_t *axes)
{
    struct value **gives = NEW_ARRAY(b->scratch, u->body->n_output, struct value *);

    for (u->done = 0; u->done < u->most; u->done++) {
        struct value **given =
            NEW_ARRAY(b->scratch, s->state_count + s->scanned_count, struct value *);

        memcpy(given, u->carried, (size_t)s->state_count * sizeof *given);
        for (int i = 0; i < s->scanned_count; i++)
            given[s->state_count + i] =
                take(b, k, scanned[i], axes[i],
                     s->turns && s->turns[i] ? s->length - 1 - u->done : u->done);
        if (!make_trip(b, k, u, given, gives))
            return false;
        memcpy(u->carried, gives, (size_t)s->state_count * sizeof *gives);
        for (int i = 0; i < u->collected_count; i++) {
            struct list *l = &u->collected[i];

            APPEND(b->scratch, l->values, l->count, l->room) = gives[s->state_count + i];
        }
    }
    return true;
}

/* From opset 9 on: no batch, any axes. */
static bool scan_axes(struct builder *b, struct control *k, struct unroll *u,
                      const struct scanning *s)
{
    struct value **given = NEW_ARRAY(b->scratch, s->state_count + s->scanned_count, struct value *);
    bool good = true;
    const int64_t *axes = scan_list(b, k, "scan_output_axes", u->collected_count, &good);
    const int64_t *turns = scan_list(b, k, "scan_output_directions", u->collected_count, &good);

    good = good && check_turns(b, k, "scan_output_directions", turns, u->collected_count);
    if (!good || !scan_item(b, k, u, s, s->scanned, s->axes))
        return false;
    control_take(k);
    give_carried(b, k, u);
    if (!s->length) {
        memcpy(given, s->states, (size_t)s->state_count * sizeof *given);
        /* One place of an axis that has none: only its shape is asked for. */
        for (int i = 0; i < s->scanned_count; i++) {
            int axis = shape_axis(&s->scanned[i]->shape, s->axes[i]);
            struct shape rest = s->scanned[i]->shape;

            rest.axes--;
            for (int a = axis; a < rest.axes; a++)
                rest.dim[a] = rest.dim[a + 1];
            given[s->state_count + i] =
                graph_value(b->graph, s->scanned[i]->name, s->scanned[i]->type, &rest);
        }
    }
    for (int i = 0; i < u->collected_count; i++) {
        int output = s->state_count + i;
        struct value *to = output < k->call.output_count ? k->call.outputs[output] : NULL;

        if (to && s->length)
            stack(b, k, &u->collected[i], axes ? axes[i] : 0, turns && turns[i], to);
        else if (to)
            give_empty(b, k, u, output, axes ? axes[i] : 0, given, to);
    }
    return true;
}

/* zeros behind what a shorter sequence gave. */
static struct value *lengthen(struct builder *b, const struct control *k, struct value *v,
                              int64_t missing)
{
    const int64_t pads[] = {0, missing}, first = 0;
    struct value *inputs[] = {v, graph_constant_ints(b->graph, "", 2, pads), NULL,
                              graph_constant_ints(b->graph, "", 1, &first)};

    return missing ? make_node(b, k, "Pad", inputs, 4, NULL) : v;
}

/* Opset 8: item by item. */
static bool scan_batch(struct builder *b, struct control *k, struct unroll *u,
                       const struct scanning *s)
{
    int outputs = s->state_count + u->collected_count;
    struct list *items = NEW_ARRAY(b->scratch, outputs, struct list);
    const int64_t *lengths = item_lengths(b, k, s);
    struct value **scanned = NEW_ARRAY(b->scratch, s->scanned_count, struct value *);
    const int64_t *first = NEW_ARRAY(b->scratch, s->scanned_count, int64_t);
    struct place place = build_place(&k->call);

    if (!lengths)
        return false;
    for (int64_t n = 0; n < s->batch; n++) {
        for (int i = 0; i < s->state_count; i++)
            u->carried[i] = take(b, k, s->states[i], 0, n);
        for (int i = 0; i < s->scanned_count; i++)
            scanned[i] = take(b, k, s->scanned[i], 0, n);
        for (int i = 0; i < u->collected_count; i++)
            u->collected[i] = (struct list){0};
        u->most = lengths[n];
        if (!lengths[n] && u->collected_count) {
            build_advise(b, &place, TUKI0110, "Export without such items",
                         "the sequence of item %" PRId64 " is empty", n);
            return false;
        }
        if (!scan_item(b, k, u, s, scanned, first))
            return false;
        for (int i = 0; i < outputs; i++) {
            struct list *l = &items[i];

            APPEND(b->scratch, l->values, l->count, l->room) =
                i < s->state_count
                    ? u->carried[i]
                    : lengthen(b, k, stack(b, k, &u->collected[i - s->state_count], 0, false, NULL),
                               s->length - lengths[n]);
        }
    }
    control_take(k);
    for (int i = 0; i < outputs && i < k->call.output_count; i++)
        if (k->call.outputs[i])
            stack(b, k, &items[i], 0, false, k->call.outputs[i]);
    return true;
}

bool unroll_scan(struct builder *b, struct control *k)
{
    const Onnx__Graph *body = control_body(k, "body");
    struct scanning *s = NEW(b->scratch, struct scanning);
    struct unroll *u;
    enum known known = KNOWN_NEVER;
    bool good = false;

    if (!read_scan(b, k, s) ||
        !body_fits(b, k, body, s->state_count + s->scanned_count,
                   k->call.output_count > s->state_count ? k->call.output_count : s->state_count))
        goto out;
    known = scan_length(b, k, s);
    if (known == KNOWN_NOW && s->lengths)
        known = control_know(b, k, s->lengths) == KNOWN_LATER ? KNOWN_LATER : KNOWN_NOW;
    if (known == KNOWN_LATER)
        return false;
    if (known == KNOWN_NEVER || k->state != CONTROL_OPEN)
        goto out;
    u = NEW(b->scratch, struct unroll);
    *u = (struct unroll){.most = s->length,
                         .carried_count = s->state_count,
                         .collected_count = (int)body->n_output - s->state_count};
    u->carried = NEW_ARRAY(b->scratch, s->state_count + 1, struct value *);
    memcpy(u->carried, s->states, (size_t)s->state_count * sizeof *u->carried);
    begin(b, k, u, body);
    k->unroll = u;
    good =
        afford(b, k, u, s->length) && (s->batched ? scan_batch(b, k, u, s) : scan_axes(b, k, u, s));
out:
    if (!good)
        control_refuse(k);
    return true;
}
