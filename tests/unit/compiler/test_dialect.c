/* What a kernel may contain: one row a rule, accepted or refused with its place; and what kernels
 * are counted to cost. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "daemon/compiler/context.h"
#include "daemon/compiler/gpu/dialect.h"

/* A kernel around statements; p is a buffer, t a table of up to 16 entries. */
#define KERNEL(body)                                                                               \
    "[Kernel] static Color4 K(KernelId id, GpuBuffer2D p, [Capacity(16)] Vector4[] t) { " body " " \
    "}"
#define RETURN "return new Color4(0f, 0f, 0f, 0f);"
#define BODY(body) KERNEL(body " " RETURN)

static const struct row {
    const char *text, *reason; /* a part of the reason; NULL: accepted */
} rows[] = {
    {BODY(""), NULL},
    {BODY("// a comment\n /* and\n another */ /// <c>x</c>\n"), NULL},
    {BODY("int i = 0; float f = 1f; bool b = true; Vector4 v = t[0]; Color4 c = p[0, 0];"), NULL},
    {BODY("float f = 1;"), NULL},
    {BODY("float f = id.x;"), NULL},
    {BODY("float f = 0.5f + 2;"), NULL},
    {BODY("int i = (int)0.5f; float f = (float)i;"), NULL},
    {BODY("int i = 0, j = 1;"), NULL},
    {BODY("int i = 0; i = 1; i += 2; i -= 3; i *= 4; i /= 5; i %= 6; i++; i--;"), NULL},
    {BODY("float f = 0f; f += 1; f *= 2f; f /= 3f; f %= 2f;"), NULL},
    {BODY("bool b = id.x < 3 && id.y >= 2 || !(id.x == 1) && 1f != 2;"), NULL},
    {BODY("float f = id.x > 3 ? 1f : 2;"), NULL},
    {BODY("Color4 c = id.x > 3 ? p[0, 0] : p[1, 0];"), NULL},
    {BODY("Color4 c = p[0, 0]; c = p[1, 1]; c = new Color4(c.g, c.r, c.a, 1);"), NULL},
    {BODY("float f = p[0, 0].r + t[3].w;"), NULL},
    {BODY("int i = -2147483648;"), NULL},
    {BODY("int i = 2147483647;"), NULL},
    {BODY("float f = -0.0f + 1e-30f + 3.4e38f + .5f + 1F;"), NULL},
    {BODY("for (int i = 0; i < 4; i++) { }"), NULL},
    {BODY("for (int i = 7; i >= 0; i -= 2) { int j = i; }"), NULL},
    {BODY("for (int i = 0; i != 6; i += 3) { float x = i; }"), NULL},
    {BODY("for (int i = 2 * 3 - 1; i <= 4 * (2 + 1) % 5; i += 8 / 4) { }"), NULL},
    {BODY("for (int i = 0; i < 2; i++) for (int j = 0; j < 2; j++) { }"), NULL},
    {BODY("for (int i = 0; i < 2; i++) { } for (int i = 0; i < 3; i++) { }"), NULL},
    {BODY("int i = 0; while (i < 4) { i++; }"), NULL},
    {BODY("int i = 9; while (i > 0) { float f = i; i -= 3; } int j = i;"), NULL},
    {BODY("if (id.x < 1) { int i = 0; } else if (id.y < 2) { int i = 1; } else { int i = 2; }"),
     NULL},
    {BODY("{ int i = 0; } { float i = 0f; }"), NULL},
    {BODY("float f = Mathf.Clamp(1f, 0, 2) + Mathf.Max(1f, 2) + Mathf.Sqrt(2) + "
          "Mathf.Atan2(1f, 2f);"),
     NULL},
    {BODY("Mathf.Abs(1f);"), NULL},
    {BODY("int @if = 3; int j = @if;"), NULL},
    {"static float H(Color4 p, int k) { return k == 0 ? p.r : p.g; }" BODY(
         "float f = H(p[0, 0], 1); H(p[0, 0], 0);"),
     NULL},
    {"static float H(float a) { if (a < 0f) return 0f; return a; }" BODY("float f = H(1);"), NULL},
    {"static float H(float a) { if (a < 0f) { return 0f; } else { return a; } }" BODY(""), NULL},
    {"static float H(float a) { if (a < 0f) { a += 1f; } else { return a; } return 2f; }" BODY(""),
     NULL},
    {"static Color4 H(GpuBuffer2D b, int x) { return b[x, 0]; }" BODY("Color4 c = H(p, 0);"), NULL},
    {"private static int A(int a) { return B(a) + B(1); } public static int B(int b) { b++; return "
     "b; }" BODY("int i = A(1);"),
     NULL},
    {"[Kernel] static Color4 K(KernelId i) { return new Color4(i.x, i.y, 0, 0); }", NULL},
    {"[Kernel] static Color4 K(KernelId id, [Capacity(1024)] Vector4[] t) { " RETURN " }", NULL},

    /* types */
    {BODY("int i = 1f;"), "float where int is needed"},
    {BODY("int i = id.x / 2f;"), "float where int is needed"},
    {BODY("bool b = 1;"), "int where bool is needed"},
    {BODY("float f = true;"), "bool where float is needed"},
    {BODY("int i = 0; i += 1f;"), "float where int is needed"},
    {BODY("Color4 c = t[0];"), "Vector4 where Color4 is needed"},
    {BODY("float f = p[0, 0];"), "Color4 where float is needed"},
    {BODY("float f = p[0, 0].x;"), "Color4 has no component x"},
    {BODY("float f = t[0].r;"), "Vector4 has no component r"},
    {BODY("float f = t[0].xy;"), "no component xy"},
    {BODY("float f = id.z;"), "no component z"},
    {BODY("Color4 c = p[0, 0] + p[0, 0];"), "an operator between Color4 and Color4"},
    {BODY("Vector4 v = t[0] * 2f;"), "an operator between Vector4 and float"},
    {BODY("if (1) { }"), "int where bool is needed"},
    {BODY("float f = 1f; if (f) { }"), "float where bool is needed"},
    {BODY("bool b = !1;"), "int where bool is needed"},
    {BODY("bool b = true + true;"), "an operator between bool and bool"},
    {BODY("bool b = true == false;"), "an operator between bool and bool"},
    {BODY("float f = -true;"), "a minus before bool"},
    {BODY("float f = p[0f, 0].r;"), "an index that is float"},
    {BODY("float f = p[0].r;"), "GpuBuffer2D with 1 indices"},
    {BODY("float f = t[0, 1].x;"), "Vector4[] with 2 indices"},
    {BODY("float f = p[-1, 0].r;"), "a negative index"},
    {BODY("float f = id.x ? 1f : 2f;"), "int where bool is needed"},
    {BODY("float f = true ? 1f : true;"), "an operator between float and bool"},
    {BODY("bool b = (bool)1;"), "a cast of int to bool"},
    {BODY("int i = (int)true;"), "a cast of bool to int"},
    {BODY("int i = (int)3e9f;"), "a constant beyond int"},
    {BODY("int i = 2147483648;"), "an integer beyond int"},
    {BODY("int i = 99999999999;"), "an integer beyond int"},
    {BODY("int i = 2147483647 + 1;"), "a constant beyond int"},
    {BODY("int i = 65536 * 65536;"), "a constant beyond int"},
    {BODY("int i = -(-2147483648);"), "a constant beyond int"},
    {BODY("int i = 1 / 0;"), "an integer division by zero"},
    {BODY("int i = id.x / 0;"), "an integer division by zero"},
    {BODY("int i = id.x % -3;"), "an integer division by zero or by a negative number"},
    {BODY("int i = -4 / 2;"), "an integer division of a negative number"},
    {BODY("int i = 3; i /= 0;"), "an integer division by zero"},

    /* literals */
    {BODY("float f = 1.0;"), "the suffix f is missing"},
    {BODY("float f = 1e5;"), "the suffix f is missing"},
    {BODY("float f = 1d;"), "a number of a form that is not allowed"},
    {BODY("int i = 1u;"), "a number of a form that is not allowed"},
    {BODY("int i = 0x10;"), "a number of a form that is not allowed"},
    {BODY("int i = 1_000;"), "a number of a form that is not allowed"},
    {BODY("float f = 1e39f;"), "not a finite float"},
    {BODY("float f = 1e-40f;"), "a denormal float"},
    {BODY("float f = 1.f;"), "int has no component f"},

    /* statements */
    {BODY("int i;"), "not initialised"},
    {BODY("var i = 0;"), "not an assignment"},
    {BODY("const int i = 0;"), "`const` is not allowed here"},
    {BODY("double d = 0;"), "`double` is not allowed here"},
    {BODY("p[0, 0] = new Color4(0f, 0f, 0f, 0f);"), "something other than a local is assigned"},
    {BODY("Color4 c = p[0, 0]; c.r = 1f;"), "a component is assigned"},
    {BODY("Vector4 v = t[0]; v.x += 1f;"), "a component is assigned"},
    {BODY("id.x = 1;"), "a component is assigned"},
    {BODY("t = t;"), "a parameter of type Vector4[] is assigned"},
    {BODY("GpuBuffer2D q = p;"), "a local of type GpuBuffer2D"},
    {BODY("do { } while (true);"), "`do` is not allowed here"},
    {BODY("switch (1) { }"), "`switch` is not allowed here"},
    {BODY("for (int i = 0; i < 3; i++) { break; }"), "`break` is not allowed here"},
    {BODY("for (int i = 0; i < 3; i++) { continue; }"), "`continue` is not allowed here"},
    {BODY("foreach (int i in x) { }"), "`foreach` is not allowed here"},
    {BODY("goto end;"), "`goto` is not allowed here"},
    {BODY("1 + 2;"), "not an assignment"},
    {BODY("int i = 0; i;"), "not an assignment"},
    {BODY("if (true) int i = 0;"), "needs braces"},
    {BODY(";"), "; where an expression is expected"},
    {BODY("int i = 0; ++i;"), "++ where an expression is expected"},
    {BODY("int i = 0; int j = i++;"), "++ where ; is expected"},
    {BODY("int i = 0; int j = i = 3;"), "= where ; is expected"},
    {BODY("int i = 1 << 2;"), "<< where ; is expected"},
    {BODY("int i = 1 & 2;"), "& where ; is expected"},
    {BODY("Vector4 v = new Vector4(0f, 0f, 0f, 0f);"), "new Vector4 with 4 arguments"},
    {BODY("Color4 c = new Color4(0f, 0f, 0f);"), "new Color4 with 3 arguments"},
    {BODY("string s = \"\";"), "`string` is not allowed here"},

    /* names */
    {BODY("int i = j;"), "j is no local"},
    {BODY("int i = 0; int i = 1;"), "i is declared twice"},
    {BODY("int i = 0; { int i = 1; }"), "i is declared twice"},
    {BODY("{ int i = 1; } int i = 0;"), "i is declared twice"},
    {BODY("for (int i = 0; i < 3; i++) { int i = 0; }"), "i is declared twice"},
    {BODY("for (int i = 0; i < 3; i++) { } int i = 0;"), "i is declared twice"},
    {BODY("int p = 0;"), "p is declared twice"},
    {BODY("{ int i = 1; } int j = i;"), "i is no local"},
    {BODY("int Mathf = 1;"), "hides a type"},
    {BODY("float f = Mathf.Tanh(1f);"), "Mathf.Tanh is not allowed"},
    {BODY("float f = Mathf.PI;"), "Mathf is no local"},
    {BODY("float f = Mathf.Max(1, 2);"), "Mathf.Max of int"},
    {BODY("float f = Mathf.Abs(id.x);"), "Mathf.Abs of int"},
    {BODY("float f = Mathf.Max(1f, 2f, 3f);"), "with 3 arguments instead of 2"},
    {BODY("float f = Mathf.Log(1f, 2f);"), "with 2 arguments instead of 1"},
    {BODY("float f = Other.Abs(1f);"), "something that is no helper"},
    {BODY("float f = Missing(1f);"), "Missing is no helper"},

    /* loops */
    {BODY("for (int i = 0; i < id.x; i++) { }"), "compare its int counter with a constant"},
    {BODY("int n = 3; for (int i = 0; i < n; i++) { }"), "counter with a constant"},
    {BODY("for (int i = id.x; i < 3; i++) { }"), "does not start at a constant"},
    {BODY("for (int i = 0; 3 > i; i++) { }"), "counter with a constant"},
    {BODY("for (int i = 0; i < 3; i--) { }"), "does not end"},
    {BODY("for (int i = 0; i != 5; i += 2) { }"), "does not end"},
    {BODY("for (int i = 0; i < 3; i += 0) { }"), "does not end"},
    {BODY("for (int i = 0; i <= 2147483647; i++) { }"), "leaves int"},
    {BODY("for (int i = 0; i < 3; i *= 2) { }"), "a loop's step"},
    {BODY("for (int i = 0; i < 3; i = i + 1) { }"), "a loop's step"},
    {BODY("int j = 0; for (int i = 0; i < 3; j++) { }"), "step that is not of its counter"},
    {BODY("int j = 0; for (int i = 0; j < 3; i++) { }"), "condition that is not about its counter"},
    {BODY("for (int i = 0; i < 3; i++) { i += 1; }"), "the counter i of a loop is assigned"},
    {BODY("for (float f = 0f; f < 3f; f += 1f) { }"), "compare its int counter"},
    {BODY("for (int i = 0, j = 0; i < 3; i++) { }"), "more than one counter"},
    {BODY("for (;;) { }"), "the declaration of a counter"},
    {BODY("int i = 0; for (i = 0; i < 3; i++) { }"), "the declaration of a counter"},
    {BODY("while (true) { }"), "does not end with the step"},
    {BODY("int i = 0; while (i < 3) { int j = 0; }"), "does not end with the step"},
    {BODY("int i = 0; i = 1; while (i < 3) { i++; }"), "not fresh"},
    {BODY("int i = 0; for (int j = 0; j < 2; j++) { while (i < 3) { i++; } }"), "not fresh"},
    {BODY("int i = 0; while (i < 3) { i++; } while (i < 6) { i++; }"), "not fresh"},
    {BODY("int i = 0; while (i < 3) { i = 0; i++; }"), "the counter i of a loop is assigned"},

    /* returns and methods */
    {KERNEL(""), "does not end with a return"},
    {KERNEL("return;"), "a return without a value"},
    {KERNEL("return 1f;"), "float where Color4 is needed"},
    {KERNEL("if (id.x > 0) { " RETURN " } " RETURN), "returns more than once"},
    {KERNEL(RETURN " " RETURN), "returns more than once"},
    {KERNEL("if (true) { " RETURN " } else { " RETURN " }"), "does not end with a return"},
    {"static float H(float a) { if (a < 0f) return 0f; }" BODY(""), "does not return on every"},
    {"static float H(float a) { for (int i = 0; i < 3; i++) { return a; } return a; }" BODY(""),
     "a return inside a loop"},
    {"static float H(float a) { if (a < 0f) { if (a < 1f) return 0f; a = 1f; } return a; }" BODY(
         ""),
     "returns only sometimes"},
    {"static float H(float a) { return a; a = 1f; }" BODY(""), "a statement after a return"},
    {"static float H(float a) { return H(a); }" BODY(""), "calls itself"},
    {"static float A(float a) { return B(a); } static float B(float a) { return A(a); }" BODY(""),
     "calls itself"},
    {"static float H(float a) { return a; }" BODY("float f = H(1f, 2f);"),
     "with 2 arguments instead of 1"},
    {"static float H(int a) { return a; }" BODY("float f = H(1f);"), "float where int is needed"},
    {"static float H(Vector4[] a) { return 0f; }" BODY(""), "a parameter of type Vector4[]"},
    {"static void H(float a) { }" BODY(""), "the helper H returns void"},
    {"static GpuBuffer2D H(GpuBuffer2D a) { return a; }" BODY(""), "returns GpuBuffer2D"},
    {"float H(float a) { return a; }" BODY(""), "H is not static"},
    {"static float H(float a) { return a; } static float H(float a) { return a; }" BODY(""),
     "there twice"},
    {BODY("") " " BODY(""), "there twice"},
    {BODY("Color4 c = K(id, p, t);"), "a call of the kernel"},
    {"[Kernel] static float K(KernelId id) { return 0f; }", "does not return Color4"},
    {"[Kernel] Color4 K(KernelId id) { " RETURN " }", "is not static"},
    {"[Kernel] static Color4 K() { " RETURN " }", "does not begin with a KernelId"},
    {"[Kernel] static Color4 K(GpuBuffer2D p, KernelId id) { " RETURN " }",
     "does not begin with a KernelId"},
    {"[Kernel] static Color4 K(KernelId id, float f) { " RETURN " }", "a parameter of type float"},
    {"[Kernel] static Color4 K(KernelId id, Vector4[] t) { " RETURN " }", "has no capacity"},
    {"[Kernel] static Color4 K(KernelId id, [Capacity(5)] Vector4[] t) { " RETURN " }",
     "a power of two"},
    {"[Kernel] static Color4 K(KernelId id, [Capacity(2)] Vector4[] t) { " RETURN " }",
     "a power of two"},
    {"[Kernel] static Color4 K(KernelId id, [Capacity(2048)] Vector4[] t) { " RETURN " }",
     "a power of two"},
    {"[Kernel] static Color4 K(KernelId id, [Capacity(4)] GpuBuffer2D t) { " RETURN " }",
     "no Vector4[]"},
    {"[Other] static Color4 K(KernelId id) { " RETURN " }", "the attribute Other"},

    /* text */
    {BODY("/* no end"), "a comment that does not end"},
    {BODY("int i = $;"), "the character `$`"},
    {BODY("\n#if X\n#endif\n"), "a directive"},
    {BODY("") " }", "where a type is expected"},
    {"[Kernel] static Color4 K(KernelId id) { " RETURN, "the end of the text"},
};

