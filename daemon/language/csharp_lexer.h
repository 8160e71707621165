/*
 * csharp_lexer: C# text to tokens, for the files csharp*.c only.
 *
 * Comments, white space and everything that the preprocessor takes away are gone; a string literal
 * is one token with its holes inside. Brackets and operators come as single characters (`>>` is two
 * tokens, so that nested generics close), except
 * `=>` and `::`. After the last token stand CSHARP_LOOKAHEAD ends, so that tokens[i + 3] may be
 * read where tokens[i] is not an end.
 *
 * Broken text: a literal that is not closed ends with its line (verbatim and raw ones with the
 * text) and is marked. An interpolated string whose holes do not come out even is read again
 * without looking into holes; the work that such second readings may cost is bounded by the text's
 * length, so that the time stays linear.
 */
#ifndef DAEMON_LANGUAGE_CSHARP_LEXER_H
#define DAEMON_LANGUAGE_CSHARP_LEXER_H

#include "daemon/language/csharp.h"
#include "daemon/language/csharp_arena.h"

#include <stdint.h>

#define CSHARP_LOOKAHEAD 4

/* The words that the scan looks at: spelling, and what it may be.
   M: always a modifier. C: a modifier where what follows allows it. K: reserved, no modifier. W:
   means something in places. */
#define CSHARP_WORDS(X)                                                                            \
    X(ABSTRACT, "abstract", M)                                                                     \
    X(ADD, "add", W)                                                                               \
    X(ASYNC, "async", C)                                                                           \
    X(CLASS, "class", K)                                                                           \
    X(CONST, "const", M)                                                                           \
    X(DELEGATE, "delegate", K)                                                                     \
    X(ENUM, "enum", K)                                                                             \
    X(EVENT, "event", K)                                                                           \
    X(EXPLICIT, "explicit", K)                                                                     \
    X(EXTENSION, "extension", W)                                                                   \
    X(EXTERN, "extern", M)                                                                         \
    X(FILE, "file", C)                                                                             \
    X(FIXED, "fixed", M)                                                                           \
    X(GET, "get", W)                                                                               \
    X(GLOBAL, "global", W)                                                                         \
    X(IMPLICIT, "implicit", K)                                                                     \
    X(IN, "in", K)                                                                                 \
    X(INIT, "init", W)                                                                             \
    X(INTERFACE, "interface", K)                                                                   \
    X(INTERNAL, "internal", M)                                                                     \
    X(NAMEOF, "nameof", W)                                                                         \
    X(NAMESPACE, "namespace", K)                                                                   \
    X(NEW, "new", M)                                                                               \
    X(OPERATOR, "operator", K)                                                                     \
    X(OUT, "out", K)                                                                               \
    X(OVERRIDE, "override", M)                                                                     \
    X(PARAMS, "params", K)                                                                         \
    X(PARTIAL, "partial", C)                                                                       \
    X(PRIVATE, "private", M)                                                                       \
    X(PROTECTED, "protected", M)                                                                   \
    X(PUBLIC, "public", M)                                                                         \
    X(READONLY, "readonly", M)                                                                     \
    X(RECORD, "record", W)                                                                         \
    X(REF, "ref", M)                                                                               \
    X(REMOVE, "remove", W)                                                                         \
    X(REQUIRED, "required", C)                                                                     \
    X(SCOPED, "scoped", W)                                                                         \
    X(SEALED, "sealed", M)                                                                         \
    X(SET, "set", W)                                                                               \
    X(STATIC, "static", M)                                                                         \
    X(STRING, "string", K)                                                                         \
    X(STRUCT, "struct", K)                                                                         \
    X(THIS, "this", K)                                                                             \
    X(TYPE, "type", W)                                                                             \
    X(UNSAFE, "unsafe", M)                                                                         \
    X(USING, "using", K)                                                                           \
    X(VIRTUAL, "virtual", M)                                                                       \
    X(VOLATILE, "volatile", M)                                                                     \
    X(WHERE, "where", W)

enum csharp_word {
    CSHARP_WORD_NONE,
#define X(id, spelling, role) CSHARP_WORD_##id,
    CSHARP_WORDS(X)
#undef X
        CSHARP_WORD_COUNT
};

