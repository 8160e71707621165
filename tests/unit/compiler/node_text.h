#ifndef TESTS_NODE_TEXT_H
#define TESTS_NODE_TEXT_H
/*
 * How tests write what a node has.
 *
 * A tensor: its type (f: float32, d: float64, h: float16, i: int64, j: int32, u: uint8, s: int8, w:
 * uint64, b: bool, n: int4), its shape and its elements, "f[2,2] 1 2 3 4"; without elements it is
 * not known, "?" is a dim that is not. Attributes, separated by ";": name=1, name=1.0, name=[1,2],
 * name=[0.5,1.0], name='text', name=['a','b'], or a tensor, name=i[1] 7.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "daemon/compiler/graph/graph.h"
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    char letter;
    enum element_type type;
} letters[] = {
    {'f', TYPE_FLOAT32}, {'d', TYPE_FLOAT64}, {'h', TYPE_FLOAT16}, {'i', TYPE_INT64},
    {'j', TYPE_INT32},   {'u', TYPE_UINT8},   {'s', TYPE_INT8},    {'w', TYPE_UINT64},
    {'b', TYPE_BOOL},    {'n', TYPE_INT4},
};

static inline const char *blank(const char *p)
{
    while (*p == ' ')
        p++;
    return p;
}

/* A tensor at p: its type and shape, and its elements where it has any. */
static inline const char *read_tensor(struct context *c, const char *p, struct value *v)
{
    void *payload;
    char *end;

    v->shape = (struct shape){.axes = 0};
    for (size_t i = 0; i < sizeof letters / sizeof *letters; i++)
        if (letters[i].letter == *p)
            v->type = letters[i].type;
    assert_true(v->type != TYPE_UNKNOWN && p[1] == '[');
    for (p += 2; *p != ']'; p += *p == ',') {
        if (*p == '?') {
            v->shape.dim[v->shape.axes++] = -1;
            p++;
        } else {
            v->shape.dim[v->shape.axes++] = strtoll(p, &end, 10);
            p = end;
        }
    }
    p = blank(p + 1);
    if (!shape_known(&v->shape) || ((!*p || *p == ';') && shape_count(&v->shape) != 0))
        return p;
    v->constant = tensor_new(&c->arena, v->type, &v->shape, &payload);
    for (int64_t i = 0; i < v->constant->count; i++, p = blank(end)) {
        if (v->type == TYPE_UINT64)
            ((uint64_t *)payload)[i] = strtoull(p, &end, 10);
        else if (type_is_float(v->type))
            payload_set(payload, v->type, i, strtod(p, &end));
        else
            payload_set_integer(payload, v->type, i, strtoll(p, &end, 10));
        assert_ptr_not_equal(end, p);
    }
    assert_true(!*p || *p == ';');
    return p;
}

static inline void read_attribute_list(struct node *n, const char *name, const char *p)
{
    struct arena *a = &n->graph->context->arena;
    struct attribute *attribute;
    int64_t ints[64];
    float floats[64];
    struct label strings[16];
    bool real = false;
    int count = 0;

    for (p = blank(p + 1); *p != ']'; p = blank(p + (*p == ','))) {
        if (*p == '\'') {
            const char *end = strchr(p + 1, '\'');

            strings[count++] = (struct label){arena_printf(a, "%.*s", (int)(end - p - 1), p + 1),
                                              (size_t)(end - p - 1)};
            p = end + 1;
            continue;
        }
        const char *end = p + strcspn(p, ",]");
        real = real || memchr(p, '.', (size_t)(end - p));
        ints[count] = strtoll(p, NULL, 10);
        floats[count++] = strtof(p, NULL);
        p = end;
    }
    if (!real && !strchr(name, '\'') && count && p[-1] != '\'') {
        node_set_ints(n, name, count, ints);
        return;
    }
    attribute = &APPEND(a, n->attributes, n->attribute_count, n->attribute_room);
    *attribute = (struct attribute){
        .name = name, .count = count, .type = real ? ATTRIBUTE_FLOATS : ATTRIBUTE_STRINGS};
    attribute->floats = arena_memdup(a, floats, sizeof floats);
    attribute->strings = arena_memdup(a, strings, sizeof strings);
}

static inline void read_attributes(struct node *n, const char *p)
{
    struct arena *a = &n->graph->context->arena;

    while (*(p = blank(p))) {
        const char *equal = strchr(p, '='), *name = arena_printf(a, "%.*s", (int)(equal - p), p);

        p = equal + 1;
        if (*p == '[') {
            read_attribute_list(n, name, p);
            p = strchr(p, ']') + 1;
        } else if (*p == '\'') {
            const char *end = strchr(p + 1, '\'');

            node_set_string(n, name, arena_printf(a, "%.*s", (int)(end - p - 1), p + 1));
            p = end + 1;
        } else if (isalpha((unsigned char)*p)) {
            struct value v = {.type = TYPE_UNKNOWN};
            struct attribute *attribute =
                &APPEND(a, n->attributes, n->attribute_count, n->attribute_room);

            p = read_tensor(n->graph->context, p, &v);
            *attribute =
                (struct attribute){.name = name, .type = ATTRIBUTE_TENSOR, .tensor = v.constant};
        } else {
            const char *end = p + strcspn(p, ";");

            if (memchr(p, '.', (size_t)(end - p)) || memchr(p, 'e', (size_t)(end - p)))
                node_set_float(n, name, strtof(p, NULL));
            else
                node_set_int(n, name, strtoll(p, NULL, 10));
            p = end;
        }
        p += *p == ';';
    }
}

#endif
