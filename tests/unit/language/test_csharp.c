/*
 * The scan for OnnxGpu attributes. Most cases are text in, text out, in
 * tests/golden/language/csharp.txt: what the C# compiler itself says about the same text is what
 * stands there. Bytes that a text file holds badly, and limits, are below.
 */
#include "daemon/language/csharp.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* ---- The summary of a result, as the golden file has it ---- */

static const char *const argument_kinds[] = {
    [CSHARP_ARGUMENT_LITERAL] = "literal",
    [CSHARP_ARGUMENT_FOLDED] = "folded",
    [CSHARP_ARGUMENT_NOT_CONSTANT] = "not constant",
    [CSHARP_ARGUMENT_EMPTY] = "empty",
};
static const char *const member_kinds[] = {
    [CSHARP_FIELD] = "field", [CSHARP_PROPERTY] = "property", [CSHARP_METHOD] = "method",
    [CSHARP_EVENT] = "event", [CSHARP_NESTED_TYPE] = "type",
};

static void write_escaped(FILE *to, const char *bytes, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        unsigned char c = (unsigned char)bytes[i];
        if (c == '\n')
            fputs("\\n", to);
        else if (c < 32 || c == 127)
            fprintf(to, "\\x%02X", c);
        else
            fputc(c, to);
    }
}

static void write_range(FILE *to, const char *text, size_t size, struct csharp_range range)
{
    assert_true(range.start <= range.end && range.end <= size);
    write_escaped(to, text + range.start, range.end - range.start);
}

static void write_type(FILE *to, const char *text, size_t size, const struct csharp_type *type)
{
    if (type->modifiers.length)
        fprintf(to, "%s ", type->modifiers.bytes);
    fprintf(to, "%s %s%s", type->keyword, type->spelling.bytes, type->type_parameters.bytes);
    assert_true(type->name_range.start >= type->range.start &&
                type->name_range.end <= type->range.end && type->range.end <= size);
    assert_int_equal(strlen(type->name.bytes), type->name.length);
    (void)text;
}

static char *summary(const char *text, size_t size, const char *const *symbols)
{
    struct csharp *csharp = csharp_scan(text, size, symbols);
    char *out = NULL;
    size_t length;
    FILE *to = open_memstream(&out, &length);

    assert_non_null(csharp);
    for (size_t i = 0; i < csharp->class_count; i++) {
        const struct csharp_class *class = &csharp->classes[i];
        write_type(to, text, size, &class->type);
        fprintf(to, ": %s\n", class->partial ? "partial" : "not partial");
        if (class->namespace_name.length)
            fprintf(to, "  namespace %s\n", class->namespace_name.bytes);
        for (size_t k = 0; k < class->enclosing_count; k++) {
            fputs("  in ", to);
            write_type(to, text, size, class->enclosing[k]);
            fputc('\n', to);
        }
        for (size_t k = 0; k < class->member_count; k++) {
            fprintf(to, "  %s %s", member_kinds[class->members[k].kind],
                    class->members[k].name.bytes);
            if (class->members[k].range.end - class->members[k].range.start !=
                    class->members[k].name.length ||
                memcmp(text + class->members[k].range.start, class->members[k].name.bytes,
                       class->members[k].name.length) != 0) {
                fputs(" from ", to);
                write_range(to, text, size, class->members[k].range);
            }
            fputc('\n', to);
        }
        for (size_t k = 0; k < class->attribute_count; k++) {
            const struct csharp_attribute *attribute = &class->attributes[k];
            fputs("  attribute ", to);
            write_range(to, text, size, attribute->range);
            fputc('\n', to);
            for (size_t n = 0; n < attribute->argument_count; n++) {
                const struct csharp_argument *argument = &attribute->arguments[n];
                fputs("    ", to);
                if (argument->named)
                    fprintf(to, "%s = ", argument->name.bytes);
                fputs(argument_kinds[argument->kind], to);
                if (argument->value.length)
                    fputc(' ', to);
                write_escaped(to, argument->value.bytes, argument->value.length);
                fputs(" from ", to);
                write_range(to, text, size, argument->range);
                fputc('\n', to);
                assert_int_equal(argument->value.bytes[argument->value.length], 0);
            }
        }
    }
    fclose(to);
    csharp_free(csharp);
    return out;
}

/* ---- The golden file: `==== title [symbols]`, source, `----`, summary ---- */

