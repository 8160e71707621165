#include "daemon/compiler/limits/limits.h"
#include "daemon/compiler/graph/accept.h"
#include "daemon/compiler/limits/chain.h"

void report_limits(struct graph *g)
{
    struct chains c;

    if (graph_quantised(g))
        return;
    chains_init(&c, g);
    report_constants(&c);
    report_masks(g);
    report_divisors(&c);
    report_weights(g);
}
