#ifndef CACHE_KEY_H
#define CACHE_KEY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct XXH3_state_s;

/*
 * Recipe keys: what a result was computed from, in 128 bits.
 *
 * A recipe is a sequence of typed fields. Each field is hashed as one tag byte, its length (8
 * bytes, little endian) and its bytes, so two different sequences of fields are two different byte
 * strings: "ab","c" is not "a","bc", the number 1 is not the string "\1", and a missing string is
 * not an empty one. The hash is XXH3-128 (xxHash, format fixed since 0.8.0, the same on every
 * machine). It is no cryptographic hash: it tells accidents apart, not attacks.
 *
 * A recipe belongs to one thread; different recipes are independent. Keys are plain values.
 */

struct key128 {
    uint64_t high, low;
};

struct key_recipe {
    struct XXH3_state_s *state; /* owned; NULL: empty, or memory ran out */
};

/*
 * An empty recipe. Where memory runs out the recipe stays empty: adding does nothing and
 * key_finish() is false.
 */
void key_init(struct key_recipe *recipe);
/* Accepts an empty recipe, and leaves one. */
void key_release(struct key_recipe *recipe);

void key_add_u64(struct key_recipe *recipe, uint64_t value);
/*
 * `bytes` may be NULL where `size` is 0. A long content may be added in pieces, but the pieces are
 * fields: the same bytes in other pieces are another key, so pieces need one fixed size.
 */
void key_add_bytes(struct key_recipe *recipe, const void *bytes, size_t size);
/* A NUL-terminated string, or NULL, which is a field of its own. */
void key_add_string(struct key_recipe *recipe, const char *string);
/*
 * Names the fields that follow ("attributes", "weights"): a recipe read in another order is another
 * recipe.
 */
void key_add_label(struct key_recipe *recipe, const char *label);

/*
 * The key of all that was added so far; more may be added afterwards. False (and *key zero) where
 * the recipe is empty for want of memory: then there is no key, and nothing may be looked up.
 */
bool key_finish(const struct key_recipe *recipe, struct key128 *key);

/* Order by high, then low: less than, equal to or greater than 0. */
int key128_compare(struct key128 a, struct key128 b);
bool key128_equal(struct key128 a, struct key128 b);

/* 32 lower-case hexadecimal digits and a NUL, high first. Returns `text`. */
#define KEY128_TEXT 33
char *key128_print(struct key128 key, char text[KEY128_TEXT]);
/* Reads exactly what key128_print() writes, the whole string; false and *key untouched otherwise.
 */
bool key128_parse(const char *text, struct key128 *key);

#endif
