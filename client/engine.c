#include "client/engine.h"
#include "client/edges.h"
#include "daemon/compiler/graph/reference.h"
#include "daemon/compiler/operators/operator.h"
#include <string.h>

void engine_init(struct engine *e, const struct engine_options *options)
{
    memset(e, 0, sizeof *e);
    e->options = *options;
    e->why = "";
}

void engine_release(struct engine *e)
{
    if (e->job)
        compile_free(e->job);
    model_close(&e->model);
    e->job = NULL;
}

const struct diagnostics *engine_diagnostics(const struct engine *e)
{
    return e->job ? compile_diagnostics(e->job, engine_refused(e)) : &e->context->diagnostics;
}

int engine_refused(const struct engine *e)
{
    for (int i = 0; e->job && i < e->options.style_count; i++)
        if (compile_diagnostics(e->job, i)->errors)
            return i;
    return e->options.style;
}

const struct diagnostic *engine_first_error(const struct engine *e)
{
    const struct diagnostics *all = engine_diagnostics(e);

    for (int i = 0; all && i < all->count; i++)
        if (diagnostic_info(all->list[i].code)->severity == SEVERITY_ERROR)
            return &all->list[i];
    return NULL;
}

static enum engine_status fail(struct engine *e, const char *why)
{
    e->why = why;
    return ENGINE_FAILED;
}

/* The graph itself, for what its edges mean and for the reference. */
static enum engine_status open_graph(struct engine *e, const char *path)
{
    struct context *c = e->context;

    model_load(c, &files_system, path, &e->model);
    if (e->model.graph)
        infer_graph(e->model.graph);
    diagnostics_sort(&c->diagnostics);
    if (!e->model.graph || c->diagnostics.errors)
        return ENGINE_REFUSED;
    e->input_count = e->model.graph->input_count;
    e->output_count = e->model.graph->output_count;
    e->inputs = meaning_of_inputs(e->model.graph, &c->arena);
    e->outputs = meaning_of_outputs(e->model.graph, &c->arena);
    return ENGINE_READY;
}

static enum engine_status compile(struct engine *e, const char *path)
{
    char prefix[256];

    compile_prefix(path, prefix, sizeof prefix);
    struct compile_options options = {
        .script = prefix,
        .modifiers = "public",
        .type_parameters = "",
        .space = "",
        .asset_folder = "",
        .models = e->options.styles ? e->options.styles : &path,
        .model_count = e->options.styles ? e->options.style_count : 1,
    };
    e->job = compile_new(&options, &files_system, e->options.cache, e->context->cancel);
    if (!e->job)
        context_escape(e->context, ESCAPE_MEMORY, "out of memory");
    switch (compile_run(e->job)) {
    case COMPILE_OK:
        return ENGINE_READY;
    case COMPILE_REFUSED:
        return ENGINE_REFUSED;
    default:
        return fail(e, compile_why(e->job));
    }
}

/* Weight textures, as the user would assign them before Load. */
static enum engine_status give_textures(struct engine *e)
{
    struct arena *arena = &e->context->arena;
    struct simulation_error error = {0};
    int count;
    const struct compile_asset *assets = compile_assets(e->job, &count);

    for (int i = 0; i < count; i++) {
        unsigned char *payload = NEW_ARRAY(arena, assets[i].payload, unsigned char);
        int texture = program_find_texture(e->program, assets[i].field);

        if (texture < 0)
            return fail(
                e, arena_printf(arena, "the generated class has no texture %s", assets[i].field));
        if (!compile_asset_payload(e->job, i, payload))
            return fail(e, arena_printf(arena, "the payload of %s: %s", assets[i].name,
                                        compile_why(e->job)));
        if (!simulation_texture(e->simulation, texture, payload, (size_t)assets[i].payload))
            return fail(e, arena_printf(arena, "%zu bytes are no payload for the buffer of %s",
                                        (size_t)assets[i].payload, assets[i].field));
    }
    if ((count || e->options.style) && !simulation_use(e->simulation, e->options.style, &error))
        return fail(e, arena_printf(arena, "Load: %s", error.reason));
    return ENGINE_READY;
}

