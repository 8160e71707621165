#include "protocol/lsp.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "protocol/utf8.h"

#define TEXT_LIMIT ((size_t)INT32_MAX)

void lsp_text_release(struct lsp_text *text)
{
    buffer_release(&text->bytes);
    free(text->lines);
    *text = (struct lsp_text)LSP_TEXT_EMPTY;
}

#define EACH_BYTE 0x0101010101010101u

/* Where the line after the one that holds `at` begins; the text's length + 1 where it is the last.
 */
static size_t next_line(const char *bytes, size_t length, size_t at)
{
    /* Eight bytes at a time, while all of them are above the carriage return. */
    for (uint64_t word; at + sizeof word <= length; at += sizeof word) {
        memcpy(&word, bytes + at, sizeof word);
        if ((word - EACH_BYTE * ('\r' + 1)) & ~word & EACH_BYTE * 0x80)
            break;
    }
    for (; at < length; at++) {
        /* Nearly every byte passes this one test. */
        if ((unsigned char)bytes[at] > '\r')
            continue;
        if (bytes[at] == '\n')
            return at + 1;
        if (bytes[at] == '\r')
            return at + 1 < length && bytes[at + 1] == '\n' ? at + 2 : at + 1;
    }
    return length + 1;
}

/* Index of the line that holds `offset`. */
static size_t find_line(const struct lsp_text *text, size_t offset)
{
    size_t low = 0, high = text->line_count;

    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;

        if (text->lines[middle] <= offset)
            low = middle;
        else
            high = middle;
    }
    return low;
}

static int reserve_lines(struct lsp_text *text, size_t count)
{
    size_t capacity = text->line_capacity + text->line_capacity / 2;
    size_t *lines, size;

    if (count <= text->line_capacity)
        return 0;
    if (capacity < count)
        capacity = count;
    if (capacity < 16)
        capacity = 16;
    if (__builtin_mul_overflow(capacity, sizeof(*lines), &size))
        return -ENOMEM;
    lines = realloc(text->lines, size);
    if (!lines)
        return -ENOMEM;
    text->lines = lines;
    text->line_capacity = capacity;
    return 0;
}

int lsp_text_copy(struct lsp_text *text, const struct lsp_text *from)
{
    struct lsp_text fresh = LSP_TEXT_EMPTY;
    int rc = reserve_lines(&fresh, from->line_count);

    if (rc == 0)
        rc = buffer_append(&fresh.bytes, from->bytes.data, from->bytes.length);
    if (rc < 0) {
        lsp_text_release(&fresh);
        return rc;
    }
    if (from->line_count)
        memcpy(fresh.lines, from->lines, from->line_count * sizeof(*fresh.lines));
    fresh.line_count = from->line_count;
    lsp_text_release(text);
    *text = fresh;
    return 0;
}

/* --- places in a line ----------------------------------------------------------------------- */

/* The units of the character at `at`, whose size in bytes goes to *size. */
static uint32_t character_units(const char *bytes, size_t length, enum lsp_encoding encoding,
                                size_t *size)
{
    *size = utf8_decode(bytes, length, NULL);
    if (*size == 0)
        *size = 1;
    switch (encoding) {
    case LSP_UTF8:
        return (uint32_t)*size;
    case LSP_UTF16:
        return *size == 4 ? 2 : 1;
    case LSP_UTF32:
        break;
    }
    return 1;
}

/* Whether eight bytes are as many characters, of one unit each in every encoding. */
static bool eight_plain(const char *bytes, size_t length)
{
    uint64_t word;

    if (length < sizeof word)
        return false;
    memcpy(&word, bytes, sizeof word);
    return !(word & EACH_BYTE * 0x80);
}

/* How many bytes of the line come before that many units. */
static size_t units_to_bytes(const char *bytes, size_t length, uint32_t units,
                             enum lsp_encoding encoding)
{
    size_t at = 0, size;

    while (units && at < length) {
        uint32_t more;

        if (units >= 8 && eight_plain(bytes + at, length - at)) {
            units -= 8;
            at += 8;
            continue;
        }
        more = character_units(bytes + at, length - at, encoding, &size);
        if (more > units)
            break;
        units -= more;
        at += size;
    }
    return at;
}

/* The content of a line is what comes before its terminator, of which only the last has none. */
static size_t without_terminator(const char *bytes, size_t length, bool last)
{
    if (last)
        return length;
    return length - (length >= 2 && bytes[length - 1] == '\n' && bytes[length - 2] == '\r' ? 2 : 1);
}

/* Where the content of a line ends: before its terminator. */
static size_t line_end(const struct lsp_text *text, size_t line)
{
    size_t start = text->lines[line];
    size_t end = line + 1 < text->line_count ? text->lines[line + 1] : text->bytes.length;

    return start +
           without_terminator(text->bytes.data + start, end - start, line + 1 == text->line_count);
}

size_t lsp_text_offset(const struct lsp_text *text, struct lsp_position position,
                       enum lsp_encoding encoding)
{
    size_t start;

