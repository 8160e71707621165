/* The state lies inside the hasher, so that a job that is left in the middle has nothing to free.
 */
#define XXH_STATIC_LINKING_ONLY
#include "daemon/compiler/graph/hash.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <xxhash.h>

_Static_assert(sizeof(XXH3_state_t) <= sizeof((struct hasher){{0}}.state), "xxHash's state fits");

static XXH3_state_t *state(struct hasher *h)
{
    return (XXH3_state_t *)(void *)h->state;
}

void hasher_init(struct hasher *h)
{
    memset(h, 0, sizeof *h);
    XXH3_128bits_reset(state(h));
}

void hasher_add(struct hasher *h, const void *bytes, size_t size)
{
    if (size)
        XXH3_128bits_update(state(h), bytes, size);
}

void hasher_add_number(struct hasher *h, uint64_t number)
{
    unsigned char bytes[8];

    for (int i = 0; i < 8; i++)
        bytes[i] = (unsigned char)(number >> 8 * i);
    hasher_add(h, bytes, sizeof bytes);
}

void hasher_add_bytes(struct hasher *h, const void *bytes, size_t size)
{
    hasher_add_number(h, size);
    hasher_add(h, bytes, size);
}

void hasher_add_text(struct hasher *h, const char *text)
{
    hasher_add_bytes(h, text, strlen(text));
}

void hasher_add_hash(struct hasher *h, struct hash hash)
{
    hasher_add_number(h, hash.high);
    hasher_add_number(h, hash.low);
}

struct hash hasher_finish(const struct hasher *h)
{
    XXH128_hash_t x = XXH3_128bits_digest((const XXH3_state_t *)(const void *)h->state);

    return (struct hash){x.high64, x.low64};
}

bool hash_equal(struct hash a, struct hash b)
{
    return a.high == b.high && a.low == b.low;
}

int hash_compare(struct hash a, struct hash b)
{
    if (a.high != b.high)
        return a.high < b.high ? -1 : 1;
    return (a.low > b.low) - (a.low < b.low);
}

void hash_print(char text[HASH_TEXT_SIZE], struct hash hash)
{
    snprintf(text, HASH_TEXT_SIZE, "%016" PRIx64 "%016" PRIx64, hash.high, hash.low);
}
