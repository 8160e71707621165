/* Sequences and optional values: what takes out of them what was put in, and what is refused.
 * Values are worked out by hand from the operators' definitions. */
#include "tests/unit/compiler/control_models.h"

/* x of [1, 3] to y through nodes. */
static struct strbuf through(const char *nodes)
{
    struct strbuf g = graph_xy();

    put_int64(&g, "minus", -1);
    put_int64(&g, "minus_two", -2);
    put_int64(&g, "four", 4);
    put_nodes(&g, nodes);
    return g;
}

/* … whose last node has an attribute. */
static struct strbuf then(struct strbuf g, struct strbuf made, const char *name, int64_t number)
{
    put(&g, GRAPH_NODE, with(made, int_attribute(name, number)));
    return g;
}

/* A type that holds elements of another: a sequence (4) or an optional value (9) of float32. */
static struct strbuf holder(const char *name, unsigned kind)
{
    struct strbuf tensor = message(), element = message(), holds = message(), type = message(),
                  s = message();

    put_int(&tensor, 1, FLOAT);
    put(&element, 1, tensor);
    put(&holds, 1, element);
    put(&type, kind, holds);
    put_bytes(&s, 1, name, strlen(name));
    put(&s, 2, type);
    return s;
}

/* x, -x, x + x in a sequence s. */
#define THREE "Neg x -> n; Add x,x -> d; SequenceConstruct x,n,d -> s; "

