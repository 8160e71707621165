/* A fetch whose cell stays the same in a loop is written before it. */
#include "daemon/compiler/gpu/kernel_inside.h"
#include <string.h>

void declare_name(struct kernel *k, const char *name)
{
    struct kernel_state *s = state_of(k);

    APPEND(k->arena, s->declared, s->declared_count, s->declared_room) =
        (struct kernel_declared){name, s->depth};
}

/* How many blocks stand around the declaration of a variable. */
static int depth_of(void *state, const char *name)
{
    struct kernel_state *s = state;

    for (int i = s->declared_count; i-- > 0;)
        if (!strcmp(s->declared[i].name, name))
            return s->declared[i].depth;
    return s->depth;
}

int hoist_depth(struct kernel *k, const struct index *const *cell, const struct layout *l)
{
    struct kernel_state *s = state_of(k);
    int depth = 0;

    for (int i = 0; i < 2; i++) {
        int own = index_deepest(cell[i], depth_of, s);

        depth = own > depth ? own : depth;
    }
    while (depth < s->depth && !s->blocks[depth].loop)
        depth++;
    for (int i = depth; i < s->depth; i++)
        /* What an `if` made sure of is not sure before it. */
        if (!s->blocks[i].loop && (index_lo(cell[0]) < 0 || index_hi(cell[0]) >= l->width ||
                                   index_lo(cell[1]) < 0 || index_hi(cell[1]) >= l->height))
            return s->depth;
    return depth;
}

void hoist_line(struct kernel *k, int depth, const char *text)
{
    struct kernel_state *s = state_of(k);
    struct strbuf line;

    strbuf_init(&line, k->arena);
    for (int i = 0; i < k->indent - (s->depth - depth); i++)
        strbuf_add(&line, "    ");
    strbuf_printf(&line, "%s\n", text);
    strbuf_insert(&k->body, s->blocks[depth].start, line.text, line.length);
    for (int i = depth; i < s->depth; i++)
        s->blocks[i].start += line.length;
}

void hoist_memo(struct kernel *k, int depth)
{
    struct kernel_state *s = state_of(k);
    int place = s->blocks[depth].memo_count;
    struct kernel_memo last = k->memo[k->memo_count - 1];

    memmove(&k->memo[place + 1], &k->memo[place],
            (size_t)(k->memo_count - 1 - place) * sizeof *k->memo);
    k->memo[place] = last;
    for (int i = depth; i < s->depth; i++)
        s->blocks[i].memo_count++;
}