    if (position.line >= text->line_count)
        return text->bytes.length;
    start = text->lines[position.line];
    return start + units_to_bytes(text->bytes.data + start, line_end(text, position.line) - start,
                                  position.character, encoding);
}

struct lsp_position lsp_text_position(const struct lsp_text *text, size_t offset,
                                      enum lsp_encoding encoding)
{
    struct lsp_position position = {0, 0};
    size_t line, at, end, size;

    if (text->line_count == 0)
        return position;
    if (offset > text->bytes.length)
        offset = text->bytes.length;
    line = find_line(text, offset);
    position.line = (uint32_t)line;
    end = line_end(text, line);
    if (offset > end)
        offset = end;
    for (at = text->lines[line]; at < offset; at += size) {
        uint32_t units;

        if (eight_plain(text->bytes.data + at, offset - at)) {
            position.character += 8;
            size = 8;
            continue;
        }
        units = character_units(text->bytes.data + at, end - at, encoding, &size);

        if (at + size > offset)
            break;
        position.character += units;
    }
    return position;
}

struct lsp_range lsp_text_range(const struct lsp_text *text, size_t start, size_t end,
                                enum lsp_encoding encoding)
{
    return (struct lsp_range){lsp_text_position(text, start, encoding),
                              lsp_text_position(text, end, encoding)};
}

/* --- changing ------------------------------------------------------------------------------- */

/*
 * A text while it is changed. All room that is left is a gap: in the bytes where the last change
 * was, in the lines likewise. So a change costs what lies between it and the one before, and many
 * that go through a text from one end to the other cost one pass over it.
 *
 * Places are offsets in the text without the gap. Lines behind their gap are kept as distances from
 * the text's end, which changes before them leave as they are.
 */
struct editing {
    struct lsp_text *text;
    size_t at, gap;    /* bytes: the gap's place and size */
    size_t lines_at;   /* lines before the gap */
    size_t lines_rest; /* behind it: the last entries of the array */
};

static size_t length_of(const struct editing *editing)
{
    return editing->text->bytes.length;
}

static void begin(struct editing *editing, struct lsp_text *text)
{
    *editing = (struct editing){.text = text, .at = text->bytes.length};
    if (text->bytes.capacity)
        editing->gap = text->bytes.capacity - 1 - text->bytes.length;
    editing->lines_at = text->line_count;
}

static void move_gap(struct editing *editing, size_t to)
{
    char *data = editing->text->bytes.data;

    if (to < editing->at)
        memmove(data + to + editing->gap, data + to, editing->at - to);
    else if (to > editing->at)
        memmove(data + editing->at, data + editing->at + editing->gap, to - editing->at);
    editing->at = to;
}

static void move_lines_gap(struct editing *editing, size_t to)
{
    struct lsp_text *text = editing->text;
    size_t *behind = text->lines + text->line_capacity - editing->lines_rest;

    while (editing->lines_at > to) {
        *--behind = text->bytes.length - text->lines[--editing->lines_at];
        editing->lines_rest++;
    }
    while (editing->lines_at < to) {
        text->lines[editing->lines_at++] = text->bytes.length - *behind++;
        editing->lines_rest--;
    }
}

static void end_editing(struct editing *editing)
{
    struct lsp_text *text = editing->text;

    move_gap(editing, text->bytes.length);
    move_lines_gap(editing, text->line_count);
    if (text->bytes.data)
        text->bytes.data[text->bytes.length] = '\0';
}

static size_t line_start(const struct editing *editing, size_t line)
{
    const struct lsp_text *text = editing->text;

    return line < editing->lines_at
               ? text->lines[line]
               : text->bytes.length - text->lines[text->line_capacity - text->line_count + line];
}

static size_t line_of(const struct editing *editing, size_t offset)
{
    size_t low = 0, high = editing->text->line_count;

    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;

        if (line_start(editing, middle) <= offset)
            low = middle;
        else
            high = middle;
    }
    return low;
}

static size_t offset_of(struct editing *editing, struct lsp_position position,
                        enum lsp_encoding encoding)
{
    const struct lsp_text *text = editing->text;
    bool last = position.line + (size_t)1 >= text->line_count;
    size_t start, end;
    const char *bytes;

    if (position.line >= text->line_count)
        return text->bytes.length;
    start = line_start(editing, position.line);
    end = last ? text->bytes.length : line_start(editing, position.line + (size_t)1);
    /* A line lies on one side of the gap, or it is the one that was changed last. */
    if (start < editing->at && editing->at < end)
        move_gap(editing, start);
    bytes = text->bytes.data + start + (start >= editing->at ? editing->gap : 0);
    return start + units_to_bytes(bytes, without_terminator(bytes, end - start, last),
                                  position.character, encoding);
}

/* Room for as many bytes more. */
static int widen(struct editing *editing, size_t length)
{
    struct buffer *bytes = &editing->text->bytes;
    size_t capacity = bytes->capacity, behind = bytes->length - editing->at, more;

    if (editing->gap >= length && bytes->data)
        return 0;
    if (buffer_reserve(bytes, length) < 0) {
        bytes->failed = false;
        return -ENOMEM;
    }
    more = bytes->capacity - (capacity ? capacity : 1);
    memmove(bytes->data + editing->at + editing->gap + more,
            bytes->data + editing->at + editing->gap, behind);
    editing->gap += more;
    return 0;
}

