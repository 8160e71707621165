#include "cache/store.h"
#include "cache/patience.h"
#include "cache/place.h"
#include "cache_schema.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* "ogpc". Tells our database from another program's, which is left alone. */
#define STORE_APPLICATION 0x6f677063
/* Another number, another file: there is no migration, what was computed once can be computed
 * again. */
#define STORE_FORMAT 1
/* Of the log, pages after which a commit moves them into the file. Whoever opens the file alone
 * reads the log once through. */
#define STORE_LOG_PAGES 250

#define TEXT(x) #x
#define NUMBER(x) TEXT(x)

static const char *const texts[] = {
#define STATEMENT(symbol, text) [STATEMENT_##symbol] = text,
#include "cache/statements.def"
#undef STATEMENT
};

enum remedy { MISS, ASIDE, OFF };

/* By extended code first, then by primary code; what is not here is a damaged file. */
static const struct {
    int code;
    enum remedy remedy;
} remedies[] = {
    {SQLITE_IOERR_NOMEM, MISS}, {SQLITE_IOERR_BLOCKED, MISS}, {SQLITE_BUSY, MISS},
    {SQLITE_LOCKED, MISS},      {SQLITE_PROTOCOL, MISS},      {SQLITE_NOMEM, MISS},
    {SQLITE_INTERRUPT, MISS},   {SQLITE_SCHEMA, MISS},        {SQLITE_CANTOPEN, OFF},
    {SQLITE_READONLY, OFF},     {SQLITE_PERM, OFF},           {SQLITE_AUTH, OFF},
};

static enum remedy remedy_for(int code)
{
    for (size_t i = 0; i < sizeof remedies / sizeof *remedies; i++)
        if (remedies[i].code == code || remedies[i].code == (code & 0xff))
            return remedies[i].remedy;
    return ASIDE;
}

static bool passes(int error)
{
    return error == EMFILE || error == ENFILE || error == ENOMEM || error == EINTR;
}

static bool is_fine(int code)
{
    return code == SQLITE_OK || code == SQLITE_ROW || code == SQLITE_DONE;
}

void store_init(struct store *store, const char *path)
{
    *store = (struct store){.renewals_left = 1, .reopenings_left = 8, .off = true};
    if (path)
        store->path = place_find(path, store->why, sizeof store->why);
    store->off = !store->path;
}

static void close_database(struct store *store)
{
    for (int i = 0; i < STATEMENT_END; i++) {
        sqlite3_finalize(store->statements[i]);
        store->statements[i] = NULL;
    }
    sqlite3_close(store->db);
    store->db = NULL;
}

void store_release(struct store *store)
{
    close_database(store);
    free(store->path);
    store->path = NULL;
    store->off = true;
}

static void turn_off(struct store *store, const char *reason)
{
    if (!store->off)
        snprintf(store->why, sizeof store->why, "%s (%s)", reason, store->path);
    store->off = true;
    close_database(store);
}

static int wait_for_lock(void *data, int count)
{
    struct store *store = data;

    return patience_wait(store->deadline, count);
}

static bool has_moved(struct store *store)
{
    int moved = 0;

    return store->db &&
           sqlite3_file_control(store->db, "main", SQLITE_FCNTL_HAS_MOVED, &moved) == SQLITE_OK &&
           moved;
}

/*
 * `lock` is the folder's, or negative where it is not held. Somebody else may have been first: then
 * the file at the path is a good one that only has to be opened.
 */
static void put_aside(struct store *store, int lock, const char *reason)
{
    int own = lock < 0 ? place_lock(store->path, store->deadline) : lock;

    if (own == -EWOULDBLOCK) {
        /* Somebody is at it. What is wrong with the file, opening it the next time will tell. */
        close_database(store);
        return;
    }
    if (own < 0) {
        turn_off(store, reason);
        return;
    }
    bool moved = has_moved(store);

    if (moved && store->reopenings_left) {
        store->reopenings_left--;
        close_database(store);
    } else if (!moved && store->renewals_left && place_put_aside(store->path)) {
        store->renewals_left--;
        store->renewed++;
        close_database(store);
    } else {
        turn_off(store, reason);
    }
    if (own != lock)
        close(own);
}

