/*
 * The loader sorts nodes by structure alone (sort.c), so equal graphs have equal nodes at equal
 * places, and comparing them is one walk over both lists.
 */
#include "daemon/compiler/graph/styles.h"
#include "daemon/compiler/operators/operator.h"
#include <inttypes.h>
#include <string.h>

struct match {
    struct context *context;
    struct graph *first, *other;
    const char *name; /* of first's file */
    struct value **pairs;
    bool equal;
};

static void differ_at(struct match *m, struct place place, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
static void differ_at(struct match *m, struct place place, const char *format, ...)
{
    struct strbuf text;
    va_list arguments;

    strbuf_init(&text, &m->context->arena);
    va_start(arguments, format);
    strbuf_vprintf(&text, format, arguments);
    va_end(arguments);
    diagnose(m->context, &place, TUKI0133, NULL, "%s", text.text);
    m->equal = false;
}

#define differ(m, n, ...) differ_at((m), node_place(n), __VA_ARGS__)

/* ---- nodes that count ---- */

struct list {
    struct node **nodes;
    int count, room;
};

/* In the graph's order: a reader stands after what it reads, so one walk from the end marks all. */
static struct list needed(struct graph *g, struct arena *scratch)
{
    struct list all = {0};
    bool *wanted = NEW_ARRAY(scratch, g->value_count, bool);

    for (int i = 0; i < g->output_count; i++)
        wanted[g->outputs[i]->id] = true;
    for (int i = g->node_count; i-- > 0;) {
        struct node *n = g->nodes[i];

        n->mark = 0;
        for (int o = 0; o < n->output_count; o++)
            n->mark |= n->outputs[o] && wanted[n->outputs[o]->id];
        for (int k = 0; n->mark && k < n->input_count; k++)
            if (n->inputs[k])
                wanted[n->inputs[k]->id] = true;
    }
    for (int i = 0; i < g->node_count; i++)
        if (g->nodes[i]->mark)
            APPEND(scratch, all.nodes, all.count, all.room) = g->nodes[i];
    return all;
}

/* A constant that no node of the graph makes. */
static bool is_leaf(const struct value *v)
{
    return v->constant && !v->producer;
}

/* ---- constants ---- */

/* Slots of these are x, scale, zero point, w, scale, zero point, y's scale, zero point, bias. */
static const char *const q_linear[] = {"QLinearConv", "QLinearMatMul", NULL};

/* What slot of n holds is a scale or zero point of a value between layers. */
static bool is_activation_scale(const struct node *n, int slot)
{
    if (node_called_one_of(n, q_linear))
        return slot == 1 || slot == 2 || slot == 6 || slot == 7;
    if (!strcmp(n->op_type, "QuantizeLinear"))
        return slot > 0;
    return !strcmp(n->op_type, "DequantizeLinear") && slot > 0 && !n->inputs[0]->constant;
}

/* Integers that are weights. */
static bool is_integer_weight(const struct node *n, int slot)
{
    static const char *const integer[] = {"ConvInteger", "MatMulInteger", NULL};

    if (!strcmp(n->op_type, "DequantizeLinear"))
        return n->inputs[0]->constant != NULL;
    if (!strcmp(n->op_type, "MatMulNBits"))
        return slot == 1 || slot == 3;
    if (node_called_one_of(n, q_linear))
        return slot == 3 || slot == 5 || slot == 8;
    return node_called_one_of(n, integer) && slot == 1;
}

static bool may_differ(const struct node *n, int slot, const struct value *v)
{
    if (infer_shape_like(n, slot) || is_activation_scale(n, slot))
        return false;
    return type_is_float(v->type) || is_integer_weight(n, slot);
}

static bool same_form(const struct value *a, const struct value *b)
{
    return a->type == b->type && shape_equal(&a->shape, &b->shape);
}

static const char *form_text(struct match *m, const struct value *v)
{
    struct arena *a = &m->context->arena;

    return arena_printf(a, "%s %s", type_name(v->type), shape_text(a, &v->shape));
}

static void match_leaf(struct match *m, const struct node *n, int slot, struct value *a,
                       struct value *b)
{
    const char *what = infer_shape_like(n, slot);

    if (!is_leaf(b)) {
        differ(m, n, "its input %d is computed, in %s it is a constant", slot, m->name);
        return;
    }
    m->pairs[a->id] = b;
    if (!same_form(a, b)) {
        differ(m, n, "its constant %s is %s, in %s %s", b->name, form_text(m, b), m->name,
               form_text(m, a));
        return;
    }
    if (may_differ(n, slot, b) ||
        hash_equal(tensor_hash(m->context, a->constant), tensor_hash(m->context, b->constant)))
        return;
    if (is_activation_scale(n, slot))
        differ(m, n, "its scale or zero point %s, which kernels hold, is not that of %s", b->name,
               m->name);
    else if (what)
        differ(m, n, "its %s %s is not that of %s", what, b->name, m->name);
    else
        differ(m, n, "its constant %s, which is no weight, is not that of %s", b->name, m->name);
}

/* ---- nodes ---- */

static struct hash attribute_hash(const struct node *n, const struct attribute *a)
{
    /* A node of this attribute alone. */
    struct attribute one = *a;
    const struct node bare = {
        .op_type = "", .domain = "", .graph = n->graph, .attributes = &one, .attribute_count = 1};
    struct hasher h;

    hasher_init(&h);
    node_hash(&h, &bare);
    return hasher_finish(&h);
}

static void match_attributes(struct match *m, const struct node *a, const struct node *b)
{
    for (int i = 0; i < b->attribute_count; i++) {
        const struct attribute *own = &b->attributes[i], *theirs = node_find(a, own->name);

        if (!theirs)
            differ(m, b, "it has %s, in %s it has not", own->name, m->name);
        else if (!hash_equal(attribute_hash(a, theirs), attribute_hash(b, own)))
            differ(m, b, "its %s is not that of %s", own->name, m->name);
    }
    for (int i = 0; i < a->attribute_count; i++)
        if (!node_find(b, a->attributes[i].name))
            differ(m, b, "it has no %s, in %s it does", a->attributes[i].name, m->name);
}

/* false: nothing behind this can be compared. */
static bool match_node(struct match *m, const struct node *a, const struct node *b)
{
    int inputs = a->input_count > b->input_count ? a->input_count : b->input_count;
    int outputs = a->output_count < b->output_count ? a->output_count : b->output_count;
    bool same = true;

    if (strcmp(a->op_type, b->op_type) != 0 || strcmp(a->domain, b->domain) != 0) {
        differ(m, b, "%s has %s in its place", m->name, node_title(a, &m->context->arena));
        return false;
    }
    for (int i = 0; i < inputs; i++) {
        struct value *va = node_input(a, i), *vb = node_input(b, i);

        if (!va != !vb) {
            differ(m, b, "its input %d is %s, in %s it is %s", i, vb ? "there" : "left out",
                   m->name, va ? "there" : "left out");
            return false;
        }
        if (va && is_leaf(va))
            match_leaf(m, b, i, va, vb);
        else if (va && (is_leaf(vb) || m->pairs[va->id] != vb)) {
            differ(m, b, "its input %d is not the value that it is in %s", i, m->name);
            return false;
        }
        same = same && (!va || same_form(va, vb));
    }
    match_attributes(m, a, b);
    for (int i = 0; i < outputs; i++) {
        struct value *va = a->outputs[i], *vb = b->outputs[i];

        /* One that nobody wants may be there or not. */
        if (!va || !vb)
            continue;
        m->pairs[va->id] = vb;
        if (same && !same_form(va, vb))
            differ(m, b, "its output is %s, in %s %s", form_text(m, vb), m->name, form_text(m, va));
    }
    return true;
}

/* A constant that several slots read becomes one a slot: an export may have found equal what in
 * another model differs. */
static void part_constants(struct graph *g, const struct list *nodes)
{
    for (int i = 0; i < nodes->count; i++) {
        struct node *n = nodes->nodes[i];

        for (int k = 0; k < n->input_count; k++) {
            struct value *v = n->inputs[k];

            if (!v || !is_leaf(v) || v->input >= 0 || v->reader_count + v->output_count < 2 ||
                !may_differ(n, k, v))
                continue;
            node_set_input(n, k, graph_constant(g, v->name, v->constant));
        }
    }
}

static void match_inputs(struct match *m)
{
    if (m->first->input_count != m->other->input_count)
        differ_at(m, (struct place){.kind = PLACE_MODEL}, "it has %d inputs, %s has %d",
                  m->other->input_count, m->name, m->first->input_count);
    for (int i = 0; m->equal && i < m->first->input_count; i++) {
        struct value *a = m->first->inputs[i], *b = m->other->inputs[i];

        m->pairs[a->id] = b;
        if (!same_form(a, b))
            differ_at(m, (struct place){.kind = PLACE_INPUT, .index = i, .layer = b->name},
                      "it is %s, in %s %s", form_text(m, b), m->name, form_text(m, a));
    }
}

static void match_outputs(struct match *m)
{
    if (m->first->output_count != m->other->output_count)
        differ_at(m, (struct place){.kind = PLACE_MODEL}, "it has %d outputs, %s has %d",
                  m->other->output_count, m->name, m->first->output_count);
    for (int i = 0; m->equal && i < m->first->output_count; i++) {
        struct value *a = m->first->outputs[i], *b = m->other->outputs[i];

        if (is_leaf(a) && is_leaf(b) && same_form(a, b) && type_is_float(a->type) &&
            (!m->pairs[a->id] || m->pairs[a->id] == b))
            m->pairs[a->id] = b;
        else if (is_leaf(a) || m->pairs[a->id] != b)
            differ_at(m,
                      (struct place){
                          .kind = PLACE_OUTPUT, .index = i, .layer = m->other->output_names[i]},
                      "it is not the value that it is in %s", m->name);
    }
}

bool styles_match(struct graph *first, struct graph *other, const char *name, struct value ***pairs)
{
    struct context *c = first->context;
    struct arena *scratch = arena_child(&c->arena);
    struct match m = {.context = c, .first = first, .other = other, .name = name, .equal = true};
    struct list a = needed(first, scratch), b = needed(other, scratch);
    int count = a.count < b.count ? a.count : b.count, i = 0;

    part_constants(first, &a);
    m.pairs = *pairs = NEW_ARRAY(&c->arena, first->value_count, struct value *);
    match_inputs(&m);
    if (m.equal) {
        while (i < count && match_node(&m, a.nodes[i], b.nodes[i]))
            i++;
        if (i == count && b.count > count)
            differ(&m, b.nodes[count], "%s has no such layer", name);
        else if (i == count && a.count > count)
            differ_at(&m, (struct place){.kind = PLACE_MODEL}, "it has no layer %s, as %s has",
                      node_title(a.nodes[count], &m.context->arena), name);
    }
    if (m.equal)
        match_outputs(&m);
    arena_free(scratch);
    return m.equal;
}

/* ---- joining ---- */

static const struct node *reader_of(const struct value *v)
{
    return v->reader_count ? v->readers[0] : NULL;
}

static void join_leaf(struct context *c, struct value *v, struct value **const *pairs)
{
    struct tensor **of = NEW_ARRAY(&c->arena, c->styles, struct tensor *);
    int first = 0;

    of[0] = v->constant;
    for (int i = 1; i < c->styles; i++) {
        const struct value *own = pairs[i][v->id];

        if (!own)
            return; /* nothing that an output needs reads it */
        of[i] = own->constant;
        if (!first && !hash_equal(tensor_hash(c, of[0]), tensor_hash(c, of[i])))
            first = i;
    }
    if (first)
        v->constant = tensor_of_styles(c, v->name, reader_of(pairs[first][v->id]), first, of);
}

void styles_join(struct graph *first, struct value **const *pairs)
{
    struct context *c = first->context;

    for (int i = 0, count = first->value_count; i < count; i++)
        if (is_leaf(first->values[i]))
            join_leaf(c, first->values[i], pairs);
    /* What nodes make of constants is inferred already, from the numbers of style 0. */
    for (int i = 0; i < first->node_count; i++) {
        struct node *n = first->nodes[i];

        for (int o = 0; node_varies(n) && o < n->output_count; o++) {
            struct tensor *t = n->outputs[o] ? n->outputs[o]->constant : NULL;

            if (!t || t->deferred != n)
                continue;
            t->varies = true;
            t->data = NULL;
            t->hashed = t->summed = false;
            t->square_sum = 0;
        }
    }
}
