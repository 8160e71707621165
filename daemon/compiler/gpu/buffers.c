#include "daemon/compiler/gpu/plan.h"

/*
 * Lifetimes end to end: a buffer's storage is free again after the last step that reads it, and the
 * next inner buffer of the same size takes it. The step that reads a buffer never writes it: its
 * destination may be no argument.
 */
void plan_buffers(struct plan *p)
{
    struct context *c = p->context;
    int *free_after = NULL, room = 0, count = 0;

    for (int i = 0; i < p->step_count; i++) {
        struct step *s = p->steps[i];

        p->buffers[s->buffer].written = i;
        for (int r = 0; r < s->read_count; r++)
            p->buffers[spot_of(s->reads[r])->buffer].last_read = i;
    }
    for (int i = 0; i < p->step_count; i++) {
        struct buffer *b = &p->buffers[p->steps[i]->buffer];

        if (b->kind != BUFFER_INNER)
            continue;
        int last = b->last_read < i ? i : b->last_read;
        for (int k = 0; k < count && b->storage < 0; k++)
            if (p->storage[k].width == b->width && p->storage[k].height == b->height &&
                p->storage[k].half == b->half && free_after[k] < i)
                b->storage = k;
        if (b->storage < 0) {
            b->storage = p->storage_count;
            APPEND(&c->arena, p->storage, p->storage_count, p->storage_room) =
                (struct storage){b->width, b->height, b->half};
            APPEND(&c->arena, free_after, count, room) = last;
        }
        free_after[b->storage] = last;
    }
}
