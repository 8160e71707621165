/*
 * csharp_arena: memory that lives as long as one scan or as its result, for the files csharp*.c
 * only.
 *
 * An allocation never fails where it is made: when the system has no more memory, control goes back
 * to the setjmp that `out_of_memory` names, whose owner releases its arenas. Nothing but arenas is
 * held across that jump.
 */
#ifndef DAEMON_LANGUAGE_CSHARP_ARENA_H
#define DAEMON_LANGUAGE_CSHARP_ARENA_H

#include <setjmp.h>
#include <stddef.h>

struct csharp_arena_block;

struct csharp_arena {
    struct csharp_arena_block *blocks;
    jmp_buf *out_of_memory;
};

/* count * size bytes, zeroed, aligned for any type. */
void *csharp_arena_alloc(struct csharp_arena *arena, size_t count, size_t size);

/* Room for at least one item more than count: array itself, or a copy of its items twice as long.
 * *capacity counts items. */
void *csharp_arena_grow(struct csharp_arena *arena, void *array, size_t count, size_t *capacity,
                        size_t size);

void csharp_arena_release(struct csharp_arena *arena);

#endif
