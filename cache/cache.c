#include "cache/cache.h"
#include "cache/patience.h"
#include "cache/place.h"
#include "cache/store.h"
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <xxhash.h>

#define LEAST_LIMIT (256u * 1024)
#define LARGEST_PAYLOAD (64u << 20)
/* What a batch may hold before it is written. */
#define GATHERED_BYTES (4u << 20)
/* A row's last use is written anew when it is older than this, many rows at once. */
#define TOUCH_AFTER_S 3600
#define TOUCHES 256
/* Keys, index entries and page headers, on the average. */
#define ROW_OVERHEAD 96
/* As in the WALK statement. */
#define WALK_ROWS 64

struct pending {
    enum cache_kind kind;
    struct key128 key;
    void *blob; /* owned */
    size_t size;
};

struct cache {
    pthread_mutex_t mutex; /* guards all that follows but the atomics */
    struct store store;
    uint64_t compiler;
    uint64_t limit;   /* bytes, 0: none */
    uint64_t largest; /* payload, bytes */
    struct pending *pending;
    size_t pending_count, pending_room, pending_bytes;
    int64_t touches[TOUCHES]; /* row ids */
    size_t touch_count;
    unsigned touch_generation; /* of the store, to which the ids belong */
    uint64_t hits, misses, puts, evicted, bad_rows;
    atomic_int batches;
    atomic_uint_fast64_t queued_out; /* times that patience with the mutex ran out */
};

const char *cache_kind_name(enum cache_kind kind)
{
    static const char *const names[CACHE_KIND_END] = {
#define KIND(symbol, number, name, text) [number] = name,
#include "cache/kinds.def"
#undef KIND
    };

    return kind > 0 && kind < CACHE_KIND_END ? names[kind] : NULL;
}

struct cache *cache_open(const char *path, uint64_t limit_bytes, const char *compiler_version,
                         char *why, size_t n)
{
    struct cache *cache = calloc(1, sizeof *cache);

    if (!cache || pthread_mutex_init(&cache->mutex, NULL) != 0) {
        free(cache);
        snprintf(why, n, "out of memory");
        return NULL;
    }
    if (limit_bytes && limit_bytes < LEAST_LIMIT)
        limit_bytes = LEAST_LIMIT;
    cache->limit = limit_bytes;
    cache->largest =
        limit_bytes && limit_bytes / 4 < LARGEST_PAYLOAD ? limit_bytes / 4 : LARGEST_PAYLOAD;
    cache->compiler = XXH3_64bits(compiler_version, strlen(compiler_version));
    store_init(&cache->store, path);
    if (!path)
        snprintf(cache->store.why, sizeof cache->store.why, "no cache was asked for");
    snprintf(why, n, "%s", cache->store.why);
    return cache;
}

/*
 * By the clock of the wall, since ThreadSanitizer knows no other: one that is set back makes the
 * wait longer, but not longer than the owner holds the mutex.
 */
static bool lock(struct cache *cache)
{
    struct timespec until;

    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += PATIENCE_MS * 1000000L;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    if (pthread_mutex_timedlock(&cache->mutex, &until) == 0)
        return true;
    atomic_fetch_add(&cache->queued_out, 1);
    return false;
}

static void unlock(struct cache *cache)
{
    pthread_mutex_unlock(&cache->mutex);
}

static void big_endian(unsigned char out[8], uint64_t value)
{
    for (int i = 0; i < 8; i++)
        out[i] = (unsigned char)(value >> (56 - 8 * i));
}

static void key_bytes(unsigned char out[16], struct key128 key)
{
    big_endian(out, key.high);
    big_endian(out + 8, key.low);
}

/* The payload under a seed that stands for the rest of the row: no bytes are copied together. */
static int64_t checksum(uint64_t kind, uint64_t compiler, const unsigned char key[16],
                        const void *payload, size_t size)
{
    unsigned char head[32];
    uint64_t sum;

    big_endian(head, kind);
    big_endian(head + 8, compiler);
    memcpy(head + 16, key, 16);
    sum = XXH3_64bits_withSeed(size ? payload : "", size, XXH3_64bits(head, sizeof head));
    return (int64_t)sum;
}

