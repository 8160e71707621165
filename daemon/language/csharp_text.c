/* Characters: UTF-8, white space and line ends as C# defines them. Declared in csharp_lexer.h. */
#include "daemon/language/csharp_lexer.h"

#include "protocol/utf8.h"

/* Unicode 15, table 3-7: the bytes that may follow decide how much of a broken sequence is one
 * U+FFFD. */
uint32_t csharp_decode(const unsigned char *text, uint32_t size, uint32_t at, uint32_t *code)
{
    uint32_t lead = text[at], value, low = 0x80, high = 0xbf, need, i;

    if (lead < 0x80) {
        *code = lead;
        return 1;
    }
    *code = 0xfffd;
    if (lead < 0xc2 || lead > 0xf4)
        return 1;
    need = lead < 0xe0 ? 1 : lead < 0xf0 ? 2 : 3;
    if (lead == 0xe0)
        low = 0xa0;
    else if (lead == 0xed)
        high = 0x9f;
    else if (lead == 0xf0)
        low = 0x90;
    else if (lead == 0xf4)
        high = 0x8f;
    value = lead & (0x3fu >> need);
    for (i = 1; i <= need; i++) {
        if (at + i >= size || text[at + i] < low || text[at + i] > high)
            return i;
        value = value << 6 | (text[at + i] & 0x3f);
        low = 0x80;
        high = 0xbf;
    }
    *code = value;
    return need + 1;
}

size_t csharp_encode(uint32_t code, char *to)
{
    if (code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff))
        code = 0xfffd;
    return utf8_encode(code, to);
}

uint32_t csharp_newline_at(const unsigned char *text, uint32_t size, uint32_t at)
{
    uint32_t code, length;

    if (at >= size)
        return 0;
    if (text[at] < 0x80)
        return text[at] == '\n' || text[at] == '\r';
    length = csharp_decode(text, size, at, &code);
    return code == 0x85 || code == 0x2028 || code == 0x2029 ? length : 0;
}

uint32_t csharp_space_at(const unsigned char *text, uint32_t size, uint32_t at)
{
    uint32_t code, length;

    if (at >= size)
        return 0;
    /* 0x1a ends the file in old editors; the language counts it as white space. */
    if (text[at] < 0x80)
        return text[at] == ' ' || text[at] == '\t' || text[at] == '\v' || text[at] == '\f' ||
               text[at] == 0x1a;
    length = csharp_decode(text, size, at, &code);
    return code == 0xa0 || code == 0x1680 || (code >= 0x2000 && code <= 0x200a) || code == 0x202f ||
                   code == 0x205f || code == 0x3000 || code == 0xfeff
               ? length
               : 0;
}

int64_t csharp_hexadecimal(const unsigned char *text, uint32_t size, uint32_t at, unsigned digits)
{
    int64_t value = 0;

    for (unsigned i = 0; i < digits; i++, at++) {
        int c = at < size ? text[at] : 0;
        int digit = c >= '0' && c <= '9'   ? c - '0'
                    : c >= 'a' && c <= 'f' ? c - 'a' + 10
                    : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                           : -1;
        if (digit < 0)
            return -1;
        value = value * 16 + digit;
    }
    return value;
}
