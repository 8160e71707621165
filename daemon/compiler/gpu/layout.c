#include "daemon/compiler/gpu/layout.h"
#include <inttypes.h>
#include <string.h>

static void layout_measure(const struct shape *s, struct layout *l)
{
    int64_t height = 1;

    l->length_x = 1;
    for (int i = 0; i < l->x_count; i++)
        l->length_x *= s->dim[l->x[i]];
    for (int i = 0; i < l->y_count; i++)
        height *= s->dim[l->y[i]];
    l->groups = l->packed < 0 ? 1 : (s->dim[l->packed] + 3) / 4;
    l->width = l->length_x * l->groups;
    l->height = height;
    l->fold = l->rows = 0;
}

static bool layout_fold(struct layout *l)
{
    int64_t rows;

    if (l->width <= LARGEST_SIDE && l->height <= LARGEST_SIDE)
        return true;
    if (l->width <= LARGEST_SIDE)
        return false;
    /* Few rows of equal length; a multiple of lengthX where it fits keeps a band in one row. */
    rows = (l->width + LARGEST_SIDE - 1) / LARGEST_SIDE;
    l->fold = (l->width + rows - 1) / rows;
    if (l->length_x <= LARGEST_SIDE) {
        int64_t bands = LARGEST_SIDE / l->length_x;

        rows = (l->groups + bands - 1) / bands;
        l->fold = (l->groups + rows - 1) / rows * l->length_x;
    }
    l->rows = rows;
    l->width = l->fold;
    return !__builtin_mul_overflow(l->height, rows, &l->height) && l->height <= LARGEST_SIDE;
}

bool layout_inner(const struct shape *s, int packed, struct layout *l)
{
    int last = -1, others = 0;

    memset(l, 0, sizeof *l);
    l->packed = packed;
    for (int a = 0; a < s->axes; a++)
        if (a != packed && s->dim[a] > 1)
            last = a, others++;
    for (int a = 0; a < s->axes; a++) {
        if (a == packed || s->dim[a] <= 1)
            continue;
        if (a == last && others > 1)
            l->x[l->x_count++] = a;
        else
            l->y[l->y_count++] = a;
    }
    layout_measure(s, l);
    /* Too high: everything goes on x, and folds. */
    if (l->height > LARGEST_SIDE) {
        l->x_count = l->y_count = 0;
        for (int a = 0; a < s->axes; a++)
            if (a != packed && s->dim[a] > 1)
                l->x[l->x_count++] = a;
        layout_measure(s, l);
    }
    return layout_fold(l);
}

void layout_edge(const struct shape *s, bool line, struct layout *l)
{
    memset(l, 0, sizeof *l);
    l->packed = s->axes == 0 ? -1 : s->axes == 1 ? 0 : s->axes == 3 && !line ? 2 : 1;
    switch (s->axes) {
    case 0:
    case 1:
        break;
    case 2:
        l->y[l->y_count++] = 0;
        break;
    case 3:
        l->y[l->y_count++] = line ? 2 : 1;
        break;
    default:
        l->x[l->x_count++] = s->axes - 1;
        for (int a = 2; a < s->axes - 1; a++)
            l->y[l->y_count++] = a;
        break;
    }
    /* Axis 0 is the item, but where there is one item and it is longer all the same. */
    if (s->axes >= 3 && s->dim[0] > 1) {
        memmove(l->y + 1, l->y, (size_t)l->y_count++ * sizeof *l->y);
        l->y[0] = 0;
    }
    layout_measure(s, l);
}

bool layout_equal(const struct layout *a, const struct layout *b)
{
    return a->packed == b->packed && a->x_count == b->x_count && a->y_count == b->y_count &&
           !memcmp(a->x, b->x, (size_t)a->x_count * sizeof *a->x) &&
           !memcmp(a->y, b->y, (size_t)a->y_count * sizeof *a->y) && a->width == b->width &&
           a->height == b->height && a->fold == b->fold;
}

