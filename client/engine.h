#ifndef CLIENT_ENGINE_H
#define CLIENT_ENGINE_H
/*
 * A model that can be run, by one of two engines:
 *
 *   - kernels: the model is compiled, and the generated text itself is parsed and executed;
 *   - reference: the ONNX graph as it was loaded is evaluated in float32, after the operators'
 *     definitions.
 *
 *     engine_init(&e, &options);
 *     if (setjmp(context.escape) == 0 && engine_open(&e, &context, path) == ENGINE_READY) …
 *     engine_release(&e);
 *
 * Memory is the context's, but for the compile job and open files, which engine_release() gives
 * back however the context was left: e must not live in the frame that calls setjmp().
 */
#include "client/meaning.h"
#include "daemon/compiler/compiler.h"
#include "daemon/compiler/gpu/simulate.h"

struct engine_options {
    bool reference;
    enum rounding rounding;      /* of writes to Half buffers, by kernels */
    struct compile_cache *cache; /* may be NULL */
    const char *const *styles;   /* models that are compiled into one; NULL: the model alone */
    int style_count, style;      /* which of them is opened and run */
};

enum engine_status {
    ENGINE_READY,
    ENGINE_REFUSED, /* errors in the model: engine_diagnostics() */
    ENGINE_FAILED,  /* engine->why */
};

struct engine {
    struct engine_options options;
    struct context *context;
    struct model model;
    struct meaning *inputs, *outputs; /* input_count, output_count entries */
    int input_count, output_count;
    struct compile *job;
    struct program *program;
    struct simulation *simulation;
    const char *why; /* of a failure: one line */
};

void engine_init(struct engine *e, const struct engine_options *options);
/* path: with styles that of the style. */
enum engine_status engine_open(struct engine *e, struct context *c, const char *path);
void engine_release(struct engine *e);

/* What was found out about the model (with styles: the first with an error, or that of the style)
 * while opening it. */
const struct diagnostics *engine_diagnostics(const struct engine *e);
/* The number of that model among those compiled. */
int engine_refused(const struct engine *e);
/* The first error in the order of `check`; NULL: none. */
const struct diagnostic *engine_first_error(const struct engine *e);

/* Whether anything reads that input: others may be NULL for engine_run(). */
bool engine_reads(const struct engine *e, int input);
/* inputs: input_count tensors; outputs: output_count entries to be set, in arena. false: e->why. */
bool engine_run(struct engine *e, struct tensor *const *inputs, struct tensor **outputs,
                struct arena *arena);

/* The parts of that with kernels, for those who look between the steps: inputs into their buffers,
 * the steps first .. first + count - 1, outputs out of theirs. */
bool engine_write(struct engine *e, struct tensor *const *inputs, struct arena *arena);
bool engine_draw(struct engine *e, int first, int count, struct arena *arena);
bool engine_read(struct engine *e, struct tensor **outputs, struct arena *arena);

#endif
