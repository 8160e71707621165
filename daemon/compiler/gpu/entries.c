/* Constants in kernels: tables and weight textures, and tables of indices. */
#include "daemon/compiler/gpu/kernel_inside.h"
#include "daemon/compiler/gpu/pattern.h"
#include "daemon/compiler/operators/operator.h"
#include <inttypes.h>
#include <math.h>
#include <string.h>

/* A constant of several values: packed along the axis in which the elements asked for differ. */
static void fill_constant(struct context *c, const struct weights *w, int64_t first, int64_t count,
                          float *entries, struct arena *scratch)
{
    const struct tensor *t = w->tensor;
    const struct shape *s = &t->shape;
    const float *numbers;
    int64_t groups = w->packed < 0 ? 1 : (s->dim[w->packed] + 3) / 4;
    int64_t outer = w->packed < 0 ? 1 : shape_product(s, 0, w->packed);
    int64_t inner = w->packed < 0 ? 1 : shape_product(s, w->packed + 1, s->axes);
    int64_t extent = w->packed < 0 ? 1 : s->dim[w->packed];

    /* The last axis is packed: the rows are the tensor's own. */
    if (w->parts) {
        float *rows = extent % 4 ? NEW_ROOM(scratch, count * extent, float) : entries;

        tensor_floats_part(c, t, first * extent, count * extent, rows);
        for (int64_t o = 0; rows != entries && o < count; o++) {
            float *entry = entries + o * groups * 4;

            memcpy(entry, rows + o * extent, (size_t)extent * sizeof *rows);
            memset(entry + extent, 0, (size_t)(groups * 4 - extent) * sizeof *rows);
        }
        return;
    }
    numbers = tensor_floats(c, t, scratch);
    for (int64_t o = 0; o < outer; o++)
        for (int64_t i = 0; i < inner; i++)
            for (int64_t x = 0; x < extent; x++)
                entries[((o * inner + i) * groups + x / 4) * 4 + x % 4] =
                    numbers[(o * extent + x) * inner + i];
}

static void fill_single(struct context *c, const struct weights *w, int64_t first, int64_t count,
                        float *entries, struct arena *scratch)
{
    (void)first; /* there is one row */
    (void)count;
    entries[0] = tensor_floats(c, w->tensor, scratch)[0];
}

static struct weights *weights_make(struct kernel *k, int64_t rows, int64_t columns)
{
    struct kernel_state *s = state_of(k);
    struct weights *w = NEW(k->arena, struct weights);

    w->number = k->weight_count;
    w->rows = rows;
    w->columns = columns;
    if (rows * columns <= TABLE_ENTRIES - s->table_entries) {
        w->offset = s->table_entries;
        s->table_entries += rows * columns;
    } else {
        w->texture = true;
        for (int i = 0; i < k->weight_count; i++)
            w->offset += k->weights[i]->texture;
        w->width = columns;
        w->height = rows;
        if (columns > LARGEST_SIDE || rows > LARGEST_SIDE) {
            /* Folded as one long row; a power of two keeps the division cheap. */
            w->width = 2048;
            while ((rows * columns + w->width - 1) / w->width > LARGEST_SIDE &&
                   w->width < LARGEST_SIDE)
                w->width *= 2;
            w->height = (rows * columns + w->width - 1) / w->width;
        }
        if (w->height > LARGEST_SIDE)
            BUG(k->context, "weights of %" PRId64 " entries do not fit a texture", rows * columns);
    }
    APPEND(k->arena, k->weights, k->weight_count, k->weight_room) = w;
    return w;
}

struct weights *kernel_weights(struct kernel *k, int64_t rows, int64_t columns, weights_fill *fill,
                               const char *about)
{
    struct weights *w = weights_make(k, rows, columns);

    w->fill = fill;
    w->about = about;
    w->node = k->step->root;
    return w;
}

