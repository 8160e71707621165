/* The compiler's view of the cache: rows and hashes come back, under the names of kinds.def. */
#include "daemon/compile_cache.h"
#include "tests/unit/cache/folder.h"

static void rows_by_kind_and_key(void **state)
{
    struct folder *f = *state;
    struct cache *cache = cache_open(f->file, 0, "1", NULL, 0);
    struct compile_cache_adapter adapter;
    struct compile_cache *c = compile_cache_init(&adapter, cache);
    struct hash key = {.high = 1, .low = 2}, other = {.high = 2, .low = 1};
    void *row;
    size_t size;

    assert_false(c->get(c, "layer", key, &row, &size));
    assert_null(row);
    c->put(c, "layer", key, "abc", 3);
    assert_true(c->get(c, "layer", key, &row, &size));
    assert_int_equal(size, 3);
    assert_memory_equal(row, "abc", 3);
    free(row);
    assert_false(c->get(c, "model", key, &row, &size));
    assert_false(c->get(c, "layer", other, &row, &size));
    /* every kind has its name, and nothing else is one */
    for (int kind = 1; kind < CACHE_KIND_END; kind++) {
        c->put(c, cache_kind_name((enum cache_kind)kind), other, &kind, sizeof kind);
        assert_true(c->get(c, cache_kind_name((enum cache_kind)kind), other, &row, &size));
        assert_memory_equal(row, &kind, sizeof kind);
        free(row);
    }
    c->put(c, "frob", key, "abc", 3);
    assert_false(c->get(c, "frob", key, &row, &size));
    cache_close(cache);
}

static void files_by_identity(void **state)
{
    struct folder *f = *state;
    struct cache *cache = cache_open(f->file, 0, "1", NULL, 0);
    struct compile_cache_adapter adapter;
    struct compile_cache *c = compile_cache_init(&adapter, cache);
    struct file_identity id = {
        .device = 1, .inode = 2, .size = 3, .modified_ns = 4, .changed_ns = 5};
    struct hash hash = {.high = 6, .low = 7}, found = {0};
    char path[300], *folder = getcwd(NULL, 0);

    /* A relative path and its absolute one are one file. */
    snprintf(path, sizeof path, "%s/model", f->path);
    fclose(fopen(path, "we"));
    assert_int_equal(chdir(f->path), 0);
    c->file_put(c, "model", &id, hash, (int64_t)10 * 1000 * 1000 * 1000);
    assert_true(c->file_get(c, path, &id, &found));
    assert_int_equal(found.high, 6);
    assert_int_equal(found.low, 7);
    assert_true(c->file_get(c, "model", &id, &found));
    assert_int_equal(chdir(folder), 0);
    free(folder);
    for (int field = 0; field < 5; field++) {
        struct file_identity changed = id;

        changed.device += field == 0;
        changed.inode += field == 1;
        changed.size += field == 2;
        changed.modified_ns += field == 3;
        changed.changed_ns += field == 4;
        assert_false(c->file_get(c, path, &changed, &found));
    }
    unlink(path);
    cache_close(cache);
}

static void no_cache_misses_always(void **state)
{
    struct compile_cache_adapter adapter;
    struct compile_cache *c = compile_cache_init(&adapter, NULL);
    struct file_identity id = {0};
    struct hash key = {0};
    void *row;
    size_t size;

    (void)state;
    c->put(c, "layer", key, "abc", 3);
    assert_false(c->get(c, "layer", key, &row, &size));
    c->file_put(c, "/x", &id, key, 0);
    assert_false(c->file_get(c, "/x", &id, &key));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(rows_by_kind_and_key, folder_make, folder_remove),
        cmocka_unit_test_setup_teardown(files_by_identity, folder_make, folder_remove),
        cmocka_unit_test(no_cache_misses_always),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
