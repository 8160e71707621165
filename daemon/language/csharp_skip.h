/*
 * csharp_skip: stepping over types, expressions and blocks without understanding them, for the
 * files csharp*.c only.
 *
 * Every function takes the index of a token and returns the index of the token behind what it
 * stepped over, never more than `end` (an index too, at most tokens->count). All of them stop where
 * a declaration must begin that cannot stand inside what they step over (an access modifier, `class
 * X`, `namespace X`): the text before it is not finished then.
 */
#ifndef DAEMON_LANGUAGE_CSHARP_SKIP_H
#define DAEMON_LANGUAGE_CSHARP_SKIP_H

#include "daemon/language/csharp_lexer.h"

static inline bool csharp_is(const struct csharp_tokens *tokens, uint32_t i, int mark)
{
    return tokens->tokens[i].mark == mark;
}

static inline bool csharp_is_name(const struct csharp_tokens *tokens, uint32_t i)
{
    return tokens->tokens[i].kind == CSHARP_TOKEN_NAME;
}

static inline enum csharp_word csharp_word_at(const struct csharp_tokens *tokens, uint32_t i)
{
    return (enum csharp_word)tokens->tokens[i].word;
}

/* Whether token i is a modifier that C# reserves, or a contextual one (partial, async, file,
 * required). */
bool csharp_is_modifier(const struct csharp_tokens *tokens, uint32_t i);

/* Whether the declaration of a type, a namespace or a member with an access modifier must begin at
 * token i. */
bool csharp_starts_declaration(const struct csharp_tokens *tokens, uint32_t i);

/* Token i is `{`: behind its `}`. */
uint32_t csharp_skip_block(const struct csharp_tokens *tokens, uint32_t i, uint32_t end);

/* Token i is `(` or `[`: behind its partner; or where a `;`, a `}` or a closing bracket of another
 * pair stands. */
uint32_t csharp_skip_group(const struct csharp_tokens *tokens, uint32_t i, uint32_t end);

/* Up to the `,`, `;` or closing bracket that ends the expression. */
uint32_t csharp_skip_expression(const struct csharp_tokens *tokens, uint32_t i, uint32_t end);

/* Behind the `;` or the block that ends a statement; at least one token further. */
uint32_t csharp_skip_statement(const struct csharp_tokens *tokens, uint32_t i, uint32_t end);

/* Token i is `<`: behind its `>`, or 0 where it does not open a list of types. *arity: how many
 * they are. */
uint32_t csharp_skip_angles(const struct csharp_tokens *tokens, uint32_t i, uint32_t *arity);

/* Behind a type, or 0 where there is none. */
uint32_t csharp_skip_type(const struct csharp_tokens *tokens, uint32_t i);

#endif
