#ifndef COMPILER_CONTROL_INSIDE_H
#define COMPILER_CONTROL_INSIDE_H
/*
 * What control.c (the list, conditions, If), unroll.c (Loop), unroll_scan.c and sequences.c share.
 * A call is resolved as soon as what decides about it is known; until then its node stands in the
 * graph without a row.
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

/* What a value holds that is no tensor: the list of a sequence, or nothing (an optional value
 * without an element). */
struct held {
    struct value **values;
    int count;
    bool nothing;
    struct value_list *list; /* that values are the beginning of (sequences.c), or NULL */
};

struct controls {
    struct control **list;
    int count, room;
    int64_t visits;   /* of nodes, while it is looked for what decides */
    int64_t unrolled; /* nodes, of MOST_UNROLLED */
    int64_t listed;   /* elements of sequences */
    /* By value id: the call that gives it, and what it holds. */
    struct {
        struct control *by;
        struct held *held;
    } * given;
    int given_room;
    bool holds; /* some value does */
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
/* What v holds, *held NULL for a tensor; KNOWN_NEVER: v is poisoned. */
enum known control_held(struct builder *b, const struct value *v, struct held **held);
/* … from now on. */
void control_hold(struct builder *b, const struct value *v, struct held *held);
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
bool optional_get(struct builder *b, struct control *k);
bool optional_has(struct builder *b, struct control *k);
bool optional_make(struct builder *b, struct control *k);
bool sequence_at(struct builder *b, struct control *k);
bool sequence_concat(struct builder *b, struct control *k);
bool sequence_construct(struct builder *b, struct control *k); /* SequenceEmpty too */
bool sequence_erase(struct builder *b, struct control *k);
bool sequence_insert(struct builder *b, struct control *k);
bool sequence_length(struct builder *b, struct control *k);
bool sequence_map(struct builder *b, struct control *k);
bool sequence_split(struct builder *b, struct control *k);

/* Reports what reads a sequence and is none of these, and takes what is left of sequences out of
 * the graph. */
void sequences_finish(struct builder *b);

#endif
