/*
 * Runs models by the reference engine and by the generated kernels, and compares: [--write] and
 * folders of model.onnx and input_0.pb …, and where another runtime has been at work ort_0.pb … or
 * expect_0.pb … With --write the reference's outputs are written: reference_0.pb … Lines on stdout,
 * their columns separated by tabs, as soon as each is known:
 *
 *     FOLDER  begin
 *     FOLDER  reference | expected | onnxruntime | kernels   VERDICT  DETAIL
 *
 *     ok        within the tolerance
 *     rounding  outside of it, but not further than rounding carries (below)
 *     beyond    not comparable: a NaN, or a magnitude that 16 bits do not hold, on the way
 *     refused   DETAIL is the code and the message of the first error
 *     FAIL      DETAIL says where
 *
 * Kernels against the reference: the tolerance of `onnxgpu verify`. Others against the reference:
 * 1e-5 of the largest magnitude and 1e-5 of each element; integers equal.
 *
 * What rounding carries is measured. The reference runs some more times with every value on the way
 * moved to one of its two neighbours among 16-bit floats, at random (for other runtimes: by one
 * part in four million); values that 16 bits hold exactly are left alone. Where an element's
 * distance is within SLACK times the largest that these runs show for it, added to the tolerance,
 * it is rounding.
 *
 * A case that takes more than 5 s of the processor ends the program (SIGPROF): whoever reads the
 * lines sees which.
 */
#include "client/compare.h"
#include "client/engine.h"
#include "daemon/compiler/graph/half.h"
#include "daemon/compiler/operators/operator.h"
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

enum { SAMPLES = 8, SLACK = 6, SECONDS = 5 };

static const double CLOSE = 1e-5, FLOAT_STEP = 2.4e-7;

/* How values on the way are moved. */
enum noise { NOISE_NONE, NOISE_FLOAT, NOISE_HALF };

struct sample {
    struct context *context;
    struct arena *arena;
    enum noise noise;
    uint64_t random;
    struct tensor **values; /* by value id */
    double least, largest;  /* magnitudes of what is computed, zeros left out */
    bool strange;           /* a NaN or an infinity was computed */
};

static uint64_t draw(struct sample *s)
{
    s->random ^= s->random << 13;
    s->random ^= s->random >> 7;
    s->random ^= s->random << 17;
    return s->random >> 20;
}

static float move(struct sample *s, float x)
{
    uint16_t below = half_from_float_zero(x);
    float low = half_to_float(below);

    if (!isfinite(x) || low == x || fabsf(x) > HALF_MAX)
        return x;
    if (s->noise == NOISE_FLOAT)
        return (float)(x * (1 + FLOAT_STEP * ((double)(draw(s) % 3) - 1)));
    return draw(s) & 1 ? low : half_to_float((uint16_t)(below + 1));
}

static struct tensor *moved(struct sample *s, const struct tensor *t)
{
    const float *from = tensor_floats(s->context, t, s->arena);
    void *data;
    struct tensor *copy = tensor_new(s->arena, t->type, &t->shape, &data);
    float *to = data;

    for (int64_t i = 0; i < t->count; i++)
        to[i] = move(s, from[i]);
    return copy;
}

static void look(struct sample *s, const struct tensor *t)
{
    const float *x = t->type == TYPE_FLOAT32 ? tensor_floats(s->context, t, s->arena) : NULL;

    for (int64_t i = 0; x && i < t->count; i++) {
        if (!isfinite(x[i]))
            s->strange = true;
        s->largest = fmax(s->largest, fabs((double)x[i]));
        if (x[i] != 0)
            s->least = fmin(s->least, fabs((double)x[i]));
    }
}

static bool wanted(const struct node *n)
{
    for (int i = 0; i < n->output_count; i++)
        if (n->outputs[i] && !n->outputs[i]->constant)
            return true;
    return false;
}

/* Scales of quantisation are no values on the way. */
static bool is_exact(const struct node *n, int slot)
{
    return infer_shape_like(n, slot) || (slot > 0 && strstr(n->op_type, "Linear"));
}

