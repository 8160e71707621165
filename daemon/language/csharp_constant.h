/* csharp_constant: the values of constant expressions. For the files csharp*.c only. */
#ifndef DAEMON_LANGUAGE_CSHARP_CONSTANT_H
#define DAEMON_LANGUAGE_CSHARP_CONSTANT_H

#include "daemon/language/csharp_resolve.h"

struct csharp_evaluator {
    struct csharp_tree *tree;
    /* Where values lie. */
    struct csharp_arena *kept;
    /* How many bytes concatenations may still make: it bounds what names that are used often can
     * cost. */
    size_t room;
};

/* Evaluates a span of tokens: kind and value of argument. */
void csharp_evaluate(struct csharp_evaluator *evaluator, struct csharp_place place,
                     struct csharp_span span, struct csharp_argument *argument);

#endif
