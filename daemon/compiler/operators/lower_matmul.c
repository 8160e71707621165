/*
 * Matrix products. One fetch of four along the sum and four vectors of the second operand give 16
 * multiply-adds. Source: onnx.ai/onnx/operators, MatMul 13 (numpy.matmul).
 */
#include "daemon/compiler/graph/fours.h"
#include "daemon/compiler/operators/lower.h"
#include <inttypes.h>
#include <string.h>

/* Which axes are rows, columns and the sum; -1 where an operand has one axis only. */
struct product {
    int rows_out, columns_out; /* axes of the output */
    int sum_a, rows_a, sum_b, columns_b;
    int64_t sum, columns;
};

static void product_read(const struct node *n, struct product *m)
{
    const struct shape *a = &n->inputs[0]->shape, *b = &n->inputs[1]->shape,
                       *y = &n->outputs[0]->shape;

    m->sum_a = a->axes - 1;
    m->rows_a = a->axes > 1 ? a->axes - 2 : -1;
    m->sum_b = b->axes > 1 ? b->axes - 2 : 0;
    m->columns_b = b->axes > 1 ? b->axes - 1 : -1;
    m->columns_out = b->axes > 1 ? y->axes - 1 : -1;
    m->rows_out = a->axes > 1 ? y->axes - 1 - (b->axes > 1) : -1;
    m->sum = a->dim[m->sum_a];
    m->columns = b->axes > 1 ? b->dim[m->columns_b] : 1;
}

static bool transposes(const struct node *n)
{
    int count;
    const int64_t *perm = node_ints(n, "perm", &count);

    return !perm || (count == 2 && perm[0] == 1 && perm[1] == 0);
}

/* The matrix of which t is the transposed one, if it is and rows of it can be read by themselves:
 * Gemm's usual form. */
static const struct tensor *rows_of(const struct tensor *t)
{
    const struct node *n = t->deferred;

    return n && t->shape.axes == 2 && !strcmp(n->op_type, "Transpose") && n->inputs[0]->constant &&
                   n->inputs[0]->shape.dim[0] == t->shape.dim[1] &&
                   n->inputs[0]->shape.dim[1] == t->shape.dim[0] && transposes(n) &&
                   tensor_has_parts(n->inputs[0]->constant)
               ? n->inputs[0]->constant
               : NULL;
}

/* Rows are batches times column bands; a row is, for each four of the sum, one vector for each of
 * four columns. */
static void fill_second(struct context *c, const struct weights *w, int64_t first, int64_t count,
                        float *entries, struct arena *scratch)
{
    const struct node *n = w->node;
    const struct tensor *rows = rows_of(n->inputs[1]->constant);
    const float *numbers;
    struct product m;

    product_read(n, &m);
    int64_t bands = (m.columns + 3) / 4, from = 4 * first;
    if (rows) {
        int64_t to = from + 4 * count < m.columns ? from + 4 * count : m.columns;
        float *part = NEW_ROOM(scratch, (to - from) * m.sum, float);

        tensor_floats_part(c, rows, from * m.sum, (to - from) * m.sum, part);
        numbers = part;
    } else {
        numbers = tensor_floats(c, n->inputs[1]->constant, scratch);
    }
    /* Sums and columns that do not come in fours leave some of their vectors empty. */
    if (m.sum % 4 || m.columns % 4)
        memset(entries, 0, (size_t)(count * w->columns * 4) * sizeof *entries);
    for (int64_t row = first; row < first + count; row++) {
        float *entry = entries + (row - first) * w->columns * 4;
        int64_t lanes = m.columns - row % bands * 4 < 4 ? m.columns - row % bands * 4 : 4;
        const float *matrix = rows ? numbers + (row * 4 - from) * m.sum
                                   : numbers + row / bands * m.sum * m.columns + row % bands * 4;

        int64_t apart = rows ? m.sum : m.columns, whole = lanes == 4 ? m.sum / 4 * 4 : 0;

        for (int64_t s = 0; s < whole; s += 4) {
            four v[4];

            for (int64_t i = 0; i < 4; i++)
                v[i] = four_load(rows ? matrix + i * apart + s : matrix + (s + i) * apart);
            if (!rows)
                four_transpose(v);
            for (int64_t i = 0; i < 4; i++)
                four_store(entry + s * 4 + i * 4, v[i]);
        }
        for (int64_t j = 0; j < lanes; j++)
            for (int64_t s = whole; s < m.sum; s++)
                entry[(s / 4 * 4 + j) * 4 + s % 4] =
                    rows ? matrix[j * apart + s] : matrix[s * apart + j];
    }
}

