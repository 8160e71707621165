#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "protocol/lsp.h"
#include "protocol/utf8.h"

static const enum lsp_encoding encodings[] = {LSP_UTF8, LSP_UTF16, LSP_UTF32};

static uint32_t random_below(uint32_t *seed, uint32_t limit)
{
    *seed = *seed * 1664525u + 1013904223u;
    return (*seed >> 8) % limit;
}

/* --- a naive second opinion ---------------------------------------------------------------- */

/* Every place of a text where a character or a line's end begins, by one walk from its start. */
struct place {
    size_t offset;
    struct lsp_position positions[3]; /* in the order of `encodings` */
};

static size_t list_places(const char *bytes, size_t length, struct place *places)
{
    struct place now = {0, {{0, 0}, {0, 0}, {0, 0}}};
    size_t count = 0;

    for (;;) {
        size_t at = now.offset, size;
        bool newline;

        places[count++] = now;
        if (at == length)
            return count;
        size = utf8_decode(bytes + at, length - at, NULL);
        if (size == 0)
            size = 1;
        newline = bytes[at] == '\n' || bytes[at] == '\r';
        if (bytes[at] == '\r' && at + 1 < length && bytes[at + 1] == '\n')
            size = 2;
        now.offset += size;
        for (size_t e = 0; e < 3; e++) {
            uint32_t units[] = {(uint32_t)size, size == 4 ? 2 : 1, 1};

            if (newline)
                now.positions[e] = (struct lsp_position){now.positions[e].line + 1, 0};
            else
                now.positions[e].character += units[e];
        }
    }
}

/* The last place that is not behind the position: that is what clamping and rounding down mean. */
static size_t naive_offset(const struct place *places, size_t count, size_t e,
                           struct lsp_position position)
{
    size_t best = 0;

    for (size_t i = 0; i < count; i++)
        if (lsp_position_compare(places[i].positions[e], position) <= 0)
            best = places[i].offset;
    return best;
}

static void assert_text(const struct lsp_text *text, const char *bytes, size_t length)
{
    struct lsp_text fresh = LSP_TEXT_EMPTY;

    assert_int_equal(text->bytes.length, length);
    if (length)
        assert_memory_equal(text->bytes.data, bytes, length);
    assert_int_equal(lsp_text_set(&fresh, bytes, length), 0);
    assert_int_equal(text->line_count, fresh.line_count);
    assert_memory_equal(text->lines, fresh.lines, fresh.line_count * sizeof(*fresh.lines));
    lsp_text_release(&fresh);
}

/* --- tests --------------------------------------------------------------------------------- */

static void test_lines(void **state)
{
    static const struct {
        const char *text;
        size_t count;
        size_t lines[5];
    } rows[] = {
        {"", 1, {0}},
        {"a", 1, {0}},
        {"\n", 2, {0, 1}},
        {"a\nb", 2, {0, 2}},
        {"a\r\nb", 2, {0, 3}},
        {"a\rb", 2, {0, 2}},
        {"\r\r\n\n", 4, {0, 1, 3, 4}},
        {"\n\r", 3, {0, 1, 2}},
        {"a\xE2\x80\xA8"
         "b\x0B\x0C",
         1,
         {0}},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct lsp_text text = LSP_TEXT_EMPTY;

        assert_int_equal(lsp_text_set(&text, rows[i].text, strlen(rows[i].text)), 0);
        assert_int_equal(text.line_count, rows[i].count);
        for (size_t l = 0; l < rows[i].count; l++)
            assert_int_equal(text.lines[l], rows[i].lines[l]);
        lsp_text_release(&text);
    }
}

/* Bytes 0: a, 1-2: e acute, 3-5: euro, 6-9: an astral smiley, 10: no UTF-8, 11: z, 12-13: CR LF,
 * 14: q */
static const char sample[] = "a\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80\xFFz\r\nq";

