/*
 * Kernels the plain way, for tests: one cell at a time, straight over the checked tree, helpers by
 * calling them. Shares nothing with the block machine but the parser.
 */
#ifndef TESTS_KERNEL_REFERENCE_H
#define TESTS_KERNEL_REFERENCE_H

#include "daemon/compiler/gpu/dialect.h"
#include <math.h>
#include <string.h>

struct ref_value {
    int32_t i; /* int, bool, and the index of a buffer or table */
    float f[4];
};

struct ref_buffer {
    int width, height;
    const float *rgba;
};

struct ref_table {
    int count;
    const float (*entries)[4];
};

struct reference {
    const struct ref_buffer *buffers; /* by number of the kernel's parameter */
    const struct ref_table *tables;
    int x, y;
    bool fault;
};

struct ref_frame {
    struct reference *r;
    const struct method *m;
    struct ref_value locals[256];
    struct ref_value result;
};

static struct ref_value ref_call(struct reference *r, const struct method *m,
                                 const struct ref_value *arguments);
static bool ref_list(struct ref_frame *f, const struct statement *s);

static struct ref_value ref_binary(struct reference *r, enum operator_sign sign, bool of_int,
                                   struct ref_value a, struct ref_value b)
{
    struct ref_value v = {0};
    float x = a.f[0], y = b.f[0];
    switch (sign) {
    case SIGN_AND:
        v.i = a.i && b.i;
        return v;
    case SIGN_OR:
        v.i = a.i || b.i;
        return v;
    case SIGN_LESS:
        v.i = of_int ? a.i < b.i : x < y;
        return v;
    case SIGN_LESS_EQUAL:
        v.i = of_int ? a.i <= b.i : x <= y;
        return v;
    case SIGN_GREATER:
        v.i = of_int ? a.i > b.i : x > y;
        return v;
    case SIGN_GREATER_EQUAL:
        v.i = of_int ? a.i >= b.i : x >= y;
        return v;
    case SIGN_EQUAL:
        v.i = of_int ? a.i == b.i : x == y;
        return v;
    case SIGN_NOT_EQUAL:
        v.i = of_int ? a.i != b.i : x != y;
        return v;
    default:
        break;
    }
    if (of_int && (sign == SIGN_DIVIDE || sign == SIGN_REMAINDER) && (a.i < 0 || b.i <= 0)) {
        r->fault = true;
        return v;
    }
    switch (sign) {
    case SIGN_ADD:
        v.i = (int32_t)((uint32_t)a.i + (uint32_t)b.i);
        v.f[0] = x + y;
        break;
    case SIGN_SUBTRACT:
        v.i = (int32_t)((uint32_t)a.i - (uint32_t)b.i);
        v.f[0] = x - y;
        break;
    case SIGN_MULTIPLY:
        v.i = (int32_t)((uint32_t)a.i * (uint32_t)b.i);
        v.f[0] = x * y;
        break;
    case SIGN_DIVIDE:
        v.i = of_int ? a.i / b.i : 0;
        v.f[0] = x / y;
        break;
    default:
        v.i = of_int ? a.i % b.i : 0;
        v.f[0] = fmodf(x, y);
        break;
    }
    return v;
}

static float ref_mathf(int function, float a, float b, float c)
{
    switch (function) {
    case MATHF_ABS:
        return fabsf(a);
    case MATHF_ACOS:
        return (float)acos((double)a);
    case MATHF_ASIN:
        return (float)asin((double)a);
    case MATHF_ATAN:
        return (float)atan((double)a);
    case MATHF_ATAN2:
        return (float)atan2((double)a, (double)b);
    case MATHF_CEIL:
        return ceilf(a);
    case MATHF_CLAMP:
        if (a < b)
            return b;
        return a > c ? c : a;
    case MATHF_COS:
        return (float)cos((double)a);
    case MATHF_EXP:
        return (float)exp((double)a);
    case MATHF_FLOOR:
        return floorf(a);
    case MATHF_LOG:
        return (float)log((double)a);
    case MATHF_MAX:
        return a > b ? a : b;
    case MATHF_MIN:
        return a < b ? a : b;
    case MATHF_POW:
        return (float)pow((double)a, (double)b);
    case MATHF_ROUND:
        return rintf(a);
    case MATHF_SIGN:
        return a >= 0 ? 1.0f : -1.0f;
    case MATHF_SIN:
        return (float)sin((double)a);
    case MATHF_SQRT:
        return sqrtf(a);
    default:
        return (float)tan((double)a);
    }
}

