#ifndef COMPILER_CONTROL_INSIDE_H
#define COMPILER_CONTROL_INSIDE_H
/*
 * What control.c (the list, conditions, If) and unroll.c (Loop, Scan) share. A call is resolved as
 * soon as what decides about it is known; until then its node stands in the graph without a row.
 */
#include "daemon/compiler/model/control.h"

/* Of everything that all loops of a model unfold to. A kernel a node in the worst case: more is no
 * program that a graphics card should be asked to run in one evaluation. */
enum { MOST_UNROLLED = 8192 };

enum control_state {
    CONTROL_OPEN,
    CONTROL_TAKEN,   /* its nodes stand in its place */
    CONTROL_REFUSED, /* reported, its outputs poisoned */
};

struct unroll;
struct control {
    struct call call;
    struct node *node;
    enum control_state state;
    struct unroll *unroll; /* of a Loop that has begun (unroll.c) */
};

struct controls {
    struct control **list;
    int count, room;
    int64_t visits;   /* of nodes, while it is looked for what decides */
    int64_t unrolled; /* nodes, of MOST_UNROLLED */
};

enum known {
    KNOWN_NOW,
    KNOWN_LATER, /* another control flow node has to be resolved first */
    KNOWN_NEVER, /* it is computed when the model runs, or takes too much to find out (reported) */
};

/* Infers what v is computed from, v included: whether it is a constant. */
enum known control_know(struct builder *b, struct control *k, struct value *v);
/* The same for v's shape alone; KNOWN_NOW says that everything there is to know is known. */
enum known control_know_shape(struct builder *b, struct control *k, struct value *v);
/* Whether a known condition holds. false with *good false: it is no truth value (reported). */
bool control_holds(struct builder *b, struct control *k, const struct value *condition, bool *good);
/* Reports why condition is not known; the call is refused. */
void control_refuse_condition(struct builder *b, struct control *k, struct value *condition);
/* What was reported is said of the model input behind v too: its type gets no code of its own. */
void control_claim(struct builder *b, const struct value *v);
void control_refuse(struct control *k);
/* Takes the call's node out of the graph; its outputs wait for producers. */
void control_take(struct control *k);
/* The body that an attribute of the call holds, or NULL. */
const Onnx__Graph *control_body(const struct control *k, const char *name);

/* These resolve as far as they can: true where something was done. */
bool unroll_loop(struct builder *b, struct control *k);
bool unroll_scan(struct builder *b, struct control *k);

#endif
