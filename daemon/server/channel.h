#ifndef DAEMON_SERVER_CHANNEL_H
#define DAEMON_SERVER_CHANNEL_H
/*
 * Bytes in and out of one connection, whatever it is made of: a socket, pipes, a terminal, files.
 * Reading never waits for writing. Loop thread.
 */
#include <stdbool.h>
#include <stddef.h>

#include "protocol/message.h"

/*
 * The bound of a connection's output queue, in bytes; a client behind which more would wait counts
 * as stuck. The queue is what waits: the message that is being written counts for nothing, nor does
 * a single one behind it that is larger than the bound by itself. For answers may be larger (a
 * frame holds 64 MiB) and must not be dropped, so a bound on all bytes would end a client that
 * reads, for having asked for one. What is held is thus at most two messages, or one and 16 MiB.
 */
#define CHANNEL_QUEUE_LIMIT ((size_t)16 * 1024 * 1024)

struct uv_loop_s;
struct uv_pipe_s;
struct channel;

struct channel_events {
    void *state;
    void (*received)(void *state, const char *bytes, size_t length);
    /* The input ended (error 0) or broke; nothing more is received. */
    void (*ended)(void *state, int error);
    /* A message was written, or given up, and is the receiver's to release. NULL: it is released.
     */
    void (*sent)(void *state, struct message *message);
    /* The channel is gone, after channel_close(). */
    void (*closed)(void *state);
};

/* Reads from one descriptor and writes to another (which may be the same socket); both are the
 * channel's from here on. Nothing is received until channel_start(). NULL with a negative error
 * code. */
struct channel *channel_new(struct uv_loop_s *loop, int input, int output,
                            const struct channel_events *events, int *error);
int channel_start(struct channel *channel);
/* Nothing more is received until the other one is called. Twice is fine. */
void channel_pause(struct channel *channel);
void channel_resume(struct channel *channel);
/* Takes the message. False: it was not queued, because the client is stuck or gone. */
bool channel_send(struct channel *channel, struct message *message);
/* All bytes that are not written yet. */
size_t channel_queued(const struct channel *channel);
/* Stops reading; sends what waits where that can be done within a second, then closes. May be
 * called twice. */
void channel_close(struct channel *channel, bool flush);

#endif
