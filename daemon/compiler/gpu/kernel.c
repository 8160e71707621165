#include "daemon/compiler/gpu/kernel.h"
#include "daemon/compiler/graph/decimal.h"
#include "daemon/compiler/operators/operator.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* What was already written at this place and can be named again: a fetched cell, or a computed
 * element. */
struct kernel_memo {
    const struct value *value;     /* or NULL … */
    const struct weights *weights; /* … and an entry of these */
    bool cell;                     /* at[0], at[1] are a cell; else at[] is an element */
    const struct index *at[MAX_AXES];
    const char *text;
};

struct kernel_name {
    const char *base;
    int next;
};

enum { MOST_DEPTH = 48, TABLE_ENTRIES = 1023 };

/* What a block forgets at its end. */
struct kernel_block {
    int memo_count, assumed_count;
};

struct kernel_state {
    struct kernel k;
    struct kernel_block blocks[MOST_DEPTH];
    int depth;
    int64_t table_entries;
};

static struct kernel_state *state_of(struct kernel *k)
{
    return (struct kernel_state *)k;
}

/* ---- text ---- */

void kernel_line(struct kernel *k, const char *format, ...)
{
    va_list arguments;

    for (int i = 0; i < k->indent; i++)
        strbuf_add(&k->body, "    ");
    va_start(arguments, format);
    strbuf_vprintf(&k->body, format, arguments);
    va_end(arguments);
    strbuf_char(&k->body, '\n');
}

static void kernel_enter(struct kernel *k)
{
    struct kernel_state *s = state_of(k);

    if (s->depth == MOST_DEPTH)
        BUG(k->context, "a kernel nests deeper than %d blocks", MOST_DEPTH);
    s->blocks[s->depth++] = (struct kernel_block){k->memo_count, k->assumed_count};
    kernel_line(k, "{");
    k->indent++;
}

void kernel_open(struct kernel *k, const char *format, ...)
{
    va_list arguments;

    for (int i = 0; i < k->indent; i++)
        strbuf_add(&k->body, "    ");
    va_start(arguments, format);
    strbuf_vprintf(&k->body, format, arguments);
    va_end(arguments);
    strbuf_char(&k->body, '\n');
    kernel_enter(k);
}

void kernel_close(struct kernel *k)
{
    struct kernel_state *s = state_of(k);

    s->depth--;
    k->memo_count = s->blocks[s->depth].memo_count;
    k->assumed_count = s->blocks[s->depth].assumed_count;
    k->indent--;
    kernel_line(k, "}");
}

const char *kernel_name(struct kernel *k, const char *base)
{
    for (int i = 0; i < k->name_count; i++)
        if (!strcmp(k->names[i].base, base)) {
            /* "w0" taken again must not become "w01", which could be the next of another "w0". */
            size_t n = strlen(base);
            bool digit = n && base[n - 1] >= '0' && base[n - 1] <= '9';

            return kernel_text(k, digit ? "%s_%d" : "%s%d", base, k->names[i].next++);
        }
    APPEND(k->arena, k->names, k->name_count, k->name_room) = (struct kernel_name){base, 1};
    return base;
}

const char *kernel_text(struct kernel *k, const char *format, ...)
{
    va_list arguments;
    struct strbuf s;

    strbuf_init(&s, k->arena);
    va_start(arguments, format);
    strbuf_vprintf(&s, format, arguments);
    va_end(arguments);
    return s.text;
}

static bool is_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '.';
}

bool text_is_atom(const char *text)
{
    if (*text == '-' && text[1] >= '0' && text[1] <= '9')
        text++;
    while (is_word(*text))
        text++;
    return !*text;
}

/* One call or one parenthesis from end to end: needs no parentheses, but is not free to repeat. */
static bool text_is_closed(const char *text)
{
    int depth = 0;

    while (is_word(*text))
        text++;
    if (*text != '(')
        return !*text;
    for (; *text; text++) {
        depth += *text == '(';
        depth -= *text == ')';
        if (!depth)
            return !text[1];
    }
    return false;
}

const char *kernel_local(struct kernel *k, const char *base, const char *text)
{
    const char *name;

    if (text_is_atom(text))
        return text;
    name = kernel_name(k, base);
    kernel_line(k, "float %s = %s;", name, text);
    return name;
}

const struct index *kernel_bind(struct kernel *k, const char *base, const struct index *index)
{
    struct strbuf s;
    const char *name;
    int64_t lo, hi;

    if (index_is_plain(index))
        return index;
    name = kernel_name(k, base);
    strbuf_init(&s, k->arena);
    index_print(&s, index, false);
    kernel_line(k, "int %s = %s;", name, s.text);
    kernel_range(k, index, &lo, &hi);
    return index_variable(k->pool, name, lo, hi);
}

const struct index *kernel_loop(struct kernel *k, const char *base, int64_t count)
{
    const char *name;

    if (count == 1)
        return kernel_constant(k, 0);
    name = kernel_name(k, base);
    kernel_open(k, "for (int %s = 0; %s < %" PRId64 "; %s++)", name, name, count, name);
    return index_variable(k->pool, name, 0, count - 1);
}

void kernel_end_loop(struct kernel *k, int64_t count)
{
    if (count != 1)
        kernel_close(k);
}

