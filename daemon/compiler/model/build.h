#ifndef COMPILER_BUILD_H
#define COMPILER_BUILD_H
/*
 * From messages to nodes and values. A body is a list of nodes with the names that they see: the
 * file's graph, the body of a local function at one of its calls, the chosen branch of an If. All
 * of them end as nodes of one graph.
 *
 * A body is built in two steps, for its nodes may stand in any order: first every output gets its
 * value, then inputs are looked up. What is wrong is reported through build_report() and building
 * goes on.
 */
#include "daemon/compiler/model/label.h"
#include "daemon/compiler/model/unpack.h"
#include "daemon/compiler/operators/operator.h"

/* Limits on what a file may ask for. */
enum {
    DEEPEST_BODY = 64, /* functions and branches inside each other */
    LARGEST_INLINING =
        1 << 19,          /* nodes, inputs, outputs and attributes that inlining makes, in all */
    MOST_REPORTS = 10000, /* of one load: each is compared with all before it */
    MOST_ATTRIBUTES = 1 << 10, /* of one node */
};

struct body {
    struct scope scope; /* names to struct value; NULL: an optional input that was left out */
    const struct scope *imports;   /* domains ("" for the standard one) to int64_t, the opset */
    const struct attribute *bound; /* what a function was called with */
    int bound_count;
    bool is_function;   /* references to attributes mean something */
    const char *prefix; /* of names for people; "" in the file's graph */
    int position;       /* of the layer that was inlined; -1: nodes count for themselves */
    int depth;
};

/* An output of a body that goes to a value around it. */
struct owed {
    struct label label;  /* as the body calls it */
    struct value *value; /* NULL: not wanted outside */
    bool paid;           /* a node of the body produces it */
};

struct controls;
struct builder {
    struct context *c;
    struct graph *graph;
    struct unpacker unpacker;
    const Onnx__Model *model;
    struct arena *scratch;  /* until the graph stands */
    struct scope functions; /* see functions.h */
    struct controls *controls;
    int64_t inlined; /* so far, of LARGEST_INLINING */
    int reports;
    bool too_large; /* … which was reported */
    bool stopped;   /* a fault after which there is no graph: TUKI0101 to 0105, 0107 */
};

/* One node of a file, looked up: what functions.h and control.h are given. */
struct call {
    struct body *body;
    const Onnx__Node *proto;
    const char *op_type, *domain; /* for people and tables */
    struct value **inputs;        /* without those left off the end */
    int input_count;
    struct value **outputs; /* NULL: not wanted */
    int output_count;
    const char *name;
    int position;
};

void build_report(struct builder *b, const struct place *place, enum diagnostic_code code,
                  const char *detail, ...) __attribute__((format(printf, 4, 5)));
/* The same with other advice than the code's own (NULL: that). */
void build_advise(struct builder *b, const struct place *place, enum diagnostic_code code,
                  const char *advice, const char *detail, ...)
    __attribute__((format(printf, 5, 6)));
/* Reports the operator of call, which there is no row of, with what to export instead
 * (refused.def). */
void build_refuse(struct builder *b, const struct call *call);
static inline struct label label_from(ProtobufCBinaryData bytes)
{
    return (struct label){(const char *)bytes.data, bytes.len};
}

/* Opsets of a model or a function, into imports. false (reported): the standard domain's is out of
 * range. */
bool build_imports(struct builder *b, struct scope *imports, size_t count,
                   Onnx__OperatorSetId **list);
/* Type and shape as a message has them; unknown where it says nothing. false: it is no tensor,
 * which build_kind() says what it is instead. *axes is the recorded number of axes, which may be
 * more than a shape can hold. */
bool build_type(const Onnx__TypeInfo *info, enum element_type *type, struct shape *shape,
                size_t *axes);
const char *build_kind(const Onnx__TypeInfo *info);

/* A body inside another one, at call. Lies in the scratch arena. */
struct body *build_body(struct builder *b, const struct call *call, const struct scope *outer,
                        const struct scope *imports);
/* Initializers as constants of the body. */
void build_initializers(struct builder *b, struct body *body, const Onnx__Graph *graph);
/* Makes nodes of the messages; owed outputs get their producers. */
void build_nodes(struct builder *b, struct body *body, size_t count, Onnx__Node **nodes,
                 struct owed *owed, int owed_count);
/* The types that a body records for its values. */
void build_records(struct builder *b, struct body *body, size_t count, Onnx__ValueInfo **infos);
/* Owed outputs that no node of the body produces: constants, inputs and outer values passed on.
 * what names the body
 * ("function f"). */
void build_pay(struct builder *b, struct body *body, const struct call *call, struct owed *owed,
               int owed_count, const char *what);
/* Pays for inlining count messages before it is done; false (reported) where it is too much or too
 * deep. */
bool build_afford(struct builder *b, const struct call *call, size_t count, Onnx__Node **nodes);
/* to is from under a second name. */
void build_pass_on(struct builder *b, const struct call *call, struct value *from,
                   struct value *to);
/* The opset of the standard domain in body, -1 where it is not imported. */
int64_t build_opset(const struct body *body);
/* Attributes of a message, references resolved; graphs are left out. */
struct attribute *build_attributes(struct builder *b, const struct body *body,
                                   const struct place *place, size_t count,
                                   Onnx__Attribute **protos, int *made);
/* Gives n, which op is the row of, its attributes; false (reported): they, or its inputs and
 * outputs, are not as op says. */
bool build_checked(struct builder *b, const struct call *call, struct node *n,
                   const struct operator* op);
/* Reports a model's input or output that is no tensor: what it is instead. */
void build_no_tensor(struct builder *b, const struct place *place, const char *what);
/* A node without a row, appended to the graph, its outputs' producer. */
struct node *build_node(struct builder *b, const struct call *call);
/* Brings the graph's nodes from number from on to their newest forms; what that adds is new
 * already. */
void build_upgrade(struct builder *b, int from);
/* Sorts the graph; false: a cycle, reported with its layers (TUKI0104). */
bool build_sort(struct builder *b);
/* Nothing about the call's outputs is to be reported any more. */
void build_poison(const struct call *call);
struct place build_place(const struct call *call);

#endif
