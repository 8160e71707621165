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
    char *bytes;
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
    bool reading_file;
    struct piece *first, **last; /* files: written one after the other */
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
        if (!channel->ended && !channel->closing)
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

/* --- writing -------------------------------------------------------------------------------- */

static void piece_done(struct piece *piece, int status)
{
    struct channel *channel = piece->channel;

    channel->queued -= piece->length;
    channel->pieces--;
    free(piece->bytes);
    free(piece);
    if (status < 0)
        channel->broken = true;
    if (channel->closing)
        finish(channel);
    else if (channel->broken)
        end_input(channel, status);
}

static void stream_written(uv_write_t *request, int status)
{
    piece_done(request->data, status);
}

static void write_file(struct channel *channel);

/* Of a file: those that no write was begun for. */
static void drop_pieces(struct channel *channel)
{
    while (channel->first) {
        struct piece *piece = channel->first;

        channel->first = piece->next;
        channel->queued -= piece->length;
        channel->pieces--;
        free(piece->bytes);
        free(piece);
    }
}

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
    channel->first = piece->next;
    if (put <= 0)
        drop_pieces(channel);
    if (!channel->first)
        channel->last = &channel->first;
    else
        write_file(channel);
    piece_done(piece, put <= 0 ? -EIO : 0);
}

static void write_file(struct channel *channel)
{
    struct piece *piece = channel->first;
    size_t left = piece->length - piece->written;
    uv_buf_t buffer = uv_buf_init(piece->bytes + piece->written, (unsigned)left);

    piece->file.data = piece;
    uv_fs_write(channel->loop, &piece->file, channel->output, &buffer, 1, -1, file_written);
}

bool channel_send(struct channel *channel, char *bytes, size_t length)
{
    struct piece *piece;
    uv_buf_t buffer;

    /* One message may be larger than the limit; a second one behind it may not wait. */
    if (channel->broken || channel->closing || channel->queued > CHANNEL_QUEUE_LIMIT) {
        free(bytes);
        return false;
    }
    piece = memory_new(sizeof *piece);
    piece->channel = channel;
    piece->bytes = bytes;
    piece->length = length;
    channel->queued += length;
    channel->pieces++;
    if (channel->output >= 0) {
        bool idle = !channel->first;

        *channel->last = piece;
        channel->last = &piece->next;
        if (idle)
            write_file(channel);
        return true;
    }
    piece->write.data = piece;
    buffer = uv_buf_init(bytes, (unsigned)length);
    if (uv_write(&piece->write, out_stream(channel), &buffer, 1, stream_written) < 0) {
        channel->queued -= length;
        channel->pieces--;
        channel->broken = true;
        free(piece->bytes);
        free(piece);
        return false;
    }
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
