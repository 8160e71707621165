/* The body of execute_plain.c and execute_avx2.c; EXECUTE_BLOCK names the function. No include
 * guard: it is no header but a text compiled twice. */
#include "daemon/compiler/context.h"
#include "daemon/compiler/gpu/execute.h"
#include <math.h>
#include <string.h>

/* Lanes never depend on each other, also where a register is source and destination. */
#define EACH_LANE _Pragma("GCC ivdep") for (int i = 0; i < lanes; i++)

static inline int32_t saturate(float v)
{
    if (v >= 2147483648.0f)
        return INT32_MAX;
    if (v <= -2147483648.0f)
        return INT32_MIN;
    return v == v ? (int32_t)v : 0;
}

static bool fault(struct machine *m, const struct op *op, const char *reason, int lane)
{
    m->fault = op;
    m->reason = reason;
    m->lane = lane;
    return false;
}

/* The first lane of the mask for which bad[lane] is set; the caller knows there is one. */
static int first_lane(const int32_t *mask, const int32_t *bad, int lanes)
{
    int lane = 0;
    while (lane < lanes - 1 && (mask[lane] & bad[lane]) == 0)
        lane++;
    return lane;
}

static int first_active(const int32_t *mask, int lanes)
{
    int lane = 0;
    while (lane < lanes - 1 && mask[lane] == 0)
        lane++;
    return lane;
}

static void blend(union cell *dst, const union cell *old, const union cell *value,
                  const int32_t *mask, int lanes)
{
    EACH_LANE
    dst[i].i = mask[i] ? value[i].i : old[i].i;
}

/* Division of a non-negative number by a positive one: both are exact in float64, and the rounded
 * quotient never reaches an integer that the true one does not. */
static bool divide(struct machine *m, const struct op *op, union cell *d, const int32_t *mask)
{
    const int lanes = m->lanes;
    const bool remainder = op->code == OP_REMAINDER_INT;
    int32_t bad = 0;
    int32_t *wrong = m->index;
    if (op->form == FORM_VU) {
        const union cell *a = m->varying[op->a];
        const int32_t b = m->uniform[op->b].i;
        const double divisor = b > 0 ? b : 1;
        EACH_LANE
        {
            wrong[i] = -((a[i].i < 0) | (b <= 0)) & mask[i];
            bad |= wrong[i];
        }
        if (remainder) {
            EACH_LANE
            d[i].u = a[i].u - (uint32_t)(int32_t)((double)a[i].i / divisor) * (uint32_t)b;
        } else {
            EACH_LANE
            d[i].i = (int32_t)((double)a[i].i / divisor);
        }
    } else {
        const bool first = op->form == FORM_VV, second = first || op->form == FORM_UV;
        const union cell *a = first ? m->varying[op->a] : &m->uniform[op->a];
        const union cell *b = second ? m->varying[op->b] : &m->uniform[op->b];
        for (int i = 0; i < lanes; i++) {
            int32_t x = a[first ? i : 0].i, y = b[second ? i : 0].i;
            wrong[i] = -((x < 0) | (y <= 0)) & mask[i];
            bad |= wrong[i];
            if (x < 0 || y <= 0)
                y = 1, x = 0;
            d[i].i = remainder ? x % y : x / y;
        }
    }
    if (bad != 0)
        return fault(m, op, "an integer division by zero or of negative operands",
                     first_lane(mask, wrong, lanes));
    return true;
}

/* Runs of lanes that lie side by side are copied, single ones picked. */
static void gather(union cell *const *dst, const struct surface *s, const int32_t *index,
                   unsigned needs, int lanes)
{
    for (int start = 0, end; start < lanes; start = end) {
        end = start + 1;
        while (end < lanes && index[end] == index[end - 1] + 1)
            end++;
        if (end - start == 1) {
            for (int k = 0; k < 4; k++)
                if (needs & 1u << k)
                    dst[k][start] = s->plane[k][index[start]];
        } else {
            for (int k = 0; k < 4; k++)
                if (needs & 1u << k)
                    memcpy(dst[k] + start, s->plane[k] + index[start],
                           (size_t)(end - start) * sizeof *dst[k]);
        }
    }
}