static bool conditions_print(struct kernel *k, struct strbuf *s, const struct condition *conditions,
                             int count)
{
    bool any = false;

    strbuf_init(s, k->arena);
    for (int i = 0; i < count; i++) {
        struct condition c = conditions[i];
        int64_t lo, hi;

        kernel_range(k, c.of, &lo, &hi);
        if (lo >= c.lo && hi <= c.hi)
            continue;
        if (any)
            strbuf_add(s, " && ");
        condition_print(s, &c);
        any = true;
    }
    return any;
}

static int conditions_known(struct kernel *k, const struct condition *conditions, int count)
{
    int known = 1;

    for (int i = 0; i < count; i++) {
        int64_t lo, hi;

        kernel_range(k, conditions[i].of, &lo, &hi);
        if (hi < conditions[i].lo || lo > conditions[i].hi)
            return 0;
        if (lo < conditions[i].lo || hi > conditions[i].hi)
            known = -1;
    }
    return known;
}

int kernel_if(struct kernel *k, const struct condition *conditions, int count)
{
    struct strbuf text;

    switch (conditions_known(k, conditions, count)) {
    case 0:
        return -1;
    case 1:
        return 0;
    }
    conditions_print(k, &text, conditions, count);
    kernel_open(k, "if (%s)", text.text);
    for (int i = 0; i < count; i++)
        APPEND(k->arena, k->assumed, k->assumed_count, k->assumed_room) = conditions[i];
    return 1;
}

void kernel_end_if(struct kernel *k, int opened, int count)
{
    (void)count;
    if (opened == 1)
        kernel_close(k);
}

const char *kernel_format(struct kernel *k, const char *text, const char *const *operands)
{
    const char *bound[10] = {0};
    struct strbuf s;

    strbuf_init(&s, k->arena);
    for (const char *t = text; *t; t++) {
        int i, uses = 0;

        if (*t != '{' || t[1] < '0' || t[1] > '9' || t[2] != '}') {
            strbuf_char(&s, *t);
            continue;
        }
        i = t[1] - '0';
        if (!bound[i]) {
            bound[i] = operands[i];
            for (const char *u = strchr(text, '{'); u; u = strchr(u + 1, '{'))
                uses += u[1] == t[1] && u[2] == '}';
            if (uses > 1)
                bound[i] = kernel_local(k, "v", bound[i]);
        }
        bool argument = t > text &&
                        (t[-1] == '(' || (t[-1] == ' ' && t > text + 1 && t[-2] == ',')) &&
                        (t[3] == ')' || t[3] == ',');
        bool whole = t == text && !t[3];
        bool negative = *bound[i] == '-';
        if (whole || argument || (text_is_closed(bound[i]) && !negative) ||
            (negative && text_is_atom(bound[i]) && t > text && t[-1] == ' '))
            strbuf_add(&s, bound[i]);
        else
            strbuf_printf(&s, "(%s)", bound[i]);
        t += 2;
    }
    return s.text;
}

const char *kernel_number(struct kernel *k, double number)
{
    char text[64];
    float f = (float)number;

    if (f > 3.402823466e38f)
        f = 3.402823466e38f;
    if (f < -3.402823466e38f)
        f = -3.402823466e38f;
    if (f != f || fabsf(f) < 1.17549435e-38f)
        f = 0;
    float_print(text, f);
    /* "65504.0f" reads better as "65504f". */
    char *point = strstr(text, ".0f");
    if (point)
        memcpy(point, "f", 2);
    return arena_strdup(k->arena, text);
}

/* ---- elements ---- */

const struct index *kernel_constant(struct kernel *k, int64_t number)
{
    return index_constant(k->pool, number);
}

struct lanes lanes_along(struct kernel *k, const struct index *const *at, int axes, int axis,
                         int count)
{
    struct lanes e = {.count = count};

    for (int j = 0; j < count; j++)
        for (int a = 0; a < axes; a++)
            e.at[j][a] = a == axis ? index_plus(k->pool, at[a], j) : at[a];
    return e;
}

void kernel_range(struct kernel *k, const struct index *index, int64_t *lo, int64_t *hi)
{
    *lo = index_lo(index);
    *hi = index_hi(index);
    for (int i = k->assumed_count; i-- > 0 && *lo < *hi;) {
        const struct condition *c = &k->assumed[i];
        int64_t scale = index_multiple(c->of), own;
        const struct index *rest;

        /* index = m * of + constant? The condition is in simplest form, so m is the factor of its
         * first term. */
        own = index_ratio(index, c->of);
        if (!own || !scale)
            continue;
        rest = index_add(k->pool, index, index_times(k->pool, c->of, -own));
        if (!index_is_constant(rest))
            continue;
        int64_t a = own * (own > 0 ? c->lo : c->hi) + index_lo(rest);
        int64_t b = own * (own > 0 ? c->hi : c->lo) + index_lo(rest);
        if (a > *lo)
            *lo = a;
        if (b < *hi)
            *hi = b;
    }
}

struct piece *access_piece(struct access *a, int input)
{
    struct piece *p = &APPEND(a->arena, a->pieces, a->count, a->room);

    memset(p, 0, sizeof *p);
    p->input = input;
    return p;
}

void piece_when(struct access *a, struct piece *p, const struct index *of, int64_t lo, int64_t hi)
{
    struct condition c;

    /* lo <= g * b + k <= hi is ceil((lo - k) / g) <= b <= floor((hi - k) / g). */
    c.of = index_primitive(a->pool, of, &lo, &hi);
    c.lo = lo;
    c.hi = hi;
    if (condition_known(&c) == 1)
        return;
    if (p->condition_count == MOST_CONDITIONS)
        BUG(a->arena->context, "a piece of a view has more than %d conditions", MOST_CONDITIONS);
    p->conditions[p->condition_count++] = c;
}

