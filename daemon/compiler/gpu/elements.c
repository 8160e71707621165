/* Reading elements of values: from textures, through views, computed on the way. */
#include "daemon/compiler/gpu/kernel_inside.h"
#include "daemon/compiler/operators/operator.h"
#include <inttypes.h>
#include <math.h>
#include <string.h>

const char *parameter_name(struct kernel *k, struct value *v)
{
    int i;

    for (i = 0; i < k->parameter_count && k->parameters[i] != v; i++)
        ;
    if (i == k->parameter_count)
        APPEND(k->arena, k->parameters, k->parameter_count, k->parameter_room) = v;
    return i ? kernel_text(k, "prev%d", i) : "prev";
}

static void read_buffer(struct kernel *k, struct value *v, const struct lanes *e, const char **out)
{
    const struct spot *spot = spot_of(v);
    const struct layout *l = &spot->layout;

    for (int j = 0; j < e->count; j++) {
        const struct index *at[MAX_AXES] = {0}, *cell[2], *component;
        const char *name;
        int64_t lo = 0, hi = 0;

        limit_index(k, &v->shape, l->packed, e->at[j], at);
        layout_cell(k->pool, l, &v->shape, at, &cell[0], &cell[1], &component);
        /* Components behind the last channel of a model input are whatever the user left there. */
        if (!spot->step && l->packed >= 0 && v->shape.dim[l->packed] % 4)
            kernel_range(k, at[l->packed], &lo, &hi);
        if (lo && lo >= v->shape.dim[l->packed]) {
            out[j] = "0f";
            continue;
        }
        name = memo_find(k, v, NULL, true, cell, 2);
        if (k->counts) {
            if (!name) {
                memo_add(k, v, NULL, true, cell, 2, "");
                k->fetches++;
                k->held++;
            }
            out[j] = "";
            continue;
        }
        if (!name) {
            struct strbuf s;

            strbuf_init(&s, k->arena);
            index_print(&s, cell[0], false);
            strbuf_add(&s, ", ");
            index_print(&s, cell[1], false);
            name = kernel_name(k, "p");
            const char *line =
                kernel_text(k, "Color4 %s = %s[%s];", name, parameter_name(k, v), s.text);
            int depth = hoist_depth(k, cell, l);
            memo_add(k, v, NULL, true, cell, 2, name);
            if (depth < state_of(k)->depth) {
                hoist_line(k, depth, line);
                hoist_memo(k, depth);
            } else {
                kernel_line(k, "%s", line);
            }
            k->fetches++;
            k->held++;
        }
        out[j] = kernel_pick(k, name, component, false);
        if (spot->exponent)
            out[j] = kernel_text(k, "%s * %s", out[j], kernel_number(k, ldexp(1, spot->exponent)));
        if (!index_is_constant(component) || spot->exponent)
            out[j] = kernel_local(k, "v", out[j]);
        if (hi && hi >= v->shape.dim[l->packed]) {
            struct strbuf s;

            strbuf_init(&s, k->arena);
            index_print(&s, at[l->packed], false);
            out[j] = kernel_local(k, "v",
                                  kernel_text(k, "%s < %" PRId64 " ? %s : 0f", s.text,
                                              v->shape.dim[l->packed], out[j]));
        }
    }
}

static bool same_texts(const char *const (*operands)[4], int count, int a, int b)
{
    for (int i = 0; i < count; i++)
        if (operands[i][a] != operands[i][b] &&
            (!operands[i][a] || !operands[i][b] || strcmp(operands[i][a], operands[i][b])))
            return false;
    return true;
}

static void read_expression(struct kernel *k, struct value *v, const struct lanes *e,
                            const char **out)
{
    struct node *n = v->producer;
    const char *(*operands)[4] =
        arena_array(k->arena, (size_t)n->input_count + 1, sizeof *operands);
    int readers = v->reader_count;

    for (int j = 0; j < e->count; j++) {
        out[j] = memo_find(k, v, NULL, false, e->at[j], v->shape.axes);
        if (!out[j])
            break;
        if (j == e->count - 1)
            return;
    }
    for (int i = 0; i < n->input_count; i++) {
        struct lanes operand = {.count = e->count};

        if (!n->inputs[i])
            continue;
        for (int j = 0; j < e->count; j++)
            broadcast_index(k, &n->inputs[i]->shape, &v->shape, e->at[j], operand.at[j]);
        read_value(k, n->inputs[i], &operand, operands[i]);
    }
    if (k->counts) {
        for (int j = 0; j < e->count; j++)
            out[j] = "";
        return;
    }
    for (int j = 0; j < e->count; j++) {
        const char **row = NEW_ARRAY(k->arena, n->input_count + 1, const char *);
        int same = 0;

        while (same < j && !same_texts((const char *const(*)[4])operands, n->input_count, same, j))
            same++;
        if (same < j) {
            out[same] = out[j] = kernel_local(k, "v", out[same]);
            continue;
        }
        for (int i = 0; i < n->input_count; i++)
            row[i] = operands[i][j];
        out[j] = n->op->functions->express(k, n, row);
        /* Long or needed again: a name of its own. */
        if (readers > 1 || strlen(out[j]) > 72)
            out[j] = kernel_local(k, "v", out[j]);
        if (readers > 1)
            memo_add(k, v, NULL, false, e->at[j], v->shape.axes, out[j]);
    }
}

