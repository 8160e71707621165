#ifndef COMPILER_GPU_EXECUTE_H
#define COMPILER_GPU_EXECUTE_H
/*
 * The block machine: runs the code of a kernel over one block of cells. The inner loops are in
 * execute_block.h, compiled twice (with and without AVX2); both give the same bits.
 */
#include "daemon/compiler/gpu/bytecode.h"

/* A buffer's cells as float32, one plane a component, with room for SHAPE_LANES cells before and
 * after: a run of lanes may start outside where an `if` keeps the outer lanes from using it. */
struct surface {
    union cell *plane[4]; /* of cell (0, 0) */
    int width, height;
};

struct machine {
    struct context *context; /* polled in loops */
    const struct bytecode *code;
    const struct surface **surfaces; /* by parameter of the kernel */
    const float (**tables)[4];
    const int *table_counts;
    union cell *uniform;  /* register 0; the constants below it */
    union cell **varying; /* where each register's lanes are now: its own, or a surface's cells */
    union cell **own;
    union cell *scratch;
    int32_t *index;
    int32_t **masks; /* by level; level 0 is all lanes */
    bool *mask_full;
    int lanes;
    unsigned beats;
    /* After a fault: */
    const struct op *fault;
    const char *reason;
    int lane, read_x, read_y;
};

/* Runs the block whose lanes and coordinates are set. False after a fault. */
bool execute_block_plain(struct machine *m);
bool execute_block_avx2(struct machine *m);

#endif
