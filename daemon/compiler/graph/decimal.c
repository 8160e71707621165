#include "daemon/compiler/graph/decimal.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

// A natural number, least limb first. Enough for 128 digits times any power of two that a float32
// has, and for ten to the sixtieth beside it.
#define LIMBS 40

struct natural {
    uint32_t limb[LIMBS];
    unsigned count;
};

static void natural_set(struct natural *n, uint32_t value)
{
    n->limb[0] = value;
    n->count = value != 0;
}

static void natural_multiply_add(struct natural *n, uint32_t factor, uint32_t carry)
{
    uint64_t rest = carry;
    for (unsigned i = 0; i < n->count; i++) {
        rest += (uint64_t)n->limb[i] * factor;
        n->limb[i] = (uint32_t)rest;
        rest >>= 32;
    }
    if (rest != 0)
        n->limb[n->count++] = (uint32_t)rest;
}

static void natural_power10(struct natural *n, unsigned exponent)
{
    for (; exponent >= 9; exponent -= 9)
        natural_multiply_add(n, 1000000000u, 0);
    for (; exponent > 0; exponent--)
        natural_multiply_add(n, 10u, 0);
}

static void natural_shift(struct natural *n, unsigned bits)
{
    for (; bits >= 31; bits -= 31)
        natural_multiply_add(n, 1u << 31, 0);
    natural_multiply_add(n, 1u << bits, 0);
}

static int natural_compare(const struct natural *a, const struct natural *b)
{
    if (a->count != b->count)
        return a->count < b->count ? -1 : 1;
    for (unsigned i = a->count; i-- > 0;)
        if (a->limb[i] != b->limb[i])
            return a->limb[i] < b->limb[i] ? -1 : 1;
    return 0;
}

static void natural_add(struct natural *sum, const struct natural *a, const struct natural *b)
{
    unsigned count = a->count > b->count ? a->count : b->count;
    uint64_t carry = 0;
    for (unsigned i = 0; i < count; i++) {
        carry += (i < a->count ? a->limb[i] : 0u);
        carry += (i < b->count ? b->limb[i] : 0u);
        sum->limb[i] = (uint32_t)carry;
        carry >>= 32;
    }
    sum->count = count;
    if (carry != 0)
        sum->limb[sum->count++] = (uint32_t)carry;
}

// a -= b, which must not be the larger one.
static void natural_subtract(struct natural *a, const struct natural *b)
{
    uint32_t borrow = 0;
    for (unsigned i = 0; i < a->count; i++) {
        uint64_t take = (uint64_t)(i < b->count ? b->limb[i] : 0u) + borrow;
        borrow = a->limb[i] < take;
        a->limb[i] = (uint32_t)(a->limb[i] - take);
    }
    while (a->count > 0 && a->limb[a->count - 1] == 0)
        a->count--;
}

// ---- printing

// value = mantissa * 2^exponent, both from the bits of a positive finite number.
static void split(uint32_t bits, uint32_t *mantissa, int *exponent)
{
    uint32_t biased = bits >> 23;
    *mantissa = biased == 0 ? bits : (bits & 0x007fffffu) | 0x00800000u;
    *exponent = (biased == 0 ? 1 : (int)biased) - 150;
}

