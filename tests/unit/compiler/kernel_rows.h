#ifndef TESTS_KERNEL_ROWS_H
#define TESTS_KERNEL_ROWS_H
/*
 * Rows that check kernels against the reference. A row is one node: its graph is planned, printed,
 * read back and simulated over random numbers, and what comes out is held against what the
 * operator's evaluate() gives.
 *
 * Operands are separated by ";", "-" is one left out. A letter, a shape, and for some letters
 * numbers: x[1,3,4]       a model input, -2 … 2             p[…]   the same, 0.25 … 2.25 u[…] the
 * same, -0.9 … 0.9              m[…]   truth values: whether a model input is above 0 c[3,4]
 * constants, -1 … 1                 q[…]   constants, 0.5 … 1.5 f[2] 0.5 1     these constants
 * (float32)         i[2] 0 -1   int64   j[…] int32   b[2] 0 1   bool t[1,3] 4 0 2   a model input
 * of these token ids s[4,1,5]       -2 … 2, what a model input [1,4,5] is when axes 0 and 1 change
 * places
 * "=0" in place of an operand is operand 0 once more. Attributes are name=1, name=1.0, name=[1,2],
 * name=[0.5,1.0] or name='text', name=['a','b'], separated by ";". "Op:2" wants two outputs,
 * "Op:-+" only the second.
 *
 * Every row is tried once more with model inputs that reach the node through a Where.
 *
 * Components that no element owns hold NaN on the way in, and kernels run under both roundings.
 * Each row is tried with inputs as they are, with such that the node sees through a Where, and with
 * the compiler knowing how large they are, which leaves limits out of kernels. The reference's
 * results have to lie within what operators' range functions say. At last inputs are as large as
 * can be, and no kernel may write what is infinite.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "daemon/compiler/gpu/asset.h"
#include "daemon/compiler/gpu/csharp.h"
#include "daemon/compiler/gpu/decompose.h"
#include "daemon/compiler/gpu/layer.h"
#include "daemon/compiler/gpu/range.h"
#include "daemon/compiler/gpu/simulate.h"
#include "daemon/compiler/operators/items.h"
#include "daemon/compiler/operators/operator.h"
#include "daemon/compiler/passes/pass.h"
#include "tests/unit/compiler/coverage.h"
#include "tests/unit/compiler/node_text.h"
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct row {
    const char *op, *attributes, *operands;
};

enum { MOST_OPERANDS = 32 };

struct trial {
    struct context c;
    struct graph *g;
    uint64_t random;
    struct node *n;
    bool chosen;  /* what the node reads is not what is fed, but an expression over it */
    bool known;   /* the compiler is told how large inputs are */
    int extremes; /* inputs are as large as 16 bits hold: 1 … EXTREMES, how they are mixed */
    struct tensor *given[MOST_OPERANDS]; /* of each operand, for the reference */
    struct tensor *fed[MOST_OPERANDS];   /* of each model input */
    struct tensor *expected[MOST_OPERANDS];
    int output[MOST_OPERANDS]; /* for each graph output: which output of n */
};

/* xorshift64*: G. Marsaglia; S. Vigna. Multiples of 1/256, which 16 bits hold. */
static float draw(struct trial *t, float lo, float hi)
{
    t->random ^= t->random >> 12;
    t->random ^= t->random << 25;
    t->random ^= t->random >> 27;
    return lo +
           floorf((hi - lo) * 256 * (float)(t->random * 0x2545F4914F6CDD1Du >> 40) / 16777216) /
               256;
}

static const char *read_shape(const char *p, struct shape *s)
{
    s->axes = 0;
    for (p++; *p != ']'; p += *p == ',')
        s->dim[s->axes++] = strtoll(p, (char **)(uintptr_t)&p, 10);
    return p + 1;
}

static struct value *feed(struct trial *t, struct tensor *tensor)
{
    struct graph *g = t->g;
    struct value *v = graph_value(g, arena_printf(&t->c.arena, "x%d", g->input_count), tensor->type,
                                  &tensor->shape);

    v->recorded = tensor->shape;
    v->input = g->input_count;
    v->read = true;
    t->fed[g->input_count] = tensor;
    APPEND(&t->c.arena, g->inputs, g->input_count, g->input_room) = v;
    return v;
}

/* v, and 0.5 in place of every third element of an item: an expression that binds as loosely as any
 * does. */