static bool same_conditions(const struct piece *a, const struct piece *b)
{
    return a->condition_count == b->condition_count &&
           (!a->condition_count || !memcmp(a->conditions, b->conditions,
                                           (size_t)a->condition_count * sizeof *a->conditions));
}

/* Elements behind the end of an axis are 0. */
static void zero_behind(struct kernel *k, const struct shape *s, const struct lanes *e, int axis,
                        const char **out)
{
    for (int j = 0; j < e->count; j++) {
        int64_t extent = s->dim[axis], lo, hi;
        struct strbuf text;

        kernel_range(k, e->at[j][axis], &lo, &hi);
        if (hi < extent)
            continue;
        if (lo >= extent) {
            out[j] = "0f";
            continue;
        }
        strbuf_init(&text, k->arena);
        index_print(&text, e->at[j][axis], false);
        out[j] = kernel_local(
            k, "v", kernel_text(k, "%s < %" PRId64 " ? %s : 0f", text.text, extent, out[j]));
    }
}

static void read_piece(struct kernel *k, struct node *n, const struct access *const *access,
                       int piece, const int *lanes, int count, const char **out)
{
    struct lanes e = {.count = count};
    const struct piece *first = &access[lanes[0]]->pieces[piece];
    const char *texts[4];

    if (first->input < 0) {
        for (int j = 0; j < count; j++)
            out[lanes[j]] = k->counts ? "" : kernel_number(k, first->fill);
        return;
    }
    for (int j = 0; j < count; j++)
        memcpy(e.at[j], access[lanes[j]]->pieces[piece].at, sizeof e.at[j]);
    read_value(k, n->inputs[first->input], &e, texts);
    if (first->zero_behind && !k->counts)
        zero_behind(k, &n->inputs[first->input]->shape, &e, first->zero_behind - 1, texts);
    for (int j = 0; j < count; j++)
        out[lanes[j]] = texts[j];
}

/* Where a single condition can fail on one side only, its failing is a condition too. */
static void assume_not(struct kernel *k, const struct condition *conditions, int count)
{
    const struct condition *failed = NULL;
    int64_t lo, hi;

    for (int i = 0; i < count; i++) {
        kernel_range(k, conditions[i].of, &lo, &hi);
        if (lo >= conditions[i].lo && hi <= conditions[i].hi)
            continue;
        if (failed)
            return;
        failed = &conditions[i];
    }
    if (!failed)
        return;
    kernel_range(k, failed->of, &lo, &hi);
    if (lo >= failed->lo)
        lo = failed->hi + 1;
    else if (hi <= failed->hi)
        hi = failed->lo - 1;
    else
        return;
    APPEND(k->arena, k->assumed, k->assumed_count, k->assumed_room) =
        (struct condition){failed->of, lo, hi};
}

static int is_known(struct kernel *k, const struct piece *p)
{
    return conditions_known(k, p->conditions, p->condition_count);
}

/* Of many pieces that stand in order along an axis, the last one of the first half, so that they
 * are told apart in few turns, and blocks nest no deeper; -1: one after another. */
static int last_of_half(const struct access *a, int piece, int last)
{
    enum { MOST_IN_TURN = 8 };
    const struct condition *first = a->pieces[piece].conditions;

    if (last - piece < MOST_IN_TURN)
        return -1;
    for (int i = piece; i < last; i++) {
        const struct condition *c = a->pieces[i].conditions;

        if (a->pieces[i].condition_count != 1 || c->of != first->of || c->lo != first->lo ||
            (i > piece && c->hi <= a->pieces[i - 1].conditions->hi))
            return -1;
    }
    return piece + (last - piece) / 2;
}

/* Lanes that take the same pieces under the same conditions, from piece on to last, which is taken
 * where no other is. */
