#include "daemon/compiler/strbuf.h"
#include <stdio.h>
#include <string.h>

void strbuf_init(struct strbuf *s, struct arena *arena)
{
    *s = (struct strbuf){.arena = arena, .text = (char *)""};
}

static void strbuf_room(struct strbuf *s, size_t more)
{
    if (s->room - s->length > more)
        return;
    size_t room = s->room ? s->room * 2 : 128;
    while (room - s->length <= more)
        room *= 2;
    char *grown = arena_alloc(s->arena, room);
    memcpy(grown, s->text, s->length);
    s->text = grown;
    s->room = room;
}

void strbuf_add_bytes(struct strbuf *s, const void *bytes, size_t size)
{
    strbuf_room(s, size + 1);
    memcpy(s->text + s->length, bytes, size);
    s->length += size;
    s->text[s->length] = '\0';
}

void strbuf_add(struct strbuf *s, const char *text)
{
    strbuf_add_bytes(s, text, strlen(text));
}

void strbuf_char(struct strbuf *s, char c)
{
    strbuf_add_bytes(s, &c, 1);
}

void strbuf_vprintf(struct strbuf *s, const char *format, va_list arguments)
{
    va_list again;

    va_copy(again, arguments);
    int length = vsnprintf(NULL, 0, format, again);
    va_end(again);
    if (length <= 0)
        return;
    strbuf_room(s, (size_t)length + 1);
    vsnprintf(s->text + s->length, (size_t)length + 1, format, arguments);
    s->length += (size_t)length;
}

void strbuf_printf(struct strbuf *s, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    strbuf_vprintf(s, format, arguments);
    va_end(arguments);
}

void strbuf_insert(struct strbuf *s, size_t place, const char *bytes, size_t size)
{
    strbuf_room(s, size + 1);
    memmove(s->text + place + size, s->text + place, s->length - place);
    memcpy(s->text + place, bytes, size);
    s->length += size;
    s->text[s->length] = '\0';
}

void strbuf_truncate(struct strbuf *s, size_t length)
{
    if (length < s->length) {
        s->length = length;
        s->text[length] = '\0';
    }
}
