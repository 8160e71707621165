#include "daemon/compiler/gpu/layer.h"
#include "daemon/compiler/gpu/asset.h"
#include "daemon/compiler/gpu/csharp.h"
#include "daemon/compiler/operators/operator.h"
#include "daemon/compiler/operators/work.h"
#include "daemon/compiler/row.h"
#include <math.h>
#include <string.h>

/* ---- the recipe ---- */

/* What a step reads, in the order in which its recipe mentions it. */
struct recipe_walk {
    struct plan *plan;
    struct step *step;
    struct hasher hasher;
    struct tensor **computed; /* constants that may have to be computed */
    int computed_count, computed_room;
    struct value **leaves; /* in buffers */
    int leaf_count, leaf_room;
    struct value **seen; /* inner values, numbered in order */
    int seen_count, seen_room;
};

static void add_shape(struct hasher *h, const struct shape *s)
{
    hasher_add_number(h, (uint64_t)s->axes);
    for (int a = 0; a < s->axes; a++)
        hasher_add_number(h, (uint64_t)s->dim[a]);
}

static void add_layout(struct hasher *h, const struct layout *l)
{
    hasher_add_number(h, (uint64_t)(l->packed + 1));
    hasher_add_number(h, (uint64_t)l->x_count);
    for (int i = 0; i < l->x_count; i++)
        hasher_add_number(h, (uint64_t)l->x[i]);
    hasher_add_number(h, (uint64_t)l->y_count);
    for (int i = 0; i < l->y_count; i++)
        hasher_add_number(h, (uint64_t)l->y[i]);
    hasher_add_number(h, (uint64_t)l->width);
    hasher_add_number(h, (uint64_t)l->height);
    hasher_add_number(h, (uint64_t)l->fold);
}

static int index_of(struct value *const *list, int count, const struct value *v)
{
    for (int i = 0; i < count; i++)
        if (list[i] == v)
            return i;
    return -1;
}

static void add_value(struct recipe_walk *w, struct value *v, bool computed)
{
    struct arena *a = &w->plan->context->arena;
    struct hasher *h = &w->hasher;
    const struct spot *spot = v->plan;
    int known;

    if (v->constant) {
        hasher_add_text(h, "constant");
        hasher_add_hash(h, tensor_hash(w->plan->context, v->constant));
        if (v->constant->deferred)
            APPEND(a, w->computed, w->computed_count, w->computed_room) = v->constant;
        return;
    }
    if (!computed && spot->placement == PLACED_BUFFER) {
        known = index_of(w->leaves, w->leaf_count, v);
        if (known < 0) {
            known = w->leaf_count;
            APPEND(a, w->leaves, w->leaf_count, w->leaf_room) = v;
        }
        hasher_add_text(h, "buffer");
        hasher_add_number(h, (uint64_t)known);
        add_shape(h, &v->shape);
        add_layout(h, &spot->layout);
        hasher_add_number(h, (uint64_t)spot->exponent);
        hasher_add_number(h, spot->step != NULL);
        hasher_add_number(h, (uint64_t)v->type);
        for (int i = 0; i < spot->table_count; i++)
            hasher_add_number(h, (uint64_t)spot->tables[i]);
        return;
    }
    known = index_of(w->seen, w->seen_count, v);
    if (known >= 0) {
        hasher_add_text(h, "again");
        hasher_add_number(h, (uint64_t)known);
        return;
    }
    APPEND(a, w->seen, w->seen_count, w->seen_room) = v;
    hasher_add_text(h, "node");
    node_hash(h, v->producer);
    hasher_add_number(h, (uint64_t)v->producer_output);
    hasher_add_number(h, (uint64_t)v->type);
    hasher_add_number(h, (uint64_t)v->reader_count > 1);
    add_shape(h, &v->shape);
    hasher_add_number(h, (uint64_t)v->producer->input_count);
    for (int i = 0; i < v->producer->input_count; i++)
        if (v->producer->inputs[i])
            add_value(w, v->producer->inputs[i], false);
        else
            hasher_add_text(h, "absent");
}

static struct hash layer_key(struct recipe_walk *w)
{
    const struct step *s = w->step;
    const struct spot *spot = s->value->plan;

