/* Loop and Scan: what they come to, through the reference engine, and what is refused. If is in
 * test_load.c. Values are worked out by hand from the operators' definitions. */
#include "tests/unit/compiler/control_models.h"

/* ---- Loop ---- */

static void carries_values(void **state)
{
    (void)state;
    for (int opset = 7; opset <= 26; opset++) {
        struct strbuf g = graph_xy();

        put(&g, GRAPH_NODE,
            loop("three,yes,x", "y", body("i,c,v", "Identity c -> d; Add v,v -> w", "d,w")));
        gives(model_of(8, opset, g), "[1, 3] 8 16 24");
    }
    struct strbuf g = graph_xy();

    /* Two that change places, an outer value, nodes in any order, the trip's number. */
    put_nodes(&g, "Neg x -> n; Abs n -> o");
    {
        struct strbuf inside = message();

        put_values(&inside, GRAPH_INPUT, "i,c,v,w");
        put_nodes(&inside, "Mul o,f -> u; Add w,u -> z");
        put(&inside, GRAPH_NODE, with(node("Cast", "i", "f"), int_attribute("to", FLOAT)));
        put_values(&inside, GRAPH_OUTPUT, "c,z,v");
        put(&g, GRAPH_NODE, loop("three,,x,n", "a,y", inside));
    }
    /* (x, -x), (-x, x), (x + x, -x), (-x + 2x, 2x): the second. */
    gives(model_of(8, 17, g), "[1, 3] 2 4 6");
}

static void collects_values(void **state)
{
    struct strbuf g = graph_xy();

    (void)state;
    put(&g, GRAPH_NODE,
        loop("three,yes,x", "a,y",
             body("i,c,v", "Identity c -> d; Add v,x -> w; Neg v -> s", "d,w,s")));
    gives(model_of(8, 13, g), "[3, 1, 3] -1 -2 -3 -2 -4 -6 -3 -6 -9");
    /* Once only; the carried value is not asked for. */
    g = graph_xy();
    put(&g, GRAPH_NODE,
        loop("one,yes,x", ",y", body("i,c,v", "Identity c -> d; Neg v -> s", "d,v,s")));
    gives(model_of(8, 13, g), "[1, 1, 3] -1 -2 -3");
    /* The outer value itself, and a constant of the body. */
    g = graph_xy();
    put_nodes(&g, "Add p,q -> y");
    put(&g, GRAPH_NODE, loop("three,", "p,q", body("i,c", "Neg half -> h", "c,x,h")));
    gives(model_of(8, 13, g), "[3, 1, 3] 0.5 1.5 2.5 0.5 1.5 2.5 0.5 1.5 2.5");
}

static void stops_when_the_condition_says(void **state)
{
    struct strbuf g;

    (void)state;
    /* while (n < 3), with a counter of its own. */
    g = graph_xy();
    put(&g, GRAPH_NODE,
        loop(",yes,zero,x", "n,y",
             body("i,c,n,v", "Add n,one -> m; Less m,three -> d; Add v,v -> w", "d,m,w")));
    gives(model_of(8, 13, g), "[1, 3] 8 16 24");
    /* Both bounds, either first. */
    g = graph_xy();
    put(&g, GRAPH_NODE,
        loop("two,yes,x", "y", body("i,c,v", "Less i,three -> d; Add v,v -> w", "d,w")));
    gives(model_of(8, 13, g), "[1, 3] 4 8 12");
    g = graph_xy();
    put(&g, GRAPH_NODE,
        loop("three,yes,x", "y", body("i,c,v", "Less i,zero -> d; Add v,v -> w", "d,w")));
    gives(model_of(8, 13, g), "[1, 3] 2 4 6");
    /* Without a condition to begin with, what the body says of it is ignored. */
    g = graph_xy();
    put(&g, GRAPH_NODE,
        loop("three,,x", "y", body("i,c,v", "Less i,zero -> d; Add v,v -> w", "d,w")));
    gives(model_of(8, 13, g), "[1, 3] 8 16 24");
    /* The trip count from a shape; the condition from an If inside. */
    g = graph_xy();
    put_nodes(&g, "Shape x -> s; Gather s,one -> n");
    {
        struct strbuf inside = body("i,c,v", "Less i,one -> e; Add v,v -> w", "d,w");
        struct strbuf branches =
            with(with(node("If", "e", "d"), graph_attribute("then_branch", body("", "", "yes"))),
                 graph_attribute("else_branch", body("", "", "no")));

        put(&inside, GRAPH_NODE, branches);
        put(&g, GRAPH_NODE, loop("n,yes,x", "y", inside));
    }
    gives(model_of(8, 13, g), "[1, 3] 4 8 12");
}

