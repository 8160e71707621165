#include "daemon/server/outcome.h"

#include "daemon/broken.h"
#include "daemon/server/log.h"
#include "daemon/server/memory.h"
#include "daemon/server/path.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A file that changes under the reader's hands is read again, but not for ever. */
#define ATTEMPTS 4

void outcome_drop_compile(struct outcome *outcome)
{
    compile_free(outcome->compile);
    outcome->compile = NULL;
    if (outcome->kept)
        snapshot_release(outcome->kept);
    free(outcome->kept);
    outcome->kept = NULL;
    free(outcome->cancel);
    outcome->cancel = NULL;
}

struct outcome *outcome_hold(struct outcome *outcome)
{
    atomic_fetch_add_explicit(&outcome->holders, 1, memory_order_relaxed);
    return outcome;
}

void outcome_drop(struct outcome *outcome)
{
    /* What the other holders did with it has to be over before it is freed. */
    if (!outcome || atomic_fetch_sub_explicit(&outcome->holders, 1, memory_order_acq_rel) != 1)
        return;
    for (size_t i = 0; i < outcome->diagnostic_count; i++) {
        free(outcome->diagnostics[i].message);
        free(outcome->diagnostics[i].layer);
        free(outcome->diagnostics[i].op);
    }
    free(outcome->diagnostics);
    for (size_t i = 0; i < outcome->external_count; i++)
        free(outcome->external[i]);
    free(outcome->external);
    for (size_t i = 0; i < outcome->asset_count; i++)
        free(outcome->assets[i].name);
    free(outcome->assets);
    free(outcome->contents);
    free(outcome->why);
    free(outcome->file_name);
    free(outcome->buffers);
    shared_drop(outcome->text_json);
    outcome_drop_compile(outcome);
    snapshot_release(&outcome->snapshot);
    free(outcome);
}

/* Columns of the view count code points from 1; editors count from 0 in units that they choose. */
static void view_ranges(const struct lsp_text *view, const struct compile_range *range,
                        struct lsp_range out[3])
{
    struct lsp_position start = {(uint32_t)(range->line - 1), (uint32_t)(range->column - 1)};
    struct lsp_position end = {(uint32_t)(range->end_line - 1), (uint32_t)(range->end_column - 1)};
    size_t from = lsp_text_offset(view, start, LSP_UTF32);
    size_t to = lsp_text_offset(view, end, LSP_UTF32);

    for (int encoding = 0; encoding < 3; encoding++)
        out[encoding] = lsp_text_range(view, from, to, (enum lsp_encoding)encoding);
}

static void take_diagnostics(struct outcome *outcome, struct compile *compile, int model)
{
    const struct diagnostics *list = compile_diagnostics(compile, model);
    struct lsp_text view = LSP_TEXT_EMPTY;
    const char *text = NULL;
    size_t length = 0;
    bool shown = false;

    if (list->count) {
        /* Of a model that cannot be read it is one line that says so. */
        compile_show(compile, model, &text, &length);
        shown = text && lsp_text_set(&view, text, length) == 0;
    }

    for (int i = 0; i < list->count; i++) {
        const struct diagnostic *from = &list->list[i];
        struct outcome_diagnostic *to;
        struct compile_range range;

        outcome->diagnostics = memory_grow(outcome->diagnostics, outcome->diagnostic_count,
                                           sizeof *outcome->diagnostics);
        to = &outcome->diagnostics[outcome->diagnostic_count++];
        *to = (struct outcome_diagnostic){
            .code = from->code,
            .model = model,
            .message = memory_text(from->message),
            .layer = memory_text(from->place.layer),
            .op = memory_text(from->place.op),
        };
        if (shown && compile_place(compile, model, &from->place, &range))
            view_ranges(&view, &range, to->view);
        outcome->errors += diagnostic_info(from->code)->severity == SEVERITY_ERROR;
    }
    lsp_text_release(&view);
}

static bool take_text(struct outcome *outcome, struct compile *compile)
{
    struct buffer out = BUFFER_EMPTY;
    size_t length;
    const char *text = compile_text(compile, &length);
    struct json *string = json_new_text(text, length);
    int rc = json_print(&out, string);

    json_free(string);
    if (rc < 0)
        buffer_release(&out);
    else
        outcome->text_json = shared_new(&out);
    return outcome->text_json != NULL;
}

static void add_buffers(struct buffer *text, const struct compile_edge *edges, int count)
{
    for (int i = 0; i < count; i++) {
        const struct compile_edge *e = &edges[i];

        buffer_printf(text, "%s: %s [", e->field, e->name);
        for (int axis = 0; axis < e->shape.axes; axis++)
            buffer_printf(text, "%s%lld", axis ? ", " : "", (long long)e->shape.dim[axis]);
        buffer_append_text(text, "]\n");
    }
}

static void take_buffers(struct outcome *outcome, struct compile *compile)
{
    struct buffer text = BUFFER_EMPTY;
    int inputs, outputs;
    const struct compile_edge *input = compile_inputs(compile, &inputs);
    const struct compile_edge *output = compile_outputs(compile, &outputs);

    add_buffers(&text, input, inputs);
    add_buffers(&text, output, outputs);
    outcome->buffers = memory_text(text.data ? text.data : "");
    buffer_release(&text);
}

static void take_assets(struct outcome *outcome, struct compile *compile)
{
    int count;
    const struct compile_asset *assets = compile_assets(compile, &count);

    outcome->assets = memory_new(((size_t)count + 1) * sizeof *outcome->assets);
    outcome->asset_count = (size_t)count;
    for (int i = 0; i < count; i++) {
        outcome->assets[i].name = memory_text(assets[i].name);
        outcome->assets[i].bytes = assets[i].bytes;
    }
}

