#include "daemon/compiler/gpu/bytecode.h"
#include <string.h>

enum { REGISTERS_MAX = 30000, PAIRS_MAX = 4, SPINE_MAX = 64, LEVELS_MAX = 250 };

/* Guesses for one lane, in nanoseconds; only their ratios matter. */
static const double block_op = 3.0, lane_op = 0.1, lane_product = 0.05, lane_gather = 3.0,
                    lane_run = 1.0, lane_direct = 0.3, lane_function = 8.0;

struct value {
    struct operand part[4];
};

struct emitter {
    struct arena *arena;
    struct flat *flat;
    struct bytecode *code;
    const bool *varying;  /* by local */
    struct value *locals; /* their registers */
    int *levels;          /* mask level at their declaration */
    unsigned char *needs; /* which components anybody reads */
    int next[2];          /* free registers: uniform, varying */
    int level;
    bool full;    /* ran out of registers */
    double trips; /* of the loops around */
    double per_block, per_lane;
};

static struct value emit(struct emitter *e, const struct expression *x, const struct operand *want,
                         bool masked, unsigned needs);
static void emit_list(struct emitter *e, const struct statement *s);

/* ---- registers */

static bool is_vector(enum kernel_type type)
{
    return type == KERNEL_VECTOR4 || type == KERNEL_COLOR4;
}

static struct value registers(struct emitter *e, bool varying, int count)
{
    struct value v = {{{0, false}}};
    int *next = &e->next[varying];
    if (*next + count > REGISTERS_MAX) {
        e->full = true;
        *next = 2;
    }
    for (int i = 0; i < count; i++)
        v.part[i] = (struct operand){(int16_t)(*next)++, varying};
    int *most = varying ? &e->code->varyings : &e->code->uniforms;
    *most = *next > *most ? *next : *most;
    return v;
}

static struct operand constant(struct emitter *e, union cell value)
{
    int k = 0;
    while (k < e->code->constant_count && e->code->constants[k].i != value.i)
        k++;
    if (k == REGISTERS_MAX) {
        e->full = true;
        k = 0;
    } else if (k == e->code->constant_count) {
        APPEND(e->arena, e->code->constants, e->code->constant_count, e->code->constant_room) =
            value;
    }
    return (struct operand){(int16_t)(-1 - k), false};
}

static struct operand constant_int(struct emitter *e, int32_t value)
{
    return constant(e, (union cell){.i = value});
}

static bool same(struct operand a, struct operand b)
{
    return a.reg == b.reg && a.varying == b.varying;
}

/* ---- operations */

static struct op *append(struct emitter *e, enum opcode code, int line, int column)
{
    struct op *op = &APPEND(e->arena, e->code->ops, e->code->count, e->code->room);
    *op = (struct op){.code = (uint8_t)code, .line = line, .column = column};
    e->per_block += e->trips * block_op;
    return op;
}

static bool is_function(enum opcode code)
{
    return (code >= OP_ACOS && code <= OP_TAN) || code == OP_POW || code == OP_ATAN2 ||
           code == OP_REMAINDER;
}

/* One operation with one result, into `want` if that is a place of the right kind. */
static struct operand operation(struct emitter *e, enum opcode code, enum form form,
                                const struct expression *x, const struct operand *want, bool masked,
                                const struct operand *operands, int count)
{
    bool varying = form != FORM_UNIFORM;
    struct operand dst =
        want != NULL && want->varying == varying ? *want : registers(e, varying, 1).part[0];
    struct op *op = append(e, code, x->line, x->column);
    op->form = (uint8_t)form;
    op->masked = masked && want != NULL && varying && want->varying;
    op->dst = dst.reg;
    op->a = count > 0 ? operands[0].reg : 0;
    op->b = count > 1 ? operands[1].reg : 0;
    op->c = count > 2 ? operands[2].reg : 0;
    if (varying)
        e->per_lane += e->trips * (is_function(code) ? lane_function : lane_op);
    return dst;
}

