/* Views: which element of an operand an element of the output is. */
#include "daemon/compiler/gpu/layout.h"
#include "daemon/compiler/gpu/tokens.h"
#include "daemon/compiler/operators/concat.h"
#include "daemon/compiler/operators/lower.h"
#include "daemon/compiler/operators/pad.h"
#include "daemon/compiler/operators/resize.h"
#include "daemon/compiler/operators/slice.h"
#include "daemon/compiler/operators/transpose.h"
#include "daemon/compiler/operators/work.h"
#include <inttypes.h>
#include <string.h>

/* The kernel's axes that are merged into one number, row-major over dims. */
static const struct index *linear(struct index_pool *p, const struct shape *s,
                                  const struct index *const *at)
{
    const struct index *sum = index_constant(p, 0);

    for (int a = 0; a < s->axes; a++)
        sum = index_add(p, index_times(p, sum, s->dim[a]), at[a]);
    return sum;
}

/*
 * Element at[] of shape `to` has the row-major number of an element of shape `from`. Axes are
 * matched in blocks of equal product from the left, so that an axis that both share stays untouched
 * and only what is really merged or split becomes quotients and remainders.
 */
static void reshape(struct index_pool *p, const struct shape *to, const struct index *const *at,
                    const struct shape *from, const struct index **out)
{
    int t = 0, f = 0;

    while (f < from->axes) {
        int64_t left = 1, right = 1;
        int t0 = t, f0 = f;

        if (from->dim[f] == 1) {
            out[f++] = index_constant(p, 0);
            continue;
        }
        while (t < to->axes && to->dim[t] == 1)
            t0 = ++t;
        do {
            if (left <= right && t < to->axes)
                left *= to->dim[t++];
            else if (f < from->axes)
                right *= from->dim[f++];
            else
                break;
        } while (left != right || right == 1);
        struct shape block = shape_of(t - t0, to->dim + t0);
        const struct index *number = linear(p, &block, at + t0);
        for (int a = f - 1; a >= f0; a--) {
            out[a] = a > f0 ? index_mod(p, number, from->dim[a]) : number;
            if (a > f0)
                number = index_div(p, number, from->dim[a]);
        }
    }
}

void view_reshape(struct kernel *k, const struct node *n, int output, const struct index *const *at,
                  struct access *access)
{
    (void)k;
    reshape(access->pool, &n->outputs[output]->shape, at, &n->inputs[0]->shape,
            access_piece(access, 0)->at);
}

void view_transpose(struct kernel *k, const struct node *n, int output,
                    const struct index *const *at, struct access *access)
{
    struct piece *p = access_piece(access, 0);
    int perm[MAX_AXES], axes = n->inputs[0]->shape.axes;

    (void)k;
    (void)output;
    transpose_permutation(n, axes, perm);
    for (int a = 0; a < axes; a++)
        p->at[perm[a]] = at[a];
}

void view_slice(struct kernel *k, const struct node *n, int output, const struct index *const *at,
                struct access *access)
{
    struct piece *p = access_piece(access, 0);
    struct slice slice;

    (void)output;
    if (!slice_read(n, &n->inputs[0]->shape, &slice))
        BUG(k->context, "a Slice is lowered that does not know what it takes");
    for (int a = 0; a < n->inputs[0]->shape.axes; a++)
        p->at[a] = index_plus(access->pool, index_times(access->pool, at[a], slice.step[a]),
                              slice.start[a]);
}

void view_concat(struct kernel *k, const struct node *n, int output, const struct index *const *at,
                 struct access *access)
{
    int axis = concat_axis(n);

    (void)k;
    for (int i = 0; i < n->input_count; i++) {
        int64_t offset = concat_offset(n, i), length = n->inputs[i]->shape.dim[axis];
        struct piece *p;

        if (!length)
            continue;
        p = access_piece(access, i);
        memcpy(p->at, at, (size_t)n->outputs[output]->shape.axes * sizeof *at);
        p->at[axis] = index_plus(access->pool, at[axis], -offset);
        /* Pieces stand in order: what is before was taken by those before. */
        piece_when(access, p, at[axis], 0, offset + length - 1);
    }
}

void view_split(struct kernel *k, const struct node *n, int output, const struct index *const *at,
                struct access *access)
{
    struct piece *p = access_piece(access, 0);
    int axis = split_axis(n);