static void makes_no_trips(void **state)
{
    static const int64_t one_three[] = {1, 3};
    struct strbuf g = graph_xy(), inside;

    (void)state;
    put(&g, GRAPH_NODE, loop("zero,yes,x", "y", body("i,c,v", "Neg v -> w", "c,w")));
    gives(model_of(8, 13, g), "[1, 3] 1 2 3");
    g = graph_xy();
    put(&g, GRAPH_NODE, loop("three,no,x", "y", body("i,c,v", "Neg v -> w", "c,w")));
    gives(model_of(8, 13, g), "[1, 3] 1 2 3");
    /* Nothing collected, by the shape that follows and, where none does, by the recorded one. */
    g = graph_xy();
    put(&g, GRAPH_NODE, loop("zero,yes,x", "v,e", body("i,c,v", "Neg v -> w", "c,w,w")));
    put(&g, GRAPH_NODE, with(node("Concat", "e,u", "y"), int_attribute("axis", 0)));
    put(&g, GRAPH_NODE, with(node("Unsqueeze", "x", "u"), ints_of("axes", 0, INT64_MIN)));
    gives(model_of(8, 11, g), "[1, 1, 3] 1 2 3");
    g = graph_xy();
    inside = message();
    put_values(&inside, GRAPH_INPUT, "i,c,v");
    put(&inside, GRAPH_NODE, loop("two,,v", "w", body("k,e,a", "Neg a -> b", "e,b")));
    put_values(&inside, GRAPH_OUTPUT, "c,w");
    put(&inside, GRAPH_OUTPUT, value_info("w", FLOAT, 2, one_three));
    put(&g, GRAPH_NODE, loop("zero,yes,x", "v,e", inside));
    put(&g, GRAPH_NODE, with(node("Concat", "e,u", "y"), int_attribute("axis", 0)));
    put(&g, GRAPH_NODE, with(node("Unsqueeze", "x", "u"), ints_of("axes", 0, INT64_MIN)));
    gives(model_of(8, 11, g), "[1, 1, 3] 1 2 3");
}

static void nests(void **state)
{
    struct strbuf g = graph_xy(), inner, outer;

    (void)state;
    /* For each i < 3, for each k < i: v += x. */
    inner = body("k,ci,a", "Add a,x -> b", "ci,b");
    outer = message();
    put_values(&outer, GRAPH_INPUT, "i,c,v");
    put(&outer, GRAPH_NODE, loop("i,yes,v", "w", inner));
    put_values(&outer, GRAPH_OUTPUT, "c,w,w");
    put(&g, GRAPH_NODE, loop("three,yes,x", "t,y", outer));
    gives(model_of(8, 13, g), "[3, 1, 3] 1 2 3 2 4 6 4 8 12");
    /* One loop's count decides the other's, whichever stands first; a shape that grows. */
    g = graph_xy();
    put(&g, GRAPH_NODE, loop("n,yes,x", "y", body("i,c,v", "Add v,x -> w", "c,w")));
    put(&g, GRAPH_NODE, loop("three,yes,zero", "n", body("i,c,v", "Add v,i -> w", "c,w")));
    gives(model_of(8, 13, g), "[1, 3] 4 8 12");
    g = graph_xy();
    inner = message();
    put_values(&inner, GRAPH_INPUT, "i,c,v");
    put(&inner, GRAPH_NODE, with(node("Concat", "v,x", "w"), int_attribute("axis", 1)));
    put_values(&inner, GRAPH_OUTPUT, "c,w");
    put(&g, GRAPH_NODE, loop("two,yes,x", "y", inner));
    gives(model_of(8, 13, g), "[1, 9] 1 2 3 1 2 3 1 2 3");
}

