#include "daemon/compiler/context.h"
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void context_init(struct context *c, const atomic_bool *cancel)
{
    memset(c, 0, sizeof *c);
    c->cancel = cancel;
    c->styles = 1;
    arena_init(&c->arena, c);
}

void context_release(struct context *c)
{
    arena_release(&c->arena);
    arena_forget_spare(c);
    memset(&c->diagnostics, 0, sizeof c->diagnostics);
}

void context_escape(struct context *c, enum escape_reason reason, const char *format, ...)
{
    va_list arguments;

    c->limit = (struct arena_limit){0};
    va_start(arguments, format);
    vsnprintf(c->why, sizeof c->why, format, arguments);
    va_end(arguments);
    c->reason = reason;
    longjmp(c->escape, 1);
}

void context_poll(struct context *c)
{
    if (c->cancel && atomic_load_explicit(c->cancel, memory_order_relaxed))
        context_escape(c, ESCAPE_CANCELLED, "cancelled");
}