// The digits of the number and the position of the point: 0.d1d2d3… * 10^point.
static unsigned shortest_digits(uint32_t bits, char digits[16], int *point)
{
    uint32_t mantissa;
    int exponent;
    split(bits, &mantissa, &exponent);

    // value = r / s, and half the gaps to its neighbours are up / s and down / s.
    struct natural r, s, up, down, sum;
    bool narrow = (bits & 0x007fffffu) == 0 && bits >> 23 > 1; // the gap below is half as wide
    natural_set(&r, mantissa);
    natural_set(&s, 1);
    natural_set(&up, 1);
    natural_set(&down, 1);
    unsigned extra = narrow ? 2 : 1;
    natural_shift(&r, extra);
    natural_shift(&s, extra);
    if (narrow)
        natural_shift(&up, 1);
    if (exponent >= 0) {
        natural_shift(&r, (unsigned)exponent);
        natural_shift(&up, (unsigned)exponent);
        natural_shift(&down, (unsigned)exponent);
    } else {
        natural_shift(&s, (unsigned)-exponent);
    }

    // An even mantissa wins ties when the text is read, so its interval includes its ends.
    bool even = (mantissa & 1u) == 0;
    *point = 0;
    for (;;) { // scale up until r + up is within s
        natural_add(&sum, &r, &up);
        int order = natural_compare(&sum, &s);
        if (order < 0 || (order == 0 && !even))
            break;
        natural_multiply_add(&s, 10, 0);
        ++*point;
    }
    for (;;) { // scale down until one more step would pass it
        struct natural r10 = r, up10 = up;
        natural_multiply_add(&r10, 10, 0);
        natural_multiply_add(&up10, 10, 0);
        natural_add(&sum, &r10, &up10);
        int order = natural_compare(&sum, &s);
        if (order > 0 || (order == 0 && even))
            break;
        r = r10;
        up = up10;
        natural_multiply_add(&down, 10, 0);
        --*point;
    }

    unsigned count = 0;
    for (;;) {
        natural_multiply_add(&r, 10, 0);
        natural_multiply_add(&up, 10, 0);
        natural_multiply_add(&down, 10, 0);
        char digit = '0';
        while (natural_compare(&r, &s) >= 0) {
            natural_subtract(&r, &s);
            digit++;
        }
        int low_order = natural_compare(&r, &down);
        natural_add(&sum, &r, &up);
        int high_order = natural_compare(&sum, &s);
        bool low = low_order < 0 || (low_order == 0 && even);
        bool high = high_order > 0 || (high_order == 0 && even);
        if (!low && !high) {
            digits[count++] = digit;
            continue;
        }
        if (low && high) {
            natural_add(&sum, &r, &r);
            high = natural_compare(&sum, &s) >= 0;
        }
        digits[count++] = (char)(high ? digit + 1 : digit);
        return count;
    }
}

size_t float_print(char text[FLOAT_TEXT_SIZE], float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    size_t length = 0;
    if (bits >> 31 != 0)
        text[length++] = '-';
    bits &= 0x7fffffffu;

    char digits[16] = "0";
    int count = 1, point = 1;
    if (bits != 0)
        count = (int)shortest_digits(bits, digits, &point);

    int exponent = 0;
    if (point > 10 || point < -6) {
        exponent = point - 1;
        point = 1;
    }
    if (point <= 0)
        text[length++] = '0';
    for (int i = 0; i < point; i++)
        text[length++] = i < count ? digits[i] : '0';
    text[length++] = '.';
    for (int i = point; i < 0; i++)
        text[length++] = '0';
    for (int i = point > 0 ? point : 0; i < count; i++)
        text[length++] = digits[i];
    if (text[length - 1] == '.')
        text[length++] = '0';
    if (exponent != 0) {
        unsigned size = (unsigned)(exponent < 0 ? -exponent : exponent);
        text[length++] = 'e';
        if (exponent < 0)
            text[length++] = '-';
        if (size >= 10)
            text[length++] = (char)('0' + size / 10);
        text[length++] = (char)('0' + size % 10);
    }
    text[length++] = 'f';
    text[length] = '\0';
    return length;
}

// ---- parsing

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

// The order of digits * 10^exponent against mantissa * 2^power.
static int compare_decimal(const struct natural *digits, int exponent, uint64_t mantissa, int power)
{
    struct natural left = *digits, right;
    natural_set(&right, (uint32_t)(mantissa >> 32));
    natural_shift(&right, 31);
    natural_multiply_add(&right, 2, 0);
    if (right.count == 0)
        natural_set(&right, (uint32_t)mantissa);
    else
        right.limb[0] |= (uint32_t)mantissa;
    if (exponent >= 0)
        natural_power10(&left, (unsigned)exponent);
    else
        natural_power10(&right, (unsigned)-exponent);
    if (power >= 0)
        natural_shift(&right, (unsigned)power);
    else
        natural_shift(&left, (unsigned)-power);
    return natural_compare(&left, &right);
}

