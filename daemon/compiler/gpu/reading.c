/* What reading a value costs its readers, given where everything lies. */
#include "daemon/compiler/gpu/steps_inside.h"

struct lanes sample_elements(struct kernel *k, const struct value *v, int axis)
{
    const struct index *at[MAX_AXES];

    for (int a = 0; a < v->shape.axes; a++) {
        int64_t extent = v->shape.dim[a];

        if (a != axis)
            at[a] = extent == 1 ? kernel_constant(k, 0)
                                : index_variable(k->pool, kernel_text(k, "s%d", a), 0, extent - 1);
        else
            at[a] = extent <= 4 ? kernel_constant(k, 0)
                                : index_times(k->pool,
                                              index_variable(k->pool, "q", 0, (extent - 1) / 4), 4);
    }
    int64_t extent = axis < 0 ? 1 : v->shape.dim[axis];
    return lanes_along(k, at, v->shape.axes, axis, extent < 4 ? (int)extent : 4);
}

int wanted_axis(const struct node *n, int slot)
{
    if (functions_of(n)->packed)
        return functions_of(n)->packed(n, slot);
    return -1;
}

int last_long_axis(const struct shape *s)
{
    for (int a = s->axes - 1; a >= 0; a--)
        if (s->dim[a] > 1)
            return a;
    return s->axes - 1;
}

int64_t reuse_of(const struct node *n, int slot)
{
    int64_t reads = functions_of(n)->reuse ? functions_of(n)->reuse(n, slot) : 1;

    return reads > 1 ? reads : 1;
}

double reading_cost(struct kernel *k, struct value *v, int depth)
{
    double total = 0;

    if (depth > 16)
        return 0;
    for (int i = 0; i < v->reader_count; i++) {
        struct node *r = v->readers[i];
        int slot = 0, seen = 0;

        if (!r->mark)
            continue;
        /* readers holds a node once for each slot: the how-manieth of r is this one? */
        for (int j = 0; j < i; j++)
            seen += v->readers[j] == r;
        for (slot = 0; slot < r->input_count; slot++)
            if (r->inputs[slot] == v && !seen--)
                break;
        struct value *out = r->outputs[0];
        if (functions_of(r)->role == ROLE_STEP) {
            int axis = wanted_axis(r, slot);
            struct lanes e = sample_elements(k, v, axis >= 0 ? axis : last_long_axis(&v->shape));

            total += (double)kernel_cost(k, v, &e) * (double)reuse_of(r, slot) *
                     (double)shape_count(&v->shape) / e.count;
        } else if (out && out->plan && spot_of(out)->placement != PLACED_BUFFER &&
                   spot_of(out)->placement != PLACED_NOWHERE &&
                   spot_of(out)->placement != PLACED_JOINED) {
            total += reading_cost(k, out, depth + 1);
        } else if (out && out->plan) {
            const struct spot *spot = out->plan;
            struct value *last = spot->placement == PLACED_JOINED ? spot->step->value : out;
            int axis = spot_of(last)->layout.width ? spot_of(last)->layout.packed : -1;

            if (axis < 0 && spot->step)
                axis = spot->step->packed;
            if (axis < 0 || axis >= out->shape.axes)
                axis = last_long_axis(&out->shape);
            struct lanes e = sample_elements(k, out, axis), operand = {.count = e.count};
            if (functions_of(r)->role == ROLE_VIEW) {
                /* As the view's own step will read it. */
                enum placement was = spot_of(out)->placement;

                spot_of(out)->placement = PLACED_VIEW;
                total +=
                    (double)kernel_cost(k, out, &e) * (double)shape_count(&out->shape) / e.count;
                spot_of(out)->placement = was;
                continue;
            }
            for (int j = 0; j < e.count; j++)
                broadcast_index(k, &v->shape, &out->shape, e.at[j], operand.at[j]);
            total +=
                (double)kernel_cost(k, v, &operand) * (double)shape_count(&out->shape) / e.count;
        }
    }
    return total;
}

int64_t operations(const struct value *v, int depth)
{
    const struct spot *spot = v->plan;
    int64_t total = 0;

    if (v->constant || !spot || !v->producer || spot->placement == PLACED_BUFFER ||
        spot->placement == PLACED_JOINED || depth > 64)
        return 0;
    for (int i = 0; i < v->producer->input_count; i++)
        if (v->producer->inputs[i])
            total += operations(v->producer->inputs[i], depth + 1);
    return total + (functions_of(v->producer)->role == ROLE_ELEMENTWISE);
}

double readings(const struct value *v, int depth)
{
    double total = 0, elements = (double)shape_count(&v->shape);

    for (int i = 0; i < v->reader_count && depth < 16; i++) {
        struct node *r = v->readers[i];
        struct value *out = r->outputs[0];
        int slot = 0;

        if (!r->mark)
            continue;
        while (slot < r->input_count && r->inputs[slot] != v)
            slot++;
        if (functions_of(r)->role == ROLE_STEP)
            total += (double)reuse_of(r, slot);
        else if (out && out->plan && elements > 0) {
            double wider = (double)shape_count(&out->shape) / elements;

            if (functions_of(r)->role == ROLE_VIEW && wider > 1)
                wider = 1;
            total += wider * (spot_of(out)->placement == PLACED_INLINE ||
                                      spot_of(out)->placement == PLACED_VIEW
                                  ? readings(out, depth + 1)
                                  : 1);
        }
    }
    return total;
}
