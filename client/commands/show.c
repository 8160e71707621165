/*
 * The text view: the lines that diagnostics of a model point to.
 */
#include "client/command.h"
#include "client/report.h"
#include <stdio.h>

/* Compiled only where that says what is wrong: loading and inferring is all that the view needs. */
static enum exit_status explain_failure(const char *path, struct compile *job)
{
    if (compile_run(job) == COMPILE_REFUSED) {
        report_all(stderr, path, job, 0);
        return EXIT_WRONG;
    }
    if (compile_broken(job)) {
        report_broken(stderr, path, job);
        return EXIT_WRONG;
    }
    fprintf(stderr, "onnxgpu: %s: %s\n", path, compile_why(job));
    return EXIT_TROUBLE;
}

static struct compile *new_job(struct invocation *v, const char *const *path)
{
    struct compile_options options = {.models = path, .model_count = 1};
    struct compile *job = compile_new(&options, &files_system, invocation_cache(v), NULL);

    if (!job)
        context_escape(v->context, ESCAPE_MEMORY, "out of memory");
    return job;
}

static enum exit_status run(struct invocation *v)
{
    const char *path = v->operands[0];
    enum exit_status result = EXIT_FINE;
    const char *text;
    size_t length;

    invocation_operand(v, path);
    struct compile *job = new_job(v, &path);
    if (compile_show(job, 0, &text, &length)) {
        fwrite(text, 1, length, stdout);
    } else {
        compile_free(job);
        job = new_job(v, &path);
        result = explain_failure(path, job);
    }
    compile_free(job);
    return result;
}

const struct command command_show = {
    .name = "show",
    .arguments = "MODEL",
    .documentation = "The model as text, one node a line.",
    .min_operands = 1,
    .max_operands = 1,
    .run = run,
};
