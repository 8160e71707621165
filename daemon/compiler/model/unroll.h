#ifndef COMPILER_UNROLL_H
#define COMPILER_UNROLL_H
/*
 * Loop, Scan and SequenceMap as the nodes of their bodies, once for each trip. What a trip gives is
 * what the next one is given, by pointer: no node stands between them. What is collected over the
 * trips is stacked at the end.
 */
#include "daemon/compiler/model/control_inside.h"

struct value_list {
    struct value **values;
    int count, room;
};

struct unroll {
    const Onnx__Graph *body;
    struct scope scope; /* the body's initializers, which all trips see */
    int64_t most;       /* trips; INT64_MAX: as long as the condition holds */
    int64_t done;
    struct value *condition; /* of the next trip; NULL: nothing asks for one */
    struct value **carried;  /* what the next trip is given, or the last one gave */
    int carried_count;
    struct value_list *collected; /* for each scan output, what each trip gave */
    int collected_count;
};

/* Whether there is a body, with so many inputs and at least so many outputs (reported). */
bool unroll_fits(struct builder *b, struct control *k, const Onnx__Graph *body, int inputs,
                 int outputs);
/* Makes ready for trips over body; u's counts are set. */
void unroll_begin(struct builder *b, struct control *k, struct unroll *u, const Onnx__Graph *body);
/* Whether so many trips more can be had (reported). */
bool unroll_afford(struct builder *b, const struct control *k, const struct unroll *u,
                   int64_t trips);
/* Makes the body's nodes over given and finds what it gives, an entry an output; false where that
 * is wrong (reported). */
bool unroll_trip(struct builder *b, struct control *k, struct unroll *u, struct value *const *given,
                 struct value **gives);
/* The call's first outputs are what is carried now. */
void unroll_give_carried(struct builder *b, struct control *k, const struct unroll *u);
/* A scan output of no trips: an axis of length 0 among the others. given: what a trip would be. */
bool unroll_give_empty(struct builder *b, struct control *k, struct unroll *u, int output,
                       int64_t axis, struct value *const *given, struct value *to);

/* ---- nodes of our own, as parts of the call's layer ---- */

/* Gives to, or a new value where it is NULL. */
struct value *unroll_node(struct builder *b, const struct control *k, const char *op,
                          struct value **inputs, int count, struct value *to);
struct value *unroll_number(struct builder *b, enum element_type type, int64_t number);
/* v at one place of an axis, without that axis. */
struct value *unroll_at(struct builder *b, const struct control *k, struct value *v, int64_t axis,
                        int64_t at);
/* The values in a row along a new axis, last to first if reverse. */
struct value *unroll_stack(struct builder *b, const struct control *k,
                           const struct value_list *list, int64_t axis, bool reverse,
                           struct value *to);

#endif
