#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "protocol/buffer.h"
#include "protocol/utf8.h"

static void test_append(void **state)
{
    struct buffer buffer = BUFFER_EMPTY;
    char *taken;
    size_t length;

    (void)state;
    assert_int_equal(buffer_append(&buffer, NULL, 0), 0);
    assert_string_equal(buffer.data, "");
    for (int i = 0; i < 1000; i++)
        assert_int_equal(buffer_printf(&buffer, "%d,", i), 0);
    assert_int_equal(buffer.length, 10 * 2 + 90 * 3 + 900 * 4);
    assert_int_equal(buffer.data[buffer.length], '\0');
    buffer_consume(&buffer, buffer.length - 4);
    assert_string_equal(buffer.data, "999,");
    buffer_append_byte(&buffer, '\0');
    buffer_append_text(&buffer, "x");
    assert_int_equal(buffer.length, 6);
    taken = buffer_take(&buffer, &length);
    assert_int_equal(length, 6);
    assert_memory_equal(taken, "999,\0x", 7);
    free(taken);
    assert_null(buffer.data);
    taken = buffer_take(&buffer, &length);
    assert_string_equal(taken, "");
    assert_int_equal(length, 0);
    free(taken);
}

static void test_splice(void **state)
{
    struct buffer buffer = BUFFER_EMPTY;

    (void)state;
    assert_int_equal(buffer_splice(&buffer, 0, 0, NULL, 0), 0);
    assert_int_equal(buffer_splice(&buffer, 0, 0, "hello", 5), 0);
    assert_int_equal(buffer_splice(&buffer, 1, 3, "", 0), 0);
    assert_string_equal(buffer.data, "ho");
    assert_int_equal(buffer_splice(&buffer, 1, 0, "ell", 3), 0);
    assert_string_equal(buffer.data, "hello");
    assert_int_equal(buffer_splice(&buffer, 5, 0, " you", 4), 0);
    assert_string_equal(buffer.data, "hello you");
    assert_int_equal(buffer_splice(&buffer, 0, 9, "bye", 3), 0);
    assert_string_equal(buffer.data, "bye");
    buffer_release(&buffer);
}

static void test_failure_is_remembered(void **state)
{
    struct buffer buffer = BUFFER_EMPTY;

    (void)state;
    buffer_append_text(&buffer, "kept");
    assert_true(buffer_reserve(&buffer, SIZE_MAX) < 0);
    assert_true(buffer_append_text(&buffer, "not") < 0);
    assert_string_equal(buffer.data, "kept");
    assert_null(buffer_take(&buffer, NULL));
    assert_int_equal(buffer_append_text(&buffer, "again"), 0);
    buffer_clear(&buffer);
    assert_string_equal(buffer.data, "");
    buffer_release(&buffer);
}

/* Every code point there and back, and no sequence of up to three bytes but those. */
static void test_utf8_is_exact(void **state)
{
    size_t accepted = 0;
    char bytes[4];
    uint32_t code;

    (void)state;
    for (uint32_t c = 0; c <= 0x10FFFF; c++) {
        size_t size;

        if (c >= 0xD800 && c <= 0xDFFF)
            continue;
        size = utf8_encode(c, bytes);
        code = UINT32_MAX;
        if (utf8_decode(bytes, size, &code) != size || code != c)
            fail_msg("U+%04X", c);
        if (size > 1 && utf8_decode(bytes, size - 1, NULL) != 0)
            fail_msg("U+%04X cut short", c);
    }
    for (uint32_t c = 0; c < 0x1000000; c++) {
        bytes[0] = (char)(c >> 16);
        bytes[1] = (char)(c >> 8);
        bytes[2] = (char)c;
        accepted += utf8_decode(bytes, 3, NULL) == 3;
    }
    assert_int_equal(accepted, 0x10000 - 0x800 - 0x800);
}

static void test_utf8_tables(void **state)
{
    static const struct {
        const char *bytes;
        const char *repaired;
    } rows[] = {
        {"", ""},
        {"plain", "plain"},
        {"\xC3\xA9", "\xC3\xA9"},
        {"\xC3", "\xEF\xBF\xBD"},
        {"\xC0\x80", "\xEF\xBF\xBD\xEF\xBF\xBD"},
        {"a\xED\xA0\x80z", "a\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBDz"},
        {"\xF4\x90\x80\x80", "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD"},
        {"\xF0\x9F\x98", "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD"},
        {"\xF0\x9F\x98\x80!", "\xF0\x9F\x98\x80!"},
        {"\xFF", "\xEF\xBF\xBD"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct buffer out = BUFFER_EMPTY;

        assert_int_equal(utf8_repair(&out, rows[i].bytes, strlen(rows[i].bytes)), 0);
        assert_string_equal(out.data, rows[i].repaired);
        assert_true(utf8_valid(out.data, out.length));
        assert_int_equal(utf8_valid(rows[i].bytes, strlen(rows[i].bytes)),
                         strcmp(rows[i].bytes, rows[i].repaired) == 0);
        buffer_release(&out);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_append),
        cmocka_unit_test(test_splice),
        cmocka_unit_test(test_failure_is_remembered),
        cmocka_unit_test(test_utf8_is_exact),
        cmocka_unit_test(test_utf8_tables),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
