#include "daemon/compiler/operators/jumps.h"
#include "daemon/compiler/limits/limits.h"
#include "daemon/compiler/graph/accept.h"
#include <stdlib.h>

/* Layers that the note names; of the others it says how many there are. */
enum { NAMED = 6 };

struct jump {
    const struct node *node;
    int order; /* in which it is computed */
};

static int by_position(const void *a, const void *b)
{
    const struct jump *j = a, *k = b;

    return j->node->position != k->node->position ? j->node->position - k->node->position
                                                  : j->order - k->order;
}

/* The layers of the file that jump, in its order: a function or a body is one, however many of its
 * nodes do. */
static struct jump *find_jumps(const struct graph *g, int *count)
{
    struct arena *a = &g->context->arena;
    struct jump *found = NULL;
    int all = 0, room = 0;

    *count = 0;
    for (int i = 0; i < g->node_count; i++)
        if (!g->nodes[i]->removed && node_jumps(g->nodes[i]))
            APPEND(a, found, all, room) = (struct jump){g->nodes[i], i};
    if (all)
        qsort(found, (size_t)all, sizeof *found, by_position);
    for (int i = 0; i < all; i++)
        if (!i || found[i].node->position != found[*count - 1].node->position)
            found[(*count)++] = found[i];
    return found;
}

void report_jumps(struct graph *g)
{
    struct context *c = g->context;
    struct strbuf names;
    int count;
    const struct jump *found = find_jumps(g, &count);

    if (!count || graph_quantised(g))
        return;
    strbuf_init(&names, &c->arena);
    for (int i = 0; i < count && i < NAMED; i++) {
        strbuf_add(&names, !i ? "" : i == count - 1 ? " and " : ", ");
        strbuf_add(&names, node_title(found[i].node, &c->arena));
    }
    if (count > NAMED)
        strbuf_printf(&names, " and %d more", count - NAMED);
    diagnose(c, NULL, TUKI0143, NULL,
             "%s %s, and what %s rounded to 16 bits: within one 16-bit step of a jump (0.004 near "
             "5, 0.06 near 100, 1 from 1024 to 2048) %s may differ from the original's",
             names.text, count > 1 ? "give results that jump" : "gives a result that jumps",
             count > 1 ? "they read is" : "it reads is",
             count > 1 ? "their results" : "its result");
}
