/* Scan: its inputs decide how often the body is run. */
#include "daemon/compiler/model/unroll.h"
#include <inttypes.h>
#include <string.h>

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
                unroll_at(b, k, scanned[i], axes[i],
                          s->turns && s->turns[i] ? s->length - 1 - u->done : u->done);
        if (!unroll_trip(b, k, u, given, gives))
            return false;
        memcpy(u->carried, gives, (size_t)s->state_count * sizeof *gives);
        for (int i = 0; i < u->collected_count; i++) {
            struct value_list *l = &u->collected[i];

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
    unroll_give_carried(b, k, u);
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
            unroll_stack(b, k, &u->collected[i], axes ? axes[i] : 0, turns && turns[i], to);
        else if (to)
            unroll_give_empty(b, k, u, output, axes ? axes[i] : 0, given, to);
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

    return missing ? unroll_node(b, k, "Pad", inputs, 4, NULL) : v;
}

/* Opset 8: item by item. */
static bool scan_batch(struct builder *b, struct control *k, struct unroll *u,
                       const struct scanning *s)
{
    int outputs = s->state_count + u->collected_count;
    struct value_list *items = NEW_ARRAY(b->scratch, outputs, struct value_list);
    const int64_t *lengths = item_lengths(b, k, s);
    struct value **scanned = NEW_ARRAY(b->scratch, s->scanned_count, struct value *);
    const int64_t *first = NEW_ARRAY(b->scratch, s->scanned_count, int64_t);
    struct place place = build_place(&k->call);

    if (!lengths)
        return false;
    for (int64_t n = 0; n < s->batch; n++) {
        for (int i = 0; i < s->state_count; i++)
            u->carried[i] = unroll_at(b, k, s->states[i], 0, n);
        for (int i = 0; i < s->scanned_count; i++)
            scanned[i] = unroll_at(b, k, s->scanned[i], 0, n);
        for (int i = 0; i < u->collected_count; i++)
            u->collected[i] = (struct value_list){0};
        u->most = lengths[n];
        if (!lengths[n] && u->collected_count) {
            build_advise(b, &place, TUKI0110, "Export without such items",
                         "the sequence of item %" PRId64 " is empty", n);
            return false;
        }
        if (!scan_item(b, k, u, s, scanned, first))
            return false;
        for (int i = 0; i < outputs; i++) {
            struct value_list *l = &items[i];

            APPEND(b->scratch, l->values, l->count, l->room) =
                i < s->state_count ? u->carried[i]
                                   : lengthen(b, k,
                                              unroll_stack(b, k, &u->collected[i - s->state_count],
                                                           0, false, NULL),
                                              s->length - lengths[n]);
        }
    }
    control_take(k);
    for (int i = 0; i < outputs && i < k->call.output_count; i++)
        if (k->call.outputs[i])
            unroll_stack(b, k, &items[i], 0, false, k->call.outputs[i]);
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
        !unroll_fits(b, k, body, s->state_count + s->scanned_count,
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
    unroll_begin(b, k, u, body);
    k->unroll = u;
    good = unroll_afford(b, k, u, s->length) &&
           (s->batched ? scan_batch(b, k, u, s) : scan_axes(b, k, u, s));
out:
    if (!good)
        control_refuse(k);
    return true;
}
