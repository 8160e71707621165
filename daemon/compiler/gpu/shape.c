#include "daemon/compiler/gpu/shape.h"
#include <string.h>

int cell_axis(const struct flat *f, const struct expression *e)
{
    while (e != NULL && e->kind == EXPRESSION_LOCAL && !f->locals[e->slot].assigned)
        e = f->locals[e->slot].start;
    return e != NULL && e->kind == EXPRESSION_ID ? e->slot : -1;
}

/* ---- candidates */

enum { DIVISORS_MAX = 4 };

struct divisors {
    int smallest[DIVISORS_MAX]; /* ascending, distinct */
    int count;
};

static void keep(struct divisors *d, int value)
{
    int at = 0;
    while (at < d->count && d->smallest[at] < value)
        at++;
    if (at == DIVISORS_MAX || (at < d->count && d->smallest[at] == value))
        return;
    if (d->count < DIVISORS_MAX)
        d->count++;
    for (int i = d->count - 1; i > at; i--)
        d->smallest[i] = d->smallest[i - 1];
    d->smallest[at] = value;
}

static void collect_list(const struct flat *f, const struct statement *s, struct divisors axis[2]);

static void collect(const struct flat *f, const struct expression *e, struct divisors axis[2])
{
    if (e == NULL)
        return;
    collect_list(f, e->body, axis);
    for (int i = 0; i < e->part_count; i++)
        collect(f, e->part[i], axis);
    if (e->kind == EXPRESSION_BINARY && e->sign == SIGN_DIVIDE && e->type == KERNEL_INT &&
        e->part[1]->kind == EXPRESSION_INT) {
        int of = cell_axis(f, e->part[0]);
        if (of >= 0)
            keep(&axis[of], e->part[1]->integer);
    }
}

static void collect_list(const struct flat *f, const struct statement *s, struct divisors axis[2])
{
    for (; s != NULL; s = s->next) {
        collect(f, s->value, axis);
        collect_list(f, s->body, axis);
        collect_list(f, s->other, axis);
    }
}

static int at_most(int a, int b)
{
    return a < b ? a : b;
}

static void candidate(struct shape *list, int *count, struct shape s)
{
    s.columns = at_most(s.columns, s.band_x);
    s.rows = at_most(s.rows, s.band_y);
    for (int i = 0; i < *count; i++)
        if (list[i].band_x == s.band_x && list[i].band_y == s.band_y &&
            list[i].columns == s.columns && list[i].rows == s.rows)
            return;
    if (*count < SHAPE_CANDIDATES)
        list[(*count)++] = s;
}

int shape_candidates(const struct flat *f, int width, int height,
                     struct shape candidates[SHAPE_CANDIDATES])
{
    struct divisors axis[2] = {{{0}, 0}, {{0}, 0}};
    collect_list(f, f->body, axis);
    collect(f, f->result, axis);

    int count = 0;
    int band_y = height;
    for (int i = 0; i < axis[1].count; i++)
        band_y = at_most(band_y, axis[1].smallest[i]);
    struct shape s = {.width = width, .height = height, .band_x = width, .band_y = height};
    s.columns = SHAPE_LANES;
    s.rows = 1;
    candidate(candidates, &count, s); /* whole rows */
    for (int i = -1; i < axis[0].count; i++) {
        s.band_x = i < 0 ? width : at_most(width, axis[0].smallest[i]);
        s.columns = at_most(s.band_x, SHAPE_LANES);
        s.band_y = height;
        s.rows = 1;
        candidate(candidates, &count, s);
        s.rows = SHAPE_LANES / s.columns;
        s.band_y = band_y;
        candidate(candidates, &count, s);
    }
    s.band_x = 1;
    s.columns = 1;
    s.band_y = band_y;
    s.rows = SHAPE_LANES;
    candidate(candidates, &count, s); /* columns */
    return count;
}

/* ---- what varies */

struct marker {
    const struct shape *shape;
    struct flat *flat;
    bool *varying;
    int *level; /* of varying ifs, at each local's declaration */
    int depth;
    bool changed;
};

static bool constant_in_block(const struct shape *s, int axis, int divisor)
{
    int band = axis == 0 ? s->band_x : s->band_y;
    int extent = axis == 0 ? s->width : s->height;
    return divisor >= extent || divisor % band == 0;
}