void broadcast_index(struct kernel *k, const struct shape *from, const struct shape *s,
                     const struct index *const *at, const struct index **out)
{
    for (int a = 0; a < from->axes; a++)
        out[a] = from->dim[a] == 1 ? kernel_constant(k, 0) : at[s->axes - from->axes + a];
}

static const char *memo_find(struct kernel *k, const struct value *v, const struct weights *w,
                             bool cell, const struct index *const *at, int axes)
{
    for (int i = k->memo_count; i-- > 0;) {
        const struct kernel_memo *m = &k->memo[i];

        if (m->value == v && m->weights == w && m->cell == cell &&
            !memcmp(m->at, at, (size_t)axes * sizeof *at))
            return m->text;
    }
    return NULL;
}

static void memo_add(struct kernel *k, const struct value *v, const struct weights *w, bool cell,
                     const struct index *const *at, int axes, const char *text)
{
    struct kernel_memo *m = &APPEND(k->arena, k->memo, k->memo_count, k->memo_room);

    memset(m, 0, sizeof *m);
    m->value = v;
    m->weights = w;
    m->cell = cell;
    memcpy(m->at, at, (size_t)axes * sizeof *at);
    m->text = text;
}

static const char *kernel_pick(struct kernel *k, const char *cell, const struct index *component,
                               bool table)
{
    struct strbuf s;

    if (index_is_constant(component))
        return kernel_text(k, "%s.%c", cell, (table ? "xyzw" : "rgba")[index_lo(component)]);
    strbuf_init(&s, k->arena);
    index_print(&s, component, false);
    k->picks = true;
    if (table)
        return kernel_text(k, KERNEL_PREFIX "Pick(new Color4(%s.x, %s.y, %s.z, %s.w), %s)", cell,
                           cell, cell, cell, s.text);
    return kernel_text(k, KERNEL_PREFIX "Pick(%s, %s)", cell, s.text);
}

static const char *parameter_name(struct kernel *k, struct value *v)
{
    int i;

    for (i = 0; i < k->parameter_count && k->parameters[i] != v; i++)
        ;
    if (i == k->parameter_count)
        APPEND(k->arena, k->parameters, k->parameter_count, k->parameter_room) = v;
    return i ? kernel_text(k, "prev%d", i) : "prev";
}

/* Keeps at[] inside the buffer: what lies beyond is read only for components that are never used.
 */
static void limit_index(struct kernel *k, const struct shape *s, int packed,
                        const struct index *const *at, const struct index **limited)
{
    for (int a = 0; a < s->axes; a++) {
        int64_t last = a == packed ? (s->dim[a] + 3) / 4 * 4 - 1 : s->dim[a] - 1, lo, hi;

        kernel_range(k, at[a], &lo, &hi);
        limited[a] = lo >= 0 && hi <= last ? at[a] : index_clamp(k->pool, at[a], 0, s->dim[a] - 1);
    }
}

static void read_buffer(struct kernel *k, struct value *v, const struct lanes *e, const char **out)
{
    const struct spot *spot = spot_of(v);
    const struct layout *l = &spot->layout;

    for (int j = 0; j < e->count; j++) {
        const struct index *at[MAX_AXES] = {0}, *cell[2], *component;
        const char *name;
        int64_t lo = 0, hi = 0;

        limit_index(k, &v->shape, l->packed, e->at[j], at);
        layout_cell(k->pool, l, &v->shape, at, &cell[0], &cell[1], &component);
        /* Components behind the last channel of a model input are whatever the user left there. */
        if (!spot->step && l->packed >= 0 && v->shape.dim[l->packed] % 4)
            kernel_range(k, at[l->packed], &lo, &hi);
        if (lo && lo >= v->shape.dim[l->packed]) {
            out[j] = "0f";
            continue;
        }
        name = memo_find(k, v, NULL, true, cell, 2);
        if (!name) {
            struct strbuf s;

            strbuf_init(&s, k->arena);
            index_print(&s, cell[0], false);
            strbuf_add(&s, ", ");
            index_print(&s, cell[1], false);
            name = kernel_name(k, "p");
            kernel_line(k, "Color4 %s = %s[%s];", name, parameter_name(k, v), s.text);
            memo_add(k, v, NULL, true, cell, 2, name);
            k->fetches++;
        }
        out[j] = kernel_pick(k, name, component, false);
        if (spot->exponent)
            out[j] = kernel_text(k, "%s * %s", out[j], kernel_number(k, ldexp(1, spot->exponent)));
        if (!index_is_constant(component) || spot->exponent)
            out[j] = kernel_local(k, "v", out[j]);
        if (hi && hi >= v->shape.dim[l->packed]) {
            struct strbuf s;

            strbuf_init(&s, k->arena);
            index_print(&s, at[l->packed], false);
            out[j] = kernel_local(k, "v",
                                  kernel_text(k, "%s < %" PRId64 " ? %s : 0f", s.text,
                                              v->shape.dim[l->packed], out[j]));
        }
    }
}

