#include "daemon/compiler/gpu/pattern.h"
#include <math.h>
#include <string.h>

enum { LARGEST = 1 << 22, GLANCE = 64 };

/* Whether the first elements, which are cheap to have, are of more than two numbers: most weights
 * are. */
static bool is_various(struct context *c, const struct tensor *t)
{
    float some[GLANCE];
    int64_t count = t->count < GLANCE ? t->count : GLANCE;
    int others = 0;
    float other = 0;

    if (!tensor_floats_part(c, t, 0, count, some))
        return false;
    for (int64_t i = 1; i < count; i++)
        if (some[i] != some[0] && (!others || some[i] != other)) {
            other = some[i];
            others++;
        }
    return others > 1;
}

/* Every matrix of the last two axes has the same number all along each diagonal: that of column -
 * row + rows - 1. */
static bool read_diagonals(const float *f, const struct shape *s, float *diagonal)
{
    int64_t rows = s->dim[s->axes - 2], columns = s->dim[s->axes - 1], count = shape_count(s);

    for (int64_t r = 0; r < rows; r++)
        diagonal[rows - 1 - r] = f[r * columns];
    memcpy(diagonal + rows - 1, f, (size_t)columns * sizeof *f);
    for (int64_t i = 0; i < count; i++)
        if (!(f[i] == diagonal[i % columns - i / columns % rows + rows - 1]))
            return false;
    return true;
}

static void look(struct context *c, struct pattern *p, struct arena *scratch)
{
    const struct tensor *t = p->tensor;
    const struct shape *s = &t->shape;
    const float *f;
    float *diagonal;
    int64_t rows, diagonals, first = 0, last;
    bool same = true;

    if (t->varies || t->count < 2 || t->count > LARGEST || is_various(c, t))
        return;
    f = tensor_floats(c, t, scratch);
    for (int64_t i = 1; same && i < t->count; i++)
        same = f[i] == f[0];
    p->inside = f[0];
    p->found = same;
    if (same || s->axes < 2 || s->dim[s->axes - 1] < 2 || s->dim[s->axes - 2] < 2)
        return;
    rows = s->dim[s->axes - 2];
    diagonals = rows + s->dim[s->axes - 1] - 1;
    diagonal = NEW_ARRAY(scratch, diagonals, float);
    if (!read_diagonals(f, s, diagonal))
        return;
    while (first < diagonals && diagonal[first] == diagonal[0])
        first++;
    for (last = first; last < diagonals && diagonal[last] == diagonal[first]; last++)
        ;
    for (int64_t d = last; d < diagonals; d++)
        if (diagonal[d] != diagonal[0])
            return;
    p->found = p->banded = true;
    p->outside = diagonal[0];
    p->inside = diagonal[first];
    p->lo = first - (rows - 1);
    p->hi = last - 1 - (rows - 1);
}

const struct pattern *plan_pattern(struct plan *p, const struct tensor *t)
{
    struct context *c = p->context;
    struct pattern *known = p->patterns;
    struct arena *scratch;

    while (known && known->tensor != t)
        known = known->next;
    if (known)
        return known;
    known = NEW(&c->arena, struct pattern);
    known->tensor = t;
    known->next = p->patterns;
    p->patterns = known;
    scratch = arena_child(&c->arena);
    look(c, known, scratch);
    arena_free(scratch);
    /* As a table would hold them. */
    known->inside = fminf(fmaxf(known->inside, -65504), 65504);
    known->outside = fminf(fmaxf(known->outside, -65504), 65504);
    return known;
}
