#include "daemon/compiler/gpu/program.h"
#include "daemon/compiler/context.h"
#include "daemon/compiler/gpu/host.h"
#include <string.h>

enum { CLASSES_MAX = 16 };

struct reader {
    struct parser parser;
    struct refusal *refusal;
    struct program *program;
    bool found; /* the class with the members */
};

int program_find_buffer(const struct program *p, const char *name)
{
    for (int i = 0; i < p->buffer_count; i++)
        if (strcmp(p->buffers[i].name, name) == 0)
            return i;
    return -1;
}

int program_find_table(const struct program *p, const char *name)
{
    for (int i = 0; i < p->table_count; i++)
        if (strcmp(p->tables[i].name, name) == 0)
            return i;
    return -1;
}

int program_find_texture(const struct program *p, const char *name)
{
    for (int i = 0; i < p->texture_count; i++)
        if (strcmp(p->textures[i].name, name) == 0)
            return i;
    return -1;
}

/* ---- declarations */

struct modifiers {
    bool is_public, is_static, is_const, is_partial, kernel;
};

static bool accept_name(struct parser *p, const char *name)
{
    const struct token *t = lexer_peek(&p->lexer, 0);
    if (t->kind != TOKEN_NAME || strcmp(t->text, name) != 0)
        return false;
    lexer_take(&p->lexer);
    return true;
}

static char *dotted_name(struct reader *r)
{
    struct arena *arena = &r->program->context->arena;
    char *name = arena_strdup(arena, parser_name(&r->parser).text);
    while (parser_accept(&r->parser, "."))
        name = arena_printf(arena, "%s.%s", name, parser_name(&r->parser).text);
    return name;
}

/* Modifiers that a user's class may have and that change nothing here. */
static bool accept_any(struct parser *p)
{
    static const char *const others[] = {"private",  "internal", "protected", "sealed",
                                         "abstract", "new",      "unsafe"};
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        if (parser_accept(p, others[i]))
            return true;
    return false;
}

static bool at_class(struct parser *p)
{
    const struct token *t = lexer_peek(&p->lexer, 0);
    return parser_at(p, "class") || parser_at(p, "struct") || parser_at(p, "interface") ||
           (t->kind == TOKEN_NAME && strcmp(t->text, "record") == 0);
}

static struct modifiers read_modifiers(struct reader *r)
{
    struct modifiers m = {false, false, false, false, false};
    struct parser *p = &r->parser;
    while (parser_accept(p, "[")) {
        struct token name = parser_name(p);
        if (strcmp(name.text, "Kernel") != 0)
            refuse(r->refusal, name.line, name.column, "the attribute %s", name.text);
        m.kernel = true;
        parser_expect(p, "]");
    }
    for (;;) {
        if (parser_accept(p, "public"))
            m.is_public = true;
        else if (parser_accept(p, "static"))
            m.is_static = true;
        else if (parser_accept(p, "const"))
            m.is_const = true;
        else if (accept_name(p, "partial"))
            m.is_partial = true;
        else if (!accept_any(p))
            return m;
    }
}

static void add_field(struct reader *r, enum kernel_type type, struct token name, bool is_public)
{
    struct program *p = r->program;
    struct arena *arena = &p->context->arena;
    if (program_find_buffer(p, name.text) >= 0 || program_find_table(p, name.text) >= 0 ||
        program_find_texture(p, name.text) >= 0)
        refuse(r->refusal, name.line, name.column, "%s is declared twice", name.text);
    switch (type) {
    case KERNEL_BUFFER:
        APPEND(arena, p->buffers, p->buffer_count, p->buffer_room) = (struct program_buffer){
            .name = name.text, .is_public = is_public, .line = name.line, .texture = -1};
        break;
    case KERNEL_TABLE:
        APPEND(arena, p->tables, p->table_count, p->table_room) =
            (struct program_table){.name = name.text, .is_public = is_public, .line = name.line};
        break;
    case KERNEL_TEXTURE:
        APPEND(arena, p->textures, p->texture_count, p->texture_room) =
            (struct program_texture){.name = name.text, .is_public = is_public, .line = name.line};
        break;
    case KERNEL_INT:
    case KERNEL_BOOL:
        if (!host_add_number(p->host, name.text, 0, false))
            refuse(r->refusal, name.line, name.column, "%s is declared twice", name.text);
        break;
    default:
        refuse(r->refusal, name.line, name.column, "a field of type %s", kernel_type_name(type));
    }
}

