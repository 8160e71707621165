#include "client/batch.h"
#include "daemon/broken.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The diagnostics of one source, until they are sorted. */
struct findings {
    struct report *list;
    int count, room;
};

/* A model that a script names: it is not looked at again on its own. */
struct named {
    uint64_t device, inode;
};

struct pass {
    struct batch *batch;
    struct arena *arena; /* of one source */
    struct findings found;
    struct named *named;
    int named_count, named_room;
};

static void find(struct pass *p, struct report r)
{
    APPEND(p->arena, p->found.list, p->found.count, p->found.room) = r;
}

static int compare_places(const struct report *a, const struct report *b)
{
    return a->line != b->line ? (a->line > b->line) - (a->line < b->line)
                              : (a->column > b->column) - (a->column < b->column);
}

/* Those of one place stay in the order they were found in: what a source has are few. */
static void hand_on(struct pass *p)
{
    struct findings *f = &p->found;

    for (int i = 1; i < f->count; i++) {
        struct report r = f->list[i];
        int at = i;

        for (; at > 0 && compare_places(&f->list[at - 1], &r) > 0; at--)
            f->list[at] = f->list[at - 1];
        f->list[at] = r;
    }
    for (int i = 0; i < f->count; i++) {
        if (diagnostic_info(f->list[i].code)->severity == SEVERITY_ERROR)
            p->batch->errors++;
        p->batch->report(p->batch, &f->list[i]);
    }
    memset(f, 0, sizeof *f);
}

static struct report at_script(const struct batch_unit *u, struct csharp_range range)
{
    struct lsp_range r = lsp_text_range(&u->script->text, range.start, range.end, LSP_UTF32);

    return (struct report){
        .path = u->source->path,
        .line = (int)r.start.line + 1,
        .column = (int)r.start.character + 1,
        .end_line = (int)r.end.line + 1,
        .end_column = (int)r.end.character + 1,
    };
}

static void find_diagnostics(struct pass *p, const struct batch_unit *u, struct compile *job,
                             int model)
{
    const struct diagnostics *all = compile_diagnostics(job, model);

    for (int i = 0; i < all->count; i++) {
        const struct diagnostic *d = &all->list[i];
        struct report r;

        if (u->unit) {
            r = at_script(u, u->unit->models[model].range);
            r.code = d->code;
            r.message = d->message;
            r.model = u->unit->models[model].path;
            r.layer = d->place.layer;
            r.op = d->place.op;
        } else {
            report_model(&r, u->source->path, job, model, d);
        }
        /* The job goes before the reports are sorted. */
        r.message = arena_strdup(p->arena, r.message);
        r.layer = r.layer ? arena_strdup(p->arena, r.layer) : NULL;
        r.op = r.op ? arena_strdup(p->arena, r.op) : NULL;
        find(p, r);
    }
}

static void find_broken(struct pass *p, const struct batch_unit *u, const struct compile *job)
{
    char *message = broken_message(job, u->options.models, u->options.model_count);
    struct report r = {
        .path = u->source->path, .line = 1, .column = 1, .end_line = 1, .end_column = 1};

    if (u->unit) {
        r = at_script(u, u->unit->models[0].range);
        r.model = u->unit->models[0].path;
    }
    r.code = TUKI0190;
    r.message = arena_strdup(p->arena, message ? message : compile_why(job));
    free(message);
    find(p, r);
}

static void find_stale(struct pass *p, const struct batch_unit *u)
{
    const char *folder = source_folder(p->arena, u->source->path);
    const char *file = arena_printf(p->arena, "%s%s%s", folder, *folder ? "/" : "", u->unit->file);
    struct report r = at_script(u, u->unit->models[0].range);

    if (access(file, F_OK))
        return;
    r.code = TUKI0151;
    r.message = arena_printf(p->arena, "file %s: it is of an earlier state of the model. %s.",
                             u->unit->file, diagnostic_info(TUKI0151)->advice);
    r.model = u->unit->models[0].path;
    find(p, r);
}

