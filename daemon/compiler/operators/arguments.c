#include "daemon/compiler/operators/arguments.h"
#include <inttypes.h>

enum argument argument_ints(struct node *n, int slot, const int64_t **numbers, int *count)
{
    *numbers = NULL;
    *count = 0;
    if (!node_input(n, slot))
        return ARGUMENT_ABSENT;
    *numbers = node_constant_ints(n, slot, count);
    return *numbers ? ARGUMENT_KNOWN : ARGUMENT_UNKNOWN;
}

enum argument argument_floats(struct node *n, int slot, const float **numbers, int *count)
{
    *numbers = NULL;
    *count = 0;
    if (!node_input(n, slot))
        return ARGUMENT_ABSENT;
    *numbers = node_constant_floats(n, slot, count);
    return *numbers ? ARGUMENT_KNOWN : ARGUMENT_UNKNOWN;
}

bool argument_int(struct node *n, int slot, enum argument *state, int64_t *number)
{
    const int64_t *numbers;
    int count;
    *state = argument_ints(n, slot, &numbers, &count);
    if (*state != ARGUMENT_KNOWN)
        return true;
    if (count != 1) {
        infer_fault(n, "input %d has %d elements where one is asked for", slot, count);
        return false;
    }
    *number = numbers[0];
    return true;
}

bool argument_axes(struct node *n, const int64_t *list, int count, int axes, int out[MAX_AXES])
{
    unsigned seen = 0;
    for (int i = 0; i < count; i++) {
        if (list[i] < -axes || list[i] >= axes) {
            infer_fault(n, "axis %" PRId64 " lies outside the %d axes", list[i], axes);
            return false;
        }
        int axis = (int)(list[i] < 0 ? list[i] + axes : list[i]);
        if (seen & 1u << axis) {
            infer_fault(n, "axis %d is named twice", axis);
            return false;
        }
        seen |= 1u << axis;
        out[i] = axis;
    }
    return true;
}

bool argument_fits(struct node *n, const struct shape *out)
{
    int64_t product = 1;
    for (int a = 0; a < out->axes; a++)
        if (out->dim[a] == 0)
            return true;
    for (int a = 0; a < out->axes; a++) {
        if (out->dim[a] < 0)
            continue;
        if (__builtin_mul_overflow(product, out->dim[a], &product) || product > INT64_C(1) << 62) {
            infer_fault(n, "the output would have more elements than can be counted");
            return false;
        }
    }
    return true;
}

bool argument_shape(struct node *n, const int64_t *dims, int count, struct shape *out)
{
    if (count > MAX_AXES) {
        infer_fault(n, "the output would have %d axes, more than %d", count, MAX_AXES);
        return false;
    }
    *out = shape_of(count, dims);
    return argument_fits(n, out);
}

void argument_from_ints(struct graph *g, struct node *n, const char *attribute, int slot)
{
    int count;
    if (!node_find(n, attribute))
        return;
    const int64_t *ints = node_ints(n, attribute, &count);
    node_pad_inputs(n, slot + 1);
    node_set_input(n, slot, graph_constant_ints(g, attribute, count, ints));
    node_unset(n, attribute);
}

void argument_from_int(struct graph *g, struct node *n, const char *attribute, int slot)
{
    if (!node_find(n, attribute))
        return;
    int64_t number = node_int(n, attribute, 0);
    node_pad_inputs(n, slot + 1);
    node_set_input(n, slot, graph_constant_ints(g, attribute, 1, &number));
    node_unset(n, attribute);
}

void argument_rename(struct graph *g, struct node *n, const char *op_type)
{
    n->op = operator_get(g->context, op_type);
    n->op_type = n->op->name;
}
