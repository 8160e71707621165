#include "daemon/compiler/gpu/glsl.h"
#include "daemon/compiler/context.h"
#include "daemon/compiler/graph/decimal.h"
#include "daemon/compiler/strbuf.h"
#include <math.h>
#include <string.h>

struct printer {
    struct strbuf out;
    const struct method *method; /* whose locals the names are */
    int depth;                   /* of blocks */
    const struct method **done;  /* helpers that were written */
    int done_count, done_room;
    bool remainder; /* the remainder of floats is there */
};

static const char *const functions[] = {
    [MATHF_ABS] = "abs",    [MATHF_ACOS] = "acos",   [MATHF_ASIN] = "asin",   [MATHF_ATAN] = "atan",
    [MATHF_ATAN2] = "atan", [MATHF_CEIL] = "ceil",   [MATHF_CLAMP] = "clamp", [MATHF_COS] = "cos",
    [MATHF_EXP] = "exp",    [MATHF_FLOOR] = "floor", [MATHF_LOG] = "log",     [MATHF_MAX] = "max",
    [MATHF_MIN] = "min",    [MATHF_POW] = "pow",     [MATHF_ROUND] = "round", [MATHF_SIGN] = "sign",
    [MATHF_SIN] = "sin",    [MATHF_SQRT] = "sqrt",   [MATHF_TAN] = "tan",
};

static const char *const signs[] = {
    [SIGN_ADD] = "+",         [SIGN_SUBTRACT] = "-",   [SIGN_MULTIPLY] = "*",
    [SIGN_DIVIDE] = "/",      [SIGN_REMAINDER] = "%",  [SIGN_LESS] = "<",
    [SIGN_LESS_EQUAL] = "<=", [SIGN_GREATER] = ">",    [SIGN_GREATER_EQUAL] = ">=",
    [SIGN_EQUAL] = "==",      [SIGN_NOT_EQUAL] = "!=", [SIGN_AND] = "&&",
    [SIGN_OR] = "||",
};

static void expression(struct printer *p, const struct expression *e);
static void statements(struct printer *p, const struct statement *s);

/* ---- names and types */

/* Letters and digits of ASCII only: an underscore after another would be reserved. */
static void name(struct printer *p, char kind, int number, const char *text)
{
    strbuf_printf(&p->out, "%c%d_", kind, number);
    for (; *text != '\0'; text++)
        if ((*text >= '0' && *text <= '9') || (*text >= 'a' && *text <= 'z') ||
            (*text >= 'A' && *text <= 'Z'))
            strbuf_char(&p->out, *text);
}

static void local(struct printer *p, int slot)
{
    /* Buffers and tables of a kernel are uniforms; those of a helper are its parameters. */
    if (p->method->kernel && slot < p->method->parameter_count)
        strbuf_printf(&p->out, "p%d", slot);
    else
        name(p, 'v', slot, p->method->locals[slot].name);
}

static const char *type_text(enum kernel_type type)
{
    switch (type) {
    case KERNEL_BOOL:
        return "bool";
    case KERNEL_INT:
        return "int";
    case KERNEL_FLOAT:
        return "float";
    case KERNEL_BUFFER:
        return "sampler2D";
    default:
        return "vec4"; /* Vector4, Color4 and the entries of a table */
    }
}

/* ---- expressions */

static void integer(struct printer *p, int32_t value)
{
    if (value == INT32_MIN) /* no literal of GLSL is its magnitude */
        strbuf_add(&p->out, "(-2147483647 - 1)");
    else
        strbuf_printf(&p->out, value < 0 ? "(%d)" : "%d", value);
}

static void number(struct printer *p, float value)
{
    char text[FLOAT_TEXT_SIZE];
    size_t length = float_print(text, fabsf(value));
    text[length - 1] = '\0'; /* without its f */
    strbuf_printf(&p->out, signbit(value) ? "(-%s)" : "%s", text);
}

static void list(struct printer *p, const struct expression *e, int first)
{
    for (int i = first; i < e->part_count; i++) {
        if (i > first)
            strbuf_add(&p->out, ", ");
        expression(p, e->part[i]);
    }
}

static void call(struct printer *p, const char *function, const struct expression *e)
{
    strbuf_printf(&p->out, "%s(", function);
    list(p, e, 0);
    strbuf_char(&p->out, ')');
}

static bool is_float_remainder(enum operator_sign sign, enum kernel_type type)
{
    return sign == SIGN_REMAINDER && type == KERNEL_FLOAT;
}

static void binary(struct printer *p, const struct expression *e)
{
    if (is_float_remainder(e->sign, e->type)) {
        call(p, "remainder_of", e);
        return;
    }
    strbuf_char(&p->out, '(');
    expression(p, e->part[0]);
    strbuf_printf(&p->out, " %s ", signs[e->sign]);
    expression(p, e->part[1]);
    strbuf_char(&p->out, ')');
}

