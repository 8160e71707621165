/* Several processes and several threads at one file, one that is killed, one that keeps the file
 * locked. */

#include "folder.h"
#include <pthread.h>
#include <sys/wait.h>

#define KEYS 60

static unsigned next(unsigned *seed)
{
    *seed = *seed * 1664525u + 1013904223u;
    return *seed >> 8;
}

/* Returns how many answers were wrong, and counts the hits. */
static int hammer(struct cache *cache, unsigned seed, int rounds, int *hits)
{
    int wrong = 0;
    bool batch = false;

    for (int i = 0; i < rounds; i++) {
        unsigned key = next(&seed) % KEYS;
        enum row row;

        if (!batch && next(&seed) % 16 == 0) {
            cache_begin(cache);
            batch = true;
        }
        row = row_get(cache, key);
        if (row == ROW_MISS)
            row_put(cache, key);
        *hits += row == ROW_HIT;
        wrong += row == ROW_WRONG;
        if (batch && next(&seed) % 8 == 0) {
            cache_commit(cache);
            batch = false;
        }
        if (i % 200 == 199) {
            struct cache_stats stats = stats_of(cache);

            wrong += !stats.on || stats.bad_rows || stats.renewed;
        }
    }
    if (batch)
        cache_commit(cache);
    return wrong;
}

/* hammer(), and on until something was found: on a slow disk a cache gives up waiting for the
 * others, and for a second after that it does not even ask. */
static int hammer_to_a_hit(struct cache *cache, unsigned seed, int rounds, int *hits)
{
    int wrong = hammer(cache, seed, rounds, hits);

    for (int i = 0; i < 12000 && *hits == 0; i++) {
        usleep(10000);
        wrong += hammer(cache, seed, 10, hits);
    }
    return wrong;
}

static void check_file(const struct folder *folder)
{
    struct cache *cache = open_cache(folder, 0);
    uint64_t rows, bad;

    assert_true(cache_verify(cache, &rows, &bad));
    assert_int_equal(bad, 0);
    for (unsigned i = 0; i < 2000; i++)
        assert_int_not_equal(row_get(cache, i), ROW_WRONG);
    assert_int_equal(stats_of(cache).renewed, 0);
    assert_false(exists(folder->aside));
    assert_true(row_put(cache, 1));
    assert_int_equal(row_get(cache, 1), ROW_HIT);
    cache_close(cache);
}

static void processes_share_a_file(void **state)
{
    struct folder *folder = *state;
    pid_t children[3];

    /* All three begin without a file. The limit makes them evict each other's rows. */
    for (unsigned i = 0; i < 3; i++) {
        children[i] = fork();
        assert_true(children[i] >= 0);
        if (children[i] == 0) {
            int hits = 0, wrong = 0;

            for (unsigned life = 0; life < 4; life++) {
                struct cache *cache = cache_open(folder->file, 256 * 1024, "1.0", NULL, 0);

                wrong += hammer_to_a_hit(cache, i * 100 + life, 300, &hits);
                cache_close(cache);
            }
            _exit(wrong ? 1 : hits ? 0 : 2);
        }
    }
    for (int i = 0; i < 3; i++) {
        int status = -1;

        assert_int_equal(waitpid(children[i], &status, 0), children[i]);
        assert_true(WIFEXITED(status));
        assert_int_equal(WEXITSTATUS(status), 0);
    }
    check_file(folder);
}

/* Killed at any moment between the making of the file and the many checkpoints. */
static void a_killed_process_leaves_a_good_file(void **state)
{
    struct folder *folder = *state;
    unsigned seed = 1;

    for (unsigned round = 0; round < 25; round++) {
        int pipes[2], status = 0;
        pid_t child;

        assert_int_equal(pipe(pipes), 0);
        child = fork();
        assert_true(child >= 0);
        if (child == 0) {
            struct cache *cache = cache_open(folder->file, 0, "1.0", NULL, 0);

            if (write(pipes[1], "o", 1) != 1)
                _exit(1);
            for (unsigned i = round * 70;; i++) {
                if (i % 7 == 0)
                    cache_begin(cache);
                row_put(cache, i % 2000);
                if (i % 7 == 5)
                    cache_commit(cache);
                if (write(pipes[1], "p", 1) != 1)
                    _exit(1);
            }
        }
        /* After so many puts, and a little: the child is in the middle of the next. */
        close(pipes[1]);
        for (unsigned puts = round < 5 ? 1 : next(&seed) % 70; puts; puts--) {
            char byte;

            assert_int_equal(read(pipes[0], &byte, 1), 1);
        }
        usleep(next(&seed) % 1500);
        kill(child, SIGKILL);
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFSIGNALED(status));
        close(pipes[0]);
        check_file(folder);
    }
}

