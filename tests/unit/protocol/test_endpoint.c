#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "protocol/endpoint.h"

/* Each test has a folder of its own. */
static char folder[64];

static int make_folder(void **state)
{
    (void)state;
    snprintf(folder, sizeof(folder), "/tmp/endpoint-test-XXXXXX");
    return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
    char command[128];

    (void)state;
    snprintf(command, sizeof(command), "rm -rf '%s'", folder);
    return system(command);
}

static char *in_folder(const char *name)
{
    static char path[256];

    snprintf(path, sizeof(path), "%s/%s", folder, name);
    return path;
}

static char *usual(void)
{
    static char path[64];

    snprintf(path, sizeof(path), "/tmp/onnxgpud-%ld/onnxgpud-1.sock", (long)geteuid());
    return path;
}

static void test_places(void **state)
{
    struct endpoint endpoint;
    char expected[256], longest[128];

    (void)state;
    setenv("XDG_RUNTIME_DIR", "/run/user/7//", 1);
    assert_int_equal(endpoint_locate(&endpoint, NULL), 0);
    assert_string_equal(endpoint.socket, "/run/user/7/onnxgpud-1.sock");
    assert_string_equal(endpoint.lock, "/run/user/7/onnxgpud-1.sock.lock");
    assert_string_equal(endpoint.folder, "/run/user/7");
    assert_false(endpoint.chosen);
    assert_int_equal(endpoint_locate(&endpoint, ""), 0);
    assert_string_equal(endpoint.socket, "/run/user/7/onnxgpud-1.sock");

    setenv("XDG_RUNTIME_DIR", "relative", 1);
    assert_int_equal(endpoint_locate(&endpoint, NULL), 0);
    assert_string_equal(endpoint.socket, usual());
    setenv("XDG_RUNTIME_DIR", "", 1);
    assert_int_equal(endpoint_locate(&endpoint, NULL), 0);
    assert_string_equal(endpoint.socket, usual());
    unsetenv("XDG_RUNTIME_DIR");
    assert_int_equal(endpoint_locate(&endpoint, NULL), 0);
    assert_string_equal(endpoint.socket, usual());
    snprintf(expected, sizeof(expected), "/tmp/onnxgpud-%ld", (long)geteuid());
    assert_string_equal(endpoint.folder, expected);

    /* 107 bytes fit, 108 do not. */
    for (size_t extra = 0; extra <= 1; extra++) {
        size_t length = 107 - strlen("/onnxgpud-1.sock") + extra;

        memset(longest, 'x', sizeof(longest));
        longest[0] = '/';
        longest[length] = '\0';
        setenv("XDG_RUNTIME_DIR", longest, 1);
        assert_int_equal(endpoint_locate(&endpoint, NULL), 0);
        if (extra)
            assert_string_equal(endpoint.socket, usual());
        else
            assert_int_equal(strlen(endpoint.socket), 107);
    }
    unsetenv("XDG_RUNTIME_DIR");
}

static void test_chosen_places(void **state)
{
    struct endpoint a, b;
    char path[160], cwd[4096], expected[4200];

    (void)state;
    assert_int_equal(endpoint_locate(&a, "/x/y.sock"), 0);
    assert_true(a.chosen);
    assert_string_equal(a.socket, "/x/y.sock");
    assert_string_equal(a.folder, "/x");
    assert_int_equal(endpoint_locate(&a, "/y.sock"), 0);
    assert_string_equal(a.folder, "/");

    assert_int_equal(chdir(folder), 0);
    assert_non_null(getcwd(cwd, sizeof(cwd)));
    snprintf(expected, sizeof(expected), "%s/y.sock", cwd);
    assert_int_equal(endpoint_locate(&a, "y.sock"), 0);
    assert_string_equal(a.socket, expected);
    assert_int_equal(chdir("/"), 0);

    /* Too long: the same short path every time, another for another path. */
    memset(path, 'p', sizeof(path));
    path[0] = '/';
    path[150] = '\0';
    assert_int_equal(endpoint_locate(&a, path), 0);
    assert_int_equal(endpoint_locate(&b, path), 0);
    assert_string_equal(a.socket, b.socket);
    assert_true(strlen(a.socket) < 60);
    assert_false(a.chosen);
    path[149] = 'q';
    assert_int_equal(endpoint_locate(&b, path), 0);
    assert_string_not_equal(a.socket, b.socket);
    assert_string_equal(a.folder, b.folder);
}

