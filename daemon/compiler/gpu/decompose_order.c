/*
 * Convolutions behind what moves channels: SpaceToDepth, in whatever way it is written (strided
 * Slices and a Concat, Reshape with Transpose and Reshape), and the shuffles between groups. Four
 * channels that are one fetch there lie in up to four cells of what is stored.
 *
 * Which channel of which value, at which place of a block, each input channel of the convolution
 * is, is found by asking the views. A convolution over blocks of b is one over what the blocks are
 * made of, with b times the kernel, the stride and the padding; over channels in another order, one
 * with its filters in that order. Filters are constants, so that this costs nothing.
 */
#include "daemon/compiler/gpu/kernel_inside.h"
#include "daemon/compiler/gpu/make.h"
#include "daemon/compiler/gpu/steps_inside.h"
#include "daemon/compiler/operators/concat.h"
#include "daemon/compiler/operators/lower.h"
#include "daemon/compiler/passes/pass.h"
#include <stdlib.h>
#include <string.h>

/* What is made of more values mostly passes through one that is stored, which serves others too. */
enum {
    MOST_SPATIAL = (MAX_AXES - 2) / 2,
    MOST_LOOKED_AT = 64,
    LONGEST_CHAIN = 16,
    MOST_JOINED = 64,
    MOST_SOURCES = 3
};

/* What one input channel of the convolution is. */
struct origin {
    struct value *value;
    int64_t channel, offset[MOST_SPATIAL]; /* place in a block */
    int64_t from;                          /* input channel of the convolution */
    int order;                             /* of value, by first appearance */
};

struct reading {
    struct node *conv;
    struct arena *arena; /* scratch */
    int spatial;
    int64_t channels, block[MOST_SPATIAL], blocks; /* blocks: their product */
    struct origin *origins;                        /* of each channel */
    bool several;                                  /* values */
};

static bool is_mover(const struct node *n)
{
    static void (*const moves[])(struct kernel *, const struct node *, int,
                                 const struct index *const *, struct access *) = {
        view_reshape, view_transpose, view_slice, view_concat, view_split, view_depth};

    for (size_t i = 0; n && n->op && i < sizeof moves / sizeof *moves; i++)
        if (n->op->functions->view == moves[i])
            return true;
    return false;
}

/* Whether anything above v takes elements out of their order, or cells apart: else there is nothing
 * to gain. */
static bool is_mixed(const struct value *v, int *visits)
{
    const struct node *n = v->producer;
    int count;

    if (v->constant || !is_mover(n) || --*visits < 0)
        return false;
    if (n->op->functions->view == view_transpose || n->op->functions->view == view_depth)
        return true;
    if (n->op->functions->view == view_slice) {
        const int64_t *steps = node_input(n, 4) ? node_constant_ints(n, 4, &count) : NULL;

        for (int i = 0; steps && i < count; i++)
            if (steps[i] != 1)
                return true;
    }
    if (n->op->functions->view != view_concat)
        return is_mixed(n->inputs[0], visits);
    for (int i = 0; i < n->input_count; i++)
        if (is_mixed(n->inputs[i], visits) ||
            (n->input_count > 1 && concat_axis(n) == 1 && n->inputs[i]->shape.dim[1] % 4))
            return true;
    return false;
}

/* Whether elements at[] are channel *channel of v, at one place of its blocks. */
static bool is_channel(struct index_pool *p, const struct reading *r, const struct value *x,
                       const struct value *v, const struct index *const *start,
                       const struct index *const *at, struct origin *o)
{
    const struct shape *s = &v->shape;

    if (v->constant || s->axes != x->shape.axes || at[0] != start[0] || !index_is_constant(at[1]))
        return false;
    for (int a = 0; a < r->spatial; a++) {
        int64_t extent = x->shape.dim[a + 2], block = s->dim[a + 2] / extent;

        if (s->dim[a + 2] % extent)
            return false;
        o->offset[a] = index_lo(at[a + 2]);
        if (o->offset[a] >= block ||
            at[a + 2] != index_plus(p, index_times(p, start[a + 2], block), o->offset[a]))
            return false;
    }
    o->channel = index_lo(at[1]);
    return true;
}

