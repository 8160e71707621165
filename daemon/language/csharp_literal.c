#include "daemon/language/csharp_literal.h"

#include <string.h>

struct decoder {
    const unsigned char *text;
    uint32_t at, end; /* the literal's contents */
    char *to;
    size_t used;
    uint32_t high; /* a high surrogate that waits for its low one, or 0 */
};

static void flush(struct decoder *decoder)
{
    if (decoder->high)
        decoder->used += csharp_encode(0xfffd, decoder->to + decoder->used);
    decoder->high = 0;
}

/* One UTF-16 unit of an escape, or a whole code point. */
static void put(struct decoder *decoder, uint32_t code)
{
    if (code >= 0xdc00 && code <= 0xdfff && decoder->high) {
        code = 0x10000 + ((decoder->high - 0xd800) << 10) + (code - 0xdc00);
        decoder->high = 0;
    }
    flush(decoder);
    if (code >= 0xd800 && code <= 0xdbff)
        decoder->high = code;
    else
        decoder->used += csharp_encode(code, decoder->to + decoder->used);
}

static void copy(struct decoder *decoder)
{
    uint32_t code;

    decoder->at += csharp_decode(decoder->text, decoder->end, decoder->at, &code);
    put(decoder, code);
}

/* C# specification, 6.4.5.5, and \e of C# 13. False for a bad escape, which is left out. */
static bool escape(struct decoder *decoder)
{
    static const char names[] = "'\"\\0abfnrtve", values[] = "'\"\\\0\a\b\f\n\r\t\v\033";
    unsigned char form = decoder->at + 1 < decoder->end ? decoder->text[decoder->at + 1] : 0;
    const char *name = form ? strchr(names, form) : NULL;
    int64_t value = -1;
    unsigned digits;

    decoder->at++;
    if (name) {
        decoder->at++;
        put(decoder, (unsigned char)values[name - names]);
        return true;
    }
    if (form == 'u' || form == 'U') {
        digits = form == 'u' ? 4 : 8;
        value = csharp_hexadecimal(decoder->text, decoder->end, decoder->at + 1, digits);
    } else if (form == 'x') {
        for (digits = 4; digits && value < 0; digits--)
            value = csharp_hexadecimal(decoder->text, decoder->end, decoder->at + 1, digits);
        digits++;
    } else {
        return false;
    }
    if (value < 0 || value > 0x10ffff)
        return false;
    decoder->at += 1 + digits;
    put(decoder, (uint32_t)value);
    return true;
}

static bool decode_plain(struct decoder *decoder, uint8_t flags)
{
    bool verbatim = flags & CSHARP_STRING_VERBATIM, whole = true;

    while (decoder->at < decoder->end) {
        unsigned char c = decoder->text[decoder->at];
        if (c == '\\' && !verbatim) {
            whole = escape(decoder) && whole;
            continue;
        }
        copy(decoder);
        /* What is doubled stands for one. */
        if ((c == '"' || ((c == '{' || c == '}') && (flags & CSHARP_STRING_INTERPOLATED))) &&
            decoder->at < decoder->end && decoder->text[decoder->at] == c)
            decoder->at++;
    }
    return whole;
}

/* How many bytes of the line at `at` are white space. */
static uint32_t margin(const struct decoder *decoder, uint32_t at)
{
    uint32_t length, start = at;

    while ((length = csharp_space_at(decoder->text, decoder->end, at)))
        at += length;
    return at - start;
}

static uint32_t line_end(const struct decoder *decoder, uint32_t at)
{
    while (at < decoder->end && !csharp_newline_at(decoder->text, decoder->end, at))
        at++;
    return at;
}

static uint32_t line_next(const struct decoder *decoder, uint32_t at)
{
    uint32_t length = csharp_newline_at(decoder->text, decoder->end, at);

    if (length && decoder->text[at] == '\r' && at + 1 < decoder->end &&
        decoder->text[at + 1] == '\n')
        length = 2;
    return at + length;
}

/* A raw string over several lines: each line loses the white space that stands before the closing
 * quotes. */
static bool decode_lines(struct decoder *decoder)
{
    const unsigned char *text = decoder->text;
    uint32_t first = line_next(decoder, decoder->at + margin(decoder, decoder->at));
    uint32_t last = first, indent, end, blank;

    /* The closing quotes' own line, which may be empty. */
    while ((end = line_end(decoder, last)) < decoder->end)
        last = line_next(decoder, end);
    indent = decoder->end - last;
    if (last <= first)
        return false; /* not one line of contents */

    for (decoder->at = first; decoder->at < last;) {
        end = line_end(decoder, decoder->at);
        blank = margin(decoder, decoder->at);
        if (blank >= indent && !memcmp(text + decoder->at, text + last, indent))
            decoder->at += indent;
        else if (decoder->at + blank == end && !memcmp(text + decoder->at, text + last, blank))
            decoder->at = end;
        else
            return false;
        while (decoder->at < end)
            copy(decoder);
        end = line_next(decoder, end);
        if (end < last)
            while (decoder->at < end)
                copy(decoder);
        decoder->at = end;
    }
    return true;
}

bool csharp_literal_decode(struct csharp_arena *arena, const struct csharp_tokens *tokens,
                           const struct csharp_token *token, struct csharp_text *value)
{
    struct decoder decoder = {.text = tokens->text, .at = token->start, .end = token->end};
    bool raw = token->flags & CSHARP_STRING_RAW, closed = true, whole = true;
    uint32_t quotes = 0;

    *value = (struct csharp_text){"", 0};
    if (token->flags & CSHARP_STRING_HOLE)
        return false;
    if (token->flags & CSHARP_STRING_UTF8)
        decoder.end -= 2;
    while (decoder.text[decoder.at] != '"')
        decoder.at++;
    while (decoder.at < decoder.end && decoder.text[decoder.at] == '"' && (raw || !quotes)) {
        decoder.at++;
        quotes++;
    }
    if (token->flags & CSHARP_STRING_BROKEN) {
        whole = false;
        closed = !raw && decoder.end > decoder.at && decoder.text[decoder.end - 1] == '"';
    }
    if (closed)
        decoder.end -= quotes;
    if (raw && !whole)
        return false;

    /* U+FFFD for one bad byte is the only thing that grows. */
    decoder.to = csharp_arena_alloc(arena, (size_t)(decoder.end - decoder.at) + 1, 3);
    if (!raw) {
        whole = decode_plain(&decoder, token->flags) && whole;
    } else if (csharp_newline_at(decoder.text, decoder.end,
                                 decoder.at + margin(&decoder, decoder.at))) {
        whole = decode_lines(&decoder) && whole;
    } else {
        while (decoder.at < decoder.end)
            copy(&decoder);
    }
    flush(&decoder);
    decoder.to[decoder.used] = 0;
    *value = (struct csharp_text){decoder.to, decoder.used};
    return whole && !(token->flags & CSHARP_STRING_UTF8);
}
