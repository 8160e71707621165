#ifndef COMPILER_ELEMENTS_H
#define COMPILER_ELEMENTS_H
/*
 * Single elements and runs of elements inside a payload (little-endian, row-major; two 4-bit and
 * four 2-bit elements to a byte, the first one lowest). Formats: the ONNX operator Cast and its
 * table of float types (float8: OCP FP8 and its FNUZ variants; float4e2m1 and float8e8m0: OCP
 * Microscaling). Pure, any thread.
 */
#include "daemon/compiler/graph/shape.h"
#include <stddef.h>

/* Element index as a float64 (integers beyond 2^53 are rounded; bool is 0 or 1); 0 for strings and
 * complex. */
double payload_number(const void *payload, enum element_type type, int64_t index);
/* Element index as an int64: floats are cut toward zero and saturated, NaN is 0; uint64 keeps its
 * bits. */
int64_t payload_integer(const void *payload, enum element_type type, int64_t index);
/* Writes number into element index: floats are rounded to nearest, ties to even (float32 on the way
 * to the narrower ones; float8 and float4 saturate; float8e8m0 takes the next power of two up);
 * integers are cut toward zero and saturate, NaN becomes 0; bool is number != 0. */
void payload_set(void *payload, enum element_type type, int64_t index, double number);
/* The same from an integer, as Cast: narrower integers keep the low bits. */
void payload_set_integer(void *payload, enum element_type type, int64_t index, int64_t number);

/* count elements from the first one on, converted. */
void payload_to_floats(const void *payload, enum element_type type, int64_t count, float *out);
void payload_to_doubles(const void *payload, enum element_type type, int64_t count, double *out);
void payload_to_integers(const void *payload, enum element_type type, int64_t count, int64_t *out);

#endif
