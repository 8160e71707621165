#include "daemon/language/csharp_lexer.h"
#include "daemon/language/csharp_reader.h"

#include <string.h>

static const struct {
    const char *spelling;
    enum csharp_word_role role;
} words[] = {{"", CSHARP_ROLE_W},
#define X(id, spelling, role) {spelling, CSHARP_ROLE_##role},
             CSHARP_WORDS(X)
#undef X
};

enum csharp_word_role csharp_word_role(enum csharp_word word)
{
    return words[word].role;
}

/* The words are the first names that are interned, in their order: a name's number says whether it
 * is one. */
static enum csharp_word word_of(uint32_t name)
{
    return name < CSHARP_WORD_COUNT ? (enum csharp_word)name : CSHARP_WORD_NONE;
}

static void place(struct csharp_tokens *tokens, uint32_t name)
{
    size_t mask = tokens->slot_count - 1, slot = tokens->names[name].hash & mask;

    while (tokens->slots[slot])
        slot = (slot + 1) & mask;
    tokens->slots[slot] = name;
}

static uint32_t hash_of(uint32_t hash, const char *bytes, size_t length)
{
    for (size_t i = 0; i < length; i++)
        hash = (hash ^ (unsigned char)bytes[i]) * 16777619u;
    return hash;
}

uint32_t csharp_tokens_intern(struct csharp_tokens *tokens, const char *bytes, size_t length)
{
    uint32_t hash = hash_of(2166136261u, bytes, length), number;
    size_t slot;
    char *copy;

    if (!length)
        return 0;
    if ((tokens->name_count + 1) * 2 > tokens->slot_count) {
        tokens->slot_count = tokens->slot_count ? tokens->slot_count * 2 : 256;
        tokens->slots =
            csharp_arena_alloc(tokens->arena, tokens->slot_count, sizeof *tokens->slots);
        for (size_t i = 1; i < tokens->name_count; i++)
            place(tokens, (uint32_t)i);
    }
    for (slot = hash; (number = tokens->slots[slot & (tokens->slot_count - 1)]); slot++) {
        const struct csharp_name *name = &tokens->names[number];
        if (name->hash == hash && name->length == length && !memcmp(name->bytes, bytes, length))
            return number;
    }
    tokens->names = csharp_arena_grow(tokens->arena, tokens->names, tokens->name_count,
                                      &tokens->name_capacity, sizeof *tokens->names);
    copy = csharp_arena_alloc(tokens->arena, length + 1, 1);
    memcpy(copy, bytes, length);
    number = (uint32_t)tokens->name_count++;
    tokens->names[number] = (struct csharp_name){copy, (uint32_t)length, hash, false};
    place(tokens, number);
    return number;
}

uint32_t csharp_tokens_with_attribute(const struct csharp_tokens *tokens, uint32_t name)
{
    static const char ending[] = "Attribute";
    const struct csharp_name *stem = &tokens->names[name];
    size_t length = sizeof ending - 1;
    uint32_t hash = hash_of(hash_of(2166136261u, stem->bytes, stem->length), ending, length),
             number;

    for (size_t slot = hash; (number = tokens->slots[slot & (tokens->slot_count - 1)]); slot++) {
        const struct csharp_name *other = &tokens->names[number];
        if (other->hash == hash && other->length == stem->length + length &&
            !memcmp(other->bytes, stem->bytes, stem->length) &&
            !memcmp(other->bytes + stem->length, ending, length))
            return number;
    }
    return 0;
}

uint32_t csharp_reader_line_end(const struct csharp_reader *reader, uint32_t at)
{
    while (at < reader->size && !csharp_newline_at(reader->text, reader->size, at))
        at++;
    return at;
}

/* Characters that C# leaves out when it compares identifiers (Unicode category Cf). */
static bool is_formatting(uint32_t code)
{
    return code == 0xad || (code >= 0x600 && code <= 0x605) || code == 0x61c || code == 0x6dd ||
           code == 0x70f || code == 0x180e || (code >= 0x200b && code <= 0x200f) ||
           (code >= 0x202a && code <= 0x202e) || (code >= 0x2060 && code <= 0x206f) ||
           (code >= 0xfff9 && code <= 0xfffb);
}

