#include "daemon/compiler/graph/half.h"

#include <stdbool.h>
#include <string.h>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

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

// Both roundings share everything but what happens to the bits that are shifted out.
static uint16_t convert(float value, bool nearest)
{
    uint32_t bits = bits_of(value);
    uint32_t sign = bits >> 16 & 0x8000u;
    uint32_t magnitude = bits & 0x7fffffffu;

    if (magnitude > 0x7f800000u)
        return (uint16_t)(sign | 0x7e00u | (magnitude >> 13 & 0x03ffu));
    if (magnitude == 0x7f800000u)
        return (uint16_t)(sign | 0x7c00u);
    if (magnitude >= 0x47800000u) // 65536 and more
        return (uint16_t)(sign | (nearest ? 0x7c00u : 0x7bffu));
    if (magnitude < 0x33000000u) // below half of the smallest half, 2^-25
        return (uint16_t)sign;

    uint32_t shift, mantissa;
    if (magnitude < 0x38800000u) { // below 2^-14: a denormal half, in steps of 2^-24
        shift = 126u - (magnitude >> 23);
        mantissa = (magnitude & 0x007fffffu) | 0x00800000u;
    } else {
        shift = 13;
        mantissa = magnitude - (112u << 23);
    }
    uint32_t half = mantissa >> shift;
    if (nearest) {
        uint32_t rest = mantissa & ((1u << shift) - 1u);
        uint32_t tie = 1u << (shift - 1u);
        // A carry out of the mantissa lands in the exponent, and out of the largest half in
        // infinity.
        half += rest > tie || (rest == tie && (half & 1u) != 0);
    }
    return (uint16_t)(sign | half);
}

uint16_t half_from_float(float value)
{
    return convert(value, true);
}

uint16_t half_from_float_zero(float value)
{
    return convert(value, false);
}

float half_to_float(uint16_t half)
{
    uint32_t sign = (uint32_t)(half & 0x8000u) << 16;
    uint32_t exponent = half >> 10 & 0x1fu;
    uint32_t mantissa = half & 0x03ffu;

    if (exponent == 0x1f)
        return float_of(sign | 0x7f800000u | mantissa << 13 | (mantissa != 0 ? 0x00400000u : 0u));
    if (exponent != 0)
        return float_of(sign | (exponent + 112u) << 23 | mantissa << 13);
    // Exact: ten bits times a power of two that float32 holds as a normal number.
    float value = (float)mantissa * 0x1p-24f;
    return float_of(sign | bits_of(value));
}

#if defined(__x86_64__)

static bool has_f16c(void)
{
    /* Not every compiler knows the name f16c here; every processor with AVX2 has it. */
    return __builtin_cpu_supports("avx2");
}

__attribute__((target("avx,f16c"))) static size_t
to_floats_f16c(float *values, const uint16_t *halves, size_t count)
{
    size_t i = 0;
    for (; i + 8 <= count; i += 8)
        _mm256_storeu_ps(values + i,
                         _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(halves + i))));
    return i;
}

__attribute__((target("avx,f16c"))) static size_t
from_floats_f16c(uint16_t *halves, const float *values, size_t count)
{
    size_t i = 0;
    for (; i + 8 <= count; i += 8)
        _mm_storeu_si128((__m128i *)(halves + i),
                         _mm256_cvtps_ph(_mm256_loadu_ps(values + i), _MM_FROUND_TO_NEAREST_INT));
    return i;
}

__attribute__((target("avx,f16c"))) static size_t
from_floats_zero_f16c(uint16_t *halves, const float *values, size_t count)
{
    size_t i = 0;
    for (; i + 8 <= count; i += 8)
        _mm_storeu_si128((__m128i *)(halves + i),
                         _mm256_cvtps_ph(_mm256_loadu_ps(values + i), _MM_FROUND_TO_ZERO));
    return i;
}

#else

static bool has_f16c(void)
{
    return false;
}

static size_t to_floats_f16c(float *values, const uint16_t *halves, size_t count)
{
    (void)values, (void)halves, (void)count;
    return 0;
}

static size_t from_floats_f16c(uint16_t *halves, const float *values, size_t count)
{
    (void)values, (void)halves, (void)count;
    return 0;
}

static size_t from_floats_zero_f16c(uint16_t *halves, const float *values, size_t count)
{
    (void)values, (void)halves, (void)count;
    return 0;
}

