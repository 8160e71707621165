/*
 * Where string and character literals end. C# specification, 6.4.5.5 and 6.4.5.6, 12.8.3
 * (interpolated), and the C# 11 feature documents on raw strings and on line ends in holes.
 */
#include "daemon/language/csharp_reader.h"

enum {
    DOLLARS =
        64, /* $ before one string: a run of them must not be counted from each of its own ends */
    NESTING = 32,  /* strings in holes of strings */
    BRACKETS = 64, /* open brackets in one hole */
};

struct quoted {
    struct csharp_reader *reader;
    bool uneven; /* a hole that does not come out even: what has been read means nothing */
    bool lines;  /* a hole goes over a line's end */
};

struct prefix {
    uint32_t dollars, quotes, body; /* body: behind the opening quotes */
    bool verbatim, raw;
};

static bool read_prefix(const struct csharp_reader *reader, uint32_t at, struct prefix *prefix)
{
    uint32_t quote;

    *prefix = (struct prefix){0};
    for (;; at++) {
        unsigned char c = csharp_reader_byte(reader, at);
        if (c == '@' && !prefix->verbatim)
            prefix->verbatim = true;
        else if (c == '$' && prefix->dollars < (prefix->verbatim ? 1 : DOLLARS))
            prefix->dollars++;
        else
            break;
    }
    if (csharp_reader_byte(reader, at) != '"')
        return false;
    for (quote = at; csharp_reader_byte(reader, quote) == '"'; quote++)
        prefix->quotes++;
    prefix->raw = !prefix->verbatim && prefix->quotes >= 3;
    if (!prefix->raw)
        prefix->quotes = 1;
    prefix->body = at + prefix->quotes;
    return true;
}

bool csharp_reader_at_string(const struct csharp_reader *reader, uint32_t at)
{
    unsigned char c = csharp_reader_byte(reader, at), next = csharp_reader_byte(reader, at + 1);
    struct prefix prefix;

    if (c == '"')
        return true;
    if ((c != '@' && c != '$') || (next != '"' && next != '@' && next != '$'))
        return false;
    return read_prefix(reader, at, &prefix);
}

uint32_t csharp_reader_character(const struct csharp_reader *reader, uint32_t at, bool *closed)
{
    *closed = false;
    for (at++; at < reader->size && !csharp_newline_at(reader->text, reader->size, at); at++) {
        if (reader->text[at] == '\'') {
            *closed = true;
            return at + 1;
        }
        if (reader->text[at] == '\\' && at + 1 < reader->size &&
            !csharp_newline_at(reader->text, reader->size, at + 1))
            at++;
    }
    return at;
}

static uint32_t read_string(struct quoted *quoted, uint32_t at, int nesting, bool holes,
                            uint8_t *flags);

static uint32_t give_up(struct quoted *quoted, uint32_t at)
{
    quoted->uneven = true;
    return at;
}

/* Behind the colon of a hole: text up to the closing brace. */
static uint32_t read_format(struct quoted *quoted, uint32_t at, const struct prefix *prefix)
{
    const struct csharp_reader *reader = quoted->reader;

    for (; at < reader->size; at++) {
        unsigned char c = reader->text[at], next = csharp_reader_byte(reader, at + 1);
        if (c == '}')
            return at;
        if (c == '"' && prefix->verbatim && next == '"')
            at++;
        else if (c == '"' && !prefix->raw)
            return give_up(quoted, at);
        else if (c == '\\' && !prefix->verbatim && !prefix->raw)
            at++;
        else if (!prefix->verbatim && csharp_newline_at(reader->text, reader->size, at))
            return give_up(quoted, at);
    }
    return give_up(quoted, at);
}

/* `at` is behind the opening braces of a hole. Returns where the string's text goes on. */
static uint32_t read_hole(struct quoted *quoted, uint32_t at, int nesting,
                          const struct prefix *prefix)
{
    struct csharp_reader *reader = quoted->reader;
    const unsigned char *text = reader->text;
    char open[BRACKETS];
    int depth = 0;
    uint8_t flags;
    bool closed;

    while (at < reader->size) {
        unsigned char c = text[at], next = csharp_reader_byte(reader, at + 1);

        if (csharp_reader_at_string(reader, at)) {
            at = read_string(quoted, at, nesting + 1, true, &flags);
            if (quoted->uneven || (flags & CSHARP_STRING_BROKEN))
                return give_up(quoted, at);
            continue;
        }
        if (csharp_newline_at(text, reader->size, at))
            quoted->lines = true;
        if (c == '\'') {
            at = csharp_reader_character(reader, at, &closed);
            if (!closed)
                return give_up(quoted, at);
        } else if (c == '/' && next == '/') {
            at = csharp_reader_line_end(reader, at);
        } else if (c == '/' && next == '*') {
            for (at += 2; at < reader->size; at++)
                if (text[at] == '*' && csharp_reader_byte(reader, at + 1) == '/')
                    break;
            at += 2;
        } else if (c == '(' || c == '[' || c == '{') {
            if (depth == BRACKETS)
                return give_up(quoted, at);
            open[depth++] = c == '(' ? ')' : c == '[' ? ']' : '}';
            at++;
        } else if (depth && (c == ')' || c == ']' || c == '}')) {
            if (open[--depth] != (char)c)
                return give_up(quoted, at);
            at++;
        } else if (c == ')' || c == ']') {
            return give_up(quoted, at);
        } else if (c == '}' || (c == ':' && !depth)) {
            if (c == ':')
                at = read_format(quoted, at + 1, prefix);
            /* As many closing braces as the hole has opening ones. */
            for (uint32_t i = 0; i < (prefix->raw ? prefix->dollars : 1); i++, at++)
                if (csharp_reader_byte(reader, at) != '}')
                    return give_up(quoted, at);
            return at;
        } else {
            at++;
        }
    }
    return give_up(quoted, reader->size);
}

