/*
 * What a compile of a large model cannot be faster than, in the same run on the same machine: reading and hashing its file,
 * converting it to half, and writing as many bytes as the outputs have. limit MODEL OUTPUT BYTES prints milliseconds.
 */
#include "daemon/compiler/graph/half.h"
#include "daemon/compiler/graph/hash.h"
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { PIECE = 1 << 18 };

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

int main(int count, char **words)
{
    static float piece[PIECE / sizeof(float)];
    static uint16_t halves[PIECE / sizeof(float)];
    struct hasher hasher;
    FILE *in, *out;
    size_t got, bytes;
    double began;

    if (count != 4 || !(in = fopen(words[1], "rb")) || !(out = fopen(words[2], "wb"))) {
        fprintf(stderr, "usage: limit MODEL OUTPUT BYTES\n");
        return 2;
    }
    bytes = strtoull(words[3], NULL, 10);
    setvbuf(in, NULL, _IONBF, 0);
    setvbuf(out, NULL, _IONBF, 0);
    hasher_init(&hasher);
    began = now();
    while ((got = fread(piece, 1, sizeof piece, in)) > 0) {
        size_t size;

        hasher_add(&hasher, piece, got);
        half_from_floats(halves, piece, got / sizeof *piece);
        for (size_t left = bytes < 2 * got ? bytes : 2 * got; left; left -= size, bytes -= size) {
            size = left < sizeof halves ? left : sizeof halves;
            if (fwrite(halves, 1, size, out) != size)
                return 1;
        }
    }
    while (bytes) {
        size_t size = bytes < sizeof halves ? bytes : sizeof halves;

        if (fwrite(halves, 1, size, out) != size)
            return 1;
        bytes -= size;
    }
    fclose(out);
    fclose(in);
    printf("%.1f %016llx\n", now() - began, (unsigned long long)hasher_finish(&hasher).low);
    return 0;
}