    hasher_init(&w->hasher);
    hasher_add_text(&w->hasher, "layer");
    hasher_add_text(&w->hasher, compiler_version);
    hasher_add_number(&w->hasher, (uint64_t)w->plan->context->styles);
    add_layout(&w->hasher, &s->layout);
    hasher_add_number(&w->hasher, s->copies);
    hasher_add_number(&w->hasher, spot && !s->copies ? (uint64_t)spot->exponent : 0);
    hasher_add_number(&w->hasher, s->limited);
    add_value(w, s->value, !s->copies);
    return hasher_finish(&w->hasher);
}

/* ---- the row ---- */

/* What a row stands for: steps that were made for it, and the size of the model that allowed
 * them. */
struct saving {
    double steps;
    uint64_t file_bytes;
};

static void row_write(struct strbuf *s, struct recipe_walk *w, const struct kernel_text *text,
                      struct saving saving)
{
    row_put(s, saving.steps < 0x1p63 ? (uint64_t)saving.steps : UINT64_C(1) << 63);
    row_put(s, saving.file_bytes);
    row_put_text(s, text->body);
    row_put(s, text->picks);
    row_put(s, (uint64_t)text->table_entries);
    row_put(s, (uint64_t)text->table_styles);
    for (int i = 0; i < text->table_styles; i++)
        row_put_text(s, text->tables[i]);
    row_put(s, (uint64_t)text->weight_count);
    for (int i = 0; i < text->weight_count; i++) {
        const struct weights *weights = text->weights[i];

        row_put(s, (uint64_t)weights->rows);
        row_put(s, (uint64_t)weights->columns);
        row_put(s, weights->texture);
        row_put(s, weights->computed);
        row_put(s, (uint64_t)weights->offset);
        row_put(s, (uint64_t)weights->width);
        row_put(s, (uint64_t)weights->height);
        row_put_text(s, weights->about);
        row_put(s, (uint64_t)weights->styles);
        for (int k = 0; k < weights->styles; k++)
            row_put_hash(s, weights->recipes[k]);
    }
    row_put(s, (uint64_t)text->parameter_count);
    for (int i = 0; i < text->parameter_count; i++) {
        const struct kernel_parameter *p = &text->parameters[i];

        row_put(s, (uint64_t)p->kind);
        row_put_text(s, p->name);
        row_put(s, (uint64_t)p->entries);
        row_put(s, p->kind == PARAMETER_BUFFER
                       ? (uint64_t)index_of(w->leaves, w->leaf_count, p->value)
                   : p->kind == PARAMETER_TEXTURE ? (uint64_t)p->weights->number
                                                  : 0);
    }
}

static struct kernel_text *row_read(struct row *r, struct recipe_walk *w, struct saving *saving)
{
    struct arena *a = &w->plan->context->arena;
    struct kernel_text *text = NEW(a, struct kernel_text);

    saving->steps = (double)row_get(r);
    saving->file_bytes = row_get(r);
    text->cached = true;
    text->body = row_get_text(r, a);
    text->picks = row_get(r) != 0;
    text->table_entries = (int64_t)row_get(r);
    text->table_styles = row_get_count(r);
    text->tables = NEW_ARRAY(a, text->table_styles + 1, const char *);
    for (int i = 0; i < text->table_styles; i++)
        text->tables[i] = row_get_text(r, a);
    text->weight_count = row_get_count(r);
    text->weights = NEW_ARRAY(a, text->weight_count + 1, struct weights *);
    for (int i = 0; i < text->weight_count; i++) {
        struct weights *weights = text->weights[i] = NEW(a, struct weights);

        weights->number = i;
        weights->rows = (int64_t)row_get(r);
        weights->columns = (int64_t)row_get(r);
        weights->texture = row_get(r) != 0;
        weights->computed = row_get(r) != 0;
        weights->offset = (int64_t)row_get(r);
        weights->width = (int64_t)row_get(r);
        weights->height = (int64_t)row_get(r);
        weights->about = row_get_text(r, a);
        weights->styles = row_get_count(r);
        weights->recipes = NEW_ARRAY(a, weights->styles + 1, struct hash);
        for (int k = 0; k < weights->styles; k++)
            weights->recipes[k] = row_get_hash(r);
    }
    text->parameter_count = row_get_count(r);
    text->parameters = NEW_ARRAY(a, text->parameter_count + 1, struct kernel_parameter);
    for (int i = 0; i < text->parameter_count; i++) {
        struct kernel_parameter *p = &text->parameters[i];
        uint64_t kind = row_get(r), index;

        p->name = row_get_text(r, a);
        p->entries = (int64_t)row_get(r);
        index = row_get(r);
        if (kind > PARAMETER_TEXTURE ||
            (kind == PARAMETER_BUFFER && index >= (uint64_t)w->leaf_count) ||
            (kind == PARAMETER_TEXTURE && index >= (uint64_t)text->weight_count))
            return NULL;
        p->kind = kind == PARAMETER_BUFFER  ? PARAMETER_BUFFER
                  : kind == PARAMETER_TABLE ? PARAMETER_TABLE
                                            : PARAMETER_TEXTURE;
        p->value = kind == PARAMETER_BUFFER ? w->leaves[index] : NULL;
        p->weights = kind == PARAMETER_TEXTURE ? text->weights[index] : NULL;
    }
    return row_good(r) && *text->body && text->table_styles ? text : NULL;
}

