/*
 * Runs the reference engine over ONNX test-case folders: model.onnx with test_data_set_*, each of
 * input_*.pb and output_*.pb. One line a folder:
 *
 *     ok FOLDER | FAIL FOLDER why | SKIP FOLDER why
 *
 * Inputs of integers are taken from the first data set as constants where the model would be
 * refused otherwise (axes, shapes … that are model inputs in the test cases).
 *
 * Floats are equal where |a - b| <= 1e-4 * max(1, largest |b|) + 1e-3 * |b|, everything else where
 * it is the same. Exit status 1 where anything failed.
 */
#include "daemon/compiler/graph/reference.h"
#include "daemon/compiler/model/load.h"
#include "daemon/compiler/operators/operator.h"
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { MAX_OPERANDS = 64 };

struct verdict {
    enum { OK, FAIL, SKIP } kind;
    char why[512];
};

static void say(struct verdict *v, int kind, const char *why)
{
    if (v->kind == FAIL)
        return;
    v->kind = kind;
    snprintf(v->why, sizeof v->why, "%s", why);
}

/* The first error that was reported, or otherwise. */
static const char *complaint(const struct context *c, const char *otherwise)
{
    for (int i = 0; i < c->diagnostics.count; i++) {
        const struct diagnostic *d = &c->diagnostics.list[i];

        if (diagnostic_info(d->code)->severity == SEVERITY_ERROR)
            return arena_printf((struct arena *)&c->arena, "%s %s", diagnostic_info(d->code)->name,
                                d->message);
    }
    return otherwise;
}

static void compare(struct context *c, int output, const struct tensor *got,
                    const struct tensor *want, struct verdict *v)
{
    bool real = type_is_float(want->type);
    double worst = 0;

    if (got->type != want->type || !shape_equal(&got->shape, &want->shape)) {
        say(v, FAIL,
            arena_printf(&c->arena, "output %d is %s %s instead of %s %s", output,
                         type_name(got->type), shape_text(&c->arena, &got->shape),
                         type_name(want->type), shape_text(&c->arena, &want->shape)));
        return;
    }
    if (!real) {
        if (got->bytes && memcmp(tensor_data(c, got, &c->arena), tensor_data(c, want, &c->arena),
                                 got->bytes) != 0)
            say(v, FAIL, arena_printf(&c->arena, "output %d differs", output));
        return;
    }
    const double *a = tensor_doubles(c, got, &c->arena), *b = tensor_doubles(c, want, &c->arena);
    double scale = 1;
    bool fails = false;
    for (int64_t i = 0; i < want->count; i++)
        if (isfinite(b[i]) && fabs(b[i]) > scale)
            scale = fabs(b[i]);
    for (int64_t i = 0; i < want->count; i++) {
        double d = fabs(a[i] - b[i]);

        if ((isnan(a[i]) && isnan(b[i])) || (isinf(b[i]) && a[i] == b[i]))
            continue;
        fails = fails || !(d <= 1e-4 * scale + 1e-3 * fabs(b[i]));
        if (!(d <= worst))
            worst = d;
    }
    if (fails)
        say(v, FAIL, arena_printf(&c->arena, "output %d differs by %g", output, worst));
}

static void run_set(struct context *c, struct graph *g, const char *folder, struct verdict *v)
{
    struct tensor *in[MAX_OPERANDS] = {NULL}, *out[MAX_OPERANDS] = {NULL};
    const char *why;

    if (g->input_count > MAX_OPERANDS || g->output_count > MAX_OPERANDS) {
        say(v, SKIP, "too many inputs or outputs");
        return;
    }
    for (int i = 0; i < g->input_count; i++) {
        in[i] = tensor_load(c, arena_printf(&c->arena, "%s/input_%d.pb", folder, i), &why);
        if (!in[i]) {
            say(v, SKIP, arena_printf(&c->arena, "input %d: %s", i, why));
            return;
        }
    }
    if (!reference_run(g, in, out, NULL, &c->arena)) {
        say(v, SKIP, complaint(c, "the reference engine gave up"));
        return;
    }
    for (int i = 0; i < g->output_count; i++) {
        struct tensor *want =
            tensor_load(c, arena_printf(&c->arena, "%s/output_%d.pb", folder, i), &why);

        if (!want)
            say(v, SKIP, arena_printf(&c->arena, "output %d: %s", i, why));
        else
            compare(c, i, out[i], want, v);
    }
}

static void bind_inputs(struct context *c, struct graph *g, const char *folder)
{
    for (int i = 0; i < g->input_count; i++) {
        const char *why;

        if (i > 0 || !type_is_float(g->inputs[i]->type))
            g->inputs[i]->constant = tensor_load(
                c, arena_printf(&c->arena, "%s/test_data_set_0/input_%d.pb", folder, i), &why);
    }
}

/* In a function of its own: what setjmp() may clobber stays outside. */
static void run_model(struct context *c, const char *folder, struct model *m, bool bind,
                      struct verdict *v)
{
    model_load(c, &files_system, arena_printf(&c->arena, "%s/model.onnx", folder), m);
    if (m->graph && bind)
        bind_inputs(c, m->graph, folder);
    if (m->graph)
        infer_graph(m->graph);
    if (!m->graph || c->diagnostics.errors) {
        say(v, SKIP, complaint(c, "no graph"));
        return;
    }
    for (int i = 0;; i++) {
        const char *set = arena_printf(&c->arena, "%s/test_data_set_%d", folder, i);

        if (access(set, F_OK) != 0) {
            if (i == 0)
                say(v, SKIP, "no test data");
            return;
        }
        run_set(c, m->graph, set, v);
    }
}

static void run_folder(const char *folder, bool bind, struct verdict *v)
{
    static struct context c;
    static struct model m;

    memset(v, 0, sizeof *v);
    memset(&m, 0, sizeof m);
    context_init(&c, NULL);
    if (setjmp(c.escape) == 0)
        run_model(&c, folder, &m, bind, v);
    else
        say(v, FAIL, c.why);
    model_close(&m);
    context_release(&c);
}

int main(int argc, char **argv)
{
    static const char *const names[] = {"ok", "FAIL", "SKIP"};
    int counts[3] = {0};

    for (int i = 1; i < argc; i++) {
        struct verdict v, bound;

        run_folder(argv[i], false, &v);
        if (v.kind == SKIP) {
            run_folder(argv[i], true, &bound);
            if (bound.kind != SKIP)
                v = bound;
        }
        printf("%s %s%s%s\n", names[v.kind], argv[i], *v.why ? " " : "", v.why);
        fflush(stdout);
        counts[v.kind]++;
    }
    fprintf(stderr, "%d ok, %d failed, %d skipped\n", counts[OK], counts[FAIL], counts[SKIP]);
    return counts[FAIL] ? 1 : 0;
}