/* The operand that elements at[] of v are elements of; NULL where they are not all of one. */
static struct value *view_source(struct kernel *k, struct value *v, const struct index **at)
{
    struct node *n = v->producer;
    struct access access = {.pool = k->pool, .arena = k->arena};

    if (v->constant || !is_mover(n) || n->input_count > MOST_JOINED)
        return NULL;
    n->op->functions->view(k, n, v->producer_output, at, &access);
    for (int p = 0; p < access.count; p++) {
        const struct piece *piece = &access.pieces[p];
        int known = 1;

        for (int i = 0; i < piece->condition_count && known; i++) {
            int holds = condition_known(&piece->conditions[i]);

            known = holds == 1 ? known : holds;
        }
        if (!known)
            continue;
        if (known < 0 || piece->input < 0)
            return NULL;
        memcpy(at, piece->at, sizeof piece->at);
        return n->inputs[piece->input];
    }
    return NULL;
}

/* The origin of input channel number `channel`: as far up as it is a channel of something. */
static void find_origin(struct kernel *k, const struct reading *r, int64_t channel)
{
    struct value *x = r->conv->inputs[0], *v = x;
    struct origin *o = &r->origins[channel];
    const struct index *start[MAX_AXES], *at[MAX_AXES] = {0};

    for (int a = 0; a < x->shape.axes; a++)
        at[a] = start[a] =
            index_variable(k->pool, kernel_text(k, "s%d", a), 0, x->shape.dim[a] - 1);
    at[1] = index_constant(k->pool, channel);
    *o = (struct origin){.value = x, .channel = channel, .from = channel};
    for (int depth = 0; depth < LONGEST_CHAIN; depth++) {
        struct origin found = {.from = channel};

        v = view_source(k, v, at);
        if (!v)
            return;
        if (is_channel(k->pool, r, x, v, start, at, &found)) {
            *o = found;
            o->value = v;
        }
    }
}

static bool same_places(const struct shape *s, const struct shape *t)
{
    return !memcmp(s->dim + 2, t->dim + 2, (size_t)(s->axes - 2) * sizeof *s->dim);
}

static bool read_origins(struct reading *r, struct node *n)
{
    struct context *c = n->graph->context;
    struct value *x = n->inputs[0];
    struct kernel k = {.context = c};
    int values = 0;

    r->conv = n;
    r->spatial = x->shape.axes - 2;
    r->channels = x->shape.dim[1];
    r->origins = NEW_ARRAY(r->arena, r->channels, struct origin);
    k.pool = index_pool_new(r->arena);
    for (int64_t i = 0; i < r->channels; i++) {
        struct origin *o = &r->origins[i];

        /* What the views answer is looked at once. */
        k.arena = arena_child(r->arena);
        find_origin(&k, r, i);
        arena_free(k.arena);
        o->order = values;
        for (int64_t j = i; j-- > 0 && o->order == values;)
            if (r->origins[j].value == o->value)
                o->order = r->origins[j].order;
        values += o->order == values;
        /* Blocks of one value, or channels of several. */
        if (values > MOST_SOURCES || (values > 1 && !same_places(&o->value->shape, &x->shape)))
            return false;
    }
    r->blocks = 1;
    for (int a = 0; a < r->spatial; a++) {
        r->block[a] = r->origins[0].value->shape.dim[a + 2] / x->shape.dim[a + 2];
        r->blocks *= r->block[a];
    }
    r->several = values > 1;
    return values == 1 || r->blocks == 1;
}

