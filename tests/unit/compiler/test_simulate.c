/* Generated files read back and run: small programs with results computed here, faults, random
 * kernels against a plain interpreter, and what a file is refused for. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "daemon/compiler/context.h"
#include "daemon/compiler/gpu/simulate.h"
#include "daemon/compiler/graph/half.h"
#include "tests/unit/compiler/kernel_reference.h"

enum { SHAPES = 12 };

/* A file with one kernel from In (24 x 10) to Out (width x height), table T of 4 entries. */
#define FILE_AROUND(width, height, format, methods)                                                \
    "using Tsukimi;\nusing UnityEngine;\nnamespace A.B\n{\ninternal abstract partial class "       \
    "Outer<T, U>\n{\n"                                                                             \
    "public partial class C\n{\n"                                                                  \
    "public GpuBuffer2D In; public GpuBuffer2D Out; public Vector4[] T; public Texture2D W;"       \
    " private GpuBuffer2D Wb; public const int FSteps = 1;\n"                                      \
    "private void LoadF() { In = Gpu.Buffer(24, 10, GpuFormat.Half);"                              \
    " Out = Gpu.Buffer(" #width ", " #height ", GpuFormat." #format ");"                           \
    " Wb = Gpu.Buffer(5, 3); Gpu.Load(Wb, W);"                                                     \
    " T = new Vector4[] { new Vector4(1f, -2, 0.5f, 3.25f), new Vector4(4f, 5f, 6f, 7f),"          \
    " new Vector4(-1f, 0.1f, 1e-3f, 9), new Vector4(0.25f, -0.25f, 2f, 8f), }; }\n" methods        \
    "\nprivate void RunF() { RunF(0, FSteps); }\n"                                                 \
    "private void RunF(int first, int count) {"                                                    \
    " if (first <= 0 && count > 0 - first) Gpu.Run(nameof(K), Out, In, Wb, T); }\n}\n}\n}\n"

#define SIGNATURE                                                                                  \
    "[Kernel] static Color4 K(KernelId id, GpuBuffer2D p, GpuBuffer2D w, [Capacity(4)] Vector4[] " \
    "t) "

struct bench {
    struct context c;
    struct program *p;
    struct simulation *s;
    float in[10 * 24 * 4];
    unsigned char texture[5 * 3 * 4];
    float weights[5 * 3 * 4];
};

static struct bench b;

static void open_bench(const char *text, enum rounding rounding)
{
    struct dialect_error error = {0};
    struct simulation_error fault;
    context_init(&b.c, NULL);
    b.p = program_parse(&b.c, text, strlen(text), &error);
    if (b.p == NULL)
        fail_msg("%d:%d: %s\n%s", error.line, error.column, error.reason, text);
    b.s = simulation_new(&b.c, b.p, rounding);
    for (int i = 0; i < 10 * 24 * 4; i++)
        b.in[i] = half_to_float(half_from_float((float)(i * 37 % 101 - 50) / 16.0f));
    for (int i = 0; i < 5 * 3 * 4; i++) {
        b.texture[i] = (unsigned char)(i * 41 % 256);
        b.weights[i] = (float)b.texture[i] / 255.0f;
    }
    int buffer = program_find_buffer(b.p, "In");
    if (buffer >= 0)
        simulation_write(b.s, buffer, b.in);
    int texture = program_find_texture(b.p, "W");
    if (texture >= 0) {
        assert_false(simulation_use(b.s, 0, &fault)); /* missing yet */
        assert_false(simulation_texture(b.s, texture, b.texture, sizeof b.texture - 1));
        assert_true(simulation_texture(b.s, texture, b.texture, sizeof b.texture));
        assert_true(simulation_use(b.s, 0, &fault));
    }
}

static void close_bench(void)
{
    simulation_free(b.s);
    context_release(&b.c);
}

static void run_bench(void)
{
    struct simulation_error error;
    if (!simulation_run(b.s, 0, INT32_MAX, &error))
        fail_msg("%s:%d:%d: %s at %d, %d", error.kernel, error.line, error.column, error.reason,
                 error.x, error.y);
}

static bool same_half(float a, float c)
{
    return (isnan(a) && isnan(c)) || half_from_float(a) == half_from_float(c);
}

/* Every cell of Out, in every shape, with and without wide instructions, against the reference. A
 * fault has to be one for both. */
static void compare_with_reference(const char *text)
{
    const struct program_step *step = &b.p->steps[0];
    int out = step->destination, width = b.p->buffers[out].width, height = b.p->buffers[out].height;
    const struct ref_buffer buffers[] = {
        {0, 0, NULL}, {24, 10, b.in}, {5, 3, b.weights}, {0, 0, NULL}};
    const struct ref_table tables[] = {
        {0, NULL}, {0, NULL}, {0, NULL}, {4, (const float(*)[4])b.p->tables[0].entries}};
    struct reference r = {.buffers = buffers, .tables = tables};
    struct ref_value *expected = calloc((size_t)(width * height), sizeof *expected);
    bool fault = false;
    assert_non_null(expected);
    for (int y = 0; y < height && !fault; y++) {
        for (int x = 0; x < width && !fault; x++) {
            r.x = x;
            r.y = y;
            expected[y * width + x] = ref_cell(&r, step->kernel);
            fault = r.fault;
        }
    }
    for (int shape = -1; shape < SHAPES; shape++) {
        for (int wide = 0; wide < 2; wide++) {
            struct simulation_error error;
            simulation_choose(b.s, shape, wide != 0);
            bool fine = simulation_run(b.s, 0, 1, &error);
            if (fine == fault)
                fail_msg("shape %d: %s where the reference differs\n%s", shape,
                         fine ? "runs" : error.reason, text);
            for (int i = 0; fine && i < width * height; i++) {
                float got[4];
                simulation_get(b.s, out, i % width, i / width, got);
                for (int k = 0; k < 4; k++)
                    if (!same_half(got[k], expected[i].f[k]))
                        fail_msg("shape %d wide %d cell %d, %d component %d: %a for %a\n%s", shape,
                                 wide, i % width, i / width, k, (double)got[k],
                                 (double)expected[i].f[k], text);
            }
        }
    }
    free(expected);
}

/* ---- kernels of all kinds */

#define COLOR(r, g, b, a) "return new Color4(" #r ", " #g ", " #b ", " #a ");"