static void test_positions_to_offsets(void **state)
{
    static const struct {
        enum lsp_encoding encoding;
        struct lsp_position position;
        size_t offset;
    } rows[] = {
        {LSP_UTF16, {0, 0}, 0},
        {LSP_UTF16, {0, 1}, 1},
        {LSP_UTF16, {0, 2}, 3},
        {LSP_UTF16, {0, 3}, 6},
        {LSP_UTF16, {0, 4}, 6}, /* between the surrogates */
        {LSP_UTF16, {0, 5}, 10},
        {LSP_UTF16, {0, 6}, 11},
        {LSP_UTF16, {0, 7}, 12},
        {LSP_UTF16, {0, 8}, 12},
        {LSP_UTF16, {0, 4000000000u}, 12},
        {LSP_UTF16, {1, 0}, 14},
        {LSP_UTF16, {1, 1}, 15},
        {LSP_UTF16, {1, 2}, 15},
        {LSP_UTF16, {2, 0}, 15},
        {LSP_UTF16, {4000000000u, 0}, 15},
        {LSP_UTF8, {0, 1}, 1},
        {LSP_UTF8, {0, 2}, 1}, /* inside the e */
        {LSP_UTF8, {0, 3}, 3},
        {LSP_UTF8, {0, 5}, 3},
        {LSP_UTF8, {0, 9}, 6},
        {LSP_UTF8, {0, 10}, 10},
        {LSP_UTF8, {0, 11}, 11},
        {LSP_UTF8, {0, 12}, 12},
        {LSP_UTF8, {0, 13}, 12},
        {LSP_UTF32, {0, 3}, 6},
        {LSP_UTF32, {0, 4}, 10},
        {LSP_UTF32, {0, 5}, 11},
        {LSP_UTF32, {0, 6}, 12},
        {LSP_UTF32, {0, 7}, 12},
    };
    struct lsp_text text = LSP_TEXT_EMPTY;

    (void)state;
    assert_int_equal(lsp_text_offset(&text, (struct lsp_position){3, 3}, LSP_UTF16), 0);
    lsp_text_set(&text, sample, sizeof(sample) - 1);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        if (lsp_text_offset(&text, rows[i].position, rows[i].encoding) != rows[i].offset)
            fail_msg("row %zu: %zu", i, lsp_text_offset(&text, rows[i].position, rows[i].encoding));
    lsp_text_release(&text);
}

static void test_offsets_to_positions(void **state)
{
    static const uint32_t utf16[] = {0, 1, 1, 2, 2, 2, 3, 3, 3, 3, 5, 6, 7, 7};
    static const uint32_t utf8[] = {0, 1, 1, 3, 3, 3, 6, 6, 6, 6, 10, 11, 12, 12};
    static const uint32_t utf32[] = {0, 1, 1, 2, 2, 2, 3, 3, 3, 3, 4, 5, 6, 6};
    struct lsp_text text = LSP_TEXT_EMPTY;
    struct lsp_range range;

    (void)state;
    lsp_text_set(&text, sample, sizeof(sample) - 1);
    for (size_t i = 0; i < 14; i++) {
        assert_int_equal(lsp_text_position(&text, i, LSP_UTF16).character, utf16[i]);
        assert_int_equal(lsp_text_position(&text, i, LSP_UTF8).character, utf8[i]);
        assert_int_equal(lsp_text_position(&text, i, LSP_UTF32).character, utf32[i]);
        assert_int_equal(lsp_text_position(&text, i, LSP_UTF32).line, 0);
    }
    range = lsp_text_range(&text, 14, 99, LSP_UTF16);
    assert_int_equal(range.start.line, 1);
    assert_int_equal(range.start.character, 0);
    assert_int_equal(range.end.line, 1);
    assert_int_equal(range.end.character, 1);
    lsp_text_release(&text);
}

/* Pieces of which random texts are made: each kind of character, terminators, broken bytes. */
static const char *const pieces[] = {
    "a",  "bc",   "\xC3\xA9", "\xE2\x82\xAC", "\xF0\x9F\x98\x80", "\n",
    "\r", "\r\n", "\xFF",     "\xE2\x82",     "\xF0\x9F",         "\xED\xA0\x80"};
enum { PIECES = sizeof(pieces) / sizeof(pieces[0]), WHOLE_PIECES = 8 };

static size_t random_text(uint32_t *seed, uint32_t kinds, uint32_t most, char *out)
{
    size_t length = 0;

    for (uint32_t n = random_below(seed, most + 1); n > 0; n--) {
        const char *piece = pieces[random_below(seed, kinds)];

        memcpy(out + length, piece, strlen(piece));
        length += strlen(piece);
    }
    return length;
}

