#ifndef COMPILER_HEX_H
#define COMPILER_HEX_H
/* Bytes as hexadecimal text at memory speed: the payload of a text-serialised asset. */
#include <stddef.h>

/* Two lower-case digits for each of count bytes, the high one first, without a NUL: 2 * count
 * characters. text and bytes must not overlap. */
void hex_print(char *text, const void *bytes, size_t count);

#endif