static bool fetch(struct machine *m, const struct op *op, const int32_t *mask, bool full)
{
    const int lanes = m->lanes;
    const struct surface *s = m->surfaces[op->target];
    const uint32_t width = (uint32_t)s->width, height = (uint32_t)s->height;
    if (op->form == FORM_UNIFORM) {
        const uint32_t x = m->uniform[op->a].u, y = m->uniform[op->b].u;
        m->read_x = (int)x;
        m->read_y = (int)y;
        if (x >= width || y >= height)
            return fault(m, op, "a read outside the buffer", first_active(mask, lanes));
        for (int k = 0; k < 4; k++)
            m->uniform[op->dst + k] = s->plane[k][(size_t)y * width + x];
        return true;
    }

    /* Wrapping arithmetic: what is outside is caught below, or is of a lane that is masked. */
    int32_t *index = m->index, bad = 0, apart = 0;
    uint32_t first;
    if (op->form == FORM_VU) {
        const union cell *x = m->varying[op->a];
        const uint32_t y = m->uniform[op->b].u;
        first = y * width + x[0].u;
        EACH_LANE
        {
            const uint32_t at = y * width + x[i].u;
            bad |= mask[i] & -((x[i].u >= width) | (y >= height));
            apart |= (int32_t)(at - (uint32_t)i - first);
            index[i] = (int32_t)at;
        }
    } else if (op->form == FORM_UV) {
        const uint32_t x = m->uniform[op->a].u;
        const union cell *y = m->varying[op->b];
        first = y[0].u * width + x;
        EACH_LANE
        {
            const uint32_t at = y[i].u * width + x;
            bad |= mask[i] & -((x >= width) | (y[i].u >= height));
            apart |= (int32_t)(at - (uint32_t)i - first);
            index[i] = (int32_t)at;
        }
    } else {
        const union cell *x = m->varying[op->a], *y = m->varying[op->b];
        first = y[0].u * width + x[0].u;
        EACH_LANE
        {
            const uint32_t at = y[i].u * width + x[i].u;
            bad |= mask[i] & -((x[i].u >= width) | (y[i].u >= height));
            apart |= (int32_t)(at - (uint32_t)i - first);
            index[i] = (int32_t)at;
        }
    }
    if (bad != 0) {
        const bool vx = op->form != FORM_UV, vy = op->form != FORM_VU;
        for (int i = 0; i < lanes; i++) {
            const union cell x = vx ? m->varying[op->a][i] : m->uniform[op->a];
            const union cell y = vy ? m->varying[op->b][i] : m->uniform[op->b];
            m->read_x = x.i;
            m->read_y = y.i;
            if (mask[i] && (x.u >= width || y.u >= height))
                return fault(m, op, "a read outside the buffer", i);
        }
    }
    if (apart == 0) {
        /* Side by side: no copy. Some lane is inside, so all are within the surface's margins. */
        for (int k = 0; k < 4; k++)
            m->varying[op->dst + k] = s->plane[k] + (int32_t)first;
        return true;
    }
    if (!full)
        EACH_LANE
    index[i] &= mask[i];
    gather(m->own + op->dst, s, index, op->count, lanes);
    for (int k = 0; k < 4; k++)
        m->varying[op->dst + k] = m->own[op->dst + k];
    return true;
}

