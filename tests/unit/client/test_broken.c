/*
 * A broken invariant of the compiler, on the command line: TUKI0190 at the model or the attribute,
 * a report whose path is named, exit status 1, and the other models' turn all the same. Planning
 * is what breaks here (linked with --wrap=plan_graph).
 */
#include "client/options.h"
#include "daemon/compiler/gpu/plan.h"
#include "daemon/compiler/graph/graph.h"
#include "tests/unit/compiler/onnx_bytes.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool broken;
static char folder[64];
static struct context context;
static struct invocation invocation;

struct plan *__real_plan_graph(struct graph *g, struct compile_cache *cache);
struct plan *__wrap_plan_graph(struct graph *g, struct compile_cache *cache);

struct plan *__wrap_plan_graph(struct graph *g, struct compile_cache *cache)
{
    if (broken)
        BUG(g->context, "a plan of %d nodes that nobody made", g->node_count);
    return __real_plan_graph(g, cache);
}

static void write_file(const char *name, const void *bytes, size_t size)
{
    char path[128];
    FILE *file;

    snprintf(path, sizeof path, "%s/%s", folder, name);
    file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    fclose(file);
}

static void write_model(const char *name)
{
    static const int64_t dims[] = {1, 3, 8, 8};
    struct strbuf graph = message(), model;

    put(&graph, GRAPH_NODE, node("Relu", "x", "y"));
    put_text(&graph, 2, "graph");
    put(&graph, GRAPH_INPUT, value_info("x", FLOAT, 4, dims));
    put(&graph, GRAPH_OUTPUT, value_info("y", FLOAT, 4, dims));
    model = model_of(8, 13, graph);
    write_file(name, model.text, model.length);
}

/* In a function of its own: what setjmp() may clobber stays outside. */
static void run_now(int count, const char **words, enum exit_status *status)
{
    assert_true(options_read(&invocation, count, (char **)(uintptr_t)words, status));
    *status = invocation.command->run(&invocation);
}

/* The command's status, and what it said; 3: it left its job. The words are cut at blanks, and %
 * stands for the folder. */
static int run_words(const char *line, char *said, size_t room)
{
    static enum exit_status status;
    char text[512], *at = text, path[128];
    const char *words[32];
    int count = 1, before = dup(STDERR_FILENO), descriptor;
    ssize_t got;

    for (; *line; line++)
        at += *line == '%' ? sprintf(at, "%s", folder) : sprintf(at, "%c", *line);
    words[0] = "onnxgpu";
    for (char *word = strtok(text, " "); word; word = strtok(NULL, " "))
        words[count++] = word;
    snprintf(path, sizeof path, "%s/said", folder);
    descriptor = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
    dup2(descriptor, STDERR_FILENO);
    context_init(&context, NULL);
    memset(&invocation, 0, sizeof invocation);
    invocation.context = &context;
    if (setjmp(context.escape) == 0)
        run_now(count, words, &status);
    else
        status = 3;
    context_release(&context);
    dup2(before, STDERR_FILENO);
    close(before);
    got = pread(descriptor, said, room - 1, 0);
    said[got < 0 ? 0 : got] = '\0';
    close(descriptor);
    return (int)status;
}

/* The path at the end of the message: the file is there, and says what broke. */
static void check_report(const char *said)
{
    char path[256], text[1024];
    const char *from = strstr(said, "and /"), *to = from ? strstr(from, ".txt.") : NULL;
    int descriptor;
    ssize_t got;

    assert_non_null(to);
    snprintf(path, sizeof path, "%.*s", (int)(to + 4 - from - 4), from + 4);
    descriptor = open(path, O_RDONLY);
    assert_true(descriptor >= 0);
    got = read(descriptor, text, sizeof text - 1);
    close(descriptor);
    assert_true(got > 0);
    text[got] = '\0';
    assert_non_null(strstr(text, "a plan of 1 nodes that nobody made"));
    assert_non_null(strstr(text, "a.onnx"));
    assert_non_null(strstr(text, compiler_version));
}

static void every_command_says_tuki0190(void **state)
{
    static const char *const lines[] = {
        "check --no-cache %/a.onnx",
        "compile --no-cache %/a.onnx -o %",
        "explain --no-cache %/a.onnx",
        "run --no-cache %/a.onnx -o %/out",
    };
    char said[2048], expected[256];

    (void)state;
    write_model("a.onnx");
    broken = true;
    snprintf(expected, sizeof expected,
             "%s/a.onnx:1:1: error: model: a plan of 1 nodes that nobody made. Please report this "
             "with the model and ",
             folder);
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        assert_int_equal(run_words(lines[i], said, sizeof said), EXIT_WRONG);
        assert_memory_equal(said, expected, strlen(expected));
        assert_string_equal(said + strlen(said) - strlen(" [TUKI0190]\n"), " [TUKI0190]\n");
        check_report(said);
    }
    broken = false;
    assert_int_equal(run_words(lines[0], said, sizeof said), EXIT_FINE);
}

static void others_have_their_turn(void **state)
{
    static const char script[] = "[OnnxGpu(\"a.onnx\")] partial class A { }\n"
                                 "[OnnxGpu(\"none.onnx\")] partial class B { }\n";
    char said[2048];

    (void)state;
    write_model("a.onnx");
    write_file("S.cs", script, sizeof script - 1);
    broken = true;
    assert_int_equal(run_words("check --no-cache %/S.cs", said, sizeof said), EXIT_WRONG);
    broken = false;
    assert_non_null(strstr(said, "S.cs:1:10: error: model: a plan"));
    assert_non_null(strstr(said, "S.cs:2:10: error: "));
    assert_non_null(strstr(said, "[TUKI0100]"));
}

static int begin(void **state)
{
    strcpy(folder, "/tmp/onnxgpu-broken-XXXXXX");
    if (!mkdtemp(folder))
        return -1;
    setenv("XDG_CACHE_HOME", folder, 1);
    return bytes_begin(state);
}

static int end(void **state)
{
    char command[128];

    snprintf(command, sizeof command, "rm -rf %s", folder);
    return bytes_end(state) || system(command);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(every_command_says_tuki0190, begin, end),
        cmocka_unit_test_setup_teardown(others_have_their_turn, begin, end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