enum csharp_word_role { CSHARP_ROLE_W, CSHARP_ROLE_K, CSHARP_ROLE_M, CSHARP_ROLE_C };

enum csharp_token_kind {
    CSHARP_TOKEN_END,
    CSHARP_TOKEN_NAME, /* identifiers and keywords */
    CSHARP_TOKEN_NUMBER,
    CSHARP_TOKEN_CHARACTER,
    CSHARP_TOKEN_STRING,
    CSHARP_TOKEN_MARK,
};

enum {
    /* Marks of two characters; the others are their character. */
    CSHARP_ARROW = 1,  /* => */
    CSHARP_COLONS = 2, /* :: */
};

enum {
    CSHARP_TOKEN_FIRST = 1,         /* the first token of its line */
    CSHARP_STRING_VERBATIM = 2,     /* names: written with @ */
    CSHARP_STRING_INTERPOLATED = 4, /* $ */
    CSHARP_STRING_RAW = 8,          /* three or more quotes */
    CSHARP_STRING_HOLE = 16,        /* interpolated, and something is */
    CSHARP_STRING_UTF8 = 32,        /* u8: bytes, not a string */
    CSHARP_STRING_BROKEN = 64,      /* not closed, or not closed as it should be */
    CSHARP_NAME_VERBATIM = CSHARP_STRING_VERBATIM,
};

struct csharp_token {
    uint32_t start, end;
    uint32_t name; /* of a name: its number in csharp_tokens.names */
    uint8_t kind;  /* enum csharp_token_kind */
    uint8_t mark;  /* of a mark */
    uint8_t word;  /* of a name without @ and escapes: enum csharp_word */
    uint8_t flags;
};

/* A name as the language sees it, once for every spelling. Number 0 is "". */
struct csharp_name {
    const char *bytes;
    uint32_t length, hash;
    bool defined; /* as a preprocessor symbol, at the point that the lexer has reached */
};

struct csharp_tokens {
    const unsigned char *text;
    uint32_t size;
    struct csharp_token *tokens;
    size_t count; /* without the ends */
    struct csharp_name *names;
    size_t name_count;
    /* Names that the scan asks for. */
    uint32_t name_tsukimi, name_onnxgpu, name_onnxgpu_attribute;
    /* What is below is the lexer's own. */
    struct csharp_arena *arena;
    size_t capacity, name_capacity, slot_count;
    uint32_t *slots;
};

/* size is at most CSHARP_TEXT_MAX; text stays the caller's and must outlive the tokens. Everything
 * else lies in arena. */
void csharp_tokens_init(struct csharp_tokens *tokens, struct csharp_arena *arena,
                        const unsigned char *text, size_t size, const char *const *symbols);

/* The number of a name, which is added where it is new. */
uint32_t csharp_tokens_intern(struct csharp_tokens *tokens, const char *bytes, size_t length);

/* The name with `Attribute` behind it, or 0 where no such name occurs in the text. */
uint32_t csharp_tokens_with_attribute(const struct csharp_tokens *tokens, uint32_t name);

enum csharp_word_role csharp_word_role(enum csharp_word word);

/* How many bytes of white space (of a line's end) stand at `at`: 0 for none. A carriage return and
 * a line feed are two. */
uint32_t csharp_space_at(const unsigned char *text, uint32_t size, uint32_t at);
uint32_t csharp_newline_at(const unsigned char *text, uint32_t size, uint32_t at);

/* The code point at `at` (below size) and, as the result, its length in bytes; U+FFFD for bytes
 * that are no UTF-8. */
uint32_t csharp_decode(const unsigned char *text, uint32_t size, uint32_t at, uint32_t *code);

/* Writes a code point (a surrogate becomes U+FFFD) in up to 4 bytes; returns how many. */
size_t csharp_encode(uint32_t code, char *to);

/* The value of `digits` hexadecimal digits at `at`, or -1 where there are fewer. */
int64_t csharp_hexadecimal(const unsigned char *text, uint32_t size, uint32_t at, unsigned digits);

#endif
