/* Attention, RotaryEmbedding and the cache update that goes with them, TensorScatter. */
#include "daemon/compiler/operators/attention.h"
#include "daemon/compiler/operators/arguments.h"
#include "daemon/compiler/operators/move.h"
#include <inttypes.h>
#include <math.h>
#include <string.h>

/* ---- Attention ---- */

struct attention_layout attention_layout(bool flat, int64_t heads, int64_t length, int64_t size)
{
    return (struct attention_layout){.item = heads * length * size,
                                     .head = flat ? size : length * size,
                                     .step = flat ? heads * size : size};
}

bool attention_read(const struct node *n, struct attention *a, const char **why)
{
    const struct shape *q = &n->inputs[0]->shape, *k = &n->inputs[1]->shape;
    const struct shape *v = &n->inputs[2]->shape;
    const struct value *past_key = node_input(n, 4), *past_value = node_input(n, 5);

    *why = NULL;
    if (!shape_known(q) || !shape_known(k) || !shape_known(v))
        return false;
    *a = (struct attention){.flat = q->axes == 3, .batch = q->dim[0]};
    if ((q->axes != 3 && q->axes != 4) || k->axes != q->axes || v->axes != q->axes) {
        *why = "queries, keys and values do not all have 3 axes or all 4";
        return false;
    }
    if (a->flat) {
        a->heads = node_int(n, "q_num_heads", 0);
        a->kv_heads = node_int(n, "kv_num_heads", 0);
        if (a->heads < 1 || a->kv_heads < 1 || q->dim[2] % a->heads || k->dim[2] % a->kv_heads ||
            v->dim[2] % a->kv_heads) {
            *why = "q_num_heads and kv_num_heads do not divide the last axis";
            return false;
        }
        a->queries = q->dim[1];
        a->keys = k->dim[1];
        a->size = q->dim[2] / a->heads;
        a->value_size = v->dim[2] / a->kv_heads;
    } else {
        a->heads = q->dim[1];
        a->kv_heads = k->dim[1];
        a->queries = q->dim[2];
        a->keys = k->dim[2];
        a->size = q->dim[3];
        a->value_size = v->dim[3];
    }
    int64_t key_size = a->flat ? k->dim[2] / a->kv_heads : k->dim[3];
    int64_t value_count = a->flat ? v->dim[1] : v->dim[2];
    *why = k->dim[0] != a->batch || v->dim[0] != a->batch ? "the batches differ"
           : value_count != a->keys || (!a->flat && v->dim[1] != a->kv_heads)
               ? "there are not as many values as keys"
           : key_size != a->size ? "queries and keys differ in their size"
           : a->kv_heads < 1 || a->heads % a->kv_heads
               ? "the query heads are no multiple of the key heads"
           : !past_key != !past_value     ? "only one of past_key and past_value is given"
           : past_key && node_input(n, 6) ? "nonpad_kv_seqlen does not go with past_key"
                                          : NULL;
    if (*why)
        return false;
    if (past_key) {
        const struct shape *pk = &past_key->shape, *pv = &past_value->shape;
        if (!shape_known(pk) || !shape_known(pv))
            return false;
        if (pk->axes != 4 || pv->axes != 4 || pk->dim[0] != a->batch || pv->dim[0] != a->batch ||
            pk->dim[1] != a->kv_heads || pv->dim[1] != a->kv_heads || pk->dim[3] != a->size ||
            pv->dim[3] != a->value_size || pk->dim[2] != pv->dim[2]) {
            *why = "past_key and past_value do not fit the keys and values";
            return false;
        }
        a->past = pk->dim[2];
    }
    a->total = a->past + a->keys;
    a->scale =
        node_find(n, "scale") ? (double)node_float(n, "scale", 1) : 1 / sqrt((double)a->size);
    a->softcap = (double)node_float(n, "softcap", 0);
    a->causal = node_int(n, "is_causal", 0) != 0;
    a->left = node_int(n, "left_window_size", -1);
    a->right = node_int(n, "right_window_size", -1);
    a->mode = (int)node_int(n, "qk_matmul_output_mode", 0);
    if (a->left < -1 || a->right < -1 || a->mode < 0 || a->mode > 3)
        *why = "a window size or qk_matmul_output_mode is not one that is defined";
    return !*why;
}

