#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/server/folder.h"

#include <errno.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <uv.h>

#include "daemon/server/listen.h"
#include "daemon/server/log.h"
#include "protocol/endpoint.h"

static uv_loop_t loop;
static int accepted_descriptor;

static void accepted(void *state, int descriptor)
{
    (void)state;
    accepted_descriptor = descriptor;
    uv_stop(&loop);
}

static struct server_listener *listen_at(const char *name, int *error)
{
    return listener_new(&loop, in_folder(name), accepted, NULL, error);
}

static int begin(void **state)
{
    log_open("/dev/null", LOG_ERROR);
    accepted_descriptor = -1;
    return make_folder(state) || uv_loop_init(&loop);
}

static int end(void **state)
{
    uv_run(&loop, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(&loop), 0);
    log_close();
    return remove_folder(state);
}

static void test_connection(void **state)
{
    struct server_listener *listener;
    struct stat status;
    int error, client;

    (void)state;
    listener = listen_at("d.sock", &error);
    assert_non_null(listener);
    assert_int_equal(lstat(in_folder("d.sock"), &status), 0);
    assert_true(S_ISSOCK(status.st_mode));
    assert_int_equal(status.st_mode & 0777, 0600);
    client = endpoint_connect(in_folder("d.sock"), 1000);
    assert_true(client >= 0);
    uv_run(&loop, UV_RUN_DEFAULT);
    assert_true(accepted_descriptor >= 0);
    close(client);
    close(accepted_descriptor);
    listener_close(listener);
    assert_int_equal(lstat(in_folder("d.sock"), &status), -1);
}

/* There is one daemon: the lock says so, whatever the socket looks like. */
static void test_single(void **state)
{
    struct server_listener *first;
    int error;

    (void)state;
    first = listen_at("d.sock", &error);
    assert_non_null(first);
    assert_null(listen_at("d.sock", &error));
    assert_int_equal(error, -EADDRINUSE);
    /* Not even where its socket was deleted. */
    unlink(in_folder("d.sock"));
    assert_null(listen_at("d.sock", &error));
    assert_int_equal(error, -EADDRINUSE);
    listener_close(first);
    uv_run(&loop, UV_RUN_DEFAULT);
    first = listen_at("d.sock", &error);
    assert_non_null(first);
    listener_close(first);
}

static int bind_at(const char *name, bool listening)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int descriptor = socket(AF_UNIX, SOCK_STREAM, 0);

    snprintf(address.sun_path, sizeof address.sun_path, "%s", in_folder(name));
    assert_int_equal(bind(descriptor, (struct sockaddr *)&address, sizeof address), 0);
    if (listening)
        assert_int_equal(listen(descriptor, 1), 0);
    return descriptor;
}

/* A dead socket makes room; a living one, and what is no socket, is left alone. */
static void test_what_lies_there(void **state)
{
    struct server_listener *listener;
    struct stat status;
    int error, other;

    (void)state;
    close(bind_at("dead.sock", true));
    listener = listen_at("dead.sock", &error);
    assert_non_null(listener);
    listener_close(listener);

    other = bind_at("living.sock", true);
    assert_null(listen_at("living.sock", &error));
    assert_int_equal(error, -EADDRINUSE);
    assert_int_equal(lstat(in_folder("living.sock"), &status), 0);
    close(other);

    write_file(in_folder("file.sock"), "precious");
    assert_null(listen_at("file.sock", &error));
    assert_int_equal(error, -ENOTSOCK);
    assert_int_equal(lstat(in_folder("file.sock"), &status), 0);
    assert_int_equal(status.st_size, 8);
}

/* On leaving, only what is still ours goes. */
static void test_taken_over(void **state)
{
    struct server_listener *listener;
    struct stat status;
    int error, other;

    (void)state;
    listener = listen_at("d.sock", &error);
    assert_non_null(listener);
    rename(in_folder("d.sock"), in_folder("away.sock"));
    other = bind_at("d.sock", true);
    listener_close(listener);
    assert_int_equal(lstat(in_folder("d.sock"), &status), 0);
    close(other);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_connection, begin, end),
        cmocka_unit_test_setup_teardown(test_single, begin, end),
        cmocka_unit_test_setup_teardown(test_what_lies_there, begin, end),
        cmocka_unit_test_setup_teardown(test_taken_over, begin, end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