/* Room for as many lines more. */
static int widen_lines(struct editing *editing, size_t lines)
{
    struct lsp_text *text = editing->text;
    size_t capacity = text->line_capacity, rest = editing->lines_rest;

    if (reserve_lines(text, text->line_count + lines) < 0)
        return -ENOMEM;
    if (rest)
        memmove(text->lines + text->line_capacity - rest, text->lines + capacity - rest,
                rest * sizeof(*text->lines));
    return 0;
}

/* Finds the lines from the gap on, where one begins, up to `stop`, where another one does. There is
 * room for them. */
static void find_lines(struct editing *editing, size_t stop)
{
    struct lsp_text *text = editing->text;
    const char *bytes = text->bytes.data + editing->gap;
    size_t at = editing->at;

    do {
        text->lines[editing->lines_at++] = at;
        at = next_line(bytes, text->bytes.length, at);
    } while (at <= text->bytes.length && at < stop);
    text->line_count = editing->lines_at + editing->lines_rest;
}

static int replace(struct editing *editing, size_t start, size_t end, const char *bytes,
                   size_t length)
{
    struct lsp_text *text = editing->text;
    size_t first = 0, keep = 0, from = 0, stop = SIZE_MAX, added = 2;

    if (length > TEXT_LIMIT || length_of(editing) - (end - start) > TEXT_LIMIT - length)
        return -EFBIG;
    /*
     * Lines are found again from the beginning of the line before the edit (a `\r` at its end may
     * now meet a `\n`) to the first line that began behind the edit: its terminator is untouched.
     */
    if (text->line_count) {
        first = line_of(editing, start);
        if (first > 0)
            first--;
        from = line_start(editing, first);
        keep = line_of(editing, end) + 1;
        if (keep < text->line_count)
            stop = line_start(editing, keep) - end + start + length;
    }
    /* Room first, so that nothing can fail half way. */
    for (size_t at = next_line(bytes, length, 0); at <= length; at = next_line(bytes, length, at))
        added++;
    if (widen(editing, length) < 0 || widen_lines(editing, added) < 0)
        return -ENOMEM;
    move_lines_gap(editing, keep);
    move_gap(editing, start);
    editing->gap += end - start;
    text->bytes.length -= end - start;
    if (length)
        memcpy(text->bytes.data + start, bytes, length);
    editing->at += length;
    editing->gap -= length;
    text->bytes.length += length;
    editing->lines_at = first;
    text->line_count = first + editing->lines_rest;
    move_gap(editing, from);
    find_lines(editing, stop);
    return 0;
}

int lsp_text_replace(struct lsp_text *text, size_t start, size_t end, const char *bytes,
                     size_t length)
{
    struct editing editing;
    int rc;

    if (end > text->bytes.length)
        end = text->bytes.length;
    if (start > end)
        start = end;
    begin(&editing, text);
    rc = replace(&editing, start, end, bytes, length);
    end_editing(&editing);
    return rc;
}

int lsp_text_set(struct lsp_text *text, const char *bytes, size_t length)
{
    struct lsp_text fresh = LSP_TEXT_EMPTY;
    int rc = lsp_text_replace(&fresh, 0, 0, bytes, length);

    if (rc < 0) {
        lsp_text_release(&fresh);
        return rc;
    }
    lsp_text_release(text);
    *text = fresh;
    return 0;
}

static int change_one(struct editing *editing, const struct json *change,
                      enum lsp_encoding encoding)
{
    struct lsp_text *text = editing->text;
    struct lsp_range range;
    size_t length, start, end;
    const char *bytes = json_value_text(json_member(change, "text"), &length);
    int rc;

    if (!lsp_range_read(json_member(change, "range"), &range)) {
        end_editing(editing);
        rc = lsp_text_set(text, bytes, length);
        begin(editing, text);
        return rc;
    }
    start = offset_of(editing, range.start, encoding);
    end = offset_of(editing, range.end, encoding);
    return start <= end ? replace(editing, start, end, bytes, length)
                        : replace(editing, end, start, bytes, length);
}

int lsp_text_change(struct lsp_text *text, const struct json *changes, enum lsp_encoding encoding)
{
    struct editing editing;
    struct lsp_range range;
    size_t length;
    int rc = 0;

    if (json_type(changes) != JSON_ARRAY)
        return -EINVAL;
    json_each(change, changes)
    {
        const struct json *place = json_member(change, "range");

        if (!json_value_text(json_member(change, "text"), &length) ||
            (place && json_type(place) != JSON_NULL && !lsp_range_read(place, &range)))
            return -EINVAL;
    }
    begin(&editing, text);
    json_each(change, changes)
    {
        rc = change_one(&editing, change, encoding);
        if (rc < 0)
            break;
    }
    end_editing(&editing);
    return rc;
}