static void take_fingerprint(struct outcome *outcome)
{
    struct hasher hasher;
    size_t length = 0;
    const char *text = outcome->text_json ? shared_bytes(outcome->text_json, &length) : "";

    hasher_init(&hasher);
    hasher_add_text(&hasher, compiler_version);
    hasher_add_number(&hasher, (uint64_t)outcome->status);
    for (int i = 0; i < outcome->model_count; i++)
        hasher_add_hash(&hasher, outcome->contents[i]);
    for (size_t i = 0; i < outcome->diagnostic_count; i++) {
        const struct outcome_diagnostic *diagnostic = &outcome->diagnostics[i];

        hasher_add_number(&hasher, (uint64_t)diagnostic->code);
        hasher_add_number(&hasher, (uint64_t)diagnostic->model);
        hasher_add_text(&hasher, diagnostic->message);
    }
    hasher_add_text(&hasher, outcome->file_name ? outcome->file_name : "");
    hasher_add_bytes(&hasher, text, length);
    for (size_t i = 0; i < outcome->asset_count; i++) {
        hasher_add_text(&hasher, outcome->assets[i].name);
        hasher_add_number(&hasher, (uint64_t)outcome->assets[i].bytes);
    }
    outcome->fingerprint = hasher_finish(&hasher);
}

/* The result of a compile that came to its end. */
static struct outcome *take(struct compile *compile, enum compile_status status,
                            const struct script_unit *unit, const char *folder)
{
    struct outcome *outcome = memory_new(sizeof *outcome);
    int models = unit->options.model_count;

    atomic_init(&outcome->holders, 1);
    snapshot_init(&outcome->snapshot);
    outcome->status = status;
    outcome->model_count = models;
    outcome->contents = memory_new((size_t)models * sizeof *outcome->contents);
    if (status == COMPILE_FAILED) {
        char *message = broken_message(compile, unit->options.models, models);

        outcome->why = memory_text(compile_why(compile));
        outcome->diagnostics = memory_grow(NULL, 0, sizeof *outcome->diagnostics);
        outcome->diagnostic_count = 1;
        outcome->errors = 1;
        outcome->diagnostics[0] = (struct outcome_diagnostic){
            .code = TUKI0190, .message = memory_text(message ? message : outcome->why)};
        free(message);
    }
    for (int m = 0; status != COMPILE_FAILED && m < models; m++) {
        int count;
        const char *const *external = compile_external(compile, m, &count);

        take_diagnostics(outcome, compile, m);
        outcome->contents[m] = compile_content(compile, m);
        for (int i = 0; i < count; i++) {
            outcome->external =
                memory_grow(outcome->external, outcome->external_count, sizeof *outcome->external);
            outcome->external[outcome->external_count++] = path_canonical(external[i]);
        }
    }
    if (status == COMPILE_OK) {
        outcome->file_name = memory_text(compile_file_name(compile));
        take_buffers(outcome, compile);
        take_assets(outcome, compile);
        if (!take_text(outcome, compile)) {
            outcome_drop(outcome);
            return NULL;
        }
    } else if (folder) {
        char *generated = path_join(folder, unit->file);

        outcome->stale = access(generated, F_OK) == 0;
        free(generated);
    }
    take_fingerprint(outcome);
    return outcome;
}

struct outcome *outcome_new(struct script *script, int number, struct compile_cache *cache,
                            atomic_bool **cancel, bool keep, bool *written)
{
    const struct script_unit *unit = &script->units[number];
    struct outcome *outcome = NULL;
    struct compile *compile = NULL;
    struct snapshot *snapshot;
    enum compile_status status;
    char *folder = path_folder(script->path);

    *written = false;
    /* On the heap: a compile that is kept reads its weights through it until it is freed. */
    snapshot = memory_new(sizeof *snapshot);
    for (int attempt = 0;; attempt++) {
        snapshot_init(snapshot);
        for (int i = 0; i < unit->options.model_count; i++)
            snapshot_note(snapshot, unit->options.models[i]);
        compile = compile_new(&unit->options, &snapshot->files, cache, *cancel);
        if (!compile)
            goto out;
        status = compile_run(compile);
        if (status == COMPILE_CANCELLED && !snapshot->written)
            goto out;
        if (snapshot->written || (!snapshot_steady(snapshot) && attempt + 1 >= ATTEMPTS)) {
            *written = true;
            goto out;
        }
        if (snapshot_steady(snapshot))
            break;
        compile_free(compile);
        compile = NULL;
        snapshot_release(snapshot);
    }
    outcome = take(compile, status, unit, path_ends(script->path, ".cs") ? folder : NULL);
    if (!outcome)
        goto out;
    snapshot_copy(&outcome->snapshot, snapshot);
    if (keep && status == COMPILE_OK) {
        outcome->compile = compile;
        outcome->kept = snapshot;
        outcome->cancel = *cancel;
        *cancel = NULL;
        compile = NULL;
        snapshot = NULL;
    }
out:
    compile_free(compile);
    if (snapshot)
        snapshot_release(snapshot);
    free(snapshot);
    free(folder);
    return outcome;
}

bool outcome_contents_same(char *const *models, const struct hash *contents, int count,
                           const atomic_bool *cancel)
{
    struct snapshot reading;
    struct context context;
    volatile bool same = true;

    snapshot_init(&reading);
    context_init(&context, cancel);
    if (setjmp(context.escape) == 0) {
        for (int i = 0; i < count && same; i++) {
            struct hash hash;

            same = model_hash(&context, &reading.files, models[i], &hash) &&
                   hash_equal(hash, contents[i]);
        }
    } else {
        same = false;
    }
    if (reading.written || !snapshot_steady(&reading))
        same = false;
    context_release(&context);
    snapshot_release(&reading);
    return same;
}
