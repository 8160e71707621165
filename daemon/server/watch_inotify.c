#include "daemon/server/watch.h"

#include "daemon/server/log.h"
#include "daemon/server/memory.h"
#include "daemon/server/path.h"
#include "daemon/server/table.h"
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>
#include <uv.h>

/* Never opens or reads: reading a file would be an event of its own. Attributes, because what may
 * not be read today may be tomorrow, and nothing else says so. */
#define MASK                                                                                       \
    (IN_CREATE | IN_MOVED_FROM | IN_MOVED_TO | IN_CLOSE_WRITE | IN_ATTRIB | IN_DELETE |            \
     IN_DELETE_SELF | IN_MOVE_SELF | IN_ONLYDIR | IN_DONT_FOLLOW | IN_EXCL_UNLINK)

/* One turn of the loop reads at most so much, so that a storm of events does not hold the others
 * up. */
#define READ_SIZE (64 * 1024)

struct folder {
    int descriptor;
    char *path;
    uint64_t device, inode;
};

/*
 * A tree is walked by a worker, and the first events may be read here before the walk is over: both
 * look at these tables under the mutex.
 */
struct inotify {
    struct watch *watch;
    int descriptor;
    uv_poll_t poll;
    pthread_mutex_t mutex;
    struct table by_path;       /* struct folder, owned */
    struct table by_descriptor; /* the same, by its number in decimal */
};

static char *number(int descriptor, char text[16])
{
    snprintf(text, 16, "%d", descriptor);
    return text;
}

/* Under the mutex. */
static void forget(struct inotify *inotify, struct folder *folder)
{
    char text[16];

    if (table_get(&inotify->by_descriptor, number(folder->descriptor, text)) == folder)
        table_take(&inotify->by_descriptor, text);
    table_take(&inotify->by_path, folder->path);
    free(folder->path);
    free(folder);
}

static int add(void *state, const char *path)
{
    struct inotify *inotify = state;
    struct folder *folder;
    struct stat status;
    char text[16];
    int rc = 0, descriptor;

    pthread_mutex_lock(&inotify->mutex);
    descriptor = inotify_add_watch(inotify->descriptor, path, MASK);
    if (descriptor < 0) {
        rc = -errno;
        goto out;
    }
    folder = table_get(&inotify->by_path, path);
    if (folder && folder->descriptor == descriptor)
        goto out;
    /* Another folder of the same name before, or the same folder under another name. */
    if (folder) {
        inotify_rm_watch(inotify->descriptor, folder->descriptor);
        forget(inotify, folder);
    }
    folder = table_get(&inotify->by_descriptor, number(descriptor, text));
    if (folder)
        forget(inotify, folder);
    folder = memory_new(sizeof *folder);
    folder->descriptor = descriptor;
    folder->path = memory_text(path);
    if (lstat(path, &status) == 0) {
        folder->device = status.st_dev;
        folder->inode = status.st_ino;
    }
    table_put(&inotify->by_path, path, folder);
    table_put(&inotify->by_descriptor, text, folder);
out:
    pthread_mutex_unlock(&inotify->mutex);
    return rc;
}

static void remove_below(void *state, const char *path)
{
    struct inotify *inotify = state;
    const char *key;
    void *value;
    size_t at = 0;

    pthread_mutex_lock(&inotify->mutex);
    while (table_each(&inotify->by_path, &at, &key, &value)) {
        struct folder *folder = value;

        if (!path_inside(path, key))
            continue;
        inotify_rm_watch(inotify->descriptor, folder->descriptor);
        forget(inotify, folder);
    }
    pthread_mutex_unlock(&inotify->mutex);
}

static bool has(void *state, const char *path)
{
    struct inotify *inotify = state;
    bool found;

    pthread_mutex_lock(&inotify->mutex);
    found = table_get(&inotify->by_path, path) != NULL;
    pthread_mutex_unlock(&inotify->mutex);
    return found;
}

static size_t count(void *state)
{
    struct inotify *inotify = state;
    size_t folders;

    pthread_mutex_lock(&inotify->mutex);
    folders = inotify->by_path.count;
    pthread_mutex_unlock(&inotify->mutex);
    return folders;
}

