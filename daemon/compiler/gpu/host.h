#ifndef COMPILER_GPU_HOST_H
#define COMPILER_GPU_HOST_H
/*
 * Interprets the host methods of a generated file: Load, Use, Run and SetTokens are ordinary C#,
 * and what they do is found out by doing it. Understood are int, float and bool locals and fields,
 * arithmetic, if, loops, Gpu.Buffer, Gpu.Load, Gpu.Run, tables, `ids[i]`, `ids.Length`, and
 * `buffer[x, y] = new Color4(…)`. Anything else is refused where it stands.
 */
#include "daemon/compiler/gpu/program.h"

/* What a host method causes. Unset ones refuse the call. */
struct host_effects {
    void *data;
    void (*run)(void *data, struct refusal *r, const struct program_step *step);
    void (*load)(void *data, struct refusal *r, int buffer, int texture);
    void (*set)(void *data, int buffer, int x, int y, const float rgba[4]);
};

struct host *host_new(struct program *p);
void host_add_method(struct host *h, struct method *m);
/* int and bool constants and fields. False if the name is taken. */
bool host_add_number(struct host *h, const char *name, int32_t value, bool constant);
/* NULL if there is none with so many parameters. */
struct method *host_find(const struct host *h, const char *name, int parameters);
/* The i-th method, NULL after the last. */
struct method *host_method(const struct host *h, int i);
/* Value of a constant or field; `otherwise` if there is none. */
int32_t host_number(const struct host *h, const char *name, int32_t otherwise);

/* Calls a method with int arguments; leaves through the refusal. `ids` is the argument of a method
 * that takes int[] (with no other). */
void host_call(struct host *h, struct refusal *r, const struct host_effects *effects,
               struct method *m, const int32_t *arguments, const int32_t *ids, int id_count);

#endif
