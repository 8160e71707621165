#ifndef PROTOCOL_BUFFER_H
#define PROTOCOL_BUFFER_H

#include <stdbool.h>
#include <stddef.h>

/*
 * A growable run of bytes.
 *
 * `data` holds `length` bytes and, whenever data is not NULL, a zero byte after them that does not
 * count, so that text can be handed to C functions. An empty buffer needs no release, and a
 * released one is empty again.
 *
 * Out of memory is remembered: the call returns -ENOMEM, sets `failed`, and every later append does
 * nothing and returns -ENOMEM too. A writer may therefore append many times and look once at the
 * end.
 *
 * Any thread, one at a time.
 */
struct buffer {
    char *data;
    size_t length;
    size_t capacity; /* bytes that data can hold, the zero byte included */
    bool failed;
};

#define BUFFER_EMPTY                                                                               \
    {                                                                                              \
        NULL, 0, 0, false                                                                          \
    }

/* Frees the bytes; the buffer is empty and usable afterwards, `failed` is forgotten. */
void buffer_release(struct buffer *buffer);

/* Forgets the bytes and `failed` but keeps the memory. */
void buffer_clear(struct buffer *buffer);

/* Makes room for `extra` more bytes. 0 or -ENOMEM. */
int buffer_reserve(struct buffer *buffer, size_t extra);

/* Appends bytes, a C string, one byte, formatted text. `data` must not lie inside the buffer.
 * 0 or -ENOMEM. */
int buffer_append(struct buffer *buffer, const void *data, size_t length);
int buffer_append_text(struct buffer *buffer, const char *text);
int buffer_append_byte(struct buffer *buffer, char byte);
int buffer_printf(struct buffer *buffer, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Replaces `count` bytes at `offset` (both within length) by `length` bytes of `data`.
 * 0 or -ENOMEM, and then nothing has changed. */
int buffer_splice(struct buffer *buffer, size_t offset, size_t count, const void *data,
                  size_t length);

/* Drops the first `count` bytes (at most length). */
void buffer_consume(struct buffer *buffer, size_t count);

/* Hands the bytes over, to be freed with free(); never NULL unless the buffer failed or memory is
 * out. `length` may be NULL. The buffer is empty afterwards. */
char *buffer_take(struct buffer *buffer, size_t *length);

#endif
