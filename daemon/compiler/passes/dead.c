#include "daemon/compiler/operators/operator.h"
#include "daemon/compiler/passes/pass.h"

static bool is_wanted(const struct value *v)
{
    return v && (v->reader_count || v->output_count);
}

/* Optional outputs that nobody reads are not asked for. */
static int drop_outputs(struct node *n)
{
    int changes = 0;

    for (int i = n->op ? n->op->min_outputs : n->output_count; i < n->output_count; i++)
        if (n->outputs[i] && !is_wanted(n->outputs[i])) {
            n->outputs[i]->producer = NULL;
            n->outputs[i] = NULL;
            changes++;
        }
    return changes;
}

/* Values that belong to nothing any more leave the list; the rest is numbered anew. */
static int drop_values(struct graph *g)
{
    int kept = 0, constants = 0;

    for (int i = 0; i < g->value_count; i++) {
        struct value *v = g->values[i];

        if (is_wanted(v) || v->input >= 0 || (v->producer && !v->producer->removed)) {
            v->id = kept;
            g->values[kept++] = v;
        } else {
            constants += v->constant && !v->producer;
        }
    }
    g->value_count = kept;
    return constants;
}

int pass_dead(struct graph *g)
{
    int changes = 0;

    /* Readers stand behind what they read, so one walk from the end finds all. */
    for (int i = g->node_count; i-- > 0;) {
        struct node *n = g->nodes[i];
        bool wanted = false;

        if (n->removed)
            continue;
        for (int k = 0; k < n->output_count; k++)
            wanted |= is_wanted(n->outputs[k]);
        if (wanted) {
            changes += drop_outputs(n);
        } else {
            node_remove(n);
            changes++;
        }
    }
    graph_compact(g);
    return changes + drop_values(g);
}
