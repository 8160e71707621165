#include "daemon/server/channel.h"

#include "daemon/server/memory.h"
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>
#include <uv.h>

#define FLUSH_MS 1000
#define READ_SIZE ((size_t)64 * 1024)

struct piece {
    struct channel *channel;
    struct piece *next;
    struct message message;
    size_t length, written; /* written: files only */
    uv_write_t write;
    uv_fs_t file;
};

union end {
    uv_handle_t handle;
    uv_stream_t stream;
    uv_pipe_t pipe;
    uv_tty_t tty;
};

struct channel {
    struct channel_events events;
    uv_loop_t *loop;
    int input, output; /* files; -1: a stream */
    union end in, out; /* of streams; out is not used where one socket does both */
    bool in_open, out_open, same;
    uv_timer_t flush;
    char *block;
    uv_fs_t reading;
    bool reading_file, paused;
    struct piece *first, **last; /* written one after the other; the first is under way */
    size_t queued, pieces;
    bool ended, broken, closing, closed_handles;
    int handles;
};

static uv_stream_t *out_stream(struct channel *channel)
{
    return channel->same ? &channel->in.stream : &channel->out.stream;
}

/* A stream over the descriptor; 1: it is a file, which libuv does not stream. */
static int open_end(uv_loop_t *loop, union end *end, int descriptor)
{
    int rc;

    switch (uv_guess_handle(descriptor)) {
    case UV_TTY:
        return uv_tty_init(loop, &end->tty, descriptor, 0);
    case UV_NAMED_PIPE:
    case UV_TCP:
        rc = uv_pipe_init(loop, &end->pipe, 0);
        return rc < 0 ? rc : uv_pipe_open(&end->pipe, descriptor);
    default:
        return 1;
    }
}

struct channel *channel_new(struct uv_loop_s *loop, int input, int output,
                            const struct channel_events *events, int *error)
{
    struct channel *channel = memory_new(sizeof *channel);

    channel->events = *events;
    channel->loop = loop;
    channel->input = channel->output = -1;
    channel->last = &channel->first;
    channel->same = input == output;
    *error = open_end(loop, &channel->in, input);
    if (*error < 0)
        goto failed;
    if (*error > 0)
        channel->input = input;
    else
        channel->in_open = true;
    if (!channel->same) {
        *error = open_end(loop, &channel->out, output);
        if (*error < 0)
            goto failed;
        if (*error > 0)
            channel->output = output;
        else
            channel->out_open = true;
    }
    *error = 0;
    channel->in.handle.data = channel->out.handle.data = channel;
    channel->block = memory_new(READ_SIZE);
    uv_timer_init(loop, &channel->flush);
    channel->flush.data = channel;
    return channel;
failed:
    /* A descriptor that libuv refuses: the process has nothing to talk over, and leaves. */
    free(channel);
    return NULL;
}

/* --- reading -------------------------------------------------------------------------------- */

static void end_input(struct channel *channel, int error)
{
    if (channel->ended)
        return;
    channel->ended = true;
    if (channel->in_open)
        uv_read_stop(&channel->in.stream);
    channel->events.ended(channel->events.state, error);
}

static void give_block(uv_handle_t *handle, size_t size, uv_buf_t *buffer)
{
    struct channel *channel = handle->data;

    (void)size;
    *buffer = uv_buf_init(channel->block, (unsigned)READ_SIZE);
}

static void stream_read(uv_stream_t *stream, ssize_t got, const uv_buf_t *buffer)
{
    struct channel *channel = stream->data;

    if (got > 0)
        channel->events.received(channel->events.state, buffer->base, (size_t)got);
    else if (got < 0)
        end_input(channel, got == UV_EOF ? 0 : (int)got);
}

static void finish(struct channel *channel);

static int read_file(struct channel *channel);

static void file_read(uv_fs_t *request)
{
    struct channel *channel = request->data;
    ssize_t got = request->result;

    uv_fs_req_cleanup(request);
    channel->reading_file = false;
    if (channel->closing) {
        finish(channel);
        return;
    }
    if (got > 0) {
        channel->events.received(channel->events.state, channel->block, (size_t)got);
        if (!channel->ended && !channel->closing && !channel->paused)
            read_file(channel);
    } else {
        end_input(channel, (int)got);
    }
}

static int read_file(struct channel *channel)
{
    uv_buf_t buffer = uv_buf_init(channel->block, (unsigned)READ_SIZE);

    channel->reading.data = channel;
    channel->reading_file = true;
    return uv_fs_read(channel->loop, &channel->reading, channel->input, &buffer, 1, -1, file_read);
}

int channel_start(struct channel *channel)
{
    return channel->in_open ? uv_read_start(&channel->in.stream, give_block, stream_read)
                            : read_file(channel);
}

void channel_pause(struct channel *channel)
{
    if (channel->paused || channel->ended)
        return;
    channel->paused = true;
    if (channel->in_open)
        uv_read_stop(&channel->in.stream);
}

void channel_resume(struct channel *channel)
{
    int rc = 0;

    if (!channel->paused)
        return;
    channel->paused = false;
    if (channel->ended || channel->closing)
        return;
    /* A read of a file that was under way when it was paused goes on by itself. */
    if (channel->in_open)
        rc = uv_read_start(&channel->in.stream, give_block, stream_read);
    else if (!channel->reading_file)
        rc = read_file(channel);
    if (rc < 0)
        end_input(channel, rc);
}

/* --- writing -------------------------------------------------------------------------------- */

static void piece_free(struct piece *piece)
{
    const struct channel_events *events = &piece->channel->events;

    if (events->sent)
        events->sent(events->state, &piece->message);
    message_release(&piece->message);
    free(piece);
}