static struct operand move(struct emitter *e, struct operand from, const struct expression *x,
                           const struct operand *want, bool masked)
{
    bool varying = want != NULL ? want->varying : true;
    enum form form = !varying ? FORM_UNIFORM : from.varying ? FORM_V : FORM_U;
    return operation(e, OP_MOVE, form, x, want, masked, &from, 1);
}

static struct operand spread(struct emitter *e, struct operand p, const struct expression *x)
{
    return p.varying ? p : move(e, p, x, NULL, false);
}

static struct operand unary(struct emitter *e, enum opcode code, const struct expression *x,
                            struct operand a, const struct operand *want, bool masked)
{
    return operation(e, code, a.varying ? FORM_V : FORM_UNIFORM, x, want, masked, &a, 1);
}

static struct operand binary(struct emitter *e, enum opcode code, const struct expression *x,
                             struct operand a, struct operand b, const struct operand *want,
                             bool masked)
{
    enum form form =
        a.varying ? (b.varying ? FORM_VV : FORM_VU) : (b.varying ? FORM_UV : FORM_UNIFORM);
    struct operand operands[] = {a, b};
    return operation(e, code, form, x, want, masked, operands, 2);
}

static struct operand ternary(struct emitter *e, enum opcode code, const struct expression *x,
                              struct operand a, struct operand b, struct operand c,
                              const struct operand *want, bool masked)
{
    enum form form = FORM_UNIFORM;
    if (a.varying || b.varying || c.varying) {
        a = spread(e, a, x);
        form = b.varying ? (c.varying ? FORM_VVV : FORM_VVU) : (c.varying ? FORM_VUV : FORM_VUU);
    }
    struct operand operands[] = {a, b, c};
    return operation(e, code, form, x, want, masked, operands, 3);
}

static struct operand scalar(struct emitter *e, const struct expression *x)
{
    return emit(e, x, NULL, false, 15).part[0];
}

/* ---- sums of products */

static bool is_product(const struct expression *x)
{
    return x->kind == EXPRESSION_BINARY && x->sign == SIGN_MULTIPLY && x->type == KERNEL_FLOAT;
}

/* The terms of ((t0 + t1) + t2) …; their number, at most SPINE_MAX. */
static int spine(const struct expression *x, const struct expression *terms[SPINE_MAX])
{
    int count = 0;
    while (x->kind == EXPRESSION_BINARY && x->sign == SIGN_ADD && x->type == KERNEL_FLOAT &&
           count < SPINE_MAX - 1) {
        terms[count++] = x->part[1];
        x = x->part[0];
    }
    terms[count++] = x;
    for (int i = 0; i < count / 2; i++) {
        const struct expression *t = terms[i];
        terms[i] = terms[count - 1 - i];
        terms[count - 1 - i] = t;
    }
    return count;
}

static bool all_products(const struct expression *const *terms, int count)
{
    for (int i = 0; i < count; i++)
        if (!is_product(terms[i]) || !terms[i]->varying)
            return false;
    return true;
}

/* One fused operation over at most four products. `onto` is added as the code says. */
static struct operand products(struct emitter *e, enum opcode code, const struct expression *x,
                               const struct operand *onto, const struct expression *const *terms,
                               int count, const struct operand *want, bool masked)
{
    struct operand pair[2 * PAIRS_MAX];
    bool second_uniform = true;
    for (int i = 0; i < count; i++) {
        struct operand a = scalar(e, terms[i]->part[0]), b = scalar(e, terms[i]->part[1]);
        pair[2 * i] = a.varying ? a : b; /* a product is the same either way round */
        pair[2 * i + 1] = a.varying ? b : a;
        second_uniform = second_uniform && !pair[2 * i + 1].varying;
    }
    struct operand base = {0, true};
    if (onto != NULL)
        base = spread(e, *onto, x);
    for (int i = 0; i < count; i++) {
        pair[2 * i] = spread(e, pair[2 * i], x);
        if (!second_uniform)
            pair[2 * i + 1] = spread(e, pair[2 * i + 1], x);
    }
    struct operand dst =
        operation(e, code, second_uniform ? FORM_VU : FORM_VV, x, want, masked, &base, 1);
    struct op *op = &e->code->ops[e->code->count - 1];
    op->count = (uint8_t)count;
    for (int i = 0; i < 2 * count; i++)
        op->pair[i] = pair[i].reg;
    e->per_lane += e->trips * lane_product * count;
    return dst;
}

