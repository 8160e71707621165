/*
 * Determinants: small ones by their minors, all in 32 bits; larger ones by elimination until they
 * are small.
 */
#include "daemon/compiler/gpu/make.h"
#include "daemon/compiler/operators/operator.h"

enum { MOST_BY_MINORS = 6, LARGEST_DET = 10 };

/*
 * Minors of the last rows, each of as many columns (a set of bits): expanded along their first row
 * they are made from those of one row less, and each is computed once.
 */
static struct value *by_minors(struct node *n, struct value *x)
{
    struct value *minors[1 << MOST_BY_MINORS] = {NULL};
    int axes = x->shape.axes;
    int64_t size = x->shape.dim[axes - 1];

    for (int set = 1; set < 1 << size; set++) {
        int64_t row = size - __builtin_popcount((unsigned)set);
        struct value *sum = NULL;
        int sign = 0;

        for (int column = 0; column < size; column++) {
            struct value *element, *minor;

            if (!(set >> column & 1))
                continue;
            minor = minors[set & ~(1 << column)];
            element = make_sliced(n, make_sliced(n, x, axes - 2, row, row + 1), axes - 1, column,
                                  column + 1);
            element = minor ? make_binary(n, "Mul", element, minor) : element;
            sum = !sum ? element : make_binary(n, sign % 2 ? "Sub" : "Add", sum, element);
            sign++;
        }
        minors[set] = sum;
    }
    return minors[(1 << size) - 1];
}

/* 0, 1 ... as a column. */
static struct value *rows_of(struct node *n, int64_t size)
{
    float *numbers = NEW_ARRAY(&n->graph->context->arena, size, float);
    struct shape s = shape_of(2, (const int64_t[]){size, 1});

    for (int64_t i = 0; i < size; i++)
        numbers[i] = (float)i;
    return graph_constant_floats(n->graph, "", &s, numbers);
}

static struct value *truth_as_number(struct node *n, struct value *v)
{
    struct node *cast = make_node(n, "Cast", 1, &v);

    node_set_int(cast, "to", TYPE_FLOAT32);
    return make_inferred(cast);
}

/*
 * One column less: x is [count, size, size]. The row whose first element is largest changes places
 * with the first one, and times a factor is taken from each other row. *pivot: that element, of the
 * sign that the change of places gives it, [count, 1, 1].
 */
static struct value *eliminated(struct node *n, struct value *x, struct value **pivot)
{
    int64_t size = x->shape.dim[1];
    struct value *column = make_unary(n, "Abs", make_sliced(n, x, 2, 0, 1));
    struct node *choice = make_node(n, "Choice", 1, &column);
    struct value *is, *row, *first, *rest, *factor, *divisor;

    node_set_int(choice, "axis", 1);
    is = make_binary(n, "Equal", make_component(n, make_inferred(choice), 0), rows_of(n, size));
    row = make_binary(n, "Mul", truth_as_number(n, is), x);
    row = make_stored(n, make_reduced(n, "ReduceSum", row, 1));
    first = make_sliced(n, row, 2, 0, 1);
    *pivot = make_where(n, make_sliced(n, is, 1, 0, 1), first, make_unary(n, "Neg", first));
    rest = make_where(n, make_sliced(n, is, 1, 1, size), make_sliced(n, x, 1, 0, 1),
                      make_sliced(n, x, 1, 1, size));
    /* A column of zeros stays one. */
    divisor =
        make_where(n, make_binary(n, "Equal", first, make_number(n, 0)), make_number(n, 1), first);
    factor = make_within(make_binary(n, "Div", make_sliced(n, rest, 2, 0, 1), divisor), -1, 1);
    return make_stored(n,
                       make_binary(n, "Sub", make_sliced(n, rest, 2, 1, size),
                                   make_binary(n, "Mul", factor, make_sliced(n, row, 2, 1, size))));
}

bool decompose_det(struct node *n, struct value **out)
{
    struct value *x = n->inputs[0], *factors[LARGEST_DET], *product;
    int axes = x->shape.axes, count = 0;
    int64_t size = x->shape.dim[axes - 1];

    if (size > LARGEST_DET || size < 1)
        return false;
    if (size > MOST_BY_MINORS) {
        struct shape s =
            shape_of(3, (const int64_t[]){shape_product(&x->shape, 0, axes - 2), size, size});

        x = make_reshaped(n, x, &s);
        for (; x->shape.dim[1] > MOST_BY_MINORS; count++)
            x = eliminated(n, x, &factors[count]);
    }
    product = by_minors(n, x);
    if (count) {
        factors[count++] = product;
        product = make_reduced(n, "ReduceProd", make_concat(n, 1, count, factors), 1);
    }
    out[0] = make_reshaped(n, product, &n->outputs[0]->shape);
    return true;
}
