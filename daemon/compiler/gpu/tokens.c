#include "daemon/compiler/gpu/tokens.h"
#include "daemon/compiler/gpu/kernel_inside.h"
#include "daemon/compiler/operators/operator.h"
#include <inttypes.h>
#include <string.h>

const int64_t *tokens_tables(const struct value *v, int *count, struct arena *arena)
{
    const struct value **list = NULL;
    int64_t *tables = NULL;
    int listed = 0, list_room = 0, table_room = 0;

    *count = 0;
    APPEND(arena, list, listed, list_room) = v;
    for (int next = 0; next < listed; next++)
        for (int i = 0; i < list[next]->reader_count; i++) {
            const struct node *n = list[next]->readers[i];
            int at = 0;

            if (!n->mark)
                continue;
            if (strcmp(n->op->name, "Gather") != 0) {
                APPEND(arena, list, listed, list_room) = n->outputs[0];
                continue;
            }
            int64_t length =
                n->inputs[0]->shape.dim[shape_axis(&n->inputs[0]->shape, node_int(n, "axis", 0))];
            while (at < *count && tables[at] < length)
                at++;
            if (at < *count && tables[at] == length)
                continue;
            (void)APPEND(arena, tables, *count, table_room);
            memmove(tables + at + 1, tables + at, (size_t)(*count - 1 - at) * sizeof *tables);
            tables[at] = length;
        }
    return tables;
}

const struct index *tokens_read(struct kernel *k, struct value *v, const struct index *const *at,
                                int64_t length)
{
    const struct index *here[MAX_AXES], *cell[2] = {kernel_constant(k, 0), NULL};
    const struct spot *spot;
    const char *name;
    struct strbuf s;
    int table = 0;

    memcpy(here, at, (size_t)v->shape.axes * sizeof *at);
    for (; v->producer; v = v->producer->inputs[0]) {
        struct access a = {.pool = k->pool, .arena = k->arena};

        if (v->producer->op->functions->role != ROLE_VIEW)
            continue;
        v->producer->op->functions->view(k, v->producer, v->producer_output, here, &a);
        if (a.count != 1)
            BUG(k->context, "token ids are read through %s", v->producer->op->name);
        memcpy(here, a.pieces[0].at, sizeof here);
    }
    spot = spot_of(v);
    while (table < spot->table_count - 1 && spot->tables[table] != length)
        table++;
    for (int i = 0; i < v->shape.axes; i++)
        cell[0] = index_add(k->pool, index_times(k->pool, cell[0], v->shape.dim[i]), here[i]);
    cell[0] = index_clamp(k->pool, cell[0], 0, shape_count(&v->shape) - 1);
    cell[1] = kernel_constant(k, table);
    name = memo_find(k, v, NULL, false, cell, 2);
    if (!name) {
        const char *color = kernel_name(k, "token");

        strbuf_init(&s, k->arena);
        index_print(&s, cell[0], false);
        kernel_line(k, "Color4 %s = %s[%s, %d];", color, parameter_name(k, v), s.text, table);
        k->fetches++;
        k->held++;
        name = kernel_name(k, "row");
        if (length > 2048)
            kernel_line(k, "int %s = (int)(%s.g * 2048f + %s.r + 0.5f);", name, color, color);
        else
            kernel_line(k, "int %s = (int)(%s.r + 0.5f);", name, color);
        memo_add(k, v, NULL, false, cell, 2, name);
    }
    return index_variable(k->pool, name, 0, length - 1);
}
