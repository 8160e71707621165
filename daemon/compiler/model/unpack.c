#include "daemon/compiler/model/unpack.h"
#include <string.h>

enum {
    IN_MEMORY = 1 << 10,
    CHUNK = 1 << 14,
    LONGEST_ELEMENT = 16, /* of a field with a tag: five bytes and ten */
};

/* Of all sparse tensors of a model together: a few bytes can ask for any number of zeros. */
static const uint64_t LARGEST_DENSE = (uint64_t)256 << 20;

/* ---- decoding ---- */

/* Elements that must be decoded, or that lie in several stretches. */
struct decoder {
    struct source source;
    struct source *file;
    const struct scan_stretch *stretches;
    int count;
    enum elements_field field;
    enum element_type type;
    size_t width; /* bytes that one number of the field becomes */
};

/* One number from bytes; its size, 0 where they end before it does. */
static size_t decode(const uint8_t *bytes, size_t left, enum elements_field field, uint64_t *value)
{
    size_t width = field == ELEMENTS_RAW      ? 1
                   : field == ELEMENTS_FLOAT  ? 4
                   : field == ELEMENTS_DOUBLE ? 8
                                              : 0;

    *value = 0;
    if (width > left)
        return 0;
    if (width) {
        memcpy(value, bytes, width);
        return width;
    }
    for (size_t i = 0; i < left && i < 10; i++) {
        *value |= (uint64_t)(bytes[i] & 0x7f) << (7 * i);
        if (!(bytes[i] & 0x80))
            return i + 1;
    }
    return 0;
}

/* Writes what of the stretch's elements falls into [from, from + size) of the payload; *at is where
 * the stretch begins in it, then where it ends. */
static bool decode_stretch(const struct decoder *d, const struct scan_stretch *stretch,
                           uint64_t from, size_t size, uint8_t *out, uint64_t *at)
{
    uint8_t chunk[CHUNK];
    uint64_t read = 0;
    size_t held = 0;

    while (read < stretch->length || held) {
        size_t used = 0;
        size_t more =
            stretch->length - read < CHUNK - held ? (size_t)(stretch->length - read) : CHUNK - held;

        if (stretch->bytes)
            memcpy(chunk + held, (const uint8_t *)stretch->bytes + read, more);
        else if (more && !d->file->read(d->file, stretch->offset + read, chunk + held, more))
            return false;
        read += more;
        held += more;
        while (used < held) {
            uint64_t value, tag;
            size_t tag_size = 0, value_size;

            if (held - used < LONGEST_ELEMENT && read < stretch->length)
                break;
            if (!stretch->packed)
                tag_size = decode(chunk + used, held - used, ELEMENTS_INT32, &tag);
            value_size = decode(chunk + used + tag_size, held - used - tag_size, d->field, &value);
            if (!value_size || (!stretch->packed && !tag_size))
                return false; /* the file is another one now */
            used += tag_size + value_size;
            if (d->type == TYPE_BOOL && d->field != ELEMENTS_RAW)
                value = value != 0;
            for (size_t i = 0; i < d->width; i++, ++*at)
                if (*at >= from && *at - from < size)
                    out[*at - from] = (uint8_t)(value >> (8 * i));
            if (*at >= from && *at - from >= size)
                return true;
        }
        if (!more && !used)
            return false;
        memmove(chunk, chunk + used, held - used);
        held -= used;
    }
    return true;
}

static bool read_decoded(struct source *s, uint64_t offset, void *bytes, size_t size)
{
    const struct decoder *d = (const struct decoder *)s;
    uint64_t at = 0;

    for (int i = 0; i < d->count && (at < offset || at - offset < size); i++) {
        const struct scan_stretch *stretch = &d->stretches[i];
        uint64_t whole = stretch->count * d->width;

        if (at + whole <= offset)
            at += whole;
        else if (!decode_stretch(d, stretch, offset, size, bytes, &at))
            return false;
    }
    return at >= offset && at - offset >= size;
}

/* ---- dims ---- */

static bool read_shape(struct arena *a, size_t axes, const int64_t *dims, struct shape *shape,
                       int64_t *count, const char **why)
{
    bool empty = false;

    if (axes > MAX_AXES) {
        *why = arena_printf(a, "it has %zu axes; at most %d can be held", axes, (int)MAX_AXES);
        return false;
    }
    *count = 1;
    for (size_t i = 0; i < axes; i++) {
        if (dims[i] < 0) {
            *why = arena_printf(a, "dim %zu is negative: %lld", i, (long long)dims[i]);
            return false;
        }
        empty |= !dims[i];
    }
    *shape = shape_of((int)axes, dims);
    if (empty)
        *count = 0;
    for (size_t i = 0; i < axes && !empty; i++)
        if (__builtin_mul_overflow(*count, dims[i], count) || *count > (int64_t)1 << 48) {
            *why = arena_printf(a, "its dims %s have too many elements", shape_text(a, shape));
            return false;
        }
    return true;
}