static struct value *choose(struct trial *t, struct value *v, struct tensor **given)
{
    struct shape scalar = shape_of(0, NULL), item = v->shape;
    struct tensor *mask, *mixed;
    void *bits, *numbers;
    const float half = 0.5f;

    if (v->type != TYPE_FLOAT32 || v->shape.axes < 2)
        return v;
    item.dim[0] = 1;
    mask = tensor_new(&t->c.arena, TYPE_BOOL, &item, &bits);
    mixed = tensor_new(&t->c.arena, TYPE_FLOAT32, &v->shape, &numbers);
    for (int64_t i = 0; i < mask->count; i++)
        ((uint8_t *)bits)[i] = i % 3 != 1;
    for (int64_t i = 0; i < mixed->count; i++)
        ((float *)numbers)[i] =
            ((uint8_t *)bits)[i % mask->count] ? ((const float *)(*given)->data)[i] : half;
    *given = mixed;
    struct value *three[] = {graph_constant(t->g, "", mask), v,
                             graph_constant_floats(t->g, "", &scalar, &half)};
    return graph_node(t->g, operator_get(&t->c, "Where"), "chosen", three, 3, 1)->outputs[0];
}

static struct value *read_operand(struct trial *t, const char **at, struct tensor **given)
{
    static const struct {
        char letter;
        enum element_type type;
        float lo, hi;
    } kinds[] = {{'x', TYPE_FLOAT32, -2, 2},       {'p', TYPE_FLOAT32, 0.25f, 2.25f},
                 {'u', TYPE_FLOAT32, -0.9f, 0.9f}, {'m', TYPE_FLOAT32, -2, 2},
                 {'c', TYPE_FLOAT32, -1, 1},       {'q', TYPE_FLOAT32, 0.5f, 1.5f},
                 {'f', TYPE_FLOAT32, 0, 0},        {'i', TYPE_INT64, 0, 0},
                 {'j', TYPE_INT32, 0, 0},          {'b', TYPE_BOOL, 0, 0},
                 {'t', TYPE_INT64, 0, 0},          {'r', TYPE_INT64, 0, 0},
                 {'s', TYPE_FLOAT32, -2, 2}};
    struct arena *a = &t->c.arena;
    const char *p = *at;
    struct tensor *tensor, *truths;
    struct shape s;
    void *data, *bools;
    size_t kind = 0;

    while (kind < sizeof kinds / sizeof *kinds && kinds[kind].letter != *p)
        kind++;
    if (kind == sizeof kinds / sizeof *kinds)
        fail_msg("no operand begins with '%c'", *p);
    char letter = *p;
    p = read_shape(p + 1, &s);
    tensor = tensor_new(a, kinds[kind].type, &s, &data);
    float lo = kinds[kind].lo, hi = kinds[kind].hi;
    if (letter == 'r') {
        lo = strtof(p, (char **)(uintptr_t)&p);
        hi = strtof(p, (char **)(uintptr_t)&p) + 1;
    }
    for (int64_t i = 0; i < tensor->count; i++) {
        double number = lo < hi ? (double)draw(t, lo, hi) : strtod(p, (char **)(uintptr_t)&p);

        if (letter == 'r')
            number = floor(number);

        if (tensor->type == TYPE_FLOAT32)
            ((float *)data)[i] = (float)number;
        else if (tensor->type == TYPE_INT64)
            ((int64_t *)data)[i] = (int64_t)number;
        else if (tensor->type == TYPE_INT32)
            ((int32_t *)data)[i] = (int32_t)number;
        else
            ((uint8_t *)data)[i] = number != 0;
    }
    *at = p;
    *given = tensor;
    if (letter == 'm') {
        const float zero = 0;
        struct shape scalar = shape_of(0, NULL);
        struct value *two[] = {feed(t, tensor), graph_constant_floats(t->g, "", &scalar, &zero)};

        truths = tensor_new(a, TYPE_BOOL, &s, &bools);
        for (int64_t i = 0; i < tensor->count; i++)
            ((uint8_t *)bools)[i] = ((float *)data)[i] > 0;
        *given = truths;
        return graph_node(t->g, operator_get(&t->c, "Greater"), "mask", two, 2, 1)->outputs[0];
    }
    if (letter == 't' && !strncmp(blank(p), "as ", 3)) {
        int64_t ids[64], count = 0;
        struct value *v = feed(t, tensor);
        struct shape list;

        for (p = blank(p) + 2; *blank(p) && *blank(p) != ';'; count++)
            ids[count] = strtoll(p, (char **)(uintptr_t)&p, 10);
        *at = p;
        list = shape_of(1, &count);
        t->fed[v->input] = tensor_new(a, TYPE_INT64, &list, &bools);
        memcpy(bools, ids, (size_t)count * sizeof *ids);
        return v;
    }
    if (letter == 's') {
        struct tensor *fed;
        struct shape swapped = shape_of(3, (const int64_t[]){s.dim[1], s.dim[0], s.dim[2]});
        struct node *transpose;
        struct value *v;

        /* One of the two has length 1: the order of elements is the same. */
        fed = tensor_new(a, TYPE_FLOAT32, &swapped, &bools);
        memcpy(bools, data, tensor->bytes);
        v = feed(t, fed);
        transpose = graph_node(t->g, operator_get(&t->c, "Transpose"), "swap", &v, 1, 1);
        node_set_ints(transpose, "perm", 3, (const int64_t[]){1, 0, 2});
        return transpose->outputs[0];
    }
    if (!strchr("xput", letter))
        return graph_constant(t->g, "", tensor);
    return t->chosen ? choose(t, feed(t, tensor), given) : feed(t, tensor);
}