static void read_pieces(struct kernel *k, struct node *n, const struct access *const *access,
                        int piece, int last, const int *lanes, int count, const char **out)
{
    const struct access *a = access[lanes[0]];
    const char *names[4], *texts[4];
    int opened, half, known = 0;

    do {
        while (piece < last && !is_known(k, &a->pieces[piece]))
            piece++;
        if (piece == last || is_known(k, &a->pieces[piece]) == 1) {
            read_piece(k, n, access, piece, lanes, count, out);
            return;
        }
        half = last_of_half(a, piece, last);
        if (half >= 0)
            known = is_known(k, &a->pieces[half]);
        if (half >= 0 && known == 1)
            last = half;
        else if (half >= 0 && known == 0)
            piece = half + 1;
    } while (half >= 0 && known >= 0);
    for (int j = 0; j < count; j++) {
        names[j] = kernel_name(k, "v");
        kernel_line(k, "float %s = 0f;", names[j]);
    }
    int64_t before_if = k->fetches, taken;
    int taking = half < 0 ? piece : half;
    opened = kernel_if(k, a->pieces[taking].conditions, a->pieces[taking].condition_count);
    if (half < 0)
        read_piece(k, n, access, piece, lanes, count, texts);
    else
        read_pieces(k, n, access, piece, half, lanes, count, texts);
    for (int j = 0; j < count; j++)
        kernel_line(k, "%s = %s;", names[j], texts[lanes[j]]);
    kernel_end_if(k, opened);
    /* One of the two is taken: the more expensive one counts. */
    taken = k->fetches;
    k->fetches = before_if;
    size_t before = k->body.length;
    kernel_open(k, "else");
    assume_not(k, a->pieces[taking].conditions, a->pieces[taking].condition_count);
    size_t inside = k->body.length;
    read_pieces(k, n, access, taking + 1, last, lanes, count, texts);
    bool zero = k->body.length == inside;
    for (int j = 0; j < count; j++) {
        zero = zero && !strcmp(texts[lanes[j]], "0f");
        kernel_line(k, "%s = %s;", names[j], texts[lanes[j]]);
    }
    kernel_close(k);
    k->fetches = taken > k->fetches ? taken : k->fetches;
    if (zero) /* what it was initialised to */
        strbuf_truncate(&k->body, before);
    for (int j = 0; j < count; j++)
        out[lanes[j]] = names[j];
}

static void read_view(struct kernel *k, struct value *v, const struct lanes *e, const char **out)
{
    struct node *n = v->producer;
    const struct access *access[4];
    bool done[4] = {false};

    for (int j = 0; j < e->count; j++) {
        struct access *a = NEW(k->arena, struct access);

        a->pool = k->pool;
        a->arena = k->arena;
        n->op->functions->view(k, n, v->producer_output, e->at[j], a);
        access[j] = a;
    }
    for (int j = 0; j < e->count; j++) {
        int lanes[4], count = 0;

        if (done[j])
            continue;
        for (int i = j; i < e->count; i++) {
            bool same = access[i]->count == access[j]->count;

            for (int p = 0; same && p < access[j]->count; p++)
                same = same_conditions(&access[j]->pieces[p], &access[i]->pieces[p]) &&
                       access[j]->pieces[p].input == access[i]->pieces[p].input;
            if (same) {
                lanes[count++] = i;
                done[i] = true;
            }
        }
        read_pieces(k, n, access, 0, access[j]->count - 1, lanes, count, out);
    }
}

/* What stands for element at[] of v among some that were computed; NULL: it is none of them. */
static const char *lane_of(const struct value *v, const struct index *const *at,
                           const struct lanes *computed, const char *const *lane)
{
    for (int i = 0; i < computed->count; i++)
        if (!memcmp(at, computed->at[i], (size_t)v->shape.axes * sizeof *at))
            return lane[i];
    return NULL;
}

/* What the root of this very step computed: it is in registers. */
static bool read_root(struct kernel *k, struct value *v, const struct lanes *e, const char **out)
{
    if (!k->lowered || v != k->step->root->outputs[k->step->root_output])
        return false;
    for (int j = 0; j < e->count; j++) {
        out[j] = lane_of(v, e->at[j], &k->out, k->lane);
        for (int g = 0; g < k->more_count && !out[j]; g++)
            out[j] = lane_of(v, e->at[j], &k->more[g].out, k->more[g].lane);
        if (!out[j])
            BUG(k->context, "%s is read at another element than its step computes", v->name);
    }
    return true;
}

void compute_value(struct kernel *k, struct value *v, const struct lanes *e, const char **out)
{
    if (read_root(k, v, e, out))
        return;
    if (v->producer->op->functions->role == ROLE_VIEW)
        read_view(k, v, e, out);
    else
        read_expression(k, v, e, out);
}

static void read_new(struct kernel *k, struct value *v, const struct lanes *e, const char **out)
{
    if (v->constant) {
        read_constant(k, v, e, out);
        return;
    }
    if (read_root(k, v, e, out))
        return;
    switch (spot_of(v)->placement) {
    case PLACED_BUFFER:
        read_buffer(k, v, e, out);
        return;
    case PLACED_VIEW:
    case PLACED_INLINE:
    case PLACED_JOINED:
        compute_value(k, v, e, out);
        return;
    case PLACED_NOWHERE:
        break;
    }
    BUG(k->context, "value %s is read but lies nowhere", v->name);
}

void read_value(struct kernel *k, struct value *v, const struct lanes *e, const char **out)
{
    int64_t fetches = k->fetches, held = k->held;

    context_poll(k->context);
    if (k->counts && visit_again(k, v, e)) {
        for (int j = 0; j < e->count; j++)
            out[j] = "";
        return;
    }
    read_new(k, v, e, out);
    if (k->counts)
        visit_add(k, v, e, fetches, held);
}

void kernel_read(struct kernel *k, struct value *v, const struct lanes *e, int zero_axis,
                 const char **out)
{
    read_value(k, v, e, out);
    for (int j = 0; j < e->count; j++)
        out[j] = kernel_closed(k, out[j]);
    if (zero_axis >= 0)
        zero_behind(k, &v->shape, e, zero_axis, out);
}
