#include "daemon/compiler/operators/rules.h"
#include "daemon/compiler/operators/arguments.h"
#include "daemon/compiler/operators/walk.h"

void infer_like_input(struct node *n)
{
    infer_output(n, 0, n->inputs[0]->type, &n->inputs[0]->shape);
}

/* Of two types the one that holds more: floating point before integers, then by size. */
static enum element_type higher(enum element_type a, enum element_type b)
{
    int rank_a = (a != TYPE_BOOL) * 1000 + type_is_real(a) * 1000 + type_bits(a);
    int rank_b = (b != TYPE_BOOL) * 1000 + type_is_real(b) * 1000 + type_bits(b);

    return rank_b > rank_a ? b : a;
}

bool infer_common_type(struct node *n, int first, int last, enum element_type *type)
{
    enum element_type found = TYPE_UNKNOWN;
    bool differ = false, constant = true;

    for (int i = first; i <= last && i < n->input_count; i++) {
        const struct value *v = n->inputs[i];

        if (!v || v->type == TYPE_UNKNOWN)
            continue;
        constant = constant && v->constant;
        if (found == TYPE_UNKNOWN) {
            found = v->type;
        } else if (v->type != found) {
            differ = true;
            if (!constant || v->type == TYPE_STRING || found == TYPE_STRING) {
                infer_fault(n, "its inputs are of different types, %s and %s", type_name(found),
                            type_name(v->type));
                return false;
            }
            found = higher(found, v->type);
        }
    }
    *type = found;
    return !differ || constant;
}

bool infer_broadcast(struct node *n, struct shape *shape)
{
    bool first = true;

    *shape = shape_unknown;
    for (int i = 0; i < n->input_count; i++) {
        const struct value *v = n->inputs[i];
        struct shape both;

        if (!v)
            continue;
        if (v->shape.axes < 0) {
            *shape = shape_unknown;
            return true;
        }
        if (first) {
            *shape = v->shape;
            first = false;
        } else if (shape_broadcast(shape, &v->shape, &both)) {
            *shape = both;
        } else {
            struct arena *a = &n->graph->context->arena;

            infer_fault(n, "shapes %s and %s do not broadcast", shape_text(a, shape),
                        shape_text(a, &v->shape));
            return false;
        }
    }
    return argument_fits(n, shape);
}

bool infer_broadcasts_to(struct node *n, int input, const struct shape *shape, const char *what)
{
    const struct value *v = node_input(n, input);
    struct arena *a = &n->graph->context->arena;
    bool fits = true;
    int lead;

    if (!v || v->shape.axes < 0 || shape->axes < 0)
        return true;
    lead = shape->axes - v->shape.axes;
    if (lead < 0)
        fits = false;
    for (int i = 0; i < v->shape.axes && fits; i++) {
        int64_t own = v->shape.dim[i], to = shape->dim[lead + i];

        fits = own == 1 || own == to || own < 0 || to < 0;
    }
    if (!fits)
        infer_fault(n, "%s %s does not broadcast to %s", what, shape_text(a, &v->shape),
                    shape_text(a, shape));
    return fits;
}

bool infer_vector(struct node *n, int input, int64_t length, const char *what)
{
    const struct value *v = node_input(n, input);
    struct arena *a = &n->graph->context->arena;

    if (!v || v->shape.axes < 0)
        return true;
    if (v->shape.axes == 1 && (length < 0 || v->shape.dim[0] < 0 || v->shape.dim[0] == length))
        return true;
    if (length < 0)
        infer_fault(n, "%s is %s instead of one axis", what, shape_text(a, &v->shape));
    else
        infer_fault(n, "%s is %s instead of [%lld]", what, shape_text(a, &v->shape),
                    (long long)length);
    return false;
}

void upgrade_float_to_input(struct graph *g, struct node *n, const char *attribute, int slot)
{
    struct shape scalar = shape_of(0, NULL);
    float number = node_float(n, attribute, 0);

    if (!node_find(n, attribute))
        return;
    node_pad_inputs(n, slot + 1);
    node_set_input(n, slot, graph_constant_floats(g, attribute, &scalar, &number));
    node_unset(n, attribute);
}