static void test_random_positions(void **state)
{
    uint32_t seed = 7;
    char bytes[256];
    struct place places[257];

    (void)state;
    for (int round = 0; round < 400; round++) {
        struct lsp_text text = LSP_TEXT_EMPTY;
        size_t length = random_text(&seed, PIECES, 24, bytes);
        size_t count = list_places(bytes, length, places);

        assert_int_equal(lsp_text_set(&text, bytes, length), 0);
        for (size_t e = 0; e < 3; e++) {
            for (size_t i = 0; i < count; i++) {
                struct lsp_position got = lsp_text_position(&text, places[i].offset, encodings[e]);

                assert_int_equal(lsp_position_compare(got, places[i].positions[e]), 0);
                assert_int_equal(lsp_text_offset(&text, got, encodings[e]), places[i].offset);
            }
            for (uint32_t line = 0; line < 8; line++) {
                for (uint32_t character = 0; character < 12; character++) {
                    struct lsp_position position = {line, character};

                    assert_int_equal(lsp_text_offset(&text, position, encodings[e]),
                                     naive_offset(places, count, e, position));
                }
            }
        }
        lsp_text_release(&text);
    }
}

/* Replaces bytes anywhere, also in the middle of characters and of CR LF. */
static void test_random_replacements(void **state)
{
    uint32_t seed = 11;
    char insert[64];

    (void)state;
    for (int round = 0; round < 60; round++) {
        struct lsp_text text = LSP_TEXT_EMPTY;
        struct buffer naive = BUFFER_EMPTY;

        assert_int_equal(lsp_text_set(&text, NULL, 0), 0);
        for (int edit = 0; edit < 60; edit++) {
            uint32_t total = (uint32_t)naive.length;
            size_t start = random_below(&seed, total + 1);
            size_t end = start + random_below(&seed, (total - (uint32_t)start) / 2 + 1);
            size_t length = random_text(&seed, PIECES, 6, insert);
            struct buffer next = BUFFER_EMPTY;

            buffer_append(&next, naive.data, start);
            buffer_append(&next, insert, length);
            buffer_append(&next, naive.data ? naive.data + end : NULL, naive.length - end);
            buffer_release(&naive);
            naive = next;
            assert_int_equal(lsp_text_replace(&text, start, end, insert, length), 0);
            assert_text(&text, naive.data, naive.length);
        }
        buffer_release(&naive);
        lsp_text_release(&text);
    }
}

/* The same through didChange: several edits a message, positions anywhere, in every encoding. */
static void test_random_changes(void **state)
{
    uint32_t seed = 3;
    char insert[64];

    (void)state;
    for (int round = 0; round < 120; round++) {
        size_t e = (size_t)round % 3;
        struct lsp_text text = LSP_TEXT_EMPTY;
        struct buffer naive = BUFFER_EMPTY;

        buffer_append(&naive, insert, random_text(&seed, PIECES, 12, insert));
        assert_int_equal(lsp_text_set(&text, naive.data, naive.length), 0);
        for (int message = 0; message < 10; message++) {
            struct json *changes = json_new_array(), *parsed;
            struct buffer body = BUFFER_EMPTY;

            for (uint32_t n = random_below(&seed, 4); n > 0; n--) {
                struct json *change = json_new_object();
                size_t length = random_text(&seed, WHOLE_PIECES, 5, insert);
                struct buffer next = BUFFER_EMPTY;

                json_set_text(change, "text", insert, length);
                if (random_below(&seed, 12) == 0) {
                    buffer_append(&next, insert, length);
                } else {
                    struct place *places = calloc(naive.length + 1, sizeof(*places));
                    size_t count = list_places(naive.data, naive.length, places);
                    struct lsp_range range = {{random_below(&seed, 6), random_below(&seed, 9)},
                                              {random_below(&seed, 6), random_below(&seed, 9)}};
                    size_t start = naive_offset(places, count, e, range.start);
                    size_t end = naive_offset(places, count, e, range.end);

                    json_set(change, "range", lsp_range_json(range));
                    if (start > end) {
                        size_t swap = start;
                        start = end;
                        end = swap;
                    }
                    buffer_append(&next, naive.data, start);
                    buffer_append(&next, insert, length);
                    buffer_append(&next, naive.data + end, naive.length - end);
                    free(places);
                }
                buffer_release(&naive);
                naive = next;
                json_append(changes, change);
            }
            assert_int_equal(json_print(&body, changes), 0);
            parsed = json_parse(body.data, body.length, NULL);
            assert_int_equal(lsp_text_change(&text, parsed, encodings[e]), 0);
            assert_text(&text, naive.data, naive.length);
            json_free(parsed);
            json_free(changes);
            buffer_release(&body);
        }
        buffer_release(&naive);
        lsp_text_release(&text);
    }
}

