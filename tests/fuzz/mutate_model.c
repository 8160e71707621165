/*
 * libFuzzer's mutations for inputs that are ONNX models: fields are changed, dropped, repeated,
 * moved and taken from other places where they fit, and the lengths around them are written anew.
 * Bytes changed at random hardly ever leave a file that can be read; these hardly ever leave one
 * that cannot.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t most);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed);
size_t LLVMFuzzerCustomCrossOver(const uint8_t *a, size_t a_size, const uint8_t *b, size_t b_size,
                                 uint8_t *out, size_t most, unsigned seed);

enum message {
    NONE,
    MODEL,
    GRAPH,
    NODE,
    ATTRIBUTE,
    TENSOR,
    SPARSE,
    VALUE,
    TYPE,
    TENSOR_TYPE,
    INNER_TYPE,
    SHAPE,
    DIMENSION,
    FUNCTION,
    OPSET,
    ENTRY
};

/* Which fields hold messages: onnx.proto. */
static const struct {
    enum message outer;
    uint32_t number;
    enum message inner;
} messages[] = {{MODEL, 7, GRAPH},     {MODEL, 8, OPSET},       {MODEL, 14, ENTRY},
                {MODEL, 25, FUNCTION}, {GRAPH, 1, NODE},        {GRAPH, 5, TENSOR},
                {GRAPH, 11, VALUE},    {GRAPH, 12, VALUE},      {GRAPH, 13, VALUE},
                {GRAPH, 15, SPARSE},   {NODE, 5, ATTRIBUTE},    {ATTRIBUTE, 5, TENSOR},
                {ATTRIBUTE, 6, GRAPH}, {ATTRIBUTE, 10, TENSOR}, {ATTRIBUTE, 11, GRAPH},
                {ATTRIBUTE, 14, TYPE}, {TENSOR, 13, ENTRY},     {SPARSE, 1, TENSOR},
                {SPARSE, 2, TENSOR},   {VALUE, 2, TYPE},        {TYPE, 1, TENSOR_TYPE},
                {TYPE, 4, INNER_TYPE}, {TYPE, 8, TENSOR_TYPE},  {TYPE, 9, INNER_TYPE},
                {INNER_TYPE, 1, TYPE}, {TENSOR_TYPE, 2, SHAPE}, {SHAPE, 1, DIMENSION},
                {FUNCTION, 7, NODE},   {FUNCTION, 9, OPSET},    {FUNCTION, 11, ATTRIBUTE},
                {FUNCTION, 12, VALUE}};

static const char *const operators[] = {
#define OPERATOR(name, ...) #name,
#include "daemon/compiler/operators/operators.def"
#undef OPERATOR
};

static const uint64_t numbers[] = {0,
                                   1,
                                   2,
                                   3,
                                   4,
                                   5,
                                   7,
                                   8,
                                   11,
                                   16,
                                   21,
                                   26,
                                   127,
                                   128,
                                   255,
                                   1024,
                                   65536,
                                   0x7fffffff,
                                   0x80000000,
                                   (uint64_t)-1,
                                   (uint64_t)-2,
                                   (uint64_t)-9,
                                   (uint64_t)1 << 32,
                                   (uint64_t)1 << 62,
                                   INT64_MAX,
                                   (uint64_t)INT64_MIN};

static const float floats[] = {0,
                               -0.0f,
                               1,
                               -1,
                               0.5f,
                               2,
                               1e-8f,
                               1e-30f,
                               6e4f,
                               7e4f,
                               1e30f,
                               3.4028235e38f,
                               -3.4028235e38f,
                               1.0f / 0.0f,
                               -1.0f / 0.0f,
                               0.0f / 0.0f};

enum { MOST_FIELDS = 1 << 12, DEEPEST = 24, MOST_BYTES = 1 << 17 };

struct field {
    enum message outer, inner;
    uint32_t number;
    int wire, parent; /* -1: the model */
    size_t start, content,
        end; /* the key, what follows key and length, and what follows the field */
};

struct fields {
    struct field rows[MOST_FIELDS];
    int count;
};

static uint64_t state;

static uint64_t draw(uint64_t below)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return below ? (state >> 11) % below : 0;
}

