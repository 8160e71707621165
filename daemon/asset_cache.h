#ifndef DAEMON_ASSET_CACHE_H
#define DAEMON_ASSET_CACHE_H
/*
 * Which recipe an asset file on disk was made from, known by the file's stat: with it, the file is
 * known to be the right one without making its bytes again. The assets on disk are the payloads'
 * cache.
 *
 * A recipe and a path decide every byte of the file (compiler.h), so the recipe stands for the
 * content: nothing is hashed. In the cache, it is kept as a file's content is (cache.h).
 *
 * For outputs_write(): known() and made() are hooks of outputs.h with a struct asset_cache as their
 * state (or as the first member of it). The cache may be NULL. One write at a time for each struct.
 */
#include "cache/cache.h"
#include "daemon/outputs.h"

struct asset_cache {
    struct cache *cache; /* borrowed */
    /* Of the asset that is being put, between known() and made(). */
    struct cache_file_identity before;
    bool there;
    int64_t since_ns;
};

bool asset_cache_known(void *state, const char *path, const struct compile_asset *asset);
void asset_cache_made(void *state, const char *path, const struct compile_asset *asset,
                      bool written);

#endif
