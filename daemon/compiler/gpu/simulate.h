#ifndef COMPILER_GPU_SIMULATE_H
#define COMPILER_GPU_SIMULATE_H
/*
 * Runs the kernels of a parsed program on the CPU, many cells at a time, as the target would.
 *
 * Arithmetic is IEEE float32 in the order the text has it, never contracted or reassociated, so
 * that results are the same bits on every machine; Exp, Log, Pow and the trigonometric functions
 * are computed in float64 and rounded once, as Mathf does. Mathf.Round is half to even, Sign(0) is
 * 1, Clamp, Min and Max are comparisons as in Mathf. int wraps at 32 bits; a cast of what int
 * cannot hold saturates, of a NaN is 0.
 *
 * `?:`, && and || evaluate both sides. A read outside a buffer or a table, and an integer division
 * by zero or of negative operands, stops the run with an error, unless an `if` keeps the cell from
 * it.
 *
 * Half buffers hold real denormals; writes round to nearest (65520 and more becomes infinity) or
 * toward zero, as the simulation was made. Byte buffers clamp to 0 .. 1 and hold
 * floor(v * 255 + 0.5), NaN as 0.
 *
 * One thread a simulation; memory is the context's (simulation_free gives it back early).
 */
#include "daemon/compiler/gpu/program.h"

enum rounding { ROUND_NEAREST, ROUND_ZERO };

struct simulation;

struct simulation_error {
    const char *kernel; /* name; of a host method for host errors */
    int step;
    int line, column; /* in the text of the program; 0 if none */
    int x, y;         /* the cell that was computed */
    char reason[224];
};

/* Borrows the program. All buffers are zero, the textures that Load loads are missing yet. */
struct simulation *simulation_new(struct context *c, struct program *p, enum rounding rounding);
void simulation_free(struct simulation *s);

/* Gives the payload of a texture: width * height cells, row y = 0 first, of the size and format of
 * the buffer it is loaded into (8 bytes a cell for Half, 4 for Byte). Borrowed until the simulation
 * goes. False if the size is not that. */
bool simulation_texture(struct simulation *s, int texture, const void *bytes, size_t size);
/* Loads the textures of style `style` (Use) into their buffers. False and *error if one is missing.
 * Needed once before the first run where the program has textures; for style 0, Load has run. */
bool simulation_use(struct simulation *s, int style, struct simulation_error *error);

/* One cell; r, g, b, a. Writing rounds as a kernel's write does. */
void simulation_set(struct simulation *s, int buffer, int x, int y, const float rgba[4]);
void simulation_get(const struct simulation *s, int buffer, int x, int y, float rgba[4]);
/* All cells: width * height * 4 numbers, row by row. */
void simulation_write(struct simulation *s, int buffer, const float *rgba);
void simulation_read(const struct simulation *s, int buffer, float *rgba);
/* The same as halves or bytes, as they lie in the target's memory. */
void simulation_write_raw(struct simulation *s, int buffer, const void *cells);
void simulation_read_raw(const struct simulation *s, int buffer, void *cells);
/* Replaces the content of a table field (a position, say). The entries are copied. */
void simulation_set_table(struct simulation *s, int table, const float (*entries)[4], int count);
/* Runs SetFilterTokens of token input `input`. */
bool simulation_set_tokens(struct simulation *s, int input, const int32_t *ids, int count,
                           struct simulation_error *error);

/* Runs the steps first .. first + count - 1, those out of range ignored. False and *error at the
 * first fault; the destination of that step is then undefined. */
bool simulation_run(struct simulation *s, int first, int count, struct simulation_error *error);

/* For tests: results may depend neither on the blocks that cells are grouped in nor on the
 * processor. Takes shape number `shape` (modulo how many a kernel has; -1: the cheapest) and, unless
 * `wide`, only instructions that every processor has. */
void simulation_choose(struct simulation *s, int shape, bool wide);

#endif