    (void)k;
    memcpy(p->at, at, (size_t)n->inputs[0]->shape.axes * sizeof *at);
    p->at[axis] = index_plus(access->pool, at[axis], split_offset(n, output));
}

void view_expand(struct kernel *k, const struct node *n, int output, const struct index *const *at,
                 struct access *access)
{
    broadcast_index(k, &n->inputs[0]->shape, &n->outputs[output]->shape, at,
                    access_piece(access, 0)->at);
}

void view_tile(struct kernel *k, const struct node *n, int output, const struct index *const *at,
               struct access *access)
{
    const struct shape *s = &n->inputs[0]->shape;
    struct piece *p = access_piece(access, 0);

    (void)k;
    (void)output;
    for (int a = 0; a < s->axes; a++)
        p->at[a] = index_mod(access->pool, at[a], s->dim[a]);
}

/* A table with an entry for each index of an axis. What has more than a texture cannot be looked
 * up, and would be large long before that is found. */
static int64_t *table_new(struct kernel *k, const struct node *n, int64_t entries)
{
    const int64_t most = (int64_t)LARGEST_SIDE * LARGEST_SIDE;
    struct place place = node_place(n);

    if (entries <= most) {
        work_table((struct node *)n, entries);
        return NEW_ARRAY(k->arena, entries, int64_t);
    }
    diagnose(k->context, &place, TUKI0134, NULL,
             "an axis of its result has %" PRId64 " elements, and a kernel finds what each of them "
             "is in a table of at most %" PRId64,
             entries, most);
    context_escape(k->context, ESCAPE_REFUSED, "a table of %" PRId64 " entries is too large",
                   entries);
}

void view_pad(struct kernel *k, const struct node *n, int output, const struct index *const *at,
              struct access *access)
{
    const struct shape *s = &n->inputs[0]->shape, *out = &n->outputs[output]->shape;
    struct piece *p = access_piece(access, 0), *fill;
    struct pad pad;

    if (!pad_read(n, s, &pad))
        BUG(k->context, "a Pad is lowered that does not know its pads");
    for (int a = 0; a < s->axes; a++) {
        if (!pad.begin[a] && !pad.end[a]) {
            p->at[a] = at[a];
        } else if (pad.mode == PAD_CONSTANT) {
            p->at[a] = index_plus(access->pool, at[a], -pad.begin[a]);
            piece_when(access, p, at[a], pad.begin[a], pad.begin[a] + s->dim[a] - 1);
        } else if (pad.mode == PAD_EDGE) {
            p->at[a] = index_clamp(access->pool, index_plus(access->pool, at[a], -pad.begin[a]), 0,
                                   s->dim[a] - 1);
        } else {
            int64_t *numbers = table_new(k, n, out->dim[a]);

            for (int64_t i = 0; i < out->dim[a]; i++)
                numbers[i] = pad_index(pad.mode, pad.begin[a], pad.end[a], s->dim[a], i);
            p->at[a] = kernel_lookup(k, numbers, out->dim[a], at[a]);
        }
    }
    if (!p->condition_count)
        return;
    fill = access_piece(access, -1);
    struct value *value = node_input(n, 2);
    if (value && value->constant && !value->constant->varies && value->constant->count) {
        struct arena *scratch = arena_child(k->arena);

        fill->fill = tensor_floats(k->context, value->constant, scratch)[0];
        arena_free(scratch);
    } else if (value) {
        fill->input = 2;
        for (int a = 0; a < value->shape.axes; a++)
            fill->at[a] = index_constant(access->pool, 0);
    }
}

void view_depth(struct kernel *k, const struct node *n, int output, const struct index *const *at,
                struct access *access)
{
    const struct shape *from = &n->inputs[0]->shape, *to = &n->outputs[output]->shape;
    struct piece *p = access_piece(access, 0);
    int64_t split[6], moved[6];
    const struct index *six[6], *back[6];
    int perm[6];

    (void)k;
    depth_split(n, from, split, perm);
    for (int a = 0; a < 6; a++)
        moved[a] = split[perm[a]];
    struct shape wide = shape_of(6, moved), narrow = shape_of(6, split);
    reshape(access->pool, to, at, &wide, six);
    for (int a = 0; a < 6; a++)
        back[perm[a]] = six[a];
    reshape(access->pool, &narrow, back, from, p->at);
}

