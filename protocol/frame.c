#include "protocol/frame.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* Memory that one big message needed is given back once it is handled. */
#define KEEP ((size_t)1024 * 1024)
/* Small enough that a piece which is begun costs nothing worth telling, large enough that there are
 * few. */
#define PIECE ((size_t)256 * 1024)

void frame_pieces_release(struct frame_pieces *pieces)
{
    for (size_t i = 0; i < pieces->count; i++)
        buffer_release(&pieces->list[i]);
    free(pieces->list);
    *pieces = (struct frame_pieces){NULL, 0, 0};
}

int frame_pieces_join(struct frame_pieces *pieces, struct buffer *out)
{
    int rc = buffer_reserve(out, pieces->length);

    for (size_t i = 0; rc == 0 && i < pieces->count; i++) {
        rc = buffer_append(out, pieces->list[i].data, pieces->list[i].length);
        buffer_release(&pieces->list[i]);
    }
    frame_pieces_release(pieces);
    return rc;
}

static int add_to_pieces(struct frame_pieces *pieces, const char *data, size_t length)
{
    while (length) {
        struct buffer *last = pieces->count ? &pieces->list[pieces->count - 1] : NULL;
        size_t room = last ? PIECE - last->length : 0, part = length < room ? length : room;

        if (room == 0) {
            struct buffer *list = realloc(pieces->list, (pieces->count + 1) * sizeof(*list));

            if (!list)
                return -ENOMEM;
            pieces->list = list;
            list[pieces->count] = (struct buffer)BUFFER_EMPTY;
            if (buffer_reserve(&list[pieces->count], PIECE) < 0)
                return -ENOMEM;
            pieces->count++;
            continue;
        }
        buffer_append(last, data, part);
        pieces->length += part;
        data += part;
        length -= part;
    }
    return 0;
}

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

void frame_reader_init(struct frame_reader *reader)
{
    memset(reader, 0, sizeof(*reader));
}

void frame_reader_release(struct frame_reader *reader)
{
    frame_pieces_release(&reader->pieces);
    buffer_release(&reader->input);
    frame_reader_init(reader);
}

int frame_reader_feed(struct frame_reader *reader, const void *data, size_t length)
{
    const char *bytes = data;
    size_t body;
    int rc;

    if (reader->error)
        return reader->error;
    if (reader->start) {
        if (reader->start == reader->input.length && reader->input.capacity > KEEP)
            buffer_release(&reader->input);
        else
            buffer_consume(&reader->input, reader->start);
        reader->scanned -= reader->start;
        reader->line -= reader->start;
        reader->start = 0;
    }
    if (reader->gathering) {
        body = least(length, reader->length - reader->pieces.length);
        rc = add_to_pieces(&reader->pieces, bytes, body);
        if (rc < 0)
            return rc;
        bytes += body;
        length -= body;
    }
    return buffer_append(&reader->input, bytes, length);
}

