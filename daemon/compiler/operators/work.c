#include "daemon/compiler/operators/work.h"
#include <inttypes.h>
#include <math.h>
#include <string.h>

/* A model of no bytes may spend these, which is seconds … */
static const double least_steps = 8e9;
/* … as many elements as 512 rows of 16384 cells hold … */
static const int64_t least_elements = INT64_C(1) << 25;
static const size_t least_bytes = (size_t)3 << 28;
/* … and for each byte of its files more: weights of 4 bits are two elements a byte, each of which
 * passes through some operators, some of them more than once. */
enum { STEPS_A_BYTE = 1024, ELEMENTS_A_BYTE = 4, BYTES_A_BYTE = 64 };

/* ---- what operators cost beyond their elements ---- */

static double elements(const struct value *v)
{
    return v && shape_known(&v->shape) ? (double)shape_count(&v->shape) : 0;
}

static double extent(const struct node *n, int input, int axis)
{
    const struct value *v = node_input(n, input);

    if (!v || v->shape.axes < 1)
        return 1;
    axis = axis < 0 ? axis + v->shape.axes : axis;
    return axis >= 0 && axis < v->shape.axes ? (double)v->shape.dim[axis] : 1;
}

static double result(const struct node *n)
{
    double most = 0;

    for (int i = 0; i < n->output_count; i++)
        most = fmax(most, elements(n->outputs[i]));
    return most;
}

static double of_matmul(const struct node *n)
{
    return result(n) * extent(n, 0, -1);
}

static double of_gemm(const struct node *n)
{
    return result(n) * extent(n, 0, node_int(n, "transA", 0) ? 0 : 1);
}

static double of_det(const struct node *n)
{
    return elements(n->inputs[0]) * extent(n, 0, -1);
}

/* The weights that make one element of the result. */
static double of_conv(const struct node *n)
{
    int weights = !strcmp(n->op_type, "QLinearConv") ? 3 : 1;

    return result(n) * elements(node_input(n, weights)) / fmax(extent(n, weights, 0), 1);
}

static double of_deform_conv(const struct node *n)
{
    return 20 * of_conv(n);
}

/* The weights that one element of the input goes through. */
static double of_conv_transpose(const struct node *n)
{
    return elements(n->inputs[0]) * elements(n->inputs[1]) / fmax(extent(n, 1, 0), 1);
}

static double of_pool(const struct node *n)
{
    int count;
    const int64_t *kernel = node_ints(n, "kernel_shape", &count);
    double taps = 1;

    for (int i = 0; i < count; i++)
        taps *= (double)kernel[i];
    return 2 * taps * (result(n) + 1);
}

static double of_lrn(const struct node *n)
{
    return result(n) * fmin((double)node_int(n, "size", 1), extent(n, 0, 1));
}

/* Each letter once. */
static double of_einsum(const struct node *n)
{
    const char *equation = node_string(n, "equation", "");
    double dim[256], all = 4.0 * n->input_count;
    int slot = 0, axis = 0;

    for (int i = 0; i < 256; i++)
        dim[i] = 1;
    for (const char *at = equation; *at && *at != '-' && slot < n->input_count; at++) {
        if (*at == ',') {
            slot++;
            axis = 0;
        } else if (*at == '.') {
            /* what stands for several axes is in the result, with all of them */
            at += at[1] == '.' && at[2] == '.' ? 2 : 0;
            const struct value *v = n->inputs[slot];
            int letters = 0;

            for (const char *s = at + 1; *s && *s != ',' && *s != '-'; s++)
                letters += *s != ' ';
            while (v && axis < v->shape.axes - letters)
                dim['.'] *= extent(n, slot, axis++);
        } else if (*at != ' ') {
            unsigned char letter = (unsigned char)*at;

            dim[letter] = fmax(dim[letter], extent(n, slot, axis++));
        }
    }
    for (int i = 0; i < 256; i++)
        all *= dim[i];
    return all;
}

