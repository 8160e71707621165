#include "daemon/heap.h"
#include <malloc.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

enum {
    PREPARED = 3 << 18, /* bytes: compiles of small models and the cache's connection need less */
    KEPT = 1 << 22,
};

void heap_prepare(void)
{
#if defined(M_TRIM_THRESHOLD) && defined(MADV_POPULATE_WRITE)
    const uintptr_t page = 4096;
    uintptr_t first, end;
    void *block;

    /* Smaller blocks get no mappings of their own, and come from these pages. */
    mallopt(M_MMAP_THRESHOLD, PREPARED);
    mallopt(M_TRIM_THRESHOLD, KEPT);
    block = malloc(PREPARED - 64);
    if (!block)
        return;
    first = ((uintptr_t)block + page - 1) / page * page;
    end = ((uintptr_t)block + PREPARED - 64) / page * page;
    madvise((void *)first, end - first, MADV_POPULATE_WRITE);
    free(block);
#endif
}
