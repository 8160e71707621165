/*
 * The command line read after the tables: what is understood, and what ends the program. Outputs
 * of help are golden tests.
 */
#include "client/options.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static struct context context;
static struct invocation invocation;

/* In a function of its own: what setjmp() may clobber stays outside. */
static void read_now(int count, const char **words)
{
    enum exit_status status;

    assert_true(options_read(&invocation, count, (char **)(uintptr_t)words, &status));
}

/* NULL: fine; else why the program would end. The words are one text, cut at blanks. */
static const char *read_words(const char *line)
{
    static char text[512], why[256];
    static const char *words[32];
    static int count;

    count = 1;

    context_release(&context);
    context_init(&context, NULL);
    memset(&invocation, 0, sizeof invocation);
    invocation.context = &context;
    snprintf(text, sizeof text, "%s", line);
    words[0] = "onnxgpu";
    for (char *word = strtok(text, " "); word; word = strtok(NULL, " "))
        words[count++] = word;
    if (setjmp(context.escape) == 0) {
        read_now(count, words);
        return NULL;
    }
    snprintf(why, sizeof why, "%s", context.why);
    return why;
}

static void check_value(const char *line, const char *name, const char *value)
{
    assert_null(read_words(line));
    if (value)
        assert_string_equal(invocation_value(&invocation, name), value);
    else
        assert_null(invocation_value(&invocation, name));
}

static void values_in_every_form(void **state)
{
    (void)state;
    check_value("compile a -o out", "output", "out");
    check_value("compile a -oout", "output", "out");
    check_value("compile a --output out", "output", "out");
    check_value("compile a --output=out", "output", "out");
    check_value("compile a --output=", "output", "");
    check_value("compile a --output=a=b", "output", "a=b");
    check_value("compile a -o -x", "output", "-x");
    check_value("compile a", "output", NULL);
    check_value("compile a -- -o", "output", NULL);
    assert_int_equal(invocation.operand_count, 2);
    assert_string_equal(invocation.operands[1], "-o");
}

static void options_of_all_commands_stand_anywhere(void **state)
{
    (void)state;
    check_value("--socket s check a", "socket", "s");
    check_value("check --socket s a", "socket", "s");
    check_value("check a --socket s", "socket", "s");
    assert_string_equal(invocation.command->name, "check");
    assert_int_equal(invocation.operand_count, 1);
    assert_null(read_words("--quiet check a"));
    assert_true(invocation_flag(&invocation, "quiet"));
    assert_false(invocation_flag(&invocation, "no-daemon"));
    assert_non_null(read_words("--format json check a"));
}

static void repeated_options_keep_their_order(void **state)
{
    (void)state;
    assert_null(read_words("run m -o d --input a=1 --input b"));
    assert_int_equal(invocation.given_count, 3);
    assert_string_equal(invocation.given[1].value, "a=1");
    assert_string_equal(invocation.given[2].value, "b");
    assert_non_null(read_words("run m -o d -o e"));
}

static void how_many_operands(void **state)
{
    (void)state;
    assert_non_null(read_words("verify"));
    assert_null(read_words("verify a b c d"));
    assert_null(read_words("show a"));
    assert_non_null(read_words("show a b"));
    assert_null(read_words("show -"));
    assert_string_equal(invocation.operands[0], "-");
}

/* In a function of its own: what setjmp() may clobber stays outside. */
static bool number_is_refused(const char *line, bool integer)
{
    assert_null(read_words(line));
    if (setjmp(context.escape) == 0) {
        if (integer)
            (void)invocation_integer(&invocation, "seed", 7);
        else
            (void)invocation_number(&invocation, "atol", 7);
        return false;
    }
    return true;
}

static void numbers(void **state)
{
    (void)state;
    assert_null(read_words("verify a --atol 1e-3"));
    assert_true(invocation_number(&invocation, "atol", 7) == 1e-3);
    assert_true(invocation_number(&invocation, "rtol", 7) == 7);
    assert_null(read_words("run a --seed 18446744073709551615"));
    assert_true(invocation_integer(&invocation, "seed", 7) == UINT64_MAX);
    assert_true(number_is_refused("verify a --atol nan", false));
    assert_true(number_is_refused("verify a --atol 1x", false));
    assert_true(number_is_refused("verify a --atol=", false));
    assert_true(number_is_refused("run a --seed -1", true));
    assert_true(number_is_refused("run a --seed 1.5", true));
    assert_true(number_is_refused("run a --seed 18446744073709551616", true));
    assert_false(number_is_refused("run a --seed 0", true));
}

/* Each option has one name and one letter among those that a command takes, and says what it does:
 * --help and the parser rely on it. */
static void tables_are_sound(void **state)
{
    (void)state;
    for (int c = 0; commands[c]; c++) {
        const struct option *lists[] = {commands[c]->options, global_options};

        assert_true(commands[c]->run && *commands[c]->documentation);
        for (int other = 0; other < c; other++)
            assert_string_not_equal(commands[c]->name, commands[other]->name);
        for (size_t l = 0; l < 2; l++)
            for (const struct option *o = lists[l]; o && o->name; o++) {
                assert_true(*o->documentation != '\0');
                for (size_t k = 0; k < 2; k++)
                    for (const struct option *p = lists[k]; p && p->name; p++) {
                        assert_true(o == p || strcmp(o->name, p->name) != 0);
                        assert_true(o == p || !o->letter || o->letter != p->letter);
                    }
            }
    }
}

static int release(void **state)
{
    (void)state;
    context_release(&context);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_in_every_form),
        cmocka_unit_test(options_of_all_commands_stand_anywhere),
        cmocka_unit_test(repeated_options_keep_their_order),
        cmocka_unit_test(how_many_operands),
        cmocka_unit_test(numbers),
        cmocka_unit_test(tables_are_sound),
    };

    return cmocka_run_group_tests(tests, NULL, release);
}