static void refuses_loops(void **state)
{
    static const int64_t open[] = {1, -1};
    struct strbuf g = graph_xy(), inside;

    (void)state;
    put(&g, GRAPH_INPUT, value_info("n", INT64, 0, NULL));
    put(&g, GRAPH_NODE, loop("n,yes,x", "y", body("i,c,v", "Neg v -> w", "c,w")));
    refused(model_of(8, 13, g), TUKI0110,
            "Loop #0: its trip count n is a model input. Export with a constant trip count");
    g = graph_xy();
    put(&g, GRAPH_INPUT, value_info("n", INT64, 0, NULL));
    put_nodes(&g, "Add n,one -> m");
    put(&g, GRAPH_NODE, loop("m,yes,x", "y", body("i,c,v", "Neg v -> w", "c,w")));
    refused(model_of(8, 13, g), TUKI0110, "its trip count m is computed from the model's inputs");
    g = graph_xy();
    put(&g, GRAPH_INPUT, value_info("go", BOOL, 0, NULL));
    put(&g, GRAPH_NODE, loop("two,go,x", "y", body("i,c,v", "Neg v -> w", "c,w")));
    refused(model_of(8, 13, g), TUKI0110, "its condition is the model input go. Export with a");
    /* Until the values converge: the comparison is what is wrong, and nothing else. */
    g = graph_xy();
    put(&g, GRAPH_NODE,
        loop(",yes,x", "y",
             body("i,c,v", "Add v,v -> w; ReduceMax w -> m; Less m,half -> d", "d,w")));
    refused(model_of(8, 13, g), TUKI0127, "its result decides how often the body runs of Loop #0");
    g = message();
    put(&g, GRAPH_INPUT, value_info("x", FLOAT, 2, open));
    put_values(&g, GRAPH_OUTPUT, "y");
    put_nodes(&g, "Shape x -> s; Gather s,one -> n");
    put_int64(&g, "one", 1);
    put(&g, GRAPH_NODE, loop("n,,x", "y", body("i,c,v", "Neg v -> w", "c,w")));
    {
        struct job *j = load(model_of(8, 13, g));

        for (int i = 0; i < j->c.diagnostics.count; i++)
            assert_int_equal(j->c.diagnostics.list[i].code, TUKI0112);
        assert_true(j->c.diagnostics.count > 0);
        done(j);
    }
    /* Too many trips: said before they are made, or when they are; and in two loops together. */
    g = graph_xy();
    put_int64(&g, "many", (int64_t)1 << 60);
    put(&g, GRAPH_NODE, loop("many,,x", "y", body("i,c,v", "Neg v -> w", "c,w")));
    refused(model_of(8, 13, g), TUKI0110,
            "it makes 1152921504606846976 trips over 1 layers, with which the loops of the model "
            "unfold to more than 8192");
    g = graph_xy();
    put(&g, GRAPH_NODE,
        loop(",yes,x", "y", body("i,c,v", "Neg v -> a; Neg a -> w; Or c,yes -> d", "d,w")));
    refused(model_of(8, 13, g), TUKI0110, "after 2730 trips its condition still holds");
    g = graph_xy();
    put_int64(&g, "many", 200);
    inside = message();
    put_values(&inside, GRAPH_INPUT, "i,c,v");
    put(&inside, GRAPH_NODE, loop("many,,v", "w", body("k,e,a", "Neg a -> b", "e,b")));
    put_values(&inside, GRAPH_OUTPUT, "c,w");
    put(&g, GRAPH_NODE, loop("many,,x", "y", inside));
    refused(model_of(8, 13, g), TUKI0110, "it makes 200 trips over 1 layers");
    /* Broken ones. */
    g = graph_xy();
    put(&g, GRAPH_NODE, node("Loop", "two,yes,x", "y"));
    refused(model_of(8, 13, g), TUKI0106, "Loop #0: it has no body");
    g = graph_xy();
    put(&g, GRAPH_NODE, loop("two,yes,x", "y", body("i,c", "Neg x -> w", "c,w")));
    refused(model_of(8, 13, g), TUKI0106, "its body has 2 inputs and 2 outputs");
    g = graph_xy();
    put(&g, GRAPH_NODE, loop("half,yes,x", "y", body("i,c,v", "Neg v -> w", "c,w")));
    refused(model_of(8, 13, g), TUKI0106, "its trip count is float32 of []");
    g = graph_xy();
    put(&g, GRAPH_NODE, loop("two,one,x", "y", body("i,c,v", "Neg v -> w", "c,w")));
    refused(model_of(8, 13, g), TUKI0106, "its condition is int64 of []");
    g = graph_xy();
    put(&g, GRAPH_NODE, loop("two,,x", "y", body("i,c,v", "Neg v -> w", "c,lost")));
    refused(model_of(8, 13, g), TUKI0105, "output lost of its body is never produced");
    /* Of an If, the branch that is not taken has to be there too. */
    g = graph_xy();
    put(&g, GRAPH_NODE,
        with(node("If", "yes", "y"), graph_attribute("then_branch", body("", "", "x"))));
    refused(model_of(8, 13, g), TUKI0106, "If #0: it has no else_branch");
    g = graph_xy();
    put(&g, GRAPH_NODE, loop("two,,x", "y", body("i,c,v", "Frobnicate v -> w", "c,w")));
    refused(model_of(8, 13, g), TUKI0110, "the operator Frobnicate is not supported");
    /* A body that reads what its loop gives. */
    g = graph_xy();
    put(&g, GRAPH_NODE, loop("two,,x", "y", body("i,c,v", "Add v,y -> w", "c,w")));
    refused(model_of(8, 13, g), TUKI0104, "read each other");
}

