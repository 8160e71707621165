/* Kernels as fragment shaders: the text as a whole, and one row a construct. Whether shaders
 * compute the same is tested where there is a device (tests/opengl). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "daemon/compiler/context.h"
#include "daemon/compiler/gpu/glsl.h"

#define KERNEL(body)                                                                               \
    "[Kernel] static Color4 K(KernelId id, GpuBuffer2D p, [Capacity(16)] Vector4[] t) { " body " " \
    "return new Color4(0f, 0f, 0f, 0f); }"

static struct context c;

static const char *printed(const char *text, enum glsl_version version)
{
    struct dialect_error error;
    context_release(&c);
    context_init(&c, NULL);
    struct dialect *d = dialect_parse(&c.arena, text, strlen(text), &error);
    if (d == NULL)
        fail_msg("%d:%d: %s: %s", error.line, error.column, error.reason, text);
    return glsl_fragment(&c.arena, dialect_find(d, "K"), version);
}

static void test_whole(void **state)
{
    (void)state;
    assert_string_equal(
        printed("static float Picked(Color4 c, int k) { if (k == 0) return c.r; return c.a; }\n"
                "static float Unused(float x) { return x; }\n"
                "static float At(GpuBuffer2D b, int x) { return Picked(b[x, 0], x); }\n"
                "[Kernel] static Color4 K(KernelId id, GpuBuffer2D sample, "
                "[Capacity(16)] Vector4[] t, GpuBuffer2D b) {\n"
                "float sum = 0f;\n"
                "for (int i = 0; i < 3; i++) sum += t[i].w * At(b, i);\n"
                "return new Color4(sum, sample[id.x, id.y].g, 0, -1.5f); }",
                GLSL_330),
        "#version 330 core\n"
        "uniform sampler2D p1;\n"
        "uniform vec4 p2[16];\n"
        "uniform sampler2D p3;\n"
        "out vec4 cell;\n"
        "\n"
        "float f0_Picked(vec4 v0_c, int v1_k)\n"
        "{\n"
        "    if ((v1_k == 0)) {\n"
        "        return v0_c.x;\n"
        "    }\n"
        "    return v0_c.w;\n"
        "}\n"
        "\n"
        "float f2_At(sampler2D v0_b, int v1_x)\n"
        "{\n"
        "    return f0_Picked(texelFetch(v0_b, ivec2(v1_x, 0), 0), v1_x);\n"
        "}\n"
        "\n"
        "void main()\n"
        "{\n"
        "    ivec2 id = ivec2(gl_FragCoord.xy);\n"
        "    float v4_sum = 0.0;\n"
        "    for (int v5_i = 0; (v5_i < 3); v5_i += 1) {\n"
        "        v4_sum += (p2[v5_i].w * f2_At(p3, v5_i));\n"
        "    }\n"
        "    cell = vec4(v4_sum, texelFetch(p1, ivec2(id.x, id.y), 0).y, 0.0, (-1.5));\n"
        "}\n");
}

/* Statements of a kernel, and a line or part of the shader that they become. */
static const struct {
    const char *text, *part;
} rows[] = {
    /* names: words of GLSL, its prefix, underscores, letters that it does not know */
    {KERNEL("float sample = 1f;"), "float v3_sample = 1.0;"},
    {KERNEL("float gl_x = 1f;"), "float v3_glx = 1.0;"},
    {KERNEL("float a__b = 1f;"), "float v3_ab = 1.0;"},
    {KERNEL("float größe = 1f;"), "float v3_gre = 1.0;"},
    {KERNEL("float _ = 1f;"), "float v3_ = 1.0;"},
    {KERNEL("int @if = 3;"), "int v3_if = 3;"},
    /* types */
    {KERNEL("bool b = true;"), "bool v3_b = true;"},
    {KERNEL("Vector4 v = t[2];"), "vec4 v3_v = p2[2];"},
    {KERNEL("Color4 q = p[1, 2];"), "vec4 v3_q = texelFetch(p1, ivec2(1, 2), 0);"},
    {KERNEL("float f = id.x;"), "float v3_f = float(id.x);"},
    {KERNEL("int i = (int)p[0, 0].b;"), "int v3_i = int(texelFetch(p1, ivec2(0, 0), 0).z);"},
    /* numbers */
    {KERNEL("int i = -2147483648;"), "= (-2147483647 - 1);"},
    {KERNEL("int i = -7;"), "= (-7);"},
    {KERNEL("float f = -0f;"), "= (-0.0);"},
    {KERNEL("float f = 65504f;"), "= 65504.0;"},
    {KERNEL("float f = 1e-20f;"), "= 1.0e-20;"},
    /* the tree decides about the order */
    {KERNEL("float a = 1f; float b = a - (a - a) - a;"), "= ((v3_a - (v3_a - v3_a)) - v3_a);"},
    {KERNEL("float a = 1f; float b = -a * -(-a);"), "= ((-v3_a) * (-(-v3_a)));"},
    {KERNEL("bool b = !(id.x < 1) && id.y != 2 || id.x >= 3;"),
     "= (((!(id.x < 1)) && (id.y != 2)) || (id.x >= 3));"},
    {KERNEL("float f = id.x > 3 ? 1f : 2;"), "= ((id.x > 3) ? 1.0 : 2.0);"},
    {KERNEL("int i = (id.x + 1) / 2 % 3;"), "= (((id.x + 1) / 2) % 3);"},
    /* what shaders do not have: the remainder of floats, in helpers and compound as well */
    {KERNEL("float a = 1f; float b = a % 0.75f;"), "= remainder_of(v3_a, 0.75);"},
    {KERNEL("float a = 1f; a %= 0.75f;"), "    v3_a = remainder_of(v3_a, 0.75);"},
    {"static float H(float x) { return x % 2f; } " KERNEL("float b = H(1f) % 3f;"),
     "return a - b * trunc(a / b);\n}\n\nfloat f0_H(float v0_x)\n{\n    return remainder_of(v0_x"},
    /* functions */
    {KERNEL("float a = Mathf.Atan2(1f, 2f);"), "= atan(1.0, 2.0);"},
    {KERNEL("float a = Mathf.Clamp(1f, -2f, 3f);"), "= clamp(1.0, (-2.0), 3.0);"},
    {KERNEL("Mathf.Abs(1f);"), "    abs(1.0);\n"},
    /* statements */
    {KERNEL("int i = 1; i -= 3; i *= 4; i /= 5; i %= 6;"),
     "    v3_i -= 3;\n    v3_i *= 4;\n    v3_i /= 5;\n    v3_i %= 6;\n"},
    {KERNEL("int i = 0, j = 1; i = j;"),
     "    int v3_i = 0;\n    int v4_j = 1;\n    v3_i = v4_j;\n"},
    {KERNEL("int i = 9; while (i > 0) { float f = i; i -= 3; } int j = i;"),
     "    while ((v3_i > 0)) {\n        float v4_f = float(v3_i);\n        v3_i -= 3;\n    }\n"
     "    int v5_j = v3_i;\n"},
    {KERNEL("if (id.x < 1) { int i = 0; } else if (id.y < 2) { int i = 1; } else { int j = 2; }"),
     "    if ((id.x < 1)) {\n        int v3_i = 0;\n    }\n    else {\n        if ((id.y < 2)) {\n"
     "            int v4_i = 1;\n        }\n        else {\n            int v5_j = 2;\n        }\n"
     "    }\n"},
    {KERNEL("{ int i = 0; } { float i = 0f; }"),
     "    {\n        int v3_i = 0;\n    }\n    {\n        float v4_i = 0.0;\n    }\n"},
};

