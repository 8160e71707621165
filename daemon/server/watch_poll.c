#include "daemon/server/watch.h"

#include "daemon/server/memory.h"
#include "daemon/server/path.h"
#include "daemon/server/table.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <uv.h>

#define POLL_MS 2000
/* Looking takes at most so large a part of the time, as one in so many. */
#define PATIENCE 20

/* What a folder holds. Of a link, what it is itself and what it leads to. */
struct entry {
    char *name;
    bool folder;
    uint64_t device, inode, size, mode;
    int64_t modified_ns, changed_ns; /* of folders 0: what happens inside is their own matter */
    struct file_identity target;     /* of links */
};

struct listing {
    struct entry *entries; /* by name */
    size_t count;
    int error; /* negative errno: it could not be listed */
};

/* One in the table, one for the look that is under way. */
struct polled {
    char *path;
    struct listing listing; /* who looks has it to himself */
    int holders;
    bool removed;
};

struct found {
    enum watch_kind kind;
    struct polled *folder;
    char *name; /* NULL: the folder itself */
};

struct poll {
    struct watch *watch;
    uv_loop_t *loop;
    uv_timer_t timer;
    uv_work_t work;
    bool working, stopping, closed;
    uint64_t not_before_ms;
    pthread_mutex_t mutex; /* the table, holders and removed */
    struct table by_path;  /* struct polled */
    /* Of the look that is under way. */
    struct polled **folders;
    size_t folder_count;
    struct found *found;
    size_t found_count;
    uint64_t took_ms;
};

/* --- listings ------------------------------------------------------------------------------- */

static void listing_release(struct listing *listing)
{
    for (size_t i = 0; i < listing->count; i++)
        free(listing->entries[i].name);
    free(listing->entries);
    *listing = (struct listing){NULL, 0, 0};
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct entry *)a)->name, ((const struct entry *)b)->name);
}

static void list_entry(struct listing *listing, int folder, const char *name)
{
    struct file_identity identity;
    struct stat status;
    struct entry *entry;

    /* Hidden files are nobody's. */
    if (name[0] == '.' || fstatat(folder, name, &status, AT_SYMLINK_NOFOLLOW) < 0)
        return;
    listing->entries = memory_grow(listing->entries, listing->count, sizeof *listing->entries);
    entry = &listing->entries[listing->count++];
    file_identity_of(&status, &identity);
    *entry = (struct entry){
        .name = memory_text(name),
        .folder = S_ISDIR(status.st_mode),
        .device = identity.device,
        .inode = identity.inode,
        .size = S_ISDIR(status.st_mode) ? 0 : identity.size,
        .mode = status.st_mode,
        .modified_ns = S_ISDIR(status.st_mode) ? 0 : identity.modified_ns,
        .changed_ns = S_ISDIR(status.st_mode) ? 0 : identity.changed_ns,
    };
    if (S_ISLNK(status.st_mode) && fstatat(folder, name, &status, 0) == 0)
        file_identity_of(&status, &entry->target);
}

static struct listing list(const char *path)
{
    struct listing listing = {NULL, 0, 0};
    int descriptor = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    DIR *folder = descriptor < 0 ? NULL : fdopendir(descriptor);

    if (!folder) {
        listing.error = -errno;
        if (descriptor >= 0)
            close(descriptor);
        return listing;
    }
    for (const struct dirent *e; (e = readdir(folder));)
        list_entry(&listing, dirfd(folder), e->d_name);
    closedir(folder);
    if (listing.count)
        qsort(listing.entries, listing.count, sizeof *listing.entries, by_name);
    return listing;
}

/* --- looking, on a worker ------------------------------------------------------------------- */

static void find(struct poll *poll, struct polled *folder, enum watch_kind kind, const char *name)
{
    poll->found = memory_grow(poll->found, poll->found_count, sizeof *poll->found);
    poll->found[poll->found_count++] = (struct found){kind, folder, memory_text(name)};
}