/* Element of operand that output element at[] and index sum of the sum meet. */
static void operand_index(struct kernel *k, const struct shape *s, const struct shape *y,
                          const struct index *const *at, const struct product *m, bool first,
                          const struct index *sum, const struct index **out)
{
    int matrix = s->axes > 1 ? 2 : 1,
        batch_y = y->axes - (m->rows_out >= 0) - (m->columns_out >= 0);

    for (int a = 0; a < s->axes - matrix; a++)
        out[a] = s->dim[a] == 1 ? kernel_constant(k, 0) : at[batch_y - (s->axes - matrix) + a];
    out[first ? m->sum_a : m->sum_b] = sum;
    if (first && m->rows_a >= 0)
        out[m->rows_a] = at[m->rows_out];
    if (!first && m->columns_b >= 0)
        out[m->columns_b] = at[m->columns_out];
}

/* The elements of a turn: those of the first cell, then of the others. */
static const struct lanes *group_of(const struct kernel *k, int g)
{
    return g ? &k->more[g - 1].out : &k->out;
}

/* Vectors of weights for the columns of group g, at four of the sum. */
static void read_weights(struct kernel *k, const struct node *n, const struct product *m, int g,
                         struct weights *w, const struct index *sum, const struct index *column,
                         const char *right[4][4])
{
    const struct shape *b = &n->inputs[1]->shape;
    const struct index *row = kernel_constant(k, 0), *source[MAX_AXES];
    int64_t bands = (m->columns + 3) / 4;

    operand_index(k, b, &n->outputs[0]->shape, group_of(k, g)->at[0], m, false, sum, source);
    for (int i = 0; i < b->axes - 2; i++)
        row = index_add(k->pool, index_times(k->pool, row, b->dim[i]), source[i]);
    row = index_add(k->pool, index_times(k->pool, row, bands),
                    index_div(k->pool, source[m->columns_b], 4));
    for (int j = 0; j < group_of(k, g)->count; j++)
        if (j < m->columns)
            kernel_entry(k, w, row, index_plus(k->pool, column, j), "e", right[j]);
}