static void settle(struct store *store, int code, int lock)
{
    const char *reason = sqlite3_errstr(code);
    enum remedy remedy = remedy_for(code);

    if (is_fine(code))
        return;
    /* A folder that is gone can be made, descriptors that ran out come back. */
    if (remedy == OFF && has_moved(store))
        remedy = ASIDE;
    else if (remedy == OFF && store->db && passes(sqlite3_system_errno(store->db)))
        remedy = MISS;
    if (store->db) {
        for (int i = 0; i < STATEMENT_END; i++)
            sqlite3_reset(store->statements[i]);
        if (!sqlite3_get_autocommit(store->db))
            sqlite3_exec(store->db, "ROLLBACK", NULL, NULL, NULL);
    }
    if ((code & 0xff) == SQLITE_BUSY) {
        store->busy++;
        store->impatient_until = patience_now() + PATIENCE_PAUSE_MS;
    }
    if (remedy == ASIDE)
        put_aside(store, lock, reason);
    else if (remedy == OFF)
        turn_off(store, reason);
}

void store_settle(struct store *store, int code)
{
    settle(store, code, -1);
}

static int run(struct store *store, const char *sql)
{
    return sqlite3_exec(store->db, sql, NULL, NULL, NULL);
}

/* The first column of the first row of a statement that is needed only once. */
static int ask(struct store *store, const char *sql, uint64_t *number, char text[16])
{
    sqlite3_stmt *statement = NULL;
    int code = sqlite3_prepare_v2(store->db, sql, -1, &statement, NULL);

    if (code == SQLITE_OK)
        code = sqlite3_step(statement);
    if (code == SQLITE_ROW) {
        if (number)
            *number = (uint64_t)sqlite3_column_int64(statement, 0);
        if (text)
            snprintf(text, 16, "%s", (const char *)sqlite3_column_text(statement, 0));
        code = sqlite3_reset(statement);
    }
    sqlite3_finalize(statement);
    return code;
}

