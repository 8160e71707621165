#ifndef COMPILER_RECIPE_H
#define COMPILER_RECIPE_H
/*
 * The recipe of a constant that is not evaluated yet: the nodes that it is made by, each after
 * those it needs. What evaluate.c and pick.c share; everybody else asks for tensors.
 *
 * A large result in between is not made where its readers can do with parts of it: its node is a
 * stream, which is asked for blocks of elements (pick.c) and never runs as a whole.
 */
#include "daemon/compiler/operators/operator.h"

/* Results of more bytes than this are streams where they can be. */
enum { RECIPE_LARGE = 1 << 24 };

/* What is wanted of an output of a stream in one round, and then is known of it. */
struct part {
    struct positions wanted; /* at NULL: nothing */
    bool merged;             /* of several readers: in ascending order, each once */
    const void *payload;
};

/* One node of a recipe while it is evaluated or hashed. */
struct evaluation {
    struct node *node;
    int place;                /* in the recipe's order */
    struct evaluation **need; /* for each input slot: what has to run before, or NULL */
    int next_input;           /* of the walk */
    int uses;                 /* slots of nodes still to run that read an output */
    const struct node *whole; /* who reads its results as a whole; NULL: nobody */
    bool streams;
    struct arena *memory;
    struct tensor **out; /* once it has run */
    struct hash hash;
    /* Of a stream, and for one round: */
    struct part *parts;      /* of each output */
    struct positions *asked; /* of each output and input slot: what is asked of that input */
    const int **slots;       /* of each output: whose element each is; NULL: all of input 0 */
};

struct recipe {
    struct context *context;
    bool (*pending)(const struct tensor *t); /* not to be read yet */
    struct arena *scratch;
    struct evaluation **order;
    int count, room;
    int streams;
    struct arena *round; /* memory of a round … */
    struct arena_mark start;
    size_t round_bytes; /* … which usually is enough */
};

/* Prepares what t is made by, up to the node that makes it, whose results are then had in parts.
 * NULL where only the whole can be had, or t is evaluated already. */
struct recipe *recipe_open(const struct tensor *t);
/* Those elements of that tensor; the payload is valid until the next call. */
const void *recipe_read(struct recipe *r, const struct tensor *t, struct positions p);
void recipe_close(struct recipe *r);

/* Reports that n, whose inputs are constants, has a form that cannot be computed: once. */
void recipe_fault(struct node *n);

/* ---- pick.c ---- */

/* Whether n can be a stream. */
bool pick_possible(struct node *n);
/* Whether n takes that input in parts: for a part of its output, or block by block. */
bool pick_reads_parts(struct node *n, int slot);
/* How many elements should be asked for at a time. */
int64_t pick_block(const struct recipe *r);
/* One round: elements at[] of that output of e, which is a stream, or reads streams. What
 * it gives is gone with the next one. */
const void *pick(struct recipe *r, struct evaluation *e, int output, struct positions wanted);

#endif
