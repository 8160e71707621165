#ifndef DAEMON_COST_H
#define DAEMON_COST_H
/*
 * What one evaluation of a model costs, by layer and in all, as JSON: what `onnxgpu explain` prints
 * and onnxgpu/explain answers. Any thread.
 */
#include "daemon/compiler/compiler.h"
#include "protocol/json.h"

/* Free it with json_free. */
struct json *cost_json(const struct compile_cost *cost);

#endif
