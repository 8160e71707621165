/*
 * Runs models on OpenGL, and compares with the simulation and with what the models should give:
 *
 *     opengl_cases [OPTION | PATH]…
 *
 * A PATH is a folder with model.onnx and test_data_set_0; or a model alone, whose inputs are made
 * up and whose outputs the reference engine computes; or a generated file (.cs) alone, whose
 * buffers and textures are filled at random, and only whose steps are compared. For each:
 *
 *   - the whole evaluation, drawn on OpenGL alone, with all buffers that a step writes full of NaN
 *     before: within `verify`'s tolerance of the expected outputs;
 *   - each step on the simulation's own inputs to it, so that differences do not add up: see
 *     tolerance.h.
 *
 * --simulated leaves the expected outputs out. --es takes the shaders of OpenGL ES, which
 * OpenGL 4.3 understands as well. --time prints how long an evaluation takes instead. The last line
 * counts, as all tests do.
 */
#include "client/compare.h"
#include "client/engine.h"
#include "client/generate.h"
#include "daemon/compiler/graph/half.h"
#include "tests/opengl/pipeline.h"
#include "tests/opengl/tolerance.h"
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

enum verdict { PASSED, FAILED, SKIPPED };

struct setting {
    struct gl gl;
    enum rounding rounding; /* as the device's own writes do */
    bool time, simulated;
    enum glsl_version version;
};

struct job {
    const struct setting *setting;
    const char *path;
    struct context context;
    struct engine kernels, reference;
    struct pipeline pipeline;
    enum verdict verdict;
    char why[1200];
    struct comparison expected;  /* the outputs of OpenGL against those of the test case */
    struct comparison simulated; /* … and against the simulation's */
    double worst;                /* of all steps: the largest share of what is allowed */
    size_t components, unequal;  /* that steps computed, and those of them that are not the same */
    double milliseconds;
};

static bool judge(struct job *j, enum verdict verdict, const char *why)
{
    j->verdict = verdict;
    snprintf(j->why, sizeof j->why, "%s", why);
    return false;
}

/* ---- inputs and expected outputs */