static bool sample_node(struct sample *s, struct node *n)
{
    struct tensor **in = NEW_ARRAY(s->arena, n->input_count, struct tensor *);
    struct tensor **out = NEW_ARRAY(s->arena, n->output_count, struct tensor *);

    for (int i = 0; i < n->input_count; i++) {
        const struct value *v = n->inputs[i];

        if (!v)
            continue;
        if (!v->constant) {
            in[i] = s->values[v->id];
            continue;
        }
        in[i] = v->constant;
        if (s->noise != NOISE_HALF || v->type != TYPE_FLOAT32 || v->constant->count < 2 ||
            is_exact(n, i))
            continue;
        if (!s->values[v->id])
            s->values[v->id] = moved(s, v->constant);
        in[i] = s->values[v->id];
    }
    if (!evaluate_with(n, in, out, s->arena))
        return false;
    for (int i = 0; i < n->output_count; i++) {
        if (!n->outputs[i])
            continue;
        look(s, out[i]);
        if (s->noise != NOISE_NONE && out[i]->type == TYPE_FLOAT32)
            out[i] = moved(s, out[i]);
        s->values[n->outputs[i]->id] = out[i];
    }
    return true;
}

/* One evaluation; outputs in arena. */
static bool sample_run(struct sample *s, struct graph *g, struct tensor *const *inputs,
                       struct tensor **outputs)
{
    s->least = INFINITY;
    s->values = NEW_ARRAY(s->arena, g->value_count, struct tensor *);
    for (int i = 0; i < g->input_count; i++) {
        if (!inputs[i])
            continue;
        look(s, inputs[i]);
        s->values[g->inputs[i]->id] = s->noise != NOISE_NONE && inputs[i]->type == TYPE_FLOAT32
                                          ? moved(s, inputs[i])
                                          : inputs[i];
    }
    for (int i = 0; i < g->node_count; i++)
        if (wanted(g->nodes[i]) && !sample_node(s, g->nodes[i]))
            return false;
    for (int i = 0; i < g->output_count; i++) {
        struct value *v = g->outputs[i];

        outputs[i] = v->constant ? v->constant : s->values[v->id];
    }
    return true;
}

struct job {
    struct context context;
    struct engine engine;
    const char *folder;
    bool write;                        /* the reference's outputs: reference_0.pb … */
    struct tensor **inputs, **outputs; /* of the reference */
    bool beyond;                       /* of 16 bits: computed magnitudes */
    bool strange;
};

static void say(const struct job *j, const char *part, const char *verdict, const char *detail)
{
    char line[600];

    snprintf(line, sizeof line, "%s", detail);
    for (char *p = line; *p; p++)
        if (*p == '\n' || *p == '\t')
            *p = ' ';
    printf("%s\t%s\t%s\t%s\n", j->folder, part, verdict, line);
    fflush(stdout);
}

/* The largest distance from the reference that noise leads to, element by element. */
static double *spread(struct job *j, enum noise noise, int output, struct arena *arena)
{
    struct graph *g = j->engine.model.graph;
    int64_t count = j->outputs[output]->count;
    const double *plain = tensor_doubles(&j->context, j->outputs[output], arena);
    double *most = NEW_ARRAY(arena, count, double);

    for (int k = 0; k < SAMPLES; k++) {
        struct arena *memory = arena_child(&j->context.arena);
        struct tensor **out = NEW_ARRAY(memory, g->output_count, struct tensor *);
        struct sample s = {.context = &j->context,
                           .arena = memory,
                           .noise = noise,
                           .random = 0x9e3779b97f4a7c15u * (uint64_t)(k + 1)};

        if (sample_run(&s, g, j->inputs, out)) {
            const double *x = tensor_doubles(&j->context, out[output], memory);

            for (int64_t i = 0; i < count; i++)
                most[i] = isnan(x[i]) ? INFINITY : fmax(most[i], fabs(x[i] - plain[i]));
        }
        arena_free(memory);
    }
    return most;
}

