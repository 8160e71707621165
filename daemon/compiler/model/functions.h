#ifndef COMPILER_FUNCTIONS_H
#define COMPILER_FUNCTIONS_H
/*
 * Local functions (ModelProto.functions, IR 8 on; onnx/docs/IR.md "Functions"): a call is replaced
 * by the function's nodes, with the caller's attributes in place of the references to them and the
 * function's own opset imports.
 */
#include "daemon/compiler/model/build.h"

struct function;
/* Takes down the model's functions by domain, name and overload; a second one of equal names is
 * TUKI0105. */
void functions_init(struct builder *b);
/* The function that a node calls, or NULL. domain is "" for the standard one. */
struct function *function_find(const struct builder *b, const Onnx__Node *node);
/* Replaces call by f's nodes. Recursion is TUKI0104, more inputs or outputs than f has TUKI0106. */
void function_inline(struct builder *b, const struct call *call, struct function *f);

#endif