/* A constant of several values: packed along the axis in which the elements asked for differ. */
static void fill_constant(struct context *c, const struct weights *w, int64_t first, int64_t count,
                          float *entries, struct arena *scratch)
{
    const struct tensor *t = w->tensor;
    const struct shape *s = &t->shape;
    const float *numbers = tensor_floats(c, t, scratch);
    int64_t groups = w->packed < 0 ? 1 : (s->dim[w->packed] + 3) / 4;
    int64_t outer = w->packed < 0 ? 1 : shape_product(s, 0, w->packed);
    int64_t inner = w->packed < 0 ? 1 : shape_product(s, w->packed + 1, s->axes);
    int64_t extent = w->packed < 0 ? 1 : s->dim[w->packed];

    /* There is one row. */
    (void)first;
    (void)count;
    for (int64_t o = 0; o < outer; o++)
        for (int64_t i = 0; i < inner; i++)
            for (int64_t x = 0; x < extent; x++)
                entries[((o * inner + i) * groups + x / 4) * 4 + x % 4] =
                    numbers[(o * extent + x) * inner + i];
}

static struct weights *weights_make(struct kernel *k, int64_t rows, int64_t columns)
{
    struct kernel_state *s = state_of(k);
    struct weights *w = NEW(k->arena, struct weights);

    w->number = k->weight_count;
    w->rows = rows;
    w->columns = columns;
    if (rows * columns <= TABLE_ENTRIES - s->table_entries) {
        w->offset = s->table_entries;
        s->table_entries += rows * columns;
    } else {
        w->texture = true;
        for (int i = 0; i < k->weight_count; i++)
            w->offset += k->weights[i]->texture;
        w->width = columns;
        w->height = rows;
        if (columns > LARGEST_SIDE || rows > LARGEST_SIDE) {
            /* Folded as one long row; a power of two keeps the division cheap. */
            w->width = 2048;
            while ((rows * columns + w->width - 1) / w->width > LARGEST_SIDE &&
                   w->width < LARGEST_SIDE)
                w->width *= 2;
            w->height = (rows * columns + w->width - 1) / w->width;
        }
        if (w->height > LARGEST_SIDE)
            BUG(k->context, "weights of %" PRId64 " entries do not fit a texture", rows * columns);
    }
    APPEND(k->arena, k->weights, k->weight_count, k->weight_room) = w;
    return w;
}

struct weights *kernel_weights(struct kernel *k, int64_t rows, int64_t columns, weights_fill *fill,
                               const char *about)
{
    struct weights *w = weights_make(k, rows, columns);

    w->fill = fill;
    w->about = about;
    w->node = k->step->root;
    return w;
}

static const char *entry_fetch(struct kernel *k, struct weights *w, const struct index *row,
                               const struct index *column, const char *base)
{
    const struct index *linear = index_add(k->pool, index_times(k->pool, row, w->columns), column);
    struct strbuf s;
    const char *name = kernel_name(k, base);

    strbuf_init(&s, k->arena);
    if (!w->texture) {
        index_print(&s, index_plus(k->pool, linear, w->offset), false);
        kernel_line(k, "Vector4 %s = t[%s];", name, s.text);
        return name;
    }
    if (w->width != w->columns || w->height != w->rows) {
        if (!index_is_plain(linear))
            linear = kernel_bind(k, "e", linear);
        column = index_mod(k->pool, linear, w->width);
        row = index_div(k->pool, linear, w->width);
    }
    index_print(&s, column, false);
    strbuf_add(&s, ", ");
    index_print(&s, row, false);
    if (w->offset)
        kernel_line(k, "Color4 %s = w%" PRId64 "[%s];", name, w->offset, s.text);
    else
        kernel_line(k, "Color4 %s = w[%s];", name, s.text);
    k->fetches++;
    return name;
}

void kernel_entry(struct kernel *k, struct weights *w, const struct index *row,
                  const struct index *column, const char *base, const char **out)
{
    const char *name = entry_fetch(k, w, row, column, base);

    for (int j = 0; j < 4; j++)
        out[j] = kernel_text(k, "%s.%c", name, (w->texture ? "rgba" : "xyzw")[j]);
}

static void read_constant(struct kernel *k, struct value *v, const struct lanes *e,
                          const char **out)
{
    struct tensor *t = v->constant;
    const struct shape *s = &t->shape;
    struct weights *w = NULL;
    int packed = -1;
    const struct index *zero = kernel_constant(k, 0);

    if (t->count == 1) {
        struct arena *scratch = arena_child(k->arena);
        const char *number = kernel_number(k, tensor_floats(k->context, t, scratch)[0]);

        arena_free(scratch);
        for (int j = 0; j < e->count; j++)
            out[j] = number;
        return;
    }
    for (int a = 0; a < s->axes && packed < 0; a++)
        for (int j = 1; j < e->count && packed < 0; j++)
            if (s->dim[a] > 1 && e->at[j][a] != e->at[0][a])
                packed = a;
    for (int a = s->axes - 1; a >= 0 && packed < 0; a--)
        if (s->dim[a] > 1)
            packed = a;
    for (int i = 0; i < k->weight_count && !w; i++)
        if (k->weights[i]->tensor == t && k->weights[i]->packed == packed &&
            k->weights[i]->fill == fill_constant)
            w = k->weights[i];
    if (!w) {
        w = weights_make(k, 1, t->count / s->dim[packed] * ((s->dim[packed] + 3) / 4));
        w->fill = fill_constant;
        w->tensor = t;
        w->packed = packed;
        w->about = kernel_text(k, "values of %s", shape_text(k->arena, s));
    }
    for (int j = 0; j < e->count; j++) {
        const struct index *at[MAX_AXES], *entry = zero, *cell[2];
        const char *name;

        limit_index(k, s, packed, e->at[j], at);
        for (int a = 0; a < s->axes; a++)
            if (a != packed)
                entry = index_add(k->pool, index_times(k->pool, entry, s->dim[a]), at[a]);
        entry = index_add(k->pool, index_times(k->pool, entry, (s->dim[packed] + 3) / 4),
                          index_div(k->pool, at[packed], 4));
        cell[0] = entry;
        cell[1] = zero;
        name = memo_find(k, NULL, w, true, cell, 2);
        if (!name) {
            name = entry_fetch(k, w, zero, entry, "c");
            memo_add(k, NULL, w, true, cell, 2, name);
        }
        out[j] = kernel_pick(k, name, index_mod(k->pool, at[packed], 4), !w->texture);
        out[j] = kernel_local(k, "v", out[j]);
    }
}

