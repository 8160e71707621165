#include "daemon/compiler/row.h"
#include <string.h>

void row_put(struct strbuf *s, uint64_t number)
{
    /* Seven bits a byte: most numbers are small. */
    do {
        strbuf_char(s, (char)((number & 0x7f) | (number > 0x7f ? 0x80 : 0)));
        number >>= 7;
    } while (number);
}

void row_put_bytes(struct strbuf *s, const void *bytes, size_t size)
{
    row_put(s, size);
    strbuf_add_bytes(s, bytes, size);
}

void row_put_text(struct strbuf *s, const char *text)
{
    row_put_bytes(s, text, strlen(text));
}

void row_put_hash(struct strbuf *s, struct hash hash)
{
    row_put(s, hash.high);
    row_put(s, hash.low);
}

uint64_t row_get(struct row *r)
{
    uint64_t number = 0;

    for (unsigned shift = 0; !r->bad && shift < 64; shift += 7) {
        unsigned char byte;

        if (r->at == r->size)
            break;
        byte = (unsigned char)r->bytes[r->at++];
        number |= (uint64_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80))
            return number;
    }
    r->bad = true;
    return 0;
}

int row_get_count(struct row *r)
{
    uint64_t count = row_get(r);

    if (count <= r->size - r->at && count < 1 << 28)
        return (int)count;
    r->bad = true;
    return 0;
}

const char *row_get_bytes(struct row *r, struct arena *arena, size_t *size)
{
    uint64_t length = row_get(r);
    char *text;

    *size = 0;
    if (r->bad || length > r->size - r->at) {
        r->bad = true;
        return "";
    }
    text = arena_alloc(arena, length + 1);
    memcpy(text, r->bytes + r->at, length);
    r->at += length;
    *size = length;
    return text;
}

const char *row_get_text(struct row *r, struct arena *arena)
{
    size_t size;

    return row_get_bytes(r, arena, &size);
}

struct hash row_get_hash(struct row *r)
{
    struct hash hash;

    hash.high = row_get(r);
    hash.low = row_get(r);
    return hash;
}

bool row_good(const struct row *r)
{
    return !r->bad && r->at == r->size;
}
