/* A kernel from its first line to its return. */
#include "daemon/compiler/gpu/kernel_inside.h"
#include "daemon/compiler/operators/operator.h"
#include <inttypes.h>
#include <math.h>
#include <string.h>

/* pool NULL: one of its own. */
static void kernel_init(struct kernel_state *s, struct plan *p, struct step *step,
                        struct arena *arena, struct index_pool *pool)
{
    struct kernel *k = &s->k;

    memset(s, 0, sizeof *s);
    k->context = p->context;
    k->arena = arena;
    k->pool = pool ? pool : index_pool_new(arena);
    k->plan = p;
    k->step = step;
    strbuf_init(&k->body, k->arena);
    k->indent = 2;
    declare_name(k, "id.x");
    declare_name(k, "id.y");
    /* Those of parameters. */
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
    k->cell.count = 1;
    if (l->packed >= 0) {
        *group = index_div(k->pool, x, l->length_x);
        if (l->groups > 1)
            *group = kernel_bind(k, "band", *group);
        /* The last row of a folded texture may have cells behind the last band. */
        *group = index_clamp(k->pool, *group, 0, l->groups - 1);
        *group = kernel_bind(k, "band", *group);
        at[l->packed] = index_times(k->pool, *group, 4);
        k->cell.count = s->dim[l->packed] < 4 ? (int)s->dim[l->packed] : 4;
    }
    k->cell = lanes_along(k, at, s->axes, l->packed, k->cell.count);
}

/* text within lo … hi, either of which may be infinite. */
static const char *limited(struct kernel *k, const char *text, double lo, double hi)
{
    if (isfinite(lo) && isfinite(hi))
        return kernel_text(k, "Mathf.Clamp(%s, %s, %s)", text, kernel_number(k, lo),
                           kernel_number(k, hi));
    if (isfinite(lo))
        return kernel_text(k, "Mathf.Max(%s, %s)", text, kernel_number(k, lo));
    if (isfinite(hi))
        return kernel_text(k, "Mathf.Min(%s, %s)", text, kernel_number(k, hi));
    return text;
}

/* Weights outlive the kernel that asked for them. */
static struct weights *weights_keep(struct arena *a, const struct weights *w)
{
    struct weights *kept = arena_memdup(a, w, sizeof *w);

    kept->about = w->about ? arena_strdup(a, w->about) : NULL;
    if (w->numbers)
        kept->numbers = arena_memdup(a, w->numbers, (size_t)w->columns * sizeof *w->numbers);
    return kept;
}

static struct kernel_text *kernel_keep(struct arena *a, const struct kernel_state *state)
{
    const struct kernel *k = &state->k;
    struct kernel_text *text = NEW(a, struct kernel_text);
    int count = k->parameter_count + (state->table_entries > 0);

    text->body = arena_strdup(a, k->body.text);
    text->weights = NEW_ARRAY(a, k->weight_count + 1, struct weights *);
    text->weight_count = k->weight_count;
    for (int i = 0; i < k->weight_count; i++) {
        text->weights[i] = weights_keep(a, k->weights[i]);
        count += k->weights[i]->texture;
    }
    text->picks = k->picks;
    text->table_entries = state->table_entries;
    text->parameters = NEW_ARRAY(a, count + 1, struct kernel_parameter);
    for (int i = 0; i < k->parameter_count; i++)
        text->parameters[text->parameter_count++] =
            (struct kernel_parameter){.kind = PARAMETER_BUFFER,
                                      .value = k->parameters[i],
                                      .name = i ? arena_printf(a, "prev%d", i) : "prev"};
    for (int i = 0; i < k->weight_count; i++) {
        struct weights *w = text->weights[i];

        if (w->texture)
            text->parameters[text->parameter_count++] = (struct kernel_parameter){
                .kind = PARAMETER_TEXTURE,
                .weights = w,
                .name = w->offset ? arena_printf(a, "w%" PRId64, w->offset) : "w"};
    }
    if (state->table_entries)
        text->parameters[text->parameter_count++] = (struct kernel_parameter){
            .kind = PARAMETER_TABLE, .name = "t", .entries = state->table_entries};
    return text;
}