static void attention_infer(struct node *n)
{
    struct attention a;
    const char *why;
    const struct value *mask = node_input(n, 3);
    enum element_type type = n->inputs[0]->type, value_type = n->inputs[2]->type;
    struct shape y = shape_unknown, key = shape_unknown, value = shape_unknown, qk = shape_unknown;

    if (attention_read(n, &a, &why)) {
        y = a.flat ? shape_of(3, (const int64_t[]){a.batch, a.queries, a.heads * a.value_size})
                   : shape_of(4, (const int64_t[]){a.batch, a.heads, a.queries, a.value_size});
        key = shape_of(4, (const int64_t[]){a.batch, a.kv_heads, a.total, a.size});
        value = shape_of(4, (const int64_t[]){a.batch, a.kv_heads, a.total, a.value_size});
        qk = shape_of(4, (const int64_t[]){a.batch, a.heads, a.queries, a.total});
        if (mask && shape_known(&mask->shape)) {
            struct shape m = mask->shape, both;
            if (m.axes > 0 && m.dim[m.axes - 1] < a.total)
                m.dim[m.axes - 1] = a.total;
            if (m.axes > 4 || !shape_broadcast(&m, &qk, &both) || !shape_equal(&both, &qk)) {
                infer_fault(n, "attn_mask does not fit %s",
                            shape_text(&n->graph->context->arena, &qk));
                return;
            }
        }
    }
    if (why) {
        infer_fault(n, "%s", why);
        return;
    }
    infer_output(n, 0, type, &y);
    infer_output(n, 1, type, &key);
    infer_output(n, 2, value_type, &value);
    infer_output(n, 3, type, &qk);
}

/* [batch, heads, past + keys, size] from past of that form and new ones in their own layout. */
static double *cache(struct context *c, const struct tensor *past, const struct tensor *now,
                     const struct attention *a, int64_t size, struct arena *scratch)
{
    int64_t outer = a->batch * a->kv_heads;
    struct attention_layout l = attention_layout(a->flat, a->kv_heads, a->keys, size);
    const double *x = tensor_doubles(c, now, scratch);
    const double *old = past ? tensor_doubles(c, past, scratch) : NULL;
    double *all = NEW_ARRAY(scratch, outer * a->total * size, double);

    for (int64_t o = 0; o < outer; o++) {
        double *to = all + o * a->total * size;
        const double *from = x + o / a->kv_heads * l.item + o % a->kv_heads * l.head;
        if (a->past * size > 0)
            memcpy(to, old + o * a->past * size, (size_t)(a->past * size) * sizeof *to);
        to += a->past * size;
        for (int64_t t = 0; t < a->keys && size > 0; t++)
            memcpy(to + t * size, from + t * l.step, (size_t)size * sizeof *to);
    }
    return all;
}

/* The mask as what is added to scores; keys that it does not speak of are out. */
struct mask {
    const double *add; /* NULL: no mask */
    bool logical;
    struct shape shape; /* 4 axes */
};

static double mask_at(const struct mask *m, int64_t b, int64_t h, int64_t q, int64_t k)
{
    const int64_t *d = m->shape.dim;
    if (!m->add)
        return 0;
    if (k >= d[3] && d[3] != 1)
        return -INFINITY;
    int64_t i = (((b % d[0]) * d[1] + h % d[1]) * d[2] + q % d[2]) * d[3] + k % d[3];
    return !m->logical ? m->add[i] : m->add[i] != 0 ? 0 : -INFINITY;
}

static struct tensor *store(struct arena *arena, struct arena *scratch, enum element_type type,
                            const struct shape *shape, const double *numbers)
{
    struct elements to;
    if (!elements_new(arena, scratch, type, shape, &to))
        return NULL;
    for (int64_t i = 0; i < to.count; i++)
        elements_set(&to, i, numbers[i]);
    return elements_finish(&to);
}

static bool attention_evaluate(struct node *n, struct tensor *const *in, struct tensor **out,
                               struct arena *arena, struct arena *scratch)
{
    struct context *c = n->graph->context;
    struct tensor *given[7] = {NULL};
    struct attention a;
    struct mask mask = {0};
    const char *why;