static void find_gone(struct poll *poll, struct polled *folder, const struct entry *old)
{
    find(poll, folder, old->folder ? WATCH_FOLDER_GONE : WATCH_FILE, old->name);
}

static void find_come(struct poll *poll, struct polled *folder, const struct entry *new)
{
    find(poll, folder, new->folder ? WATCH_FOLDER_CAME : WATCH_FILE, new->name);
}

static void compare(struct poll *poll, struct polled *folder, const struct entry *old,
                    const struct entry *new)
{
    if (old->folder != new->folder ||
        (old->folder && (old->device != new->device || old->inode != new->inode))) {
        find_gone(poll, folder, old);
        find_come(poll, folder, new);
    } else if (old->folder) {
        if (old->mode != new->mode)
            find(poll, folder, WATCH_FOLDER_CHANGED, new->name);
    } else if (old->device != new->device || old->inode != new->inode || old->size != new->size ||
               old->mode != new->mode || old->modified_ns != new->modified_ns ||
               old->changed_ns != new->changed_ns ||
               !file_identity_equal(&old->target, &new->target)) {
        find(poll, folder, WATCH_FILE, new->name);
    }
}

static void look_at(struct poll *poll, struct polled *folder)
{
    struct listing old = folder->listing, new = list(folder->path);
    size_t i = 0, k = 0;

    while (i < old.count || k < new.count) {
        int order = i == old.count   ? 1
                    : k == new.count ? -1
                                     : strcmp(old.entries[i].name, new.entries[k].name);

        if (order < 0)
            find_gone(poll, folder, &old.entries[i++]);
        else if (order > 0)
            find_come(poll, folder, &new.entries[k++]);
        else
            compare(poll, folder, &old.entries[i++], &new.entries[k++]);
    }
    if (new.error == -ENOENT || new.error == -ENOTDIR || new.error == -ELOOP)
        find(poll, folder, WATCH_SELF_GONE, NULL);
    folder->listing = new;
    listing_release(&old);
}

static void look(uv_work_t *work)
{
    struct poll *poll = work->data;
    uint64_t began = uv_hrtime();

    for (size_t i = 0; i < poll->folder_count; i++)
        look_at(poll, poll->folders[i]);
    poll->took_ms = (uv_hrtime() - began) / 1000000;
}

/* --- on the loop ---------------------------------------------------------------------------- */

static void drop(struct poll *poll, struct polled *folder)
{
    bool last;

    pthread_mutex_lock(&poll->mutex);
    last = --folder->holders == 0;
    pthread_mutex_unlock(&poll->mutex);
    if (!last)
        return;
    listing_release(&folder->listing);
    free(folder->path);
    free(folder);
}

static bool is_removed(struct poll *poll, const struct polled *folder)
{
    bool removed;

    pthread_mutex_lock(&poll->mutex);
    removed = folder->removed;
    pthread_mutex_unlock(&poll->mutex);
    return removed;
}

static void release(struct poll *poll)
{
    void *folder;
    size_t at = 0;

    while (table_each(&poll->by_path, &at, NULL, &folder))
        drop(poll, folder);
    table_release(&poll->by_path);
    pthread_mutex_destroy(&poll->mutex);
    free(poll);
}

static void looked(uv_work_t *work, int status)
{
    struct poll *poll = work->data;

    (void)status;
    for (size_t i = 0; i < poll->found_count; i++) {
        struct found *found = &poll->found[i];

        /* What came before may have ended the watch. */
        if (!poll->stopping && !is_removed(poll, found->folder))
            watch_report(poll->watch, found->kind, found->folder->path, found->name);
        free(found->name);
    }
    for (size_t i = 0; i < poll->folder_count; i++)
        drop(poll, poll->folders[i]);
    free(poll->found);
    free(poll->folders);
    poll->found = NULL;
    poll->folders = NULL;
    poll->found_count = poll->folder_count = 0;
    poll->working = false;
    poll->not_before_ms = uv_now(poll->loop) + PATIENCE * poll->took_ms;
    if (poll->closed)
        release(poll);
}

