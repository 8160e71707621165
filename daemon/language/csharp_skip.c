#include "daemon/language/csharp_skip.h"

enum {
    MODIFIERS = 8, /* more stand before no type */
    ANGLES = 256, /* tokens in one list of types; each `<` of an expression costs at most so many */
};

static bool is_access(enum csharp_word word)
{
    return word == CSHARP_WORD_PUBLIC || word == CSHARP_WORD_PRIVATE ||
           word == CSHARP_WORD_PROTECTED || word == CSHARP_WORD_INTERNAL;
}

bool csharp_is_modifier(const struct csharp_tokens *tokens, uint32_t i)
{
    enum csharp_word_role role = csharp_word_role(csharp_word_at(tokens, i));

    return csharp_word_at(tokens, i) && (role == CSHARP_ROLE_M || role == CSHARP_ROLE_C);
}

bool csharp_starts_declaration(const struct csharp_tokens *tokens, uint32_t i)
{
    enum csharp_word word = csharp_word_at(tokens, i);
    uint32_t start = i;

    if (!word)
        return false;
    if (is_access(word)) {
        /* `private set` stands in the braces of a property. */
        for (i++; is_access(csharp_word_at(tokens, i)) ||
                  csharp_word_at(tokens, i) == CSHARP_WORD_READONLY;
             i++)
            if (i - start > MODIFIERS)
                return true;
        word = csharp_word_at(tokens, i);
        return word != CSHARP_WORD_GET && word != CSHARP_WORD_SET && word != CSHARP_WORD_INIT;
    }
    if (word == CSHARP_WORD_NAMESPACE)
        return csharp_is_name(tokens, i + 1);
    while (csharp_is_modifier(tokens, i) && i - start < MODIFIERS)
        i++;
    word = csharp_word_at(tokens, i);
    if (word == CSHARP_WORD_RECORD && i == start)
        return false;
    if (word != CSHARP_WORD_CLASS && word != CSHARP_WORD_STRUCT && word != CSHARP_WORD_INTERFACE &&
        word != CSHARP_WORD_ENUM && word != CSHARP_WORD_RECORD)
        return false;
    /* `where T : class` is a constraint. */
    if (i == start && i && (csharp_is(tokens, i - 1, ':') || csharp_is(tokens, i - 1, ',')))
        return false;
    return csharp_is_name(tokens, i + 1);
}

uint32_t csharp_skip_block(const struct csharp_tokens *tokens, uint32_t i, uint32_t end)
{
    size_t depth = 1;

    for (i++; i < end; i++) {
        if (csharp_is(tokens, i, '{'))
            depth++;
        else if (csharp_is(tokens, i, '}') && !--depth)
            return i + 1;
        else if (csharp_starts_declaration(tokens, i))
            return i;
    }
    return end;
}

uint32_t csharp_skip_group(const struct csharp_tokens *tokens, uint32_t i, uint32_t end)
{
    size_t round = 0, square = 0;

    while (i < end && !csharp_starts_declaration(tokens, i)) {
        size_t *open = csharp_is(tokens, i, '(') || csharp_is(tokens, i, ')') ? &round : &square;
        switch (tokens->tokens[i].mark) {
        case '(':
        case '[':
            ++*open;
            break;
        case ')':
        case ']':
            if (!*open)
                return i;
            --*open;
            if (!round && !square)
                return i + 1;
            break;
        case '{':
            i = csharp_skip_block(tokens, i, end);
            continue;
        case ';':
        case '}':
            return i;
        }
        i++;
    }
    return i;
}

/* C# specification, 6.2.5: what may follow a list of type arguments in an expression; and the
 * braces of an initializer. */
static bool follows_types(const struct csharp_tokens *tokens, uint32_t i)
{
    switch (tokens->tokens[i].mark) {
    case '(':
    case ')':
    case ']':
    case '}':
    case '{':
    case ':':
    case ';':
    case ',':
    case '.':
    case '?':
    case '|':
    case '^':
    case '&':
    case '[':
        return true;
    case '=':
    case '!':
        return csharp_is(tokens, i + 1, '=');
    }
    return false;
}

