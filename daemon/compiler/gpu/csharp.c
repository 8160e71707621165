#include "daemon/compiler/gpu/csharp.h"
#include "daemon/compiler/graph/decimal.h"
#include "daemon/compiler/graph/floats.h"
#include "daemon/compiler/graph/half.h"
#include "daemon/compiler/operators/operator.h"
#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

/* The file while it is printed. */
struct printer {
    struct strbuf *s;
    struct arena *arena;
    const struct compile_options *o;
    struct plan *p;
    int indent;
};

static void line(struct printer *f, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void line(struct printer *f, const char *format, ...)
{
    va_list arguments;

    for (int i = 0; i < f->indent; i++)
        strbuf_add(f->s, "    ");
    va_start(arguments, format);
    strbuf_vprintf(f->s, format, arguments);
    va_end(arguments);
    strbuf_char(f->s, '\n');
}

static void blank(struct printer *f)
{
    strbuf_char(f->s, '\n');
}

/* ---- names ---- */

const char *csharp_weights_name(struct arena *a, const char *prefix, const struct step *step,
                                const struct weights *w)
{
    if (w && w->same) {
        step = w->same_step;
        w = w->same;
    } else if (!w && step->same_table) {
        step = step->same_table;
    }
    int place = w ? (int)w->offset + (step->text->table_entries > 0) : 0;

    if (place == 0)
        return arena_printf(a, "%sw%d", prefix, step->number);
    if (place == 1)
        return arena_printf(a, "%sw%ds", prefix, step->number);
    return arena_printf(a, "%sw%ds%d", prefix, step->number, place);
}

const char *csharp_style_name(struct arena *a, const char *name, int style)
{
    return style ? arena_printf(a, "%sStyle%d", name, style) : name;
}

/* The table that kernels are given: where styles have one each, a field of its own that UseFilter()
 * sets. */
static const char *table_name(struct printer *f, const struct step *step)
{
    const char *name = csharp_weights_name(f->arena, f->o->prefix, step, NULL);

    if (step->same_table)
        step = step->same_table;
    return step->text->table_styles > 1 ? arena_printf(f->arena, "%sTable", name) : name;
}

const char *csharp_edge_name(struct arena *a, const char *prefix, bool output, int number, int item)
{
    const char *base = output ? "Output" : "Input";
    const char *which = number ? arena_printf(a, "%d", number) : "";

    if (item)
        return arena_printf(a, "%s%s%sItem%d", prefix, base, which, item);
    return arena_printf(a, "%s%s%s", prefix, base, which);
}

const char *csharp_tokens_name(struct arena *a, const char *prefix, int number)
{
    return number ? arena_printf(a, "%sTokens%d", prefix, number)
                  : arena_printf(a, "%sTokens", prefix);
}

static const char *buffer_name(struct printer *f, const struct buffer *b, int item)
{
    switch (b->kind) {
    case BUFFER_INPUT:
        return csharp_edge_name(f->arena, f->o->prefix, false, b->number, item);
    case BUFFER_OUTPUT:
        return csharp_edge_name(f->arena, f->o->prefix, true, b->number, item);
    case BUFFER_TOKENS:
        return csharp_tokens_name(f->arena, f->o->prefix, b->number);
    case BUFFER_INNER:
        break;
    }
    return arena_printf(f->arena, "%sb%d", f->o->prefix, b->storage + 1);
}

/* For a comment: a label's line separators (U+0085, U+2028, U+2029) would end it in C#. */
static const char *comment_text(struct printer *f, const char *text)
{
    struct strbuf s;

    strbuf_init(&s, f->arena);
    for (const unsigned char *t = (const unsigned char *)text; *t; t++) {
        if (*t == 0xC2 && t[1] == 0x85) {
            strbuf_char(&s, ' ');
            t++;
        } else if (*t == 0xE2 && t[1] == 0x80 && (t[2] == 0xA8 || t[2] == 0xA9)) {
            strbuf_char(&s, ' ');
            t += 2;
        } else {
            strbuf_char(&s, (char)*t);
        }
    }
    return s.length > 200 ? arena_printf(f->arena, "%.*s...", 200, s.text) : s.text;
}

/* For a documentation comment, which is XML. */
static const char *xml_text(struct printer *f, const char *text)
{
    struct strbuf s;

    strbuf_init(&s, f->arena);
    for (; *text; text++)
        if (*text == '&' || *text == '<' || *text == '>')
            strbuf_add(&s, *text == '&' ? "&amp;" : *text == '<' ? "&lt;" : "&gt;");
        else
            strbuf_char(&s, *text);
    return s.text;
}

static const struct node *main_node(const struct step *s)
{
    return s->root ? s->root : s->fused_count ? s->fused[0] : s->value->producer;
}

static const char *layer_name(struct printer *f, const struct step *s)
{
    const struct node *n = main_node(s);

    if (!n)
        return comment_text(f, s->value->name);
    return *n->name ? comment_text(f, n->name)
                    : arena_printf(f->arena, "%s #%d", node_op(n), n->position);
}

/* ---- weights ---- */

float *weights_numbers(struct context *c, const struct weights *w, int64_t first, int64_t count,
                       struct arena *scratch)
{
    int64_t size = count * w->columns * 4;
    float *numbers = w->parts ? NEW_ROOM(scratch, size, float) : NEW_ARRAY(scratch, size, float);

    w->fill(c, w, first, count, numbers, scratch);
    floats_limit(numbers, (size_t)size, w->exact ? FLT_MAX : 65504);
    return numbers;
}

static void number_print(struct strbuf *s, float number, bool exact)
{
    char text[HALF_TEXT_SIZE > FLOAT_TEXT_SIZE ? HALF_TEXT_SIZE : FLOAT_TEXT_SIZE];
    size_t length;

    if (number != number)
        number = 0;
    if (exact)
        length = float_print(text, fabsf(number) < 1.17549435e-38f ? 0 : number);
    else
        length = half_print(text, half_from_float(number));
    strbuf_add_bytes(s, text, length);
}

const char *csharp_table(struct context *c, const struct kernel_text *text)
{
    struct strbuf s;

    strbuf_init(&s, &c->arena);
    for (int i = 0; i < text->weight_count; i++) {
        const struct weights *w = text->weights[i];
        struct arena *scratch;
        const float *numbers;

        if (w->texture)
            continue;
        scratch = arena_child(&c->arena);
        numbers = weights_numbers(c, w, 0, w->rows, scratch);
        for (int64_t e = 0; e < w->rows * w->columns; e++) {
            strbuf_add(&s, "new Vector4(");
            for (int k = 0; k < 4; k++) {
                if (k)
                    strbuf_add(&s, ", ");
                number_print(&s, numbers[e * 4 + k], w->exact);
            }
            strbuf_add(&s, "),\n");
        }
        arena_free(scratch);
    }
    return s.text;
}

static void table_print(struct printer *f, const struct step *step, int style)
{
    const char *name = csharp_weights_name(f->arena, f->o->prefix, step, NULL);

    line(f, "%s = new Vector4[]", csharp_style_name(f->arena, name, style));
    line(f, "{");
    for (const char *row = step->text->tables[style], *end; *row; row = end + 1) {
        end = strchr(row, '\n');
        for (int k = 0; k <= f->indent; k++)
            strbuf_add(f->s, "    ");
        strbuf_add_bytes(f->s, row, (size_t)(end - row) + 1);
    }
    line(f, "};");
}

/* ---- declarations ---- */

static void print_edges(struct printer *f, bool output)
{
    for (int i = 0; i < f->p->buffer_count; i++) {
        const struct buffer *b = &f->p->buffers[i];
        struct strbuf layout;
        struct layout l;

        if (b->kind != (output ? BUFFER_OUTPUT : BUFFER_INPUT))
            continue;
        l = output ? f->p->steps[b->written]->layout : spot_of(b->value)->layout;
        strbuf_init(&layout, f->arena);
        layout_print(&layout, &l, &b->value->shape);
        line(f, output ? "/// Output. Read the values as they are."
                       : "/// Input. Write the values as they are (not mapped to 0 to 1).");
        line(f, "/// %s", layout.text);
        for (int item = 0; item < f->p->graph->items; item++)
            line(f, "public GpuBuffer2D %s;", buffer_name(f, b, item));
    }
}

/* Private: SetFilterTokens writes them. */
static bool print_token_fields(struct printer *f)
{
    bool any = false;

    for (int i = 0; i < f->p->buffer_count; i++)
        if (f->p->buffers[i].kind == BUFFER_TOKENS) {
            line(f, "private GpuBuffer2D %s;", buffer_name(f, &f->p->buffers[i], 0));
            any = true;
        }
    return any;
}

static void print_set_tokens(struct printer *f)
{
    for (int i = 0; i < f->p->buffer_count; i++) {
        const struct buffer *b = &f->p->buffers[i];
        const struct spot *spot = b->kind == BUFFER_TOKENS ? spot_of(b->value) : NULL;
        const char *name = spot ? buffer_name(f, b, 0) : "";

        if (!spot)
            continue;
        blank(f);
        line(f,
             "/// Input. Writes the token ids of %" PRId64
             " positions; missing ones are 0, negative ones count from the end of the vocabulary.",
             b->width);
        line(f, "private void Set%s(int[] ids)", name);
        line(f, "{");
        line(f, "    for (int i = 0; i < %" PRId64 "; i++)", b->width);
        line(f, "    {");
        for (int t = 0; t < spot->table_count; t++) {
            const char *id = t ? arena_printf(f->arena, "id%d", t) : "id";
            int64_t rows = spot->tables[t];

            line(f, "        int %s = ids != null && i < ids.Length ? ids[i] : 0;", id);
            line(f, "        if (%s < 0) %s += %" PRId64 ";", id, id, rows);
            line(f, "        if (%s < 0) %s = 0;", id, id);
            line(f, "        if (%s > %" PRId64 ") %s = %" PRId64 ";", id, rows - 1, id, rows - 1);
            line(f, "        %s[i, %d] = new Color4(%s %% 2048, %s / 2048, 0f, 0f);", name, t, id,
                 id);
        }
        line(f, "    }");
        line(f, "}");
    }
}

static void print_weight_fields(struct printer *f)
{
    const char *prefix = f->o->prefix;

    for (int i = 0; i < f->p->step_count; i++) {
        const struct step *s = f->p->steps[i];
        const char *about = NULL;

        for (int k = 0; k < s->text->weight_count; k++)
            if (!s->text->weights[k]->texture && !about)
                about = s->text->weights[k]->about;
        if (s->text->table_entries && !s->same_table) {
            line(f, "// Layer %d: weights of %s, %s.", i, layer_name(f, s), about);
            for (int style = 0; style < s->text->table_styles; style++)
                line(f, "public Vector4[] %s;",
                     csharp_style_name(f->arena, csharp_weights_name(f->arena, prefix, s, NULL),
                                       style));
            if (s->text->table_styles > 1)
                line(f, "private Vector4[] %s;", table_name(f, s));
            blank(f);
        }
        for (int k = 0; k < s->text->weight_count; k++) {
            const struct weights *w = s->text->weights[k];
            const char *name = csharp_weights_name(f->arena, prefix, s, w);

            if (!w->texture || w->same)
                continue;
            for (int style = 0; style < w->styles; style++) {
                const char *own = csharp_style_name(f->arena, name, style);

                line(f, "/// Weights of layer %d, %s, %s%s: assign %s.%s.asset.", i,
                     xml_text(f, layer_name(f, s)), xml_text(f, w->about),
                     w->styles > 1 ? arena_printf(f->arena, ", style %d", style) : "",
                     f->o->file_stem, own + strlen(prefix));
                line(f, "public Texture2D %s;", own);
            }
            line(f, "private GpuBuffer2D %sBuffer;", name);
            blank(f);
        }
    }
}

static void print_load(struct printer *f)
{
    const char *prefix = f->o->prefix;

    line(f, "/// Loads the weights and creates the buffers. Call once from <c>Start</c>.");
    line(f, "private void Load%s()", prefix);
    line(f, "{");
    f->indent++;
    for (int i = 0; i < f->p->buffer_count; i++) {
        const struct buffer *b = &f->p->buffers[i];

        if (b->kind == BUFFER_TOKENS)
            line(f, "%s = Gpu.Buffer(%" PRId64 ", %" PRId64 ", GpuFormat.Half);",
                 buffer_name(f, b, 0), b->width, b->height);
        for (int item = 0; b->kind == BUFFER_INPUT && item < f->p->graph->items; item++)
            line(f, "%s = Gpu.Buffer(%" PRId64 ", %" PRId64 "%s);", buffer_name(f, b, item),
                 b->width, b->height, b->half ? ", GpuFormat.Half" : "");
    }
    for (int i = 0; i < f->p->storage_count; i++)
        line(f, "%sb%d = Gpu.Buffer(%" PRId64 ", %" PRId64 "%s);", prefix, i + 1,
             f->p->storage[i].width, f->p->storage[i].height,
             f->p->storage[i].half ? ", GpuFormat.Half" : "");
    for (int i = 0; i < f->p->buffer_count; i++) {
        const struct buffer *b = &f->p->buffers[i];

        for (int item = 0; b->kind == BUFFER_OUTPUT && item < f->p->graph->items; item++)
            line(f, "%s = Gpu.Buffer(%" PRId64 ", %" PRId64 "%s);", buffer_name(f, b, item),
                 b->width, b->height, b->half ? ", GpuFormat.Half" : "");
    }
    for (int i = 0; i < f->p->step_count; i++) {
        const struct step *s = f->p->steps[i];

        for (int style = 0; style < s->text->table_styles; style++)
            if (s->text->table_entries && !s->same_table)
                table_print(f, s, style);
        for (int k = 0; k < s->text->weight_count; k++) {
            const struct weights *w = s->text->weights[k];
            const char *name = csharp_weights_name(f->arena, prefix, s, w);

            if (!w->texture || w->same)
                continue;
            line(f, "%sBuffer = Gpu.Buffer(%" PRId64 ", %" PRId64 ", GpuFormat.Half);", name,
                 w->width, w->height);
            if (w->styles == 1)
                line(f, "Gpu.Load(%sBuffer, %s);", name, name);
        }
    }
    if (f->p->context->styles > 1)
        line(f, "Use%s(0);", prefix);
    f->indent--;
    line(f, "}");
}

static void print_use(struct printer *f)
{
    const char *prefix = f->o->prefix;

    blank(f);
    line(f,
         "/// Takes the weights of a model: 0 to <c>%sStyles - 1</c>, in the order in which the "
         "attribute lists them. Only between evaluations; other numbers are ignored.",
         prefix);
    line(f, "private void Use%s(int style)", prefix);
    line(f, "{");
    f->indent++;
    for (int style = 0; style < f->p->context->styles; style++) {
        line(f, "if (style == %d)", style);
        line(f, "{");
        f->indent++;
        for (int i = 0; i < f->p->step_count; i++) {
            const struct step *s = f->p->steps[i];

            if (s->text->table_entries && !s->same_table && s->text->table_styles > 1)
                line(f, "%s = %s;", table_name(f, s),
                     csharp_style_name(f->arena, csharp_weights_name(f->arena, prefix, s, NULL),
                                       style));
            for (int k = 0; k < s->text->weight_count; k++) {
                const struct weights *w = s->text->weights[k];
                const char *name = csharp_weights_name(f->arena, prefix, s, w);

                if (w->texture && !w->same && w->styles > 1)
                    line(f, "Gpu.Load(%sBuffer, %s);", name,
                         csharp_style_name(f->arena, name, style));
            }
        }
        f->indent--;
        line(f, "}");
    }
    f->indent--;
    line(f, "}");
}

static int64_t capacity(int64_t entries)
{
    int64_t n = 4;

    while (n < entries)
        n *= 2;
    return n;
}

static void print_kernel(struct printer *f, const struct step *s)
{
    const struct node *n = main_node(s);
    struct strbuf text;

    strbuf_init(&text, f->arena);
    if (s->copies || !n) {
        strbuf_printf(&text, "copy of %s, %s", comment_text(f, s->value->name),
                      shape_text(f->arena, &s->value->shape));
    } else {
        strbuf_add(&text, node_op(n));
        if (*n->name)
            strbuf_printf(&text, " %s", comment_text(f, n->name));
        if (*node_part(n))
            strbuf_printf(&text, " (%s)", node_part(n));
        for (int i = 1; i < s->fused_count; i++)
            strbuf_printf(&text, " + %s", node_op_text(f->arena, s->fused[i]));
        const struct value *in = NULL;
        for (int i = 0; i < n->input_count && !in; i++)
            if (n->inputs[i] && !n->inputs[i]->constant)
                in = n->inputs[i];
        if (in)
            strbuf_printf(&text, ", %s to %s", shape_text(f->arena, &in->shape),
                          shape_text(f->arena, &s->value->shape));
    }
    blank(f);
    line(f, "// Layer %d: %s.", s->number, text.text);
    line(f, "[Kernel]");
    strbuf_init(&text, f->arena);
    for (int i = 0; i < s->text->parameter_count; i++) {
        const struct kernel_parameter *p = &s->text->parameters[i];

        if (p->kind == PARAMETER_TABLE)
            strbuf_printf(&text, ", [Capacity(%" PRId64 ")] Vector4[] %s", capacity(p->entries),
                          p->name);
        else
            strbuf_printf(&text, ", GpuBuffer2D %s", p->name);
    }
    line(f, "static Color4 %sLayer%d(KernelId id%s)", f->o->prefix, s->number, text.text);
    line(f, "{");
    /* The body was written at depth two, and with a mark for the prefix of helpers. */
    const char *body = s->text->body;
    while (*body) {
        const char *end = strchr(body, '\n'), *mark;

        for (int i = 2; i <= f->indent; i++)
            strbuf_add(f->s, "    ");
        if (f->indent == 0)
            body += 4;
        while ((mark = memchr(body, *KERNEL_PREFIX, (size_t)(end - body)))) {
            strbuf_add_bytes(f->s, body, (size_t)(mark - body));
            strbuf_add(f->s, f->o->prefix);
            body = mark + 1;
        }
        strbuf_add_bytes(f->s, body, (size_t)(end - body + 1));
        body = end + 1;
    }
    line(f, "}");
}

/* How the caller gives the first input. */
static const char *given_text(struct printer *f)
{
    for (int i = 0; i < f->p->buffer_count; i++) {
        const struct buffer *b = &f->p->buffers[i];

        if (b->kind == BUFFER_TOKENS)
            return arena_printf(f->arena, "Call <c>Set%s</c>", buffer_name(f, b, 0));
        if (b->kind == BUFFER_INPUT)
            return arena_printf(f->arena, "Write <c>%s</c>", buffer_name(f, b, 0));
    }
    return arena_printf(f->arena, "Write <c>%s</c>",
                        csharp_edge_name(f->arena, f->o->prefix, false, 0, 0));
}

static void print_run(struct printer *f)
{
    const char *prefix = f->o->prefix;
    const char *in = given_text(f), *out = csharp_edge_name(f->arena, prefix, true, 0, 0);

    blank(f);
    line(f, "/// Runs the model once. %s before calling, then read <c>%s</c>.", in, out);
    line(f, "private void Run%s()", prefix);
    line(f, "{");
    line(f, "    Run%s(0, %sSteps);", prefix, prefix);
    line(f, "}");
    blank(f);
    line(f,
         "/// Runs only the steps <c>first</c> to <c>first + count - 1</c> of <c>%sSteps</c>. All "
         "of them in order, over any "
         "number of frames, equal <c>Run%s()</c>.",
         prefix, prefix);
    line(f,
         "/// %s again, and read <c>%s</c>, only after the last step. A step is one "
         "draw: splitting does not make a "
         "step lighter.",
         in, out);
    line(f, "private void Run%s(int first, int count)", prefix);
    line(f, "{");
    for (int number = 0; number < f->p->step_count * f->p->graph->items; number++) {
        int i = number % f->p->step_count, item = number / f->p->step_count;
        const struct step *s = f->p->steps[i];
        struct strbuf arguments;

        strbuf_init(&arguments, f->arena);
        for (int k = 0; k < s->text->parameter_count; k++) {
            const struct kernel_parameter *p = &s->text->parameters[k];

            if (p->kind == PARAMETER_BUFFER)
                strbuf_printf(&arguments, ", %s",
                              buffer_name(f, &f->p->buffers[spot_of(p->value)->buffer], item));
            else if (p->kind == PARAMETER_TABLE)
                strbuf_printf(&arguments, ", %s", table_name(f, s));
            else
                strbuf_printf(&arguments, ", %sBuffer",
                              csharp_weights_name(f->arena, prefix, s, p->weights));
        }
        line(f, "    if (first <= %d && count > %d - first) Gpu.Run(nameof(%sLayer%d), %s%s);",
             number, number, prefix, i, buffer_name(f, &f->p->buffers[s->buffer], item),
             arguments.text);
    }
    line(f, "}");
}

static bool has_textures(const struct plan *p)
{
    for (int i = 0; i < p->step_count; i++)
        for (int k = 0; k < p->steps[i]->text->weight_count; k++)
            if (p->steps[i]->text->weights[k]->texture)
                return true;
    return false;
}

/* Whether another assembly may see the class: then C# does not miss an assignment to its public
 * fields. */
static bool is_visible(const struct compile_options *o)
{
    bool visible = !strncmp(o->modifiers, "public", 6);

    for (int i = 0; i < o->outer_count; i++)
        visible = visible && !strncmp(o->outer[i], "public", 6);
    return visible;
}

void csharp_print(struct strbuf *s, const struct compile_options *o, struct plan *p)
{
    struct printer f = {.s = s, .arena = &p->context->arena, .o = o, .p = p};
    bool picks = false, inner = false;

    line(&f, "using Tsukimi;");
    line(&f, "using UnityEngine;");
    blank(&f);
    if (*o->space) {
        line(&f, "namespace %s", o->space);
        line(&f, "{");
        f.indent++;
    }
    for (int i = 0; i < o->outer_count; i++) {
        line(&f, "%s", o->outer[i]);
        line(&f, "{");
        f.indent++;
    }
    if (has_textures(p) && !is_visible(o))
        line(&f, "#pragma warning disable CS0649 // The inspector assigns the textures.");
    line(&f, "%s%spartial %s %s%s", o->modifiers, *o->modifiers ? " " : "", o->keyword,
         o->class_name, o->type_parameters);
    line(&f, "{");
    f.indent++;
    print_edges(&f, false);
    print_edges(&f, true);
    blank(&f);
    for (int i = 0; i < p->storage_count; i++) {
        line(&f, "private GpuBuffer2D %sb%d;", o->prefix, i + 1);
        inner = true;
    }
    inner = print_token_fields(&f) || inner;
    if (inner)
        blank(&f);
    line(&f, "public const int %sSteps = %d;", o->prefix, p->step_count * p->graph->items);
    if (p->graph->items > 1)
        line(&f, "public const int %sItems = %d;", o->prefix, p->graph->items);
    if (p->context->styles > 1)
        line(&f, "public const int %sStyles = %d;", o->prefix, p->context->styles);
    blank(&f);
    print_weight_fields(&f);
    print_load(&f);
    if (p->context->styles > 1)
        print_use(&f);
    print_set_tokens(&f);
    for (int i = 0; i < p->step_count; i++) {
        print_kernel(&f, p->steps[i]);
        picks = picks || p->steps[i]->text->picks;
    }
    if (picks) {
        blank(&f);
        line(&f, "// Component k of a cell.");
        line(&f, "static float %sPick(Color4 p, int k)", o->prefix);
        line(&f, "{");
        line(&f, "    return k == 0 ? p.r : k == 1 ? p.g : k == 2 ? p.b : p.a;");
        line(&f, "}");
    }
    print_run(&f);
    while (f.indent) {
        f.indent--;
        line(&f, "}");
    }
}
