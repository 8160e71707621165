#include "daemon/compiler/gpu/plan.h"
#include <string.h>

/*
 * Lifetimes end to end: a buffer's storage is free again after the last step that reads it, and the
 * next inner buffer of the same size takes it, the first such storage where there are several. The
 * step that reads a buffer never writes it: its destination may be no argument.
 */

/* Storage of one size that is free: a heap, the first one on top. */
struct size {
    struct storage like; /* width 0: a free place in the table */
    int *free;
    int count, room;
};

struct sizes {
    struct arena *arena;
    struct size *table;
    uint32_t room; /* a power of two, more than there are sizes */
};

static struct size *size_find(struct sizes *s, const struct buffer *b)
{
    uint64_t h = ((uint64_t)b->width * 0x9e3779b97f4a7c15u + (uint64_t)b->height) * 2 + b->half;

    h *= 0x9e3779b97f4a7c15u;
    for (uint64_t i = h >> 32;; i++) {
        struct size *size = &s->table[i & (s->room - 1)];

        if (!size->like.width)
            size->like = (struct storage){b->width, b->height, b->half};
        if (size->like.width == b->width && size->like.height == b->height &&
            size->like.half == b->half)
            return size;
    }
}

static void size_put(struct sizes *s, struct size *size, int storage)
{
    int i = size->count;

    APPEND(s->arena, size->free, size->count, size->room) = storage;
    for (; i && size->free[(i - 1) / 2] > storage; i = (i - 1) / 2)
        size->free[i] = size->free[(i - 1) / 2];
    size->free[i] = storage;
}

static int size_take(struct size *size)
{
    int first = size->free[0], last = size->free[--size->count], i = 0, child;

    while ((child = 2 * i + 1) < size->count) {
        child += child + 1 < size->count && size->free[child + 1] < size->free[child];
        if (size->free[child] > last)
            break;
        size->free[i] = size->free[child];
        i = child;
    }
    size->free[i] = last;
    return first;
}

void plan_buffers(struct plan *p)
{
    struct context *c = p->context;
    struct arena *scratch = arena_child(&c->arena);
    struct sizes sizes = {.arena = scratch, .room = 2};
    /* Of a step: the last buffer of those that nobody reads after it; of a buffer: the next. */
    int *ended = NEW_ARRAY(scratch, p->step_count + 1, int);
    int *next = NEW_ARRAY(scratch, p->buffer_count + 1, int);

    while (sizes.room <= (uint32_t)p->buffer_count)
        sizes.room *= 2;
    sizes.table = NEW_ARRAY(scratch, sizes.room, struct size);
    for (int i = 0; i < p->step_count; i++) {
        struct step *s = p->steps[i];

        ended[i] = -1;
        p->buffers[s->buffer].written = i;
        for (int r = 0; r < s->read_count; r++)
            p->buffers[spot_of(s->reads[r])->buffer].last_read = i;
    }
    for (int i = 0; i < p->step_count; i++) {
        int number = p->steps[i]->buffer;
        struct buffer *b = &p->buffers[number];

        for (int k = i ? ended[i - 1] : -1; k >= 0; k = next[k])
            size_put(&sizes, size_find(&sizes, &p->buffers[k]), p->buffers[k].storage);
        if (b->kind != BUFFER_INNER)
            continue;
        struct size *size = size_find(&sizes, b);
        if (size->count) {
            b->storage = size_take(size);
        } else {
            b->storage = p->storage_count;
            APPEND(&c->arena, p->storage, p->storage_count, p->storage_room) = size->like;
        }
        int last = b->last_read < i ? i : b->last_read;
        next[number] = ended[last];
        ended[last] = number;
    }
    arena_free(scratch);
}