    for (int i = 0; i < n->input_count && i < 7; i++)
        given[i] = in[i];
    if (!attention_read(n, &a, &why))
        return false;
    double *keys = cache(c, given[4], given[1], &a, a.size, scratch);
    double *values = cache(c, given[5], given[2], &a, a.value_size, scratch);
    const double *x = tensor_doubles(c, given[0], scratch);
    const int64_t *valid = given[6] ? tensor_integers(c, given[6], scratch) : NULL;
    if (given[6] && given[6]->count != a.batch)
        return false;
    if (given[3]) {
        mask.add = tensor_doubles(c, given[3], scratch);
        mask.logical = given[3]->type == TYPE_BOOL;
        mask.shape = shape_of(4, (const int64_t[]){1, 1, 1, 1});
        for (int i = 0, m = given[3]->shape.axes; i < m && m <= 4; i++)
            mask.shape.dim[4 - m + i] = given[3]->shape.dim[i];
        /* a last axis of 1 is only one key where there are more */
        if (mask.shape.dim[3] == 1 && a.total > 1 && given[3]->shape.axes > 0) {
            double *wide = NEW_ARRAY(scratch, given[3]->count * a.total, double);
            for (int64_t i = 0; i < given[3]->count * a.total; i++)
                wide[i] = i % a.total == 0 ? mask.add[i / a.total] : mask.logical ? 0 : -INFINITY;
            mask.add = wide;
            mask.shape.dim[3] = a.total;
        }
    }
    struct shape qk_shape = shape_of(4, (const int64_t[]){a.batch, a.heads, a.queries, a.total});
    struct shape y_shape = n->outputs[0] ? n->outputs[0]->shape : shape_unknown;
    struct attention_layout q = attention_layout(a.flat, a.heads, a.queries, a.size);
    struct attention_layout y = attention_layout(a.flat, a.heads, a.queries, a.value_size);
    double *result = NEW_ARRAY(scratch, a.batch * y.item, double);
    bool wants_qk = n->output_count > 3 && n->outputs[3];
    double *shown = NEW_ARRAY(scratch, wants_qk ? shape_count(&qk_shape) : 0, double);
    double *score = NEW_ARRAY(scratch, a.total, double),
           *bias = NEW_ARRAY(scratch, a.total, double);

    for (int64_t row = 0; row < a.batch * a.heads * a.queries; row++) {
        int64_t t = row % a.queries, h = row / a.queries % a.heads, b = row / a.queries / a.heads;
        int64_t cached = (b * a.kv_heads + h / (a.heads / a.kv_heads)) * a.total;
        int64_t position = t + (valid ? valid[b] - a.queries : a.past);
        const double *query = x + b * q.item + h * q.head + t * q.step;
        double most = -INFINITY, most_bias = -INFINITY, sum = 0;
        context_poll(c);
        for (int64_t k = 0; k < a.total; k++) {
            double dot = 0;
            for (int64_t d = 0; d < a.size; d++)
                dot += query[d] * keys[(cached + k) * a.size + d];
            dot *= a.scale;
            bool out_of_sight =
                (a.causal && k > position) || (a.left >= 0 && k < position - a.left) ||
                (a.right >= 0 && k > position + a.right) || (valid && k >= valid[b]);
            bias[k] = out_of_sight ? -INFINITY : mask_at(&mask, b, h, t, k);
            double capped = a.softcap > 0 ? a.softcap * tanh(dot / a.softcap) : dot;
            score[k] = bias[k] == -INFINITY ? -INFINITY : capped + bias[k];
            if (wants_qk)
                shown[row * a.total + k] = a.mode == 0 ? dot : a.mode == 1 ? capped : score[k];
            most = score[k] > most ? score[k] : most;
            most_bias = bias[k] > most_bias ? bias[k] : most_bias;
        }
        for (int64_t k = 0; k < a.total; k++) {
            /* a row that sees nothing gives zeros */
            score[k] = most_bias == -INFINITY || most == -INFINITY ? 0 : exp(score[k] - most);
            sum += score[k];
        }
        double *to = result + b * y.item + h * y.head + t * y.step;
        for (int64_t k = 0; k < a.total; k++) {
            double p = sum > 0 ? score[k] / sum : sum == 0 ? 0 : NAN;
            if (wants_qk && a.mode == 3)
                shown[row * a.total + k] = p;
            for (int64_t d = 0; p != 0 && d < a.value_size; d++)
                to[d] += p * values[(cached + k) * a.value_size + d];
        }
    }

