/*
 * Runs a model over the test data in its folder and compares: the ONNX project's form of test
 * cases. Each folder is a job of its own, whose memory goes before the next.
 */
#include "client/command.h"
#include "client/compare.h"
#include "client/engine.h"
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const char *const engines[] = {"kernels", "reference", NULL};
static const char *const roundings[] = {"nearest", "zero", NULL};

enum verdict { PASSED, FAILED, SKIPPED, ABSENT };

struct job {
    struct context context;
    struct engine engine;
    const char *folder;
    struct engine_options options;
    struct tolerance tolerance;
    struct comparison comparison;
    enum verdict verdict;
    char why[512]; /* FAILED: a line; SKIPPED: the code; ABSENT: what is not there */
};

static void judge(struct job *j, enum verdict verdict, const char *why)
{
    j->verdict = verdict;
    snprintf(j->why, sizeof j->why, "%s", why);
}

/* Inputs that nothing reads may be missing, as they have no buffer either. */
static bool load_inputs(struct job *j, const char *set, struct tensor **inputs, struct arena *arena)
{
    for (int i = 0; i < j->engine.input_count; i++) {
        const char *path = arena_printf(arena, "%s/input_%d.pb", set, i);
        const char *why = "";

        inputs[i] = tensor_load(&j->context, path, &why);
        if (!inputs[i] && engine_reads(&j->engine, i)) {
            judge(j, FAILED, arena_printf(arena, "%s: %s", path, why));
            return false;
        }
    }
    return true;
}

static bool run_set(struct job *j, const char *set)
{
    struct engine *e = &j->engine;
    struct arena *arena = arena_child(&j->context.arena);
    struct tensor **inputs = NEW_ARRAY(arena, e->input_count, struct tensor *);
    struct tensor **outputs = NEW_ARRAY(arena, e->output_count, struct tensor *);
    bool done = load_inputs(j, set, inputs, arena);

    if (done && !engine_run(e, inputs, outputs, arena)) {
        const struct diagnostic *error = e->options.reference ? engine_first_error(e) : NULL;

        judge(j, error && error->code != TUKI0106 ? SKIPPED : FAILED,
              error && error->code != TUKI0106 ? diagnostic_info(error->code)->name : e->why);
        done = false;
    }
    for (int i = 0; done && i < e->output_count; i++) {
        const char *path = arena_printf(arena, "%s/output_%d.pb", set, i);
        const char *why = "";
        const struct tensor *expected = tensor_load(&j->context, path, &why);

        if (!expected) {
            judge(j, FAILED, arena_printf(arena, "%s: %s", path, why));
            done = false;
            break;
        }
        comparison_add(&j->comparison, &j->tolerance, &e->outputs[i], outputs[i], expected, arena);
    }
    arena_free(arena);
    return done;
}

static void run_sets(struct job *j)
{
    for (int i = 0;; i++) {
        const char *set = arena_printf(&j->context.arena, "%s/test_data_set_%d", j->folder, i);

        if (access(set, F_OK)) {
            if (i == 0)
                judge(j, ABSENT, "it holds no test_data_set_0");
            break;
        }
        if (!run_set(j, set))
            break;
    }
    if (j->verdict == PASSED && j->comparison.failed)
        judge(j, FAILED, j->comparison.why);
}

/* Its run was left in the middle. */
static void judge_left(struct job *j)
{
    const struct diagnostic *error = j->context.reason == ESCAPE_REFUSED && j->options.reference
                                         ? engine_first_error(&j->engine)
                                         : NULL;

    judge(j, error ? SKIPPED : FAILED, error ? diagnostic_info(error->code)->name : j->context.why);
}