/* The tree decides, not precedence: everything that has operands is in parentheses. */
static void expression(struct printer *p, const struct expression *e)
{
    switch (e->kind) {
    case EXPRESSION_INT:
        integer(p, e->integer);
        return;
    case EXPRESSION_FLOAT:
        number(p, e->number);
        return;
    case EXPRESSION_BOOL:
        strbuf_add(&p->out, e->integer != 0 ? "true" : "false");
        return;
    case EXPRESSION_NEGATE:
    case EXPRESSION_NOT:
        strbuf_add(&p->out, e->kind == EXPRESSION_NOT ? "(!" : "(-");
        expression(p, e->part[0]);
        strbuf_char(&p->out, ')');
        return;
    case EXPRESSION_BINARY:
        binary(p, e);
        return;
    case EXPRESSION_CHOOSE:
        strbuf_char(&p->out, '(');
        expression(p, e->part[0]);
        strbuf_add(&p->out, " ? ");
        expression(p, e->part[1]);
        strbuf_add(&p->out, " : ");
        expression(p, e->part[2]);
        strbuf_char(&p->out, ')');
        return;
    case EXPRESSION_CAST:
        call(p, type_text(e->type), e);
        return;
    case EXPRESSION_LOCAL:
        local(p, e->slot);
        return;
    case EXPRESSION_ID:
        strbuf_add(&p->out, e->slot == 0 ? "id.x" : "id.y");
        return;
    case EXPRESSION_COMPONENT:
        expression(p, e->part[0]);
        strbuf_char(&p->out, '.');
        strbuf_char(&p->out, "xyzw"[e->slot]);
        return;
    case EXPRESSION_FETCH:
        strbuf_add(&p->out, "texelFetch(");
        expression(p, e->part[0]);
        strbuf_add(&p->out, ", ivec2(");
        list(p, e, 1);
        strbuf_add(&p->out, "), 0)");
        return;
    case EXPRESSION_ENTRY:
        expression(p, e->part[0]);
        strbuf_char(&p->out, '[');
        expression(p, e->part[1]);
        strbuf_char(&p->out, ']');
        return;
    case EXPRESSION_COLOR:
        call(p, "vec4", e);
        return;
    case EXPRESSION_MATHF:
        call(p, functions[e->slot], e);
        return;
    case EXPRESSION_CALL:
        name(p, 'f', e->callee->number, e->callee->name);
        call(p, "", e);
        return;
    default:
        BUG(p->out.arena->context, "an expression of kind %d in a checked kernel", (int)e->kind);
    }
}

/* ---- statements */

static void indent(struct printer *p)
{
    for (int i = 0; i < p->depth; i++)
        strbuf_add(&p->out, "    ");
}

static void declaration(struct printer *p, const struct statement *s)
{
    strbuf_printf(&p->out, "%s ", type_text(s->type));
    local(p, s->slot);
    strbuf_add(&p->out, " = ");
    expression(p, s->value);
}

static void assignment(struct printer *p, const struct statement *s)
{
    expression(p, s->target);
    if (s->compound && is_float_remainder(s->sign, s->target->type)) {
        strbuf_add(&p->out, " = remainder_of(");
        expression(p, s->target);
        strbuf_add(&p->out, ", ");
        expression(p, s->value);
        strbuf_char(&p->out, ')');
        return;
    }
    strbuf_printf(&p->out, " %s= ", s->compound ? signs[s->sign] : "");
    expression(p, s->value);
}

/* A body in braces, and what a while has at its end. */
static void braces(struct printer *p, const struct statement *body, const struct statement *last)
{
    strbuf_add(&p->out, "{\n");
    p->depth++;
    statements(p, body != NULL && body->kind == STATEMENT_BLOCK ? body->body : body);
    if (last != NULL) {
        indent(p);
        assignment(p, last);
        strbuf_add(&p->out, ";\n");
    }
    p->depth--;
    indent(p);
    strbuf_add(&p->out, "}\n");
}

static void loop(struct printer *p, const struct statement *s)
{
    if (s->is_while) {
        strbuf_add(&p->out, "while (");
        expression(p, s->value);
        strbuf_add(&p->out, ") ");
        braces(p, s->body, s->last);
        return;
    }
    strbuf_add(&p->out, "for (");
    declaration(p, s->first);
    strbuf_add(&p->out, "; ");
    expression(p, s->value);
    strbuf_add(&p->out, "; ");
    assignment(p, s->last);
    strbuf_add(&p->out, ") ");
    braces(p, s->body, NULL);
}