static bool entry(struct machine *m, const struct op *op, const int32_t *mask)
{
    const int lanes = m->lanes;
    const float(*t)[4] = m->tables[op->target];
    const uint32_t count = (uint32_t)m->table_counts[op->target];
    if (op->form == FORM_UNIFORM) {
        const uint32_t at = m->uniform[op->a].u;
        m->read_x = (int)at;
        if (at >= count)
            return fault(m, op, "a read outside the table", first_active(mask, lanes));
        memcpy(&m->uniform[op->dst], t[at], sizeof t[at]);
        return true;
    }
    const union cell *at = m->varying[op->a];
    int32_t bad = 0;
    EACH_LANE
    bad |= mask[i] & -(at[i].u >= count);
    if (bad != 0) {
        for (int i = 0; i < lanes; i++) {
            m->read_x = at[i].i;
            if (mask[i] && at[i].u >= count)
                return fault(m, op, "a read outside the table", i);
        }
    }
    union cell *const *dst = m->own + op->dst;
    for (int i = 0; i < lanes; i++) {
        const float *e = t[at[i].i & mask[i]];
        for (int k = 0; k < 4; k++)
            dst[k][i].f = e[k];
    }
    for (int k = 0; k < 4; k++)
        m->varying[op->dst + k] = m->own[op->dst + k];
    return true;
}

#define P(k) p##k[i].f
#define Q(k) q##k[i].f
#define C(k) c##k
#define LOAD(k) const union cell *p##k = m->varying[op->pair[2 * k]]
#define LOAD_Q(k) const union cell *q##k = m->varying[op->pair[2 * k + 1]]
#define LOAD_C(k) const float c##k = m->uniform[op->pair[2 * k + 1]].f
#define LOAD_1(second)                                                                             \
    LOAD(0);                                                                                       \
    second(0)
#define LOAD_2(second)                                                                             \
    LOAD_1(second);                                                                                \
    LOAD(1);                                                                                       \
    second(1)
#define LOAD_3(second)                                                                             \
    LOAD_2(second);                                                                                \
    LOAD(2);                                                                                       \
    second(2)
#define LOAD_4(second)                                                                             \
    LOAD_3(second);                                                                                \
    LOAD(3);                                                                                       \
    second(3)

/* One loop for a number of products and a form of the sum. */
#define PRODUCTS(n, second, value)                                                                 \
    do {                                                                                           \
        LOAD_##n(second);                                                                          \
        EACH_LANE                                                                                  \
        d[i].f = (value);                                                                          \
    } while (0)

#define DOT_2(F) (P(0) * F(0) + P(1) * F(1))
#define DOT_3(F) (DOT_2(F) + P(2) * F(2))
#define DOT_4(F) (DOT_3(F) + P(3) * F(3))
#define CHAIN_1(F) (base[i].f + P(0) * F(0))
#define CHAIN_2(F) (CHAIN_1(F) + P(1) * F(1))
#define CHAIN_3(F) (CHAIN_2(F) + P(2) * F(2))
#define CHAIN_4(F) (CHAIN_3(F) + P(3) * F(3))

#define PRODUCT_ROWS(F, second)                                                                    \
    switch (op->code * 8 + op->count) {                                                            \
    case OP_DOT * 8 + 2:                                                                           \
        PRODUCTS(2, second, DOT_2(F));                                                             \
        break;                                                                                     \
    case OP_DOT * 8 + 3:                                                                           \
        PRODUCTS(3, second, DOT_3(F));                                                             \
        break;                                                                                     \
    case OP_DOT * 8 + 4:                                                                           \
        PRODUCTS(4, second, DOT_4(F));                                                             \
        break;                                                                                     \
    case OP_DOT_ONTO * 8 + 2:                                                                      \
        PRODUCTS(2, second, base[i].f + DOT_2(F));                                                 \
        break;                                                                                     \
    case OP_DOT_ONTO * 8 + 3:                                                                      \
        PRODUCTS(3, second, base[i].f + DOT_3(F));                                                 \
        break;                                                                                     \
    case OP_DOT_ONTO * 8 + 4:                                                                      \
        PRODUCTS(4, second, base[i].f + DOT_4(F));                                                 \
        break;                                                                                     \
    case OP_CHAIN * 8 + 1:                                                                         \
        PRODUCTS(1, second, CHAIN_1(F));                                                           \
        break;                                                                                     \
    case OP_CHAIN * 8 + 2:                                                                         \
        PRODUCTS(2, second, CHAIN_2(F));                                                           \
        break;                                                                                     \
    case OP_CHAIN * 8 + 3:                                                                         \
        PRODUCTS(3, second, CHAIN_3(F));                                                           \
        break;                                                                                     \
    default:                                                                                       \
        PRODUCTS(4, second, CHAIN_4(F));                                                           \
        break;                                                                                     \
    }