/* ---- Scan ---- */

/* x of dims to y through one Scan. */
static struct strbuf scan_model(int64_t opset, int axes, const int64_t *dims, struct strbuf made)
{
    struct strbuf g = message();

    put(&g, GRAPH_INPUT, value_info("x", FLOAT, axes, dims));
    put_values(&g, GRAPH_OUTPUT, "y");
    put_int64(&g, "one", 1);
    put_float32(&g, "start", 0);
    put(&g, GRAPH_NODE, made);
    return model_of(8, opset, g);
}

static void scans(void **state)
{
    static const int64_t dims[] = {1, 2, 3};

    (void)state;
    /* Running sums along an axis; the last state, then all of them. */
    for (int opset = 9; opset <= 26; opset++)
        gives(scan_model(opset, 3, dims,
                         with(scan("start,x", "t,y", 1, body("s,v", "Add s,v -> w", "w,w")),
                              ints_of("scan_input_axes", 1, INT64_MIN))),
              "[2, 1, 3] 1 2 3 5 7 9");
    gives(scan_model(11, 3, dims,
                     with(scan("start,x", "y,t", 1, body("s,v", "Add s,v -> w", "w,w")),
                          ints_of("scan_input_axes", -1, INT64_MIN))),
          "[1, 2] 6 15");
    /* Axes of what comes out, from the end too; backwards; no state. */
    gives(scan_model(11, 3, dims,
                     with(with(with(scan("start,x", "t,y", 1, body("s,v", "Add s,v -> w", "w,w")),
                                    ints_of("scan_input_axes", 2, INT64_MIN)),
                               ints_of("scan_output_axes", -1, INT64_MIN)),
                          ints_of("scan_input_directions", 1, INT64_MIN))),
          "[1, 2, 3] 3 5 6 6 11 15");
    gives(scan_model(11, 3, dims,
                     with(with(with(scan("start,x", "t,y", 1, body("s,v", "Add s,v -> w", "w,w")),
                                    ints_of("scan_input_axes", -1, INT64_MIN)),
                               ints_of("scan_output_axes", 1, INT64_MIN)),
                          ints_of("scan_output_directions", 1, INT64_MIN))),
          "[1, 3, 2] 6 15 3 9 1 4");
    gives(scan_model(16, 3, dims, scan("x", "y", 1, body("v", "Neg v -> w", "w"))),
          "[1, 2, 3] -1 -2 -3 -4 -5 -6");
    /* Two inputs at once, one of them backwards. */
    gives(scan_model(16, 3, dims,
                     with(with(scan("x,x", "y", 2, body("v,u", "Sub v,u -> w", "w")),
                               ints_of("scan_input_axes", 1, 1)),
                          ints_of("scan_input_directions", 0, 1))),
          "[2, 1, 3] -3 -3 -3 3 3 3");
}