static const char *const kernels[] = {
    FILE_AROUND(24, 10, Half, SIGNATURE "{ return p[id.x, id.y]; }"),
    FILE_AROUND(24, 10, Half, SIGNATURE "{ Color4 c = p[id.x, id.y]; return c; }"),
    FILE_AROUND(1, 1, Half, SIGNATURE "{ return p[id.x, id.y]; }"),
    FILE_AROUND(300, 2, Half, SIGNATURE "{ return p[id.x % 24, id.y]; }"),
    FILE_AROUND(2, 300, Half, SIGNATURE "{ return p[id.x, id.y % 10]; }"),
    FILE_AROUND(7, 9, Half, SIGNATURE "{ return p[23 - id.x * 3, 9 - id.y]; }"),
    FILE_AROUND(10, 24, Half, SIGNATURE "{ return p[id.y, id.x]; }"),
    FILE_AROUND(24, 10, Half, SIGNATURE "{ return w[id.x % 5, id.y % 3]; }"),
    FILE_AROUND(24, 10, Half,
                SIGNATURE "{ Vector4 v = t[id.x / 6]; Vector4 u = t[id.y % 4]; " COLOR(
                    v.x + u.w, v.y, v.z, u.x) " }"),
    /* a convolution with zero padding in two bands */
    FILE_AROUND(
        24, 10, Half,
        SIGNATURE
        "{ int x = id.x % 12; int k = id.x / 12; float r = 0f; float g = 1f; float b = id.x; "
        "float a = 0f; for (int ky = 0; ky < 3; ky++) { int iy = id.y + ky - 1; for (int kx = 0; "
        "kx "
        "< 3; kx++) { int ix = x + kx - 1; if (iy >= 0 && iy < 10 && ix >= 0 && ix < 12) { Color4 "
        "c "
        "= p[ix + k * 12, iy]; Vector4 u = t[k]; Vector4 v = t[kx]; r += c.r * u.x + c.g * u.y + "
        "c.b * u.z + c.a * u.w; g += c.r * v.x + c.g * v.y; b = b + c.b * v.z; a = a - c.a; } } } "
        "return new Color4(r, g, b, a); }"),
    /* three varying ifs inside each other, else branches, uniform ones between */
    FILE_AROUND(
        24, 10, Half,
        SIGNATURE
        "{ float r = 1f; int n = 0; if (id.x % 3 == 0) { r += 2f; if (id.y > 4) { n++; if (id.x > "
        "10) r *= 2f; else { n += 10; r -= id.y; } } else if (id.x % 2 == 0) { n = 7; } } else { "
        "for (int i = 0; i < 4; i++) { if (i > 1) { n += id.x; } else if (id.x > i) { r = r * "
        "0.5f; "
        "} } } bool odd = id.x % 2 == 1; if (odd) { odd = id.y > 2; n--; } else { n++; odd = true; "
        "} "
        "return new Color4(r, n, odd ? 1 : 0, id.x * id.y); }"),
    /* helpers: early return, several levels, assigned parameters, buffers */
    FILE_AROUND(
        24, 10, Half,
        "static float Pick(Color4 p, int k) { return k == 0 ? p.r : k == 1 ? p.g : k == 2 ? p.b : "
        "p.a; } static float Early(float v, int n) { if (v < 0f) return -v; if (n > 3) { n -= 3; "
        "return v + n; } else { v = v * 2f; } return v - Pick(new Color4(v, n, 1f, 2f), n % 4); } "
        "static Color4 Tap(GpuBuffer2D b, int x, int y) { if (x < 0 || y < 0 || x >= 24 || y >= "
        "10) "
        "return new Color4(9f, 8f, 7f, 6f); return b[x, y]; } static Color4 Swap(Color4 c) { "
        "return "
        "new Color4(c.g, c.r, c.a, c.b); }" SIGNATURE
        "{ Color4 c = p[id.x, id.y]; c = Swap(c); float e = Early(c.r, id.x % 7); c = "
        "Swap(Swap(c)); "
        "float f = Pick(Swap(c), id.x % 4); for (int i = 0; i < 3; i++) { f += Early(f * 0.5f, i); "
        "} return new Color4(e, f, c.r + c.a, c.b); }"),
    /* Mathf, on every form of operand */
    FILE_AROUND(
        24, 10, Half,
        SIGNATURE
        "{ Color4 c = p[id.x, id.y]; float u = id.y; float r = Mathf.Abs(c.r) + Mathf.Floor(c.g) * "
        "Mathf.Ceil(c.b) + Mathf.Round(c.a * 2f) + Mathf.Sign(c.r); float g = Mathf.Max(c.r, u) + "
        "Mathf.Min(u, c.g) + Mathf.Max(c.r, c.g) + Mathf.Clamp(c.r, -1f, u) + Mathf.Clamp(u, c.g, "
        "2f) + Mathf.Clamp(c.a, c.b, c.r); float b = Mathf.Exp(c.r) + Mathf.Log(c.g) + "
        "Mathf.Sqrt(c.b) + Mathf.Pow(Mathf.Abs(c.a), 0.7f); float a = Mathf.Sin(c.r) + "
        "Mathf.Cos(c.g) + Mathf.Tan(c.b) + Mathf.Atan(c.a) + Mathf.Atan2(c.r, c.g) + "
        "Mathf.Asin(c.r "
        "* 0.1f) + Mathf.Acos(c.g * 0.1f); return new Color4(r, g, b, a + c.r % 0.75f); }"),
    /* int: wrapping, casts that saturate, division by a varying number */
    FILE_AROUND(
        24, 10, Half,
        SIGNATURE
        "{ int big = 2000000000 + id.x * 100000000; int m = big * 3 - id.y; int d = (id.x * 1000 + "
        "id.y) / (id.y + 1); int e = (id.x * 999 + 7) % (id.x + 2); int f = (int)(p[id.x, id.y].r "
        "* "
        "1e9f); int g = 100000 / (id.x + 1); return new Color4(m / 1e6f, d % 11, e - f / 1e6f, f > "
        "0 && big > 0 ? g : -g); }"),
    /* sums of products of every length and side */
    FILE_AROUND(
        24, 10, Half,
        SIGNATURE
        "{ Color4 c = p[id.x, id.y]; Color4 q = p[23 - id.x, id.y]; Vector4 v = t[1]; float r = "
        "c.r * v.x + v.y * c.g; float g = 0.5f; g += c.r * q.r + c.g * q.g + c.b * q.b; g = g + "
        "c.a "
        "* 2f; float b = c.r * 1f + c.g * 2f + c.b * 3f + c.a * 4f + q.r * 5f + q.g * 6f + q.b * "
        "7f; b += c.r * 1f + c.g * 2f + c.b * 3f + c.a * 4f + q.r * 5f + q.g * v.z; float a = v.x "
        "* "
        "v.y + c.r * q.g + 3f * c.b; a += v.x * v.y; a = 1f + c.r * 2f + c.g * c.g + q.r * 3f + "
        "q.a "
        "* q.a + c.b * 0.1f; a -= c.r * c.g; return new Color4(r, g, b, a); }"),
    /* vectors assigned under masks, from each other */
    FILE_AROUND(
        24, 10, Half,
        SIGNATURE
        "{ Color4 c = p[id.x, id.y]; Color4 d = new Color4(1f, 2f, id.x, 4f); Vector4 v = t[0]; if "
        "(id.x % 2 == 0) { d = c; c = new Color4(c.a, c.b, c.g, c.r); v = t[2]; } else if (id.y > "
        "3) "
        "{ c = p[0, id.y]; d = id.x > 5 ? c : d; v = t[id.x % 4]; } return new Color4(c.r + d.r, "
        "c.g "
        "- d.g, c.b * d.b, v.y + v.w); }"),
    /* loops that run backwards, never, and as while */
    FILE_AROUND(24, 10, Half,
                SIGNATURE "{ float r = 0f; for (int i = 5; i > 0; i -= 2) r += i * id.x; for (int "
                          "i = 5; i < 5; i++) r "
                          "= 99f; int j = 0; while (j < 6) { if (j == id.x) { r -= 100f; } j += 2; "
                          "} for (int i = 0; i "
                          "== 0; i++) { r += 0.5f; } return new Color4(r, j, 0, 0); }"),
    /* guarded by ifs only */
    FILE_AROUND(
        24, 10, Half,
        SIGNATURE
        "{ float r = 0f; if (id.x > 0) { r = p[id.x - 1, id.y].g; } if (id.y < 9) { if (id.x < 23) "
        "{ r += p[id.x + 1, id.y + 1].b; } } if (id.x > 0 && id.x < 5) { r += t[id.x - 1].x / "
        "(100 / id.x); } return new Color4(r, 0, 0, 0); }"),
    /* the order of additions shows in the last bits only */
    FILE_AROUND(
        24, 10, Half,
        SIGNATURE
        "{ Color4 c = p[id.x, id.y]; Vector4 v = t[2]; float r = 0.1f; r += c.r * 0.3f + c.g "
        "* 0.7f; float q = 0.1f + c.r * 0.3f + c.g * 0.7f; float g = c.r * v.y + c.g * v.z + "
        "c.b * 0.9f + c.a * 1.1f; float h = g; g += c.r * v.y + c.g * v.z + c.b * 0.9f + c.a "
        "* 1.1f; h = h + c.r * v.y + c.g * v.z + c.b * 0.9f + c.a * 1.1f; float b = 0.3f; b "
        "+= c.r * c.g + c.b * c.a + c.g * c.a; float a = 0.3f + c.r * c.g + c.b * c.a + c.g "
        "* c.a; float m = 0.7f; m += c.r * c.g; float n = 1f / 3f; return new Color4((r - q) "
        "* 16777216f, (g - h) * 1048576f, (b - a) * 1048576f, (m - 0.7f - c.r * c.g + n - "
        "0.3333f) * 16777216f); }"),
    /* far outside but for the lanes that read */
    FILE_AROUND(24, 10, Half,
                SIGNATURE
                "{ float r = 0f; if (id.x < 1) { r = p[id.x * 80000000, id.y].r + t[id.x * "
                "80000000].y; } if (id.y > 8) { r += p[id.x, (id.y - 9) * 90000000].g; } "
                "return new Color4(r, 0, 0, 0); }"),
    /* infinities and NaN */
    FILE_AROUND(24, 10, Half,
                SIGNATURE "{ float z = id.x - 3; float i = 1f / z; float n = 0f / z; return new "
                          "Color4(i, n, n > 1f || "
                          "n <= 1f ? 1f : 2f, Mathf.Max(n, 5f)); }"),
};

