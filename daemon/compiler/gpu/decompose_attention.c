/*
 * Attention and RotaryEmbedding out of products, Softmax and views. Scores that are masked become
 * -65504, which Softmax in 32 bits makes 0; a row that sees nothing is multiplied by 0. Source:
 * onnx.ai/onnx/operators, Attention 24, RotaryEmbedding 23.
 */
#include "daemon/compiler/gpu/make.h"
#include "daemon/compiler/operators/attention.h"
#include <math.h>
#include <string.h>

static const float masked = -65504;

/* [batch, heads, length, size], whichever way v is laid out. */
static struct value *by_head(struct node *n, struct value *v, bool flat, int64_t heads)
{
    static const int64_t perm[] = {0, 2, 1, 3};

    if (!flat)
        return v;
    struct shape s = shape_of(
        4, (const int64_t[]){v->shape.dim[0], v->shape.dim[1], heads, v->shape.dim[2] / heads});
    return make_transposed(n, make_reshaped(n, v, &s), 4, perm);
}

static struct value *cached(struct node *n, int past_slot, struct value *now)
{
    struct value *parts[] = {node_input(n, past_slot), now};

    return parts[0] && shape_count(&parts[0]->shape) ? make_concat(n, 2, 2, parts) : now;
}

/* What each query can see by its place, for one item: ones and zeros, [queries, total]. false:
 * everything. */
static bool visible(struct node *n, const struct attention *a, struct value **seen, bool *blind)
{
    struct context *c = n->graph->context;
    int count;
    const int64_t *valid = node_input(n, 6) ? node_constant_ints(n, 6, &count) : NULL;
    struct shape s = shape_of(2, (const int64_t[]){a->queries, a->total});
    uint8_t *bits;
    bool all = true;
    void *data;

    *blind = false;
    if (!a->causal && a->left < 0 && a->right < 0 && !valid)
        return false;
    struct tensor *t = tensor_new(&c->arena, TYPE_BOOL, &s, &data);
    bits = data;
    for (int64_t q = 0; q < a->queries; q++) {
        int64_t position = q + (valid ? valid[0] - a->queries : a->past);
        bool any = false;

        for (int64_t k = 0; k < a->total; k++) {
            bool hidden = (a->causal && k > position) || (a->left >= 0 && k < position - a->left) ||
                          (a->right >= 0 && k > position + a->right) || (valid && k >= valid[0]);

            bits[q * a->total + k] = !hidden;
            any = any || !hidden;
            all = all && !hidden;
        }
        *blind = *blind || !any;
    }
    if (all)
        return false;
    *seen = graph_constant(n->graph, "", t);
    return true;
}

/* The mask over all keys: those that it does not speak of are out. */
static struct value *whole_mask(struct node *n, const struct attention *a)
{
    struct value *mask = node_input(n, 3);
    int64_t speaks;

    if (!mask)
        return NULL;
    if (mask->shape.axes == 0)
        return mask;
    speaks = mask->shape.dim[mask->shape.axes - 1];
    if (speaks >= a->total)
        return mask;
    if (mask->type == TYPE_BOOL) {
        /* No operator pads truth values here. */
        struct shape s = mask->shape;
        void *data;

        s.dim[s.axes - 1] = a->total - speaks;
        struct value *parts[] = {
            mask, graph_constant(n->graph, "",
                                 tensor_new(&n->graph->context->arena, TYPE_BOOL, &s, &data))};
        return make_concat(n, s.axes - 1, 2, parts);
    }
    return make_padded(n, mask, mask->shape.axes - 1, 0, a->total - speaks, masked);
}

static struct value *as_float(struct node *n, struct value *v)
{
    struct node *cast = make_node(n, "Cast", 1, &v);

    node_set_int(cast, "to", TYPE_FLOAT32);
    return make_inferred(cast);
}