static void add_piece(struct channel *channel, struct piece *piece)
{
    *channel->last = piece;
    channel->last = &piece->next;
    channel->queued += piece->length;
    channel->pieces++;
}

static void take_first(struct channel *channel)
{
    channel->first = channel->first->next;
    if (!channel->first)
        channel->last = &channel->first;
}

/* Of a piece that was taken out. */
static void piece_done(struct piece *piece, int status)
{
    struct channel *channel = piece->channel;

    channel->queued -= piece->length;
    channel->pieces--;
    piece_free(piece);
    if (status < 0)
        channel->broken = true;
    if (channel->closing)
        finish(channel);
    else if (channel->broken)
        end_input(channel, status);
}

/* libuv writes, and gives up, in order. */
static void stream_written(uv_write_t *request, int status)
{
    struct piece *piece = request->data;

    take_first(piece->channel);
    piece_done(piece, status);
}

/* Of a file: those behind the first, for which no write was begun. */
static void drop_waiting(struct channel *channel)
{
    struct piece *waiting = channel->first->next;

    channel->first->next = NULL;
    channel->last = &channel->first->next;
    while (waiting) {
        struct piece *piece = waiting;

        waiting = piece->next;
        channel->queued -= piece->length;
        channel->pieces--;
        piece_free(piece);
    }
}

/* What is left of a piece, as libuv wants it; to be freed. */
static uv_buf_t *buffers_of(const struct piece *piece, unsigned *count)
{
    size_t room = 2 * piece->message.cut_count + 1;
    struct message_run *runs = memory_new(room * sizeof *runs);
    uv_buf_t *buffers = memory_new(room * sizeof *buffers);

    *count = (unsigned)message_runs(&piece->message, piece->written, runs, room);
    for (unsigned i = 0; i < *count; i++)
        buffers[i] = uv_buf_init((char *)(uintptr_t)runs[i].bytes, (unsigned)runs[i].length);
    free(runs);
    return buffers;
}

static void write_file(struct channel *channel);

static void file_written(uv_fs_t *request)
{
    struct piece *piece = request->data;
    struct channel *channel = piece->channel;
    ssize_t put = request->result;

    uv_fs_req_cleanup(request);
    if (put > 0)
        piece->written += (size_t)put;
    if (put > 0 && piece->written < piece->length) {
        write_file(channel);
        return;
    }
    if (put <= 0)
        drop_waiting(channel);
    take_first(channel);
    if (channel->first)
        write_file(channel);
    piece_done(piece, put <= 0 ? -EIO : 0);
}

static void write_file(struct channel *channel)
{
    struct piece *piece = channel->first;
    unsigned count;
    uv_buf_t *buffers = buffers_of(piece, &count);

    piece->file.data = piece;
    uv_fs_write(channel->loop, &piece->file, channel->output, buffers, count, -1, file_written);
    free(buffers);
}

bool channel_send(struct channel *channel, struct message *message)
{
    size_t length = message_length(message);
    size_t waiting = channel->first ? channel->queued - channel->first->length : 0;
    struct piece *piece;
    uv_buf_t *buffers;
    unsigned count;
    int rc;

    if (channel->broken || channel->closing ||
        (waiting && (length > CHANNEL_QUEUE_LIMIT || waiting > CHANNEL_QUEUE_LIMIT - length))) {
        message_release(message);
        return false;
    }
    piece = memory_new(sizeof *piece);
    piece->channel = channel;
    piece->message = *message;
    piece->length = length;
    *message = (struct message)MESSAGE_EMPTY;
    if (channel->output >= 0) {
        add_piece(channel, piece);
        if (channel->first == piece)
            write_file(channel);
        return true;
    }
    piece->write.data = piece;
    buffers = buffers_of(piece, &count);
    rc = uv_write(&piece->write, out_stream(channel), buffers, count, stream_written);
    free(buffers);
    if (rc < 0) {
        channel->broken = true;
        piece_free(piece);
        return false;
    }
    add_piece(channel, piece);
    return true;
}

size_t channel_queued(const struct channel *channel)
{
    return channel->queued;
}

/* --- closing -------------------------------------------------------------------------------- */

static void handle_closed(uv_handle_t *handle)
{
    struct channel *channel = handle->data;

    if (--channel->handles)
        return;
    channel->events.closed(channel->events.state);
    free(channel->block);
    free(channel);
}

static void close_handles(struct channel *channel)
{
    if (channel->closed_handles)
        return;
    channel->closed_handles = true;
    channel->handles = 1 + channel->in_open + channel->out_open;
    uv_close((uv_handle_t *)&channel->flush, handle_closed);
    if (channel->in_open)
        uv_close(&channel->in.handle, handle_closed);
    if (channel->out_open)
        uv_close(&channel->out.handle, handle_closed);
}

/* Closes once nothing is under way that still needs the channel. */
static void finish(struct channel *channel)
{
    bool streaming = channel->output < 0;

    /* Closing a stream gives its writes up; those of a file are waited for. */
    if (channel->reading_file ||
        (channel->pieces && !channel->broken && !channel->closed_handles) ||
        (channel->pieces && !streaming))
        return;
    close_handles(channel);
}

static void flush_over(uv_timer_t *timer)
{
    struct channel *channel = timer->data;

    channel->broken = true;
    finish(channel);
}

void channel_close(struct channel *channel, bool flush)
{
    if (channel->closing)
        return;
    channel->closing = true;
    channel->ended = true;
    if (channel->in_open)
        uv_read_stop(&channel->in.stream);
    if (!flush)
        channel->broken = true;
    if (channel->pieces && flush)
        uv_timer_start(&channel->flush, flush_over, FLUSH_MS, 0);
    finish(channel);
}
