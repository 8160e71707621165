#include "daemon/outputs.h"
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define LEFT_BEHIND_S 10
#define LEFT_BEHIND_ALIVE_S 600

/* One file on its way: compared with what is there, or written beside it. */
struct output {
    int descriptor; /* the old file while comparing, the temporary one while writing; -1: none */
    bool differs;   /* while comparing */
    int error;      /* errno of the first fault, 0: none */
};

typedef bool produce(void *state, compile_sink *sink, void *sink_state);

static bool compare_piece(void *state, const void *bytes, size_t size)
{
    struct output *o = state;
    const char *at = bytes;
    char old[1 << 15];

    while (size && !o->differs) {
        size_t most = size < sizeof old ? size : sizeof old;
        ssize_t got = read(o->descriptor, old, most);

        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0 || memcmp(old, at, (size_t)got)) {
            o->differs = true;
            break;
        }
        at += got;
        size -= (size_t)got;
    }
    return !o->differs;
}

static bool write_piece(void *state, const void *bytes, size_t size)
{
    struct output *o = state;
    const char *at = bytes;

    while (size) {
        ssize_t put = write(o->descriptor, at, size);

        if (put < 0 && errno == EINTR)
            continue;
        if (put < 0) {
            o->error = errno;
            return false;
        }
        at += put;
        size -= (size_t)put;
    }
    return true;
}

/* Where a file is to be: its folder, held open, so that one that is renamed meanwhile is still the
 * same, and nothing stays behind in it. */
struct target {
    int folder;
    const char *name; /* in the path */
    int before;       /* characters of the path before the name */
};

/* -1 with errno. */
static int target_open(struct target *target, const char *path)
{
    const char *slash = strrchr(path, '/');
    char *folder = slash ? strndup(path, (size_t)(slash - path) + 1) : strdup(".");

    target->name = slash ? slash + 1 : path;
    target->before = slash ? (int)(slash - path) + 1 : 0;
    target->folder = folder ? open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC) : -1;
    free(folder);
    return target->folder;
}

/* Whether the file is a regular one with exactly the bytes that produce gives. */
static bool same_already(const struct target *target, produce *producer, void *state)
{
    struct output old = {.descriptor = openat(target->folder, target->name,
                                              O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)};
    struct stat status;
    bool same = false;
    char more;

    if (old.descriptor < 0)
        return false;
    if (!fstat(old.descriptor, &status) && S_ISREG(status.st_mode) &&
        producer(state, compare_piece, &old) && !old.differs)
        same = read(old.descriptor, &more, 1) == 0;
    close(old.descriptor);
    return same;
}

/* Creates a file beside the target: hidden and of no known ending, so that whoever looks at the
 * folder meanwhile passes over it. A file that is replaced keeps its permissions; a new one gets
 * what the user's mask leaves (which mkstemp() would not ask). -1 with errno; *temporary, its path,
 * is to be freed. */