static void test_rows(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const char *text = printed(rows[i].text, GLSL_330);
        if (strstr(text, rows[i].part) == NULL)
            fail_msg("%s\nwithout\n%s\nfrom\n%s", text, rows[i].part, rows[i].text);
    }
}

/* Each helper once, before its callers, and the remainder once. */
static void test_once(void **state)
{
    (void)state;
    const char *text = printed(
        "static float B(float x) { return A(x) + A(x % 3f); } "
        "static float A(float x) { return x % 2f; } "
        "static float Other(float x) { return x; }" KERNEL("float f = B(1f) + A(2f) + B(3f);"),
        GLSL_330);
    const char *remainder = strstr(text, "float remainder_of(");
    const char *a = strstr(text, "float f1_A("), *b = strstr(text, "float f0_B(");
    assert_non_null(remainder);
    assert_true(remainder < a && a < b && b < strstr(text, "void main"));
    assert_null(strstr(remainder + 1, "float remainder_of("));
    assert_null(strstr(a + 1, "float f1_A("));
    assert_null(strstr(b + 1, "float f0_B("));
    assert_null(strstr(text, "Other"));
}

static void test_es(void **state)
{
    (void)state;
    const char *desktop = printed(KERNEL(""), GLSL_330) + strlen("#version 330 core\n");
    static const char heading[] = "#version 300 es\nprecision highp float;\nprecision highp int;\n"
                                  "precision highp sampler2D;\n";
    char rest[512];
    snprintf(rest, sizeof rest, "%s", desktop);
    const char *es = printed(KERNEL(""), GLSL_300_ES);
    assert_memory_equal(es, heading, sizeof heading - 1);
    assert_string_equal(es + sizeof heading - 1, rest);
    assert_memory_equal(glsl_vertex(GLSL_300_ES), "#version 300 es\n", 16);
    assert_memory_equal(glsl_vertex(GLSL_330), "#version 330 core\n", 18);
}

static int release(void **state)
{
    (void)state;
    context_release(&c);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_whole),
        cmocka_unit_test(test_rows),
        cmocka_unit_test(test_once),
        cmocka_unit_test(test_es),
    };
    return cmocka_run_group_tests(tests, NULL, release);
}