static int32_t constant_value(struct reader *r, const struct expression *e)
{
    if (e->kind == EXPRESSION_INT)
        return e->integer;
    if (e->kind == EXPRESSION_BINARY && e->sign == SIGN_MULTIPLY) {
        int32_t product;
        if (!__builtin_mul_overflow(constant_value(r, e->part[0]), constant_value(r, e->part[1]),
                                    &product))
            return product;
    }
    refuse(r->refusal, e->line, e->column, "not a constant int");
}

static void read_member(struct reader *r, struct modifiers m)
{
    struct parser *p = &r->parser;
    struct arena *arena = &r->program->context->arena;
    enum kernel_type type = parser_type(p);
    struct token name = parser_name(p);
    if (m.is_const) {
        if (type != KERNEL_INT)
            refuse(r->refusal, name.line, name.column, "a constant that is no int");
        parser_expect(p, "=");
        int32_t value = constant_value(r, parser_expression(p));
        parser_expect(p, ";");
        if (!host_add_number(r->program->host, name.text, value, true))
            refuse(r->refusal, name.line, name.column, "%s is declared twice", name.text);
        return;
    }
    if (!parser_at(p, "(")) {
        if (m.kernel || m.is_static)
            refuse(r->refusal, name.line, name.column, "a static field");
        parser_expect(p, ";");
        add_field(r, type, name, m.is_public);
        return;
    }
    struct method *method = NEW(arena, struct method);
    method->name = name.text;
    method->line = name.line;
    method->column = name.column;
    method->kernel = m.kernel;
    method->is_static = m.is_static;
    method->type = type;
    parser_method(p, method);
    if (type != KERNEL_VOID || m.kernel) {
        struct dialect *d = r->program->dialect;
        APPEND(arena, d->methods, d->method_count, d->method_room) = method;
    } else if (host_find(r->program->host, name.text, method->parameter_count) != NULL) {
        refuse(r->refusal, name.line, name.column, "%s is there twice", name.text);
    } else {
        host_add_method(r->program->host, method);
    }
}

static void read_class(struct reader *r, const char *outer, int depth)
{
    struct parser *p = &r->parser;
    struct token at = *lexer_peek(&p->lexer, 0);
    if (!at_class(p))
        refuse(r->refusal, at.line, at.column, "no class where one is expected");
    if (strcmp(lexer_take(&p->lexer).text, "record") == 0 && !parser_accept(p, "class"))
        parser_accept(p, "struct");
    const char *name = parser_name(p).text;
    if (parser_accept(p, "<")) { /* type parameters */
        do {
            parser_name(p);
        } while (parser_accept(p, ","));
        parser_expect(p, ">");
    }
    if (depth > CLASSES_MAX)
        refuse(r->refusal, at.line, at.column, "classes nested more than %d deep", CLASSES_MAX);
    if (*outer != '\0')
        name = arena_printf(&r->program->context->arena, "%s.%s", outer, name);
    parser_expect(p, "{");
    bool members = false;
    while (!parser_accept(p, "}")) {
        struct token first = *lexer_peek(&p->lexer, 0);
        struct modifiers m = read_modifiers(r);
        if (at_class(p)) {
            if (!m.is_partial)
                refuse(r->refusal, first.line, first.column, "a class that is not partial");
            read_class(r, name, depth + 1);
            continue;
        }
        if (!members && r->found)
            refuse(r->refusal, first.line, first.column, "members in more than one class");
        r->found = members = true;
        r->program->name = name;
        read_member(r, m);
    }
}

