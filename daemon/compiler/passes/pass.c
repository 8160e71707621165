#include "daemon/compiler/passes/pass.h"
#include <string.h>
#include <time.h>

static const struct pass rows[] = {
#define PASS(name, matches, principle, example) {#name, pass_##name, matches, principle, example},
#include "daemon/compiler/passes/passes.def"
#undef PASS
    {.name = NULL},
};
enum { ROUNDS = 8 };

const struct pass *pass_rows(void)
{
    return rows;
}

const struct pass *pass_find(const char *name)
{
    for (const struct pass *p = rows; p->name; p++)
        if (!strcmp(p->name, name))
            return p;
    return NULL;
}

int pass_run(struct graph *g, const struct pass *p)
{
    struct node **cycle;
    int changes, length;

    context_poll(g->context);
    changes = p->run(g);
    if (changes && !graph_sort_cycle(g, &cycle, &length))
        BUG(g->context, "pass %s closed a cycle through %s %s", p->name, cycle[0]->op_type,
            cycle[0]->name);
    return changes;
}

static int64_t now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * (int64_t)1000000000 + t.tv_nsec;
}

int passes_run(struct graph *g, struct pass_result *results)
{
    int total = 0;

    for (int round = 0, changes = 1; changes && round < ROUNDS; round++) {
        changes = 0;
        for (const struct pass *p = rows; p->name; p++) {
            int64_t start = now();
            int made = pass_run(g, p);

            if (results) {
                results[p - rows].pass = p;
                results[p - rows].changes += made;
                results[p - rows].nanoseconds += now() - start;
            }
            changes += made;
        }
        total += changes;
    }
    return total;
}

void pass_replace(struct node *n, struct value *v)
{
    value_replace(n->graph, n->outputs[0], v);
    node_remove(n);
}

bool constant_is_all(const struct value *v, double number)
{
    struct context *c;
    struct arena *scratch;
    const void *payload;
    bool all = true;

    /* Where styles differ, some other number is among them. */
    if (!v || !v->constant || v->constant->varies || v->constant->count > 1 << 16 ||
        !v->reader_count)
        return false;
    c = v->readers[0]->graph->context;
    scratch = arena_child(&c->arena);
    payload = tensor_data(c, v->constant, scratch);
    for (int64_t i = 0; all && i < v->constant->count; i++)
        all = payload_number(payload, v->constant->type, i) == number;
    arena_free(scratch);
    return all;
}

/* The node whose result a constant is, whether it still stands in the graph or became a recipe. */
static const struct node *maker(const struct value *v)
{
    return v->constant && v->constant->deferred ? v->constant->deferred : v->producer;
}

bool constant_is_quantised(const struct value *v)
{
    static const char *const movers[] = {"Transpose", "Reshape", "Identity", "Squeeze",
                                         "Unsqueeze", "Flatten", NULL};

    for (const struct node *n = v ? maker(v) : NULL; n;
         n = n->inputs[0] ? maker(n->inputs[0]) : NULL) {
        bool moves = false;

        if (!strcmp(n->op_type, "DequantizeLinear") || !strcmp(n->op_type, "MatMulNBits"))
            return true;
        for (const char *const *m = movers; *m; m++)
            moves |= !strcmp(n->op_type, *m);
        if (!moves || !n->input_count)
            return false;
    }
    return false;
}
