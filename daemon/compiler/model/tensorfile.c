/*
 * Files that hold one tensor: a TensorProto as the ONNX project's test data has them, or NumPy's
 * format (numpy.org/doc/stable/reference/generated/numpy.lib.format.html, versions 1 to 3).
 */
#include "daemon/compiler/model/load.h"
#include "daemon/compiler/model/unpack.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

static const uint64_t LARGEST_FILE = (uint64_t)4 << 30;

/* All of the file, in the job's arena; the descriptor is closed however the job is left. */
static const void *read_file(struct context *c, const char *path, size_t *size, const char **why)
{
    const struct files_functions *functions = files_system.functions;
    struct file_identity identity = {0};
    struct file *file = functions->open(&files_system, &c->arena, path, why);
    int64_t got = -1;
    void *bytes;

    if (!file)
        return NULL;
    if (!functions->identity(file, &identity))
        *why = "it cannot be read";
    else if (identity.size > LARGEST_FILE)
        *why = "it is larger than 4 GiB";
    else
        got = 0;
    functions->close(file);
    if (got < 0)
        return NULL;
    /* The arena may leave the job, so nothing is open meanwhile. */
    bytes = arena_alloc(&c->arena, (size_t)identity.size);
    file = functions->open(&files_system, &c->arena, path, why);
    if (!file)
        return NULL;
    got = functions->read(file, 0, bytes, (size_t)identity.size);
    functions->close(file);
    if (got != (int64_t)identity.size) {
        *why = "it cannot be read";
        return NULL;
    }
    *size = (size_t)identity.size;
    return bytes;
}

/* ---- NumPy ---- */

/* The header is a Python literal: {'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), } */
struct header {
    const char *at, *end;
    enum element_type type;
    bool fortran;
    struct shape shape;
};

static void skip_blanks(struct header *h)
{
    while (h->at < h->end && (*h->at == ' ' || *h->at == '\n' || *h->at == '\t'))
        h->at++;
}

static bool accept(struct header *h, const char *text)
{
    size_t length = strlen(text);

    skip_blanks(h);
    if ((size_t)(h->end - h->at) < length || memcmp(h->at, text, length))
        return false;
    h->at += length;
    return true;
}

static bool read_type(struct header *h, const char **why)
{
    static const struct {
        const char *text;
        enum element_type type;
    } types[] = {
        {"<f4", TYPE_FLOAT32}, {"<f8", TYPE_FLOAT64}, {"<f2", TYPE_FLOAT16}, {"|i1", TYPE_INT8},
        {"<i2", TYPE_INT16},   {"<i4", TYPE_INT32},   {"<i8", TYPE_INT64},   {"|u1", TYPE_UINT8},
        {"<u2", TYPE_UINT16},  {"<u4", TYPE_UINT32},  {"<u8", TYPE_UINT64},  {"|b1", TYPE_BOOL},
        {"<i1", TYPE_INT8},    {"<u1", TYPE_UINT8},
    };

    if (!accept(h, "'") && !accept(h, "\""))
        return false;
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (accept(h, types[i].text)) {
            h->type = types[i].type;
            return accept(h, "'") || accept(h, "\"");
        }
    *why = "its NumPy type is not one of float16 to 64, int8 to 64, uint8 to 64 and bool, "
           "little-endian";
    return false;
}

static bool read_dims(struct header *h, const char **why)
{
    if (!accept(h, "("))
        return false;
    h->shape = (struct shape){0};
    while (!accept(h, ")")) {
        int64_t dim = 0;
        const char *first;

        skip_blanks(h);
        for (first = h->at; h->at < h->end && *h->at >= '0' && *h->at <= '9'; h->at++)
            if (__builtin_mul_overflow(dim, 10, &dim) ||
                __builtin_add_overflow(dim, *h->at - '0', &dim)) {
                *why = "its shape is too large";
                return false;
            }
        if (h->at == first)
            return false;
        if (h->shape.axes == MAX_AXES) {
            *why = "it has more than 8 axes";
            return false;
        }
        h->shape.dim[h->shape.axes++] = dim;
        accept(h, "L"); /* as Python 2 wrote long integers */
        if (!accept(h, ",")) {
            if (!accept(h, ")"))
                return false;
            break;
        }
    }
    return true;
}

