#ifndef CLIENT_GENERATE_H
#define CLIENT_GENERATE_H
/*
 * Inputs made up from a seed: the same numbers on every machine.
 *
 * Input number k draws from SplitMix64 (Steele, Lea, Flood 2014: "Fast splittable pseudorandom
 * number generators") started at seed + (k + 1) * 2^32, one draw z an element in row-major order:
 *   - floats: (z >> 40) / 2^23 - 1, uniform in -1 .. 1 (1 left out);
 *   - inputs that an 8-bit model quantises: the same fraction of the range that it accepts,
 *     (least - zero point) * scale .. (greatest - zero point) * scale;
 *   - 8-bit inputs: the least value + z >> 56; token ids: z % rows; booleans and other integers:
 *     z >> 63.
 */
#include "client/meaning.h"

/* meaning->shape is known. NULL where such a type cannot be made up. In arena. */
struct tensor *generate_input(const struct meaning *meaning, int number, uint64_t seed,
                              struct arena *arena);

#endif