/* Makes list the outputs of the graph; truth values as numbers. */
static void give_out(struct trial *t, int wanted, struct value **list)
{
    struct arena *a = &t->c.arena;

    t->g->output_count = wanted;
    t->g->outputs = list;
    t->g->output_names = NEW_ARRAY(a, wanted, const char *);
    t->g->output_shapes = NEW_ARRAY(a, wanted, struct shape);
    t->g->output_types = NEW_ARRAY(a, wanted, enum element_type);
    for (int i = 0; i < wanted; i++) {
        if (list[i]->type == TYPE_BOOL) {
            struct node *cast =
                graph_node(t->g, operator_get(&t->c, "Cast"), "cast", &list[i], 1, 1);

            node_set_int(cast, "to", TYPE_FLOAT32);
            infer_node(cast);
            list[i] = cast->outputs[0];
        }
        list[i]->output_count++;
        t->g->output_names[i] = "y";
        t->g->output_shapes[i] = shape_unknown;
    }
}

/* The node, and the reference's answer. */
static void build(struct trial *t, const struct row *row)
{
    struct arena *a = &t->c.arena;
    struct value *operands[MOST_OPERANDS] = {0};
    const char *colon = strchr(row->op, ':'),
               *op = colon ? arena_printf(a, "%.*s", (int)(colon - row->op), row->op) : row->op;
    int count = 0, outputs = 1, wanted = 0;

    for (const char *p = blank(row->operands); *p; p = blank(p)) {
        if (*p == '=') {
            int which = (int)strtol(p + 1, (char **)(uintptr_t)&p, 10);

            operands[count] = operands[which];
            t->given[count] = t->given[which];
        } else if (*p == '-') {
            p++;
        } else {
            operands[count] = read_operand(t, &p, &t->given[count]);
        }
        count++;
        p = blank(p);
        p += *p == ';';
    }
    if (colon)
        outputs = isdigit((unsigned char)colon[1]) ? atoi(colon + 1) : (int)strlen(colon + 1);
    t->n = graph_node(t->g, operator_get(&t->c, op), "layer", operands, count, outputs);
    cover(t->n->op);
    t->n->opset = 99;
    read_attributes(t->n, row->attributes);
    struct value **list = NEW_ARRAY(a, outputs, struct value *);
    for (int o = 0; o < outputs; o++) {
        struct value *v = t->n->outputs[o];

        if (colon && !isdigit((unsigned char)colon[1]) && colon[1 + o] == '-') {
            t->n->outputs[o] = NULL;
            continue;
        }
        t->output[wanted] = o;
        list[wanted++] = v;
    }
    infer_graph(t->g);
    if (t->c.diagnostics.errors)
        return;
    if (!evaluate_with(t->n, t->given, t->expected, a))
        BUG(&t->c, "the reference cannot compute it");
    give_out(t, wanted, list);
}

struct bytes {
    char *data;
    size_t length, room;
};

static bool keep(void *state, const void *data, size_t size)
{
    struct bytes *b = state;

    if (b->length + size > b->room) {
        b->room = (b->length + size) * 2;
        b->data = realloc(b->data, b->room);
    }
    memcpy(b->data + b->length, data, size);
    b->length += size;
    return true;
}

