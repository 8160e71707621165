#ifndef COMPILER_PLAN_H
#define COMPILER_PLAN_H
/*
 * What is to be drawn: steps, the buffers between them, and for every value where it is. Made from
 * a graph by plan_graph() (steps.c) after all passes, before any text exists.
 */
#include "daemon/compiler/gpu/layout.h"
#include "daemon/compiler/graph/graph.h"

struct compile_cache;
struct extent;
struct kernel_text;
struct pattern;

enum placement {
    PLACED_NOWHERE, /* nobody reads it */
    PLACED_BUFFER,  /* in a texture, with a layout */
    PLACED_VIEW,    /* its reader indexes the operand of the view that makes it */
    PLACED_INLINE,  /* its reader computes it */
    PLACED_JOINED,  /* an intermediate result of the step that ends with its reader: lives in that
                       kernel only */
};

/* value->plan */
struct spot {
    enum placement placement;
    struct layout layout;  /* PLACED_BUFFER */
    int buffer;            /* PLACED_BUFFER: in plan->buffers */
    struct step *step;     /* that computes it: PLACED_BUFFER (NULL for inputs), PLACED_JOINED */
    struct extent *extent; /* how large it becomes (range.h) */
    int exponent;          /* PLACED_BUFFER: it is stored times 2^-exponent */
    bool limited;          /* PLACED_BUFFER: it may be more than 16 bits hold */
    bool unrounded;        /* a reader needs it as 32 bits have it (zeros_matter()): not stored */
    int order;             /* of the node that makes it, in the graph's list */
    int mark;              /* for walks */
    int walk;              /* the last walk that came here (count_buffers()) */
    const int64_t *tables; /* of token ids: tokens_tables(), one row of the buffer each */
    int table_count;
};

static inline struct spot *spot_of(const struct value *v)
{
    return v->plan;
}

enum buffer_kind { BUFFER_INPUT, BUFFER_OUTPUT, BUFFER_INNER, BUFFER_TOKENS };

struct buffer {
    enum buffer_kind kind;
    int number; /* of the input or output among the graph's; of an inner buffer from 1 */
    struct value *value;
    int64_t width, height;
    bool half;     /* else 8-bit */
    int written;   /* step that writes it, -1 for inputs */
    int last_read; /* last step that reads it; the number of steps for outputs */
    int storage;   /* inner buffers of one storage share a GPU buffer (buffers.c) */
};

struct storage {
    int64_t width, height;
    bool half;
};

struct step {
    int number;
    struct node *root;   /* ROLE_STEP operator, or NULL: views and elementwise operators only */
    int root_output;     /* the output of root that it computes */
    struct value *value; /* what it writes */
    int packed;          /* axis of value that has to lie in components, -1: any */
    bool copies;  /* value lies elsewhere too; this step only moves it to where it is wanted */
    bool limited; /* what it writes may be more than 16 bits hold */
    struct layout layout; /* of what it writes */
    int buffer;           /* that it writes */
    struct value *
        *reads; /* values in buffers that it may read, without repeats, in order of first mention */
    int read_count, read_room;
    struct node **fused; /* operators that are computed in it, in order, root first */
    int fused_count, fused_room;
    struct kernel_text *text;
    const struct step *same_table; /* an earlier step whose table is the same (share.c) */
    int mark;
};

struct plan {
    struct context *context;
    struct graph *graph;
    struct step **steps; /* in the order in which they are drawn */
    int step_count, step_room;
    struct buffer *buffers;
    int buffer_count, buffer_room;
    struct storage *storage; /* GPU buffers for the inner ones */
    int storage_count, storage_room;
    struct pattern *patterns; /* of constants looked at so far (pattern.h) */
    int walks;                /* begun so far, over what is computed on the way */
};

/* Chooses steps, fusion, layouts, order. Faults (TUKI0134 …) are reported; the plan is to be used
 * only where no error was. */
struct plan *plan_graph(struct graph *g, struct compile_cache *cache /* of layers, may be NULL */);
/* Finds tables and weight textures that are the same (share.c). */
void plan_share(struct plan *p);
/* Lets inner buffers of equal size whose lifetimes do not meet share storage (buffers.c). */
void plan_buffers(struct plan *p);

#endif
