#include "daemon/compiler/graph/hex.h"
#include <stdint.h>

#if defined(__x86_64__)
#include <immintrin.h>

/* Sixteen bytes at a time: digits are looked up by a shuffle. The number of bytes done. */
__attribute__((target("avx2"))) static size_t print_avx2(char *text, const uint8_t *bytes,
                                                         size_t count)
{
    const __m256i digits = _mm256_setr_epi8('0', '1', '2', '3', '4', '5', '6', '7', '8', '9', 'a',
                                            'b', 'c', 'd', 'e', 'f', '0', '1', '2', '3', '4', '5',
                                            '6', '7', '8', '9', 'a', 'b', 'c', 'd', 'e', 'f');
    const __m256i low = _mm256_set1_epi16(0x0f);
    size_t i = 0;

    for (; i + 16 <= count; i += 16) {
        /* Each byte in 16 bits, then its high digit in the lower of the two bytes. */
        __m256i wide = _mm256_cvtepu8_epi16(_mm_loadu_si128((const __m128i *)(bytes + i)));
        __m256i nibbles = _mm256_or_si256(_mm256_srli_epi16(wide, 4),
                                          _mm256_slli_epi16(_mm256_and_si256(wide, low), 8));

        _mm256_storeu_si256((__m256i *)(text + 2 * i), _mm256_shuffle_epi8(digits, nibbles));
    }
    return i;
}

static size_t print_fast(char *text, const uint8_t *bytes, size_t count)
{
    return __builtin_cpu_supports("avx2") ? print_avx2(text, bytes, count) : 0;
}

#else

static size_t print_fast(char *text, const uint8_t *bytes, size_t count)
{
    (void)text, (void)bytes, (void)count;
    return 0;
}

#endif

void hex_print(char *text, const void *bytes, size_t count)
{
    static const char digits[] = "0123456789abcdef";
    const uint8_t *b = bytes;

    for (size_t i = print_fast(text, b, count); i < count; i++) {
        text[2 * i] = digits[b[i] >> 4];
        text[2 * i + 1] = digits[b[i] & 15];
    }
}
