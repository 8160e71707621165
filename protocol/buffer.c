#include "protocol/buffer.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void buffer_release(struct buffer *buffer)
{
    free(buffer->data);
    *buffer = (struct buffer)BUFFER_EMPTY;
}

void buffer_clear(struct buffer *buffer)
{
    buffer->length = 0;
    buffer->failed = false;
    if (buffer->data)
        buffer->data[0] = '\0';
}

int buffer_reserve(struct buffer *buffer, size_t extra)
{
    size_t need, capacity;
    char *data;

    if (buffer->failed)
        return -ENOMEM;
    if (__builtin_add_overflow(buffer->length, extra, &need) ||
        __builtin_add_overflow(need, (size_t)1, &need))
        goto fail;
    if (need <= buffer->capacity)
        return 0;

    /* Growing by halves keeps appending linear and wastes at most a third. */
    capacity = buffer->capacity + buffer->capacity / 2;
    if (capacity < need)
        capacity = need;
    if (capacity < 64)
        capacity = 64;
    data = realloc(buffer->data, capacity);
    if (!data)
        goto fail;
    if (!buffer->data)
        data[0] = '\0';
    buffer->data = data;
    buffer->capacity = capacity;
    return 0;

fail:
    buffer->failed = true;
    return -ENOMEM;
}

int buffer_append(struct buffer *buffer, const void *data, size_t length)
{
    int rc = buffer_reserve(buffer, length);

    if (rc < 0)
        return rc;
    if (length)
        memcpy(buffer->data + buffer->length, data, length);
    buffer->length += length;
    buffer->data[buffer->length] = '\0';
    return 0;
}

int buffer_append_text(struct buffer *buffer, const char *text)
{
    return buffer_append(buffer, text, strlen(text));
}

int buffer_append_byte(struct buffer *buffer, char byte)
{
    return buffer_append(buffer, &byte, 1);
}

int buffer_printf(struct buffer *buffer, const char *format, ...)
{
    va_list args;
    int length, rc;

    va_start(args, format);
    length = vsnprintf(NULL, 0, format, args);
    va_end(args);
    if (length < 0) {
        /* The only failures that vsnprintf has for our formats are of memory. */
        buffer->failed = true;
        return -ENOMEM;
    }
    rc = buffer_reserve(buffer, (size_t)length);
    if (rc < 0)
        return rc;

    va_start(args, format);
    vsnprintf(buffer->data + buffer->length, (size_t)length + 1, format, args);
    va_end(args);
    buffer->length += (size_t)length;
    return 0;
}

int buffer_splice(struct buffer *buffer, size_t offset, size_t count, const void *data,
                  size_t length)
{
    size_t rest = buffer->length - offset - count;
    char *at;

    if (length > count) {
        int rc = buffer_reserve(buffer, length - count);
        if (rc < 0)
            return rc;
    }
    if (!buffer->data)
        return 0;
    at = buffer->data + offset;
    memmove(at + length, at + count, rest);
    if (length)
        memcpy(at, data, length);
    buffer->length = offset + length + rest;
    buffer->data[buffer->length] = '\0';
    return 0;
}

void buffer_consume(struct buffer *buffer, size_t count)
{
    if (count > buffer->length)
        count = buffer->length;
    if (!count)
        return;
    buffer->length -= count;
    memmove(buffer->data, buffer->data + count, buffer->length);
    buffer->data[buffer->length] = '\0';
}

char *buffer_take(struct buffer *buffer, size_t *length)
{
    char *data = NULL;

    if (length)
        *length = 0;
    if (buffer_reserve(buffer, 0) == 0) {
        data = buffer->data;
        if (length)
            *length = buffer->length;
        *buffer = (struct buffer)BUFFER_EMPTY;
    }
    buffer_release(buffer);
    return data;
}