static int configure(struct store *store)
{
    sqlite3_extended_result_codes(store->db, 1);
    sqlite3_busy_handler(store->db, wait_for_lock, store);
    sqlite3_db_config(store->db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
    sqlite3_db_config(store->db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
    /* Closing would move the log into the file, which waits for the disk twice, and then remove it
     * by its name, which may be another file's by now. A log that stays costs the next one less. */
    sqlite3_db_config(store->db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
    sqlite3_wal_autocheckpoint(store->db, STORE_LOG_PAGES);
    return run(store, "PRAGMA synchronous = NORMAL; PRAGMA temp_store = MEMORY;"
                      "PRAGMA cell_size_check = ON; PRAGMA journal_size_limit = 1048576;");
}

/*
 * Before anything is written: is it ours? Not by the path alone, because a user can name any file.
 * The version is judged only where the application is right.
 */
static int recognise(struct store *store, bool *empty, bool *foreign)
{
    uint64_t application = 0, format = 0, objects = 0;
    int code = ask(store, "PRAGMA application_id", &application, NULL);

    if (code == SQLITE_OK)
        code = ask(store, "PRAGMA user_version", &format, NULL);
    if (code == SQLITE_OK)
        code = ask(store, "SELECT count(*) FROM sqlite_master", &objects, NULL);
    if (code != SQLITE_OK)
        return code;
    *empty = !application && !format && !objects;
    *foreign = !*empty && application != STORE_APPLICATION;
    return application == STORE_APPLICATION && format != STORE_FORMAT ? SQLITE_NOTADB : SQLITE_OK;
}

static int create(struct store *store)
{
    int code = run(store, "BEGIN IMMEDIATE");

    if (code == SQLITE_OK)
        code = run(store, cache_schema);
    if (code == SQLITE_OK)
        code = run(store,
                   "PRAGMA application_id = " NUMBER(
                       STORE_APPLICATION) ";"
                                          "PRAGMA user_version = " NUMBER(STORE_FORMAT) ";"
                                                                                        "COMMIT");
    return code;
}

static int open_database(struct store *store, bool *foreign, bool *no_log)
{
    char mode[16] = "";
    bool empty = false;
    int code =
        sqlite3_open_v2(store->path, &store->db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL);

    if (code == SQLITE_OK)
        code = configure(store);
    if (code == SQLITE_OK)
        code = recognise(store, &empty, foreign);
    if (code != SQLITE_OK || *foreign)
        return code;
    /* Has to come before the log, which writes the first page. Of an empty file there is nothing
     * that a crash could take: one that it leaves half made is found to be damaged. */
    if (empty)
        code = run(store, "PRAGMA synchronous = OFF; PRAGMA journal_mode = MEMORY;"
                          "PRAGMA auto_vacuum = INCREMENTAL");
    if (code == SQLITE_OK)
        code = ask(store, "PRAGMA journal_mode = WAL", NULL, mode);
    if (code == SQLITE_OK)
        code = ask(store, "PRAGMA page_size", &store->page_size, NULL);
    *no_log = code == SQLITE_OK && strcmp(mode, "wal") != 0;
    if (code == SQLITE_OK && !*no_log && empty)
        code = create(store);
    if (code == SQLITE_OK && empty)
        code = run(store, "PRAGMA synchronous = NORMAL");
    return code;
}

static void open_or_settle(struct store *store)
{
    int error = 0, code = SQLITE_OK, lock = place_lock(store->path, store->deadline);
    bool foreign = false, no_log = false;

    if (lock < 0 && lock != -ENOENT) {
        if (lock == -EWOULDBLOCK)
            settle(store, SQLITE_BUSY, -1);
        else if (!passes(-lock))
            turn_off(store, strerror(-lock));
        return;
    }
    error = place_make(store->path, store->why, sizeof store->why);
    /* The folder itself was gone; now that it is there, lock it. */
    if (!error && lock < 0) {
        lock = place_lock(store->path, store->deadline);
        error = lock < 0 ? -lock : 0;
    }
    if (error) {
        if (passes(error) || error == EWOULDBLOCK)
            store->why[0] = '\0';
        else
            store->off = true;
        goto out;
    }
    store->generation++;
    code = open_database(store, &foreign, &no_log);
    if (foreign)
        turn_off(store, "this is a database of another program");
    else if (no_log)
        turn_off(store, "the file system allows no write-ahead log");
    else
        settle(store, code, lock);
    /* Half open is not open. */
    if (code != SQLITE_OK && store->db)
        close_database(store);
out:
    if (lock >= 0)
        close(lock);
}

/* Opening may find a damaged file, and then a new one in its place, which may fail in its turn:
 * then it is off. */
static bool open_if_needed(struct store *store)
{
    for (int tries = 0; tries < 3 && !store->db && !store->off; tries++) {
        uint64_t renewed = store->renewed;

        open_or_settle(store);
        if (store->renewed == renewed)
            break;
    }
    return store->db && !store->off;
}

bool store_ready(struct store *store)
{
    int64_t now = patience_now();

    if (store->off)
        return false;
    store->deadline = now < store->impatient_until ? now : now + PATIENCE_MS;
    return open_if_needed(store);
}

int store_statement(struct store *store, enum store_statement which, sqlite3_stmt **statement)
{
    sqlite3_stmt **kept = &store->statements[which];

    *statement = NULL;
    if (!*kept) {
        int code =
            sqlite3_prepare_v3(store->db, texts[which], -1, SQLITE_PREPARE_PERSISTENT, kept, NULL);

        if (code != SQLITE_OK)
            return code;
    }
    sqlite3_reset(*kept);
    sqlite3_clear_bindings(*kept);
    *statement = *kept;
    return SQLITE_OK;
}

int store_finish(sqlite3_stmt *statement)
{
    int code = SQLITE_ROW;

    while (code == SQLITE_ROW)
        code = sqlite3_step(statement);
    return code == SQLITE_DONE ? sqlite3_reset(statement) : code;
}

int store_number(struct store *store, enum store_statement which, uint64_t *number)
{
    sqlite3_stmt *statement = NULL;
    int code = store_statement(store, which, &statement);

    if (code == SQLITE_OK)
        code = sqlite3_step(statement);
    if (code != SQLITE_ROW)
        return code == SQLITE_DONE ? SQLITE_CORRUPT : code;
    *number = (uint64_t)sqlite3_column_int64(statement, 0);
    return sqlite3_reset(statement);
}

static int run_statement(struct store *store, enum store_statement which)
{
    sqlite3_stmt *statement = NULL;
    int code = store_statement(store, which, &statement);

    return code == SQLITE_OK ? store_finish(statement) : code;
}

int store_begin(struct store *store)
{
    if (has_moved(store) && store->reopenings_left) {
        store->reopenings_left--;
        close_database(store);
        /* What went wrong has been settled already; nothing was begun. */
        if (!open_if_needed(store))
            return SQLITE_INTERRUPT;
    }
    return run_statement(store, STATEMENT_BEGIN);
}

int store_commit(struct store *store)
{
    return run_statement(store, STATEMENT_COMMIT);
}
