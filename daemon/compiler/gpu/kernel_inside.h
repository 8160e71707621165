#ifndef COMPILER_KERNEL_INSIDE_H
#define COMPILER_KERNEL_INSIDE_H
/*
 * What the files that write kernels share, and lowerings need not know: kernel.c (text and scopes),
 * elements.c (reading values), entries.c (constants and weights), kernel_write.c (a kernel from its
 * first line to its return).
 */
#include "daemon/compiler/gpu/kernel.h"

/* What was already written at this place and can be named again: a fetched cell, or a computed
 * element. */
struct kernel_memo {
    const struct value *value;     /* or NULL … */
    const struct weights *weights; /* … and an entry of these */
    bool cell;                     /* at[0], at[1] are a cell; else at[] is an element */
    const struct index *at[MAX_AXES];
    const char *text;
};

struct kernel_name {
    const char *base;
    int next;
};

enum { MOST_DEPTH = 48, TABLE_ENTRIES = 1023 };

/* What a block forgets at its end. */
struct kernel_block {
    int memo_count, assumed_count, declared_count, visit_count;
    int64_t held;
    bool loop;
    size_t start; /* of its first line, in the body */
};

/* A variable of type int, and how many blocks are open around it. */
struct kernel_declared {
    const char *name;
    int depth;
};

/* Elements of a value that were read in a block that is still open, where fetches are counted. */
struct kernel_visit {
    const struct value *value;
    struct lanes lanes;
    int64_t again; /* fetches that reading them again takes */
    int next;      /* number of the one before it with the same hash; 0: none */
};

enum { VISIT_BUCKETS = 64 };

struct kernel_state {
    struct kernel k;
    struct kernel_block blocks[MOST_DEPTH];
    int depth;
    int64_t table_entries;
    struct kernel_declared *declared;
    int declared_count, declared_room;
    struct kernel_visit *visits; /* number 1 … in visits[0] … */
    int visit_count, visit_room;
    int visited[VISIT_BUCKETS]; /* the last of each hash */
};

static inline struct kernel_state *state_of(struct kernel *k)
{
    return (struct kernel_state *)k;
}

/* ---- kernel.c ---- */
/* 1: all hold here, 0: one never does, -1: it depends. */
int conditions_known(struct kernel *k, const struct condition *conditions, int count);
/* Those that do not hold anyway, as a C# expression; false: all hold. */
bool conditions_print(struct kernel *k, struct strbuf *s, const struct condition *conditions,
                      int count);
/* The name under which an element (cell false) or a cell was written in a block that is still open;
 * NULL: none. */
const char *memo_find(struct kernel *k, const struct value *v, const struct weights *w, bool cell,
                      const struct index *const *at, int axes);
void memo_add(struct kernel *k, const struct value *v, const struct weights *w, bool cell,
              const struct index *const *at, int axes, const char *text);
/* One component of a cell or (table) of an entry. */
const char *kernel_pick(struct kernel *k, const char *cell, const struct index *component,
                        bool table);
/* Keeps at[] inside s: what lies beyond is read only for components that are never used. */
void limit_index(struct kernel *k, const struct shape *s, int packed, const struct index *const *at,
                 const struct index **limited);

/* ---- visits.c ---- */
/* Where fetches are counted: true where these elements were read before; the fetches that reading
 * them again takes are added. */
bool visit_again(struct kernel *k, const struct value *v, const struct lanes *e);
/* They were read; before that there were so many fetches, and so many of them could be named. */
void visit_add(struct kernel *k, const struct value *v, const struct lanes *e, int64_t fetches,
               int64_t held);
/* Forgets all but the first count. */
void visits_leave(struct kernel *k, int count);

/* ---- hoist.c ---- */
/* A variable that is declared here; others count as if they were declared wherever they are used.
 */
void declare_name(struct kernel *k, const char *name);
/* The number of open blocks of which the fetch of a cell need not be inside: before the outermost
 * loop that does not change it. */
int hoist_depth(struct kernel *k, const struct index *const *cell, const struct layout *l);
/* A line before block number depth of those that are open. */
void hoist_line(struct kernel *k, int depth, const char *text);
/* The memo that was added last holds as long as what is around that block. */
void hoist_memo(struct kernel *k, int depth);

/* ---- entries.c ---- */
void read_constant(struct kernel *k, struct value *v, const struct lanes *e, const char **out);

/* ---- elements.c ---- */
/* The name under which the kernel is given the buffer of v. */
const char *parameter_name(struct kernel *k, struct value *v);
/* From wherever v lies. */
void read_value(struct kernel *k, struct value *v, const struct lanes *e, const char **out);
/* From what v's node reads, wherever v itself lies. */
void compute_value(struct kernel *k, struct value *v, const struct lanes *e, const char **out);

#endif
