#ifndef CLIENT_EDGES_H
#define CLIENT_EDGES_H
/*
 * The host's side of a model's edges: tensors into the cells of input buffers, cells of output
 * buffers into tensors, after the layout that the compiler chose (compile_edge, gpu/layout.h).
 *
 * Half buffers hold the numbers as they are, rounded as the simulation rounds. Byte buffers hold
 * 8-bit steps, the smallest as 0; a float32 input is quantised by QuantizeLinear's own arithmetic
 * (opset 10: x / scale in float32, rounded half to even, plus the zero point, saturated). Items of
 * a batch have a buffer each.
 */
#include "client/meaning.h"
#include "daemon/compiler/compiler.h"
#include "daemon/compiler/gpu/simulate.h"

/* Both return false (NULL) with one line in *why, in arena, where buffer and edge do not fit or,
 * for writing, where the tensor's type or shape is not the edge's. Temporary memory is arena's too.
 */
bool edge_write(struct simulation *s, const struct program *p, const struct compile_edge *edge,
                const struct meaning *meaning, const struct tensor *tensor, struct arena *arena,
                const char **why);
struct tensor *edge_read(struct simulation *s, const struct program *p,
                         const struct compile_edge *edge, const struct meaning *meaning,
                         struct arena *arena, const char **why);
/* Token ids of that input of the model. */
bool edge_write_tokens(struct simulation *s, int input, const struct tensor *ids,
                       struct arena *arena, const char **why);

/* QuantizeLinear of one number. */
int64_t quantise(float x, float scale, int64_t zero_point, enum element_type steps);

#endif
