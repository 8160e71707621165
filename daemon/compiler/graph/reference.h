#ifndef COMPILER_REFERENCE_H
#define COMPILER_REFERENCE_H
/*
 * The reference engine: a graph evaluated node by node through the operators' evaluate(), after the
 * operators' definition and without any of the compiler's rounding. What the kernels compute is
 * judged by it.
 *
 * The graph is sorted and inferred. At most the values that are still to be read are in memory.
 */
#include "daemon/compiler/graph/graph.h"

/* Called with each computed value, in order; t goes when the last reader has run. */
struct reference_watch {
    void (*seen)(struct reference_watch *w, const struct value *v, const struct tensor *t);
};

/*
 * inputs: one tensor for each graph input, in order; type and shape must be those of the input
 * (false and TUKI0106 at the input otherwise); an entry may be NULL where nothing reads that input.
 * outputs: graph->output_count entries, set to tensors in arena. watch may be NULL. false:
 * something cannot be evaluated, which is reported (TUKI0110 with its layer).
 */
bool reference_run(struct graph *g, struct tensor *const *inputs, struct tensor **outputs,
                   struct reference_watch *watch, struct arena *arena);

#endif