static void read_space(struct reader *r, int depth)
{
    struct parser *p = &r->parser;
    while (lexer_peek(&p->lexer, 0)->kind != TOKEN_END && !parser_at(p, "}")) {
        struct token at = *lexer_peek(&p->lexer, 0);
        if (parser_accept(p, "using")) {
            dotted_name(r);
            parser_expect(p, ";");
        } else if (parser_accept(p, "namespace")) {
            if (depth > CLASSES_MAX)
                refuse(r->refusal, at.line, at.column, "namespaces nested more than %d deep",
                       CLASSES_MAX);
            const char *outer = r->program->space, *inner = dotted_name(r);
            r->program->space =
                *outer == '\0' ? inner
                               : arena_printf(&r->program->context->arena, "%s.%s", outer, inner);
            parser_expect(p, "{");
            read_space(r, depth + 1);
            parser_expect(p, "}");
        } else {
            if (!read_modifiers(r).is_partial)
                refuse(r->refusal, at.line, at.column, "a class that is not partial");
            read_class(r, "", 0);
        }
    }
}

/* ---- what the host methods do */

struct recorder {
    struct program *program;
    struct program_step last;
    int count;
    bool keep;
};

static void record(void *data, struct refusal *r, const struct program_step *step)
{
    struct recorder *rec = data;
    struct program *p = rec->program;
    if (rec->keep) {
        if (p->step_count >= 1 << 20)
            refuse(r, step->line, 1, "more than a million steps");
        APPEND(&p->context->arena, p->steps, p->step_count, p->step_room) = *step;
    }
    rec->last = *step;
    rec->count++;
}

static void ignore_load(void *data, struct refusal *r, int buffer, int texture)
{
    (void)data, (void)r, (void)buffer, (void)texture;
}

static bool same_step(const struct program_step *a, const struct program_step *b)
{
    if (a->kernel != b->kernel || a->destination != b->destination ||
        a->argument_count != b->argument_count)
        return false;
    for (int i = 0; i < a->argument_count; i++)
        if (a->arguments[i].is_table != b->arguments[i].is_table ||
            a->arguments[i].index != b->arguments[i].index)
            return false;
    return true;
}

static struct method *method_named(struct program *p, const char *before, const char *after,
                                   int parameters)
{
    struct arena *arena = &p->context->arena;
    return host_find(p->host, arena_printf(arena, "%s%s%s", before, p->prefix, after), parameters);
}

static int32_t number_named(struct program *p, const char *after, int32_t otherwise)
{
    return host_number(p->host, arena_printf(&p->context->arena, "%s%s", p->prefix, after),
                       otherwise);
}

/* RunFilter(first, count) by itself: how often it draws, and what last. */
static struct recorder draw(struct program *p, struct refusal *r, struct method *run, int32_t first,
                            int32_t count)
{
    struct recorder rec = {.program = p};
    const struct host_effects effects = {.data = &rec, .run = record};
    const int32_t arguments[] = {first, count};
    struct arena_mark mark = arena_mark(&p->context->arena);
    host_call(p->host, r, &effects, run, arguments, NULL, 0);
    if (rec.count != 1) /* nothing of what was drawn is looked at */
        arena_rewind(&p->context->arena, mark);
    return rec;
}

enum { SINGLE_STEPS = 200 };

static void check_steps(struct program *p, struct refusal *r, struct method *run)
{
    int steps = p->step_count, stride = steps / SINGLE_STEPS + 1;
    if (draw(p, r, run, 0, INT32_MAX).count != steps || draw(p, r, run, steps, 1).count != 0 ||
        (steps > 0 && draw(p, r, run, steps - 1, INT32_MAX).count != 1) ||
        draw(p, r, run, -1, 1).count != 0 || draw(p, r, run, 0, 0).count != 0)
        refuse(r, run->line, run->column, "%s does not ignore numbers out of range", run->name);
    for (int i = 0; i < steps; i = i == steps - 1 || i + stride < steps ? i + stride : steps - 1) {
        struct recorder rec = draw(p, r, run, i, 1);
        if (rec.count != 1 || !same_step(&rec.last, &p->steps[i]))
            refuse(r, run->line, run->column, "%s(%d, 1) does not draw step %d alone", run->name, i,
                   i);
    }
}