static void scans_in_batches(void **state)
{
    static const int64_t dims[] = {1, 3, 2}, one[] = {1}, two_one[] = {2, 1};
    struct strbuf g;

    (void)state;
    g = message();
    put(&g, GRAPH_INPUT, value_info("x", FLOAT, 3, dims));
    put_values(&g, GRAPH_OUTPUT, "y");
    put(&g, GRAPH_INITIALIZER, raw_tensor("start", FLOAT, 1, one, "\0\0\0\0", 4));
    put(&g, GRAPH_NODE,
        with(scan(",start,x", "t,y", 1, body("s,v", "Add s,v -> w", "w,w")),
             ints_of("directions", 1, INT64_MIN)));
    gives(model_of(8, 8, g), "[1, 3, 2] 5 6 8 10 9 12");
    /* Two items, which know nothing of each other. */
    g = message();
    put(&g, GRAPH_INPUT, value_info("x", FLOAT, 2, (const int64_t[]){1, 4}));
    put_values(&g, GRAPH_OUTPUT, "y");
    put(&g, GRAPH_INITIALIZER,
        raw_tensor("two_two", INT64, 1, (const int64_t[]){3}, (const int64_t[]){2, 2, 1}, 24));
    put(&g, GRAPH_INITIALIZER, raw_tensor("start", FLOAT, 2, two_one, "\0\0\0\0\0\0\0\0", 8));
    put_nodes(&g, "Reshape x,two_two -> r");
    put(&g, GRAPH_NODE, scan(",start,r", "t,y", 1, body("s,v", "Add s,v -> w", "w,w")));
    gives(model_of(8, 8, g), "[2, 2, 1] 1 3 3 7");
    /* A shorter sequence: zeros behind it. */
    g = message();
    put(&g, GRAPH_INPUT, value_info("x", FLOAT, 3, dims));
    put_values(&g, GRAPH_OUTPUT, "y");
    put(&g, GRAPH_INITIALIZER, raw_tensor("start", FLOAT, 1, one, "\0\0\0\0", 4));
    put(&g, GRAPH_INITIALIZER, raw_tensor("lengths", INT64, 1, one, "\2\0\0\0\0\0\0\0", 8));
    put(&g, GRAPH_NODE, scan("lengths,start,x", "t,y", 1, body("s,v", "Add s,v -> w", "w,w")));
    gives(model_of(8, 8, g), "[1, 3, 2] 1 2 4 6 0 0");
}