uint32_t csharp_skip_expression(const struct csharp_tokens *tokens, uint32_t i, uint32_t end)
{
    uint32_t behind, arity;

    while (i < end && !csharp_starts_declaration(tokens, i)) {
        switch (tokens->tokens[i].mark) {
        case '(':
        case '[':
            i = csharp_skip_group(tokens, i, end);
            continue;
        case '{':
            i = csharp_skip_block(tokens, i, end);
            continue;
        case ')':
        case ']':
        case '}':
        case ';':
        case ',':
            return i;
        case '<':
            if (i && csharp_is_name(tokens, i - 1) &&
                (behind = csharp_skip_angles(tokens, i, &arity)) && behind <= end &&
                follows_types(tokens, behind)) {
                i = behind;
                continue;
            }
            break;
        }
        i++;
    }
    return i;
}

uint32_t csharp_skip_statement(const struct csharp_tokens *tokens, uint32_t i, uint32_t end)
{
    uint32_t start = i;
    size_t round = 0;

    for (; i < end; i++) {
        switch (tokens->tokens[i].mark) {
        case '(':
            round++;
            break;
        case ')':
            round -= round > 0;
            break;
        case ';':
            if (!round)
                return i + 1;
            break;
        case '{':
            i = csharp_skip_block(tokens, i, end);
            if (!round)
                return i;
            i--;
            break;
        case '}':
            return i > start ? i : i + 1;
        default:
            if (i > start && csharp_starts_declaration(tokens, i))
                return i;
        }
    }
    return end;
}

uint32_t csharp_skip_angles(const struct csharp_tokens *tokens, uint32_t i, uint32_t *arity)
{
    uint32_t limit = tokens->count - i > ANGLES ? i + ANGLES : (uint32_t)tokens->count;
    size_t depth = 0, round = 0;

    *arity = 1;
    while (i < limit) {
        const struct csharp_token *token = &tokens->tokens[i];
        switch (token->mark) {
        case '<':
            depth++;
            break;
        case '>':
            if (!--depth)
                return round ? 0 : i + 1;
            break;
        case '(':
            round++;
            break;
        case ')':
            if (!round--)
                return 0;
            break;
        case ',':
            *arity += depth == 1 && !round;
            break;
        case '[':
            /* The rank of an array, or attributes of a type parameter. */
            i = csharp_skip_group(tokens, i, limit);
            if (i == limit || !csharp_is(tokens, i - 1, ']'))
                return 0;
            continue;
        case '.':
        case '?':
        case '*':
        case CSHARP_COLONS:
            break;
        default:
            if (token->kind != CSHARP_TOKEN_NAME)
                return 0;
        }
        i++;
    }
    return 0;
}

uint32_t csharp_skip_type(const struct csharp_tokens *tokens, uint32_t i)
{
    uint32_t end = (uint32_t)tokens->count, behind, arity;

    while (csharp_word_at(tokens, i) == CSHARP_WORD_REF ||
           csharp_word_at(tokens, i) == CSHARP_WORD_READONLY ||
           (csharp_word_at(tokens, i) == CSHARP_WORD_SCOPED && csharp_is_name(tokens, i + 1)))
        i++;
    if (csharp_is(tokens, i, '(')) {
        behind = csharp_skip_group(tokens, i, end);
        if (!csharp_is(tokens, behind - 1, ')'))
            return 0;
        i = behind;
    } else if (csharp_word_at(tokens, i) == CSHARP_WORD_DELEGATE && csharp_is(tokens, i + 1, '*')) {
        for (i += 2; csharp_is_name(tokens, i) || csharp_is(tokens, i, '[');)
            i = csharp_is(tokens, i, '[') ? csharp_skip_group(tokens, i, end) : i + 1;
        if (!csharp_is(tokens, i, '<') || !(i = csharp_skip_angles(tokens, i, &arity)))
            return 0;
    } else {
        for (;;) {
            if (!csharp_is_name(tokens, i))
                return 0;
            i++;
            if (csharp_is(tokens, i, '<') && !(i = csharp_skip_angles(tokens, i, &arity)))
                return 0;
            if (!csharp_is(tokens, i, '.') && !csharp_is(tokens, i, CSHARP_COLONS))
                break;
            i++;
        }
    }
    for (;;) {
        if (csharp_is(tokens, i, '?') || csharp_is(tokens, i, '*')) {
            i++;
        } else if (csharp_is(tokens, i, '[')) {
            for (behind = i + 1; csharp_is(tokens, behind, ','); behind++)
                continue;
            if (!csharp_is(tokens, behind, ']'))
                return i;
            i = behind + 1;
        } else {
            return i;
        }
    }
}
