#ifndef CLIENT_MEANING_H
#define CLIENT_MEANING_H
/*
 * What the numbers of a model's inputs and outputs stand for: reals, token ids, or 8-bit steps of a
 * scale. Read off the graph as it was loaded and inferred, before any pass; needed to fill 8-bit
 * buffers, to make inputs up, and to judge outputs.
 */
#include "daemon/compiler/graph/graph.h"

struct meaning {
    const char *name;
    enum element_type type; /* in the model */
    struct shape shape;     /* all items together; may be unknown where the model is refused */
    bool tokens;            /* an input that only Gather reads, as indices */
    int64_t rows;           /* of the table that tokens choose from; 0: unknown */
    bool quantised;         /* 8-bit steps: real = (q - zero_point) * scale */
    float scale;            /* 1 where the model's own type is the 8-bit one */
    int64_t zero_point;
    enum element_type steps; /* TYPE_UINT8 or TYPE_INT8 */
};

/* g is inferred. Everything in arena. */
struct meaning *meaning_of_inputs(struct graph *g, struct arena *arena);
struct meaning *meaning_of_outputs(struct graph *g, struct arena *arena);

/* Smallest step of an 8-bit type: 0 or -128. */
static inline int64_t steps_least(enum element_type type)
{
    return type == TYPE_INT8 ? -128 : 0;
}

#endif
