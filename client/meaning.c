#include "client/meaning.h"
#include "daemon/compiler/graph/accept.h"
#include "daemon/compiler/operators/operator.h"
#include <string.h>

static bool is_operator(const struct node *n, const char *name)
{
    return n->op && !strcmp(n->op->name, name) && !*n->op->domain;
}

static bool moves_data(const struct node *n)
{
    return is_operator(n, "Identity") ||
           (n->op && n->op->functions && n->op->functions->role == ROLE_VIEW);
}

/* Scale and zero point of a QuantizeLinear or DequantizeLinear with one of each. */
static void take_scale(struct meaning *m, const struct node *n, enum element_type steps)
{
    int scales = 0, zero_points = 0;
    const float *scale = node_constant_floats(n, 1, &scales);
    const int64_t *zero_point = node_constant_ints(n, 2, &zero_points);

    if (!scale || scales != 1 || (steps != TYPE_UINT8 && steps != TYPE_INT8))
        return;
    m->quantised = true;
    m->scale = scale[0];
    m->zero_point = zero_point && zero_points == 1 ? zero_point[0] : 0;
    m->steps = steps;
}

/* The QuantizeLinear that v comes to through data movement alone, the first one in order. */
static const struct node *quantiser(const struct value *v, int depth)
{
    for (int i = 0; i < v->reader_count; i++) {
        const struct node *n = v->readers[i];
        const struct node *found = NULL;

        if (is_operator(n, "QuantizeLinear") && node_input(n, 0) == v)
            found = n;
        else if (moves_data(n) && node_input(n, 0) == v && n->outputs[0] && depth)
            found = quantiser(n->outputs[0], depth - 1);
        if (found)
            return found;
    }
    return NULL;
}

/* Rows of the table that ids are looked up in, through Cast and Reshape. */
static int64_t table_rows(const struct value *v, int depth)
{
    for (int i = 0; i < v->reader_count; i++) {
        const struct node *n = v->readers[i];
        const struct value *table = node_input(n, 0);
        int64_t rows = 0;

        if (is_operator(n, "Gather") && node_input(n, 1) == v && table &&
            shape_known(&table->shape)) {
            int axis = shape_axis(&table->shape, node_int(n, "axis", 0));

            rows = axis >= 0 ? table->shape.dim[axis] : 0;
        } else if (table == v && n->output_count && n->outputs[0] && depth) {
            rows = table_rows(n->outputs[0], depth - 1);
        }
        if (rows > 0)
            return rows;
    }
    return 0;
}

/* Chains of views longer than this do not occur between an edge and its quantisation. */
enum { DEPTH = 32 };

struct meaning *meaning_of_inputs(struct graph *g, struct arena *arena)
{
    struct meaning *all = NEW_ARRAY(arena, g->input_count, struct meaning);
    bool quantised = graph_quantised(g);

    for (int i = 0; i < g->input_count; i++) {
        const struct value *v = g->inputs[i];
        struct meaning *m = &all[i];

        *m = (struct meaning){.name = v->name, .type = v->type, .shape = v->shape};
        if (quantised && (v->type == TYPE_UINT8 || v->type == TYPE_INT8)) {
            m->quantised = true;
            m->scale = 1;
            m->steps = v->type;
        } else if (quantised && v->type == TYPE_FLOAT32) {
            const struct node *n = quantiser(v, DEPTH);

            if (n && n->outputs[0])
                take_scale(m, n, n->outputs[0]->type);
        } else if (value_is_tokens(v)) {
            m->tokens = true;
            m->rows = table_rows(v, DEPTH);
        }
    }
    return all;
}

struct meaning *meaning_of_outputs(struct graph *g, struct arena *arena)
{
    struct meaning *all = NEW_ARRAY(arena, g->output_count, struct meaning);
    bool quantised = graph_quantised(g);

    for (int i = 0; i < g->output_count; i++) {
        const struct value *v = g->outputs[i];
        struct meaning *m = &all[i];

        *m = (struct meaning){.name = g->output_names[i], .type = v->type, .shape = v->shape};
        if (quantised && (v->type == TYPE_UINT8 || v->type == TYPE_INT8)) {
            m->quantised = true;
            m->scale = 1;
            m->steps = v->type;
            continue;
        }
        while (quantised && v && v->producer && moves_data(v->producer))
            v = node_input(v->producer, 0);
        if (quantised && v && v->producer && is_operator(v->producer, "DequantizeLinear") &&
            node_input(v->producer, 0))
            take_scale(m, v->producer, node_input(v->producer, 0)->type);
    }
    return all;
}