static void find_prefix(struct program *p, struct refusal *r)
{
    for (int i = 0;; i++) {
        const struct method *m = host_method(p->host, i);
        if (m == NULL)
            refuse(r, 1, 1, "no method Load… with a Run… of the same name");
        if (strncmp(m->name, "Load", 4) != 0 || m->parameter_count != 0)
            continue;
        p->prefix = m->name + 4;
        if (method_named(p, "Run", "", 0) != NULL)
            return;
    }
}

static void run_host(struct program *p, struct refusal *r)
{
    find_prefix(p, r);
    struct method *load = method_named(p, "Load", "", 0), *run = method_named(p, "Run", "", 0);
    struct method *part = method_named(p, "Run", "", 2), *use = method_named(p, "Use", "", 1);
    const struct host_effects loading = {.load = ignore_load};
    host_call(p->host, r, &loading, load, NULL, NULL, 0);
    for (int i = 0; i < p->buffer_count; i++)
        if (p->buffers[i].width == 0)
            refuse(r, p->buffers[i].line, 1, "the buffer %s is never made", p->buffers[i].name);

    struct recorder rec = {.program = p, .keep = true};
    const struct host_effects running = {.data = &rec, .run = record};
    host_call(p->host, r, &running, run, NULL, NULL, 0);
    if (part == NULL)
        refuse(r, run->line, run->column, "no %s(first, count)", run->name);
    if (number_named(p, "Steps", -1) != p->step_count)
        refuse(r, run->line, run->column, "%sSteps is not the number of steps, %d", p->prefix,
               p->step_count);
    check_steps(p, r, part);

    p->items = number_named(p, "Items", 1);
    p->styles = number_named(p, "Styles", 1);
    if (p->items < 1 || p->step_count % p->items != 0)
        refuse(r, run->line, run->column, "%d steps for %d items", p->step_count, p->items);
    if (p->styles < 1 || (p->styles > 1) != (use != NULL))
        refuse(r, run->line, run->column, "%d styles do not fit the methods", p->styles);
    for (int32_t style = p->styles; style-- > 0 && use != NULL;) {
        host_call(p->host, r, &loading, use, &style, NULL, 0);
        draw(p, r, part, 0, INT32_MAX); /* tables of this style fit too */
    }
    /* The number in the name is that of the model's input: there may be gaps. */
    size_t stem = strlen(p->prefix) + 9;
    const char *set = arena_printf(&p->context->arena, "Set%sTokens", p->prefix);
    for (int i = 0; host_method(p->host, i) != NULL; i++)
        p->token_inputs += strncmp(host_method(p->host, i)->name, set, stem) == 0;
}

static struct program *parse(struct context *c, struct refusal *r, const char *text, size_t length)
{
    struct program *p = NEW(&c->arena, struct program);
    struct reader reader = {.refusal = r, .program = p};
    p->context = c;
    p->space = "";
    p->name = "";
    p->dialect = NEW(&c->arena, struct dialect);
    p->host = host_new(p);
    parser_init(&reader.parser, &c->arena, r, text, length);
    read_space(&reader, 0);
    struct token end = *lexer_peek(&reader.parser.lexer, 0);
    if (end.kind != TOKEN_END)
        refuse(r, end.line, end.column, "a closing brace too many");
    if (!reader.found)
        refuse(r, end.line, end.column, "no class with members");
    dialect_check(&c->arena, r, p->dialect);
    run_host(p, r);
    return p;
}

struct program *program_parse(struct context *c, const char *text, size_t length,
                              struct dialect_error *error)
{
    struct refusal r = {.error = error};
    if (setjmp(r.escape) != 0)
        return NULL;
    return parse(c, &r, text, length);
}

static void use(struct program *p, struct refusal *r, int32_t style,
                const struct host_effects *effects)
{
    struct method *m = method_named(p, "Use", "", 1);
    if (m != NULL)
        host_call(p->host, r, effects, m, &style, NULL, 0);
}

bool program_use(struct program *p, int style, struct dialect_error *error)
{
    struct refusal r = {.error = error};
    static const struct host_effects effects = {.load = ignore_load};
    if (setjmp(r.escape) != 0)
        return false;
    use(p, &r, style, &effects);
    return true;
}
