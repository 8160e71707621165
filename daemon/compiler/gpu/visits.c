/*
 * What was read already, where fetches are only counted. A value that is read twice by way of a
 * view is computed twice, and what it is made of, too: the ways double. Counting goes each once.
 */
#include "daemon/compiler/gpu/kernel_inside.h"
#include <string.h>

static uint32_t bucket_of(const struct value *v, const struct lanes *e)
{
    uint64_t h = (uint64_t)v->id * 4 + (uint64_t)e->count;

    for (int j = 0; j < e->count; j++)
        for (int a = 0; a < v->shape.axes; a++) {
            h = (h ^ (uint64_t)(uintptr_t)e->at[j][a]) * 0x9e3779b97f4a7c15u;
            h ^= h >> 29;
        }
    return (uint32_t)(h % VISIT_BUCKETS);
}

static bool is_visit(const struct kernel_visit *visit, const struct value *v, const struct lanes *e)
{
    bool same = visit->value == v && visit->lanes.count == e->count;

    for (int j = 0; same && j < e->count; j++)
        same = !memcmp(visit->lanes.at[j], e->at[j], (size_t)v->shape.axes * sizeof *e->at[j]);
    return same;
}

bool visit_again(struct kernel *k, const struct value *v, const struct lanes *e)
{
    struct kernel_state *s = state_of(k);
    int i = s->visited[bucket_of(v, e)];

    while (i && !is_visit(&s->visits[i - 1], v, e))
        i = s->visits[i - 1].next;
    if (i)
        k->fetches += s->visits[i - 1].again;
    return i;
}

void visit_add(struct kernel *k, const struct value *v, const struct lanes *e, int64_t fetches,
               int64_t held)
{
    struct kernel_state *s = state_of(k);
    uint32_t bucket = bucket_of(v, e);

    APPEND(k->arena, s->visits, s->visit_count, s->visit_room) =
        (struct kernel_visit){v, *e, k->fetches - fetches - (k->held - held), s->visited[bucket]};
    s->visited[bucket] = s->visit_count;
}

void visits_leave(struct kernel *k, int count)
{
    struct kernel_state *s = state_of(k);

    while (s->visit_count > count) {
        const struct kernel_visit *last = &s->visits[--s->visit_count];

        s->visited[bucket_of(last->value, &last->lanes)] = last->next;
    }
}