/* In the order of the columns' first parameters, which GET and PUT share. */
static int bind_key(sqlite3_stmt *statement, struct cache *cache, enum cache_kind kind,
                    const unsigned char key[16])
{
    int code = sqlite3_bind_int(statement, 1, (int)kind);

    if (code == SQLITE_OK)
        code = sqlite3_bind_int64(statement, 2, (int64_t)cache->compiler);
    if (code == SQLITE_OK)
        code = sqlite3_bind_blob(statement, 3, key, 16, SQLITE_STATIC);
    return code;
}

static int write_row(struct cache *cache, const struct pending *row, int64_t now)
{
    unsigned char key[16];
    sqlite3_stmt *put = NULL;
    int code = store_statement(&cache->store, STATEMENT_PUT, &put);

    if (code != SQLITE_OK)
        return code;
    key_bytes(key, row->key);
    code = bind_key(put, cache, row->kind, key);
    if (code == SQLITE_OK)
        code = sqlite3_bind_int64(put, 4, now);
    if (code == SQLITE_OK)
        code = sqlite3_bind_int64(put, 5,
                                  checksum(row->kind, cache->compiler, key, row->blob, row->size));
    if (code == SQLITE_OK)
        code = row->size ? sqlite3_bind_blob64(put, 6, row->blob, row->size, SQLITE_STATIC)
                         : sqlite3_bind_zeroblob(put, 6, 0);
    if (code == SQLITE_OK)
        code = store_finish(put);
    /* The bytes are borrowed for this call only. */
    sqlite3_clear_bindings(put);
    return code;
}

static int write_touches(struct cache *cache, int64_t now)
{
    sqlite3_stmt *touch = NULL;
    int code = SQLITE_OK;

    for (size_t i = 0; i < cache->touch_count && code == SQLITE_OK; i++) {
        code = store_statement(&cache->store, STATEMENT_TOUCH, &touch);
        if (code == SQLITE_OK)
            code = sqlite3_bind_int64(touch, 1, cache->touches[i]);
        if (code == SQLITE_OK)
            code = sqlite3_bind_int64(touch, 2, now);
        if (code == SQLITE_OK)
            code = store_finish(touch);
    }
    return code;
}

/* Deletes rows from the oldest on until about `excess` bytes are free; *deleted is 0 when there are
 * none. */
static int evict_bytes(struct cache *cache, uint64_t excess, uint64_t *deleted)
{
    sqlite3_stmt *oldest = NULL, *evict = NULL;
    int64_t used = 0, id = 0;
    uint64_t bytes = 0;
    int code = store_statement(&cache->store, STATEMENT_OLDEST, &oldest);

    *deleted = 0;
    if (code != SQLITE_OK)
        return code;
    while (bytes < excess && (code = sqlite3_step(oldest)) == SQLITE_ROW) {
        used = sqlite3_column_int64(oldest, 0);
        id = sqlite3_column_int64(oldest, 1);
        bytes += (uint64_t)sqlite3_column_int64(oldest, 2) + ROW_OVERHEAD;
        ++*deleted;
    }
    if (code != SQLITE_ROW && code != SQLITE_DONE)
        return code;
    sqlite3_reset(oldest);
    if (!*deleted)
        return SQLITE_OK;
    code = store_statement(&cache->store, STATEMENT_EVICT, &evict);
    if (code == SQLITE_OK)
        code = sqlite3_bind_int64(evict, 1, used);
    if (code == SQLITE_OK)
        code = sqlite3_bind_int64(evict, 2, id);
    return code == SQLITE_OK ? store_finish(evict) : code;
}

