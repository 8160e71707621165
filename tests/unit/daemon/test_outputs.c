/*
 * The files of a compile in the user's folder: what is written, what is left alone, what goes. The
 * folder is looked at whole, so that a forgotten temporary file is found too.
 */
#include "daemon/outputs.h"
#include "tests/unit/compiler/onnx_bytes.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

static char folder[64];

static const char *path_of(const char *name)
{
    static char path[4][512];
    static int turn;

    turn = (turn + 1) % 4;
    snprintf(path[turn], sizeof path[0], "%s/%s", folder, name);
    return path[turn];
}

static void make_file(const char *name, const char *text)
{
    FILE *f = fopen(path_of(name), "we");

    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(a, b);
}

/* All names in the folder, hidden ones too, with blanks between. */
static const char *listing(void)
{
    static char names[32][256], all[8192];
    DIR *d = opendir(folder);
    int count = 0;

    assert_non_null(d);
    for (const struct dirent *e; (e = readdir(d));)
        if (strcmp(e->d_name, ".") && strcmp(e->d_name, ".."))
            snprintf(names[count++], sizeof names[0], "%s", e->d_name);
    closedir(d);
    qsort(names, (size_t)count, sizeof names[0], by_name);
    all[0] = '\0';
    for (int i = 0; i < count; i++) {
        strcat(all, i ? " " : "");
        strcat(all, names[i]);
    }
    return all;
}

static int begin(void **state)
{
    snprintf(folder, sizeof folder, "/tmp/outputs-test-XXXXXX");
    bytes_begin(state);
    return mkdtemp(folder) ? 0 : -1;
}

static int end(void **state)
{
    char names[8192];

    snprintf(names, sizeof names, "%s", listing());
    for (char *name = strtok(names, " "); name; name = strtok(NULL, " "))
        if (unlink(path_of(name)))
            rmdir(path_of(name));
    bytes_end(state);
    return rmdir(folder);
}

/* x of `channels` through a 3x3 convolution: with 64, the weights are an asset. */
static struct compile *compile_conv(int64_t channels)
{
    static struct files_memory files;
    static const char *path = "filter.onnx";
    int64_t weights[] = {channels, channels, 3, 3}, dims[] = {1, channels, 8, 8};
    int64_t pads[] = {1, 1, 1, 1};
    size_t size = (size_t)(channels * channels * 9) * sizeof(float);
    float *numbers = arena_alloc(&bytes_context.arena, size);
    struct strbuf graph = message();
    struct compile_options options = {
        .script = "Sharpen", .prefix = "Filter", .models = &path, .model_count = 1};

    for (size_t i = 0; i < size / sizeof *numbers; i++)
        numbers[i] = (float)(i % 13) / 16;
    put(&graph, GRAPH_NODE,
        with(named(node("Conv", "x,w", "y"), "conv"), ints_attribute("pads", 4, pads)));
    put_text(&graph, 2, "filter");
    put(&graph, GRAPH_INITIALIZER, raw_tensor("w", FLOAT, 4, weights, numbers, size));
    put(&graph, GRAPH_INPUT, value_info("x", FLOAT, 4, dims));
    put(&graph, GRAPH_OUTPUT, value_info("y", FLOAT, 4, dims));
    struct strbuf model = model_of(8, 13, graph);
    files_memory_init(&files, path, model.text, model.length);
    struct compile *job = compile_new(&options, &files.files, NULL, NULL);
    assert_non_null(job);
    assert_int_equal(compile_run(job), COMPILE_OK);
    return job;
}

static void written_once(void **state)
{
    struct compile *job = compile_conv(64);
    struct outputs out = {.folder = folder};
    struct stat before, after;
    int count;

    (void)state;
    compile_assets(job, &count);
    assert_int_equal(count, 1);
    assert_true(outputs_write(&out, job));
    assert_string_equal(listing(), "Sharpen.Filter.Model.cs Sharpen.Filter.w0.asset "
                                   "Sharpen.Filter.w0.asset.meta");
    assert_int_equal(out.written_count, 3);
    /* the class comes last */
    assert_string_equal(out.written[2], path_of("Sharpen.Filter.Model.cs"));
    outputs_release(&out);
    assert_int_equal(stat(path_of("Sharpen.Filter.w0.asset"), &before), 0);
    assert_true(outputs_write(&out, job));
    assert_int_equal(out.written_count, 0);
    assert_int_equal(stat(path_of("Sharpen.Filter.w0.asset"), &after), 0);
    assert_true(before.st_ino == after.st_ino);
    outputs_release(&out);
    compile_free(job);
}