static void finds_what_was_put_in(void **state)
{
    static const struct {
        const char *nodes, *expected;
    } rows[] = {
        {THREE "SequenceAt s,zero -> y", "[1, 3] 1 2 3"},
        {THREE "SequenceAt s,two -> y", "[1, 3] 2 4 6"},
        {THREE "SequenceAt s,minus -> y", "[1, 3] 2 4 6"},
        {THREE "SequenceAt s,minus_two -> y", "[1, 3] -1 -2 -3"},
        /* The position is computed from the length, in whatever order the nodes stand. */
        {"SequenceAt s,i -> y; Sub l,two -> i; SequenceLength s -> l; " THREE, "[1, 3] -1 -2 -3"},
        {THREE "SequenceInsert s,half -> t; SequenceAt t,three -> y", "[] 0.5"},
        {THREE "SequenceInsert s,half,zero -> t; SequenceAt t,one -> y", "[1, 3] 1 2 3"},
        /* From the back: before the last. */
        {THREE "SequenceInsert s,half,minus -> t; SequenceAt t,two -> y", "[] 0.5"},
        {THREE "SequenceErase s -> t; SequenceAt t,minus -> y", "[1, 3] -1 -2 -3"},
        {THREE "SequenceErase s,zero -> t; SequenceAt t,zero -> y", "[1, 3] -1 -2 -3"},
        {THREE "SequenceErase s,minus_two -> t; SequenceAt t,one -> y", "[1, 3] 2 4 6"},
        {"SequenceEmpty () -> e; SequenceInsert e,x -> s; SequenceAt s,zero -> y", "[1, 3] 1 2 3"},
        /* One list that two others go on from. */
        {THREE "SequenceInsert s,half -> t; SequenceErase t -> u; SequenceInsert u,x -> v; "
               "SequenceInsert u,n -> w; SequenceAt v,three -> a; SequenceAt w,three -> b; "
               "SequenceAt t,three -> c; Sub a,b -> e; Add e,c -> y",
         "[1, 3] 2.5 4.5 6.5"},
        /* Other names, and one that nobody reads. */
        {THREE "Identity s -> t; SequenceInsert t,x -> u; Identity t -> v; SequenceAt v,one -> y",
         "[1, 3] -1 -2 -3"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        gives(model_of(8, 11 + (int)i, through(rows[i].nodes)), rows[i].expected);
}

static void splits_and_joins(void **state)
{
    static const int64_t two[] = {2}, one_two[] = {1, 2};
    struct strbuf g;

    (void)state;
    for (int opset = 11; opset <= 26; opset++) {
        gives(model_of(8, opset,
                       then(through(THREE), node("ConcatFromSequence", "s", "y"), "axis", -1)),
              "[1, 9] 1 2 3 -1 -2 -3 2 4 6");
        gives(model_of(8, opset,
                       then(through(THREE),
                            with(node("ConcatFromSequence", "s", "y"), int_attribute("axis", 1)),
                            "new_axis", 1)),
              "[1, 3, 3] 1 2 3 -1 -2 -3 2 4 6");
        gives(model_of(8, opset,
                       then(through(THREE),
                            with(node("ConcatFromSequence", "s", "y"), int_attribute("axis", -1)),
                            "new_axis", 1)),
              "[1, 3, 3] 1 -1 2 2 -2 4 3 -3 6");
        /* Parts of one each, with the axis and without; of two, of which the last is shorter; of
         * given lengths. */
        gives(model_of(8, opset,
                       then(through("SequenceAt s,one -> y"), node("SplitToSequence", "x", "s"),
                            "axis", 1)),
              "[1, 1] 2");
        gives(model_of(8, opset,
                       then(through("SequenceAt s,minus -> y"),
                            with(node("SplitToSequence", "x", "s"), int_attribute("keepdims", 0)),
                            "axis", -1)),
              "[1] 3");
        gives(
            model_of(8, opset,
                     then(through("SequenceAt s,zero -> y"),
                          with(node("SplitToSequence", "x,two", "s"), int_attribute("keepdims", 0)),
                          "axis", 1)),
            "[1, 2] 1 2");
        gives(model_of(8, opset,
                       then(through("SequenceAt s,one -> y"), node("SplitToSequence", "x,two", "s"),
                            "axis", 1)),
              "[1, 1] 3");
        g = through("SequenceAt s,one -> y");
        put(&g, GRAPH_INITIALIZER, raw_tensor("lengths", INT64, 1, two, one_two, 16));
        gives(model_of(8, opset, then(g, node("SplitToSequence", "x,lengths", "s"), "axis", 1)),
              "[1, 2] 2 3");
    }
}

/* An exporter's `for`: a list that grows, then joins. */
static void goes_through_loops(void **state)
{
    struct strbuf g = graph_xy();

    (void)state;
    put_nodes(&g, "SequenceEmpty () -> e");
    put(&g, GRAPH_NODE,
        loop("three,yes,e,x", "s,v",
             body("i,c,l,a", "Add a,x -> b; SequenceInsert l,b -> m", "c,m,b")));
    put(&g, GRAPH_NODE, with(node("ConcatFromSequence", "s", "y"), int_attribute("axis", 0)));
    gives(model_of(8, 17, g), "[3, 3] 2 4 6 3 6 9 4 8 12");
    /* No trips: what was there before. As many as there are elements; one inside another. */
    g = through(THREE "SequenceAt t,minus -> y");
    put(&g, GRAPH_NODE, loop("zero,yes,s", "t", body("i,c,l", "SequenceErase l -> m", "c,m")));
    gives(model_of(8, 17, g), "[1, 3] 2 4 6");
    g = through(THREE "SequenceLength s -> l");
    put(&g, GRAPH_NODE,
        loop("l,yes,x", "y", body("i,c,v", "SequenceAt s,i -> w; Add v,w -> u", "c,u")));
    gives(model_of(8, 17, g), "[1, 3] 3 6 9");
    /* The branch that is taken gives one. */
    g = through("SequenceAt s,zero -> y");
    put(&g, GRAPH_NODE,
        with(with(node("If", "yes", "s"),
                  graph_attribute("then_branch",
                                  body("", "Neg x -> n; SequenceConstruct n -> a", "a"))),
             graph_attribute("else_branch", body("", "SequenceConstruct x -> b", "b"))));
    gives(model_of(8, 17, g), "[1, 3] -1 -2 -3");
}

static void maps(void **state)
{
    struct strbuf g = through(THREE "SequenceAt t,minus -> y");

    (void)state;
    /* The sequence, another one, and a tensor for all. */
    put(&g, GRAPH_NODE,
        with(node("SequenceMap", "s,s,half", "t"),
             graph_attribute("body", body("a,b,c", "Mul a,b -> d; Add d,c -> e", "e"))));
    gives(model_of(8, 17, g), "[1, 3] 4.5 16.5 36.5");
    /* Two outputs, an outer value; nothing to map. */
    g = through(THREE "SequenceAt t,one -> y");
    put(&g, GRAPH_NODE,
        with(node("SequenceMap", "s", "r,t"),
             graph_attribute("body", body("a", "Abs a -> b; Add a,x -> c", "c,b"))));
    gives(model_of(8, 18, g), "[1, 3] 1 2 3");
    g = through("SequenceEmpty () -> e; SequenceLength t -> l; Identity x -> y");
    put(&g, GRAPH_NODE,
        with(node("SequenceMap", "e", "t"), graph_attribute("body", body("a", "Abs a -> b", "b"))));
    gives(model_of(8, 18, g), "[1, 3] 1 2 3");
    g = through(THREE "SequenceErase s -> t");
    put(&g, GRAPH_NODE,
        with(node("SequenceMap", "s,t", "y"),
             graph_attribute("body", body("a,b", "Add a,b -> c", "c"))));
    refused(model_of(8, 18, g), TUKI0106, "its sequence t has 2 elements, and s has 3");
}

static void opens_optionals(void **state)
{
    static const struct {
        const char *nodes, *expected;
        int opset;
    } rows[] = {
        {"Optional x -> o; OptionalGetElement o -> y", "[1, 3] 1 2 3", 15},
        {THREE "Optional s -> o; OptionalGetElement o -> t; SequenceAt t,one -> y",
         "[1, 3] -1 -2 -3", 16},
        {"OptionalGetElement x -> y", "[1, 3] 1 2 3", 18},
        {THREE "OptionalGetElement s -> t; SequenceAt t,one -> y", "[1, 3] -1 -2 -3", 18},
        {"Optional x -> o; OptionalHasElement o -> h; Where h,x,half -> y", "[1, 3] 1 2 3", 15},
        {"Optional () -> o; OptionalHasElement o -> h; Where h,x,half -> y", "[1, 3] 0.5 0.5 0.5",
         15},
        {"OptionalHasElement () -> h; Where h,x,half -> y", "[1, 3] 0.5 0.5 0.5", 18},
        {"OptionalHasElement x -> h; Where h,x,half -> y", "[1, 3] 1 2 3", 26},
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        gives(model_of(8, rows[i].opset, through(rows[i].nodes)), rows[i].expected);
}

static void refuses(void **state)
{
    static const struct {
        const char *nodes;
        enum diagnostic_code code;
        const char *text;
    } rows[] = {
        {THREE "SequenceAt s,three -> y", TUKI0106, "position 3 lies outside of its sequence of 3"},
        {THREE "SequenceErase s,four -> t; SequenceAt t,zero -> y", TUKI0106, "position 4 lies"},
        {THREE "SequenceInsert s,x,four -> t; SequenceAt t,zero -> y", TUKI0106, "position 4 lies"},
        {"SequenceEmpty () -> s; SequenceErase s -> t; SequenceAt t,zero -> y", TUKI0106,
         "position -1 lies outside of its sequence of 0"},
        {THREE "SequenceAt x,zero -> y", TUKI0106, "its input x is not a sequence"},
        {THREE "SequenceAt s -> y", TUKI0106, "its input 1 is missing"},
        {THREE "Relu s -> y", TUKI0106, "Relu #3: its input s is a sequence, not a tensor"},
        {THREE "SequenceAt s,half -> y", TUKI0106, "its position is float32 of []"},
        {THREE "ConcatFromSequence s -> y", TUKI0106, "its attribute axis is missing"},
        {THREE "Identity s -> y", TUKI0115,
         "it is a sequence. Export with tensors of float32 as the model's inputs and outputs"},
        {"Optional () -> o; OptionalGetElement o -> y", TUKI0106, "its input o holds no element"},
        {"Optional () -> o; Neg o -> y", TUKI0106, "is an optional value, not a tensor"},
        {THREE
         "Shape n -> h; ReduceMax h -> m; ReduceSum x -> r; Mul r,half -> p; SequenceAt s,p -> y",
         TUKI0116, "it takes its position from the model input x"},
    };
    struct strbuf g;

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        refused(model_of(8, 17, through(rows[i].nodes)), rows[i].code, rows[i].text);
    /* At the model's edge. */
    g = message();
    put(&g, GRAPH_INPUT, holder("s", 4));
    put_values(&g, GRAPH_OUTPUT, "y");
    put_int64(&g, "zero", 0);
    put_nodes(&g, "SequenceAt s,zero -> y");
    refused(model_of(8, 17, g), TUKI0115, "it is a sequence. Export with tensors of float32");
    g = message();
    put(&g, GRAPH_INPUT, holder("s", 9));
    put_values(&g, GRAPH_OUTPUT, "y");
    put_nodes(&g, "OptionalGetElement s -> y");
    refused(model_of(8, 17, g), TUKI0115, "it is an optional value.");
    g = message();
    put(&g, GRAPH_INPUT, value_info("x", FLOAT, 2, (const int64_t[]){1, 3}));
    put(&g, GRAPH_OUTPUT, holder("y", 4));
    put_nodes(&g, "SequenceConstruct x,x -> y");
    refused(model_of(8, 17, g), TUKI0115, "it is a sequence.");
    g = graph_xy();
    put(&g, GRAPH_INPUT, value_info("i", INT64, 0, NULL));
    put_nodes(&g, THREE "SequenceAt s,i -> y");
    refused(model_of(8, 17, g), TUKI0116, "it takes its position from the model input i");
    g = message();
    put(&g, GRAPH_INPUT, value_info("x", FLOAT, 2, (const int64_t[]){1, -1}));
    put_values(&g, GRAPH_OUTPUT, "y");
    put_int64(&g, "zero", 0);
    put_nodes(&g, "SequenceAt s,zero -> y");
    put(&g, GRAPH_NODE, with(node("SplitToSequence", "x", "s"), int_attribute("axis", 1)));
    {
        struct job *j = load(model_of(8, 17, g));

        for (int i = 0; i < j->c.diagnostics.count; i++)
            assert_int_equal(j->c.diagnostics.list[i].code, TUKI0112);
        assert_true(j->c.diagnostics.count > 0);
        done(j);
    }
}

/* Lists that each are copied, and one that is split, beyond what a model may ask for. */
static void bounds_what_it_holds(void **state)
{
    struct strbuf g = through("SequenceAt s,zero -> y");

    (void)state;
    put_int64(&g, "many", 4000);
    put_nodes(&g, "SequenceEmpty () -> e");
    put(&g, GRAPH_NODE, loop("many,,e", "s", body("i,c,l", "SequenceInsert l,x,zero -> m", "c,m")));
    refused(model_of(8, 17, g), TUKI0110,
            "with it the sequences of the model hold more than 1048576 elements. Export with "
            "shorter sequences");
    /* Appended to, they are one. */
    g = through("SequenceAt s,minus -> y");
    put_int64(&g, "many", 4000);
    put_nodes(&g, "SequenceEmpty () -> e");
    put(&g, GRAPH_NODE, loop("many,,e", "s", body("i,c,l", "SequenceInsert l,x -> m", "c,m")));
    gives(model_of(8, 17, g), "[1, 3] 1 2 3");
    g = message();
    put(&g, GRAPH_INPUT, value_info("x", FLOAT, 2, (const int64_t[]){1, (int64_t)1 << 40}));
    put_values(&g, GRAPH_OUTPUT, "y");
    put_int64(&g, "zero", 0);
    put_nodes(&g, "SequenceAt s,zero -> y");
    put(&g, GRAPH_NODE, with(node("SplitToSequence", "x", "s"), int_attribute("axis", 1)));
    refused(model_of(8, 17, g), TUKI0110, "elements into more than 1048576 parts");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, bytes_begin, bytes_end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(finds_what_was_put_in), TEST(splits_and_joins), TEST(goes_through_loops),   TEST(maps),
        TEST(opens_optionals),       TEST(refuses),          TEST(bounds_what_it_holds),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
