/*
 * The pipeline, as one straight function a model. What a compile does, in order, is
 * compile_model(); the rest of this file keeps what it found for those who ask.
 */
#include "daemon/compiler/gpu/asset.h"
#include "daemon/compiler/gpu/csharp.h"
#include "daemon/compiler/gpu/decompose.h"
#include "daemon/compiler/gpu/layer.h"
#include "daemon/compiler/gpu/program.h"
#include "daemon/compiler/graph/accept.h"
#include "daemon/compiler/graph/styles.h"
#include "daemon/compiler/job.h"
#include "daemon/compiler/limits/limits.h"
#include "daemon/compiler/operators/items.h"
#include "daemon/compiler/operators/work.h"
#include "daemon/compiler/passes/pass.h"
#include <stdlib.h>
#include <string.h>

static const char *copy(struct arena *a, const char *text, const char *otherwise)
{
    return arena_strdup(a, text ? text : otherwise);
}

/* false: out of memory. Apart from compile_new() so that nothing it sets is at stake when the job
 * is left. */
static bool copy_options(struct compile *job, const struct compile_options *options)
{
    struct arena *a = &job->c.arena;
    struct compile_options *o = &job->o;
    char prefix[256];

    if (setjmp(job->c.escape))
        return false;
    *o = *options;
    o->models = NULL;
    const char **models = NEW_ARRAY(a, o->model_count + 1, const char *);
    for (int i = 0; i < o->model_count; i++)
        models[i] = arena_strdup(a, options->models[i]);
    const char **names = o->names ? NEW_ARRAY(a, o->model_count + 1, const char *) : models;
    for (int i = 0; o->names && i < o->model_count; i++)
        names[i] = arena_strdup(a, options->names[i]);
    o->models = models;
    o->names = names;
    const char **outer = NEW_ARRAY(a, o->outer_count + 1, const char *);
    for (int i = 0; i < o->outer_count; i++)
        outer[i] = arena_strdup(a, options->outer[i]);
    o->outer = outer;
    compile_prefix(o->model_count ? models[0] : "", prefix, sizeof prefix);
    o->prefix = copy(a, o->prefix, prefix);
    o->script = copy(a, o->script, o->prefix);
    o->class_name = copy(a, o->class_name, o->script);
    o->modifiers = copy(a, o->modifiers, "");
    o->keyword = copy(a, o->keyword, "class");
    o->type_parameters = copy(a, o->type_parameters, "");
    o->space = copy(a, o->space, "");
    o->asset_folder = copy(a, o->asset_folder, "");
    o->file_stem = o->file_stem ? arena_strdup(a, o->file_stem)
                                : arena_printf(a, "%s.%s", o->script, o->prefix);
    job->file_name = arena_printf(a, "%s.Model.cs", o->file_stem);
    job->models = NEW_ARRAY(a, o->model_count + 1, struct compiled_model);
    return true;
}

struct compile *compile_new(const struct compile_options *options, struct files *files,
                            struct compile_cache *cache, const atomic_bool *cancel)
{
    struct compile *job = calloc(1, sizeof *job);

    if (!job)
        return NULL;
    context_init(&job->c, cancel);
    job->files = files;
    job->cache = cache;
    if (copy_options(job, options))
        return job;
    compile_free(job);
    return NULL;
}

void compile_free(struct compile *job)
{
    if (!job)
        return;
    for (int i = 0; job->models && i < job->o.model_count; i++) {
        model_close(&job->models[i].file);
        if (job->joined)
            model_close(&job->joined[i]);
    }
    context_release(&job->c);
    free(job);
}

/* ---- the pipeline ---- */

