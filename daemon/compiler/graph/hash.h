#ifndef COMPILER_HASH_H
#define COMPILER_HASH_H
/*
 * 128-bit fingerprints of contents and recipes (XXH3-128 of xxHash, whose format is fixed since
 * 0.8.0). They tell accidents apart, not attacks. Numbers are hashed as eight little-endian bytes
 * and texts with their length before them, so that two different sequences of fields are two
 * different byte strings.
 *
 * A hasher is a plain value: on the stack, nothing to release, one thread.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* 128 bits of XXH3 over an element payload together with type and shape, or over a recipe. */
struct hash {
    uint64_t high, low;
};

struct hasher {
    _Alignas(64) unsigned char state[640]; /* holds an XXH3_state_t */
};

void hasher_init(struct hasher *h);
/* Bytes alone, without their length: for a payload that passes in pieces. */
void hasher_add(struct hasher *h, const void *bytes, size_t size);
void hasher_add_number(struct hasher *h, uint64_t number);
/* Length and bytes. */
void hasher_add_bytes(struct hasher *h, const void *bytes, size_t size);
void hasher_add_text(struct hasher *h, const char *text);
void hasher_add_hash(struct hasher *h, struct hash hash);
/* Of all that was added so far. */
struct hash hasher_finish(const struct hasher *h);

bool hash_equal(struct hash a, struct hash b);
/* Order by high, then low: less than, equal to or greater than 0. */
int hash_compare(struct hash a, struct hash b);
/* As 32 hexadecimal digits, high first. */
#define HASH_TEXT_SIZE 33
void hash_print(char text[HASH_TEXT_SIZE], struct hash hash);

#endif