static enum engine_status parse(struct engine *e)
{
    struct dialect_error error = {0};
    size_t length;
    const char *text = compile_text(e->job, &length);

    e->program = program_parse(e->context, text, length, &error);
    if (!e->program)
        return fail(e, arena_printf(&e->context->arena, "%s:%d:%d: %s", compile_file_name(e->job),
                                    error.line, error.column, error.reason));
    e->simulation = simulation_new(e->context, e->program, e->options.rounding);
    return give_textures(e);
}

enum engine_status engine_open(struct engine *e, struct context *c, const char *path)
{
    enum engine_status status = ENGINE_READY;

    e->context = c;
    if (!e->options.reference)
        status = compile(e, path);
    if (status == ENGINE_READY)
        status = open_graph(e, path);
    if (status == ENGINE_REFUSED && e->job && engine_diagnostics(e)->errors == 0)
        return fail(e, "the model was compiled, but its graph cannot be read again");
    if (status == ENGINE_READY && !e->options.reference)
        status = parse(e);
    return status;
}

static const struct compile_edge *find_edge(const struct compile_edge *edges, int count, int number)
{
    for (int i = 0; i < count; i++)
        if (edges[i].number == number)
            return &edges[i];
    return NULL;
}

bool engine_reads(const struct engine *e, int input)
{
    int count;

    if (e->options.reference)
        return e->model.graph->inputs[input]->reader_count > 0 ||
               e->model.graph->inputs[input]->output_count > 0;
    const struct compile_edge *edges = compile_inputs(e->job, &count);
    return find_edge(edges, count, input) != NULL;
}

bool engine_write(struct engine *e, struct tensor *const *inputs, struct arena *arena)
{
    int count;
    const struct compile_edge *edges = compile_inputs(e->job, &count);

    for (int i = 0; i < count; i++) {
        const struct compile_edge *edge = &edges[i];
        const struct tensor *t = inputs[edge->number];

        if (!t) {
            e->why = arena_printf(arena, "input %s is missing", edge->name);
            return false;
        }
        if (edge->tokens ? !edge_write_tokens(e->simulation, edge->number, t, arena, &e->why)
                         : !edge_write(e->simulation, e->program, edge, &e->inputs[edge->number], t,
                                       arena, &e->why))
            return false;
    }
    return true;
}

bool engine_draw(struct engine *e, int first, int count, struct arena *arena)
{
    struct simulation_error error = {0};

    if (simulation_run(e->simulation, first, count, &error))
        return true;
    e->why = arena_printf(arena, "step %d, %s at line %d column %d, cell (%d, %d): %s", error.step,
                          error.kernel ? error.kernel : "?", error.line, error.column, error.x,
                          error.y, error.reason);
    return false;
}

bool engine_read(struct engine *e, struct tensor **outputs, struct arena *arena)
{
    int count;
    const struct compile_edge *edges = compile_outputs(e->job, &count);

    for (int i = 0; i < e->output_count; i++) {
        const struct compile_edge *edge = find_edge(edges, count, i);

        if (!edge) {
            e->why = arena_printf(arena, "output %s has no buffer", e->outputs[i].name);
            return false;
        }
        outputs[i] = edge_read(e->simulation, e->program, edge, &e->outputs[i], arena, &e->why);
        if (!outputs[i])
            return false;
    }
    return true;
}

bool engine_run(struct engine *e, struct tensor *const *inputs, struct tensor **outputs,
                struct arena *arena)
{
    if (!e->options.reference)
        return engine_write(e, inputs, arena) && engine_draw(e, 0, e->program->step_count, arena) &&
               engine_read(e, outputs, arena);
    if (reference_run(e->model.graph, inputs, outputs, NULL, arena))
        return true;
    const struct diagnostic *d = engine_first_error(e);
    e->why = d ? d->message : "the graph cannot be evaluated";
    return false;
}
