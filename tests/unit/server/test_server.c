#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/server/folder.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>

#include "daemon/server/log.h"
#include "daemon/server/server.h"
#include "protocol/frame.h"
#include "protocol/json.h"

/* One message of a session, with ${F} for the test's folder. */
static void add(struct buffer *out, const char *format, ...)
{
    char body[4096];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(body, sizeof body, format, arguments);
    va_end(arguments);
    assert_int_equal(frame_write(out, body, strlen(body)), 0);
}

static void add_session(struct buffer *out)
{
    add(out,
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":{\"rootUri\":\"file://"
        "%s\","
        "\"capabilities\":{}}}",
        folder);
    add(out, "{\"jsonrpc\":\"2.0\",\"method\":\"initialized\",\"params\":{}}");
    add(out,
        "{\"jsonrpc\":\"2.0\",\"method\":\"textDocument/"
        "didOpen\",\"params\":{\"textDocument\":{\"uri\":"
        "\"file://%s/"
        "A.cs\",\"languageId\":\"csharp\",\"version\":1,\"text\":\"[OnnxGpu(\\\"a.onnx\\\")] class "
        "A {}\"}}}",
        folder);
    add(out,
        "{\"jsonrpc\":\"2.0\",\"id\":\"check\",\"method\":\"onnxgpu/"
        "check\",\"params\":{\"uri\":\"file://%s/A.cs\"}}",
        folder);
    add(out, "{\"jsonrpc\":\"2.0\",\"method\":\"$/cancelRequest\",\"params\":{\"id\":\"check\"}}");
    add(out, "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"shutdown\"}");
    add(out, "{\"jsonrpc\":\"2.0\",\"method\":\"exit\"}");
}

/* Runs a daemon over these bytes, after which the input ends; what it said goes to *out. */
static int run(const char *bytes, size_t length, struct buffer *out)
{
    struct server_options options = {.stdio = true, .write = true, .jobs = 1};
    int input[2], output, code;
    char path[256];
    ssize_t got;

    assert_int_equal(pipe(input), 0);
    assert_int_equal(write(input[1], bytes, length), length);
    close(input[1]);
    snprintf(path, sizeof path, "%s", in_folder("output"));
    output = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
    assert_true(output >= 0);
    options.input = input[0];
    options.output = output; /* a file stays ours */
    code = server_run(&options);
    buffer_clear(out);
    buffer_reserve(out, 65536);
    while ((got = pread(output, out->data + out->length, 4096, (off_t)out->length)) > 0)
        out->length += (size_t)got;
    close(output);
    unlink(path);
    return code;
}

/* How often the answer to each id came; fails where the output is no run of whole messages. */
static void count_answers(const struct buffer *out, int *one, int *check, int *two)
{
    struct frame_reader reader;
    struct frame frame;
    int rc;

    *one = *check = *two = 0;
    frame_reader_init(&reader);
    assert_int_equal(frame_reader_feed(&reader, out->data, out->length), 0);
    while ((rc = frame_reader_next(&reader, &frame)) > 0) {
        struct json *message = json_parse(frame.body, frame.length, NULL);
        const char *text = json_value_string(json_member(message, "id"));
        int64_t number = json_int(message, "id", -1);

        assert_non_null(message);
        if (!json_string(message, "method")) {
            *one += number == 1;
            *two += number == 2;
            *check += text && strcmp(text, "check") == 0;
        }
        json_free(message);
    }
    assert_int_equal(rc, 0);
    assert_false(frame_reader_pending(&reader));
    frame_reader_release(&reader);
}

/* Wherever the input ends, the daemon leaves with the right code, and no request is answered twice.
 */
static void test_cut_everywhere(void **state)
{
    struct buffer session = BUFFER_EMPTY, out = BUFFER_EMPTY;
    size_t shut_down, whole;
    int one, check, two;

    (void)state;
    add_session(&session);
    whole = session.length;
    shut_down =
        (size_t)((char *)memmem(session.data, whole, "\"shutdown\"}", 11) - session.data) + 11;
    for (size_t length = 0; length <= whole; length++) {
        int code = run(session.data, length, &out);

        assert_int_equal(code, length >= shut_down ? 0 : 1);
        count_answers(&out, &one, &check, &two);
        assert_true(one <= 1 && check <= 1 && two <= 1);
        if (length >= shut_down) {
            assert_int_equal(one, 1);
            assert_int_equal(check, 1);
            assert_int_equal(two, 1);
        }
    }
    buffer_release(&out);
    buffer_release(&session);
}

static int begin(void **state)
{
    signal(SIGPIPE, SIG_IGN);
    log_open("/dev/null", LOG_ERROR);
    return make_folder(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_cut_everywhere, begin, remove_folder),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
