#include "cache/cache.h"
#include <stdlib.h>
#include <string.h>

/* At most this much clock, in nanoseconds, may lie between two changes that one stat cannot tell
 * apart. */
#define SETTLED_NS 2000000000

/* In the order in which they are written, 8 bytes each, little endian. */
enum field { DEVICE, INODE, SIZE, MTIME, CTIME, HASHED_AT, HASH_HIGH, HASH_LOW, FIELDS };

static bool is_settled(const struct cache_file_identity *identity, int64_t hashed_at_ns)
{
    int64_t latest = 0;

    return !__builtin_sub_overflow(hashed_at_ns, (int64_t)SETTLED_NS, &latest) &&
           identity->mtime_ns <= latest && identity->ctime_ns <= latest;
}

static bool path_key(const char *path, struct key128 *key)
{
    struct key_recipe recipe;
    bool fine;

    key_init(&recipe);
    key_add_label(&recipe, "file");
    key_add_string(&recipe, path);
    fine = key_finish(&recipe, key);
    key_release(&recipe);
    return fine;
}

bool cache_file_get(struct cache *cache, const char *path,
                    const struct cache_file_identity *identity, struct key128 *content)
{
    struct key128 key;
    void *blob = NULL;
    size_t size = 0;
    uint64_t fields[FIELDS] = {0};
    bool same = false;

    *content = (struct key128){0, 0};
    if (!path_key(path, &key) || !cache_get(cache, CACHE_FILE, key, &blob, &size))
        return false;
    if (size == 8 * FIELDS) {
        for (size_t i = 0; i < size; i++)
            fields[i / 8] |= (uint64_t)((unsigned char *)blob)[i] << (8 * (i % 8));
        same = fields[DEVICE] == identity->device && fields[INODE] == identity->inode &&
               fields[SIZE] == identity->size && fields[MTIME] == (uint64_t)identity->mtime_ns &&
               fields[CTIME] == (uint64_t)identity->ctime_ns &&
               is_settled(identity, (int64_t)fields[HASHED_AT]);
    }
    if (same)
        *content = (struct key128){fields[HASH_HIGH], fields[HASH_LOW]};
    free(blob);
    return same;
}

bool cache_file_put(struct cache *cache, const char *path,
                    const struct cache_file_identity *identity, int64_t hashed_at_ns,
                    struct key128 content)
{
    const uint64_t fields[FIELDS] = {
        [DEVICE] = identity->device,
        [INODE] = identity->inode,
        [SIZE] = identity->size,
        [MTIME] = (uint64_t)identity->mtime_ns,
        [CTIME] = (uint64_t)identity->ctime_ns,
        [HASHED_AT] = (uint64_t)hashed_at_ns,
        [HASH_HIGH] = content.high,
        [HASH_LOW] = content.low,
    };
    unsigned char blob[8 * FIELDS];
    struct key128 key;

    if (!is_settled(identity, hashed_at_ns) || !path_key(path, &key))
        return false;
    for (size_t i = 0; i < sizeof blob; i++)
        blob[i] = (unsigned char)(fields[i / 8] >> (8 * (i % 8)));
    return cache_put(cache, CACHE_FILE, key, blob, sizeof blob);
}