static bool is_at(const struct folder *folder)
{
    struct stat status;

    return lstat(folder->path, &status) == 0 && status.st_dev == folder->device &&
           status.st_ino == folder->inode;
}

static void handle(struct inotify *inotify, const struct inotify_event *event)
{
    struct folder *folder;
    char text[16], *path = NULL;
    bool here = false;

    if (event->mask & IN_Q_OVERFLOW) {
        watch_report(inotify->watch, WATCH_LOST, NULL, NULL);
        return;
    }
    pthread_mutex_lock(&inotify->mutex);
    folder = table_get(&inotify->by_descriptor, number(event->wd, text));
    if (folder) {
        path = memory_text(folder->path);
        /* It was moved, but a walk has found it at its new place before this was read. */
        here = event->mask & IN_MOVE_SELF && is_at(folder);
        if (event->mask & IN_IGNORED)
            forget(inotify, folder);
    }
    pthread_mutex_unlock(&inotify->mutex);
    if (!path || (event->mask & IN_IGNORED))
        goto out;

    if (event->mask & IN_DELETE_SELF)
        watch_report(inotify->watch, WATCH_SELF_GONE, path, NULL);
    else if (event->mask & IN_MOVE_SELF) {
        if (!here)
            watch_report(inotify->watch, WATCH_SELF_GONE, path, NULL);
    } else if (!event->len) {
        if (event->mask & IN_ATTRIB)
            watch_report(inotify->watch, WATCH_FOLDER_CHANGED, path, NULL);
    } else if (!(event->mask & IN_ISDIR))
        watch_report(inotify->watch, WATCH_FILE, path, event->name);
    else if (event->mask & (IN_CREATE | IN_MOVED_TO))
        watch_report(inotify->watch, WATCH_FOLDER_CAME, path, event->name);
    else if (event->mask & IN_ATTRIB)
        watch_report(inotify->watch, WATCH_FOLDER_CHANGED, path, event->name);
    else if (event->mask & (IN_DELETE | IN_MOVED_FROM))
        watch_report(inotify->watch, WATCH_FOLDER_GONE, path, event->name);
out:
    free(path);
}

static void readable(uv_poll_t *poll, int status, int events)
{
    struct inotify *inotify = poll->data;
    _Alignas(struct inotify_event) char bytes[READ_SIZE];
    ssize_t length;

    (void)events;
    if (status < 0)
        return;
    length = read(inotify->descriptor, bytes, sizeof bytes);
    for (ssize_t at = 0; at < length;) {
        const struct inotify_event *event = (const struct inotify_event *)(bytes + at);

        handle(inotify, event);
        at += (ssize_t)(sizeof *event + event->len);
    }
}

static void *start(struct watch *watch, struct uv_loop_s *loop, int *error)
{
    struct inotify *inotify = memory_new(sizeof *inotify);

    inotify->watch = watch;
    inotify->descriptor = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    if (inotify->descriptor < 0) {
        *error = -errno;
        free(inotify);
        return NULL;
    }
    *error = uv_poll_init(loop, &inotify->poll, inotify->descriptor);
    if (*error < 0) {
        close(inotify->descriptor);
        free(inotify);
        return NULL;
    }
    pthread_mutex_init(&inotify->mutex, NULL);
    inotify->poll.data = inotify;
    uv_poll_start(&inotify->poll, UV_READABLE, readable);
    uv_unref((uv_handle_t *)&inotify->poll);
    return inotify;
}

static void closed(uv_handle_t *handle)
{
    struct inotify *inotify = handle->data;
    const char *key;
    void *folder;
    size_t at = 0;

    while (table_each(&inotify->by_path, &at, &key, &folder))
        forget(inotify, folder);
    table_release(&inotify->by_path);
    table_release(&inotify->by_descriptor);
    close(inotify->descriptor);
    pthread_mutex_destroy(&inotify->mutex);
    free(inotify);
}

static void stop(void *state)
{
    struct inotify *inotify = state;

    uv_close((uv_handle_t *)&inotify->poll, closed);
}

const struct watch_backend watch_inotify = {
    .name = "inotify",
    .start = start,
    .add = add,
    .remove = remove_below,
    .has = has,
    .count = count,
    .stop = stop,
};
