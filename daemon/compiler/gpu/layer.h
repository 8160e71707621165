#ifndef COMPILER_LAYER_H
#define COMPILER_LAYER_H
/*
 * A step's kernel from the cache, or written and put there. The key is the step's recipe: compiler
 * version, operators with their attributes, shapes, layouts, what is fused, and the hashes of all
 * constants; never names or paths. A row holds the kernel's statements, its parameters, the text of
 * its table and what its textures are made from, but no texture's payload.
 */
#include "daemon/compiler/compiler.h"
#include "daemon/compiler/gpu/kernel.h"

/* Sets step->text. cache may be NULL. */
void layer_write(struct plan *p, struct step *step, struct compile_cache *cache);
/* What computes the constant that w is filled from; NULL: it is as the file has it. Not of weights
 * that came from the cache. */
struct node *weights_maker(const struct weights *w);
/* The weights with everything that is needed to fill them: those of a row that came from the cache
 * are written anew. */
const struct weights *layer_weights(struct plan *p, struct step *step, int number);

#endif
