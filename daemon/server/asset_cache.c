#include "daemon/server/asset_cache.h"

#include <stdlib.h>
#include <string.h>

static struct key128 key_of(struct hash hash)
{
    return (struct key128){hash.high, hash.low};
}

bool asset_cache_get(struct cache *cache, struct hash recipe, struct hash *content)
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

void asset_cache_put(struct cache *cache, struct hash recipe, struct hash content)
{
    cache_put(cache, CACHE_ASSET, key_of(recipe), &content, sizeof content);
}
