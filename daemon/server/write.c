#include "daemon/server/write.h"

#include "daemon/server/asset_cache.h"
#include "daemon/server/memory.h"
#include "daemon/server/path.h"
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define BLOCK ((size_t)64 * 1024)

/* Where a file's bytes come from: called again for each pass over them. */
struct origin {
    struct compile *compile;
    int asset; /* -1: bytes */
    const void *bytes;
    size_t size;
};

/* One pass: compares with an open file, or writes to one. */
struct pass {
    int descriptor;
    bool compare, differs;
    int64_t length;
    int error;
    struct hasher hasher;
    const atomic_bool *cancel;
};

static bool stopped(const struct write_order *order)
{
    return order->cancel && atomic_load_explicit(order->cancel, memory_order_relaxed);
}

static bool compare_block(struct pass *pass, const char *bytes, size_t size)
{
    char block[4096];

    while (size) {
        size_t part = size < sizeof block ? size : sizeof block;
        ssize_t got = pread(pass->descriptor, block, part, (off_t)pass->length);

        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0 || memcmp(block, bytes, (size_t)got) != 0) {
            pass->differs = true;
            return false;
        }
        pass->length += got;
        bytes += got;
        size -= (size_t)got;
    }
    return true;
}

static bool write_block(struct pass *pass, const char *bytes, size_t size)
{
    while (size) {
        ssize_t put = write(pass->descriptor, bytes, size);

        if (put < 0 && errno == EINTR)
            continue;
        if (put < 0) {
            pass->error = -errno;
            return false;
        }
        pass->length += put;
        bytes += put;
        size -= (size_t)put;
    }
    return true;
}

static bool sink(void *state, const void *bytes, size_t size)
{
    struct pass *pass = state;

    if (pass->cancel && atomic_load_explicit(pass->cancel, memory_order_relaxed)) {
        pass->error = -ECANCELED;
        return false;
    }
    hasher_add(&pass->hasher, bytes, size);
    return pass->compare ? compare_block(pass, bytes, size) : write_block(pass, bytes, size);
}

/* 0, or the reason why the pass did not come to its end; stopping at a difference is none. */
static int run_pass(const struct origin *origin, struct pass *pass)
{
    bool whole = origin->asset >= 0
                     ? compile_asset_write(origin->compile, origin->asset, sink, pass)
                     : sink(pass, origin->bytes, origin->size);

    if (pass->error)
        return pass->error;
    return whole || pass->differs ? 0 : -EIO;
}

static void note(struct write_result *result, const char *path)
{
    result->files = memory_grow(result->files, result->count, sizeof *result->files);
    result->files[result->count++] = memory_text(path);
}

/* A new file in the folder, with the mode that the one to be replaced has. */
static int open_temporary(const char *folder, const char *target, char **path)
{
    static atomic_uint number;
    struct stat status;
    int descriptor;

    for (int i = 0; i < 100; i++) {
        char *name = memory_printf("%s%ld-%u.tmp", WRITE_TEMPORARY, (long)getpid(),
                                   atomic_fetch_add(&number, 1));

        free(*path);
        *path = path_join(folder, name);
        free(name);
        descriptor = open(*path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
        if (descriptor >= 0) {
            if (stat(target, &status) == 0 && S_ISREG(status.st_mode))
                fchmod(descriptor, status.st_mode & 07777);
            return descriptor;
        }
        if (errno != EEXIST)
            break;
    }
    return -errno;
}

static int replace(const struct write_order *order, const char *path, const struct origin *origin,
                   struct hash *content)
{
    struct pass pass = {.descriptor = -1, .cancel = order->cancel};
    struct file_identity identity;
    char *temporary = NULL;
    int rc;

    hasher_init(&pass.hasher);
    pass.descriptor = open_temporary(order->folder, path, &temporary);
    if (pass.descriptor < 0) {
        rc = pass.descriptor;
        goto out;
    }
    rc = run_pass(origin, &pass);
    /* Some file systems report a full disk only here. */
    if (close(pass.descriptor) < 0 && rc == 0)
        rc = -errno;
    if (rc == 0 && order->watch && path_identity(temporary, &identity))
        watch_expect(order->watch, path, &identity);
    if (rc == 0 && rename(temporary, path) < 0)
        rc = -errno;
    if (rc < 0)
        unlink(temporary);
    *content = hasher_finish(&pass.hasher);
out:
    free(temporary);
    return rc;
}

/* 1: the file has the very bytes. 0: it has not. */
static int same_bytes(const struct write_order *order, const char *path,
                      const struct origin *origin, struct hash *content)
{
    struct pass pass = {.compare = true, .cancel = order->cancel};
    struct stat status;
    int rc = 0;

    hasher_init(&pass.hasher);
    pass.descriptor = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOFOLLOW);
    if (pass.descriptor < 0)
        return 0;
    if (fstat(pass.descriptor, &status) < 0 || !S_ISREG(status.st_mode))
        goto out;
    rc = run_pass(origin, &pass);
    if (rc == 0)
        rc = !pass.differs && pass.length == (int64_t)status.st_size;
    *content = hasher_finish(&pass.hasher);
out:
    close(pass.descriptor);
    return rc;
}

/* Writes where bytes differ. 1: written. */
static int put(const struct write_order *order, const char *path, const struct origin *origin,
               struct hash *content)
{
    int rc = same_bytes(order, path, origin, content);

    if (rc < 0)
        return rc;
    if (rc)
        return 0;
    rc = replace(order, path, origin, content);
    return rc < 0 ? rc : 1;
}