static void test_kernels(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof kernels / sizeof kernels[0]; i++) {
        open_bench(kernels[i], ROUND_NEAREST);
        compare_with_reference(kernels[i]);
        close_bench();
    }
}

/* The text is C# that people read; what a cell holds is computed here by hand. */
static void test_by_hand(void **state)
{
    (void)state;
    float v[4];
    open_bench(FILE_AROUND(24, 10, Half,
                           SIGNATURE "{ float f = id.x * 65536; return new Color4(f, 1f / 3f, id.y "
                                     "- 0.5f, 1e-7f); }"),
               ROUND_NEAREST);
    assert_string_equal(b.p->space, "A.B");
    assert_string_equal(b.p->name, "Outer.C");
    assert_string_equal(b.p->prefix, "F");
    run_bench();
    simulation_get(b.s, program_find_buffer(b.p, "Out"), 2, 7, v);
    assert_true(isinf(v[0]));
    assert_true(v[1] == 0.333251953125f);
    assert_true(v[2] == 6.5f);
    assert_true(v[3] == 0x1p-23f);
    close_bench();

    open_bench(FILE_AROUND(24, 10, Half,
                           SIGNATURE "{ float f = id.x * 65536; return new Color4(f, -2f / 3f, "
                                     "1f / 3f, 1e-7f); }"),
               ROUND_ZERO);
    run_bench();
    simulation_get(b.s, program_find_buffer(b.p, "Out"), 2, 7, v);
    assert_true(v[0] == 65504.0f);
    assert_true(v[1] == -0.66650390625f); /* nearest would be -0.6669921875 */
    assert_true(v[2] == 0.333251953125f);
    assert_true(v[3] == 0x1p-24f);
    close_bench();

    open_bench(FILE_AROUND(24, 10, Byte,
                           SIGNATURE "{ return new Color4(id.x - 3, 0.5f, 0f / 0f, 100.4f / 255f); "
                                     "}"),
               ROUND_NEAREST);
    run_bench();
    unsigned char bytes[24 * 10 * 4];
    int out = program_find_buffer(b.p, "Out");
    simulation_read_raw(b.s, out, bytes);
    assert_int_equal(bytes[0], 0);
    assert_int_equal(bytes[3 * 4], 0);
    assert_int_equal(bytes[4 * 4], 255);
    assert_int_equal(bytes[23 * 4], 255);
    assert_int_equal(bytes[1], 128);
    assert_int_equal(bytes[2], 0);
    assert_int_equal(bytes[3], 100);
    simulation_get(b.s, out, 0, 0, v);
    assert_true(v[3] == 100.0f / 255.0f);
    close_bench();
}

/* Halves and bytes come out as they went in. */
static void test_raw(void **state)
{
    (void)state;
    static uint16_t halves[24 * 10 * 4], back[24 * 10 * 4];
    open_bench(FILE_AROUND(24, 10, Half, SIGNATURE "{ return p[id.x, id.y]; }"), ROUND_ZERO);
    for (int pass = 0; pass < 65536; pass += 24 * 10 * 4) {
        for (int i = 0; i < 24 * 10 * 4; i++) {
            unsigned h = (unsigned)(pass + i) & 0xffff;
            halves[i] = (uint16_t)((h & 0x7fff) > 0x7c00 ? h | 0x200 : h);
        }
        simulation_write_raw(b.s, program_find_buffer(b.p, "In"), halves);
        run_bench();
        simulation_read_raw(b.s, program_find_buffer(b.p, "Out"), back);
        assert_memory_equal(halves, back, sizeof back);
    }
    unsigned char bytes[60];
    simulation_read_raw(b.s, program_find_buffer(b.p, "Wb"), bytes);
    assert_memory_equal(bytes, b.texture, sizeof bytes);
    float cells[60];
    simulation_read(b.s, program_find_buffer(b.p, "Wb"), cells);
    assert_memory_equal(cells, b.weights, sizeof cells);
    close_bench();
}

