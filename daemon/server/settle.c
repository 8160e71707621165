#include "daemon/server/settle.h"

#include "daemon/server/memory.h"
#include <stdlib.h>
#include <string.h>

/* So many are put in order at a time: of a branch's files that change at once the rest comes later.
 */
#define BATCH 256

struct settle_entry {
    char *path;
    int64_t first_ms, last_ms;
    int64_t place_ms; /* in the heap */
    bool gone;        /* taken out or forgotten, but still in the heap or in the list */
};

static int64_t due(const struct settle_entry *entry)
{
    int64_t quiet = entry->last_ms + SETTLE_QUIET_MS, limit = entry->first_ms + SETTLE_LIMIT_MS;

    return quiet < limit ? quiet : limit;
}

static void entry_free(struct settle_entry *entry)
{
    free(entry->path);
    free(entry);
}

/* --- what waits ----------------------------------------------------------------------------- */

static void heap_push(struct settle_heap *heap, struct settle_entry *entry)
{
    size_t at = heap->count;

    entry->place_ms = due(entry);
    heap->entries = memory_grow(heap->entries, heap->count, sizeof(struct settle_entry *));
    heap->count++;
    for (; at && heap->entries[(at - 1) / 2]->place_ms > entry->place_ms; at = (at - 1) / 2)
        heap->entries[at] = heap->entries[(at - 1) / 2];
    heap->entries[at] = entry;
}

static struct settle_entry *heap_pop(struct settle_heap *heap)
{
    struct settle_entry *first = heap->entries[0], *last = heap->entries[--heap->count];
    size_t at = 0, child;

    while ((child = 2 * at + 1) < heap->count) {
        if (child + 1 < heap->count &&
            heap->entries[child + 1]->place_ms < heap->entries[child]->place_ms)
            child++;
        if (heap->entries[child]->place_ms >= last->place_ms)
            break;
        heap->entries[at] = heap->entries[child];
        at = child;
    }
    heap->entries[at] = last;
    return first;
}

/* The one that is due first, which stays where it is; NULL: there is none. */
static struct settle_entry *heap_first(struct settle_heap *heap)
{
    while (heap->count) {
        struct settle_entry *entry = heap->entries[0];

        if (!entry->gone && due(entry) == entry->place_ms)
            return entry;
        heap_pop(heap);
        if (entry->gone)
            entry_free(entry);
        else
            heap_push(heap, entry);
    }
    return NULL;
}

/* --- what is ready -------------------------------------------------------------------------- */

static int by_path(const void *a, const void *b)
{
    return strcmp((*(struct settle_entry *const *)a)->path,
                  (*(struct settle_entry *const *)b)->path);
}

static void fill(struct settle *settle, int64_t now_ms)
{
    struct settle_entry *entry;

    settle->ready_at = settle->ready_count = 0;
    while (settle->ready_count < BATCH && (entry = heap_first(&settle->waiting)) &&
           due(entry) <= now_ms) {
        settle->ready =
            memory_grow(settle->ready, settle->ready_count, sizeof(struct settle_entry *));
        settle->ready[settle->ready_count++] = heap_pop(&settle->waiting);
    }
    if (settle->ready_count)
        qsort(settle->ready, settle->ready_count, sizeof(struct settle_entry *), by_path);
}

/* --- all of it ------------------------------------------------------------------------------ */

void settle_release(struct settle *settle)
{
    while (settle->ready_at < settle->ready_count)
        entry_free(settle->ready[settle->ready_at++]);
    for (size_t i = 0; i < settle->waiting.count; i++)
        entry_free(settle->waiting.entries[i]);
    free(settle->ready);
    free(settle->waiting.entries);
    tree_release(&settle->paths);
    *settle = (struct settle){.ready = NULL};
}

void settle_touch(struct settle *settle, const char *path, int64_t now_ms)
{
    struct settle_entry *entry = tree_get(&settle->paths, path);

    if (entry) {
        entry->last_ms = now_ms;
        return;
    }
    entry = memory_new(sizeof *entry);
    entry->path = memory_text(path);
    entry->first_ms = entry->last_ms = now_ms;
    tree_put(&settle->paths, path, entry);
    heap_push(&settle->waiting, entry);
}

void settle_forget(struct settle *settle, const char *path, bool below)
{
    struct settle_entry *entry;

    while ((entry = below ? tree_pop(&settle->paths, path) : tree_take(&settle->paths, path)))
        entry->gone = true;
}

char *settle_next(struct settle *settle, int64_t now_ms)
{
    char *path = NULL;

    while (!path) {
        struct settle_entry *entry;

        if (settle->ready_at == settle->ready_count)
            fill(settle, now_ms);
        if (!settle->ready_count)
            break;
        entry = settle->ready[settle->ready_at++];
        if (entry->gone) {
            entry_free(entry);
        } else if (due(entry) > now_ms) {
            heap_push(&settle->waiting, entry);
        } else {
            path = entry->path;
            entry->path = NULL;
            tree_take(&settle->paths, path);
            entry_free(entry);
        }
    }
    return path;
}

int64_t settle_wait(struct settle *settle, int64_t now_ms)
{
    const struct settle_entry *entry;

    if (settle->ready_at < settle->ready_count)
        return 0;
    entry = heap_first(&settle->waiting);
    if (!entry)
        return -1;
    return due(entry) > now_ms ? due(entry) - now_ms : 0;
}
