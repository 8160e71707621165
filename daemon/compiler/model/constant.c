#include "daemon/compiler/model/constant.h"
#include <string.h>

static struct tensor *numbers(struct context *c, enum element_type type, int axes, int64_t count,
                              const void *elements)
{
    struct shape shape = shape_of(axes, &count);
    void *data;
    struct tensor *t = tensor_new(&c->arena, type, &shape, &data);

    if (t->bytes)
        memcpy(data, elements, t->bytes);
    return t;
}

/* No operator that we compute takes strings: their number is all that is kept. */
static struct tensor *strings(struct context *c, int axes, int64_t count)
{
    struct tensor *t = NEW(&c->arena, struct tensor);

    t->type = TYPE_STRING;
    t->shape = shape_of(axes, &count);
    t->count = count;
    t->data = "";
    return t;
}

struct tensor *constant_tensor(struct context *c, const struct attribute *attributes, int count,
                               const char **why)
{
    static const struct {
        const char *name;
        enum attribute_type type;
    } forms[] = {
        {"value", ATTRIBUTE_TENSOR},        {"sparse_value", ATTRIBUTE_TENSOR},
        {"value_float", ATTRIBUTE_FLOAT},   {"value_floats", ATTRIBUTE_FLOATS},
        {"value_int", ATTRIBUTE_INT},       {"value_ints", ATTRIBUTE_INTS},
        {"value_string", ATTRIBUTE_STRING}, {"value_strings", ATTRIBUTE_STRINGS},
    };
    const struct attribute *found = NULL;

    for (int i = 0; i < count; i++)
        for (size_t k = 0; k < sizeof forms / sizeof *forms; k++) {
            if (strcmp(attributes[i].name, forms[k].name))
                continue;
            if (found || attributes[i].type != forms[k].type) {
                *why = found ? "it has more than one value" : "its value has another type";
                return NULL;
            }
            found = &attributes[i];
        }
    if (!found) {
        *why = "it has no value";
        return NULL;
    }
    switch (found->type) {
    case ATTRIBUTE_TENSOR:
        return found->tensor;
    case ATTRIBUTE_FLOAT:
        return numbers(c, TYPE_FLOAT32, 0, 1, &found->f);
    case ATTRIBUTE_FLOATS:
        return numbers(c, TYPE_FLOAT32, 1, found->count, found->floats);
    case ATTRIBUTE_INT:
        return numbers(c, TYPE_INT64, 0, 1, &found->i);
    case ATTRIBUTE_INTS:
        return numbers(c, TYPE_INT64, 1, found->count, found->ints);
    case ATTRIBUTE_STRING:
        return strings(c, 0, 1);
    default:
        return strings(c, 1, found->count);
    }
}