static bool same_texts(const char *const (*operands)[4], int count, int a, int b)
{
    for (int i = 0; i < count; i++)
        if (operands[i][a] != operands[i][b] &&
            (!operands[i][a] || !operands[i][b] || strcmp(operands[i][a], operands[i][b])))
            return false;
    return true;
}

static void read_value(struct kernel *k, struct value *v, const struct lanes *e, const char **out);

static void read_expression(struct kernel *k, struct value *v, const struct lanes *e,
                            const char **out)
{
    struct node *n = v->producer;
    const char *(*operands)[4] =
        arena_array(k->arena, (size_t)n->input_count + 1, sizeof *operands);
    int readers = v->reader_count;

    for (int j = 0; j < e->count; j++) {
        out[j] = memo_find(k, v, NULL, false, e->at[j], v->shape.axes);
        if (!out[j])
            break;
        if (j == e->count - 1)
            return;
    }
    for (int i = 0; i < n->input_count; i++) {
        struct lanes operand = {.count = e->count};

        if (!n->inputs[i])
            continue;
        for (int j = 0; j < e->count; j++)
            broadcast_index(k, &n->inputs[i]->shape, &v->shape, e->at[j], operand.at[j]);
        read_value(k, n->inputs[i], &operand, operands[i]);
    }
    for (int j = 0; j < e->count; j++) {
        const char **row = NEW_ARRAY(k->arena, n->input_count + 1, const char *);
        int same = 0;

        while (same < j && !same_texts((const char *const(*)[4])operands, n->input_count, same, j))
            same++;
        if (same < j) {
            out[same] = out[j] = kernel_local(k, "v", out[same]);
            continue;
        }
        for (int i = 0; i < n->input_count; i++)
            row[i] = operands[i][j];
        out[j] = n->op->functions->express(k, n, row);
        /* Long or needed again: a name of its own. */
        if (readers > 1 || strlen(out[j]) > 72)
            out[j] = kernel_local(k, "v", out[j]);
        if (readers > 1)
            memo_add(k, v, NULL, false, e->at[j], v->shape.axes, out[j]);
    }
}

static bool same_conditions(const struct piece *a, const struct piece *b)
{
    return a->condition_count == b->condition_count &&
           (!a->condition_count || !memcmp(a->conditions, b->conditions,
                                           (size_t)a->condition_count * sizeof *a->conditions));
}

static void read_piece(struct kernel *k, struct node *n, const struct access *const *access,
                       int piece, const int *lanes, int count, const char **out)
{
    struct lanes e = {.count = count};
    const struct piece *first = &access[lanes[0]]->pieces[piece];
    const char *texts[4];

    if (first->input < 0) {
        for (int j = 0; j < count; j++)
            out[lanes[j]] = kernel_number(k, first->fill);
        return;
    }
    for (int j = 0; j < count; j++)
        memcpy(e.at[j], access[lanes[j]]->pieces[piece].at, sizeof e.at[j]);
    read_value(k, n->inputs[first->input], &e, texts);
    for (int j = 0; j < count; j++)
        out[lanes[j]] = texts[j];
}

/* Where a single condition can fail on one side only, its failing is a condition too. */
static void assume_not(struct kernel *k, const struct condition *conditions, int count)
{
    const struct condition *failed = NULL;
    int64_t lo, hi;

    for (int i = 0; i < count; i++) {
        kernel_range(k, conditions[i].of, &lo, &hi);
        if (lo >= conditions[i].lo && hi <= conditions[i].hi)
            continue;
        if (failed)
            return;
        failed = &conditions[i];
    }
    if (!failed)
        return;
    kernel_range(k, failed->of, &lo, &hi);
    if (lo >= failed->lo)
        lo = failed->hi + 1;
    else if (hi <= failed->hi)
        hi = failed->lo - 1;
    else
        return;
    APPEND(k->arena, k->assumed, k->assumed_count, k->assumed_room) =
        (struct condition){failed->of, lo, hi};
}