static int at_most(int a, int b)
{
    return a < b ? a : b;
}

/* ((onto + p0) + p1) …, any number of products. */
static struct operand chain(struct emitter *e, const struct expression *x, struct operand onto,
                            const struct expression *const *terms, int count,
                            const struct operand *want, bool masked)
{
    for (int done = 0; done < count;) {
        int now = at_most(count - done, PAIRS_MAX);
        bool last = done + now == count;
        onto =
            products(e, OP_CHAIN, x, &onto, terms + done, now, last ? want : NULL, last && masked);
        done += now;
    }
    return onto;
}

/* (p0 + p1) + p2 …, and that added to *onto where it is given. */
static struct operand dot(struct emitter *e, const struct expression *x, const struct operand *onto,
                          const struct expression *const *terms, int count,
                          const struct operand *want, bool masked)
{
    if (count <= PAIRS_MAX)
        return products(e, onto != NULL ? OP_DOT_ONTO : OP_DOT, x, onto, terms, count, want,
                        masked);
    struct operand sum = products(e, OP_DOT, x, NULL, terms, PAIRS_MAX, NULL, false);
    if (onto == NULL)
        return chain(e, x, sum, terms + PAIRS_MAX, count - PAIRS_MAX, want, masked);
    sum = chain(e, x, sum, terms + PAIRS_MAX, count - PAIRS_MAX, NULL, false);
    return binary(e, OP_ADD, x, *onto, sum, want, masked);
}

/* onto + x, where x's own additions come first. */
static struct operand add_onto(struct emitter *e, const struct expression *at, struct operand onto,
                               const struct expression *x, const struct operand *want, bool masked)
{
    const struct expression *terms[SPINE_MAX];
    int count = spine(x, terms);
    if (all_products(terms, count))
        return count == 1 ? chain(e, at, onto, terms, 1, want, masked)
                          : dot(e, at, &onto, terms, count, want, masked);
    return binary(e, OP_ADD, at, onto, scalar(e, x), want, masked);
}

static struct operand emit_sum(struct emitter *e, const struct expression *x,
                               const struct operand *want, bool masked)
{
    const struct expression *terms[SPINE_MAX];
    int count = spine(x, terms);
    if (all_products(terms, count))
        return dot(e, x, NULL, terms, count, want, masked);
    if (all_products(terms + 1, count - 1))
        return chain(e, x, scalar(e, terms[0]), terms + 1, count - 1, want, masked);
    return add_onto(e, x, scalar(e, x->part[0]), x->part[1], want, masked);
}

/* ---- expressions */

static const struct {
    enum opcode of_int, of_float;
    bool swapped;
} signs[] = {
    [SIGN_ADD] = {OP_ADD_INT, OP_ADD, false},
    [SIGN_SUBTRACT] = {OP_SUBTRACT_INT, OP_SUBTRACT, false},
    [SIGN_MULTIPLY] = {OP_MULTIPLY_INT, OP_MULTIPLY, false},
    [SIGN_DIVIDE] = {OP_DIVIDE_INT, OP_DIVIDE, false},
    [SIGN_REMAINDER] = {OP_REMAINDER_INT, OP_REMAINDER, false},
    [SIGN_LESS] = {OP_LESS_INT, OP_LESS, false},
    [SIGN_LESS_EQUAL] = {OP_LESS_EQUAL_INT, OP_LESS_EQUAL, false},
    [SIGN_GREATER] = {OP_LESS_INT, OP_LESS, true},
    [SIGN_GREATER_EQUAL] = {OP_LESS_EQUAL_INT, OP_LESS_EQUAL, true},
    [SIGN_EQUAL] = {OP_EQUAL_INT, OP_EQUAL, false},
    [SIGN_NOT_EQUAL] = {OP_NOT_EQUAL_INT, OP_NOT_EQUAL, false},
    [SIGN_AND] = {OP_AND, OP_AND, false},
    [SIGN_OR] = {OP_OR, OP_OR, false},
};

