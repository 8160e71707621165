// Halves: all 65536 of them, both ways, in bulk and as text; and the decimal text of float32.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "daemon/compiler/graph/decimal.h"
#include "daemon/compiler/graph/half.h"

static uint32_t bits_of(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static float float_of(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

// The definition, by arithmetic: sign * mantissa * 2^exponent.
static double value_of(unsigned half)
{
    unsigned exponent = half >> 10 & 31, mantissa = half & 1023;
    double value = exponent == 0    ? ldexp(mantissa, -24)
                   : exponent == 31 ? (mantissa != 0 ? NAN : INFINITY)
                                    : ldexp(mantissa + 1024, (int)exponent - 25);
    return half & 0x8000 ? -value : value;
}

static void test_to_float(void **state)
{
    (void)state;
    for (unsigned h = 0; h < 65536; h++) {
        float value = half_to_float((uint16_t)h);
        if (isnan(value_of(h))) {
            assert_true(isnan(value));
            assert_int_equal(half_from_float(value), h | 0x200);
            assert_int_equal(half_from_float_zero(value), h | 0x200);
            continue;
        }
        assert_true((double)value == value_of(h));
        assert_int_equal(signbit(value) != 0, h >> 15);
        assert_int_equal(half_from_float(value), h);
        assert_int_equal(half_from_float_zero(value), h);
    }
}

// Around every half and every middle between two halves, a step of float32 below, at and above.
static void test_rounding(void **state)
{
    (void)state;
    for (unsigned h = 0; h < 0x7c00; h++) {
        double low = value_of(h), high = h == 0x7bff ? 65536.0 : value_of(h + 1);
        float middle = (float)((low + high) / 2);
        unsigned even = h & 1 ? h + 1 : h;
        struct {
            float value;
            unsigned nearest, zero;
        } row[] = {
            {middle, even, h},
            {nextafterf(middle, 0), h, h},
            {nextafterf(middle, INFINITY), h + 1, h},
            {nextafterf((float)high, 0), h + 1, h},
            {nextafterf((float)low, INFINITY), h, h},
        };
        for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
            assert_int_equal(half_from_float(row[i].value), row[i].nearest);
            assert_int_equal(half_from_float(-row[i].value), row[i].nearest | 0x8000);
            assert_int_equal(half_from_float_zero(row[i].value), row[i].zero);
            assert_int_equal(half_from_float_zero(-row[i].value), row[i].zero | 0x8000);
        }
    }
    assert_int_equal(half_from_float(65519.996f), 0x7bff);
    assert_int_equal(half_from_float(65520.0f), 0x7c00);
    assert_int_equal(half_from_float_zero(65520.0f), 0x7bff);
    assert_int_equal(half_from_float_zero(3e38f), 0x7bff);
    assert_int_equal(half_from_float(3e38f), 0x7c00);
    assert_int_equal(half_from_float_zero(-INFINITY), 0xfc00);
}

static void test_bulk(void **state)
{
    (void)state;
    static uint16_t halves[65536], back[65536];
    static float values[65536];
    for (unsigned h = 0; h < 65536; h++)
        halves[h] = (uint16_t)h;
    half_to_floats(values, halves, 65536);
    for (unsigned h = 0; h < 65536; h++)
        assert_int_equal(bits_of(values[h]), bits_of(half_to_float((uint16_t)h)));
    half_from_floats(back, values, 65536);
    for (unsigned h = 0; h < 65536; h++)
        assert_int_equal(back[h], half_from_float(values[h]));

    // Pseudo-random bits over the whole of float32, at every length of the scalar rest.
    uint32_t seed = 1;
    for (size_t i = 0; i < 65536; i++) {
        seed = seed * 1664525u + 1013904223u;
        values[i] = float_of(i & 1 ? seed : (seed & 0x87ffffffu) | 0x30000000u);
    }
    for (size_t start = 0; start < 9; start++) {
        size_t count = 65536 - start - start * 3;
        half_from_floats(back, values + start, count);
        for (size_t i = 0; i < count; i++)
            assert_int_equal(back[i], half_from_float(values[start + i]));
        half_from_floats_zero(back, values + start, count);
        for (size_t i = 0; i < count; i++)
            assert_int_equal(back[i], half_from_float_zero(values[start + i]));
    }
}

// The fewest digits that read back, tried the slow way with the C library.
static int digits_needed(uint16_t half)
{
    for (int digits = 1; digits < 8; digits++) {
        char text[40];
        snprintf(text, sizeof text, "%.*e", digits - 1, (double)half_to_float(half));
        if (half_from_float(strtof(text, NULL)) == half)
            return digits;
    }
    return 8;
}

static int digits_written(const char *text)
{
    int count = 0, zeros = 0, point = 0;
    for (const char *c = text; *c != 'f'; c++) {
        if (*c == '.')
            point = 1;
        if (*c < '0' || *c > '9' || (*c == '0' && count == 0))
            continue;
        count++;
        zeros = *c == '0' ? zeros + 1 : 0;
    }
    (void)point;
    return count - zeros;
}

static void test_print_all(void **state)
{
    (void)state;
    for (unsigned h = 0; h < 0x10000; h++) {
        if ((h & 0x7fff) >= 0x7c00)
            continue;
        char text[HALF_TEXT_SIZE];
        memset(text, 'x', sizeof text);
        size_t length = half_print(text, (uint16_t)h);
        assert_true(length < sizeof text);
        assert_int_equal(strlen(text), length);
        assert_int_equal(text[length - 1], 'f');
        assert_null(strchr(text, 'e'));
        char *end = NULL;
        float read = strtof(text, &end);
        assert_ptr_equal(end, text + length - 1);
        assert_int_equal(half_from_float(read), h);
        if ((h & 0x7fff) != 0)
            assert_true(digits_written(text) <= digits_needed((uint16_t)h));
        float parsed = 0;
        size_t sign = text[0] == '-';
        assert_int_equal(float_parse(text + sign, length - 1 - sign, &parsed), FLOAT_PARSE_OK);
        assert_int_equal(bits_of(parsed), bits_of(fabsf(read)));
    }
}

static void test_print_examples(void **state)
{
    (void)state;
    static const struct {
        float value;
        const char *text;
    } row[] = {
        {0.12115f, "0.12115f"},         {0.0f, "0.0f"},         {-0.0f, "-0.0f"},
        {0.00004536f, "0.00004536f"},   {1.0f, "1.0f"},         {-0.161f, "-0.161f"},
        {0.0007606f, "0.0007606f"},     {12.0f, "12.0f"},       {0.5f, "0.5f"},
        {5.9604645e-8f, "0.00000006f"}, {2048.0f, "2048.0f"},   {1.5f, "1.5f"},
        {-100.0f, "-100.0f"},           {65504.0f, "65500.0f"}, {-0.046875f, "-0.04688f"},
    };
    for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
        char text[HALF_TEXT_SIZE];
        half_print(text, half_from_float(row[i].value));
        assert_string_equal(text, row[i].text);
    }
}

