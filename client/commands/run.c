/*
 * Runs a model once, on given inputs or on made-up ones, and writes its outputs.
 */
#include "client/command.h"
#include "client/engine.h"
#include "client/generate.h"
#include "client/report.h"
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *const engines[] = {"kernels", "reference", NULL};
static const char *const roundings[] = {"nearest", "zero", NULL};

/* [NAME=]FILE: a name only where the model has an input of that name. */
static int input_named(const struct engine *e, const char *text, const char **file)
{
    const char *equals = strchr(text, '=');

    for (; equals; equals = strchr(equals + 1, '='))
        for (int i = 0; i < e->input_count; i++)
            if (strlen(e->inputs[i].name) == (size_t)(equals - text) &&
                !strncmp(e->inputs[i].name, text, (size_t)(equals - text))) {
                *file = equals + 1;
                return i;
            }
    *file = text;
    return -1;
}

static void load_inputs(struct invocation *v, struct engine *e, struct tensor **inputs)
{
    struct arena *arena = &v->context->arena;

    for (int i = 0; i < v->given_count; i++) {
        const char *file, *why = "";
        int number;

        if (strcmp(v->given[i].option->name, "input"))
            continue;
        number = input_named(e, v->given[i].value, &file);
        /* Those without a name fill what is left, in the model's order. */
        for (int k = 0; number < 0 && k < e->input_count; k++)
            if (!inputs[k] && engine_reads(e, k))
                number = k;
        if (number < 0)
            invocation_misuse(v, "the model has no further input for \"%s\"", file);
        if (inputs[number])
            invocation_misuse(v, "input %s is given twice", e->inputs[number].name);
        struct tensor *t = tensor_load(v->context, file, &why);
        if (!t && strchr(file, '=') && access(file, F_OK))
            invocation_misuse(v, "the model has no input \"%.*s\"", (int)strcspn(file, "="), file);
        if (!t)
            invocation_fail(v, "%s: %s", file, why);
        const struct meaning *m = &e->inputs[number];
        if (t->type != m->type || !shape_equal(&t->shape, &m->shape))
            invocation_fail(v, "%s: input %s is %s %s, the file holds %s %s", file, m->name,
                            type_name(m->type), shape_text(arena, &m->shape), type_name(t->type),
                            shape_text(arena, &t->shape));
        inputs[number] = t;
    }
}

static const char *number_file(struct invocation *v, const char *what, int number)
{
    return arena_printf(&v->context->arena, "%s/%s_%d.pb", invocation_value(v, "output"), what,
                        number);
}

static void save(struct invocation *v, const struct tensor *t, const char *name, const char *path)
{
    if (!tensor_save(v->context, t, name, path))
        invocation_fail(v, "%s: %s", path, strerror(errno));
}

static void make_inputs(struct invocation *v, struct engine *e, struct tensor **inputs)
{
    uint64_t seed = invocation_integer(v, "seed", 0);

    for (int i = 0; i < e->input_count; i++) {
        const struct meaning *m = &e->inputs[i];

        if (inputs[i] || !engine_reads(e, i))
            continue;
        if (invocation_flag(v, "input"))
            invocation_misuse(v, "input %s is not given", m->name);
        if (!shape_known(&m->shape))
            invocation_fail(v, "input %s has no fixed shape", m->name);
        inputs[i] = generate_input(m, i, seed, &v->context->arena);
        if (!inputs[i])
            invocation_fail(v, "input %s is of type %s, which cannot be made up", m->name,
                            type_name(m->type));
        save(v, inputs[i], m->name, number_file(v, "input", i));
    }
}

static void print_refusal(struct invocation *v, const struct engine *e)
{
    const struct diagnostics *all = engine_diagnostics(e);
    int model = engine_refused(e);

    for (int i = 0; i < all->count; i++) {
        struct report r;

        report_model(&r, v->operands[model], e->job, model, &all->list[i]);
        report_text(stderr, &r);
    }
}

