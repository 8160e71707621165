/*
 * The nth operation of the file system, or the nth allocation, fails: once, or from then on; n goes
 * from 1 until everything passes untouched. Under sqlite, so that nothing of the cache knows that
 * it is being tested.
 */

#include "folder.h"

/* What fails, and as what. */
enum operation { OPEN, READ, WRITE, TRUNCATE, SYNC, SIZE, SHARED_MEMORY, OPERATIONS };

static const int codes[OPERATIONS] = {
    [OPEN] = SQLITE_CANTOPEN,
    [READ] = SQLITE_IOERR_READ,
    [WRITE] = SQLITE_FULL,
    [TRUNCATE] = SQLITE_IOERR_TRUNCATE,
    [SYNC] = SQLITE_IOERR_FSYNC,
    [SIZE] = SQLITE_IOERR_FSTAT,
    [SHARED_MEMORY] = SQLITE_IOERR_SHMMAP,
};

static struct {
    enum operation operation;
    bool sticky;
    long countdown; /* 0: nothing fails */
    bool reached;
} fault;

static bool fails(enum operation operation)
{
    if (operation != fault.operation || fault.countdown == 0)
        return false;
    if (fault.countdown > 1) {
        fault.countdown--;
        return false;
    }
    fault.reached = true;
    if (!fault.sticky)
        fault.countdown = 0;
    return true;
}

/* A file of the real file system, behind the one that sqlite sees. */
struct shim {
    sqlite3_file base;
    sqlite3_file *real;
};

static sqlite3_vfs *real_vfs, shim_vfs;

#define REAL(file) (((struct shim *)(file))->real)
#define CALL(file, method, ...) REAL(file)->pMethods->method(REAL(file), ##__VA_ARGS__)

static int shim_close(sqlite3_file *file)
{
    return CALL(file, xClose);
}

static int shim_read(sqlite3_file *file, void *bytes, int n, sqlite3_int64 at)
{
    return fails(READ) ? codes[READ] : CALL(file, xRead, bytes, n, at);
}

static int shim_write(sqlite3_file *file, const void *bytes, int n, sqlite3_int64 at)
{
    if (!fails(WRITE))
        return CALL(file, xWrite, bytes, n, at);
    /* A write that fails has often written something. */
    CALL(file, xWrite, bytes, n / 2, at);
    return codes[WRITE];
}

static int shim_truncate(sqlite3_file *file, sqlite3_int64 size)
{
    return fails(TRUNCATE) ? codes[TRUNCATE] : CALL(file, xTruncate, size);
}

static int shim_sync(sqlite3_file *file, int flags)
{
    (void)file, (void)flags;
    return fails(SYNC) ? codes[SYNC] : SQLITE_OK;
}

static int shim_file_size(sqlite3_file *file, sqlite3_int64 *size)
{
    return fails(SIZE) ? codes[SIZE] : CALL(file, xFileSize, size);
}

static int shim_lock(sqlite3_file *file, int level)
{
    return CALL(file, xLock, level);
}

static int shim_unlock(sqlite3_file *file, int level)
{
    return CALL(file, xUnlock, level);
}

static int shim_check_reserved(sqlite3_file *file, int *reserved)
{
    return CALL(file, xCheckReservedLock, reserved);
}

static int shim_control(sqlite3_file *file, int op, void *arg)
{
    return CALL(file, xFileControl, op, arg);
}

static int shim_sector_size(sqlite3_file *file)
{
    return CALL(file, xSectorSize);
}

static int shim_characteristics(sqlite3_file *file)
{
    return CALL(file, xDeviceCharacteristics);
}

static int shim_shm_map(sqlite3_file *file, int page, int size, int extend, void volatile **memory)
{
    if (!fails(SHARED_MEMORY))
        return CALL(file, xShmMap, page, size, extend, memory);
    *memory = NULL;
    return codes[SHARED_MEMORY];
}

