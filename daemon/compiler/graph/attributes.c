/* Attributes of a node: few, so a list without any index. */
#include "daemon/compiler/graph/graph.h"
#include "daemon/compiler/operators/operator.h"
#include <string.h>

struct attribute *node_find(const struct node *n, const char *name)
{
    for (int i = 0; i < n->attribute_count; i++)
        if (!strcmp(n->attributes[i].name, name))
            return &n->attributes[i];
    return NULL;
}

static struct attribute *find_typed(const struct node *n, const char *name,
                                    enum attribute_type type)
{
    struct attribute *a = node_find(n, name);

    return a && a->type == type ? a : NULL;
}

int64_t node_int(const struct node *n, const char *name, int64_t otherwise)
{
    struct attribute *a = find_typed(n, name, ATTRIBUTE_INT);

    return a ? a->i : otherwise;
}

float node_float(const struct node *n, const char *name, float otherwise)
{
    struct attribute *a = find_typed(n, name, ATTRIBUTE_FLOAT);

    return a ? a->f : otherwise;
}

const char *node_string(const struct node *n, const char *name, const char *otherwise)
{
    struct attribute *a = find_typed(n, name, ATTRIBUTE_STRING);

    return a ? a->s.bytes : otherwise;
}

const int64_t *node_ints(const struct node *n, const char *name, int *count)
{
    struct attribute *a = find_typed(n, name, ATTRIBUTE_INTS);

    *count = a ? a->count : 0;
    return a ? a->ints : NULL;
}

/* The attribute called name, emptied; made where there is none. */
static struct attribute *fresh(struct node *n, const char *name, enum attribute_type type)
{
    struct arena *arena = &n->graph->context->arena;
    struct attribute *a = node_find(n, name);

    if (!a)
        a = &APPEND(arena, n->attributes, n->attribute_count, n->attribute_room);
    *a = (struct attribute){.name = arena_strdup(arena, name), .type = type};
    return a;
}

void node_set_int(struct node *n, const char *name, int64_t i)
{
    fresh(n, name, ATTRIBUTE_INT)->i = i;
}

void node_set_float(struct node *n, const char *name, float f)
{
    fresh(n, name, ATTRIBUTE_FLOAT)->f = f;
}

void node_set_ints(struct node *n, const char *name, int count, const int64_t *ints)
{
    struct arena *arena = &n->graph->context->arena;
    /* Copied first: ints may be those of the attribute that is being set. */
    const int64_t *copy = arena_memdup(arena, ints, (size_t)count * sizeof *ints);
    struct attribute *a = fresh(n, name, ATTRIBUTE_INTS);

    a->count = count;
    a->ints = copy;
}

void node_set_string(struct node *n, const char *name, const char *s)
{
    char *copy = arena_strdup(&n->graph->context->arena, s);

    fresh(n, name, ATTRIBUTE_STRING)->s = (struct label){copy, strlen(copy)};
}

void node_unset(struct node *n, const char *name)
{
    struct attribute *a = node_find(n, name);

    if (!a)
        return;
    int at = (int)(a - n->attributes);
    memmove(a, a + 1, (size_t)(n->attribute_count - at - 1) * sizeof *a);
    n->attribute_count--;
}

static void hash_attribute(struct hasher *h, const struct node *n, const struct attribute *a)
{
    uint32_t bits;

    hasher_add_text(h, a->name);
    hasher_add_number(h, (uint64_t)a->type);
    switch (a->type) {
    case ATTRIBUTE_INT:
        hasher_add_number(h, (uint64_t)a->i);
        break;
    case ATTRIBUTE_FLOAT:
        memcpy(&bits, &a->f, sizeof bits);
        hasher_add_number(h, bits);
        break;
    case ATTRIBUTE_STRING:
        hasher_add_bytes(h, a->s.bytes, a->s.length);
        break;
    case ATTRIBUTE_TENSOR:
        if (a->tensor)
            hasher_add_hash(h, tensor_hash(n->graph->context, a->tensor));
        break;
    case ATTRIBUTE_GRAPH:
        /* Two bodies are never taken for one. */
        hasher_add_number(h, (uint64_t)(uintptr_t)a->graph);
        break;
    case ATTRIBUTE_INTS:
        hasher_add_number(h, (uint64_t)a->count);
        for (int i = 0; i < a->count; i++)
            hasher_add_number(h, (uint64_t)a->ints[i]);
        break;
    case ATTRIBUTE_FLOATS:
        hasher_add_number(h, (uint64_t)a->count);
        for (int i = 0; i < a->count; i++) {
            memcpy(&bits, &a->floats[i], sizeof bits);
            hasher_add_number(h, bits);
        }
        break;
    case ATTRIBUTE_STRINGS:
        hasher_add_number(h, (uint64_t)a->count);
        for (int i = 0; i < a->count; i++)
            hasher_add_bytes(h, a->strings[i].bytes, a->strings[i].length);
        break;
    }
}

void node_hash(struct hasher *h, const struct node *n)
{
    struct arena *scratch = arena_child(&n->graph->context->arena);
    const struct attribute **order =
        NEW_ARRAY(scratch, n->attribute_count, const struct attribute *);

    hasher_add_text(h, n->domain);
    hasher_add_text(h, n->op_type);
    hasher_add_number(h, (uint64_t)n->attribute_count);
    /* By name: a file may hold them in any order. */
    for (int i = 0; i < n->attribute_count; i++) {
        int k = i;

        for (; k && strcmp(n->attributes[i].name, order[k - 1]->name) < 0; k--)
            order[k] = order[k - 1];
        order[k] = &n->attributes[i];
    }
    for (int i = 0; i < n->attribute_count; i++)
        hash_attribute(h, n, order[i]);
    arena_free(scratch);
}