/* Lanes that take the same pieces under the same conditions, from piece on. */
static void read_pieces(struct kernel *k, struct node *n, const struct access *const *access,
                        int piece, const int *lanes, int count, const char **out)
{
    const struct access *a = access[lanes[0]];
    const char *names[4], *texts[4];
    int opened;

    while (piece < a->count - 1 &&
           !conditions_known(k, a->pieces[piece].conditions, a->pieces[piece].condition_count))
        piece++;
    if (piece == a->count - 1 ||
        conditions_known(k, a->pieces[piece].conditions, a->pieces[piece].condition_count) == 1) {
        read_piece(k, n, access, piece, lanes, count, out);
        return;
    }
    for (int j = 0; j < count; j++) {
        names[j] = kernel_name(k, "v");
        kernel_line(k, "float %s = 0f;", names[j]);
    }
    opened = kernel_if(k, a->pieces[piece].conditions, a->pieces[piece].condition_count);
    read_piece(k, n, access, piece, lanes, count, texts);
    for (int j = 0; j < count; j++)
        kernel_line(k, "%s = %s;", names[j], texts[lanes[j]]);
    kernel_end_if(k, opened, a->pieces[piece].condition_count);
    size_t before = k->body.length;
    kernel_open(k, "else");
    assume_not(k, a->pieces[piece].conditions, a->pieces[piece].condition_count);
    size_t inside = k->body.length;
    read_pieces(k, n, access, piece + 1, lanes, count, texts);
    bool zero = k->body.length == inside;
    for (int j = 0; j < count; j++) {
        zero = zero && !strcmp(texts[lanes[j]], "0f");
        kernel_line(k, "%s = %s;", names[j], texts[lanes[j]]);
    }
    kernel_close(k);
    if (zero) /* what it was initialised to */
        strbuf_truncate(&k->body, before);
    for (int j = 0; j < count; j++)
        out[lanes[j]] = names[j];
}

static void read_view(struct kernel *k, struct value *v, const struct lanes *e, const char **out)
{
    struct node *n = v->producer;
    const struct access *access[4];
    bool done[4] = {false};

    for (int j = 0; j < e->count; j++) {
        struct access *a = NEW(k->arena, struct access);

        a->pool = k->pool;
        a->arena = k->arena;
        n->op->functions->view(k, n, v->producer_output, e->at[j], a);
        access[j] = a;
    }
    for (int j = 0; j < e->count; j++) {
        int lanes[4], count = 0;

        if (done[j])
            continue;
        for (int i = j; i < e->count; i++) {
            bool same = access[i]->count == access[j]->count;

            for (int p = 0; same && p < access[j]->count; p++)
                same = same_conditions(&access[j]->pieces[p], &access[i]->pieces[p]) &&
                       access[j]->pieces[p].input == access[i]->pieces[p].input;
            if (same) {
                lanes[count++] = i;
                done[i] = true;
            }
        }
        read_pieces(k, n, access, 0, lanes, count, out);
    }
}

/* What the root of this very step computed: it is in registers. */
static bool read_root(struct kernel *k, struct value *v, const struct lanes *e, const char **out)
{
    if (!k->lowered || v != k->step->root->outputs[k->step->root_output])
        return false;
    for (int j = 0; j < e->count; j++) {
        int lane = 0;

        while (lane < k->out.count &&
               memcmp(e->at[j], k->out.at[lane], (size_t)v->shape.axes * sizeof *e->at[j]))
            lane++;
        if (lane == k->out.count)
            BUG(k->context, "%s is read at another element than its step computes", v->name);
        out[j] = k->lane[lane];
    }
    return true;
}

/* v from what its node reads, wherever v itself lies. */
static void compute_value(struct kernel *k, struct value *v, const struct lanes *e,
                          const char **out)
{
    if (read_root(k, v, e, out))
        return;
    if (v->producer->op->functions->role == ROLE_VIEW)
        read_view(k, v, e, out);
    else
        read_expression(k, v, e, out);
}

static void read_value(struct kernel *k, struct value *v, const struct lanes *e, const char **out)
{
    context_poll(k->context);
    if (v->constant) {
        read_constant(k, v, e, out);
        return;
    }
    if (read_root(k, v, e, out))
        return;
    switch (spot_of(v)->placement) {
    case PLACED_BUFFER:
        read_buffer(k, v, e, out);
        return;
    case PLACED_VIEW:
    case PLACED_INLINE:
    case PLACED_JOINED:
        compute_value(k, v, e, out);
        return;
    case PLACED_NOWHERE:
        break;
    }
    BUG(k->context, "value %s is read but lies nowhere", v->name);
}

void kernel_read(struct kernel *k, struct value *v, const struct lanes *e, int zero_axis,
                 const char **out)
{
    read_value(k, v, e, out);
    for (int j = 0; zero_axis >= 0 && j < e->count; j++) {
        int64_t extent = v->shape.dim[zero_axis], lo, hi;
        struct strbuf s;

        kernel_range(k, e->at[j][zero_axis], &lo, &hi);
        if (hi < extent)
            continue;
        if (lo >= extent) {
            out[j] = "0f";
            continue;
        }
        strbuf_init(&s, k->arena);
        index_print(&s, e->at[j][zero_axis], false);
        out[j] = kernel_local(k, "v",
                              kernel_text(k, "%s < %" PRId64 " ? %s : 0f", s.text, extent, out[j]));
    }
}

/* ---- index tables ---- */

static void fill_lookup(struct context *c, const struct weights *w, int64_t first, int64_t count,
                        float *entries, struct arena *scratch)
{
    const int64_t *numbers = w->numbers;

    (void)c;
    (void)first;
    (void)count;
    (void)scratch;
    /* Two digits to the base 2048 are exact in 16 bits, so that the table may be a texture too. */
    for (int64_t i = 0; i < w->columns; i++) {
        entries[4 * i] = (float)(numbers[i] % 2048);
        entries[4 * i + 1] = (float)(numbers[i] / 2048);
    }
}