static struct dialect *parse(struct context *c, const char *text, struct dialect_error *error)
{
    memset(error, 0, sizeof *error);
    return dialect_parse(&c->arena, text, strlen(text), error);
}

static void test_rows(void **state)
{
    (void)state;
    int wrong = 0;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        static struct context c;
        struct dialect_error error;
        context_init(&c, NULL);
        struct dialect *d = parse(&c, rows[i].text, &error);
        if ((d != NULL) != (rows[i].reason == NULL) ||
            (d == NULL && strstr(error.reason, rows[i].reason) == NULL))
            wrong++, print_message("row %zu: %s\n  got: %d:%d: %s\n  want: %s\n", i, rows[i].text,
                                   error.line, error.column, d != NULL ? "accepted" : error.reason,
                                   rows[i].reason != NULL ? rows[i].reason : "accepted");
        if (d == NULL) {
            assert_true(error.line >= 1);
            assert_true(error.column >= 1);
        }
        context_release(&c);
    }
    assert_int_equal(wrong, 0);
}

/* Columns count code points, lines count line ends. */
static void test_places(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int line, column;
    } places[] = {
        {BODY("\n\n  int i = 1f;"), 3, 11},
        {BODY("\n/* \xc3\xa4\xe6\x96\x87 */ int i = 1f;"), 2, 18},
        {"\xef\xbb\xbf$", 1, 1},
        {BODY("\r\n\tint i = 0; \r\n  i.x = 1;"), 3, 3},
    };
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        static struct context c;
        struct dialect_error error;
        context_init(&c, NULL);
        assert_null(parse(&c, places[i].text, &error));
        assert_int_equal(error.line, places[i].line);
        assert_int_equal(error.column, places[i].column);
        context_release(&c);
    }
}

