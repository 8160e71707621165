#ifndef COMPILER_CONSTANT_H
#define COMPILER_CONSTANT_H
/* Constant nodes, in all their forms (ONNX operator Constant, opset 1 to 26). */
#include "daemon/compiler/graph/graph.h"

/* The tensor that the attributes of a Constant node say; NULL with *why, a clause. In the job's
 * arena. */
struct tensor *constant_tensor(struct context *c, const struct attribute *attributes, int count,
                               const char **why);

#endif
