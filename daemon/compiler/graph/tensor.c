#include "daemon/compiler/graph/tensor.h"
#include "daemon/compiler/graph/blocks.h"
#include "daemon/compiler/graph/floats.h"
#include "daemon/compiler/operators/operator.h"
#include <math.h>
#include <string.h>

enum { READ_AT_ONCE = 1 << 18 };

int64_t tensor_payload(enum element_type type, int64_t count)
{
    int64_t bits;

    if (count < 0 || !type_bits(type) || __builtin_mul_overflow(count, type_bits(type), &bits) ||
        bits > INT64_MAX - 7)
        return -1;
    return (bits + 7) / 8;
}

struct tensor *tensor_new(struct arena *arena, enum element_type type, const struct shape *shape,
                          void **data)
{
    struct tensor *t = tensor_deferred(arena, type, shape, NULL, 0);
    void *payload = arena_alloc(arena, t->bytes);

    t->data = payload;
    *data = payload;
    return t;
}

struct tensor *tensor_deferred(struct arena *arena, enum element_type type,
                               const struct shape *shape, struct node *node, int output)
{
    struct tensor *t = NEW(arena, struct tensor);
    int64_t count = shape_count(shape), bytes = tensor_payload(type, count);

    if (bytes < 0)
        context_escape(arena->context, ESCAPE_MEMORY, "a constant %s of shape %s is too large",
                       type_name(type), shape_text(&arena->context->arena, shape));
    t->type = type;
    t->shape = *shape;
    t->count = count;
    t->bytes = (size_t)bytes;
    t->deferred = node;
    t->deferred_output = output;
    t->varies = node && node_varies(node);
    return t;
}

struct tensor *tensor_of_styles(struct context *c, const char *name, const struct node *reader,
                                int first, struct tensor *const *of)
{
    struct tensor *t = tensor_deferred(&c->arena, of[0]->type, &of[0]->shape, NULL, 0);
    struct tensor_styles *styles =
        arena_alloc(&c->arena, sizeof *styles + (size_t)c->styles * sizeof *styles->of);

    styles->name = name;
    styles->reader = reader;
    styles->first = first;
    memcpy(styles->of, of, (size_t)c->styles * sizeof *of);
    t->styles = styles;
    t->varies = true;
    return t;
}

static void read_source(struct context *c, const struct tensor *t, size_t at, void *bytes,
                        size_t size)
{
    if (!t->source->read(t->source, t->offset + at, bytes, size))
        context_escape(c, ESCAPE_SYSTEM, "the weights cannot be read any more");
}

/* Whose numbers are t's now. */
static const struct tensor *chosen(struct context *c, const struct tensor *t)
{
    if (!t->varies)
        return t;
    if (c->style < 0) {
        while (!t->styles) {
            const struct node *n = t->deferred;
            int i = 0;

            while (!n->inputs[i] || !n->inputs[i]->constant || !n->inputs[i]->constant->varies)
                i++;
            t = n->inputs[i]->constant;
        }
        c->differing = t->styles;
        context_escape(c, ESCAPE_STYLES, "%s differs between styles", t->styles->name);
    }
    return t->styles ? t->styles->of[c->style] : t;
}

const void *tensor_data(struct context *c, const struct tensor *t, struct arena *scratch)
{
    t = chosen(c, t);
    if (t->data)
        return t->data;
    if (t->deferred) {
        const struct tensor *result = evaluate_node(t->deferred, scratch)[t->deferred_output];

        /* A small one was put into t by evaluate_node() on its way. */
        return t->data ? t->data : tensor_data(c, result, scratch);
    }
    void *payload = arena_room(scratch, t->bytes, 1);
    if (t->source && t->bytes)
        read_source(c, t, 0, payload, t->bytes);
    else if (t->bytes)
        BUG(c, "a tensor without elements was read");
    return payload;
}

const float *tensor_floats(struct context *c, const struct tensor *t, struct arena *scratch)
{
    const void *payload = tensor_data(c, t, scratch);

    if (t->type == TYPE_FLOAT32 && (uintptr_t)payload % _Alignof(float) == 0)
        return payload;
    float *out = NEW_ROOM(scratch, t->count, float);
    payload_to_floats(payload, t->type, t->count, out);
    return out;
}

const double *tensor_doubles(struct context *c, const struct tensor *t, struct arena *scratch)
{
    const void *payload = tensor_data(c, t, scratch);

    if (t->type == TYPE_FLOAT64 && (uintptr_t)payload % _Alignof(double) == 0)
        return payload;
    double *out = NEW_ROOM(scratch, t->count, double);
    payload_to_doubles(payload, t->type, t->count, out);
    return out;
}

