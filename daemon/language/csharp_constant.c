#include "daemon/language/csharp_constant.h"
#include "daemon/language/csharp_literal.h"
#include "daemon/language/csharp_skip.h"

#include <string.h>

/* Parentheses, and constants that are made of constants; deeper is not constant. */
enum { DEPTH = 64 };

struct expression {
    struct csharp_evaluator *evaluator;
    const struct csharp_tokens *tokens;
    struct csharp_place place;
    uint32_t i, end;
    int depth;
};

static bool sum(struct expression *expression, struct csharp_text *value);

static bool mark(const struct expression *expression, int mark)
{
    return expression->i < expression->end && csharp_is(expression->tokens, expression->i, mark);
}

static bool accept(struct expression *expression, int character)
{
    if (!mark(expression, character))
        return false;
    expression->i++;
    return true;
}

static bool name_ahead(const struct expression *expression)
{
    return expression->i < expression->end && csharp_is_name(expression->tokens, expression->i);
}

static bool constant(struct csharp_evaluator *evaluator, uint32_t number, int depth,
                     struct csharp_text *value)
{
    struct csharp_node *node = &evaluator->tree->nodes[number];

    if (node->kind != CSHARP_NODE_CONSTANT)
        return false;
    if (node->progress == CSHARP_UNTRIED) {
        struct expression expression = {.evaluator = evaluator,
                                        .tokens = evaluator->tree->tokens,
                                        .place = {node->parent, node->block},
                                        .i = node->span.start,
                                        .end = node->span.end,
                                        .depth = depth + 1};
        /* A constant that is made of itself meets itself while it is tried. */
        node->progress = CSHARP_TRYING;
        node->constant = sum(&expression, &node->value) && expression.i == expression.end;
        node->progress = CSHARP_TRIED;
    }
    *value = node->value;
    return node->progress == CSHARP_TRIED && node->constant;
}

/* A dotted name from the current token on: its end. */
static uint32_t name_end(const struct expression *expression)
{
    uint32_t i = expression->i, behind, arity;

    while (i < expression->end && csharp_is_name(expression->tokens, i)) {
        behind = i + 1;
        if (csharp_is(expression->tokens, behind, '<'))
            behind = csharp_skip_angles(expression->tokens, behind, &arity);
        if (!behind || behind > expression->end)
            return i + 1;
        i = behind;
        if (!csharp_is(expression->tokens, i, '.') &&
            !csharp_is(expression->tokens, i, CSHARP_COLONS))
            break;
        i++;
    }
    return i < expression->end ? i : expression->end;
}

/* nameof(A.B<C>.D): the text is D. */
static bool name_of(struct expression *expression, struct csharp_text *value)
{
    const struct csharp_name *name;
    uint32_t start, end, last, arity;
    char *bytes;

    expression->i += 2;
    start = expression->i;
    end = name_end(expression);
    if (end == start)
        return false;
    for (last = start; last < end;) {
        uint32_t behind = last + 1;
        if (csharp_is(expression->tokens, behind, '<'))
            behind = csharp_skip_angles(expression->tokens, behind, &arity);
        if (!behind || behind >= end)
            break;
        last = behind + 1;
    }
    if (last >= end || !csharp_is_name(expression->tokens, last))
        return false;
    name = &expression->tokens->names[expression->tokens->tokens[last].name];
    bytes = csharp_arena_alloc(expression->evaluator->kept, name->length + 1, 1);
    memcpy(bytes, name->bytes, name->length);
    *value = (struct csharp_text){bytes, name->length};
    expression->i = end;
    return accept(expression, ')');
}

static bool primary(struct expression *expression, struct csharp_text *value)
{
    const struct csharp_tokens *tokens = expression->tokens;
    struct csharp_evaluator *evaluator = expression->evaluator;
    uint32_t i = expression->i, number;
    bool known = false;

    if (i >= expression->end || expression->depth > DEPTH)
        return false;
    if (tokens->tokens[i].kind == CSHARP_TOKEN_STRING) {
        known = csharp_literal_decode(evaluator->kept, tokens, &tokens->tokens[i], value);
        expression->i++;
    } else if (csharp_is(tokens, i, '(')) {
        expression->i++;
        expression->depth++;
        if (csharp_word_at(tokens, i + 1) == CSHARP_WORD_STRING && csharp_is(tokens, i + 2, ')')) {
            expression->i += 2;
            known = primary(expression, value);
        } else {
            known = sum(expression, value) && accept(expression, ')');
        }
        expression->depth--;
    } else if (csharp_word_at(tokens, i) == CSHARP_WORD_NAMEOF && csharp_is(tokens, i + 1, '(')) {
        known = name_of(expression, value);
    } else if (name_ahead(expression)) {
        struct csharp_span span = {i, name_end(expression)};
        expression->i = span.end;
        number = csharp_resolve(evaluator->tree, expression->place, span);
        known = number != CSHARP_NONE && constant(evaluator, number, expression->depth, value);
    }
    while (known && accept(expression, '!'))
        continue;
    return known;
}

static bool sum(struct expression *expression, struct csharp_text *value)
{
    struct csharp_text next;
    size_t length, capacity = 0;
    char *joined = NULL;

    if (!primary(expression, value))
        return false;
    while (accept(expression, '+')) {
        if (!primary(expression, &next))
            return false;
        length = value->length + next.length;
        if (length > CSHARP_FOLDED_MAX || length > expression->evaluator->room)
            return false;
        if (length > capacity || !joined) {
            /* Twice as much: a long sum is copied a few times only. */
            char *larger;
            capacity = length * 2;
            larger = csharp_arena_alloc(expression->evaluator->kept, capacity + 1, 1);
            memcpy(larger, value->bytes, value->length);
            joined = larger;
            expression->evaluator->room -= length;
        }
        memcpy(joined + value->length, next.bytes, next.length);
        joined[length] = 0;
        *value = (struct csharp_text){joined, length};
    }
    return true;
}

void csharp_evaluate(struct csharp_evaluator *evaluator, struct csharp_place place,
                     struct csharp_span span, struct csharp_argument *argument)
{
    const struct csharp_tokens *tokens = evaluator->tree->tokens;
    const struct csharp_token *token = &tokens->tokens[span.start];
    struct expression expression = {
        .evaluator = evaluator, .tokens = tokens, .place = place, .i = span.start, .end = span.end};
    bool single = span.end - span.start == 1 && token->kind == CSHARP_TOKEN_STRING;
    struct csharp_text value = {"", 0};

    argument->kind = CSHARP_ARGUMENT_EMPTY;
    argument->value = value;
    if (span.start >= span.end)
        return;
    if (!sum(&expression, &value) || expression.i != expression.end) {
        argument->kind = CSHARP_ARGUMENT_NOT_CONSTANT;
        if (single && !(token->flags & CSHARP_STRING_UTF8))
            argument->value = value;
        return;
    }
    argument->value = value;
    if (value.length)
        argument->kind = single ? CSHARP_ARGUMENT_LITERAL : CSHARP_ARGUMENT_FOLDED;
}
