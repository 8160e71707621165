/*
 * Tensors into cells and back: every element where the layout says, by formulas written out here,
 * and nothing in the components that no element has.
 */
#include "client/edges.h"
#include "client/generate.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static struct context context;

static struct program *parse(const char *buffers, const char *load)
{
    struct dialect_error error = {0};
    const char *text = arena_printf(
        &context.arena,
        "using Tsukimi;\nusing UnityEngine;\n\npublic partial class C\n{\n%s"
        "    public const int FilterSteps = 1;\n\n    private void LoadFilter()\n    {\n%s    }\n\n"
        "    [Kernel]\n    static Color4 FilterLayer0(KernelId id, GpuBuffer2D prev)\n    {\n"
        "        return prev[0, 0];\n    }\n\n    private void RunFilter()\n    {\n"
        "        RunFilter(0, FilterSteps);\n    }\n\n    private void RunFilter(int first, int "
        "count)\n"
        "    {\n        if (first <= 0 && count > 0 - first) Gpu.Run(nameof(FilterLayer0), "
        "FilterOutput, FilterInput);\n    }\n}\n",
        buffers, load);
    struct program *p = program_parse(&context, text, strlen(text), &error);

    if (!p)
        fail_msg("line %d: %s", error.line, error.reason);
    return p;
}

static struct program *two_buffers(int width, int height, const char *format)
{
    return parse("    public GpuBuffer2D FilterInput;\n    public GpuBuffer2D FilterOutput;\n",
                 arena_printf(&context.arena,
                              "        FilterInput = Gpu.Buffer(%d, %d, GpuFormat.%s);\n"
                              "        FilterOutput = Gpu.Buffer(%d, %d, GpuFormat.%s);\n",
                              width, height, format, width, height, format));
}

static struct tensor *count_up(enum element_type type, const struct shape *shape, int64_t first)
{
    void *data;
    struct tensor *t = tensor_new(&context.arena, type, shape, &data);

    for (int64_t i = 0; i < t->count; i++)
        payload_set_integer(data, type, i, first + i);
    return t;
}

static void same_tensor(const struct tensor *a, const struct tensor *b)
{
    assert_int_equal(a->type, b->type);
    assert_true(shape_equal(&a->shape, &b->shape));
    assert_memory_equal(a->data, b->data, a->bytes);
}

/* [1, 6, 2, 3]: c = 1, x = 3, y = 2, as the comment over a buffer says it. */
static void channels_in_fours(void **state)
{
    int64_t dims[] = {1, 6, 2, 3};
    struct shape shape = shape_of(4, dims);
    struct compile_edge edge = {.field = "FilterInput",
                                .name = "x",
                                .items = 1,
                                .type = TYPE_FLOAT32,
                                .shape = shape,
                                .packed = 1,
                                .x_count = 1,
                                .y_count = 1,
                                .x = {3},
                                .y = {2},
                                .width = 6,
                                .height = 2};
    struct meaning meaning = {.name = "x", .type = TYPE_FLOAT32, .shape = shape};
    struct program *p = two_buffers(6, 2, "Half");
    struct simulation *s = simulation_new(&context, p, ROUND_NEAREST);
    struct tensor *t = count_up(TYPE_FLOAT32, &shape, 1);
    const char *why = NULL;
    float rgba[4];

    (void)state;
    assert_true(edge_write(s, p, &edge, &meaning, t, &context.arena, &why));
    for (int c = 0; c < 8; c++)
        for (int y = 0; y < 2; y++)
            for (int x = 0; x < 3; x++) {
                simulation_get(s, program_find_buffer(p, "FilterInput"), x + c / 4 * 3, y, rgba);
                assert_true(rgba[c % 4] == (c < 6 ? (float)(c * 6 + y * 3 + x + 1) : 0.0f));
            }
    same_tensor(t, edge_read(s, p, &edge, &meaning, &context.arena, &why));
}