static int count_pages(struct cache *cache, uint64_t *pages, uint64_t *unused)
{
    int code = store_number(&cache->store, STATEMENT_PAGES, pages);

    return code == SQLITE_OK ? store_number(&cache->store, STATEMENT_FREE_PAGES, unused) : code;
}

static int give_back(struct cache *cache, uint64_t pages)
{
    char sql[64];

    snprintf(sql, sizeof sql, "PRAGMA incremental_vacuum(%llu)", (unsigned long long)pages);
    return sqlite3_exec(cache->store.db, sql, NULL, NULL, NULL);
}

/*
 * Inside the transaction that may have gone over the limit, so that no commit ever does. A little
 * more than necessary, so that not every put evicts; not much more, since others wait meanwhile.
 */
static int evict(struct cache *cache, uint64_t *evicted)
{
    uint64_t pages = 0, unused = 0, deleted = 1;
    uint64_t limit = cache->limit / cache->store.page_size, goal = limit - limit / 64;
    int code = count_pages(cache, &pages, &unused);

    if (code != SQLITE_OK || !cache->limit)
        return code;
    if (pages - unused > limit)
        while (code == SQLITE_OK && deleted && pages - unused > goal) {
            code = evict_bytes(cache, (pages - unused - goal) * cache->store.page_size, &deleted);
            *evicted += deleted;
            if (code == SQLITE_OK)
                code = count_pages(cache, &pages, &unused);
        }
    if (code == SQLITE_OK && pages > limit && unused)
        code = give_back(cache, pages - limit < unused ? pages - limit : unused);
    return code;
}

static void forget_pending(struct cache *cache)
{
    for (size_t i = 0; i < cache->pending_count; i++)
        free(cache->pending[i].blob);
    cache->pending_count = 0;
    cache->pending_bytes = 0;
}

/*
 * Writes what has been gathered, in one transaction; whatever comes of it, nothing is gathered
 * afterwards. The store is ready; the code is settled.
 */
static bool flush(struct cache *cache)
{
    int64_t now = (int64_t)time(NULL);
    uint64_t evicted = 0;
    int code = SQLITE_OK;

    if (!cache->pending_count && !cache->touch_count)
        return true;
    code = store_begin(&cache->store);
    if (cache->touch_generation != cache->store.generation)
        cache->touch_count = 0;
    for (size_t i = 0; i < cache->pending_count && code == SQLITE_OK; i++)
        code = write_row(cache, &cache->pending[i], now);
    if (code == SQLITE_OK)
        code = write_touches(cache, now);
    if (code == SQLITE_OK)
        code = evict(cache, &evicted);
    if (code == SQLITE_OK)
        code = store_commit(&cache->store);
    if (code == SQLITE_OK) {
        cache->puts += cache->pending_count;
        cache->evicted += evicted;
    }
    cache->touch_count = 0;
    forget_pending(cache);
    store_settle(&cache->store, code);
    return code == SQLITE_OK;
}

void cache_close(struct cache *cache)
{
    if (!cache)
        return;
    if ((cache->pending_count || cache->touch_count) && store_ready(&cache->store))
        flush(cache);
    forget_pending(cache);
    free(cache->pending);
    store_release(&cache->store);
    pthread_mutex_destroy(&cache->mutex);
    free(cache);
}

static bool copy_out(const void *from, size_t size, void **blob, size_t *blob_size)
{
    *blob = malloc(size ? size : 1);
    if (!*blob)
        return false;
    if (size)
        memcpy(*blob, from, size);
    *blob_size = size;
    return true;
}

static const struct pending *find_pending(struct cache *cache, enum cache_kind kind,
                                          struct key128 key)
{
    for (size_t i = cache->pending_count; i-- > 0;)
        if (cache->pending[i].kind == kind && key128_equal(cache->pending[i].key, key))
            return &cache->pending[i];
    return NULL;
}