static void test_cost(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        uint64_t fetches, entries, macs, alu;
    } costs[] = {
        {BODY(""), 0, 0, 0, 0},
        {BODY("Color4 c = p[id.x, id.y];"), 1, 0, 0, 0},
        {BODY("int x = id.x + 1;"), 0, 0, 0, 1},
        {BODY("float r = 0f; Color4 c = p[0, 0]; Vector4 w = t[0]; "
              "r += c.r * w.x + c.g * w.y + c.b * w.z + c.a * w.w;"),
         1, 1, 4, 0},
        {BODY("float r = 0f; float q = 2f; r += q * q;"), 0, 0, 1, 0},
        {BODY("float q = 2f; float r = q * q;"), 0, 0, 0, 1},
        {BODY("float q = 2f; float r = q * q + 1f;"), 0, 0, 1, 0},
        {BODY("float q = 2f; float r = q + q;"), 0, 0, 0, 1},
        {BODY("int k = 0; int m = id.x; k += m * m;"), 0, 0, 1, 0},
        {BODY("int k = 0; int m = id.x; k += m * 4;"), 0, 0, 0, 2},
        /* two operations for each trip: comparison and step */
        {BODY("for (int i = 0; i < 3; i++) { for (int j = 0; j < 5; j++) { Vector4 v = t[0]; } }"),
         0, 15, 0, 36},
        {BODY("int i = 8; while (i > 0) { Color4 c = p[0, 0]; i -= 3; }"), 3, 0, 0, 6},
        {BODY("if (id.x > 0) { Color4 c = p[0, 0]; Color4 d = p[0, 0]; } else { Vector4 v = t[0]; "
              "Color4 c = p[0, 0]; }"),
         2, 1, 0, 1},
        {BODY("float f = Mathf.Max(Mathf.Sqrt(2f), id.x);"), 0, 0, 0, 3},
        {BODY("float f = id.x > 0 ? p[0, 0].r : p[1, 0].r;"), 2, 0, 0, 2},
        {"static float H(float a) { return a * a + p2(a); } static float p2(float b) { return b - "
         "1f; }" BODY("float f = H(1f) + H(2f);"),
         0, 0, 2, 3},
        {BODY("for (int a = 0; a < 2000000; a++) for (int b = 0; b < 2000000; b++) for (int c = 0; "
              "c < 2000000000; c++) { Vector4 v = t[0]; }"),
         0, UINT64_MAX, 0, UINT64_MAX},
    };
    for (size_t i = 0; i < sizeof costs / sizeof costs[0]; i++) {
        static struct context c;
        struct dialect_error error;
        context_init(&c, NULL);
        struct dialect *d = parse(&c, costs[i].text, &error);
        assert_non_null(d);
        struct dialect_cost cost = dialect_cost(dialect_find(d, "K"));
        if (cost.fetches != costs[i].fetches || cost.entries != costs[i].entries ||
            cost.macs != costs[i].macs || cost.alu != costs[i].alu)
            fail_msg("%s: %llu fetches, %llu entries, %llu macs, %llu alu", costs[i].text,
                     (unsigned long long)cost.fetches, (unsigned long long)cost.entries,
                     (unsigned long long)cost.macs, (unsigned long long)cost.alu);
        context_release(&c);
    }
}