static bool is_known(int32_t type)
{
    switch (type) {
#define ELEMENT_TYPE(id, number, name, bits)                                                       \
    case number:                                                                                   \
        return true;
#include "daemon/compiler/graph/types.def"
#undef ELEMENT_TYPE
    default:
        return false;
    }
}

/* Bytes that one number of field becomes in a payload of type; 0 where the field does not hold that
 * type. */
static size_t width_in(enum elements_field field, enum element_type type)
{
    size_t bytes = (size_t)type_bits(type) / 8;

    switch (field) {
    case ELEMENTS_RAW:
        return 1;
    case ELEMENTS_FLOAT:
        return type == TYPE_FLOAT32 || type == TYPE_COMPLEX64 ? 4 : 0;
    case ELEMENTS_DOUBLE:
        return type == TYPE_FLOAT64 || type == TYPE_COMPLEX128 ? 8 : 0;
    case ELEMENTS_INT64:
        return type == TYPE_INT64 ? 8 : 0;
    case ELEMENTS_UINT64:
        return type == TYPE_UINT32 || type == TYPE_UINT64 ? bytes : 0;
    case ELEMENTS_INT32:
        if (type == TYPE_FLOAT32 || type == TYPE_UINT32 || bytes > 4)
            return 0;
        return bytes ? bytes : 1;
    }
    return 0;
}

static const char *field_name(enum elements_field field)
{
    const ProtobufCFieldDescriptor *f =
        protobuf_c_message_descriptor_get_field(&onnx__tensor__descriptor, field);

    return f->name;
}

/* ---- elements inside the file ---- */

/* The stretches that count: of one field, without empty ones; of several raw data the last (it is a
 * singular field). false with *why where two fields hold elements. */
static bool choose_stretches(struct unpacker *e, const Onnx__Tensor *t, struct decoder *d,
                             const char **why)
{
    const struct scan_tensor *place = &e->scan->tensors[t->scanned];
    struct scan_stretch *chosen = NULL;
    int room = 0;

    for (int i = 0; i < place->count; i++) {
        const struct scan_stretch *s = &e->scan->stretches[place->first + i];

        if (!s->length)
            continue;
        if (d->count && s->field != d->field) {
            *why = arena_printf(&e->c->arena, "it holds its elements in %s and in %s",
                                field_name(d->field), field_name(s->field));
            return false;
        }
        if (s->field == ELEMENTS_RAW)
            d->count = 0;
        d->field = s->field;
        if (place->count == 1)
            chosen = e->scan->stretches + place->first, d->count = 1;
        else
            APPEND(&e->c->arena, chosen, d->count, room) = *s;
    }
    d->stretches = chosen;
    return true;
}

static bool inside_file(struct unpacker *e, const Onnx__Tensor *t, struct tensor *made,
                        const char **why)
{
    struct arena *a = &e->c->arena;
    struct decoder d = {.source = {read_decoded}, .file = e->file, .type = made->type};
    uint64_t numbers = 0, bytes;

    if (!choose_stretches(e, t, &d, why))
        return false;
    if (d.count)
        d.width = width_in(d.field, made->type);
    if (d.count && !d.width) {
        *why = arena_printf(a, "%s cannot hold elements of type %s", field_name(d.field),
                            type_name(made->type));
        return false;
    }
    for (int i = 0; i < d.count; i++)
        numbers += d.stretches[i].count;
    /* No overflow: there are no more numbers than bytes in the file. */
    bytes = numbers * d.width;
    if (bytes != made->bytes) {
        *why = arena_printf(a, "its dims %s of %s ask for %zu bytes of elements, it holds %llu",
                            shape_text(a, &made->shape), type_name(made->type), made->bytes,
                            (unsigned long long)bytes);
        return false;
    }
    if (made->bytes <= IN_MEMORY) {
        void *data = arena_alloc(a, made->bytes);

        if (!read_decoded(&d.source, 0, data, made->bytes))
            context_escape(e->c, ESCAPE_SYSTEM, "the model's file changes while it is read");
        made->data = data;
    } else if (d.count == 1 && d.stretches->packed &&
               (d.field == ELEMENTS_RAW || d.field == ELEMENTS_FLOAT ||
                d.field == ELEMENTS_DOUBLE)) {
        /* We run on little-endian machines only. */
        made->source = e->file;
        made->offset = d.stretches->offset;
        made->payload_hash = d.stretches->hash;
        made->payload_hashed = true;
        if (made->type == TYPE_FLOAT32 && made->shape.axes &&
            (uint64_t)made->shape.dim[0] == d.stretches->row_count)
            made->rows = d.stretches->rows;
    } else {
        struct decoder *kept = NEW(a, struct decoder);
        struct scan_stretch *stretches =
            arena_memdup(a, d.stretches, (size_t)d.count * sizeof *stretches);

        /* What the scan found goes with the scan. */
        for (int i = 0; i < d.count; i++)
            stretches[i].bytes = NULL;
        *kept = d;
        kept->stretches = stretches;
        made->source = &kept->source;
    }
    return true;
}