const struct index *kernel_lookup(struct kernel *k, const int64_t *numbers, int64_t count,
                                  const struct index *i)
{
    int64_t step = count > 1 ? numbers[1] - numbers[0] : 0, lo = numbers[0], hi = numbers[0], at;
    struct weights *w;
    const char *name, *text;

    for (at = 0; at < count && numbers[at] == numbers[0] + at * step; at++)
        ;
    if (at == count)
        return index_plus(k->pool, index_times(k->pool, i, step), numbers[0]);
    /* Runs of equal length: i / run, shifted. */
    int64_t run = 1, shift;
    for (at = 1; at < count && numbers[at] == numbers[0]; at++)
        ;
    shift = at;
    while (at + run < count && numbers[at + run] == numbers[at])
        run++;
    if (shift <= run) {
        shift = run - shift;
        for (at = 0; at < count && numbers[at] == numbers[0] + (at + shift) / run; at++)
            ;
        if (at == count)
            return index_plus(k->pool, index_div(k->pool, index_plus(k->pool, i, shift), run),
                              numbers[0]);
    }
    for (at = 0; at < count; at++) {
        lo = numbers[at] < lo ? numbers[at] : lo;
        hi = numbers[at] > hi ? numbers[at] : hi;
    }
    /* Counted from the smallest, so that no digit is negative. */
    int64_t *digits = NEW_ARRAY(k->arena, count, int64_t);
    for (at = 0; at < count; at++)
        digits[at] = numbers[at] - lo;
    w = NULL;
    for (int j = 0; j < k->weight_count && !w; j++)
        if (k->weights[j]->fill == fill_lookup && k->weights[j]->columns == count &&
            !memcmp(k->weights[j]->numbers, digits, (size_t)count * sizeof *digits))
            w = k->weights[j];
    if (!w) {
        w = weights_make(k, 1, count);
        w->fill = fill_lookup;
        w->numbers = digits;
        w->about = kernel_text(k, "%" PRId64 " indices", count);
    }
    const struct index *cell[2] = {index_clamp(k->pool, i, 0, count - 1), kernel_constant(k, 0)};
    name = memo_find(k, NULL, w, true, cell, 2);
    if (!name) {
        name = entry_fetch(k, w, cell[1], cell[0], "c");
        memo_add(k, NULL, w, true, cell, 2, name);
    }
    const char *const part = w->texture ? "rg" : "xy";
    text = hi - lo < 2048 ? kernel_text(k, "(int)(%s.%c + 0.5f)", name, part[0])
                          : kernel_text(k, "(int)(%s.%c * 2048f + %s.%c + 0.5f)", name, part[1],
                                        name, part[0]);
    const char *local = kernel_name(k, "i");
    kernel_line(k, "int %s = %s;", local, text);
    return index_plus(k->pool, index_variable(k->pool, local, 0, hi - lo), lo);
}

/* ---- a whole kernel ---- */

static void kernel_init(struct kernel_state *s, struct plan *p, struct step *step)
{
    struct kernel *k = &s->k;

    memset(s, 0, sizeof *s);
    k->context = p->context;
    k->arena = &p->context->arena;
    k->pool = index_pool_new(k->arena);
    k->plan = p;
    k->step = step;
    strbuf_init(&k->body, k->arena);
    k->indent = 2;
    /* Parameters' names are taken. */
    kernel_name(k, "t");
    kernel_name(k, "w");
    kernel_name(k, "id");
}

/* Splits a merged index into those of its axes, from the last one. */
static void unmerge(struct kernel *k, const struct index *merged, const int *axes, int count,
                    const struct shape *s, const char *base, const struct index **at)
{
    for (int i = count - 1; i >= 0; i--) {
        const struct index *own = i ? index_mod(k->pool, merged, s->dim[axes[i]]) : merged;

        at[axes[i]] = kernel_bind(k, i == count - 1 ? base : kernel_text(k, "i%d", axes[i]), own);
        if (i)
            merged = index_div(k->pool, merged, s->dim[axes[i]]);
    }
}

/* The elements of the cell that this invocation computes. */
static void kernel_cell(struct kernel *k, const struct layout *l, const struct shape *s,
                        const struct index **group)
{
    const struct index *x = index_variable(k->pool, "id.x", 0, l->width - 1);
    const struct index *y = index_variable(k->pool, "id.y", 0, l->height - 1);
    const struct index *at[MAX_AXES];

    for (int a = 0; a < s->axes; a++)
        at[a] = kernel_constant(k, 0);
    if (l->fold) {
        x = kernel_bind(
            k, "cell",
            index_add(k->pool, index_times(k->pool, index_mod(k->pool, y, l->rows), l->fold), x));
        y = kernel_bind(k, "row", index_div(k->pool, y, l->rows));
    }
    unmerge(k, index_mod(k->pool, x, l->length_x), l->x, l->x_count, s, "x", at);
    unmerge(k, y, l->y, l->y_count, s, "y", at);
    *group = kernel_constant(k, 0);
    k->out.count = 1;
    if (l->packed >= 0) {
        *group = index_div(k->pool, x, l->length_x);
        if (l->groups > 1)
            *group = kernel_bind(k, "band", *group);
        /* The last row of a folded texture may have cells behind the last band. */
        *group = index_clamp(k->pool, *group, 0, l->groups - 1);
        *group = kernel_bind(k, "band", *group);
        at[l->packed] = index_times(k->pool, *group, 4);
        k->out.count = 4;
    }
    k->out = lanes_along(k, at, s->axes, l->packed, k->out.count);
}