static bool is_name_char(char c)
{
    /* `token` of RFC 9110, 5.6.2 */
    return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
           (c && strchr("!#$%&'*+-.^_`|~", c));
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

/* True where the first `length` bytes of `text` are `word`, in any case. */
static bool is_word(const char *text, size_t length, const char *word)
{
    return length == strlen(word) && strncasecmp(text, word, length) == 0;
}

static void trim(const char **text, size_t *length)
{
    while (*length && is_blank(**text))
        (*text)++, (*length)--;
    while (*length && is_blank((*text)[*length - 1]))
        (*length)--;
}

static int read_length(struct frame_reader *reader, const char *value, size_t length)
{
    size_t sum = 0;

    if (reader->has_length || length == 0)
        return FRAME_LENGTH_MALFORMED;
    for (size_t i = 0; i < length; i++) {
        if (value[i] < '0' || value[i] > '9')
            return FRAME_LENGTH_MALFORMED;
        /* Beyond the limit the sum stays where it is, so that no number of digits overflows it. */
        if (sum <= FRAME_BODY_LIMIT)
            sum = sum * 10 + (size_t)(value[i] - '0');
    }
    if (sum > FRAME_BODY_LIMIT)
        return FRAME_BODY_TOO_LONG;
    reader->length = sum;
    reader->has_length = true;
    return 0;
}

/* Of `application/vscode-jsonrpc; charset=utf-8` only the charset matters. `utf8` is what the
 * specification asks to be understood for older clients. */
static int read_type(const char *value, size_t length)
{
    const char *end = value + length;

    while (value < end) {
        const char *stop = memchr(value, ';', (size_t)(end - value));
        const char *part = value, *equals;
        size_t size;

        if (!stop)
            stop = end;
        size = (size_t)(stop - part);
        trim(&part, &size);
        equals = memchr(part, '=', size);
        if (equals && is_word(part, (size_t)(equals - part), "charset")) {
            size -= (size_t)(equals + 1 - part);
            part = equals + 1;
            if (size >= 2 && part[0] == '"' && part[size - 1] == '"')
                part++, size -= 2;
            if (!is_word(part, size, "utf-8") && !is_word(part, size, "utf8"))
                return FRAME_CHARSET;
        }
        value = stop < end ? stop + 1 : end;
    }
    return 0;
}

static int read_line(struct frame_reader *reader, const char *line, size_t length)
{
    const char *colon = memchr(line, ':', length);
    const char *value;
    size_t name, size;

    if (!colon || colon == line)
        return FRAME_HEADER_MALFORMED;
    name = (size_t)(colon - line);
    value = colon + 1;
    size = length - name - 1;
    trim(&value, &size);
    if (is_word(line, name, "Content-Length"))
        return read_length(reader, value, size);
    if (is_word(line, name, "Content-Type"))
        return read_type(value, size);
    return 0;
}

/* Reads one byte of the headers; sets in_body after the last. Going byte by byte makes an error
 * appear at the same byte however the input was cut, and at once where no header can come any more.
 */
static int read_header_byte(struct frame_reader *reader)
{
    const char *data = reader->input.data;
    size_t at = reader->scanned;
    bool after_cr = at > reader->line && data[at - 1] == '\r';
    char c = data[at];

    if (at - reader->start >= FRAME_HEADER_LIMIT)
        return FRAME_HEADER_TOO_LONG;
    reader->scanned++;

    if (c == '\n') {
        size_t length = at - reader->line;
        const char *line = data + reader->line;

        if (!after_cr)
            return FRAME_HEADER_MALFORMED;
        reader->line = reader->scanned;
        reader->named = false;
        if (length > 1)
            return read_line(reader, line, length - 1);
        if (!reader->has_length)
            return FRAME_LENGTH_MISSING;
        reader->in_body = true;
        return 0;
    }
    if (after_cr)
        return FRAME_HEADER_MALFORMED;
    if (c == '\r')
        return 0;
    if (c == ':') {
        reader->named = true;
        return 0;
    }
    if (!reader->named)
        return is_name_char(c) ? 0 : FRAME_HEADER_MALFORMED;
    if (((unsigned char)c < 0x20 && c != '\t') || c == 0x7F)
        return FRAME_HEADER_MALFORMED;
    return 0;
}

/* A long body: what came with its headers is the first of its pieces. */
static int next_pieces(struct frame_reader *reader, struct frame *frame)
{
    if (!reader->gathering) {
        size_t here = least(reader->input.length - reader->scanned, reader->length);
        int rc = add_to_pieces(&reader->pieces, reader->input.data + reader->scanned, here);

        if (rc < 0)
            return rc;
        reader->start = reader->scanned = reader->line = reader->scanned + here;
        reader->gathering = true;
    }
    if (reader->pieces.length < reader->length)
        return 0;
    *frame = (struct frame){.pieces = reader->pieces, .length = reader->length};
    reader->pieces = (struct frame_pieces){NULL, 0, 0};
    reader->length = 0;
    reader->gathering = reader->has_length = reader->in_body = reader->named = false;
    return 1;
}

int frame_reader_next(struct frame_reader *reader, struct frame *frame)
{
    if (reader->error)
        return reader->error;
    while (!reader->in_body) {
        if (reader->scanned == reader->input.length)
            return 0;
        reader->error = read_header_byte(reader);
        if (reader->error)
            return reader->error;
    }
    if (reader->split && reader->length > FRAME_WHOLE)
        return next_pieces(reader, frame);
    if (reader->input.length - reader->scanned < reader->length)
        return 0;

    frame->pieces = (struct frame_pieces){NULL, 0, 0};
    frame->body = reader->input.data + reader->scanned;
    frame->length = reader->length;
    /* The bytes stay where they are until the next feed; only the marks move on. */
    reader->start = reader->scanned = reader->line = reader->scanned + reader->length;
    reader->length = 0;
    reader->has_length = reader->in_body = reader->named = false;
    return 1;
}

bool frame_reader_pending(const struct frame_reader *reader)
{
    return reader->gathering || reader->input.length > reader->start;
}

const char *frame_error_text(int error)
{
    static const struct {
        int error;
        const char *text;
    } rows[] = {
        {FRAME_HEADER_TOO_LONG, "the headers are longer than 8 KiB"},
        {FRAME_HEADER_MALFORMED, "a header line is malformed"},
        {FRAME_LENGTH_MISSING, "the headers have no Content-Length"},
        {FRAME_LENGTH_MALFORMED, "Content-Length is no number, or is given twice"},
        {FRAME_BODY_TOO_LONG, "the body is longer than 64 MiB"},
        {FRAME_CHARSET, "the charset is not UTF-8"},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        if (rows[i].error == error)
            return rows[i].text;
    return "the frame is malformed";
}

int frame_write(struct buffer *out, const char *body, size_t length)
{
    int rc;

    if (length > FRAME_BODY_LIMIT)
        return -EMSGSIZE;
    /* All or nothing: a header without its body would break the stream. */
    rc = buffer_reserve(out, length + 64);
    if (rc < 0)
        return rc;
    buffer_printf(out, "Content-Length: %zu\r\n\r\n", length);
    return buffer_append(out, body, length);
}

int frame_message(struct message *body)
{
    size_t length = message_length(body);
    char header[64];

    if (length > FRAME_BODY_LIMIT)
        return -EMSGSIZE;
    return message_prepend(
        body, header,
        (size_t)snprintf(header, sizeof(header), "Content-Length: %zu\r\n\r\n", length));
}
