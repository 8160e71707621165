/* What every command needs of its invocation beside the options: a way out, a voice, the cache. */
#include "client/command.h"
#include "protocol/endpoint.h"
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* Enough for a long time of work on one project; the daemon's own default is the same. */
static const uint64_t CACHE_LIMIT = (uint64_t)512 << 20;

void invocation_fail(struct invocation *v, const char *format, ...)
{
    char why[sizeof v->context->why];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(why, sizeof why, format, arguments);
    va_end(arguments);
    context_escape(v->context, ESCAPE_SYSTEM, "%s", why);
}

void invocation_misuse(struct invocation *v, const char *format, ...)
{
    char why[sizeof v->context->why - 80];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(why, sizeof why, format, arguments);
    va_end(arguments);
    context_escape(v->context, ESCAPE_SYSTEM, "%s (see onnxgpu %s%s--help)", why,
                   v->command ? v->command->name : "", v->command ? " " : "");
}

void invocation_note(const struct invocation *v, const char *format, ...)
{
    va_list arguments;

    if (invocation_flag(v, "quiet"))
        return;
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fputc('\n', stderr);
}

void invocation_operand(struct invocation *v, const char *path)
{
    struct stat status;

    if (stat(path, &status))
        invocation_fail(v, "%s: %s", path, strerror(errno));
}

struct compile_cache *invocation_cache(struct invocation *v)
{
    const char *named = invocation_value(v, "cache");
    char *found = NULL;
    char why[256];

    if (invocation_flag(v, "no-cache"))
        return NULL;
    if (!v->cache) {
        /* Without a home there is no cache, which is no trouble. */
        if (!named && endpoint_cache_path(&found))
            found = NULL;
        v->cache =
            cache_open(named ? named : found, CACHE_LIMIT, compiler_version, why, sizeof why);
        free(found);
        if (v->cache && named && *why)
            invocation_note(v, "onnxgpu: the cache is off: %s", why);
    }
    return compile_cache_init(&v->adapter, v->cache);
}