static int prepare(const char *runtime)
{
    struct endpoint endpoint;
    char reason[256] = "";
    int rc;

    setenv("XDG_RUNTIME_DIR", runtime, 1);
    assert_int_equal(endpoint_locate(&endpoint, NULL), 0);
    unsetenv("XDG_RUNTIME_DIR");
    rc = endpoint_prepare(&endpoint, reason, sizeof(reason));
    assert_int_equal(rc < 0, reason[0] != '\0');
    assert_int_equal(endpoint_prepare(&endpoint, NULL, 0), rc);
    return rc;
}

static void test_folders(void **state)
{
    struct stat status;
    struct endpoint endpoint;
    mode_t mask;

    (void)state;
    mask = umask(0);
    assert_int_equal(prepare(in_folder("new")), 0);
    umask(mask);
    assert_int_equal(stat(in_folder("new"), &status), 0);
    assert_int_equal(status.st_mode & 07777, 0700);
    assert_int_equal(prepare(in_folder("new")), 0);

    chmod(in_folder("new"), 0750);
    assert_int_equal(prepare(in_folder("new")), -EACCES);
    chmod(in_folder("new"), 0701);
    assert_int_equal(prepare(in_folder("new")), -EACCES);
    /* What is not ours to repair stays as it was. */
    assert_int_equal(stat(in_folder("new"), &status), 0);
    assert_int_equal(status.st_mode & 07777, 0701);
    chmod(in_folder("new"), 0700);

    assert_int_equal(symlink("new", in_folder("link")), 0);
    assert_int_equal(prepare(in_folder("link")), -ELOOP);
    assert_int_equal(prepare(in_folder("link/")), -ELOOP);
    close(open(in_folder("file"), O_CREAT | O_WRONLY, 0600));
    assert_int_equal(prepare(in_folder("file")), -ENOTDIR);
    assert_int_equal(prepare(in_folder("no/such")), -ENOENT);
    if (geteuid() != 0)
        assert_int_equal(prepare("/usr"), -EPERM);

    /* A folder that the caller named is not made, and may be open. */
    chmod(in_folder("new"), 0755);
    assert_int_equal(endpoint_locate(&endpoint, in_folder("new/s")), 0);
    assert_int_equal(endpoint_prepare(&endpoint, NULL, 0), 0);
    assert_int_equal(endpoint_locate(&endpoint, in_folder("none/s")), 0);
    assert_int_equal(endpoint_prepare(&endpoint, NULL, 0), -ENOENT);
    assert_int_equal(access(in_folder("none"), F_OK), -1);
}

/* A folder of another user, where the test may give one away. */
static void test_foreign_folder(void **state)
{
    (void)state;
    if (geteuid() != 0) {
        print_message("skipped: only root can give a folder away\n");
        skip();
    }
    assert_int_equal(mkdir(in_folder("foreign"), 0700), 0);
    assert_int_equal(chown(in_folder("foreign"), 12345, 12345), 0);
    assert_int_equal(prepare(in_folder("foreign")), -EPERM);
}

static int listen_at(const char *path, int backlog)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int descriptor = socket(AF_UNIX, SOCK_STREAM, 0);

    assert_true(descriptor >= 0);
    assert_true(strlen(path) < sizeof(address.sun_path));
    memcpy(address.sun_path, path, strlen(path) + 1);
    assert_int_equal(bind(descriptor, (struct sockaddr *)&address, sizeof(address)), 0);
    if (backlog >= 0)
        assert_int_equal(listen(descriptor, backlog), 0);
    return descriptor;
}

static void test_connecting(void **state)
{
    int server, client, accepted;
    char byte = 0;

    (void)state;
    assert_int_equal(endpoint_connect(in_folder("none"), 100), -ENOENT);
    assert_int_equal(endpoint_connect(in_folder("none/none"), 100), -ENOENT);
    server = listen_at(in_folder("s"), 4);
    client = endpoint_connect(in_folder("s"), 1000);
    assert_true(client >= 0);
    assert_true(fcntl(client, F_GETFD) & FD_CLOEXEC);
    assert_false(fcntl(client, F_GETFL) & O_NONBLOCK);
    accepted = accept(server, NULL, NULL);
    assert_true(accepted >= 0);
    assert_int_equal(endpoint_check_peer(accepted), 0);
    assert_int_equal(write(client, "x", 1), 1);
    assert_int_equal(read(accepted, &byte, 1), 1);
    assert_int_equal(byte, 'x');
    close(accepted);
    close(client);
    client = endpoint_connect(in_folder("s"), 0);
    assert_true(client >= 0);
    close(client);

    /* The listener is gone, its file is not. */
    close(server);
    assert_int_equal(endpoint_connect(in_folder("s"), 100), -ECONNREFUSED);
    /* What is no socket is told apart from a dead one. */
    close(open(in_folder("file"), O_CREAT | O_WRONLY, 0600));
    assert_int_equal(endpoint_connect(in_folder("file"), 100), -ENOTSOCK);
    assert_int_equal(endpoint_connect(in_folder("file/x"), 100), -ENOENT);
    assert_int_equal(endpoint_connect(folder, 100), -ENOTSOCK);
    assert_int_equal(symlink("s", in_folder("link")), 0);
    assert_int_equal(endpoint_connect(in_folder("link"), 100), -ENOTSOCK);
}

