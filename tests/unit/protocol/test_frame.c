#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "protocol/frame.h"

/* What came out of a reader, as text: bodies in brackets, then the error. */
static void drain(struct frame_reader *reader, struct buffer *out)
{
    struct frame frame;
    int rc;

    while ((rc = frame_reader_next(reader, &frame)) > 0) {
        buffer_append_byte(out, '[');
        buffer_append(out, frame.body, frame.length);
        buffer_append_byte(out, ']');
    }
    if (rc < 0)
        buffer_printf(out, "%d", rc);
}

/* Feeds bytes in pieces that end at the given offsets; errors are printed once. */
static char *read_cut(const char *bytes, size_t length, size_t first, size_t second)
{
    size_t cuts[] = {first, second, length};
    struct frame_reader reader;
    struct buffer out = BUFFER_EMPTY;
    size_t at = 0;

    frame_reader_init(&reader);
    for (size_t i = 0; i < 3; i++) {
        /* A copy of its own size, so that a sanitizer sees reads beyond it. */
        char *piece = malloc(cuts[i] - at + 1);

        memcpy(piece, bytes + at, cuts[i] - at);
        if (frame_reader_feed(&reader, piece, cuts[i] - at) == 0)
            drain(&reader, &out);
        free(piece);
        at = cuts[i];
    }
    frame_reader_release(&reader);
    return buffer_take(&out, NULL);
}

static const struct {
    const char *bytes;
    const char *expected;
} rows[] = {
    {"", ""},
    {"Content-Length: 2\r\n\r\n{}", "[{}]"},
    {"Content-Length: 0\r\n\r\n", "[]"},
    {"content-length:2\r\n\r\n{}", "[{}]"},
    {"CONTENT-LENGTH:\t 002 \t\r\n\r\n{}", "[{}]"},
    {"Content-Type: application/vscode-jsonrpc; charset=utf-8\r\nContent-Length: 2\r\n\r\n{}",
     "[{}]"},
    {"Content-Length: 2\r\nContent-Type: application/vscode-jsonrpc;charset=\"UTF8\"\r\n\r\n{}",
     "[{}]"},
    {"content-type: text/plain\r\nX-Other: :;,\"\r\nContent-Length: 1\r\n\r\n1", "[1]"},
    {"Content-Length: 1\r\n\r\n1Content-Length: 2\r\n\r\n22Content-Length: 3\r\n\r\n333",
     "[1][22][333]"},
    {"Content-Length: 4\r\n\r\n\r\n\r\nContent-Length: 1\r\n\r\nx", "[\r\n\r\n][x]"},
    {"Content-Length: 5\r\n\r\n{}", ""},
    {"Content-Length: 5\r\n", ""},
    {"\r\n", "-1003"},
    {"Content-Type: x\r\n\r\n{}", "-1003"},
    {"Content-Length: 2\n\n{}", "-1002"},
    {"Content-Length: 2\r\r\n\r\n{}", "-1002"},
    {"Content-Length: 2\rX: 1\r\n\r\n{}", "-1002"},
    {"Content-Length: 1\r\n\r\n1\r\nContent-Length: 1\r\n\r\n1", "[1]-1003"},
    {"Content-Length 2\r\n\r\n{}", "-1002"},
    {"Content-Length\r\n\r\n{}", "-1002"},
    {" Content-Length: 2\r\n\r\n{}", "-1002"},
    {"Content-Length : 2\r\n\r\n{}", "-1002"},
    {": 2\r\n\r\n{}", "-1002"},
    {"{\"jsonrpc\":\"2.0\"}", "-1002"},
    {"X: a\x01z\r\nContent-Length: 2\r\n\r\n{}", "-1002"},
    {"Content-Length:\r\n\r\n", "-1004"},
    {"Content-Length: -1\r\n\r\n", "-1004"},
    {"Content-Length: +1\r\n\r\n1", "-1004"},
    {"Content-Length: 1 2\r\n\r\n1", "-1004"},
    {"Content-Length: 0x1\r\n\r\n1", "-1004"},
    {"Content-Length: 1.0\r\n\r\n1", "-1004"},
    {"Content-Length: 1\r\ncontent-length: 1\r\n\r\n1", "-1004"},
    {"Content-Length: 67108865\r\n", "-1005"},
    {"Content-Length: 99999999999999999999999999999999\r\n", "-1005"},
    {"Content-Length: 18446744073709551617\r\n", "-1005"},
    {"Content-Length: 2\r\nContent-Type: text/plain; charset=latin1\r\n\r\n{}", "-1006"},
};

