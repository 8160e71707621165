#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/language/script.h"

static struct script *read_text(const char *text)
{
    struct script *script = script_read("/p/Assets/Scripts/Sharpen.cs", text, strlen(text), NULL);

    assert_non_null(script);
    return script;
}

static void expect_problem(const struct script *script, int number, enum diagnostic_code code,
                           const char *at, const char *message)
{
    const struct script_problem *problem = &script->problems[number];
    const char *text = script->text.bytes.data;

    assert_true(number < script->problem_count);
    assert_int_equal(problem->code, code);
    assert_int_equal(problem->range.end - problem->range.start, strlen(at));
    assert_memory_equal(text + problem->range.start, at, strlen(at));
    assert_non_null(strstr(problem->message, message));
    assert_true(problem->message[strlen(problem->message) - 1] == '.');
}

static void test_unit(void **state)
{
    struct script *script =
        read_text("namespace A.B { static partial class Outer<T> { [OnnxGpu(\"m/my-filter.onnx\", "
                  "\"/abs/b.onnx\")] internal sealed partial class @Sharpen : X { } } }");
    const struct script_unit *unit = script->units;
    const struct compile_options *options = &unit->options;

    (void)state;
    assert_int_equal(script->problem_count, 0);
    assert_int_equal(script->unit_count, 1);
    assert_string_equal(unit->name, "A.B.Outer.Sharpen");
    assert_string_equal(unit->file, "Sharpen.MyFilter.Model.cs");
    assert_false(unit->blocked);
    assert_string_equal(options->script, "Sharpen");
    assert_string_equal(options->class_name, "@Sharpen");
    assert_string_equal(options->modifiers, "internal sealed");
    assert_string_equal(options->space, "A.B");
    assert_int_equal(options->outer_count, 1);
    assert_string_equal(options->outer[0], "static partial class Outer<T>");
    assert_string_equal(options->prefix, "MyFilter");
    assert_string_equal(options->file_stem, "Sharpen.MyFilter");
    assert_string_equal(options->asset_folder, "Assets/Scripts");
    assert_int_equal(options->model_count, 2);
    assert_string_equal(options->models[0], "/p/Assets/Scripts/m/my-filter.onnx");
    assert_string_equal(options->models[1], "/abs/b.onnx");
    assert_string_equal(unit->models[0].argument, "m/my-filter.onnx");
    script_release(script);
}

static void test_problems(void **state)
{
    struct script *script;

    (void)state;
    script = read_text("[OnnxGpu(\"a.onnx\")] class A { }");
    expect_problem(script, 0, TUKI0140, "A", "class A: it is not partial");
    assert_int_equal(script->problem_count, 1);
    assert_true(script->units[0].blocked);
    script_release(script);

    script = read_text("class Outer { [OnnxGpu(\"a.onnx\")] partial class A { } }");
    expect_problem(script, 0, TUKI0140, "Outer", "class Outer: it is not partial");
    assert_int_equal(script->problem_count, 1);
    script_release(script);

    script = read_text("[OnnxGpu(3, \"\", \"a.onnx\", X)] partial class A { }");
    expect_problem(script, 0, TUKI0141, "3", "argument 1");
    expect_problem(script, 1, TUKI0141, "\"\"", "argument 2 of OnnxGpu: it is empty");
    expect_problem(script, 2, TUKI0141, "X", "argument 4");
    assert_int_equal(script->problem_count, 3);
    assert_int_equal(script->unit_count, 1);
    assert_int_equal(script->units[0].model_count, 1);
    assert_int_equal(script->units[0].models[0].number, 2);
    assert_true(script->units[0].blocked);
    script_release(script);

    script = read_text("[OnnxGpu] partial class A { }");
    expect_problem(script, 0, TUKI0141, "OnnxGpu", "names no model");
    assert_int_equal(script->unit_count, 0);
    assert_int_equal(script->problems[0].unit, -1);
    assert_string_equal(script->problems[0].name, "A");
    script_release(script);

    script = read_text("[OnnxGpu(\"a.onnx\"), OnnxGpu(\"x/a.onnx\")] partial class A { int AInput; "
                       "void AInput(int x) {} }");
    expect_problem(script, 0, TUKI0142, "\"a.onnx\"", "AInput");
    expect_problem(script, 1, TUKI0142, "\"x/a.onnx\"", "AInput");
    expect_problem(script, 2, TUKI0142, "\"x/a.onnx\"", "\"a.onnx\" of the same class");
    assert_int_equal(script->problem_count, 3);
    script_release(script);
}

