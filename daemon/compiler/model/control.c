#include "daemon/compiler/model/control_inside.h"
#include <string.h>

enum { MOST_VISITS = 20 * 1000 * 1000 }; /* of nodes, while it is looked for what decides */

/* Its rows have no functions: none of them is left once the graph stands. */
const struct operator_functions control_functions = {.role = ROLE_NONE};

bool control_is(const char *op_type, int64_t opset)
{
    const struct operator* op = opset >= 0 && opset <= INT32_MAX
        ? operator_find("", op_type, (int)opset)
        : NULL;

    return op && op->functions == &control_functions;
}

/* Room for what is known of v. */
static void make_room(struct builder *b, const struct value *v)
{
    struct controls *all = b->controls;

    while (v->id >= all->given_room)
        all->given = arena_grow(b->scratch, all->given, (size_t)all->given_room, &all->given_room,
                                sizeof *all->given);
}

void control_note(struct builder *b, const struct call *call)
{
    const struct operator* op = operator_find("", call->op_type, (int)build_opset(call->body));
    struct control *k = NEW(b->scratch, struct control);

    if (!b->controls)
        b->controls = NEW(b->scratch, struct controls);
    *k = (struct control){.call = *call, .node = build_node(b, call)};
    APPEND(b->scratch, b->controls->list, b->controls->count, b->controls->room) = k;
    for (int i = 0; i < call->output_count; i++)
        if (call->outputs[i]) {
            make_room(b, call->outputs[i]);
            b->controls->given[call->outputs[i]->id].by = k;
        }
    if (!build_checked(b, call, k->node, op))
        control_refuse(k);
}

void control_refuse(struct control *k)
{
    k->state = CONTROL_REFUSED;
    build_poison(&k->call);
}

void control_take(struct control *k)
{
    k->state = CONTROL_TAKEN;
    for (int i = 0; i < k->call.output_count; i++)
        if (k->call.outputs[i])
            k->call.outputs[i]->producer = NULL;
    k->node->outputs = NULL;
    k->node->output_count = 0;
    node_remove(k->node);
}

const Onnx__Graph *control_body(const struct control *k, const char *name)
{
    const Onnx__Node *node = k->call.proto;

    for (size_t i = 0; i < node->n_attribute; i++)
        if (label_equal(label_from(node->attribute[i]->name), label_of(name)))
            return node->attribute[i]->g;
    return NULL;
}

/* ---- what is known ---- */

/* Marks of nodes, as far as they were inferred. */
enum { FRESH, ENTERED, INFERRED, BLOCKED };

/* The call that gives v, NULL where none does. */
static struct control *giver(struct builder *b, const struct value *v)
{
    return v->id < b->controls->given_room ? b->controls->given[v->id].by : NULL;
}

static bool is_open(struct builder *b, const struct node *n)
{
    for (int i = 0; !n->op && i < n->output_count; i++) {
        const struct control *k = n->outputs[i] ? giver(b, n->outputs[i]) : NULL;

        if (k)
            return k->node == n && k->state == CONTROL_OPEN;
    }
    return false;
}

enum known control_held(struct builder *b, const struct value *v, struct held **held)
{
    const struct controls *all = b->controls;

    *held = NULL;
    /* A cycle of other names of a value is reported when the graph is sorted. */
    for (int steps = 0; v && steps <= b->graph->node_count; steps++) {
        const struct node *n = v->producer;
        const struct control *k = giver(b, v);

        if (v->poisoned)
            return KNOWN_NEVER;
        if (v->id < all->given_room && all->given[v->id].held) {
            *held = all->given[v->id].held;
            return KNOWN_NOW;
        }
        if (n && k && k->node == n && k->state == CONTROL_OPEN)
            return KNOWN_LATER;
        v = n && n->op && !*n->domain && !strcmp(n->op_type, "Identity") ? n->inputs[0] : NULL;
    }
    return KNOWN_NOW;
}

void control_hold(struct builder *b, const struct value *v, struct held *held)
{
    make_room(b, v);
    b->controls->given[v->id].held = held;
    b->controls->holds = true;
}

struct visit {
    struct node *node;
    int next_input;
    bool blocked;
};

/* Infers everything that last needs, in order, once for all; what an open node keeps from being
 * inferred is left for another time. Cycles are not followed: sorting reports them. false: it took
 * too much. */