static const enum opcode mathf[] = {
#define X(symbol, name, arguments) [MATHF_##symbol] = OP_##symbol,
    MATHF_FUNCTIONS(X)
#undef X
};

static struct operand arithmetic(struct emitter *e, enum operator_sign sign, bool of_int,
                                 const struct expression *x, struct operand a, struct operand b,
                                 const struct operand *want, bool masked)
{
    enum opcode code = of_int ? signs[sign].of_int : signs[sign].of_float;
    if (signs[sign].swapped)
        return binary(e, code, x, b, a, want, masked);
    return binary(e, code, x, a, b, want, masked);
}

static struct operand emit_binary(struct emitter *e, const struct expression *x,
                                  const struct operand *want, bool masked)
{
    bool of_int = x->part[0]->type == KERNEL_INT;
    if (x->sign == SIGN_ADD && !of_int && x->varying)
        return emit_sum(e, x, want, masked);
    /* The block lies in one band: its first cell speaks for all. */
    if (x->sign == SIGN_DIVIDE && of_int && !x->varying && x->part[0]->varying) {
        struct operand first = {(int16_t)cell_axis(e->flat, x->part[0]), false};
        return binary(e, OP_DIVIDE_INT, x, first, scalar(e, x->part[1]), want, masked);
    }
    struct operand a = scalar(e, x->part[0]);
    struct operand b = scalar(e, x->part[1]);
    return arithmetic(e, x->sign, of_int, x, a, b, want, masked);
}

/* Where a fetch or an entry goes: into the registers offered, if they are of the right kind. */
static struct value four(struct emitter *e, bool varying, const struct value *into)
{
    return into != NULL && into->part[0].varying == varying ? *into : registers(e, varying, 4);
}

static struct value emit_fetch(struct emitter *e, const struct expression *x, unsigned needs,
                               const struct value *into)
{
    struct operand at_x = scalar(e, x->part[1]), at_y = scalar(e, x->part[2]);
    bool varying = at_x.varying || at_y.varying;
    struct value v = four(e, varying, into);
    struct op *op = append(e, OP_FETCH, x->line, x->column);
    op->form = (uint8_t)(at_x.varying ? (at_y.varying ? FORM_VV : FORM_VU)
                                      : (at_y.varying ? FORM_UV : FORM_UNIFORM));
    op->dst = v.part[0].reg;
    op->a = at_x.reg;
    op->b = at_y.reg;
    op->count = (uint8_t)needs;
    op->target = e->flat->locals[x->part[0]->slot].parameter;
    if (varying) {
        int step_x = shape_stride(&e->code->shape, e->flat, x->part[1]);
        int step_y = shape_stride(&e->code->shape, e->flat, x->part[2]);
        bool run = step_x == 1 && step_y == 0;
        e->per_lane += e->trips * (!run                       ? lane_gather
                                   : e->code->shape.rows == 1 ? lane_direct
                                                              : lane_run);
    }
    return v;
}

static struct value emit_entry(struct emitter *e, const struct expression *x, unsigned needs,
                               const struct value *into)
{
    struct operand at = scalar(e, x->part[1]);
    struct value v = four(e, at.varying, into);
    struct op *op = append(e, OP_ENTRY, x->line, x->column);
    op->form = at.varying ? FORM_V : FORM_UNIFORM;
    op->dst = v.part[0].reg;
    op->a = at.reg;
    op->count = (uint8_t)needs;
    op->target = e->flat->locals[x->part[0]->slot].parameter;
    if (at.varying)
        e->per_lane += e->trips * lane_gather;
    return v;
}

static struct value emit_choose(struct emitter *e, const struct expression *x,
                                const struct operand *want, bool masked, unsigned needs)
{
    struct value v = {{{0, false}}};
    struct operand condition = scalar(e, x->part[0]);
    struct value a = emit(e, x->part[1], NULL, false, needs);
    struct value b = emit(e, x->part[2], NULL, false, needs);
    for (int i = 0; i < (is_vector(x->type) ? 4 : 1); i++) {
        if (is_vector(x->type) && (needs & 1u << i) == 0)
            v.part[i] = constant_int(e, 0);
        else
            v.part[i] = ternary(e, OP_SELECT, x, condition, a.part[i], b.part[i], want, masked);
    }
    return v;
}

