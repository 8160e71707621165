#ifndef COMPILER_GPU_BYTECODE_H
#define COMPILER_GPU_BYTECODE_H
/*
 * A flattened kernel as code for the block machine (execute.h).
 *
 * Two register files: uniform ones hold one value for the whole block, varying ones an array over
 * its lanes. Constants are uniform registers with negative numbers, -1 the first. A bool is 0 or
 * -1.
 */
#include "daemon/compiler/gpu/shape.h"

/*
 * Operations on one lane: symbol, field of the result (i or f), its value for operands a, b, c.
 * Wrapping of int goes through unsigned; libm's float64 functions are rounded once, as Mathf does.
 */
#define UNARY_OPERATIONS(X)                                                                        \
    X(NEGATE_INT, u, 0u - a.u)                                                                     \
    X(NEGATE, f, -a.f)                                                                             \
    X(NOT, i, ~a.i)                                                                                \
    X(TO_FLOAT, f, (float)a.i)                                                                     \
    X(TO_INT, i, saturate(a.f))                                                                    \
    X(ABS, f, fabsf(a.f))                                                                          \
    X(CEIL, f, ceilf(a.f))                                                                         \
    X(FLOOR, f, floorf(a.f))                                                                       \
    X(ROUND, f, rintf(a.f))                                                                        \
    X(SIGN, f, a.f >= 0.0f ? 1.0f : -1.0f)                                                         \
    X(SQRT, f, sqrtf(a.f))                                                                         \
    X(ACOS, f, (float)acos((double)a.f))                                                           \
    X(ASIN, f, (float)asin((double)a.f))                                                           \
    X(ATAN, f, (float)atan((double)a.f))                                                           \
    X(COS, f, (float)cos((double)a.f))                                                             \
    X(EXP, f, (float)exp((double)a.f))                                                             \
    X(LOG, f, (float)log((double)a.f))                                                             \
    X(SIN, f, (float)sin((double)a.f))                                                             \
    X(TAN, f, (float)tan((double)a.f))

#define BINARY_OPERATIONS(X)                                                                       \
    X(ADD_INT, u, a.u + b.u)                                                                       \
    X(SUBTRACT_INT, u, a.u - b.u)                                                                  \
    X(MULTIPLY_INT, u, a.u *b.u)                                                                   \
    X(LESS_INT, i, -(a.i < b.i))                                                                   \
    X(LESS_EQUAL_INT, i, -(a.i <= b.i))                                                            \
    X(EQUAL_INT, i, -(a.i == b.i))                                                                 \
    X(NOT_EQUAL_INT, i, -(a.i != b.i))                                                             \
    X(ADD, f, a.f + b.f)                                                                           \
    X(SUBTRACT, f, a.f - b.f)                                                                      \
    X(MULTIPLY, f, a.f *b.f)                                                                       \
    X(DIVIDE, f, a.f / b.f)                                                                        \
    X(REMAINDER, f, fmodf(a.f, b.f))                                                               \
    X(LESS, i, -(a.f < b.f))                                                                       \
    X(LESS_EQUAL, i, -(a.f <= b.f))                                                                \
    X(EQUAL, i, -(a.f == b.f))                                                                     \
    X(NOT_EQUAL, i, -(a.f != b.f))                                                                 \
    X(AND, i, a.i &b.i)                                                                            \
    X(OR, i, a.i | b.i)                                                                            \
    X(MAX, f, a.f > b.f ? a.f : b.f)                                                               \
    X(MIN, f, a.f < b.f ? a.f : b.f)                                                               \
    X(POW, f, (float)pow((double)a.f, (double)b.f))                                                \
    X(ATAN2, f, (float)atan2((double)a.f, (double)b.f))

#define TERNARY_OPERATIONS(X)                                                                      \
    X(SELECT, i, a.i ? b.i : c.i)                                                                  \
    X(CLAMP, f, a.f<b.f ? b.f : a.f> c.f ? c.f : a.f)

enum opcode {
    OP_MOVE, /* also of a uniform into a varying register (FORM_U) */
#define X(symbol, field, value) OP_##symbol,
    UNARY_OPERATIONS(X) BINARY_OPERATIONS(X) TERNARY_OPERATIONS(X)
#undef X
        OP_DIVIDE_INT, /* both checked: b > 0, a >= 0 */
    OP_REMAINDER_INT,
    /* `count` products of pair[2k] and pair[2k + 1], varying only; FORM_VU: the second uniform */
    OP_DOT,            /* ((p0 + p1) + p2) + p3 */
    OP_DOT_ONTO,       /* a + (((p0 + p1) + p2) + p3) */
    OP_CHAIN,          /* (((a + p0) + p1) + p2) + p3 */
    OP_ONE_RESULT_END, /* so far: dst is one register */
    OP_FETCH,  /* dst … dst + 3 = surface `target` at a, b; only components in `count` (bits) */
    OP_ENTRY,  /* dst … dst + 3 = table `target` at a */
    OP_SKIP,   /* to `target` unless the uniform a */
    OP_GO,     /* to `target` */
    OP_LOOP,   /* uniform a += b; if --dst is not 0, to `target` */
    OP_IF,     /* mask of level `count` = mask of the level above & a; if none, to `target` */
    OP_ELSE,   /* … & ~a */
    OP_END_IF, /* back to the level above `count` */
    OP_STOP,
};

/* Which operands are uniform. With FORM_UNIFORM the result is uniform too. */
enum form { FORM_UNIFORM, FORM_VV, FORM_VU, FORM_UV, FORM_VVV, FORM_VUV, FORM_VVU, FORM_VUU };
#define FORM_V FORM_VV /* unary */
#define FORM_U FORM_VU /* unary MOVE of a uniform into a varying register */

struct op {
    uint8_t code, form, count;
    bool masked; /* write only the lanes of the current mask */
    int16_t dst, a, b, c;
    int16_t pair[8];
    int32_t target;
    int32_t line, column;
};

struct operand {
    int16_t reg;
    bool varying;
};

union cell {
    int32_t i;
    uint32_t u;
    float f;
};

struct bytecode {
    struct shape shape;
    struct op *ops;
    int count, room;
    union cell *constants;
    int constant_count, constant_room;
    int uniforms, varyings, levels; /* registers and mask levels to provide */
    /* Uniform registers 0 and 1 are the block's first x and y. These are the cells' own; -1 where
     * the coordinate is uniform. */
    int lane_x, lane_y;
    struct operand result[4];
    double nanoseconds; /* a rough guess for the whole destination, to compare shapes by */
};

/* Code for one shape. NULL if the kernel needs more registers than there are. */
struct bytecode *bytecode_emit(struct arena *arena, struct flat *f, const struct shape *shape);

#endif
