#ifndef PROTOCOL_UTF8_H
#define PROTOCOL_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "protocol/buffer.h"

/*
 * UTF-8 as Unicode 15, table 3-7, defines it: no overlong forms, no surrogates, nothing beyond
 * U+10FFFF. A byte that starts no such sequence is invalid by itself: it is one unit in every
 * count, and repairing turns it into one U+FFFD.
 */

/* Length in bytes (1 to 4) of the well-formed sequence at the start of `text`, its code point in
 * *code; 0 where there is none (or length is 0), *code then untouched. `code` may be NULL. */
size_t utf8_decode(const char *text, size_t length, uint32_t *code);

/* Writes the sequence of `code` (a scalar value) into out[4]; its length, 1 to 4. */
size_t utf8_encode(uint32_t code, char *out);

bool utf8_valid(const char *text, size_t length);

/* Appends `text` with each invalid byte replaced by U+FFFD. 0 or -ENOMEM. */
int utf8_repair(struct buffer *out, const char *text, size_t length);

#endif
