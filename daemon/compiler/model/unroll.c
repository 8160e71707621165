/* Bodies as their nodes, once for each trip; and Loop. */
#include "daemon/compiler/model/unroll.h"
#include <inttypes.h>
#include <string.h>

/* ---- nodes of our own ---- */

/* Gives to, or a new value where it is NULL. */
struct value *unroll_node(struct builder *b, const struct control *k, const char *op,
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

struct value *unroll_number(struct builder *b, enum element_type type, int64_t number)
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
struct value *unroll_at(struct builder *b, const struct control *k, struct value *v, int64_t axis,
                        int64_t at)
{
    struct value *inputs[] = {v, unroll_number(b, TYPE_INT64, at)};
    struct value *taken = unroll_node(b, k, "Gather", inputs, 2, NULL);

    node_set_int(taken->producer, "axis", axis);
    return taken;
}

/* The values in a row along a new axis, last to first if reverse. */
struct value *unroll_stack(struct builder *b, const struct control *k,
                           const struct value_list *list, int64_t axis, bool reverse,
                           struct value *to)
{
    struct value **parts = NEW_ARRAY(b->scratch, list->count, struct value *);

    for (int i = 0; i < list->count; i++) {
        struct value *part = list->values[reverse ? list->count - 1 - i : i];
        struct value *inputs[] = {part, graph_constant_ints(b->graph, "", 1, &axis)};

        parts[i] = unroll_node(b, k, "Unsqueeze", inputs, 2, list->count == 1 ? to : NULL);
    }
    if (list->count == 1)
        return parts[0];
    to = unroll_node(b, k, "Concat", parts, list->count, to);
    node_set_int(to->producer, "axis", axis);
    return to;
}

/* ---- one trip ---- */

void unroll_begin(struct builder *b, struct control *k, struct unroll *u, const Onnx__Graph *body)
{
    struct body *first = build_body(b, &k->call, &k->call.body->scope, k->call.body->imports);

    u->body = body;
    build_initializers(b, first, body);
    u->scope = first->scope;
    if (u->collected_count)
        u->collected = NEW_ARRAY(b->scratch, u->collected_count, struct value_list);
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
bool unroll_afford(struct builder *b, const struct control *k, const struct unroll *u,
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
bool unroll_trip(struct builder *b, struct control *k, struct unroll *u, struct value *const *given,
                 struct value **gives)
{
    const Onnx__Graph *proto = u->body;
    struct place place = build_place(&k->call);
    int before = b->graph->node_count, reports = b->reports;
    struct body *body;

    if (!unroll_afford(b, k, u, 1) || !build_afford(b, &k->call, proto->n_node, proto->node))
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
bool unroll_fits(struct builder *b, struct control *k, const Onnx__Graph *body, int inputs,
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

void unroll_give_carried(struct builder *b, struct control *k, const struct unroll *u)
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

    if (unroll_trip(b, k, u, given, gives)) {
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
bool unroll_give_empty(struct builder *b, struct control *k, struct unroll *u, int output,
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
    if (!unroll_fits(b, k, body, carried + LOOP_GIVEN, 1 + k->call.output_count))
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
    unroll_begin(b, k, u, body);
    k->unroll = u;
    /* Said before anything is made, where it can be. */
    return u->condition || most == INT64_MAX || unroll_afford(b, k, u, most);
}

static void loop_given(struct builder *b, const struct unroll *u, struct value **given)
{
    given[0] = unroll_number(b, TYPE_INT64, u->done);
    given[1] = unroll_number(b, TYPE_BOOL, true);
    memcpy(given + LOOP_GIVEN, u->carried, (size_t)u->carried_count * sizeof *given);
}

static bool loop_trip(struct builder *b, struct control *k, struct unroll *u)
{
    struct value **given = NEW_ARRAY(b->scratch, LOOP_GIVEN + u->carried_count, struct value *);
    struct value **gives = NEW_ARRAY(b->scratch, u->body->n_output, struct value *);

    loop_given(b, u, given);
    if (!unroll_trip(b, k, u, given, gives))
        return false;
    /* Onnx/docs/Operators.md, Loop: without a condition that it begins with, what the body says of
     * it is ignored. */
    if (u->condition)
        u->condition = gives[0];
    memcpy(u->carried, gives + 1, (size_t)u->carried_count * sizeof *gives);
    for (int i = 0; i < u->collected_count; i++) {
        struct value_list *l = &u->collected[i];

        APPEND(b->scratch, l->values, l->count, l->room) = gives[1 + u->carried_count + i];
    }
    u->done++;
    return true;
}

static void end_loop(struct builder *b, struct control *k, struct unroll *u)
{
    struct value **given = NEW_ARRAY(b->scratch, LOOP_GIVEN + u->carried_count, struct value *);

    control_take(k);
    unroll_give_carried(b, k, u);
    if (!u->done)
        loop_given(b, u, given);
    for (int i = 0; i < u->collected_count; i++) {
        int output = u->carried_count + i;
        struct value *to = output < k->call.output_count ? k->call.outputs[output] : NULL;

        if (to && u->done)
            unroll_stack(b, k, &u->collected[i], 0, false, to);
        else if (to)
            unroll_give_empty(b, k, u, 1 + output, 0, given, to);
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
