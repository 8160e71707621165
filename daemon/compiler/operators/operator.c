#include "daemon/compiler/operators/operator.h"
#include <string.h>

#define OPERATOR(name, domain, since, until, min_in, max_in, min_out, max_out, functions, batch,   \
                 jumps, documentation)                                                             \
    extern const struct operator_functions functions##_functions;
#include "daemon/compiler/operators/operators.def"
#undef OPERATOR

static const struct operator rows[] = {
#define OPERATOR(name, domain, since, until, min_in, max_in, min_out, max_out, functions, batch,   \
                 jumps, documentation)                                                             \
    {#name,        domain, since, until, min_in, max_in, min_out, max_out, &functions##_functions, \
     documentation},
#include "daemon/compiler/operators/operators.def"
#undef OPERATOR
    {.name = NULL},
};

const struct operator* operator_find(const char *domain, const char *op_type, int opset)
{
    for (const struct operator* op = rows; op->name; op++)
        if (!strcmp(op->name, op_type) && !strcmp(op->domain, domain) && op->since <= opset &&
            (!op->until || opset <= op->until))
            return strcmp(domain, OPERATOR_INTERNAL) ? op : NULL;
    return NULL;
}

const struct operator* operator_get(struct context *c, const char *name)
{
    const struct operator* newest = NULL;

    for (const struct operator* op = rows; op->name; op++)
        if (!strcmp(op->name, name) && (!newest || op->since > newest->since))
            newest = op;
    if (!newest)
        BUG(c, "there is no operator %s", name);
    return newest;
}

bool node_is(const struct node *n, const char *op)
{
    return n && n->op && !*n->op->domain && !strcmp(n->op->name, op);
}

static bool is_internal(const struct node *n)
{
    return n->op && !strcmp(n->op->domain, OPERATOR_INTERNAL);
}

const char *node_op(const struct node *n)
{
    return is_internal(n) && n->layer_op ? n->layer_op : n->op_type;
}

const char *node_part(const struct node *n)
{
    return is_internal(n) ? n->op->documentation : "";
}

const char *node_op_text(struct arena *a, const struct node *n)
{
    const char *part = node_part(n);

    return *part ? arena_printf(a, "%s (%s)", node_op(n), part) : node_op(n);
}

const struct operator* operator_rows(void)
{
    return rows;
}

enum { OPTIONAL, REQUIRED };

/* What the table's words for types stand for: a type, and whether it is 0 or 1. */
#define TYPE_FLOAT ATTRIBUTE_FLOAT, false
#define TYPE_INT ATTRIBUTE_INT, false
#define TYPE_FLAG ATTRIBUTE_INT, true
#define TYPE_STRING ATTRIBUTE_STRING, false
#define TYPE_TENSOR ATTRIBUTE_TENSOR, false
#define TYPE_GRAPH ATTRIBUTE_GRAPH, false
#define TYPE_FLOATS ATTRIBUTE_FLOATS, false
#define TYPE_INTS ATTRIBUTE_INTS, false
#define TYPE_STRINGS ATTRIBUTE_STRINGS, false

static const struct operator_attribute attributes[] = {
#define ATTRIBUTE(op, name, type, required, since, until)                                          \
    {#op, #name, TYPE_##type, required, since, until},
#include "daemon/compiler/operators/attributes.def"
#undef ATTRIBUTE
    {.op = NULL},
};

const struct operator_attribute *operator_attributes(void)
{
    return attributes;
}

static const struct operator_arity arities[] = {
#define ARITY(op, since, until, min_inputs, max_inputs, max_outputs)                               \
    {#op, since, until, min_inputs, max_inputs, max_outputs},
#include "daemon/compiler/operators/arity.def"
#undef ARITY
    {.op = NULL},
};

struct operator_arity operator_arity(const struct operator* op, int opset)
{
    struct operator_arity usual = {
        .min_inputs = op->min_inputs, .max_inputs = op->max_inputs, .max_outputs = op->max_outputs};

    for (const struct operator_arity *row = arities; row->op && !*op->domain; row++)
        if (!strcmp(row->op, op->name) && row->since <= opset &&
            (!row->until || opset <= row->until))
            return *row;
    return usual;
}

static const struct operator_refusal refusals[] = {
#define REFUSED(op, code, reason, advice) {#op, TUKI##code, reason, advice},
#include "daemon/compiler/operators/refused.def"
#undef REFUSED
    {.op = NULL, .code = TUKI0110},
};

const struct operator_refusal *operator_refusal(const char *op_type)
{
    const struct operator_refusal *r = refusals;

    while (r->op && strcmp(r->op, op_type))
        r++;
    return r;
}