static bool read_header(struct header *h, const char **why)
{
    bool type = false, order = false, shape = false;

    if (!accept(h, "{"))
        return false;
    while (!accept(h, "}")) {
        bool good;

        if (accept(h, "'descr'") || accept(h, "\"descr\""))
            good = type = accept(h, ":") && read_type(h, why);
        else if (accept(h, "'fortran_order'") || accept(h, "\"fortran_order\""))
            good = order =
                accept(h, ":") && ((h->fortran = accept(h, "True")) || accept(h, "False"));
        else if (accept(h, "'shape'") || accept(h, "\"shape\""))
            good = shape = accept(h, ":") && read_dims(h, why);
        else
            good = false;
        if (!good)
            return false;
        if (!accept(h, ",")) {
            if (!accept(h, "}"))
                return false;
            break;
        }
    }
    skip_blanks(h);
    return type && order && shape && h->at == h->end;
}

/* Column-major elements to row-major ones. */
static void transpose(const uint8_t *from, uint8_t *to, const struct shape *shape, int64_t count,
                      size_t width)
{
    int64_t index[MAX_AXES] = {0}, stride[MAX_AXES], step = 1, at = 0;

    for (int axis = 0; axis < shape->axes; axis++) {
        stride[axis] = step;
        step *= shape->dim[axis];
    }
    for (int64_t i = 0; i < count; i++) {
        memcpy(to + (size_t)i * width, from + (size_t)at * width, width);
        for (int axis = shape->axes; axis-- > 0;) {
            at += stride[axis];
            if (++index[axis] < shape->dim[axis])
                break;
            at -= stride[axis] * shape->dim[axis];
            index[axis] = 0;
        }
    }
}

static struct tensor *load_numpy(struct context *c, const uint8_t *bytes, size_t size,
                                 const char **why)
{
    struct header h = {0};
    struct tensor *t;
    size_t length, start;
    int64_t count, payload;
    void *data;

    *why = "its NumPy header is damaged";
    if (size < 12 || bytes[6] < 1 || bytes[6] > 3)
        return NULL;
    start = bytes[6] == 1 ? 10 : 12;
    length = (size_t)bytes[8] | (size_t)bytes[9] << 8;
    if (bytes[6] > 1)
        length |= (size_t)bytes[10] << 16 | (size_t)bytes[11] << 24;
    if (length > size - start)
        return NULL;
    h.at = (const char *)bytes + start;
    h.end = h.at + length;
    if (!read_header(&h, why))
        return NULL;
    count = shape_count(&h.shape);
    payload = count < 0 ? -1 : tensor_payload(h.type, count);
    if (payload < 0 || (uint64_t)payload != size - start - length) {
        *why =
            arena_printf(&c->arena, "it holds %zu bytes of elements, %s of %s asks for others",
                         size - start - length, shape_text(&c->arena, &h.shape), type_name(h.type));
        return NULL;
    }
    t = tensor_new(&c->arena, h.type, &h.shape, &data);
    if (h.fortran)
        transpose(bytes + start + length, data, &h.shape, count, (size_t)type_bits(h.type) / 8);
    else if (t->bytes)
        memcpy(data, bytes + start + length, t->bytes);
    return t;
}

/* ---- TensorProto ---- */

static struct tensor *read_message(struct context *c, struct files_memory *memory,
                                   struct file *file, const char **why)
{
    struct arena *scratch = arena_child(&c->arena);
    struct file_source source;
    struct scan scan;
    struct scan_fault fault;
    struct unpacker unpacker = {.c = c, .scan = &scan, .file = &source.source};
    enum diagnostic_code code;
    struct tensor *t = NULL;
    Onnx__Tensor *proto;