static int change(struct lsp_text *text, const char *changes)
{
    struct json *value = json_parse(changes, strlen(changes), NULL);
    int rc;

    assert_non_null(value);
    rc = lsp_text_change(text, value, LSP_UTF16);
    json_free(value);
    return rc;
}

static void test_changes(void **state)
{
    struct lsp_text text = LSP_TEXT_EMPTY;

    (void)state;
    lsp_text_set(&text, "one\ntwo\n", 8);
    assert_int_equal(change(&text, "[{\"range\":{\"start\":{\"line\":0,\"character\":3},\"end\":{"
                                   "\"line\":1,\"character\":0}},\"rangeLength\":1,\"text\":\" \"},"
                                   "{\"range\":{\"start\":{\"line\":0,\"character\":99},\"end\":{"
                                   "\"line\":0,\"character\":99}},\"text\":\"!\"}]"),
                     0);
    assert_text(&text, "one two!\n", 9);

    /* One bad element, and none is applied. */
    static const char *const bad[] = {
        "{}",
        "[{\"text\":\"x\"},{}]",
        "[{\"text\":\"x\"},{\"text\":1}]",
        "[{\"text\":\"x\"},{\"range\":{},\"text\":\"y\"}]",
        "[{\"text\":\"x\"},{\"range\":{\"start\":{\"line\":-1,\"character\":0},\"end\":{\"line\":0,"
        "\"character\":0}},\"text\":\"y\"}]",
        "[{\"text\":\"x\"},{\"range\":{\"start\":{\"line\":0.5,\"character\":0},\"end\":{\"line\":"
        "0,"
        "\"character\":0}},\"text\":\"y\"}]",
    };
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        assert_int_equal(change(&text, bad[i]), -EINVAL);
        assert_text(&text, "one two!\n", 9);
    }
    assert_int_equal(lsp_text_change(&text, NULL, LSP_UTF16), -EINVAL);

    assert_int_equal(change(&text, "[]"), 0);
    assert_int_equal(change(&text, "[{\"range\":null,\"text\":\"a\\u0000b\\r\"}]"), 0);
    assert_text(&text, "a\0b\r", 4);
    assert_int_equal(lsp_text_replace(&text, 99, 5, "z", 1), 0);
    assert_text(&text, "a\0b\rz", 5);
    assert_int_equal(lsp_text_replace(&text, 0, 0, text.bytes.data, (size_t)1 << 31), -EFBIG);
    lsp_text_release(&text);
}

static void test_negotiation(void **state)
{
    static const struct {
        const char *general;
        enum lsp_encoding encoding;
    } rows[] = {
        {"{}", LSP_UTF16},
        {"null", LSP_UTF16},
        {"{\"positionEncodings\":[]}", LSP_UTF16},
        {"{\"positionEncodings\":[\"utf-8\"]}", LSP_UTF8},
        {"{\"positionEncodings\":[\"utf-8\",\"utf-16\"]}", LSP_UTF8},
        {"{\"positionEncodings\":[\"utf-16\",\"utf-8\"]}", LSP_UTF16},
        {"{\"positionEncodings\":[\"utf-7\",3,\"utf-32\",\"utf-8\"]}", LSP_UTF32},
        {"{\"positionEncodings\":\"utf-8\"}", LSP_UTF16},
        {"{\"positionEncodings\":[\"UTF-8\"]}", LSP_UTF16},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct buffer text = BUFFER_EMPTY;
        struct json *params;

        buffer_printf(&text, "{\"capabilities\":{\"general\":%s}}", rows[i].general);
        params = json_parse(text.data, text.length, NULL);
        assert_int_equal(lsp_encoding_negotiate(params), rows[i].encoding);
        json_free(params);
        buffer_release(&text);
    }
    assert_int_equal(lsp_encoding_negotiate(NULL), LSP_UTF16);
    assert_string_equal(lsp_encoding_name(LSP_UTF8), "utf-8");
    assert_string_equal(lsp_encoding_name(LSP_UTF16), "utf-16");
    assert_string_equal(lsp_encoding_name(LSP_UTF32), "utf-32");
}