static void statement(struct printer *p, const struct statement *s)
{
    switch (s->kind) {
    case STATEMENT_DECLARE:
        declaration(p, s);
        break;
    case STATEMENT_ASSIGN:
        assignment(p, s);
        break;
    case STATEMENT_CALL:
        expression(p, s->value);
        break;
    case STATEMENT_RETURN: /* a kernel's is its last statement */
        strbuf_add(&p->out, p->method->kernel ? "cell = " : "return ");
        expression(p, s->value);
        break;
    case STATEMENT_IF:
        strbuf_add(&p->out, "if (");
        expression(p, s->value);
        strbuf_add(&p->out, ") ");
        braces(p, s->body, NULL);
        if (s->other != NULL) {
            indent(p);
            strbuf_add(&p->out, "else ");
            braces(p, s->other, NULL);
        }
        return;
    case STATEMENT_LOOP:
        loop(p, s);
        return;
    case STATEMENT_BLOCK:
        braces(p, s, NULL);
        return;
    }
    strbuf_add(&p->out, ";\n");
}

static void statements(struct printer *p, const struct statement *s)
{
    for (; s != NULL; s = s->next) {
        indent(p);
        statement(p, s);
    }
}

/* ---- methods */

static void helpers_of_list(struct printer *p, const struct statement *s);

static void remainder_once(struct printer *p)
{
    if (p->remainder)
        return;
    p->remainder = true;
    /* C#'s has the sign of the dividend. */
    strbuf_add(&p->out, "\nfloat remainder_of(float a, float b)\n{\n"
                        "    return a - b * trunc(a / b);\n}\n");
}

static void helper(struct printer *p, const struct method *m)
{
    const struct method *outer = p->method;
    for (int i = 0; i < p->done_count; i++)
        if (p->done[i] == m)
            return;
    APPEND(p->out.arena, p->done, p->done_count, p->done_room) = m;
    helpers_of_list(p, m->body);
    p->method = m;
    strbuf_printf(&p->out, "\n%s ", type_text(m->type));
    name(p, 'f', m->number, m->name);
    strbuf_char(&p->out, '(');
    for (int i = 0; i < m->parameter_count; i++) {
        strbuf_printf(&p->out, "%s%s ", i > 0 ? ", " : "", type_text(m->locals[i].type));
        local(p, i);
    }
    strbuf_add(&p->out, ")\n");
    braces(p, m->body, NULL);
    p->method = outer;
}

/* A function has to stand before its callers. */
static void helpers_of_expression(struct printer *p, const struct expression *e)
{
    if (e == NULL)
        return;
    for (int i = 0; i < e->part_count; i++)
        helpers_of_expression(p, e->part[i]);
    if (e->kind == EXPRESSION_CALL)
        helper(p, e->callee);
    else if (e->kind == EXPRESSION_BINARY && is_float_remainder(e->sign, e->type))
        remainder_once(p);
}

static void helpers_of_list(struct printer *p, const struct statement *s)
{
    for (; s != NULL; s = s->next) {
        helpers_of_expression(p, s->value);
        helpers_of_list(p, s->first);
        helpers_of_list(p, s->body);
        helpers_of_list(p, s->other);
        if (s->kind == STATEMENT_ASSIGN && s->compound &&
            is_float_remainder(s->sign, s->target->type))
            remainder_once(p);
    }
}

static const char *heading(enum glsl_version version)
{
    return version == GLSL_330 ? "#version 330 core\n"
                               : "#version 300 es\nprecision highp float;\nprecision highp int;\n"
                                 "precision highp sampler2D;\n";
}

const char *glsl_fragment(struct arena *arena, const struct method *m, enum glsl_version version)
{
    struct printer p = {.method = m};
    strbuf_init(&p.out, arena);
    strbuf_add(&p.out, heading(version));
    for (int i = 1; i < m->parameter_count; i++) {
        const struct local *l = &m->locals[i];
        strbuf_printf(&p.out, "uniform %s p%d", type_text(l->type), i);
        if (l->type == KERNEL_TABLE)
            strbuf_printf(&p.out, "[%d]", l->capacity);
        strbuf_add(&p.out, ";\n");
    }
    strbuf_add(&p.out, "out vec4 cell;\n");
    helpers_of_list(&p, m->body);
    strbuf_add(&p.out, "\nvoid main()\n{\n    ivec2 id = ivec2(gl_FragCoord.xy);\n");
    p.depth = 1;
    statements(&p, m->body->body);
    strbuf_add(&p.out, "}\n");
    return p.out.text;
}

const char *glsl_vertex(enum glsl_version version)
{
#define BODY                                                                                       \
    "\nvoid main()\n{\n"                                                                           \
    "    gl_Position = vec4(gl_VertexID == 1 ? 3.0 : -1.0, gl_VertexID == 2 ? 3.0 : -1.0, 0.0, "   \
    "1.0);\n}\n"
    return version == GLSL_330 ? "#version 330 core\n" BODY : "#version 300 es\n" BODY;
#undef BODY
}