/* The value of x. A scalar goes into `want` if that is possible, under the mask if asked; whoever
 * wants it there compares. Of a vector only the components in `needs` are certain. */
static struct value emit(struct emitter *e, const struct expression *x, const struct operand *want,
                         bool masked, unsigned needs)
{
    struct value v = {{{0, false}}};
    struct operand a, b, c;
    switch (x->kind) {
    case EXPRESSION_INT:
    case EXPRESSION_BOOL:
        v.part[0] = constant_int(e, x->kind == EXPRESSION_BOOL ? -x->integer : x->integer);
        return v;
    case EXPRESSION_FLOAT:
        v.part[0] = constant(e, (union cell){.f = x->number});
        return v;
    case EXPRESSION_LOCAL:
        return e->locals[x->slot];
    case EXPRESSION_ID:
        v.part[0] = (struct operand){(int16_t)x->slot, false};
        if (x->varying)
            v.part[0] =
                (struct operand){(int16_t)(x->slot == 0 ? e->code->lane_x : e->code->lane_y), true};
        return v;
    case EXPRESSION_COMPONENT:
        v = emit(e, x->part[0], NULL, false, 1u << x->slot);
        v.part[0] = v.part[x->slot];
        return v;
    case EXPRESSION_NEGATE:
        a = scalar(e, x->part[0]);
        v.part[0] = unary(e, x->type == KERNEL_INT ? OP_NEGATE_INT : OP_NEGATE, x, a, want, masked);
        return v;
    case EXPRESSION_NOT:
        a = scalar(e, x->part[0]);
        v.part[0] = unary(e, OP_NOT, x, a, want, masked);
        return v;
    case EXPRESSION_CAST:
        a = scalar(e, x->part[0]);
        v.part[0] = a;
        if (x->type != x->part[0]->type)
            v.part[0] =
                unary(e, x->type == KERNEL_INT ? OP_TO_INT : OP_TO_FLOAT, x, a, want, masked);
        return v;
    case EXPRESSION_BINARY:
        v.part[0] = emit_binary(e, x, want, masked);
        return v;
    case EXPRESSION_CHOOSE:
        return emit_choose(e, x, want, masked, needs);
    case EXPRESSION_MATHF:
        a = scalar(e, x->part[0]);
        if (x->part_count == 1) {
            v.part[0] = unary(e, mathf[x->slot], x, a, want, masked);
            return v;
        }
        b = scalar(e, x->part[1]);
        if (x->part_count == 2) {
            v.part[0] = binary(e, mathf[x->slot], x, a, b, want, masked);
            return v;
        }
        c = scalar(e, x->part[2]);
        v.part[0] = ternary(e, mathf[x->slot], x, a, b, c, want, masked);
        return v;
    case EXPRESSION_COLOR:
        for (int i = 0; i < 4; i++)
            v.part[i] = scalar(e, x->part[i]);
        return v;
    case EXPRESSION_FETCH:
        return emit_fetch(e, x, needs, NULL);
    case EXPRESSION_ENTRY:
        return emit_entry(e, x, needs, NULL);
    case EXPRESSION_INLINE:
        emit_list(e, x->body);
        return emit(e, x->part[0], want, masked, needs);
    default:
        return v;
    }
}

/* ---- statements */

static void emit_declaration(struct emitter *e, const struct statement *s)
{
    bool vector = is_vector(s->type), varying = e->varying[s->slot];
    struct value *local = &e->locals[s->slot];
    unsigned needs = vector ? e->needs[s->slot] : 1;
    *local = registers(e, varying, vector ? 4 : 1);
    e->levels[s->slot] = e->level;
    if (s->value == NULL)
        return;
    int next[2] = {e->next[0], e->next[1]};
    struct value v;
    if (s->value->kind == EXPRESSION_FETCH)
        v = emit_fetch(e, s->value, needs, local);
    else if (s->value->kind == EXPRESSION_ENTRY)
        v = emit_entry(e, s->value, needs, local);
    else
        v = emit(e, s->value, vector ? NULL : &local->part[0], false, needs);
    for (int i = 0; i < (vector ? 4 : 1); i++)
        if ((needs & 1u << i) != 0 && !same(v.part[i], local->part[i]))
            move(e, v.part[i], s->value, &local->part[i], false);
    memcpy(e->next, next, sizeof next);
}