/* Two classes with one prefix keep apart by their names; two of one name cannot. */
/* Forms that C# would reject once there is a generated file. */
static void test_forms(void **state)
{
    static const struct {
        const char *text;
        enum diagnostic_code code;
        const char *at, *message;
    } rows[] = {
        {"[OnnxGpu(\"filter.onnx\")] static partial class S { }", TUKI0140, "S", "it is static"},
        {"[OnnxGpu(\"filter.onnx\")] file partial class S { }", TUKI0140, "S",
         "it is local to its file"},
        {"file partial class O { [OnnxGpu(\"filter.onnx\")] partial class S { } }", TUKI0140, "O",
         "class O: it is local to its file"},
        {"namespace Fx.Gpu { [OnnxGpu(\"filter.onnx\")] partial class S { } }", TUKI0142,
         "\"filter.onnx\"", "it is that of a namespace"},
        {"[OnnxGpu(\"filter.onnx\")] partial class Mathf { }", TUKI0142, "\"filter.onnx\"",
         "it is that of a class"},
        {"partial struct Color4 { [OnnxGpu(\"filter.onnx\")] partial class S { } }", TUKI0142,
         "\"filter.onnx\"", "it is that of a type around the class"},
        {"[OnnxGpu(\"filter.onnx\")] partial class S<Vector4> { }", TUKI0142, "\"filter.onnx\"",
         "it is that of a type parameter"},
        {"[OnnxGpu(\"filter.onnx\")] partial class S<FilterSteps> { }", TUKI0142, "\"filter.onnx\"",
         "a member and a type parameter"},
        {"[OnnxGpu(\"filter.onnx\")] partial class FilterInput { }", TUKI0142, "\"filter.onnx\"",
         "a member would have the name of its class"},
        {"[OnnxGpu(\"filter.onnx\")] partial class S { int Gpu; }", TUKI0142, "\"filter.onnx\"",
         "the class has a member of it"},
        {"[OnnxGpu(\"filter.onnx\")] partial class S { enum Texture2D { } }", TUKI0142,
         "\"filter.onnx\"", "the class has a member of it"},
    };
    struct script *script;

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        script = read_text(rows[i].text);
        assert_int_equal(script->problem_count, 1);
        expect_problem(script, 0, rows[i].code, rows[i].at, rows[i].message);
        assert_int_equal(script->unit_count, 1);
        assert_true(script->units[0].blocked);
        script_release(script);
    }
    script = read_text("namespace Gpus.MyMathf { partial interface Filter<T> { "
                       "[OnnxGpu(\"filter.onnx\")] sealed partial "
                       "record class S<U>(int Filter) { Color4 Color4; int Vector4, file; } } }");
    assert_int_equal(script->problem_count, 0);
    assert_string_equal(script->units[0].options.keyword, "record");
    assert_string_equal(script->units[0].options.outer[0], "partial interface Filter<T>");
    script_release(script);
}

