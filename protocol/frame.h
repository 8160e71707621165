#ifndef PROTOCOL_FRAME_H
#define PROTOCOL_FRAME_H

#include <stdbool.h>
#include <stddef.h>

#include "protocol/buffer.h"
#include "protocol/message.h"

/*
 * The framing of LSP 3.17 ("Base Protocol"): header lines that end in CRLF, an empty line, then as
 * many bytes of body as Content-Length says.
 *
 * Headers come in any order and any case; Content-Type is allowed where its charset is UTF-8 and
 * others are ignored. Content-Length is needed exactly once, in decimal digits.
 *
 *     frame_reader_feed(&reader, bytes, count);
 *     while ((rc = frame_reader_next(&reader, &frame)) > 0)
 *         handle(frame.body, frame.length);
 *     if (rc < 0)
 *         log and close: frame_error_text(rc)
 *
 * A reader that splits gives bodies longer than FRAME_WHOLE in pieces, as they came: feeding it
 * never costs more than copying what is fed, and whoever has the time joins them.
 *
 * How the bytes are cut into feeds changes nothing in what comes out. The reader holds the bytes
 * that arrived and no more: a length that was only announced allocates nothing. One thread at a
 * time.
 */

#define FRAME_HEADER_LIMIT ((size_t)8 * 1024)       /* all header lines and the empty one */
#define FRAME_BODY_LIMIT ((size_t)64 * 1024 * 1024) /* the body */

/* Framing errors are final: where the next message would start is not known any more. */
enum frame_error {
    FRAME_HEADER_TOO_LONG = -1001,
    FRAME_HEADER_MALFORMED = -1002, /* no `name: value`, a bare CR or LF, a control character */
    FRAME_LENGTH_MISSING = -1003,
    FRAME_LENGTH_MALFORMED = -1004, /* not digits, or given twice */
    FRAME_BODY_TOO_LONG = -1005,
    FRAME_CHARSET = -1006, /* a Content-Type with a charset other than UTF-8 */
};

#define FRAME_WHOLE ((size_t)64 * 1024)

/* A long body. Zeroed: none. */
struct frame_pieces {
    struct buffer *list;
    size_t count;
    size_t length; /* in all */
};

void frame_pieces_release(struct frame_pieces *pieces);
/* Appends them all, and releases them one by one. 0 or -ENOMEM. Any thread. */
int frame_pieces_join(struct frame_pieces *pieces, struct buffer *out);

struct frame {
    struct frame_pieces pieces; /* the caller's from here on; none: the body is whole */
    const char *body; /* NULL where it comes in pieces; borrowed from the reader until the next
                         feed, next or release; a zero byte does not follow */
    size_t length;
};

struct frame_reader {
    bool split;                 /* long bodies in pieces; set after frame_reader_init() */
    bool gathering;             /* the body under way goes to `pieces` */
    struct frame_pieces pieces; /* of that body, so far */
    struct buffer input;        /* what was fed and not yet consumed */
    size_t start;               /* in input: where the message under way begins */
    size_t scanned;             /* in input: how far headers were read */
    size_t line;                /* in input: where the header line under way begins */
    bool named;                 /* the colon of that line was seen */
    size_t length;              /* Content-Length, once has_length */
    bool has_length;
    bool in_body; /* the headers are complete; the body begins at `scanned` */
    int error;    /* the first framing error, for good */
};

void frame_reader_init(struct frame_reader *reader);
void frame_reader_release(struct frame_reader *reader);

/* Takes bytes in. 0, -ENOMEM, or the reader's framing error (the bytes are then ignored). */
int frame_reader_feed(struct frame_reader *reader, const void *data, size_t length);

/* 1: *frame is a message. 0: more bytes are needed. Negative: an enum frame_error, for good. */
int frame_reader_next(struct frame_reader *reader, struct frame *frame);

/* True where the input ended in the middle of a message: bytes are left that are no message yet. */
bool frame_reader_pending(const struct frame_reader *reader);

/* A sentence for an enum frame_error; never NULL. */
const char *frame_error_text(int error);

/* Appends one message, header and body. 0, -ENOMEM, or -EMSGSIZE beyond FRAME_BODY_LIMIT (nothing
 * is appended then). */
int frame_write(struct buffer *out, const char *body, size_t length);
/* Puts the header before a message that is a body so far. As frame_write; after an error the
 * message is as it was. */
int frame_message(struct message *body);

#endif
