#ifndef PROTOCOL_MESSAGE_H
#define PROTOCOL_MESSAGE_H

#include <stdbool.h>
#include <stddef.h>

#include "protocol/buffer.h"

/*
 * One message on its way out, in which long texts are not copied.
 *
 * The generated file of a large model has tens of megabytes. A worker makes its text once; every
 * answer that holds it is a few bytes before it, the text where it lies, and a few bytes after it.
 * So the thread that owns the connections never moves more than the few.
 */

/*
 * Bytes that several hold at a time and nobody changes. Each holder drops them once, on whatever
 * thread; the last one frees them.
 */
struct shared;

/* Takes the buffer's bytes; the caller is the first holder. NULL where the buffer failed or memory
 * is out. The buffer is empty afterwards in any case. */
struct shared *shared_new(struct buffer *buffer);
struct shared *shared_hold(struct shared *shared);
void shared_drop(struct shared *shared); /* NULL is fine */
const char *shared_bytes(const struct shared *shared, size_t *length);

/* Shorter texts are copied: a piece of its own costs as much. */
#define MESSAGE_CUT ((size_t)64 * 1024)

struct message_cut {
    size_t at;           /* in bytes: what lies before the text */
    struct shared *text; /* held */
};

/* One thread at a time. An empty message needs no release, and a released one is empty again. */
struct message {
    struct buffer bytes;      /* all but the texts; failed: the message is of no use */
    struct message_cut *cuts; /* in order; owned */
    size_t cut_count;
};

#define MESSAGE_EMPTY                                                                              \
    {                                                                                              \
        BUFFER_EMPTY, NULL, 0                                                                      \
    }

void message_release(struct message *message);
/* Puts a text at the end, and holds it where it is long. 0 or -ENOMEM (bytes.failed is then set).
 */
int message_append_shared(struct message *message, struct shared *text);
/* Puts bytes before all others. 0 or -ENOMEM. */
int message_prepend(struct message *message, const void *data, size_t length);
/* Bytes in all, texts included. */
size_t message_length(const struct message *message);

/* A run of bytes, borrowed from the message. */
struct message_run {
    const char *bytes;
    size_t length;
};
/* The runs that the message consists of from byte `from` on, without empty ones: at most `room` of
 * them into runs. How many; 2 * cut_count + 1 are always enough. */
size_t message_runs(const struct message *message, size_t from, struct message_run *runs,
                    size_t room);

#endif
