/* Tokens to trees: precedence climbing for expressions, one function a statement. */
#include "daemon/compiler/gpu/syntax.h"
#include <string.h>

/* Deep enough for any text a person would read, shallow enough for any stack. */
enum { DEPTH_MAX = 160, PARAMETERS_MAX = 64 };

static const struct {
    const char *text;
    enum kernel_type type;
} type_names[] = {
    {"void", KERNEL_VOID},          {"bool", KERNEL_BOOL},       {"int", KERNEL_INT},
    {"float", KERNEL_FLOAT},        {"Vector4", KERNEL_VECTOR4}, {"Color4", KERNEL_COLOR4},
    {"GpuBuffer2D", KERNEL_BUFFER}, {"KernelId", KERNEL_ID},     {"Texture2D", KERNEL_TEXTURE},
};

static const struct {
    const char *text;
    enum operator_sign sign;
    int level;
} operators[] = {
    {"||", SIGN_OR, 1},        {"&&", SIGN_AND, 2},           {"==", SIGN_EQUAL, 3},
    {"!=", SIGN_NOT_EQUAL, 3}, {"<", SIGN_LESS, 4},           {"<=", SIGN_LESS_EQUAL, 4},
    {">", SIGN_GREATER, 4},    {">=", SIGN_GREATER_EQUAL, 4}, {"+", SIGN_ADD, 5},
    {"-", SIGN_SUBTRACT, 5},   {"*", SIGN_MULTIPLY, 6},       {"/", SIGN_DIVIDE, 6},
    {"%", SIGN_REMAINDER, 6},
};

static const struct {
    const char *text;
    enum operator_sign sign;
} compounds[] = {
    {"+=", SIGN_ADD},    {"-=", SIGN_SUBTRACT},  {"*=", SIGN_MULTIPLY},
    {"/=", SIGN_DIVIDE}, {"%=", SIGN_REMAINDER},
};

const char *kernel_type_name(enum kernel_type type)
{
    if (type == KERNEL_TABLE)
        return "Vector4[]";
    if (type == KERNEL_IDS)
        return "int[]";
    for (size_t i = 0; i < sizeof type_names / sizeof type_names[0]; i++)
        if (type_names[i].type == type)
            return type_names[i].text;
    return "nothing";
}

void parser_init(struct parser *p, struct arena *arena, struct refusal *r, const char *text,
                 size_t length)
{
    *p = (struct parser){.refusal = r, .arena = arena};
    lexer_init(&p->lexer, arena, r, text, length);
}

static bool is(const struct token *t, const char *text)
{
    return (t->kind == TOKEN_SIGN || t->kind == TOKEN_KEYWORD) && strcmp(t->text, text) == 0;
}

static bool at_ahead(struct parser *p, unsigned ahead, const char *text)
{
    return is(lexer_peek(&p->lexer, ahead), text);
}

bool parser_at(struct parser *p, const char *text)
{
    return at_ahead(p, 0, text);
}

bool parser_accept(struct parser *p, const char *text)
{
    if (!parser_at(p, text))
        return false;
    lexer_take(&p->lexer);
    return true;
}

_Noreturn static void unexpected(struct parser *p, const char *wanted)
{
    struct token t = lexer_take(&p->lexer);
    const char *found = t.kind == TOKEN_END     ? "the end of the text"
                        : t.kind == TOKEN_INT   ? "an integer"
                        : t.kind == TOKEN_FLOAT ? "a number"
                                                : t.text;
    refuse(p->refusal, t.line, t.column, "%s where %s is expected", found, wanted);
}

struct token parser_expect(struct parser *p, const char *text)
{
    if (!parser_at(p, text))
        unexpected(p, text);
    return lexer_take(&p->lexer);
}

struct token parser_name(struct parser *p)
{
    if (lexer_peek(&p->lexer, 0)->kind != TOKEN_NAME)
        unexpected(p, "a name");
    return lexer_take(&p->lexer);
}

static enum kernel_type type_at(struct parser *p, unsigned ahead)
{
    const struct token *t = lexer_peek(&p->lexer, ahead);
    if (t->kind != TOKEN_NAME && t->kind != TOKEN_KEYWORD)
        return KERNEL_NONE;
    for (size_t i = 0; i < sizeof type_names / sizeof type_names[0]; i++)
        if (strcmp(t->text, type_names[i].text) == 0)
            return type_names[i].type;
    return KERNEL_NONE;
}