/* Whether every element is within its tolerance and what rounding carries. */
static bool explained(struct job *j, enum noise noise, int output, const struct tensor *computed,
                      struct arena *arena)
{
    const struct tensor *expected = j->outputs[output];
    const double *a, *b, *most;
    double largest = 0;

    if (computed->type != TYPE_FLOAT32 || expected->type != TYPE_FLOAT32 ||
        !shape_equal(&computed->shape, &expected->shape))
        return false;
    a = tensor_doubles(&j->context, computed, arena);
    b = tensor_doubles(&j->context, expected, arena);
    most = spread(j, noise, output, arena);
    for (int64_t i = 0; i < expected->count; i++)
        if (isfinite(b[i]))
            largest = fmax(largest, fabs(b[i]));
    for (int64_t i = 0; i < expected->count; i++) {
        double tolerance = noise == NOISE_HALF ? 1e-4 + 4e-3 * largest + 1e-2 * fabs(b[i])
                                               : CLOSE * (largest + fabs(b[i]));

        if (a[i] == b[i] || isnan(b[i]))
            continue;
        if (!(fabs(a[i] - b[i]) <= tolerance + SLACK * most[i]))
            return false;
    }
    return true;
}

static void compare(struct job *j, const char *part, enum noise noise, struct tensor **computed)
{
    struct arena *arena = arena_child(&j->context.arena);
    const char *verdict = "ok", *why = "";
    double worst = 0;

    for (int i = 0; i < j->engine.output_count; i++) {
        struct comparison c;
        struct tolerance tolerance = {0};
        const struct meaning *meaning = &j->engine.outputs[i];
        const struct tensor *b = j->outputs[i];

        if (!computed[i])
            continue;
        comparison_init(&c);
        if (noise == NOISE_FLOAT && !meaning->quantised) {
            const double *x = type_is_float(b->type) ? tensor_doubles(&j->context, b, arena) : NULL;

            tolerance = (struct tolerance){.custom = true, .rtol = CLOSE};
            for (int64_t k = 0; x && k < b->count; k++)
                if (isfinite(x[k]))
                    tolerance.atol = fmax(tolerance.atol, CLOSE * fabs(x[k]));
            /* An infinity is to be one, not 65504. */
            for (int64_t k = 0;
                 x && computed[i]->type == b->type && k < b->count && k < computed[i]->count; k++)
                if (isinf(x[k]) && tensor_doubles(&j->context, computed[i], arena)[k] != x[k])
                    verdict = "FAIL", why = "an infinity is none";
        }
        comparison_add(&c, &tolerance, meaning, computed[i], b, arena);
        worst = fmax(worst, c.max_abs);
        if (!c.failed || strcmp(verdict, "FAIL") == 0)
            continue;
        why = arena_printf(arena, "%s (%lld elements)", c.why, (long long)c.failed);
        if (explained(j, noise, i, computed[i], arena))
            verdict = "rounding";
        else
            verdict = noise == NOISE_HALF && (j->beyond || j->strange) ? "beyond" : "FAIL";
    }
    say(j, part, verdict, *why ? why : arena_printf(arena, "max_abs=%.3g", worst));
    arena_free(arena);
}

static const char *complaint(const struct engine *e)
{
    const struct diagnostic *d = engine_first_error(e);

    return d ? arena_printf(&e->context->arena, "%s %s: %s", diagnostic_info(d->code)->name,
                            d->place.layer ? d->place.layer : "", d->message)
             : e->why;
}

/* Outputs that another runtime wrote, NULL where it has none; NULL where it wrote none at all. */
static struct tensor **foreign(struct job *j, const char *stem)
{
    struct arena *arena = &j->context.arena;
    struct tensor **found = NEW_ARRAY(arena, j->engine.output_count, struct tensor *);
    bool any = false;

    for (int i = 0; i < j->engine.output_count; i++) {
        const char *path = arena_printf(arena, "%s/%s_%d.pb", j->folder, stem, i), *why;

        if (access(path, F_OK) == 0)
            any |= (found[i] = tensor_load(&j->context, path, &why)) != NULL;
    }
    return any ? found : NULL;
}