static bool infer_needs(struct builder *b, struct node *last, bool *blocked)
{
    struct visit *stack = NULL;
    struct node **later = NULL;
    int depth = 0, room = 0, later_count = 0, later_room = 0;

    *blocked = false;
    if (last->mark == INFERRED)
        return true;
    APPEND(b->scratch, stack, depth, room) = (struct visit){.node = last};
    last->mark = ENTERED;
    while (depth) {
        struct visit *at = &stack[depth - 1];
        struct node *n = at->node;

        if (at->next_input < n->input_count) {
            const struct value *v = n->inputs[at->next_input++];
            struct node *need = v && !v->constant ? v->producer : NULL;

            b->controls->visits++;
            if (!need)
                continue;
            at->blocked |= need->mark == BLOCKED;
            if (need->mark == FRESH) {
                need->mark = ENTERED;
                APPEND(b->scratch, stack, depth, room) = (struct visit){.node = need};
            }
            continue;
        }
        if (at->blocked || is_open(b, n)) {
            n->mark = BLOCKED;
            APPEND(b->scratch, later, later_count, later_room) = n;
        } else {
            if (!n->removed)
                infer_node(n);
            n->mark = INFERRED;
        }
        depth--;
        if (depth)
            stack[depth - 1].blocked |= n->mark == BLOCKED;
        context_poll(b->c);
    }
    *blocked = last->mark == BLOCKED;
    for (int i = 0; i < later_count; i++)
        later[i]->mark = FRESH;
    return b->controls->visits <= MOST_VISITS;
}

enum known control_know_shape(struct builder *b, struct control *k, struct value *v)
{
    struct place place = build_place(&k->call);
    bool blocked;

    if (v->constant || !v->producer)
        return KNOWN_NOW;
    if (infer_needs(b, v->producer, &blocked))
        return blocked ? KNOWN_LATER : KNOWN_NOW;
    build_report(b, &place, TUKI0101, "what decides about it depends on too much");
    control_refuse(k);
    return KNOWN_NEVER;
}

enum known control_know(struct builder *b, struct control *k, struct value *v)
{
    enum known known = control_know_shape(b, k, v);

    return known == KNOWN_NOW && !v->constant ? KNOWN_NEVER : known;
}

bool control_holds(struct builder *b, struct control *k, const struct value *condition, bool *good)
{
    const struct tensor *known = condition->constant;
    struct place place = build_place(&k->call);
    struct arena *scratch;
    bool holds;

    *good = known->type == TYPE_BOOL && known->count == 1;
    if (!*good) {
        build_report(b, &place, TUKI0106, "its condition is %s of %s, not one truth value",
                     type_name(known->type), shape_text(&b->c->arena, &known->shape));
        control_refuse(k);
        return false;
    }
    scratch = arena_child(&b->c->arena);
    holds = *(const uint8_t *)tensor_data(b->c, known, scratch);
    arena_free(scratch);
    return holds;
}

/* ---- conditions that are not ---- */

/* What a condition is computed from. */
struct origin {
    struct node *comparison;
    struct value *input; /* a model input that the condition is, maybe cast */
};

/* The comparison that decides, or the model input that does, through operators that keep truth
 * values. */
static void find_decider(struct value *v, struct origin *o)
{
    static const char *const comparisons[] = {"Equal",       "Greater", "GreaterOrEqual", "Less",
                                              "LessOrEqual", "IsNaN",   "IsInf",          NULL};
    static const char *const carriers[] = {"Not",     "And",       "Or",        "Xor",
                                           "Cast",    "Identity",  "Squeeze",   "Unsqueeze",
                                           "Reshape", "ReduceMax", "ReduceMin", NULL};

    while (v) {
        struct node *n = v->producer;

        if (v->constant)
            return;
        if (!n) {
            o->input = v->input >= 0 ? v : NULL;
            return;
        }
        if (node_called_one_of(n, comparisons)) {
            o->comparison = n;
            return;
        }
        if (!node_called_one_of(n, carriers))
            return;
        /* Of two truth values the one that is not known. */
        v = node_input(n, 0);
        if (v && v->constant && node_input(n, 1))
            v = node_input(n, 1);
    }
}

void control_claim(struct builder *b, const struct value *v)
{
    int source = value_source(v);

    if (source >= 0 && b->graph->inputs[source]->type != TYPE_FLOAT32)
        b->graph->inputs[source]->poisoned = true;
}

static bool node_poisoned(const struct node *n)
{
    for (int i = 0; i < n->output_count; i++)
        if (n->outputs[i] && n->outputs[i]->poisoned)
            return true;
    return false;
}

