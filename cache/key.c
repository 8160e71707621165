#include "cache/key.h"
#include <string.h>
#include <xxhash.h>

enum field { FIELD_U64 = 1, FIELD_BYTES, FIELD_STRING, FIELD_NO_STRING, FIELD_LABEL };

void key_init(struct key_recipe *recipe)
{
    recipe->state = XXH3_createState();
    if (recipe->state && XXH3_128bits_reset(recipe->state) != XXH_OK)
        key_release(recipe);
}

void key_release(struct key_recipe *recipe)
{
    XXH3_freeState(recipe->state);
    recipe->state = NULL;
}

static void little_endian(unsigned char out[8], uint64_t value)
{
    for (int i = 0; i < 8; i++)
        out[i] = (unsigned char)(value >> (8 * i));
}

static void add(struct key_recipe *recipe, enum field field, const void *bytes, size_t size)
{
    unsigned char head[9] = {(unsigned char)field};

    if (!recipe->state)
        return;
    little_endian(head + 1, size);
    /* An update can only fail on a NULL input, which is never given. */
    XXH3_128bits_update(recipe->state, head, sizeof head);
    if (size)
        XXH3_128bits_update(recipe->state, bytes, size);
}

void key_add_u64(struct key_recipe *recipe, uint64_t value)
{
    unsigned char bytes[8];

    little_endian(bytes, value);
    add(recipe, FIELD_U64, bytes, sizeof bytes);
}

void key_add_bytes(struct key_recipe *recipe, const void *bytes, size_t size)
{
    add(recipe, FIELD_BYTES, bytes, size);
}

void key_add_string(struct key_recipe *recipe, const char *string)
{
    if (string)
        add(recipe, FIELD_STRING, string, strlen(string));
    else
        add(recipe, FIELD_NO_STRING, NULL, 0);
}

void key_add_label(struct key_recipe *recipe, const char *label)
{
    add(recipe, FIELD_LABEL, label, strlen(label));
}

bool key_finish(const struct key_recipe *recipe, struct key128 *key)
{
    *key = (struct key128){0, 0};
    if (!recipe->state)
        return false;
    XXH128_hash_t hash = XXH3_128bits_digest(recipe->state);
    *key = (struct key128){hash.high64, hash.low64};
    return true;
}

int key128_compare(struct key128 a, struct key128 b)
{
    if (a.high != b.high)
        return a.high < b.high ? -1 : 1;
    return a.low < b.low ? -1 : a.low > b.low;
}

bool key128_equal(struct key128 a, struct key128 b)
{
    return a.high == b.high && a.low == b.low;
}

char *key128_print(struct key128 key, char text[KEY128_TEXT])
{
    for (int i = 0; i < 32; i++) {
        uint64_t half = i < 16 ? key.high : key.low;

        text[i] = "0123456789abcdef"[half >> (60 - 4 * (i % 16)) & 15];
    }
    text[32] = '\0';
    return text;
}

bool key128_parse(const char *text, struct key128 *key)
{
    uint64_t halves[2] = {0, 0};

    for (int i = 0; i < 32; i++) {
        unsigned digit;

        if (text[i] >= '0' && text[i] <= '9')
            digit = (unsigned)(text[i] - '0');
        else if (text[i] >= 'a' && text[i] <= 'f')
            digit = (unsigned)(text[i] - 'a') + 10;
        else
            return false;
        halves[i / 16] = halves[i / 16] << 4 | digit;
    }
    if (text[32] != '\0')
        return false;
    *key = (struct key128){halves[0], halves[1]};
    return true;
}