static bool run_reference(struct job *j, const char *path)
{
    struct engine *e = &j->engine;
    struct sample plain = {.context = &j->context, .arena = &j->context.arena};
    struct tensor **found;

    if (engine_open(e, &j->context, path) != ENGINE_READY) {
        say(j, "reference", "refused", complaint(e));
        return false;
    }
    j->inputs = NEW_ARRAY(&j->context.arena, e->input_count, struct tensor *);
    j->outputs = NEW_ARRAY(&j->context.arena, e->output_count, struct tensor *);
    for (int i = 0; i < e->input_count; i++) {
        const char *why;

        j->inputs[i] = tensor_load(
            &j->context, arena_printf(&j->context.arena, "%s/input_%d.pb", j->folder, i), &why);
    }
    if (!engine_run(e, j->inputs, j->outputs, &j->context.arena) ||
        !sample_run(&plain, e->model.graph, j->inputs,
                    NEW_ARRAY(&j->context.arena, e->output_count, struct tensor *))) {
        say(j, "reference", "refused", complaint(e));
        return false;
    }
    j->beyond = plain.largest > LARGEST_HALF;
    j->strange = plain.strange;
    say(j, "reference", "ok",
        arena_printf(&j->context.arena, "%.3g to %.3g", plain.least, plain.largest));
    for (int i = 0; j->write && i < e->output_count; i++)
        if (!tensor_save(&j->context, j->outputs[i], "",
                         arena_printf(&j->context.arena, "%s/reference_%d.pb", j->folder, i)))
            context_escape(&j->context, ESCAPE_SYSTEM, "cannot write: %s", strerror(errno));
    if ((found = foreign(j, "expect")))
        compare(j, "expected", NOISE_FLOAT, found);
    if ((found = foreign(j, "ort")))
        compare(j, "onnxruntime", NOISE_FLOAT, found);
    return true;
}

static void run_kernels(struct job *j, struct engine *kernels, const char *path)
{
    struct tensor **out = NEW_ARRAY(&j->context.arena, j->engine.output_count, struct tensor *);

    switch (engine_open(kernels, &j->context, path)) {
    case ENGINE_REFUSED:
        say(j, "kernels",
            engine_first_error(kernels) && engine_first_error(kernels)->code != TUKI0190 ? "refused"
                                                                                         : "FAIL",
            complaint(kernels));
        return;
    case ENGINE_FAILED:
        say(j, "kernels", "FAIL", kernels->why);
        return;
    case ENGINE_READY:
        break;
    }
    if (!engine_run(kernels, j->inputs, out, &j->context.arena))
        say(j, "kernels", "FAIL", kernels->why);
    else
        compare(j, "kernels", NOISE_HALF, out);
}

/* In a function of its own: what setjmp() may clobber stays outside. */
static void run_folder(struct job *j, struct engine *kernels)
{
    const char *path = arena_printf(&j->context.arena, "%s/model.onnx", j->folder);

    if (run_reference(j, path))
        run_kernels(j, kernels, path);
}

static void limit(int seconds)
{
    struct itimerval timer = {.it_value = {.tv_sec = seconds}};

    setitimer(ITIMER_PROF, &timer, NULL);
}

int main(int argc, char **argv)
{
    static struct job j; /* outside of any frame that setjmp() is in */
    static struct engine kernels;
    static bool write;

    write = argc > 1 && strcmp(argv[1], "--write") == 0;

    for (int i = write ? 2 : 1; i < argc; i++) {
        memset(&j, 0, sizeof j);
        j.write = write;
        j.folder = argv[i];
        printf("%s\tbegin\n", j.folder);
        fflush(stdout);
        limit(SECONDS);
        context_init(&j.context, NULL);
        engine_init(&j.engine, &(struct engine_options){.reference = true});
        engine_init(&kernels, &(struct engine_options){.reference = false});
        if (setjmp(j.context.escape) == 0)
            run_folder(&j, &kernels);
        else
            say(&j, "kernels", "FAIL", j.context.why);
        engine_release(&kernels);
        engine_release(&j.engine);
        context_release(&j.context);
    }
    return 0;
}