/* A sum over the whole line for each element. */
static double of_dft(const struct node *n)
{
    const struct value *x = n->inputs[0], *y = n->outputs[0];
    double longest = 1;

    for (int i = 0; i < x->shape.axes - 1; i++)
        longest =
            fmax(longest, y && y->shape.axes == x->shape.axes && y->shape.dim[i] > x->shape.dim[i]
                              ? (double)y->shape.dim[i]
                              : (double)x->shape.dim[i]);
    return 8 * result(n) * longest;
}

static double of_stft(const struct node *n)
{
    double frame = 2 * extent(n, 0, 1);

    /* [batch, frames, bins, 2] */
    if (n->outputs[0] && n->outputs[0]->shape.axes == 4)
        frame = fmin(frame, 2.0 * (double)n->outputs[0]->shape.dim[2]);
    return 8 * result(n) * frame;
}

static double of_recurrent(const struct node *n)
{
    const struct value *x = n->inputs[0];
    double steps = x->shape.axes == 3 ? extent(n, 0, 0) * extent(n, 0, 1) : 1;

    return steps * (elements(n->inputs[1]) + elements(n->inputs[2]));
}

/* Each query with each key, and each weight with each value. */
static double of_attention(const struct node *n)
{
    double keys = elements(n->inputs[1]) + elements(node_input(n, 4));

    /* of one head, at most all */
    return 2 * elements(n->inputs[0]) * keys / fmax(extent(n, 1, -1), 1) +
           elements(node_input(n, 3)) * 4;
}

static double of_resize(const struct node *n)
{
    double taps = 4, all = 0, now = elements(n->inputs[0]);
    bool wide = node_int(n, "antialias", 0) != 0;

    if (!strcmp(node_string(n, "mode", "nearest"), "nearest") || !n->outputs[0])
        return 0;
    for (int a = 0; a < n->inputs[0]->shape.axes && a < n->outputs[0]->shape.axes; a++) {
        double from = fmax((double)n->inputs[0]->shape.dim[a], 1);
        double to = (double)n->outputs[0]->shape.dim[a];

        if (from == to)
            continue;
        now = now / from * to;
        all += now * taps * (wide ? fmax(from / fmax(to, 1), 1) : 1);
    }
    return 2 * all;
}

static double of_grid_sample(const struct node *n)
{
    bool cubic = strstr(node_string(n, "mode", "linear"), "cubic") != NULL;

    return result(n) * 10 * pow(cubic ? 4 : 2, extent(n, 1, -1));
}

static double of_roi_align(const struct node *n)
{
    double ratio = (double)node_int(n, "sampling_ratio", 0);
    double plane = extent(n, 0, 2) * extent(n, 0, 3);

    return 20 * (ratio > 0 ? result(n) * ratio * ratio
                           : result(n) + extent(n, 1, 0) * extent(n, 0, 1) * plane);
}

static double of_max_roi_pool(const struct node *n)
{
    /* windows overlap by at most a row on each side */
    return 4 * (4 * result(n) + extent(n, 1, 0) * elements(n->inputs[0]));
}

static double of_sorting(const struct node *n)
{
    return 4 * elements(n->inputs[0]) * log2(elements(n->inputs[0]) + 2);
}

static const struct {
    const char *op;
    double (*work)(const struct node *n);
} costly[] = {
    {"MatMul", of_matmul},
    {"MatMulInteger", of_matmul},
    {"QLinearMatMul", of_matmul},
    {"Gemm", of_gemm},
    {"Det", of_det},
    {"Einsum", of_einsum},
    {"Conv", of_conv},
    {"ConvInteger", of_conv},
    {"QLinearConv", of_conv},
    {"DeformConv", of_deform_conv},
    {"ConvTranspose", of_conv_transpose},
    {"AveragePool", of_pool},
    {"LpPool", of_pool},
    {"MaxPool", of_pool},
    {"LRN", of_lrn},
    {"DFT", of_dft},
    {"STFT", of_stft},
    {"LSTM", of_recurrent},
    {"GRU", of_recurrent},
    {"RNN", of_recurrent},
    {"Attention", of_attention},
    {"Resize", of_resize},
    {"Upsample", of_resize},
    {"GridSample", of_grid_sample},
    {"RoiAlign", of_roi_align},
    {"MaxRoiPool", of_max_roi_pool},
    {"TopK", of_sorting},
    {"Unique", of_sorting},
};