// The float32 nearest to a decimal, by a search over all positive ones: their bits are in order.
static uint32_t nearest_bits(const struct natural *digits, int exponent)
{
    uint32_t low = 0, high = 0x7f800000u; // low <= value < high, as far as floats go
    while (high - low > 1) {
        uint32_t middle = low + (high - low) / 2, mantissa;
        int power;
        split(middle, &mantissa, &power);
        if (compare_decimal(digits, exponent, mantissa, power) >= 0)
            low = middle;
        else
            high = middle;
    }
    uint32_t mantissa;
    int power;
    split(low, &mantissa, &power);
    int order = compare_decimal(digits, exponent, (uint64_t)mantissa * 2 + 1, power - 1);
    return low + (order > 0 || (order == 0 && (low & 1u) != 0));
}

enum float_parse float_parse(const char *text, size_t length, float *value)
{
    static const double power10[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                     1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                     1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    if (length == 0 || length > FLOAT_PARSE_MAX)
        return FLOAT_PARSE_MALFORMED;

    size_t i = 0, first = 0, end = 0; // the span of digits and point that matters
    int exponent = 0, written = 0;
    bool point = false, any = false, nonzero = false;
    for (; i < length && (is_digit(text[i]) || (text[i] == '.' && !point)); i++) {
        if (text[i] == '.') {
            point = true;
            continue;
        }
        any = true;
        exponent -= point;
        if (text[i] != '0') {
            if (!nonzero)
                first = i;
            nonzero = true;
            end = i + 1;
        }
    }
    if (!any || text[i - 1] == '.')
        return FLOAT_PARSE_MALFORMED;
    size_t stop = i;
    if (i < length && (text[i] == 'e' || text[i] == 'E')) {
        bool negative = false;
        i++;
        if (i < length && (text[i] == '+' || text[i] == '-'))
            negative = text[i++] == '-';
        size_t start = i;
        for (; i < length && is_digit(text[i]); i++)
            if (written < 100000)
                written = written * 10 + (text[i] - '0');
        if (i == start)
            return FLOAT_PARSE_MALFORMED;
        exponent += negative ? -written : written;
    }
    if (i != length)
        return FLOAT_PARSE_MALFORMED;
    if (!nonzero) {
        *value = 0.0f;
        return FLOAT_PARSE_OK;
    }
    for (size_t k = end; k < stop; k++) // zeros at the end only move the point
        exponent += text[k] != '.';

    struct natural digits;
    natural_set(&digits, 0);
    uint64_t small = 0;
    int count = 0;
    for (size_t k = first; k < end; k++) {
        if (text[k] == '.')
            continue;
        natural_multiply_add(&digits, 10, (uint32_t)(text[k] - '0'));
        small = count < 18 ? small * 10 + (uint64_t)(text[k] - '0') : small;
        count++;
    }
    if (count + exponent > 40)
        return FLOAT_PARSE_OVERFLOW;
    if (count + exponent < -46) {
        *value = 0.0f;
        return FLOAT_PARSE_DENORMAL;
    }

    uint32_t bits;
    if (count <= 15 && exponent >= -22 && exponent <= 22) {
        // Both are exact in float64 and so the quotient is rounded once; the second rounding, to
        // float32, is only in danger at a tie, and that is told apart exactly.
        double wide =
            exponent < 0 ? (double)small / power10[-exponent] : (double)small * power10[exponent];
        uint64_t wide_bits;
        memcpy(&wide_bits, &wide, sizeof wide_bits);
        float narrow = (float)wide;
        memcpy(&bits, &narrow, sizeof bits);
        if ((wide_bits & 0x1fffffffu) == 0x10000000u)
            bits = nearest_bits(&digits, exponent);
    } else {
        bits = nearest_bits(&digits, exponent);
    }
    if (bits >= 0x7f800000u)
        return FLOAT_PARSE_OVERFLOW;
    memcpy(value, &bits, sizeof bits);
    return bits < 0x00800000u ? FLOAT_PARSE_DENORMAL : FLOAT_PARSE_OK;
}
