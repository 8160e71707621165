#include "daemon/compiler/model/control.h"
#include <string.h>

enum {
    MOST_VISITS = 20 * 1000 * 1000
}; /* of nodes, while the conditions' origins are looked for */

enum { UNRESOLVED, TAKEN, REFUSED };

struct control {
    struct call call;
    struct node *node;
    int state;
};

struct controls {
    struct control **list;
    int count, room;
    int64_t visits;
    bool unsorted; /* since the last branch was taken */
};

bool control_is(const char *op_type)
{
    return !strcmp(op_type, "If") || !strcmp(op_type, "Loop") || !strcmp(op_type, "Scan");
}

void control_note(struct builder *b, const struct call *call)
{
    struct place place = build_place(call);
    struct control *k;
    struct node *n = build_node(b, call);

    if (strcmp(call->op_type, "If")) {
        build_report(b, &place, TUKI0110,
                     "the operator %s is not supported; export with the loop unrolled",
                     call->op_type);
        build_poison(call);
        return;
    }
    if (!b->controls)
        b->controls = NEW(b->scratch, struct controls);
    k = NEW(b->scratch, struct control);
    *k = (struct control){.call = *call, .node = n};
    APPEND(b->scratch, b->controls->list, b->controls->count, b->controls->room) = k;
}

static void refuse(struct control *k)
{
    k->state = REFUSED;
    build_poison(&k->call);
}

/* ---- the condition ---- */

/* What a condition is computed from. */
struct origin {
    struct node **nodes; /* sorted as the graph is */
    int count, room;
    bool open; /* an If among them is not resolved yet */
    struct node *comparison;
    struct value *input; /* a model input that the condition is, maybe cast */
};

static bool is_open(struct builder *b, const struct node *n)
{
    b->controls->visits += b->controls->count;
    for (int i = 0; i < b->controls->count; i++)
        if (b->controls->list[i]->node == n)
            return b->controls->list[i]->state == UNRESOLVED;
    return false;
}

static bool is_one_of(const char *op_type, const char *const *names)
{
    for (; *names; names++)
        if (!strcmp(op_type, *names))
            return true;
    return false;
}

/* false: looking has cost too much. */
static bool trace(struct builder *b, const struct value *condition, struct origin *o)
{
    struct graph *g = b->graph;
    struct node **stack = NULL;
    int depth = 0, room = 0;

    for (int i = 0; i < g->node_count; i++)
        g->nodes[i]->mark = 0;
    b->controls->visits += g->node_count;
    if (condition->producer && !condition->constant)
        APPEND(b->scratch, stack, depth, room) = condition->producer;
    while (depth) {
        struct node *n = stack[--depth];

        if (n->mark)
            continue;
        n->mark = 1;
        b->controls->visits++;
        if (!n->op && !strcmp(n->op_type, "If") && is_open(b, n))
            o->open = true;
        for (int i = 0; i < n->input_count; i++) {
            struct value *v = n->inputs[i];

            if (v && v->producer && !v->constant && !v->producer->mark)
                APPEND(b->scratch, stack, depth, room) = v->producer;
        }
    }
    for (int i = 0; i < g->node_count; i++)
        if (g->nodes[i]->mark)
            APPEND(b->scratch, o->nodes, o->count, o->room) = g->nodes[i];
    return b->controls->visits <= MOST_VISITS;
}

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
        if (is_one_of(n->op_type, comparisons)) {
            o->comparison = n;
            return;
        }
        if (!is_one_of(n->op_type, carriers))
            return;
        /* Of two truth values the one that is not known. */
        v = node_input(n, 0);
        if (v && v->constant && node_input(n, 1))
            v = node_input(n, 1);
    }
}

static void refuse_condition(struct builder *b, struct control *k, struct value *condition)
{
    struct place place = build_place(&k->call);
    struct origin o = {0};

    find_decider(condition, &o);
    if (condition->poisoned) {
        /* Whatever made it so was reported. */
    } else if (condition->producer && value_source(condition) < 0) {
        /* No number of an input decides, but a shape does that is not known. */
        build_report(b, &place, TUKI0112, "its condition %s depends on a shape that is not fixed",
                     condition->name);
    } else if (o.input) {
        build_report(b, &place, TUKI0110,
                     "its condition is the model input %s; export the branch that is wanted",
                     o.input->name);
    } else if (o.comparison) {
        place = node_place(o.comparison);
        build_report(b, &place, TUKI0127, "its result decides between the branches of %s %s",
                     k->call.op_type,
                     *k->call.name ? k->call.name
                                   : arena_printf(&b->c->arena, "#%d", k->call.position));
        for (int i = 0; i < o.comparison->output_count; i++)
            if (o.comparison->outputs[i])
                o.comparison->outputs[i]->poisoned = true;
    } else {
        build_report(b, &place, TUKI0127, "its condition %s is computed from the model's inputs",
                     condition->name);
    }
    refuse(k);
}