/*
 * Whether a character may stand in an identifier. ASCII is exact. Beyond it the blocks of
 * punctuation and symbols are left out and all others taken for letters: for text that is C# this
 * is the same, and for other text nothing depends on it.
 */
static bool is_letter(uint32_t code, bool first)
{
    if (code < 0x80)
        return (code >= 'a' && code <= 'z') || (code >= 'A' && code <= 'Z') || code == '_' ||
               (!first && code >= '0' && code <= '9');
    if (code < 0xc0)
        return code == 0xaa || code == 0xb5 || code == 0xba || (!first && code == 0xad);
    if (code >= 0x2000 && code <= 0x2bff)
        return code == 0x203f || code == 0x2040 || code == 0x2054 || code == 0x2071 ||
               code == 0x207f || (code >= 0x2090 && code <= 0x209c) ||
               (code >= 0x20d0 && code <= 0x20ff) || (code >= 0x2102 && code <= 0x2188) ||
               (!first && is_formatting(code));
    if (is_formatting(code))
        return !first;
    return code != 0xd7 && code != 0xf7 && !(code >= 0x3000 && code <= 0x3004) &&
           !(code >= 0x3008 && code <= 0x3020) && !(code >= 0xd800 && code <= 0xf8ff) &&
           code != 0xfeff && !(code >= 0xff01 && code <= 0xff0f) && code < 0xfff0;
}

/* One character of an identifier: its length in the text, 0 where there is none. */
static uint32_t letter_at(const struct csharp_reader *reader, uint32_t at, bool first,
                          uint32_t *code)
{
    uint32_t length;

    if (at >= reader->size)
        return 0;
    if (reader->text[at] == '\\') {
        unsigned char form = csharp_reader_byte(reader, at + 1);
        unsigned digits = form == 'u' ? 4 : form == 'U' ? 8 : 0;
        int64_t value =
            digits ? csharp_hexadecimal(reader->text, reader->size, at + 2, digits) : -1;
        if (value < 0 || value > 0x10ffff || !is_letter((uint32_t)value, first))
            return 0;
        *code = (uint32_t)value;
        return 2 + digits;
    }
    length = csharp_decode(reader->text, reader->size, at, code);
    return is_letter(*code, first) ? length : 0;
}

uint32_t csharp_reader_name(struct csharp_reader *reader, uint32_t at, struct csharp_token *token)
{
    uint32_t start = at, first, code, length;
    bool plain = true;
    char *copy;
    size_t used = 0;

    if (csharp_reader_byte(reader, at) == '@')
        at++;
    first = at;
    while ((length = letter_at(reader, at, at == first, &code))) {
        plain = plain && code < 0x80 && length == 1;
        at += length;
    }
    if (at == first)
        return start;

    token->flags = (uint8_t)(first > start ? CSHARP_NAME_VERBATIM : 0);
    token->word = CSHARP_WORD_NONE;
    if (plain) {
        token->name =
            csharp_tokens_intern(reader->out, (const char *)reader->text + first, at - first);
        if (first == start)
            token->word = (uint8_t)word_of(token->name);
        return at;
    }
    /* No form of a character is shorter in the text than it is decoded. */
    copy = csharp_arena_alloc(reader->arena, at - first, 1);
    for (uint32_t i = first; i < at; i += length) {
        length = letter_at(reader, i, i == first, &code);
        if (!is_formatting(code))
            used += csharp_encode(code, copy + used);
    }
    token->name = csharp_tokens_intern(reader->out, copy, used);
    return at;
}

static uint32_t number_end(const struct csharp_reader *reader, uint32_t at)
{
    bool hexadecimal = reader->text[at] == '0' && (csharp_reader_byte(reader, at + 1) | 32) == 'x';
    unsigned char last = 0;

    for (; at < reader->size; at++) {
        unsigned char c = reader->text[at], next = csharp_reader_byte(reader, at + 1);
        bool sign = (c == '+' || c == '-') && !hexadecimal && (last | 32) == 'e';
        bool point = c == '.' && next >= '0' && next <= '9';
        if ((c >= 0x80 || !is_letter(c, false)) && !sign && !point)
            break;
        last = c;
    }
    return at;
}

static void add(struct csharp_reader *reader, struct csharp_token token)
{
    struct csharp_tokens *out = reader->out;

    out->tokens = csharp_arena_grow(reader->arena, out->tokens, out->count, &out->capacity,
                                    sizeof *out->tokens);
    out->tokens[out->count++] = token;
}

