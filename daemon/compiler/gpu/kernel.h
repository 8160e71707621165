#ifndef COMPILER_KERNEL_H
#define COMPILER_KERNEL_H
/*
 * A kernel's text while it is written. A lowering asks for elements of values and gets float
 * expressions; whether an element is fetched from a texture, comes through views, or is computed on
 * the way is not its concern.
 *
 * Elements are asked for up to four at a time (the four components of a cell, or four steps of a
 * sum): those that lie in one cell of a texture cost one fetch.
 */
#include "daemon/compiler/gpu/plan.h"
#include "daemon/compiler/gpu/view.h"

/* Up to four elements of one value. */
struct lanes {
    int count;
    const struct index *at[4][MAX_AXES];
};

struct kernel;
struct weights;

/* Up to four elements of a root's output that its kernel computes … */
struct group {
    struct lanes out;
    const char *lane[4]; /* … and what lower() leaves: an expression for each */
};
enum { MOST_GROUPS = 4 };

typedef void weights_fill(struct context *c, const struct weights *w, int64_t first, int64_t count,
                          float *entries, struct arena *scratch);

/* An array of vectors of weights that goes with a kernel: rows times columns entries of four
 * floats. Small ones become a table (constants of the shader), large ones a texture; the text is
 * the same but for the brackets. */
struct weights {
    int number; /* among the kernel's */
    int64_t rows, columns;
    bool exact;   /* keeps float32 (biases and factors of 8-bit models); else rounded to 16 bits */
    bool texture; /* decided when the kernel is complete */
    /* Writes rows first … first + count - 1: count * columns * 4 floats, zeroed before; where the
     * weights have parts, of any content before, so that it writes them all. */
    weights_fill *fill;
    bool parts; /* fill() needs no more memory for few rows than these take; else all are asked for
                   at once */
    const struct node *node;    /* for fill */
    struct tensor *tensor;      /* for fill */
    const int64_t *numbers;     /* for fill */
    int packed;                 /* for fill: axis in components */
    int64_t offset;             /* entry in the kernel's table, or the texture's number */
    int64_t width, height;      /* of the texture */
    bool computed;              /* of a texture: what fills it was computed from other constants */
    const char *about;          /* for the comment over the field */
    struct hash *recipes;       /* of a texture: asset_recipe(), of each style … */
    int styles;                 /* … or one, where all have the same */
    const struct weights *same; /* of an earlier step, where they are the same (share.c) … */
    const struct step *same_step; /* … and that step */
};

struct kernel {
    struct context *context;
    struct arena *arena; /* for texts */
    struct arena *text;  /* of a kernel that is never printed: emptied after each question */
    struct index_pool *pool;
    struct plan *plan;
    struct step *step;
    struct strbuf body;
    int indent;
    int64_t fetches; /* so far … */
    int64_t held;    /* … and how many of them can be named here */
    bool counts;     /* only to count them: no text is written */

    struct lanes cell; /* the elements that this invocation writes, of step->value */
    struct lanes out;  /* the elements that lower() computes, of the root's output */
    struct group more[MOST_GROUPS - 1]; /* of a root that widens: further fours in the same turn */
    int more_count;
    struct value **parameters; /* buffers read, in order of parameters */
    int parameter_count, parameter_room;
    struct weights **weights;
    int weight_count, weight_room;
    bool picks; /* FilterPick is used */
    struct kernel_memo *memo;
    int memo_count, memo_room;
    struct condition *assumed; /* conditions that hold here */
    int assumed_count, assumed_room;
    const char *lane[4];       /* what lower() leaves: an expression for each of out[] */
    bool lowered;              /* lane[] is there */
    struct kernel_name *names; /* a hash table of name_room places */
    int name_count, name_room;
};

