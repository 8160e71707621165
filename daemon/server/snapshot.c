#include "daemon/server/snapshot.h"

#include "daemon/server/memory.h"
#include "daemon/server/path.h"
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LATELY_NS 2000000000

/* Less than 2 s ago. A time that is still to come says nothing: a clock was set back, or a copy
 * keeps what another machine took for the time. */
static bool lately(int64_t then_ns, int64_t now_ns)
{
    return then_ns <= now_ns && now_ns - then_ns < LATELY_NS;
}

static bool young(const char *path)
{
    struct file_identity identity;
    int64_t now = file_clock_ns();

    return path_identity(path, &identity) &&
           (lately(identity.modified_ns, now) || lately(identity.changed_ns, now));
}

bool snapshot_being_written(const char *path)
{
    struct file_identity identity;
    bool written = false;
    int descriptor;

    if (!path_identity(path, &identity))
        return false;
    descriptor = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
    if (descriptor < 0)
        return false;
    /* A read lease is granted only while nobody has the file open for writing: the one way to ask
     * the kernel. It is given back at once. */
    if (fcntl(descriptor, F_SETLEASE, F_RDLCK) == 0)
        fcntl(descriptor, F_SETLEASE, F_UNLCK);
    else
        written = errno == EAGAIN || young(path);
    close(descriptor);
    return written;
}

void snapshot_note(struct snapshot *snapshot, const char *path)
{
    struct path_list links = {NULL, 0};
    struct snapshot_file *file;

    if (snapshot_has(snapshot, path))
        return;
    snapshot->list = memory_grow(snapshot->list, snapshot->count, sizeof *snapshot->list);
    file = &snapshot->list[snapshot->count++];
    file->path = memory_text(path);
    file->read_ns = file_clock_ns();
    file->exists = path_identity(path, &file->identity);
    /* What lies at the end of a link, and the links between, are what changes. */
    path_trace(path, true, &links);
    for (size_t i = 0; i < links.count; i++)
        snapshot_note(snapshot, links.list[i]);
    path_list_release(&links);
}

static bool note(struct files *files, const char *path, const char **why)
{
    struct snapshot *snapshot = (struct snapshot *)files;

    snapshot_note(snapshot, path);
    if (!snapshot->written && snapshot_being_written(path)) {
        snapshot->written = true;
        snapshot->writing = memory_text(path);
    }
    if (snapshot->written)
        *why = "it is still being written";
    return !snapshot->written;
}

static struct file *noted_open(struct files *files, struct arena *arena, const char *path,
                               const char **why)
{
    return note(files, path, why) ? files_system.functions->open(&files_system, arena, path, why)
                                  : NULL;
}

static struct file *noted_open_inside(struct files *files, struct arena *arena, const char *folder,
                                      const char *location, const char **why)
{
    /* Events name files by their canonical paths. */
    char *path = path_canonical(arena_printf(arena, "%s/%s", folder, location));
    bool readable = note(files, path, why);

    free(path);
    return readable
               ? files_system.functions->open_inside(&files_system, arena, folder, location, why)
               : NULL;
}

static int64_t noted_read(struct file *file, uint64_t offset, void *bytes, size_t size)
{
    return files_system.functions->read(file, offset, bytes, size);
}

static bool noted_identity(struct file *file, struct file_identity *identity)
{
    return files_system.functions->identity(file, identity);
}

static void noted_close(struct file *file)
{
    files_system.functions->close(file);
}

static const struct files_functions functions = {
    .open = noted_open,
    .read = noted_read,
    .identity = noted_identity,
    .close = noted_close,
    .open_inside = noted_open_inside,
};

void snapshot_init(struct snapshot *snapshot)
{
    *snapshot = (struct snapshot){.files = {&functions}};
}

void snapshot_release(struct snapshot *snapshot)
{
    for (size_t i = 0; i < snapshot->count; i++)
        free(snapshot->list[i].path);
    free(snapshot->list);
    free(snapshot->writing);
    snapshot_init(snapshot);
}

static bool steady(const struct snapshot_file *file)
{
    struct file_identity now;
    bool exists = path_identity(file->path, &now);

    return exists == file->exists && file_identity_equal(&now, &file->identity);
}

bool snapshot_steady(const struct snapshot *snapshot)
{
    for (size_t i = 0; i < snapshot->count; i++)
        if (!steady(&snapshot->list[i]))
            return false;
    return true;
}

enum snapshot_state snapshot_state(const struct snapshot *snapshot)
{
    enum snapshot_state state = SNAPSHOT_SAME;

    for (size_t i = 0; i < snapshot->count; i++) {
        const struct snapshot_file *file = &snapshot->list[i];

        if (!steady(file))
            return SNAPSHOT_CHANGED;
        if (file->exists && !file_identity_settled(&file->identity, file->read_ns))
            state = SNAPSHOT_UNSURE;
    }
    return state;
}

void snapshot_confirm(struct snapshot *snapshot, int64_t now_ns)
{
    for (size_t i = 0; i < snapshot->count; i++)
        snapshot->list[i].read_ns = now_ns;
}

bool snapshot_has(const struct snapshot *snapshot, const char *path)
{
    for (size_t i = 0; i < snapshot->count; i++)
        if (strcmp(snapshot->list[i].path, path) == 0)
            return true;
    return false;
}

void snapshot_copy(struct snapshot *to, const struct snapshot *from)
{
    snapshot_init(to);
    if (from->count)
        to->list = memory_new(from->count * 2 * sizeof *to->list + 4 * sizeof *to->list);
    for (size_t i = 0; i < from->count; i++) {
        to->list[i] = from->list[i];
        to->list[i].path = memory_text(from->list[i].path);
    }
    to->count = from->count;
}
