#ifndef COMPILER_GPU_PROGRAM_H
#define COMPILER_GPU_PROGRAM_H
/*
 * A generated file, read back: one partial class with its buffers, tables, textures, kernels and
 * the host methods Load, Use, Run and SetTokens. The kernels are checked (dialect.h); the host
 * methods are interpreted, so that what is known here is what the text does.
 *
 * A file or a text that differs from what the class can hold is refused with line, column and
 * reason. One thread; memory is the context's.
 */
#include "daemon/compiler/gpu/dialect.h"

enum gpu_format { GPU_FORMAT_BYTE, GPU_FORMAT_HALF };

struct program_buffer {
    const char *name;
    bool is_public;
    int line;
    int width, height; /* 0 until Load made it */
    enum gpu_format format;
    int texture; /* that was loaded into it, -1 if none */
};

struct program_table {
    const char *name;
    bool is_public;
    int line;
    float (*entries)[4]; /* as Load and Use left it; NULL while null */
    int count;
};

struct program_texture {
    const char *name;
    bool is_public;
    int line;
};

struct program_argument {
    bool is_table;
    int index; /* among the tables or the buffers */
};

struct program_step {
    struct method *kernel;
    int destination; /* buffer */
    struct program_argument *arguments;
    int argument_count;
    int line;
};

struct program {
    struct context *context;
    const char *space;  /* namespace, "" if none */
    const char *name;   /* of the class; "Outer.Inner" when nested */
    const char *prefix; /* "Filter" of LoadFilter */
    struct dialect *dialect;
    struct program_buffer *buffers;
    int buffer_count, buffer_room;
    struct program_table *tables;
    int table_count, table_room;
    struct program_texture *textures;
    int texture_count, texture_room;
    struct program_step *steps; /* of RunFilter(), in order: item 0's, then item 1's … */
    int step_count, step_room;
    int items;         /* FilterItems, 1 if there is none */
    int styles;        /* FilterStyles, 1 if there is none */
    int token_inputs;  /* how many SetFilterTokens… there are */
    struct host *host; /* its interpreter (host.h) */
};

/*
 * Parses, checks, runs Load and records what Run does. Checked besides the kernels: every step's
 * destination is none of its arguments, arguments fit the parameters, a table fits its capacity
 * and the tables of a step together hold at most 4000 entries, FilterSteps is the number of steps,
 * RunFilter(i, 1) draws step i and nothing else, buffers lie within 1 .. 16384.
 * NULL and *error on a refusal.
 */
struct program *program_parse(struct context *c, const char *text, size_t length,
                              struct dialect_error *error);

/* Indices by name, -1 if there is none. */
int program_find_buffer(const struct program *p, const char *name);
int program_find_table(const struct program *p, const char *name);
int program_find_texture(const struct program *p, const char *name);

/* Runs UseFilter(style): tables and the buffers' textures change. False and *error if it failed. */
bool program_use(struct program *p, int style, struct dialect_error *error);

#endif
