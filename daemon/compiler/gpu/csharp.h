#ifndef COMPILER_CSHARP_H
#define COMPILER_CSHARP_H
/*
 * The generated file: the one printer of everything that is C# around the kernels' statements, and
 * of the weights in it.
 */
#include "daemon/compiler/compiler.h"
#include "daemon/compiler/gpu/kernel.h"

/* Names of what belongs to weights of a step (or to the earlier ones that are the same): "Filterw3"
 * of its table (or of its only texture), "Filterw3s", "Filterw3s2" … of further textures. w NULL:
 * the table. */
const char *csharp_weights_name(struct arena *a, const char *prefix, const struct step *step,
                                const struct weights *w);
/* The name of weights in a style: name itself in style 0, "Filterw3Style1" … in others. */
const char *csharp_style_name(struct arena *a, const char *name, int style);
/* "FilterInput", "FilterInput1"; "FilterInputItem1", … */
const char *csharp_edge_name(struct arena *a, const char *prefix, bool output, int number,
                             int item);
/* "FilterTokens", "FilterTokens1" … of that model input; Set… before it is the method's name. */
const char *csharp_tokens_name(struct arena *a, const char *prefix, int number);
/* The whole file. */
void csharp_print(struct strbuf *s, const struct compile_options *o, struct plan *p);

/* The lines of a kernel's table, "new Vector4(…)," each; "" where it has none. Of the context's
 * style. */
const char *csharp_table(struct context *c, const struct kernel_text *text);
/* Rows first … first + count - 1 of weights as they will be stored (still float32), columns * 4
 * numbers each; in scratch. */
float *weights_numbers(struct context *c, const struct weights *w, int64_t first, int64_t count,
                       struct arena *scratch);

#endif
