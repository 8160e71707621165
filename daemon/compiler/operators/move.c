#include "daemon/compiler/operators/move.h"
#include <string.h>

enum { POLL_ELEMENTS = 1 << 20 };
static const int64_t most_elements = INT64_C(1) << 31;

static void spread(uint8_t *bytes, const uint8_t *packed, int64_t count, int bits)
{
    int per_byte = 8 / bits;
    unsigned mask = (1u << bits) - 1;
    for (int64_t i = 0; i < count; i++)
        bytes[i] = (uint8_t)((unsigned)packed[i / per_byte] >> (i % per_byte * bits) & mask);
}

static void pack(uint8_t *packed, const uint8_t *bytes, int64_t count, int bits)
{
    int per_byte = 8 / bits;
    unsigned mask = (1u << bits) - 1;
    for (int64_t i = 0; i < count; i++) {
        int shift = (int)(i % per_byte * bits);
        packed[i / per_byte] =
            (uint8_t)((packed[i / per_byte] & ~(mask << shift)) | ((bytes[i] & mask) << shift));
    }
}

bool elements_read(struct context *c, const struct tensor *t, struct arena *scratch,
                   struct elements *e)
{
    int bits = type_bits(t->type);
    *e = (struct elements){.type = t->type, .count = t->count};
    if (bits == 0)
        return false;
    const void *data = tensor_data(c, t, scratch);
    if (bits >= 8) {
        e->size = (size_t)bits / 8;
        e->bytes = (uint8_t *)(uintptr_t)data;
        if ((uintptr_t)data % e->size != 0 && e->size <= 8) /* move_row() reads whole elements */
            e->bytes = arena_memdup(scratch, data, t->bytes);
    } else {
        e->size = 1;
        e->bytes = arena_array(scratch, (size_t)t->count, 1);
        spread(e->bytes, data, t->count, bits);
    }
    return true;
}

bool elements_new(struct arena *arena, struct arena *scratch, enum element_type type,
                  const struct shape *shape, struct elements *e)
{
    int bits = type_bits(type);
    *e = (struct elements){.type = type, .count = shape_count(shape)};
    if (bits == 0 || e->count < 0 || e->count > most_elements)
        return false;
    e->tensor = tensor_new(arena, type, shape, &e->payload);
    e->size = bits >= 8 ? (size_t)bits / 8 : 1;
    e->bytes = bits >= 8 ? e->payload : arena_array(scratch, (size_t)e->count, 1);
    return true;
}

struct tensor *elements_finish(struct elements *e)
{
    if (e->bytes != e->payload)
        pack(e->payload, e->bytes, e->count, type_bits(e->type));
    return e->tensor;
}

void elements_copy(struct elements *to, int64_t i, const struct elements *from, int64_t j)
{
    memcpy(to->bytes + (size_t)i * to->size, from->bytes + (size_t)j * to->size, to->size);
}

void elements_set(struct elements *to, int64_t i, double number)
{
    int bits = type_bits(to->type);
    if (bits >= 8) {
        payload_set(to->bytes, to->type, i, number);
    } else {
        uint8_t one[1] = {0};
        payload_set(one, to->type, 0, number);
        to->bytes[i] = (uint8_t)(one[0] & ((1u << bits) - 1));
    }
}

void move_axis(struct move *m, int64_t extent, int64_t to_stride, int64_t from_stride)
{
    m->extent[m->axes] = extent;
    m->to_stride[m->axes] = to_stride;
    m->from_stride[m->axes] = from_stride;
    m->from[m->axes++] = NULL;
}

void move_axis_table(struct move *m, int64_t extent, int64_t to_stride, const int64_t *from)
{
    move_axis(m, extent, to_stride, 0);
    m->from[m->axes - 1] = from;
}

/* The innermost axis, the only loops that have to be fast. */
static void move_row(uint8_t *to, int64_t to_stride, const uint8_t *from, int64_t from_stride,
                     const int64_t *table, int64_t extent, size_t size, const void *fill)
{
    if (!table && to_stride == 1 && from_stride == 1) {
        memcpy(to, from, (size_t)extent * size);
        return;
    }
    switch (size) {
#define ROW(bytes, type)                                                                           \
    case bytes:                                                                                    \
        for (int64_t i = 0; !table && i < extent; i++)                                             \
            ((type *)to)[i * to_stride] = ((const type *)from)[i * from_stride];                   \
        for (int64_t i = 0; table && i < extent; i++) {                                            \
            if (table[i] >= 0)                                                                     \
                ((type *)to)[i * to_stride] = ((const type *)from)[table[i]];                      \
            else if (fill)                                                                         \
                ((type *)to)[i * to_stride] = *(const type *)fill;                                 \
        }                                                                                          \
        break;
        ROW(1, uint8_t)
        ROW(2, uint16_t)
        ROW(4, uint32_t)
        ROW(8, uint64_t)
#undef ROW
    default:
        for (int64_t i = 0; i < extent; i++) {
            int64_t offset = table ? table[i] : i * from_stride;
            uint8_t *cell = to + i * to_stride * (int64_t)size;
            if (!table || offset >= 0)
                memcpy(cell, from + offset * (int64_t)size, size);
            else if (fill)
                memcpy(cell, fill, size);
        }
    }
}