static const char *entry_fetch(struct kernel *k, struct weights *w, const struct index *row,
                               const struct index *column, const char *base)
{
    const struct index *linear = index_add(k->pool, index_times(k->pool, row, w->columns), column);
    struct strbuf s;
    const char *name = kernel_name(k, base);

    strbuf_init(&s, k->arena);
    if (!w->texture) {
        index_print(&s, index_plus(k->pool, linear, w->offset), false);
        kernel_line(k, "Vector4 %s = t[%s];", name, s.text);
        return name;
    }
    if (w->width != w->columns || w->height != w->rows) {
        if (!index_is_plain(linear))
            linear = kernel_bind(k, "e", linear);
        column = index_mod(k->pool, linear, w->width);
        row = index_div(k->pool, linear, w->width);
    }
    index_print(&s, column, false);
    strbuf_add(&s, ", ");
    index_print(&s, row, false);
    if (w->offset)
        kernel_line(k, "Color4 %s = w%" PRId64 "[%s];", name, w->offset, s.text);
    else
        kernel_line(k, "Color4 %s = w[%s];", name, s.text);
    k->fetches++;
    k->held++;
    return name;
}

/* The name of an entry that is fetched once for all that read it. */
static const char *entry_shared(struct kernel *k, struct weights *w, const struct index *row,
                                const struct index *column)
{
    const struct index *cell[2] = {column, row};
    const char *name = memo_find(k, NULL, w, true, cell, 2);

    if (!name) {
        name = entry_fetch(k, w, row, column, "c");
        memo_add(k, NULL, w, true, cell, 2, name);
    }
    return name;
}

void kernel_entry(struct kernel *k, struct weights *w, const struct index *row,
                  const struct index *column, const char *base, const char **out)
{
    const char *name = entry_fetch(k, w, row, column, base);

    for (int j = 0; j < 4; j++)
        out[j] = kernel_text(k, "%s.%c", name, (w->texture ? "rgba" : "xyzw")[j]);
}

const char *kernel_entry_component(struct kernel *k, struct weights *w, const struct index *row,
                                   const struct index *column, const char *base,
                                   const struct index *component)
{
    return kernel_pick(k, entry_fetch(k, w, row, column, base), component, !w->texture);
}

/* Elements that follow a rule need no table. */
static bool read_pattern(struct kernel *k, const struct tensor *t, const struct lanes *e,
                         const char **out)
{
    const struct pattern *p = plan_pattern(k->plan, t);
    int axes = t->shape.axes;

    for (int j = 0; p->found && j < e->count; j++) {
        struct access access = {.pool = k->pool, .arena = k->arena};
        struct piece *inside = access_piece(&access, 0);
        const char *in = kernel_number(k, (double)p->inside),
                   *other = kernel_number(k, (double)p->outside);
        const struct index *at[MAX_AXES];
        struct strbuf s;

        out[j] = in;
        if (!p->banded)
            continue;
        limit_index(k, &t->shape, -1, e->at[j], at);
        piece_when(&access, inside,
                   index_add(k->pool, at[axes - 1], index_times(k->pool, at[axes - 2], -1)), p->lo,
                   p->hi);
        switch (conditions_known(k, inside->conditions, inside->condition_count)) {
        case 1:
            break;
        case 0:
            out[j] = other;
            break;
        default:
            conditions_print(k, &s, inside->conditions, inside->condition_count);
            out[j] = kernel_local(k, "v", kernel_text(k, "%s ? %s : %s", s.text, in, other));
        }
    }
    return p->found;
}

static const char *print_single(struct kernel *k, struct tensor *t)
{
    if (k->counts)
        return "";
    struct arena *scratch = arena_child(k->arena);
    const char *number = kernel_number(k, tensor_floats(k->context, t, scratch)[0]);

    arena_free(scratch);
    return number;
}

/* A single value that differs between styles is an entry of the table, with all its bits. */
static const char *read_varying(struct kernel *k, struct tensor *t)
{
    const struct index *zero = kernel_constant(k, 0);
    struct weights *w = NULL;

    for (int i = 0; i < k->weight_count && !w; i++)
        if (k->weights[i]->tensor == t && k->weights[i]->fill == fill_single)
            w = k->weights[i];
    if (!w) {
        w = weights_make(k, 1, 1);
        w->fill = fill_single;
        w->exact = true;
        w->tensor = t;
        w->about = "a single value";
    }
    return kernel_pick(k, entry_shared(k, w, zero, zero), zero, !w->texture);
}

