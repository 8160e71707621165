#include "daemon/server/write.h"

#include "daemon/server/asset_cache.h"
#include "daemon/server/path.h"

/* The asset that is being put, between known() and made(). */
struct putting {
    const struct write_order *order;
    struct file_identity before;
    bool there;
    int64_t since_ns;
};

static struct cache_file_identity cached_identity(const struct file_identity *identity)
{
    return (struct cache_file_identity){.device = identity->device,
                                        .inode = identity->inode,
                                        .size = identity->size,
                                        .mtime_ns = identity->modified_ns,
                                        .ctime_ns = identity->changed_ns};
}

/* The payloads' cache is the assets on disk: one that is known to hold what its recipe came to is
 * left alone. */
static bool known(void *state, const char *path, const struct compile_asset *asset)
{
    struct putting *putting = state;
    struct cache *cache = putting->order->cache;
    struct cache_file_identity identity;
    struct hash recorded;
    struct key128 content;

    putting->since_ns = path_now_ns();
    putting->there = path_identity(path, &putting->before);
    identity = cached_identity(&putting->before);
    return putting->there && asset_cache_get(cache, asset->recipe, &recorded) &&
           cache_file_get(cache, path, &identity, &content) && content.high == recorded.high &&
           content.low == recorded.low;
}

static void made(void *state, const char *path, const struct compile_asset *asset,
                 struct hash content, bool written)
{
    struct putting *putting = state;
    struct cache *cache = putting->order->cache;
    struct cache_file_identity identity = cached_identity(&putting->before);
    struct file_identity after;

    asset_cache_put(cache, asset->recipe, content);
    /* What was just written is too young for its stat to stand for it. */
    if (!written && putting->there && path_identity(path, &after) &&
        file_identity_equal(&putting->before, &after))
        cache_file_put(cache, path, &identity, putting->since_ns,
                       (struct key128){content.high, content.low});
}

static void replacing(void *state, const char *path, const char *temporary)
{
    const struct putting *putting = state;
    struct file_identity identity;

    if (putting->order->watch && (!temporary || path_identity(temporary, &identity)))
        watch_expect(putting->order->watch, path, temporary ? &identity : NULL);
}

static const struct outputs_hooks hooks = {.known = known, .made = made, .replacing = replacing};

bool write_files(const struct write_order *order, struct outputs *outputs)
{
    struct putting putting = {.order = order};
    bool good;

    *outputs = (struct outputs){
        .folder = order->folder,
        .withhold_text = !order->with_source,
        .hooks = &hooks,
        .state = &putting,
        .cancel = order->cancel,
    };
    cache_begin(order->cache);
    good = outputs_write(outputs, order->compile);
    cache_commit(order->cache);
    outputs->state = NULL;
    return good;
}
