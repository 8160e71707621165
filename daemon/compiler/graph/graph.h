#ifndef COMPILER_GRAPH_H
#define COMPILER_GRAPH_H
/*
 * A model as the compiler sees it: values and the nodes that make them. Wiring is by pointer, names
 * are labels only. Everything lives in the job's arena.
 *
 * After loading, a graph is in the internal form: no opset is asked for any more
 * (operators/…_upgrade made each node the newest form of its operator), local functions are
 * inlined, nodes are sorted.
 */
#include "daemon/compiler/graph/tensor.h"

struct graph;
struct node;
struct operator;
struct evaluation;

/* A name as the file has it: any bytes, NUL included. */
struct label {
    const char *bytes;
    size_t length;
};

struct value {
    const char
        *name; /* for people: valid UTF-8, control characters escaped; "" where it has none */
    struct label label; /* the file's own bytes */
    enum element_type type;
    struct shape shape;    /* inferred; what the file records only where nothing can be inferred */
    struct shape recorded; /* what the file claims; shape_unknown where it claims nothing */
    enum element_type recorded_type; /* likewise; TYPE_UNKNOWN where it claims nothing */
    struct node *producer; /* NULL for inputs and initializers */
    int producer_output;
    struct tensor *constant; /* not NULL: the value is known now */
    struct node **readers;   /* each node once for each input slot that reads it */
    int reader_count, reader_room;
    int input;        /* number among the graph's inputs, -1 if none */
    int output_count; /* how many graph outputs it is */
    int source; /* the first model input that its numbers come from, -1 if none; see value_source()
                 */
    const double *within; /* [2]: least and greatest element, where more is known than its producer
                             tells: by the definition of what it is made for, or of an input; else
                             NULL */
    bool read;            /* of an input: a layer of the file reads it (graph/accept.h) */
    bool poisoned; /* a fault was reported: nothing about it or its readers is reported again */
    int id;        /* dense, unique in its graph; no order is to be taken from it */
    void *plan;    /* the GPU half's own notes (gpu/plan.h) */
};

enum attribute_type {
    ATTRIBUTE_FLOAT = 1,
    ATTRIBUTE_INT = 2,
    ATTRIBUTE_STRING = 3,
    ATTRIBUTE_TENSOR = 4,
    ATTRIBUTE_GRAPH = 5,
    ATTRIBUTE_FLOATS = 6,
    ATTRIBUTE_INTS = 7,
    ATTRIBUTE_STRINGS = 8,
};

struct attribute {
    const char *name;
    enum attribute_type type;
    int64_t i;
    float f;
    struct label s; /* NUL-terminated too */
    struct tensor *tensor;
    struct graph *graph; /* a body: its own nodes, reading outer values directly */
    int count;           /* of the three lists */
    const int64_t *ints;
    const float *floats;
    const struct label *strings;
};

struct node {
    const char *name;          /* for people; "" where it has none */
    const char *op_type;       /* operator as the file calls it */
    const char *domain;        /* "" for the standard one */
    const struct operator* op; /* row of the table; NULL: not supported (reported) */
    const char *layer_op;      /* of the file's layer that it is a part of; NULL: op_type */
    int opset;                 /* of its domain, as its graph or function imports it */
    int position;              /* in the file's node list, for "Conv #12" and sorting */
    struct value **inputs;     /* NULL entries: optional, left out */
    int input_count;
    struct value **outputs; /* NULL entries: not wanted */
    int output_count;
    struct attribute *attributes;
    int attribute_count, attribute_room;
    struct graph *graph;           /* that it belongs to */
    bool removed;                  /* taken out; graph_compact() drops it from the list */
    int mark;                      /* for walks */
    struct evaluation *evaluation; /* while it is evaluated (operators/evaluate.c) */
    bool unevaluable;              /* it could not be, which was reported */
    bool saved;                    /* its work counts already (work_saved_constant()) */
};

struct graph {
    struct context *context;
    const char *name;
    struct node **nodes; /* sorted: a node stands after those it reads */
    int node_count, node_room;
    struct value **values; /* all, by id */
    int value_count, value_room;
    struct value **inputs; /* without those that are initializers */
    int input_count, input_room;
    struct value **outputs;      /* one value may stand here twice */
    const char **output_names;   /* of the outputs as the file declares them, for people */
    struct shape *output_shapes; /* as declared */
    enum element_type *output_types;
    int output_count;
    int items; /* how often it is computed: the batch, once split_items() has made it the graph of
                  one item */
    int opset; /* of the standard domain, as the file imports it */
    int ir_version;
    struct graph *outer; /* of a body: the graph around it */
};

struct graph *graph_new(struct context *c);
struct value *graph_value(struct graph *g, const char *name, enum element_type type,
                          const struct shape *shape);