/* ---- faults */

static void test_faults(void **state)
{
    (void)state;
    static const struct {
        const char *body, *reason;
        int x, y;
    } faults[] = {
        {"return p[id.x + 1, id.y];", "a read outside the buffer p (24 x 10): [24, 0]", 23, 0},
        {"return p[id.x - 1, id.y];", "[-1, 0]", 0, 0},
        {"return p[id.x, id.y + 3];", "[0, 10]", 0, 7},
        {"return p[24, 0];", "[24, 0]", 0, 0},
        {"return w[id.x / 4, id.y / 4];", "the buffer w (5 x 3): [5, 0]", 20, 0},
        {"float f = id.x == 7 ? t[4].x : 0f; return new Color4(f, 0, 0, 0);",
         "a read outside the table t (4 entries): [4]", 0, 0},
        {"float f = id.x > 20 ? t[id.x - 20].x : 0f; return new Color4(f, 0, 0, 0);", "[-20]", 0,
         0},
        {"bool b = id.x < 4 && t[id.x].x > 0f; return new Color4(b ? 1 : 0, 0, 0, 0);", "[4]", 4,
         0},
        {"Vector4 v = t[id.y / 2]; return new Color4(v.x, 0, 0, 0);", "[4]", 0, 8},
        {"float f = 0f; if (id.x > 5) { f = t[id.x - 4].x; } return new Color4(f, 0, 0, 0);", "[4]",
         8, 0},
        {"int i = 5 / (id.x - 3); return new Color4(i, 0, 0, 0);", "an integer division", 0, 0},
        {"int i = (id.x - 3) % 4; return new Color4(i, 0, 0, 0);", "an integer division", 0, 0},
        {"int i = 0; if (id.x > 9) { i = 1 / (id.x - 12); } return new Color4(i, 0, 0, 0);",
         "an integer division", 10, 0},
        {"int i = (id.y - 1) / 3; return new Color4(i, 0, 0, 0);", "an integer division", 0, 0},
        {"int i = 3 / (4 - id.y); return new Color4(i, 0, 0, 0);", "an integer division", 0, 4},
    };
    for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++) {
        char text[4096];
        snprintf(text, sizeof text, FILE_AROUND(24, 10, Half, SIGNATURE "{\n\n %s }"),
                 faults[i].body);
        open_bench(text, ROUND_NEAREST);
        for (int wide = 0; wide < 2; wide++) {
            struct simulation_error error;
            simulation_choose(b.s, 0, wide != 0); /* whole rows: the first cell is the fault's */
            assert_false(simulation_run(b.s, 0, 1, &error));
            if (strstr(error.reason, faults[i].reason) == NULL || error.x != faults[i].x ||
                error.y != faults[i].y)
                fail_msg("%s: %s at %d, %d", faults[i].body, error.reason, error.x, error.y);
            assert_string_equal(error.kernel, "K");
            assert_int_equal(error.line, 13);
            assert_int_equal(error.step, 0);
        }
        compare_with_reference(text);
        close_bench();
    }
}

/* ---- random kernels */

struct writer {
    char text[1 << 15];
    size_t length;
    uint32_t seed;
    int names, scope;
    struct {
        char type; /* i int, n counter (never assigned), f float, c Color4, v Vector4, b bool */
        int name;
    } visible[200];
    int count;
    int budget;
};

static unsigned pick(struct writer *w, unsigned below)
{
    w->seed = w->seed * 1664525u + 1013904223u;
    return (w->seed >> 8) % below;
}

static void put(struct writer *w, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int size = vsnprintf(w->text + w->length, sizeof w->text - w->length, format, arguments);
    va_end(arguments);
    if (size > 0 && w->length + (size_t)size < sizeof w->text)
        w->length += (size_t)size;
}

/* A visible local of one of the types; -1 if there is none. */
static int find(struct writer *w, const char *types)
{
    int found = -1, seen = 0;
    for (int i = 0; i < w->count; i++)
        if (strchr(types, w->visible[i].type) != NULL && pick(w, (unsigned)++seen) == 0)
            found = i;
    return found;
}

static void put_float(struct writer *w, int depth);

/* Never negative unless it wraps, so that most divisions and indices are fine. */
static void put_int(struct writer *w, int depth)
{
    int local = find(w, "in");
    switch (pick(w, depth > 3 ? 4 : 9)) {
    case 0:
        put(w, "id.x");
        break;
    case 1:
        put(w, "id.y");
        break;
    case 2:
        put(w, "%u", pick(w, 9));
        break;
    case 3:
        if (local >= 0)
            put(w, "v%d", w->visible[local].name);
        else
            put(w, "id.x / %u", 1 + pick(w, 13));
        break;
    case 4:
        put(w, "(");
        put_int(w, depth + 1);
        put(w, " + ");
        put_int(w, depth + 1);
        put(w, ")");
        break;
    case 5:
        put(w, "(");
        put_int(w, depth + 1);
        put(w, " * %u)", pick(w, 5));
        break;
    case 6:
        put(w, "(");
        put_int(w, depth + 1);
        put(w, " / %u)", 1 + pick(w, 6));
        break;
    case 7:
        put(w, "(");
        put_int(w, depth + 1);
        put(w, " %% %u)", 1 + pick(w, 12));
        break;
    default:
        put(w, "id.x %% %u", 1 + pick(w, 13));
        break;
    }
}

static void put_bool(struct writer *w, int depth)
{
    static const char *const signs[] = {"<", "<=", ">", ">=", "==", "!="};
    int local = find(w, "b");
    switch (pick(w, depth > 2 ? 2 : 6)) {
    case 0:
        put_int(w, depth + 1);
        put(w, " %s ", signs[pick(w, 6)]);
        put_int(w, depth + 1);
        break;
    case 1:
        put_float(w, depth + 2);
        put(w, " %s ", signs[pick(w, 4)]);
        put_float(w, depth + 2);
        break;
    case 2:
        put(w, "!(");
        put_bool(w, depth + 1);
        put(w, ")");
        break;
    case 3:
        if (local >= 0) {
            put(w, "v%d", w->visible[local].name);
            break;
        }
        put(w, "true");
        break;
    default:
        put(w, "(");
        put_bool(w, depth + 1);
        put(w, pick(w, 2) ? " && " : " || ");
        put_bool(w, depth + 1);
        put(w, ")");
        break;
    }
}