/* The payloads' cache is the assets on disk: one that is known to hold what its recipe came to is
 * left alone. */
static int put_asset(const struct write_order *order, const char *path, int number,
                     const struct compile_asset *asset)
{
    const struct origin origin = {.compile = order->compile, .asset = number};
    struct file_identity before, after;
    struct cache_file_identity identity;
    struct hash recorded, content;
    struct key128 known;
    int64_t now = path_now_ns();
    bool there = path_identity(path, &before);
    int rc;

    identity = (struct cache_file_identity){before.device, before.inode, before.size,
                                            before.modified_ns, before.changed_ns};
    if (there && asset_cache_get(order->cache, asset->recipe, &recorded) &&
        cache_file_get(order->cache, path, &identity, &known) && known.high == recorded.high &&
        known.low == recorded.low)
        return 0;
    rc = put(order, path, &origin, &content);
    if (rc < 0)
        return rc;
    asset_cache_put(order->cache, asset->recipe, content);
    if (rc == 0 && path_identity(path, &after) && file_identity_equal(&before, &after))
        cache_file_put(order->cache, path, &identity, now,
                       (struct key128){content.high, content.low});
    return rc;
}

/* An editor adds lines of its own to a `.meta`; as long as the identity is ours it is left alone.
 */
static bool has_guid(const char *path, const char *meta, size_t length)
{
    char text[4096], guid[64] = "";
    const char *line = memmem(meta, length, "guid: ", 6);
    int descriptor = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    ssize_t got = -1;

    if (descriptor >= 0) {
        got = pread(descriptor, text, sizeof text, 0);
        close(descriptor);
    }
    if (got <= 0 || !line)
        return false;
    snprintf(guid, sizeof guid, "%.*s", (int)strcspn(line, "\r\n"), line);
    return memmem(text, (size_t)got, guid, strlen(guid)) != NULL;
}

static int put_assets(const struct write_order *order, struct write_result *result)
{
    int count, rc = 0;
    const struct compile_asset *assets = compile_assets(order->compile, &count);

    for (int i = 0; i < count && rc >= 0; i++) {
        char *path = path_join(order->folder, assets[i].name);
        char *meta = memory_printf("%s.meta", path);
        const struct origin origin = {
            .asset = -1, .bytes = assets[i].meta, .size = assets[i].meta_length};
        struct hash content;

        rc = put_asset(order, path, i, &assets[i]);
        if (rc > 0)
            note(result, path);
        if (rc >= 0 && assets[i].meta && !has_guid(meta, assets[i].meta, assets[i].meta_length)) {
            rc = put(order, meta, &origin, &content);
            if (rc > 0)
                note(result, meta);
        }
        if (rc < 0)
            result->failed = memory_text(path);
        if (rc >= 0 && stopped(order))
            rc = -ECANCELED;
        free(meta);
        free(path);
    }
    return rc < 0 ? rc : 0;
}

static int put_source(const struct write_order *order, struct write_result *result)
{
    struct origin origin = {.asset = -1};
    char *path = path_join(order->folder, compile_file_name(order->compile));
    struct hash content;
    int rc;

    origin.bytes = compile_text(order->compile, &origin.size);
    rc = put(order, path, &origin, &content);
    if (rc > 0)
        note(result, path);
    if (rc < 0)
        result->failed = memory_text(path);
    free(path);
    return rc < 0 ? rc : 0;
}

bool write_is_asset(const char *stem, const char *name)
{
    size_t length = strlen(stem);
    const char *at = name + length;

    if (strncmp(name, stem, length) != 0 || strncmp(at, ".w", 2) != 0 ||
        !isdigit((unsigned char)at[2]))
        return false;
    for (at += 2; isalnum((unsigned char)*at); at++)
        ;
    return strcmp(at, ".asset") == 0;
}

static bool listed(const struct compile_asset *assets, int count, const char *name)
{
    for (int i = 0; i < count; i++)
        if (strcmp(assets[i].name, name) == 0)
            return true;
    return false;
}

static void delete_file(const struct write_order *order, struct write_result *result,
                        const char *path)
{
    struct stat status;

    if (lstat(path, &status) < 0 || !S_ISREG(status.st_mode))
        return;
    if (order->watch)
        watch_expect(order->watch, path, NULL);
    if (unlink(path) == 0)
        note(result, path);
}

static void delete_unlisted(const struct write_order *order, struct write_result *result)
{
    int count;
    const struct compile_asset *assets = compile_assets(order->compile, &count);
    DIR *folder = opendir(order->folder);
    struct dirent *entry;

    while (folder && (entry = readdir(folder))) {
        char *path, *meta;

        if (!write_is_asset(order->stem, entry->d_name) || listed(assets, count, entry->d_name))
            continue;
        path = path_join(order->folder, entry->d_name);
        meta = memory_printf("%s.meta", path);
        delete_file(order, result, path);
        delete_file(order, result, meta);
        free(meta);
        free(path);
    }
    if (folder)
        closedir(folder);
}

void write_files(const struct write_order *order, struct write_result *result)
{
    *result = (struct write_result){.error = 0};
    cache_begin(order->cache);
    result->error = put_assets(order, result);
    if (result->error == 0 && order->with_source)
        result->error = put_source(order, result);
    if (result->error == 0)
        delete_unlisted(order, result);
    cache_commit(order->cache);
}

void write_result_release(struct write_result *result)
{
    for (size_t i = 0; i < result->count; i++)
        free(result->files[i]);
    free(result->files);
    free(result->failed);
    *result = (struct write_result){.error = 0};
}