static void emit_assignment(struct emitter *e, const struct statement *s)
{
    const struct expression *x = s->value;
    struct value *local = &e->locals[s->target->slot];
    bool vector = is_vector(s->target->type);
    bool masked = local->part[0].varying && e->level > e->levels[s->target->slot];
    struct value v = {{{0, false}}};
    struct operand *to = &local->part[0];
    int next[2] = {e->next[0], e->next[1]};
    if (!s->compound) {
        v = emit(e, x, vector ? NULL : to, masked, 15);
        for (int i = 1; vector && i < 4; i++) /* a part that is overwritten before it is read */
            for (int k = 0; k < i; k++)
                if (same(v.part[i], to[k])) {
                    struct operand kept = registers(e, to->varying, 1).part[0];
                    v.part[i] = move(e, v.part[i], x, &kept, false);
                    break;
                }
    } else if (s->sign == SIGN_ADD && s->target->type == KERNEL_FLOAT && to->varying) {
        v.part[0] = add_onto(e, x, *to, x, to, masked);
    } else {
        v.part[0] =
            arithmetic(e, s->sign, s->target->type == KERNEL_INT, x, *to, scalar(e, x), to, masked);
    }
    for (int i = 0; i < (vector ? 4 : 1); i++)
        if (!same(v.part[i], to[i]))
            move(e, v.part[i], x, &to[i], masked);
    memcpy(e->next, next, sizeof next);
}

static void emit_branch(struct emitter *e, const struct statement *s)
{
    int next[2] = {e->next[0], e->next[1]};
    emit_list(e, s);
    memcpy(e->next, next, sizeof next);
}

static void emit_if(struct emitter *e, const struct statement *s)
{
    int next[2] = {e->next[0], e->next[1]};
    struct operand condition = scalar(e, s->value);
    if (!condition.varying) {
        int skip = e->code->count;
        append(e, OP_SKIP, s->line, s->column)->a = condition.reg;
        emit_branch(e, s->body);
        int go = e->code->count;
        if (s->other != NULL)
            append(e, OP_GO, s->line, s->column);
        e->code->ops[skip].target = e->code->count;
        emit_branch(e, s->other);
        if (s->other != NULL)
            e->code->ops[go].target = e->code->count;
    } else {
        if (s->value->kind == EXPRESSION_LOCAL && s->other != NULL)
            condition = move(e, condition, s->value, NULL, false);
        e->level++;
        e->full = e->full || e->level > LEVELS_MAX;
        e->code->levels = e->level > e->code->levels ? e->level : e->code->levels;
        int begin = e->code->count, otherwise = begin;
        append(e, OP_IF, s->line, s->column);
        emit_branch(e, s->body);
        if (s->other != NULL) {
            otherwise = e->code->count;
            append(e, OP_ELSE, s->line, s->column);
            emit_branch(e, s->other);
        }
        int end = e->code->count;
        append(e, OP_END_IF, s->line, s->column)->count = (uint8_t)e->level;
        for (int i = 0; i < 2; i++) {
            struct op *op = &e->code->ops[i == 0 ? begin : otherwise];
            op->count = (uint8_t)e->level;
            op->a = condition.reg;
            op->target = i == 0 && otherwise != begin ? otherwise : end;
        }
        e->per_lane += e->trips * lane_op * 2;
        e->level--;
    }
    memcpy(e->next, next, sizeof next);
}