static bool read_varint(const uint8_t *data, size_t *at, size_t end, uint64_t *value)
{
    *value = 0;
    for (int shift = 0; shift < 64 && *at < end; shift += 7) {
        uint8_t byte = data[(*at)++];

        *value |= (uint64_t)(byte & 127) << shift;
        if (byte < 128)
            return true;
    }
    return false;
}

static size_t put_varint(uint8_t *out, uint64_t value)
{
    size_t n = 0;

    do {
        out[n++] = (uint8_t)((value & 127) | (value > 127 ? 128 : 0));
        value >>= 7;
    } while (value);
    return n;
}

static enum message inner_of(enum message outer, uint32_t number)
{
    for (size_t i = 0; i < sizeof messages / sizeof *messages; i++)
        if (messages[i].outer == outer && messages[i].number == number)
            return messages[i].inner;
    return NONE;
}

static bool scan(struct fields *f, const uint8_t *data, size_t at, size_t end, enum message outer,
                 int parent, int depth)
{
    while (at < end) {
        struct field row = {.outer = outer, .parent = parent, .start = at};
        uint64_t key, value;
        int self = f->count;

        if (f->count == MOST_FIELDS || depth == DEEPEST || !read_varint(data, &at, end, &key))
            return false;
        row.wire = (int)(key & 7);
        row.number = (uint32_t)(key >> 3);
        row.content = at;
        if (row.wire == 0) {
            if (!read_varint(data, &at, end, &value))
                return false;
        } else if (row.wire == 1 || row.wire == 5) {
            at += row.wire == 1 ? 8 : 4;
        } else if (row.wire == 2) {
            if (!read_varint(data, &at, end, &value) || value > end - at)
                return false;
            row.content = at;
            row.inner = inner_of(outer, row.number);
            at += value;
        } else {
            return false;
        }
        if (at > end)
            return false;
        row.end = at;
        f->rows[f->count++] = row;
        if (row.inner && !scan(f, data, row.content, row.end, row.inner, self, depth + 1))
            return false;
    }
    return true;
}

/* data with what is in start .. end, inside the field `parent`, replaced; the size, 0 where it does
 * not fit. */
static size_t replace(const struct fields *f, const uint8_t *data, size_t size, int parent,
                      size_t start, size_t end, const uint8_t *with, size_t length, uint8_t *out,
                      size_t most)
{
    static uint8_t rooms[2][MOST_BYTES];
    const uint8_t *middle = with;
    int room = 0;

    for (; parent >= 0; parent = f->rows[parent].parent) {
        const struct field *p = &f->rows[parent];
        size_t content = start - p->content + length + (p->end - end), n;
        uint8_t *to = rooms[room ^= 1];

        if (content + 20 > MOST_BYTES)
            return 0;
        n = put_varint(to, (uint64_t)p->number << 3 | 2);
        n += put_varint(to + n, content);
        memcpy(to + n, data + p->content, start - p->content);
        n += start - p->content;
        memmove(to + n, middle, length);
        n += length;
        memcpy(to + n, data + end, p->end - end);
        middle = to;
        length = n + (p->end - end);
        start = p->start;
        end = p->end;
    }
    if (start + length + (size - end) > most)
        return 0;
    memcpy(out, data, start);
    memcpy(out + start, middle, length);
    memcpy(out + start + length, data + end, size - end);
    return start + length + (size - end);
}

/* A field of `from` that fits where f stands; or any field of f's message; NULL: none. */
static const struct field *fitting(const struct fields *from, const struct field *f, bool same)
{
    const struct field *found = NULL;
    uint64_t seen = 0;

    for (int i = 0; i < from->count; i++) {
        const struct field *g = &from->rows[i];

        if (g->outer == f->outer && (!same || (g->number == f->number && g->wire == f->wire)) &&
            !draw(++seen))
            found = g;
    }
    return found;
}

static size_t one_number(uint8_t *out, uint32_t field, uint64_t value)
{
    size_t n = put_varint(out, (uint64_t)field << 3);

    return n + put_varint(out + n, value);
}

static size_t some_bytes(uint8_t *out, const struct field *f, const void *bytes, size_t length)
{
    size_t n = put_varint(out, (uint64_t)f->number << 3 | 2);

    n += put_varint(out + n, length);
    memcpy(out + n, bytes, length);
    return n + length;
}

