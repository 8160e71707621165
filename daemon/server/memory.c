#include "daemon/server/memory.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *check(void *memory)
{
    if (!memory) {
        fputs("onnxgpud: out of memory\n", stderr);
        abort();
    }
    return memory;
}

void *memory_new(size_t size)
{
    return check(calloc(1, size ? size : 1));
}

char *memory_text(const char *text)
{
    return text ? check(strdup(text)) : NULL;
}

char *memory_printf(const char *format, ...)
{
    va_list arguments;
    char *text = NULL;

    va_start(arguments, format);
    if (vasprintf(&text, format, arguments) < 0)
        text = NULL;
    va_end(arguments);
    return check(text);
}

void *memory_grow(void *array, size_t count, size_t size)
{
    size_t room = count ? count * 2 : 4, bytes;

    if (count & (count - 1) || (count && count < 4))
        return array;
    return check(__builtin_mul_overflow(room, size, &bytes) ? NULL : realloc(array, bytes));
}