enum kernel_type parser_type(struct parser *p)
{
    enum kernel_type type = type_at(p, 0);
    if (type == KERNEL_NONE)
        unexpected(p, "a type");
    struct token t = lexer_take(&p->lexer);
    if (!parser_at(p, "["))
        return type;
    lexer_take(&p->lexer);
    parser_expect(p, "]");
    if (type == KERNEL_VECTOR4)
        return KERNEL_TABLE;
    if (type == KERNEL_INT)
        return KERNEL_IDS;
    refuse(p->refusal, t.line, t.column, "an array of %s", t.text);
}

struct expression *expression_new(struct arena *arena, enum expression_kind kind, int line,
                                  int column, int parts)
{
    struct expression *e = NEW(arena, struct expression);
    e->kind = kind;
    e->line = line;
    e->column = column;
    e->part_count = parts;
    if (parts > 0)
        e->part = NEW_ARRAY(arena, parts, struct expression *);
    return e;
}

static struct expression *node(struct parser *p, enum expression_kind kind, const struct token *t,
                               int parts)
{
    return expression_new(p->arena, kind, t->line, t->column, parts);
}

static void deeper(struct parser *p)
{
    const struct token *t = lexer_peek(&p->lexer, 0);
    if (++p->depth > DEPTH_MAX)
        refuse(p->refusal, t->line, t->column, "nested more than %d deep", DEPTH_MAX);
}

/* A list of expressions up to `close`, after `before` parts that are filled in by the caller. */
static struct expression *list(struct parser *p, enum expression_kind kind, const struct token *t,
                               int before, const char *close)
{
    struct expression **part = NULL;
    int count = 0, room = 0;
    for (; before > 0; before--)
        APPEND(p->arena, part, count, room) = NULL;
    if (!parser_at(p, close)) {
        do {
            if (count >= PARAMETERS_MAX)
                refuse(p->refusal, t->line, t->column, "more than %d parts", PARAMETERS_MAX);
            struct expression *e = parser_expression(p);
            APPEND(p->arena, part, count, room) = e;
        } while (parser_accept(p, ","));
    }
    parser_expect(p, close);
    struct expression *e = node(p, kind, t, 0);
    e->part = part;
    e->part_count = count;
    return e;
}

static float signed_number(struct parser *p)
{
    bool negative = parser_accept(p, "-");
    struct token t = lexer_take(&p->lexer);
    float value = t.number;
    if (t.kind == TOKEN_INT) {
        if (t.integer > 16777216u)
            refuse(p->refusal, t.line, t.column, "an integer that float32 may not hold");
        value = (float)t.integer;
        negative = negative && t.integer != 0; /* C# negates the int: there is no -0 */
    } else if (t.kind != TOKEN_FLOAT) {
        refuse(p->refusal, t.line, t.column, "an entry that is not a number");
    }
    return negative ? -value : value;
}

/* `{ new Vector4(…), … }`: tables are long, so they become numbers at once. */
static void entries(struct parser *p, struct expression *e)
{
    float(*entry)[4] = NULL;
    int count = 0, room = 0;
    parser_expect(p, "{");
    while (!parser_at(p, "}")) {
        parser_expect(p, "new");
        struct token t = parser_name(p);
        if (strcmp(t.text, "Vector4") != 0)
            refuse(p->refusal, t.line, t.column, "an entry that is no Vector4");
        parser_expect(p, "(");
        float value[4] = {0, 0, 0, 0};
        for (int i = 0; i < 4; i++) {
            if (i > 0)
                parser_expect(p, ",");
            value[i] = signed_number(p);
        }
        parser_expect(p, ")");
        if (count >= 1 << 20)
            refuse(p->refusal, t.line, t.column, "a table of more than a million entries");
        if (count == room)
            entry = arena_grow(p->arena, entry, (size_t)count, &room, sizeof *entry);
        memcpy(entry[count++], value, sizeof value);
        if (!parser_accept(p, ","))
            break;
    }
    parser_expect(p, "}");
    e->entries = entry;
    e->slot = count;
}