struct kernel_text *kernel_write(struct plan *p, struct step *step)
{
    struct kernel_state *state = NEW(&p->context->arena, struct kernel_state);
    struct kernel *k = &state->k;
    struct value *v = step->value;
    const struct layout *l = &step->layout;
    const struct shape *s = &step->value->shape;
    const struct spot *spot = spot_of(v);
    const struct index *group;
    const char *lanes[4] = {0};
    double lo = -65504, hi = 65504, a, b;
    bool limited = !(spot && spot->lo >= -65504 && spot->hi <= 65504), computes = !step->copies;

    kernel_init(state, p, step);
    kernel_cell(k, l, s, &group);
    if (step->root) {
        step->root->op->functions->lower(k, step->root);
        k->lowered = true;
    }
    /* A last Relu or Clip and the limit of 16 bits are one clamp. */
    if (spot && spot->exponent && !step->copies) {
        lo = ldexp(lo, spot->exponent);
        hi = ldexp(hi, spot->exponent);
    }
    while (!step->copies && v->producer->op->functions->clamp &&
           v->producer->op->functions->clamp(v->producer, &a, &b)) {
        lo = fmax(fmin(a, hi), lo);
        hi = fmax(fmin(b, hi), lo);
        v = v->producer->inputs[0];
        limited = true;
        computes = false;
        if (v->constant || spot_of(v)->placement == PLACED_BUFFER || !v->producer)
            break;
    }
    if (spot && spot->exponent && !step->copies) {
        lo = ldexp(lo, -spot->exponent);
        hi = ldexp(hi, -spot->exponent);
    }
    if (computes)
        compute_value(k, v, &k->out, lanes);
    else
        read_value(k, v, &k->out, lanes);
    for (int j = 0; j < 4; j++) {
        int64_t extent = l->packed < 0 ? 1 : s->dim[l->packed];

        if (j >= k->out.count || (l->groups == 1 && j >= extent)) {
            lanes[j] = "0f";
            continue;
        }
        if (!step->copies && spot->exponent) {
            const char *one[] = {lanes[j]};

            lanes[j] = kernel_format(
                k, kernel_text(k, "{0} * %s", kernel_number(k, ldexp(1, -spot->exponent))), one);
        }
        if (limited)
            lanes[j] = kernel_text(k, "Mathf.Clamp(%s, %s, %s)", lanes[j], kernel_number(k, lo),
                                   kernel_number(k, hi));
        if (4 * (l->groups - 1) + j >= extent) {
            struct strbuf band;

            strbuf_init(&band, k->arena);
            index_print(&band, group, false);
            lanes[j] =
                kernel_text(k, "%s < %" PRId64 " ? %s : 0f", band.text, l->groups - 1, lanes[j]);
        }
    }
    size_t length = strlen(lanes[0]) + strlen(lanes[1]) + strlen(lanes[2]) + strlen(lanes[3]);
    if (length > 160)
        for (int j = 0; j < 4; j++)
            lanes[j] = kernel_local(k, "result", lanes[j]);
    kernel_line(k, "return new Color4(%s, %s, %s, %s);", lanes[0], lanes[1], lanes[2], lanes[3]);

    struct kernel_text *text = NEW(k->arena, struct kernel_text);
    int count = k->parameter_count + (state->table_entries > 0);
    text->weights = k->weights;
    text->weight_count = k->weight_count;
    text->picks = k->picks;
    text->body = k->body.text;
    text->table_entries = state->table_entries;
    for (int i = 0; i < k->weight_count; i++)
        count += k->weights[i]->texture;
    text->parameters = NEW_ARRAY(k->arena, count + 1, struct kernel_parameter);
    for (int i = 0; i < k->parameter_count; i++)
        text->parameters[text->parameter_count++] =
            (struct kernel_parameter){.kind = PARAMETER_BUFFER,
                                      .value = k->parameters[i],
                                      .name = i ? kernel_text(k, "prev%d", i) : "prev"};
    for (int i = 0; i < k->weight_count; i++)
        if (k->weights[i]->texture)
            text->parameters[text->parameter_count++] = (struct kernel_parameter){
                .kind = PARAMETER_TEXTURE,
                .weights = k->weights[i],
                .name = k->weights[i]->offset ? kernel_text(k, "w%" PRId64, k->weights[i]->offset)
                                              : "w"};
    if (state->table_entries)
        text->parameters[text->parameter_count++] = (struct kernel_parameter){
            .kind = PARAMETER_TABLE, .name = "t", .entries = state->table_entries};
    return text;
}

int64_t kernel_cost(struct kernel *planning, struct value *v, const struct lanes *e)
{
    const char *out[4];
    struct kernel_state *s = state_of(planning);

    s->k.memo_count = 0;
    s->k.weight_count = 0;
    s->table_entries = 0;
    strbuf_truncate(&s->k.body, 0);
    s->k.fetches = 0;
    read_value(&s->k, v, e, out);
    return s->k.fetches;
}

struct kernel *kernel_planning(struct plan *p)
{
    struct kernel_state *s = NEW(&p->context->arena, struct kernel_state);

    kernel_init(s, p, NULL);
    s->k.planning = true;
    return &s->k;
}
