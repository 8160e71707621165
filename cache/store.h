#ifndef CACHE_STORE_H
#define CACHE_STORE_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * One connection to the cache's file, and what becomes of it when something goes wrong. Internal to
 * cache/.
 *
 * Every use is: store_ready(); then work with statements, in which the first sqlite code that is
 * not SQLITE_OK, SQLITE_ROW or SQLITE_DONE ends the work; then store_settle() with the last code.
 * Settling leaves no transaction open, and decides: miss and go on (locked, out of memory), put the
 * file aside and make it anew once (damaged, full, I/O error, another format), or go on without
 * (cannot be opened or written, or it was the second time).
 *
 * One thread at a time; the owner's mutex sees to that.
 */

enum store_statement {
#define STATEMENT(symbol, text) STATEMENT_##symbol,
#include "cache/statements.def"
#undef STATEMENT
    STATEMENT_END
};

struct store {
    char *path;                              /* owned; NULL: off from the start */
    sqlite3 *db;                             /* owned; NULL: not open */
    sqlite3_stmt *statements[STATEMENT_END]; /* owned; NULL: not prepared yet */
    uint64_t page_size;                      /* bytes, while open */
    unsigned generation;                     /* counts openings: row ids belong to one of them */
    int64_t deadline, impatient_until;       /* patience.h */
    unsigned renewals_left, reopenings_left;
    bool off;
    char why[256];
    uint64_t busy, renewed; /* times, since the start */
};

/* A store in the file at `path` (looked at, not opened); NULL: off, without a reason. Never fails:
 * see off and why. */
void store_init(struct store *store, const char *path);
void store_release(struct store *store);

/*
 * Starts the patience of one use, and opens the file where it is not open. False: off, or locked
 * (nothing to settle then).
 */
bool store_ready(struct store *store);
void store_settle(struct store *store, int code);

/* The statement, reset and without parameters. An sqlite code. The store keeps it. */
int store_statement(struct store *store, enum store_statement which, sqlite3_stmt **statement);
/* Steps a statement that gives no rows, or whose rows are not wanted, to its end; SQLITE_OK when
 * done. */
int store_finish(sqlite3_stmt *statement);
/* Runs a statement without parameters for the one integer that it gives. */
int store_number(struct store *store, enum store_statement which, uint64_t *number);

/*
 * Begins an immediate transaction. A file that somebody moved or removed meanwhile is opened anew
 * at its path first (then the generation is another).
 */
int store_begin(struct store *store);
int store_commit(struct store *store);

#endif
