#ifndef COMPILER_SHAPE_H
#define COMPILER_SHAPE_H
/* Shapes and element types of values. Plain values: copied freely, nothing to release. */
#include "daemon/compiler/strbuf.h"
#include <stdbool.h>
#include <stdint.h>

/* Values inside a model have at most this many axes. */
enum { MAX_AXES = 8 };

/* Element types, with the numbers that ONNX gives them. */
enum element_type {
    TYPE_UNKNOWN = 0,
#define ELEMENT_TYPE(id, number, name, bits) TYPE_##id = number,
#include "daemon/compiler/graph/types.def"
#undef ELEMENT_TYPE
};

/* "float32", "int64" …; "type 99" for an unknown number (static text). */
const char *type_name(enum element_type type);
/* Bits of one element: 4, 8, 16, 32, 64, 128; 0 for strings and unknown types. */
int type_bits(enum element_type type);
bool type_is_float(enum element_type type);   /* float16, bfloat16, float32, float64 */
bool type_is_integer(enum element_type type); /* signed and unsigned, 4 to 64 bits; not bool */

struct shape {
    int axes;              /* 0 for a scalar; -1: not known at all */
    int64_t dim[MAX_AXES]; /* -1: not known */
};

extern const struct shape shape_unknown;
struct shape shape_of(int axes, const int64_t *dims);
bool shape_known(const struct shape *s); /* axes and every dim */
bool shape_equal(const struct shape *a, const struct shape *b);
/* Number of elements of a known shape; -1 where it is unknown or passes 2^62. */
int64_t shape_count(const struct shape *s);
/* Product of dim[from] … dim[to - 1]; 1 for an empty range. */
int64_t shape_product(const struct shape *s, int from, int to);
/* axis counted from the end made to count from the start; -1 where it lies outside. */
int shape_axis(const struct shape *s, int64_t axis);
/* NumPy's rule, both directions; false where they do not fit. Unknown dims against 1 stay unknown.
 */
bool shape_broadcast(const struct shape *a, const struct shape *b, struct shape *out);
/* "[1, 3, 64, 64]", unknown dims as "?", "[?]" is one unknown dim and "unknown" an unknown shape.
 */
void shape_print(struct strbuf *s, const struct shape *shape);
const char *shape_text(struct arena *a, const struct shape *shape);

/* Whether computed, where it is known, is another shape than the recorded one, whose lengths may be
 * open. */
bool shape_contradicts(const struct shape *record, const struct shape *computed);

#endif