static void one_changed_byte_is_mended(void **state)
{
    struct compile *job = compile_conv(64);
    struct outputs out = {.folder = folder};
    const char *asset = path_of("Sharpen.Filter.w0.asset");
    struct stat status;

    (void)state;
    assert_true(outputs_write(&out, job));
    outputs_release(&out);
    int descriptor = open(asset, O_WRONLY | O_CLOEXEC);
    assert_true(descriptor >= 0 && !fstat(descriptor, &status));
    assert_int_equal(pwrite(descriptor, "?", 1, status.st_size - 1), 1);
    close(descriptor);
    assert_true(outputs_write(&out, job));
    assert_int_equal(out.written_count, 1);
    outputs_release(&out);
    /* shorter, longer */
    assert_int_equal(truncate(asset, status.st_size - 1), 0);
    assert_true(outputs_write(&out, job) && out.written_count == 1);
    outputs_release(&out);
    assert_int_equal(truncate(asset, status.st_size + 1), 0);
    assert_true(outputs_write(&out, job) && out.written_count == 1);
    outputs_release(&out);
    compile_free(job);
}

static void unlisted_assets_go_and_nothing_else(void **state)
{
    struct compile *job = compile_conv(4);
    struct outputs out = {.folder = folder};

    (void)state;
    make_file("Sharpen.Filter.w0.asset", "");
    make_file("Sharpen.Filter.w0.asset.meta", "");
    make_file("Sharpen.Filter.w12s.asset", "");
    make_file("Sharpen.Filter.w3Style1.asset.meta", "");
    make_file("Sharpen.Filter.w.asset", "kept");
    make_file("Sharpen.Filter.w0.asset.txt", "kept");
    make_file("Sharpen.Filter.w0x.asset", "kept");
    make_file("Sharpen.Filter2.w0.asset", "kept");
    make_file("Sharpen.Filter.Old.cs", "kept");
    assert_true(outputs_write(&out, job));
    assert_int_equal(out.deleted, 4);
    assert_string_equal(listing(), "Sharpen.Filter.Model.cs Sharpen.Filter.Old.cs "
                                   "Sharpen.Filter.w.asset Sharpen.Filter.w0.asset.txt "
                                   "Sharpen.Filter.w0x.asset Sharpen.Filter2.w0.asset");
    outputs_release(&out);
    compile_free(job);
}

/* As a process left it that was killed so many seconds ago. */
static void make_left_behind(const char *name, long pid, int seconds)
{
    struct timespec times[2] = {{.tv_sec = time(NULL) - seconds}, {.tv_sec = time(NULL) - seconds}};
    char whole[128];

    snprintf(whole, sizeof whole, "%s.%ld-7", name, pid);
    make_file(whole, "half");
    assert_int_equal(utimensat(AT_FDCWD, path_of(whole), times, 0), 0);
}

static void what_a_killed_process_left_goes(void **state)
{
    struct compile *job = compile_conv(4);
    struct outputs out = {.folder = folder};
    long nobody = INT_MAX; /* no process has this number */
    char expected[512];

    (void)state;
    make_left_behind(".Other.Filter.Model.cs", nobody, 60);
    make_left_behind(".Sharpen.Filter.w0.asset", nobody, 60);
    make_left_behind(".Sharpen.Filter.w0.asset.meta", nobody, 60);
    make_left_behind(".Young.Model.cs", nobody, 0);
    make_left_behind(".Alive.Model.cs", (long)getpid(), 60);
    make_left_behind(".notes.txt", nobody, 60);
    make_left_behind("Plain.Model.cs", nobody, 60);
    make_file(".A.Model.cs.12", "kept");
    make_file(".A.Model.cs.12-x", "kept");
    assert_true(outputs_write(&out, job));
    snprintf(expected, sizeof expected,
             ".A.Model.cs.12 .A.Model.cs.12-x .Alive.Model.cs.%ld-7 .Young.Model.cs.%ld-7 "
             ".notes.txt.%ld-7 Plain.Model.cs.%ld-7 Sharpen.Filter.Model.cs",
             (long)getpid(), nobody, nobody, nobody);
    assert_string_equal(listing(), expected);
    outputs_release(&out);
    compile_free(job);
}