static void items_have_buffers_of_their_own(void **state)
{
    int64_t dims[] = {2, 4};
    struct shape shape = shape_of(2, dims);
    struct compile_edge edge = {.field = "FilterInput",
                                .name = "x",
                                .items = 2,
                                .type = TYPE_FLOAT32,
                                .shape = shape,
                                .packed = 1,
                                .width = 1,
                                .height = 1};
    struct meaning meaning = {.name = "x", .type = TYPE_FLOAT32, .shape = shape};
    struct program *p =
        parse("    public GpuBuffer2D FilterInput;\n    public GpuBuffer2D FilterInputItem1;\n"
              "    public GpuBuffer2D FilterOutput;\n",
              "        FilterInput = Gpu.Buffer(1, 1, GpuFormat.Half);\n"
              "        FilterInputItem1 = Gpu.Buffer(1, 1, GpuFormat.Half);\n"
              "        FilterOutput = Gpu.Buffer(1, 1, GpuFormat.Half);\n");
    struct simulation *s = simulation_new(&context, p, ROUND_NEAREST);
    struct tensor *t = count_up(TYPE_FLOAT32, &shape, 1);
    const char *why = NULL;
    float rgba[4];

    (void)state;
    assert_true(edge_write(s, p, &edge, &meaning, t, &context.arena, &why));
    simulation_get(s, program_find_buffer(p, "FilterInputItem1"), 0, 0, rgba);
    assert_true(rgba[0] == 5 && rgba[1] == 6 && rgba[2] == 7 && rgba[3] == 8);
    same_tensor(t, edge_read(s, p, &edge, &meaning, &context.arena, &why));
    edge.field = "FilterOutput";
    assert_null(edge_read(s, p, &edge, &meaning, &context.arena, &why));
    assert_non_null(strstr(why, "FilterOutputItem1"));
}

/* A Byte cell holds (q - qmin) / 255. */
static void eight_bit_steps(void **state)
{
    int64_t dims[] = {1, 4, 1, 1};
    struct shape shape = shape_of(4, dims);
    struct compile_edge edge = {.field = "FilterInput",
                                .name = "x",
                                .items = 1,
                                .type = TYPE_FLOAT32,
                                .shape = shape,
                                .packed = 1,
                                .x_count = 1,
                                .y_count = 1,
                                .x = {3},
                                .y = {2},
                                .width = 1,
                                .height = 1};
    struct meaning meaning = {.name = "x",
                              .type = TYPE_FLOAT32,
                              .quantised = true,
                              .scale = 0.5f,
                              .zero_point = -3,
                              .steps = TYPE_INT8};
    struct program *p = two_buffers(1, 1, "Byte");
    struct simulation *s = simulation_new(&context, p, ROUND_NEAREST);
    static const float reals[] = {0, 1.25f, -1000, 1000};
    static const unsigned char cells[] = {125, 127, 0, 255}; /* 2.5 rounds to the even 2 */
    static const float back[] = {0, 1, -62.5f, 65};
    unsigned char raw[4];
    const char *why = NULL;
    void *data;
    struct tensor *t = tensor_new(&context.arena, TYPE_FLOAT32, &shape, &data);

    (void)state;
    memcpy(data, reals, sizeof reals);
    assert_true(edge_write(s, p, &edge, &meaning, t, &context.arena, &why));
    simulation_read_raw(s, program_find_buffer(p, "FilterInput"), raw);
    assert_memory_equal(raw, cells, 4);
    t = edge_read(s, p, &edge, &meaning, &context.arena, &why);
    assert_memory_equal(t->data, back, sizeof back);
    /* the 8-bit tensor itself */
    edge.type = meaning.type = TYPE_INT8;
    t = count_up(TYPE_INT8, &shape, -128);
    assert_true(edge_write(s, p, &edge, &meaning, t, &context.arena, &why));
    simulation_read_raw(s, program_find_buffer(p, "FilterInput"), raw);
    assert_memory_equal(raw, ((const unsigned char[]){0, 1, 2, 3}), 4);
    same_tensor(t, edge_read(s, p, &edge, &meaning, &context.arena, &why));
    /* without a scale there is nothing to write */
    meaning.quantised = false;
    assert_false(edge_write(s, p, &edge, &meaning, t, &context.arena, &why));
}

