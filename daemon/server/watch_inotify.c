#include "daemon/server/watch.h"

#include "daemon/server/folders.h"
#include "daemon/server/log.h"
#include "daemon/server/memory.h"
#include "daemon/server/path.h"
#include "daemon/server/table.h"
#include "daemon/server/turn.h"
#include <errno.h>
#include <limits.h>
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

/* A block holds some dozen to a few hundred events. */
#define READ_SIZE (4 * 1024)

struct folder {
    int descriptor;
    char *path;
    uint64_t device, inode;
};

/*
 * A tree is walked by a worker, and the first events may be read here before the walk is over: both
 * look at these tables under the folders' lock.
 */
struct inotify {
    struct watch *watch;
    int descriptor;
    uv_poll_t poll;
    uv_idle_t rest; /* runs while there is what no turn had room for yet */
    int open_handles;
    _Alignas(struct inotify_event) char events[READ_SIZE];
    size_t at, length; /* in events: the next one, and where they end */
    int *given_up;     /* numbers of folders that are not watched any more, but for the system */
    size_t given_up_count;
    struct folders *folders;    /* by path: struct folder, owned */
    struct table by_descriptor; /* the same, by its number in decimal */
};

static char *number(int descriptor, char text[16])
{
    snprintf(text, 16, "%d", descriptor);
    return text;
}

/* Under the lock. */
static void forget(struct inotify *inotify, struct folder *folder)
{
    char text[16];

    if (table_get(&inotify->by_descriptor, number(folder->descriptor, text)) == folder)
        table_take(&inotify->by_descriptor, text);
    folders_take(inotify->folders, FOLDERS_EVENTS, folder->path);
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

    folders_lock(inotify->folders);
    descriptor = inotify_add_watch(inotify->descriptor, path, MASK);
    if (descriptor < 0) {
        rc = -errno;
        goto out;
    }
    folder = folders_get(inotify->folders, FOLDERS_EVENTS, path);
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
    folders_put(inotify->folders, FOLDERS_EVENTS, path, folder);
    table_put(&inotify->by_descriptor, text, folder);
out:
    folders_unlock(inotify->folders);
    return rc;
}

static void work(uv_idle_t *rest);

/* Telling the system takes several times as long as all else, and may wait: events of a number that
 * is nobody's are passed over. */
static void remove_below(void *state, const char *path)
{
    struct inotify *inotify = state;
    const char *first;

    folders_lock(inotify->folders);
    while ((first = folders_first(inotify->folders, FOLDERS_EVENTS, path))) {
        struct folder *folder = folders_get(inotify->folders, FOLDERS_EVENTS, first);

        inotify->given_up =
            memory_grow(inotify->given_up, inotify->given_up_count, sizeof *inotify->given_up);
        inotify->given_up[inotify->given_up_count++] = folder->descriptor;
        forget(inotify, folder);
    }
    folders_unlock(inotify->folders);
    if (inotify->given_up_count)
        uv_idle_start(&inotify->rest, work);
}

static void give_up_one(struct inotify *inotify)
{
    int descriptor = inotify->given_up[--inotify->given_up_count];
    char text[16];

    folders_lock(inotify->folders);
    /* A folder that is watched again has the same number. */
    if (!table_get(&inotify->by_descriptor, number(descriptor, text)))
        inotify_rm_watch(inotify->descriptor, descriptor);
    folders_unlock(inotify->folders);
    if (inotify->given_up_count)
        return;
    free(inotify->given_up);
    inotify->given_up = NULL;
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
    folders_lock(inotify->folders);
    folder = table_get(&inotify->by_descriptor, number(event->wd, text));
    if (folder) {
        path = memory_text(folder->path);
        /* It was moved, but a walk has found it at its new place before this was read. */
        here = event->mask & IN_MOVE_SELF && is_at(folder);
        if (event->mask & IN_IGNORED)
            forget(inotify, folder);
    }
    folders_unlock(inotify->folders);
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

/* False: there are none now. */
static bool read_events(struct inotify *inotify)
{
    ssize_t length = read(inotify->descriptor, inotify->events, sizeof inotify->events);

    inotify->at = 0;
    inotify->length = length > 0 ? (size_t)length : 0;
    return length > 0;
}

static void handle_next(struct inotify *inotify)
{
    const struct inotify_event *event =
        (const struct inotify_event *)(inotify->events + inotify->at);

    inotify->at += sizeof *event + event->len;
    handle(inotify, event);
}

static void work(uv_idle_t *rest)
{
    struct inotify *inotify = rest->data;
    bool more = true;

    while (more) {
        if (inotify->at < inotify->length || read_events(inotify))
            handle_next(inotify);
        else if (inotify->given_up_count)
            give_up_one(inotify);
        else
            break;
        more = turn_more(rest->loop);
    }
    /* What was not read yet makes the descriptor readable again. */
    if (inotify->at < inotify->length || inotify->given_up_count)
        uv_idle_start(rest, work);
    else
        uv_idle_stop(rest);
}

static void readable(uv_poll_t *poll, int status, int events)
{
    struct inotify *inotify = poll->data;

    (void)events;
    /* The rest had its part of this turn already. */
    if (status == 0 && !uv_is_active((uv_handle_t *)&inotify->rest))
        work(&inotify->rest);
}

static void *start(struct watch *watch, struct folders *folders, struct uv_loop_s *loop, int *error)
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
    inotify->folders = folders_hold(folders);
    uv_idle_init(loop, &inotify->rest);
    inotify->open_handles = 2;
    inotify->poll.data = inotify->rest.data = inotify;
    uv_poll_start(&inotify->poll, UV_READABLE, readable);
    uv_unref((uv_handle_t *)&inotify->poll);
    uv_unref((uv_handle_t *)&inotify->rest);
    return inotify;
}

static void closed(uv_handle_t *handle)
{
    struct inotify *inotify = handle->data;
    const char *first;

    if (--inotify->open_handles)
        return;
    folders_lock(inotify->folders);
    while ((first = folders_first(inotify->folders, FOLDERS_EVENTS, "/")))
        forget(inotify, folders_get(inotify->folders, FOLDERS_EVENTS, first));
    folders_unlock(inotify->folders);
    folders_drop(inotify->folders);
    table_release(&inotify->by_descriptor);
    free(inotify->given_up);
    close(inotify->descriptor);
    free(inotify);
}

static void stop(void *state)
{
    struct inotify *inotify = state;

    uv_close((uv_handle_t *)&inotify->poll, closed);
    uv_close((uv_handle_t *)&inotify->rest, closed);
}

const struct watch_backend watch_inotify = {
    .name = "inotify",
    .start = start,
    .add = add,
    .remove = remove_below,
    .stop = stop,
};
