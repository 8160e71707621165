/* The preprocessor: which lines are compiled. C# specification, 6.5. */
#include "daemon/language/csharp_reader.h"

#include <string.h>

/* The state of an #if: whether one of its branches has been compiled. */
enum { TAKEN = 1 };

/* Parentheses and negations in one condition; beyond that it is false. */
enum { CONDITION_DEPTH = 64 };

struct condition {
    struct csharp_reader *reader;
    uint32_t at;
    int depth;
};

static uint32_t skip_space(const struct csharp_reader *reader, uint32_t at)
{
    uint32_t length;

    while ((length = csharp_space_at(reader->text, reader->size, at)))
        at += length;
    return at;
}

static bool accept(struct condition *condition, const char *mark)
{
    size_t length = strlen(mark);

    condition->at = skip_space(condition->reader, condition->at);
    if (condition->reader->size - condition->at < length ||
        memcmp(condition->reader->text + condition->at, mark, length) != 0)
        return false;
    condition->at += (uint32_t)length;
    return true;
}

static bool either(struct condition *condition);

static bool operand(struct condition *condition)
{
    struct csharp_token token = {0};
    const struct csharp_name *name;
    bool negated = false, value = false;
    uint32_t end;

    while (accept(condition, "!"))
        negated = !negated;
    if (accept(condition, "(")) {
        if (condition->depth < CONDITION_DEPTH) {
            condition->depth++;
            value = either(condition);
            condition->depth--;
            accept(condition, ")");
        }
        return value != negated;
    }
    end = csharp_reader_name(condition->reader, condition->at, &token);
    if (end > condition->at) {
        condition->at = end;
        name = &condition->reader->out->names[token.name];
        if (!strcmp(name->bytes, "true"))
            value = true;
        else if (strcmp(name->bytes, "false") != 0)
            value = name->defined;
    }
    return value != negated;
}

static bool equal(struct condition *condition)
{
    bool value = operand(condition);

    for (;;) {
        if (accept(condition, "=="))
            value = value == operand(condition);
        else if (accept(condition, "!="))
            value = value != operand(condition);
        else
            return value;
    }
}

static bool both(struct condition *condition)
{
    bool value = equal(condition);

    while (accept(condition, "&&"))
        value = equal(condition) && value;
    return value;
}

static bool either(struct condition *condition)
{
    bool value = both(condition);

    while (accept(condition, "||"))
        value = both(condition) || value;
    return value;
}

static bool holds(struct csharp_reader *reader, uint32_t at)
{
    struct condition condition = {reader, at, 0};

    return either(&condition);
}

/* The word behind the # at `at`; *end is where it ends. Escapes are not allowed in it. */
static bool directive_is(const struct csharp_reader *reader, uint32_t at, const char *word,
                         uint32_t *end)
{
    size_t length = strlen(word);
    unsigned char next;

    at = skip_space(reader, at + 1);
    if (reader->size - at < length || memcmp(reader->text + at, word, length) != 0)
        return false;
    *end = at + (uint32_t)length;
    next = csharp_reader_byte(reader, *end);
    return !((next >= 'a' && next <= 'z') || (next >= 'A' && next <= 'Z') || next == '_' ||
             (next >= '0' && next <= '9') || next >= 0x80);
}

/* `at` is in a line above the lines that are not compiled. Returns where compiled text goes on. */
static uint32_t skip_lines(struct csharp_reader *reader, uint32_t at)
{
    uint8_t *top = &reader->conditions[reader->condition_count - 1];
    size_t inner = 0;
    uint32_t end;

    for (;;) {
        at = csharp_reader_line_end(reader, at);
        if (at == reader->size)
            return at;
        at = skip_space(reader, at + csharp_newline_at(reader->text, reader->size, at));
        if (csharp_reader_byte(reader, at) != '#')
            continue;
        if (directive_is(reader, at, "if", &end)) {
            inner++;
        } else if (directive_is(reader, at, "endif", &end)) {
            if (!inner) {
                reader->condition_count--;
                return csharp_reader_line_end(reader, at);
            }
            inner--;
        } else if (!inner && !(*top & TAKEN) &&
                   ((directive_is(reader, at, "elif", &end) && holds(reader, end)) ||
                    directive_is(reader, at, "else", &end))) {
            *top = TAKEN;
            return csharp_reader_line_end(reader, at);
        }
    }
}

uint32_t csharp_reader_directive(struct csharp_reader *reader, uint32_t at)
{
    uint32_t end;

    if (directive_is(reader, at, "if", &end)) {
        bool value = holds(reader, end);
        reader->conditions =
            csharp_arena_grow(reader->arena, reader->conditions, reader->condition_count,
                              &reader->condition_capacity, sizeof *reader->conditions);
        reader->conditions[reader->condition_count++] = value ? TAKEN : 0;
        if (!value)
            return skip_lines(reader, at);
    } else if (directive_is(reader, at, "elif", &end) || directive_is(reader, at, "else", &end)) {
        if (reader->condition_count)
            return skip_lines(reader, at);
    } else if (directive_is(reader, at, "endif", &end)) {
        if (reader->condition_count)
            reader->condition_count--;
    } else if (directive_is(reader, at, "define", &end) ||
               directive_is(reader, at, "undef", &end)) {
        bool define = reader->text[end - 1] == 'e';
        struct csharp_token token = {0};
        uint32_t name = skip_space(reader, end);
        if (csharp_reader_name(reader, name, &token) > name)
            reader->out->names[token.name].defined = define;
    }
    return csharp_reader_line_end(reader, at);
}
