#include "daemon/server/folders.h"

#include "daemon/server/memory.h"
#include "daemon/server/tree.h"
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

struct folders {
    pthread_mutex_t mutex;
    struct tree kinds[FOLDERS_KINDS];
    size_t twice; /* of both kinds: a network file system's own changes come as events, too */
    atomic_size_t holders;
};

struct folders *folders_new(void)
{
    struct folders *folders = memory_new(sizeof *folders);

    pthread_mutex_init(&folders->mutex, NULL);
    atomic_init(&folders->holders, 1);
    return folders;
}

struct folders *folders_hold(struct folders *folders)
{
    atomic_fetch_add_explicit(&folders->holders, 1, memory_order_relaxed);
    return folders;
}

void folders_drop(struct folders *folders)
{
    if (atomic_fetch_sub_explicit(&folders->holders, 1, memory_order_acq_rel) != 1)
        return;
    for (int kind = 0; kind < FOLDERS_KINDS; kind++)
        tree_release(&folders->kinds[kind]);
    pthread_mutex_destroy(&folders->mutex);
    free(folders);
}

static bool is_other(const struct folders *folders, enum folders_kind kind, const char *path)
{
    return tree_get(&folders->kinds[kind == FOLDERS_EVENTS ? FOLDERS_POLLED : FOLDERS_EVENTS],
                    path) != NULL;
}

bool folders_has(struct folders *folders, const char *path)
{
    bool found;

    folders_lock(folders);
    found =
        folders_get(folders, FOLDERS_EVENTS, path) || folders_get(folders, FOLDERS_POLLED, path);
    folders_unlock(folders);
    return found;
}

size_t folders_count(struct folders *folders)
{
    size_t count;

    folders_lock(folders);
    count = folders->kinds[FOLDERS_EVENTS].count + folders->kinds[FOLDERS_POLLED].count -
            folders->twice;
    folders_unlock(folders);
    return count;
}

void folders_lock(struct folders *folders)
{
    pthread_mutex_lock(&folders->mutex);
}

void folders_unlock(struct folders *folders)
{
    pthread_mutex_unlock(&folders->mutex);
}

void *folders_get(const struct folders *folders, enum folders_kind kind, const char *path)
{
    return tree_get(&folders->kinds[kind], path);
}

void folders_put(struct folders *folders, enum folders_kind kind, const char *path, void *value)
{
    tree_put(&folders->kinds[kind], path, value);
    folders->twice += is_other(folders, kind, path);
}

void folders_take(struct folders *folders, enum folders_kind kind, const char *path)
{
    if (tree_take(&folders->kinds[kind], path))
        folders->twice -= is_other(folders, kind, path);
}

const char *folders_first(const struct folders *folders, enum folders_kind kind, const char *folder)
{
    return tree_first(&folders->kinds[kind], folder);
}

const char **folders_list(const struct folders *folders, enum folders_kind kind, size_t *count)
{
    return tree_below(&folders->kinds[kind], "/", count);
}
