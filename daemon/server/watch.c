#include "daemon/server/watch.h"

#include "daemon/server/folders.h"
#include "daemon/server/log.h"
#include "daemon/server/memory.h"
#include "daemon/server/path.h"
#include "daemon/server/settle.h"
#include "daemon/server/turn.h"
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/vfs.h>
#include <uv.h>

#define LOST_MS 1000

struct watch {
    struct watch_events events;
    const struct watch_backend *backend;
    void *state;  /* of the back end; NULL: there is none */
    int no_state; /* negative errno: why */
    void *poll;   /* of watch_poll */
    struct folders *folders;
    struct settle settle;
    uv_timer_t timer; /* for what settles */
    uv_timer_t again; /* after changes were lost */
    bool lost, lost_lately;
    int open_handles;
    pthread_mutex_t mutex;
    struct table expected; /* struct file_identity; all 0: deleted. Under the mutex */
};

static int64_t now_ms(struct watch *watch)
{
    return (int64_t)uv_now(watch->timer.loop);
}

static void arm(struct watch *watch);

/* The time of a change is set by the rename, so it does not tell; all else has to agree. */
static bool expected(struct watch *watch, const char *path)
{
    const struct file_identity *mine;
    struct file_identity now;
    bool same = false;

    path_identity(path, &now);
    pthread_mutex_lock(&watch->mutex);
    mine = table_get(&watch->expected, path);
    if (mine)
        same = mine->device == now.device && mine->inode == now.inode && mine->size == now.size &&
               mine->modified_ns == now.modified_ns;
    if (mine && !same)
        free(table_take(&watch->expected, path));
    pthread_mutex_unlock(&watch->mutex);
    return same;
}

static void on_timer(uv_timer_t *timer)
{
    struct watch *watch = timer->data;
    bool more = true;
    char *path;

    /* Of a branch's files that change at once the rest comes with the next turns. */
    while (more && (path = settle_next(&watch->settle, now_ms(watch)))) {
        if (!expected(watch, path))
            watch->events.changed(watch->events.state, path);
        free(path);
        more = turn_more(timer->loop);
    }
    arm(watch);
}

static void arm(struct watch *watch)
{
    int64_t wait = settle_wait(&watch->settle, now_ms(watch));

    /* A timer of 0 may come round in the same turn. */
    if (wait >= 0)
        uv_timer_start(&watch->timer, on_timer, wait ? (uint64_t)wait : 1, 0);
}

static void on_again(uv_timer_t *timer)
{
    struct watch *watch = timer->data;

    watch->lost_lately = false;
    if (watch->lost)
        watch_report(watch, WATCH_LOST, NULL, NULL);
}

void watch_touch(struct watch *watch, const char *path)
{
    uv_update_time(watch->timer.loop);
    settle_touch(&watch->settle, path, now_ms(watch));
    /* One that is armed comes no later than this needs. */
    if (!uv_is_active((uv_handle_t *)&watch->timer))
        arm(watch);
}

void watch_report(struct watch *watch, enum watch_kind kind, const char *folder, const char *name)
{
    char *path = folder && name ? path_join(folder, name) : NULL;

    switch (kind) {
    case WATCH_FILE:
        if (watch->events.wanted(watch->events.state, path))
            watch_touch(watch, path);
        break;
    case WATCH_FOLDER_CAME:
        watch->events.folder_came(watch->events.state, path);
        break;
    case WATCH_FOLDER_CHANGED:
        watch->events.folder_changed(watch->events.state, path ? path : folder);
        break;
    case WATCH_FOLDER_GONE:
    case WATCH_SELF_GONE:
        watch_remove(watch, path ? path : folder);
        settle_forget(&watch->settle, path ? path : folder, true);
        watch->events.folder_gone(watch->events.state, path ? path : folder);
        break;
    case WATCH_LOST:
        watch->lost = watch->lost_lately;
        if (!watch->lost_lately) {
            watch->lost_lately = true;
            uv_timer_start(&watch->again, on_again, LOST_MS, 0);
            watch->events.lost(watch->events.state);
        }
        break;
    }
    free(path);
}