void control_refuse_condition(struct builder *b, struct control *k, struct value *condition)
{
    struct place place = build_place(&k->call);
    bool is_if = !strcmp(k->call.op_type, "If");
    struct origin o = {0};

    find_decider(condition, &o);
    if (condition->poisoned || (o.comparison && node_poisoned(o.comparison))) {
        /* Whatever made it so was reported. */
    } else if (condition->producer && value_source(condition) < 0) {
        /* No number of an input decides, but a shape does that is not known. */
        build_report(b, &place, TUKI0112, "its condition %s depends on a shape that is not fixed",
                     condition->name);
    } else if (o.input) {
        build_advise(b, &place, TUKI0110,
                     is_if ? "Export the branch that is wanted"
                           : "Export with a trip count that is constant",
                     "its condition is the model input %s", o.input->name);
        control_claim(b, condition);
    } else if (o.comparison) {
        place = node_place(o.comparison);
        build_advise(
            b, &place, TUKI0127,
            is_if
                ? "Compute both branches and choose by Where (torch.where), or make the condition "
                  "a constant"
                : "Export a fixed number of rounds, or make the condition a constant",
            "its result decides %s %s %s",
            is_if ? "between the branches of" : "how often the body runs of", k->call.op_type,
            *k->call.name ? k->call.name : arena_printf(&b->c->arena, "#%d", k->call.position));
        node_poison(o.comparison);
    } else {
        build_report(b, &place, TUKI0127, "its condition %s is computed from the model's inputs",
                     condition->name);
    }
    control_refuse(k);
}

/* ---- If ---- */

static void take_branch(struct builder *b, struct control *k, bool condition)
{
    const char *name = condition ? "then_branch" : "else_branch";
    const char *other = condition ? "else_branch" : "then_branch";
    const Onnx__Graph *branch = control_body(k, name);
    struct place place = build_place(&k->call);
    int before = b->graph->node_count;
    struct owed *owed;
    struct body *body;

    if (!branch || !control_body(k, other) || branch->n_output != (size_t)k->call.output_count) {
        if (!branch || !control_body(k, other))
            build_report(b, &place, TUKI0106, "it has no %s", branch ? other : name);
        else
            build_report(b, &place, TUKI0106, "it has %d outputs, its %s has %zu",
                         k->call.output_count, name, branch->n_output);
        control_refuse(k);
        return;
    }
    if (!build_afford(b, &k->call, branch->n_node, branch->node)) {
        control_refuse(k);
        return;
    }
    control_take(k);
    owed = NEW_ARRAY(b->scratch, branch->n_output, struct owed);
    for (size_t i = 0; i < branch->n_output; i++)
        owed[i] = (struct owed){.label = label_from(branch->output[i]->name),
                                .value = k->call.outputs[i]};
    body = build_body(b, &k->call, &k->call.body->scope, k->call.body->imports);
    build_initializers(b, body, branch);
    build_nodes(b, body, branch->n_node, branch->node, owed, (int)branch->n_output);
    build_pay(b, body, &k->call, owed, (int)branch->n_output, name);
    build_records(b, body, branch->n_value_info, branch->value_info);
    build_upgrade(b, before);
}

static bool resolve_if(struct builder *b, struct control *k)
{
    struct value *condition = node_input(k->node, 0);
    struct place place = build_place(&k->call);
    bool good, holds;

    if (!condition) {
        build_report(b, &place, TUKI0106, "its condition is missing");
        control_refuse(k);
        return true;
    }
    switch (control_know(b, k, condition)) {
    case KNOWN_NOW:
        holds = control_holds(b, k, condition, &good);
        if (good)
            take_branch(b, k, holds);
        return true;
    case KNOWN_NEVER:
        if (k->state == CONTROL_OPEN)
            control_refuse_condition(b, k, condition);
        return true;
    case KNOWN_LATER:
        break;
    }
    return false;
}

/* ---- all of them ---- */

static const struct {
    const char *op_type;
    bool (*resolve)(struct builder *b, struct control *k);
} kinds[] = {
    {"ConcatFromSequence", sequence_concat},
    {"If", resolve_if},
    {"Loop", unroll_loop},
    {"Optional", optional_make},
    {"OptionalGetElement", optional_get},
    {"OptionalHasElement", optional_has},
    {"Scan", unroll_scan},
    {"SequenceAt", sequence_at},
    {"SequenceConstruct", sequence_construct},
    {"SequenceEmpty", sequence_construct},
    {"SequenceErase", sequence_erase},
    {"SequenceInsert", sequence_insert},
    {"SequenceLength", sequence_length},
    {"SequenceMap", sequence_map},
    {"SplitToSequence", sequence_split},
};

static bool resolve(struct builder *b, struct control *k)
{
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (!strcmp(k->call.op_type, kinds[i].op_type))
            return kinds[i].resolve(b, k);
    return false;
}

bool control_resolve(struct builder *b)
{
    struct controls *all = b->controls;
    bool progress = all != NULL;

    for (int i = 0; all && i < b->graph->node_count; i++)
        b->graph->nodes[i]->mark = FRESH;
    while (progress) {
        progress = false;
        /* Bodies add to the list while it is walked. */
        for (int i = 0; i < all->count; i++)
            if (all->list[i]->state == CONTROL_OPEN)
                progress |= resolve(b, all->list[i]);
    }
    /* What is left waits for one that was refused. */
    for (int i = 0; all && i < all->count; i++)
        if (all->list[i]->state == CONTROL_OPEN)
            control_refuse(all->list[i]);
    if (all && all->holds)
        sequences_finish(b);
    return all != NULL;
}
