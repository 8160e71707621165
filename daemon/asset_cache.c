#include "daemon/asset_cache.h"

#include "daemon/compile_cache.h"

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

bool asset_cache_known(void *state, const char *path, const struct compile_asset *asset)
{
    struct asset_cache *a = state;
    struct key128 recipe;

    a->since_ns = file_clock_ns();
    a->there = identify(path, &a->before);
    return a->there && cache_file_get(a->cache, path, &a->before, &recipe) &&
           key128_equal(recipe, key_of(asset->recipe));
}

void asset_cache_made(void *state, const char *path, const struct compile_asset *asset,
                      bool written)
{
    struct asset_cache *a = state;
    struct cache_file_identity after;

    /* What was just written is too young for its stat to stand for it. */
    if (!written && a->there && identify(path, &after) && !memcmp(&a->before, &after, sizeof after))
        cache_file_put(a->cache, path, &a->before, a->since_ns, key_of(asset->recipe));
}
