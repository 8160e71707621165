#include "protocol/utf8.h"

#include <string.h>

size_t utf8_decode(const char *text, size_t length, uint32_t *code)
{
    const unsigned char *s = (const unsigned char *)text;
    uint32_t value;
    size_t size, i;
    unsigned char low = 0x80, high = 0xBF; /* what the second byte may be */

    if (length == 0)
        return 0;
    if (s[0] < 0x80) {
        if (code)
            *code = s[0];
        return 1;
    }
    if (s[0] < 0xC2 || s[0] > 0xF4)
        return 0;
    if (s[0] < 0xE0) {
        size = 2;
        value = s[0] & 0x1Fu;
    } else if (s[0] < 0xF0) {
        size = 3;
        value = s[0] & 0x0Fu;
        if (s[0] == 0xE0)
            low = 0xA0; /* below it the form is overlong */
        if (s[0] == 0xED)
            high = 0x9F; /* above it lie the surrogates */
    } else {
        size = 4;
        value = s[0] & 0x07u;
        if (s[0] == 0xF0)
            low = 0x90;
        if (s[0] == 0xF4)
            high = 0x8F; /* above it lies nothing: U+10FFFF is the last */
    }
    if (size > length || s[1] < low || s[1] > high)
        return 0;
    for (i = 1; i < size; i++) {
        if ((s[i] & 0xC0) != 0x80)
            return 0;
        value = value << 6 | (s[i] & 0x3Fu);
    }
    if (code)
        *code = value;
    return size;
}

size_t utf8_encode(uint32_t code, char *out)
{
    if (code < 0x80) {
        out[0] = (char)code;
        return 1;
    }
    if (code < 0x800) {
        out[0] = (char)(0xC0 | code >> 6);
        out[1] = (char)(0x80 | (code & 0x3F));
        return 2;
    }
    if (code < 0x10000) {
        out[0] = (char)(0xE0 | code >> 12);
        out[1] = (char)(0x80 | (code >> 6 & 0x3F));
        out[2] = (char)(0x80 | (code & 0x3F));
        return 3;
    }
    out[0] = (char)(0xF0 | code >> 18);
    out[1] = (char)(0x80 | (code >> 12 & 0x3F));
    out[2] = (char)(0x80 | (code >> 6 & 0x3F));
    out[3] = (char)(0x80 | (code & 0x3F));
    return 4;
}

/* How many of the bytes from the first on are ASCII, looking at eight at a time. */
static size_t ascii(const char *text, size_t length)
{
    size_t at = 0;

    for (uint64_t word; at + sizeof word <= length; at += sizeof word) {
        memcpy(&word, text + at, sizeof word);
        if (word & 0x8080808080808080u)
            break;
    }
    return at;
}

bool utf8_valid(const char *text, size_t length)
{
    for (size_t i = 0, size; i < length; i += size) {
        i += ascii(text + i, length - i);
        if (i == length)
            break;
        size = utf8_decode(text + i, length - i, NULL);
        if (size == 0)
            return false;
    }
    return true;
}

int utf8_repair(struct buffer *out, const char *text, size_t length)
{
    size_t done = 0, i = 0;

    while (i < length) {
        size_t size;

        i += ascii(text + i, length - i);
        if (i == length)
            break;
        size = utf8_decode(text + i, length - i, NULL);
        if (size) {
            i += size;
            continue;
        }
        buffer_append(out, text + done, i - done);
        buffer_append(out, "\xEF\xBF\xBD", 3);
        done = ++i;
    }
    return buffer_append(out, text + done, i - done);
}
