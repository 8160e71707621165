/* What somebody did to the file, or to its place. The cache may miss; it never lies, and mostly
 * recovers. */

#include "folder.h"
#include <sys/resource.h>
#include <sys/wait.h>

#define ROWS 24

/* Everything is in the log then, and the file nearly empty. */
static void fill_log(const struct folder *folder)
{
    struct cache *cache = open_cache(folder, 0);

    cache_begin(cache);
    for (unsigned i = 0; i < ROWS; i++)
        assert_true(row_put(cache, i));
    assert_true(cache_commit(cache));
    cache_close(cache);
}

static void fill(const struct folder *folder)
{
    fill_log(folder);
    run_sql(folder, "PRAGMA wal_checkpoint(TRUNCATE)");
}

/* Gets all rows, and says how many were there; wrong ones fail the test. */
static unsigned hits_of(struct cache *cache)
{
    unsigned hits = 0;

    for (unsigned i = 0; i < ROWS; i++) {
        enum row row = row_get(cache, i);

        assert_int_not_equal(row, ROW_WRONG);
        hits += row == ROW_HIT;
    }
    return hits;
}

/* A cache over whatever lies there works again, at the latest from the second put on. */
static unsigned recovers(const struct folder *folder)
{
    struct cache *cache = open_cache(folder, 0);
    unsigned hits = hits_of(cache);

    if (!row_put(cache, 100))
        assert_true(row_put(cache, 100));
    assert_int_equal(row_get(cache, 100), ROW_HIT);
    cache_close(cache);
    cache = open_cache(folder, 0);
    assert_int_equal(row_get(cache, 100), ROW_HIT);
    cache_close(cache);
    return hits;
}

static void garbage_is_put_aside(void **state)
{
    struct folder *folder = *state;
    unsigned char *garbage = row_blob(9), *aside;
    size_t size;

    write_file(folder->file, garbage, row_size(9));
    assert_int_equal(recovers(folder), 0);
    aside = read_file(folder->aside, &size);
    assert_int_equal(size, row_size(9));
    assert_memory_equal(aside, garbage, size);
    free(aside);
    free(garbage);
}

static void an_empty_file_is_a_new_one(void **state)
{
    struct folder *folder = *state;

    write_file(folder->file, "", 0);
    assert_int_equal(recovers(folder), 0);
    assert_false(exists(folder->aside));
}

static void a_truncated_file_is_survived(void **state)
{
    struct folder *folder = *state;
    unsigned char *bytes;
    size_t size;

    fill(folder);
    bytes = read_file(folder->file, &size);
    assert_true(size > 16 * 4096);
    for (size_t length = 1; length < size; length += length < 200 ? 33 : 4096 / 3) {
        write_file(folder->file, bytes, length);
        assert_true(recovers(folder) < ROWS);
        unlink(folder->file);
    }
    free(bytes);
}

static void another_version_is_put_aside(void **state)
{
    struct folder *folder = *state;

    fill(folder);
    run_sql(folder, "PRAGMA user_version = 99");
    assert_int_equal(recovers(folder), 0);
    assert_true(exists(folder->aside));
}

static void a_missing_table_is_damage(void **state)
{
    struct folder *folder = *state;

    fill(folder);
    run_sql(folder, "DROP TABLE entry");
    assert_int_equal(recovers(folder), 0);
    assert_true(exists(folder->aside));
}

static void another_programs_database_is_left_alone(void **state)
{
    struct folder *folder = *state;
    struct cache *cache;
    size_t size, size_after;
    unsigned char *before, *after;

    run_sql(folder, "CREATE TABLE bookmarks (url TEXT); INSERT INTO bookmarks VALUES ('here')");
    before = read_file(folder->file, &size);
    cache = open_cache(folder, 0);
    assert_int_equal(row_get(cache, 1), ROW_MISS);
    assert_false(row_put(cache, 1));
    assert_false(stats_of(cache).on);
    assert_non_null(strstr(stats_of(cache).why, "another program"));
    cache_close(cache);
    after = read_file(folder->file, &size_after);
    assert_int_equal(size, size_after);
    assert_memory_equal(before, after, size);
    assert_false(exists(folder->aside));
    free(before);
    free(after);
}

static void flipped_bytes_are_never_served(void **state)
{
    struct folder *folder = *state;
    unsigned char *bytes;
    size_t size;
    unsigned whole = 0;

    fill(folder);
    bytes = read_file(folder->file, &size);
    for (size_t at = 3; at < size; at += at < 1000 ? 13 : 401) {
        bytes[at] ^= 0x5a;
        write_file(folder->file, bytes, size);
        struct cache *cache = open_cache(folder, 0);

        whole += hits_of(cache) == ROWS;
        cache_close(cache);
        bytes[at] ^= 0x5a;
        unlink(folder->file);
    }
    /* Some bytes are unused, the most are not. */
    assert_true(whole < size / 401 / 2);
    free(bytes);
}