struct node *weights_maker(const struct weights *w)
{
    struct node *maker = w->tensor ? w->tensor->deferred : NULL;

    for (int i = 0; !maker && w->node && i < w->node->input_count; i++)
        if (w->node->inputs[i] && w->node->inputs[i]->constant)
            maker = w->node->inputs[i]->constant->deferred;
    return maker;
}

/* What weights are in each style, and in how many ways. */
static void make_styles(struct context *c, struct kernel_text *text)
{
    int style = c->style;
    bool same = true;

    text->tables = NEW_ARRAY(&c->arena, c->styles, const char *);
    for (int i = 0; i < text->weight_count; i++)
        text->weights[i]->recipes = NEW_ARRAY(&c->arena, c->styles, struct hash);
    for (c->style = 0; c->style < c->styles; c->style++) {
        text->tables[c->style] = csharp_table(c, text);
        same = same && !strcmp(text->tables[c->style], text->tables[0]);
        for (int i = 0; i < text->weight_count; i++) {
            struct weights *w = text->weights[i];

            if (!w->texture)
                continue;
            w->recipes[c->style] = asset_recipe(c, w);
            w->computed = weights_maker(w) != NULL;
            if (!c->style || !hash_equal(w->recipes[c->style], w->recipes[0]))
                w->styles = c->style ? c->styles : 1;
        }
    }
    c->style = style;
    text->table_styles = same ? 1 : c->styles;
}

static struct kernel_text *layer_make(struct plan *p, struct step *step)
{
    struct kernel_text *text = kernel_write(p, step);

    make_styles(p->context, text);
    return text;
}

/* Whether a row may stand for what is asked, which then counts. A larger model's may stand for what
 * this one is refused for. */
static bool row_counts(struct recipe_walk *w, const struct saving *saving)
{
    struct context *c = w->plan->context;

    if ((saving->steps > 0 || w->computed_count) && saving->file_bytes > c->constants.file_bytes)
        return false;
    work_saved(c, saving->steps, 0);
    for (int i = 0; i < w->computed_count; i++)
        work_saved_constant(c, w->computed[i]);
    return true;
}

void layer_write(struct plan *p, struct step *step, struct compile_cache *cache)
{
    struct context *c = p->context;
    struct recipe_walk w = {.plan = p, .step = step};
    struct saving saving;
    struct hash key;
    struct strbuf row;
    void *found = NULL;
    size_t size = 0;
    double before;

    if (!cache) {
        step->text = layer_make(p, step);
        return;
    }
    key = layer_key(&w);
    if (cache->get(cache, "layer", key, &found, &size)) {
        struct row r = {.bytes = arena_take(&c->arena, found, size), .size = size};
        struct kernel_text *text = row_read(&r, &w, &saving);

        if (text && row_counts(&w, &saving)) {
            step->text = text;
            return;
        }
    }
    before = c->constants.steps;
    step->text = layer_make(p, step);
    saving = (struct saving){.steps = ceil(c->constants.steps - before),
                             .file_bytes = c->constants.file_bytes};
    strbuf_init(&row, &c->arena);
    row_write(&row, &w, step->text, saving);
    cache->put(cache, "layer", key, row.text, row.length);
}

const struct weights *layer_weights(struct plan *p, struct step *step, int number)
{
    if (step->text->cached)
        step->text = layer_make(p, step);
    return step->text->weights[number];
}
