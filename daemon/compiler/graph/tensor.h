#ifndef COMPILER_TENSOR_H
#define COMPILER_TENSOR_H
/*
 * Constant tensors: initializers, Constant nodes, folded results.
 *
 * Elements are little-endian, row-major, as ONNX's raw_data holds them (4-bit: element 0 is the low
 * nibble, packed flat). A tensor's elements are in one of three places:
 *   - in memory (small ones, and results of evaluation);
 *   - at a position of a file, read when asked for, so that a compile holds one layer's weights at
 * a time;
 *   - nowhere yet: the tensor is the result of a node over constants, evaluated when somebody asks
 * (so that a big constant is never made where only its shape, or a small part of it, matters).
 * tensor_data() hides which; nobody else looks.
 *
 * A constant that differs between styles has the numbers of context.style. While that is STYLE_ANY
 * its numbers cannot be read: tensor_data() and all that calls it leave the job (ESCAPE_STYLES), so
 * that nothing is decided for all styles by the numbers of one. Who decides by numbers asks varies
 * first, or asks for every style in turn.
 */
#include "daemon/compiler/context.h"
#include "daemon/compiler/graph/elements.h"
#include "daemon/compiler/graph/hash.h"

struct node;

/* A file that tensors lie in, open for the time of the job. Reads are by position. */
struct source {
    /* Reads size bytes at offset into bytes; false where the file is shorter now or cannot be read.
     */
    bool (*read)(struct source *s, uint64_t offset, void *bytes, size_t size);
};

/* Up to so many bytes a result is kept once it was evaluated, and hashed by its content. */
enum { TENSOR_SMALL = 1 << 14 };

struct tensor;

/* A constant in which models that are compiled into one (graph/styles.h) differ. */
struct tensor_styles {
    const char *name;          /* of the constant */
    int first;                 /* the first style that differs from style 0 … */
    const struct node *reader; /* … and who reads the constant there */
    struct tensor *of[];       /* its numbers, one a style */
};

struct tensor {
    enum element_type type;
    struct shape shape;    /* always known */
    int64_t count;         /* elements */
    size_t bytes;          /* of the payload */
    const void *data;      /* in memory: the payload, in an arena that lives as long as the job */
    struct source *source; /* at a position: borrowed from the job */
    uint64_t offset;       /* at a position: in the source, in bytes */
    struct node *deferred; /* not evaluated yet: the node whose output this is */
    int deferred_output;   /* … and which output */
    const struct tensor_styles
        *styles; /* a constant that differs between styles: the three above are not set */
    bool varies; /* it, or something that it is made from, differs between styles */
    const int64_t *integers; /* all elements, once node_constant_ints() has been asked */
    const float *floats;     /* likewise, node_constant_floats() */
    const int64_t *offsets; /* the sum of the integers before each, once split_offset() was asked */
    bool hashed;
    struct hash hash; /* of the content, once hashed */
    bool payload_hashed;
    struct hash payload_hash; /* of the payload's bytes alone, where reading the file gave it */
    const struct floats_figures *rows; /* of each index of axis 0, where reading the file gave them;
                                        * else NULL */
    bool summed;
    double square_sum; /* of all elements, once somebody has added it up */
    bool ranged;
    double least, greatest; /* element, once somebody has looked */
    int64_t summed_rows[3]; /* outer, rows and inner of row_sum, once somebody has added it up */
    double row_sum;
};

/* Payload size in bytes of count elements, -1 on overflow or strings. */
int64_t tensor_payload(enum element_type type, int64_t count);
/* A tensor with room for its payload (zeroed) in arena; *data is where to write it. */
struct tensor *tensor_new(struct arena *arena, enum element_type type, const struct shape *shape,
                          void **data);
/* A tensor that is output number `output` of node, not evaluated yet. */
struct tensor *tensor_deferred(struct arena *arena, enum element_type type,
                               const struct shape *shape, struct node *node, int output);
/* A constant of as many styles as the job has, whose numbers are of[0], of[1] … (of one type and
 * shape, each with its own data or source); the rest is for messages: struct tensor_styles. */
struct tensor *tensor_of_styles(struct context *c, const char *name, const struct node *reader,
                                int first, struct tensor *const *of);
/* The payload. Where it is not in memory it is read or evaluated into scratch (and belongs to it),
 * once for each call. Leaves the job (ESCAPE_SYSTEM) where the file cannot be read any more. */
const void *tensor_data(struct context *c, const struct tensor *t, struct arena *scratch);
/* All elements as float32 / float64 / int64 (numeric types and bool; float16 and the like decoded).
 * The result belongs to scratch, or is the payload itself where the type is right already. */
const float *tensor_floats(struct context *c, const struct tensor *t, struct arena *scratch);
const double *tensor_doubles(struct context *c, const struct tensor *t, struct arena *scratch);
const int64_t *tensor_integers(struct context *c, const struct tensor *t, struct arena *scratch);
/* Elements first … first + count - 1 of a float32 tensor into out, without more memory than that
 * where they lie in a file, or are weights scaled by the channel of axis 0. false, and nothing is
 * done, where only the whole can be had. */
bool tensor_floats_part(struct context *c, const struct tensor *t, int64_t first, int64_t count,
                        float *out);
/* Whether tensor_floats_part() can. */
bool tensor_has_parts(const struct tensor *t);
/* Elements at[0 … count - 1] of t, which are of whole bytes, into out, without more memory than
 * that where t lies in memory or in a file. Not of a tensor that is not evaluated yet:
 * graph/blocks.h. */
void tensor_pick(struct context *c, const struct tensor *t, int64_t count, const int64_t *at,
                 void *out);
/* Sum of the squares of all elements; remembered. Of a constant that differs between styles the
 * largest of all. */
double tensor_square_sum(struct context *c, struct tensor *t);
/*
 * Of t as [outer, rows, inner]: the greatest sum of magnitudes of a row (outer times inner
 * elements, what is summed up into one output of a layer); remembered. Or something above it, where
 * that is not above `enough` or it would be above it all the same: then nothing is read.
 */
double tensor_row_sum(struct context *c, struct tensor *t, int64_t outer, int64_t rows,
                      int64_t inner, double enough);
/* Notes what tensor_row_sum() shall answer for these. */
void tensor_set_row_sum(struct tensor *t, int64_t outer, int64_t rows, int64_t inner, double sum);
/* The least and the greatest element (a NaN is passed over); remembered. Not of an empty one. */
void tensor_range(struct context *c, struct tensor *t, double *least, double *greatest);
/* One element converted, for tensors in memory. */
double tensor_number(const struct tensor *t, int64_t index);
int64_t tensor_integer(const struct tensor *t, int64_t index);
/* XXH3-128 over type, shape and payload; remembered in the tensor. Of a tensor that is not
 * evaluated yet it is over its recipe: operators, attributes and the hashes of the constants it is
 * made from. At STYLE_ANY over what it is in all styles. */
struct hash tensor_hash(struct context *c, struct tensor *t);

#endif