static void assert_json(struct json *value, const char *expected)
{
    struct buffer out = BUFFER_EMPTY;

    assert_int_equal(json_print(&out, value), 0);
    assert_string_equal(out.data, expected);
    buffer_release(&out);
    json_free(value);
}

static void test_ranges_as_json(void **state)
{
    struct lsp_range range = {{0, 0}, {0, 0}};
    struct json *value;
    static const char text[] = "{\"start\":{\"line\":1,\"character\":2},\"end\":{\"line\":3.0,"
                               "\"character\":99999999999}}";

    (void)state;
    value = json_parse(text, sizeof(text) - 1, NULL);
    assert_true(lsp_range_read(value, &range));
    json_free(value);
    assert_json(lsp_range_json(range),
                "{\"start\":{\"line\":1,\"character\":2},\"end\":{\"line\":3,"
                "\"character\":4294967295}}");
    assert_false(lsp_range_read(NULL, &range));
    assert_true(lsp_position_compare(range.start, range.end) < 0);
    assert_true(lsp_position_compare(range.end, range.start) > 0);
    assert_int_equal(lsp_position_compare(range.end, range.end), 0);
    assert_true(lsp_position_compare((struct lsp_position){1, 0}, (struct lsp_position){1, 1}) < 0);
}

static void test_diagnostics(void **state)
{
    static const struct lsp_related related[] = {{"file:///b", {{4, 5}, {6, 7}}, "here"}};
    struct lsp_diagnostic diagnostic = {
        .range = {{0, 1}, {2, 3}},
        .severity = LSP_WARNING,
        .code = "TUKI0123",
        .message = "Conv \xFF",
        .related = related,
        .related_count = 1,
    };
    struct json *list = json_new_array();

    (void)state;
    assert_json(lsp_diagnostic_json(&diagnostic, false),
                "{\"range\":{\"start\":{\"line\":0,\"character\":1},\"end\":{\"line\":2,"
                "\"character\":3}},\"severity\":2,\"code\":\"TUKI0123\",\"source\":\"onnxgpu\","
                "\"message\":\"Conv \xEF\xBF\xBD\"}");
    diagnostic.data = json_new_object();
    json_set_string(diagnostic.data, "model", "m");
    json_append(list, lsp_diagnostic_json(&diagnostic, true));
    assert_json(
        lsp_publish_params("file:///a", 7, list),
        "{\"uri\":\"file:///a\",\"version\":7,\"diagnostics\":[{\"range\":{\"start\":{\"line\":0,"
        "\"character\":1},\"end\":{\"line\":2,\"character\":3}},\"severity\":2,\"code\":"
        "\"TUKI0123\",\"source\":\"onnxgpu\",\"message\":\"Conv \xEF\xBF\xBD\","
        "\"relatedInformation\":[{\"location\":{\"uri\":\"file:///b\",\"range\":{\"start\":{"
        "\"line\":4,\"character\":5},\"end\":{\"line\":6,\"character\":7}}},\"message\":\"here\"}],"
        "\"data\":{\"model\":\"m\"}}]}");
    assert_json(lsp_publish_params("u", -1, json_new_array()),
                "{\"uri\":\"u\",\"diagnostics\":[]}");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lines),
        cmocka_unit_test(test_positions_to_offsets),
        cmocka_unit_test(test_offsets_to_positions),
        cmocka_unit_test(test_random_positions),
        cmocka_unit_test(test_random_replacements),
        cmocka_unit_test(test_random_changes),
        cmocka_unit_test(test_changes),
        cmocka_unit_test(test_negotiation),
        cmocka_unit_test(test_ranges_as_json),
        cmocka_unit_test(test_diagnostics),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