/* ---- text ---- */
/* One line at the present depth. */
void kernel_line(struct kernel *k, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* A block: `format` and an opening brace; what is bound inside is forgotten at its end. */
void kernel_open(struct kernel *k, const char *format, ...) __attribute__((format(printf, 2, 3)));
void kernel_close(struct kernel *k);
/* A fresh local name that begins with base. */
const char *kernel_name(struct kernel *k, const char *base);
/* `float base = text;` unless text is a name or a number already; returns what to write instead. */
const char *kernel_local(struct kernel *k, const char *base, const char *text);
/* `int base = index;` unless it is plain already. */
const struct index *kernel_bind(struct kernel *k, const char *base, const struct index *index);
/* `for (int base = 0; base < count; base++) {`; count 1 opens nothing and is the constant 0. */
const struct index *kernel_loop(struct kernel *k, const char *base, int64_t count);
void kernel_end_loop(struct kernel *k, int64_t count);
/* `if (conditions) {` without those that always hold; inside, they are known to hold. Returns 1: a
 * block was opened, 0: nothing was opened, all hold; -1: nothing was opened, never holds. */
int kernel_if(struct kernel *k, const struct condition *conditions, int count);
void kernel_end_if(struct kernel *k, int opened);
/* Formats {0}, {1} … with operands in a way that keeps precedence; an operand that occurs more than
 * once is bound to a local first. */
const char *kernel_format(struct kernel *k, const char *text, const char *const *operands);
/* A float literal, all of float32: "0.5f". */
const char *kernel_number(struct kernel *k, double number);
const char *kernel_text(struct kernel *k, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* text, in parentheses where an operator beside it could bind to a part of it. */
const char *kernel_closed(struct kernel *k, const char *text);
/* True for a name, a member or a literal: costs nothing to repeat. */
bool text_is_atom(const char *text);

/* ---- elements ---- */
const struct index *kernel_constant(struct kernel *k, int64_t number);
/* count elements that differ along axis only: at[] + 0 … count - 1. */
struct lanes lanes_along(struct kernel *k, const struct index *const *at, int axes, int axis,
                         int count);
/* The range that index is known to have here, conditions counted in. */
void kernel_range(struct kernel *k, const struct index *index, int64_t *lo, int64_t *hi);
/* Expressions of elements of v, each of which may stand beside any operator. Writes fetches and
 * whatever else is needed before the present line. Elements beyond v's extents (the tail of a group
 * of four) are some finite number or, with zero_axis >= 0, beyond that axis exactly 0. */
void kernel_read(struct kernel *k, struct value *v, const struct lanes *e, int zero_axis,
                 const char **out);
/* The index of input slot that broadcasting (right-aligned) pairs with element at[] of a value of
 * shape s. */
void broadcast_index(struct kernel *k, const struct shape *from, const struct shape *s,
                     const struct index *const *at, const struct index **out);

/* ---- weights ---- */
struct weights *kernel_weights(struct kernel *k, int64_t rows, int64_t columns, weights_fill *fill,
                               const char *about);
/* Declares a local named base that holds entry (row, column) and gives its four components. */
void kernel_entry(struct kernel *k, struct weights *w, const struct index *row,
                  const struct index *column, const char *base, const char **out);
/* The same, but one component of it. */
const char *kernel_entry_component(struct kernel *k, struct weights *w, const struct index *row,
                                   const struct index *column, const char *base,
                                   const struct index *component);
/* number[i] for the index i in 0 … count - 1: as arithmetic where the numbers follow a rule, else
 * by a table. */
const struct index *kernel_lookup(struct kernel *k, const int64_t *numbers, int64_t count,
                                  const struct index *i);

/* ---- a kernel that is complete ---- */
struct kernel_parameter {
    enum { PARAMETER_BUFFER, PARAMETER_TABLE, PARAMETER_TEXTURE } kind;
    struct value *value;     /* PARAMETER_BUFFER */
    struct weights *weights; /* PARAMETER_TEXTURE */
    const char *name;
    int64_t entries; /* PARAMETER_TABLE */
};
struct kernel_text {
    const char *body; /* statements at depth 2, ends with the return */
    struct kernel_parameter *parameters;
    int parameter_count;
    struct weights **weights;
    int weight_count;
    int64_t table_entries;
    bool picks;
    const char **tables; /* csharp_table(), of each style … */
    int table_styles;    /* … or one, where all have the same */
    bool cached;         /* weights cannot be filled: see layer.h */
};
/* Writes the kernel of a step. */
struct kernel_text *kernel_write(struct plan *p, struct step *step);
/* Prefix of helper functions' names in bodies, replaced when the file is printed. */
#define KERNEL_PREFIX "\x01"

/* The elements of the root's output from which the elements e of step->value, which lie along its
 * axis `along`, are computed: four along the output's packed axis `axis` (-1: any) or, where the
 * root scatters, up to four from anywhere along it, or, where it widens, up to MOST_GROUPS such
 * fours of one row. Returns how many fours; 0: they are not such. */
int region_lanes(struct kernel *k, const struct step *step, const struct lanes *e, int along,
                 int axis, struct lanes lanes[MOST_GROUPS]);

/* A kernel that is never printed, for choosing layouts: its index pool makes elements to ask
 * kernel_cost() about. To be freed by kernel_planning_free(). */
struct kernel *kernel_planning(struct plan *p);
void kernel_planning_free(struct kernel *planning);
/* A new decision: all elements made before are gone. */
void kernel_forget(struct kernel *planning);
/* Texture fetches that elements of v take. */
int64_t kernel_cost(struct kernel *planning, struct value *v, const struct lanes *e);

#endif
