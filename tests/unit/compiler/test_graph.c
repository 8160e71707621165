/* Wiring, attributes, and the canonical order. */
#include "tests/unit/compiler/graphs.h"
#include <stdlib.h>

static void test_wiring(void **state)
{
    WITH_JOB(j);
    struct graph *g = j->graph;
    struct value *x = input(g, "x", TYPE_FLOAT32, SHAPE(1, 4)), *y, *z;

    (void)state;
    y = NODE(g, "Add", "twice", x, x);
    z = NODE(g, "Relu", "end", y);
    output(g, z);
    assert_int_equal(x->reader_count, 2); /* once a slot */
    assert_ptr_equal(value_only_reader(y), z->producer);
    assert_null(value_only_reader(x));
    assert_null(value_only_reader(z)); /* an output is read outside */
    node_set_input(y->producer, 1, NULL);
    assert_int_equal(x->reader_count, 1);
    node_set_input(y->producer, 3, x); /* grows */
    assert_int_equal(y->producer->input_count, 4);
    assert_null(node_input(y->producer, 2));
    assert_null(node_input(y->producer, 9));
    value_replace(g, y, x);
    assert_int_equal(y->reader_count, 0);
    assert_ptr_equal(z->producer->inputs[0], x);
    node_remove(y->producer);
    assert_int_equal(x->reader_count, 1);
    graph_compact(g);
    assert_int_equal(g->node_count, 1);
    END_JOB(j);
}

static void test_replace_output(void **state)
{
    WITH_JOB(j);
    struct graph *g = j->graph;
    struct value *x = input(g, "x", TYPE_FLOAT32, SHAPE(1, 4)), *y, *z;

    (void)state;
    y = NODE(g, "Relu", "inner", x);
    z = NODE(g, "Identity", "result", y);
    outputs(g, 2, (struct value *[]){z, z});
    value_replace(g, z, y);
    assert_ptr_equal(g->outputs[0], y);
    assert_ptr_equal(g->outputs[1], y);
    assert_int_equal(y->output_count, 2);
    assert_int_equal(z->output_count, 0);
    assert_string_equal(y->name, "result"); /* the outside's name */
    value_replace(g, y, x);
    assert_string_equal(x->name, "x"); /* an input keeps its own */
    assert_string_equal(g->output_names[0], "result");
    END_JOB(j);
}

static void test_attributes(void **state)
{
    WITH_JOB(j);
    struct value *x = input(j->graph, "x", TYPE_FLOAT32, SHAPE(1, 4));
    struct node *n = NODE(j->graph, "Relu", "n", x)->producer;
    int count;

    (void)state;
    assert_int_equal(node_int(n, "group", 7), 7);
    node_set_int(n, "group", 2);
    node_set_float(n, "alpha", 0.5f);
    node_set_string(n, "mode", "edge");
    node_set_ints(n, "pads", 2, (int64_t[]){3, 4});
    assert_int_equal(node_int(n, "group", 7), 2);
    assert_true(node_float(n, "group", 9) == 9); /* of another type: as if absent */
    assert_string_equal(node_string(n, "mode", ""), "edge");
    node_set_ints(n, "pads", 1, node_ints(n, "pads", &count));
    assert_int_equal(node_ints(n, "pads", &count)[0], 3);
    assert_int_equal(count, 1);
    node_unset(n, "group");
    node_unset(n, "group");
    assert_null(node_find(n, "group"));
    assert_true(node_float(n, "alpha", 0) == 0.5f);
    END_JOB(j);
}

static struct hash hash_of(const struct node *n)
{
    struct hasher h;

    hasher_init(&h);
    node_hash(&h, n);
    return hasher_finish(&h);
}

static void test_attribute_hash(void **state)
{
    WITH_JOB(j);
    struct value *x = input(j->graph, "x", TYPE_FLOAT32, SHAPE(1, 4));
    struct node *a = NODE(j->graph, "Relu", "a", x)->producer;
    struct node *b = NODE(j->graph, "Relu", "b", x)->producer;

    (void)state;
    node_set_int(a, "one", 1);
    node_set_ints(a, "two", 2, (int64_t[]){1, 2});
    node_set_ints(b, "two", 2, (int64_t[]){1, 2});
    assert_false(hash_equal(hash_of(a), hash_of(b)));
    node_set_int(b, "one", 1);
    assert_true(hash_equal(hash_of(a), hash_of(b))); /* in whatever order, under whatever name */
    node_set_float(b, "one", 1);
    assert_false(hash_equal(hash_of(a), hash_of(b)));
    END_JOB(j);
}

enum { NODES = 40 };

/* The same random graph, its nodes appended in that order, named after it. */
static void build(struct graph *g, const int *order)
{
    struct value *x = input(g, "x", TYPE_FLOAT32, SHAPE(1, 4));
    struct node *nodes[NODES];
    uint32_t random = 12345;

    for (int i = 0; i < NODES; i++) {
        char name[32];

        snprintf(name, sizeof name, "n%d", order[i]);
        nodes[order[i]] = graph_node(g, operator_get(g->context, "Add"), name,
                                     (struct value *[]){NULL, NULL}, 2, 1);
        nodes[order[i]]->position = i;
    }
    for (int i = 0; i < NODES; i++)
        for (int slot = 0; slot < 2; slot++) {
            random = random * 1664525 + 1013904223;
            int from = (int)(random >> 8) % (i + 1) - 1;

            node_set_input(nodes[i], slot, from < 0 ? x : nodes[from]->outputs[0]);
        }
    /* An output for each that nobody reads, so that none is left out. */
    struct value *ends[NODES];
    int count = 0;
    for (int i = 0; i < NODES; i++)
        if (!nodes[i]->outputs[0]->reader_count)
            ends[count++] = nodes[i]->outputs[0];
    outputs(g, count, ends);
}