static bool same_cell(const struct reading *r, const struct origin *a, const struct origin *b)
{
    return a->value == b->value && a->channel / 4 == b->channel / 4 &&
           !memcmp(a->offset, b->offset, (size_t)r->spatial * sizeof *a->offset);
}

/* Cells that hold the channels, taken four at a time. Where those of several values do not end with
 * a cell, channels that the last four may lack are fetched apart from the others, each time. */
static int64_t cells_of_fours(const struct reading *r)
{
    int64_t cells = 0, fours = (r->channels + 3) / 4;

    for (int64_t first = 0; first < r->channels; first += 4)
        for (int64_t i = first; i < first + 4 && i < r->channels; i++) {
            int64_t j = first;

            while (j < i && !same_cell(r, &r->origins[j], &r->origins[i]))
                j++;
            cells += j == i;
        }
    if (r->several && r->channels % 4 && cells < 2 * fours)
        return 2 * fours;
    return cells;
}

/* By value, then channel, then place in the block. */
static int by_origin(const void *a, const void *b)
{
    const struct origin *o = a, *p = b;

    if (o->order != p->order)
        return o->order < p->order ? -1 : 1;
    if (o->channel != p->channel)
        return o->channel < p->channel ? -1 : 1;
    for (int i = 0; i < MOST_SPATIAL; i++)
        if (o->offset[i] != p->offset[i])
            return o->offset[i] < p->offset[i] ? -1 : 1;
    return 0;
}

/* By place in the block, then channel: the order of SpaceToDepth. */
static int by_place(const void *a, const void *b)
{
    const struct origin *o = a, *p = b;

    for (int i = 0; i < MOST_SPATIAL; i++)
        if (o->offset[i] != p->offset[i])
            return o->offset[i] < p->offset[i] ? -1 : 1;
    return by_origin(a, b);
}

/* Whether the origins, sorted, are all of what they are from: each place of each channel once; of
 * several values or without blocks, channels without a gap. */
static bool is_whole(const struct reading *r)
{
    const struct origin *o = r->origins;

    if (r->blocks > 1 && r->channels != o[0].value->shape.dim[1] * r->blocks)
        return false;
    for (int64_t i = 1; i < r->channels; i++) {
        if (!by_origin(&o[i - 1], &o[i]))
            return false;
        if (r->blocks == 1 && o[i].order == o[i - 1].order && o[i].channel != o[i - 1].channel + 1)
            return false;
    }
    return true;
}

/* Channels from … to - 1 of a value, which begin and end with a cell: there may be no such channels
 * in the last one. */
struct part {
    struct value *value;
    int64_t from, to;
};

/* The cells that the sorted origins lie in. Returns how many values they are of. */
static int find_parts(const struct reading *r, struct part *parts)
{
    int count = 0;

    for (int64_t i = 0, end; i < r->channels; i = end) {
        const struct origin *first = &r->origins[i];

        for (end = i; end < r->channels && r->origins[end].order == first->order;)
            end++;
        parts[count++] = (struct part){first->value, first->channel / 4 * 4,
                                       (first->channel + end - i + 3) / 4 * 4};
    }
    return count;
}

static struct value *value_of_part(struct node *n, const struct part *part)
{
    int64_t extent = part->value->shape.dim[1], to = part->to < extent ? part->to : extent;

    return make_whole_cells(n, make_sliced(n, part->value, 1, part->from, to), 1);
}

/* Filters in the order of the parts, zeros for channels that the convolution does not read. */
static struct value *filters_of_parts(const struct reading *r, struct node *n,
                                      const struct part *parts, int count, int64_t channels)
{
    int64_t *from = NEW_ARRAY(r->arena, channels, int64_t), at = 0;
    bool all = channels == r->channels;

    for (int i = 0; i < count; i++) {
        int64_t o = 0;

        while (r->origins[o].value != parts[i].value)
            o++;
        for (int64_t c = parts[i].from; c < parts[i].to; c++) {
            bool read = o < r->channels && r->origins[o].value == parts[i].value &&
                        r->origins[o].channel == c;

            from[at++] = read ? r->origins[o++].from : r->channels;
        }
    }
    return make_gathered(n, all ? n->inputs[1] : make_padded(n, n->inputs[1], 1, 0, 1, 0), 1,
                         channels, from);
}

