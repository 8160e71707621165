/*
 * Duplicates become one: constants of equal content first, then nodes in order, so that readers of
 * merged nodes are found equal in turn. Contents are compared by their 128-bit fingerprints; a
 * constant is only read for that where another one has its type and shape.
 */
#include "daemon/compiler/operators/operator.h"
#include "daemon/compiler/passes/parts.h"
#include "daemon/compiler/passes/pass.h"
#include <stdlib.h>
#include <string.h>

struct entry {
    struct hash key;
    int order; /* as found: the first one stays */
    void *item;
};

static int by_key(const void *left, const void *right)
{
    const struct entry *a = left, *b = right;
    int order = hash_compare(a->key, b->key);

    return order ? order : (a->order > b->order) - (a->order < b->order);
}

static struct hash layout_key(const struct tensor *t)
{
    struct hasher h;

    hasher_init(&h);
    hasher_add_number(&h, (uint64_t)t->type);
    hasher_add_number(&h, (uint64_t)t->shape.axes);
    for (int i = 0; i < t->shape.axes; i++)
        hasher_add_number(&h, (uint64_t)t->shape.dim[i]);
    return hasher_finish(&h);
}

/* Marks what has a partner of the same key; equal keys stand together. */
static int keep_groups(struct entry *list, int count)
{
    int kept = 0;

    qsort(list, (size_t)count, sizeof *list, by_key);
    for (int i = 0; i < count; i++)
        if ((i && hash_equal(list[i].key, list[i - 1].key)) ||
            (i + 1 < count && hash_equal(list[i].key, list[i + 1].key)))
            list[kept++] = list[i];
    return kept;
}

static int merge_constants(struct graph *g, struct arena *scratch)
{
    struct entry *list = NEW_ARRAY(scratch, g->value_count, struct entry);
    int count = 0, changes = 0;

    for (int i = 0; i < g->value_count; i++) {
        struct value *v = g->values[i];

        if (v->constant && !v->producer && v->reader_count && !v->output_count && v->input < 0)
            list[count++] = (struct entry){.key = layout_key(v->constant), .order = i, .item = v};
    }
    count = keep_groups(list, count);
    for (int i = 0; i < count; i++) {
        struct value *v = list[i].item;

        list[i].key = tensor_hash(g->context, v->constant);
    }
    qsort(list, (size_t)count, sizeof *list, by_key);
    for (int i = 1; i < count; i++) {
        struct value *first = list[i - 1].item, *v = list[i].item;

        /* The fingerprint of a recipe is not over type and shape. */
        if (!hash_equal(list[i].key, list[i - 1].key) || first->type != v->type ||
            !shape_equal(&first->shape, &v->shape))
            continue;
        value_replace(g, v, first);
        list[i].item = first;
        changes++;
    }
    return changes;
}

static bool may_merge(const struct node *n)
{
    static const char *const random[] = {"RandomNormal",
                                         "RandomUniform",
                                         "RandomNormalLike",
                                         "RandomUniformLike",
                                         "Multinomial",
                                         "Bernoulli",
                                         NULL};

    for (const char *const *r = random; *r; r++)
        if (!strcmp(n->op_type, *r))
            return false;
    for (int i = 0; i < n->attribute_count; i++)
        if (n->attributes[i].type == ATTRIBUTE_GRAPH)
            return false;
    return n->op && n->input_count && (strcmp(n->op_type, "Dropout") || n->input_count < 3);
}

/* What a reduction is over its axes, whether or not they stay with length 1: the operator's name;
 * NULL: n is none, or mixes the batch, which is refused in the words of each layer. */
static const char *reduction(const struct node *n, unsigned *axes)
{
    bool global = node_called(n, "GlobalAveragePool") || node_called(n, "GlobalMaxPool");

    if ((!global && (*n->domain || strncmp(n->op_type, "Reduce", 6) != 0)) || !n->inputs[0] ||
        !shape_known(&n->inputs[0]->shape) || !n->outputs[0] ||
        !shape_count(&n->outputs[0]->shape) || !(*axes = part_axes(n)) ||
        axes_may_mix(n->graph, &n->inputs[0]->shape, *axes))
        return NULL;
    if (!global)
        return n->op_type;
    return node_called(n, "GlobalMaxPool") ? "ReduceMax" : "ReduceMean";
}