static void count_operators(struct compiled_model *m)
{
    struct graph *g = m->file.graph;
    struct arena *a = &g->context->arena;

    for (int i = 0; i < g->node_count; i++) {
        const char *op = g->nodes[i]->op_type;
        int at = 0;

        while (at < m->operator_count && strcmp(m->operators[at].op, op) < 0)
            at++;
        if (at == m->operator_count || strcmp(m->operators[at].op, op)) {
            APPEND(a, m->operators, m->operator_count, m->operator_room) =
                (struct compile_count){0};
            memmove(&m->operators[at + 1], &m->operators[at],
                    (size_t)(m->operator_count - 1 - at) * sizeof *m->operators);
            m->operators[at] = (struct compile_count){.op = op};
        }
        m->operators[at].count++;
    }
}

/* From a graph after all passes to steps. NULL: an error was reported. */
static struct plan *plan_passed(struct compile *job, struct graph *g)
{
    struct context *c = &job->c;
    struct plan *plan = NULL;

    accept_unread(g);
    split_items(g);
    if (!c->diagnostics.errors)
        report_jumps(g);
    if (!c->diagnostics.errors)
        decompose_graph(g);
    if (!c->diagnostics.errors)
        plan = plan_graph(g, job->afresh ? NULL : job->cache);
    return c->diagnostics.errors ? NULL : plan;
}

static void compile_model(struct compile *job, struct compiled_model *m, int number)
{
    struct context *c = &job->c;
    struct graph *g;

    job->current = m;
    c->diagnostics = (struct diagnostics){0};
    model_load_as(c, job->files, job->o.models[number], job->o.names[number], &m->file);
    g = m->file.graph;
    /* A layer that is not supported (TUKI0106, 0110, 0111) hides nothing about the others. */
    if (g) {
        accept_inputs(g);
        infer_graph(g);
        m->text = model_text_new(c, g);
        accept_values(g);
    }
    if (g && !c->diagnostics.errors) {
        /* The first two rows, so that it is known what they alone leave. */
        pass_run(g, pass_find("fold"));
        pass_run(g, pass_find("dead"));
        m->folded_nodes = g->node_count;
        passes_run(g, NULL);
        count_operators(m);
        report_limits(g);
        m->plan = plan_passed(job, g);
    } else if (g) {
        split_items(g); /* judges the layers that no fault was found in */
    }
    diagnostics_sort(&c->diagnostics);
    m->diagnostics = c->diagnostics;
}

static void add_edge(struct compile *job, const struct plan *p, const struct buffer *b,
                     const struct layout *l)
{
    struct arena *a = &job->c.arena;
    bool output = b->kind == BUFFER_OUTPUT;
    struct compile_edge *e = output ? &APPEND(a, job->outputs, job->output_count, job->output_room)
                                    : &APPEND(a, job->inputs, job->input_count, job->input_room);

    *e = (struct compile_edge){.field =
                                   b->kind == BUFFER_TOKENS
                                       ? csharp_tokens_name(a, job->o.prefix, b->number)
                                       : csharp_edge_name(a, job->o.prefix, output, b->number, 0),
                               .name = output ? p->graph->output_names[b->number] : b->value->name,
                               .number = b->number,
                               .items = p->graph->items,
                               .tokens = b->kind == BUFFER_TOKENS,
                               .type = b->value->type,
                               .shape = b->value->shape,
                               .packed = l->packed,
                               .x_count = l->x_count,
                               .y_count = l->y_count,
                               .width = l->width,
                               .height = l->height};
    memcpy(e->x, l->x, sizeof e->x);
    memcpy(e->y, l->y, sizeof e->y);
    if (e->items > 1)
        e->shape.dim[0] = e->items;
}

static void add_asset(struct compile *job, const struct step *step, const struct weights *w,
                      struct asset_place place)
{
    struct arena *a = &job->c.arena;
    struct compile_asset *asset = &APPEND(a, job->assets, job->asset_count, job->asset_room);

    APPEND(a, job->places, job->place_count, job->place_room) = place;
    asset->field =
        csharp_style_name(a, csharp_weights_name(a, job->o.prefix, step, w), place.style);
    asset->name =
        arena_printf(a, "%s.%s.asset", job->o.file_stem, asset->field + strlen(job->o.prefix));
    asset->width = w->width;
    asset->height = w->height;
    asset->half = true;
    asset->payload = w->width * w->height * 8;
    asset->bytes = asset_bytes(a, asset->name, w);
    asset->recipe = w->recipes[place.style];
    asset->meta = asset_meta(a, *job->o.asset_folder
                                    ? arena_printf(a, "%s/%s", job->o.asset_folder, asset->name)
                                    : asset->name);
    asset->meta_length = strlen(asset->meta);
}

