#ifndef COMPILER_ARENA_H
#define COMPILER_ARENA_H
/*
 * Memory that is freed all at once. Allocation never fails to its caller: when the system has no
 * more, the job that owns the arena is left through its context (ESCAPE_MEMORY).
 *
 * Every arena belongs to one context. Scratch arenas are made with arena_child(): released by hand
 * as soon as they are done with, and in any case with their context, however the job is left. The
 * context keeps a few large chunks that its arenas gave back (at most 1 MiB) for the next ones.
 */
#include <stddef.h>
#include <stdint.h>

struct context;
struct arena_chunk;

struct arena {
    struct context *context;             /* whose way out is taken */
    struct arena_chunk *chunks;          /* newest first */
    struct arena *children;              /* scratch arenas, newest first */
    struct arena *parent, *next, **link; /* of a child: its place among its siblings */
};

/* A place in an arena to go back to. */
struct arena_mark {
    struct arena_chunk *chunk;
    size_t used;
};

void arena_init(struct arena *a, struct context *context);
/* Frees everything, children too. Accepts a zeroed arena. */
void arena_release(struct arena *a);
/* Frees what the context has kept. */
void arena_forget_spare(struct context *context);
/* A scratch arena on the heap; arena_free() it when done, else it goes with its parent. */
struct arena *arena_child(struct arena *parent);
void arena_free(struct arena *child);

/* size bytes, zeroed, aligned for any type. size 0 gives a unique pointer. */
void *arena_alloc(struct arena *a, size_t size);
/* count * size bytes with checked multiplication. */
void *arena_array(struct arena *a, size_t count, size_t size);
/* The same, but of any content: for what is written whole before it is read. */
void *arena_room(struct arena *a, size_t count, size_t size);
char *arena_strdup(struct arena *a, const char *text);
void *arena_memdup(struct arena *a, const void *bytes, size_t size);
/* Copies malloced, which is freed in any case. */
void *arena_take(struct arena *a, void *malloced, size_t size);
char *arena_printf(struct arena *a, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* What is allocated next, up to so many bytes, comes from one piece of memory: which stays when a
 * mark that is set now is gone back to again and again. */
void arena_reserve(struct arena *a, size_t size);

/* Last in, first out: everything allocated from a (not from its children) since the mark is freed.
 */
struct arena_mark arena_mark(const struct arena *a);
void arena_rewind(struct arena *a, struct arena_mark mark);

#define NEW(arena, type) ((type *)arena_alloc((arena), sizeof(type)))
#define NEW_ARRAY(arena, count, type) ((type *)arena_array((arena), (size_t)(count), sizeof(type)))
#define NEW_ROOM(arena, count, type) ((type *)arena_room((arena), (size_t)(count), sizeof(type)))

/* Grows a counted array inside an arena (the old block stays until the arena goes):
 *     item **items; int count, room;  APPEND(arena, items, count, room) = value; */
void *arena_grow(struct arena *a, void *old, size_t count, int *room, size_t size);
#define APPEND(arena, items, count, room)                                                          \
    (*((count) == (room)                                                                           \
           ? ((items) = arena_grow((arena), (items), (size_t)(count), &(room), sizeof *(items)),   \
              &(items)[(count)++])                                                                 \
           : &(items)[(count)++]))

#endif