struct watch *watch_new(struct uv_loop_s *loop, const struct watch_events *events, int *error)
{
    struct watch *watch = memory_new(sizeof *watch);

    watch->events = *events;
    watch->backend = &watch_inotify;
    watch->folders = folders_new();
    pthread_mutex_init(&watch->mutex, NULL);
    watch->state = watch->backend->start(watch, watch->folders, loop, &watch->no_state);
    watch->poll = watch_poll.start(watch, watch->folders, loop, error);
    if (!watch->poll) {
        if (watch->state)
            watch->backend->stop(watch->state);
        folders_drop(watch->folders);
        pthread_mutex_destroy(&watch->mutex);
        free(watch);
        return NULL;
    }
    uv_timer_init(loop, &watch->timer);
    uv_timer_init(loop, &watch->again);
    watch->timer.data = watch->again.data = watch;
    watch->open_handles = 2;
    uv_unref((uv_handle_t *)&watch->timer);
    uv_unref((uv_handle_t *)&watch->again);
    return watch;
}

static void closed(uv_handle_t *handle)
{
    struct watch *watch = handle->data;
    void *identity;
    size_t at = 0;

    if (--watch->open_handles)
        return;
    settle_release(&watch->settle);
    while (table_each(&watch->expected, &at, NULL, &identity))
        free(identity);
    table_release(&watch->expected);
    folders_drop(watch->folders);
    pthread_mutex_destroy(&watch->mutex);
    free(watch);
}

void watch_free(struct watch *watch)
{
    if (!watch)
        return;
    if (watch->state)
        watch->backend->stop(watch->state);
    watch_poll.stop(watch->poll);
    uv_close((uv_handle_t *)&watch->timer, closed);
    uv_close((uv_handle_t *)&watch->again, closed);
}

/* File systems that another machine or the host may change without an event here. */
static bool is_remote(const char *folder)
{
    static const uint32_t magics[] = {
        0x00006969 /* NFS */,   0x0000517b /* SMB */,    0xff534d42 /* CIFS */,
        0xfe534d42 /* SMB 2 */, 0x65735546 /* FUSE */,   0x01021997 /* 9P */,
        0x5346414f /* AFS */,   0x6b414653 /* kAFS */,   0x73757245 /* Coda */,
        0x00c36400 /* Ceph */,  0x0bd00bd0 /* Lustre */, 0x01161970 /* GFS2 */,
        0x7461636f /* OCFS2 */, 0x47504653 /* GPFS */,   0x19830326 /* BeeGFS */,
        0x786f4256 /* vbox */,  0xbacbacbc /* VMware */, 0x7c7c6673 /* Parallels */,
    };
    struct statfs status;

    if (statfs(folder, &status) < 0)
        return false;
    for (size_t i = 0; i < sizeof magics / sizeof *magics; i++)
        if ((uint32_t)status.f_type == magics[i])
            return true;
    return false;
}

int watch_add(struct watch *watch, const char *folder)
{
    int rc = watch->state ? watch->backend->add(watch->state, folder) : watch->no_state, polled;

    if (rc == 0 ? !is_remote(folder) : rc != -ENOSPC && rc != -EMFILE && watch->state)
        return rc;
    polled = watch_poll.add(watch->poll, folder);
    return polled < 0 ? polled : rc;
}

void watch_remove(struct watch *watch, const char *folder)
{
    if (watch->state)
        watch->backend->remove(watch->state, folder);
    watch_poll.remove(watch->poll, folder);
}

bool watch_has(struct watch *watch, const char *folder)
{
    return folders_has(watch->folders, folder);
}

size_t watch_count(struct watch *watch)
{
    return folders_count(watch->folders);
}

void watch_expect(struct watch *watch, const char *path, const struct file_identity *identity)
{
    struct file_identity *copy = memory_new(sizeof *copy);

    if (identity)
        *copy = *identity;
    pthread_mutex_lock(&watch->mutex);
    free(table_put(&watch->expected, path, copy));
    pthread_mutex_unlock(&watch->mutex);
}