/* The weights of a file are as large as they are; what is computed may be of any size. */
static void account_asset(struct context *c, const struct weights *w)
{
    int64_t elements = 4 * w->rows * w->columns;
    struct node *maker = weights_maker(w);

    if (maker)
        work_write(maker, elements);
    else if (w->computed)
        work_saved(c, 0, (double)elements);
}

static void collect_results(struct compile *job, const struct plan *p)
{
    for (int i = 0; i < p->buffer_count; i++) {
        const struct buffer *b = &p->buffers[i];

        if (b->kind == BUFFER_INPUT || b->kind == BUFFER_TOKENS)
            add_edge(job, p, b, &spot_of(b->value)->layout);
        else if (b->kind == BUFFER_OUTPUT)
            add_edge(job, p, b, &p->steps[b->written]->layout);
    }
    /* Output buffers were made in the outputs' order, whichever step writes them. */
    for (int i = 0; i < p->step_count; i++)
        for (int k = 0; k < p->steps[i]->text->weight_count; k++) {
            const struct weights *w = p->steps[i]->text->weights[k];

            for (int style = 0; w->texture && !w->same && style < w->styles; style++) {
                account_asset(&job->c, w);
                add_asset(job, p->steps[i], w, (struct asset_place){i, k, style});
            }
        }
}

/* ---- several models ---- */

static const char *file_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

/* The models' graphs once more, as they were loaded: compile_model() has rewritten its own. */
static bool load_again(struct compile *job)
{
    struct context *c = &job->c;

    job->joined = NEW_ARRAY(&c->arena, job->o.model_count, struct model);
    for (int i = 0; i < job->o.model_count; i++) {
        struct model *m = &job->joined[i];

        c->diagnostics = (struct diagnostics){0};
        model_load(c, job->files, job->o.models[i], m);
        if (m->graph && !c->diagnostics.errors) {
            accept_inputs(m->graph);
            infer_graph(m->graph);
        }
        if (!m->graph || c->diagnostics.errors ||
            !hash_equal(m->content, job->models[i].file.content))
            context_escape(c, ESCAPE_SYSTEM, "the model has changed while it was compiled");
    }
    return true;
}

/* Reports what else than weights differs; false where something does. */
static bool match_models(struct compile *job, struct value ***pairs)
{
    struct context *c = &job->c;
    bool equal = true;

    for (int i = 1; i < job->o.model_count; i++) {
        c->diagnostics = job->models[i].diagnostics;
        equal = styles_match(job->joined[0].graph, job->joined[i].graph,
                             file_name(job->o.models[0]), &pairs[i]) &&
                equal;
        diagnostics_sort(&c->diagnostics);
        job->models[i].diagnostics = c->diagnostics;
    }
    return equal;
}

/*
 * Several models are first compiled one by one, for what is to be said of each, and then as one: a
 * graph whose constants have the numbers of all, so that every decision is made once, for all of
 * them.
 */
static struct plan *compile_joined(struct compile *job)
{
    struct context *c = &job->c;
    struct value ***pairs = NEW_ARRAY(&c->arena, job->o.model_count, struct value **);
    struct graph *g;
    struct plan *plan;

    job->current = &job->models[0];
    if (!load_again(job) || !match_models(job, pairs))
        return NULL;
    g = job->joined[0].graph;
    c->styles = job->o.model_count;
    c->style = STYLE_ANY;
    styles_join(g, pairs);
    c->diagnostics = (struct diagnostics){0};
    passes_run(g, NULL);
    plan = plan_passed(job, g);
    if (!plan) {
        /* Each by itself was fine: what cannot be done is to do it for all of them. */
        diagnostics_sort(&c->diagnostics);
        job->models[0].diagnostics = c->diagnostics;
    }
    return plan;
}

