/* Einsum. Source: onnx.ai/onnx/operators, Einsum 12. */
#include "daemon/compiler/operators/einsum.h"
#include "daemon/compiler/operators/arguments.h"
#include "daemon/compiler/operators/rules.h"
#include "daemon/compiler/operators/walk.h"
#include <string.h>

/* Letters are numbered a … z, A … Z; the axes of an ellipsis follow, counted from their last. */
static int letter_index(char letter)
{
    if (letter >= 'a' && letter <= 'z')
        return letter - 'a';
    if (letter >= 'A' && letter <= 'Z')
        return letter - 'A' + 26;
    return -1;
}

/* One term from text on; *text is left behind it. axes < 0: of the output, whose ellipsis stands
 * for all axes that an ellipsis has. */
static bool read_term(struct node *n, struct einsum *e, const char **text, int axes,
                      struct einsum_term *term)
{
    int letters = 0, ellipsis = -1;
    const char *p = *text;

    /* The ellipsis takes what the letters leave, so they are counted first. */
    for (const char *q = p; *q && *q != ',' && *q != '-'; q++)
        letters += letter_index(*q) >= 0;
    term->axes = 0;
    for (; *p && *p != ',' && *p != '-'; p++) {
        if (*p == ' ')
            continue;
        if (strncmp(p, "...", 3) == 0 && ellipsis < 0) {
            ellipsis = axes < 0 ? e->ellipsis : axes - letters;
            for (int i = ellipsis - 1; i >= 0; i--) {
                if (term->axes == MAX_AXES)
                    break;
                term->label[term->axes++] = 52 + i;
            }
            if (axes >= 0 && ellipsis > e->ellipsis)
                e->ellipsis = ellipsis;
            p += 2;
            continue;
        }
        if (letter_index(*p) < 0) {
            infer_fault(n, "its equation has a '%c' where an index is expected", *p);
            return false;
        }
        if (term->axes == MAX_AXES) {
            infer_fault(n, "a term of its equation has more than %d axes", MAX_AXES);
            return false;
        }
        term->label[term->axes++] = letter_index(*p);
    }
    if (axes >= 0 && (term->axes != axes || (ellipsis < 0 && letters != axes))) {
        infer_fault(n, "a term of its equation has %d indices for an operand of %d axes", letters,
                    axes);
        return false;
    }
    *text = p;
    return true;
}

/* Without "->": the ellipsis, then the letters that occur once, A … Z before a … z. */
static void implicit_output(struct einsum *e, const char *equation)
{
    for (int i = e->ellipsis - 1; i >= 0; i--)
        e->output.label[e->output.axes++] = 52 + i;
    for (int letter = 'A'; letter <= 'z'; letter++) {
        int times = 0;

        for (const char *p = equation; *p; p++)
            times += *p == letter;
        if (times == 1 && letter_index((char)letter) >= 0 && e->output.axes < MAX_AXES)
            e->output.label[e->output.axes++] = letter_index((char)letter);
    }
}

bool einsum_read(struct node *n, const struct shape *const *shapes, struct einsum *e)
{
    const char *equation = node_string(n, "equation", ""), *p = equation;
    bool seen[EINSUM_LABELS] = {false};

    memset(e, 0, sizeof *e);
    if (n->input_count > EINSUM_OPERANDS) {
        struct place place = node_place(n);

        diagnose(n->graph->context, &place, TUKI0110, operator_refusal("Einsum")->advice,
                 "it has %d operands; at most %d are supported", n->input_count, EINSUM_OPERANDS);
        node_poison(n);
        return false;
    }
    for (int i = 0; i < EINSUM_LABELS; i++)
        e->extent[i] = 1;
    for (e->operands = 0; e->operands < n->input_count; e->operands++) {
        const struct shape *s = shapes[e->operands];
        struct einsum_term *term = &e->operand[e->operands];

        if (e->operands > 0 && *p++ != ',') {
            infer_fault(n, "its equation '%s' has fewer terms than it has operands", equation);
            return false;
        }
        if (!read_term(n, e, &p, s->axes, term))
            return false;
        for (int i = 0; i < term->axes; i++) {
            int64_t *extent = &e->extent[term->label[i]];

            seen[term->label[i]] = true;
            if (s->dim[i] == 1 || *extent == s->dim[i])
                continue;
            if (*extent != 1 && s->dim[i] >= 0 && *extent >= 0) {
                infer_fault(n, "one index of its equation '%s' has both %lld and %lld elements",
                            equation, (long long)*extent, (long long)s->dim[i]);
                return false;
            }
            if (*extent == 1 || *extent < 0)
                *extent = s->dim[i];
        }
    }
    if (strncmp(p, "->", 2) == 0) {
        p += 2;
        if (!read_term(n, e, &p, -1, &e->output))
            return false;
    } else if (!*p) {
        implicit_output(e, equation);
    }
    if (*p) {
        infer_fault(n, "its equation '%s' does not end after its terms", equation);
        return false;
    }
    for (int i = 0; i < e->output.axes; i++) {
        if (!seen[e->output.label[i]]) {
            infer_fault(n, "the output of its equation '%s' has an index that no operand has",
                        equation);
            return false;
        }
        for (int k = 0; k < i; k++)
            if (e->output.label[k] == e->output.label[i]) {
                infer_fault(n, "the output of its equation '%s' repeats an index", equation);
                return false;
            }
        seen[e->output.label[i]] = false;
    }
    for (int i = 0; i < e->output.axes; i++)
        e->label[e->labels++] = e->output.label[i];
    /* What is left of those seen is summed. */
    for (int i = 0; i < EINSUM_LABELS; i++) {
        if (!seen[i])
            continue;
        if (e->labels == WALK_AXES) {
            infer_fault(n, "its equation has more than %d indices", WALK_AXES);
            return false;
        }
        e->label[e->labels++] = i;
    }
    return true;
}

