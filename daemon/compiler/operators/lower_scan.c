/*
 * CumSum and CumProd: each element adds up what stands before it. Long axes come here in two levels
 * (gpu/ decompose_signal.c), so that no loop is long. Source: onnx.ai/onnx/operators, CumSum 14.
 */
#include "daemon/compiler/operators/lower.h"
#include <string.h>

struct scan {
    struct value *x;
    int axis;
    bool product, exclusive, reverse;
    int64_t extent;
};

static void scan_read(const struct node *n, struct scan *s)
{
    int count;
    const int64_t *axis = node_constant_ints(n, 1, &count);

    s->x = n->inputs[0];
    s->axis = shape_axis(&s->x->shape, axis ? axis[0] : 0);
    s->product = !strcmp(n->op->name, "CumProd");
    s->exclusive = node_int(n, "exclusive", 0);
    s->reverse = node_int(n, "reverse", 0);
    s->extent = s->x->shape.dim[s->axis];
}

/* What element at[] takes in: first … last along the axis. */
static void scan_one(struct kernel *k, const struct scan *s, struct lanes e,
                     const char *const *sums)
{
    const struct index *own = e.at[0][s->axis], *j = kernel_loop(k, "j", s->extent), *distance;
    struct condition within;
    const char *texts[4];
    int opened;

    /* own - j, or j - own: at least 0, or 1 where the element itself is left out. */
    distance = index_add(k->pool, index_times(k->pool, own, s->reverse ? -1 : 1),
                         index_times(k->pool, j, s->reverse ? 1 : -1));
    within = (struct condition){distance, s->exclusive, s->extent};
    for (int i = 0; i < e.count; i++)
        e.at[i][s->axis] = j;
    opened = kernel_if(k, &within, 1);
    if (opened >= 0) {
        kernel_read(k, s->x, &e, -1, texts);
        for (int i = 0; i < e.count; i++)
            kernel_line(k, "%s %s %s;", sums[i], s->product ? "*=" : "+=", texts[i]);
    }
    kernel_end_if(k, opened);
    kernel_end_loop(k, s->extent);
}

void lower_scan(struct kernel *k, const struct node *n)
{
    struct scan s;
    const char *sums[4];
    bool together = true;

    scan_read(n, &s);
    for (int j = 0; j < k->out.count; j++) {
        sums[j] = kernel_name(k, (const char *const[]){"r", "g", "b", "a"}[j]);
        kernel_line(k, "float %s = %s;", sums[j], s.product ? "1f" : "0f");
        together = together && k->out.at[j][s.axis] == k->out.at[0][s.axis];
    }
    if (together) {
        scan_one(k, &s, k->out, sums);
    } else {
        for (int j = 0; j < k->out.count; j++) {
            struct lanes one = {.count = 1};

            memcpy(one.at[0], k->out.at[j], sizeof one.at[0]);
            one.at[0][s.axis] = index_clamp(k->pool, one.at[0][s.axis], 0, s.extent - 1);
            scan_one(k, &s, one, &sums[j]);
        }
    }
    for (int j = 0; j < 4; j++)
        k->lane[j] = j < k->out.count ? sums[j] : "0f";
}

/* Any axis but the one that is summed along, where there is one. */
int packed_scan(const struct node *n, int input)
{
    const struct shape *s = &n->inputs[0]->shape;
    struct scan scan;

    if (input > 0)
        return -1;
    scan_read(n, &scan);
    if (s->axes > 1 && scan.axis != 1 && s->dim[1] > 1)
        return 1;
    for (int a = s->axes - 1; a > 0; a--)
        if (a != scan.axis && s->dim[a] > 1)
            return a;
    return -1;
}

int64_t reuse_scan(const struct node *n, int input)
{
    struct scan s;

    if (input)
        return 1;
    scan_read(n, &s);
    return (s.extent + 1) / 2;
}