/* A decision needs numbers in which the models differ. */
static void report_differing(struct compile *job)
{
    const struct tensor_styles *t = job->c.differing;
    struct compiled_model *m = &job->models[t->first];
    struct place place = {.kind = PLACE_MODEL};

    if (t->reader)
        place = node_place(t->reader);
    job->c.diagnostics = m->diagnostics;
    diagnose(&job->c, &place, TUKI0133, NULL,
             "its constant %s, which decides how it is computed, is not that of %s", t->name,
             file_name(job->o.models[0]));
    diagnostics_sort(&job->c.diagnostics);
    m->diagnostics = job->c.diagnostics;
}

/* The job was left because of something that was reported. */
static void keep_reported(struct compile *job)
{
    diagnostics_sort(&job->c.diagnostics);
    job->current->diagnostics = job->c.diagnostics;
}

static void compile_all(struct compile *job)
{
    bool good = job->o.model_count > 0;

    for (int i = 0; i < job->o.model_count; i++) {
        if (!job->models[i].plan) {
            struct diagnostics remembered = job->models[i].diagnostics;
            bool was = job->models[i].remembered;

            model_close(&job->models[i].file);
            job->models[i] = (struct compiled_model){0};
            compile_model(job, &job->models[i], i);
            if (was)
                job->models[i].diagnostics = remembered;
        }
        good = good && job->models[i].plan;
    }
    if (good)
        job->plan = job->o.model_count > 1 ? compile_joined(job) : job->models[0].plan;
}

/* What came from the cache is enough for most; for the rest the models are compiled after all.
 * false: one of them has changed meanwhile. */
static bool compile_again(struct compile *job)
{
    if (job->plan)
        return true;
    job->c.constants.exempt = true; /* it was counted when it was remembered */
    struct hash *before = NEW_ARRAY(&job->c.arena, job->o.model_count, struct hash);
    for (int i = 0; i < job->o.model_count; i++)
        before[i] = job->models[i].file.content;
    compile_all(job);
    for (int i = 0; i < job->o.model_count; i++)
        if (!hash_equal(before[i], job->models[i].file.content))
            return false;
    return job->plan != NULL;
}

static enum compile_status compile_once(struct compile *job)
{
    struct file_identity *before, after;
    int64_t began = file_clock_ns();

    if (setjmp(job->c.escape)) {
        if (job->c.reason == ESCAPE_STYLES) {
            report_differing(job);
            return job->status = COMPILE_REFUSED;
        }
        if (job->c.reason == ESCAPE_REFUSED && job->c.constants.saved > 0)
            job->c.reason = ESCAPE_AGAIN; /* what was made before is another then */
        if (job->c.reason == ESCAPE_REFUSED) {
            keep_reported(job);
            return job->status = COMPILE_REFUSED;
        }
        job->status = job->c.reason == ESCAPE_CANCELLED ? COMPILE_CANCELLED : COMPILE_FAILED;
        return job->status;
    }
    before = NEW_ARRAY(&job->c.arena, job->o.model_count + 1, struct file_identity);
    for (int i = 0; job->cache && i < job->o.model_count; i++)
        compile_identity(job, i, &before[i]);
    if (!job->afresh && compile_recall(job, before))
        return job->status = COMPILE_OK;
    compile_all(job);
    for (int i = 0; i < job->o.model_count; i++) {
        /* A model's external files have identities of their own: such a model is read each time. */
        if (job->cache && job->models[i].file.graph && !job->models[i].file.external_count &&
            compile_identity(job, i, &after) && file_identity_equal(&before[i], &after))
            job->cache->file_put(job->cache, job->o.models[i], &after, job->models[i].file.content,
                                 began);
    }
    if (job->plan) {
        strbuf_init(&job->text, &job->c.arena);
        csharp_print(&job->text, &job->o, job->plan);
        collect_results(job, job->plan);
        compile_remember(job);
    }
    job->status = job->plan ? COMPILE_OK : COMPILE_REFUSED;
    return job->status;
}

