#ifndef DAEMON_SERVER_ASSET_CACHE_H
#define DAEMON_SERVER_ASSET_CACHE_H
/*
 * What the asset file of a recipe came to, by its content hash: with it, an asset on disk is known
 * to be the right one without making its bytes again. Any thread; the cache may be NULL.
 */
#include "cache/cache.h"
#include "daemon/compiler/graph/hash.h"

bool asset_cache_get(struct cache *cache, struct hash recipe, struct hash *content);
void asset_cache_put(struct cache *cache, struct hash recipe, struct hash content);

#endif