static void put_fetch(struct writer *w)
{
    bool weights = pick(w, 4) == 0;
    if (pick(w, 3) == 0) {
        put(w, weights ? "w[id.x %% 5, id.y %% 3]" : "p[id.x %% 24, id.y %% 10]");
        return;
    }
    put(w, weights ? "w[" : "p[");
    put_int(w, 2);
    put(w, weights ? " %% 5, " : " %% 24, ");
    put_int(w, 2);
    put(w, weights ? " %% 3]" : " %% 10]");
}

static void put_leaf(struct writer *w)
{
    int f = find(w, "f"), c = find(w, "cv");
    switch (pick(w, 5)) {
    case 0:
        put(w, "%u.%uf", pick(w, 4), pick(w, 100));
        break;
    case 1:
        if (f >= 0) {
            put(w, "v%d", w->visible[f].name);
            break;
        }
        put(w, "0.5f");
        break;
    case 2:
        put(w, "(float)");
        put_int(w, 4);
        break;
    default:
        if (c >= 0)
            put(w, "v%d.%c", w->visible[c].name,
                (w->visible[c].type == 'c' ? "rgba" : "xyzw")[pick(w, 4)]);
        else
            put(w, "1f");
        break;
    }
}

static void put_float(struct writer *w, int depth)
{
    static const char *const functions[] = {"Abs", "Floor", "Ceil", "Round", "Sign", "Sqrt", "Exp"};
    unsigned terms;
    switch (depth > 3 ? 0 : pick(w, 9)) {
    case 1:
        put(w, "(");
        put_float(w, depth + 1);
        put(w, " %c ", "+-*"[pick(w, 3)]);
        put_float(w, depth + 1);
        put(w, ")");
        break;
    case 2:
        terms = 1 + pick(w, 6);
        put(w, "(");
        if (pick(w, 2)) {
            put_leaf(w);
            put(w, " + ");
        }
        for (unsigned i = 0; i < terms; i++) {
            put(w, i > 0 ? " + " : "");
            put_leaf(w);
            put(w, " * ");
            put_leaf(w);
        }
        put(w, ")");
        break;
    case 3:
        put(w, "(");
        put_bool(w, depth + 1);
        put(w, " ? ");
        put_float(w, depth + 1);
        put(w, " : ");
        put_float(w, depth + 1);
        put(w, ")");
        break;
    case 4:
        put(w, "Mathf.%s(", functions[pick(w, 7)]);
        put_float(w, depth + 1);
        put(w, ")");
        break;
    case 5:
        put(w, "Mathf.%s(", pick(w, 2) ? "Max" : "Min");
        put_float(w, depth + 1);
        put(w, ", ");
        put_float(w, depth + 1);
        put(w, ")");
        break;
    case 6:
        put(w, "Mathf.Clamp(");
        put_float(w, depth + 1);
        put(w, ", -3f, ");
        put_float(w, depth + 2);
        put(w, ")");
        break;
    case 7:
        put(w, "Early(");
        put_float(w, depth + 2);
        put(w, ", ");
        put_int(w, 2);
        put(w, ")");
        break;
    default:
        put_leaf(w);
        break;
    }
}

static void put_statements(struct writer *w, int depth, int count);

static void declare(struct writer *w, char type)
{
    static const char *const types[] = {"int", "float", "Color4", "Vector4", "bool"};
    int name = w->names++;
    put(w, "%s v%d = ", types[strchr("ifcvb", type) - "ifcvb"], name);
    switch (type) {
    case 'i':
        put_int(w, 0);
        break;
    case 'f':
        put_float(w, 0);
        break;
    case 'b':
        put_bool(w, 0);
        break;
    case 'v':
        put(w, "t[");
        put_int(w, 2);
        put(w, " %% 4]");
        break;
    default:
        if (pick(w, 3) > 0) {
            put_fetch(w);
            break;
        }
        put(w, "new Color4(");
        for (int i = 0; i < 4; i++) {
            put_float(w, 2);
            put(w, i < 3 ? ", " : ")");
        }
        break;
    }
    put(w, "; ");
    if (w->count < 200)
        w->visible[w->count++].type = type, w->visible[w->count - 1].name = name;
}

static void put_scope(struct writer *w, int depth)
{
    int count = w->count;
    put(w, "{ ");
    put_statements(w, depth + 1, 1 + (int)pick(w, 4));
    put(w, "} ");
    w->count = count;
}

static void put_assignment(struct writer *w)
{
    int local = find(w, "ifcb");
    if (local < 0)
        return;
    int name = w->visible[local].name;
    switch (w->visible[local].type) {
    case 'i':
        if (pick(w, 3) == 0) {
            put(w, "v%d++; ", name);
            return;
        }
        put(w, "v%d %s ", name, pick(w, 2) ? "=" : "+=");
        put_int(w, 1);
        break;
    case 'f':
        put(w, "v%d %s ", name, (const char *[]){"=", "+=", "-=", "*=", "+="}[pick(w, 5)]);
        put_float(w, 1);
        break;
    case 'b':
        put(w, "v%d = ", name);
        put_bool(w, 1);
        break;
    default:
        put(w, "v%d = ", name);
        if (pick(w, 2))
            put(w, "new Color4(v%d.b, v%d.r, v%d.r, v%d.g)", name, name, name, name);
        else
            put_fetch(w);
        break;
    }
    put(w, "; ");
}

static void put_statements(struct writer *w, int depth, int count)
{
    for (; count > 0 && w->budget > 0; count--, w->budget--) {
        int outer = w->count;
        switch (pick(w, depth > 3 ? 6 : 10)) {
        case 0:
        case 1:
        case 2:
            declare(w, "ifcvb"[pick(w, 5)]);
            break;
        case 3:
        case 4:
        case 5:
            put_assignment(w);
            break;
        case 6:
        case 7:
            put(w, "if (");
            put_bool(w, 0);
            put(w, ") ");
            put_scope(w, depth);
            if (pick(w, 2)) {
                put(w, "else ");
                put_scope(w, depth);
            }
            break;
        default:
            put(w, "for (int v%d = %u; v%d < %u; v%d += %u) ", w->names, pick(w, 3), w->names,
                2 + pick(w, 4), w->names, 1 + pick(w, 2));
            if (w->count < 200)
                w->visible[w->count++].type = 'n', w->visible[w->count - 1].name = w->names;
            w->names++;
            put_scope(w, depth);
            w->count = outer;
            break;
        }
    }
}