static bool advance(const struct shape *s, int64_t *at)
{
    for (int a = s->axes - 1; a >= 0; a--) {
        if (++at[a] < s->dim[a])
            return true;
        at[a] = 0;
    }
    return false;
}

/* One item's elements of numbers into or out of cells. */
static void move_item(const struct layout *l, const struct shape *s, float *numbers, float *cells,
                      bool out)
{
    int64_t at[MAX_AXES] = {0}, i = 0;

    do {
        int64_t x, y;
        int component;
        float *cell;

        layout_place(l, s, at, &x, &y, &component);
        cell = &cells[(y * l->width + x) * 4 + component];
        if (out)
            numbers[i++] = *cell;
        else
            *cell = numbers[i++];
    } while (advance(s, at));
}

/* All of the largest, of one sign or of both; numbers of all sizes; infinite ones. */
enum { EXTREMES = 4 };

static float extreme(struct trial *t)
{
    static const float mixed[] = {65504, -65504, 0, 6e-8f, -6e-8f, 1, -1, 300, -300, 20, -20};
    int which = (int)draw(t, 0, 11);

    switch (t->extremes) {
    case 1:
        return 65504;
    case 2:
        return which % 2 ? 65504 : -65504;
    case 3:
        return mixed[which < 11 ? which : 10];
    default:
        return which == 0 ? INFINITY : which == 1 ? -INFINITY : mixed[which < 11 ? which : 10];
    }
}

static void feed_buffer(struct trial *t, struct plan *p, const struct buffer *b,
                        struct simulation *s, struct program *program)
{
    struct tensor *tensor = t->fed[b->number];
    struct simulation_error error;

    if (b->kind == BUFFER_TOKENS) {
        int32_t *ids = NEW_ARRAY(&t->c.arena, tensor->count, int32_t);

        for (int64_t i = 0; i < tensor->count; i++)
            ids[i] = (int32_t)((const int64_t *)tensor->data)[i];
        if (!simulation_set_tokens(s, b->number, ids, (int)tensor->count, &error))
            fail_msg("token ids: %s", error.reason);
        return;
    }
    const struct layout *l = &spot_of(b->value)->layout;
    int64_t cells = l->width * l->height * 4, each = tensor->count / p->graph->items,
            count = shape_count(&b->value->shape);
    float *numbers = NEW_ARRAY(&t->c.arena, cells, float),
          *fed = NEW_ARRAY(&t->c.arena, count, float);
    for (int item = 0; item < p->graph->items; item++) {
        for (int64_t i = 0; i < cells; i++)
            numbers[i] = NAN;
        for (int64_t i = 0; i < count; i++)
            fed[i] = t->extremes ? extreme(t) : ((const float *)tensor->data)[item * each + i];
        move_item(l, &b->value->shape, fed, numbers, false);
        simulation_write(s,
                         program_find_buffer(
                             program, csharp_edge_name(&t->c.arena, "F", false, b->number, item)),
                         numbers);
    }
}

/* How far an output is from the reference, in parts of what is allowed. */
static double distance(struct trial *t, struct plan *p, const struct buffer *b,
                       struct simulation *s, struct program *program)
{
    const struct tensor *expected = t->expected[t->output[b->number]];
    const struct layout *l = &p->steps[b->written]->layout;
    const float *numbers = tensor_floats(&t->c, expected, &t->c.arena);
    int64_t each = expected->count / p->graph->items;
    float *cells = NEW_ARRAY(&t->c.arena, l->width * l->height * 4, float),
          *got = NEW_ARRAY(&t->c.arena, each, float);
    double greatest = 0, worst = 0;

    assert_int_equal(shape_count(&b->value->shape), each);
    for (int64_t i = 0; i < expected->count; i++)
        if (isfinite(numbers[i]))
            greatest = fmax(greatest, fabs((double)numbers[i]));
    for (int item = 0; item < p->graph->items; item++) {
        simulation_read(
            s,
            program_find_buffer(program, csharp_edge_name(&t->c.arena, "F", true, b->number, item)),
            cells);
        move_item(l, &b->value->shape, got, cells, true);
        for (int64_t i = 0; i < each; i++) {
            double want = (double)numbers[item * each + i], d;

            if (isnan(want))
                continue;
            want = isinf(want) ? copysign(65504, want) : want;
            d = fabs((double)got[i] - want) / (1e-4 + 4e-3 * greatest + 1e-2 * fabs(want));
            if (!(d <= worst))
                worst = d;
        }
        /* What no element owns is 0. */
        if (l->packed >= 0)
            for (int64_t y = 0; y < l->height; y++)
                for (int64_t x = 0; !l->fold && x < l->width; x++)
                    for (int k = 0; k < 4; k++)
                        if (x / l->length_x * 4 + k >= b->value->shape.dim[l->packed] &&
                            cells[(y * l->width + x) * 4 + k] != 0)
                            worst = INFINITY;
    }
    return worst;
}

