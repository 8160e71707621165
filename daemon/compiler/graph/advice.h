#ifndef COMPILER_ADVICE_H
#define COMPILER_ADVICE_H
/*
 * What to change in the export about an input or a value that is not accepted, where that depends
 * on more than the code: for people who have an exporter in front of them, and no compiler.
 * Sentences without their final stop, for diagnose(); static, or in a.
 */
#include "daemon/compiler/graph/graph.h"

/* About a model input of another element type than float32 (TUKI0115); reader is a layer that reads
 * it, NULL where that does not matter. */
const char *advice_input_type(enum element_type type, const struct node *reader);
/* About a computed value of another element type than float32 (TUKI0115). */
const char *advice_value_type(const struct value *v);
/* About a model input with too few or too many axes (TUKI0114); all lengths in s are known. batch:
 * that of the other inputs, 0 where they have none. */
const char *advice_axes(struct arena *a, const struct shape *s, int64_t batch, bool quantised);
/* About inputs of different batches (TUKI0130), of which one has a batch of 1: that input of the
 * others, and what to make of it where its axis 0 is no batch; NULL for the usual advice. */
const char *advice_batch(struct arena *a, const struct value *v);

#endif