static struct ref_value ref_value(struct ref_frame *f, const struct expression *e)
{
    struct reference *r = f->r;
    struct ref_value part[64] = {{0}}, v = {0};
    if (e->kind == EXPRESSION_LOCAL)
        return f->locals[e->slot];
    for (int i = 0; i < e->part_count; i++)
        part[i] = ref_value(f, e->part[i]);
    switch (e->kind) {
    case EXPRESSION_INT:
    case EXPRESSION_BOOL:
        v.i = e->integer;
        break;
    case EXPRESSION_FLOAT:
        v.f[0] = e->number;
        break;
    case EXPRESSION_NEGATE:
        v.i = (int32_t)(0u - (uint32_t)part[0].i);
        v.f[0] = -part[0].f[0];
        break;
    case EXPRESSION_NOT:
        v.i = !part[0].i;
        break;
    case EXPRESSION_BINARY:
        v = ref_binary(r, e->sign, e->part[0]->type != KERNEL_FLOAT, part[0], part[1]);
        break;
    case EXPRESSION_CHOOSE:
        v = part[0].i ? part[1] : part[2];
        break;
    case EXPRESSION_CAST:
        v = part[0];
        if (e->type == KERNEL_FLOAT && e->part[0]->type == KERNEL_INT)
            v.f[0] = (float)part[0].i;
        if (e->type == KERNEL_INT && e->part[0]->type == KERNEL_FLOAT) {
            float x = part[0].f[0];
            v.i = x >= 2147483648.0f    ? INT32_MAX
                  : x <= -2147483648.0f ? INT32_MIN
                  : isnan(x)            ? 0
                                        : (int32_t)x;
        }
        break;
    case EXPRESSION_ID:
        v.i = e->slot == 0 ? r->x : r->y;
        break;
    case EXPRESSION_COMPONENT:
        v.f[0] = part[0].f[e->slot];
        break;
    case EXPRESSION_FETCH: {
        const struct ref_buffer *b = &r->buffers[part[0].i];
        int x = part[1].i, y = part[2].i;
        if (x < 0 || y < 0 || x >= b->width || y >= b->height)
            r->fault = true;
        else
            memcpy(v.f, b->rgba + ((size_t)y * (size_t)b->width + (size_t)x) * 4, sizeof v.f);
        break;
    }
    case EXPRESSION_ENTRY: {
        const struct ref_table *t = &r->tables[part[0].i];
        if (part[1].i < 0 || part[1].i >= t->count)
            r->fault = true;
        else
            memcpy(v.f, t->entries[part[1].i], sizeof v.f);
        break;
    }
    case EXPRESSION_COLOR:
        for (int i = 0; i < 4; i++)
            v.f[i] = part[i].f[0];
        break;
    case EXPRESSION_MATHF:
        v.f[0] = ref_mathf(e->slot, part[0].f[0], part[1].f[0], part[2].f[0]);
        break;
    case EXPRESSION_CALL:
        return ref_call(r, e->callee, part);
    default:
        r->fault = true;
        break;
    }
    return v;
}

static bool ref_statement(struct ref_frame *f, const struct statement *s)
{
    struct ref_value v;
    switch (s->kind) {
    case STATEMENT_DECLARE:
        f->locals[s->slot] = ref_value(f, s->value);
        return false;
    case STATEMENT_ASSIGN:
        v = ref_value(f, s->value);
        if (s->compound)
            v = ref_binary(f->r, s->sign, s->target->type == KERNEL_INT, f->locals[s->target->slot],
                           v);
        f->locals[s->target->slot] = v;
        return false;
    case STATEMENT_CALL:
        ref_value(f, s->value);
        return false;
    case STATEMENT_RETURN:
        f->result = ref_value(f, s->value);
        return true;
    case STATEMENT_IF:
        return ref_list(f, ref_value(f, s->value).i ? s->body : s->other);
    case STATEMENT_BLOCK:
        return ref_list(f, s->body);
    case STATEMENT_LOOP:
        if (s->first != NULL)
            ref_statement(f, s->first);
        while (ref_value(f, s->value).i && !f->r->fault) {
            if (ref_list(f, s->body))
                return true;
            ref_statement(f, s->last);
        }
        return false;
    }
    return false;
}

static bool ref_list(struct ref_frame *f, const struct statement *s)
{
    for (; s != NULL && !f->r->fault; s = s->next)
        if (ref_statement(f, s))
            return true;
    return false;
}

static struct ref_value ref_call(struct reference *r, const struct method *m,
                                 const struct ref_value *arguments)
{
    struct ref_frame f = {.r = r, .m = m};
    for (int i = 0; i < m->parameter_count; i++)
        f.locals[i] = arguments[i];
    ref_list(&f, m->body->body);
    return f.result;
}

/* One cell of a kernel. Buffers and tables are given by number of parameter. */
static inline struct ref_value ref_cell(struct reference *r, const struct method *kernel)
{
    struct ref_value arguments[64] = {{0}};
    r->fault = false;
    for (int i = 0; i < kernel->parameter_count; i++)
        arguments[i].i = i;
    return ref_call(r, kernel, arguments);
}

#endif