static int shim_shm_lock(sqlite3_file *file, int offset, int n, int flags)
{
    return CALL(file, xShmLock, offset, n, flags);
}

static void shim_shm_barrier(sqlite3_file *file)
{
    CALL(file, xShmBarrier);
}

static int shim_shm_unmap(sqlite3_file *file, int delete)
{
    return CALL(file, xShmUnmap, delete);
}

static const sqlite3_io_methods shim_methods = {
    .iVersion = 2,
    .xClose = shim_close,
    .xRead = shim_read,
    .xWrite = shim_write,
    .xTruncate = shim_truncate,
    .xSync = shim_sync,
    .xFileSize = shim_file_size,
    .xLock = shim_lock,
    .xUnlock = shim_unlock,
    .xCheckReservedLock = shim_check_reserved,
    .xFileControl = shim_control,
    .xSectorSize = shim_sector_size,
    .xDeviceCharacteristics = shim_characteristics,
    .xShmMap = shim_shm_map,
    .xShmLock = shim_shm_lock,
    .xShmBarrier = shim_shm_barrier,
    .xShmUnmap = shim_shm_unmap,
};

static int shim_open(sqlite3_vfs *vfs, const char *name, sqlite3_file *file, int flags,
                     int *out_flags)
{
    struct shim *shim = (struct shim *)file;
    int code;

    (void)vfs;
    shim->base.pMethods = NULL;
    if (fails(OPEN))
        return codes[OPEN];
    shim->real = (sqlite3_file *)(shim + 1);
    code = real_vfs->xOpen(real_vfs, name, shim->real, flags, out_flags);
    /* A file whose opening failed may still want to be closed. */
    if (shim->real->pMethods)
        shim->base.pMethods = &shim_methods;
    return code;
}

static int install_shim(void **state)
{
    (void)state;
    real_vfs = sqlite3_vfs_find(NULL);
    shim_vfs = *real_vfs;
    shim_vfs.zName = "shim";
    shim_vfs.szOsFile = (int)sizeof(struct shim) + real_vfs->szOsFile;
    shim_vfs.xOpen = shim_open;
    return sqlite3_vfs_register(&shim_vfs, 1) == SQLITE_OK ? 0 : -1;
}

#define ROWS 12

static void check_rows(struct cache *cache)
{
    for (unsigned i = 1; i <= ROWS; i++)
        assert_int_not_equal(row_get(cache, i), ROW_WRONG);
}

/* Everything that a cache does, with an eviction and a reopening. */
static void work(const struct folder *folder)
{
    uint64_t rows, bad;

    for (int life = 0; life < 2; life++) {
        struct cache *cache = cache_open(folder->file, 1, "1.0", NULL, 0);

        if (!cache)
            continue;
        check_rows(cache);
        cache_begin(cache);
        for (unsigned i = 1; i <= ROWS - 2; i++)
            row_put(cache, i);
        cache_commit(cache);
        row_put(cache, ROWS - 1);
        check_rows(cache);
        for (unsigned i = 0; i < 3; i++) {
            static const char large[60000];

            cache_put(cache, CACHE_MODEL, row_key(i), large, sizeof large);
        }
        stats_of(cache);
        cache_verify(cache, &rows, &bad);
        if (life)
            cache_clear(cache);
        row_put(cache, ROWS);
        check_rows(cache);
        cache_close(cache);
    }
}

/* After the trouble, a new cache works, on what the trouble left. */
static void check_aftermath(const struct folder *folder)
{
    struct cache *cache = open_cache(folder, 0);
    uint64_t rows, bad;

    check_rows(cache);
    if (!row_put(cache, 100))
        assert_true(row_put(cache, 100));
    assert_int_equal(row_get(cache, 100), ROW_HIT);
    check_rows(cache);
    assert_true(cache_verify(cache, &rows, &bad));
    cache_close(cache);
}