static void test_a_full_queue_is_no_dead_socket(void **state)
{
    int server, clients[8], count = 0, rc;

    (void)state;
    server = listen_at(in_folder("s"), 0);
    do {
        rc = endpoint_connect(in_folder("s"), 20);
        if (rc >= 0)
            clients[count++] = rc;
    } while (rc >= 0 && count < 8);
    assert_int_equal(rc, -ETIMEDOUT);
    while (count)
        close(clients[--count]);
    close(server);
}

static void test_too_long(void **state)
{
    char path[200];

    (void)state;
    memset(path, 'x', sizeof(path));
    path[0] = '/';
    path[108] = '\0';
    assert_int_equal(endpoint_connect(path, 0), -ENAMETOOLONG);
    path[107] = '\0';
    assert_int_equal(endpoint_connect(path, 0), -ENOENT);
    assert_string_not_equal(endpoint_error_text(-ENOENT), endpoint_error_text(-ECONNREFUSED));
    assert_string_not_equal(endpoint_error_text(-ETIMEDOUT), endpoint_error_text(-EPERM));
}

static void test_cache_path(void **state)
{
    char *path;

    (void)state;
    setenv("XDG_CACHE_HOME", "/c", 1);
    setenv("HOME", "/h", 1);
    assert_int_equal(endpoint_cache_path(&path), 0);
    assert_string_equal(path, "/c/onnxgpu/cache.sqlite");
    free(path);
    setenv("XDG_CACHE_HOME", "relative", 1);
    assert_int_equal(endpoint_cache_path(&path), 0);
    assert_string_equal(path, "/h/.cache/onnxgpu/cache.sqlite");
    free(path);
    unsetenv("XDG_CACHE_HOME");
    unsetenv("HOME");
    if (endpoint_cache_path(&path) == 0)
        assert_non_null(strstr(path, "/.cache/onnxgpu/cache.sqlite"));
    free(path);
}

static int read_hello(const char *text, struct endpoint_hello *hello)
{
    struct json *value = json_parse(text, strlen(text), NULL);
    int rc = endpoint_hello_read(value, hello);

    assert_non_null(value);
    json_free(value);
    return rc;
}

static void test_hello(void **state)
{
    struct endpoint_hello hello;
    struct json *own = endpoint_hello_json();

    (void)state;
    assert_int_equal(endpoint_hello_read(own, &hello), 0);
    assert_int_equal(hello.protocol, ENDPOINT_PROTOCOL);
    assert_string_equal(hello.build, ENDPOINT_BUILD);
    assert_int_equal(hello.pid, getpid());
    json_free(own);

    assert_int_equal(read_hello("{\"protocol\":1,\"build\":\"other\",\"pid\":5,\"x\":0}", &hello),
                     0);
    assert_string_equal(hello.build, "other");
    assert_int_equal(read_hello("{\"protocol\":2,\"build\":\"b\",\"pid\":5}", &hello), -EPROTO);
    assert_int_equal(hello.protocol, 2);
    assert_int_equal(read_hello("{\"protocol\":2}", &hello), -EPROTO);
    assert_int_equal(read_hello("{\"protocol\":1,\"build\":\"b\"}", &hello), -EINVAL);
    assert_int_equal(read_hello("{\"protocol\":1,\"pid\":5}", &hello), -EINVAL);
    assert_int_equal(read_hello("{\"protocol\":\"1\",\"build\":\"b\",\"pid\":5}", &hello), -EINVAL);
    assert_int_equal(read_hello("{\"protocol\":1,\"build\":\"b\",\"pid\":0}", &hello), -EINVAL);
    assert_int_equal(read_hello("{\"protocol\":1.5,\"build\":\"b\",\"pid\":1}", &hello), -EINVAL);
    assert_int_equal(read_hello("[]", &hello), -EINVAL);
    assert_int_equal(endpoint_hello_read(NULL, &hello), -EINVAL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_places),
        cmocka_unit_test_setup_teardown(test_chosen_places, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(test_folders, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(test_foreign_folder, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(test_connecting, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(test_a_full_queue_is_no_dead_socket, make_folder,
                                        remove_folder),
        cmocka_unit_test(test_too_long),
        cmocka_unit_test(test_cache_path),
        cmocka_unit_test(test_hello),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
