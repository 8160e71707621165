#include "daemon/compiler/graph/shape.h"

const struct shape shape_unknown = {.axes = -1};

static const struct {
    const char *name;
    int bits;
} types[] = {
#define ELEMENT_TYPE(id, number, name, bits) [number] = {name, bits},
#include "daemon/compiler/graph/types.def"
#undef ELEMENT_TYPE
};
enum { TYPE_COUNT = sizeof types / sizeof *types };

const char *type_name(enum element_type type)
{
    unsigned number = (unsigned)type;

    if (number < TYPE_COUNT && types[number].name)
        return types[number].name;
    return number ? "an unknown type" : "unknown type";
}

int type_bits(enum element_type type)
{
    unsigned number = (unsigned)type;

    return number < TYPE_COUNT ? types[number].bits : 0;
}

bool type_is_float(enum element_type type)
{
    return type == TYPE_FLOAT32 || type == TYPE_FLOAT16 || type == TYPE_BFLOAT16 ||
           type == TYPE_FLOAT64;
}

bool type_is_integer(enum element_type type)
{
    switch (type) {
    case TYPE_INT2:
    case TYPE_UINT2:
    case TYPE_INT4:
    case TYPE_UINT4:
    case TYPE_INT8:
    case TYPE_UINT8:
    case TYPE_INT16:
    case TYPE_UINT16:
    case TYPE_INT32:
    case TYPE_UINT32:
    case TYPE_INT64:
    case TYPE_UINT64:
        return true;
    default:
        return false;
    }
}

struct shape shape_of(int axes, const int64_t *dims)
{
    struct shape s = {.axes = axes};

    if (axes < 0 || axes > MAX_AXES)
        return shape_unknown;
    for (int i = 0; i < axes; i++)
        s.dim[i] = dims[i] < 0 ? -1 : dims[i];
    return s;
}

bool shape_known(const struct shape *s)
{
    for (int i = 0; i < s->axes; i++)
        if (s->dim[i] < 0)
            return false;
    return s->axes >= 0;
}

bool shape_equal(const struct shape *a, const struct shape *b)
{
    if (a->axes != b->axes)
        return false;
    for (int i = 0; i < a->axes; i++)
        if (a->dim[i] != b->dim[i])
            return false;
    return true;
}

int64_t shape_product(const struct shape *s, int from, int to)
{
    int64_t product = 1;
    bool zero = false, huge = false;

    for (int i = from; i < to; i++) {
        if (s->dim[i] < 0)
            return -1;
        if (s->dim[i] == 0)
            zero = true;
        else if (__builtin_mul_overflow(product, s->dim[i], &product) || product > (int64_t)1 << 62)
            huge = true;
        if (huge)
            product = 1;
    }
    /* [2^40, 2^40, 0] has no elements, however large its other axes are. */
    return zero ? 0 : huge ? -1 : product;
}

int64_t shape_count(const struct shape *s)
{
    return s->axes < 0 ? -1 : shape_product(s, 0, s->axes);
}

int shape_axis(const struct shape *s, int64_t axis)
{
    if (s->axes < 0 || axis < -s->axes || axis >= s->axes)
        return -1;
    return (int)(axis < 0 ? axis + s->axes : axis);
}

bool shape_broadcast(const struct shape *a, const struct shape *b, struct shape *out)
{
    struct shape result = {.axes = a->axes > b->axes ? a->axes : b->axes};

    if (a->axes < 0 || b->axes < 0) {
        *out = shape_unknown;
        return true;
    }
    for (int i = 0; i < result.axes; i++) {
        int ia = i - (result.axes - a->axes), ib = i - (result.axes - b->axes);
        int64_t da = ia < 0 ? 1 : a->dim[ia], db = ib < 0 ? 1 : b->dim[ib];

        if (da == db || db == 1)
            result.dim[i] = da;
        else if (da == 1)
            result.dim[i] = db;
        else if (da < 0 || db < 0)
            result.dim[i] = da < 0 ? db : da; /* the unknown one is 1 or equal to the other */
        else
            return false;
    }
    *out = result;
    return true;
}

void shape_print(struct strbuf *s, const struct shape *shape)
{
    if (shape->axes < 0) {
        strbuf_add(s, "unknown");
        return;
    }
    strbuf_char(s, '[');
    for (int i = 0; i < shape->axes; i++) {
        if (i)
            strbuf_add(s, ", ");
        if (shape->dim[i] < 0)
            strbuf_char(s, '?');
        else
            strbuf_printf(s, "%lld", (long long)shape->dim[i]);
    }
    strbuf_char(s, ']');
}

const char *shape_text(struct arena *a, const struct shape *shape)
{
    struct strbuf s;

    strbuf_init(&s, a);
    shape_print(&s, shape);
    return s.text;
}

bool shape_contradicts(const struct shape *record, const struct shape *computed)
{
    if (record->axes < 0 || !shape_known(computed))
        return false;
    if (record->axes != computed->axes)
        return true;
    for (int i = 0; i < record->axes; i++)
        if (record->dim[i] >= 0 && record->dim[i] != computed->dim[i])
            return true;
    return false;
}
