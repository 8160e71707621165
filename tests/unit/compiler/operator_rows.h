#ifndef TESTS_OPERATOR_ROWS_H
#define TESTS_OPERATOR_ROWS_H
/*
 * Rows that check operators against numbers from their definitions. A row is one node: its shapes
 * and types as inference gives them and, where all inputs are known, its outputs. Tensors and
 * attributes are written as node_text.h says; tensors are separated by ";", "-" is one left out.
 * The expected "!" is a fault of the node (TUKI0106), "?" that it is not evaluated.
 */
#include "tests/unit/compiler/coverage.h"
#include "tests/unit/compiler/node_text.h"
#include <math.h>

enum { MOST_TENSORS = 16 };

struct row {
    const char *op;
    int opset;
    const char *attributes, *inputs, *outputs;
};

static inline int read_tensors(struct context *c, struct graph *g, const char *p,
                               struct value **values)
{
    int count = 0;

    for (p = blank(p); *p; p = blank(p + (*p == ';'))) {
        values[count++] = NULL;
        if (*p == '-') {
            p = blank(p + 1);
            continue;
        }
        values[count - 1] = graph_value(g, "", TYPE_UNKNOWN, NULL);
        p = read_tensor(c, p, values[count - 1]);
    }
    return count;
}

static inline void compare(struct context *c, const struct row *e, const struct tensor *got,
                           const struct tensor *want)
{
    const double *a = tensor_doubles(c, got, &c->arena), *b = tensor_doubles(c, want, &c->arena);

    for (int64_t i = 0; i < want->count; i++) {
        bool exact = !type_is_float(want->type) || !isfinite(b[i]);

        if (isnan(b[i]) ? isnan(a[i])
                        : a[i] == b[i] || (!exact && fabs(a[i] - b[i]) <= 2e-6 * (1 + fabs(b[i]))))
            continue;
        fail_msg("%s %d (%s) over %s: element %d is %.9g instead of %.9g", e->op, e->opset,
                 e->attributes, e->inputs, (int)i, a[i], b[i]);
    }
}

static inline void run(const struct row *e, struct context *c)
{
    struct graph *g = graph_new(c);
    struct value *in[MOST_TENSORS], *want[MOST_TENSORS];
    int in_count = read_tensors(c, g, e->inputs, in), want_count = 1;
    const struct operator* op = operator_find("", e->op, e->opset);
    const struct operator* foreign = operator_find("com.microsoft", e->op, e->opset);
    bool fault = strcmp(e->outputs, "!") == 0, refused = strcmp(e->outputs, "?") == 0;
    bool constant = true;
    struct tensor **out;
    struct node *n;

    op = op ? op : foreign;
    if (!op)
        fail_msg("%s %d has no row", e->op, e->opset);
    if (!fault && !refused)
        want_count = read_tensors(c, g, e->outputs, want);
    n = graph_node(g, op, "node", in, in_count, want_count);
    n->opset = e->opset;
    for (int i = 1; i < want_count; i++)
        n->outputs[i]->output_count = 1;
    read_attributes(n, e->attributes);
    if (op->functions->upgrade)
        op->functions->upgrade(g, n);
    op->functions->infer(n);
    if (fault != (c->diagnostics.errors > 0))
        fail_msg("%s %d (%s) over %s: %s", e->op, e->opset, e->attributes, e->inputs,
                 fault ? "no fault was found" : c->diagnostics.list[0].message);
    if (fault) {
        assert_int_equal(c->diagnostics.errors, 1);
        assert_int_equal(c->diagnostics.list[0].code, TUKI0106);
        return;
    }
    /* The form that infer leaves must be one that it leaves alone. */
    op->functions->infer(n);
    assert_int_equal(c->diagnostics.errors, 0);
    for (int i = 0; i < n->input_count; i++)
        constant = constant && (!n->inputs[i] || n->inputs[i]->constant);
    for (int i = 0; i < want_count && !refused; i++)
        if (want[i] && (n->outputs[i]->type != want[i]->type ||
                        !shape_equal(&n->outputs[i]->shape, &want[i]->shape)))
            fail_msg("%s %d (%s) over %s: output %d is %s %s instead of %s %s", e->op, e->opset,
                     e->attributes, e->inputs, i, type_name(n->outputs[i]->type),
                     shape_text(&c->arena, &n->outputs[i]->shape), type_name(want[i]->type),
                     shape_text(&c->arena, &want[i]->shape));
    if (!constant)
        return;
    out = evaluate_node(n, &c->arena);
    if (refused != (c->diagnostics.errors > 0))
        fail_msg("%s %d (%s) over %s: it was %s", e->op, e->opset, e->attributes, e->inputs,
                 refused ? "evaluated" : "not evaluated");
    for (int i = 0; i < want_count && !refused; i++)
        if (want[i] && want[i]->constant) {
            compare(c, e, out[i], want[i]->constant);
            cover(op);
        }
}

static inline void run_all(const struct row *rows, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct context c;

        context_init(&c, NULL);
        if (setjmp(c.escape) == 0)
            run(&rows[i], &c);
        else
            fail_msg("%s over %s: %s", rows[i].op, rows[i].inputs, c.why);
        context_release(&c);
    }
}

#endif
