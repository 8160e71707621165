#include "daemon/compiler/graph/elements.h"
#include "daemon/compiler/graph/half.h"
#include <math.h>
#include <string.h>

/* The small float formats: value = (-1)^sign * 1.mantissa * 2^(exponent - bias). */
struct small_float {
    enum element_type type;
    int exponent_bits, mantissa_bits, bias;
    double largest;
    bool infinity;      /* the largest exponent is for infinity and NaN, as in IEEE 754 */
    bool unsigned_zero; /* "UZ": no -0, and its pattern is the only NaN */
    bool no_nan;
};

static const struct small_float small_floats[] = {
    {TYPE_FLOAT8E4M3FN, 4, 3, 7, 448, false, false, false},
    {TYPE_FLOAT8E4M3FNUZ, 4, 3, 8, 240, false, true, false},
    {TYPE_FLOAT8E5M2, 5, 2, 15, 57344, true, false, false},
    {TYPE_FLOAT8E5M2FNUZ, 5, 2, 16, 57344, false, true, false},
    {TYPE_FLOAT4E2M1, 2, 1, 1, 6, false, false, true},
};

static const struct small_float *small_float(enum element_type type)
{
    for (size_t i = 0; i < sizeof small_floats / sizeof *small_floats; i++)
        if (small_floats[i].type == type)
            return &small_floats[i];
    return NULL;
}

static double small_decode(const struct small_float *f, unsigned bits)
{
    unsigned sign = bits >> (f->exponent_bits + f->mantissa_bits) & 1;
    unsigned exponent = bits >> f->mantissa_bits & ((1u << f->exponent_bits) - 1);
    unsigned mantissa = bits & ((1u << f->mantissa_bits) - 1);
    unsigned top = (1u << f->exponent_bits) - 1, full = (1u << f->mantissa_bits) - 1;
    double magnitude;

    if (f->unsigned_zero && sign && !exponent && !mantissa)
        return (double)NAN;
    if (f->infinity && exponent == top)
        return mantissa ? (double)NAN : sign ? -(double)INFINITY : (double)INFINITY;
    if (!f->infinity && !f->unsigned_zero && !f->no_nan && exponent == top && mantissa == full)
        return (double)NAN;
    if (exponent)
        magnitude = ldexp((double)(mantissa | 1u << f->mantissa_bits),
                          (int)exponent - f->bias - f->mantissa_bits);
    else
        magnitude = ldexp((double)mantissa, 1 - f->bias - f->mantissa_bits);
    return sign ? -magnitude : magnitude;
}

static unsigned small_encode(const struct small_float *f, double number)
{
    unsigned sign = signbit(number) ? 1u << (f->exponent_bits + f->mantissa_bits) : 0;
    double magnitude = fabs(number), step;
    int exponent;

    if (isnan(number)) {
        if (f->unsigned_zero)
            return 1u << (f->exponent_bits + f->mantissa_bits);
        if (f->no_nan)
            return sign;
        return sign | ((1u << (f->exponent_bits + f->mantissa_bits)) - 1);
    }
    if (magnitude > f->largest)
        magnitude = f->largest;
    frexp(magnitude, &exponent);
    exponent--; /* magnitude = 1.x * 2^exponent */
    if (magnitude == 0 || exponent < 1 - f->bias)
        exponent = 1 - f->bias;
    step = ldexp(1, exponent - f->mantissa_bits);
    magnitude = rint(magnitude / step) * step; /* the default rounding is to even */
    if (magnitude > f->largest)
        magnitude = f->largest;
    if (magnitude == 0)
        return f->unsigned_zero ? 0 : sign;
    frexp(magnitude, &exponent);
    exponent--;
    if (exponent < 1 - f->bias)
        return sign | (unsigned)(magnitude / ldexp(1, 1 - f->bias - f->mantissa_bits));
    unsigned mantissa =
        (unsigned)(magnitude / ldexp(1, exponent - f->mantissa_bits)) - (1u << f->mantissa_bits);
    return sign | (unsigned)(exponent + f->bias) << f->mantissa_bits | mantissa;
}

static unsigned nibble(const void *payload, int64_t index)
{
    return ((const uint8_t *)payload)[index / 2] >> (index % 2 * 4) & 15;
}

static void set_bits(void *payload, int bits, int64_t index, unsigned value)
{
    int64_t per = 8 / bits;
    uint8_t *byte = (uint8_t *)payload + index / per;
    int at = (int)(index % per) * bits;
    unsigned mask = ((1u << bits) - 1) << at;

    *byte = (uint8_t)((*byte & ~mask) | (value << at & mask));
}