/* The same without a write; a number that is somebody's again, and a clock that was set back, keep
 * nothing for ever. */
static void a_sweep_says_what_is_too_young(void **state)
{
    char expected[256];

    (void)state;
    make_left_behind(".A.Model.cs", INT_MAX, 60);
    make_left_behind(".B.Model.cs", INT_MAX, 0);
    make_left_behind(".C.Model.cs", INT_MAX, -3600);
    make_left_behind(".D.Model.cs", (long)getpid(), 60);
    make_left_behind(".E.Model.cs", (long)getpid(), 3600);
    assert_int_equal(outputs_sweep(folder), 1);
    snprintf(expected, sizeof expected, ".B.Model.cs.%d-7 .D.Model.cs.%ld-7", INT_MAX,
             (long)getpid());
    assert_string_equal(listing(), expected);
    assert_true(outputs_is_temporary(".B.Model.cs.12-7"));
    assert_false(outputs_is_temporary("B.Model.cs"));
    assert_int_equal(outputs_sweep("/nonexistent"), 0);
}

static void the_text_alone_may_be_withheld(void **state)
{
    struct compile *job = compile_conv(64);
    struct outputs out = {.folder = folder, .withhold_text = true};

    (void)state;
    assert_true(outputs_write(&out, job));
    assert_string_equal(listing(), "Sharpen.Filter.w0.asset Sharpen.Filter.w0.asset.meta");
    outputs_release(&out);
    compile_free(job);
}

static void a_failure_says_which_file(void **state)
{
    struct compile *job = compile_conv(64);
    struct outputs out = {.folder = folder};

    (void)state;
    /* A folder stands where the meta file should: the asset is there, the class is not. */
    assert_int_equal(mkdir(path_of("Sharpen.Filter.w0.asset.meta"), 0700), 0);
    assert_false(outputs_write(&out, job));
    assert_non_null(strstr(out.why, "Sharpen.Filter.w0.asset.meta cannot be written"));
    assert_int_equal(out.written_count, 1);
    assert_string_equal(listing(), "Sharpen.Filter.w0.asset Sharpen.Filter.w0.asset.meta");
    outputs_release(&out);
    out.folder = "/dev/null/no-folder";
    assert_false(outputs_write(&out, job));
    outputs_release(&out);
    compile_free(job);
}

static void a_replaced_file_keeps_its_permissions(void **state)
{
    struct stat status;
    char why[256];

    (void)state;
    make_file("stamp", "old");
    assert_int_equal(chmod(path_of("stamp"), 0604), 0);
    assert_int_equal(output_replace(path_of("stamp"), "new", 3, why, sizeof why), 1);
    assert_int_equal(stat(path_of("stamp"), &status), 0);
    assert_int_equal(status.st_mode & 07777, 0604);
    assert_int_equal(output_replace(path_of("stamp"), "new", 3, why, sizeof why), 0);
    mode_t mask = umask(027);
    assert_int_equal(output_replace(path_of("other"), "", 0, why, sizeof why), 1);
    umask(mask);
    assert_int_equal(stat(path_of("other"), &status), 0);
    assert_int_equal(status.st_mode & 07777, 0640);
    assert_int_equal(output_replace(path_of("other"), "", 0, why, sizeof why), 0);
    assert_int_equal(output_replace(path_of("none/other"), "", 0, why, sizeof why), -1);
    assert_string_equal(listing(), "other stamp");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(written_once, begin, end),
        cmocka_unit_test_setup_teardown(one_changed_byte_is_mended, begin, end),
        cmocka_unit_test_setup_teardown(unlisted_assets_go_and_nothing_else, begin, end),
        cmocka_unit_test_setup_teardown(what_a_killed_process_left_goes, begin, end),
        cmocka_unit_test_setup_teardown(a_sweep_says_what_is_too_young, begin, end),
        cmocka_unit_test_setup_teardown(the_text_alone_may_be_withheld, begin, end),
        cmocka_unit_test_setup_teardown(a_failure_says_which_file, begin, end),
        cmocka_unit_test_setup_teardown(a_replaced_file_keeps_its_permissions, begin, end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