static void test_float_print(void **state)
{
    (void)state;
    static const struct {
        float value;
        const char *text;
    } row[] = {
        {0.0f, "0.0f"},
        {-0.0f, "-0.0f"},
        {0.1f, "0.1f"},
        {-1.0f, "-1.0f"},
        {65504.0f, "65504.0f"},
        {16777216.0f, "16777216.0f"},
        {0.33333334f, "0.33333334f"},
        {1e10f, "1e10f"},
        {9999999999.0f, "1e10f"},
        {123456.7f, "123456.7f"},
        {1e-7f, "0.0000001f"},
        {1.5e-20f, "1.5e-20f"},
        {3.4028235e38f, "3.4028235e38f"},
        {1.1754944e-38f, "1.1754944e-38f"},
        {8.5899346e9f, "8589935000.0f"},
    };
    for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
        char text[FLOAT_TEXT_SIZE];
        float_print(text, row[i].value);
        if (strcmp(row[i].text, "1e10f") == 0)
            assert_true(strcmp(text, "1.0e10f") == 0 || strcmp(text, "10000000000.0f") == 0);
        else
            assert_string_equal(text, row[i].text);
    }
    uint32_t seed = 7;
    for (int i = 0; i < 200000; i++) {
        seed = seed * 1664525u + 1013904223u;
        uint32_t bits = seed ^ seed >> 15;
        if ((bits & 0x007f0000u) == 0)
            bits &= 0xff800000u; // powers of two, where the gaps differ
        if ((bits & 0x7f800000u) == 0x7f800000u)
            continue;
        char text[FLOAT_TEXT_SIZE], other[40];
        size_t length = float_print(text, float_of(bits));
        assert_int_equal(strlen(text), length);
        char *end = NULL;
        assert_int_equal(bits_of(strtof(text, &end)), bits);
        assert_ptr_equal(end, text + length - 1);
        int digits = 0;
        const char *exponent = strchr(text, 'e');
        if (exponent != NULL) {
            char head[FLOAT_TEXT_SIZE];
            memcpy(head, text, sizeof head);
            head[exponent - text] = 'f';
            head[exponent - text + 1] = '\0';
            digits = digits_written(head);
        } else {
            digits = digits_written(text);
        }
        assert_true(digits <= 9);
        if (digits > 1) { // with one digit less it would be another number
            snprintf(other, sizeof other, "%.*e", digits - 2, (double)float_of(bits));
            if ((bits & 0x007fffffu) != 0)
                assert_int_not_equal(bits_of(strtof(other, NULL)), bits);
        }
    }
}

