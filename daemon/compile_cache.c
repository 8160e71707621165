#include "daemon/compile_cache.h"
#include <limits.h>
#include <stdlib.h>
#include <string.h>

static struct cache *cache_of(struct compile_cache *base)
{
    return ((struct compile_cache_adapter *)base)->cache;
}

/* Kinds are few and looked up by the names that kinds.def gives them; -1: not one of them. */
static int kind_of(const char *name)
{
    for (int kind = 1; kind < CACHE_KIND_END; kind++)
        if (!strcmp(cache_kind_name((enum cache_kind)kind), name))
            return kind;
    return -1;
}

static struct key128 key_of(struct hash hash)
{
    return (struct key128){.high = hash.high, .low = hash.low};
}

static bool get(struct compile_cache *base, const char *kind, struct hash key, void **row,
                size_t *size)
{
    int number = kind_of(kind);

    *row = NULL;
    *size = 0;
    return number > 0 && cache_get(cache_of(base), (enum cache_kind)number, key_of(key), row, size);
}

static void put(struct compile_cache *base, const char *kind, struct hash key, const void *row,
                size_t size)
{
    int number = kind_of(kind);

    if (number > 0)
        cache_put(cache_of(base), (enum cache_kind)number, key_of(key), row, size);
}

struct cache_file_identity compile_cache_identity(const struct file_identity *id)
{
    return (struct cache_file_identity){
        .device = id->device,
        .inode = id->inode,
        .size = id->size,
        .mtime_ns = id->modified_ns,
        .ctime_ns = id->changed_ns,
    };
}

/* Files are keyed by absolute paths, so that one file has one row from wherever it is named. The
 * name is looked up as it stands: the identity says which file it leads to. NULL: as given. */
static char *absolute(const char *path)
{
    return path[0] == '/' ? NULL : realpath(path, NULL);
}

static bool file_get(struct compile_cache *base, const char *path, const struct file_identity *id,
                     struct hash *hash)
{
    struct cache_file_identity identity = compile_cache_identity(id);
    char *full = absolute(path);
    struct key128 key;
    bool found = cache_file_get(cache_of(base), full ? full : path, &identity, &key);

    if (found)
        *hash = (struct hash){.high = key.high, .low = key.low};
    free(full);
    return found;
}

static void file_put(struct compile_cache *base, const char *path, const struct file_identity *id,
                     struct hash hash, int64_t hashed_at_ns)
{
    struct cache_file_identity identity = compile_cache_identity(id);
    char *full = absolute(path);

    cache_file_put(cache_of(base), full ? full : path, &identity, hashed_at_ns, key_of(hash));
    free(full);
}

struct compile_cache *compile_cache_init(struct compile_cache_adapter *adapter, struct cache *cache)
{
    *adapter = (struct compile_cache_adapter){
        .base = {.get = get, .put = put, .file_get = file_get, .file_put = file_put},
        .cache = cache,
    };
    return &adapter->base;
}