static void note_use(struct cache *cache, int64_t id, int64_t used)
{
    int64_t now = (int64_t)time(NULL);

    /* Also where a clock once ran ahead. */
    if (used > now - TOUCH_AFTER_S && used < now + TOUCH_AFTER_S)
        return;
    if (cache->touch_generation != cache->store.generation)
        cache->touch_count = 0;
    cache->touch_generation = cache->store.generation;
    for (size_t i = 0; i < cache->touch_count; i++)
        if (cache->touches[i] == id)
            return;
    if (cache->touch_count < TOUCHES)
        cache->touches[cache->touch_count++] = id;
}

static int drop_rows(struct cache *cache, const int64_t *ids, size_t count)
{
    sqlite3_stmt *drop = NULL;
    unsigned generation = cache->store.generation;
    int code = store_begin(&cache->store);

    for (size_t i = 0; i < count && code == SQLITE_OK && generation == cache->store.generation;
         i++) {
        code = store_statement(&cache->store, STATEMENT_DROP, &drop);
        if (code == SQLITE_OK)
            code = sqlite3_bind_int64(drop, 1, ids[i]);
        if (code == SQLITE_OK)
            code = store_finish(drop);
    }
    return code == SQLITE_OK ? store_commit(&cache->store) : code;
}

/*
 * The payload of the current row, borrowed until the statement moves. An sqlite code, so that a
 * lack of memory is not taken for a bad row.
 */
static int column_payload(sqlite3_stmt *statement, int column, const void **payload, size_t *size)
{
    *payload = sqlite3_column_blob(statement, column);
    *size = (size_t)sqlite3_column_bytes(statement, column);
    return *size && !*payload ? SQLITE_NOMEM : SQLITE_OK;
}

static int read_row(struct cache *cache, enum cache_kind kind, struct key128 key, void **blob,
                    size_t *size)
{
    unsigned char bytes[16];
    const void *payload = NULL;
    size_t payload_size = 0;
    bool good = false;
    int64_t id = 0;
    sqlite3_stmt *get = NULL;
    int code = store_statement(&cache->store, STATEMENT_GET, &get);

    if (code != SQLITE_OK)
        return code;
    key_bytes(bytes, key);
    code = bind_key(get, cache, kind, bytes);
    if (code == SQLITE_OK)
        code = sqlite3_step(get);
    if (code != SQLITE_ROW)
        goto out;
    code = column_payload(get, 3, &payload, &payload_size);
    if (code != SQLITE_OK)
        goto out;
    id = sqlite3_column_int64(get, 0);
    /* Over the key that was asked for, not over the one that the row believes to have. */
    good = sqlite3_column_int64(get, 2) ==
           checksum(kind, cache->compiler, bytes, payload, payload_size);
    if (good && copy_out(payload, payload_size, blob, size))
        note_use(cache, id, sqlite3_column_int64(get, 1));
out:
    sqlite3_reset(get);
    sqlite3_clear_bindings(get);
    if (code == SQLITE_OK && !good) {
        cache->bad_rows++;
        code = drop_rows(cache, &id, 1);
    }
    return code;
}

bool cache_get(struct cache *cache, enum cache_kind kind, struct key128 key, void **blob,
               size_t *size)
{
    const struct pending *pending = NULL;

    *blob = NULL;
    *size = 0;
    if (!cache || !cache->store.path || !cache_kind_name(kind) || !lock(cache))
        return false;
    pending = find_pending(cache, kind, key);
    if (pending) {
        copy_out(pending->blob, pending->size, blob, size);
    } else if (store_ready(&cache->store)) {
        store_settle(&cache->store, read_row(cache, kind, key, blob, size));
        if (cache->touch_count == TOUCHES && store_ready(&cache->store))
            flush(cache);
    }
    if (*blob)
        cache->hits++;
    else
        cache->misses++;
    unlock(cache);
    return *blob != NULL;
}