static void empty_folder(const struct folder *folder)
{
    nftw(folder->path, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    assert_int_equal(mkdir(folder->path, 0700), 0);
}

static void fail_each(const struct folder *folder, enum operation operation, bool sticky)
{
    long n = 0;

    do {
        fault.operation = operation;
        fault.sticky = sticky;
        fault.countdown = ++n;
        fault.reached = false;
        work(folder);
        fault.countdown = 0;
        check_aftermath(folder);
        empty_folder(folder);
    } while (fault.reached);
    /* At least once, or the shim was not in the way. */
    assert_true(n > 1);
}

static void each_write_fails(void **state)
{
    fail_each(*state, WRITE, false);
    fail_each(*state, WRITE, true);
}

static void each_read_fails(void **state)
{
    fail_each(*state, READ, false);
    fail_each(*state, READ, true);
}

static void each_sync_fails(void **state)
{
    fail_each(*state, SYNC, false);
    fail_each(*state, SYNC, true);
}

static void each_truncation_fails(void **state)
{
    fail_each(*state, TRUNCATE, false);
    fail_each(*state, TRUNCATE, true);
}

static void each_size_fails(void **state)
{
    fail_each(*state, SIZE, false);
    fail_each(*state, SIZE, true);
}

static void each_opening_fails(void **state)
{
    fail_each(*state, OPEN, false);
    fail_each(*state, OPEN, true);
}

static void each_shared_memory_fails(void **state)
{
    fail_each(*state, SHARED_MEMORY, false);
    fail_each(*state, SHARED_MEMORY, true);
}

static sqlite3_mem_methods real_memory;
static long allocations_left = -1; /* -1: none fails */
static bool allocation_failed;

static bool allocation_fails(void)
{
    if (allocations_left < 0)
        return false;
    if (allocations_left-- > 0)
        return false;
    allocation_failed = true;
    return true;
}

static void *failing_malloc(int size)
{
    return allocation_fails() ? NULL : real_memory.xMalloc(size);
}

static void *failing_realloc(void *memory, int size)
{
    return allocation_fails() ? NULL : real_memory.xRealloc(memory, size);
}

/* sqlite tolerates some failures without a word, so the aftermath is what counts. A lack of memory
 * damages nothing. */
static void each_allocation_fails(void **state)
{
    const struct folder *folder = *state;
    sqlite3_mem_methods failing;
    long n = 0;

    assert_int_equal(sqlite3_shutdown(), SQLITE_OK);
    assert_int_equal(sqlite3_config(SQLITE_CONFIG_GETMALLOC, &real_memory), SQLITE_OK);
    failing = real_memory;
    failing.xMalloc = failing_malloc;
    failing.xRealloc = failing_realloc;
    assert_int_equal(sqlite3_config(SQLITE_CONFIG_MALLOC, &failing), SQLITE_OK);
    assert_int_equal(sqlite3_initialize(), SQLITE_OK);
    assert_int_equal(install_shim(NULL), 0);
    do {
        allocation_failed = false;
        allocations_left = n;
        work(folder);
        allocations_left = -1;
        check_aftermath(folder);
        assert_false(exists(folder->aside));
        empty_folder(folder);
        n += 1 + n / 40;
    } while (allocation_failed);
    assert_true(n > 100);
    assert_int_equal(sqlite3_shutdown(), SQLITE_OK);
    assert_int_equal(sqlite3_config(SQLITE_CONFIG_MALLOC, &real_memory), SQLITE_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        FOLDER_TEST(each_write_fails),         FOLDER_TEST(each_read_fails),
        FOLDER_TEST(each_sync_fails),          FOLDER_TEST(each_truncation_fails),
        FOLDER_TEST(each_size_fails),          FOLDER_TEST(each_opening_fails),
        FOLDER_TEST(each_shared_memory_fails), FOLDER_TEST(each_allocation_fails),
    };

    return cmocka_run_group_tests(tests, install_shim, NULL);
}
