#include "daemon/compiler/operators/walk.h"
#include <string.h>

void walk_init(struct walk *w, int axes, const int64_t *dim, int operands,
               const int64_t (*stride)[WALK_AXES])
{
    memset(w, 0, sizeof *w);
    w->operands = operands;
    w->run = 1;
    for (int i = 0; i < axes; i++)
        w->empty = w->empty || dim[i] == 0;
    /* The other extents of an empty tensor may be so large that their products overflow. */
    for (int i = 0; i < axes && !w->empty; i++) {
        bool merges = w->axes > 0;

        if (dim[i] == 1)
            continue;
        for (int k = 0; k < operands && merges; k++)
            merges = w->stride[k][w->axes - 1] == stride[k][i] * dim[i];
        if (merges) {
            w->dim[w->axes - 1] *= dim[i];
        } else {
            w->dim[w->axes++] = dim[i];
        }
        for (int k = 0; k < operands; k++)
            w->stride[k][w->axes - 1] = stride[k][i];
    }
    if (w->axes) {
        w->axes--;
        w->run = w->dim[w->axes];
        for (int k = 0; k < operands; k++)
            w->step[k] = w->stride[k][w->axes];
    }
}

void walk_strides(const struct shape *s, int64_t *stride)
{
    int64_t next = shape_count(s) == 0 ? 0 : 1;

    for (int i = s->axes - 1; i >= 0; i--) {
        stride[i] = next;
        next *= next ? s->dim[i] : 0;
    }
}

void walk_broadcast(struct walk *w, const struct shape *out, int operands,
                    const struct shape *const *shapes)
{
    int64_t stride[WALK_OPERANDS][WALK_AXES] = {{0}};

    for (int k = 0; k < operands; k++) {
        int64_t own[MAX_AXES];
        int lead = out->axes - shapes[k]->axes;

        walk_strides(shapes[k], own);
        for (int i = 0; i < shapes[k]->axes; i++)
            stride[k][lead + i] = shapes[k]->dim[i] == 1 ? 0 : own[i];
    }
    walk_init(w, out->axes, out->dim, operands, (const int64_t(*)[WALK_AXES])stride);
}

bool walk_next(struct walk *w)
{
    if (!w->started) {
        w->started = true;
        return !w->empty;
    }
    w->position += w->run;
    for (int i = w->axes - 1; i >= 0; i--) {
        bool more = ++w->index[i] < w->dim[i];
        int64_t by = more ? 1 : 1 - w->dim[i];

        for (int k = 0; k < w->operands; k++)
            w->at[k] += by * w->stride[k][i];
        if (more)
            return true;
        w->index[i] = 0;
    }
    return false;
}

/* The offsets of all count indices along some axes, in row-major order. */
static const int64_t *offsets(const struct shape *s, unsigned axes, int64_t count,
                              struct arena *scratch)
{
    int64_t own[MAX_AXES], dim[MAX_AXES], stride[1][WALK_AXES] = {{0}}, *list;
    struct walk w;
    int kept = 0;

    walk_strides(s, own);
    for (int i = 0; i < s->axes; i++) {
        if (!(axes >> i & 1))
            continue;
        dim[kept] = s->dim[i];
        stride[0][kept++] = own[i];
    }
    list = NEW_ARRAY(scratch, count, int64_t);
    walk_init(&w, kept, dim, 1, (const int64_t(*)[WALK_AXES])stride);
    while (walk_next(&w))
        for (int64_t i = 0; i < w.run; i++)
            list[w.position + i] = w.at[0] + i * w.step[0];
    return list;
}

/* The number of indices along some axes, where that can be counted. */
static int64_t extent(const struct shape *s, unsigned axes)
{
    struct shape kept = {.axes = 0};

    for (int i = 0; i < s->axes; i++)
        if (axes >> i & 1)
            kept.dim[kept.axes++] = s->dim[i];
    return shape_count(&kept);
}

void lines_init(struct lines *l, const struct shape *s, unsigned axes, struct arena *scratch)
{
    memset(l, 0, sizeof *l);
    l->count = extent(s, ~axes);
    /* Of no lines the length does not matter, and it may be beyond all bounds. */
    if (l->count == 0)
        return;
    l->length = extent(s, axes);
    l->start = offsets(s, ~axes, l->count, scratch);
    l->offset = offsets(s, axes, l->length, scratch);
}

bool type_is_real(enum element_type type)
{
    switch (type) {
    case TYPE_FLOAT8E4M3FN:
    case TYPE_FLOAT8E4M3FNUZ:
    case TYPE_FLOAT8E5M2:
    case TYPE_FLOAT8E5M2FNUZ:
    case TYPE_FLOAT8E8M0:
    case TYPE_FLOAT4E2M1:
        return true;
    default:
        return type_is_float(type);
    }
}

void payload_store(void *payload, enum element_type type, int64_t at, const double *numbers,
                   int64_t count)
{
    if (type == TYPE_FLOAT32) {
        float *to = (float *)payload + at;

        for (int64_t i = 0; i < count; i++)
            to[i] = (float)numbers[i];
        return;
    }
    for (int64_t i = 0; i < count; i++)
        payload_set(payload, type, at + i, numbers[i]);
}

struct tensor *output_new(const struct node *n, int i, struct arena *arena, void **payload)
{
    return tensor_new(arena, n->outputs[i]->type, &n->outputs[i]->shape, payload);
}
