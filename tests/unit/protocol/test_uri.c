#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "protocol/uri.h"

static void test_to_path(void **state)
{
    static const struct {
        const char *uri;
        int rc;
        const char *path;
    } rows[] = {
        {"file:///a/b.onnx", 0, "/a/b.onnx"},
        {"file:/a", 0, "/a"},
        {"file://localhost/a", 0, "/a"},
        {"FILE://LocalHost/a", 0, "/a"},
        {"File:///A", 0, "/A"},
        {"file:///a%20b", 0, "/a b"},
        {"file:///a b", 0, "/a b"},
        {"file:///c%3A/x", 0, "/c:/x"},
        {"file:///c%3a/x", 0, "/c:/x"},
        {"file:///c:/x", 0, "/c:/x"},
        {"file:///caf%C3%A9", 0, "/caf\xC3\xA9"},
        {"file:///caf%c3%a9", 0, "/caf\xC3\xA9"},
        {"file:///caf\xC3\xA9", 0, "/caf\xC3\xA9"},
        {"file:///%FF", 0, "/\xFF"},
        {"file:///a%2Fb%2f", 0, "/a/b/"},
        {"file:///a%25b", 0, "/a%b"},
        {"file:///a%23b%3Fc", 0, "/a#b?c"},
        {"file:///a?query#fragment", 0, "/a"},
        {"file:///a#fragment?", 0, "/a"},
        {"file:///a/../b//c", 0, "/a/../b//c"},
        {"file:///", 0, "/"},
        {"file:///a+b", 0, "/a+b"},
        {"file://", -EINVAL, NULL},
        {"file:", -EINVAL, NULL},
        {"file:a", -EINVAL, NULL},
        {"file://server/a", -EINVAL, NULL},
        {"file://localhostx/a", -EINVAL, NULL},
        {"file://localhost", -EINVAL, NULL},
        {"file:///a%", -EINVAL, NULL},
        {"file:///a%2", -EINVAL, NULL},
        {"file:///a%2g", -EINVAL, NULL},
        {"file:///a%00b", -EINVAL, NULL},
        {"file:///a%?20", -EINVAL, NULL},
        {"untitled:Untitled-1", -EPROTONOSUPPORT, NULL},
        {"http://example.org/a", -EPROTONOSUPPORT, NULL},
        {"git+ssh:/a", -EPROTONOSUPPORT, NULL},
        {"files:///a", -EPROTONOSUPPORT, NULL},
        {"fil:///a", -EPROTONOSUPPORT, NULL},
        {"/a/b", -EINVAL, NULL},
        {"", -EINVAL, NULL},
        {"3file:///a", -EINVAL, NULL},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char *path = NULL;
        int rc = uri_to_path(rows[i].uri, &path);

        if (rc != rows[i].rc)
            fail_msg("%s: %d", rows[i].uri, rc);
        if (rows[i].path)
            assert_string_equal(path, rows[i].path);
        else
            assert_null(path);
        free(path);
    }
}

static void test_from_path(void **state)
{
    static const char *const rows[][2] = {
        {"/", "file:///"},
        {"/a/b-c_d.e~f", "file:///a/b-c_d.e~f"},
        {"/a b#c?d%e", "file:///a%20b%23c%3Fd%25e"},
        {"/c:/x", "file:///c%3A/x"},
        {"/caf\xC3\xA9\xFF", "file:///caf%C3%A9%FF"},
        {"/a+b&c=d", "file:///a%2Bb%26c%3Dd"},
    };
    char *uri;

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        assert_int_equal(uri_from_path(rows[i][0], &uri), 0);
        assert_string_equal(uri, rows[i][1]);
        free(uri);
    }
    assert_int_equal(uri_from_path("a", &uri), -EINVAL);
    assert_null(uri);
    assert_int_equal(uri_from_path("", &uri), -EINVAL);
}

static void test_every_byte_there_and_back(void **state)
{
    char name[258] = "/";
    char *uri, *path;

    (void)state;
    for (int c = 1; c < 256; c++)
        name[c] = (char)c;
    assert_int_equal(uri_from_path(name, &uri), 0);
    assert_int_equal(uri_to_path(uri, &path), 0);
    assert_string_equal(path, name);
    free(uri);
    free(path);
}

static void test_equal(void **state)
{
    (void)state;
    assert_true(uri_equal("file:///a%20b", "file://localhost/a b"));
    assert_true(uri_equal("file:///c%3A/x", "FILE:///c:/x"));
    assert_false(uri_equal("file:///a", "file:///A"));
    assert_true(uri_equal("untitled:1", "untitled:1"));
    assert_false(uri_equal("untitled:a%20b", "untitled:a b"));
    assert_false(uri_equal("file:///a", "untitled:/a"));
    assert_true(uri_is_file("fIlE:x"));
    assert_false(uri_is_file("file"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_to_path),
        cmocka_unit_test(test_from_path),
        cmocka_unit_test(test_every_byte_there_and_back),
        cmocka_unit_test(test_equal),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
