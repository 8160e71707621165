#ifndef COMPILER_GPU_DIALECT_H
#define COMPILER_GPU_DIALECT_H
/*
 * What a kernel may contain, enforced: parses the text of kernel and helper methods and checks
 * every rule of the dialect. What passes here compiles as C# 9 and runs on the
 * target.
 *
 * Rules that are stricter than C#, because the target's are:
 *   - a kernel is `[Kernel] static Color4 Name(KernelId id, …)` with GpuBuffer2D and
 *     `[Capacity(n)] Vector4[]` parameters after the id (n a power of two, 4 .. 1024), and returns
 *     once, as its last statement; a helper is static, takes int, float, bool, Vector4, Color4 and
 *     GpuBuffer2D, returns one of the first five, and may return early in an `if` (not in a loop)
 *     whose branch always returns;
 *   - locals are initialised where declared; components are only read;
 *   - a loop counts: `for (int i = FROM; i < TO; i += BY)` with constant expressions of int
 * literals (all six comparisons, ++, --, +=, -=), or `int i = FROM; while (i < TO) { …; i += BY;
 * }`; the counter is assigned nowhere else and never overflows;
 *   - Abs, Min, Max, Clamp of Mathf get at least one float (all int would be C#'s int overload);
 *   - constant int expressions neither overflow nor divide by zero or by negative numbers.
 *
 * Pure functions of the text; any thread. Memory is the arena's.
 */
#include "daemon/compiler/gpu/syntax.h"

struct dialect {
    struct method **methods; /* kernels and helpers in the text's order */
    int method_count, method_room;
};

/* Parses and checks a text of methods alone (comments allowed between them), as a lowering writes
 * them. NULL and *error on a refusal. */
struct dialect *dialect_parse(struct arena *arena, const char *text, size_t length,
                              struct dialect_error *error);
/* Checks methods that were parsed elsewhere; leaves through the refusal. */
void dialect_check(struct arena *arena, struct refusal *r, struct dialect *d);
/* NULL if there is none. */
struct method *dialect_find(const struct dialect *d, const char *name);

/* What one invocation costs, counted on the tree: a loop multiplies by its trips, an `if` counts
 * the larger of its branches for each figure, `?:`, && and || count both sides, a helper counts at
 * each call. Saturates. */
struct dialect_cost {
    uint64_t fetches; /* buffer[x, y] */
    uint64_t entries; /* table[i] */
    uint64_t macs;    /* products that are added or subtracted: float, and int in a `+=` */
    uint64_t alu;     /* every other operation, conversion and Mathf call */
    bool known;       /* for dialect.c */
};
struct dialect_cost dialect_cost(const struct method *m);

#endif