static void test_float_parse(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        enum float_parse result;
    } row[] = {
        {"0", FLOAT_PARSE_OK},
        {"0.0", FLOAT_PARSE_OK},
        {"000.000e99", FLOAT_PARSE_OK},
        {"1", FLOAT_PARSE_OK},
        {".5", FLOAT_PARSE_OK},
        {"12.50", FLOAT_PARSE_OK},
        {"1200000", FLOAT_PARSE_OK},
        {"16777217", FLOAT_PARSE_OK},
        {"16777217.0000000000000000000000000000001", FLOAT_PARSE_OK},
        {"1.00000005960464477539062500000000000001", FLOAT_PARSE_OK},
        {"1.000000059604644775390625", FLOAT_PARSE_OK},
        {"340282350000000000000000000000000000000", FLOAT_PARSE_OK},
        {"1e-20", FLOAT_PARSE_OK},
        {"1E+20", FLOAT_PARSE_OK},
        {"1.17549435e-38", FLOAT_PARSE_OK},
        {"0.000000000000000000000000000000000000000000000001e50", FLOAT_PARSE_OK},
        {"3.4028236e38", FLOAT_PARSE_OVERFLOW},
        {"1e99999999999", FLOAT_PARSE_OVERFLOW},
        {"1e39", FLOAT_PARSE_OVERFLOW},
        {"1e-40", FLOAT_PARSE_DENORMAL},
        {"1e-99999", FLOAT_PARSE_DENORMAL},
        {"", FLOAT_PARSE_MALFORMED},
        {".", FLOAT_PARSE_MALFORMED},
        {"1.", FLOAT_PARSE_MALFORMED},
        {"1e", FLOAT_PARSE_MALFORMED},
        {"1e+", FLOAT_PARSE_MALFORMED},
        {"-1", FLOAT_PARSE_MALFORMED},
        {"1f", FLOAT_PARSE_MALFORMED},
        {"1.2.3", FLOAT_PARSE_MALFORMED},
        {"nan", FLOAT_PARSE_MALFORMED},
        {"0x10", FLOAT_PARSE_MALFORMED},
    };
    for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
        float value = -7.0f;
        assert_int_equal(float_parse(row[i].text, strlen(row[i].text), &value), row[i].result);
        if (row[i].result == FLOAT_PARSE_OK)
            assert_int_equal(bits_of(value), bits_of(strtof(row[i].text, NULL)));
    }
    uint32_t seed = 3;
    for (int i = 0; i < 100000; i++) {
        char text[80];
        seed = seed * 1664525u + 1013904223u;
        uint32_t bits = seed >> 1;
        if (bits >= 0x7f000000u || bits < 0x01000000u)
            continue;
        // Exactly between two numbers, and just off it.
        double middle = ((double)float_of(bits) + (double)float_of(bits + 1)) / 2;
        for (int digits = 5; digits < 60; digits += 9) {
            int length = snprintf(text, sizeof text, "%.*e", digits, middle);
            float value = 0;
            assert_int_equal(float_parse(text, (size_t)length, &value), FLOAT_PARSE_OK);
            assert_int_equal(bits_of(value), bits_of(strtof(text, NULL)));
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_to_float),       cmocka_unit_test(test_rounding),
        cmocka_unit_test(test_bulk),           cmocka_unit_test(test_print_all),
        cmocka_unit_test(test_print_examples), cmocka_unit_test(test_float_print),
        cmocka_unit_test(test_float_parse),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
