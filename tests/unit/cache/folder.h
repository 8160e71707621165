#ifndef TESTS_CACHE_FOLDER_H
#define TESTS_CACHE_FOLDER_H

/* What the cache's tests share: a private folder a test, and payloads that tell which key they
 * belong to. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cache/cache.h"
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MIB (1024u * 1024)

struct folder {
    char path[256];
    char file[300]; /* the cache's */
    char aside[310];
};

static inline int folder_make(void **state)
{
    struct folder *folder = calloc(1, sizeof *folder);
    const char *root = getenv("TMPDIR");

    if (!folder)
        return -1;
    snprintf(folder->path, sizeof folder->path, "%s/cache-test-XXXXXX", root ? root : "/tmp");
    if (!mkdtemp(folder->path))
        return -1;
    snprintf(folder->file, sizeof folder->file, "%s/cache.sqlite", folder->path);
    snprintf(folder->aside, sizeof folder->aside, "%s.bad", folder->file);
    *state = folder;
    return 0;
}

static inline int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)st, (void)type, (void)ftw;
    return remove(path);
}

static inline int folder_remove(void **state)
{
    struct folder *folder = *state;

    chmod(folder->path, 0700);
    int code = nftw(folder->path, remove_one, 16, FTW_DEPTH | FTW_PHYS);

    free(folder);
    return code;
}

static inline struct key128 row_key(unsigned i)
{
    return (struct key128){0x9e3779b97f4a7c15u * (i + 1), i};
}

static inline size_t row_size(unsigned i)
{
    return i % 10 == 0 ? 0 : (i * 7919u) % 9000;
}

static inline unsigned char *row_blob(unsigned i)
{
    unsigned char *blob = malloc(row_size(i) + 1);
    uint32_t noise = i + 1;

    assert_non_null(blob);
    for (size_t j = 0; j < row_size(i); j++) {
        noise = noise * 1664525u + 1013904223u;
        blob[j] = (unsigned char)(noise >> 24);
    }
    return blob;
}

static inline bool row_put(struct cache *cache, unsigned i)
{
    unsigned char *blob = row_blob(i);
    bool kept = cache_put(cache, CACHE_LAYER, row_key(i), blob, row_size(i));

    free(blob);
    return kept;
}

enum row { ROW_MISS, ROW_HIT, ROW_WRONG };

static inline enum row row_get(struct cache *cache, unsigned i)
{
    unsigned char *expected = row_blob(i);
    void *blob = NULL;
    size_t size = 0;
    enum row result = ROW_MISS;

    if (cache_get(cache, CACHE_LAYER, row_key(i), &blob, &size))
        result =
            blob && size == row_size(i) && memcmp(blob, expected, size) == 0 ? ROW_HIT : ROW_WRONG;
    else if (blob || size)
        result = ROW_WRONG;
    free(blob);
    free(expected);
    return result;
}

/* A cache that must be usable. */
static inline struct cache *open_cache(const struct folder *folder, uint64_t limit)
{
    char why[256] = "?";
    struct cache *cache = cache_open(folder->file, limit, "1.0", why, sizeof why);

    assert_non_null(cache);
    assert_string_equal(why, "");
    return cache;
}

static inline struct cache_stats stats_of(struct cache *cache)
{
    struct cache_stats stats;

    cache_stats(cache, &stats);
    return stats;
}

/* Runs `sql` on the file behind the cache's back. */
static inline void run_sql(const struct folder *folder, const char *sql)
{
    sqlite3 *db = NULL;

    assert_int_equal(sqlite3_open(folder->file, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

static inline bool exists(const char *path)
{
    return access(path, F_OK) == 0;
}

static inline void write_file(const char *path, const void *bytes, size_t size)
{
    FILE *file = fopen(path, "wb");

    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
}

static inline unsigned char *read_file(const char *path, size_t *size)
{
    FILE *file = fopen(path, "rb");
    struct stat st;
    unsigned char *bytes;

    assert_non_null(file);
    assert_int_equal(fstat(fileno(file), &st), 0);
    *size = (size_t)st.st_size;
    bytes = malloc(*size + 1);
    assert_non_null(bytes);
    assert_int_equal(fread(bytes, 1, *size, file), *size);
    fclose(file);
    return bytes;
}

#define FOLDER_TEST(name) cmocka_unit_test_setup_teardown(name, folder_make, folder_remove)

#endif
