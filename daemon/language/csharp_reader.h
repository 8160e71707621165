/* csharp_reader: what the parts of the lexer (csharp_lexer.c, csharp_directive.c, csharp_quoted.c)
 * share. */
#ifndef DAEMON_LANGUAGE_CSHARP_READER_H
#define DAEMON_LANGUAGE_CSHARP_READER_H

#include "daemon/language/csharp_lexer.h"

struct csharp_reader {
    struct csharp_tokens *out;
    struct csharp_arena *arena;
    const unsigned char *text;
    uint32_t size;
    /* One byte for each open #if. */
    uint8_t *conditions;
    size_t condition_count, condition_capacity;
    /* How many more bytes may be read a second time after an interpolated string that did not come
     * out even. */
    int64_t second_readings;
};

static inline unsigned char csharp_reader_byte(const struct csharp_reader *reader, uint32_t at)
{
    return at < reader->size ? reader->text[at] : 0;
}

/* The end of the line that `at` is in: the position of its line end, or the text's end. */
uint32_t csharp_reader_line_end(const struct csharp_reader *reader, uint32_t at);

/* Reads an identifier or keyword, with @ and escapes, at `at`. Returns its end, which is `at` where
 * there is none. */
uint32_t csharp_reader_name(struct csharp_reader *reader, uint32_t at, struct csharp_token *token);

/* Reads the directive whose # stands at `at` in text that is compiled. Returns where such text goes
 * on. */
uint32_t csharp_reader_directive(struct csharp_reader *reader, uint32_t at);

/* Whether a string literal of any form begins at `at`. */
bool csharp_reader_at_string(const struct csharp_reader *reader, uint32_t at);

/* Returns the end of the string literal at `at`; flags gets its CSHARP_STRING_ bits. */
uint32_t csharp_reader_string(struct csharp_reader *reader, uint32_t at, uint8_t *flags);

/* Returns the end of the character literal at `at`; *closed says whether it has one. */
uint32_t csharp_reader_character(const struct csharp_reader *reader, uint32_t at, bool *closed);

#endif