static uint32_t read_raw(struct quoted *quoted, const struct prefix *prefix, int nesting,
                         bool holes, uint8_t *flags)
{
    const struct csharp_reader *reader = quoted->reader;
    const unsigned char *text = reader->text;
    uint32_t at = prefix->body, run, length;
    bool lines, blank;

    while ((length = csharp_space_at(text, reader->size, at)))
        at += length;
    lines = csharp_newline_at(text, reader->size, at) > 0;
    if (!lines)
        at = prefix->body;
    blank = false;

    while (at < reader->size) {
        if ((length = csharp_newline_at(text, reader->size, at))) {
            if (!lines)
                break;
            blank = true;
            at += length;
        } else if ((length = csharp_space_at(text, reader->size, at))) {
            at += length;
        } else if (text[at] == '"') {
            for (run = 0; csharp_reader_byte(reader, at) == '"'; at++)
                run++;
            if (run >= prefix->quotes) {
                if (run > prefix->quotes || (lines && !blank))
                    *flags |= CSHARP_STRING_BROKEN;
                return at;
            }
            blank = false;
        } else if (text[at] == '{' && prefix->dollars) {
            for (run = 0; csharp_reader_byte(reader, at) == '{'; at++)
                run++;
            if (run >= prefix->dollars) {
                *flags |= CSHARP_STRING_HOLE;
                if (holes)
                    at = read_hole(quoted, at, nesting, prefix);
                if (quoted->uneven)
                    return at;
            }
            blank = false;
        } else {
            at++;
            blank = false;
        }
    }
    *flags |= CSHARP_STRING_BROKEN;
    return at;
}

static uint32_t read_plain(struct quoted *quoted, const struct prefix *prefix, int nesting,
                           bool holes, uint8_t *flags)
{
    const struct csharp_reader *reader = quoted->reader;
    uint32_t at = prefix->body;

    /* Two dollars belong to raw strings only. */
    if (prefix->dollars > 1)
        *flags |= CSHARP_STRING_BROKEN;
    while (at < reader->size) {
        unsigned char c = reader->text[at], next = csharp_reader_byte(reader, at + 1);

        if (c == '"') {
            if (!prefix->verbatim || next != '"')
                return at + 1;
            at += 2;
        } else if (!prefix->verbatim && csharp_newline_at(reader->text, reader->size, at)) {
            break;
        } else if (c == '\\' && !prefix->verbatim && at + 1 < reader->size &&
                   !csharp_newline_at(reader->text, reader->size, at + 1)) {
            at += 2;
        } else if ((c == '{' || c == '}') && prefix->dollars) {
            if (c == next) {
                at += 2;
            } else if (c == '}') {
                *flags |= CSHARP_STRING_BROKEN;
                at++;
            } else {
                *flags |= CSHARP_STRING_HOLE;
                at++;
                if (holes)
                    at = read_hole(quoted, at, nesting, prefix);
                if (quoted->uneven)
                    return at;
            }
        } else {
            at++;
        }
    }
    *flags |= CSHARP_STRING_BROKEN;
    /* A hole that swallowed line ends on the way to no closing quote was no hole. */
    if (quoted->lines && !prefix->verbatim)
        quoted->uneven = true;
    return at;
}

static uint32_t read_string(struct quoted *quoted, uint32_t at, int nesting, bool holes,
                            uint8_t *flags)
{
    struct prefix prefix;

    *flags = 0;
    if (nesting > NESTING)
        return give_up(quoted, at);
    read_prefix(quoted->reader, at, &prefix);
    *flags = (uint8_t)((prefix.verbatim ? CSHARP_STRING_VERBATIM : 0) |
                       (prefix.dollars ? CSHARP_STRING_INTERPOLATED : 0) |
                       (prefix.raw ? CSHARP_STRING_RAW : 0));
    return prefix.raw ? read_raw(quoted, &prefix, nesting, holes, flags)
                      : read_plain(quoted, &prefix, nesting, holes, flags);
}

uint32_t csharp_reader_string(struct csharp_reader *reader, uint32_t at, uint8_t *flags)
{
    struct quoted quoted = {.reader = reader};
    uint32_t start = at;

    at = read_string(&quoted, start, 0, reader->second_readings >= 0, flags);
    if (quoted.uneven) {
        reader->second_readings -= (int64_t)(at - start);
        quoted = (struct quoted){.reader = reader};
        at = read_string(&quoted, start, 0, false, flags);
        *flags |= CSHARP_STRING_BROKEN;
    }
    if ((csharp_reader_byte(reader, at) | 32) == 'u' && csharp_reader_byte(reader, at + 1) == '8' &&
        !(*flags & CSHARP_STRING_BROKEN)) {
        *flags |= CSHARP_STRING_UTF8;
        at += 2;
    }
    return at;
}