static void test_random(void **state)
{
    (void)state;
    static struct writer w;
    static char text[1 << 16];
    static const char *const around[] = {
        FILE_AROUND(24, 10, Half, "%s"), FILE_AROUND(13, 7, Half, "%s"),
        FILE_AROUND(1, 40, Half, "%s"), FILE_AROUND(270, 1, Half, "%s")};
    const char *rounds = getenv("ONNXGPU_RANDOM_KERNELS"); /* more, by hand */
    int count = rounds != NULL ? atoi(rounds) : 80;
    for (int round = 0; round < count; round++) {
        memset(&w, 0, sizeof w);
        w.seed = (uint32_t)round * 2654435761u + 12345u;
        w.budget = 30;
        put(&w,
            "static float Early(float a, int n) { if (a > 2f) { return a - n; } if (n %% 2 == 0) "
            "{ a *= 0.5f; n = n / 2; } else { return n; } return a + n; }\n" SIGNATURE "{ ");
        declare(&w, 'f');
        declare(&w, 'c');
        put_statements(&w, 0, 12);
        put(&w, "return new Color4(");
        for (int i = 0; i < 4; i++) {
            put_float(&w, 1);
            put(&w, i < 3 ? ", " : "); }");
        }
        snprintf(text, sizeof text, around[round % 4], w.text);
        open_bench(text, ROUND_NEAREST);
        compare_with_reference(text);
        close_bench();
    }
}

/* ---- whole files */

/* Three steps, two styles, tokens, a texture in two styles, helpers on the host side. */
static const char styled[] =
    "using Tsukimi;\nusing UnityEngine;\npublic partial class C\n{\n"
    "    /// Output.\n    public GpuBuffer2D GOutput;\n"
    "    private GpuBuffer2D Gids;\n    private GpuBuffer2D Gb1;\n    private GpuBuffer2D Gt3;\n"
    "    public const int GSteps = 3;\n    public const int GStyles = 2;\n"
    "    public Vector4[] Gw0;\n    public Vector4[] Gw0Style1;\n    private Vector4[] Gt0;\n"
    "    public Texture2D Gw3;\n    public Texture2D Gw3Style1;\n"
    "    private void LoadG()\n    {\n"
    "        GOutput = Gpu.Buffer(6, 1, GpuFormat.Half);\n"
    "        Gids = Gpu.Buffer(1, 6, GpuFormat.Half);\n"
    "        Gb1 = Gpu.Buffer(6, 1, GpuFormat.Half);\n"
    "        Gt3 = Gpu.Buffer(2, 1, GpuFormat.Half);\n"
    "        Gw0 = new Vector4[] { new Vector4(1f, 2f, 3f, 4f) };\n"
    "        Gw0Style1 = new Vector4[1] { new Vector4(10f, 20f, 30f, 40f), };\n"
    "        UseG(0);\n    }\n"
    "    private void UseG(int style)\n    {\n"
    "        if (style < 0 || style >= GStyles) return;\n"
    "        if (style == 0) { Gt0 = Gw0; Gpu.Load(Gt3, Gw3); }\n"
    "        else { Gt0 = Gw0Style1; Gpu.Load(Gt3, Gw3Style1); }\n    }\n"
    "    private void SetGTokens(int[] ids)\n    {\n"
    "        for (int i = 0; i < Gids.Height; i++)\n        {\n"
    "            int id = ids != null && i < ids.Length ? ids[i] : 0;\n"
    "            if (id < 0) id += 5000;\n"
    "            Gids[0, i] = new Color4(id % 2048, id / 2048, 0f, 0f);\n        }\n    }\n"
    "    [Kernel]\n    static Color4 GLayer0(KernelId id, GpuBuffer2D ids, [Capacity(4)] Vector4[] "
    "t)\n"
    "    {\n        Color4 c = ids[0, id.x];\n"
    "        return new Color4(c.r + t[0].x, c.g + t[0].y, t[0].z, t[0].w);\n    }\n"
    "    [Kernel]\n    static Color4 GLayer1(KernelId id, GpuBuffer2D a, GpuBuffer2D w)\n"
    "    {\n        Color4 c = a[id.x, 0];\n        Color4 d = w[id.x % 2, 0];\n"
    "        return new Color4(c.r, c.g, d.r, d.g);\n    }\n"
    "    [Kernel]\n    static Color4 GLayer2(KernelId id, GpuBuffer2D a)\n"
    "    {\n        Color4 c = a[id.x, 0];\n"
    "        return new Color4(c.r + 1f, c.g, c.b, c.a);\n    }\n"
    "    private void RunG()\n    {\n        RunG(0, GSteps);\n    }\n"
    "    private void RunG(int first, int count)\n    {\n"
    "        if (first <= 0 && count > 0 - first) Gpu.Run(nameof(GLayer0), Gb1, Gids, Gt0);\n"
    "        if (first <= 1 && count > 1 - first) Gpu.Run(nameof(GLayer1), GOutput, Gb1, Gt3);\n"
    "        if (first <= 2 && count > 2 - first) Gpu.Run(nameof(GLayer2), Gb1, GOutput);\n"
    "    }\n}\n";

static void expect(int buffer, int x, float r, float g, float blue, float a)
{
    float v[4];
    simulation_get(b.s, buffer, x, 0, v);
    if (v[0] != r || v[1] != g || v[2] != blue || v[3] != a)
        fail_msg("cell %d: %g %g %g %g", x, (double)v[0], (double)v[1], (double)v[2], (double)v[3]);
}

static void test_styles_and_tokens(void **state)
{
    (void)state;
    struct dialect_error error;
    struct simulation_error fault;
    static const uint16_t style0[8] = {0x3c00, 0x4000, 0, 0, 0x4200, 0x4400, 0, 0};
    static const uint16_t style1[8] = {0x4500, 0x4600, 0, 0, 0x4700, 0x4800, 0, 0};
    static const int32_t ids[] = {3, 2049, -1, 4999};
    static const float replaced[1][4] = {{100.0f, 200.0f, 300.0f, 400.0f}};
    context_init(&b.c, NULL);
    b.p = program_parse(&b.c, styled, strlen(styled), &error);
    if (b.p == NULL)
        fail_msg("%d:%d: %s", error.line, error.column, error.reason);
    assert_int_equal(b.p->step_count, 3);
    assert_int_equal(b.p->styles, 2);
    assert_int_equal(b.p->items, 1);
    assert_int_equal(b.p->token_inputs, 1);
    b.s = simulation_new(&b.c, b.p, ROUND_NEAREST);
    int out = program_find_buffer(b.p, "GOutput"), b1 = program_find_buffer(b.p, "Gb1");
    assert_true(simulation_texture(b.s, program_find_texture(b.p, "Gw3"), style0, 16));
    assert_true(simulation_use(b.s, 0, &fault));
    assert_false(simulation_use(b.s, 1, &fault));
    assert_non_null(strstr(fault.reason, "Gw3Style1 is missing"));
    assert_true(simulation_texture(b.s, program_find_texture(b.p, "Gw3Style1"), style1, 16));
    assert_true(simulation_use(b.s, 0, &fault));

    assert_true(simulation_set_tokens(b.s, 0, ids, 4, &fault));
    assert_false(simulation_set_tokens(b.s, 1, ids, 4, &fault));
    assert_true(simulation_run(b.s, 0, 3, &fault));
    expect(out, 0, 4, 2, 1, 2);
    expect(out, 1, 2, 3, 3, 4);
    expect(out, 2, 904, 4, 1, 2);
    expect(out, 3, 904, 4, 3, 4);
    expect(out, 5, 1, 2, 3, 4);
    expect(b1, 1, 3, 3, 3, 4);

    assert_true(simulation_use(b.s, 1, &fault));
    assert_true(simulation_use(b.s, 2, &fault));     /* out of range: ignored */
    assert_true(simulation_run(b.s, -5, 6, &fault)); /* step 0 */
    expect(b1, 0, 13, 20, 30, 40);
    expect(out, 0, 4, 2, 1, 2);
    assert_true(simulation_run(b.s, 1, 1, &fault));
    expect(out, 0, 13, 20, 5, 6);
    expect(b1, 0, 13, 20, 30, 40);
    assert_true(simulation_run(b.s, 2, INT32_MAX, &fault));
    expect(b1, 0, 14, 20, 5, 6);
    assert_true(simulation_run(b.s, 3, 5, &fault));
    assert_true(simulation_run(b.s, 0, 0, &fault));
    assert_true(simulation_run(b.s, 0, -1, &fault));
    expect(b1, 0, 14, 20, 5, 6);

    simulation_set_table(b.s, program_find_table(b.p, "Gt0"), replaced, 1);
    assert_true(simulation_run(b.s, 0, 1, &fault));
    expect(b1, 0, 103, 200, 300, 400);
    close_bench();
}

