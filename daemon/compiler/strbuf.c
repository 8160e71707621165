#include "daemon/compiler/strbuf.h"
#include <stdio.h>
#include <string.h>

enum { LIKELY = 64 }; /* bytes that most of what is printed needs less than */

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
    char *grown = NEW_ROOM(s->arena, room, char);
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

    /* Into the room that is left, and again where that was too little. */
    strbuf_room(s, LIKELY);
    va_copy(again, arguments);
    int length = vsnprintf(s->text + s->length, s->room - s->length, format, again);
    va_end(again);
    if (length > 0 && (size_t)length >= s->room - s->length) {
        strbuf_room(s, (size_t)length + 1);
        vsnprintf(s->text + s->length, (size_t)length + 1, format, arguments);
    }
    s->length += length > 0 ? (size_t)length : 0;
    s->text[s->length] = '\0';
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
