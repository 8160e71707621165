#include "folder.h"

static void what_was_put_is_got(void **state)
{
    struct folder *folder = *state;
    struct cache *cache = open_cache(folder, 0);
    void *blob = NULL;
    size_t size = 0;

    for (unsigned i = 0; i < 30; i++)
        assert_int_equal(row_get(cache, i), ROW_MISS);
    for (unsigned i = 0; i < 30; i++)
        assert_true(row_put(cache, i));
    for (unsigned i = 0; i < 30; i++)
        assert_int_equal(row_get(cache, i), ROW_HIT);
    cache_close(cache);

    cache = open_cache(folder, 0);
    for (unsigned i = 0; i < 30; i++)
        assert_int_equal(row_get(cache, i), ROW_HIT);
    /* Kinds are apart. */
    assert_false(cache_get(cache, CACHE_MODEL, row_key(1), &blob, &size));
    assert_false(cache_put(cache, (enum cache_kind)0, row_key(1), "x", 1));
    assert_false(cache_put(cache, CACHE_KIND_END, row_key(1), "x", 1));
    /* The last one counts. */
    assert_true(cache_put(cache, CACHE_LAYER, row_key(1), "other", 5));
    assert_true(cache_get(cache, CACHE_LAYER, row_key(1), &blob, &size));
    assert_int_equal(size, 5);
    assert_memory_equal(blob, "other", 5);
    free(blob);
    cache_close(cache);
}

static void another_compiler_finds_nothing(void **state)
{
    struct folder *folder = *state;
    struct cache *cache = open_cache(folder, 0), *other;

    assert_true(row_put(cache, 1));
    other = cache_open(folder->file, 0, "1.1", NULL, 0);
    assert_int_equal(row_get(other, 1), ROW_MISS);
    assert_true(cache_put(other, CACHE_LAYER, row_key(1), "other", 5));
    assert_int_equal(row_get(cache, 1), ROW_HIT);
    assert_int_equal(stats_of(cache).rows[CACHE_LAYER], 2);
    cache_close(other);
    cache_close(cache);
}

static void off_is_a_cache_that_misses(void **state)
{
    char why[256];
    struct cache *caches[] = {NULL, cache_open(NULL, 0, "1.0", why, sizeof why)};
    struct cache_file_identity identity = {1, 2, 3, 4, 5};
    struct key128 content;
    uint64_t rows, bad;

    (void)state;
    assert_string_not_equal(why, "");
    for (int i = 0; i < 2; i++) {
        cache_begin(caches[i]);
        assert_false(row_put(caches[i], 1));
        assert_int_equal(row_get(caches[i], 1), ROW_MISS);
        assert_false(cache_commit(caches[i]));
        assert_false(cache_file_put(caches[i], "/a", &identity, INT64_MAX, (struct key128){1, 2}));
        assert_false(cache_file_get(caches[i], "/a", &identity, &content));
        assert_false(cache_verify(caches[i], &rows, &bad));
        assert_false(cache_clear(caches[i]));
        assert_false(stats_of(caches[i]).on);
        assert_string_not_equal(stats_of(caches[i]).why, "");
        cache_close(caches[i]);
    }
}

static uint64_t rows_in_file(const struct folder *folder)
{
    struct cache *other = open_cache(folder, 0);
    uint64_t rows = stats_of(other).rows[CACHE_LAYER];

    cache_close(other);
    return rows;
}

static void a_batch_is_written_at_its_end(void **state)
{
    struct folder *folder = *state;
    struct cache *cache = open_cache(folder, 0);

    assert_true(row_put(cache, 0));
    cache_begin(cache);
    for (unsigned i = 1; i < 40; i++)
        assert_true(row_put(cache, i));
    assert_int_equal(rows_in_file(folder), 1);
    for (unsigned i = 0; i < 40; i++)
        assert_int_equal(row_get(cache, i), ROW_HIT);
    assert_true(cache_commit(cache));
    assert_int_equal(rows_in_file(folder), 40);
    for (unsigned i = 0; i < 40; i++)
        assert_int_equal(row_get(cache, i), ROW_HIT);
    /* What a close finds gathered is written. */
    cache_begin(cache);
    assert_true(row_put(cache, 40));
    cache_close(cache);
    assert_int_equal(rows_in_file(folder), 41);
}