/* What a file is refused for: a part of a good one replaced. */
static const struct {
    const char *from, *to, *reason;
} refusals[] = {
    {"GSteps = 3", "GSteps = 4", "is not the number of steps"},
    {"GStyles = 2", "GStyles = 1", "styles do not fit"},
    {"Gb1, Gids, Gt0", "Gb1, Gb1, Gt0", "the destination is also an argument"},
    {"Gb1, Gids, Gt0", "Gb1, Gids", "1 arguments for the 2 parameters"},
    {"Gb1, Gids, Gt0", "Gb1, Gt0, Gids", "an argument that is no GpuBuffer2D"},
    {"Gb1, Gids, Gt0", "Gb1, Gids, Gids", "an argument that is no Vector4[]"},
    {"Gb1, Gids, Gt0", "Gb1, Gids, Gmissing", "an argument that is no Vector4[]"},
    {"nameof(GLayer0)", "nameof(GLayer9)", "is no kernel"},
    {"nameof(GLayer0)", "\"GLayer0\"", "where an expression is expected"},
    {"first <= 1 && count > 1 - first", "first <= 1", "does not ignore numbers out of range"},
    {"first <= 1 && count > 1 - first", "first <= 1 && count > 0", "does not"},
    {"first <= 1 && count > 1 - first", "first == 0", "does not ignore numbers out of range"},
    {"count > 2 - first", "count + first > 2", "does not ignore"},
    {"Gb1 = Gpu.Buffer(6, 1, GpuFormat.Half);", "", "the buffer Gb1 is never made"},
    {"Gb1 = Gpu.Buffer(6, 1", "Gb1 = Gpu.Buffer(6, 16385", "a buffer of 6 x 16385"},
    {"Gb1 = Gpu.Buffer(6, 1", "Gb1 = Gpu.Buffer(0, 1", "a buffer of 0 x 1"},
    {"Gb1 = Gpu.Buffer(6", "GOutput = Gpu.Buffer(6", "is made twice"},
    {"GpuFormat.Half", "GpuFormat.Float", "the format Float"},
    {"UseG(0);", "UseH(0);", "UseH is not known"},
    {"UseG(0);", "Gt0 = Gids;", "not a table"},
    {"UseG(0);", "for (int i = 0; i < 1; i += 0) { }", "does not end"},
    {"UseG(0);", "Gids[0, 0] = new Color4(0f, 0f, 0f, 0f);", "a cell cannot be written"},
    {"UseG(0);", "UseG(ids);", "ids is not known"},
    {"UseG(0);", "Gpu.Show(Gids, Gids);", "a call that is not known"},
    {"UseG(0);", "int i = 1 / 0;", "an integer division"},
    {"Gt0 = Gw0;", "UseG(style);", "calls more than"},
    {"private void UseG(int style)", "private void UseG(float style)",
     "an argument that is no int"},
    {"LoadG", "LoadH", "no method Load"},
    {"public Vector4[] Gw0;", "public Vector4[] Gw0 = null;", "= where ; is expected"},
    {"public Vector4[] Gw0;", "public static Vector4[] Gw0;", "a static field"},
    {"public Vector4[] Gw0;", "public float Gw0;", "a field of type float"},
    {"public Vector4[] Gw0;", "public GpuBuffer2D Gids;", "Gids is declared twice"},
    {"public partial class C", "public class C", "a class that is not partial"},
    {"public partial class C", "public partial class C : D", ": where { is expected"},
    {"new Vector4(1f, 2f, 3f, 4f) }", "new Vector4(1f, 2f, 3f) }", ") where , is expected"},
    {"new Vector4(1f, 2f, 3f, 4f) }", "new Vector4(1f, 2f, 3f, x) }", "is not a number"},
    {"new Vector4(1f, 2f, 3f, 4f) }", "new Vector4(1f, 2f, 3f, 4.0) }", "suffix f"},
    {"new Vector4[1]", "new Vector4[2]", "a length that is not 1"},
    {"[Kernel]", "[Other]", "the attribute Other"},
    {"return new Color4(c.r + 1f", "return new Color4(c.r + 1.5", "the suffix f is missing"},
    {"    }\n}\n", "    }\n", "the end of the text"},
    {"    }\n}\n", "    }\n}\n}\n", "a closing brace too many"},
};

static void test_refusals(void **state)
{
    (void)state;
    static char text[1 << 14];
    int wrong = 0;
    for (size_t i = 0; i < sizeof refusals / sizeof refusals[0]; i++) {
        static struct context c;
        struct dialect_error error = {0};
        const char *at = strstr(styled, refusals[i].from);
        assert_non_null(at);
        snprintf(text, sizeof text, "%.*s%s%s", (int)(at - styled), styled, refusals[i].to,
                 at + strlen(refusals[i].from));
        context_init(&c, NULL);
        struct program *p = program_parse(&c, text, strlen(text), &error);
        if (p != NULL || strstr(error.reason, refusals[i].reason) == NULL) {
            print_message("%s -> %s: %d:%d: %s\n", refusals[i].from, refusals[i].to, error.line,
                          error.column, p != NULL ? "accepted" : error.reason);
            wrong++;
        }
        context_release(&c);
    }
    assert_int_equal(wrong, 0);
}

