#include "protocol/lsp.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "protocol/utf8.h"

#define TEXT_LIMIT ((size_t)INT32_MAX)

static const struct {
    enum lsp_encoding encoding;
    const char *name;
} encodings[] = {
    {LSP_UTF16, "utf-16"},
    {LSP_UTF8, "utf-8"},
    {LSP_UTF32, "utf-32"},
};

const char *lsp_encoding_name(enum lsp_encoding encoding)
{
    for (size_t i = 0; i < sizeof(encodings) / sizeof(encodings[0]); i++)
        if (encodings[i].encoding == encoding)
            return encodings[i].name;
    return encodings[0].name;
}

enum lsp_encoding lsp_encoding_negotiate(const struct json *params)
{
    const struct json *general = json_member(json_member(params, "capabilities"), "general");

    json_each(value, json_array(general, "positionEncodings"))
    {
        const char *name = json_value_string(value);

        for (size_t i = 0; name && i < sizeof(encodings) / sizeof(encodings[0]); i++)
            if (strcmp(encodings[i].name, name) == 0)
                return encodings[i].encoding;
    }
    return LSP_UTF16;
}

/* --- texts --------------------------------------------------------------------------------- */

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

int lsp_text_replace(struct lsp_text *text, size_t start, size_t end, const char *bytes,
                     size_t length)
{
    size_t total = text->bytes.length;
    size_t first = 0, keep = 0, removed, added = 0, from = 0, stop, at;
    const char *data;
    int rc;

    if (end > total)
        end = total;
    if (start > end)
        start = end;
    if (length > TEXT_LIMIT || total - (end - start) > TEXT_LIMIT - length)
        return -EFBIG;

    /*
     * Lines are found again from the beginning of the line before the edit (a `\r` at its end may
     * now meet a `\n`) to the first line that began behind the edit: its terminator is untouched.
     */
    if (text->line_count) {
        first = find_line(text, start);
        if (first > 0)
            first--;
        from = text->lines[first];
        keep = find_line(text, end) + 1;
    }
    stop = keep < text->line_count ? text->lines[keep] - end + start + length : SIZE_MAX;

    /* Room first, so that nothing can fail half way: an edit adds at most a line a byte. */
    for (at = next_line(bytes, length, 0); at <= length; at = next_line(bytes, length, at))
        added++;
    rc = reserve_lines(text, text->line_count + added + 2);
    if (rc == 0)
        rc = buffer_splice(&text->bytes, start, end - start, bytes, length);
    if (rc < 0) {
        text->bytes.failed = false;
        return rc;
    }
    data = text->bytes.data;
    total = text->bytes.length;

    added = 1;
    for (at = next_line(data, total, from); at <= total && at < stop;
         at = next_line(data, total, at))
        added++;
    removed = keep - first;
    if (added != removed && keep < text->line_count)
        memmove(text->lines + first + added, text->lines + keep,
                (text->line_count - keep) * sizeof(*text->lines));
    text->line_count = text->line_count - removed + added;
    text->lines[first] = at = from;
    for (size_t i = 1; i < added; i++)
        text->lines[first + i] = at = next_line(data, total, at);
    for (size_t i = first + added; i < text->line_count; i++)
        text->lines[i] = text->lines[i] - end + start + length;
    return 0;
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

/* Where the content of a line ends: before its terminator. */
static size_t line_end(const struct lsp_text *text, size_t line)
{
    size_t start = text->lines[line];
    size_t end = line + 1 < text->line_count ? text->lines[line + 1] : text->bytes.length;
    const char *bytes = text->bytes.data;

    if (line + 1 < text->line_count)
        end -= end - start >= 2 && bytes[end - 1] == '\n' && bytes[end - 2] == '\r' ? 2 : 1;
    return end;
}

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

size_t lsp_text_offset(const struct lsp_text *text, struct lsp_position position,
                       enum lsp_encoding encoding)
{
    size_t at, end, size;
    uint32_t left = position.character;

    if (position.line >= text->line_count)
        return text->bytes.length;
    at = text->lines[position.line];
    end = line_end(text, position.line);
    while (left && at < end) {
        uint32_t units = character_units(text->bytes.data + at, end - at, encoding, &size);

        if (units > left)
            break;
        left -= units;
        at += size;
    }
    return at;
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
        uint32_t units = character_units(text->bytes.data + at, end - at, encoding, &size);

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

int lsp_text_change(struct lsp_text *text, const struct json *changes, enum lsp_encoding encoding)
{
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
    json_each(change, changes)
    {
        const char *bytes = json_value_text(json_member(change, "text"), &length);
        size_t start, end;

        if (!lsp_range_read(json_member(change, "range"), &range)) {
            rc = lsp_text_set(text, bytes, length);
        } else {
            start = lsp_text_offset(text, range.start, encoding);
            end = lsp_text_offset(text, range.end, encoding);
            rc = start <= end ? lsp_text_replace(text, start, end, bytes, length)
                              : lsp_text_replace(text, end, start, bytes, length);
        }
        if (rc < 0)
            break;
    }
    return rc;
}

/* --- positions and ranges as JSON ---------------------------------------------------------- */

static bool read_unsigned(const struct json *object, const char *name, uint32_t *out)
{
    int64_t number;

    if (!json_value_int(json_member(object, name), &number) || number < 0)
        return false;
    *out = number > UINT32_MAX ? UINT32_MAX : (uint32_t)number;
    return true;
}

bool lsp_position_read(const struct json *value, struct lsp_position *position)
{
    return read_unsigned(value, "line", &position->line) &&
           read_unsigned(value, "character", &position->character);
}

bool lsp_range_read(const struct json *value, struct lsp_range *range)
{
    return lsp_position_read(json_member(value, "start"), &range->start) &&
           lsp_position_read(json_member(value, "end"), &range->end);
}

struct json *lsp_position_json(struct lsp_position position)
{
    struct json *value = json_new_object();

    json_set_int(value, "line", position.line);
    json_set_int(value, "character", position.character);
    return value;
}

struct json *lsp_range_json(struct lsp_range range)
{
    struct json *value = json_new_object();

    json_set(value, "start", lsp_position_json(range.start));
    json_set(value, "end", lsp_position_json(range.end));
    return value;
}

int lsp_position_compare(struct lsp_position a, struct lsp_position b)
{
    if (a.line != b.line)
        return a.line < b.line ? -1 : 1;
    return (a.character > b.character) - (a.character < b.character);
}

/* --- diagnostics --------------------------------------------------------------------------- */

static struct json *related_json(const struct lsp_related *related)
{
    struct json *value = json_new_object();
    struct json *location = json_new_object();

    json_set_string(location, "uri", related->uri);
    json_set(location, "range", lsp_range_json(related->range));
    json_set(value, "location", location);
    json_set_string(value, "message", related->message);
    return value;
}

struct json *lsp_diagnostic_json(const struct lsp_diagnostic *diagnostic, bool related_information)
{
    struct json *value = json_new_object();

    json_set(value, "range", lsp_range_json(diagnostic->range));
    json_set_int(value, "severity", (int64_t)diagnostic->severity);
    json_set_string(value, "code", diagnostic->code);
    json_set_string(value, "source", "onnxgpu");
    json_set_string(value, "message", diagnostic->message);
    if (related_information && diagnostic->related_count) {
        struct json *list = json_new_array();

        for (size_t i = 0; i < diagnostic->related_count; i++)
            json_append(list, related_json(&diagnostic->related[i]));
        json_set(value, "relatedInformation", list);
    }
    if (diagnostic->data)
        json_set(value, "data", diagnostic->data);
    return value;
}

struct json *lsp_publish_params(const char *uri, int64_t version, struct json *diagnostics)
{
    struct json *params = json_new_object();

    json_set_string(params, "uri", uri);
    if (version >= 0)
        json_set_int(params, "version", version);
    json_set(params, "diagnostics", diagnostics);
    return params;
}