struct kernel_text *kernel_write(struct plan *p, struct step *step)
{
    struct arena *scratch = arena_child(&p->context->arena);
    struct kernel_state *state = NEW(scratch, struct kernel_state);
    struct kernel *k = &state->k;
    struct kernel_text *text;
    struct value *v = step->value;
    const struct layout *l = &step->layout;
    const struct shape *s = &step->value->shape;
    const struct spot *spot = spot_of(v);
    const struct index *group;
    const char *lanes[4] = {0};
    struct lanes cell;
    double most = step->limited ? 65504 : INFINITY, lo, hi, a, b;
    bool computes = !step->copies;
    int exponent = step->copies ? 0 : spot->exponent;

    kernel_init(state, p, step, scratch, NULL);
    kernel_cell(k, l, s, &group);
    if (step->root) {
        const struct operator_functions *f = step->root->op->functions;
        struct lanes groups[MOST_GROUPS];
        int count = region_lanes(k, step, &k->cell, l->packed,
                                 f->packed ? f->packed(step->root, -1) : -1, groups);

        if (!count)
            BUG(k->context, "%s is made of elements that its step does not compute", v->name);
        k->out = groups[0];
        while (k->more_count < count - 1) {
            k->more[k->more_count].out = groups[k->more_count + 1];
            k->more_count++;
        }
        f->lower(k, step->root);
        k->lowered = true;
    }
    cell = k->cell;
    /* A last Relu or Clip and the limit of 16 bits are one clamp. */
    lo = -ldexp(most, exponent);
    hi = ldexp(most, exponent);
    while (!step->copies && v->producer->op->functions->clamp &&
           v->producer->op->functions->clamp(v->producer, &a, &b)) {
        lo = fmax(fmin(a, hi), lo);
        hi = fmax(fmin(b, hi), lo);
        struct value *operand = v->producer->inputs[0];
        struct lanes e = {.count = cell.count};

        /* As the operator itself would read it: an axis of one element has no others. */
        for (int j = 0; j < e.count; j++)
            broadcast_index(k, &operand->shape, &v->shape, cell.at[j], e.at[j]);
        cell = e;
        v = operand;
        computes = false;
        if (v->constant || spot_of(v)->placement == PLACED_BUFFER || !v->producer)
            break;
    }
    lo = ldexp(lo, -exponent);
    hi = ldexp(hi, -exponent);
    if (computes)
        compute_value(k, v, &cell, lanes);
    else
        read_value(k, v, &cell, lanes);
    for (int j = 0; j < 4; j++) {
        int64_t extent = l->packed < 0 ? 1 : s->dim[l->packed];

        if (j >= k->cell.count || (l->groups == 1 && j >= extent)) {
            lanes[j] = "0f";
            continue;
        }
        if (exponent) {
            const char *one[] = {lanes[j]};

            lanes[j] = kernel_format(
                k, kernel_text(k, "{0} * %s", kernel_number(k, ldexp(1, -exponent))), one);
        }
        lanes[j] = limited(k, lanes[j], lo, hi);
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

    text = kernel_keep(&p->context->arena, state);
    arena_free(scratch);
    return text;
}

int64_t kernel_cost(struct kernel *planning, struct value *v, const struct lanes *e)
{
    struct kernel_state written;
    const char *out[4];

    kernel_init(&written, planning->plan, NULL, planning->text, planning->pool);
    written.k.counts = true;
    read_value(&written.k, v, e, out);
    arena_rewind(planning->text, (struct arena_mark){0});
    return written.k.fetches;
}

struct kernel *kernel_planning(struct plan *p)
{
    struct kernel_state *s = NEW(&p->context->arena, struct kernel_state);

    kernel_init(s, p, NULL, arena_child(&p->context->arena), NULL);
    s->k.text = arena_child(&p->context->arena);
    return &s->k;
}

void kernel_forget(struct kernel *planning)
{
    struct arena *arena = planning->arena, *text = planning->text;

    arena_rewind(arena, (struct arena_mark){0});
    kernel_init(state_of(planning), planning->plan, NULL, arena, NULL);
    planning->text = text;
}

void kernel_planning_free(struct kernel *planning)
{
    arena_free(planning->text);
    arena_free(planning->arena);
}