    enum element_type type = given[0]->type;
    const double *sources[4] = {result, keys, values, shown};
    struct shape cache_shape = shape_of(4, (const int64_t[]){a.batch, a.kv_heads, a.total, a.size});
    const struct shape shapes[4] = {
        y_shape, cache_shape,
        shape_of(4, (const int64_t[]){a.batch, a.kv_heads, a.total, a.value_size}), qk_shape};
    for (int i = 0; i < n->output_count; i++) {
        if (!n->outputs[i])
            continue;
        out[i] = store(arena, scratch, i == 2 ? given[2]->type : type, &shapes[i], sources[i]);
        if (!out[i])
            return false;
    }
    return true;
}

const struct operator_functions attention_functions = {
    .role = ROLE_STEP, .infer = attention_infer, .evaluate = attention_evaluate};

/* ---- RotaryEmbedding ---- */

bool rotary_read(const struct node *n, struct rotary *r, const char **why)
{
    const struct shape *x = &n->inputs[0]->shape;
    *why = NULL;
    if (!shape_known(x))
        return false;
    *r = (struct rotary){.flat = x->axes == 3, .interleaved = node_int(n, "interleaved", 0) != 0};
    if (x->axes != 3 && x->axes != 4) {
        *why = "the input does not have 3 or 4 axes";
        return false;
    }
    r->batch = x->dim[0];
    r->heads = r->flat ? node_int(n, "num_heads", 0) : x->dim[1];
    r->length = x->dim[r->flat ? 1 : 2];
    if (r->flat && (r->heads < 1 || x->dim[2] % r->heads)) {
        *why = "num_heads does not divide the last axis";
        return false;
    }
    r->size = r->flat ? x->dim[2] / r->heads : x->dim[3];
    r->rotated = node_int(n, "rotary_embedding_dim", 0);
    if (r->rotated == 0)
        r->rotated = r->size;
    if (r->rotated < 0 || r->rotated > r->size || r->rotated % 2)
        *why = "rotary_embedding_dim is odd or larger than a head";
    return !*why;
}

static void rotary_infer(struct node *n)
{
    struct rotary r;
    const char *why;
    const struct value *ids = node_input(n, 3);
    if (rotary_read(n, &r, &why)) {
        for (int i = 1; i < 3 && !why; i++) {
            const struct shape *s = &n->inputs[i]->shape;
            if (!shape_known(s))
                continue;
            if (s->axes != (ids ? 2 : 3) || s->dim[s->axes - 1] != r.rotated / 2 ||
                (!ids && ((s->dim[0] != r.batch && s->dim[0] != 1) || s->dim[1] != r.length)))
                why = "the cosines or sines do not fit the input";
        }
        if (ids && shape_known(&ids->shape) &&
            (ids->shape.axes != 2 || ids->shape.dim[0] != r.batch || ids->shape.dim[1] != r.length))
            why = "the position ids do not fit the input";
    }
    if (why) {
        infer_fault(n, "%s", why);
        return;
    }
    infer_output(n, 0, n->inputs[0]->type, &n->inputs[0]->shape);
}

static bool rotary_evaluate(struct node *n, struct tensor *const *in, struct tensor **out,
                            struct arena *arena, struct arena *scratch)
{
    struct context *c = n->graph->context;
    struct rotary r;
    const char *why;
    const double *x = tensor_doubles(c, in[0], scratch);
    const double *cosines = tensor_doubles(c, in[1], scratch);
    const double *sines = tensor_doubles(c, in[2], scratch);
    const int64_t *ids = n->input_count > 3 && in[3] ? tensor_integers(c, in[3], scratch) : NULL;