/* ---- the branch ---- */

static const Onnx__Graph *find_branch(const Onnx__Node *node, const char *name)
{
    for (size_t i = 0; i < node->n_attribute; i++)
        if (label_equal(label_from(node->attribute[i]->name), label_of(name)))
            return node->attribute[i]->g;
    return NULL;
}

static void take_branch(struct builder *b, struct control *k, bool condition)
{
    const char *name = condition ? "then_branch" : "else_branch";
    const Onnx__Graph *branch = find_branch(k->call.proto, name);
    struct place place = build_place(&k->call);
    struct node *n = k->node;
    int before = b->graph->node_count;
    struct owed *owed;
    struct body *body;

    if (!branch || branch->n_output != (size_t)k->call.output_count) {
        if (!branch)
            build_report(b, &place, TUKI0106, "it has no %s", name);
        else
            build_report(b, &place, TUKI0106, "it has %d outputs, its %s has %zu",
                         k->call.output_count, name, branch->n_output);
        refuse(k);
        return;
    }
    if (!build_afford(b, &k->call, branch->n_node, branch->node)) {
        refuse(k);
        return;
    }
    k->state = TAKEN;
    n->outputs = NULL;
    n->output_count = 0;
    node_remove(n);
    owed = NEW_ARRAY(b->scratch, branch->n_output, struct owed);
    for (size_t i = 0; i < branch->n_output; i++) {
        if (k->call.outputs[i])
            k->call.outputs[i]->producer = NULL;
        owed[i] = (struct owed){.label = label_from(branch->output[i]->name),
                                .value = k->call.outputs[i]};
    }
    body = build_body(b, &k->call, &k->call.body->scope, k->call.body->imports);
    build_initializers(b, body, branch);
    build_nodes(b, body, branch->n_node, branch->node, owed, (int)branch->n_output);
    build_pay(b, body, &k->call, owed, (int)branch->n_output, name);
    build_records(b, body, branch->n_value_info, branch->value_info);
    build_upgrade(b, before);
    b->controls->unsorted = true;
}

/* false: it has to wait for another If. */
static bool resolve(struct builder *b, struct control *k)
{
    struct value *condition = node_input(k->node, 0);
    struct place place = build_place(&k->call);
    struct tensor *known;

    if (!condition) {
        build_report(b, &place, TUKI0106, "its condition is missing");
        refuse(k);
        return true;
    }
    if (!condition->constant) {
        struct origin o = {0};

        if (b->controls->unsorted) {
            b->controls->visits += 4 * (int64_t)b->graph->node_count;
            if (!build_sort(b)) {
                refuse(k);
                return true;
            }
        }
        b->controls->unsorted = false;
        if (!trace(b, condition, &o)) {
            build_report(b, &place, TUKI0101, "its conditions depend on too much");
            refuse(k);
            return true;
        }
        if (o.open)
            return false;
        /* Shapes of inputs are known, so conditions about shapes are constants now. */
        for (int i = 0; i < o.count && !condition->constant; i++)
            if (!o.nodes[i]->removed)
                infer_node(o.nodes[i]);
    }
    known = condition->constant;
    if (!known) {
        refuse_condition(b, k, condition);
    } else if (known->type != TYPE_BOOL || known->count != 1) {
        build_report(b, &place, TUKI0106, "its condition is %s of %s, not one truth value",
                     type_name(known->type), shape_text(&b->c->arena, &known->shape));
        refuse(k);
    } else {
        struct arena *scratch = arena_child(&b->c->arena);
        bool taken = *(const uint8_t *)tensor_data(b->c, known, scratch);

        arena_free(scratch);
        take_branch(b, k, taken);
    }
    return true;
}

bool control_resolve(struct builder *b)
{
    struct controls *all = b->controls;
    bool progress = all != NULL;

    while (progress) {
        progress = false;
        /* Branches add to the list while it is walked. */
        for (int i = 0; i < all->count; i++)
            if (all->list[i]->state == UNRESOLVED)
                progress |= resolve(b, all->list[i]);
    }
    /* What is left waits for one that was refused. */
    for (int i = 0; all && i < all->count; i++)
        if (all->list[i]->state == UNRESOLVED)
            refuse(all->list[i]);
    return all != NULL;
}
