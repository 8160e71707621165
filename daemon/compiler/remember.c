/*
 * Whole results in the cache. The key is the content of all models and every option that shows in
 * the result; a row holds the generated file, the list of assets with their recipes, edges and
 * diagnostics, but no weights.
 */
#include "daemon/compiler/job.h"
#include "daemon/compiler/row.h"
#include <string.h>

static struct hash result_key(const struct compile *job)
{
    const struct compile_options *o = &job->o;
    struct hasher h;

    hasher_init(&h);
    hasher_add_text(&h, "model");
    hasher_add_text(&h, compiler_version);
    hasher_add_number(&h, (uint64_t)o->model_count);
    for (int i = 0; i < o->model_count; i++)
        hasher_add_hash(&h, job->models[i].file.content);
    hasher_add_text(&h, o->script);
    hasher_add_text(&h, o->class_name);
    hasher_add_text(&h, o->modifiers);
    hasher_add_text(&h, o->keyword);
    hasher_add_text(&h, o->type_parameters);
    hasher_add_text(&h, o->space);
    hasher_add_text(&h, o->prefix);
    hasher_add_text(&h, o->file_stem);
    hasher_add_text(&h, o->asset_folder);
    hasher_add_number(&h, (uint64_t)o->outer_count);
    for (int i = 0; i < o->outer_count; i++)
        hasher_add_text(&h, o->outer[i]);
    return hasher_finish(&h);
}

bool compile_identity(struct compile *job, int model, struct file_identity *id)
{
    const struct files_functions *f = job->files->functions;
    const char *why;
    struct file *file = f->open(job->files, &job->c.arena, job->o.models[model], &why);
    bool known = file && f->identity(file, id);

    if (file)
        f->close(file);
    return known;
}

/* ---- diagnostics ---- */

static void put_diagnostics(struct strbuf *s, const struct diagnostics *d)
{
    row_put(s, (uint64_t)d->count);
    for (int i = 0; i < d->count; i++) {
        const struct diagnostic *one = &d->list[i];

        row_put(s, (uint64_t)one->code);
        row_put(s, (uint64_t)one->place.kind);
        row_put(s, (uint64_t)one->place.index);
        row_put(s, (one->place.layer ? 1u : 0) | (one->place.op ? 2u : 0));
        row_put_text(s, one->place.layer ? one->place.layer : "");
        row_put_text(s, one->place.op ? one->place.op : "");
        row_put_text(s, one->message);
    }
}

static bool get_diagnostics(struct row *r, struct arena *a, struct diagnostics *d)
{
    int count = row_get_count(r);

    *d = (struct diagnostics){.list = NEW_ARRAY(a, count + 1, struct diagnostic)};
    for (int i = 0; i < count; i++) {
        struct diagnostic *one = &d->list[d->count++];
        uint64_t code = row_get(r), kind = row_get(r), has;

        if (code >= DIAGNOSTIC_CODES || kind > PLACE_OUTPUT)
            return false;
        one->code = (enum diagnostic_code)code;
        one->place.kind = (enum place_kind)kind;
        one->place.index = (int)row_get(r);
        has = row_get(r);
        one->place.layer = row_get_text(r, a);
        one->place.op = row_get_text(r, a);
        if (!(has & 1))
            one->place.layer = NULL;
        if (!(has & 2))
            one->place.op = NULL;
        one->message = row_get_text(r, a);
    }
    return true;
}

/* ---- edges ---- */

static void put_edges(struct strbuf *s, const struct compile_edge *edges, int count)
{
    row_put(s, (uint64_t)count);
    for (int i = 0; i < count; i++) {
        const struct compile_edge *e = &edges[i];

        row_put_text(s, e->field);
        row_put_text(s, e->name);
        row_put(s, (uint64_t)e->number);
        row_put(s, (uint64_t)e->items);
        row_put(s, e->tokens);
        row_put(s, (uint64_t)e->type);
        row_put(s, (uint64_t)e->shape.axes);
        for (int a = 0; a < MAX_AXES; a++)
            row_put(s, (uint64_t)e->shape.dim[a]);
        row_put(s, (uint64_t)(e->packed + 1));
        row_put(s, (uint64_t)e->x_count);
        row_put(s, (uint64_t)e->y_count);
        for (int a = 0; a < MAX_AXES; a++) {
            row_put(s, (uint64_t)e->x[a]);
            row_put(s, (uint64_t)e->y[a]);
        }
        row_put(s, (uint64_t)e->width);
        row_put(s, (uint64_t)e->height);
    }
}

