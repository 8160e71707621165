// Decimal text of float32 numbers, both ways, exact and independent of any locale.
//
// float_print writes the shortest digits that read back as the same float32 (Steele and White 1990,
// "How to print floating-point numbers accurately", the free-format algorithm); float_parse rounds
// any decimal correctly (nearest, ties to even). Pure functions, any thread.
#ifndef DAEMON_COMPILER_GRAPH_DECIMAL_H
#define DAEMON_COMPILER_GRAPH_DECIMAL_H

#include <stddef.h>

// The longest text of float_print with its NUL.
#define FLOAT_TEXT_SIZE 32
// What float_parse takes at most; a longer text is refused.
#define FLOAT_PARSE_MAX 128

enum float_parse {
    FLOAT_PARSE_OK,
    FLOAT_PARSE_MALFORMED, // not digits [. digits] [e [sign] digits], or longer than the limit
    FLOAT_PARSE_OVERFLOW,  // rounds to an infinity
    FLOAT_PARSE_DENORMAL,  // not zero, but below the smallest normal float32
};

// Writes a C# literal with at least one place: "0.1f", "-0.0f", "65504.0f", "1.5e-20f"; an exponent
// only from 1e10 up and below 1e-7. At most nine digits. `value` must be finite. Returns the
// length.
size_t float_print(char text[FLOAT_TEXT_SIZE], float value);

// Reads `length` characters: digits with at most one point and an exponent, no sign, no suffix.
// Sets *value for OK and DENORMAL (there to the denormal itself), else leaves it alone.
enum float_parse float_parse(const char *text, size_t length, float *value);

#endif