/* The log that a close leaves is read by the next one; where its file is gone or another one, it is
 * nobody's. */
static void a_log_alone_is_nothing(void **state)
{
    struct folder *folder = *state;
    char log[320];

    snprintf(log, sizeof log, "%s-wal", folder->file);
    fill_log(folder);
    assert_true(exists(log));
    assert_int_equal(recovers(folder), ROWS);
    unlink(folder->file);
    assert_int_equal(recovers(folder), 0);
    assert_false(exists(folder->aside));
}

static void flipped_bytes_of_the_log_are_never_served(void **state)
{
    struct folder *folder = *state;
    unsigned char *bytes, *log_bytes;
    size_t size, log_size;
    unsigned whole = 0, tries = 0;
    char log[320];

    snprintf(log, sizeof log, "%s-wal", folder->file);
    fill_log(folder);
    bytes = read_file(folder->file, &size);
    log_bytes = read_file(log, &log_size);
    assert_true(log_size > 16 * 4096);
    for (size_t at = 3; at < log_size; at += at < 100 ? 5 : 1709, tries++) {
        log_bytes[at] ^= 0x5a;
        write_file(folder->file, bytes, size);
        write_file(log, log_bytes, log_size);
        struct cache *cache = open_cache(folder, 0);

        whole += hits_of(cache) == ROWS;
        cache_close(cache);
        log_bytes[at] ^= 0x5a;
    }
    assert_true(whole < tries / 4);
    free(bytes);
    free(log_bytes);
}

/* One bit of one payload: that row alone is lost, and gone from the file afterwards. */
static void a_flipped_payload_is_a_miss(void **state)
{
    struct folder *folder = *state;
    unsigned char *bytes, *blob = row_blob(7), *at;
    size_t size;
    struct cache *cache;

    fill(folder);
    bytes = read_file(folder->file, &size);
    at = memmem(bytes, size, blob, 100);
    assert_non_null(at);
    at[50] ^= 1;
    write_file(folder->file, bytes, size);
    cache = open_cache(folder, 0);
    assert_int_equal(row_get(cache, 7), ROW_MISS);
    assert_int_equal(stats_of(cache).bad_rows, 1);
    assert_int_equal(stats_of(cache).rows[CACHE_LAYER], ROWS - 1);
    assert_int_equal(hits_of(cache), ROWS - 1);
    assert_int_equal(stats_of(cache).bad_rows, 1);
    assert_int_equal(stats_of(cache).renewed, 0);
    assert_true(row_put(cache, 7));
    assert_int_equal(hits_of(cache), ROWS);
    cache_close(cache);
    free(bytes);
    free(blob);
}

static void verify_finds_a_damaged_structure(void **state)
{
    struct folder *folder = *state;
    struct cache *cache;
    uint64_t rows, bad;

    fill(folder);
    /* The index loses a row that the table has. */
    run_sql(folder,
            "PRAGMA writable_schema = ON; DELETE FROM sqlite_master WHERE name = 'entry_used'");
    run_sql(folder, "DELETE FROM entry WHERE id = 5");
    cache = open_cache(folder, 0);
    assert_false(cache_verify(cache, &rows, &bad));
    assert_int_equal(stats_of(cache).renewed, 1);
    assert_true(exists(folder->aside));
    assert_true(row_put(cache, 1));
    assert_true(cache_verify(cache, &rows, &bad));
    assert_int_equal(rows, 1);
    cache_close(cache);
}

/* The first time it is made anew; the second time, in one life, it goes on without. */
static void the_second_damage_turns_it_off(void **state)
{
    struct folder *folder = *state;
    unsigned char garbage[8192];
    struct cache *cache = open_cache(folder, 0);

    memset(garbage, 0xa5, sizeof garbage);
    for (int round = 0; round < 2; round++) {
        assert_true(row_put(cache, 1));
        /* The log as well, whose pages would cover it. */
        run_sql(folder, "PRAGMA wal_checkpoint(TRUNCATE)");
        int fd = open(folder->file, O_WRONLY);

        assert_true(pwrite(fd, garbage, sizeof garbage, 0) == sizeof garbage);
        assert_int_equal(ftruncate(fd, sizeof garbage), 0);
        close(fd);
        /* Another writer makes sure that no page is trusted from before. */
        for (unsigned i = 2; i < 40 && stats_of(cache).renewed == (unsigned)round; i++) {
            assert_int_not_equal(row_get(cache, 1), ROW_WRONG);
            row_put(cache, i);
            if (!stats_of(cache).on)
                break;
        }
    }
    assert_int_equal(stats_of(cache).renewed, 1);
    assert_false(stats_of(cache).on);
    assert_string_not_equal(stats_of(cache).why, "");
    assert_int_equal(row_get(cache, 1), ROW_MISS);
    assert_false(row_put(cache, 1));
    cache_close(cache);
}

