// IEEE 754 binary16 ("half"), as a uint16_t of its bits: conversion both ways and the text of a
// half.
//
// Pure functions, no state but a processor check that always answers the same; any thread. The bulk
// conversions use F16C where the processor has it and give the same bits everywhere. Denormal
// halves are real numbers here, never flushed. A NaN stays a NaN: the sign and the upper ten bits
// of its payload are kept and it becomes quiet.
#ifndef DAEMON_COMPILER_GRAPH_HALF_H
#define DAEMON_COMPILER_GRAPH_HALF_H

#include <stddef.h>
#include <stdint.h>

#define HALF_MAX 65504.0f
// The greatest magnitude and the least but 0; and from where on a number is rounded to infinity.
#define LARGEST_HALF 65504.0
#define SMALLEST_HALF 0x1p-24
#define BEYOND_HALF 65520.0

// The longest text of half_print with its NUL: sign, "0.", eight places and five digits, "f".
#define HALF_TEXT_SIZE 24

// To nearest, ties to even. 65520 and more (in magnitude) becomes an infinity.
uint16_t half_from_float(float value);
// Toward zero. A finite number beyond 65504 becomes 65504, an infinity stays one.
uint16_t half_from_float_zero(float value);
// Exact.
float half_to_float(uint16_t half);

// The same for `count` numbers; source and destination must not overlap.
void half_from_floats(uint16_t *halves, const float *values, size_t count);
void half_from_floats_zero(uint16_t *halves, const float *values, size_t count);
void half_to_floats(float *values, const uint16_t *halves, size_t count);

// Writes the shortest decimal that, read as a float32 and rounded to nearest, is `half` again; of
// several such the one nearest to the half. A C# literal with at least one place: "0.12115f",
// "-0.0f", "12.0f", "0.00004536f"; never an exponent. `half` must be finite. Returns the length.
size_t half_print(char text[HALF_TEXT_SIZE], uint16_t half);

#endif