const int64_t *tensor_integers(struct context *c, const struct tensor *t, struct arena *scratch)
{
    const void *payload = tensor_data(c, t, scratch);

    if ((t->type == TYPE_INT64 || t->type == TYPE_UINT64) &&
        (uintptr_t)payload % _Alignof(int64_t) == 0)
        return payload;
    int64_t *out = NEW_ROOM(scratch, t->count, int64_t);
    payload_to_integers(payload, t->type, t->count, out);
    return out;
}

double tensor_number(const struct tensor *t, int64_t index)
{
    return payload_number(t->data, t->type, index);
}

int64_t tensor_integer(const struct tensor *t, int64_t index)
{
    return payload_integer(t->data, t->type, index);
}

/* Of the payload alone: what a scan of the file may have found already. */
static struct hash payload_hash(struct context *c, const struct tensor *t)
{
    struct hasher h;

    if (t->payload_hashed)
        return t->payload_hash;
    hasher_init(&h);
    if (t->data) {
        hasher_add(&h, t->data, t->bytes);
    } else if (t->bytes) {
        struct arena *scratch = arena_child(&c->arena);
        size_t most = t->bytes < READ_AT_ONCE ? t->bytes : READ_AT_ONCE;
        void *piece = arena_alloc(scratch, most);

        for (size_t at = 0; at < t->bytes; at += most) {
            size_t size = t->bytes - at < most ? t->bytes - at : most;

            context_poll(c);
            read_source(c, t, at, piece, size);
            hasher_add(&h, piece, size);
        }
        arena_free(scratch);
    }
    return hasher_finish(&h);
}

/* Over what it is in each style. */
static struct hash hash_styles(struct context *c, struct tensor *t)
{
    int style = c->style;
    struct hasher h;

    hasher_init(&h);
    for (c->style = 0; c->style < c->styles; c->style++)
        hasher_add_hash(&h, tensor_hash(c, t));
    c->style = style;
    return hasher_finish(&h);
}

struct hash tensor_hash(struct context *c, struct tensor *t)
{
    struct arena *scratch = NULL;
    struct hash hash;
    struct hasher h;

    if (t->hashed)
        return t->hash;
    if (t->varies && c->style < 0)
        return hash_styles(c, t);
    if (t->styles)
        return tensor_hash(c, t->styles->of[c->style]);
    /* Which of the two it is must not depend on who has asked before. */
    if (t->deferred && t->bytes > TENSOR_SMALL) {
        hash = evaluate_hash(t->deferred, t->deferred_output);
        if (!t->varies) {
            t->hash = hash;
            t->hashed = true;
        }
        return hash;
    }
    hasher_init(&h);
    hasher_add_number(&h, (uint64_t)t->type);
    hasher_add_number(&h, (uint64_t)t->shape.axes);
    for (int i = 0; i < t->shape.axes; i++)
        hasher_add_number(&h, (uint64_t)t->shape.dim[i]);
    if (t->deferred && !t->data) {
        struct tensor now = *t;

        scratch = arena_child(&c->arena);
        now.data = tensor_data(c, t, scratch);
        hasher_add_hash(&h, payload_hash(c, &now));
        arena_free(scratch);
    } else {
        hasher_add_hash(&h, payload_hash(c, t));
    }
    hash = hasher_finish(&h);
    if (!t->varies) {
        t->hash = hash;
        t->hashed = true;
    }
    return hash;
}

/* ---- parts ---- */

/* The recipe that scales W (input 0) by one float64 a channel of axis 0 (input 1), or NULL. */
static const struct node *scaled_rows(const struct tensor *t)
{
    const struct node *n = t->deferred;

    return n && !strcmp(n->op_type, "ScaleChannels") && !strcmp(n->domain, OPERATOR_INTERNAL) &&
                   node_int(n, "axis", 0) == 0 && node_int(n, "group", 1) == 1 &&
                   (n->inputs[1]->constant->data || n->inputs[1]->constant->styles)
               ? n
               : NULL;
}

bool tensor_has_parts(const struct tensor *t)
{
    const struct node *n = scaled_rows(t);

    /* A model's own constants lie in memory or in its file. */
    return t->type == TYPE_FLOAT32 &&
           (t->styles || t->data || t->source || (n && tensor_has_parts(n->inputs[0]->constant)));
}

