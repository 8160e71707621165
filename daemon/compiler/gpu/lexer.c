#include "daemon/compiler/gpu/lexer.h"
#include "daemon/compiler/context.h"
#include "daemon/compiler/graph/decimal.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const keywords[] = {
    "abstract", "as",         "base",    "bool",     "break",     "byte",     "case",
    "catch",    "char",       "checked", "class",    "const",     "continue", "decimal",
    "default",  "delegate",   "do",      "double",   "else",      "enum",     "event",
    "explicit", "extern",     "false",   "finally",  "fixed",     "float",    "for",
    "foreach",  "goto",       "if",      "implicit", "in",        "int",      "interface",
    "internal", "is",         "lock",    "long",     "namespace", "new",      "null",
    "object",   "operator",   "out",     "override", "params",    "private",  "protected",
    "public",   "readonly",   "ref",     "return",   "sbyte",     "sealed",   "short",
    "sizeof",   "stackalloc", "static",  "string",   "struct",    "switch",   "this",
    "throw",    "true",       "try",     "typeof",   "uint",      "ulong",    "unchecked",
    "unsafe",   "ushort",     "using",   "virtual",  "void",      "volatile", "while",
};

/* Longest first among those that share a start. */
static const char *const signs[] = {
    "<<=", ">>=", "...", "++", "--", "+=", "-=", "*=", "/=", "%=", "&&", "||", "==",
    "!=",  "<=",  ">=",  "=>", "??", "<<", ">>", "&=", "|=", "^=", "->", "::", "(",
    ")",   "{",   "}",   "[",  "]",  ";",  ",",  ".",  "=",  "+",  "-",  "*",  "/",
    "%",   "<",   ">",   "!",  "?",  ":",  "&",  "|",  "^",  "~",
};

void refuse(struct refusal *r, int line, int column, const char *format, ...)
{
    va_list arguments;
    r->error->line = line;
    r->error->column = column;
    va_start(arguments, format);
    vsnprintf(r->error->reason, sizeof r->error->reason, format, arguments);
    va_end(arguments);
    longjmp(r->escape, 1);
}

static int peek(const struct lexer *l, size_t ahead)
{
    return (size_t)(l->end - l->at) > ahead ? (unsigned char)l->at[ahead] : -1;
}

static void advance(struct lexer *l)
{
    unsigned char c = (unsigned char)*l->at++;
    if (c == '\n') {
        l->line++;
        l->column = 1;
        l->fresh = true;
    } else if ((c & 0xc0) != 0x80) {
        l->column++;
    }
}

static bool starts(const struct lexer *l, const char *text)
{
    size_t size = strlen(text);
    return (size_t)(l->end - l->at) >= size && memcmp(l->at, text, size) == 0;
}

static void skip_line(struct lexer *l)
{
    while (l->at < l->end && *l->at != '\n')
        advance(l);
}

static void skip_blanks(struct lexer *l)
{
    while (l->at < l->end) {
        int c = peek(l, 0);
        if (c == ' ' || c == '\t' || c == '\r' || c == '\n') {
            advance(l);
        } else if (starts(l, "//")) {
            skip_line(l);
        } else if (starts(l, "/*")) {
            int line = l->line, column = l->column;
            while (l->at < l->end && !starts(l, "*/"))
                advance(l);
            if (l->at == l->end)
                refuse(l->refusal, line, column, "a comment that does not end");
            advance(l);
            advance(l);
        } else if (c == '#' && l->fresh) {
            if (!starts(l, "#pragma ") && !starts(l, "#nullable "))
                refuse(l->refusal, l->line, l->column, "a directive other than #pragma, #nullable");
            skip_line(l);
        } else {
            return;
        }
    }
}

static bool is_letter(int c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c >= 0x80;
}

static bool is_digit(int c)
{
    return c >= '0' && c <= '9';
}

static const char *copy(struct lexer *l, const char *start)
{
    size_t size = (size_t)(l->at - start);
    char *text = arena_alloc(l->arena, size + 1);
    memcpy(text, start, size);
    return text;
}

static int by_text(const void *key, const void *item)
{
    return strcmp(key, *(const char *const *)item);
}

bool is_keyword(const char *text)
{
    return bsearch(text, keywords, sizeof keywords / sizeof keywords[0], sizeof keywords[0],
                   by_text) != NULL;
}

static void lex_word(struct lexer *l, struct token *t)
{
    bool escaped = peek(l, 0) == '@';
    if (escaped)
        advance(l);
    const char *start = l->at;
    while (is_letter(peek(l, 0)) || is_digit(peek(l, 0)))
        advance(l);
    t->text = copy(l, start);
    t->kind = is_keyword(t->text) && !escaped ? TOKEN_KEYWORD : TOKEN_NAME;
}