double work_of(const struct node *n)
{
    double steps = 0;

    for (int i = 0; i < n->input_count; i++)
        if (n->inputs[i] && !(i == 0 && infer_shape_only(n)))
            steps += WORK_ELEMENT * elements(n->inputs[i]);
    for (int i = 0; i < n->output_count; i++)
        if (n->outputs[i])
            /* memory that is new costs as much as the work */
            steps += 2 * WORK_ELEMENT * elements(n->outputs[i]);
    for (size_t i = 0; !*n->domain && i < sizeof costly / sizeof *costly; i++)
        if (!strcmp(costly[i].op, n->op_type))
            steps += costly[i].work(n);
    return steps;
}

/* ---- what may be spent ---- */

static double allowed(const struct context *c, double least, int a_byte)
{
    return least + (double)c->constants.file_bytes * a_byte;
}

static const char *size_text(struct arena *a, double bytes)
{
    static const char *const units[] = {"bytes", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    size_t unit = 0;

    while (bytes >= 1024 && unit + 1 < sizeof units / sizeof *units) {
        bytes /= 1024;
        unit++;
    }
    return arena_printf(a, "%.*f %s", unit && bytes < 10 ? 1 : 0, bytes, units[unit]);
}

/* "its result, a constant of shape [2, 3] (24 bytes)" */
static const char *subject(const struct node *n)
{
    struct arena *a = &n->graph->context->arena;
    const struct value *most = NULL;
    int64_t bytes;

    for (int i = 0; i < n->output_count; i++)
        if (n->outputs[i] && elements(n->outputs[i]) >= elements(most))
            most = n->outputs[i];
    if (!most || !shape_known(&most->shape))
        return "its result";
    if ((bytes = tensor_payload(most->type, shape_count(&most->shape))) < 0)
        return arena_printf(a, "its result, a constant of shape %s,", shape_text(a, &most->shape));
    return arena_printf(a, "its result, a constant of shape %s (%s),", shape_text(a, &most->shape),
                        size_text(a, (double)bytes));
}

/* about: NULL, its result */
_Noreturn static void refuse(struct node *n, const char *about, const char *what)
{
    struct context *c = n->graph->context;
    struct place place = node_place(n);

    /* What is reported has to be held too. */
    c->limit = (struct arena_limit){0};
    diagnose(c, &place, TUKI0110,
             "Compute it before the export and store it as an initializer, or make it smaller",
             "%s %s", about ? about : subject(n), what);
    context_escape(c, ESCAPE_REFUSED, "%s takes more than constants may take", n->op_type);
}

_Noreturn static void do_again(struct context *c)
{
    context_escape(c, ESCAPE_AGAIN, "the cache's rows may stand for more than may be spent");
}

static void spend(struct node *n, const char *about, double steps)
{
    struct context *c = n->graph->context;
    double most = allowed(c, least_steps, STEPS_A_BYTE);

    context_poll(c);
    if (c->constants.steps + c->constants.saved + steps <= most || c->constants.exempt)
        c->constants.steps += steps;
    else if (c->constants.saved > 0)
        do_again(c);
    else
        refuse(
            n, about,
            arena_printf(
                &c->arena,
                "takes %s %.2g steps to compute beforehand, and no more are spent on a file of %s",
                steps > most ? "more than" : "with what was computed before it more than", most,
                size_text(&c->arena, (double)c->constants.file_bytes)));
}

void work_spend(struct node *n, double steps)
{
    spend(n, NULL, steps);
}

void work_saved(struct context *c, double steps, double elements)
{
    if (c->constants.exempt)
        return;
    c->constants.saved += steps + WORK_ELEMENT * elements;
    c->constants.written += elements;
    if (c->constants.steps + c->constants.saved > allowed(c, least_steps, STEPS_A_BYTE) ||
        c->constants.written > allowed(c, (double)least_elements, ELEMENTS_A_BYTE))
        do_again(c);
}

void work_saved_constant(struct context *c, const struct tensor *t)
{
    struct node **list = NULL;
    struct arena *scratch;
    int count = 0, room = 0;
    double steps = 0;

    if (!t->deferred || t->deferred->saved)
        return;
    scratch = arena_child(&c->arena);
    t->deferred->saved = true;
    APPEND(scratch, list, count, room) = t->deferred;
    for (int next = 0; next < count; next++) {
        const struct node *n = list[next];

        steps += work_of(n);
        for (int i = 0; i < n->input_count; i++) {
            const struct value *v = n->inputs[i];
            struct node *maker = v && v->constant ? v->constant->deferred : NULL;

            if (!maker || maker->saved)
                continue;
            maker->saved = true;
            APPEND(scratch, list, count, room) = maker;
        }
    }
    arena_free(scratch);
    work_saved(c, steps * c->styles, 0);
}

void work_table(struct node *n, int64_t entries)
{
    /* each is looked at for what it has in common with the others, computed and held, more than
     * once; few are no matter */
    if (entries > 1 << 16)
        spend(n,
              arena_printf(&n->graph->context->arena,
                           "the table of %" PRId64 " entries in which a kernel finds where its "
                           "elements come from",
                           entries),
              64.0 * (double)entries);
}

void work_write(struct node *n, int64_t count)
{
    struct context *c = n->graph->context;
    int64_t most = (int64_t)allowed(c, (double)least_elements, ELEMENTS_A_BYTE);

    if (c->constants.written + (double)count > (double)most)
        refuse(n, NULL,
               arena_printf(&c->arena,
                            "goes into an asset, and no more than %" PRId64
                            " elements are written of what a file of %s computes beforehand",
                            most, size_text(&c->arena, (double)c->constants.file_bytes)));
    c->constants.written += (double)count;
    /* It is computed once more then, when all was reported. */
    work_spend(n, WORK_ELEMENT * (double)count);
}

/* The arena's call when what n is computed in grows too large. */
static void too_much_memory(struct context *c, void *node)
{
    size_t most = c->limit.most - c->limit.before;

    refuse(node, NULL,
           arena_printf(&c->arena, "takes more than %s of memory to compute beforehand",
                        size_text(&c->arena, (double)most)));
}

struct node *work_open(struct node *n)
{
    struct context *c = n->graph->context;
    struct node *outer = c->limit.subject;

    if (!outer && !c->constants.exempt) {
        size_t before = c->held > c->constants.kept ? c->held - c->constants.kept : 0;

        c->limit = (struct arena_limit){
            .before = before,
            .most = before + (size_t)allowed(c, (double)least_bytes, BYTES_A_BYTE),
            .passed = too_much_memory,
        };
    }
    c->limit.subject = n;
    return outer;
}

struct node *work_begin(struct node *n, const struct node *reader, double steps)
{
    struct context *c = n->graph->context;
    int64_t most = (int64_t)allowed(c, (double)least_elements, ELEMENTS_A_BYTE);

    for (int i = 0; i < n->output_count && !c->constants.exempt; i++)
        if (n->outputs[i] && elements(n->outputs[i]) > (double)most)
            refuse(
                n, NULL,
                arena_printf(
                    &c->arena,
                    "is needed as a whole%s, and more than %" PRId64
                    " elements are not computed beforehand for a file of %s",
                    reader ? arena_printf(&c->arena, " by %s", node_title(reader, &c->arena)) : "",
                    most, size_text(&c->arena, (double)c->constants.file_bytes)));
    work_spend(n, steps);
    return work_open(n);
}

void work_end(struct node *n, struct node *outer)
{
    struct context *c = n->graph->context;

    c->limit.subject = outer;
    if (!outer)
        c->limit = (struct arena_limit){0};
}