/* Helpers that call helpers twice, and nesting: neither time nor stack may follow the text. */
static void test_depth(void **state)
{
    (void)state;
    static struct context c;
    static char text[1 << 16];
    struct dialect_error error;
    size_t at = 0;
    context_init(&c, NULL);
    for (int i = 0; i < 16; i++)
        at += (size_t)snprintf(text + at, sizeof text - at,
                               "static float H%d(float a) { return H%d(a) + H%d(a); } ", i, i + 1,
                               i + 1);
    snprintf(text + at, sizeof text - at, "static float H16(float a) { return a; }");
    assert_null(parse(&c, text, &error));
    assert_non_null(strstr(error.reason, "deep"));

    static const char *const nests[] = {"(", "- ", "H(", "{", "if (true) ", "p[", "1 + (", "! "};
    for (size_t n = 0; n < sizeof nests / sizeof nests[0]; n++) {
        at = (size_t)snprintf(text, sizeof text, "static float H(float a) { %s",
                              n == 3 || n == 4 ? "" : "return ");
        while (at < sizeof text - 16)
            at += (size_t)snprintf(text + at, sizeof text - at, "%s", nests[n]);
        assert_null(parse(&c, text, &error));
        assert_non_null(strstr(error.reason, "deep"));
    }
    context_release(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows),
        cmocka_unit_test(test_places),
        cmocka_unit_test(test_cost),
        cmocka_unit_test(test_depth),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