static void products(struct machine *m, const struct op *op, union cell *d)
{
    const int lanes = m->lanes;
    const union cell *base = m->varying[op->a];
    if (op->form == FORM_VU)
        PRODUCT_ROWS(C, LOAD_C)
    else
        PRODUCT_ROWS(Q, LOAD_Q)
}

/* mask[level] = mask[level - 1] & (condition ^ flip); true if a lane is left. */
static bool narrow(struct machine *m, int level, const union cell *condition, int32_t flip)
{
    const int lanes = m->lanes;
    const int32_t *outer = m->masks[level - 1];
    int32_t *mask = m->masks[level];
    int32_t any = 0, all = -1;
    EACH_LANE
    {
        mask[i] = outer[i] & (condition[i].i ^ flip);
        any |= mask[i];
        all &= mask[i];
    }
    m->mask_full[level] = all != 0;
    return any != 0;
}

#define V(register) m->varying[register]
#define U(register) m->uniform[register]

#define UNARY_ROW(symbol, field, value)                                                            \
    case OP_##symbol:                                                                              \
        if (op->form == FORM_UNIFORM) {                                                            \
            const union cell a = U(op->a);                                                         \
            U(op->dst).field = (value);                                                            \
        } else {                                                                                   \
            const union cell *pa = V(op->a);                                                       \
            EACH_LANE                                                                              \
            {                                                                                      \
                const union cell a = pa[i];                                                        \
                d[i].field = (value);                                                              \
            }                                                                                      \
        }                                                                                          \
        break;

#define BINARY_ROW(symbol, field, value)                                                           \
    case OP_##symbol:                                                                              \
        if (op->form == FORM_UNIFORM) {                                                            \
            const union cell a = U(op->a), b = U(op->b);                                           \
            U(op->dst).field = (value);                                                            \
        } else if (op->form == FORM_VU) {                                                          \
            const union cell *pa = V(op->a), b = U(op->b);                                         \
            EACH_LANE                                                                              \
            {                                                                                      \
                const union cell a = pa[i];                                                        \
                d[i].field = (value);                                                              \
            }                                                                                      \
        } else if (op->form == FORM_UV) {                                                          \
            const union cell a = U(op->a), *pb = V(op->b);                                         \
            EACH_LANE                                                                              \
            {                                                                                      \
                const union cell b = pb[i];                                                        \
                d[i].field = (value);                                                              \
            }                                                                                      \
        } else {                                                                                   \
            const union cell *pa = V(op->a), *pb = V(op->b);                                       \
            EACH_LANE                                                                              \
            {                                                                                      \
                const union cell a = pa[i], b = pb[i];                                             \
                d[i].field = (value);                                                              \
            }                                                                                      \
        }                                                                                          \
        break;