/* Filters in the order of the sorted origins, along an axis. */
static struct value *ordered_filters(const struct reading *r, struct node *n, int axis,
                                     struct value *v)
{
    int64_t *from = NEW_ARRAY(r->arena, r->channels, int64_t);

    for (int64_t i = 0; i < r->channels; i++)
        from[i] = r->origins[i].from;
    return make_gathered(n, v, axis, r->channels, from);
}

static void copy_attributes(struct node *to, const struct node *from)
{
    for (int i = 0; i < from->attribute_count; i++)
        APPEND(&to->graph->context->arena, to->attributes, to->attribute_count,
               to->attribute_room) = from->attributes[i];
}

static struct value *convolved(struct node *n, struct value *x, struct value *filters,
                               struct value *bias)
{
    struct value *inputs[] = {x, filters, bias};
    struct node *made = make_node(n, "Conv", bias ? 3 : 2, inputs);

    copy_attributes(made, n);
    return make_inferred(made);
}

/* [out, in * blocks, kernel] as [out, in, kernel * block]: filters that are in the order (channel,
 * place in a block). */
static struct value *widened_filters(const struct reading *r, struct node *n, struct value *v)
{
    struct shape s = v->shape, wide = {.axes = 2 + 2 * r->spatial};
    int64_t perm[MAX_AXES] = {0, 1};

    wide.dim[0] = s.dim[0];
    wide.dim[1] = s.dim[1] = s.dim[1] / r->blocks;
    for (int a = 0; a < r->spatial; a++) {
        wide.dim[2 + a] = r->block[a];
        wide.dim[2 + r->spatial + a] = s.dim[2 + a];
        perm[2 + 2 * a] = 2 + r->spatial + a;
        perm[3 + 2 * a] = 2 + a;
        s.dim[2 + a] *= r->block[a];
    }
    return make_reshaped(n, make_transposed(n, make_reshaped(n, v, &wide), wide.axes, perm), &s);
}

/* Over what the blocks are made of. */
static struct value *convolved_blocks(const struct reading *r, struct node *n)
{
    struct value *filters = widened_filters(r, n, ordered_filters(r, n, 1, n->inputs[1]));
    struct value *inputs[] = {r->origins[0].value, filters, node_input(n, 2)};
    struct node *made = make_node(n, "Conv", inputs[2] ? 3 : 2, inputs);
    int64_t strides[MOST_SPATIAL], pads[2 * MOST_SPATIAL] = {0}, ones[MOST_SPATIAL];
    int count;
    const int64_t *had = node_ints(n, "strides", &count);

    for (int a = 0; a < r->spatial; a++) {
        strides[a] = (had ? had[a] : 1) * r->block[a];
        ones[a] = 1;
    }
    had = node_ints(n, "pads", &count);
    for (int a = 0; had && a < 2 * r->spatial; a++)
        pads[a] = had[a] * r->block[a % r->spatial];
    node_set_ints(made, "strides", r->spatial, strides);
    node_set_ints(made, "pads", 2 * r->spatial, pads);
    node_set_ints(made, "dilations", r->spatial, ones);
    return make_inferred(made);
}

/* Kernel elements side by side are so in each block, too. */
static bool is_dense(const struct reading *r)
{
    int count;
    const int64_t *dilations = node_ints(r->conv, "dilations", &count);

    for (int a = 0; dilations && a < r->spatial; a++)
        if (dilations[a] != 1 && r->conv->inputs[1]->shape.dim[a + 2] != 1)
            return false;
    return true;
}

/* What each place of the kernel costs, for four outputs: so many cells, and so many vectors of
 * weights, which are fetched too where a table does not hold them. */