    if (!rotary_read(n, &r, &why))
        return false;
    struct attention_layout l = attention_layout(r.flat, r.heads, r.length, r.size);
    double *y = NEW_ARRAY(scratch, in[0]->count, double);
    int64_t half = r.rotated / 2, rows = half > 0 ? in[1]->count / half : 0;
    if (in[0]->count > 0)
        memcpy(y, x, (size_t)in[0]->count * sizeof *y);
    for (int64_t i = 0; i < r.batch * r.length * r.heads; i++) {
        int64_t h = i % r.heads, t = i / r.heads % r.length, b = i / r.heads / r.length;
        int64_t at = b * l.item + h * l.head + t * l.step;
        int64_t angle = ids ? ids[b * r.length + t] : (b * r.length + t) % (rows > 0 ? rows : 1);
        if (angle < 0 || (half > 0 && angle >= rows))
            return false;
        for (int64_t k = 0; k < half; k++) {
            int64_t first = at + (r.interleaved ? 2 * k : k);
            int64_t second = first + (r.interleaved ? 1 : half);
            double cosine = cosines[angle * half + k], sine = sines[angle * half + k];
            y[first] = cosine * x[first] - sine * x[second];
            y[second] = sine * x[first] + cosine * x[second];
        }
    }
    out[0] = store(arena, scratch, in[0]->type, &in[0]->shape, y);
    return out[0] != NULL;
}

const struct operator_functions rotary_embedding_functions = {
    .role = ROLE_STEP, .infer = rotary_infer, .evaluate = rotary_evaluate};

/* ---- TensorScatter ---- */

static void tensor_scatter_infer(struct node *n)
{
    const struct shape *past = &n->inputs[0]->shape, *update = &n->inputs[1]->shape;
    const char *mode = node_string(n, "mode", "linear");
    int axis = -1;

    if (strcmp(mode, "linear") != 0 && strcmp(mode, "circular") != 0) {
        infer_fault(n, "mode is \"%.40s\"", mode);
        return;
    }
    if (past->axes >= 0) {
        axis = infer_axis(n, past, node_int(n, "axis", -2));
        if (axis < 0)
            return;
        if (axis == 0) {
            infer_fault(n, "axis 0 is the batch");
            return;
        }
        bool fits = update->axes < 0 || update->axes == past->axes;
        for (int a = 0; fits && a < update->axes; a++)
            fits = update->dim[a] < 0 || past->dim[a] < 0 ||
                   (a == axis ? update->dim[a] <= past->dim[a] : update->dim[a] == past->dim[a]);
        if (!fits) {
            infer_fault(n, "the update does not fit the cache");
            return;
        }
    }
    infer_output(n, 0, n->inputs[0]->type, past);
}

static bool tensor_scatter_evaluate(struct node *n, struct tensor *const *in, struct tensor **out,
                                    struct arena *arena, struct arena *scratch)
{
    struct context *c = n->graph->context;
    const struct shape *p = &in[0]->shape, *u = &in[1]->shape;
    const int64_t *starts = n->input_count > 2 && in[2] ? tensor_integers(c, in[2], scratch) : NULL;
    bool circular = strcmp(node_string(n, "mode", "linear"), "circular") == 0;
    int axis = shape_axis(p, node_int(n, "axis", -2));
    int64_t inner = shape_product(p, axis + 1, p->axes), outer = shape_product(p, 0, axis);
    int64_t length = p->dim[axis], count = u->dim[axis];
    struct elements to, from, update;

    if ((starts && in[2]->count != p->dim[0]) ||
        !elements_new(arena, scratch, in[0]->type, p, &to) ||
        !elements_read(c, in[0], scratch, &from) || !elements_read(c, in[1], scratch, &update))
        return false;
    if (to.count > 0)
        memcpy(to.bytes, from.bytes, (size_t)to.count * to.size);
    for (int64_t o = 0; o < outer; o++) {
        int64_t start = starts ? starts[o / (outer / p->dim[0])] : 0;
        for (int64_t t = 0; t < count; t++) {
            int64_t at = start + t;
            if (circular)
                at = (at % length + length) % length;
            if (start < 0 || at < 0 || at >= length)
                return false;
            struct move m = {.to_start = (o * length + at) * inner,
                             .from_start = (o * count + t) * inner};
            move_axis(&m, inner, 1, 1);
            move_elements(c, &m, &to, &update);
        }
    }
    out[0] = elements_finish(&to);
    return true;
}

const struct operator_functions tensor_scatter_functions = {
    .role = ROLE_STEP, .infer = tensor_scatter_infer, .evaluate = tensor_scatter_evaluate};
