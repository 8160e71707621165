#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cache/key.h"
#include <string.h>
#include <xxhash.h>

static struct key128 finish(struct key_recipe *recipe)
{
    struct key128 key;

    assert_true(key_finish(recipe, &key));
    key_release(recipe);
    return key;
}

/* The format, byte for byte, as the header describes it: keys on disk outlive the program. */
static void fields_are_tagged_and_counted(void **state)
{
    static const unsigned char bytes[] = "\5\5\0\0\0\0\0\0\0shape"
                                         "\1\10\0\0\0\0\0\0\0\2\1\0\0\0\0\0\0"
                                         "\2\3\0\0\0\0\0\0\0a\0b"
                                         "\3\2\0\0\0\0\0\0\0xy"
                                         "\4\0\0\0\0\0\0\0\0";
    XXH128_hash_t expected = XXH3_128bits(bytes, sizeof bytes - 1);
    struct key_recipe recipe;
    struct key128 key;

    (void)state;
    key_init(&recipe);
    key_add_label(&recipe, "shape");
    key_add_u64(&recipe, 0x102);
    key_add_bytes(&recipe, "a\0b", 3);
    key_add_string(&recipe, "xy");
    key_add_string(&recipe, NULL);
    key = finish(&recipe);
    assert_true(key.high == expected.high64 && key.low == expected.low64);
}

static struct key128 two_strings(const char *a, const char *b)
{
    struct key_recipe recipe;

    key_init(&recipe);
    key_add_string(&recipe, a);
    key_add_string(&recipe, b);
    return finish(&recipe);
}

static struct key128 one(void (*add)(struct key_recipe *, const char *), const char *text)
{
    struct key_recipe recipe;

    key_init(&recipe);
    add(&recipe, text);
    return finish(&recipe);
}

static void as_bytes(struct key_recipe *recipe, const char *text)
{
    key_add_bytes(recipe, text, strlen(text));
}

static void as_number(struct key_recipe *recipe, const char *text)
{
    uint64_t value;

    memcpy(&value, text, sizeof value);
    key_add_u64(recipe, value);
}

static void sequences_do_not_collide(void **state)
{
    struct key128 keys[12];
    size_t n = 0;

    (void)state;
    keys[n++] = two_strings("ab", "c");
    keys[n++] = two_strings("a", "bc");
    keys[n++] = two_strings("abc", "");
    keys[n++] = two_strings("", "abc");
    keys[n++] = two_strings("abc", NULL);
    keys[n++] = two_strings(NULL, "abc");
    keys[n++] = one(key_add_string, "abcdefgh");
    keys[n++] = one(key_add_label, "abcdefgh");
    keys[n++] = one(as_bytes, "abcdefgh");
    keys[n++] = one(as_number, "abcdefgh");
    keys[n++] = one(key_add_string, "");
    keys[n++] = one(key_add_string, NULL);
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++)
            assert_int_equal(key128_equal(keys[i], keys[j]), i == j);
}

static void finishing_is_not_the_end(void **state)
{
    struct key_recipe recipe;
    struct key128 first, again;

    (void)state;
    key_init(&recipe);
    key_add_string(&recipe, "ab");
    assert_true(key_finish(&recipe, &first));
    assert_true(key_finish(&recipe, &again));
    assert_true(key128_equal(first, again));
    key_add_string(&recipe, "c");
    assert_true(key128_equal(finish(&recipe), two_strings("ab", "c")));
}

static void an_empty_recipe_has_no_key(void **state)
{
    struct key_recipe recipe = {NULL};
    struct key128 key = {1, 2};

    (void)state;
    key_add_u64(&recipe, 1);
    key_add_string(&recipe, NULL);
    assert_false(key_finish(&recipe, &key));
    assert_true(key.high == 0 && key.low == 0);
    key_release(&recipe);
}

static void text_reads_back(void **state)
{
    static const struct key128 keys[] = {
        {0, 0}, {UINT64_MAX, UINT64_MAX}, {0x0123456789abcdef, 0xfedcba9876543210}, {0, 1}};
    char text[KEY128_TEXT];
    struct key128 back = {7, 7};

    (void)state;
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        assert_true(key128_parse(key128_print(keys[i], text), &back));
        assert_int_equal(strlen(text), 32);
        assert_true(key128_equal(back, keys[i]));
    }
    assert_string_equal(key128_print(keys[2], text), "0123456789abcdeffedcba9876543210");
    back = keys[2];
    assert_false(key128_parse("", &back));
    assert_false(key128_parse("0123456789abcdeffedcba987654321", &back));
    assert_false(key128_parse("0123456789abcdeffedcba98765432100", &back));
    assert_false(key128_parse("0123456789ABCDEFfedcba9876543210", &back));
    assert_false(key128_parse("0123456789abcdef fedcba987654321", &back));
    assert_true(key128_equal(back, keys[2]));
}

static void keys_are_ordered(void **state)
{
    static const struct key128 sorted[] = {{0, 0}, {0, 1},          {0, UINT64_MAX},
                                           {1, 0}, {UINT64_MAX, 0}, {UINT64_MAX, 1}};

    (void)state;
    for (int i = 0; i < 6; i++)
        for (int j = 0; j < 6; j++) {
            int order = key128_compare(sorted[i], sorted[j]);

            assert_int_equal((order > 0) - (order < 0), (i > j) - (i < j));
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fields_are_tagged_and_counted),
        cmocka_unit_test(sequences_do_not_collide),
        cmocka_unit_test(finishing_is_not_the_end),
        cmocka_unit_test(an_empty_recipe_has_no_key),
        cmocka_unit_test(text_reads_back),
        cmocka_unit_test(keys_are_ordered),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