bool tensor_floats_part(struct context *c, const struct tensor *t, int64_t first, int64_t count,
                        float *out)
{
    const struct node *n = scaled_rows(t);

    if (!tensor_has_parts(t))
        return false;
    t = chosen(c, t);
    if (t->data) {
        memcpy(out, (const float *)t->data + first, (size_t)count * sizeof *out);
        return true;
    }
    if (t->source) {
        read_source(c, t, (size_t)first * sizeof *out, out, (size_t)count * sizeof *out);
        return true;
    }
    tensor_floats_part(c, n->inputs[0]->constant, first, count, out);
    const double *scale = chosen(c, n->inputs[1]->constant)->data;
    int64_t each = t->count / t->shape.dim[0];
    for (int64_t at = first; at < first + count;) {
        int64_t row = at / each,
                end = (row + 1) * each < first + count ? (row + 1) * each : first + count;

        floats_scale(out + (at - first), out + (at - first), (size_t)(end - at), scale[row]);
        at = end;
    }
    return true;
}

void tensor_pick(struct context *c, const struct tensor *t, int64_t count, const int64_t *at,
                 void *out)
{
    size_t size = (size_t)type_bits(t->type) / 8;
    char *to = out;

    t = chosen(c, t);
    if (!t->data && !t->source && count)
        BUG(c, "elements of a tensor without elements were read");
    for (int64_t i = 0, run; i < count; i += run) {
        size_t from = (size_t)at[i] * size;

        run = 1;
        while (i + run < count && at[i + run] == at[i] + run)
            run++;
        if (t->data)
            memcpy(to, (const char *)t->data + from, (size_t)run * size);
        else
            read_source(c, t, from, to, (size_t)run * size);
        to += (size_t)run * size;
    }
}

/* The tensor that holds the elements of t in some order: what t only moves. */
static struct tensor *same_elements(struct tensor *t)
{
    static const char *const movers[] = {"Transpose", "Reshape",  "Flatten", "Squeeze",
                                         "Unsqueeze", "Identity", NULL};

    while (t->deferred) {
        const struct node *n = t->deferred;
        bool moves = false;

        for (const char *const *m = movers; *m; m++)
            moves |= !strcmp(n->op_type, *m);
        if (!moves || *n->domain || !n->inputs[0]->constant)
            break;
        t = n->inputs[0]->constant;
    }
    return t;
}

/* Where t differs between styles: of the context's. */
static double square_sum(struct context *c, struct tensor *t)
{
    struct arena *scratch;
    struct blocks b;
    double sum = 0;

    t = same_elements(t);
    while (t->styles)
        t = same_elements(t->styles->of[c->style]);
    if (t->rows) {
        for (int64_t r = 0; r < t->shape.dim[0]; r++)
            sum += t->rows[r].square_sum;
        return sum;
    }
    scratch = arena_child(&c->arena);
    if (tensor_has_parts(t)) {
        enum { PART = 1 << 15 };
        float *part = NEW_ROOM(scratch, PART, float);

        for (int64_t at = 0; at < t->count; at += PART) {
            int64_t count = t->count - at < PART ? t->count - at : PART;

            context_poll(c);
            tensor_floats_part(c, t, at, count, part);
            sum += floats_figures(part, (size_t)count).square_sum;
        }
    } else {
        blocks_init(&b, c, t);
        while (blocks_next(&b))
            sum += floats_figures(tensor_floats(c, &b.part, b.scratch), (size_t)b.part.count)
                       .square_sum;
    }
    arena_free(scratch);
    return sum;
}

double tensor_square_sum(struct context *c, struct tensor *t)
{
    int style = c->style;

    t = same_elements(t);
    if (t->summed)
        return t->square_sum;
    for (int s = 0; s < (t->varies ? c->styles : 1); s++) {
        double sum;

        c->style = t->varies ? s : style;
        sum = square_sum(c, t);
        t->square_sum = sum > t->square_sum ? sum : t->square_sum;
    }
    c->style = style;
    t->summed = true;
    return t->square_sum;
}

/* Elements at … at + count - 1 into the sums of their rows. */
static void add_to_rows(const int64_t *split, double *sums, const float *numbers, int64_t at,
                        int64_t count)
{
    for (int64_t i = 0; i < count;) {
        int64_t row = (at + i) / split[2] % split[1], run = split[2] - (at + i) % split[2];

        run = run < count - i ? run : count - i;
        if (run > 1)
            sums[row] += floats_figures(numbers + i, (size_t)run).sum;
        else
            sums[row] += (double)fabsf(numbers[i]);
        i += run;
    }
}

/* A matrix of which t is the transposed one is looked at in its place. */
static struct tensor *transposed_of(const struct tensor *t)
{
    const struct node *n = t->deferred;
    const int64_t *perm;
    int count;

    if (!n || t->shape.axes != 2 || strcmp(n->op_type, "Transpose") != 0 || *n->domain)
        return NULL;
    perm = node_ints(n, "perm", &count);
    return !perm || perm[0] == 1 ? n->inputs[0]->constant : NULL;
}

