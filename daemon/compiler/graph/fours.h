#ifndef COMPILER_FOURS_H
#define COMPILER_FOURS_H
/*
 * Four float32 at once, for those who put weights in their places: a texture's cell holds four.
 * Numbers may lie at any address.
 */
#include <string.h>

typedef float four __attribute__((vector_size(16)));

static inline four four_load(const float *from)
{
    four v;

    memcpy(&v, from, sizeof v);
    return v;
}

static inline void four_store(float *to, four v)
{
    memcpy(to, &v, sizeof v);
}

/* Element j of vector i becomes element i of vector j. */
static inline void four_transpose(four v[static 4])
{
    typedef int places __attribute__((vector_size(16)));
    const places low = {0, 4, 1, 5}, high = {2, 6, 3, 7}, first = {0, 1, 4, 5}, last = {2, 3, 6, 7};
    four a = __builtin_shuffle(v[0], v[1], low), b = __builtin_shuffle(v[0], v[1], high);
    four c = __builtin_shuffle(v[2], v[3], low), d = __builtin_shuffle(v[2], v[3], high);

    v[0] = __builtin_shuffle(a, c, first);
    v[1] = __builtin_shuffle(a, c, last);
    v[2] = __builtin_shuffle(b, d, first);
    v[3] = __builtin_shuffle(b, d, last);
}

#endif
