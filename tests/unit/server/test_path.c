#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/server/folder.h"

#include <errno.h>
#include <sys/stat.h>

#include "daemon/server/path.h"
#include "daemon/server/scan.h"

static void canonical(const char *path, const char *expected)
{
    char *result = path_canonical(path);

    assert_string_equal(result, expected);
    free(result);
}

static void test_canonical(void **state)
{
    (void)state;
    mkdir(in_folder("real"), 0700);
    assert_int_equal(symlink("real", in_folder("link")), 0);
    write_file(in_folder("real/a"), "");
    assert_int_equal(symlink("a", in_folder("real/b")), 0);
    canonical(in_folder("link/a"), in_folder("real/a"));
    canonical(in_folder("link//./a"), in_folder("real/a"));
    canonical(in_folder("link/../link/a"), in_folder("real/a"));
    /* A link that is the file itself keeps its name: a save replaces the name. */
    canonical(in_folder("link/b"), in_folder("real/b"));
    canonical(in_folder("link/.."), folder);
    canonical(in_folder("real/"), in_folder("real"));
    canonical("/", "/");
    canonical("/none/x/../y//z/./w", "/none/y/z/w");
    canonical("/../../none/x", "/none/x");
    canonical("/none/..", "/");
}

static void trace(const char *path, bool end, const char *expected)
{
    struct path_list links = {NULL, 0};
    char text[1024] = "";

    path_trace(path, end, &links);
    for (size_t i = 0; i < links.count; i++) {
        assert_memory_equal(links.list[i], folder, strlen(folder));
        strcat(strcat(text, links.list[i] + strlen(folder)), "\n");
    }
    assert_string_equal(text, expected);
    path_list_release(&links);
}

/* The links on a way, what they lead to, and where a way ends too early. */
static void test_trace(void **state)
{
    (void)state;
    mkdir(in_folder("v1"), 0700);
    write_file(in_folder("v1/a"), "");
    assert_int_equal(symlink("v1", in_folder("current")), 0);
    assert_int_equal(symlink("current/../current/a", in_folder("b")), 0);
    assert_int_equal(symlink(in_folder("v1"), in_folder("v1/self")), 0);
    assert_int_equal(symlink("loop", in_folder("loop")), 0);
    trace(in_folder("v1/a"), true, "");
    trace(in_folder("current/a"), false, "/current\n");
    trace(in_folder("current/a"), true, "/current\n/v1/a\n");
    trace(in_folder("b"), true, "/b\n/current\n/v1/a\n");
    trace(in_folder("v1/self/./self//a"), true, "/v1/self\n/v1/a\n");
    trace(in_folder("none/a"), false, "/none\n");
    trace(in_folder("current/none"), false, "/current\n/v1/none\n");
    trace(in_folder("v1/a/deep"), false, "/v1/a/deep\n");
    trace(in_folder("loop/a"), true, "/loop\n");
}

static void test_inside(void **state)
{
    (void)state;
    assert_true(path_inside("/a", "/a"));
    assert_true(path_inside("/a", "/a/b"));
    assert_false(path_inside("/a", "/ab"));
    assert_true(path_inside("/", "/a"));
    assert_true(path_ends("/a.cs", ".cs"));
    assert_false(path_ends("cs", ".cs"));
    assert_string_equal(path_name("/a/b"), "b");
    assert_string_equal(path_name("b"), "b");
}

/* What a walk finds, what it leaves out, and that it ends. */
static void test_scan(void **state)
{
    struct scan scan = {NULL};

    (void)state;
    mkdir(in_folder("sub"), 0700);
    mkdir(in_folder("sub/deep"), 0700);
    mkdir(in_folder(".git"), 0700);
    mkdir(in_folder("closed"), 0);
    write_file(in_folder("sub/deep/b.cs"), "[OnnxGpu(\"x\")] class B {}");
    write_file(in_folder("a.cs"), "[Onnx\\u0047pu(\"x\")] class A {}");
    write_file(in_folder("plain.cs"), "class C {}");
    write_file(in_folder(".git/c.cs"), "[OnnxGpu(\"x\")] class C {}");
    write_file(in_folder("m.onnx"), "");
    assert_int_equal(symlink(".", in_folder("sub/round")), 0);
    assert_int_equal(symlink("/", in_folder("out")), 0);
    assert_int_equal(symlink("m.onnx", in_folder("n.onnx")), 0);
    assert_int_equal(mkfifo(in_folder("pipe.cs"), 0600), 0);
    scan_run(&scan, folder, NULL, NULL);
    assert_int_equal(scan.script_count, 2);
    assert_string_equal(scan.scripts[0], in_folder("a.cs"));
    assert_string_equal(scan.scripts[1], in_folder("sub/deep/b.cs"));
    assert_int_equal(scan.model_count, 2);
    assert_string_equal(scan.models[0], in_folder("m.onnx"));
    assert_string_equal(scan.models[1], in_folder("n.onnx"));
    scan_release(&scan);
    chmod(in_folder("closed"), 0700);
}

static void test_read(void **state)
{
    char *bytes;
    size_t size;

    (void)state;
    write_file(in_folder("a"), "12345");
    assert_int_equal(scan_read_file(in_folder("a"), 5, &bytes, &size), 0);
    assert_int_equal(size, 5);
    assert_string_equal(bytes, "12345");
    free(bytes);
    assert_int_equal(scan_read_file(in_folder("a"), 4, &bytes, &size), -EFBIG);
    assert_null(bytes);
    assert_int_equal(scan_read_file(folder, 5, &bytes, &size), -EISDIR);
    assert_int_equal(scan_read_file(in_folder("none"), 5, &bytes, &size), -ENOENT);
    write_file(in_folder("empty"), "");
    assert_int_equal(scan_read_file(in_folder("empty"), 5, &bytes, &size), 0);
    assert_int_equal(size, 0);
    free(bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_canonical, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(test_trace, make_folder, remove_folder),
        cmocka_unit_test(test_inside),
        cmocka_unit_test_setup_teardown(test_scan, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(test_read, make_folder, remove_folder),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