static void a_removed_folder_is_made_again(void **state)
{
    struct folder *folder = *state, deep = *folder;
    struct cache *cache;
    char sub[300];

    snprintf(sub, sizeof sub, "%.200s/sub", folder->path);
    snprintf(deep.file, sizeof deep.file, "%.200s/sub/cache.sqlite", folder->path);
    cache = open_cache(&deep, 0);
    for (unsigned i = 0; i < 3; i++) {
        assert_true(row_put(cache, i));
        assert_int_equal(nftw(sub, remove_one, 16, FTW_DEPTH | FTW_PHYS), 0);
        assert_true(row_put(cache, 50 + i));
        assert_int_equal(row_get(cache, 50 + i), ROW_HIT);
        assert_int_equal(row_get(cache, i), ROW_MISS);
        assert_true(exists(deep.file));
    }
    assert_int_equal(stats_of(cache).renewed, 0);
    cache_close(cache);
}

/* Two processes' caches over one file that was damaged: the second finds the first one's new file,
 * and takes it. */
static void one_puts_aside_for_all(void **state)
{
    struct folder *folder = *state;
    struct cache *a = open_cache(folder, 0), *b = open_cache(folder, 0);

    assert_true(row_put(a, 1));
    assert_true(row_put(b, 2));
    run_sql(folder, "DROP TABLE entry");
    for (unsigned i = 0; i < 3; i++)
        row_put(a, 3);
    assert_int_equal(row_get(a, 3), ROW_HIT);
    for (unsigned i = 0; i < 3; i++)
        row_put(b, 4);
    assert_int_equal(row_get(b, 4), ROW_HIT);
    assert_int_equal(row_get(b, 3), ROW_HIT);
    assert_int_equal(row_get(a, 4), ROW_HIT);
    assert_int_equal(stats_of(a).renewed + stats_of(b).renewed, 1);
    cache_close(b);
    assert_true(row_put(a, 5));
    cache_close(a);
    a = open_cache(folder, 0);
    for (unsigned i = 3; i <= 5; i++)
        assert_int_equal(row_get(a, i), ROW_HIT);
    cache_close(a);
}

static void expect_off(const struct folder *folder)
{
    char why[256] = "";
    struct cache *cache = cache_open(folder->file, 0, "1.0", why, sizeof why);

    assert_non_null(cache);
    assert_string_not_equal(why, "");
    assert_int_equal(row_get(cache, 1), ROW_MISS);
    assert_false(row_put(cache, 1));
    assert_false(stats_of(cache).on);
    assert_string_equal(stats_of(cache).why, why);
    cache_close(cache);
}

static void what_is_no_file_is_left_alone(void **state)
{
    struct folder *folder = *state;
    struct stat st;

    assert_int_equal(mkdir(folder->file, 0700), 0);
    expect_off(folder);
    assert_int_equal(stat(folder->file, &st), 0);
    assert_true(S_ISDIR(st.st_mode));
    rmdir(folder->file);
    assert_int_equal(mkfifo(folder->file, 0600), 0);
    expect_off(folder);
    unlink(folder->file);
    assert_int_equal(symlink("/dev/null", folder->file), 0);
    expect_off(folder);
    unlink(folder->file);
    write_file(folder->file, "x", 1);
    snprintf(folder->file, sizeof folder->file, "%.200s/cache.sqlite/below", folder->path);
    expect_off(folder);
}

static void proc_is_no_place(void **state)
{
    struct folder folder = {.file = "/proc/onnxgpu/cache.sqlite"};

    (void)state;
    expect_off(&folder);
}

/* A folder that may be read but not written, as somebody who is not root. */
static int in_read_only_folder(const struct folder *folder)
{
    char why[256];
    struct cache *cache;
    int wrong = 0;

    if (geteuid() == 0 && (chown(folder->path, 65534, 65534) != 0 || setuid(65534) != 0))
        return 100;
    if (chmod(folder->path, 0500) != 0)
        return 101;
    cache = cache_open(folder->file, 0, "1.0", why, sizeof why);
    wrong += row_get(cache, 1) != ROW_MISS;
    wrong += row_put(cache, 1);
    wrong += row_get(cache, 1) != ROW_MISS;
    wrong += stats_of(cache).on;
    wrong += stats_of(cache).why[0] == '\0';
    cache_close(cache);
    return wrong;
}

