#include "daemon/compiler/model/text.h"
#include "daemon/compiler/graph/decimal.h"
#include <inttypes.h>
#include <math.h>
#include <string.h>

enum { SHOWN_ELEMENTS = 8 };

struct writer {
    struct context *context;
    struct strbuf text;
    struct text_line *lines;
    int count, room;
    int line;          /* being written, from 1 */
    size_t line_start; /* in bytes */
};

static int column(const struct writer *w)
{
    int points = 0;

    for (size_t i = w->line_start; i < w->text.length; i++)
        points += ((unsigned char)w->text.text[i] & 0xc0) != 0x80;
    return points + 1;
}

static void end_line(struct writer *w)
{
    strbuf_char(&w->text, '\n');
    w->line++;
    w->line_start = w->text.length;
}

/* The subject of a line: the words that a diagnostic underlines. */
static void subject(struct writer *w, enum place_kind kind, int index, const char *name,
                    const char *op)
{
    struct text_line *l = &APPEND(&w->context->arena, w->lines, w->count, w->room);

    *l = (struct text_line){.kind = kind, .index = index, .name = name, .op = op};
    l->range.line = l->range.end_line = w->line;
    l->range.column = column(w);
    if (op)
        strbuf_add(&w->text, op);
    if (op && *name)
        strbuf_char(&w->text, ' ');
    strbuf_add(&w->text, name);
    l->range.end_column = column(w);
    if (l->range.end_column == l->range.column)
        l->range.column = 1; /* nameless: what stands before it */
}

static void number(struct writer *w, const struct tensor *t, int64_t i)
{
    char digits[FLOAT_TEXT_SIZE];

    if (t->type == TYPE_BOOL) {
        strbuf_add(&w->text, tensor_integer(t, i) ? "true" : "false");
    } else if (type_is_integer(t->type)) {
        strbuf_printf(&w->text, "%" PRId64, tensor_integer(t, i));
    } else {
        float value = (float)tensor_number(t, i);

        if (isnan(value))
            strbuf_add(&w->text, "nan");
        else if (isinf(value))
            strbuf_add(&w->text, value < 0 ? "-inf" : "inf");
        else
            strbuf_add_bytes(&w->text, digits, float_print(digits, value) - 1); /* without its f */
    }
}

static bool is_shown(const struct tensor *t)
{
    return t->data && t->count <= SHOWN_ELEMENTS && type_bits(t->type) && type_bits(t->type) <= 64;
}

static void elements(struct writer *w, const struct tensor *t)
{
    if (!t->shape.axes) {
        number(w, t, 0);
        return;
    }
    strbuf_char(&w->text, '[');
    for (int64_t i = 0; i < t->count; i++) {
        if (i)
            strbuf_add(&w->text, ", ");
        number(w, t, i);
    }
    strbuf_char(&w->text, ']');
}

static void type_and_shape(struct writer *w, enum element_type type, const struct shape *shape)
{
    strbuf_printf(&w->text, ": %s ", type_name(type));
    shape_print(&w->text, shape);
}

static void operand(struct writer *w, const struct value *v)
{
    if (!v) {
        strbuf_char(&w->text, '_');
        return;
    }
    strbuf_add(&w->text, v->name);
    if (v->constant && !v->producer) {
        if (is_shown(v->constant)) {
            strbuf_add(&w->text, *v->name ? "=" : "");
            elements(w, v->constant);
        } else {
            type_and_shape(w, v->type, &v->shape);
        }
    }
}

static void attribute(struct writer *w, const struct attribute *a)
{
    struct strbuf *s = &w->text;
    struct tensor list = {.type = TYPE_INT64, .shape = {.axes = 1}, .count = a->count};

    strbuf_printf(s, "%s=", a->name);
    switch (a->type) {
    case ATTRIBUTE_INT:
        strbuf_printf(s, "%" PRId64, a->i);
        break;
    case ATTRIBUTE_FLOAT:
        number(w, &(struct tensor){.type = TYPE_FLOAT32, .count = 1, .data = &a->f}, 0);
        break;
    case ATTRIBUTE_STRING:
        strbuf_char(s, '"');
        for (size_t i = 0; i < a->s.length; i++) {
            unsigned char byte = (unsigned char)a->s.bytes[i];

            if (byte < ' ' || byte == '"' || byte == '\\' || byte > '~')
                strbuf_printf(s, "\\x%02x", byte);
            else
                strbuf_char(s, (char)byte);
        }
        strbuf_char(s, '"');
        break;
    case ATTRIBUTE_TENSOR:
        if (a->tensor && is_shown(a->tensor))
            elements(w, a->tensor);
        else if (a->tensor)
            strbuf_printf(s, "%s %s", type_name(a->tensor->type),
                          shape_text(&w->context->arena, &a->tensor->shape));
        break;
    case ATTRIBUTE_GRAPH:
        strbuf_printf(s, "graph of %d nodes", a->graph ? a->graph->node_count : 0);
        break;
    case ATTRIBUTE_INTS:
        list.data = a->ints;
        elements(w, &list);
        break;
    case ATTRIBUTE_FLOATS:
        list.type = TYPE_FLOAT32;
        list.data = a->floats;
        elements(w, &list);
        break;
    case ATTRIBUTE_STRINGS:
        strbuf_printf(s, "%d strings", a->count);
        break;
    }
}

