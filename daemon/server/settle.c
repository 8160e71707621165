#include "daemon/server/settle.h"

#include "daemon/server/memory.h"
#include "daemon/server/path.h"
#include <stdlib.h>
#include <string.h>

struct settle_entry {
    int64_t first_ms, last_ms;
};

static int64_t due(const struct settle_entry *entry)
{
    int64_t quiet = entry->last_ms + SETTLE_QUIET_MS, limit = entry->first_ms + SETTLE_LIMIT_MS;

    return quiet < limit ? quiet : limit;
}

void settle_release(struct settle *settle)
{
    void *entry;
    size_t at = 0;

    while (table_each(&settle->paths, &at, NULL, &entry))
        free(entry);
    table_release(&settle->paths);
}

void settle_touch(struct settle *settle, const char *path, int64_t now_ms)
{
    struct settle_entry *entry = table_get(&settle->paths, path);

    if (!entry) {
        entry = memory_new(sizeof *entry);
        entry->first_ms = now_ms;
        table_put(&settle->paths, path, entry);
    }
    entry->last_ms = now_ms;
}

void settle_forget(struct settle *settle, const char *path, bool below)
{
    const char *key;
    void *entry;
    size_t at = 0;

    while (table_each(&settle->paths, &at, &key, &entry))
        if (below ? path_inside(path, key) : strcmp(path, key) == 0)
            free(table_take(&settle->paths, key));
}

char *settle_next(struct settle *settle, int64_t now_ms)
{
    const char *key, *first = NULL;
    char *path = NULL;
    void *entry;
    size_t at = 0;

    while (table_each(&settle->paths, &at, &key, &entry))
        if (due(entry) <= now_ms && (!first || strcmp(key, first) < 0))
            first = key;
    if (first) {
        path = memory_text(first);
        free(table_take(&settle->paths, path));
    }
    return path;
}

int64_t settle_wait(const struct settle *settle, int64_t now_ms)
{
    int64_t wait = -1;
    void *entry;
    size_t at = 0;

    while (table_each(&settle->paths, &at, NULL, &entry)) {
        int64_t left = due(entry) - now_ms;

        if (left < 0)
            left = 0;
        if (wait < 0 || left < wait)
            wait = left;
    }
    return wait;
}