static int in_child(int (*work)(const struct folder *), const struct folder *folder)
{
    int status = 0;
    pid_t child = fork();

    assert_true(child >= 0);
    if (child == 0)
        _exit(work(folder));
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void a_read_only_folder_turns_it_off(void **state)
{
    struct folder *folder = *state;

    assert_int_equal(in_child(in_read_only_folder, folder), 0);
    assert_false(exists(folder->file));
}

static int with_read_only_file(const struct folder *folder)
{
    char why[256];
    struct cache *cache;
    int wrong = 0;

    if (geteuid() == 0 && (chown(folder->path, 65534, 65534) != 0 ||
                           chown(folder->file, 65534, 65534) != 0 || setuid(65534) != 0))
        return 100;
    if (chmod(folder->file, 0400) != 0)
        return 101;
    cache = cache_open(folder->file, 0, "1.0", why, sizeof why);
    for (unsigned i = 0; i < ROWS; i++)
        wrong += row_get(cache, i) == ROW_WRONG;
    wrong += row_put(cache, 1);
    wrong += stats_of(cache).on;
    wrong += stats_of(cache).renewed != 0;
    cache_close(cache);
    return wrong;
}

static void a_read_only_file_turns_it_off(void **state)
{
    struct folder *folder = *state;

    fill(folder);
    assert_int_equal(in_child(with_read_only_file, folder), 0);
    assert_true(exists(folder->file));
    assert_false(exists(folder->aside));
}

/* The system's own way of being full, at many sizes. */
static int with_little_space(const struct folder *folder)
{
    int wrong = 0;

    signal(SIGXFSZ, SIG_IGN);
    for (rlim_t bytes = 512; bytes < 300000; bytes += bytes / 3) {
        struct rlimit limit = {bytes, RLIM_INFINITY};
        struct cache *cache = cache_open(folder->file, 0, "1.0", NULL, 0);

        setrlimit(RLIMIT_FSIZE, &limit);
        for (unsigned i = 0; i < ROWS; i++) {
            row_put(cache, i);
            wrong += row_get(cache, i) == ROW_WRONG;
        }
        cache_close(cache);
        limit.rlim_cur = RLIM_INFINITY;
        setrlimit(RLIMIT_FSIZE, &limit);
        cache = cache_open(folder->file, 0, "1.0", NULL, 0);
        for (unsigned i = 0; i < ROWS; i++)
            wrong += row_get(cache, i) == ROW_WRONG;
        wrong += !row_put(cache, 100) && !row_put(cache, 100);
        wrong += row_get(cache, 100) != ROW_HIT;
        wrong += !cache_clear(cache);
        cache_close(cache);
    }
    return wrong;
}

static void a_full_disk_is_survived(void **state)
{
    assert_int_equal(in_child(with_little_space, *state), 0);
}

/* Descriptors come back: neither is the file put aside nor the cache given up. */
static int without_descriptors(const struct folder *folder)
{
    struct rlimit limit = {3, 1000};
    struct cache *cache = cache_open(folder->file, 0, "1.0", NULL, 0);
    int wrong = 0, last = dup(0);

    for (int left = 0; left < 6; left++) {
        limit.rlim_cur = (rlim_t)(last + left);
        setrlimit(RLIMIT_NOFILE, &limit);
        wrong += row_get(cache, 1) == ROW_WRONG;
    }
    limit.rlim_cur = 1000;
    setrlimit(RLIMIT_NOFILE, &limit);
    for (unsigned i = 0; i < ROWS; i++)
        wrong += row_get(cache, i) != ROW_HIT;
    wrong += !row_put(cache, 1);
    wrong += stats_of(cache).renewed != 0;
    cache_close(cache);
    return wrong;
}

static void a_lack_of_descriptors_passes(void **state)
{
    struct folder *folder = *state;

    fill(folder);
    assert_int_equal(in_child(without_descriptors, folder), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        FOLDER_TEST(garbage_is_put_aside),
        FOLDER_TEST(an_empty_file_is_a_new_one),
        FOLDER_TEST(a_truncated_file_is_survived),
        FOLDER_TEST(another_version_is_put_aside),
        FOLDER_TEST(a_missing_table_is_damage),
        FOLDER_TEST(another_programs_database_is_left_alone),
        FOLDER_TEST(flipped_bytes_are_never_served),
        FOLDER_TEST(a_log_alone_is_nothing),
        FOLDER_TEST(flipped_bytes_of_the_log_are_never_served),
        FOLDER_TEST(a_flipped_payload_is_a_miss),
        FOLDER_TEST(verify_finds_a_damaged_structure),
        FOLDER_TEST(the_second_damage_turns_it_off),
        FOLDER_TEST(a_removed_folder_is_made_again),
        FOLDER_TEST(one_puts_aside_for_all),
        FOLDER_TEST(what_is_no_file_is_left_alone),
        cmocka_unit_test(proc_is_no_place),
        FOLDER_TEST(a_read_only_folder_turns_it_off),
        FOLDER_TEST(a_read_only_file_turns_it_off),
        FOLDER_TEST(a_full_disk_is_survived),
        FOLDER_TEST(a_lack_of_descriptors_passes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
