/*
 * Reductions: one output element is made of a row.
 *
 * All sums are in float32. Source: onnx.ai/onnx/operators, Reduce… 18.
 */
#include "daemon/compiler/operators/lower_rows.h"
#include <string.h>

struct reduction {
    const char *name, *first, *step,
        *last; /* {0} the sum so far, {1} an element; {2} in last: 1 / count */
};
static const struct reduction reductions[] = {
    {"ReduceMean", "0f", "{0} + {1}", "{0} * {2}"},
    {"ReduceSum", "0f", "{0} + {1}", "{0}"},
    {"GlobalAveragePool", "0f", "{0} + {1}", "{0} * {2}"},
    {"ReduceMax", "-3.4e38f", "Mathf.Max({0}, {1})", "{0}"},
    {"GlobalMaxPool", "-3.4e38f", "Mathf.Max({0}, {1})", "{0}"},
    {"ReduceMin", "3.4e38f", "Mathf.Min({0}, {1})", "{0}"},
    {"ReduceProd", "1f", "{0} * {1}", "{0}"},
    {"ReduceL1", "0f", "{0} + Mathf.Abs({1})", "{0}"},
    {"ReduceL2", "0f", "{0} + {1} * {1}", "Mathf.Sqrt({0})"},
    {"ReduceSumSquare", "0f", "{0} + {1} * {1}", "{0}"},
    {"ReduceLogSum", "0f", "{0} + {1}", "Mathf.Log({0})"},
};

static const struct reduction *reduction_of(const struct node *n)
{
    for (size_t i = 0; i < sizeof reductions / sizeof *reductions; i++)
        if (!strcmp(reductions[i].name, n->op->name))
            return &reductions[i];
    BUG(n->graph->context, "%s is not in the table of reductions", n->op->name);
}

struct reduce_state {
    const struct reduction *reduction;
    const char *sums[4];
    bool serial; /* all elements belong to sums[0] */
};

static void reduce_body(struct kernel *k, const char *const *texts, int count, const void *state)
{
    const struct reduce_state *s = state;

    if (s->serial && strstr(s->reduction->step, "{0} + ") == s->reduction->step) {
        /* One line for the four. */
        struct strbuf line;

        strbuf_init(&line, k->arena);
        for (int i = 0; i < count; i++) {
            const char *operands[] = {"", texts[i]};

            strbuf_printf(&line, "%s%s", i ? " + " : "",
                          kernel_format(k, s->reduction->step + 6, operands));
        }
        kernel_line(k, "%s += %s;", s->sums[0], line.text);
        return;
    }
    for (int i = 0; i < count; i++) {
        const char *operands[] = {s->sums[s->serial ? 0 : i], texts[i]};

        kernel_line(k, "%s = %s;", operands[0], kernel_format(k, s->reduction->step, operands));
    }
}

/* GlobalAveragePool and the like reduce all axes from 2 on, and keep them. */
static bool reduce_read(const struct node *n, struct row *r)
{
    bool global = !strncmp(n->op->name, "Global", 6);

    row_read(n, r);
    if (global) {
        r->count = 1;
        r->along = -1;
        for (int a = 0; a < r->x->shape.axes; a++) {
            r->reduced[a] = a >= 2;
            if (a >= 2) {
                r->count *= r->x->shape.dim[a];
                r->along = a;
            }
        }
    }
    return global || node_int(n, "keepdims", 1);
}

void lower_reduce(struct kernel *k, const struct node *n)
{
    struct row r;
    bool keeps = reduce_read(n, &r);
    struct reduce_state state = {.reduction = reduction_of(n)};
    struct lanes starts = {.count = k->out.count};
    const char *inverse = kernel_number(k, 1.0 / (double)r.count);
    int along, lanes = k->out.count;

    for (int j = 0; j < lanes; j++) {
        row_start(k, &r, keeps, k->out.at[j], starts.at[j]);
        state.sums[j] = kernel_name(k, (const char *const[]){"r", "g", "b", "a"}[j]);
    }
    along = row_side_by_side(k, &r, &starts);
    /* All lanes are one row where the output has a single element along its packed axis. */
    if (along < 0)
        lanes = 1;
    row_choose(k, &r, false);
    /* The four rows at once, one element of each; or one row after another, four elements of it. */
    bool parallel = along >= 0;
    if (parallel && r.along >= 0)
        parallel = is_cheaper_beside(k, r.x, along, r.along);
    for (int j = 0; j < lanes; j++)
        kernel_line(k, "float %s = %s;", state.sums[j], state.reduction->first);
    if (parallel) {
        row_loop_beside(k, &r, &starts, reduce_body, &state);
    } else {
        struct reduce_state one = state;

        one.serial = true;
        for (int j = 0; j < lanes; j++) {
            one.sums[0] = state.sums[j];
            row_loop(k, &r, starts.at[j], reduce_body, &one);
        }
    }
    for (int j = 0; j < lanes; j++) {
        const char *operands[] = {state.sums[j], "", inverse};

        k->lane[j] = kernel_local(k, "v", kernel_format(k, state.reduction->last, operands));
    }
    for (int j = lanes; j < 4; j++)
        k->lane[j] = "0f";
}

int packed_reduce(const struct node *n, int input)
{
    struct row r;

    if (input)
        return -1;
    reduce_read(n, &r);
    if (r.x->shape.axes >= 3 && !r.reduced[1] && r.x->shape.dim[1] > 1)
        return 1;
    return r.along;
}
