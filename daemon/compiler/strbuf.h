#ifndef COMPILER_STRBUF_H
#define COMPILER_STRBUF_H
/*
 * A text that grows, inside an arena. Always NUL-terminated once anything was added. Printing never
 * depends on the locale: numbers are written by the functions here or by integer printf formats
 * only.
 */
#include "daemon/compiler/arena.h"
#include <stdarg.h>

struct strbuf {
    struct arena *arena; /* borrowed */
    char *text;          /* "" while empty */
    size_t length, room;
};

void strbuf_init(struct strbuf *s, struct arena *arena);
void strbuf_add(struct strbuf *s, const char *text);
void strbuf_add_bytes(struct strbuf *s, const void *bytes, size_t size);
void strbuf_char(struct strbuf *s, char c);
void strbuf_printf(struct strbuf *s, const char *format, ...) __attribute__((format(printf, 2, 3)));
void strbuf_vprintf(struct strbuf *s, const char *format, va_list arguments);
/* Puts size bytes before the byte at place (0 … length). */
void strbuf_insert(struct strbuf *s, size_t place, const char *bytes, size_t size);
/* Forgets the text after length. */
void strbuf_truncate(struct strbuf *s, size_t length);

#endif