static void scans_nothing(void **state)
{
    static const int64_t dims[] = {1, 2, 3}, none[] = {0, 2};
    struct strbuf g = message();

    (void)state;
    put(&g, GRAPH_INPUT, value_info("x", FLOAT, 3, dims));
    put_values(&g, GRAPH_OUTPUT, "y");
    put(&g, GRAPH_INITIALIZER, raw_tensor("nothing", FLOAT, 2, none, "", 0));
    put_float32(&g, "start", 0);
    put(&g, GRAPH_NODE, scan("start,nothing", "t,e", 1, body("s,v", "Add s,v -> w", "w,w")));
    put(&g, GRAPH_NODE, with(node("Concat", "e,r", "y"), int_attribute("axis", 0)));
    put(&g, GRAPH_NODE, with(node("Reshape", "x,three_two", "r"), int_attribute("allowzero", 0)));
    put(&g, GRAPH_INITIALIZER,
        raw_tensor("three_two", INT64, 1, (const int64_t[]){2}, (const int64_t[]){3, 2}, 16));
    gives(model_of(8, 14, g), "[3, 2] 1 2 3 4 5 6");
}

static void refuses_scans(void **state)
{
    static const int64_t dims[] = {1, 2, 3}, open[] = {1, -1, 3}, long_[] = {1, 4, 20000};
    struct strbuf inside = body("s,v", "Add s,v -> w", "w,w");
    struct job *j;

    (void)state;
    refused(scan_model(7, 3, dims, scan("start,x", "t,y", 1, inside)), TUKI0110,
            "Scan exists from opset 8 on; the model is of opset 7");
    refused(scan_model(11, 3, dims, scan("start,x", "t,y", 3, inside)), TUKI0106,
            "it scans 3 of its 2 inputs");
    refused(scan_model(11, 3, dims, scan("x", "t,y", 1, inside)), TUKI0106,
            "its body has 2 inputs");
    refused(scan_model(
                11, 3, dims,
                with(scan("start,x", "t,y", 1, inside), ints_of("scan_input_axes", 3, INT64_MIN))),
            TUKI0106, "axis 3 lies outside of its input x of [1, 2, 3]");
    refused(scan_model(11, 3, dims,
                       with(scan("start,x", "t,y", 1, inside), ints_of("scan_input_axes", 0, 1))),
            TUKI0106, "its scan_input_axes are 2 numbers instead of 1");
    refused(scan_model(11, 3, dims,
                       with(scan("start,x", "t,y", 1, inside),
                            ints_of("scan_output_directions", 2, INT64_MIN))),
            TUKI0106, "and 0 and 1 are directions");
    refused(scan_model(11, 3, dims,
                       with(scan("x,x", "y", 2, body("v,u", "Add v,u -> w", "w")),
                            ints_of("scan_input_axes", 1, 2))),
            TUKI0106, "the length of its input 1 is 3, and 2 before");
    refused(scan_model(
                11, 3, long_,
                with(scan("start,x", "t,y", 1, inside), ints_of("scan_input_axes", 2, INT64_MIN))),
            TUKI0110, "it makes 20000 trips");
    j = load(scan_model(
        11, 3, open,
        with(scan("start,x", "t,y", 1, inside), ints_of("scan_input_axes", 1, INT64_MIN))));
    assert_true(j->c.diagnostics.count > 0);
    for (int i = 0; i < j->c.diagnostics.count; i++)
        assert_int_equal(j->c.diagnostics.list[i].code, TUKI0112);
    done(j);
}

/* The tests of values leave these to this file. */
static void leaves_no_operator_out(void **state)
{
    const struct operator* any = operator_find("", "If", 13);

    (void)state;
    for (const struct operator* op = operator_rows(); op->name; op++)
        assert_int_equal(op->functions == any->functions, is_listed(op->name, control_operators));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, bytes_begin, bytes_end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(carries_values),
        TEST(collects_values),
        TEST(stops_when_the_condition_says),
        TEST(makes_no_trips),
        TEST(nests),
        TEST(refuses_loops),
        TEST(scans),
        TEST(scans_in_batches),
        TEST(scans_nothing),
        TEST(refuses_scans),
        TEST(leaves_no_operator_out),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