#endif

void half_from_floats(uint16_t *halves, const float *values, size_t count)
{
    for (size_t i = has_f16c() ? from_floats_f16c(halves, values, count) : 0; i < count; i++)
        halves[i] = convert(values[i], true);
}

void half_from_floats_zero(uint16_t *halves, const float *values, size_t count)
{
    for (size_t i = has_f16c() ? from_floats_zero_f16c(halves, values, count) : 0; i < count; i++)
        halves[i] = convert(values[i], false);
}

void half_to_floats(float *values, const uint16_t *halves, size_t count)
{
    for (size_t i = has_f16c() ? to_floats_f16c(values, halves, count) : 0; i < count; i++)
        values[i] = half_to_float(halves[i]);
}

// ---- text

#define PLACES_MAX 13

static const uint64_t power10[PLACES_MAX + 1] = {
    1u,           10u,           100u,           1000u,          10000u,
    100000u,      1000000u,      10000000u,      100000000u,     1000000000u,
    10000000000u, 100000000000u, 1000000000000u, 10000000000000u};

// digits * 10^-places as a float32. Numerator and denominator are exact in float64, so the quotient
// is correctly rounded; with at most five digits it is never so close to a tie of float32 that the
// second rounding could differ from a direct one.
static float decimal_value(uint64_t digits, int places)
{
    if (places >= 0)
        return (float)((double)digits / (double)power10[places]);
    return (float)((double)digits * (double)power10[-places]);
}

static size_t write_digits(char *text, bool negative, uint64_t digits, int places)
{
    char reversed[32];
    size_t count = 0, length = 0;

    for (; places < 0; places++)
        digits *= 10;
    while (places > 1 && digits % 10 == 0) {
        digits /= 10;
        places--;
    }
    do {
        reversed[count++] = (char)('0' + digits % 10);
        digits /= 10;
    } while (digits != 0 || count <= (size_t)places);

    if (negative)
        text[length++] = '-';
    while (count > (size_t)places)
        text[length++] = reversed[--count];
    text[length++] = '.';
    if (count == 0)
        text[length++] = '0';
    while (count > 0)
        text[length++] = reversed[--count];
    text[length++] = 'f';
    text[length] = '\0';
    return length;
}

size_t half_print(char text[HALF_TEXT_SIZE], uint16_t half)
{
    bool negative = (half & 0x8000u) != 0;
    uint16_t positive = half & 0x7fffu;
    if (positive == 0)
        return write_digits(text, negative, 0, 0);

    // Every half is `units` times 2^-24: all that follows is exact in integers.
    uint64_t exponent = positive >> 10;
    uint64_t units =
        exponent == 0 ? positive : (uint64_t)((positive & 0x3ffu) | 0x400u) << (exponent - 1);

    // The number of places that leaves one digit: value * 10^places is in 1 .. 10.
    int places = 0;
    while (places < 8 && units * power10[places] < (uint64_t)1 << 24)
        places++;
    if (places == 0)
        while (units >= power10[-places + 1] << 24)
            places--;

    uint64_t step = exponent == 0 ? 1 : (uint64_t)1 << (exponent - 1); // to the half above
    for (int count = 1; count <= 5; count++, places++) {
        uint64_t scaled = places >= 0 ? units * power10[places] : units;
        uint64_t unit = places >= 0 ? (uint64_t)1 << 24 : power10[-places] << 24;
        uint64_t below = places >= 0 ? scaled >> 24 : scaled / unit;
        uint64_t rest = scaled - below * unit;
        uint64_t nearest = rest < unit - rest ? rest : unit - rest;
        // Farther than half a step away it reads back as another half.
        if (nearest * 2 > (places >= 0 ? step * power10[places] : step))
            continue;
        // The neighbour on the nearer side first: it may fail where the farther one does not, since
        // the interval of a power of two is narrower below than above.
        bool up = rest * 2 > unit || (rest * 2 == unit && below % 2 != 0);
        uint64_t first = up ? below + 1 : below;
        uint64_t second = first == below ? below + 1 : below;
        if (half_from_float(decimal_value(first, places)) == positive)
            return write_digits(text, negative, first, places);
        if (half_from_float(decimal_value(second, places)) == positive)
            return write_digits(text, negative, second, places);
    }
    // Not reached: five digits tell all halves apart, as the test over all of them shows.
    return write_digits(text, negative, 0, 0);
}