static void emit_loop(struct emitter *e, const struct statement *s)
{
    int next[2] = {e->next[0], e->next[1]};
    struct expression at = {.line = s->line, .column = s->column};
    struct operand counter = e->locals[s->slot].part[0];
    if (s->trips == 0)
        return;
    struct operand left = registers(e, false, 1).part[0];
    move(e, constant_int(e, (int32_t)s->trips), &at, &left, false);
    double trips = e->trips;
    e->trips *= s->trips;
    int begin = e->code->count;
    emit_branch(e, s->body);
    struct op *op = append(e, OP_LOOP, s->line, s->column);
    op->dst = left.reg;
    op->a = counter.reg; /* a counter is never assigned, so never varying */
    op->b = constant_int(e, s->by).reg;
    op->target = begin;
    e->trips = trips;
    memcpy(e->next, next, sizeof next);
}

static void emit_list(struct emitter *e, const struct statement *s)
{
    for (; s != NULL && !e->full; s = s->next) {
        int next[2] = {e->next[0], e->next[1]};
        switch (s->kind) {
        case STATEMENT_DECLARE:
            emit_declaration(e, s);
            break;
        case STATEMENT_ASSIGN:
            emit_assignment(e, s);
            break;
        case STATEMENT_CALL: /* for its reads and divisions, which are checked */
            emit(e, s->value, NULL, false, 15);
            memcpy(e->next, next, sizeof next);
            break;
        case STATEMENT_IF:
            emit_if(e, s);
            break;
        case STATEMENT_LOOP:
            emit_loop(e, s);
            break;
        default:
            break;
        }
    }
}

/* ---- which components are read */

static void need_list(unsigned char *needs, const struct statement *s);

static void need(unsigned char *needs, const struct expression *x)
{
    if (x == NULL)
        return;
    need_list(needs, x->body);
    if (x->kind == EXPRESSION_COMPONENT && x->part[0]->kind == EXPRESSION_LOCAL) {
        needs[x->part[0]->slot] |= (unsigned char)(1u << x->slot);
        return;
    }
    if (x->kind == EXPRESSION_LOCAL)
        needs[x->slot] = 15;
    for (int i = 0; i < x->part_count; i++)
        need(needs, x->part[i]);
}

static void need_list(unsigned char *needs, const struct statement *s)
{
    for (; s != NULL; s = s->next) {
        need(needs, s->value);
        need_list(needs, s->body);
        need_list(needs, s->other);
    }
}

static double blocks_of(const struct shape *s)
{
    double bands = (double)(s->width / s->band_x);
    int rest = s->width % s->band_x;
    double across =
        bands * ((s->band_x + s->columns - 1) / s->columns) + (rest + s->columns - 1) / s->columns;
    bands = (double)(s->height / s->band_y);
    rest = s->height % s->band_y;
    return across *
           (bands * ((s->band_y + s->rows - 1) / s->rows) + (rest + s->rows - 1) / s->rows);
}

struct bytecode *bytecode_emit(struct arena *arena, struct flat *f, const struct shape *shape)
{
    bool *varying = NEW_ARRAY(arena, f->local_count, bool);
    struct emitter e = {.arena = arena, .flat = f, .varying = varying, .trips = 1.0};
    shape_mark(arena, shape, f, varying);
    e.code = NEW(arena, struct bytecode);
    e.code->shape = *shape;
    e.locals = NEW_ARRAY(arena, f->local_count, struct value);
    e.levels = NEW_ARRAY(arena, f->local_count, int);
    e.needs = NEW_ARRAY(arena, f->local_count, unsigned char);
    need_list(e.needs, f->body);
    need(e.needs, f->result);

    registers(&e, false, 2);
    e.code->lane_x = shape->columns > 1 ? registers(&e, true, 1).part[0].reg : -1;
    e.code->lane_y = shape->rows > 1 ? registers(&e, true, 1).part[0].reg : -1;
    emit_list(&e, f->body);
    struct value v = emit(&e, f->result, NULL, false, 15);
    memcpy(e.code->result, v.part, sizeof v.part);
    append(&e, OP_STOP, 0, 0);
    e.code->nanoseconds =
        blocks_of(shape) * (e.per_block + 20.0) + (double)shape->width * shape->height * e.per_lane;
    return e.full ? NULL : e.code;
}
