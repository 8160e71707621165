#ifndef TESTS_ONNX_BYTES_H
#define TESTS_ONNX_BYTES_H
/*
 * ONNX files, written byte by byte: what the tests of the loader load. Every message is a strbuf in
 * one arena, made by bytes_begin() and freed by bytes_end(): a test's set-up and tear-down. Field
 * numbers are onnx.proto's.
 */
#include "daemon/compiler/context.h"
#include "daemon/compiler/strbuf.h"
#include <string.h>

static struct context bytes_context;

static inline int bytes_begin(void **state)
{
    (void)state;
    context_init(&bytes_context, NULL);
    return 0;
}

static inline int bytes_end(void **state)
{
    (void)state;
    context_release(&bytes_context);
    return 0;
}

static inline struct strbuf message(void)
{
    struct strbuf s;

    strbuf_init(&s, &bytes_context.arena);
    return s;
}

static inline void put_varint(struct strbuf *s, uint64_t value)
{
    for (; value > 0x7f; value >>= 7)
        strbuf_char(s, (char)((value & 0x7f) | 0x80));
    strbuf_char(s, (char)value);
}

static inline void put_int(struct strbuf *s, unsigned field, int64_t value)
{
    put_varint(s, field << 3);
    put_varint(s, (uint64_t)value);
}

static inline void put_float(struct strbuf *s, unsigned field, float value)
{
    put_varint(s, field << 3 | 5);
    strbuf_add_bytes(s, &value, sizeof value);
}

static inline void put_bytes(struct strbuf *s, unsigned field, const void *bytes, size_t size)
{
    put_varint(s, field << 3 | 2);
    put_varint(s, size);
    if (size)
        strbuf_add_bytes(s, bytes, size);
}

static inline void put_text(struct strbuf *s, unsigned field, const char *text)
{
    put_bytes(s, field, text, strlen(text));
}

static inline void put(struct strbuf *s, unsigned field, struct strbuf inner)
{
    put_bytes(s, field, inner.text, inner.length);
}

/* "a,b,,c": one field a part; "" is none, "," two empty ones. */
static inline void put_list(struct strbuf *s, unsigned field, const char *list)
{
    while (*list) {
        size_t length = strcspn(list, ",");

        put_bytes(s, field, list, length);
        list += length;
        if (*list == ',' && !*++list)
            put_bytes(s, field, "", 0);
    }
}

/* ---- ONNX ---- */

enum {
    GRAPH_NODE = 1,
    GRAPH_INITIALIZER = 5,
    GRAPH_INPUT = 11,
    GRAPH_OUTPUT = 12,
    GRAPH_VALUE_INFO = 13,
    GRAPH_SPARSE = 15
};
enum {
    FLOAT = 1,
    UINT8,
    INT8,
    UINT16,
    INT16,
    INT32,
    INT64,
    STRING,
    BOOL,
    FLOAT16,
    DOUBLE,
    UINT32,
    UINT64,
    COMPLEX64,
    COMPLEX128,
    BFLOAT16,
    UINT4 = 21,
    INT4
};

static inline struct strbuf node(const char *op, const char *inputs, const char *outputs)
{
    struct strbuf s = message();

    put_list(&s, 1, inputs);
    put_list(&s, 2, outputs);
    put_text(&s, 4, op);
    return s;
}

static inline struct strbuf named(struct strbuf made, const char *name)
{
    put_text(&made, 3, name);
    return made;
}

static inline struct strbuf in_domain(struct strbuf made, const char *domain)
{
    put_text(&made, 7, domain);
    return made;
}

static inline struct strbuf attribute_of(const char *name, int type)
{
    struct strbuf s = message();

    put_text(&s, 1, name);
    put_int(&s, 20, type);
    return s;
}

static inline struct strbuf with(struct strbuf made, struct strbuf attribute)
{
    put(&made, 5, attribute);
    return made;
}

static inline struct strbuf int_attribute(const char *name, int64_t i)
{
    struct strbuf s = attribute_of(name, 2);

    put_int(&s, 3, i);
    return s;
}

static inline struct strbuf ints_attribute(const char *name, int count, const int64_t *ints)
{
    struct strbuf s = attribute_of(name, 7);

    for (int i = 0; i < count; i++)
        put_int(&s, 8, ints[i]);
    return s;
}

static inline struct strbuf ref_attribute(const char *name, int type, const char *outer)
{
    struct strbuf s = attribute_of(name, type);

    put_text(&s, 21, outer);
    return s;
}

static inline struct strbuf graph_attribute(const char *name, struct strbuf graph)
{
    struct strbuf s = attribute_of(name, 5);

    put(&s, 6, graph);
    return s;
}

static inline struct strbuf tensor_of(const char *name, int type, int axes, const int64_t *dims)
{
    struct strbuf s = message();

    for (int i = 0; i < axes; i++)
        put_int(&s, 1, dims[i]);
    put_int(&s, 2, type);
    if (name)
        put_text(&s, 8, name);
    return s;
}

static inline struct strbuf raw_tensor(const char *name, int type, int axes, const int64_t *dims,
                                       const void *bytes, size_t size)
{
    struct strbuf s = tensor_of(name, type, axes, dims);

    put_bytes(&s, 9, bytes, size);
    return s;
}

static inline struct strbuf value_info(const char *name, int type, int axes, const int64_t *dims)
{
    struct strbuf shape = message(), tensor = message(), info = message(), s = message();

    for (int i = 0; i < axes; i++) {
        struct strbuf dim = message();

        if (dims[i] >= 0)
            put_int(&dim, 1, dims[i]);
        else
            put_text(&dim, 2, "N");
        put(&shape, 1, dim);
    }
    put_int(&tensor, 1, type);
    put(&tensor, 2, shape);
    put(&info, 1, tensor);
    put_text(&s, 1, name);
    put(&s, 2, info);
    return s;
}

static inline struct strbuf opset_import(const char *domain, int64_t version)
{
    struct strbuf s = message();

    put_text(&s, 1, domain);
    put_int(&s, 2, version);
    return s;
}

static inline struct strbuf model_of(int64_t ir, int64_t opset, struct strbuf graph)
{
    struct strbuf s = message();

    put_int(&s, 1, ir);
    put(&s, 7, graph);
    put(&s, 8, opset_import("", opset));
    return s;
}

#endif
