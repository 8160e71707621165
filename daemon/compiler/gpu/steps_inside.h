#ifndef COMPILER_STEPS_INSIDE_H
#define COMPILER_STEPS_INSIDE_H
/*
 * What the files that plan steps share: steps.c (what gets a step), join.c (what is computed in the
 * kernel of the operator before it), reading.c (what reading costs), place.c (layouts).
 */
#include "daemon/compiler/gpu/kernel.h"
#include "daemon/compiler/operators/operator.h"

/* Costs, in operations on four numbers; weights in numbers. A draw is worth as many as a mid-range
 * card does in the time of one: some 10 microseconds of waiting for the draw before and of being
 * told, at half a million operations a microsecond, most of which small layers reach. */
enum {
    COST_FETCH = 4,
    COST_OPERATION = 1,
    COST_DRAW = 4000000,
    MOST_READ_BUFFERS = 8,
    MOST_REPEATED_WEIGHTS = 16384
};

static inline const struct operator_functions *functions_of(const struct node *n)
{
    return n->op->functions;
}

static inline double cells_of(const struct value *v)
{
    return (double)(shape_count(&v->shape) + 3) / 4;
}

/* ---- steps.c ---- */
/* Live readers of v; *only is set to the reader where all slots that read v are of one node. */
int live_readers(const struct value *v, struct node **only);
struct step *step_new(struct plan *p, struct node *root, int output, struct value *v);
/* A value gets a texture of its own: a step that computes it from what it reads. */
void store_value(struct plan *p, struct value *v);
/* True where v will have a texture because its operator asks for one. Until it is known which step
 * computes it, it has none. */
bool is_to_be_stored(const struct value *v);
/* True where v is computed by its readers: a candidate for a texture of its own. */
bool is_computed_by_readers(const struct value *v);
/* What v costs where no step before it computes it: a step of its own, or what its readers spend on
 * computing it, whichever is less. */
double cost_alone(struct kernel *k, struct value *v);
/* Textures that computing v from where it is read would fetch from, added to seen. */
int count_buffers(struct plan *p, struct value *v, const struct value **seen, int count);

/* ---- join.c ---- */
/* Lets what follows on steps be computed in their kernels, and stores what operators ask to be
 * stored. Every value has its place but for that. */
void join_steps(struct plan *p, struct kernel *planning);

/* ---- reading.c ---- */
/* Four elements of v along axis, in the midst of the others. */
struct lanes sample_elements(struct kernel *k, const struct value *v, int axis);
/* Which axis of its operand in slot a reader goes along in fours; -1 where it does not care. */
int wanted_axis(const struct node *n, int slot);
int last_long_axis(const struct shape *s);
/* How often a reader fetches each element of slot, at least 1. */
int64_t reuse_of(const struct node *n, int slot);
/* Fetches that the readers of v take, through what they compute on the way, given where everything
 * lies now. */
double reading_cost(struct kernel *k, struct value *v);
/* What is computed between v and what is stored, in additions for each element. */
double operations(struct kernel *k, const struct value *v);
/* How often each element of v is asked for by all its readers. */
double readings(struct kernel *k, const struct value *v);
/* Fetches that four elements of v take which its reader computes, with the layouts that are known
 * and the best ones where they are not. */
double fetches_computed(struct kernel *k, struct value *v);

/* ---- place.c ---- */
/* Layouts of inputs and outputs, as the model's edge has them. false: a fault was reported. */
bool place_inputs(struct plan *p);
bool place_output(struct plan *p, int i);
/* The axis of v, an output, that lies in components there; -1: none. */
int edge_packed(const struct value *v);
/* The layout of what s writes: the packed axis that costs least. */
bool place_inner(struct plan *p, struct kernel *k, struct step *s);
int buffer_new(struct plan *p, enum buffer_kind kind, int number, struct value *v,
               const struct layout *l);

#endif