void lower_matmul(struct kernel *k, const struct node *n)
{
    struct value *a = n->inputs[0], *b = n->inputs[1];
    const struct shape *y = &n->outputs[0]->shape;
    struct index_pool *p = k->pool;
    struct weights *w = NULL;
    struct product m;
    const char *sums[MOST_GROUPS][4], *left[4][4], *right[4][4];
    const struct index *loop, *sum, *column = NULL, *source[MAX_AXES];
    int lanes = k->out.count;

    product_read(n, &m);
    int64_t groups = (m.sum + 3) / 4, bands = (m.columns + 3) / 4;
    int width = m.sum < 4 ? (int)m.sum : 4;
    /* Lanes are four columns of one row, or (where there is one column) four rows, or one element
     * each of four products. */
    bool across = m.columns_out >= 0 &&
                  (lanes == 1 || k->out.at[0][m.columns_out] != k->out.at[1][m.columns_out]);
    bool apart = false;
    for (int i = 0; i < y->axes && !across && lanes > 1; i++)
        apart = apart || (i != m.rows_out && k->out.at[0][i] != k->out.at[1][i]);
    if (b->constant && across)
        w = kernel_weights(k, bands * (b->constant->count / (m.sum * m.columns)), groups * 4,
                           fill_second, shape_text(k->arena, &b->shape));
    if (w)
        w->parts = rows_of(b->constant) != NULL;
    /* Columns beyond the last have no sum: C# warns of a variable that nothing reads. */
    for (int g = 0; g <= k->more_count; g++)
        for (int j = 0; j < lanes && (!across || j < m.columns); j++) {
            sums[g][j] = kernel_name(k, (const char *const[]){"r", "g", "b", "a"}[j]);
            kernel_line(k, "float %s = 0f;", sums[g][j]);
        }
    loop = kernel_loop(k, "group", groups);
    sum = index_times(p, loop, 4);
    for (int j = 0; j < lanes; j++) {
        struct lanes e;

        for (int i = 0; i < 4; i++)
            left[j][i] = "0f";
        operand_index(k, &a->shape, y, k->out.at[across ? 0 : j], &m, true, sum, source);
        if (j && across) {
            memcpy(left[j], left[0], sizeof left[0]);
            continue;
        }
        e = lanes_along(k, source, a->shape.axes, m.sum_a, width);
        kernel_read(k, a, &e, m.sum % 4 && m.sum > 4 ? m.sum_a : -1, left[j]);
        /* Each meets every column: computed once. */
        for (int i = 0; across && lanes > 1 && i < width; i++)
            left[j][i] = kernel_local(k, "v", left[j][i]);
    }
    if (w)
        column = kernel_bind(k, "k", index_times(p, loop, 4));
    for (int g = 0; g <= k->more_count; g++) {
        const struct lanes *out = group_of(k, g);

        if (w)
            read_weights(k, n, &m, g, w, sum, column, right);
        for (int i = 0; i < width && !w; i++) {
            struct lanes e = {.count = across || apart ? lanes : 1};
            const char *row[4];

            for (int j = 0; j < e.count; j++)
                operand_index(k, &b->shape, y, out->at[j], &m, false, index_plus(p, sum, i),
                              e.at[j]);
            kernel_read(k, b, &e, -1, row);
            if (!across && lanes > 1)
                row[0] = kernel_local(k, "v", row[0]);
            for (int j = 0; j < lanes; j++)
                right[j][i] = row[e.count > 1 ? j : 0];
        }
        for (int j = 0; j < lanes; j++) {
            struct strbuf s;

            strbuf_init(&s, k->arena);
            if (across && j >= m.columns)
                continue;
            for (int i = 0; i < width; i++)
                if (strcmp(left[j][i], "0f"))
                    strbuf_printf(&s,
                                  text_is_atom(left[j][i]) && text_is_atom(right[j][i])
                                      ? "%s%s * %s"
                                      : "%s(%s) * (%s)",
                                  s.length ? " + " : "", left[j][i], right[j][i]);
            if (s.length)
                kernel_line(k, "%s += %s;", sums[g][j], s.text);
        }
    }
    kernel_end_loop(k, groups);
    for (int g = 0; g <= k->more_count; g++)
        for (int j = 0; j < 4; j++)
            *(g ? &k->more[g - 1].lane[j] : &k->lane[j]) =
                j < lanes && (!across || j < m.columns) ? sums[g][j] : "0f";
}

/* Cells along the columns share what is fetched of a row. */
bool widens_matmul(const struct node *n)
{
    struct product m;

    product_read(n, &m);
    return m.columns_out >= 0 && m.columns > 4;
}

int packed_matmul(const struct node *n, int input)
{
    struct product m;

    product_read(n, &m);
    if (input < 0) {
        if (m.columns_out >= 0 && (m.columns > 1 || m.rows_out < 0))
            return m.columns_out;
        return m.rows_out;
    }
    /* Either axis of a computed second operand makes four fetches of sixteen elements. */
    return input == 0 ? m.sum_a : -1;
}

int64_t reuse_matmul(const struct node *n, int input)
{
    struct product m;
    const struct shape *y = &n->outputs[0]->shape;

    product_read(n, &m);
    if (input == 0)
        return (m.columns + 3) / 4;
    return m.rows_out >= 0 ? y->dim[m.rows_out] : 1;
}