static char *read_golden(size_t *size)
{
    char path[512];
    const char *slash = strstr(__FILE__, "tests/unit/language/");
    FILE *file;
    char *text;
    long length;

    snprintf(path, sizeof path, "%.*stests/golden/language/csharp.txt", (int)(slash - __FILE__),
             __FILE__);
    file = fopen(path, "rb");
    assert_non_null(file);
    fseek(file, 0, SEEK_END);
    length = ftell(file);
    rewind(file);
    text = malloc((size_t)length + 1);
    assert_int_equal(fread(text, 1, (size_t)length, file), length);
    text[length] = 0;
    fclose(file);
    *size = (size_t)length;
    return text;
}

/* Splits "title [A B]" in place. */
static void read_symbols(char *title, const char **symbols, size_t most)
{
    char *open = strrchr(title, '['), *word, *rest = NULL;
    size_t count = 0;

    if (open && strchr(open, ']')) {
        *strchr(open, ']') = 0;
        for (word = strtok_r(open + 1, " ", &rest); word && count + 1 < most;
             word = strtok_r(NULL, " ", &rest))
            symbols[count++] = word;
    }
    symbols[count] = NULL;
}

static void golden_cases(void **state)
{
    size_t size, cases = 0, failures = 0;
    char *text = read_golden(&size), *at = strstr(text, "==== "), *next;
    const char *symbols[16];

    (void)state;
    for (; at; at = next) {
        char *title = at + 5, *source = strchr(title, '\n') + 1, *split, *got, *copy;
        next = strstr(source, "\n==== ");
        split = strstr(source, "\n----\n");
        assert_non_null(split);
        source[-1] = 0;
        split[1] = 0; /* the source keeps its last line end */
        if (next)
            *next++ = 0;
        read_symbols(title, symbols, sizeof symbols / sizeof *symbols);
        /* A copy without a byte behind it: reading too far shows under a sanitizer. */
        copy = malloc(strlen(source) + !*source);
        memcpy(copy, source, strlen(source));
        got = summary(copy, strlen(source), symbols);
        /* Cases are parted by an empty line, which is not in the summary. */
        while (split[6] && split[6 + strlen(split + 6) - 1] == '\n')
            split[6 + strlen(split + 6) - 1] = 0;
        if (*got)
            got[strlen(got) - 1] = 0;
        if (strcmp(got, split + 6) != 0) {
            print_error("%s\n-- expected --\n%s\n-- got --\n%s\n\n", title, split + 6, got);
            failures++;
        }
        cases++;
        free(copy);
        free(got);
    }
    free(text);
    assert_int_equal(failures, 0);
    assert_true(cases > 100);
}

/* Every beginning of every case: nothing crashes, and ranges stay inside (summary asserts it). */
static void golden_beginnings(void **state)
{
    size_t size, step = 1;
    char *text = read_golden(&size);

    (void)state;
    for (char *at = strstr(text, "==== "), *next; at; at = next) {
        char *source = strchr(at, '\n') + 1, *split = strstr(source, "\n----\n");
        next = strstr(split, "\n==== ");
        next = next ? next + 1 : NULL;
        for (size_t length = 0; length <= (size_t)(split + 1 - source); length += step) {
            char *copy = malloc(length + !length);
            memcpy(copy, source, length);
            free(summary(copy, length, NULL));
            free(copy);
        }
    }
    free(text);
}

/* ---- Bytes ---- */

static void expect(const char *text, size_t size, const char *expected)
{
    char *got = summary(text, size, NULL);

    assert_string_equal(got, expected);
    free(got);
}

#define EXPECT(text, expected) expect(text, sizeof(text) - 1, expected)

static void byte_order_mark(void **state)
{
    struct csharp *csharp;
    static const char text[] = "\xef\xbb\xbf[OnnxGpu(\"a\")] partial class C { }";

    (void)state;
    EXPECT(text,
           "partial class C: partial\n  attribute OnnxGpu(\"a\")\n    literal a from \"a\"\n");
    csharp = csharp_scan(text, sizeof text - 1, NULL);
    assert_int_equal(csharp->classes[0].attributes[0].range.start, 4);
    csharp_free(csharp);
    EXPECT("\xef\xbb\xbf#if false\n#else\n[OnnxGpu(\"a\")] partial class C { }\n#endif",
           "partial class C: partial\n  attribute OnnxGpu(\"a\")\n    literal a from \"a\"\n");
}

