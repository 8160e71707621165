/* csharp_literal: the value of a string literal. For the files csharp*.c only. */
#ifndef DAEMON_LANGUAGE_CSHARP_LITERAL_H
#define DAEMON_LANGUAGE_CSHARP_LITERAL_H

#include "daemon/language/csharp_lexer.h"

/*
 * Decodes the string token into value, which lies in arena. False where it is no constant text: a
 * hole, a u8 suffix, an error in it; value then holds what could be read (nothing of one with
 * holes). A surrogate escape without its other half becomes U+FFFD.
 */
bool csharp_literal_decode(struct csharp_arena *arena, const struct csharp_tokens *tokens,
                           const struct csharp_token *token, struct csharp_text *value);

#endif