struct tensor *unpack_tensor(struct unpacker *e, const Onnx__Tensor *t, enum diagnostic_code *code,
                             const char **why)
{
    struct arena *a = &e->c->arena;
    struct scan_tensor *place = &e->scan->tensors[t->scanned];
    struct tensor *made;
    int64_t bytes;

    if (place->made)
        return place->made;
    made = NEW(a, struct tensor);
    *code = TUKI0107;
    if (!t->has_data_type || !is_known(t->data_type)) {
        *why = t->data_type ? arena_printf(a, "its element type is unknown: %d", t->data_type)
                            : "it has no element type";
        return NULL;
    }
    made->type = (enum element_type)t->data_type;
    if (!read_shape(a, t->n_dims, t->dims, &made->shape, &made->count, why))
        return NULL;
    if (made->type == TYPE_STRING) {
        if (t->n_string_data != (size_t)made->count) {
            *why =
                arena_printf(a, "its dims %s ask for %lld strings, it holds %zu",
                             shape_text(a, &made->shape), (long long)made->count, t->n_string_data);
            return NULL;
        }
        made->data = "";
        return place->made = made;
    }
    bytes = tensor_payload(made->type, made->count);
    if (bytes < 0) {
        *why = arena_printf(a, "its dims %s have too many elements", shape_text(a, &made->shape));
        return NULL;
    }
    made->bytes = (size_t)bytes;
    if (t->data_location == 1 && !e->externals) {
        *why = "its elements lie in another file";
        return NULL;
    }
    if (t->data_location == 1) {
        made->source = external_range(e->externals, t, made->bytes, &made->offset, code, why);
        if (!made->source)
            return NULL;
        if (made->bytes <= IN_MEMORY) {
            void *data = arena_alloc(a, made->bytes);

            if (!made->source->read(made->source, made->offset, data, made->bytes))
                context_escape(e->c, ESCAPE_SYSTEM, "a data file changes while it is read");
            made->data = data;
        }
    } else if (!inside_file(e, t, made, why)) {
        return NULL;
    }
    return place->made = made;
}

struct tensor *unpack_sparse(struct unpacker *e, const Onnx__SparseTensor *t,
                             enum diagnostic_code *code, const char **why)
{
    struct arena *a = &e->c->arena;
    struct arena *scratch = NULL;
    struct tensor *values, *indices, *dense, *made = NULL;
    struct shape shape;
    const uint8_t *from;
    const int64_t *index;
    uint8_t *to;
    int64_t count, bytes;
    size_t width;
    void *data;

    *code = TUKI0107;
    if (!t->values || !t->indices) {
        *why = "it has no values or no indices";
        goto out;
    }
    values = unpack_tensor(e, t->values, code, why);
    indices = values ? unpack_tensor(e, t->indices, code, why) : NULL;
    if (!indices)
        goto out;
    *code = TUKI0107;
    if (!read_shape(a, t->n_dims, t->dims, &shape, &count, why))
        goto out;
    width = (size_t)type_bits(values->type) / 8;
    bytes = tensor_payload(values->type, count);
    if (!width || bytes < 0 || (uint64_t)bytes > LARGEST_DENSE - e->dense) {
        *why = arena_printf(a, "%s of %s cannot be made dense", shape_text(a, &shape),
                            type_name(values->type));
        goto out;
    }
    if (values->shape.axes != 1 || indices->type != TYPE_INT64 ||
        !(indices->shape.axes == 1 ||
          (indices->shape.axes == 2 && indices->shape.dim[1] == shape.axes)) ||
        indices->shape.dim[0] != values->count) {
        *why = arena_printf(a, "its %s indices of %s do not fit its %lld values of %s",
                            type_name(indices->type), shape_text(a, &indices->shape),
                            (long long)values->count, shape_text(a, &shape));
        goto out;
    }
    scratch = arena_child(a);
    from = tensor_data(e->c, values, scratch);
    index = tensor_data(e->c, indices, scratch);
    e->dense += (uint64_t)bytes;
    dense = tensor_new(a, values->type, &shape, &data);
    to = data;
    for (int64_t i = 0; i < values->count; i++) {
        int64_t at = 0;

        if (indices->shape.axes == 1)
            at = *index++;
        else
            for (int axis = 0; axis < shape.axes; axis++, index++) {
                if (*index < 0 || *index >= shape.dim[axis]) {
                    at = -1;
                    index += shape.axes - axis;
                    break;
                }
                at = at * shape.dim[axis] + *index;
            }
        if (at < 0 || at >= count) {
            *why =
                arena_printf(a, "index %lld lies outside %s", (long long)i, shape_text(a, &shape));
            goto out;
        }
        memcpy(to + (size_t)at * width, from + (size_t)i * width, width);
    }
    made = dense;
out:
    arena_free(scratch);
    return made;
}