/* given, where those below 0 are counted from the end of an axis; itself where none is. */
static const int64_t *nonnegative(struct kernel *k, const int64_t *given, int count, int64_t length)
{
    int64_t *numbers;
    int first = 0;

    while (first < count && given[first] >= 0)
        first++;
    if (first == count)
        return given;
    numbers = NEW_ROOM(k->arena, count, int64_t);
    for (int i = 0; i < count; i++)
        numbers[i] = given[i] < 0 ? given[i] + length : given[i];
    return numbers;
}

void view_gather(struct kernel *k, const struct node *n, int output, const struct index *const *at,
                 struct access *access)
{
    const struct shape *data = &n->inputs[0]->shape, *indices = &n->inputs[1]->shape;
    int axis = shape_axis(data, node_int(n, "axis", 0)), count;
    const int64_t *given = node_constant_ints(n, 1, &count);
    struct piece *p = access_piece(access, 0);
    const int64_t *numbers = given ? nonnegative(k, given, count, data->dim[axis]) : NULL;

    (void)output;
    work_table((struct node *)n, count);
    for (int a = 0; a < axis; a++)
        p->at[a] = at[a];
    p->at[axis] = given ? kernel_lookup(k, numbers, count, linear(access->pool, indices, at + axis))
                        : tokens_read(k, n->inputs[1], at + axis, data->dim[axis]);
    for (int a = axis + 1; a < data->axes; a++)
        p->at[a] = at[a + indices->axes - 1];
}

void view_resize(struct kernel *k, const struct node *n, int output, const struct index *const *at,
                 struct access *access)
{
    const struct shape *s = &n->inputs[0]->shape, *out = &n->outputs[output]->shape;
    struct piece *p = access_piece(access, 0);
    bool outside = false;
    struct resize r;
    const char *why;

    if (!resize_read(n, s, &r, &why))
        BUG(k->context, "a Resize is lowered that does not know its scales");
    for (int a = 0; a < s->axes; a++) {
        int64_t *numbers, first = 0, last = out->dim[a] - 1;

        p->at[a] = at[a];
        if (!r.axis[a].resized)
            continue;
        numbers = table_new(k, n, out->dim[a]);
        for (int64_t i = 0; i < out->dim[a]; i++)
            numbers[i] = resize_nearest_index(&r, a, i);
        if (r.transform == RESIZE_CROP) {
            /* What lies outside of the region is at both ends. */
            while (first <= last && resize_outside(&r, a, first))
                first++;
            while (last >= first && resize_outside(&r, a, last))
                last--;
            outside = true;
            piece_when(access, p, at[a], first, last);
        }
        p->at[a] = kernel_lookup(k, numbers, out->dim[a], at[a]);
    }
    if (outside && p->condition_count)
        access_piece(access, -1)->fill = (float)r.extrapolation;
}

/* Upper: what lies at or right of diagonal k; lower: at or left of it; elsewhere 0. */
void view_trilu(struct kernel *k, const struct node *n, int output, const struct index *const *at,
                struct access *access)
{
    int axes = n->inputs[0]->shape.axes, count;
    const int64_t *given = node_input(n, 1) ? node_constant_ints(n, 1, &count) : NULL;
    int64_t diagonal = given && count ? given[0] : 0, far = INT32_MAX;
    struct piece *p = access_piece(access, 0);
    const struct index *right =
        index_add(access->pool, at[axes - 1], index_times(access->pool, at[axes - 2], -1));

    (void)k;
    (void)output;
    diagonal = diagonal > far ? far : diagonal < -far ? -far : diagonal;
    memcpy(p->at, at, (size_t)axes * sizeof *at);
    if (node_int(n, "upper", 1))
        piece_when(access, p, right, diagonal, far);
    else
        piece_when(access, p, right, -far, diagonal);
    if (p->condition_count)
        access_piece(access, -1);
}

void view_whole_cells(struct kernel *k, const struct node *n, int output,
                      const struct index *const *at, struct access *access)
{
    struct piece *p = access_piece(access, 0);

    (void)k;
    memcpy(p->at, at, (size_t)n->outputs[output]->shape.axes * sizeof *at);
    p->zero_behind = 1 + (int)node_int(n, "axis", 0);
}
