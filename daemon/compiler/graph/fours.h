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
    const four a = v[0], b = v[1], c = v[2], d = v[3];

    v[0] = (four){a[0], b[0], c[0], d[0]};
    v[1] = (four){a[1], b[1], c[1], d[1]};
    v[2] = (four){a[2], b[2], c[2], d[2]};
    v[3] = (four){a[3], b[3], c[3], d[3]};
}

#endif
