#ifndef COMPILER_OPERATOR_H
#define COMPILER_OPERATOR_H
/*
 * The table of operators: one row an operator (operators.def), its functions in the file of its
 * family.
 *
 * A family file defines `const struct operator_functions NAME_functions = { … };` for each of its
 * rows.
 */
#include "daemon/compiler/graph/graph.h"

struct kernel; /* a kernel's text while it is written (gpu/kernel.h) */
struct index;  /* an integer expression over a kernel's variables (gpu/index.h) */
struct access; /* where a view's element comes from (gpu/view.h) */
struct range;  /* how large elements become (operators/range.h) */

/* Elements of a tensor, by their row-major numbers. */
struct positions {
    int64_t count;
    const int64_t *at;
};

/* How the GPU half treats an operator. */
enum operator_role {
    ROLE_NONE,        /* no kernel: always folded away, or refused */
    ROLE_ELEMENTWISE, /* output element i depends on input elements i (broadcast): an expression */
    ROLE_VIEW, /* output element i is an element of an input: an index expression in its reader */
    ROLE_STEP, /* needs a kernel of its own, which elementwise operators may join */
};

struct operator_functions {
    enum operator_role role;

    /* Brings a node written for an older opset (n->opset) into the newest form: attributes that
     * became inputs, renamed or split attributes, auto_pad … Called once, right after loading,
     * before shapes are known. NULL: every opset in the row has the newest form. */
    void (*upgrade)(struct graph *g, struct node *n);

    /* Gives every output its type and shape from the inputs' (known or not) and the attributes.
     * Reports TUKI0106 through infer_fault() for what breaks the definition; leaves shapes unknown
     * where a needed input is (dims -1 or axes -1). Constant inputs' numbers may be asked for. May
     * also bring attributes that depend on shapes into their final form (auto_pad into pads,
     * negative axes into positive). Inputs that are present are never NULL up to the row's minimum.
     */
    void (*infer)(struct node *n);

    /* The reference: float32, int64 or bool (and whatever other types the operator allows) exactly
     * after the operator's definition. All shapes are known. in[i] is NULL where left out; payloads
     * come from tensor_data() and its kin with scratch; out[i] is to be set by tensor_new(arena,
     * …). Sums are in float64. out[i] never shares memory with in[]. Returns false where it cannot
     * evaluate this form (the node then stays as it is). */
    bool (*evaluate)(struct node *n, struct tensor *const *in, struct tensor **out,
                     struct arena *arena, struct arena *scratch);

    /* For parts of large constants (operators/pick.c): element at[i] of that output is element
     * from[i] of input slot[i]; both come as 0, and slot -1 means a zero. All shapes are known.
     * false where this form cannot be told; with a count of 0 only that is asked. */
    bool (*trace)(struct node *n, int output, struct positions at, int *slot, int64_t *from);
    /* The same of what is made from a few numbers: elements at[] of its output, into payload. */
    bool (*make)(struct node *n, struct positions at, void *payload);
    /* Of how many inputs, from the first on, parts are enough: for trace(), or because evaluate()
     * reads them in blocks (graph/blocks.h). -1: of all. */
    int parts;

    /* ROLE_ELEMENTWISE: the expression of one component over the operands' (see gpu/kernel.h). */
    const char *(*express)(struct kernel *k, const struct node *n, const char *const *operands);
    /* ROLE_ELEMENTWISE: its output is never computed by its readers. */
    bool stores;
    /* ROLE_ELEMENTWISE: true where n only limits its first operand to *lo … *hi. */
    bool (*clamp)(const struct node *n, double *lo, double *hi);
    /* ROLE_VIEW: where element at[] of output comes from (see gpu/view.h). */
    void (*view)(struct kernel *k, const struct node *n, int output, const struct index *const *at,
                 struct access *access);
    /* ROLE_STEP: writes the kernel's statements and leaves four components (see gpu/kernel.h). */
    void (*lower)(struct kernel *k, const struct node *n);
    /* ROLE_STEP: which axis of the output lies in components, and which axis of each input the
     * kernel would like to fetch four at a time; -1: any. NULL: any for all. */
    int (*packed)(const struct node *n, int input /* -1: the output */);
    /* ROLE_STEP: whether lower() also computes up to four elements from anywhere along the output's
     * packed axis, instead of those of one cell (k->out). NULL: it does not. */
    bool (*scatters)(const struct node *n);
    /* ROLE_STEP: whether lower() also computes several cells of one row of the output in one turn
     * (k->more), fetching what they have in common once. NULL: it does not. */
    bool (*widens)(const struct node *n);
    /* ROLE_STEP: how often the kernel fetches each cell of that input. NULL: once. */
    int64_t (*reuse)(const struct node *n, int input);
    /* ROLE_STEP: how many cells of one channel of input 0 it fetches one after another in its
     * innermost loops, before which is fetched what depends on the channel alone. NULL: one. */
    int64_t (*window)(const struct node *n);

    /* How large elements of that output become, from how large those of the inputs are
     * (operators/range.h says what in[i] is where an input is no number). NULL: as large as those
     * of input 0 for ROLE_VIEW, else unknown. */
    void (*range)(const struct node *n, int output, const struct range *in, struct range *out);
};