/* As if nothing had been begun. */
static void compile_forget(struct compile *job)
{
    struct context *c = &job->c;

    for (int i = 0; i < job->o.model_count; i++) {
        model_close(&job->models[i].file);
        job->models[i] = (struct compiled_model){0};
        if (job->joined)
            model_close(&job->joined[i]);
    }
    job->joined = NULL;
    job->current = NULL;
    job->plan = NULL;
    job->asset_count = job->place_count = job->input_count = job->output_count = 0;
    c->constants = (struct constants_account){0};
    c->diagnostics = (struct diagnostics){0};
    c->reason = ESCAPE_NONE;
    c->why[0] = '\0';
    c->styles = 1;
    c->style = 0;
}

enum compile_status compile_run(struct compile *job)
{
    enum compile_status status = compile_once(job);

    if (job->c.reason == ESCAPE_AGAIN) {
        compile_forget(job);
        job->afresh = true;
        status = compile_once(job);
    }
    return status;
}

/* ---- what was found ---- */

const char *compile_why(const struct compile *job)
{
    return job->c.why;
}

bool compile_broken(const struct compile *job)
{
    return job->c.reason == ESCAPE_BUG;
}

const struct diagnostics *compile_diagnostics(const struct compile *job, int model)
{
    return &job->models[model].diagnostics;
}

struct hash compile_content(const struct compile *job, int model)
{
    return job->models[model].file.content;
}

const char *const *compile_external(const struct compile *job, int model, int *count)
{
    *count = job->models[model].file.external_count;
    return job->models[model].file.external;
}

const char *compile_file_name(const struct compile *job)
{
    return job->file_name;
}

const char *compile_text(const struct compile *job, size_t *length)
{
    *length = job->text.length;
    return job->text.text;
}

const struct compile_asset *compile_assets(const struct compile *job, int *count)
{
    *count = job->asset_count;
    return job->assets;
}

const struct compile_edge *compile_inputs(const struct compile *job, int *count)
{
    *count = job->input_count;
    return job->inputs;
}

const struct compile_edge *compile_outputs(const struct compile *job, int *count)
{
    *count = job->output_count;
    return job->outputs;
}

/* Weights of asset i, whose style is the context's from here on. */
static const struct weights *asset_weights(struct compile *job, int i)
{
    const struct asset_place *place = &job->places[i];
    struct plan *p;

    if (!compile_again(job))
        context_escape(&job->c, ESCAPE_SYSTEM, "the model has changed while it was compiled");
    job->c.constants.exempt = true;
    p = job->plan;
    if (place->step >= p->step_count ||
        place->weights >= p->steps[place->step]->text->weight_count ||
        place->style >= job->c.styles)
        BUG(&job->c, "asset %s is not what the cache says", job->assets[i].name);
    const struct weights *w = layer_weights(p, p->steps[place->step], place->weights);
    job->c.style = place->style;
    return w;
}

bool compile_asset_write(struct compile *job, int i, compile_sink *sink, void *state)
{
    bool good;

    if (setjmp(job->c.escape))
        return false;
    good = asset_write(&job->c, job->assets[i].name, asset_weights(job, i), sink, state);
    job->c.style = job->c.styles > 1 ? STYLE_ANY : 0;
    return good;
}

struct payload {
    unsigned char *bytes;
    size_t used, size;
};

static bool collect(void *state, const void *bytes, size_t size)
{
    struct payload *p = state;

    if (size > p->size - p->used)
        return false;
    memcpy(p->bytes + p->used, bytes, size);
    p->used += size;
    return true;
}

bool compile_asset_payload(struct compile *job, int i, void *bytes)
{
    struct payload p = {.bytes = bytes, .size = (size_t)job->assets[i].payload};
    bool good;

    if (setjmp(job->c.escape))
        return false;
    good = asset_payload(&job->c, asset_weights(job, i), collect, &p);
    job->c.style = job->c.styles > 1 ? STYLE_ANY : 0;
    return good && p.used == p.size;
}