static bool gather(struct cache *cache, enum cache_kind kind, struct key128 key, const void *blob,
                   size_t size)
{
    struct pending row = {.kind = kind, .key = key};

    if (cache->pending_count == cache->pending_room) {
        size_t room = cache->pending_room ? 2 * cache->pending_room : 16;
        struct pending *more = realloc(cache->pending, room * sizeof *more);

        if (!more)
            return false;
        cache->pending = more;
        cache->pending_room = room;
    }
    if (!copy_out(blob, size, &row.blob, &row.size))
        return false;
    cache->pending[cache->pending_count++] = row;
    cache->pending_bytes += size + sizeof row;
    return true;
}

bool cache_put(struct cache *cache, enum cache_kind kind, struct key128 key, const void *blob,
               size_t size)
{
    bool kept = false;

    if (!cache || !cache->store.path || !cache_kind_name(kind) || size > cache->largest ||
        !lock(cache))
        return false;
    /* Nothing is gathered for a file that is off or locked. */
    if (store_ready(&cache->store) && gather(cache, kind, key, blob, size))
        kept = (atomic_load(&cache->batches) > 0 && cache->pending_bytes < GATHERED_BYTES) ||
               flush(cache);
    unlock(cache);
    return kept;
}

void cache_begin(struct cache *cache)
{
    if (cache)
        atomic_fetch_add(&cache->batches, 1);
}

bool cache_commit(struct cache *cache)
{
    bool kept = false;

    if (!cache)
        return false;
    atomic_fetch_sub(&cache->batches, 1);
    /* Where the mutex cannot be had, the next put, commit or close writes what is gathered. */
    if (!cache->store.path || !lock(cache))
        return false;
    if (store_ready(&cache->store))
        kept = flush(cache);
    else
        forget_pending(cache);
    unlock(cache);
    return kept;
}

static int count_rows(struct cache *cache, struct cache_stats *stats)
{
    sqlite3_stmt *count = NULL;
    uint64_t pages = 0, unused = 0;
    int code = store_statement(&cache->store, STATEMENT_COUNT, &count);

    while (code == SQLITE_OK || code == SQLITE_ROW) {
        code = sqlite3_step(count);
        int64_t kind = code == SQLITE_ROW ? sqlite3_column_int64(count, 0) : 0;

        if (kind > 0 && kind < CACHE_KIND_END)
            stats->rows[kind] = (uint64_t)sqlite3_column_int64(count, 1);
    }
    if (code == SQLITE_DONE)
        code = count_pages(cache, &pages, &unused);
    if (code == SQLITE_OK) {
        stats->bytes = (pages - unused) * cache->store.page_size;
        stats->file_bytes = pages * cache->store.page_size;
    }
    return code;
}

void cache_stats(struct cache *cache, struct cache_stats *stats)
{
    *stats = (struct cache_stats){.on = false};
    if (!cache) {
        snprintf(stats->why, sizeof stats->why, "out of memory");
        return;
    }
    pthread_mutex_lock(&cache->mutex);
    if (store_ready(&cache->store))
        store_settle(&cache->store, count_rows(cache, stats));
    stats->on = !cache->store.off;
    snprintf(stats->why, sizeof stats->why, "%s", stats->on ? "" : cache->store.why);
    stats->hits = cache->hits;
    stats->misses = cache->misses;
    stats->puts = cache->puts;
    stats->evicted = cache->evicted;
    stats->bad_rows = cache->bad_rows;
    stats->busy = cache->store.busy + atomic_load(&cache->queued_out);
    stats->renewed = cache->store.renewed;
    stats->limit_bytes = cache->limit;
    unlock(cache);
}

