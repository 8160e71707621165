#include "daemon/server/write.h"

#include "daemon/asset_cache.h"
#include "daemon/server/path.h"

struct putting {
    struct asset_cache assets; /* first: the state of its hooks */
    const struct write_order *order;
};

static void replacing(void *state, const char *path, const char *temporary)
{
    const struct putting *putting = state;
    struct file_identity identity;

    if (putting->order->watch && (!temporary || path_identity(temporary, &identity)))
        watch_expect(putting->order->watch, path, temporary ? &identity : NULL);
}

static const struct outputs_hooks hooks = {
    .known = asset_cache_known, .made = asset_cache_made, .replacing = replacing};

bool write_files(const struct write_order *order, struct outputs *outputs)
{
    struct putting putting = {.assets = {.cache = order->cache}, .order = order};
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
