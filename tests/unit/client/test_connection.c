/*
 * The conversation with a daemon, against one that follows a script: it reads a request, then sends
 * the next piece, byte for byte what the script says.
 */
#include "client/connection.h"

#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cmocka.h>

enum { MOST = 8 };

struct fake {
    char folder[64], path[96];
    int listener;
    pthread_t thread;
    const char *bodies[MOST]; /* one answer a request; NULL: close */
    bool cut;                 /* sent byte by byte */
    char asked[MOST][512];
    int requests;
};

static void send_text(const struct fake *f, int to, const char *text)
{
    size_t length = strlen(text), step = f->cut ? 1 : length;

    for (size_t at = 0; at < length; at += step)
        if (write(to, text + at, step) != (ssize_t)step)
            return;
}

/* Several bodies are divided by "|": each becomes a frame. */
static void answer(const struct fake *f, int to, const char *bodies)
{
    while (*bodies) {
        size_t length = strcspn(bodies, "|");
        char frame[1024];

        snprintf(frame, sizeof frame, "Content-Length: %zu\r\n\r\n%.*s", length, (int)length,
                 bodies);
        send_text(f, to, frame);
        bodies += length + (bodies[length] == '|');
    }
}

static void *serve(void *state)
{
    struct fake *f = state;
    int peer = accept(f->listener, NULL, NULL);
    struct frame_reader reader;

    frame_reader_init(&reader);
    while (peer >= 0 && f->requests < MOST) {
        struct frame frame;
        char bytes[256];
        int rc = frame_reader_next(&reader, &frame);

        if (rc < 0)
            break;
        if (rc == 0) {
            ssize_t got = read(peer, bytes, sizeof bytes);

            if (got <= 0 || frame_reader_feed(&reader, bytes, (size_t)got))
                break;
            continue;
        }
        snprintf(f->asked[f->requests], sizeof f->asked[0], "%.*s", (int)frame.length, frame.body);
        const char *body = f->bodies[f->requests++];
        if (!body)
            break;
        answer(f, peer, body);
    }
    frame_reader_release(&reader);
    if (peer >= 0)
        close(peer);
    return NULL;
}

static void start(struct fake *f)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};

    snprintf(f->folder, sizeof f->folder, "/tmp/connection-test-XXXXXX");
    assert_non_null(mkdtemp(f->folder));
    snprintf(f->path, sizeof f->path, "%s/s", f->folder);
    snprintf(address.sun_path, sizeof address.sun_path, "%s", f->path);
    f->listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(f->listener >= 0);
    assert_int_equal(bind(f->listener, (struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(listen(f->listener, 1), 0);
    assert_int_equal(pthread_create(&f->thread, NULL, serve, f), 0);
}

static void stop(struct fake *f)
{
    pthread_join(f->thread, NULL);
    close(f->listener);
    unlink(f->path);
    rmdir(f->folder);
}

#define HELLO                                                                                      \
    "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"protocol\":1,\"build\":\"x\",\"pid\":42}}"

static void asks_and_waits_for_its_own_answer(void **state)
{
    (void)state;
    for (int cut = 0; cut < 2; cut++) {
        struct fake f = {
            .cut = cut,
            .bodies =
                {"{\"jsonrpc\":\"2.0\",\"method\":\"window/logMessage\",\"params\":{}}|" HELLO,
                 "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"x\"}|"
                 "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"late\":true}}|"
                 "{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{\"pid\":3}}",
                 NULL},
        };
        struct connection c;

        start(&f);
        assert_int_equal(connection_open(&c, f.path), 0);
        assert_int_equal(c.peer.pid, 42);
        struct json *result = connection_ask(&c, "onnxgpu/status", NULL);
        assert_non_null(result);
        assert_int_equal(json_int(result, "pid", 0), 3);
        json_free(result);
        connection_release(&c);
        connection_release(&c);
        stop(&f);
        assert_non_null(strstr(f.asked[0], "\"method\":\"onnxgpu/hello\""));
        assert_non_null(strstr(f.asked[0], "\"protocol\":1"));
        assert_non_null(strstr(f.asked[1], "\"method\":\"onnxgpu/status\""));
    }
}

static void refuses_another_protocol(void **state)
{
    struct fake f = {.bodies = {"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"protocol\":2,"
                                "\"build\":\"x\",\"pid\":42}}"}};
    struct connection c;

    (void)state;
    start(&f);
    assert_int_equal(connection_open(&c, f.path), -EPROTO);
    assert_string_equal(c.why, "the daemon speaks protocol 2, this program 1");
    assert_int_equal(c.descriptor, -1);
    stop(&f);
}

static void says_what_went_wrong(void **state)
{
    static const struct {
        const char *body, *why;
    } rows[] = {
        {"{\"jsonrpc\":\"2.0\",\"id\":2,\"error\":{\"code\":-32603,\"message\":\"broken\"}}",
         "the daemon answers: broken"},
        {"{\"jsonrpc\":\"2.0\",\"id\":2,\"error\":{}}", "the daemon answers: an error"},
        {NULL, "the daemon closed the connection"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct fake f = {.bodies = {HELLO, rows[i].body}};
        struct connection c;

        start(&f);
        assert_int_equal(connection_open(&c, f.path), 0);
        assert_null(connection_ask(&c, "onnxgpu/status", NULL));
        assert_string_equal(c.why, rows[i].why);
        connection_release(&c);
        stop(&f);
    }
}

static void waits_until_the_daemon_leaves(void **state)
{
    struct fake f = {.bodies = {HELLO, NULL}};
    struct connection c;

    (void)state;
    start(&f);
    assert_int_equal(connection_open(&c, f.path), 0);
    assert_false(connection_wait_closed(&c, 1));
    assert_null(connection_ask(&c, "any", NULL));
    assert_true(connection_wait_closed(&c, 120000));
    connection_release(&c);
    stop(&f);
}

static void nobody_there(void **state)
{
    struct connection c;

    (void)state;
    assert_int_equal(connection_open(&c, "/tmp/no-such-folder-here/s"), -ENOENT);
    assert_true(c.why[0] != '\0');
    connection_release(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(asks_and_waits_for_its_own_answer),
        cmocka_unit_test(refuses_another_protocol),
        cmocka_unit_test(says_what_went_wrong),
        cmocka_unit_test(waits_until_the_daemon_leaves),
        cmocka_unit_test(nobody_there),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
