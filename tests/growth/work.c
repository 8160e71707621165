/*
 * How much work compiling a model is, without a clock: work MODEL... prints a line for each,
 *
 *     BLOCKS PEAK STATUS
 *
 * the basic blocks that were run (with 16 bytes that the C library moved or looked at as one), the
 * most bytes that were allocated at a time, and how the compile ended: ok, refused, failed.
 *
 * The compiler is built for this with -fsanitize-coverage=trace-pc, which calls a function of ours
 * in each block; this file is built without.
 */
#include "daemon/compiler/compiler.h"
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint64_t blocks;
static size_t allocated, peak;

void __sanitizer_cov_trace_pc(void);
void __sanitizer_cov_trace_pc(void)
{
    blocks++;
}

/* ---- what the linker puts in the place of the C library's (--wrap) ---- */

#define WRAP(result, name, ...)                                                                    \
    result __real_##name(__VA_ARGS__);                                                             \
    result __wrap_##name(__VA_ARGS__);                                                             \
    result __wrap_##name(__VA_ARGS__)

WRAP(void *, memcpy, void *to, const void *from, size_t size)
{
    blocks += size / 16;
    return __real_memcpy(to, from, size);
}

WRAP(void *, memmove, void *to, const void *from, size_t size)
{
    blocks += size / 16;
    return __real_memmove(to, from, size);
}

WRAP(void *, memset, void *to, int byte, size_t size)
{
    blocks += size / 16;
    return __real_memset(to, byte, size);
}

WRAP(int, memcmp, const void *a, const void *b, size_t size)
{
    blocks += size / 16;
    return __real_memcmp(a, b, size);
}

WRAP(size_t, strlen, const char *text)
{
    size_t length = __real_strlen(text);

    blocks += length / 16;
    return length;
}

static void *took(void *block)
{
    allocated += block ? malloc_usable_size(block) : 0;
    peak = allocated > peak ? allocated : peak;
    return block;
}

WRAP(void *, malloc, size_t size)
{
    return took(__real_malloc(size));
}

WRAP(void *, calloc, size_t count, size_t size)
{
    return took(__real_calloc(count, size));
}

WRAP(void, free, void *block)
{
    allocated -= block ? malloc_usable_size(block) : 0;
    __real_free(block);
}

WRAP(void *, realloc, void *block, size_t size)
{
    void *moved;
    size_t was = block ? malloc_usable_size(block) : 0;

    moved = __real_realloc(block, size);
    if (moved || !size)
        allocated -= was;
    return took(moved);
}

int main(int count, char **words)
{
    static const char *const ends[] = {[COMPILE_OK] = "ok",
                                       [COMPILE_REFUSED] = "refused",
                                       [COMPILE_CANCELLED] = "cancelled",
                                       [COMPILE_FAILED] = "failed"};

    for (int i = 1; i < count; i++) {
        const char *model = words[i];
        struct compile_options options = {.script = "Growing", .models = &model, .model_count = 1};
        struct compile *job;
        enum compile_status status;
        size_t before = allocated;

        blocks = 0;
        peak = allocated;
        job = compile_new(&options, &files_system, NULL, NULL);
        if (!job)
            return 1;
        status = compile_run(job);
        if (status == COMPILE_OK)
            compile_explain(job);
        printf("%llu %zu %s %s\n", (unsigned long long)blocks, peak - before, ends[status],
               compile_why(job));
        fflush(stdout);
        compile_free(job);
    }
    return 0;
}
