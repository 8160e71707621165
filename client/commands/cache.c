/*
 * What the cache holds, whether it is sound, and how to be rid of it.
 */
#include "client/command.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static void print_stats(const struct cache_stats *s)
{
    for (int kind = 1; kind < CACHE_KIND_END; kind++)
        printf("%s: %" PRIu64 " rows\n", cache_kind_name((enum cache_kind)kind), s->rows[kind]);
    printf("%" PRIu64 " bytes in use, %" PRIu64 " bytes on disk, limit %" PRIu64 " bytes\n",
           s->bytes, s->file_bytes, s->limit_bytes);
}

static enum exit_status run(struct invocation *v)
{
    const char *action = v->operands[0];
    struct cache_stats stats;
    uint64_t rows, bad;

    if (invocation_flag(v, "no-cache"))
        invocation_misuse(v, "cache does not go with --no-cache");
    if (strcmp(action, "stats") && strcmp(action, "verify") && strcmp(action, "clear"))
        invocation_misuse(v, "cache takes stats, verify or clear, not \"%s\"", action);
    invocation_cache(v);
    cache_stats(v->cache, &stats);
    if (!stats.on)
        invocation_fail(v, "the cache is off: %s",
                        *stats.why ? stats.why : "there is no place for it");
    if (!strcmp(action, "stats")) {
        print_stats(&stats);
        return EXIT_FINE;
    }
    if (!strcmp(action, "clear")) {
        if (!cache_clear(v->cache))
            invocation_fail(v, "the cache cannot be cleared");
        return EXIT_FINE;
    }
    if (!cache_verify(v->cache, &rows, &bad))
        invocation_fail(v, "the cache cannot be read to its end, or was damaged and is put aside");
    printf("%" PRIu64 " rows, %" PRIu64 " bad\n", rows, bad);
    return EXIT_FINE;
}

const struct command command_cache = {
    .name = "cache",
    .arguments = "stats|verify|clear",
    .documentation = "The cache: what it holds, checking it, emptying it.",
    .min_operands = 1,
    .max_operands = 1,
    .run = run,
};