static void test_every_cut(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        size_t length = strlen(rows[i].bytes);

        for (size_t a = 0; a <= length; a++) {
            for (size_t b = a; b <= length; b++) {
                char *got = read_cut(rows[i].bytes, length, a, b);

                if (strcmp(got, rows[i].expected) != 0)
                    fail_msg("row %zu cut at %zu and %zu: %s", i, a, b, got);
                free(got);
            }
        }
    }
}

static void test_byte_by_byte(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct frame_reader reader;
        struct buffer out = BUFFER_EMPTY;

        frame_reader_init(&reader);
        buffer_append_text(&out, "");
        for (const char *at = rows[i].bytes; *at; at++)
            if (frame_reader_feed(&reader, at, 1) == 0)
                drain(&reader, &out);
        assert_string_equal(out.data, rows[i].expected);
        frame_reader_release(&reader);
        buffer_release(&out);
    }
}

static void test_pending(void **state)
{
    struct frame_reader reader;
    struct frame frame;

    (void)state;
    frame_reader_init(&reader);
    assert_false(frame_reader_pending(&reader));
    frame_reader_feed(&reader, "Content-Length: 1\r\n\r", 20);
    assert_int_equal(frame_reader_next(&reader, &frame), 0);
    assert_true(frame_reader_pending(&reader));
    frame_reader_feed(&reader, "\n", 1);
    assert_int_equal(frame_reader_next(&reader, &frame), 0);
    assert_true(frame_reader_pending(&reader));
    frame_reader_feed(&reader, "7", 1);
    assert_int_equal(frame_reader_next(&reader, &frame), 1);
    assert_false(frame_reader_pending(&reader));
    frame_reader_release(&reader);
}

static void test_headers_have_a_limit(void **state)
{
    static const char tail[] = "\r\nContent-Length: 1\r\n\r\n";
    struct frame frame;

    (void)state;
    for (int over = 0; over <= 1; over++) {
        struct frame_reader reader;
        size_t fill = FRAME_HEADER_LIMIT - 3 - (sizeof(tail) - 1) + (size_t)over;

        frame_reader_init(&reader);
        /* A message before it: the limit is of each message, not of all. */
        frame_reader_feed(&reader, "Content-Length: 1\r\n\r\n1", 22);
        assert_int_equal(frame_reader_next(&reader, &frame), 1);
        frame_reader_feed(&reader, "X: ", 3);
        for (size_t i = 0; i < fill; i++)
            frame_reader_feed(&reader, "x", 1);
        frame_reader_feed(&reader, tail, sizeof(tail) - 1);
        frame_reader_feed(&reader, "1", 1);
        assert_int_equal(frame_reader_next(&reader, &frame), over ? FRAME_HEADER_TOO_LONG : 1);
        /* An error is for good. */
        if (over) {
            assert_int_equal(frame_reader_feed(&reader, "x", 1), FRAME_HEADER_TOO_LONG);
            assert_int_equal(frame_reader_next(&reader, &frame), FRAME_HEADER_TOO_LONG);
        }
        frame_reader_release(&reader);
    }
}

static void test_a_number_allocates_nothing(void **state)
{
    static const char header[] = "Content-Length: 67108864\r\n\r\n";
    struct frame_reader reader;
    struct frame frame;
    char *block = calloc(1, 1 << 20);

    (void)state;
    frame_reader_init(&reader);
    frame_reader_feed(&reader, header, sizeof(header) - 1);
    assert_int_equal(frame_reader_next(&reader, &frame), 0);
    assert_true(reader.input.capacity < 1024);
    /* The longest body that is allowed, and its memory is given back afterwards. */
    for (int i = 0; i < 64; i++) {
        assert_int_equal(frame_reader_next(&reader, &frame), 0);
        assert_int_equal(frame_reader_feed(&reader, block, 1 << 20), 0);
    }
    assert_int_equal(frame_reader_next(&reader, &frame), 1);
    assert_int_equal(frame.length, FRAME_BODY_LIMIT);
    frame_reader_feed(&reader, header, 4);
    assert_int_equal(frame_reader_next(&reader, &frame), 0);
    assert_true(reader.input.capacity < 1024);
    frame_reader_release(&reader);
    free(block);
}

