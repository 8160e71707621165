#include "daemon/asset_cache.h"

#include "daemon/compile_cache.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static struct key128 key_of(struct hash hash)
{
    return (struct key128){hash.high, hash.low};
}

static bool identify(const char *path, struct cache_file_identity *identity)
{
    struct file_identity id = {0};
    struct stat status;
    bool there = stat(path, &status) == 0 && S_ISREG(status.st_mode);

    if (there)
        file_identity_of(&status, &id);
    *identity = compile_cache_identity(&id);
    return there;
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
    struct hash should;
    struct key128 content;

    a->since_ns = file_clock_ns();
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