static void a_long_batch_is_written_early(void **state)
{
    struct folder *folder = *state;
    struct cache *cache = open_cache(folder, 0);
    char *large = calloc(1, MIB);

    cache_begin(cache);
    for (unsigned i = 0; i < 3; i++)
        assert_true(cache_put(cache, CACHE_LAYER, row_key(i), large, MIB));
    assert_int_equal(rows_in_file(folder), 0);
    for (unsigned i = 3; i < 5; i++)
        assert_true(cache_put(cache, CACHE_LAYER, row_key(i), large, MIB));
    assert_true(rows_in_file(folder) >= 4);
    assert_true(cache_commit(cache));
    assert_int_equal(rows_in_file(folder), 5);
    free(large);
    cache_close(cache);
}

static void opening_is_lazy_and_private(void **state)
{
    struct folder *folder = *state;
    struct folder deep = *folder;
    struct stat st;
    struct cache *cache;

    snprintf(deep.file, sizeof deep.file, "%.200s/a/b/cache.sqlite", folder->path);
    cache = open_cache(&deep, 0);
    assert_false(exists(deep.file));
    assert_true(row_put(cache, 1));
    assert_int_equal(stat(deep.file, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    strcat(deep.file, "-wal");
    assert_int_equal(stat(deep.file, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    snprintf(deep.file, sizeof deep.file, "%.200s/a", folder->path);
    assert_int_equal(stat(deep.file, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0700);
    cache_close(cache);
}

static void a_file_that_others_may_read_is_made_private(void **state)
{
    struct folder *folder = *state;
    struct stat st;
    struct cache *cache;

    write_file(folder->file, "", 0);
    chmod(folder->file, 0644);
    cache = open_cache(folder, 0);
    assert_true(row_put(cache, 1));
    assert_int_equal(stat(folder->file, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    cache_close(cache);
}

static void a_link_leads_to_the_file(void **state)
{
    struct folder *folder = *state, link = *folder;
    struct cache *cache = open_cache(folder, 0);

    assert_true(row_put(cache, 1));
    cache_close(cache);
    snprintf(link.file, sizeof link.file, "%.200s/link", folder->path);
    assert_int_equal(symlink("cache.sqlite", link.file), 0);
    cache = open_cache(&link, 0);
    assert_int_equal(row_get(cache, 1), ROW_HIT);
    assert_true(row_put(cache, 2));
    cache_close(cache);
    cache = open_cache(folder, 0);
    assert_int_equal(row_get(cache, 2), ROW_HIT);
    cache_close(cache);
}

/* A child that runs another program must not hold our files. */
static void descriptors_close_on_exec(void **state)
{
    struct folder *folder = *state;
    struct cache *cache = open_cache(folder, 0);
    char real[PATH_MAX], name[300], target[PATH_MAX];
    int ours = 0;

    assert_non_null(realpath(folder->path, real));
    assert_true(row_put(cache, 1));
    for (int fd = 0; fd < 200; fd++) {
        snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
        ssize_t length = readlink(name, target, sizeof target - 1);

        if (length < 0)
            continue;
        target[length] = '\0';
        if (strncmp(target, real, strlen(real)) == 0) {
            ours++;
            assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
        }
    }
    assert_true(ours >= 3);
    cache_close(cache);
}

static uint64_t size_of(const char *path)
{
    struct stat st;

    assert_int_equal(stat(path, &st), 0);
    return (uint64_t)st.st_size;
}

static void the_limit_holds(void **state)
{
    struct folder *folder = *state;
    struct cache *cache = open_cache(folder, MIB);
    struct cache_stats stats;
    unsigned hits = 0;

    for (unsigned i = 1; i < 600; i++) {
        assert_true(row_put(cache, i));
        stats = stats_of(cache);
        assert_true(stats.bytes <= MIB);
        assert_true(stats.file_bytes <= MIB);
    }
    assert_true(stats.evicted > 0);
    assert_int_equal(stats.evicted + stats.rows[CACHE_LAYER], 599);
    /* Rows of one second go in the order in which they came, so the newest are there, in one run.
     */
    for (unsigned i = 1; i < 600; i++) {
        enum row row = row_get(cache, i);

        assert_int_not_equal(row, ROW_WRONG);
        assert_true(row == ROW_HIT || hits == 0);
        hits += row == ROW_HIT;
    }
    assert_true(hits >= 150);
    cache_close(cache);
    run_sql(folder, "PRAGMA wal_checkpoint(TRUNCATE)");
    assert_true(size_of(folder->file) <= MIB);

    /* A limit that was lowered is reached at the next put. */
    cache = open_cache(folder, 1);
    assert_int_equal(stats_of(cache).limit_bytes, 256 * 1024);
    assert_true(row_put(cache, 700));
    assert_int_equal(row_get(cache, 700), ROW_HIT);
    cache_close(cache);
    run_sql(folder, "PRAGMA wal_checkpoint(TRUNCATE)");
    assert_true(size_of(folder->file) <= 256 * 1024);
}

static void a_batch_larger_than_the_limit_keeps_it(void **state)
{
    struct folder *folder = *state;
    struct cache *cache = open_cache(folder, MIB);

    cache_begin(cache);
    for (unsigned i = 1; i < 600; i++)
        assert_true(row_put(cache, i));
    assert_true(cache_commit(cache));
    assert_true(stats_of(cache).file_bytes <= MIB);
    assert_int_equal(row_get(cache, 599), ROW_HIT);
    assert_int_equal(row_get(cache, 1), ROW_MISS);
    cache_close(cache);
    run_sql(folder, "PRAGMA wal_checkpoint(TRUNCATE)");
    assert_true(size_of(folder->file) <= MIB);
}

static void a_payload_that_is_too_large_is_refused(void **state)
{
    struct folder *folder = *state;
    struct cache *cache = open_cache(folder, MIB);
    char *large = calloc(1, MIB);

    assert_true(cache_put(cache, CACHE_LAYER, row_key(1), large, MIB / 4));
    assert_false(cache_put(cache, CACHE_LAYER, row_key(2), large, MIB / 4 + 1));
    free(large);
    cache_close(cache);
}

static void use_keeps_a_row(void **state)
{
    struct folder *folder = *state;
    struct cache *cache = open_cache(folder, MIB);

    for (unsigned i = 1; i < 60; i++)
        assert_true(row_put(cache, i));
    run_sql(folder, "UPDATE entry SET used = used - 7200");
    assert_int_equal(row_get(cache, 1), ROW_HIT);
    for (unsigned i = 100; i < 300; i++)
        assert_true(row_put(cache, i));
    assert_true(stats_of(cache).evicted > 0);
    assert_int_equal(row_get(cache, 1), ROW_HIT);
    assert_int_equal(row_get(cache, 2), ROW_MISS);
    cache_close(cache);
}

static int64_t ask_number(const struct folder *folder, const char *sql)
{
    sqlite3 *db = NULL;
    sqlite3_stmt *statement = NULL;
    int64_t number;

    assert_int_equal(sqlite3_open(folder->file, &db), SQLITE_OK);
    assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &statement, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
    number = sqlite3_column_int64(statement, 0);
    sqlite3_finalize(statement);
    sqlite3_close(db);
    return number;
}

#define NOW "CAST(strftime('%s', 'now') AS INTEGER)"

static void reading_writes_rarely(void **state)
{
    struct folder *folder = *state;
    struct cache *cache = open_cache(folder, 0);
    static const char old_rows[] = "SELECT count(*) FROM entry WHERE used < " NOW " - 1000";
    static const char set[] = "UPDATE entry SET used = " NOW " - ";
    char sql[120];

    for (unsigned i = 1; i < 6; i++)
        assert_true(row_put(cache, i));
    /* Used within the hour: reading leaves it. */
    snprintf(sql, sizeof sql, "%s 3000", set);
    run_sql(folder, sql);
    for (unsigned i = 1; i < 6; i++)
        assert_int_equal(row_get(cache, i), ROW_HIT);
    cache_close(cache);
    assert_int_equal(ask_number(folder, old_rows), 5);
    /* Longer ago: noted, and written together, at the latest at the end. */
    snprintf(sql, sizeof sql, "%s 4000", set);
    run_sql(folder, sql);
    cache = open_cache(folder, 0);
    for (unsigned i = 1; i < 4; i++)
        assert_int_equal(row_get(cache, i), ROW_HIT);
    assert_int_equal(ask_number(folder, old_rows), 5);
    cache_close(cache);
    assert_int_equal(ask_number(folder, old_rows), 2);
    /* A clock that ran ahead once does not keep a row for ever. */
    snprintf(sql, sizeof sql, "%s -9000", set);
    run_sql(folder, sql);
    cache = open_cache(folder, 0);
    assert_int_equal(row_get(cache, 1), ROW_HIT);
    cache_close(cache);
    assert_int_equal(ask_number(folder, "SELECT count(*) FROM entry WHERE used > " NOW " + 5"), 4);
}

static void stats_count(void **state)
{
    struct folder *folder = *state;
    struct cache *cache = open_cache(folder, 7 * MIB);
    struct cache_stats stats;

    for (unsigned i = 1; i < 6; i++)
        assert_true(row_put(cache, i));
    assert_true(cache_put(cache, CACHE_MODEL, row_key(1), "model", 5));
    row_get(cache, 1);
    row_get(cache, 2);
    row_get(cache, 77);
    stats = stats_of(cache);
    assert_true(stats.on);
    assert_string_equal(stats.why, "");
    assert_int_equal(stats.hits, 2);
    assert_int_equal(stats.misses, 1);
    assert_int_equal(stats.puts, 6);
    assert_int_equal(stats.rows[CACHE_LAYER], 5);
    assert_int_equal(stats.rows[CACHE_MODEL], 1);
    assert_int_equal(stats.rows[CACHE_FILE], 0);
    assert_int_equal(stats.limit_bytes, 7 * MIB);
    assert_true(stats.bytes > 0 && stats.bytes <= stats.file_bytes);
    assert_int_equal(stats.bad_rows + stats.busy + stats.evicted + stats.renewed, 0);
    assert_string_equal(cache_kind_name(CACHE_LAYER), "layer");
    assert_null(cache_kind_name((enum cache_kind)0));
    assert_null(cache_kind_name(CACHE_KIND_END));
    cache_close(cache);
}

static void clear_gives_the_space_back(void **state)
{
    struct folder *folder = *state;
    struct cache *cache = open_cache(folder, 0);
    uint64_t empty = stats_of(cache).file_bytes;

    for (unsigned i = 1; i < 200; i++)
        assert_true(row_put(cache, i));
    write_file(folder->aside, "old", 3);
    assert_true(cache_clear(cache));
    for (unsigned i = 1; i < 200; i++)
        assert_int_equal(row_get(cache, i), ROW_MISS);
    assert_int_equal(size_of(folder->file), empty);
    assert_false(exists(folder->aside));
    assert_true(row_put(cache, 1));
    assert_int_equal(row_get(cache, 1), ROW_HIT);
    cache_close(cache);
}

static void verify_counts_and_deletes_bad_rows(void **state)
{
    struct folder *folder = *state;
    struct cache *cache = open_cache(folder, 0);
    uint64_t rows, bad;

    assert_true(cache_verify(cache, &rows, &bad));
    assert_int_equal(rows + bad, 0);
    for (unsigned i = 1; i <= 200; i++)
        assert_true(row_put(cache, i));
    assert_true(cache_verify(cache, &rows, &bad));
    assert_int_equal(rows, 200);
    assert_int_equal(bad, 0);
    run_sql(folder, "UPDATE entry SET payload = x'00' WHERE id IN (3, 100, 200);"
                    "UPDATE entry SET kind = 2 WHERE id = 4;"
                    "UPDATE entry SET compiler = compiler + 1 WHERE id = 5;"
                    "UPDATE entry SET key = x'00' WHERE id = 6;"
                    "UPDATE entry SET key = 'sixteen letters!' WHERE id = 7;"
                    "UPDATE entry SET checksum = 'text' WHERE id = 8");
    assert_true(cache_verify(cache, &rows, &bad));
    assert_int_equal(rows, 200);
    assert_int_equal(bad, 8);
    assert_true(cache_verify(cache, &rows, &bad));
    assert_int_equal(rows, 192);
    assert_int_equal(bad, 0);
    cache_close(cache);
}

/* A row that carries another row's payload, its checksum and all, is bad under this key. */
static void a_payload_under_a_wrong_key_is_a_miss(void **state)
{
    struct folder *folder = *state;
    struct cache *cache = open_cache(folder, 0);

    assert_true(row_put(cache, 1));
    assert_true(row_put(cache, 2));
    run_sql(folder, "UPDATE entry SET (payload, checksum) = (SELECT payload, checksum FROM entry "
                    "WHERE id = 2) WHERE id = 1");
    assert_int_equal(row_get(cache, 1), ROW_MISS);
    assert_int_equal(row_get(cache, 2), ROW_HIT);
    assert_int_equal(stats_of(cache).bad_rows, 1);
    assert_int_equal(stats_of(cache).rows[CACHE_LAYER], 1);
    cache_close(cache);
}

#define SECOND INT64_C(1000000000)

static void a_file_is_known_by_its_stat(void **state)
{
    struct folder *folder = *state;
    struct cache *cache = open_cache(folder, 0);
    const struct cache_file_identity identity = {1, 2, 3, 100 * SECOND, 101 * SECOND};
    struct cache_file_identity other[5] = {identity, identity, identity, identity, identity};
    const struct key128 content = {0x1122334455667788, 0x99aabbccddeeff00};
    struct key128 found;

    other[0].device++;
    other[1].inode++;
    other[2].size++;
    other[3].mtime_ns--;
    other[4].ctime_ns--;
    assert_false(cache_file_get(cache, "/models/a.onnx", &identity, &found));
    assert_true(cache_file_put(cache, "/models/a.onnx", &identity, 200 * SECOND, content));
    assert_true(cache_file_get(cache, "/models/a.onnx", &identity, &found));
    assert_true(key128_equal(found, content));
    assert_false(cache_file_get(cache, "/models/b.onnx", &identity, &found));
    assert_true(found.high == 0 && found.low == 0);
    for (int i = 0; i < 5; i++)
        assert_false(cache_file_get(cache, "/models/a.onnx", &other[i], &found));
    /* One path, one row. */
    assert_true(cache_file_put(cache, "/models/a.onnx", &other[1], 200 * SECOND, content));
    assert_int_equal(stats_of(cache).rows[CACHE_FILE], 1);
    cache_close(cache);
}

static void a_fresh_stat_is_not_trusted(void **state)
{
    struct folder *folder = *state;
    struct cache *cache = open_cache(folder, 0);
    static const struct {
        int64_t mtime, ctime, hashed_at;
        bool trusted;
    } cases[] = {
        {100 * SECOND, 100 * SECOND, 102 * SECOND, true},
        {100 * SECOND, 100 * SECOND, 102 * SECOND - 1, false},
        {100 * SECOND + 1, 100 * SECOND, 102 * SECOND, false},
        {100 * SECOND, 100 * SECOND + 1, 102 * SECOND, false},
        {100 * SECOND, 100 * SECOND, 99 * SECOND, false},
        {900 * SECOND, 100 * SECOND, 102 * SECOND, false},
        {-900 * SECOND, 100 * SECOND, 102 * SECOND, true},
        {INT64_MIN, INT64_MIN, INT64_MIN, false},
        {INT64_MIN, INT64_MIN, INT64_MAX, true},
        {INT64_MAX, INT64_MAX, INT64_MIN, false},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct cache_file_identity identity = {1, i, 3, cases[i].mtime, cases[i].ctime};
        struct key128 found;

        assert_int_equal(
            cache_file_put(cache, "/a", &identity, cases[i].hashed_at, (struct key128){1, i}),
            cases[i].trusted);
        assert_int_equal(cache_file_get(cache, "/a", &identity, &found), cases[i].trusted);
    }
    cache_close(cache);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        FOLDER_TEST(what_was_put_is_got),
        FOLDER_TEST(another_compiler_finds_nothing),
        cmocka_unit_test(off_is_a_cache_that_misses),
        FOLDER_TEST(a_batch_is_written_at_its_end),
        FOLDER_TEST(a_long_batch_is_written_early),
        FOLDER_TEST(opening_is_lazy_and_private),
        FOLDER_TEST(a_file_that_others_may_read_is_made_private),
        FOLDER_TEST(a_link_leads_to_the_file),
        FOLDER_TEST(descriptors_close_on_exec),
        FOLDER_TEST(the_limit_holds),
        FOLDER_TEST(a_batch_larger_than_the_limit_keeps_it),
        FOLDER_TEST(a_payload_that_is_too_large_is_refused),
        FOLDER_TEST(use_keeps_a_row),
        FOLDER_TEST(reading_writes_rarely),
        FOLDER_TEST(stats_count),
        FOLDER_TEST(clear_gives_the_space_back),
        FOLDER_TEST(verify_counts_and_deletes_bad_rows),
        FOLDER_TEST(a_payload_under_a_wrong_key_is_a_miss),
        FOLDER_TEST(a_file_is_known_by_its_stat),
        FOLDER_TEST(a_fresh_stat_is_not_trusted),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