static void quantising_is_the_operators(void **state)
{
    static const struct {
        float x, scale;
        int64_t zero_point;
        enum element_type steps;
        int64_t q;
    } rows[] = {
        {0.5f, 1, 0, TYPE_UINT8, 0},        {1.5f, 1, 0, TYPE_UINT8, 2},
        {2.5f, 1, 0, TYPE_UINT8, 2},        {-0.5f, 1, 128, TYPE_UINT8, 128},
        {300, 1, 0, TYPE_UINT8, 255},       {-1, 1, 0, TYPE_UINT8, 0},
        {-1.5f, 1, 0, TYPE_INT8, -2},       {127.5f, 1, 0, TYPE_INT8, 127},
        {-200, 1, 0, TYPE_INT8, -128},      {INFINITY, 1, 3, TYPE_INT8, 127},
        {-INFINITY, 1, 3, TYPE_INT8, -128}, {1, 3, 10, TYPE_UINT8, 10},
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        assert_int_equal(quantise(rows[i].x, rows[i].scale, rows[i].zero_point, rows[i].steps),
                         rows[i].q);
}

static void what_does_not_fit_is_refused(void **state)
{
    int64_t dims[] = {1, 4}, others[] = {1, 5};
    struct shape shape = shape_of(2, dims), other = shape_of(2, others);
    struct compile_edge edge = {.field = "FilterInput",
                                .name = "x",
                                .items = 1,
                                .type = TYPE_FLOAT32,
                                .shape = shape,
                                .packed = 1};
    struct meaning meaning = {.name = "x", .type = TYPE_FLOAT32, .shape = shape};
    struct program *p = two_buffers(1, 1, "Half");
    struct simulation *s = simulation_new(&context, p, ROUND_NEAREST);
    const char *why = NULL;

    (void)state;
    assert_false(
        edge_write(s, p, &edge, &meaning, count_up(TYPE_FLOAT32, &other, 0), &context.arena, &why));
    assert_string_equal(why, "input x is float32 [1, 4], given is float32 [1, 5]");
    assert_false(
        edge_write(s, p, &edge, &meaning, count_up(TYPE_INT32, &shape, 0), &context.arena, &why));
    edge.shape = other;
    assert_false(
        edge_write(s, p, &edge, &meaning, count_up(TYPE_FLOAT32, &other, 0), &context.arena, &why));
    assert_string_equal(why, "FilterInput is 1 by 1 cells, its layout says 2 by 1");
}

/* ---- Inputs made up from a seed ---- */

static void generated_inputs_are_in_range_and_the_same_everywhere(void **state)
{
    int64_t dim = 1000;
    struct meaning m = {.name = "x", .type = TYPE_FLOAT32, .shape = shape_of(1, &dim)};
    struct tensor *t = generate_input(&m, 0, 0, &context.arena);
    float least = 1, most = -1;

    (void)state;
    for (int64_t i = 0; i < t->count; i++) {
        float x = (float)tensor_number(t, i);

        assert_true(x >= -1 && x < 1);
        least = fminf(least, x);
        most = fmaxf(most, x);
    }
    assert_true(least < -0.99f && most > 0.99f);
    /* SplitMix64 started at 2^32: 0xc42c5a1aa3820138 first */
    assert_true(tensor_number(t, 0) == (double)(0xc42c5a1aa3820138u >> 40) / (1 << 23) - 1);
    assert_memory_equal(t->data, generate_input(&m, 0, 0, &context.arena)->data, t->bytes);
    assert_memory_not_equal(t->data, generate_input(&m, 0, 1, &context.arena)->data, t->bytes);
    assert_memory_not_equal(t->data, generate_input(&m, 1, 0, &context.arena)->data, t->bytes);

    m = (struct meaning){.type = TYPE_INT64, .shape = m.shape, .tokens = true, .rows = 7};
    t = generate_input(&m, 0, 0, &context.arena);
    bool seen[7] = {false};
    for (int64_t i = 0; i < t->count; i++) {
        assert_in_range(tensor_integer(t, i), 0, 6);
        seen[tensor_integer(t, i)] = true;
    }
    for (int i = 0; i < 7; i++)
        assert_true(seen[i]);

    m = (struct meaning){.type = TYPE_FLOAT32,
                         .shape = m.shape,
                         .quantised = true,
                         .scale = 2,
                         .zero_point = 28,
                         .steps = TYPE_UINT8};
    t = generate_input(&m, 0, 0, &context.arena);
    for (int64_t i = 0; i < t->count; i++)
        assert_true(tensor_number(t, i) >= -56 && tensor_number(t, i) <= 454);
}

static int begin(void **state)
{
    (void)state;
    context_init(&context, NULL);
    return 0;
}

static int end(void **state)
{
    (void)state;
    context_release(&context);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(channels_in_fours),
        cmocka_unit_test(items_have_buffers_of_their_own),
        cmocka_unit_test(eight_bit_steps),
        cmocka_unit_test(quantising_is_the_operators),
        cmocka_unit_test(what_does_not_fit_is_refused),
        cmocka_unit_test(generated_inputs_are_in_range_and_the_same_everywhere),
    };

    return cmocka_run_group_tests(tests, begin, end);
}