/* In a function of its own: what setjmp() may clobber stays outside. */
static void run_folder(struct job *j)
{
    const char *path = arena_printf(&j->context.arena, "%s/model.onnx", j->folder);
    const struct diagnostic *error;

    if (access(path, F_OK)) {
        judge(j, ABSENT,
              access(j->folder, F_OK) ? "there is no such folder" : "it holds no model.onnx");
        return;
    }
    switch (engine_open(&j->engine, &j->context, path)) {
    case ENGINE_READY:
        run_sets(j);
        break;
    case ENGINE_REFUSED:
        error = engine_first_error(&j->engine);
        /* An internal error is ours, not the model's. */
        if (!error || error->code == TUKI0190)
            judge(j, FAILED, error ? error->message : "refused without a reason");
        else
            judge(j, SKIPPED, diagnostic_info(error->code)->name);
        break;
    case ENGINE_FAILED:
        judge(j, FAILED, j->engine.why);
        break;
    }
}

static void print(const struct invocation *v, const struct job *j)
{
    static const char *const words[] = {"ok", "FAIL", "SKIP"};
    const struct comparison *c = &j->comparison;

    if (j->verdict == ABSENT) {
        fflush(stdout);
        fprintf(stderr, "onnxgpu: %s: %s\n", j->folder, j->why);
        return;
    }
    printf("%s: %s", j->folder, words[j->verdict]);
    if (j->verdict == SKIPPED)
        printf(" (%s)", j->why);
    else if (c->compared)
        printf(" max_abs=%.3g max_rel=%.3g snr=%.4g", c->max_abs, c->max_rel, c->snr);
    putchar('\n');
    fflush(stdout);
    if (j->verdict == FAILED)
        invocation_note(v, "%s: %s", j->folder, j->why);
}

static enum exit_status run(struct invocation *v)
{
    static struct job j; /* outside of any frame that setjmp() is in */
    int counts[ABSENT + 1] = {0};

    j.options.reference = invocation_choice(v, "engine", engines) == 1;
    j.options.rounding = invocation_choice(v, "rounding", roundings) ? ROUND_ZERO : ROUND_NEAREST;
    j.options.cache = invocation_cache(v);
    j.tolerance.custom = invocation_flag(v, "atol") || invocation_flag(v, "rtol");
    j.tolerance.atol = invocation_number(v, "atol", 1e-4);
    j.tolerance.rtol = invocation_number(v, "rtol", 1e-2);
    j.tolerance.by_snr = invocation_flag(v, "min-snr");
    j.tolerance.min_snr = invocation_number(v, "min-snr", 0);
    for (int i = 0; i < v->operand_count; i++) {
        j.folder = v->operands[i];
        j.verdict = PASSED;
        j.why[0] = '\0';
        comparison_init(&j.comparison);
        engine_init(&j.engine, &j.options);
        context_init(&j.context, NULL);
        if (setjmp(j.context.escape) == 0)
            run_folder(&j);
        else
            judge_left(&j);
        engine_release(&j.engine);
        context_release(&j.context);
        print(v, &j);
        counts[j.verdict]++;
    }
    printf("%d passed, %d failed, %d skipped\n", counts[PASSED], counts[FAILED], counts[SKIPPED]);
    return counts[ABSENT] ? EXIT_TROUBLE : counts[FAILED] ? EXIT_WRONG : EXIT_FINE;
}

static const struct option options[] = {
    {"engine", 0, "ENGINE", false, "kernels (the generated code, the default) or reference"},
    {"rounding", 0, "MODE", false, "of 16-bit writes: nearest (the default) or zero"},
    {"atol", 0, "A", false, "allow |a - b| <= A + R * |b| instead (A is 1e-4 by default)"},
    {"rtol", 0, "R", false, "R of the same (1e-2 by default)"},
    {"min-snr", 0, "DB", false, "judge by the signal-to-noise ratio instead"},
    {NULL, 0, NULL, false, NULL},
};

const struct command command_verify = {
    .name = "verify",
    .arguments = "DIR...",
    .documentation = "Runs models over the test data in their folders and compares.",
    .options = options,
    .min_operands = 1,
    .max_operands = -1,
    .run = run,
};
