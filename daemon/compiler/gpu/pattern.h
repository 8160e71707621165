#ifndef COMPILER_PATTERN_H
#define COMPILER_PATTERN_H
/*
 * Constants of which a kernel need not hold a table: all elements the same number, or (the masks of
 * attention) one number in a band along the diagonal of the last two axes and another elsewhere.
 */
#include "daemon/compiler/gpu/plan.h"

struct pattern {
    const struct tensor *tensor;
    bool found;
    bool banded;    /* else all elements are inside */
    int64_t lo, hi; /* inside: lo <= column - row <= hi */
    float inside, outside;
    struct pattern *next;
};

/* What t is, found out once; p->found is false where it is none of these. */
const struct pattern *plan_pattern(struct plan *p, const struct tensor *t);

#endif