static void infer_einsum(struct node *n)
{
    const struct shape *shapes[EINSUM_OPERANDS] = {NULL};
    enum element_type type;
    struct einsum e;
    struct shape y;

    if (!infer_common_type(n, 0, n->input_count - 1, &type))
        return;
    for (int i = 0; i < n->input_count && i < EINSUM_OPERANDS; i++) {
        if (!n->inputs[i] || n->inputs[i]->shape.axes < 0) {
            infer_output(n, 0, type, &shape_unknown);
            return;
        }
        shapes[i] = &n->inputs[i]->shape;
    }
    if (!einsum_read(n, shapes, &e))
        return;
    y.axes = e.output.axes;
    for (int i = 0; i < y.axes; i++)
        y.dim[i] = e.extent[e.output.label[i]];
    if (argument_fits(n, &y))
        infer_output(n, 0, type, &y);
}

/* Elements of an operand from one index of each label to the next; a label that occurs twice walks
 * the diagonal. */
static void label_strides(const struct einsum *e, int operand, const struct shape *s,
                          int64_t *stride)
{
    const struct einsum_term *term = &e->operand[operand];
    int64_t own[MAX_AXES];

    walk_strides(s, own);
    for (int i = 0; i < term->axes; i++)
        for (int k = 0; k < e->labels; k++)
            if (e->label[k] == term->label[i] && s->dim[i] != 1)
                stride[k] += own[i];
}

static bool evaluate_einsum(struct node *n, struct tensor *const *in, struct tensor **out,
                            struct arena *arena, struct arena *scratch)
{
    struct context *c = n->graph->context;
    const struct shape *shapes[EINSUM_OPERANDS] = {NULL};
    const double *numbers[EINSUM_OPERANDS] = {NULL};
    const int64_t *integers[EINSUM_OPERANDS] = {NULL};
    int64_t stride[WALK_OPERANDS][WALK_AXES] = {{0}}, inner[WALK_OPERANDS][WALK_AXES] = {{0}};
    int64_t dim[WALK_AXES];
    bool real = type_is_real(n->outputs[0]->type);
    int kept;
    struct walk w, sum;
    struct einsum e;
    void *payload;

    for (int i = 0; i < n->input_count && i < EINSUM_OPERANDS; i++) {
        if (in[i]->type == TYPE_STRING)
            return false;
        shapes[i] = &in[i]->shape;
        real = real || type_is_real(in[i]->type);
    }
    if (!einsum_read(n, shapes, &e))
        return false;
    kept = e.output.axes;
    for (int i = 0; i < e.operands; i++) {
        if (real)
            numbers[i] = tensor_doubles(c, in[i], scratch);
        else
            integers[i] = tensor_integers(c, in[i], scratch);
        label_strides(&e, i, shapes[i], stride[i]);
        memcpy(inner[i], stride[i] + kept, (size_t)(e.labels - kept) * sizeof **inner);
    }
    for (int k = 0; k < e.labels; k++)
        dim[k] = e.extent[e.label[k]];
    out[0] = output_new(n, 0, arena, &payload);
    walk_init(&w, kept, dim, e.operands, (const int64_t(*)[WALK_AXES])stride);
    walk_init(&sum, e.labels - kept, dim + kept, e.operands, (const int64_t(*)[WALK_AXES])inner);
    while (walk_next(&w)) {
        for (int64_t i = 0; i < w.run; i++) {
            struct walk s = sum;
            uint64_t whole = 0;
            double number = 0;

            context_poll(c);
            while (walk_next(&s))
                for (int64_t k = 0; k < s.run; k++) {
                    uint64_t whole_product = 1;
                    double product = 1;

                    for (int o = 0; o < e.operands; o++) {
                        int64_t at = w.at[o] + i * w.step[o] + s.at[o] + k * s.step[o];

                        if (real)
                            product *= numbers[o][at];
                        else
                            whole_product *= (uint64_t)integers[o][at];
                    }
                    number += product;
                    whole += whole_product;
                }
            if (real)
                payload_store(payload, out[0]->type, w.position + i, &number, 1);
            else
                payload_set_integer(payload, out[0]->type, w.position + i, (int64_t)whole);
        }
    }
    return true;
}

const struct operator_functions einsum_functions = {
    .role = ROLE_STEP, .infer = infer_einsum, .evaluate = evaluate_einsum};