static bool get_edges(struct row *r, struct arena *a, struct compile_edge **edges, int *count)
{
    int n = row_get_count(r);

    *edges = NEW_ARRAY(a, n + 1, struct compile_edge);
    for (*count = 0; *count < n; (*count)++) {
        struct compile_edge *e = &(*edges)[*count];

        e->field = row_get_text(r, a);
        e->name = row_get_text(r, a);
        e->number = (int)row_get(r);
        e->items = (int)row_get(r);
        e->tokens = row_get(r) != 0;
        e->type = (enum element_type)row_get(r);
        e->shape.axes = (int)row_get(r);
        for (int i = 0; i < MAX_AXES; i++)
            e->shape.dim[i] = (int64_t)row_get(r);
        e->packed = (int)row_get(r) - 1;
        e->x_count = (int)row_get(r);
        e->y_count = (int)row_get(r);
        for (int i = 0; i < MAX_AXES; i++) {
            e->x[i] = (int)row_get(r);
            e->y[i] = (int)row_get(r);
        }
        e->width = (int64_t)row_get(r);
        e->height = (int64_t)row_get(r);
        if (e->shape.axes < 0 || e->shape.axes > MAX_AXES || e->x_count < 0 ||
            e->x_count > MAX_AXES || e->y_count < 0 || e->y_count > MAX_AXES)
            return false;
    }
    return true;
}

/* ---- assets ---- */

static void put_assets(struct strbuf *s, const struct compile *job)
{
    row_put(s, (uint64_t)job->asset_count);
    for (int i = 0; i < job->asset_count; i++) {
        const struct compile_asset *asset = &job->assets[i];

        row_put_text(s, asset->name);
        row_put_text(s, asset->field);
        row_put(s, (uint64_t)asset->width);
        row_put(s, (uint64_t)asset->height);
        row_put(s, asset->half);
        row_put(s, (uint64_t)asset->payload);
        row_put(s, (uint64_t)asset->bytes);
        row_put_hash(s, asset->recipe);
        row_put_text(s, asset->meta);
        row_put(s, (uint64_t)job->places[i].step);
        row_put(s, (uint64_t)job->places[i].weights);
        row_put(s, (uint64_t)job->places[i].style);
    }
}

static void get_assets(struct row *r, struct compile *job)
{
    struct arena *a = &job->c.arena;
    int count = row_get_count(r);

    job->assets = NEW_ARRAY(a, count + 1, struct compile_asset);
    job->places = NEW_ARRAY(a, count + 1, struct asset_place);
    for (int i = 0; i < count; i++) {
        struct compile_asset *asset = &job->assets[i];

        asset->name = row_get_text(r, a);
        asset->field = row_get_text(r, a);
        asset->width = (int64_t)row_get(r);
        asset->height = (int64_t)row_get(r);
        asset->half = row_get(r) != 0;
        asset->payload = (int64_t)row_get(r);
        asset->bytes = (int64_t)row_get(r);
        asset->recipe = row_get_hash(r);
        asset->meta = row_get_text(r, a);
        asset->meta_length = strlen(asset->meta);
        job->places[i].step = (int)row_get(r);
        job->places[i].weights = (int)row_get(r);
        job->places[i].style = (int)row_get(r);
    }
    job->asset_count = job->place_count = count;
}

/* ---- the whole ---- */

void compile_remember(struct compile *job)
{
    struct strbuf s;

    if (!job->cache)
        return;
    strbuf_init(&s, &job->c.arena);
    for (int i = 0; i < job->o.model_count; i++)
        put_diagnostics(&s, &job->models[i].diagnostics);
    put_edges(&s, job->inputs, job->input_count);
    put_edges(&s, job->outputs, job->output_count);
    put_assets(&s, job);
    row_put_bytes(&s, job->text.text, job->text.length);
    job->cache->put(job->cache, "model", result_key(job), s.text, s.length);
}

bool compile_recall(struct compile *job, const struct file_identity *identities)
{
    struct arena *a = &job->c.arena;
    struct row r = {0};
    void *found = NULL;
    size_t size = 0;
    bool good = true;

    if (!job->cache || !job->o.model_count)
        return false;
    for (int i = 0; i < job->o.model_count; i++)
        good = identities[i].inode &&
               job->cache->file_get(job->cache, job->o.models[i], &identities[i],
                                    &job->models[i].file.content) &&
               good;
    if (!good || !job->cache->get(job->cache, "model", result_key(job), &found, &size)) {
        for (int i = 0; i < job->o.model_count; i++)
            job->models[i].file.content = (struct hash){0, 0};
        return false;
    }
    r.bytes = arena_take(a, found, size);
    r.size = size;
    for (int i = 0; good && i < job->o.model_count; i++) {
        job->models[i].remembered = true;
        good = get_diagnostics(&r, a, &job->models[i].diagnostics);
    }
    good = good && get_edges(&r, a, &job->inputs, &job->input_count) &&
           get_edges(&r, a, &job->outputs, &job->output_count);
    if (good) {
        get_assets(&r, job);
        strbuf_init(&job->text, a);
        job->text.text = (char *)(uintptr_t)row_get_bytes(&r, a, &job->text.length);
        good = row_good(&r) && job->text.length;
    }
    if (!good) {
        /* As if nothing had been found. */
        for (int i = 0; i < job->o.model_count; i++)
            job->models[i] = (struct compiled_model){0};
        job->assets = NULL;
        job->inputs = job->outputs = NULL;
        job->asset_count = job->place_count = job->input_count = job->output_count = 0;
    }
    return good;
}