    file_source_init(&source, &memory->files, file);
    if (!scan_file(c, scratch, &memory->files, file, memory->size, &onnx__tensor__descriptor, &scan,
                   &fault)) {
        *why = arena_printf(&c->arena, "at byte %llu%s%s: %s", (unsigned long long)fault.offset,
                            *fault.field ? ", " : "", fault.field, fault.what);
        goto out;
    }
    proto = scan_unpack_tensor(scratch, &scan, 0);
    *why = "it is damaged";
    if (proto)
        t = unpack_tensor(&unpacker, proto, &code, why);
    if (t && !t->data) {
        void *data = arena_alloc(&c->arena, t->bytes);

        if (t->source->read(t->source, t->offset, data, t->bytes)) {
            t->data = data;
            t->source = NULL;
            t->offset = 0;
        } else {
            t = NULL;
        }
    }
out:
    arena_free(scratch);
    return t;
}

static struct tensor *load_message(struct context *c, const char *path, const void *bytes,
                                   size_t size, const char **why)
{
    struct files_memory memory;
    struct tensor *t;
    struct file *file;
    jmp_buf outer;

    files_memory_init(&memory, path, bytes, size);
    file = memory.files.functions->open(&memory.files, &c->arena, path, why);
    if (!file)
        return NULL;
    /* Nobody else knows the file, should the job be left. */
    memcpy(&outer, &c->escape, sizeof outer);
    if (setjmp(c->escape)) {
        memory.files.functions->close(file);
        memcpy(&c->escape, &outer, sizeof outer);
        longjmp(c->escape, 1);
    }
    t = read_message(c, &memory, file, why);
    memory.files.functions->close(file);
    memcpy(&c->escape, &outer, sizeof outer);
    return t;
}

struct tensor *tensor_load(struct context *c, const char *path, const char **why)
{
    size_t size = 0;
    const void *bytes = read_file(c, path, &size, why);

    if (!bytes)
        return NULL;
    if (size >= 6 && !memcmp(bytes, "\x93NUMPY", 6))
        return load_numpy(c, bytes, size, why);
    return load_message(c, path, bytes, size, why);
}

/* ---- writing ---- */

static void add_varint(struct strbuf *s, uint64_t value)
{
    for (; value > 0x7f; value >>= 7)
        strbuf_char(s, (char)((value & 0x7f) | 0x80));
    strbuf_char(s, (char)value);
}

static void add_number(struct strbuf *s, unsigned field, uint64_t value)
{
    add_varint(s, field << 3);
    add_varint(s, value);
}

/* The tag and the length of a field with a length. */
static void add_length(struct strbuf *s, unsigned field, uint64_t length)
{
    add_varint(s, field << 3 | 2);
    add_varint(s, length);
}

bool tensor_save(struct context *c, const struct tensor *t, const char *name, const char *path)
{
    struct arena *scratch = arena_child(&c->arena);
    const void *payload = tensor_data(c, t, scratch);
    struct strbuf head;
    bool good = false;
    int error = 0;
    FILE *f;

    strbuf_init(&head, scratch);
    for (int i = 0; i < t->shape.axes; i++)
        add_number(&head, 1, (uint64_t)t->shape.dim[i]);
    add_number(&head, 2, (uint64_t)t->type);
    add_length(&head, 8, strlen(name));
    strbuf_add(&head, name);
    add_length(&head, ELEMENTS_RAW, t->bytes);
    f = fopen(path, "wbe");
    if (!f) {
        error = errno;
        goto out;
    }
    good = fwrite(head.text, 1, head.length, f) == head.length &&
           (!t->bytes || fwrite(payload, 1, t->bytes, f) == t->bytes);
    error = errno;
    if (fclose(f) && good) {
        error = errno;
        good = false;
    }
out:
    arena_free(scratch);
    errno = error;
    return good;
}