void move_elements(struct context *c, const struct move *m, struct elements *to,
                   const struct elements *from)
{
    int64_t index[MOVE_AXES] = {0};
    int64_t size = (int64_t)to->size, moved = 0;
    int last = m->axes - 1;
    int64_t extent = last >= 0 ? m->extent[last] : 1;
    int64_t to_stride = last >= 0 ? m->to_stride[last] : 1;
    int64_t from_stride = last >= 0 ? m->from_stride[last] : 1;
    const int64_t *table = last >= 0 ? m->from[last] : NULL;

    for (int a = 0; a < m->axes; a++)
        if (m->extent[a] <= 0)
            return;
    for (;;) {
        int64_t to_at = m->to_start, from_at = m->from_start;
        bool outside = false;
        for (int a = 0; a < last; a++) {
            int64_t offset = m->from[a] ? m->from[a][index[a]] : index[a] * m->from_stride[a];
            outside = outside || (m->from[a] && offset < 0);
            from_at += offset;
            to_at += index[a] * m->to_stride[a];
        }
        uint8_t *row = to->bytes + to_at * size;
        if (!outside) {
            move_row(row, to_stride, from->bytes + from_at * size, from_stride, table, extent,
                     to->size, m->fill);
        } else if (m->fill) {
            for (int64_t i = 0; i < extent; i++)
                memcpy(row + i * to_stride * size, m->fill, to->size);
        }
        if ((moved += extent) > POLL_ELEMENTS) {
            context_poll(c);
            moved = 0;
        }
        int a = last - 1;
        while (a >= 0 && ++index[a] == m->extent[a])
            index[a--] = 0;
        if (a < 0)
            return;
    }
}

void trace_index(const struct shape *s, int64_t at, int64_t index[MAX_AXES])
{
    for (int a = s->axes - 1; a >= 0; a--) {
        index[a] = at % s->dim[a];
        at /= s->dim[a];
    }
}

void trace_strides(const struct shape *s, const int64_t *strides, int64_t start,
                   struct positions at, int64_t *from)
{
    int64_t index[MAX_AXES] = {0}, here = start;

    for (int64_t i = 0; i < at.count; i++) {
        int a = s->axes;

        /* Most stand in order: on to the next needs no division. */
        if (i && at.at[i] == at.at[i - 1] + 1) {
            while (a-- > 0) {
                here += strides[a];
                if (++index[a] < s->dim[a])
                    break;
                here -= s->dim[a] * strides[a];
                index[a] = 0;
            }
        } else {
            trace_index(s, at.at[i], index);
            here = start;
            while (a-- > 0)
                here += index[a] * strides[a];
        }
        from[i] = here;
    }
}

void trace_broadcast(const struct shape *s, const struct shape *from_shape, struct positions at,
                     int64_t *from)
{
    int64_t strides[MAX_AXES], spread[MAX_AXES] = {0};
    int lead = s->axes - from_shape->axes;

    move_strides(from_shape, strides);
    for (int a = 0; a < from_shape->axes; a++)
        spread[lead + a] = from_shape->dim[a] == 1 ? 0 : strides[a];
    trace_strides(s, spread, 0, at, from);
}

bool trace_same(struct node *n, int output, struct positions at, int *slot, int64_t *from)
{
    (void)n, (void)output, (void)slot;
    if (at.count)
        memcpy(from, at.at, (size_t)at.count * sizeof *from);
    return true;
}

void move_strides(const struct shape *s, int64_t strides[MAX_AXES])
{
    int64_t stride = 1;
    for (int a = s->axes - 1; a >= 0; a--) {
        strides[a] = stride;
        stride *= s->dim[a];
    }
}

void move_chosen(struct context *c, int64_t outer, int64_t length, int64_t inner,
                 const int64_t *table, int64_t count, struct elements *to,
                 const struct elements *from)
{
    struct move m = {0};

    move_axis(&m, outer, count * inner, length * inner);
    move_axis_table(&m, count, inner, table);
    if (inner != 1)
        move_axis(&m, inner, 1, 1);
    move_elements(c, &m, to, from);
}

struct tensor *move_reshaped(struct context *c, const struct tensor *t, const struct shape *shape,
                             struct arena *arena)
{
    void *data;
    if (type_bits(t->type) == 0 || shape_count(shape) != t->count || t->count > most_elements)
        return NULL;
    struct tensor *out = tensor_new(arena, t->type, shape, &data);
    struct arena *scratch = arena_child(arena);
    const void *payload = tensor_data(c, t, scratch);
    if (out->bytes > 0)
        memcpy(data, payload, out->bytes);
    arena_free(scratch);
    return out;
}