/* As C# joins paths: by their text alone. */
static void test_paths(void **state)
{
    static const char *const rows[][3] = {
        /* folder of the script, argument, path */
        {"/p/", "filter.onnx", "/p/filter.onnx"},
        {"/p/", "./a/../filter.onnx", "/p/filter.onnx"},
        {"/p/", "a//b/./../../filter.onnx", "/p/filter.onnx"},
        {"/p/q/", "../filter.onnx", "/p/filter.onnx"},
        {"/p/", "../../../filter.onnx", "/filter.onnx"},
        {"/p/", "/a/../filter.onnx", "/filter.onnx"},
        {"", "filter.onnx", "filter.onnx"},
        {"", "../filter.onnx", "../filter.onnx"},
        {"", "a/../../filter.onnx", "../filter.onnx"},
        {"./", "filter.onnx", "./filter.onnx"},
        {"./a/", "../filter.onnx", "./filter.onnx"},
        {"./", "../filter.onnx", "./../filter.onnx"},
        {"../a/", "../../filter.onnx", "../../filter.onnx"},
        {"", "..a/.../filter.onnx", "..a/.../filter.onnx"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char path[100], text[200];
        struct script *script;

        snprintf(path, sizeof path, "%sS.cs", rows[i][0]);
        snprintf(text, sizeof text, "[OnnxGpu(\"%s\")] partial class S { }", rows[i][1]);
        script = script_read(path, text, strlen(text), NULL);
        assert_non_null(script);
        assert_string_equal(script->units[0].options.models[0], rows[i][2]);
        assert_string_equal(script->units[0].options.names[0], rows[i][1]);
        script_release(script);
    }
}

static void test_files(void **state)
{
    struct script *script = read_text(
        "[OnnxGpu(\"a.onnx\")] partial class A { } [OnnxGpu(\"a.onnx\")] partial class @B { } "
        "[OnnxGpu(\"c.onnx\")] partial class C { }");

    (void)state;
    assert_int_equal(script->unit_count, 3);
    assert_string_equal(script->units[0].file, "Sharpen.A.A.Model.cs");
    assert_string_equal(script->units[1].file, "Sharpen.B.A.Model.cs");
    assert_string_equal(script->units[2].file, "Sharpen.C.Model.cs");
    assert_int_equal(script->problem_count, 0);
    script_release(script);

    script = read_text("namespace N { [OnnxGpu(\"a.onnx\")] partial class A { } } "
                       "namespace M { [OnnxGpu(\"a.onnx\")] partial class A { } }");
    assert_int_equal(script->problem_count, 1);
    expect_problem(script, 0, TUKI0142, "\"a.onnx\"", "class N.A writes it already");
    assert_false(script->units[0].blocked);
    assert_true(script->units[1].blocked);
    script_release(script);
}

static void test_finding(void **state)
{
    struct script *script = read_text("namespace N { partial class O { [OnnxGpu(\"a.onnx\", "
                                      "\"b.onnx\")] partial class A { } } }");
    const char *const both[] = {"a.onnx", "b.onnx"}, *const turned[] = {"b.onnx", "a.onnx"};

    (void)state;
    assert_int_equal(script_find(script, "N.O.A", both, 2), 0);
    assert_int_equal(script_find(script, "N.O+A", both, 2), 0);
    assert_int_equal(script_find(script, "N.@O.A", both, 2), 0);
    assert_int_equal(script_find(script, "N.O.A", turned, 2), -1);
    assert_int_equal(script_find(script, "N.O.A", both, 1), -1);
    assert_int_equal(script_find(script, "N.O", both, 2), -1);
    assert_int_equal(script_find(script, "N.O.AB", both, 2), -1);
    script_release(script);
}

static void test_equal(void **state)
{
    struct script *one = read_text("[OnnxGpu(\"a.onnx\")] public partial class A { }");
    struct script *same =
        read_text("// moved\n[OnnxGpu(\"a.onnx\")] public partial class A { int x; }");
    struct script *modifier = read_text("[OnnxGpu(\"a.onnx\")] partial class A { }");
    struct script *model = read_text("[OnnxGpu(\"A.onnx\")] public partial class A { }");

    (void)state;
    assert_true(script_unit_equal(one->units, same->units));
    assert_false(script_unit_equal(one->units, modifier->units));
    assert_false(script_unit_equal(one->units, model->units));
    script_release(one);
    script_release(same);
    script_release(modifier);
    script_release(model);
}

static void test_model(void **state)
{
    struct script *script = script_of_model("/m/my model.onnx");

    (void)state;
    assert_int_equal(script->unit_count, 1);
    assert_string_equal(script->units[0].options.models[0], "/m/my model.onnx");
    assert_string_equal(script->units[0].options.prefix, "MyModel");
    assert_int_equal(script->problem_count, 0);
    script_release(script_hold(script));
    script_release(script);
}

static void test_asset_folder(void **state)
{
    (void)state;
    assert_string_equal(script_asset_folder("/p/Assets/a"), "Assets/a");
    assert_string_equal(script_asset_folder("/p/Assets"), "Assets");
    assert_string_equal(script_asset_folder("/p/MyAssets/a"), "");
    assert_string_equal(script_asset_folder("Assets/x/Assets"), "Assets/x/Assets");
}

/* Whatever is cut off, nothing crashes, and what stands before the cut is found. */
static void test_cut(void **state)
{
    static const char text[] = "namespace N { partial class O { [OnnxGpu(\"a.onnx\", @\"b.onnx\")] "
                               "public partial class A<T> { int AInput; } } }";

    (void)state;
    for (size_t length = 0; length < sizeof text; length++) {
        struct script *script = script_read("S.cs", text, length, NULL);

        assert_non_null(script);
        script_release(script);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_unit),         cmocka_unit_test(test_problems),
        cmocka_unit_test(test_forms),        cmocka_unit_test(test_paths),
        cmocka_unit_test(test_files),        cmocka_unit_test(test_finding),
        cmocka_unit_test(test_equal),        cmocka_unit_test(test_model),
        cmocka_unit_test(test_asset_folder), cmocka_unit_test(test_cut),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