static void lex_number(struct lexer *l, struct token *t)
{
    const char *start = l->at;
    bool whole = true;
    while (is_digit(peek(l, 0)))
        advance(l);
    if (peek(l, 0) == '.' && is_digit(peek(l, 1))) {
        whole = false;
        advance(l);
        while (is_digit(peek(l, 0)))
            advance(l);
    }
    if (peek(l, 0) == 'e' || peek(l, 0) == 'E') {
        whole = false;
        advance(l);
        if (peek(l, 0) == '+' || peek(l, 0) == '-')
            advance(l);
        while (is_digit(peek(l, 0)))
            advance(l);
    }
    size_t size = (size_t)(l->at - start);
    bool single = peek(l, 0) == 'f' || peek(l, 0) == 'F';
    if (single)
        advance(l);
    if (is_letter(peek(l, 0)) || is_digit(peek(l, 0)))
        refuse(l->refusal, t->line, t->column, "a number of a form that is not allowed");
    if (single) {
        switch (float_parse(start, size, &t->number)) {
        case FLOAT_PARSE_OK:
            break;
        case FLOAT_PARSE_DENORMAL:
            refuse(l->refusal, t->line, t->column, "a literal that is a denormal float");
        case FLOAT_PARSE_OVERFLOW:
            refuse(l->refusal, t->line, t->column, "a literal that is not a finite float");
        case FLOAT_PARSE_MALFORMED:
            refuse(l->refusal, t->line, t->column, "a malformed number");
        }
        t->kind = TOKEN_FLOAT;
        return;
    }
    if (!whole)
        refuse(l->refusal, t->line, t->column, "a double literal: the suffix f is missing");
    uint64_t value = 0;
    for (const char *c = start; c < start + size; c++) {
        value = value * 10 + (uint64_t)(*c - '0');
        if (value > 2147483648u)
            refuse(l->refusal, t->line, t->column, "an integer beyond int");
    }
    t->kind = TOKEN_INT;
    t->integer = (uint32_t)value;
}

static void lex_string(struct lexer *l, struct token *t)
{
    const char *start = l->at;
    advance(l);
    while (peek(l, 0) != '"') {
        if (peek(l, 0) < ' ' || peek(l, 0) == '\\')
            refuse(l->refusal, t->line, t->column, "a string of a form that is not allowed");
        advance(l);
    }
    advance(l);
    t->kind = TOKEN_STRING;
    t->text = copy(l, start);
}

static void lex_sign(struct lexer *l, struct token *t)
{
    for (size_t i = 0; i < sizeof signs / sizeof signs[0]; i++) {
        if (!starts(l, signs[i]))
            continue;
        for (size_t k = strlen(signs[i]); k > 0; k--)
            advance(l);
        t->kind = TOKEN_SIGN;
        t->text = signs[i];
        return;
    }
    int c = peek(l, 0);
    if (c > ' ' && c < 0x7f)
        refuse(l->refusal, t->line, t->column, "the character `%c`", c);
    refuse(l->refusal, t->line, t->column, "the character 0x%02x", (unsigned)c);
}

static void lex(struct lexer *l, struct token *t)
{
    skip_blanks(l);
    *t = (struct token){.kind = TOKEN_END, .line = l->line, .column = l->column, .text = ""};
    if (l->at == l->end)
        return;
    l->fresh = false;
    int c = peek(l, 0);
    if (is_letter(c) || (c == '@' && is_letter(peek(l, 1))))
        lex_word(l, t);
    else if (is_digit(c) || (c == '.' && is_digit(peek(l, 1))))
        lex_number(l, t);
    else if (c == '"')
        lex_string(l, t);
    else
        lex_sign(l, t);
}

void lexer_init(struct lexer *l, struct arena *arena, struct refusal *r, const char *text,
                size_t length)
{
    *l = (struct lexer){.refusal = r,
                        .arena = arena,
                        .at = text,
                        .end = text + length,
                        .line = 1,
                        .column = 1,
                        .fresh = true};
    if (starts(l, "\xef\xbb\xbf"))
        l->at += 3;
}

const struct token *lexer_peek(struct lexer *l, unsigned ahead)
{
    while (l->held <= ahead) {
        lex(l, &l->ring[(l->first + l->held) % LEXER_AHEAD]);
        l->held++;
    }
    return &l->ring[(l->first + ahead) % LEXER_AHEAD];
}

struct token lexer_take(struct lexer *l)
{
    struct token t = *lexer_peek(l, 0);
    if (t.kind != TOKEN_END) {
        l->first++;
        l->held--;
    }
    if ((l->first & 0xfff) == 0)
        context_poll(l->arena->context);
    return t;
}