static struct expression *creation(struct parser *p)
{
    struct token t = parser_expect(p, "new");
    struct token name = parser_name(p);
    if (parser_accept(p, "(")) {
        struct expression *e = list(p, EXPRESSION_NEW, &t, 0, ")");
        e->name = name.text;
        return e;
    }
    parser_expect(p, "[");
    if (strcmp(name.text, "Vector4") != 0)
        refuse(p->refusal, name.line, name.column, "an array of %s", name.text);
    struct expression *e = node(p, EXPRESSION_ENTRIES, &t, 0);
    if (!parser_at(p, "]")) {
        struct token size = lexer_take(&p->lexer);
        if (size.kind != TOKEN_INT || size.integer > 1 << 20)
            refuse(p->refusal, size.line, size.column, "a length that is no small integer");
        parser_expect(p, "]");
        e->slot = (int)size.integer;
        e->entries = arena_array(p->arena, size.integer, sizeof *e->entries);
        if (parser_at(p, "{")) {
            entries(p, e);
            if (e->slot != (int)size.integer)
                refuse(p->refusal, size.line, size.column, "a length that is not %d", e->slot);
        }
        return e;
    }
    parser_expect(p, "]");
    entries(p, e);
    return e;
}

static struct expression *primary(struct parser *p)
{
    struct token t = *lexer_peek(&p->lexer, 0);
    struct expression *e;
    if (is(&t, "new"))
        return creation(p);
    if (is(&t, "(")) {
        lexer_take(&p->lexer);
        e = parser_expression(p);
        parser_expect(p, ")");
        return e;
    }
    if (t.kind == TOKEN_INT) {
        e = node(p, EXPRESSION_INT, &t, 0);
        if (t.integer > 2147483647u)
            refuse(p->refusal, t.line, t.column, "an integer beyond int");
        e->integer = (int32_t)t.integer;
    } else if (t.kind == TOKEN_FLOAT) {
        e = node(p, EXPRESSION_FLOAT, &t, 0);
        e->number = t.number;
    } else if (is(&t, "true") || is(&t, "false")) {
        e = node(p, EXPRESSION_BOOL, &t, 0);
        e->integer = is(&t, "true");
    } else if (is(&t, "null")) {
        e = node(p, EXPRESSION_NULL, &t, 0);
    } else if (t.kind == TOKEN_NAME) {
        e = node(p, EXPRESSION_NAME, &t, 0);
        e->name = t.text;
    } else {
        unexpected(p, "an expression");
    }
    lexer_take(&p->lexer);
    return e;
}

static struct expression *postfix(struct parser *p)
{
    struct expression *e = primary(p);
    for (int links = 0;; links++) {
        struct token t = *lexer_peek(&p->lexer, 0);
        struct expression *inner = e;
        if (links > DEPTH_MAX)
            refuse(p->refusal, t.line, t.column, "nested more than %d deep", DEPTH_MAX);
        if (parser_accept(p, ".")) {
            struct token name = parser_name(p);
            e = node(p, EXPRESSION_MEMBER, &t, 1);
            e->name = name.text;
        } else if (parser_accept(p, "[")) {
            e = list(p, EXPRESSION_INDEX, &t, 1, "]");
        } else if (parser_accept(p, "(")) {
            e = list(p, EXPRESSION_CALL, &t, 1, ")");
        } else {
            return e;
        }
        e->part[0] = inner;
        e->line = inner->line;
        e->column = inner->column;
    }
}

static struct expression *unary(struct parser *p)
{
    struct token t = *lexer_peek(&p->lexer, 0);
    struct expression *e;
    deeper(p);
    if (is(&t, "-") && lexer_peek(&p->lexer, 1)->kind == TOKEN_INT &&
        lexer_peek(&p->lexer, 1)->integer == 2147483648u) {
        lexer_take(&p->lexer);
        lexer_take(&p->lexer);
        e = node(p, EXPRESSION_INT, &t, 0);
        e->integer = INT32_MIN;
    } else if (is(&t, "-") || is(&t, "!")) {
        lexer_take(&p->lexer);
        e = node(p, is(&t, "-") ? EXPRESSION_NEGATE : EXPRESSION_NOT, &t, 1);
        e->part[0] = unary(p);
    } else if (is(&t, "(") && at_ahead(p, 2, ")") &&
               lexer_peek(&p->lexer, 1)->kind == TOKEN_KEYWORD && type_at(p, 1) != KERNEL_NONE) {
        lexer_take(&p->lexer);
        e = node(p, EXPRESSION_CAST, &t, 1);
        e->type = parser_type(p);
        parser_expect(p, ")");
        e->part[0] = unary(p);
    } else {
        e = postfix(p);
    }
    p->depth--;
    return e;
}

