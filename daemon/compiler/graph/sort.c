/*
 * The order of nodes: a walk back from the graph's outputs in their order, through each node's
 * inputs in theirs, a node being written down when all that it reads has been. Names and the file's
 * order have no part in it, so models that differ only in these are compiled alike; and what a node
 * reads stands close before it, which keeps few values alive. Nodes that no output needs follow, by
 * the file's order; nobody will compile them.
 */
#include "daemon/compiler/graph/graph.h"
#include <stdlib.h>

enum { NEW_NODE, OPEN_NODE, DONE_NODE };

struct walk {
    struct graph *graph;
    struct arena *scratch;
    struct node **order;
    int count;
    struct frame {
        struct node *node;
        struct node **reads;
        int read_count, read_room, next;
    } * stack;
    int depth, room;
};

/* The nodes of g that n reads, also from inside its bodies. Bodies nest as deep as the loader
 * allows. */
static void collect(struct walk *w, struct frame *f, const struct node *n)
{
    for (int i = 0; i < n->input_count; i++)
        if (n->inputs[i] && n->inputs[i]->producer && n->inputs[i]->producer->graph == w->graph)
            APPEND(w->scratch, f->reads, f->read_count, f->read_room) = n->inputs[i]->producer;
    for (int k = 0; k < n->attribute_count; k++) {
        const struct graph *body =
            n->attributes[k].type == ATTRIBUTE_GRAPH ? n->attributes[k].graph : NULL;

        if (!body)
            continue;
        for (int i = 0; i < body->node_count; i++)
            collect(w, f, body->nodes[i]);
        for (int i = 0; i < body->output_count; i++)
            if (body->outputs[i]->producer && body->outputs[i]->producer->graph == w->graph)
                APPEND(w->scratch, f->reads, f->read_count, f->read_room) =
                    body->outputs[i]->producer;
    }
}

static void push(struct walk *w, struct node *n)
{
    struct frame *f = &APPEND(w->scratch, w->stack, w->depth, w->room);

    *f = (struct frame){.node = n};
    n->mark = OPEN_NODE;
    collect(w, f, n);
}

/* Walks from n; a node that is found open again closes a cycle, whose nodes are those on the stack
 * from it on. */
static bool visit(struct walk *w, struct node *n, struct node ***cycle, int *cycle_count)
{
    push(w, n);
    while (w->depth) {
        struct frame *f = &w->stack[w->depth - 1];

        if (f->next == f->read_count) {
            f->node->mark = DONE_NODE;
            w->order[w->count++] = f->node;
            w->depth--;
            continue;
        }
        struct node *read = f->reads[f->next++];
        if (read->mark == NEW_NODE) {
            push(w, read);
        } else if (read->mark == OPEN_NODE) {
            int from = w->depth - 1;

            while (w->stack[from].node != read)
                from--;
            *cycle_count = w->depth - from;
            *cycle = NEW_ARRAY(&w->graph->context->arena, *cycle_count, struct node *);
            for (int i = 0; i < *cycle_count; i++)
                (*cycle)[i] = w->stack[w->depth - 1 - i].node;
            return false;
        }
    }
    return true;
}

static int by_position(const void *left, const void *right)
{
    const struct node *a = *(struct node *const *)left, *b = *(struct node *const *)right;

    return (a->position > b->position) - (a->position < b->position);
}

bool graph_sort_cycle(struct graph *g, struct node ***cycle, int *cycle_count)
{
    struct arena *scratch = arena_child(&g->context->arena);
    struct walk w = {.graph = g, .scratch = scratch};
    bool sorted = true;

    *cycle = NULL;
    *cycle_count = 0;
    graph_compact(g);
    w.order = NEW_ARRAY(scratch, g->node_count, struct node *);
    for (int i = 0; i < g->node_count; i++)
        g->nodes[i]->mark = NEW_NODE;
    for (int i = 0; sorted && i < g->output_count; i++) {
        struct node *n = g->outputs[i] ? g->outputs[i]->producer : NULL;

        if (n && n->graph == g && n->mark == NEW_NODE)
            sorted = visit(&w, n, cycle, cycle_count);
    }
    if (sorted && w.count < g->node_count) {
        struct node **rest = NEW_ARRAY(scratch, g->node_count, struct node *);
        int rest_count = 0;

        for (int i = 0; i < g->node_count; i++)
            if (g->nodes[i]->mark == NEW_NODE)
                rest[rest_count++] = g->nodes[i];
        qsort(rest, (size_t)rest_count, sizeof *rest, by_position);
        for (int i = 0; sorted && i < rest_count; i++)
            if (rest[i]->mark == NEW_NODE)
                sorted = visit(&w, rest[i], cycle, cycle_count);
    }
    if (sorted)
        for (int i = 0; i < g->node_count; i++)
            g->nodes[i] = w.order[i];
    arena_free(scratch);
    return sorted;
}

bool graph_sort(struct graph *g, struct node **cycle, int *cycle_count)
{
    struct node **nodes;
    bool sorted = graph_sort_cycle(g, &nodes, cycle_count);

    *cycle = sorted ? NULL : nodes[0];
    return sorted;
}