struct worker {
    struct cache *cache;
    unsigned seed;
    int wrong, hits;
};

static void *work(void *data)
{
    struct worker *worker = data;

    worker->wrong = hammer_to_a_hit(worker->cache, worker->seed, 400, &worker->hits);
    return NULL;
}

static void threads_share_a_cache(void **state)
{
    struct folder *folder = *state;
    struct cache *cache = open_cache(folder, 256 * 1024);
    struct worker workers[4];
    pthread_t threads[4];
    uint64_t rows, bad;
    int hits = 0;

    for (unsigned i = 0; i < 4; i++) {
        workers[i] = (struct worker){cache, i, 0, 0};
        assert_int_equal(pthread_create(&threads[i], NULL, work, &workers[i]), 0);
    }
    /* Not at rest, so not to be relied on; but it must disturb nobody. */
    cache_verify(cache, &rows, &bad);
    assert_int_equal(bad, 0);
    for (int i = 0; i < 4; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
        assert_int_equal(workers[i].wrong, 0);
        hits += workers[i].hits;
    }
    assert_true(hits > 0);
    cache_close(cache);
    check_file(folder);
}

static sqlite3 *lock_file(const struct folder *folder, const char *sql)
{
    sqlite3 *db = NULL;

    assert_int_equal(sqlite3_open(folder->file, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
    return db;
}

static void a_locked_file_is_a_miss(void **state)
{
    struct folder *folder = *state;
    struct cache *cache = open_cache(folder, 0);
    sqlite3 *other;

    assert_true(row_put(cache, 1));
    cache_close(cache);

    /* Nobody else gets in at all: a cache that is just being opened. */
    other = lock_file(folder, "PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE;"
                              "UPDATE entry SET used = used");
    cache = open_cache(folder, 0);
    assert_int_equal(row_get(cache, 1), ROW_MISS);
    assert_true(stats_of(cache).busy > 0);
    /* Patience is spent once, not once a question. */
    for (int i = 0; i < 1000; i++)
        assert_int_equal(row_get(cache, 1), ROW_MISS);
    assert_false(row_put(cache, 2));
    assert_true(stats_of(cache).on);
    assert_int_equal(stats_of(cache).renewed, 0);
    sqlite3_exec(other, "ROLLBACK", NULL, NULL, NULL);
    sqlite3_close(other);
    assert_int_equal(row_get(cache, 1), ROW_HIT);
    assert_true(row_put(cache, 2));

    /* Somebody writes: reading goes on. */
    other = lock_file(folder, "BEGIN IMMEDIATE; UPDATE entry SET used = used");
    assert_int_equal(row_get(cache, 1), ROW_HIT);
    assert_false(row_put(cache, 3));
    cache_begin(cache);
    row_put(cache, 3);
    assert_false(cache_commit(cache));
    assert_int_equal(row_get(cache, 3), ROW_MISS);
    assert_false(cache_clear(cache));
    sqlite3_exec(other, "ROLLBACK", NULL, NULL, NULL);
    sqlite3_close(other);
    assert_true(row_put(cache, 3));
    assert_int_equal(row_get(cache, 3), ROW_HIT);
    assert_int_equal(row_get(cache, 1), ROW_HIT);
    cache_close(cache);
}

/* Somebody reads, for long: writing goes on, and so does clearing. */
static void a_long_reader_disturbs_nobody(void **state)
{
    struct folder *folder = *state;
    struct cache *cache = open_cache(folder, 256 * 1024);
    sqlite3 *other;

    assert_true(row_put(cache, 1));
    other = lock_file(folder, "BEGIN; SELECT count(*) FROM entry");
    for (unsigned i = 1; i < 200; i++)
        assert_true(row_put(cache, i));
    assert_true(cache_clear(cache));
    assert_int_equal(row_get(cache, 199), ROW_MISS);
    sqlite3_exec(other, "COMMIT", NULL, NULL, NULL);
    sqlite3_close(other);
    cache_close(cache);
    check_file(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        FOLDER_TEST(processes_share_a_file),
        FOLDER_TEST(a_killed_process_leaves_a_good_file),
        FOLDER_TEST(threads_share_a_cache),
        FOLDER_TEST(a_locked_file_is_a_miss),
        FOLDER_TEST(a_long_reader_disturbs_nobody),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
