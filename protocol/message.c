#include "protocol/message.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>

struct shared {
    atomic_size_t holders;
    char *bytes;
    size_t length;
};

struct shared *shared_new(struct buffer *buffer)
{
    struct shared *shared = malloc(sizeof(*shared));
    size_t length = 0;
    char *bytes = buffer_take(buffer, &length);

    if (!shared || !bytes) {
        free(shared);
        free(bytes);
        return NULL;
    }
    atomic_init(&shared->holders, 1);
    shared->bytes = bytes;
    shared->length = length;
    return shared;
}

struct shared *shared_hold(struct shared *shared)
{
    atomic_fetch_add_explicit(&shared->holders, 1, memory_order_relaxed);
    return shared;
}

void shared_drop(struct shared *shared)
{
    /* What the other holders did with the bytes has to be over before they are freed. */
    if (!shared || atomic_fetch_sub_explicit(&shared->holders, 1, memory_order_acq_rel) != 1)
        return;
    free(shared->bytes);
    free(shared);
}

const char *shared_bytes(const struct shared *shared, size_t *length)
{
    *length = shared->length;
    return shared->bytes;
}

void message_release(struct message *message)
{
    for (size_t i = 0; i < message->cut_count; i++)
        shared_drop(message->cuts[i].text);
    free(message->cuts);
    buffer_release(&message->bytes);
    *message = (struct message)MESSAGE_EMPTY;
}

int message_append_shared(struct message *message, struct shared *text)
{
    struct message_cut *cuts;

    if (text->length < MESSAGE_CUT)
        return buffer_append(&message->bytes, text->bytes, text->length);
    cuts = realloc(message->cuts, (message->cut_count + 1) * sizeof(*cuts));
    if (!cuts) {
        message->bytes.failed = true;
        return -ENOMEM;
    }
    message->cuts = cuts;
    cuts[message->cut_count++] = (struct message_cut){message->bytes.length, shared_hold(text)};
    return message->bytes.failed ? -ENOMEM : 0;
}

int message_prepend(struct message *message, const void *data, size_t length)
{
    int rc = buffer_splice(&message->bytes, 0, 0, data, length);

    for (size_t i = 0; rc == 0 && i < message->cut_count; i++)
        message->cuts[i].at += length;
    return rc;
}

size_t message_length(const struct message *message)
{
    size_t length = message->bytes.length;

    for (size_t i = 0; i < message->cut_count; i++)
        length += message->cuts[i].text->length;
    return length;
}

size_t message_runs(const struct message *message, size_t from, struct message_run *runs,
                    size_t room)
{
    size_t count = 0, at = 0;

    /* Bytes and texts take turns, and end with bytes. */
    for (size_t i = 0; i <= 2 * message->cut_count && count < room; i++) {
        const struct message_cut *cut = message->cuts + i / 2;
        struct message_run run;

        if (i % 2) {
            run = (struct message_run){cut->text->bytes, cut->text->length};
        } else {
            size_t end = i / 2 < message->cut_count ? cut->at : message->bytes.length;

            run = (struct message_run){message->bytes.data + at, end - at};
            at = end;
        }
        if (from >= run.length) {
            from -= run.length;
            continue;
        }
        run.bytes += from;
        run.length -= from;
        from = 0;
        runs[count++] = run;
    }
    return count;
}