static void bytes_that_are_no_utf8(void **state)
{
    (void)state;
    EXPECT("[OnnxGpu(\"\xff\xc3(\xe2\x82\")] partial class C\xc3\xa9 { }",
           "partial class C\xc3\xa9: partial\n  attribute OnnxGpu(\"\xff\xc3(\xe2\x82\")\n"
           "    literal \xef\xbf\xbd\xef\xbf\xbd(\xef\xbf\xbd from \"\xff\xc3(\xe2\x82\"\n");
    EXPECT("[OnnxGpu\xff(\"a\")] partial class C { }",
           "partial class C: partial\n  attribute OnnxGpu\xff(\"a\")\n    literal a from \"a\"\n");
    EXPECT("\xc3", "");
    EXPECT("\xf0\x9f\x98", "");
}

static void line_ends(void **state)
{
    (void)state;
    EXPECT("#if A\r[OnnxGpu(\"a\")]\r#else\r[OnnxGpu(\"b\")]\r#endif\rpartial class C { }",
           "partial class C: partial\n  attribute OnnxGpu(\"b\")\n    literal b from \"b\"\n");
    EXPECT("// a\xe2\x80\xa8[OnnxGpu(\"b\")] partial class C { }",
           "partial class C: partial\n  attribute OnnxGpu(\"b\")\n    literal b from \"b\"\n");
    EXPECT("[OnnxGpu(\"\"\"\r\n  a\r\n  b\r\n  \"\"\")] partial class C { }",
           "partial class C: partial\n"
           "  attribute OnnxGpu(\"\"\"\\x0D\\n  a\\x0D\\n  b\\x0D\\n  \"\"\")\n"
           "    literal a\\x0D\\nb from \"\"\"\\x0D\\n  a\\x0D\\n  b\\x0D\\n  \"\"\"\n");
}

static void nul_in_values(void **state)
{
    struct csharp *csharp;
    static const char text[] = "[OnnxGpu(\"a\\0b\", \"\0\")] partial class C { }";

    (void)state;
    csharp = csharp_scan(text, sizeof text - 1, NULL);
    assert_int_equal(csharp->class_count, 1);
    assert_int_equal(csharp->classes[0].attributes[0].argument_count, 2);
    assert_int_equal(csharp->classes[0].attributes[0].arguments[0].value.length, 3);
    assert_memory_equal(csharp->classes[0].attributes[0].arguments[0].value.bytes, "a\0b", 4);
    assert_int_equal(csharp->classes[0].attributes[0].arguments[1].value.length, 1);
    csharp_free(csharp);
}

static void nothing(void **state)
{
    struct csharp *csharp = csharp_scan(NULL, 0, NULL);

    (void)state;
    assert_non_null(csharp);
    assert_int_equal(csharp->class_count, 0);
    csharp_free(csharp);
    csharp_free(NULL);
}

/* ---- Limits ---- */

static char *repeat(const char *first, const char *unit, size_t count, const char *last)
{
    size_t length = strlen(unit);
    char *text = malloc(strlen(first) + length * count + strlen(last) + 1), *at = text;

    at = stpcpy(at, first);
    for (size_t i = 0; i < count; i++)
        at = stpcpy(at, unit);
    strcpy(at, last);
    return text;
}

/* An attribute before 256 KiB of each of these is found; a scan that is not linear would not come
 * back. */
