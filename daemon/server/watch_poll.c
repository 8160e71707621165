#include "daemon/server/watch.h"

#include "daemon/server/folders.h"
#include "daemon/server/memory.h"
#include "daemon/server/path.h"
#include "daemon/server/turn.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
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
    uv_idle_t rest; /* of what was found */
    int open_handles;
    bool working, stopping;
    uint64_t not_before_ms;
    struct folders
        *table; /* by path: struct polled; its lock is that of holders and removed, too */
    /* Of the look that is under way. */
    struct polled **folders;
    size_t folder_count;
    struct found *found;
    size_t found_count, found_at;
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

    folders_lock(poll->table);
    last = --folder->holders == 0;
    folders_unlock(poll->table);
    if (!last)
        return;
    listing_release(&folder->listing);
    free(folder->path);
    free(folder);
}

static bool is_removed(struct poll *poll, const struct polled *folder)
{
    bool removed;

    folders_lock(poll->table);
    removed = folder->removed;
    folders_unlock(poll->table);
    return removed;
}

static struct polled *take_first(struct poll *poll, const char *path)
{
    const char *first = folders_first(poll->table, FOLDERS_POLLED, path);
    struct polled *folder = first ? folders_get(poll->table, FOLDERS_POLLED, first) : NULL;

    if (folder)
        folders_take(poll->table, FOLDERS_POLLED, folder->path);
    return folder;
}

static void release(struct poll *poll)
{
    struct polled *folder;

    for (;;) {
        folders_lock(poll->table);
        folder = take_first(poll, "/");
        folders_unlock(poll->table);
        if (!folder)
            break;
        drop(poll, folder);
    }
    folders_drop(poll->table);
    free(poll);
}

static void end_look(struct poll *poll)
{
    for (size_t i = 0; i < poll->found_count; i++)
        free(poll->found[i].name);
    for (size_t i = 0; i < poll->folder_count; i++)
        drop(poll, poll->folders[i]);
    free(poll->found);
    free(poll->folders);
    poll->found = NULL;
    poll->folders = NULL;
    poll->found_count = poll->found_at = poll->folder_count = 0;
    poll->working = false;
    poll->not_before_ms = uv_now(poll->loop) + PATIENCE * poll->took_ms;
}

/* What was found, as much as this turn of the loop has room for. */
static void report(uv_idle_t *rest)
{
    struct poll *poll = rest->data;
    bool more = true;

    while (more && poll->found_at < poll->found_count) {
        const struct found *found = &poll->found[poll->found_at++];

        /* What came before may have ended the watch. */
        if (!is_removed(poll, found->folder))
            watch_report(poll->watch, found->kind, found->folder->path, found->name);
        more = turn_more(poll->loop);
    }
    if (poll->found_at < poll->found_count) {
        uv_idle_start(rest, report);
        return;
    }
    uv_idle_stop(rest);
    end_look(poll);
}

static void looked(uv_work_t *work, int status)
{
    struct poll *poll = work->data;

    (void)status;
    if (!poll->stopping) {
        report(&poll->rest);
        return;
    }
    end_look(poll);
    if (!poll->open_handles)
        release(poll);
}

static void due(uv_timer_t *timer)
{
    struct poll *poll = timer->data;
    const char **paths;

    if (poll->working || uv_now(poll->loop) < poll->not_before_ms)
        return;
    folders_lock(poll->table);
    paths = folders_list(poll->table, FOLDERS_POLLED, &poll->folder_count);
    if (poll->folder_count)
        poll->folders = memory_new(poll->folder_count * sizeof(struct polled *));
    for (size_t i = 0; i < poll->folder_count; i++) {
        poll->folders[i] = folders_get(poll->table, FOLDERS_POLLED, paths[i]);
        poll->folders[i]->holders++;
    }
    folders_unlock(poll->table);
    free(paths);
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
    folders_lock(poll->table);
    there = folders_get(poll->table, FOLDERS_POLLED, path);
    if (!there && !folder->listing.error)
        folders_put(poll->table, FOLDERS_POLLED, path, folder);
    folders_unlock(poll->table);
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
    struct polled *folder;

    do {
        folders_lock(poll->table);
        folder = take_first(poll, path);
        if (folder)
            folder->removed = true;
        folders_unlock(poll->table);
        if (folder)
            drop(poll, folder);
    } while (folder);
}

static void *start(struct watch *watch, struct folders *folders, struct uv_loop_s *loop, int *error)
{
    struct poll *poll = memory_new(sizeof *poll);

    *error = 0;
    poll->watch = watch;
    poll->loop = loop;
    poll->table = folders_hold(folders);
    uv_timer_init(loop, &poll->timer);
    uv_idle_init(loop, &poll->rest);
    poll->timer.data = poll->rest.data = poll;
    poll->open_handles = 2;
    uv_timer_start(&poll->timer, due, POLL_MS, POLL_MS);
    uv_unref((uv_handle_t *)&poll->timer);
    return poll;
}

static void closed(uv_handle_t *handle)
{
    struct poll *poll = handle->data;

    /* A look that is under way ends it. */
    if (--poll->open_handles == 0 && !poll->working)
        release(poll);
}

static void stop(void *state)
{
    struct poll *poll = state;

    poll->stopping = true;
    if (uv_is_active((uv_handle_t *)&poll->rest))
        end_look(poll);
    uv_close((uv_handle_t *)&poll->timer, closed);
    uv_close((uv_handle_t *)&poll->rest, closed);
}

const struct watch_backend watch_poll = {
    .name = "poll",
    .start = start,
    .add = add,
    .remove = remove_below,
    .stop = stop,
};