static uint32_t comment_end(const struct csharp_reader *reader, uint32_t at)
{
    const unsigned char *text = reader->text;

    if (text[at + 1] == '/')
        return csharp_reader_line_end(reader, at);
    for (at += 2; at + 1 < reader->size; at++)
        if (text[at] == '*' && text[at + 1] == '/')
            return at + 2;
    return reader->size;
}

static void read_all(struct csharp_reader *reader)
{
    const unsigned char *text = reader->text;
    uint32_t at = 0, size = reader->size, skip;
    uint8_t first = CSHARP_TOKEN_FIRST;
    bool closed, blank = true; /* nothing but white space in this line so far */

    while (at < size) {
        struct csharp_token token = {.start = at, .kind = CSHARP_TOKEN_MARK};
        unsigned char c = text[at], next = csharp_reader_byte(reader, at + 1);

        if ((skip = csharp_newline_at(text, size, at))) {
            first = CSHARP_TOKEN_FIRST;
            blank = true;
            at += skip;
            continue;
        }
        if ((skip = csharp_space_at(text, size, at))) {
            at += skip;
            continue;
        }
        if (c == '/' && (next == '/' || next == '*')) {
            at = comment_end(reader, at);
            blank = false;
            continue;
        }
        if (c == '#') {
            /* Behind something else it is an error, and nothing more. */
            at = blank ? csharp_reader_directive(reader, at) : csharp_reader_line_end(reader, at);
            continue;
        }
        blank = false;
        if (csharp_reader_at_string(reader, at)) {
            token.kind = CSHARP_TOKEN_STRING;
            token.end = csharp_reader_string(reader, at, &token.flags);
        } else if (c == '\'') {
            token.kind = CSHARP_TOKEN_CHARACTER;
            token.end = csharp_reader_character(reader, at, &closed);
        } else if ((c >= '0' && c <= '9') || (c == '.' && next >= '0' && next <= '9')) {
            token.kind = CSHARP_TOKEN_NUMBER;
            token.end = number_end(reader, at);
        } else if ((token.end = csharp_reader_name(reader, at, &token)) > at) {
            token.kind = CSHARP_TOKEN_NAME;
        } else if (c >= 0x80) {
            uint32_t code;
            at += csharp_decode(text, size, at, &code);
            continue;
        } else {
            token.mark = (c == '=' && next == '>')   ? CSHARP_ARROW
                         : (c == ':' && next == ':') ? CSHARP_COLONS
                                                     : c;
            token.end = at + (token.mark == c ? 1 : 2);
        }
        at = token.end;
        token.flags |= first;
        first = 0;
        add(reader, token);
    }
}

void csharp_tokens_init(struct csharp_tokens *tokens, struct csharp_arena *arena,
                        const unsigned char *text, size_t size, const char *const *symbols)
{
    struct csharp_reader reader = {.out = tokens,
                                   .arena = arena,
                                   .text = text,
                                   .size = (uint32_t)size,
                                   .second_readings = (int64_t)size * 2};

    *tokens = (struct csharp_tokens){.text = text, .size = (uint32_t)size, .arena = arena};
    tokens->names =
        csharp_arena_grow(arena, NULL, 0, &tokens->name_capacity, sizeof *tokens->names);
    tokens->names[tokens->name_count++] = (struct csharp_name){.bytes = ""};
    for (size_t i = 1; i < CSHARP_WORD_COUNT; i++)
        csharp_tokens_intern(tokens, words[i].spelling, strlen(words[i].spelling));
    tokens->name_tsukimi = csharp_tokens_intern(tokens, "Tsukimi", 7);
    tokens->name_onnxgpu = csharp_tokens_intern(tokens, "OnnxGpu", 7);
    tokens->name_onnxgpu_attribute = csharp_tokens_intern(tokens, "OnnxGpuAttribute", 16);
    for (; symbols && *symbols; symbols++)
        tokens->names[csharp_tokens_intern(tokens, *symbols, strlen(*symbols))].defined = true;

    read_all(&reader);

    for (int i = 0; i < CSHARP_LOOKAHEAD; i++)
        add(&reader, (struct csharp_token){.start = (uint32_t)size, .end = (uint32_t)size});
    tokens->count -= CSHARP_LOOKAHEAD;
}