void read_constant(struct kernel *k, struct value *v, const struct lanes *e, const char **out)
{
    struct tensor *t = v->constant;
    const struct shape *s = &t->shape;
    struct weights *w = NULL;
    int packed = -1;
    const struct index *zero = kernel_constant(k, 0);

    if (t->count == 1) {
        const char *number = t->varies ? read_varying(k, t) : print_single(k, t);

        for (int j = 0; j < e->count; j++)
            out[j] = number;
        return;
    }
    if (read_pattern(k, t, e, out))
        return;
    /* The axis along which they are neighbours; of elements that lie anywhere, the last axis. */
    for (int a = 0; a < s->axes && packed < 0; a++)
        for (int j = 1; j < e->count && packed < 0; j++)
            if (s->dim[a] > 1 && e->at[j][a] == index_plus(k->pool, e->at[0][a], j))
                packed = a;
    for (int a = s->axes - 1; a >= 0 && packed < 0; a--)
        if (s->dim[a] > 1)
            packed = a;
    for (int i = 0; i < k->weight_count && !w; i++)
        if (k->weights[i]->tensor == t && k->weights[i]->packed == packed &&
            k->weights[i]->fill == fill_constant)
            w = k->weights[i];
    if (!w) {
        int64_t bands = (s->dim[packed] + 3) / 4, inner = shape_product(s, packed + 1, s->axes);
        int64_t outer = inner == 1 ? shape_product(s, 0, packed) : 1;

        w = weights_make(k, outer, t->count / s->dim[packed] / outer * bands);
        w->fill = fill_constant;
        w->parts = inner == 1 && w->texture && tensor_has_parts(t);
        w->tensor = t;
        w->packed = packed;
        w->about = kernel_text(k, "values of %s", shape_text(k->arena, s));
    }
    for (int j = 0; j < e->count; j++) {
        const struct index *at[MAX_AXES], *entry = zero, *cell[2];

        limit_index(k, s, packed, e->at[j], at);
        for (int a = 0; a < s->axes; a++)
            if (a != packed)
                entry = index_add(k->pool, index_times(k->pool, entry, s->dim[a]), at[a]);
        cell[0] = index_div(k->pool, at[packed], 4);
        cell[1] = entry;
        if (w->rows == 1) {
            cell[0] =
                index_add(k->pool, index_times(k->pool, entry, (s->dim[packed] + 3) / 4), cell[0]);
            cell[1] = zero;
        }
        const char *name = entry_shared(k, w, cell[1], cell[0]);
        out[j] = kernel_pick(k, name, index_mod(k->pool, at[packed], 4), !w->texture);
        out[j] = kernel_local(k, "v", out[j]);
    }
}

/* ---- index tables ---- */

static void fill_lookup(struct context *c, const struct weights *w, int64_t first, int64_t count,
                        float *entries, struct arena *scratch)
{
    const int64_t *numbers = w->numbers;

    (void)c;
    (void)first;
    (void)count;
    (void)scratch;
    /* Two digits to the base 2048 are exact in 16 bits, so that the table may be a texture too. */
    for (int64_t i = 0; i < w->columns; i++) {
        entries[4 * i] = (float)(numbers[i] % 2048);
        entries[4 * i + 1] = (float)(numbers[i] / 2048);
    }
}

/* Numbers on a line, or runs of equal ones of one length, shifted: computed as such; else NULL. */
static const struct index *lookup_line(struct kernel *k, const int64_t *numbers, int64_t count,
                                       const struct index *i)
{
    int64_t step = count > 1 ? numbers[1] - numbers[0] : 0, run = 1, shift, at;

    for (at = 0; at < count && numbers[at] == numbers[0] + at * step; at++)
        ;
    if (at == count)
        return index_plus(k->pool, index_times(k->pool, i, step), numbers[0]);
    for (at = 1; at < count && numbers[at] == numbers[0]; at++)
        ;
    shift = at;
    while (at + run < count && numbers[at + run] == numbers[at])
        run++;
    if (shift > run)
        return NULL;
    shift = run - shift;
    for (at = 0; at < count && numbers[at] == numbers[0] + (at + shift) / run; at++)
        ;
    return at < count ? NULL
                      : index_plus(k->pool, index_div(k->pool, index_plus(k->pool, i, shift), run),
                                   numbers[0]);
}

enum { MOST_LINES = 3 };

