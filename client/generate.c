#include "client/generate.h"
#include "daemon/compiler/graph/elements.h"

static uint64_t draw(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15u;

    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

struct tensor *generate_input(const struct meaning *m, int number, uint64_t seed,
                              struct arena *arena)
{
    uint64_t state = seed + ((uint64_t)number + 1) * ((uint64_t)1 << 32);
    int64_t least = m->quantised ? steps_least(m->steps) : 0;
    double from = -1, to = 1;
    struct tensor *t;
    void *payload;

    if (!type_is_float(m->type) && !type_is_integer(m->type) && m->type != TYPE_BOOL)
        return NULL;
    t = tensor_new(arena, m->type, &m->shape, &payload);
    if (m->quantised && m->scale != 0) {
        from = (double)(least - m->zero_point) * (double)m->scale;
        to = (double)(least + 255 - m->zero_point) * (double)m->scale;
    }
    for (int64_t i = 0; i < t->count; i++) {
        uint64_t z = draw(&state);

        if (type_is_float(m->type))
            payload_set(payload, m->type, i,
                        from + (to - from) * ((double)(z >> 40) / (double)(1 << 24)));
        else if (m->quantised)
            payload_set_integer(payload, m->type, i, least + (int64_t)(z >> 56));
        else if (m->tokens && m->rows > 0)
            payload_set_integer(payload, m->type, i, (int64_t)(z % (uint64_t)m->rows));
        else
            payload_set_integer(payload, m->type, i, (int64_t)(z >> 63));
    }
    return t;
}