static void mark_list(struct marker *m, struct statement *s);

static bool mark(struct marker *m, struct expression *e)
{
    bool varying = false;
    mark_list(m, e->body);
    for (int i = 0; i < e->part_count; i++)
        if (e->part[i]->type != KERNEL_BUFFER && e->part[i]->type != KERNEL_TABLE)
            varying = mark(m, e->part[i]) || varying;
    if (e->kind == EXPRESSION_ID)
        varying = e->slot == 0 ? m->shape->columns > 1 : m->shape->rows > 1;
    else if (e->kind == EXPRESSION_LOCAL)
        varying = m->varying[e->slot];
    else if (varying && e->kind == EXPRESSION_BINARY && e->sign == SIGN_DIVIDE &&
             e->type == KERNEL_INT && e->part[1]->kind == EXPRESSION_INT) {
        int axis = cell_axis(m->flat, e->part[0]);
        if (axis >= 0 && constant_in_block(m->shape, axis, e->part[1]->integer))
            varying = false;
    }
    return e->varying = varying;
}

static void make_varying(struct marker *m, int slot)
{
    if (!m->varying[slot]) {
        m->varying[slot] = true;
        m->changed = true;
    }
}

static void mark_list(struct marker *m, struct statement *s)
{
    for (; s != NULL; s = s->next) {
        bool varying = s->value != NULL && mark(m, s->value);
        switch (s->kind) {
        case STATEMENT_DECLARE:
            m->level[s->slot] = m->depth;
            if (varying)
                make_varying(m, s->slot);
            break;
        case STATEMENT_ASSIGN:
            if (varying || m->depth > m->level[s->target->slot])
                make_varying(m, s->target->slot);
            break;
        case STATEMENT_IF:
            m->depth += varying;
            mark_list(m, s->body);
            mark_list(m, s->other);
            m->depth -= varying;
            break;
        case STATEMENT_LOOP:
            mark_list(m, s->body);
            break;
        default:
            break;
        }
    }
}

void shape_mark(struct arena *arena, const struct shape *shape, struct flat *f, bool *varying)
{
    struct marker m = {.shape = shape, .flat = f, .varying = varying};
    m.level = NEW_ARRAY(arena, f->local_count, int);
    memset(varying, 0, (size_t)f->local_count * sizeof *varying);
    do { /* a round only ever adds to what varies */
        m.changed = false;
        mark_list(&m, f->body);
        mark(&m, f->result);
    } while (m.changed);
}

/* ---- strides */

static int stride(const struct shape *shape, const struct flat *f, const struct expression *e,
                  int depth)
{
    if (e == NULL || depth > 64)
        return -1;
    if (!e->varying)
        return 0;
    if (e->kind == EXPRESSION_ID)
        return e->slot == 0;
    if (e->kind == EXPRESSION_LOCAL) {
        const struct flat_local *l = &f->locals[e->slot];
        return l->assigned ? -1 : stride(shape, f, l->start, depth + 1);
    }
    if (e->kind != EXPRESSION_BINARY || e->type != KERNEL_INT)
        return -1;
    int a = stride(shape, f, e->part[0], depth + 1), b = stride(shape, f, e->part[1], depth + 1);
    bool literal = e->part[1]->kind == EXPRESSION_INT;
    if (e->sign == SIGN_REMAINDER && literal) {
        int axis = cell_axis(f, e->part[0]);
        return axis >= 0 && constant_in_block(shape, axis, e->part[1]->integer) ? axis == 0 : -1;
    }
    if (a < 0 || b < 0)
        return -1;
    if (e->sign == SIGN_ADD)
        return a + b > 1024 ? -1 : a + b;
    if (e->sign == SIGN_SUBTRACT)
        return a >= b ? a - b : -1;
    if (e->sign == SIGN_MULTIPLY && literal && e->part[1]->integer >= 0 &&
        e->part[1]->integer <= 1024)
        return a * e->part[1]->integer > 1024 ? -1 : a * e->part[1]->integer;
    return -1;
}

int shape_stride(const struct shape *shape, const struct flat *f, const struct expression *e)
{
    return stride(shape, f, e, 0);
}