static double cost_of_place(const struct reading *r, int64_t cells, int64_t vectors)
{
    const struct shape *w = &r->conv->inputs[1]->shape;
    int64_t rows = (w->dim[0] + 3) / 4;
    bool fetched = rows * (1 + vectors * shape_product(w, 2, w->axes)) > TABLE_ENTRIES;

    return (double)(cells * COST_FETCH + vectors * (COST_OPERATION + (fetched ? COST_FETCH : 0)));
}

/* Whether a convolution over what the blocks are made of is cheaper than over blocks, four channels
 * of which are in so many cells, and than to store them in fours first. */
static bool is_cheaper_over_blocks(const struct reading *r, int64_t cells)
{
    const struct shape *x = &r->conv->inputs[0]->shape, *y = &r->conv->outputs[0]->shape,
                       *w = &r->conv->inputs[1]->shape;
    int64_t held = r->origins[0].value->shape.dim[1], fours = (r->channels + 3) / 4;
    int64_t fetched = (held + 3) / 4 * r->blocks;
    double places = (double)shape_count(x) / (double)x->dim[1];
    double times = (double)shape_count(y) / (double)y->dim[1] * (double)((y->dim[1] + 3) / 4) *
                   (double)shape_product(w, 2, w->axes);
    double direct = times * cost_of_place(r, fetched, held < 4 ? held * r->blocks : 4 * fetched);
    double stored = COST_DRAW + places * COST_FETCH * (double)(cells + fours) +
                    times * cost_of_place(r, fours, 4 * fours);

    return direct < times * cost_of_place(r, cells, 4 * fours) && direct <= stored;
}

/* Over blocks whose channels at one place stand side by side. */
static struct value *convolved_places(struct reading *r, struct node *n, int64_t cells)
{
    struct node *view;

    qsort(r->origins, (size_t)r->channels, sizeof *r->origins, by_place);
    if (r->spatial != 2 || r->block[0] != r->block[1] || cells_of_fours(r) >= cells)
        return NULL;
    view = make_node(n, "SpaceToDepth", 1, &r->origins[0].value);
    node_set_int(view, "blocksize", r->block[0]);
    return convolved(n, make_inferred(view), ordered_filters(r, n, 1, n->inputs[1]),
                     node_input(n, 2));
}

/* Over the channels themselves, cell by cell. */
static struct value *convolved_parts(const struct reading *r, struct node *n, int64_t cells)
{
    struct part parts[MOST_SOURCES];
    struct value *values[MOST_SOURCES];
    int count = find_parts(r, parts);
    int64_t fours = (r->channels + 3) / 4, channels = 0;

    for (int i = 0; i < count; i++)
        channels += parts[i].to - parts[i].from;
    if (cost_of_place(r, channels / 4, channels) >= cost_of_place(r, cells, fours * 4))
        return NULL;
    for (int i = 0; i < count; i++)
        values[i] = value_of_part(n, &parts[i]);
    return convolved(n, make_concat(n, 1, count, values),
                     filters_of_parts(r, n, parts, count, channels), node_input(n, 2));
}

/* A convolution of all channels at once. */
static struct value *ordered_conv(struct reading *r, struct node *n)
{
    int64_t before = cells_of_fours(r);

    qsort(r->origins, (size_t)r->channels, sizeof *r->origins, by_origin);
    if (!is_whole(r))
        return NULL;
    if (r->blocks > 1)
        return is_dense(r) && is_cheaper_over_blocks(r, before) ? convolved_blocks(r, n)
                                                                : convolved_places(r, n, before);
    return convolved_parts(r, n, before);
}

/* The shuffle with so many groups that y's channels are to go through: channel i is that of number
 * from[i]; 0: it is none. */