static float bfloat_decode(uint16_t bits)
{
    uint32_t wide = (uint32_t)bits << 16;
    float number;

    memcpy(&number, &wide, sizeof number);
    return number;
}

static uint16_t bfloat_encode(float number)
{
    uint32_t bits;

    memcpy(&bits, &number, sizeof bits);
    if (isnan(number))
        return (uint16_t)(bits >> 16 | 0x40);
    return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

/* Reads as an integer what is one; false for the others. */
static bool read_integer(const void *payload, enum element_type type, int64_t i, int64_t *out)
{
    switch (type) {
    case TYPE_BOOL:
        *out = ((const uint8_t *)payload)[i] != 0;
        return true;
    case TYPE_UINT8:
        *out = ((const uint8_t *)payload)[i];
        return true;
    case TYPE_INT8:
        *out = ((const int8_t *)payload)[i];
        return true;
    case TYPE_UINT16: {
        uint16_t x;
        memcpy(&x, (const char *)payload + i * 2, sizeof x);
        *out = x;
        return true;
    }
    case TYPE_INT16: {
        int16_t x;
        memcpy(&x, (const char *)payload + i * 2, sizeof x);
        *out = x;
        return true;
    }
    case TYPE_UINT32: {
        uint32_t x;
        memcpy(&x, (const char *)payload + i * 4, sizeof x);
        *out = x;
        return true;
    }
    case TYPE_INT32: {
        int32_t x;
        memcpy(&x, (const char *)payload + i * 4, sizeof x);
        *out = x;
        return true;
    }
    case TYPE_UINT64:
    case TYPE_INT64:
        memcpy(out, (const char *)payload + i * 8, sizeof *out);
        return true;
    case TYPE_UINT4:
        *out = nibble(payload, i);
        return true;
    case TYPE_INT4:
        *out = (int)(nibble(payload, i) ^ 8) - 8;
        return true;
    case TYPE_UINT2:
        *out = ((const uint8_t *)payload)[i / 4] >> (i % 4 * 2) & 3;
        return true;
    case TYPE_INT2:
        *out = (int)((((const uint8_t *)payload)[i / 4] >> (i % 4 * 2) & 3) ^ 2) - 2;
        return true;
    default:
        return false;
    }
}

double payload_number(const void *payload, enum element_type type, int64_t index)
{
    int64_t integer;

    switch (type) {
    case TYPE_FLOAT32: {
        float x;
        memcpy(&x, (const char *)payload + index * 4, sizeof x);
        return (double)x;
    }
    case TYPE_FLOAT64: {
        double x;
        memcpy(&x, (const char *)payload + index * 8, sizeof x);
        return x;
    }
    case TYPE_FLOAT16:
    case TYPE_BFLOAT16: {
        uint16_t x;
        memcpy(&x, (const char *)payload + index * 2, sizeof x);
        return (double)(type == TYPE_FLOAT16 ? half_to_float(x) : bfloat_decode(x));
    }
    case TYPE_FLOAT8E8M0: {
        unsigned x = ((const uint8_t *)payload)[index];
        return x == 255 ? (double)NAN : ldexp(1, (int)x - 127);
    }
    case TYPE_FLOAT4E2M1:
        return small_decode(small_float(type), nibble(payload, index));
    case TYPE_FLOAT8E4M3FN:
    case TYPE_FLOAT8E4M3FNUZ:
    case TYPE_FLOAT8E5M2:
    case TYPE_FLOAT8E5M2FNUZ:
        return small_decode(small_float(type), ((const uint8_t *)payload)[index]);
    default:
        if (!read_integer(payload, type, index, &integer))
            return 0;
        return type == TYPE_UINT64 ? (double)(uint64_t)integer : (double)integer;
    }
}

static int64_t truncate_to(double number, double low, double high)
{
    if (isnan(number))
        return 0;
    if (number <= low)
        return (int64_t)low;
    if (number >= high) /* high may be 2^63, which no int64 holds */
        return high >= 0x1p63 ? INT64_MAX : (int64_t)high;
    return (int64_t)number;
}

int64_t payload_integer(const void *payload, enum element_type type, int64_t index)
{
    int64_t integer;

    if (read_integer(payload, type, index, &integer))
        return integer;
    return truncate_to(payload_number(payload, type, index), -0x1p63, 0x1p63);
}

void payload_set_integer(void *payload, enum element_type type, int64_t index, int64_t number)
{
    int bits = type_bits(type);

    if (type == TYPE_BOOL) {
        ((uint8_t *)payload)[index] = number != 0;
        return;
    }
    if (!type_is_integer(type)) {
        payload_set(payload, type, index, (double)number);
        return;
    }
    if (bits < 8)
        set_bits(payload, bits, index, (unsigned)number & 15);
    else
        memcpy((char *)payload + index * (bits / 8), &number, (size_t)bits / 8); /* low bytes */
}

void payload_set(void *payload, enum element_type type, int64_t index, double number)
{
    int bits = type_bits(type);

    switch (type) {
    case TYPE_FLOAT32: {
        float x = (float)number;
        memcpy((char *)payload + index * 4, &x, sizeof x);
        return;
    }
    case TYPE_FLOAT64:
        memcpy((char *)payload + index * 8, &number, sizeof number);
        return;
    case TYPE_FLOAT16:
    case TYPE_BFLOAT16: {
        uint16_t x =
            type == TYPE_FLOAT16 ? half_from_float((float)number) : bfloat_encode((float)number);
        memcpy((char *)payload + index * 2, &x, sizeof x);
        return;
    }
    case TYPE_FLOAT8E8M0: {
        int exponent;
        double fraction = frexp(fabs(number), &exponent); /* 0.5 <= fraction < 1 */
        int biased = (fraction > 0.5 ? exponent : exponent - 1) + 127;

        if (isnan(number))
            biased = 255;
        else if (number == 0 || biased < 0)
            biased = 0;
        else if (isinf(number) || biased > 254)
            biased = 254;
        ((uint8_t *)payload)[index] = (uint8_t)biased;
        return;
    }
    case TYPE_FLOAT4E2M1:
        set_bits(payload, 4, index, small_encode(small_float(type), number));
        return;
    case TYPE_FLOAT8E4M3FN:
    case TYPE_FLOAT8E4M3FNUZ:
    case TYPE_FLOAT8E5M2:
    case TYPE_FLOAT8E5M2FNUZ:
        ((uint8_t *)payload)[index] = (uint8_t)small_encode(small_float(type), number);
        return;
    case TYPE_BOOL:
        ((uint8_t *)payload)[index] = number != 0;
        return;
    case TYPE_UINT64: {
        uint64_t x = isnan(number) || number <= 0 ? 0
                     : number >= 0x1p64           ? UINT64_MAX
                                                  : (uint64_t)number;
        memcpy((char *)payload + index * 8, &x, sizeof x);
        return;
    }
    case TYPE_UINT2:
    case TYPE_UINT4:
    case TYPE_UINT8:
    case TYPE_UINT16:
    case TYPE_UINT32:
        payload_set_integer(payload, type, index, truncate_to(number, 0, ldexp(1, bits) - 1));
        return;
    case TYPE_INT2:
    case TYPE_INT4:
    case TYPE_INT8:
    case TYPE_INT16:
    case TYPE_INT32:
        payload_set_integer(payload, type, index,
                            truncate_to(number, -ldexp(1, bits - 1), ldexp(1, bits - 1) - 1));
        return;
    case TYPE_INT64:
        payload_set_integer(payload, type, index, truncate_to(number, -0x1p63, 0x1p63));
        return;
    default:
        return;
    }
}

void payload_to_floats(const void *payload, enum element_type type, int64_t count, float *out)
{
    if (type == TYPE_FLOAT32 && count) {
        memcpy(out, payload, (size_t)count * sizeof *out);
    } else if (type == TYPE_FLOAT16 && (uintptr_t)payload % 2 == 0) {
        half_to_floats(out, payload, (size_t)count);
    } else {
        for (int64_t i = 0; i < count; i++)
            out[i] = (float)payload_number(payload, type, i);
    }
}

void payload_to_doubles(const void *payload, enum element_type type, int64_t count, double *out)
{
    if (type == TYPE_FLOAT64 && count)
        memcpy(out, payload, (size_t)count * sizeof *out);
    else
        for (int64_t i = 0; i < count; i++)
            out[i] = payload_number(payload, type, i);
}

void payload_to_integers(const void *payload, enum element_type type, int64_t count, int64_t *out)
{
    if (type == TYPE_INT64 && count)
        memcpy(out, payload, (size_t)count * sizeof *out);
    else
        for (int64_t i = 0; i < count; i++)
            out[i] = payload_integer(payload, type, i);
}