static struct expression *binary(struct parser *p, int level)
{
    struct expression *e = unary(p);
    int before = p->depth;
    for (;;) {
        size_t row = 0, rows = sizeof operators / sizeof operators[0];
        struct token t = *lexer_peek(&p->lexer, 0);
        while (row < rows && !is(&t, operators[row].text))
            row++;
        if (row == rows || operators[row].level < level)
            break;
        lexer_take(&p->lexer);
        deeper(p); /* a chain nests to the left */
        struct expression *left = e;
        e = node(p, EXPRESSION_BINARY, &t, 2);
        e->sign = operators[row].sign;
        e->part[0] = left;
        e->part[1] = binary(p, operators[row].level + 1);
    }
    p->depth = before;
    return e;
}

struct expression *parser_expression(struct parser *p)
{
    deeper(p);
    struct expression *e = binary(p, 1);
    if (parser_at(p, "?")) {
        struct token t = lexer_take(&p->lexer);
        struct expression *condition = e;
        e = node(p, EXPRESSION_CHOOSE, &t, 3);
        e->part[0] = condition;
        e->part[1] = parser_expression(p);
        parser_expect(p, ":");
        e->part[2] = parser_expression(p);
    }
    p->depth--;
    return e;
}

/* ---- statements */

static struct statement *statement(struct parser *p);

static struct statement *statement_new(struct parser *p, enum statement_kind kind,
                                       const struct token *t)
{
    struct statement *s = NEW(p->arena, struct statement);
    s->kind = kind;
    s->line = t->line;
    s->column = t->column;
    return s;
}

/* Assignment, step or call; no semicolon. */
static struct statement *simple(struct parser *p)
{
    struct token t = *lexer_peek(&p->lexer, 0);
    struct expression *e = postfix(p);
    struct token sign = *lexer_peek(&p->lexer, 0);
    if (parser_accept(p, "=")) {
        struct statement *s = statement_new(p, STATEMENT_ASSIGN, &t);
        s->target = e;
        s->value = parser_expression(p);
        return s;
    }
    if (parser_accept(p, "++") || parser_accept(p, "--")) {
        struct statement *s = statement_new(p, STATEMENT_ASSIGN, &t);
        s->target = e;
        s->compound = true;
        s->sign = is(&sign, "++") ? SIGN_ADD : SIGN_SUBTRACT;
        s->value = node(p, EXPRESSION_INT, &sign, 0);
        s->value->integer = 1;
        return s;
    }
    for (size_t i = 0; i < sizeof compounds / sizeof compounds[0]; i++) {
        if (!parser_accept(p, compounds[i].text))
            continue;
        struct statement *s = statement_new(p, STATEMENT_ASSIGN, &t);
        s->target = e;
        s->compound = true;
        s->sign = compounds[i].sign;
        s->value = parser_expression(p);
        return s;
    }
    if (e->kind != EXPRESSION_CALL)
        refuse(p->refusal, t.line, t.column, "not an assignment, a step or a call");
    struct statement *s = statement_new(p, STATEMENT_CALL, &t);
    s->value = e;
    return s;
}

/* One declaration, or a list of them chained by next. */
static struct statement *declaration(struct parser *p)
{
    struct token t = *lexer_peek(&p->lexer, 0);
    enum kernel_type type = parser_type(p);
    struct statement *head = NULL, **tail = &head;
    do {
        struct token name = parser_name(p);
        struct statement *s = statement_new(p, STATEMENT_DECLARE, head == NULL ? &t : &name);
        s->type = type;
        s->name = name.text;
        s->column = name.column;
        s->line = name.line;
        if (!parser_at(p, "="))
            refuse(p->refusal, name.line, name.column, "the local %s is not initialised",
                   name.text);
        lexer_take(&p->lexer);
        s->value = parser_expression(p);
        *tail = s;
        tail = &s->next;
    } while (parser_accept(p, ","));
    return head;
}

static bool at_declaration(struct parser *p)
{
    if (type_at(p, 0) == KERNEL_NONE)
        return false;
    return lexer_peek(&p->lexer, 1)->kind == TOKEN_NAME ||
           (at_ahead(p, 1, "[") && at_ahead(p, 2, "]"));
}

static struct statement *block(struct parser *p)
{
    struct token t = parser_expect(p, "{");
    struct statement *s = statement_new(p, STATEMENT_BLOCK, &t), **tail = &s->body;
    while (!parser_at(p, "}")) {
        *tail = statement(p);
        while (*tail != NULL)
            tail = &(*tail)->next;
    }
    p->closed = lexer_take(&p->lexer);
    return s;
}