/* The domain of operators that only passes make: no file can name one. */
#define OPERATOR_INTERNAL "*"

struct operator
{
    const char *name;
    const char *domain;         /* "" for the standard one */
    int since, until;           /* first and last opset with this operator; until 0: still there */
    int min_inputs, max_inputs; /* max -1: any number */
    int min_outputs, max_outputs;
    const struct operator_functions *functions;
    const char *documentation; /* one line for README: limits, in the users' words; "" where there
                                  are none. Of an internal one: which part of a layer it is */
};

/* The row of op_type in domain at opset, or NULL. */
const struct operator* operator_find(const char *domain, const char *op_type, int opset);
/* The row by name alone at the newest opset; BUG where there is none: for passes that make nodes.
 */
const struct operator* operator_get(struct context *c, const char *name);
/* All rows in the table's order, ended by a row without a name. */
const struct operator* operator_rows(void);

/* What people read as n's operator: of one that only passes make, that of the model's own layer
 * which it is a part of. */
const char *node_op(const struct node *n);
/* Which part of that layer it is, in their words; "" where n is the layer's operator itself. */
const char *node_part(const struct node *n);
/* Both: "InstanceNormalization (statistics)". */
const char *node_op_text(struct arena *a, const struct node *n);

/* Whether n, which may be NULL, is that operator of the standard domain. */
bool node_is(const struct node *n, const char *op);

/* One attribute of an operator of the standard domain (attributes.def). */
struct operator_attribute {
    const char *op, *name;
    enum attribute_type type;
    bool flag; /* 0 or 1 */
    bool required;
    int since, until; /* opsets in which it is there; until 0: still */
};
/* All rows, those of one operator together, ended by one without an operator. */
const struct operator_attribute *operator_attributes(void);

/* How many inputs and outputs an operator of the standard domain has at an opset. */
struct operator_arity {
    const char *op; /* NULL: the same as in other opsets */
    int since, until;
    int min_inputs, max_inputs, max_outputs; /* max -1: any number */
};
/* That of op: a row of arity.def, or what holds for all opsets. */
struct operator_arity operator_arity(const struct operator* op, int opset);

/* What is said of an operator that is not supported, at some opset or in some form (refused.def).
 */
struct operator_refusal {
    const char *op;
    enum diagnostic_code code;
    const char *reason, *advice; /* NULL: that it is not supported; the code's own */
};
/* The row of op_type; one without a name where there is none. */
const struct operator_refusal *operator_refusal(const char *op_type);

/* Reports TUKI0106 for n and poisons its outputs. detail: printf format of a clause. */
void infer_fault(struct node *n, const char *detail, ...) __attribute__((format(printf, 2, 3)));
/* The same, and what to change instead of the code's own advice. */
void infer_advise(struct node *n, const char *advice, const char *detail, ...)
    __attribute__((format(printf, 3, 4)));
/* Sets type and shape of output i where it is wanted. */
void infer_output(struct node *n, int i, enum element_type type, const struct shape *shape);
/* Checks that axis (maybe negative) lies within s; reports and returns -1 otherwise, or -1 silently
 * where the number of axes is unknown. */
int infer_axis(struct node *n, const struct shape *s, int64_t axis);
/* Reports TUKI0116 for n, whose input slot has to be a constant and depends on a model input. For
 * inputs that operators/shapelike.def lists infer_graph() has done so before infer() is called. */
void infer_depends(struct node *n, int slot);
/* Its text: of the slot's name and the input's. */
#define INFER_DEPENDS "it takes its %s from the model input %s"
/* The same for one node, whose inputs are inferred: for passes that make nodes. */
void infer_node(struct node *n);
/* The name of input slot where it is shape-like (operators/shapelike.def); NULL where it is not. */
const char *infer_shape_like(const struct node *n, int slot);
/* Whether only the shape of n's input matters (Shape, Size, EyeLike). */
bool infer_shape_only(const struct node *n);
/* Marks every output as reported. */
void node_poison(struct node *n);
/* Runs infer over the whole graph in order: types, shapes, then TUKI0106/0113/0116/0117 as
 * rulings.md says. Nodes whose inputs are all constants become deferred constants, and shape-like
 * inputs are evaluated. */
void infer_graph(struct graph *g);
/* Evaluates n over constant inputs, and first whatever of them is not evaluated yet: the tensors of
 * its outputs (array of output_count, in arena). Where the operator cannot evaluate this form that
 * is reported (TUKI0110), and zeros stand in. */
struct tensor **evaluate_node(struct node *n, struct arena *arena);
/* Evaluates n alone over in[]; false where its operator cannot. Results are checked against what
 * was inferred. */
bool evaluate_with(struct node *n, struct tensor *const *in, struct tensor **out,
                   struct arena *arena);

/* Hash of output number `output` of a node over constants, from its recipe alone. */
struct hash evaluate_hash(struct node *n, int output);
/* Adds operator and attributes (in an order of their own, names of values left out) to h. */
void node_hash(struct hasher *h, const struct node *n);

#endif