static int create_beside(const struct target *target, const char *path, char **temporary)
{
    static atomic_uint last;
    struct stat status;
    int descriptor = -1;

    for (int attempt = 0; attempt < 100 && descriptor < 0; attempt++) {
        free(*temporary);
        if (asprintf(temporary, "%.*s.%s.%ld-%u", target->before, path, target->name,
                     (long)getpid(), atomic_fetch_add(&last, 1)) < 0) {
            *temporary = NULL;
            errno = ENOMEM;
            return -1;
        }
        descriptor = openat(target->folder, *temporary + target->before,
                            O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (descriptor < 0 && errno != EEXIST)
            return -1;
    }
    if (descriptor >= 0 && !fstatat(target->folder, target->name, &status, 0) &&
        S_ISREG(status.st_mode) && fchmod(descriptor, status.st_mode & 07777))
        errno = 0; /* another's file in our folder: the new one is ours */
    return descriptor;
}

/* 1, 0 or -1 as output_replace(). producer may be asked twice, and gives the same bytes. A failure
 * of the producer itself leaves *error 0. out may be NULL. */
static int replace(const struct outputs *out, const char *path, produce *producer, void *state,
                   int *error)
{
    struct output o = {.descriptor = -1};
    struct target target;
    char *temporary = NULL;
    int result = -1;

    *error = 0;
    if (target_open(&target, path) < 0) {
        o.error = errno;
        goto out;
    }
    if (same_already(&target, producer, state)) {
        result = 0;
        goto out;
    }
    o.descriptor = create_beside(&target, path, &temporary);
    if (o.descriptor < 0) {
        o.error = errno;
        goto out;
    }
    if (!producer(state, write_piece, &o)) {
        unlinkat(target.folder, temporary + target.before, 0);
        goto out;
    }
    int closed = close(o.descriptor);
    o.descriptor = -1;
    if (!closed && out && out->hooks && out->hooks->replacing)
        out->hooks->replacing(out->state, path, temporary);
    if (closed || renameat(target.folder, temporary + target.before, target.folder, target.name)) {
        o.error = errno;
        unlinkat(target.folder, temporary + target.before, 0);
        goto out;
    }
    result = 1;
out:
    *error = o.error;
    if (o.descriptor >= 0)
        close(o.descriptor);
    if (target.folder >= 0)
        close(target.folder);
    free(temporary);
    return result;
}

struct bytes {
    const void *data;
    size_t length;
};

static bool produce_bytes(void *state, compile_sink *sink, void *sink_state)
{
    const struct bytes *b = state;

    return sink(sink_state, b->data, b->length);
}

struct asset {
    struct compile *job;
    int number;
    const atomic_bool *cancel;
    compile_sink *sink; /* of the present pass */
    void *sink_state;
};

static bool pass_piece(void *state, const void *bytes, size_t size)
{
    struct asset *a = state;

    if (a->cancel && atomic_load_explicit(a->cancel, memory_order_relaxed))
        return false;
    return a->sink(a->sink_state, bytes, size);
}

static bool produce_asset(void *state, compile_sink *sink, void *sink_state)
{
    struct asset *a = state;

    a->sink = sink;
    a->sink_state = sink_state;
    errno = 0;
    return compile_asset_write(a->job, a->number, pass_piece, a);
}

int output_replace(const char *path, const void *bytes, size_t length, char *why, size_t size)
{
    struct bytes state = {.data = bytes, .length = length};
    int error;
    int result = replace(NULL, path, produce_bytes, &state, &error);

    if (result < 0)
        snprintf(why, size, "%s cannot be written: %s", path, strerror(error));
    return result;
}

static char *join(const char *folder, const char *name, const char *ending)
{
    char *path;

    return asprintf(&path, "%s%s%s%s", folder, *folder ? "/" : "", name, ending) < 0 ? NULL : path;
}

static bool out_of_memory(struct outputs *out)
{
    snprintf(out->why, sizeof out->why, "there is no memory left");
    return false;
}

static bool note_written(struct outputs *out, char *path)
{
    if (out->written_count == out->written_room) {
        int room = out->written_room ? 2 * out->written_room : 8;
        char **grown = realloc(out->written, (size_t)room * sizeof *grown);

        if (!grown)
            return out_of_memory(out);
        out->written = grown;
        out->written_room = room;
    }
    out->written[out->written_count++] = path;
    return true;
}

/* As replace(); path is taken. */
static int put(struct outputs *out, char *path, produce *producer, void *state, struct compile *job)
{
    int error;
    int result = replace(out, path, producer, state, &error);

    if (result < 0)
        snprintf(out->why, sizeof out->why, "%s cannot be written: %s", path,
                 error ? strerror(error)
                 : job ? compile_why(job)
                       : "no reason is known");
    if (result > 0 && note_written(out, path))
        return result;
    free(path);
    return result > 0 ? -1 : result;
}

/* An editor adds lines of its own to a .meta; the line with the identity stays. */
static bool has_identity(const char *path, const char *meta, size_t length)
{
    const char *line = memmem(meta, length, "guid: ", 6);
    int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    char text[4096];
    ssize_t got = -1;

    if (descriptor >= 0) {
        got = read(descriptor, text, sizeof text);
        close(descriptor);
    }
    if (got <= 0 || !line)
        return false;
    length -= (size_t)(line - meta);
    for (size_t i = 0; i < length; i++)
        if (line[i] == '\n' || line[i] == '\r')
            length = i;
    return memmem(text, (size_t)got, line, length) != NULL;
}

static bool put_asset(struct outputs *out, struct compile *job, int number)
{
    int count;
    const struct compile_asset *row = &compile_assets(job, &count)[number];
    const struct outputs_hooks *hooks = out->hooks;
    struct asset asset = {.job = job, .number = number, .cancel = out->cancel};
    char *path = join(out->folder, row->name, ""), *again;
    int result;

    if (!path)
        return out_of_memory(out);
    if (hooks && hooks->known && hooks->known(out->state, path, row)) {
        free(path);
        return true;
    }
    again = strdup(path);
    result = put(out, path, produce_asset, &asset, job);
    if (result >= 0 && again && hooks && hooks->made)
        hooks->made(out->state, again, row, result > 0);
    free(again);
    return result >= 0;
}

static bool put_meta(struct outputs *out, const struct compile_asset *row)
{
    struct bytes meta = {.data = row->meta, .length = row->meta_length};
    char *path = join(out->folder, row->name, ".meta");

    if (!path)
        return out_of_memory(out);
    if (has_identity(path, row->meta, row->meta_length)) {
        free(path);
        return true;
    }
    return put(out, path, produce_bytes, &meta, NULL) >= 0;
}

static bool cancelled(struct outputs *out)
{
    if (!out->cancel || !atomic_load_explicit(out->cancel, memory_order_relaxed))
        return false;
    snprintf(out->why, sizeof out->why, "cancelled");
    return true;
}

bool outputs_is_asset(const char *name, const char *stem)
{
    size_t stem_length = strlen(stem);
    const char *at = name + stem_length;

    if (strncmp(name, stem, stem_length) || strncmp(at, ".w", 2) || !isdigit((unsigned char)at[2]))
        return false;
    at += 2;
    while (isdigit((unsigned char)*at))
        at++;
    if (*at == 's')
        at++;
    if (!strncmp(at, "Style", 5) && isdigit((unsigned char)at[5])) {
        at += 5;
        while (isdigit((unsigned char)*at))
            at++;
    }
    return !strcmp(at, ".asset") || !strcmp(at, ".asset.meta");
}

static bool ends_with(const char *text, size_t length, const char *ending)
{
    size_t size = strlen(ending);

    return length > size && !memcmp(text + length - size, ending, size);
}

/* Whether name is one of create_beside()'s, .NAME.PID-NUMBER, of one of our files. *pid: its
 * maker's. */
static bool is_temporary(const char *name, long *pid)
{
    const char *dot = strrchr(name, '.');
    size_t length = dot ? (size_t)(dot - name) : 0;
    char *at;

    if (*name != '.' || !dot || !isdigit((unsigned char)dot[1]))
        return false;
    errno = 0;
    *pid = strtol(dot + 1, &at, 10);
    if (errno || *pid <= 0 || *at != '-' || !at[1] || at[1 + strspn(at + 1, "0123456789")])
        return false;
    return ends_with(name, length, ".Model.cs") || ends_with(name, length, ".asset") ||
           ends_with(name, length, ".asset.meta");
}

bool outputs_is_temporary(const char *name)
{
    long pid;

    return is_temporary(name, &pid);
}

enum left { LEFT_NOT, LEFT_YOUNG, LEFT_BEHIND };

/*
 * Whether a process was killed while it wrote this. That its maker is not to be seen is no proof
 * where machines or containers share a folder; that nobody writes it any more is one. That its
 * number is somebody's is none either, numbers come round again: but no file is ten minutes on its
 * way. A time that is still to come is one that passed before a clock was set back.
 */
static enum left is_left_behind(int folder, const char *name)
{
    struct stat status;
    int64_t age;
    bool alive;
    long pid;

    if (!is_temporary(name, &pid) || pid > INT_MAX ||
        fstatat(folder, name, &status, AT_SYMLINK_NOFOLLOW) || !S_ISREG(status.st_mode))
        return LEFT_NOT;
    alive = !kill((pid_t)pid, 0) || errno != ESRCH;
    age = llabs((int64_t)time(NULL) - (int64_t)status.st_mtime);
    if (age > (alive ? LEFT_BEHIND_ALIVE_S : LEFT_BEHIND_S))
        return LEFT_BEHIND;
    return alive ? LEFT_NOT : LEFT_YOUNG;
}

int outputs_sweep(const char *path)
{
    DIR *folder = opendir(path);
    int young = 0;

    for (const struct dirent *e; folder && (e = readdir(folder));) {
        enum left left = is_left_behind(dirfd(folder), e->d_name);

        young += left == LEFT_YOUNG;
        if (left == LEFT_BEHIND)
            unlinkat(dirfd(folder), e->d_name, 0);
    }
    if (folder)
        closedir(folder);
    return young;
}

static bool is_listed(const char *name, const struct compile_asset *assets, int count)
{
    size_t length = strlen(name);

    if (length > 5 && !strcmp(name + length - 5, ".meta"))
        length -= 5;
    for (int i = 0; i < count; i++)
        if (strlen(assets[i].name) == length && !strncmp(assets[i].name, name, length))
            return true;
    return false;
}

/* A failure here is no failure of the write: the new files are all there. */
static void delete_unlisted(struct outputs *out, const char *file_name,
                            const struct compile_asset *assets, int count)
{
    static const char ending[] = ".Model.cs";
    size_t length = strlen(file_name);
    DIR *folder = opendir(*out->folder ? out->folder : ".");
    char *stem = strdup(file_name);

    if (stem && length > sizeof ending - 1 && !strcmp(stem + length - (sizeof ending - 1), ending))
        stem[length - (sizeof ending - 1)] = '\0';
    for (const struct dirent *e; folder && stem && (e = readdir(folder));) {
        char *path;

        if (is_left_behind(dirfd(folder), e->d_name) == LEFT_BEHIND) {
            unlinkat(dirfd(folder), e->d_name, 0);
            continue;
        }
        if (!outputs_is_asset(e->d_name, stem) || is_listed(e->d_name, assets, count))
            continue;
        path = join(out->folder, e->d_name, "");
        if (path && out->hooks && out->hooks->replacing)
            out->hooks->replacing(out->state, path, NULL);
        free(path);
        if (!unlinkat(dirfd(folder), e->d_name, 0))
            out->deleted++;
    }
    if (folder)
        closedir(folder);
    free(stem);
}

bool outputs_write(struct outputs *out, struct compile *job)
{
    int count;
    const struct compile_asset *assets = compile_assets(job, &count);
    const char *file_name = compile_file_name(job);
    struct bytes text;
    char *path;

    for (int i = 0; i < count; i++)
        if (cancelled(out) || !put_asset(out, job, i) || !put_meta(out, &assets[i]))
            return false;
    if (cancelled(out))
        return false;
    if (!out->withhold_text) {
        text.data = compile_text(job, &text.length);
        path = join(out->folder, file_name, "");
        if (!path)
            return out_of_memory(out);
        if (put(out, path, produce_bytes, &text, NULL) < 0)
            return false;
    }
    delete_unlisted(out, file_name, assets, count);
    return true;
}

void outputs_release(struct outputs *out)
{
    for (int i = 0; i < out->written_count; i++)
        free(out->written[i]);
    free(out->written);
    out->written = NULL;
    out->written_count = out->written_room = 0;
}
