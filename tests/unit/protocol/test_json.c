#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "protocol/json.h"

/* Parses a copy that ends where the text ends, so that a sanitizer sees reads beyond it. */
static struct json *parse(const char *text, size_t length, struct json_error *error)
{
    char *copy = malloc(length + !length);
    struct json *value;

    memcpy(copy, text, length);
    value = json_parse(copy, length, error);
    free(copy);
    return value;
}

static char *print(const struct json *value)
{
    struct buffer out = BUFFER_EMPTY;

    assert_int_equal(json_print(&out, value), 0);
    return buffer_take(&out, NULL);
}

static void test_accepted(void **state)
{
    /* text, and what it prints as */
    static const char *const rows[][2] = {
        {"{}", "{}"},
        {"[]", "[]"},
        {" \t\r\n[ \n] \t\r\n", "[]"},
        {"null", "null"},
        {"true", "true"},
        {"false", "false"},
        {"\"\"", "\"\""},
        {"0", "0"},
        {"-0", "-0"},
        {"-12.50e+3", "-12.50e+3"},
        {"1E-2", "1E-2"},
        {"9007199254740993", "9007199254740993"},
        {"12345678901234567890123456789012345678901234567890123456789012345678901234567890123456789"
         "0",
         "12345678901234567890123456789012345678901234567890123456789012345678901234567890123456789"
         "0"},
        {"1e999", "1e999"},
        {"[1,2 , 3]", "[1,2,3]"},
        {"{\"a\" : {\"b\":[true,false,null]}}", "{\"a\":{\"b\":[true,false,null]}}"},
        {"\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"", "\"\\\"\\\\/\\b\\f\\n\\r\\t\""},
        {"\"\\u0041\\u00e9\\u20AC\"", "\"A\xC3\xA9\xE2\x82\xAC\""},
        {"\"\\ud83d\\uDE00\"", "\"\xF0\x9F\x98\x80\""},
        {"\"\\u0000x\\u001F\"", "\"\\u0000x\\u001f\""},
        {"\"\x7F\"", "\"\x7F\""},
        {"\"caf\xC3\xA9 \xF0\x9F\x98\x80\"", "\"caf\xC3\xA9 \xF0\x9F\x98\x80\""},
        {"\"\\ufffe\\uffff\"", "\"\xEF\xBF\xBE\xEF\xBF\xBF\""},
        {"{\"\":1}", "{\"\":1}"},
        {"{\"a\\u0000b\":1}", "{\"a\xEF\xBF\xBD"
                              "b\":1}"},
        {"{\"a\":1,\"a\":2}", "{\"a\":1,\"a\":2}"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct json_error error;
        struct json *value = parse(rows[i][0], strlen(rows[i][0]), &error);
        struct json *again;
        char *text;

        if (!value)
            fail_msg("%s: %s at %zu", rows[i][0], error.message, error.offset);
        text = print(value);
        assert_string_equal(text, rows[i][1]);
        again = json_copy(value);
        free(text);
        text = print(again);
        assert_string_equal(text, rows[i][1]);
        free(text);
        json_free(again);
        json_free(value);
    }
}

static void test_rejected(void **state)
{
    /* text, length where it holds zero bytes, and the offset of the error */
    static const struct {
        const char *text;
        size_t length;
        size_t offset;
    } rows[] = {
        {"", 0, 0},
        {"  ", 0, 2},
        {"\xEF\xBB\xBF{}", 0, 0},
        {"{} x", 0, 3},
        {"{}{}", 0, 2},
        {"1 2", 0, 2},
        {"{}\0", 3, 2},
        {"\0{}", 3, 0},
        {"\v{}", 0, 0},
        {"[1,\x0C"
         "2]",
         0, 3},
        {"[\xC2\xA0"
         "1]",
         0, 1},
        {"[", 0, 1},
        {"]", 0, 0},
        {"[1", 0, 2},
        {"[1,", 0, 3},
        {"[1,]", 0, 3},
        {"[,1]", 0, 1},
        {"[1 2]", 0, 3},
        {"[1}", 0, 2},
        {"{", 0, 1},
        {"{\"a\"", 0, 4},
        {"{\"a\":", 0, 5},
        {"{\"a\":1", 0, 6},
        {"{\"a\":1,", 0, 7},
        {"{\"a\":1,}", 0, 7},
        {"{\"a\" 1}", 0, 5},
        {"{a:1}", 0, 1},
        {"{1:1}", 0, 1},
        {"{\"a\":1]", 0, 6},
        {"{'a':1}", 0, 1},
        {"[1/**/]", 0, 2},
        {"nul", 0, 0},
        {"nulls", 0, 4},
        {"True", 0, 0},
        {"NaN", 0, 0},
        {"Infinity", 0, 0},
        {"-Infinity", 0, 0},
        {"undefined", 0, 0},
        {"01", 0, 1},
        {"-", 0, 0},
        {"-01", 0, 2},
        {"+1", 0, 0},
        {".5", 0, 0},
        {"1.", 0, 2},
        {"1.e1", 0, 2},
        {"1e", 0, 2},
        {"1e+", 0, 3},
        {"0x10", 0, 1},
        {"1_000", 0, 1},
        {"\"", 0, 0},
        {"\"abc", 0, 0},
        {"\"abc\\\"", 0, 0},
        {"\"\\", 0, 0},
        {"\"a\nb\"", 0, 2},
        {"\"a\tb\"", 0, 2},
        {"\"a\0b\"", 5, 2},
        {"\"\\x41\"", 0, 1},
        {"\"\\'\"", 0, 1},
        {"\"\\\0\"", 4, 1},
        {"\"\\U0041\"", 0, 1},
        {"\"\\u004\"", 0, 1},
        {"\"\\u004g\"", 0, 1},
        {"\"\\u 041\"", 0, 1},
        {"\"\\ud83d\"", 0, 1},
        {"\"\\ud83d\\n\"", 0, 1},
        {"\"\\ud83d\\u0041\"", 0, 1},
        {"\"\\ud83d\\ud83d\"", 0, 1},
        {"\"\\ude00\"", 0, 1},
        {"\"\\ude00\\ud83d\"", 0, 1},
        {"\"\xC3\"", 0, 1},
        {"\"\xC0\xAF\"", 0, 1},
        {"\"\xED\xA0\x80\"", 0, 1},
        {"\"\xF4\x90\x80\x80\"", 0, 1},
        {"\"a\xFFz\"", 0, 2},
        {"{\"\xFF\":1}", 0, 2},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        size_t length = rows[i].length ? rows[i].length : strlen(rows[i].text);
        struct json_error error = {SIZE_MAX, NULL};
        struct json *value = parse(rows[i].text, length, &error);

        if (value || !error.message || error.offset != rows[i].offset)
            fail_msg("row %zu %s: %s at %zu", i, rows[i].text, error.message, error.offset);
        assert_null(parse(rows[i].text, length, NULL));
    }
}

static struct json *parse_nested(char open, char close, size_t depth)
{
    struct buffer text = BUFFER_EMPTY;
    struct json *value;

    for (size_t i = 0; i < depth; i++) {
        buffer_append_byte(&text, open);
        if (open == '{' && i + 1 < depth)
            buffer_append_text(&text, "\"k\":");
    }
    for (size_t i = 0; i < depth; i++)
        buffer_append_byte(&text, close);
    value = json_parse(text.data, text.length, NULL);
    buffer_release(&text);
    return value;
}

static void test_depth(void **state)
{
    struct json *value;

    (void)state;
    value = parse_nested('[', ']', JSON_DEPTH);
    assert_non_null(value);
    json_free(value);
    value = parse_nested('{', '}', JSON_DEPTH);
    assert_non_null(value);
    json_free(value);
    assert_null(parse_nested('[', ']', JSON_DEPTH + 1));
    assert_null(parse_nested('{', '}', JSON_DEPTH + 1));
    assert_null(parse_nested('[', ']', 1000000));
}

static void test_number_of_values(void **state)
{
    struct buffer text = BUFFER_EMPTY;
    struct json *value;
    struct json_error error;

    (void)state;
    /* The array counts too. */
    buffer_append_text(&text, "[0");
    for (size_t i = 2; i < JSON_VALUES; i++)
        buffer_append_text(&text, ",0");
    buffer_append_text(&text, "]");
    value = json_parse(text.data, text.length, &error);
    assert_non_null(value);
    assert_int_equal(json_count(value), JSON_VALUES - 1);
    json_free(value);
    text.length--;
    buffer_append_text(&text, ",0]");
    assert_null(json_parse(text.data, text.length, &error));
    assert_string_equal(error.message, "too many values");
    buffer_release(&text);
}

static void test_reading(void **state)
{
    static const char text[] =
        "{\"s\":\"text\",\"z\":\"a\\u0000b\",\"i\":-7,\"big\":9223372036854775807,"
        "\"over\":9223372036854775808,\"under\":-9223372036854775808,\"whole\":3.0,\"exp\":1e3,"
        "\"frac\":1.5,\"t\":true,\"f\":false,\"n\":null,\"a\":[1,\"two\",[]],\"o\":{\"x\":{\"y\":5}"
        "},"
        "\"twice\":1,\"twice\":2,\"\\u0069d\":\"escaped\"}";
    struct json *value = parse(text, sizeof(text) - 1, NULL);
    const struct json *array = json_array(value, "a");
    size_t length = 0;

    (void)state;
    assert_string_equal(json_string(value, "s"), "text");
    assert_null(json_string(value, "i"));
    assert_null(json_string(value, "none"));
    assert_null(json_string(NULL, "s"));
    assert_null(json_string(array, "s"));
    assert_null(json_string(value, "z"));
    assert_memory_equal(json_value_text(json_member(value, "z"), &length), "a\0b", 4);
    assert_int_equal(length, 3);
    assert_null(json_value_text(json_member(value, "i"), &length));
    assert_int_equal(length, 0);

    assert_int_equal(json_int(value, "i", 1), -7);
    assert_true(json_int(value, "big", 1) == INT64_MAX);
    assert_true(json_int(value, "under", 1) == INT64_MIN);
    assert_int_equal(json_int(value, "over", 1), 1);
    assert_int_equal(json_int(value, "whole", 1), 3);
    assert_int_equal(json_int(value, "exp", 1), 1000);
    assert_int_equal(json_int(value, "frac", 1), 1);
    assert_int_equal(json_int(value, "s", 1), 1);
    assert_int_equal(json_int(value, "none", 1), 1);
    assert_true(json_real(value, "frac", 0) == 1.5);
    assert_true(json_real(value, "n", -1) == -1);

    assert_true(json_bool(value, "t", false));
    assert_false(json_bool(value, "f", true));
    assert_true(json_bool(value, "n", true));
    assert_false(json_bool(value, "i", false));

    assert_int_equal(json_type(NULL), JSON_ABSENT);
    assert_int_equal(json_type(json_member(value, "n")), JSON_NULL);
    assert_int_equal(json_type(json_member(value, "t")), JSON_BOOL);
    assert_int_equal(json_type(json_member(value, "i")), JSON_NUMBER);
    assert_int_equal(json_type(json_member(value, "s")), JSON_STRING);
    assert_int_equal(json_type(array), JSON_ARRAY);
    assert_int_equal(json_type(value), JSON_OBJECT);
    assert_null(json_array(value, "o"));
    assert_null(json_object(value, "a"));
    assert_int_equal(json_int(json_member(json_object(value, "o"), "x"), "y", 0), 5);
    assert_int_equal(json_int(json_member(json_member(value, "none"), "x"), "y", -1), -1);

    assert_int_equal(json_int(value, "twice", 0), 2);
    assert_string_equal(json_string(value, "id"), "escaped");

    assert_int_equal(json_count(array), 3);
    assert_int_equal(json_count(NULL), 0);
    assert_string_equal(json_value_string(json_next(json_first(array))), "two");
    assert_null(json_name(json_first(array)));
    assert_string_equal(json_name(json_first(value)), "s");
    json_free(value);
    json_free(NULL);
}

static void test_raw_texts(void **state)
{
    static const char text[] = "[ 9007199254740993 , 1234567890123460,-0,1.50,\"a\\u0041\\\"\\\\\","
                               "\"caf\xC3\xA9\",\"\",null,true,[],{} , 7]";
    static const char *const expected[] = {"9007199254740993",
                                           "1234567890123460",
                                           "-0",
                                           "1.50",
                                           "\"a\\u0041\\\"\\\\\"",
                                           "\"caf\xC3\xA9\"",
                                           "\"\"",
                                           NULL,
                                           NULL,
                                           NULL,
                                           NULL,
                                           "7"};
    struct json *value = parse(text, sizeof(text) - 1, NULL);
    struct json *built = json_new_int(5);
    struct json *copy = json_copy(value);
    size_t i = 0, length;

    (void)state;
    json_each(child, value)
    {
        const char *raw = json_raw(child, text, &length);

        if (expected[i]) {
            assert_int_equal(length, strlen(expected[i]));
            assert_memory_equal(raw, expected[i], length);
        } else {
            assert_null(raw);
        }
        i++;
    }
    assert_int_equal(i, 12);
    assert_null(json_raw(NULL, text, &length));
    assert_null(json_raw(built, text, &length));
    assert_null(json_raw(json_first(copy), text, &length));
    json_free(copy);
    json_free(built);
    json_free(value);
}

static void test_building(void **state)
{
    struct json *object = json_new_object();
    struct json *array = json_new_array();
    char *text;

    (void)state;
    json_append_string(array, "a\"b\\c/\n\x01");
    json_append(array, json_new_text("z\0z", 3));
    json_append(array, json_new_text("bad \xFF\xC3", 6));
    json_append(array, json_new_string(NULL));
    json_append(array, json_new_object());
    json_set(object, "list", array);
    json_set_int(object, "min", INT64_MIN);
    json_set_int(object, "exact", 9007199254740993);
    json_set_bool(object, "yes", true);
    json_set_bool(object, "no", false);
    json_set_null(object, "null");
    json_set_real(object, "tenth", 0.1);
    json_set_real(object, "third", 1.0 / 3);
    json_set_real(object, "nan", NAN);
    json_set_raw(object, "raw", "[1, 2]", 6);
    json_set_text(object, "text", "abcdef", 3);
    json_set_string(object, "key \xFF\"", "v");
    text = print(object);
    assert_string_equal(text,
                        "{\"list\":[\"a\\\"b\\\\c/\\n\\u0001\",\"z\\u0000z\",\"bad "
                        "\xEF\xBF\xBD\xEF\xBF\xBD\",null,{}],\"min\":-9223372036854775808,"
                        "\"exact\":9007199254740993,\"yes\":true,\"no\":false,\"null\":null,"
                        "\"tenth\":0.1,\"third\":0.3333333333333333,\"nan\":null,\"raw\":[1, 2],"
                        "\"text\":\"abc\",\"key \xEF\xBF\xBD\\\"\":\"v\"}");
    free(text);

    /* Built trees can be read like parsed ones. */
    assert_true(json_int(object, "exact", 0) == 9007199254740993);
    assert_string_equal(json_string(object, "text"), "abc");
    assert_int_equal(json_type(json_member(object, "raw")), JSON_ABSENT);
    json_free(object);
}

static void test_reals_read_back(void **state)
{
    static const double reals[] = {0,   -0.0,    1,      -1.5,          1e300,    5e-324,
                                   0.1, 1.0 / 3, 123456, 65504.0000001, 1e21 + 1, 2.5e-9};

    (void)state;
    for (size_t i = 0; i < sizeof(reals) / sizeof(reals[0]); i++) {
        struct json *object = json_new_object(), *again;
        char *text;

        json_set_real(object, "x", reals[i]);
        text = print(object);
        again = parse(text, strlen(text), NULL);
        assert_true(json_real(again, "x", 77) == reals[i]);
        free(text);
        json_free(object);
        json_free(again);
    }
}

static void test_incomplete_trees_do_not_print(void **state)
{
    struct json *object = json_new_object();
    struct json *inner = json_new_array();
    struct buffer out = BUFFER_EMPTY;

    (void)state;
    buffer_append_text(&out, "before");
    json_set(object, "inner", inner);
    json_append(inner, NULL);
    assert_int_equal(json_print(&out, object), -ENOMEM);
    assert_int_equal(json_print(&out, NULL), -ENOMEM);
    assert_string_equal(out.data, "before");
    assert_null(json_copy(NULL));
    assert_false(json_failed(object));
    assert_false(json_failed(NULL));
    /* The value is taken in any case. */
    json_set(NULL, "x", json_new_string("gone"));
    json_append(NULL, json_new_string("gone"));
    json_free(object);
    buffer_release(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_accepted),
        cmocka_unit_test(test_rejected),
        cmocka_unit_test(test_depth),
        cmocka_unit_test(test_number_of_values),
        cmocka_unit_test(test_reading),
        cmocka_unit_test(test_raw_texts),
        cmocka_unit_test(test_building),
        cmocka_unit_test(test_reals_read_back),
        cmocka_unit_test(test_incomplete_trees_do_not_print),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
