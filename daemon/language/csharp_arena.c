#include "daemon/language/csharp_arena.h"

#include <stdlib.h>
#include <string.h>

enum { BLOCK_SIZE = 32768 };

struct csharp_arena_block {
    struct csharp_arena_block *next;
    size_t used, size;
    max_align_t bytes[];
};

void *csharp_arena_alloc(struct csharp_arena *arena, size_t count, size_t size)
{
    struct csharp_arena_block *block = arena->blocks;
    size_t length, total;
    char *at;

    if (__builtin_mul_overflow(count, size, &length) ||
        __builtin_add_overflow(length, sizeof(max_align_t) - 1, &length))
        longjmp(*arena->out_of_memory, 1);
    length -= length % sizeof(max_align_t);

    if (!block || block->size - block->used < length) {
        size_t room = length > BLOCK_SIZE ? length : BLOCK_SIZE;
        if (__builtin_add_overflow(room, sizeof *block, &total) || !(block = malloc(total)))
            longjmp(*arena->out_of_memory, 1);
        block->size = room;
        block->used = 0;
        /* A large item must not hide the room that is left in the block before it. */
        if (length > BLOCK_SIZE / 4 && arena->blocks) {
            block->next = arena->blocks->next;
            arena->blocks->next = block;
        } else {
            block->next = arena->blocks;
            arena->blocks = block;
        }
    }
    at = (char *)block->bytes + block->used;
    block->used += length;
    return length ? memset(at, 0, length) : at;
}

void *csharp_arena_grow(struct csharp_arena *arena, void *array, size_t count, size_t *capacity,
                        size_t size)
{
    void *grown;

    if (count < *capacity)
        return array;
    *capacity = count < 4 ? 4 : count * 2;
    grown = csharp_arena_alloc(arena, *capacity, size);
    if (count)
        memcpy(grown, array, count * size);
    return grown;
}

void csharp_arena_release(struct csharp_arena *arena)
{
    while (arena->blocks) {
        struct csharp_arena_block *block = arena->blocks;
        arena->blocks = block->next;
        free(block);
    }
}
