#include "daemon/compiler/arena.h"
#include "daemon/compiler/context.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

struct arena_chunk {
    struct arena_chunk *older;
    size_t used, room;
    size_t dirty; /* bytes that may not be zero: handed out once */
    max_align_t bytes[];
};

enum {
    SMALLEST_CHUNK = 1 << 12,
    LARGEST_CHUNK = 1 << 18,
    POPULATED = 1 << 15,
    ALIGNMENT = _Alignof(max_align_t),
};

/* More bytes than these at once are not even asked for: where a system promises more memory than it
 * has, it would give them, and end the process when they are used. */
static const size_t LARGEST_BLOCK = (size_t)1 << 34;

/* Chunks that a job gave back and keeps, in bytes: a page that is new costs more than the work on
 * it. None where a use of what was freed shall be seen. */
#ifdef __SANITIZE_ADDRESS__
enum { SPARE = 0 };
#else
enum { SPARE = 1 << 20 };
#endif

void arena_init(struct arena *a, struct context *context)
{
    memset(a, 0, sizeof *a);
    a->context = context;
}

/* Asks for a chunk's pages at once: one after the other they come at the price of an exception
 * each, and nearly all will be used. No matter where the system cannot. */
static void chunk_populate(struct arena_chunk *chunk)
{
#ifdef MADV_POPULATE_WRITE
    const uintptr_t page = 4096;
    uintptr_t first = ((uintptr_t)chunk + page - 1) / page * page;
    uintptr_t end = ((uintptr_t)chunk->bytes + chunk->room) / page * page;

    if (chunk->room >= POPULATED && chunk->room <= SPARE && end > first)
        madvise((void *)first, end - first, MADV_POPULATE_WRITE);
#else
    (void)chunk;
#endif
}

/* The smallest spare chunk that has room for need bytes, or a new one of room bytes. NULL: there is
 * no memory. */
static struct arena_chunk *chunk_new(struct context *c, size_t need, size_t room)
{
    struct arena_chunk **best = NULL, *chunk;

    if (c->limit.most && c->held + need > c->limit.most)
        c->limit.passed(c, c->limit.subject);
    for (struct arena_chunk **at = &c->spare; *at; at = &(*at)->older)
        if ((*at)->room >= need && (!best || (*at)->room < (*best)->room))
            best = at;
    if (best) {
        chunk = *best;
        *best = chunk->older;
        c->spare_bytes -= chunk->room;
        c->held += chunk->room;
        return chunk;
    }
    /* The pages of large blocks are new, and zero already; of others only what is asked for is made
     * so. */
    bool fresh = room > SPARE;

    chunk = fresh ? calloc(1, sizeof *chunk + room) : malloc(sizeof *chunk + room);
    if (chunk) {
        chunk->used = 0;
        chunk->dirty = fresh ? 0 : room;
        chunk->room = room;
        c->held += room;
        chunk_populate(chunk);
    }
    return chunk;
}

static void chunk_free(struct context *c, struct arena_chunk *chunk)
{
    c->held -= chunk->room;
    if (chunk->room < POPULATED || chunk->room > SPARE - c->spare_bytes) {
        free(chunk);
        return;
    }
    chunk->used = 0;
    chunk->older = c->spare;
    c->spare = chunk;
    c->spare_bytes += chunk->room;
}

void arena_release(struct arena *a)
{
    while (a->children)
        arena_free(a->children);
    while (a->chunks) {
        struct arena_chunk *chunk = a->chunks;

        a->chunks = chunk->older;
        chunk_free(a->context, chunk);
    }
}

void arena_forget_spare(struct context *c)
{
    while (c->spare) {
        struct arena_chunk *chunk = c->spare;

        c->spare = chunk->older;
        free(chunk);
    }
    c->spare_bytes = 0;
}

struct arena *arena_child(struct arena *parent)
{
    struct arena *child = malloc(sizeof *child);

    if (!child)
        context_escape(parent->context, ESCAPE_MEMORY, "out of memory");
    arena_init(child, parent->context);
    child->parent = parent;
    child->next = parent->children;
    child->link = &parent->children;
    if (child->next)
        child->next->link = &child->next;
    parent->children = child;
    return child;
}

void arena_free(struct arena *child)
{
    if (!child)
        return;
    arena_release(child);
    *child->link = child->next;
    if (child->next)
        child->next->link = child->link;
    free(child);
}

