#ifndef CACHE_CACHE_H
#define CACHE_CACHE_H

#include "cache/key.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * What was computed before. The cache may forget anything at any time, and never lies: every entry
 * carries a checksum over its kind, compiler version, key and payload, and what does not agree is a
 * miss.
 *
 * No trouble with the cache fails its caller. There are two outcomes of a lookup, hit and miss, and
 * a put that could not be kept is forgotten. A file that is damaged, no database, of another format
 * version, or that cannot be written (disk full, I/O error) is put aside (renamed to PATH.bad, over
 * an earlier one) and made anew once; the next such failure turns the cache off for the rest of its
 * life, with a reason in cache_stats(). A database of another program, a path that is no regular
 * file or belongs to another user, a folder that cannot be written and a file system over a network
 * are left alone and turn the cache off at once. A locked database costs 200 ms of patience, then
 * is a miss; for a second after that, nobody waits.
 *
 * Threads: one connection and one mutex a cache; any thread of the process may call anything at any
 * time. Gets, puts and commits wait for the others at most the same 200 ms (then: a miss);
 * cache_stats(), cache_verify() and cache_clear() wait for their turn. A put may sync or evict
 * (tens of milliseconds), so a thread that must not block stays away. Processes: any number may
 * share one file. A child after fork() may not use or close its parent's cache; descriptors are
 * closed by exec.
 *
 * Every function takes NULL for a cache that is off.
 */

struct cache;

/* The kinds of entries and their fixed numbers; see kinds.def. */
enum cache_kind {
#define KIND(symbol, number, name, text) CACHE_##symbol = number,
#include "cache/kinds.def"
#undef KIND
    CACHE_KIND_END
};

/* "layer", "model", …; NULL for a number that is no kind. */
const char *cache_kind_name(enum cache_kind kind);

/*
 * A cache in the file `path` (copied), holding at most about `limit_bytes` on disk (0: no limit;
 * less than 256 KiB counts as 256 KiB; the write-ahead log beside it, usually up to 1 MiB, is not
 * counted). Entries written under another `compiler_version` are never found. A `path` of NULL is a
 * cache that misses always.
 *
 * Cheap: looks at the folder and the file system, and makes the folder (0700) where it is missing;
 * the database (0600) is opened at the first use. `why` (n bytes, may be NULL with n = 0) is "" or
 * the reason why the cache is off from the start. Returns NULL only when memory runs out. The
 * caller owns the cache.
 */
struct cache *cache_open(const char *path, uint64_t limit_bytes, const char *compiler_version,
                         char *why, size_t n);
/* Writes what is still waiting, then frees. No other thread may be inside. */
void cache_close(struct cache *cache);

/*
 * True: *blob is a copy of what was put (malloc'ed, the caller frees it; never NULL, also where
 * *size is 0), byte for byte. False: a miss, *blob = NULL and *size = 0.
 */
bool cache_get(struct cache *cache, enum cache_kind kind, struct key128 key, void **blob,
               size_t *size);

/*
 * Keeps a copy of `blob` (may be NULL where `size` is 0), over what the key had before. False:
 * forgotten at once (which includes a payload above a quarter of the limit or 64 MiB). True is no
 * promise: it may be forgotten later.
 */
bool cache_put(struct cache *cache, enum cache_kind kind, struct key128 key, const void *blob,
               size_t size);

/*
 * Between begin and commit, puts (of all threads) are gathered in memory, where gets find them, and
 * written by one immediate transaction at commit (or earlier, by several, when there are more than
 * 4 MiB). No lock on the file is held in between. Batches nest and may overlap between threads;
 * each begin needs its commit. A false commit: forgotten.
 */
void cache_begin(struct cache *cache);
bool cache_commit(struct cache *cache);

struct cache_stats {
    bool on;       /* usable, as far as is known now */
    char why[256]; /* where not on: a sentence without a full stop */
    /* Of this cache, since it was opened. */
    uint64_t hits, misses;
    uint64_t puts;     /* rows written */
    uint64_t evicted;  /* rows, for want of space */
    uint64_t bad_rows; /* rows that failed their checksum */
    uint64_t busy;     /* times that patience ran out */
    uint64_t renewed;  /* files put aside */
    /* Of the file now, for all compiler versions; 0 where it cannot be read. */
    uint64_t rows[CACHE_KIND_END]; /* by kind */
    uint64_t bytes;                /* in use, whole pages */
    uint64_t file_bytes;           /* without the log */
    uint64_t limit_bytes;          /* in force, 0 for none */
};
/* Opens the file where it was not open yet. */
void cache_stats(struct cache *cache, struct cache_stats *stats);

/*
 * Walks all rows of all compiler versions (*rows), counts and deletes those whose checksum does not
 * agree (*bad), and lets sqlite check the file's structure. False: the walk could not be finished
 * (off, locked), or the structure is damaged, in which case the file has been put aside. Other
 * threads get their turn in between.
 */
bool cache_verify(struct cache *cache, uint64_t *rows, uint64_t *bad);

/* Forgets everything and gives the space back to the file system, the file put aside included. */
bool cache_clear(struct cache *cache);

/*
 * What stat() says of a regular file. Times in nanoseconds since 1970; only ever compared for
 * equality with another stat's, and with the time of hashing by the rule below.
 */
struct cache_file_identity {
    uint64_t device, inode, size;
    int64_t mtime_ns, ctime_ns;
};

/*
 * What stands for the content of the file at `path` (absolute, as the caller would open it), if it
 * was put for exactly this identity: its hash, or what its bytes were made from. The path serves as
 * the key and is itself not stored.
 */
bool cache_file_get(struct cache *cache, const char *path,
                    const struct cache_file_identity *identity, struct key128 *content);

/*
 * `hashed_at_ns`: CLOCK_REALTIME when the first byte was read; `identity`: from a stat before that,
 * equal to one after the last byte. A file changed twice within the clock's grain has one stat and
 * two contents, so a stat whose mtime and ctime were not both at least 2 s old at that time is not
 * kept (false).
 */
bool cache_file_put(struct cache *cache, const char *path,
                    const struct cache_file_identity *identity, int64_t hashed_at_ns,
                    struct key128 content);

#endif