static int64_t shuffle_groups(const struct reading *r)
{
    for (int64_t groups = 2; groups < r->channels; groups++) {
        int64_t each = r->channels / groups, i = 0;

        if (r->channels % groups || r->origins[1].channel != each)
            continue;
        while (i < r->channels && r->origins[i].channel == i % groups * each + i / groups)
            i++;
        if (i == r->channels)
            return groups;
    }
    return 0;
}

/* Whether a convolution of one place that reads y reads channels in fours, so seldom that four
 * times as many fetches are fewer than those that each place of n's kernel takes now. */
static bool is_read_seldom(const struct node *n, const struct value *y)
{
    const struct node *reader = y->reader_count == 1 && !y->output_count ? y->readers[0] : NULL;
    const struct shape *w = &n->inputs[1]->shape, *v, *z;
    int64_t groups;

    if (!reader || !node_is(reader, "Conv") || reader->inputs[0] != y ||
        !reader->inputs[1]->constant)
        return false;
    v = &reader->inputs[1]->shape;
    z = &reader->outputs[0]->shape;
    groups = node_int(reader, "group", 1);
    if (shape_product(v, 2, v->axes) != 1)
        return false;
    if (groups == 1)
        return shape_product(w, 2, w->axes) > 1;
    return v->dim[1] % 4 == 0 && v->dim[0] / groups % 4 == 0 &&
           shape_product(w, 2, w->axes) * shape_product(&y->shape, 2, y->shape.axes) * groups >
               (v->dim[0] + 3) / 4 * shape_product(z, 2, z->axes);
}

/* Each channel on its own, then a convolution of one place: the shuffle goes behind the first,
 * which reads each of its channels more often. */
static struct value *ordered_depthwise(struct reading *r, struct node *n)
{
    struct value *y = n->outputs[0], *bias = node_input(n, 2), *from = r->origins[0].value;
    int64_t groups = shuffle_groups(r), before = cells_of_fours(r);
    struct shape s = y->shape, split = {.axes = s.axes + 1};
    int64_t perm[MAX_AXES] = {0, 2, 1};

    if (!groups || s.axes == MAX_AXES || from->shape.dim[1] != r->channels ||
        before <= (r->channels + 3) / 4 || !is_read_seldom(n, y))
        return NULL;
    qsort(r->origins, (size_t)r->channels, sizeof *r->origins, by_origin);
    y = convolved(n, from, ordered_filters(r, n, 0, n->inputs[1]),
                  bias ? ordered_filters(r, n, 0, bias) : NULL);
    split.dim[0] = s.dim[0];
    split.dim[1] = groups;
    split.dim[2] = r->channels / groups;
    for (int a = 2; a < s.axes; a++) {
        split.dim[a + 1] = s.dim[a];
        perm[a + 1] = a + 1;
    }
    return make_reshaped(n, make_transposed(n, make_reshaped(n, y, &split), split.axes, perm), &s);
}

struct value *decompose_order(struct node *n)
{
    struct value *x = n->inputs[0], *bias = node_input(n, 2), *made = NULL;
    const struct shape *w = &n->inputs[1]->shape;
    int64_t group = node_int(n, "group", 1);
    int visits = MOST_LOOKED_AT;
    struct reading r = {0};
    bool depthwise;

    if (!n->inputs[1]->constant || constant_is_quantised(n->inputs[1]) ||
        (bias && !bias->constant) || !shape_count(&x->shape) || x->shape.axes - 2 > MOST_SPATIAL ||
        !is_mixed(x, &visits))
        return NULL;
    depthwise = group == x->shape.dim[1] && w->dim[0] == group && group > 1;
    if (group != 1 && !depthwise)
        return NULL;
    r.arena = arena_child(&n->graph->context->arena);
    if (read_origins(&r, n)) {
        if (!depthwise)
            made = ordered_conv(&r, n);
        else if (r.blocks == 1 && !r.several)
            made = ordered_depthwise(&r, n);
    }
    arena_free(r.arena);
    return made;
}
