#include "daemon/compiler/operators/types.h"
#include <string.h>

/* The table's words: bits by type. */
#define BIT(type) (1u << TYPE_##type)
#define BOOL BIT(BOOL)
#define STRING BIT(STRING)
#define INT8 BIT(INT8)
#define UINT8 BIT(UINT8)
#define INT16 BIT(INT16)
#define INT32 BIT(INT32)
#define INT64 BIT(INT64)
#define FLOAT16 BIT(FLOAT16)
#define FLOAT32 BIT(FLOAT32)
#define FLOAT64 BIT(FLOAT64)
#define BFLOAT16 BIT(BFLOAT16)
#define FLOAT4E2M1 BIT(FLOAT4E2M1)
#define FLOAT8E8M0 BIT(FLOAT8E8M0)
#define BYTES (INT8 | UINT8)
#define SHORTS (INT16 | BIT(UINT16))
#define INT32_64 (INT32 | INT64)
#define UINT32_64 (BIT(UINT32) | BIT(UINT64))
#define SIGNED (INT8 | INT16 | INT32_64)
#define UNSIGNED (UINT8 | BIT(UINT16) | UINT32_64)
#define INTEGERS (SIGNED | UNSIGNED)
#define FLOATS (FLOAT16 | FLOAT32 | FLOAT64)
#define COMPLEX (BIT(COMPLEX64) | BIT(COMPLEX128))
#define FLOAT8 (BIT(FLOAT8E4M3FN) | BIT(FLOAT8E4M3FNUZ) | BIT(FLOAT8E5M2) | BIT(FLOAT8E5M2FNUZ))
#define NIBBLES (BIT(INT4) | BIT(UINT4))
#define CRUMBS (BIT(INT2) | BIT(UINT2))

static const struct row {
    const char *op;
    const char *slots;
    unsigned types;
    int since, until;
} rows[] = {
#define INPUT_TYPE(op, slots, types, since, until) {#op, slots, types, since, until},
#include "daemon/compiler/operators/types.def"
#undef INPUT_TYPE
};
enum { ROW_COUNT = sizeof rows / sizeof *rows, LISTED = 4 };

/* The first row of op, or of what would stand behind it. */
static int first_row(const char *op)
{
    int from = 0, to = ROW_COUNT;

    while (from < to) {
        int middle = from + (to - from) / 2;

        if (strcmp(rows[middle].op, op) < 0)
            from = middle + 1;
        else
            to = middle;
    }
    return from;
}

static bool takes(unsigned types, enum element_type type)
{
    return types >> type & 1;
}

/* The k-th slot of row that n has; -1 behind the last one. */
static int slot_of(const struct row *row, const struct node *n, int k)
{
    int length = (int)strspn(row->slots, "0123456789");
    int slot = k < length ? row->slots[k] - '0' : row->slots[length - 1] - '0' + k - length + 1;

    return (k < length || row->slots[length]) && slot < n->input_count ? slot : -1;
}

/* "int32 or int64"; "" where that would be long. */
static const char *types_text(struct arena *a, unsigned types)
{
    struct strbuf text;
    int count = 0, at = 0;

    strbuf_init(&text, a);
    for (int t = 0; t < 32; t++)
        count += takes(types, (enum element_type)t);
    for (int t = 0; t < 32 && count <= LISTED; t++)
        if (takes(types, (enum element_type)t))
            strbuf_printf(&text, "%s%s",
                          at++ == 0     ? ""
                          : at == count ? " or "
                                        : ", ",
                          type_name((enum element_type)t));
    return text.length ? text.text : "";
}

static int newest(const struct row *row)
{
    return row->until ? row->until : INT32_MAX;
}