/* ---- explain ---- */

static const char *layout_text(struct arena *a, const struct layout *l)
{
    struct strbuf s;

    strbuf_init(&s, a);
    if (l->packed < 0)
        return "c=-";
    strbuf_printf(&s, "c=%d", l->packed);
    for (int i = 0; i < l->x_count; i++)
        strbuf_printf(&s, i ? ",%d" : " x=%d", l->x[i]);
    for (int i = 0; i < l->y_count; i++)
        strbuf_printf(&s, i ? ",%d" : " y=%d", l->y[i]);
    if (l->fold)
        strbuf_add(&s, " folded");
    return s.text;
}

static const char *node_label(struct arena *a, const struct node *n)
{
    return *n->name ? n->name : arena_printf(a, "%s #%d", node_op(n), n->position);
}

const struct compile_cost *compile_explain(struct compile *job)
{
    struct arena *a = &job->c.arena;
    struct compile_cost *cost;
    struct compile_layer *layers;
    struct dialect_error error;
    struct program *program;
    const struct plan *p;

    if (setjmp(job->c.escape))
        return NULL;
    if (job->cost || job->status != COMPILE_OK)
        return job->cost;
    if (!compile_again(job))
        context_escape(&job->c, ESCAPE_SYSTEM, "the model has changed while it was compiled");
    p = job->plan;
    program = program_parse(&job->c, job->text.text, job->text.length, &error);
    if (!program)
        BUG(&job->c, "the generated file is not what it should be: line %d, column %d: %s",
            error.line, error.column, error.reason);
    cost = NEW(a, struct compile_cost);
    cost->nodes = job->models[0].folded_nodes;
    cost->operators = job->models[0].operators;
    cost->operator_count = job->models[0].operator_count;
    layers = NEW_ARRAY(a, p->step_count + 1, struct compile_layer);
    for (int i = 0; i < p->step_count; i++) {
        const struct step *s = p->steps[i];
        struct compile_layer *l = &layers[i];
        struct dialect_cost each = dialect_cost(program->steps[i].kernel);
        const char **fused = NEW_ARRAY(a, s->fused_count + 1, const char *);

        l->kernel = arena_printf(a, "%sLayer%d", job->o.prefix, i);
        l->width = s->layout.width;
        l->height = s->layout.height;
        l->layout = layout_text(a, &s->layout);
        l->steps = 1;
        l->fetches = (int64_t)each.fetches * l->width * l->height;
        l->macs = (int64_t)each.macs * l->width * l->height;
        l->name = s->fused_count ? node_label(a, s->fused[0]) : s->value->name;
        l->op = s->fused_count ? node_op(s->fused[0]) : "Copy";
        l->part = s->fused_count ? node_part(s->fused[0]) : "";
        for (int k = 1; k < s->fused_count; k++)
            fused[l->fused_count++] = node_op_text(a, s->fused[k]);
        l->fused = fused;
        cost->steps += l->steps * p->graph->items;
        cost->fetches += l->fetches * p->graph->items;
        cost->macs += l->macs * p->graph->items;
        for (int k = 0; k < s->text->weight_count; k++) {
            const struct weights *w = s->text->weights[k];

            if (w->texture ? w->same != NULL : s->same_table != NULL)
                continue;
            cost->weight_bytes += w->texture ? w->width * w->height * 8 : w->rows * w->columns * 16;
        }
    }
    for (int i = 0; i < program->buffer_count; i++)
        if (program->buffers[i].texture < 0)
            cost->buffer_bytes += (int64_t)program->buffers[i].width * program->buffers[i].height *
                                  (program->buffers[i].format == GPU_FORMAT_HALF ? 8 : 4);
    cost->layers = layers;
    cost->layer_count = p->step_count;
    job->cost = cost;
    return cost;
}

/* ---- names ---- */

