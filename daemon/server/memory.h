#ifndef DAEMON_SERVER_MEMORY_H
#define DAEMON_SERVER_MEMORY_H
/*
 * Small memory: the daemon's own bookkeeping, a few bytes to a few kilobytes at a time. Where not
 * even that can be had, nothing that the daemon promises can be kept: it says so and aborts.
 * Whatever an input can make large (texts, messages, results) is allocated elsewhere and may fail.
 * Any thread; freed with free().
 */
#include <stddef.h>

/* Zeroed. */
void *memory_new(size_t size);
char *memory_text(const char *text); /* NULL gives NULL */
char *memory_printf(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* A counted array with room for one element more: doubles at powers of two. count elements are in
 * use. */
void *memory_grow(void *array, size_t count, size_t size);

#endif