/* The body of an if or a loop: C# refuses a bare declaration there. */
static struct statement *embedded(struct parser *p)
{
    struct token t = *lexer_peek(&p->lexer, 0);
    if (at_declaration(p))
        refuse(p->refusal, t.line, t.column, "a declaration that needs braces around it");
    return statement(p);
}

static struct statement *statement(struct parser *p)
{
    struct token t = *lexer_peek(&p->lexer, 0);
    struct statement *s;
    deeper(p);
    if (is(&t, "{")) {
        s = block(p);
    } else if (is(&t, "if")) {
        lexer_take(&p->lexer);
        s = statement_new(p, STATEMENT_IF, &t);
        parser_expect(p, "(");
        s->value = parser_expression(p);
        parser_expect(p, ")");
        s->body = embedded(p);
        if (parser_accept(p, "else"))
            s->other = embedded(p);
    } else if (is(&t, "while")) {
        lexer_take(&p->lexer);
        s = statement_new(p, STATEMENT_LOOP, &t);
        s->is_while = true;
        parser_expect(p, "(");
        s->value = parser_expression(p);
        parser_expect(p, ")");
        s->body = embedded(p);
    } else if (is(&t, "for")) {
        lexer_take(&p->lexer);
        s = statement_new(p, STATEMENT_LOOP, &t);
        parser_expect(p, "(");
        if (!at_declaration(p))
            unexpected(p, "the declaration of a counter");
        s->first = declaration(p);
        if (s->first->next != NULL)
            refuse(p->refusal, t.line, t.column, "a loop with more than one counter");
        parser_expect(p, ";");
        s->value = parser_expression(p);
        parser_expect(p, ";");
        s->last = simple(p);
        parser_expect(p, ")");
        s->body = embedded(p);
    } else if (is(&t, "return")) {
        lexer_take(&p->lexer);
        s = statement_new(p, STATEMENT_RETURN, &t);
        if (!parser_at(p, ";"))
            s->value = parser_expression(p);
        parser_expect(p, ";");
    } else if (at_declaration(p)) {
        s = declaration(p);
        parser_expect(p, ";");
    } else if (t.kind == TOKEN_KEYWORD && !is(&t, "new")) {
        refuse(p->refusal, t.line, t.column, "`%s` is not allowed here", t.text);
    } else {
        s = simple(p);
        parser_expect(p, ";");
    }
    p->depth--;
    return s;
}

static void parameter(struct parser *p, struct method *m)
{
    int capacity = 0;
    if (parser_accept(p, "[")) {
        struct token name = parser_name(p);
        if (strcmp(name.text, "Capacity") != 0)
            refuse(p->refusal, name.line, name.column, "the attribute %s", name.text);
        parser_expect(p, "(");
        struct token n = lexer_take(&p->lexer);
        if (n.kind != TOKEN_INT || n.integer < 4 || n.integer > 1024 ||
            (n.integer & (n.integer - 1)) != 0)
            refuse(p->refusal, n.line, n.column,
                   "a capacity that is not a power of two from 4 to 1024");
        capacity = (int)n.integer;
        parser_expect(p, ")");
        parser_expect(p, "]");
    }
    struct token t = *lexer_peek(&p->lexer, 0);
    enum kernel_type type = parser_type(p);
    if (capacity != 0 && type != KERNEL_TABLE)
        refuse(p->refusal, t.line, t.column, "a capacity on a parameter that is no Vector4[]");
    struct token name = parser_name(p);
    if (m->local_count >= PARAMETERS_MAX)
        refuse(p->refusal, t.line, t.column, "more than %d parameters", PARAMETERS_MAX);
    APPEND(p->arena, m->locals, m->local_count, m->local_room) =
        (struct local){.name = name.text,
                       .type = type,
                       .line = name.line,
                       .column = name.column,
                       .parameter = true,
                       .capacity = capacity};
}

void parser_method(struct parser *p, struct method *m)
{
    parser_expect(p, "(");
    if (!parser_at(p, ")")) {
        do {
            parameter(p, m);
        } while (parser_accept(p, ","));
    }
    parser_expect(p, ")");
    m->parameter_count = m->local_count;
    m->body = block(p);
    m->end_line = p->closed.line;
    m->end_column = p->closed.column;
}
