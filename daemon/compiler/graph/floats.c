#include "daemon/compiler/graph/floats.h"
#include <stdint.h>
#include <string.h>

enum { LANES = 8 };

float floats_largest(const float *numbers, size_t count)
{
    uint32_t most[LANES] = {0}, all = 0;
    size_t i = 0;
    float largest;

    /* Magnitudes of float32 are in the order of their bits. */
    for (; i + LANES <= count; i += LANES) {
        uint32_t bits[LANES];

        memcpy(bits, numbers + i, sizeof bits);
        for (int k = 0; k < LANES; k++) {
            bits[k] &= 0x7fffffff;
            most[k] = bits[k] > most[k] ? bits[k] : most[k];
        }
    }
    for (; i < count; i++) {
        uint32_t bits;

        memcpy(&bits, numbers + i, sizeof bits);
        bits &= 0x7fffffff;
        most[0] = bits > most[0] ? bits : most[0];
    }
    for (int k = 0; k < LANES; k++)
        all = most[k] > all ? most[k] : all;
    memcpy(&largest, &all, sizeof largest);
    return largest;
}

double floats_square_sum(const float *numbers, size_t count)
{
    double sums[LANES] = {0}, sum = 0;
    size_t i = 0;

    for (; i + LANES <= count; i += LANES)
        for (int k = 0; k < LANES; k++)
            sums[k] += (double)numbers[i + (size_t)k] * (double)numbers[i + (size_t)k];
    for (; i < count; i++)
        sums[i % LANES] += (double)numbers[i] * (double)numbers[i];
    for (int k = 0; k < LANES; k++)
        sum += sums[k];
    return sum;
}

void floats_limit(float *numbers, size_t count, float limit)
{
    for (size_t i = 0; i < count; i++) {
        float x = numbers[i];

        x = x > limit ? limit : x;
        x = x < -limit ? -limit : x;
        numbers[i] = x == x ? x : 0;
    }
}

void floats_scale(float *to, const float *from, size_t count, double factor)
{
    for (size_t i = 0; i < count; i++)
        to[i] = (float)((double)from[i] * factor);
}