/* A value that is known: t moves in. */
struct value *graph_constant(struct graph *g, const char *name, struct tensor *t);
struct value *graph_constant_ints(struct graph *g, const char *name, int count,
                                  const int64_t *ints);
struct value *graph_constant_floats(struct graph *g, const char *name, const struct shape *shape,
                                    const float *floats);
/* Appends a node with so many outputs (fresh values named after the node), at the end of the list.
 */
struct node *graph_node(struct graph *g, const struct operator* op, const char *name,
                        struct value *const *inputs, int input_count, int output_count);
/* The same, as a part of the layer `origin`: name and position are its. */
struct node *graph_node_like(struct graph *g, const struct operator* op, const struct node *origin,
                             struct value *const *inputs, int input_count, int output_count);
/* Appends a node that was made elsewhere (a body's, a file's). */
void graph_append(struct graph *g, struct node *n);
/* Puts nodes of another graph (a body, which must not be used any more) right after `after`, in
 * their order. */
void graph_splice(struct graph *g, const struct node *after, struct node *const *nodes, int count);
/* Changes input slot of n, and both values' readers with it. value may be NULL. */
void node_set_input(struct node *n, int slot, struct value *value);
/* Appends inputs (NULL) until there are count. */
void node_pad_inputs(struct node *n, int count);
/* Every reader of from, graph outputs included, reads to instead. Where from is an output, to takes
 * over its name (unless to is an input, an output or an initializer itself). */
void value_replace(struct graph *g, struct value *from, struct value *to);
/* Takes n out: its inputs lose a reader; its outputs must have none. n->inputs stays written down:
 * n may be the recipe of a constant. */
void node_remove(struct node *n);
/* Drops removed nodes from the list. */
void graph_compact(struct graph *g);
/* Sorts nodes so that each stands after those it reads, otherwise keeping the order of a canonical
 * walk that depends on structure alone (not on names or on the file's order). false: a cycle;
 * *cycle is a node on it. */
bool graph_sort(struct graph *g, struct node **cycle, int *cycle_count);
/* The same; *cycle is an array (in the job's arena) of the nodes on the cycle, each read by the one
 * after it. */
bool graph_sort_cycle(struct graph *g, struct node ***cycle, int *cycle_count);

/* The number of the first model input on whose numbers (not only on whose shape) v depends; -1:
 * none. Known after infer_graph(). */
static inline int value_source(const struct value *v)
{
    return v->input >= 0 ? v->input : v->source;
}

/* input i of n, or NULL where it is left out. */
static inline struct value *node_input(const struct node *n, int i)
{
    return i < n->input_count ? n->inputs[i] : NULL;
}

/* Output i of n, or NULL where it is left out. */
static inline struct value *node_output(const struct node *n, int i)
{
    return i < n->output_count ? n->outputs[i] : NULL;
}

/* The only reader of v, where nothing else reads it and it is no graph output; else NULL. */
struct node *value_only_reader(const struct value *v);

/* Whether n is called that in the standard domain, or one of these (NULL ends them); there need not
 * be such an operator at the model's opset: node_is() asks for that. */
bool node_called(const struct node *n, const char *op_type);
bool node_called_one_of(const struct node *n, const char *const *op_types);

struct attribute *node_find(const struct node *n, const char *name);
int64_t node_int(const struct node *n, const char *name, int64_t otherwise);
float node_float(const struct node *n, const char *name, float otherwise);
/* NUL-terminated; otherwise where it is absent. */
const char *node_string(const struct node *n, const char *name, const char *otherwise);
/* NULL and *count 0 where absent. */
const int64_t *node_ints(const struct node *n, const char *name, int *count);
void node_set_int(struct node *n, const char *name, int64_t i);
void node_set_float(struct node *n, const char *name, float f);
void node_set_ints(struct node *n, const char *name, int count, const int64_t *ints);
void node_set_string(struct node *n, const char *name, const char *s);
void node_unset(struct node *n, const char *name);

/* Input i of n as int64 numbers, where it is a constant; NULL where it is absent or not constant.
 * In the job's arena. */
const int64_t *node_constant_ints(const struct node *n, int i, int *count);
/* Input i of n as float32, likewise. */
const float *node_constant_floats(const struct node *n, int i, int *count);

/* Whether one of its inputs is a constant that differs between styles (tensor.h). */
bool node_varies(const struct node *n);

/* What messages call the layer that n is, or is a part of: "Conv conv1", or "Conv #12" where it has
 * no name. In a. */
const char *node_title(const struct node *n, struct arena *a);
/* Where a diagnostic about n points. */
struct place node_place(const struct node *n);

#endif
