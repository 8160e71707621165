/*
 * Constant folding. infer_graph() has made nodes over constants into constants already; here they
 * leave the graph and become the recipes of their results. A DequantizeLinear stays where it is:
 * who multiplies by its result may keep the weights at 8 or 4 bits, and a file that is written
 * keeps them small.
 */
#include "daemon/compiler/operators/work.h"
#include "daemon/compiler/passes/pass.h"
#include <string.h>

/* An output of the model without elements is refused, in the name of the layer that writes it. */
static bool is_refused(const struct value *v)
{
    return v->output_count && shape_count(&v->shape) == 0;
}

static bool folds(const struct node *n)
{
    if (!n->op || !strcmp(n->op_type, "DequantizeLinear") || !strcmp(n->op_type, "MatMulNBits"))
        return false;
    for (int i = 0; i < n->output_count; i++)
        if (n->outputs[i] &&
            (!n->outputs[i]->constant || n->outputs[i]->poisoned || is_refused(n->outputs[i])))
            return false;
    for (int i = 0; i < n->output_count; i++)
        if (n->outputs[i])
            return true;
    return false;
}

/* Small ones are tried at once: a form that cannot be evaluated stays a node. */
static bool try_small(struct node *n)
{
    struct context *c = n->graph->context;
    struct arena *scratch;
    struct tensor **in, **out;
    struct node *outer;
    int style = c->style;
    bool done, varies;

    for (int i = 0; i < n->output_count; i++)
        if (n->outputs[i] &&
            (n->outputs[i]->constant->bytes > TENSOR_SMALL || n->outputs[i]->constant->data))
            return true;
    for (int i = 0; i < n->input_count; i++)
        if (n->inputs[i] && (!n->inputs[i]->constant ||
                             (n->inputs[i]->constant->deferred && !n->inputs[i]->constant->data)))
            return true;
    scratch = arena_child(&c->arena);
    in = NEW_ARRAY(scratch, n->input_count, struct tensor *);
    out = NEW_ARRAY(scratch, n->output_count, struct tensor *);
    for (int i = 0; i < n->input_count; i++)
        in[i] = n->inputs[i] ? n->inputs[i]->constant : NULL;
    /* Whether it can be evaluated is the same for all styles; what it comes to is not kept. */
    varies = node_varies(n);
    c->style = varies ? 0 : style;
    outer = work_begin(n, NULL, work_of(n));
    done = evaluate_with(n, in, out, scratch);
    work_end(n, outer);
    c->style = style;
    for (int i = 0; done && !varies && i < n->output_count; i++)
        if (n->outputs[i] && n->outputs[i]->constant->deferred == n && out[i]->data)
            n->outputs[i]->constant->data = arena_memdup(&c->arena, out[i]->data, out[i]->bytes);
    arena_free(scratch);
    return done;
}

int pass_fold(struct graph *g)
{
    int changes = 0;

    for (int i = 0; i < g->node_count; i++) {
        struct node *n = g->nodes[i];

        if (!folds(n))
            continue;
        context_poll(g->context);
        if (!try_small(n)) {
            n->unevaluable = true;
            for (int k = 0; k < n->output_count; k++)
                if (n->outputs[k])
                    n->outputs[k]->constant = NULL;
            continue;
        }
        for (int k = 0; k < n->output_count; k++)
            if (n->outputs[k])
                n->outputs[k]->producer = NULL;
        node_remove(n);
        changes++;
    }
    return changes;
}