static void due(uv_timer_t *timer)
{
    struct poll *poll = timer->data;
    void *folder;
    size_t at = 0;

    if (poll->working || uv_now(poll->loop) < poll->not_before_ms)
        return;
    pthread_mutex_lock(&poll->mutex);
    if (poll->by_path.count)
        poll->folders = memory_new(poll->by_path.count * sizeof(struct polled *));
    while (table_each(&poll->by_path, &at, NULL, &folder)) {
        poll->folders[poll->folder_count++] = folder;
        ((struct polled *)folder)->holders++;
    }
    pthread_mutex_unlock(&poll->mutex);
    if (!poll->folder_count)
        return;
    poll->working = true;
    poll->work.data = poll;
    uv_queue_work(poll->loop, &poll->work, look, looked);
}

/* --- the back end ---------------------------------------------------------------------------- */

static int add(void *state, const char *path)
{
    struct poll *poll = state;
    struct polled *folder = memory_new(sizeof *folder);
    struct polled *there;

    folder->path = memory_text(path);
    folder->holders = 1;
    /* What comes from here on differs from this, and is seen. */
    folder->listing = list(path);
    pthread_mutex_lock(&poll->mutex);
    there = table_get(&poll->by_path, path);
    if (!there && !folder->listing.error)
        table_put(&poll->by_path, path, folder);
    pthread_mutex_unlock(&poll->mutex);
    if (there || folder->listing.error) {
        int error = folder->listing.error;

        drop(poll, folder);
        return there ? 0 : error;
    }
    return 0;
}

static void remove_below(void *state, const char *path)
{
    struct poll *poll = state;
    struct polled **gone = NULL;
    size_t count = 0, at = 0;
    const char *key;
    void *value;

    pthread_mutex_lock(&poll->mutex);
    while (table_each(&poll->by_path, &at, &key, &value)) {
        struct polled *folder = value;

        if (!path_inside(path, key))
            continue;
        folder->removed = true;
        gone = memory_grow(gone, count, sizeof(struct polled *));
        gone[count++] = folder;
        table_take(&poll->by_path, key);
    }
    pthread_mutex_unlock(&poll->mutex);
    for (size_t i = 0; i < count; i++)
        drop(poll, gone[i]);
    free(gone);
}

static bool has(void *state, const char *path)
{
    struct poll *poll = state;
    bool found;

    pthread_mutex_lock(&poll->mutex);
    found = table_get(&poll->by_path, path) != NULL;
    pthread_mutex_unlock(&poll->mutex);
    return found;
}

static size_t count(void *state)
{
    struct poll *poll = state;
    size_t folders;

    pthread_mutex_lock(&poll->mutex);
    folders = poll->by_path.count;
    pthread_mutex_unlock(&poll->mutex);
    return folders;
}

static void *start(struct watch *watch, struct uv_loop_s *loop, int *error)
{
    struct poll *poll = memory_new(sizeof *poll);

    *error = 0;
    poll->watch = watch;
    poll->loop = loop;
    pthread_mutex_init(&poll->mutex, NULL);
    uv_timer_init(loop, &poll->timer);
    poll->timer.data = poll;
    uv_timer_start(&poll->timer, due, POLL_MS, POLL_MS);
    uv_unref((uv_handle_t *)&poll->timer);
    return poll;
}

static void closed(uv_handle_t *handle)
{
    struct poll *poll = handle->data;

    poll->closed = true;
    /* A look that is under way ends it. */
    if (!poll->working)
        release(poll);
}

static void stop(void *state)
{
    struct poll *poll = state;

    poll->stopping = true;
    uv_close((uv_handle_t *)&poll->timer, closed);
}

const struct watch_backend watch_poll = {
    .name = "poll",
    .start = start,
    .add = add,
    .remove = remove_below,
    .has = has,
    .count = count,
    .stop = stop,
};
