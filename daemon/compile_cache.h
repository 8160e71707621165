#ifndef DAEMON_COMPILE_CACHE_H
#define DAEMON_COMPILE_CACHE_H
/*
 * The compiler's view of the cache: compiler.h knows no cache, cache.h knows no compiler, both the
 * daemon and the command line need the two together.
 *
 *     struct compile_cache_adapter adapter;
 *     job = compile_new(&options, files, compile_cache_init(&adapter, cache), cancel);
 *
 * Holds nothing of its own. Any number of compiles on any threads may share one adapter, as they
 * may share a cache.
 */
#include "cache/cache.h"
#include "daemon/compiler/compiler.h"

struct compile_cache_adapter {
    struct compile_cache base; /* first: what the compiler holds */
    struct cache *cache;       /* borrowed; NULL: misses always */
};

/* The same identity, as the cache writes it. */
struct cache_file_identity compile_cache_identity(const struct file_identity *id);
/* Returns &adapter->base. */
struct compile_cache *compile_cache_init(struct compile_cache_adapter *adapter,
                                         struct cache *cache);

#endif