static bool is_folder(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

static bool is_text(const char *path)
{
    size_t length = strlen(path);
    return length > 3 && strcmp(path + length - 3, ".cs") == 0;
}

static bool open_engine(struct job *j, struct engine *e, const char *model)
{
    switch (engine_open(e, &j->context, model)) {
    case ENGINE_READY:
        return true;
    case ENGINE_REFUSED: {
        const struct diagnostic *d = engine_first_error(e);
        const char *code = d != NULL ? diagnostic_info(d->code)->name : "no reason";
        return judge(j, d != NULL && d->code != TUKI0190 ? SKIPPED : FAILED, code);
    }
    default:
        return judge(j, FAILED, e->why);
    }
}

static bool load(struct job *j, const char *what, int number, struct tensor **t)
{
    const char *why = "";
    const char *path =
        arena_printf(&j->context.arena, "%s/test_data_set_0/%s_%d.pb", j->path, what, number);
    *t = tensor_load(&j->context, path, &why);
    return *t != NULL || judge(j, FAILED, arena_printf(&j->context.arena, "%s: %s", path, why));
}

static bool load_numbers(struct job *j, struct tensor **inputs, struct tensor **expected)
{
    const struct engine *e = &j->kernels;
    for (int i = 0; i < e->input_count; i++)
        if (engine_reads(e, i) && !load(j, "input", i, &inputs[i]))
            return false;
    for (int i = 0; i < e->output_count; i++)
        if (!load(j, "output", i, &expected[i]))
            return false;
    return true;
}

static bool make_numbers(struct job *j, struct tensor **inputs, struct tensor **expected)
{
    struct engine *e = &j->kernels;
    for (int i = 0; i < e->input_count; i++) {
        inputs[i] = generate_input(&e->inputs[i], i, 5, &j->context.arena);
        if (inputs[i] == NULL)
            return judge(j, FAILED, "an input cannot be made up");
    }
    if (!open_engine(j, &j->reference, j->path))
        return false;
    return engine_run(&j->reference, inputs, expected, &j->context.arena) ||
           judge(j, FAILED, j->reference.why);
}

/* ---- buffers of both sides */

static bool is_written(const struct program *p, int buffer)
{
    for (int i = 0; i < p->step_count; i++)
        if (p->steps[i].destination == buffer)
            return true;
    return false;
}

static void copy_to_device(struct job *j, int buffer)
{
    struct arena *arena = arena_child(&j->context.arena);
    void *cells = arena_alloc(arena, pipeline_size(&j->pipeline, buffer));
    simulation_read_raw(j->kernels.simulation, buffer, cells);
    pipeline_write(&j->pipeline, buffer, cells);
    arena_free(arena);
}

static bool copy_from_device(struct job *j, int buffer)
{
    struct arena *arena = arena_child(&j->context.arena);
    void *cells = arena_alloc(arena, pipeline_size(&j->pipeline, buffer));
    bool done = pipeline_read(&j->pipeline, buffer, cells);
    if (done)
        simulation_write_raw(j->kernels.simulation, buffer, cells);
    arena_free(arena);
    return done || judge(j, FAILED, j->pipeline.why);
}

/* Inputs and weights are there; whatever else a step reads, a step before has to have written. */
static void spoil(struct job *j, int buffer)
{
    struct arena *arena = arena_child(&j->context.arena);
    size_t size = pipeline_size(&j->pipeline, buffer);
    void *cells = arena_alloc(arena, size);
    memset(cells, 0x7e, size); /* as halves, NaN */
    pipeline_write(&j->pipeline, buffer, cells);
    arena_free(arena);
}

static void prepare_buffers(struct job *j)
{
    const struct program *p = j->kernels.program;
    for (int i = 0; i < p->buffer_count; i++) {
        if (is_written(p, i))
            spoil(j, i);
        else
            copy_to_device(j, i);
    }
}

/* ---- the whole evaluation */

static bool draw_all(struct job *j)
{
    for (int i = 0; i < j->kernels.program->step_count; i++)
        if (!pipeline_draw(&j->pipeline, i))
            return judge(j, FAILED, j->pipeline.why);
    return true;
}

static bool compare(struct job *j, struct comparison *c, struct tensor *const *computed,
                    struct tensor *const *expected, const char *with)
{
    const struct tolerance tolerance = {0};
    for (int i = 0; i < j->kernels.output_count; i++)
        comparison_add(c, &tolerance, &j->kernels.outputs[i], computed[i], expected[i],
                       &j->context.arena);
    return !c->failed ||
           judge(j, FAILED, arena_printf(&j->context.arena, "against %s: %s", with, c->why));
}

static bool run_whole(struct job *j, struct tensor *const *expected)
{
    struct engine *e = &j->kernels;
    struct arena *arena = &j->context.arena;
    struct tensor **simulated = NEW_ARRAY(arena, e->output_count, struct tensor *);
    struct tensor **computed = NEW_ARRAY(arena, e->output_count, struct tensor *);

    prepare_buffers(j);
    if (!draw_all(j))
        return false;
    if (!engine_draw(e, 0, e->program->step_count, arena) || !engine_read(e, simulated, arena))
        return judge(j, FAILED, e->why);
    /* Read by the same code: through the simulation's output buffers. */
    for (int i = 0; i < e->program->buffer_count; i++)
        if (is_written(e->program, i) && !copy_from_device(j, i))
            return false;
    if (!engine_read(e, computed, arena))
        return judge(j, FAILED, e->why);
    return compare(j, &j->simulated, computed, simulated, "the simulation") &&
           (j->setting->simulated ||
            compare(j, &j->expected, computed, expected, "the expected outputs"));
}

/* ---- step by step */

static bool compare_step(struct job *j, int step, const float *drawn, const float *simulated,
                         size_t count)
{
    const struct program_step *s = &j->kernels.program->steps[step];
    const struct program_buffer *to = &j->kernels.program->buffers[s->destination];
    struct tolerance_step t = tolerance_of(s->kernel, to->format, simulated, count);
    size_t unequal = 0, where = 0;
    double worst = 0;
    for (size_t i = 0; i < count; i++) {
        double share = tolerance_share(&t, drawn[i], simulated[i]);
        unequal += share != 0;
        if (!(share <= worst)) { /* a NaN too */
            worst = share;
            where = i;
        }
    }
    j->components += count;
    j->unequal += unequal;
    j->worst = fmax(j->worst, worst);
    if (worst <= 1 && unequal <= tolerance_count(&t))
        return true;
    return judge(j, FAILED,
                 arena_printf(&j->context.arena,
                              "step %d, %s: %zu of %zu components differ, cell (%d, %d) component "
                              "%d most: %.9g instead of the simulation's %.9g",
                              step, s->kernel->name, unequal, count, (int)(where / 4) % to->width,
                              (int)(where / 4) / to->width, (int)(where % 4), (double)drawn[where],
                              (double)simulated[where]));
}

static bool run_step(struct job *j, int step)
{
    struct engine *e = &j->kernels;
    struct arena *arena = arena_child(&j->context.arena);
    int to = e->program->steps[step].destination;
    size_t count =
        (size_t)e->program->buffers[to].width * (size_t)e->program->buffers[to].height * 4;
    float *drawn = NEW_ARRAY(arena, count, float), *simulated = NEW_ARRAY(arena, count, float);
    bool done = pipeline_draw(&j->pipeline, step) || judge(j, FAILED, j->pipeline.why);
    done = done && copy_from_device(j, to);
    simulation_read(e->simulation, to, drawn);
    done = done && (engine_draw(e, step, 1, &j->context.arena) || judge(j, FAILED, e->why));
    simulation_read(e->simulation, to, simulated);
    if (done) {
        copy_to_device(j, to);
        done = compare_step(j, step, drawn, simulated, count);
    }
    arena_free(arena);
    return done;
}

static bool run_steps(struct job *j)
{
    prepare_buffers(j);
    for (int i = 0; i < j->kernels.program->step_count; i++)
        if (!run_step(j, i))
            return false;
    return true;
}

/* ---- time */

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

static bool measure(struct job *j)
{
    enum { ROUNDS = 5 };
    prepare_buffers(j);
    j->milliseconds = INFINITY;
    for (int i = 0; i < ROUNDS; i++) {
        j->setting->gl.Finish();
        double began = now();
        if (!draw_all(j))
            return false;
        j->setting->gl.Finish();
        if (i > 0) /* the first one translates */
            j->milliseconds = fmin(j->milliseconds, now() - began);
    }
    return true;
}

/* ---- a generated file */

static const char *read_text(struct arena *arena, const char *path, size_t *length)
{
    enum { TEXT_MAX = 1 << 20 };
    char *text = arena_alloc(arena, TEXT_MAX);
    FILE *f = fopen(path, "rb");
    if (f == NULL)
        return NULL;
    *length = fread(text, 1, TEXT_MAX, f);
    fclose(f);
    return text;
}

/* SplitMix64. */
static uint64_t draw(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    return z ^ z >> 31;
}

/* Numbers in -4 .. 4 as halves, any bytes. */
static void fill(struct job *j, int buffer, uint64_t *state)
{
    const struct program_buffer *b = &j->kernels.program->buffers[buffer];
    struct arena *arena = arena_child(&j->context.arena);
    size_t count = (size_t)b->width * (size_t)b->height * 4;
    float *numbers = NEW_ARRAY(arena, count, float);
    for (size_t i = 0; i < count; i++) {
        float part = (float)(draw(state) >> 40) / 16777216.0f;
        numbers[i] = b->format == GPU_FORMAT_HALF ? 8 * part - 4 : part;
    }
    simulation_write(j->kernels.simulation, buffer, numbers);
    arena_free(arena);
}

static bool open_text(struct job *j)
{
    struct engine *e = &j->kernels;
    struct dialect_error error = {0};
    uint64_t state = 1;
    size_t length = 0;
    const char *text = read_text(&j->context.arena, j->path, &length);
    if (text == NULL)
        return judge(j, FAILED, "it cannot be read");
    e->context = &j->context;
    e->program = program_parse(&j->context, text, length, &error);
    if (e->program == NULL)
        return judge(
            j, FAILED,
            arena_printf(&j->context.arena, "%d:%d: %s", error.line, error.column, error.reason));
    e->simulation = simulation_new(&j->context, e->program, e->options.rounding);
    for (int i = 0; i < e->program->buffer_count; i++)
        fill(j, i, &state);
    return true;
}

/* ---- one path */

static void run_text(struct job *j)
{
    if (!open_text(j))
        return;
    if (!pipeline_init(&j->pipeline, &j->setting->gl, j->setting->version, j->kernels.program,
                       &j->context.arena))
        judge(j, FAILED, j->pipeline.why);
    else
        run_steps(j);
}

static void run_model(struct job *j)
{
    struct engine *e = &j->kernels;
    struct arena *arena = &j->context.arena;
    bool folder = is_folder(j->path);

    if (!open_engine(j, e, folder ? arena_printf(arena, "%s/model.onnx", j->path) : j->path))
        return;
    struct tensor **inputs = NEW_ARRAY(arena, e->input_count, struct tensor *);
    struct tensor **expected = NEW_ARRAY(arena, e->output_count, struct tensor *);
    if (!(folder ? load_numbers(j, inputs, expected) : make_numbers(j, inputs, expected)))
        return;
    if (!engine_write(e, inputs, arena)) {
        judge(j, FAILED, e->why);
        return;
    }
    if (!pipeline_init(&j->pipeline, &j->setting->gl, j->setting->version, e->program, arena)) {
        judge(j, FAILED, j->pipeline.why);
        return;
    }
    if (j->setting->time)
        measure(j);
    else if (run_whole(j, expected))
        run_steps(j);
}

static void print(const struct job *j)
{
    static const char *const words[] = {"ok", "FAILED", "skipped"};
    const char *name = strrchr(j->path, '/') != NULL ? strrchr(j->path, '/') + 1 : j->path;
    printf("%s: %s", name, words[j->verdict]);
    if (j->verdict != PASSED)
        printf(": %s", j->why);
    else if (j->setting->time)
        printf(": %d steps, %.1f ms", j->kernels.program->step_count, j->milliseconds);
    else
        printf(": %d steps; %zu of %zu components differ, at most by %.2f of what is allowed",
               j->kernels.program->step_count, j->unequal, j->components, j->worst);
    if (j->simulated.compared)
        printf("; outputs: %.3g from the simulation's", j->simulated.max_abs);
    if (j->expected.compared)
        printf(", %.3g from the expected", j->expected.max_abs);
    putchar('\n');
    fflush(stdout);
}

static enum verdict run_path(const struct setting *setting, const char *path)
{
    static struct job j; /* outside of any frame that setjmp() is in */
    const struct engine_options kernels = {.rounding = setting->rounding};
    const struct engine_options reference = {.reference = true};
    memset(&j, 0, sizeof j);
    j.setting = setting;
    j.path = path;
    comparison_init(&j.expected);
    comparison_init(&j.simulated);
    engine_init(&j.kernels, &kernels);
    engine_init(&j.reference, &reference);
    context_init(&j.context, NULL);
    if (setjmp(j.context.escape) == 0)
        (is_text(path) ? run_text : run_model)(&j);
    else
        judge(&j, FAILED, j.context.why);
    print(&j);
    pipeline_release(&j.pipeline);
    engine_release(&j.kernels);
    engine_release(&j.reference);
    context_release(&j.context);
    return j.verdict;
}

/* ---- the device */

/* Draws a number three quarters of the way to the next half, and sees which one it became. */
static bool find_rounding(struct setting *s, struct context *c, char why[256])
{
    static const char text[] =
        "using Tsukimi;\nnamespace A\n{\npublic partial class C\n{\npublic GpuBuffer2D Out;\n"
        "public const int FSteps = 1;\n"
        "private void LoadF() { Out = Gpu.Buffer(1, 1, GpuFormat.Half); }\n"
        "[Kernel] static Color4 K(KernelId id) { return new Color4(1.00073242f, 0f, 0f, 0f); }\n"
        "private void RunF() { RunF(0, FSteps); }\n"
        "private void RunF(int first, int count)\n"
        "{ if (first <= 0 && count > 0 - first) Gpu.Run(nameof(K), Out); }\n}\n}\n";
    static struct pipeline p;
    struct dialect_error error = {0};
    uint16_t cell[4] = {0};
    struct program *program = program_parse(c, text, sizeof text - 1, &error);
    if (program == NULL) {
        snprintf(why, 256, "line %d: %s", error.line, error.reason);
        return false;
    }
    bool drawn = pipeline_init(&p, &s->gl, s->version, program, &c->arena) &&
                 pipeline_draw(&p, 0) && pipeline_read(&p, 0, cell);
    snprintf(why, 256, "%.255s", p.why);
    pipeline_release(&p);
    s->rounding = cell[0] == half_from_float(1.00073242f) ? ROUND_NEAREST : ROUND_ZERO;
    return drawn;
}

static bool open_device(struct setting *s, char why[256])
{
    static struct context c;
    bool opened = gl_open(&s->gl, why);
    if (!opened)
        return false;
    context_init(&c, NULL);
    if (setjmp(c.escape) == 0) {
        opened = find_rounding(s, &c, why);
    } else {
        snprintf(why, 256, "%.255s", c.why);
        opened = false;
    }
    context_release(&c);
    return opened;
}

/* Options count for the paths after them. */
static bool is_option(struct setting *s, const char *word)
{
    if (strcmp(word, "--time") == 0)
        s->time = true;
    else if (strcmp(word, "--es") == 0)
        s->version = GLSL_300_ES;
    else if (strcmp(word, "--simulated") == 0)
        s->simulated = true;
    else
        return false;
    return true;
}

int main(int argc, char **argv)
{
    static struct setting setting;
    char why[256] = "";
    int counts[SKIPPED + 1] = {0};
    if (!open_device(&setting, why)) {
        printf("tests/opengl: skipped: %s\n0 passed, 0 failed, 1 skipped\n", why);
        return 0;
    }
    printf("%s, OpenGL %s, writes halves %s\n", setting.gl.renderer, setting.gl.version,
           setting.rounding == ROUND_ZERO ? "toward zero" : "to nearest");
    for (int i = 1; i < argc; i++)
        if (!is_option(&setting, argv[i]))
            counts[run_path(&setting, argv[i])]++;
    printf("%d passed, %d failed, %d skipped\n", counts[PASSED], counts[FAILED], counts[SKIPPED]);
    gl_close();
    return counts[FAILED] ? 1 : 0;
}
