#include "daemon/asset_cache.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

static struct key128 key_of(struct hash hash)
{
    return (struct key128){hash.high, hash.low};
}

static int64_t nanoseconds(struct timespec t)
{
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static bool identify(const char *path, struct cache_file_identity *identity)
{
    struct stat status;

    memset(identity, 0, sizeof *identity);
    if (stat(path, &status) < 0 || !S_ISREG(status.st_mode))
        return false;
    identity->device = (uint64_t)status.st_dev;
    identity->inode = (uint64_t)status.st_ino;
    identity->size = (uint64_t)status.st_size;
    identity->mtime_ns = nanoseconds(status.st_mtim);
    identity->ctime_ns = nanoseconds(status.st_ctim);
    return true;
}

static bool recorded(struct cache *cache, struct hash recipe, struct hash *content)
{
    size_t size = 0;
    void *row = NULL;
    bool found =
        cache_get(cache, CACHE_ASSET, key_of(recipe), &row, &size) && size == sizeof *content;

    if (found)
        memcpy(content, row, sizeof *content);
    free(row);
    return found;
}

bool asset_cache_known(void *state, const char *path, const struct compile_asset *asset)
{
    struct asset_cache *a = state;
    struct timespec now;
    struct hash should;
    struct key128 content;

    clock_gettime(CLOCK_REALTIME, &now);
    a->since_ns = nanoseconds(now);
    a->there = identify(path, &a->before);
    return a->there && recorded(a->cache, asset->recipe, &should) &&
           cache_file_get(a->cache, path, &a->before, &content) && content.high == should.high &&
           content.low == should.low;
}

void asset_cache_made(void *state, const char *path, const struct compile_asset *asset,
                      struct hash content, bool written)
{
    struct asset_cache *a = state;
    struct cache_file_identity after;

    cache_put(a->cache, CACHE_ASSET, key_of(asset->recipe), &content, sizeof content);
    /* What was just written is too young for its stat to stand for it. */
    if (!written && a->there && identify(path, &after) && !memcmp(&a->before, &after, sizeof after))
        cache_file_put(a->cache, path, &a->before, a->since_ns, key_of(content));
}