static struct hash node_key(const struct node *n)
{
    struct hasher h;
    unsigned axes;
    const char *op = reduction(n, &axes);

    hasher_init(&h);
    if (op) {
        hasher_add_text(&h, op);
        hasher_add_number(&h, axes);
        hasher_add_number(&h, (uint64_t)n->inputs[0]->id);
        return hasher_finish(&h);
    }
    node_hash(&h, n);
    hasher_add_number(&h, (uint64_t)n->opset);
    /* By number: the key is for this run of this pass, and no order is taken from it. */
    hasher_add_number(&h, (uint64_t)n->input_count);
    for (int i = 0; i < n->input_count; i++)
        hasher_add_number(&h, n->inputs[i] ? (uint64_t)n->inputs[i]->id : UINT64_MAX);
    hasher_add_number(&h, (uint64_t)n->output_count);
    return hasher_finish(&h);
}

/* Two reductions of which one keeps its axes: the other is a Reshape of it, and that is an output
 * only if both are. */
static struct node *merge_shapes(struct node *first, struct node *n)
{
    bool turned = n->outputs[0]->output_count && !first->outputs[0]->output_count;
    struct node *stays = turned ? n : first, *goes = turned ? first : n, *made;
    const struct shape *s = &goes->outputs[0]->shape;
    struct value *inputs[] = {stays->outputs[0],
                              graph_constant_ints(n->graph, "", s->axes, s->dim)};

    made =
        graph_node_like(n->graph, operator_get(n->graph->context, "Reshape"), goes, inputs, 2, 1);
    infer_node(made);
    pass_replace(goes, made->outputs[0]);
    return stays;
}

/* The one that is left; NULL: both are. */
static struct node *merge_node(struct node *first, struct node *n)
{
    struct graph *g = n->graph;

    for (int i = 0; i < n->output_count; i++)
        if (n->outputs[i] && first->outputs[i] &&
            (n->outputs[i]->poisoned || first->outputs[i]->poisoned))
            return NULL;
    if (n->outputs[0] && first->outputs[0] &&
        !shape_equal(&n->outputs[0]->shape, &first->outputs[0]->shape))
        return merge_shapes(first, n);
    for (int i = 0; i < n->output_count; i++) {
        if (!n->outputs[i])
            continue;
        if (first->outputs[i]) {
            value_replace(g, n->outputs[i], first->outputs[i]);
        } else {
            first->outputs[i] = n->outputs[i];
            n->outputs[i]->producer = first;
            n->outputs[i] = NULL;
        }
    }
    node_remove(n);
    return first;
}

/* Nodes by key, in a table with open addressing. */
static int merge_nodes(struct graph *g, struct arena *scratch)
{
    size_t room = 16, mask;
    struct entry *table;
    int changes = 0, count = g->node_count;

    while (room < (size_t)count * 2)
        room *= 2;
    mask = room - 1;
    table = NEW_ARRAY(scratch, room, struct entry);
    for (int i = 0; i < count; i++) {
        struct node *n = g->nodes[i], *left;
        struct hash key;
        size_t at;

        if (n->removed || !may_merge(n))
            continue;
        key = node_key(n);
        for (at = key.low & mask; table[at].item && !hash_equal(table[at].key, key);
             at = (at + 1) & mask)
            ;
        if (!table[at].item) {
            table[at] = (struct entry){.key = key, .item = n};
        } else if ((left = merge_node(table[at].item, n))) {
            table[at].item = left;
            changes++;
        }
    }
    return changes;
}

int pass_merge(struct graph *g)
{
    struct arena *scratch = arena_child(&g->context->arena);
    int changes = merge_constants(g, scratch);

    changes += merge_nodes(g, scratch);
    arena_free(scratch);
    return changes;
}