static void test_written_frames_are_read(void **state)
{
    static const char *const bodies[] = {"", "{}", "\r\n\r\n", "{\"text\":\"caf\xC3\xA9\"}"};
    struct frame_reader reader;
    struct buffer out = BUFFER_EMPTY;
    struct frame frame;

    (void)state;
    frame_reader_init(&reader);
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(frame_write(&out, bodies[i], strlen(bodies[i])), 0);
    frame_reader_feed(&reader, out.data, out.length);
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(frame_reader_next(&reader, &frame), 1);
        assert_int_equal(frame.length, strlen(bodies[i]));
        assert_memory_equal(frame.body, bodies[i], frame.length);
    }
    assert_int_equal(frame_reader_next(&reader, &frame), 0);

    buffer_clear(&out);
    frame_write(&out, "{}", 2);
    assert_string_equal(out.data, "Content-Length: 2\r\n\r\n{}");
    assert_int_equal(frame_write(&out, out.data, FRAME_BODY_LIMIT + 1), -EMSGSIZE);
    assert_string_equal(out.data, "Content-Length: 2\r\n\r\n{}");
    frame_reader_release(&reader);
    buffer_release(&out);
}

static void test_errors_have_texts(void **state)
{
    (void)state;
    for (int error = FRAME_CHARSET; error <= FRAME_HEADER_TOO_LONG; error++)
        assert_string_not_equal(frame_error_text(error), frame_error_text(0));
}

/* A reader that splits gives the same bodies, long ones in pieces, and never holds a long one in
 * the memory that it feeds: growing that would copy what is there. */
static void test_pieces(void **state)
{
    static const size_t lengths[] = {10, FRAME_WHOLE, FRAME_WHOLE + 1, 3, 5000000, 700000, 0};
    static const size_t steps[] = {65536, 1000003, 4093};
    enum { COUNT = sizeof lengths / sizeof *lengths };
    struct buffer wire = BUFFER_EMPTY;
    char *body = malloc(5000000);

    (void)state;
    assert_non_null(body);
    for (size_t i = 0; i < 5000000; i++)
        body[i] = (char)('a' + i % 23);
    for (size_t i = 0; i < COUNT; i++)
        assert_int_equal(frame_write(&wire, body + i, lengths[i] > i ? lengths[i] - i : 0), 0);
    for (size_t s = 0; s < sizeof steps / sizeof *steps; s++) {
        struct frame_reader reader;
        size_t got = 0;

        frame_reader_init(&reader);
        reader.split = true;
        for (size_t at = 0; at < wire.length; at += steps[s]) {
            size_t rest = wire.length - at;
            struct frame frame;

            assert_int_equal(
                frame_reader_feed(&reader, wire.data + at, rest < steps[s] ? rest : steps[s]), 0);
            assert_true(reader.input.length <= FRAME_WHOLE + 64 + steps[s]);
            while (frame_reader_next(&reader, &frame) > 0) {
                struct buffer joined = BUFFER_EMPTY;
                size_t length = lengths[got] > got ? lengths[got] - got : 0;

                assert_int_equal(frame.length, length);
                assert_int_equal(frame.body == NULL, length > FRAME_WHOLE);
                assert_int_equal(frame.pieces.count > 0, length > FRAME_WHOLE);
                if (frame.body)
                    buffer_append(&joined, frame.body, length);
                else
                    assert_int_equal(frame_pieces_join(&frame.pieces, &joined), 0);
                assert_int_equal(joined.length, length);
                assert_memory_equal(joined.data, body + got, length);
                buffer_release(&joined);
                got++;
            }
        }
        assert_int_equal(got, COUNT);
        assert_false(frame_reader_pending(&reader));
        /* The last one was not long: what the long one needed is not kept. */
        frame_reader_feed(&reader, wire.data, 100);
        frame_reader_release(&reader);
    }
    buffer_release(&wire);
    free(body);
}

/* Ends in the middle of a long body. */
static void test_pieces_cut_off(void **state)
{
    static const char head[] = "Content-Length: 200000\r\n\r\n";
    char bytes[1000] = {0};
    struct frame_reader reader;
    struct frame frame;

    (void)state;
    frame_reader_init(&reader);
    reader.split = true;
    assert_int_equal(frame_reader_feed(&reader, head, sizeof head - 1), 0);
    assert_int_equal(frame_reader_next(&reader, &frame), 0);
    assert_true(frame_reader_pending(&reader));
    assert_int_equal(frame_reader_feed(&reader, bytes, sizeof bytes), 0);
    assert_int_equal(frame_reader_next(&reader, &frame), 0);
    assert_true(frame_reader_pending(&reader));
    frame_reader_release(&reader);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_cut),
        cmocka_unit_test(test_byte_by_byte),
        cmocka_unit_test(test_pending),
        cmocka_unit_test(test_headers_have_a_limit),
        cmocka_unit_test(test_a_number_allocates_nothing),
        cmocka_unit_test(test_written_frames_are_read),
        cmocka_unit_test(test_errors_have_texts),
        cmocka_unit_test(test_pieces),
        cmocka_unit_test(test_pieces_cut_off),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