/* The field written anew with other contents; the size, 0: as it is. */
static size_t other(const struct fields *f, const struct field *row, const uint8_t *data,
                    uint8_t *out)
{
    size_t at = row->content, length = row->end - row->content;
    uint64_t value;

    if (row->wire == 0) {
        read_varint(data, &at, row->end, &value);
        switch (draw(3)) {
        case 0:
            return one_number(out, row->number, value + draw(2) * 2 - 1);
        case 1:
            return one_number(out, row->number, numbers[draw(sizeof numbers / sizeof *numbers)]);
        default:
            return one_number(out, row->number, draw(12));
        }
    }
    if (row->wire == 5) {
        size_t n = put_varint(out, (uint64_t)row->number << 3 | 5);

        memcpy(out + n, &floats[draw(sizeof floats / sizeof *floats)], 4);
        return n + 4;
    }
    if (row->wire != 2 || row->inner || length > 1 << 15)
        return 0;
    if (row->outer == NODE && row->number == 4) {
        const char *name = operators[draw(sizeof operators / sizeof *operators)];

        return some_bytes(out, row, name, strlen(name));
    }
    if (row->outer == NODE && row->number <= 2) { /* another value's name, or none */
        static const uint32_t holders[] = {1, 2};
        struct field like = {.outer = NODE, .number = holders[draw(2)], .wire = 2};
        const struct field *g = draw(8) ? fitting(f, &like, true) : NULL;

        return some_bytes(out, row, g ? data + g->content : data, g ? g->end - g->content : 0);
    }
    {
        static uint8_t changed[(1 << 15) + 64];

        memcpy(changed, data + row->content, length);
        length = LLVMFuzzerMutate(changed, length, length + (draw(2) ? 0 : 64));
        return some_bytes(out, row, changed, length);
    }
}

static bool begin(struct fields *f, const uint8_t *data, size_t size, unsigned seed)
{
    state = ((uint64_t)seed << 1 | 1) * 0x9e3779b97f4a7c15u;
    f->count = 0;
    return size < MOST_BYTES && scan(f, data, 0, size, MODEL, -1, 0) && f->count > 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed)
{
    static struct fields f;
    static uint8_t made[MOST_BYTES], out[MOST_BYTES];

    if (!begin(&f, data, size, seed) || !draw(16))
        return LLVMFuzzerMutate(data, size, most);
    for (int tries = 0; tries < 8; tries++) {
        const struct field *row = &f.rows[draw((uint64_t)f.count)], *g;
        size_t end = row->end, length = 0, n;

        switch (draw(8)) {
        case 0: /* gone */
            break;
        case 1: /* twice */
            end = row->start;
            memcpy(made, data + row->start, length = row->end - row->start);
            break;
        case 2: /* one of the same kind from elsewhere */
        case 3: /* and that one beside it, of any kind */
            g = fitting(&f, row, draw(2));
            if (!g)
                continue;
            if (draw(2))
                end = row->start;
            memcpy(made, data + g->start, length = g->end - g->start);
            break;
        default:
            length = other(&f, row, data, made);
            if (!length)
                continue;
        }
        n = replace(&f, data, size, row->parent, row->start, end, made, length, out,
                    most < MOST_BYTES ? most : MOST_BYTES);
        if (n) {
            memcpy(data, out, n);
            return n;
        }
    }
    return LLVMFuzzerMutate(data, size, most);
}

/* A field of b in the place of one of a's, or beside it. */
size_t LLVMFuzzerCustomCrossOver(const uint8_t *a, size_t a_size, const uint8_t *b, size_t b_size,
                                 uint8_t *out, size_t most, unsigned seed)
{
    static struct fields f, from;
    const struct field *row, *g;

    if (!begin(&from, b, b_size, seed) || !begin(&f, a, a_size, seed))
        return 0;
    row = &f.rows[draw((uint64_t)f.count)];
    g = fitting(&from, row, draw(2));
    return g ? replace(&f, a, a_size, row->parent, row->start, draw(2) ? row->start : row->end,
                       b + g->start, g->end - g->start, out, most)
             : 0;
}