/* Tables have to fit what the kernel and the target can hold. */
static void test_tables(void **state)
{
    (void)state;
    static char text[1 << 20];
    for (int count = 1022; count <= 1025; count++) {
        static struct context c;
        struct dialect_error error = {0};
        size_t at = (size_t)snprintf(
            text, sizeof text,
            "partial class C { GpuBuffer2D O; const int FSteps = 1; Vector4[] A; Vector4[] B;\n"
            "void LoadF() { O = Gpu.Buffer(1, 1); B = new Vector4[3]; A = new Vector4[] { ");
        for (int i = 0; i < count; i++)
            at += (size_t)snprintf(text + at, sizeof text - at, "new Vector4(0f, 1f, 2f, %d), ", i);
        snprintf(text + at, sizeof text - at,
                 "}; }\n[Kernel] static Color4 K(KernelId id, [Capacity(1024)] Vector4[] a, "
                 "[Capacity(4)] Vector4[] b) { return new Color4(a[0].x, b[2].y, 0, 0); }\n"
                 "void RunF() { RunF(0, 1); }\nvoid RunF(int first, int count) { if (first <= 0 && "
                 "count > 0 - first) Gpu.Run(nameof(K), O, A, B); } }");
        context_init(&c, NULL);
        struct program *p = program_parse(&c, text, strlen(text), &error);
        if ((p != NULL) != (count <= 1023))
            fail_msg("%d entries: %s", count, p != NULL ? "accepted" : error.reason);
        if (p == NULL)
            assert_non_null(strstr(error.reason, "entries for a capacity"));
        else
            assert_true(p->tables[program_find_table(p, "A")].entries[count - 1][3] ==
                        (float)(count - 1));
        context_release(&c);
    }
}

/* A run of hours leaves soon after it is cancelled. */
static void test_cancel(void **state)
{
    (void)state;
    static const char text[] = FILE_AROUND(
        24, 10, Half,
        SIGNATURE "{ float r = 0f; for (int i = 0; i < 2000000000; i++) { for (int j = 0; j < "
                  "2000000000; j++) { r += 1f; } } return new Color4(r, 0, 0, 0); }");
    static atomic_bool cancel;
    struct dialect_error error;
    struct simulation_error fault;
    context_init(&b.c, &cancel);
    b.p = program_parse(&b.c, text, strlen(text), &error);
    assert_non_null(b.p);
    b.s = simulation_new(&b.c, b.p, ROUND_NEAREST);
    atomic_store(&cancel, true);
    if (setjmp(b.c.escape) == 0) {
        simulation_run(b.s, 0, 1, &fault);
        fail_msg("a run that was cancelled ended");
    }
    assert_int_equal(b.c.reason, ESCAPE_CANCELLED);
    context_release(&b.c);
}

/* ---- a known good file and its model's test data, where both are at hand */

static char *read_file(const char *folder, const char *name, size_t *size)
{
    char path[1024];
    snprintf(path, sizeof path, "%s%s", folder, name);
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    assert_int_equal(fseek(f, 0, SEEK_END), 0);
    *size = (size_t)ftell(f);
    rewind(f);
    char *bytes = malloc(*size + 1);
    assert_non_null(bytes);
    assert_int_equal(fread(bytes, 1, *size, f), *size);
    fclose(f);
    return bytes;
}

static size_t varint(const unsigned char *bytes, size_t size, size_t *at)
{
    size_t value = 0;
    for (unsigned shift = 0; *at < size && shift < 63; shift += 7) {
        value |= (size_t)(bytes[*at] & 127) << shift;
        if ((bytes[(*at)++] & 128) == 0)
            break;
    }
    return value;
}

/* raw_data of a TensorProto: field 9. */
static const unsigned char *raw_data(const char *file, size_t size, size_t wanted)
{
    const unsigned char *bytes = (const unsigned char *)file;
    for (size_t at = 0; at < size;) {
        size_t tag = varint(bytes, size, &at), length = varint(bytes, size, &at);
        if ((tag & 7) != 2)
            continue;
        if (tag >> 3 == 9 && length == wanted && at + length <= size)
            return bytes + at;
        at += length;
    }
    fail_msg("no raw data of %zu bytes", wanted);
    return NULL;
}

static void test_sample(void **state)
{
    (void)state;
    const char *text_path = getenv("ONNXGPU_SAMPLE_FILE"); /* Sharpen.Filter.Model.cs */
    const char *folder = getenv("ONNXGPU_SAMPLE_DATA");    /* its model's test_data_set_0 */
    enum { SIDE = 64, PLANE = SIDE * SIDE };
    if (text_path == NULL || folder == NULL) {
        print_message("skipped: a file that was not written here (ONNXGPU_SAMPLE_FILE, _DATA)\n");
        skip();
    }
    size_t size, in_size, out_size;
    char *text = read_file(text_path, "", &size);
    char *in = read_file(folder, "/input_0.pb", &in_size);
    char *out = read_file(folder, "/output_0.pb", &out_size);
    float input[3 * PLANE], output[3 * PLANE];
    memcpy(input, raw_data(in, in_size, sizeof input), sizeof input);
    memcpy(output, raw_data(out, out_size, sizeof output), sizeof output);
    float largest = 0;
    for (int i = 0; i < 3 * PLANE; i++)
        largest = fmaxf(largest, fabsf(output[i]));
    assert_true(largest > 0);

    struct dialect_error error;
    struct simulation_error fault;
    context_init(&b.c, NULL);
    b.p = program_parse(&b.c, text, size, &error);
    if (b.p == NULL)
        fail_msg("%d:%d: %s", error.line, error.column, error.reason);
    assert_int_equal(b.p->step_count, 4);
    for (int mode = 0; mode < 2; mode++) {
        b.s = simulation_new(&b.c, b.p, mode == 0 ? ROUND_NEAREST : ROUND_ZERO);
        int from = program_find_buffer(b.p, "FilterInput");
        int to = program_find_buffer(b.p, "FilterOutput");
        for (int i = 0; i < PLANE; i++) {
            const float cell[4] = {input[i], input[PLANE + i], input[2 * PLANE + i], 0};
            simulation_set(b.s, from, i % SIDE, i / SIDE, cell);
        }
        assert_true(simulation_run(b.s, 0, 4, &fault));
        for (int i = 0; i < PLANE; i++) {
            float cell[4];
            simulation_get(b.s, to, i % SIDE, i / SIDE, cell);
            for (int k = 0; k < 3; k++) {
                float want = output[k * PLANE + i];
                assert_true(fabsf(cell[k] - want) <= 1e-4f + 4e-3f * largest + 1e-2f * fabsf(want));
            }
        }
        simulation_free(b.s);
    }
    context_release(&b.c);
    free(text);
    free(in);
    free(out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_kernels),  cmocka_unit_test(test_by_hand),
        cmocka_unit_test(test_raw),      cmocka_unit_test(test_faults),
        cmocka_unit_test(test_random),   cmocka_unit_test(test_styles_and_tokens),
        cmocka_unit_test(test_refusals), cmocka_unit_test(test_tables),
        cmocka_unit_test(test_cancel),   cmocka_unit_test(test_sample),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