/* The name of a buffer that a kernel has written an infinite number to; NULL: none. */
static const char *find_infinite(struct trial *t, const struct program *program,
                                 struct simulation *s)
{
    for (int i = 0; i < program->buffer_count; i++) {
        const struct program_buffer *b = &program->buffers[i];
        int64_t count = (int64_t)b->width * b->height * 4;
        float *cells = NEW_ARRAY(&t->c.arena, count, float);

        if (b->texture >= 0 || !strncmp(b->name, "FInput", 6) || !count)
            continue;
        simulation_read(s, i, cells);
        for (int64_t k = 0; k < count; k++)
            if (isinf(cells[k]))
                return b->name;
    }
    return NULL;
}

/* An element of an output that is not within what the compiler says of it, in text; NULL: none. */
static const char *find_outside(struct trial *t, const struct plan *p)
{
    for (int i = 0; i < p->buffer_count; i++) {
        const struct value *v = p->buffers[i].value;
        const struct range *r;
        const struct tensor *expected;
        const float *numbers;

        if (p->buffers[i].kind != BUFFER_OUTPUT || v->constant)
            continue;
        r = &spot_of(v)->extent->computed;
        expected = t->expected[t->output[p->buffers[i].number]];
        numbers = tensor_floats(&t->c, expected, &t->c.arena);
        for (int64_t k = 0; k < expected->count; k++) {
            double x = (double)numbers[k], slack = 1e-4 + 1e-3 * fabs(x);

            if (x < r->lo - slack || x > r->hi + slack)
                return arena_printf(&t->c.arena, "%g is not within %g ... %g", x, r->lo, r->hi);
        }
    }
    return NULL;
}

/* NULL: it is as it should be; else why not. */
static const char *simulate(struct trial *t, struct plan *p, const char *text, size_t length,
                            enum rounding rounding)
{
    struct dialect_error wrong;
    struct program *program = program_parse(&t->c, text, length, &wrong);
    struct simulation_error error;
    struct simulation *s;
    struct bytes payload = {0};
    double worst = 0;
    bool textures = false;

    if (!program)
        return arena_printf(&t->c.arena, "line %d, column %d: %s", wrong.line, wrong.column,
                            wrong.reason);
    s = simulation_new(&t->c, program, rounding);
    for (int i = 0; i < p->step_count; i++)
        for (int k = 0; k < p->steps[i]->text->weight_count; k++) {
            const struct weights *w = p->steps[i]->text->weights[k];

            if (!w->texture || w->same)
                continue;
            textures = true;
            payload.length = 0;
            asset_payload(&t->c, w, keep, &payload);
            void *bytes = arena_memdup(&t->c.arena, payload.data, payload.length);
            if (!simulation_texture(
                    s,
                    program_find_texture(program,
                                         csharp_weights_name(&t->c.arena, "F", p->steps[i], w)),
                    bytes, payload.length))
                return "a texture has another size";
        }
    free(payload.data);
    if (textures && !simulation_use(s, 0, &error))
        return arena_strdup(&t->c.arena, error.reason);
    for (int i = 0; i < p->buffer_count; i++)
        if (p->buffers[i].kind == BUFFER_INPUT || p->buffers[i].kind == BUFFER_TOKENS)
            feed_buffer(t, p, &p->buffers[i], s, program);
    if (!simulation_run(s, 0, INT32_MAX, &error))
        return arena_printf(&t->c.arena, "%s, line %d, cell (%d, %d): %s", error.kernel, error.line,
                            error.x, error.y, error.reason);
    if (t->extremes) {
        const char *where = find_infinite(t, program, s);

        return where ? arena_printf(&t->c.arena, "%s becomes infinite", where) : NULL;
    }
    for (int i = 0; i < p->buffer_count; i++)
        if (p->buffers[i].kind == BUFFER_OUTPUT) {
            double d = distance(t, p, &p->buffers[i], s, program);

            if (!(d <= worst))
                worst = d;
        }
    return worst <= 1 ? NULL
                      : arena_printf(&t->c.arena, "off by %.3g times what is allowed", worst);
}

