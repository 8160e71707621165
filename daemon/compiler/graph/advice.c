#include "daemon/compiler/graph/advice.h"
#include "daemon/compiler/operators/operator.h"

static const char as_float[] = "Export the model with float32 values (PyTorch: model.float() and "
                               "inputs of float32; skl2onnx: FloatTensorType)";

const char *advice_input_type(enum element_type type, const struct node *reader)
{
    const struct operator_refusal *refusal = reader ? operator_refusal(reader->op_type) : NULL;

    /* An operator that takes indices, lengths and the like. */
    if (type_is_integer(type) && refusal && refusal->op && refusal->advice)
        return refusal->advice;
    if (type == TYPE_STRING)
        return "Prepare the text in the script, and export the model from the numbers on";
    if (type == TYPE_BOOL)
        return "Export it as float32, 0 or 1, and compare it with 0.5 in the model; or make it a "
               "constant";
    if (type == TYPE_INT32 || type == TYPE_INT64)
        return "Export it as float32, or make it a constant (an attention mask: all ones)";
    if (type_is_integer(type))
        return "Export it as float32, without the Cast behind it";
    return as_float;
}

const char *advice_value_type(const struct value *v)
{
    if (!type_is_integer(v->type) && v->type != TYPE_BOOL)
        return as_float;
    if (v->output_count)
        return "Output it as float32, and convert it in the script";
    if (v->type == TYPE_BOOL)
        return "Compare with 0 in place of the Cast (torch.ne(x, 0)), or make what decides a "
               "constant (an attention mask: nothing masked)";
    return "Compute it in float32, with Floor, Round or a comparison in place of the Cast";
}

/* The same shape with at most four axes: those behind the channels are one, but for the last. */
static const char *merged_text(struct arena *a, const struct shape *s)
{
    struct shape merged = *s;

    for (merged.axes = 4; merged.axes < s->axes; merged.axes++)
        if (__builtin_mul_overflow(merged.dim[2], s->dim[merged.axes - 1], &merged.dim[2]))
            return "[N, C, H, W]";
    merged.dim[3] = s->dim[s->axes - 1];
    merged.axes = 4;
    return shape_text(a, &merged);
}

/* The same elements with a batch of 1 before them, on at most four axes: where they are too many,
 * those of length 1 go first, and then those behind the channels become one. */
static bool behind_one(const struct shape *s, struct shape *out)
{
    int surplus = s->axes + 1 - 4;

    *out = (struct shape){.axes = 1, .dim = {1}};
    for (int i = 0; i < s->axes; i++) {
        if (s->dim[i] < 0)
            return false;
        if (s->dim[i] == 1 && surplus-- > 0)
            continue;
        if (out->axes == 4) {
            if (__builtin_mul_overflow(out->dim[2], out->dim[3], &out->dim[2]))
                return false;
            out->axes--;
        }
        out->dim[out->axes++] = s->dim[i];
    }
    return true;
}

const char *advice_axes(struct arena *a, const struct shape *s, int64_t batch, bool quantised)
{
    struct shape behind;

    if (quantised)
        return "Export an 8-bit model of one image [N, C, H, W], or export without quantisation";
    if (s->axes > 4 && batch == 1 && s->dim[0] != 1 && behind_one(s, &behind))
        return arena_printf(a, "Export it behind a batch of 1, as %s, and reshape it in the model",
                            shape_text(a, &behind));
    if (s->axes > 4)
        return arena_printf(a, "Export with axes merged, as %s, and reshape it in the model",
                            merged_text(a, s));
    if (s->axes < 1)
        return "Export it as [1, 1], or make it a constant";
    return arena_printf(a, "Export with a batch of 1 in front of it: [1, %lld]",
                        (long long)s->dim[0]);
}

const char *advice_batch(struct arena *a, const struct value *v)
{
    struct shape behind;

    if (!behind_one(&v->shape, &behind))
        return NULL;
    return arena_printf(a,
                        "Export with batch 1 and run it item by item; this equals the original "
                        "only if no layer mixes items. Where axis 0 of %s is no batch (but the "
                        "layers of a recurrent state, say), export it behind a batch of 1, as %s, "
                        "and reshape it in the model",
                        v->name, shape_text(a, &behind));
}
