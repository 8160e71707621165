/*
 * Steps that hold equal weights (the times of a recurrent network, the mask of every attention)
 * share one table or texture: that of the first.
 */
#include "daemon/compiler/gpu/kernel.h"
#include <string.h>

/* What is held already, by hash. */
struct held {
    struct hash hash;
    struct step *step;
    const struct weights *weights; /* NULL: the table */
    struct held *next;
};

enum { BUCKETS = 1024 };

static struct held *find(struct held *const *buckets, const struct held *wanted)
{
    struct held *h = buckets[wanted->hash.low % BUCKETS];

    while (h && (!hash_equal(h->hash, wanted->hash) || !h->weights != !wanted->weights ||
                 (h->weights && (h->weights->width != wanted->weights->width ||
                                 h->weights->height != wanted->weights->height))))
        h = h->next;
    return h;
}

/* Over all styles. */
static struct hash hash_tables(const struct kernel_text *text)
{
    struct hasher h;

    hasher_init(&h);
    for (int i = 0; i < text->table_styles; i++)
        hasher_add_text(&h, text->tables[i]);
    return hasher_finish(&h);
}

static struct hash hash_recipes(const struct weights *w)
{
    struct hasher h;

    hasher_init(&h);
    for (int i = 0; i < w->styles; i++)
        hasher_add_hash(&h, w->recipes[i]);
    return hasher_finish(&h);
}

void plan_share(struct plan *p)
{
    struct arena *a = &p->context->arena;
    struct held **buckets = NEW_ARRAY(a, BUCKETS, struct held *);

    for (int i = 0; i < p->step_count; i++) {
        struct step *s = p->steps[i];

        for (int k = -1; k < s->text->weight_count; k++) {
            struct weights *w = k < 0 ? NULL : s->text->weights[k];
            struct held own = {.step = s, .weights = w}, *first;

            if (w ? !w->texture : !s->text->table_entries)
                continue;
            own.hash = w ? hash_recipes(w) : hash_tables(s->text);
            first = find(buckets, &own);
            if (!first) {
                first = arena_memdup(a, &own, sizeof own);
                first->next = buckets[own.hash.low % BUCKETS];
                buckets[own.hash.low % BUCKETS] = first;
                continue;
            }
            if (w) {
                w->same = first->weights;
                w->same_step = first->step;
            } else {
                s->same_table = first->step;
            }
        }
    }
}
