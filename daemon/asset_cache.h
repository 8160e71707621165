#ifndef DAEMON_ASSET_CACHE_H
#define DAEMON_ASSET_CACHE_H
/*
 * What the asset file of a recipe came to, by its content hash: with it, an asset on disk is known
 * to be the right one without making its bytes again. The assets on disk are the payloads' cache.
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
                      struct hash content, bool written);

#endif