static void compile_unit(struct pass *p, struct batch_unit *u)
{
    struct batch *b = p->batch;
    struct invocation *v = b->invocation;

    if (b->prepare)
        b->prepare(b, u);
    struct compile *job = compile_new(&u->options, &files_system, invocation_cache(v), NULL);
    if (!job)
        context_escape(v->context, ESCAPE_MEMORY, "out of memory");
    /* One transaction for all that is found out; where this is left early, closing writes it. */
    cache_begin(v->cache);
    enum compile_status status = compile_run(job);
    if (status == COMPILE_FAILED && compile_broken(job)) {
        find_broken(p, u, job);
    } else if (status == COMPILE_FAILED || status == COMPILE_CANCELLED) {
        const char *why = arena_strdup(&v->context->arena, compile_why(job));

        compile_free(job);
        invocation_fail(v, "%s: %s", u->options.models[0], why);
    }
    for (int i = 0; status != COMPILE_FAILED && i < u->options.model_count; i++)
        find_diagnostics(p, u, job, i);
    if (status == COMPILE_OK && !(u->unit && u->unit->blocked)) {
        b->compiled++;
        if (b->done)
            b->done(b, u, job);
    } else if (status != COMPILE_OK && u->unit) {
        find_stale(p, u);
    }
    cache_commit(v->cache);
    compile_free(job);
}

static void remember(struct pass *p, const char *path)
{
    struct stat status;

    if (!stat(path, &status))
        APPEND(&p->batch->invocation->context->arena, p->named, p->named_count, p->named_room) =
            (struct named){.device = status.st_dev, .inode = status.st_ino};
}

static bool was_named(const struct pass *p, const struct source_file *s)
{
    for (int i = 0; i < p->named_count; i++)
        if (p->named[i].device == s->device && p->named[i].inode == s->inode)
            return true;
    return false;
}

static void run_script(struct pass *p, const struct source_file *source)
{
    struct invocation *v = p->batch->invocation;
    size_t length;
    const char *text = source_text(p->arena, source->path, &length);

    if (!text)
        invocation_fail(v, "%s: %s", source->path, strerror(errno));
    if (!script_possible(text, length))
        return;
    struct script *script = script_read(source->path, text, length, NULL);
    if (!script)
        context_escape(v->context, ESCAPE_MEMORY, "out of memory");
    struct batch_unit u = {.source = source, .script = script};
    for (int i = 0; i < script->problem_count; i++) {
        struct report r = at_script(&u, script->problems[i].range);

        r.code = script->problems[i].code;
        r.message = script->problems[i].message;
        find(p, r);
    }
    for (int i = 0; i < script->unit_count; i++) {
        u.unit = &script->units[i];
        u.options = u.unit->options;
        for (int m = 0; m < u.unit->model_count; m++)
            remember(p, u.unit->models[m].path);
        compile_unit(p, &u);
    }
    hand_on(p);
    script_release(script);
}

static void run_model(struct pass *p, const struct source_file *source)
{
    char prefix[256];
    struct batch_unit u = {.source = source};

    compile_prefix(source->path, prefix, sizeof prefix);
    u.options = (struct compile_options){
        .script = prefix,
        .modifiers = "public",
        .type_parameters = "",
        .space = "",
        .asset_folder = "",
        .models = &source->path,
        .model_count = 1,
    };
    compile_unit(p, &u);
    hand_on(p);
}

void batch_run(struct batch *b)
{
    struct arena *arena = &b->invocation->context->arena;
    struct sources sources;
    struct pass p = {.batch = b};

    sources_collect(b->invocation, &sources);
    /* All scripts before any model: which models they name has to be known. */
    for (int turn = 0; turn < 2; turn++)
        for (int i = 0; i < sources.count; i++) {
            const struct source_file *s = &sources.list[i];

            if (s->script != (turn == 0) || (turn && was_named(&p, s)))
                continue;
            p.arena = arena_child(arena);
            if (s->script)
                run_script(&p, s);
            else
                run_model(&p, s);
            arena_free(p.arena);
        }
}