static const char *first_error(const struct trial *t)
{
    for (int i = 0; i < t->c.diagnostics.count; i++)
        if (diagnostic_info(t->c.diagnostics.list[i].code)->severity == SEVERITY_ERROR)
            return t->c.diagnostics.list[i].message;
    return NULL;
}

/* Writes the faulty text to the file that KERNEL_TEXT names, if it is set. */
static const char *check_graph(struct trial *t)
{
    struct compile_options o = {.script = "S",
                                .class_name = "S",
                                .keyword = "class",
                                .modifiers = "",
                                .type_parameters = "",
                                .space = "",
                                .prefix = "F",
                                .file_stem = "S.F",
                                .asset_folder = ""};
    const char *why = NULL, *file = getenv("KERNEL_TEXT");
    struct strbuf text;
    struct plan *p = NULL;

    if (!t->c.diagnostics.errors)
        passes_run(t->g, NULL);
    if (!t->c.diagnostics.errors)
        split_items(t->g);
    if (!t->c.diagnostics.errors)
        decompose_graph(t->g);
    if (!t->c.diagnostics.errors)
        p = plan_graph(t->g, NULL);
    if (first_error(t))
        return first_error(t);
    strbuf_init(&text, &t->c.arena);
    csharp_print(&text, &o, p);
    for (int r = 0; r < 2 && !why; r++)
        why = simulate(t, p, text.text, text.length, r ? ROUND_ZERO : ROUND_NEAREST);
    if (!why)
        why = find_outside(t, p);
    for (t->extremes = 1; t->extremes <= EXTREMES && !why && !t->known; t->extremes++)
        why = simulate(t, p, text.text, text.length, ROUND_NEAREST);
    if (why && file) {
        FILE *f = fopen(file, "w");

        fwrite(text.text, 1, text.length, f);
        fclose(f);
    }
    if (getenv("KERNEL_STEPS"))
        printf("%3d ", p->step_count);
    return why;
}

static void tell_range(struct trial *t, struct value *v, const struct tensor *fed)
{
    double *within = NEW_ARRAY(&t->c.arena, 2, double);

    if (fed->type != TYPE_FLOAT32)
        return;
    within[0] = INFINITY;
    within[1] = -INFINITY;
    for (int64_t i = 0; i < fed->count; i++) {
        within[0] = fmin(within[0], (double)((const float *)fed->data)[i]);
        within[1] = fmax(within[1], (double)((const float *)fed->data)[i]);
    }
    v->within = within;
}

static const char *check_row(struct trial *t, const struct row *row)
{
    const char *why;

    build(t, row);
    for (int i = 0; t->known && i < t->g->input_count; i++)
        tell_range(t, t->g->inputs[i], t->fed[i]);
    why = check_graph(t);
    if (getenv("KERNEL_STEPS"))
        printf("%s (%s) %s\n", row->op, row->attributes, row->operands);
    return why;
}

/* Apart from the loop, so that nothing it counts is at stake when the job is left. */
static const char *try_row(struct trial *t, const struct row *row, size_t number)
{
    context_init(&t->c, NULL);
    if (setjmp(t->c.escape))
        return t->c.why;
    t->g = graph_new(&t->c);
    t->g->opset = 99;
    t->random = 0x9E3779B97F4A7C15u + number;
    return check_row(t, row);
}

static void check_rows(const struct row *rows, size_t count)
{
    int faults = 0;

    for (size_t i = 0; i < 3 * count; i++) {
        const struct row *row = &rows[i / 3];
        struct trial *t;
        const char *why;

        if (getenv("KERNEL_ROW") && !strstr(row->op, getenv("KERNEL_ROW")))
            continue;
        t = calloc(1, sizeof *t);
        t->chosen = i % 3 == 1;
        t->known = i % 3 == 2;
        why = try_row(t, row, i / 3);
        if (why) {
            fprintf(stderr, "%s (%s) %s%s: %s\n", row->op, row->attributes, row->operands,
                    t->chosen  ? ", chosen"
                    : t->known ? ", inputs of known range"
                               : "",
                    why);
            faults++;
        }
        context_release(&t->c);
        free(t);
    }
    if (faults)
        fail_msg("%d of %zu rows", faults, count);
}

#define ROWS(rows)                                                                                 \
    static void check_##rows(void **state)                                                         \
    {                                                                                              \
        (void)state;                                                                               \
        check_rows(rows, sizeof rows / sizeof *rows);                                              \
    }

#endif