/* Up to three lines one after another, as padding by reflection, by the edge or around makes them:
 * `int i = x < 5 ? 4 - x : x < 69 ? x - 4 : 132 - x;`; else NULL. */
static const struct index *lookup_lines(struct kernel *k, const int64_t *numbers, int64_t count,
                                        const struct index *i, int64_t lo, int64_t hi)
{
    const struct index *at[2 * MOST_LINES] = {0};
    int lines = 0;
    struct strbuf s;
    const char *name;

    i = index_clamp(k->pool, i, 0, count - 1);
    for (int64_t from = 0, to; from < count; from = to) {
        int64_t step = from + 1 < count ? numbers[from + 1] - numbers[from] : 0;

        for (to = from + 1; to < count && numbers[to] - numbers[to - 1] == step; to++)
            ;
        if (lines == MOST_LINES)
            return NULL;
        at[2 * lines] =
            index_plus(k->pool, index_times(k->pool, i, step), numbers[from] - from * step);
        at[2 * lines++ + 1] = kernel_constant(k, to);
    }
    at[2 * lines - 1] = i;
    name = memo_find(k, NULL, NULL, false, at, 2 * lines);
    if (!name) {
        strbuf_init(&s, k->arena);
        for (int l = 0; l < lines; l++) {
            if (l < lines - 1) {
                index_print(&s, i, true);
                strbuf_printf(&s, " < %" PRId64 " ? ", index_lo(at[2 * l + 1]));
            }
            index_print(&s, at[2 * l], false);
            if (l < lines - 1)
                strbuf_add(&s, " : ");
        }
        name = kernel_name(k, "i");
        kernel_line(k, "int %s = %s;", name, s.text);
        declare_name(k, name);
        memo_add(k, NULL, NULL, false, at, 2 * lines, name);
    }
    return index_variable(k->pool, name, lo, hi);
}

/* Numbers are counted from the smallest, so that no digit is negative. */
static bool holds(const struct weights *w, const int64_t *numbers, int64_t least)
{
    for (int64_t i = 0; i < w->columns; i++)
        if (w->numbers[i] != numbers[i] - least)
            return false;
    return true;
}

const struct index *kernel_lookup(struct kernel *k, const int64_t *numbers, int64_t count,
                                  const struct index *i)
{
    int64_t lo = numbers[0], hi = numbers[0], at, *digits;
    const struct index *found = lookup_line(k, numbers, count, i);
    struct weights *w;

    if (found)
        return found;
    for (at = 0; at < count; at++) {
        lo = numbers[at] < lo ? numbers[at] : lo;
        hi = numbers[at] > hi ? numbers[at] : hi;
    }
    found = lookup_lines(k, numbers, count, i, lo, hi);
    if (found)
        return found;
    w = NULL;
    for (int j = 0; j < k->weight_count && !w; j++)
        if (k->weights[j]->fill == fill_lookup && k->weights[j]->columns == count &&
            holds(k->weights[j], numbers, lo))
            w = k->weights[j];
    if (!w) {
        digits = NEW_ROOM(k->arena, count, int64_t);
        for (at = 0; at < count; at++)
            digits[at] = numbers[at] - lo;
        w = weights_make(k, 1, count);
        w->fill = fill_lookup;
        w->numbers = digits;
        w->about = kernel_text(k, "%" PRId64 " indices", count);
    }
    const struct index *entry = index_clamp(k->pool, i, 0, count - 1);
    const char *local = memo_find(k, NULL, w, false, &entry, 1);
    if (!local) {
        const char *part = w->texture ? "rg" : "xy";
        const char *name = entry_shared(k, w, kernel_constant(k, 0), entry);

        local = kernel_name(k, "i");
        if (hi - lo < 2048)
            kernel_line(k, "int %s = (int)(%s.%c + 0.5f);", local, name, part[0]);
        else
            kernel_line(k, "int %s = (int)(%s.%c * 2048f + %s.%c + 0.5f);", local, name, part[1],
                        name, part[0]);
        declare_name(k, local);
        /* One name for one index, so that the cells it leads to are known to be the same. */
        memo_add(k, NULL, w, false, &entry, 1, local);
    }
    return index_plus(k->pool, index_variable(k->pool, local, 0, hi - lo), lo);
}