void tensor_set_row_sum(struct tensor *t, int64_t outer, int64_t rows, int64_t inner, double sum)
{
    t->summed_rows[0] = outer;
    t->summed_rows[1] = rows;
    t->summed_rows[2] = inner;
    t->row_sum = sum;
}

/* Of one style; *exact becomes false where it is not. */
static double row_sum(struct context *c, struct tensor *t, const int64_t *split, double enough,
                      bool *exact)
{
    int64_t outer = split[0], rows = split[1], inner = split[2];
    struct arena *scratch;
    struct blocks b;
    struct tensor *other;
    double *sums, most = 0, largest = 0;

    while (t->styles)
        t = t->styles->of[c->style];
    other = transposed_of(t);
    if (other && inner == 1 && rows == other->shape.dim[0])
        return row_sum(c, other, (const int64_t[]){1, rows, outer}, enough, exact);
    if (t->rows && outer == 1 && rows == t->shape.dim[0]) {
        for (int64_t r = 0; r < rows; r++)
            most = fmax(most, t->rows[r].sum);
        return most;
    }
    if (t->rows && outer >= t->shape.dim[0]) {
        for (int64_t r = 0; r < t->shape.dim[0]; r++) {
            most += (double)t->rows[r].largest * (double)(outer / t->shape.dim[0] * inner);
            largest = fmax(largest, (double)t->rows[r].largest);
        }
        if (most <= enough || largest > enough) {
            *exact = false;
            return most;
        }
        most = 0;
    }
    scratch = arena_child(&c->arena);
    sums = NEW_ARRAY(scratch, rows, double);
    if (tensor_has_parts(t)) {
        enum { PART = 1 << 15 };
        float *part = NEW_ARRAY(scratch, PART, float);

        for (int64_t at = 0; at < t->count; at += PART) {
            int64_t count = t->count - at < PART ? t->count - at : PART;

            context_poll(c);
            tensor_floats_part(c, t, at, count, part);
            add_to_rows(split, sums, part, at, count);
        }
    } else {
        blocks_init(&b, c, t);
        while (blocks_next(&b))
            add_to_rows(split, sums, tensor_floats(c, &b.part, b.scratch), b.first, b.part.count);
    }
    for (int64_t r = 0; r < rows; r++)
        most = fmax(most, sums[r]);
    arena_free(scratch);
    return most;
}

double tensor_row_sum(struct context *c, struct tensor *t, int64_t outer, int64_t rows,
                      int64_t inner, double enough)
{
    const int64_t split[] = {outer, rows, inner};
    int style = c->style;
    bool exact = true;
    double most = 0;

    if (!t->count)
        return 0;
    if (!memcmp(split, t->summed_rows, sizeof split))
        return t->row_sum;
    for (int s = 0; s < (t->varies ? c->styles : 1); s++) {
        c->style = t->varies ? s : style;
        most = fmax(most, row_sum(c, t, split, enough, &exact));
    }
    c->style = style;
    /* What is not exact costs nothing to find again. */
    if (exact)
        tensor_set_row_sum(t, outer, rows, inner, most);
    return most;
}

/* Several at once: one would wait for the comparison before it. What is not a number is neither. */
static void widen(const float *numbers, int64_t count, double *least, double *greatest)
{
    enum { LANES = 4 };
    float lo[LANES] = {INFINITY, INFINITY, INFINITY, INFINITY};
    float hi[LANES] = {-INFINITY, -INFINITY, -INFINITY, -INFINITY};

    for (int64_t i = 0; i < count; i += LANES)
        for (int lane = 0; lane < LANES; lane++) {
            float x = numbers[i + lane < count ? i + lane : count - 1];

            lo[lane] = x < lo[lane] ? x : lo[lane];
            hi[lane] = x > hi[lane] ? x : hi[lane];
        }
    for (int lane = 0; lane < LANES; lane++) {
        *least = fmin(*least, (double)lo[lane]);
        *greatest = fmax(*greatest, (double)hi[lane]);
    }
}

void tensor_range(struct context *c, struct tensor *t, double *least, double *greatest)
{
    int style = c->style;

    t = same_elements(t);
    if (!t->ranged) {
        t->least = INFINITY;
        t->greatest = -INFINITY;
        for (int s = 0; s < (t->varies ? c->styles : 1); s++) {
            struct blocks b;

            c->style = t->varies ? s : style;
            blocks_init(&b, c, t);
            while (blocks_next(&b))
                widen(tensor_floats(c, &b.part, b.scratch), b.part.count, &t->least, &t->greatest);
        }
        c->style = style;
        t->ranged = true;
    }
    *least = t->least;
    *greatest = t->greatest;
}