/* The opset nearest to n's at which slot may be of that type; 0: none. */
static int other_opset(const struct node *n, int slot, enum element_type type)
{
    int found = 0;

    for (int i = first_row(n->op_type); i < ROW_COUNT && !strcmp(rows[i].op, n->op_type); i++) {
        const struct row *row = &rows[i];
        bool has = false;

        for (int k = 0, s; !has && (s = slot_of(row, n, k)) >= 0; k++)
            has = s == slot;
        if (!has || !takes(row->types, type))
            continue;
        if (row->since > n->opset && (found <= n->opset || row->since < found))
            found = row->since;
        else if (row->since <= n->opset && !found)
            found = newest(row);
    }
    return found;
}

static void report(struct node *n, const struct row *row, int slot)
{
    struct arena *a = &n->graph->context->arena;
    enum element_type type = n->inputs[slot]->type;
    const char *taken = types_text(a, row->types);
    int other = other_opset(n, slot, type);

    if (other > n->opset)
        infer_advise(
            n, arena_printf(a, "Export with opset %d or later, or cast it", other),
            "its input %d is %s, which %s takes from opset %d on; the model is of opset %d", slot,
            type_name(type), n->op_type, other, n->opset);
    else if (other)
        infer_advise(n, "Cast it in the export (PyTorch: .to(dtype))",
                     "its input %d is %s, which %s takes up to opset %d; the model is of opset %d",
                     slot, type_name(type), n->op_type, other, n->opset);
    else if (*taken)
        infer_advise(n, arena_printf(a, "Make it %s in the export", taken),
                     "its input %d is %s, and %s takes %s there", slot, type_name(type), n->op_type,
                     taken);
    else
        infer_advise(n, "Cast it in the export (PyTorch: .to(dtype))",
                     "its input %d is %s, which %s does not take there", slot, type_name(type),
                     n->op_type);
}

/* What the inputs of a row are. */
struct operands {
    const struct value *first, *other; /* of different types; NULL: all are of one */
    bool constant;                     /* all of them */
    int wrong;                         /* the first slot of a type that is not taken, or -1 */
};

static struct operands operands_of(const struct node *n, const struct row *row)
{
    struct operands o = {.constant = true, .wrong = -1};

    for (int k = 0, slot; (slot = slot_of(row, n, k)) >= 0; k++) {
        const struct value *v = n->inputs[slot];

        if (!v || v->type == TYPE_UNKNOWN)
            continue;
        o.constant = o.constant && v->constant;
        if (o.wrong < 0 && !takes(row->types, v->type))
            o.wrong = slot;
        if (!o.first)
            o.first = v;
        else if (!o.other && v->type != o.first->type)
            o.other = v;
    }
    return o;
}

static bool meet(const struct operands *o)
{
    return o->other && o->constant && o->first->type != TYPE_STRING &&
           o->other->type != TYPE_STRING;
}

static bool row_fits(struct node *n, const struct row *row)
{
    struct operands o = operands_of(n, row);

    if (meet(&o))
        return true;
    if (o.wrong >= 0)
        report(n, row, o.wrong);
    else if (o.other)
        infer_advise(n, "Cast one to the type of the other in the export (PyTorch: .to(dtype))",
                     "its inputs are of different types, %s and %s", type_name(o.first->type),
                     type_name(o.other->type));
    return o.wrong < 0 && !o.other;
}

/* The row at or behind i that holds for n; ROW_COUNT: none. */
static int next_row(const struct node *n, int i)
{
    for (; i < ROW_COUNT && !strcmp(rows[i].op, n->op_type); i++)
        if (rows[i].since <= n->opset && n->opset <= newest(&rows[i]))
            return i;
    return ROW_COUNT;
}

bool types_fit(struct node *n)
{
    for (int i = *n->domain ? ROW_COUNT : next_row(n, first_row(n->op_type)); i < ROW_COUNT;
         i = next_row(n, i + 1))
        if (!row_fits(n, &rows[i]))
            return false;
    return true;
}

bool types_meet(const struct node *n)
{
    for (int i = *n->domain ? ROW_COUNT : next_row(n, first_row(n->op_type)); i < ROW_COUNT;
         i = next_row(n, i + 1)) {
        struct operands o = operands_of(n, &rows[i]);

        if (meet(&o))
            return true;
    }
    return false;
}