bool decompose_attention(struct node *n, struct value **out)
{
    static const int64_t swap[] = {0, 1, 3, 2}, back[] = {0, 2, 1, 3};
    struct value *q, *k, *v, *scores, *mask, *sees = NULL, *row = NULL, *shown[4] = {NULL};
    struct attention a;
    const char *why;
    bool hides, blind;
    int64_t shared;

    if (!attention_read(n, &a, &why) || (node_input(n, 6) && !node_input(n, 6)->constant) ||
        (node_input(n, 6) && a.batch > 1))
        return false;
    shared = a.heads / a.kv_heads;
    hides = visible(n, &a, &sees, &blind);
    q = by_head(n, n->inputs[0], a.flat, a.heads);
    k = cached(n, 4, by_head(n, n->inputs[1], a.flat, a.kv_heads));
    v = cached(n, 5, by_head(n, n->inputs[2], a.flat, a.kv_heads));
    shown[1] = k;
    shown[2] = v;
    k = make_transposed(n, k, 4, swap);
    struct shape qk = shape_of(4, (const int64_t[]){a.batch, a.heads, a.queries, a.total});
    if (shared > 1) {
        /* Query heads that share a key head are an axis of their own, along which keys and values
         * broadcast. */
        struct shape s =
            shape_of(5, (const int64_t[]){a.batch, a.kv_heads, shared, a.queries, a.size});

        q = make_reshaped(n, q, &s);
        s = shape_of(5, (const int64_t[]){a.batch, a.kv_heads, 1, a.size, a.total});
        k = make_reshaped(n, k, &s);
        s = shape_of(5, (const int64_t[]){a.batch, a.kv_heads, 1, a.total, a.value_size});
        v = make_reshaped(n, v, &s);
    }
    scores = make_reshaped(n, make_scaled(n, make_binary(n, "MatMul", q, k), a.scale), &qk);
    shown[3] = scores;
    if (a.softcap > 0)
        scores =
            make_scaled(n, make_unary(n, "Tanh", make_scaled(n, scores, 1 / a.softcap)), a.softcap);
    if (a.mode == 1)
        shown[3] = scores;
    mask = whole_mask(n, &a);
    if (mask && mask->type == TYPE_BOOL) {
        if (hides)
            mask = make_binary(n, "And", mask, sees);
        sees = mask;
        hides = blind = true;
    } else if (mask) {
        scores = make_binary(n, "Add", scores, mask);
    }
    if (hides)
        scores = make_where(n, sees, scores, make_number(n, masked));
    /* Whether a row sees anything; where it surely does there is nothing to multiply with. */
    if (hides && blind)
        row = make_reduced(n, "ReduceMax", as_float(n, sees), sees->shape.axes - 1);
    if (a.mode == 2)
        shown[3] = scores;
    scores = make_unary(n, "Softmax", scores);
    if (row)
        scores = make_binary(n, "Mul", scores, row);
    if (a.mode == 3)
        shown[3] = scores;
    if (shared > 1) {
        struct shape s =
            shape_of(5, (const int64_t[]){a.batch, a.kv_heads, shared, a.queries, a.total});

        scores = make_reshaped(n, scores, &s);
    }
    struct value *y = make_binary(n, "MatMul", scores, v);
    struct shape heads = shape_of(4, (const int64_t[]){a.batch, a.heads, a.queries, a.value_size});
    y = make_reshaped(n, y, &heads);
    if (a.flat)
        y = make_transposed(n, y, 4, back);
    if (n->outputs[0])
        shown[0] = make_reshaped(n, y, &n->outputs[0]->shape);
    memcpy(out, shown, sizeof shown);
    return true;
}

bool decompose_rotary(struct node *n, struct value **out)
{
    struct value *x = n->inputs[0], *factor[2], *half[2], *turned[2], *parts[2];
    struct rotary r;
    const char *why;
    int last, count;

    if (!rotary_read(n, &r, &why))
        return false;
    const int64_t *ids = node_input(n, 3) ? node_constant_ints(n, 3, &count) : NULL;
    if (node_input(n, 3) && !ids)
        return false;
    /* [batch, length, heads, size] or [batch, heads, length, size] */
    struct shape s =
        r.flat ? shape_of(4, (const int64_t[]){r.batch, r.length, r.heads, r.size}) : x->shape;
    struct value *four = make_reshaped(n, x, &s);
    last = 3;
    for (int i = 0; i < 2; i++) {
        struct value *f = n->inputs[i + 1];

        if (ids) {
            struct shape by_place =
                shape_of(3, (const int64_t[]){r.batch, r.length, r.rotated / 2});

            f = make_reshaped(n, make_gathered(n, f, 0, r.batch * r.length, ids), &by_place);
        }
        struct shape wide =
            r.flat ? shape_of(4, (const int64_t[]){f->shape.dim[0], r.length, 1, r.rotated / 2})
                   : shape_of(4, (const int64_t[]){f->shape.dim[0], 1, r.length, r.rotated / 2});
        if (r.interleaved) {
            wide.axes = 5;
            wide.dim[4] = 1;
        }
        factor[i] = make_reshaped(n, f, &wide);
    }
    struct value *rotated = make_sliced(n, four, last, 0, r.rotated);
    if (r.interleaved) {
        /* Pairs of neighbours: a last axis of two. */
        struct shape pairs = s;

        pairs.dim[3] = r.rotated / 2;
        pairs.dim[4] = 2;
        pairs.axes = 5;
        rotated = make_reshaped(n, rotated, &pairs);
        last = 4;
    }
    for (int i = 0; i < 2; i++) {
        int64_t each = rotated->shape.dim[last] / 2;

        half[i] = make_sliced(n, rotated, last, i * each, (i + 1) * each);
    }
    turned[0] = make_binary(n, "Sub", make_binary(n, "Mul", half[0], factor[0]),
                            make_binary(n, "Mul", half[1], factor[1]));
    turned[1] = make_binary(n, "Add", make_binary(n, "Mul", half[0], factor[1]),
                            make_binary(n, "Mul", half[1], factor[0]));
    rotated = make_concat(n, last, 2, turned);
    s.dim[3] = r.rotated;
    rotated = make_reshaped(n, rotated, &s);
    if (r.rotated < r.size) {
        parts[0] = rotated;
        parts[1] = make_sliced(n, four, 3, r.rotated, r.size);
        rotated = make_concat(n, 3, 2, parts);
    }
    out[0] = make_reshaped(n, rotated, &x->shape);
    return true;
}