#define TERNARY_ROW(symbol, field, value)                                                          \
    case OP_##symbol:                                                                              \
        if (op->form == FORM_UNIFORM) {                                                            \
            const union cell a = U(op->a), b = U(op->b), c = U(op->c);                             \
            U(op->dst).field = (value);                                                            \
        } else if (op->form == FORM_VUU) {                                                         \
            const union cell *pa = V(op->a), b = U(op->b), c = U(op->c);                           \
            EACH_LANE                                                                              \
            {                                                                                      \
                const union cell a = pa[i];                                                        \
                d[i].field = (value);                                                              \
            }                                                                                      \
        } else if (op->form == FORM_VUV) {                                                         \
            const union cell *pa = V(op->a), b = U(op->b), *pc = V(op->c);                         \
            EACH_LANE                                                                              \
            {                                                                                      \
                const union cell a = pa[i], c = pc[i];                                             \
                d[i].field = (value);                                                              \
            }                                                                                      \
        } else if (op->form == FORM_VVU) {                                                         \
            const union cell *pa = V(op->a), *pb = V(op->b), c = U(op->c);                         \
            EACH_LANE                                                                              \
            {                                                                                      \
                const union cell a = pa[i], b = pb[i];                                             \
                d[i].field = (value);                                                              \
            }                                                                                      \
        } else {                                                                                   \
            const union cell *pa = V(op->a), *pb = V(op->b), *pc = V(op->c);                       \
            EACH_LANE                                                                              \
            {                                                                                      \
                const union cell a = pa[i], b = pb[i], c = pc[i];                                  \
                d[i].field = (value);                                                              \
            }                                                                                      \
        }                                                                                          \
        break;

bool EXECUTE_BLOCK(struct machine *m)
{
    const struct op *ops = m->code->ops, *op = ops;
    const int lanes = m->lanes;
    const int32_t *mask = m->masks[0];
    bool full = true;

    for (;; op++) {
        if (op->code < OP_ONE_RESULT_END) {
            const bool masked = op->masked && !full;
            union cell *d = NULL;
            if (op->form != FORM_UNIFORM)
                d = masked ? m->scratch : m->own[op->dst];
            switch (op->code) {
            case OP_MOVE:
                if (op->form == FORM_UNIFORM) {
                    U(op->dst) = U(op->a);
                } else if (op->form == FORM_U) {
                    const int32_t a = U(op->a).i;
                    EACH_LANE
                    d[i].i = a;
                } else {
                    const union cell *pa = V(op->a);
                    EACH_LANE
                    d[i].i = pa[i].i;
                }
                break;
                UNARY_OPERATIONS(UNARY_ROW)
                BINARY_OPERATIONS(BINARY_ROW)
                TERNARY_OPERATIONS(TERNARY_ROW)
            case OP_DIVIDE_INT:
            case OP_REMAINDER_INT:
                if (op->form == FORM_UNIFORM) {
                    const int32_t a = U(op->a).i, b = U(op->b).i;
                    if (a < 0 || b <= 0)
                        return fault(m, op, "an integer division by zero or of negative operands",
                                     first_active(mask, lanes));
                    U(op->dst).i = op->code == OP_DIVIDE_INT ? a / b : a % b;
                } else if (!divide(m, op, d, mask)) {
                    return false;
                }
                break;
            default:
                products(m, op, d);
                break;
            }
            if (masked)
                blend(m->own[op->dst], V(op->dst), d, mask, lanes);
            if (op->form != FORM_UNIFORM)
                V(op->dst) = m->own[op->dst];
            continue;
        }
        switch (op->code) {
        case OP_FETCH:
            if (!fetch(m, op, mask, full))
                return false;
            break;
        case OP_ENTRY:
            if (!entry(m, op, mask))
                return false;
            break;
        case OP_SKIP:
            if (U(op->a).i == 0)
                op = ops + op->target - 1;
            break;
        case OP_GO:
            op = ops + op->target - 1;
            break;
        case OP_LOOP:
            U(op->a).u += U(op->b).u;
            if ((++m->beats & 0xfff) == 0)
                context_poll(m->context);
            if (--U(op->dst).u != 0)
                op = ops + op->target - 1;
            break;
        case OP_IF:
        case OP_ELSE: {
            const int level = op->count;
            const bool any = narrow(m, level, V(op->a), op->code == OP_ELSE ? -1 : 0);
            mask = m->masks[level];
            full = m->mask_full[level];
            if (!any)
                op = ops + op->target - 1;
            break;
        }
        case OP_END_IF:
            mask = m->masks[op->count - 1];
            full = m->mask_full[op->count - 1];
            break;
        default:
            return true;
        }
    }
}