static size_t aligned(size_t size)
{
    return (size + !size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

void arena_reserve(struct arena *a, size_t size)
{
    struct arena_chunk *chunk = a->chunks;

    if (size > LARGEST_BLOCK && a->context->limit.most)
        a->context->limit.passed(a->context, a->context->limit.subject);
    if (size > LARGEST_BLOCK)
        context_escape(a->context, ESCAPE_MEMORY, "out of memory (%zu bytes asked for)", size);
    if (chunk && chunk->room - chunk->used >= aligned(size))
        return;
    /* Chunks double, so that small jobs stay small; a large block gets a chunk of its own. */
    size_t room = chunk ? chunk->room * 2 : SMALLEST_CHUNK;

    if (room > LARGEST_CHUNK)
        room = LARGEST_CHUNK;
    if (room < aligned(size))
        room = aligned(size);
    chunk = chunk_new(a->context, aligned(size), room);
    if (!chunk)
        context_escape(a->context, ESCAPE_MEMORY, "out of memory (%zu bytes asked for)", size);
    chunk->older = a->chunks;
    a->chunks = chunk;
}

/* A block, and how many of its first bytes may not be zero. */
static void *take_block(struct arena *a, size_t size, size_t *dirty)
{
    arena_reserve(a, size);
    struct arena_chunk *chunk = a->chunks;
    size_t need = aligned(size);
    char *block = (char *)chunk->bytes + chunk->used;
    *dirty = chunk->used < chunk->dirty ? chunk->dirty - chunk->used : 0;
    if (*dirty > need)
        *dirty = need;
    chunk->used += need;
    if (chunk->dirty < chunk->used)
        chunk->dirty = chunk->used;
    return block;
}

void *arena_alloc(struct arena *a, size_t size)
{
    size_t dirty;
    void *block = take_block(a, size, &dirty);

    return memset(block, 0, dirty);
}

void *arena_array(struct arena *a, size_t count, size_t size)
{
    size_t bytes;

    if (__builtin_mul_overflow(count, size, &bytes))
        context_escape(a->context, ESCAPE_MEMORY, "out of memory (%zu times %zu bytes)", count,
                       size);
    return arena_alloc(a, bytes);
}

void *arena_room(struct arena *a, size_t count, size_t size)
{
    size_t bytes, dirty;

    if (__builtin_mul_overflow(count, size, &bytes))
        context_escape(a->context, ESCAPE_MEMORY, "out of memory (%zu times %zu bytes)", count,
                       size);
    return take_block(a, bytes, &dirty);
}

void *arena_grow(struct arena *a, void *old, size_t count, int *room, size_t size)
{
    int more = *room ? *room * 2 : 8;

    if (*room > 1 << 29)
        context_escape(a->context, ESCAPE_MEMORY, "out of memory (%d elements)", *room);
    void *grown = arena_array(a, (size_t)more, size);
    if (count)
        memcpy(grown, old, count * size);
    *room = more;
    return grown;
}

void *arena_memdup(struct arena *a, const void *bytes, size_t size)
{
    void *copy = arena_room(a, size, 1);

    if (size)
        memcpy(copy, bytes, size);
    return copy;
}

void *arena_take(struct arena *a, void *malloced, size_t size)
{
    /* A chunk of its own would be adopted without copying, but only the arena knows how chunks
     * begin. The way out is caught for the moment in which the block belongs to nobody. */
    struct context *c = a->context;
    jmp_buf outer;
    void *copy;

    memcpy(outer, c->escape, sizeof outer);
    if (setjmp(c->escape)) {
        free(malloced);
        memcpy(c->escape, outer, sizeof outer);
        longjmp(c->escape, 1);
    }
    copy = arena_memdup(a, malloced, size);
    memcpy(c->escape, outer, sizeof outer);
    free(malloced);
    return copy;
}

char *arena_strdup(struct arena *a, const char *text)
{
    return arena_memdup(a, text, strlen(text) + 1);
}

char *arena_printf(struct arena *a, const char *format, ...)
{
    char first[256];
    va_list arguments, again;

    va_start(arguments, format);
    va_copy(again, arguments);
    int length = vsnprintf(first, sizeof first, format, arguments);
    va_end(arguments);
    if (length < 0)
        length = *first = 0;
    char *text = NEW_ROOM(a, (size_t)length + 1, char);
    if ((size_t)length < sizeof first)
        memcpy(text, first, (size_t)length + 1);
    else
        vsnprintf(text, (size_t)length + 1, format, again);
    va_end(again);
    return text;
}

struct arena_mark arena_mark(const struct arena *a)
{
    return (struct arena_mark){a->chunks, a->chunks ? a->chunks->used : 0};
}

void arena_rewind(struct arena *a, struct arena_mark mark)
{
    while (a->chunks != mark.chunk) {
        struct arena_chunk *chunk = a->chunks;

        a->chunks = chunk->older;
        chunk_free(a->context, chunk);
    }
    if (a->chunks)
        a->chunks->used = mark.used;
}