static void long_and_deep_texts(void **state)
{
    static const char *const units[] = {
        "{",
        "}",
        "(",
        ")",
        "[",
        "]",
        "<",
        "a<",
        "a<[",
        "a<(",
        "$\"{",
        "$\"{(",
        "$\"{\n",
        "$\"{'",
        "$\"{//",
        "$\"{/*",
        "$@\"{",
        "$\"\"\"{",
        "\"\"\"\n",
        "$",
        "$$",
        "@",
        "@\"",
        "'",
        "/*",
        "//",
        "#if A\n",
        "#if true\n",
        "#else\n",
        "#endif\n",
        "#if ((((!!!!(\n",
        "public ",
        "class ",
        "class A {",
        "class A<T> : B<T> {",
        "namespace A.",
        "namespace A {",
        "namespace A; ",
        "[OnnxGpu(",
        "[A]",
        "[[",
        "[OnnxGpu(\"a\")] class C {",
        "[OnnxGpu(\"a\")] class C;",
        "partial ",
        "static ",
        "using A = A; ",
        "using A; ",
        "const string A = A + A; ",
        "record R(",
        "record R(int a, int b) {",
        "enum E {",
        "int P { get; private set; }",
        "a.b::c<d>.",
        "\\u0041",
        "x = a < b, c > d; ",
        "A + ",
        "extension(int x) { ",
        "[OnnxGpu(new[] {",
        "$\"{a:",
        "$\"{{",
        "private private ",
        "delegate ",
        "[OnnxGpu(A)] class A { const string A = \"aaaaaaaaaaaaaaaa\" + \"b\" + A; ",
    };

    (void)state;
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        static const char start[] = "[OnnxGpu(\"first\")] partial class First { } ";
        char *text = repeat(start, units[i], ((size_t)1 << 18) / strlen(units[i]), "");
        struct csharp *csharp = csharp_scan(text, strlen(text), NULL);
        assert_non_null(csharp);
        assert_true(csharp->class_count >= 1);
        assert_string_equal(csharp->classes[0].attributes[0].arguments[0].value.bytes, "first");
        csharp_free(csharp);
        free(text);
    }
}

static void nesting_limit(void **state)
{
    char *text;
    struct csharp *csharp;

    (void)state;
    text = repeat("", "partial class A { ", CSHARP_NESTING_MAX,
                  "[OnnxGpu(\"a\")] partial class B { }");
    csharp = csharp_scan(text, strlen(text), NULL);
    assert_int_equal(csharp->class_count, 1);
    assert_int_equal(csharp->classes[0].enclosing_count, CSHARP_NESTING_MAX);
    csharp_free(csharp);
    free(text);
    text = repeat("", "partial class A { ", CSHARP_NESTING_MAX + 1,
                  "[OnnxGpu(\"a\")] partial class B { }");
    csharp = csharp_scan(text, strlen(text), NULL);
    assert_int_equal(csharp->class_count, 0);
    csharp_free(csharp);
    free(text);
}

/* Sixteen doublings of one letter would be 65536 letters: beyond the limit the value is not
 * constant. */
static void folding_limit(void **state)
{
    char text[4096], *at = text;
    struct csharp *csharp;

    (void)state;
    at += sprintf(at, "static class K { public const string S0 = \"x\";");
    for (int i = 1; i <= 16; i++)
        at += sprintf(at, "public const string S%d = S%d + S%d;", i, i - 1, i - 1);
    sprintf(at, "} [OnnxGpu(K.S12, K.S13)] partial class C { }");
    csharp = csharp_scan(text, strlen(text), NULL);
    assert_int_equal(csharp->class_count, 1);
    assert_int_equal(csharp->classes[0].attributes[0].arguments[0].kind, CSHARP_ARGUMENT_FOLDED);
    assert_int_equal(csharp->classes[0].attributes[0].arguments[0].value.length, CSHARP_FOLDED_MAX);
    assert_int_equal(csharp->classes[0].attributes[0].arguments[1].kind,
                     CSHARP_ARGUMENT_NOT_CONSTANT);
    csharp_free(csharp);
}

static void text_limit(void **state)
{
    static const char class[] = "[OnnxGpu(\"a\")] partial class C { }";
    char *text = malloc(CSHARP_TEXT_MAX + sizeof class);
    struct csharp *csharp;

    (void)state;
    memset(text, ' ', CSHARP_TEXT_MAX + sizeof class);
    memcpy(text + CSHARP_TEXT_MAX, class, sizeof class - 1);
    csharp = csharp_scan(text, CSHARP_TEXT_MAX + sizeof class, NULL);
    assert_int_equal(csharp->class_count, 0);
    csharp_free(csharp);
    csharp = csharp_scan(text + sizeof class, CSHARP_TEXT_MAX, NULL);
    assert_int_equal(csharp->class_count, 1);
    csharp_free(csharp);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(golden_cases),    cmocka_unit_test(golden_beginnings),
        cmocka_unit_test(byte_order_mark), cmocka_unit_test(bytes_that_are_no_utf8),
        cmocka_unit_test(line_ends),       cmocka_unit_test(nul_in_values),
        cmocka_unit_test(nothing),         cmocka_unit_test(long_and_deep_texts),
        cmocka_unit_test(nesting_limit),   cmocka_unit_test(folding_limit),
        cmocka_unit_test(text_limit),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