/* The next rows after *id; *id is then the last of them, *count how many they were. */
static int walk(struct cache *cache, int64_t *id, size_t *count, uint64_t *bad)
{
    int64_t bad_ids[WALK_ROWS];
    size_t bad_count = 0, size = 0;
    const void *payload = NULL, *key = NULL;
    sqlite3_stmt *next = NULL;
    int code = store_statement(&cache->store, STATEMENT_WALK, &next);

    *count = 0;
    if (code == SQLITE_OK)
        code = sqlite3_bind_int64(next, 1, *id);
    if (code != SQLITE_OK)
        return code;
    while ((code = sqlite3_step(next)) == SQLITE_ROW && *count < WALK_ROWS) {
        code = column_payload(next, 5, &payload, &size);
        if (code != SQLITE_OK)
            break;
        key = sqlite3_column_blob(next, 3);
        *id = sqlite3_column_int64(next, 0);
        ++*count;
        if (sqlite3_column_bytes(next, 3) != 16 || !key ||
            sqlite3_column_int64(next, 4) != checksum((uint64_t)sqlite3_column_int64(next, 1),
                                                      (uint64_t)sqlite3_column_int64(next, 2), key,
                                                      payload, size))
            bad_ids[bad_count++] = *id;
    }
    sqlite3_reset(next);
    if (code != SQLITE_DONE)
        return code;
    *bad += bad_count;
    cache->bad_rows += bad_count;
    return bad_count ? drop_rows(cache, bad_ids, bad_count) : SQLITE_OK;
}

static int says_ok(void *fine, int columns, char **values, char **names)
{
    (void)names;
    *(bool *)fine = columns == 1 && values[0] && strcmp(values[0], "ok") == 0;
    return 0;
}

static int check_structure(struct cache *cache)
{
    bool fine = false;
    int code = sqlite3_exec(cache->store.db, "PRAGMA integrity_check(1)", says_ok, &fine, NULL);

    return code == SQLITE_OK && !fine ? SQLITE_CORRUPT : code;
}

bool cache_verify(struct cache *cache, uint64_t *rows, uint64_t *bad)
{
    int64_t id = INT64_MIN;
    size_t count = 0;
    unsigned generation = 0;
    int code = SQLITE_OK;

    *rows = *bad = 0;
    if (!cache)
        return false;
    do {
        pthread_mutex_lock(&cache->mutex);
        code = store_ready(&cache->store) ? SQLITE_OK : SQLITE_INTERRUPT;
        if (code == SQLITE_OK && !*rows)
            generation = cache->store.generation;
        if (code == SQLITE_OK)
            code = walk(cache, &id, &count, bad);
        *rows += count;
        if (code == SQLITE_OK && count < WALK_ROWS)
            code = check_structure(cache);
        store_settle(&cache->store, code);
        /* Another file than the one in which the walk began. */
        if (code == SQLITE_OK && generation != cache->store.generation)
            code = SQLITE_INTERRUPT;
        unlock(cache);
    } while (code == SQLITE_OK && count == WALK_ROWS);
    return code == SQLITE_OK;
}

bool cache_clear(struct cache *cache)
{
    sqlite3_stmt *clear = NULL;
    int code = SQLITE_INTERRUPT;

    if (!cache)
        return false;
    pthread_mutex_lock(&cache->mutex);
    forget_pending(cache);
    cache->touch_count = 0;
    if (store_ready(&cache->store)) {
        code = store_begin(&cache->store);
        if (code == SQLITE_OK)
            code = store_statement(&cache->store, STATEMENT_CLEAR, &clear);
        if (code == SQLITE_OK)
            code = store_finish(clear);
        if (code == SQLITE_OK)
            code = store_commit(&cache->store);
        /* Of an empty database, quicker by far than to vacuum it page by page. */
        if (code == SQLITE_OK)
            code = sqlite3_exec(cache->store.db, "VACUUM", NULL, NULL, NULL);
        /* A reader elsewhere may keep the log from being emptied; it will be, later. */
        if (code == SQLITE_OK)
            sqlite3_wal_checkpoint_v2(cache->store.db, NULL, SQLITE_CHECKPOINT_TRUNCATE, NULL,
                                      NULL);
        if (code == SQLITE_OK)
            place_forget_aside(cache->store.path);
        store_settle(&cache->store, code);
    }
    unlock(cache);
    return code == SQLITE_OK;
}