static const struct index *merge(struct index_pool *p, const int *axes, int count,
                                 const struct shape *s, const struct index *const *at)
{
    const struct index *sum = index_constant(p, 0);

    for (int i = 0; i < count; i++)
        sum = index_add(p, index_times(p, sum, s->dim[axes[i]]), at[axes[i]]);
    return sum;
}

void layout_cell(struct index_pool *p, const struct layout *l, const struct shape *s,
                 const struct index *const *at, const struct index **x, const struct index **y,
                 const struct index **component)
{
    *x = merge(p, l->x, l->x_count, s, at);
    *y = merge(p, l->y, l->y_count, s, at);
    *component = index_constant(p, 0);
    if (l->packed >= 0) {
        *x = index_add(p, *x, index_times(p, index_div(p, at[l->packed], 4), l->length_x));
        *component = index_mod(p, at[l->packed], 4);
    }
    if (l->fold) {
        *y = index_add(p, index_times(p, *y, l->rows), index_div(p, *x, l->fold));
        *x = index_mod(p, *x, l->fold);
    }
}

void layout_place(const struct layout *l, const struct shape *s, const int64_t *at, int64_t *x,
                  int64_t *y, int *component)
{
    *x = *y = 0;
    *component = 0;
    for (int i = 0; i < l->x_count; i++)
        *x = *x * s->dim[l->x[i]] + at[l->x[i]];
    for (int i = 0; i < l->y_count; i++)
        *y = *y * s->dim[l->y[i]] + at[l->y[i]];
    if (l->packed >= 0) {
        *x += at[l->packed] / 4 * l->length_x;
        *component = (int)(at[l->packed] % 4);
    }
    if (l->fold) {
        *y = *y * l->rows + *x / l->fold;
        *x %= l->fold;
    }
}

/* "the index along axis 2", or of several merged axes "the index along axes 2 and 3 (i2 * 8 + i3)".
 */
static void print_axes(struct strbuf *s, const int *axes, int count, const struct shape *shape)
{
    if (count == 1) {
        strbuf_printf(s, "the index along axis %d", axes[0]);
        return;
    }
    strbuf_add(s, "the index along axes ");
    for (int i = 0; i < count; i++)
        strbuf_printf(s, "%s%d", !i ? "" : i + 1 == count ? " and " : ", ", axes[i]);
    strbuf_add(s, " (");
    for (int i = 0; i < count; i++) {
        int64_t factor = 1;

        for (int k = i + 1; k < count; k++)
            factor *= shape->dim[axes[k]];
        strbuf_printf(s, factor == 1 ? "%si%d" : "%si%d * %" PRId64, i ? " + " : "", axes[i],
                      factor);
    }
    strbuf_char(s, ')');
}

void layout_print(struct strbuf *s, const struct layout *l, const struct shape *shape)
{
    strbuf_add(s, "Layout (shape ");
    shape_print(s, shape);
    strbuf_add(s, "): ");
    if (l->packed < 0) {
        strbuf_add(s, "the value is component r of cell (0, 0).");
        return;
    }
    if (l->y_count) {
        strbuf_add(s, "y is ");
        print_axes(s, l->y, l->y_count, shape);
    }
    if (l->x_count) {
        strbuf_add(s, l->y_count ? ", x " : "x is ");
        print_axes(s, l->x, l->x_count, shape);
    }
    if (l->x_count || l->y_count)
        strbuf_add(s, "; ");
    strbuf_printf(s,
                  "channel c is the index along axis %d; the value is component c %% 4 of cell (",
                  l->packed);
    if (l->x_count)
        strbuf_printf(s, "x + (c / 4) * %" PRId64, l->length_x);
    else
        strbuf_add(s, "c / 4");
    strbuf_printf(s, ", %s).", l->y_count ? "y" : "0");
}