static void node(struct writer *w, const struct node *n)
{
    bool first = true;

    strbuf_printf(&w->text, "#%d ", n->position);
    subject(w, PLACE_LAYER, n->position, n->name, n->op_type);
    strbuf_char(&w->text, '(');
    for (int i = 0; i < n->input_count; i++) {
        if (i)
            strbuf_add(&w->text, ", ");
        operand(w, n->inputs[i]);
    }
    strbuf_add(&w->text, ") -> ");
    for (int i = 0; i < n->output_count; i++) {
        if (i)
            strbuf_add(&w->text, ", ");
        if (!n->outputs[i]) {
            strbuf_char(&w->text, '_');
            continue;
        }
        strbuf_add(&w->text, n->outputs[i]->name);
        type_and_shape(w, n->outputs[i]->type, &n->outputs[i]->shape);
    }
    for (int i = 0; i < n->attribute_count; i++) {
        strbuf_add(&w->text, first ? " {" : ", ");
        attribute(w, &n->attributes[i]);
        first = false;
    }
    if (!first)
        strbuf_char(&w->text, '}');
    end_line(w);
}

/* The file's order; nodes that share a position stay as they were sorted. */
static struct node **in_order(struct context *c, const struct graph *g)
{
    struct node **order = arena_memdup(&c->arena, g->nodes, (size_t)g->node_count * sizeof *order);
    struct node **merged = NEW_ARRAY(&c->arena, g->node_count, struct node *);

    /* Bottom-up merging: qsort() keeps no order among equals. */
    for (int width = 1; width < g->node_count; width *= 2) {
        for (int from = 0; from < g->node_count; from += 2 * width) {
            int middle = from + width < g->node_count ? from + width : g->node_count;
            int to = middle + width < g->node_count ? middle + width : g->node_count;
            int left = from, right = middle;

            for (int at = from; at < to; at++)
                merged[at] = left < middle && (right == to ||
                                               order[left]->position <= order[right]->position)
                                 ? order[left++]
                                 : order[right++];
        }
        struct node **swap = order;
        order = merged;
        merged = swap;
    }
    return order;
}

static void constants(struct writer *w, const struct graph *g)
{
    int64_t tensors = 0, count = 0, bytes = 0;

    for (int i = 0; i < g->value_count; i++) {
        const struct value *v = g->values[i];

        if (!v->constant || v->producer)
            continue;
        tensors++;
        count += v->constant->count;
        bytes += (int64_t)v->constant->bytes;
    }
    strbuf_printf(&w->text,
                  "constants: %" PRId64 " tensors, %" PRId64 " elements, %" PRId64 " bytes",
                  tensors, count, bytes);
    end_line(w);
}

struct model_text *model_text_new(struct context *c, const struct graph *g)
{
    struct model_text *t = NEW(&c->arena, struct model_text);
    struct writer w = {.context = c, .line = 1};

    strbuf_init(&w.text, &c->arena);
    if (!g) {
        strbuf_add(&w.text, "model (not readable)");
        end_line(&w);
    } else {
        struct node **order = in_order(c, g);

        strbuf_printf(&w.text, "model %s%s(IR %d, opset %d)", g->name, *g->name ? " " : "",
                      g->ir_version, g->opset);
        end_line(&w);
        for (int i = 0; i < g->input_count; i++) {
            const struct value *v = g->inputs[i];

            strbuf_add(&w.text, "input ");
            subject(&w, PLACE_INPUT, i, v->name, NULL);
            type_and_shape(&w, v->type, &v->shape);
            end_line(&w);
        }
        constants(&w, g);
        for (int i = 0; i < g->node_count; i++)
            node(&w, order[i]);
        for (int i = 0; i < g->output_count; i++) {
            const struct value *v = g->outputs[i];

            strbuf_add(&w.text, "output ");
            subject(&w, PLACE_OUTPUT, i, g->output_names[i], NULL);
            if (v)
                type_and_shape(&w, v->type, &v->shape);
            if (v && strcmp(v->name, g->output_names[i]))
                strbuf_printf(&w.text, " = %s", v->name);
            end_line(&w);
        }
    }
    t->text = w.text.text;
    t->length = w.text.length;
    t->lines = w.lines;
    t->line_count = w.count;
    return t;
}

/* Whether a line stands before those of kind and index: inputs, layers, outputs, each by index. */
static bool stands_before(const struct text_line *l, enum place_kind kind, int index)
{
    if (l->kind != kind)
        return l->kind == PLACE_INPUT || kind == PLACE_OUTPUT;
    return l->index < index;
}

struct text_range model_text_range(const struct model_text *t, const struct place *place)
{
    const struct text_line *found = NULL;
    const char *end = strchr(t->text, '\n');
    int first = 0;

    for (int last = t->line_count; first < last;) {
        int middle = first + (last - first) / 2;

        if (stands_before(&t->lines[middle], place->kind, place->index))
            first = middle + 1;
        else
            last = middle;
    }
    for (int i = first; i < t->line_count && place->kind != PLACE_MODEL; i++) {
        const struct text_line *l = &t->lines[i];

        if (l->kind != place->kind || l->index != place->index)
            break;
        if (!found)
            found = l;
        if (place->kind != PLACE_LAYER || (place->layer && !strcmp(l->name, place->layer) &&
                                           place->op && !strcmp(l->op, place->op))) {
            found = l;
            break;
        }
    }
    if (found)
        return found->range;
    return (struct text_range){1, 1, 1, 1 + (int)(end - t->text)};
}
