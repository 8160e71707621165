#include "daemon/compiler/model/load.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

struct file {
    const struct files_memory *memory; /* NULL: a descriptor */
    int descriptor;
};

/* strerror() would answer in the user's language. */
static const char *reason(int error)
{
    switch (error) {
    case ENOENT:
    case ENOTDIR:
        return "there is no such file";
    case EACCES:
    case EPERM:
        return "it may not be read";
    case ELOOP:
        return "its links go round in a circle";
    case ENAMETOOLONG:
        return "its name is too long";
    case EMFILE:
    case ENFILE:
        return "too many files are open";
    default:
        return "it cannot be opened";
    }
}

/* The device and inode that the path leads to are compared with the open file, so that a link which
 * is exchanged between the two looks is noticed. */
static struct file *open_regular(const char *path, struct stat *status, const char **why)
{
    struct file *f = NULL;
    int descriptor = -1;

    /* Looking first keeps devices and pipes from being opened at all. */
    if (stat(path, status)) {
        *why = reason(errno);
        goto out;
    }
    if (!S_ISREG(status->st_mode)) {
        *why = S_ISDIR(status->st_mode) ? "it is a folder" : "it is no regular file";
        goto out;
    }
    descriptor = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
    if (descriptor < 0 || fstat(descriptor, status)) {
        *why = reason(errno);
        goto out;
    }
    if (!S_ISREG(status->st_mode)) {
        *why = "it is no regular file";
        goto out;
    }
    f = malloc(sizeof *f);
    if (!f) {
        *why = "there is no memory left";
        goto out;
    }
    *f = (struct file){.descriptor = descriptor};
    descriptor = -1;
out:
    if (descriptor >= 0)
        close(descriptor);
    return f;
}

static struct file *system_open(struct files *files, struct arena *a, const char *path,
                                const char **why)
{
    struct stat status;

    (void)files;
    (void)a;
    return open_regular(path, &status, why);
}

static void system_close(struct file *f)
{
    if (f && !f->memory)
        close(f->descriptor);
    free(f);
}

static bool lies_inside(const char *folder, const char *path)
{
    size_t length = strlen(folder);

    return !strncmp(folder, path, length) && (path[length] == '/' || !strcmp(folder, "/"));
}

static struct file *system_open_inside(struct files *files, struct arena *a, const char *folder,
                                       const char *location, const char **why)
{
    const char *path = arena_printf(a, "%s/%s", folder, location);
    char *root = NULL, *target = NULL;
    struct stat opened, resolved;
    struct file *f = NULL, *inside = NULL;

    (void)files;
    f = open_regular(path, &opened, why);
    if (!f)
        goto out;
    root = realpath(folder, NULL);
    target = realpath(path, NULL);
    if (!root || !target) {
        *why = reason(errno);
        goto out;
    }
    if (!lies_inside(root, target) || stat(target, &resolved) || resolved.st_dev != opened.st_dev ||
        resolved.st_ino != opened.st_ino) {
        *why = "it lies outside the model's folder";
        goto out;
    }
    inside = f;
    f = NULL;
out:
    free(root);
    free(target);
    system_close(f);
    return inside;
}

static int64_t system_read(struct file *f, uint64_t offset, void *bytes, size_t size)
{
    size_t done = 0;

    while (done < size) {
        ssize_t got;

        if (offset > (uint64_t)INT64_MAX - done)
            break;
        got = pread(f->descriptor, (char *)bytes + done, size - done, (off_t)(offset + done));
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return -1;
        if (got == 0)
            break;
        done += (size_t)got;
    }
    return (int64_t)done;
}

static int64_t nanoseconds(struct timespec t)
{
    int64_t ns;

    /* A file system may hold any number there; it is compared for equality only. */
    if (__builtin_mul_overflow((int64_t)t.tv_sec, 1000000000, &ns))
        return 0;
    return __builtin_add_overflow(ns, (int64_t)t.tv_nsec, &ns) ? 0 : ns;
}

void file_identity_of(const struct stat *status, struct file_identity *id)
{
    *id = (struct file_identity){.device = (uint64_t)status->st_dev,
                                 .inode = (uint64_t)status->st_ino,
                                 .size = (uint64_t)status->st_size,
                                 .modified_ns = nanoseconds(status->st_mtim),
                                 .changed_ns = nanoseconds(status->st_ctim)};
}

bool file_identity_equal(const struct file_identity *a, const struct file_identity *b)
{
    return a->device == b->device && a->inode == b->inode && a->size == b->size &&
           a->modified_ns == b->modified_ns && a->changed_ns == b->changed_ns;
}

int64_t file_clock_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    return nanoseconds(now);
}

static bool system_identity(struct file *f, struct file_identity *id)
{
    struct stat status;

    if (fstat(f->descriptor, &status))
        return false;
    file_identity_of(&status, id);
    return true;
}

static const struct files_functions system_functions = {
    .open = system_open,
    .read = system_read,
    .identity = system_identity,
    .close = system_close,
    .open_inside = system_open_inside,
};

struct files files_system = {.functions = &system_functions};

static struct file *memory_open(struct files *files, struct arena *a, const char *path,
                                const char **why)
{
    const struct files_memory *m = (const struct files_memory *)files;
    struct file *f = NULL;

    (void)a;
    if (strcmp(path, m->path)) {
        *why = reason(ENOENT);
        return NULL;
    }
    f = malloc(sizeof *f);
    if (!f)
        *why = "there is no memory left";
    else
        *f = (struct file){.memory = m, .descriptor = -1};
    return f;
}

static int64_t memory_read(struct file *f, uint64_t offset, void *bytes, size_t size)
{
    size_t left;

    if (offset >= f->memory->size)
        return 0;
    left = f->memory->size - (size_t)offset;
    if (size > left)
        size = left;
    if (size)
        memcpy(bytes, (const char *)f->memory->bytes + offset, size);
    return (int64_t)size;
}

static bool memory_identity(struct file *f, struct file_identity *id)
{
    *id = (struct file_identity){.size = f->memory->size};
    return true;
}

static const struct files_functions memory_functions = {
    .open = memory_open,
    .read = memory_read,
    .identity = memory_identity,
    .close = system_close,
};

void files_memory_init(struct files_memory *m, const char *path, const void *bytes, size_t size)
{
    *m = (struct files_memory){
        .files = {&memory_functions}, .path = path, .bytes = bytes, .size = size};
}
