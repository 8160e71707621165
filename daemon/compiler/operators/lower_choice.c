/*
 * Where along an axis the greatest or least element is: ArgMax and ArgMin, and the Choice that
 * Hardmax becomes. Source: onnx.ai/onnx/operators, ArgMax 13.
 */
#include "daemon/compiler/operators/lower.h"
#include <inttypes.h>
#include <string.h>

struct choice {
    struct value *x;
    int axis;
    bool least, last;
};

static void choice_read(const struct node *n, struct choice *c)
{
    c->x = n->inputs[0];
    c->axis = shape_axis(&c->x->shape, node_int(n, "axis", 0));
    c->least = !strcmp(n->op->name, "ArgMin");
    c->last = node_int(n, "select_last_index", 0);
}

/* best and place as they are after one more element. */
static void consider(struct kernel *k, const struct choice *c, const char *best, const char *place,
                     const char *text, const struct index *at)
{
    const char *v = kernel_local(k, "v", text);
    struct strbuf number;

    strbuf_init(&number, k->arena);
    index_print(&number, at, true);
    kernel_line(k, "%s = %s %s %s ? (float)%s : %s;", place, v,
                c->least  ? c->last ? "<=" : "<"
                : c->last ? ">="
                          : ">",
                best, number.text, place);
    kernel_line(k, "%s = Mathf.%s(%s, %s);", best, c->least ? "Min" : "Max", best, v);
}

/* One row after the other, four elements of it at a time. */
static void choose_along(struct kernel *k, const struct choice *c, const struct index *const *start,
                         const char *best, const char *place)
{
    const struct shape *s = &c->x->shape;
    int64_t whole = s->dim[c->axis] / 4;
    int rest = (int)(s->dim[c->axis] % 4);
    const struct index *at[MAX_AXES];
    const char *texts[4];

    memcpy(at, start, (size_t)s->axes * sizeof *at);
    for (int part = 0; part < 2; part++) {
        int count = part ? rest : 4;
        const struct index *group;

        if (part ? !rest : !whole)
            continue;
        group = part ? kernel_constant(k, whole) : kernel_loop(k, "q", whole);
        at[c->axis] = index_times(k->pool, group, 4);
        struct lanes e = lanes_along(k, at, s->axes, c->axis, count);
        kernel_read(k, c->x, &e, -1, texts);
        for (int i = 0; i < count; i++)
            consider(k, c, best, place, texts[i], e.at[i][c->axis]);
        if (!part)
            kernel_end_loop(k, whole);
    }
}

/* All rows side by side, one element of each at a time. */
static void choose_beside(struct kernel *k, const struct choice *c, const struct lanes *starts,
                          const char *const *best, const char *const *place)
{
    int64_t extent = c->x->shape.dim[c->axis];
    const struct index *i = kernel_loop(k, "j", extent);
    struct lanes e = *starts;
    const char *texts[4];

    for (int j = 0; j < e.count; j++)
        e.at[j][c->axis] = i;
    kernel_read(k, c->x, &e, -1, texts);
    for (int j = 0; j < e.count; j++)
        consider(k, c, best[j], place[j], texts[j], i);
    kernel_end_loop(k, extent);
}

static void declare(struct kernel *k, const struct choice *c, const char **best, const char **place)
{
    *best = kernel_name(k, c->least ? "least" : "most");
    *place = kernel_name(k, "place");
    kernel_line(k, "float %s = %s;", *best, c->least ? "3.4e38f" : "-3.4e38f");
    kernel_line(k, "float %s = 0f;", *place);
}

void lower_choice(struct kernel *k, const struct node *n)
{
    struct choice c;
    struct lanes starts = {.count = k->out.count};
    const char *best[4], *place[4];
    bool keeps = node_int(n, "keepdims", 1);
    int beside = -1;

    choice_read(n, &c);
    for (int j = 0; j < starts.count; j++) {
        for (int a = 0, next = 0; a < c.x->shape.axes; a++) {
            starts.at[j][a] = a == c.axis ? kernel_constant(k, 0) : k->out.at[j][next];
            next += keeps || a != c.axis;
        }
        declare(k, &c, &best[j], &place[j]);
    }
    for (int a = 0; a < c.x->shape.axes && beside < 0; a++)
        for (int j = 1; j < starts.count && beside < 0; j++)
            if (starts.at[j][a] != starts.at[0][a])
                beside = a;
    if (beside >= 0 && is_cheaper_beside(k, c.x, beside, c.axis)) {
        choose_beside(k, &c, &starts, best, place);
    } else {
        for (int j = 0; j < starts.count; j++)
            choose_along(k, &c, starts.at[j], best[j], place[j]);
    }
    for (int j = 0; j < 4; j++)
        k->lane[j] = j < starts.count ? place[j] : "0f";
}

/* The place as two digits to the base 2048, which 16 bits hold: in one cell. */
void lower_choice_statistics(struct kernel *k, const struct node *n)
{
    struct choice c;
    const struct index *start[MAX_AXES];
    const char *best, *place;

    choice_read(n, &c);
    memcpy(start, k->out.at[0], (size_t)c.x->shape.axes * sizeof *start);
    start[c.axis] = kernel_constant(k, 0);
    declare(k, &c, &best, &place);
    choose_along(k, &c, start, best, place);
    k->lane[1] = kernel_local(k, "high", kernel_text(k, "Mathf.Floor(%s * 0.00048828125f)", place));
    k->lane[0] = kernel_text(k, "%s - %s * 2048f", place, k->lane[1]);
    k->lane[2] = k->lane[3] = "0f";
}

int packed_choice(const struct node *n, int input)
{
    struct choice c;

    if (input)
        return -1;
    choice_read(n, &c);
    return c.x->shape.axes >= 3 && c.axis != 1 && c.x->shape.dim[1] > 1 ? 1 : c.axis;
}

int packed_choice_statistics(const struct node *n, int input)
{
    return input < 0 ? n->outputs[0]->shape.axes - 1 : (int)node_int(n, "axis", 0);
}