/* An input whose shape is open: what the reference could not be given, kernels are refused for. */
static bool open_input(const struct engine *e)
{
    for (int i = 0; i < e->input_count; i++)
        if (engine_reads(e, i) && !shape_known(&e->inputs[i].shape))
            return true;
    return false;
}

static enum engine_status open_engine(struct engine *e, struct invocation *v,
                                      const struct engine_options *options, const char *path)
{
    struct engine_options kernels = *options;
    enum engine_status status;

    engine_init(e, options);
    status = engine_open(e, v->context, path);
    if (status != ENGINE_READY || !options->reference || !open_input(e))
        return status;
    engine_release(e);
    kernels.reference = false;
    engine_init(e, &kernels);
    return engine_open(e, v->context, path);
}

static enum exit_status run(struct invocation *v)
{
    static struct engine e; /* reachable however the invocation is left */
    struct arena *arena = &v->context->arena;
    uint64_t style = invocation_integer(v, "style", 0);
    const char *path, *into = invocation_value(v, "output");
    struct engine_options options = {
        .reference = invocation_choice(v, "engine", engines) == 1,
        .rounding = invocation_choice(v, "rounding", roundings) ? ROUND_ZERO : ROUND_NEAREST,
        .cache = invocation_cache(v),
        .styles = v->operands,
        .style_count = v->operand_count,
    };

    for (int i = 0; i < v->operand_count; i++)
        invocation_operand(v, v->operands[i]);
    if (style >= (uint64_t)v->operand_count)
        invocation_misuse(v, "there is no style %llu of %d models", (unsigned long long)style,
                          v->operand_count);
    options.style = (int)style;
    path = v->operands[style];
    if (!into)
        invocation_misuse(v, "run needs -o DIR");
    if (mkdir(into, 0777) && errno != EEXIST)
        invocation_fail(v, "%s: %s", into, strerror(errno));
    switch (open_engine(&e, v, &options, path)) {
    case ENGINE_READY:
        break;
    case ENGINE_REFUSED:
        print_refusal(v, &e);
        engine_release(&e);
        return EXIT_WRONG;
    case ENGINE_FAILED:
        if (e.job && compile_broken(e.job)) {
            report_broken(stderr, path, e.job);
            engine_release(&e);
            return EXIT_WRONG;
        }
        invocation_fail(v, "%s: %s", path, e.why);
    }
    struct tensor **inputs = NEW_ARRAY(arena, e.input_count, struct tensor *);
    struct tensor **outputs = NEW_ARRAY(arena, e.output_count, struct tensor *);
    load_inputs(v, &e, inputs);
    make_inputs(v, &e, inputs);
    if (!engine_run(&e, inputs, outputs, arena))
        invocation_fail(v, "%s: %s", path, e.why);
    for (int i = 0; i < e.output_count; i++)
        save(v, outputs[i], e.outputs[i].name, number_file(v, "output", i));
    engine_release(&e);
    return EXIT_FINE;
}

static const struct option options_of_run[] = {
    {"input", 0, "[NAME=]FILE", true, "a .pb (TensorProto) or .npy file, by name or in order"},
    {"seed", 0, "N", false, "of made-up inputs, where none is given (0 by default)"},
    {"output", 'o', "DIR", false, "where output_0.pb ... and made-up input_0.pb ... are written"},
    {"engine", 0, "ENGINE", false, "kernels (the generated code, the default) or reference"},
    {"rounding", 0, "MODE", false, "of 16-bit writes: nearest (the default) or zero"},
    {"style", 0, "N", false,
     "of several models in one set of kernels: which (from 0, the default)"},
    {NULL, 0, NULL, false, NULL},
};

const struct command command_run = {
    .name = "run",
    .arguments = "MODEL...",
    .documentation = "Runs a model once and writes its outputs.",
    .options = options_of_run,
    .min_operands = 1,
    .max_operands = -1,
    .run = run,
};
