/* What a channel writes, to a socket and to a file, and what it lets wait. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <uv.h>

#include "daemon/server/channel.h"

#define MIB ((size_t)1024 * 1024)

static uv_loop_t loop;
static int ended, closed;

static void received(void *state, const char *bytes, size_t length)
{
    (void)state, (void)bytes, (void)length;
}

static void on_ended(void *state, int error)
{
    (void)state, (void)error;
    ended++;
}

static void on_closed(void *state)
{
    (void)state;
    closed++;
}

static struct channel *channel_over(int input, int output)
{
    const struct channel_events events = {
        .received = received, .ended = on_ended, .closed = on_closed};
    struct channel *channel;
    int error;

    ended = closed = 0;
    assert_int_equal(uv_loop_init(&loop), 0);
    channel = channel_new(&loop, input, output, &events, &error);
    assert_non_null(channel);
    return channel;
}

static void close_channel(struct channel *channel)
{
    channel_close(channel, true);
    uv_run(&loop, UV_RUN_DEFAULT);
    assert_int_equal(closed, 1);
    assert_int_equal(uv_loop_close(&loop), 0);
}

/* Some bytes, a shared text of so many (0: none), some more: their pattern follows from `number`.
 */
static bool send_message(struct channel *channel, unsigned number, size_t shared,
                         struct buffer *copy)
{
    struct message message = MESSAGE_EMPTY;
    struct buffer text = BUFFER_EMPTY;
    size_t start = copy ? copy->length : 0;
    bool sent;

    for (int part = 0; part < 3; part++) {
        size_t length = part == 1 ? shared : 100 + number % 100;
        struct buffer *out = part == 1 ? &text : &message.bytes;

        if (!length)
            continue;
        assert_int_equal(buffer_reserve(out, length), 0);
        for (size_t i = 0; i < length; i++)
            out->data[out->length++] = (char)(i * 31 + i / 999 + number + (size_t)part);
        if (copy)
            buffer_append(copy, out->data + out->length - length, length);
        if (part == 1) {
            struct shared *held = shared_new(&text);

            assert_int_equal(message_append_shared(&message, held), 0);
            shared_drop(held);
        }
    }
    sent = channel_send(channel, &message);
    assert_int_equal(message_length(&message), 0);
    if (!sent && copy)
        copy->length = start;
    return sent;
}

/* Reads from the other end, a little at a time, while the loop runs. */
static void expect(int end, const struct buffer *expected)
{
    size_t at = 0;

    fcntl(end, F_SETFL, O_NONBLOCK);
    while (at < expected->length) {
        static char bytes[300000];
        ssize_t got;

        uv_run(&loop, UV_RUN_NOWAIT);
        got = read(end, bytes, sizeof bytes);
        if (got < 0)
            continue;
        assert_true(got > 0 && (size_t)got <= expected->length - at);
        assert_memory_equal(bytes, expected->data + at, (size_t)got);
        at += (size_t)got;
    }
}

/* More than the bound in one message, then small ones, then a large one again: a client that reads
 * gets them all. */
static void large_messages_arrive(void **state)
{
    struct buffer all = BUFFER_EMPTY;
    struct channel *channel;
    int ends[2];

    (void)state;
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    channel = channel_over(ends[0], ends[0]);
    assert_true(send_message(channel, 1, 25 * MIB, &all));
    for (unsigned i = 0; i < 50; i++)
        assert_true(send_message(channel, i, i % 3 ? 0 : 100000, &all));
    expect(ends[1], &all);
    uv_run(&loop, UV_RUN_NOWAIT);
    assert_int_equal(channel_queued(channel), 0);
    buffer_clear(&all);
    assert_true(send_message(channel, 7, 20 * MIB, &all));
    assert_true(send_message(channel, 8, 20 * MIB, &all));
    expect(ends[1], &all);
    assert_int_equal(ended, 0);
    close_channel(channel);
    close(ends[1]);
    buffer_release(&all);
}

/* Behind the message under way 16 MiB may wait, or one message that is larger; no more. */
static void what_waits_is_bounded(void **state)
{
    static const struct {
        size_t first, then; /* MiB */
        int taken;          /* of those that come then */
    } cases[] = {{25, 1, 15}, {1, 1, 15}, {60, 20, 1}, {1, 17, 1}, {25, 5, 3}};

    (void)state;
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        struct channel *channel;
        int ends[2], taken = 0;

        assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
        channel = channel_over(ends[0], ends[0]);
        assert_true(send_message(channel, 0, cases[k].first * MIB, NULL));
        while (taken < 100 && send_message(channel, 1, cases[k].then * MIB, NULL))
            taken++;
        assert_int_equal(taken, cases[k].taken);
        channel_close(channel, false);
        uv_run(&loop, UV_RUN_DEFAULT);
        assert_int_equal(closed, 1);
        assert_int_equal(uv_loop_close(&loop), 0);
        close(ends[1]);
    }
}

static void a_file_gets_all_in_order(void **state)
{
    char path[] = "/tmp/channel-test-XXXXXX";
    struct buffer all = BUFFER_EMPTY;
    struct channel *channel;
    int null = open("/dev/null", O_RDONLY), file = mkstemp(path);
    char *bytes;

    (void)state;
    assert_true(null >= 0 && file >= 0);
    channel = channel_over(null, dup(file));
    assert_true(send_message(channel, 3, 5 * MIB, &all));
    for (unsigned i = 0; i < 20; i++)
        assert_true(send_message(channel, i, i % 2 * 70000, &all));
    uv_run(&loop, UV_RUN_DEFAULT);
    assert_int_equal(channel_queued(channel), 0);
    close_channel(channel);
    bytes = malloc(all.length + 1);
    assert_int_equal(pread(file, bytes, all.length + 1, 0), all.length);
    assert_memory_equal(bytes, all.data, all.length);
    free(bytes);
    unlink(path);
    close(file);
    close(null);
    buffer_release(&all);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(large_messages_arrive),
        cmocka_unit_test(what_waits_is_bounded),
        cmocka_unit_test(a_file_gets_all_in_order),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
