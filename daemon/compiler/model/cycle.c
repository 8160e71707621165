#include "daemon/compiler/model/build.h"

enum { NAMES_LISTED = 8 };

bool build_sort(struct builder *b)
{
    struct node **cycle = NULL;
    struct strbuf names;
    struct place place;
    int count = 0, first = 0;

    if (graph_sort_cycle(b->graph, &cycle, &count))
        return true;
    for (int i = 1; i < count; i++)
        if (cycle[i]->position < cycle[first]->position)
            first = i;
    place = node_place(cycle[first]);
    strbuf_init(&names, &b->c->arena);
    for (int i = 0; i < count && i < NAMES_LISTED; i++)
        strbuf_printf(&names, "%s%s", i ? ", " : "",
                      node_title(cycle[(first + i) % count], &b->c->arena));
    if (count == 1)
        build_report(b, &place, TUKI0104, "it reads its own output");
    else
        build_report(b, &place, TUKI0104, "%d layers read each other in a circle: %s%s", count,
                     names.text, count > NAMES_LISTED ? " …" : "");
    return false;
}
