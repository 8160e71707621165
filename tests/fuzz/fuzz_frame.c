/*
 * libFuzzer's entry for what arrives on a connection: framing, JSON, classification, edits, URIs.
 *
 *     clang -g -O1 -fsanitize=fuzzer,address,undefined -D_GNU_SOURCE -I. -I/usr/include/cjson \
 *         -o build/fuzz_frame tests/fuzz/fuzz_frame.c protocol/(all).c -lcjson -lm
 *
 * The input is a stream; its first byte says how it is cut. Two readers, one fed at once and one in
 * pieces, must give the same messages. A body that is JSON must print, parse and print the same
 * again.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "protocol/frame.h"
#include "protocol/json.h"
#include "protocol/lsp.h"
#include "protocol/rpc.h"
#include "protocol/uri.h"
#include "protocol/utf8.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool truth)
{
    if (!truth)
        abort();
}

static void check_tree(const char *text, size_t length)
{
    struct json_error error = {0, NULL};
    struct json *value = json_parse(text, length, &error), *again;
    struct buffer first = BUFFER_EMPTY, second = BUFFER_EMPTY;

    if (!value) {
        require(error.message && error.offset <= length);
        return;
    }
    require(json_print(&first, value) == 0);
    require(utf8_valid(first.data, first.length));
    again = json_parse(first.data, first.length, &error);
    require(again && json_print(&second, again) == 0);
    require(first.length == second.length && memcmp(first.data, second.data, first.length) == 0);
    json_free(again);
    json_free(value);
    buffer_release(&first);
    buffer_release(&second);
}

static void check_edits(const struct json *params)
{
    static const char start[] = "first\r\nsecond \xC3\xA9\xF0\x9F\x98\x80\xFF\rthird\n";
    enum lsp_encoding encodings[] = {LSP_UTF16, LSP_UTF8, LSP_UTF32};

    for (size_t e = 0; e < 3; e++) {
        struct lsp_text text = LSP_TEXT_EMPTY, fresh = LSP_TEXT_EMPTY;

        require(lsp_text_set(&text, start, sizeof(start) - 1) == 0);
        if (lsp_text_change(&text, json_array(params, "contentChanges"), encodings[e]) == 0) {
            require(lsp_text_set(&fresh, text.bytes.data, text.bytes.length) == 0);
            require(fresh.line_count == text.line_count &&
                    memcmp(fresh.lines, text.lines, fresh.line_count * sizeof(*fresh.lines)) == 0);
            for (size_t at = 0; at <= text.bytes.length; at++) {
                struct lsp_position position = lsp_text_position(&text, at, encodings[e]);

                require(lsp_text_offset(&text, position, encodings[e]) <= at);
            }
        }
        lsp_text_release(&text);
        lsp_text_release(&fresh);
    }
}

static void check_uri(const char *uri)
{
    char *path = NULL, *canonical = NULL, *again = NULL;

    if (!uri || uri_to_path(uri, &path) < 0)
        return;
    require(uri_from_path(path, &canonical) == 0);
    require(uri_to_path(canonical, &again) == 0 && strcmp(path, again) == 0);
    require(uri_equal(uri, canonical));
    free(path);
    free(canonical);
    free(again);
}

static void check_body(const char *text, size_t length)
{
    struct rpc_message message;

    check_tree(text, length);
    require(rpc_message_read(&message, text, length) == 0);
    require(message.id != NULL);
    check_tree(message.id, strlen(message.id));
    require(rpc_id_equal(message.id, message.id));
    if (message.kind != RPC_INVALID) {
        free(rpc_cancelled_id(&message, text));
        check_edits(message.params);
        check_uri(json_string(json_member(message.params, "textDocument"), "uri"));
    }
    rpc_message_release(&message);
}

/* Feeds in pieces of at most `step` bytes; appends what came out. */
static int read_stream(const char *data, size_t size, size_t step, struct buffer *out)
{
    struct frame_reader reader;
    struct frame frame;
    int rc = 0;

    frame_reader_init(&reader);
    for (size_t at = 0; at < size && rc >= 0; at += step) {
        require(frame_reader_feed(&reader, data + at, size - at < step ? size - at : step) == 0);
        while ((rc = frame_reader_next(&reader, &frame)) > 0)
            require(frame_write(out, frame.body, frame.length) == 0);
    }
    frame_reader_release(&reader);
    return rc;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct buffer whole = BUFFER_EMPTY, cut = BUFFER_EMPTY;
    struct frame_reader reader;
    struct frame frame;
    const char *stream = (const char *)data + 1;

    if (size < 2)
        return 0;
    size--;
    require(read_stream(stream, size, size, &whole) ==
            read_stream(stream, size, (size_t)data[0] % 64 + 1, &cut));
    require(whole.length == cut.length &&
            (whole.length == 0 || memcmp(whole.data, cut.data, cut.length) == 0));

    /* What was written is read again, and all of it. */
    frame_reader_init(&reader);
    require(frame_reader_feed(&reader, whole.data, whole.length) == 0);
    while (frame_reader_next(&reader, &frame) > 0) {
        char *body = malloc(frame.length + 1);

        require(body != NULL);
        memcpy(body, frame.body, frame.length);
        check_body(body, frame.length);
        free(body);
    }
    require(!frame_reader_pending(&reader));
    frame_reader_release(&reader);

    /* Bodies without a frame too: a fuzzer seldom gets the length right. */
    check_body(stream, size);
    buffer_release(&whole);
    buffer_release(&cut);
    return 0;
}