void compile_prefix(const char *path, char *prefix, size_t size)
{
    const char *name = strrchr(path, '/'), *dot;
    size_t length = 0;
    bool upper = true;

    name = name ? name + 1 : path;
    dot = strrchr(name, '.');
    if (!dot || dot == name)
        dot = name + strlen(name);
    for (; name < dot && length + 2 < size; name++) {
        bool digit = *name >= '0' && *name <= '9';
        bool letter = (*name >= 'a' && *name <= 'z') || (*name >= 'A' && *name <= 'Z');

        if (!digit && !letter) {
            upper = true;
            continue;
        }
        if (!length && digit)
            prefix[length++] = '_';
        prefix[length++] =
            upper && *name >= 'a' && *name <= 'z' ? (char)(*name - 'a' + 'A') : *name;
        upper = false;
    }
    if (!length && size > 5)
        length = 5, memcpy(prefix, "Model", 5);
    prefix[length < size ? length : size - 1] = '\0';
}

bool compile_name_collides(const char *prefix, const char *member)
{
    static const char *const fixed[] = {"Steps", "Items", "Styles", "Pick", NULL};
    static const char *const numbered[] = {"Input", "Output", "Layer", "b", "w", "Tokens", NULL};
    size_t length = strlen(prefix);
    const char *rest;

    if (!strncmp(member, "Load", 4) || !strncmp(member, "Run", 3) || !strncmp(member, "Use", 3)) {
        rest = member + (*member == 'L' ? 4 : 3);
        return !strcmp(rest, prefix);
    }
    if (!strncmp(member, "Set", 3) && !strncmp(member + 3, prefix, length) &&
        !strncmp(member + 3 + length, "Tokens", 6))
        return true;
    if (strncmp(member, prefix, length))
        return false;
    rest = member + length;
    for (int i = 0; fixed[i]; i++)
        if (!strcmp(rest, fixed[i]))
            return true;
    for (int i = 0; numbered[i]; i++) {
        size_t n = strlen(numbered[i]);

        /* Input, Input1, InputItem1, w3, w3s, w3Style1, w3Buffer …: whatever follows begins with a
         * digit or Item. */
        if (!strncmp(rest, numbered[i], n) &&
            (!rest[n] || (rest[n] >= '0' && rest[n] <= '9') || !strncmp(rest + n, "Item", 4)))
            return true;
    }
    return false;
}

/* ---- the text view ---- */

bool compile_show(struct compile *job, int model, const char **text, size_t *length)
{
    struct compiled_model *m = &job->models[model];

    if (setjmp(job->c.escape))
        return false;
    if (!m->text) {
        struct diagnostics kept = job->c.diagnostics;

        if (!m->file.path)
            model_load(&job->c, job->files, job->o.models[model], &m->file);
        /* Where inference was left, what it had found is what there is. */
        if (m->file.graph && !m->plan && job->c.reason != ESCAPE_REFUSED)
            infer_graph(m->file.graph);
        m->text = model_text_new(&job->c, m->file.graph);
        job->c.diagnostics = kept;
    }
    *text = m->text->text;
    *length = m->text->length;
    return m->file.graph != NULL;
}

bool compile_place(struct compile *job, int model, const struct place *place,
                   struct compile_range *range)
{
    const char *text;
    size_t length;
    struct text_range r;

    if (!compile_show(job, model, &text, &length) && !job->models[model].text)
        return false;
    r = model_text_range(job->models[model].text, place);
    *range = (struct compile_range){r.line, r.column, r.end_line, r.end_column};
    return true;
}

bool compile_show_node(struct compile *job, int model, int i, struct compile_node *node)
{
    const struct model_text *t = job->models[model].text;

    for (int k = 0; t && k < t->line_count; k++) {
        const struct text_line *line = &t->lines[k];

        if (line->kind != PLACE_LAYER || i--)
            continue;
        *node = (struct compile_node){.name = line->name ? line->name : "",
                                      .op = line->op ? line->op : "",
                                      .range = {line->range.line, line->range.column,
                                                line->range.end_line, line->range.end_column}};
        return true;
    }
    return false;
}
