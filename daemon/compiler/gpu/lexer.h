#ifndef COMPILER_GPU_LEXER_H
#define COMPILER_GPU_LEXER_H
/*
 * The tokens of a generated C# file. Comments and `#pragma`, `#nullable` lines are skipped; every
 * other directive, verbatim and interpolated strings and what no generated file needs are refused.
 *
 * Lines count from 1, columns count code points from 1. Texts are borrowed from the source, which
 * has to outlive the tokens; names point into the arena.
 */
#include "daemon/compiler/arena.h"
#include <setjmp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Where and why a text was refused. */
struct dialect_error {
    int line, column;
    char reason[224];
};

enum token_kind {
    TOKEN_END,
    TOKEN_NAME,    /* not a keyword, or written with @ */
    TOKEN_KEYWORD, /* any keyword of C#, allowed here or not */
    TOKEN_INT,     /* 0 .. 2147483648 in `integer` (the last only after a minus) */
    TOKEN_FLOAT,   /* with its f, the value in `number` */
    TOKEN_STRING,  /* with its quotes */
    TOKEN_SIGN,    /* punctuation and operators, longest match */
};

struct token {
    enum token_kind kind;
    int line, column;
    uint32_t integer;
    float number;
    const char *text; /* NUL-terminated: the name, keyword, sign or string */
};

/* What lexing, parsing and checking share: the way out on the first error. */
struct refusal {
    jmp_buf escape;
    struct dialect_error *error;
};
_Noreturn void refuse(struct refusal *r, int line, int column, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

enum { LEXER_AHEAD = 8 };

struct lexer {
    struct refusal *refusal; /* borrowed */
    struct arena *arena;     /* for names */
    const char *at, *end;
    int line, column;
    bool fresh; /* nothing but blanks on this line so far */
    struct token ring[LEXER_AHEAD];
    unsigned first, held; /* of the ring: number of its first token, how many it holds */
};

void lexer_init(struct lexer *l, struct arena *arena, struct refusal *r, const char *text,
                size_t length);
/* The token `ahead` (0 .. 5) places on, without taking it; valid until the next call. */
const struct token *lexer_peek(struct lexer *l, unsigned ahead);
/* Takes the next token; at the end gives TOKEN_END again and again. */
struct token lexer_take(struct lexer *l);

/* Whether C# reserves that word. */
bool is_keyword(const char *text);

#endif