static void shuffle(int *straight, int *mixed)
{
    uint32_t random = 99;

    for (int i = 0; i < NODES; i++)
        straight[i] = mixed[i] = i;
    for (int i = NODES - 1; i > 0; i--) {
        random = random * 1664525 + 1013904223;
        int k = (int)(random >> 8) % (i + 1), swap = mixed[i];

        mixed[i] = mixed[k];
        mixed[k] = swap;
    }
}

static void test_canonical_order(void **state)
{
    int straight[NODES], mixed[NODES];
    WITH_JOB(j);
    struct graph *other = graph_new(&j->context);
    struct node **cycle;
    int length;

    (void)state;
    shuffle(straight, mixed);
    build(j->graph, straight);
    build(other, mixed);
    assert_true(graph_sort_cycle(j->graph, &cycle, &length));
    assert_true(graph_sort_cycle(other, &cycle, &length));
    for (int i = 0; i < NODES; i++) {
        const struct node *n = other->nodes[i];

        assert_string_equal(j->graph->nodes[i]->name, n->name);
        for (int slot = 0; slot < 2; slot++) /* what it reads has come */
            for (int k = i; k < NODES; k++)
                assert_ptr_not_equal(n->inputs[slot]->producer, other->nodes[k]);
    }
    END_JOB(j);
}

static void test_cycle(void **state)
{
    WITH_JOB(j);
    struct graph *g = j->graph;
    struct value *x = input(g, "x", TYPE_FLOAT32, SHAPE(1)), *a, *b, *c;
    struct node **cycle, *one;
    int length;

    (void)state;
    a = NODE(g, "Add", "a", x, x);
    b = NODE(g, "Relu", "b", a);
    c = NODE(g, "Relu", "c", b);
    node_set_input(a->producer, 1, c);
    output(g, NODE(g, "Relu", "end", c));
    assert_false(graph_sort_cycle(g, &cycle, &length));
    assert_int_equal(length, 3);
    for (int i = 0; i < length; i++) {
        struct node *next = cycle[(i + 1) % length];
        bool read = false;

        for (int k = 0; k < next->input_count; k++)
            read |= next->inputs[k] && next->inputs[k]->producer == cycle[i];
        assert_true(read);
    }
    assert_false(graph_sort(g, &one, &length));
    assert_non_null(one);
    assert_int_equal(g->node_count, 4); /* nothing lost */
    END_JOB(j);
}

static void test_deep_sort(void **state)
{
    enum { LENGTH = 200000 };
    WITH_JOB(j);
    struct graph *g = j->graph;
    struct value *v = input(g, "x", TYPE_FLOAT32, SHAPE(1));
    struct node **cycle;
    int length;

    (void)state;
    for (int i = 0; i < LENGTH; i++)
        v = NODE(g, "Relu", "", v);
    output(g, v);
    assert_true(graph_sort_cycle(g, &cycle, &length));
    assert_int_equal(g->nodes[LENGTH - 1]->position, LENGTH - 1);
    END_JOB(j);
}

static void test_splice(void **state)
{
    WITH_JOB(j);
    struct graph *g = j->graph, *body = graph_new(&j->context);
    struct value *x = input(g, "x", TYPE_FLOAT32, SHAPE(1)), *a, *b;

    (void)state;
    a = NODE(g, "Relu", "a", x);
    b = NODE(g, "Relu", "b", a);
    output(g, b);
    NODE(body, "Abs", "inner1", a);
    NODE(body, "Abs", "inner2", body->nodes[0]->outputs[0]);
    graph_splice(g, a->producer, body->nodes, body->node_count);
    assert_int_equal(g->node_count, 4);
    assert_string_equal(g->nodes[1]->name, "inner1");
    assert_string_equal(g->nodes[2]->name, "inner2");
    assert_string_equal(g->nodes[3]->name, "b");
    assert_ptr_equal(g->nodes[1]->graph, g);
    END_JOB(j);
}

static void test_rows(void **state)
{
    WITH_JOB(j);

    (void)state;
    assert_non_null(operator_find("", "Relu", 13));
    assert_null(operator_find("", "Upsample", 13)); /* gone since 10 */
    assert_null(operator_find("other", "Relu", 13));
    assert_null(operator_find(OPERATOR_INTERNAL, "Narrow", 1)); /* no file can ask for it */
    assert_string_equal(operator_get(&j->context, "Narrow")->domain, OPERATOR_INTERNAL);
    for (const struct operator* op = operator_rows(); op->name; op++) {
        assert_true(op->name[0] >= 'A' && op->name[0] <= 'Z');
        assert_true(op->min_inputs <= op->max_inputs || op->max_inputs < 0);
        assert_true(op->min_outputs <= op->max_outputs || op->max_outputs < 0);
        assert_true(!op->until || op->since <= op->until);
        for (const struct operator* other = operator_rows(); other != op; other++)
            if (!strcmp(op->name, other->name) && !strcmp(op->domain, other->domain))
                assert_true((other->until && other->until < op->since) ||
                            (op->until && op->until < other->since));
    }
    END_JOB(j);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_wiring),
        cmocka_unit_test(test_replace_output),
        cmocka_unit_test(test_attributes),
        cmocka_unit_test(test_attribute_hash),
        cmocka_unit_test(test_canonical_order),
        cmocka_unit_test(test_cycle),
        cmocka_unit_test(test_deep_sort),
        cmocka_unit_test(test_splice),
        cmocka_unit_test(test_rows),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
