#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/server/folder.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <uv.h>

#include "daemon/server/path.h"
#include "daemon/server/turn.h"
#include "daemon/server/watch.h"

#define PATIENCE_MS 120000 /* for slow machines; nothing judges how long a change takes */

static uv_loop_t loop;
static uv_timer_t deadline;
static struct watch *watch;
static char seen[4096]; /* "changed NAME\n", paths without the test's folder */
static bool gave_up;

static void note(const char *what, const char *path)
{
    size_t length = strlen(seen), root = strlen(folder);

    if (strncmp(path, folder, root) == 0)
        path += root;
    snprintf(seen + length, sizeof seen - length, "%s %s\n", what, path);
}

static bool wanted(void *state, const char *path)
{
    (void)state;
    return !path_ends(path, ".tmp");
}

static void changed(void *state, const char *path)
{
    (void)state;
    note("changed", path);
}

static void folder_came(void *state, const char *path)
{
    (void)state;
    note("came", path);
    watch_add(watch, path);
}

static void folder_gone(void *state, const char *path)
{
    (void)state;
    note("gone", path);
}

static void folder_changed(void *state, const char *path)
{
    (void)state;
    note("folder", path);
}

static void lost(void *state)
{
    (void)state;
    note("lost", "");
}

static bool polling; /* begin() with no descriptor left for inotify */

static void begin(void)
{
    const struct watch_events events = {.wanted = wanted,
                                        .changed = changed,
                                        .folder_came = folder_came,
                                        .folder_gone = folder_gone,
                                        .folder_changed = folder_changed,
                                        .lost = lost};
    struct rlimit before, none;
    int error;

    assert_int_equal(uv_loop_init(&loop), 0);
    uv_timer_init(&loop, &deadline);
    getrlimit(RLIMIT_NOFILE, &before);
    none = before;
    none.rlim_cur = 0;
    if (polling)
        setrlimit(RLIMIT_NOFILE, &none);
    watch = watch_new(&loop, &events, &error);
    setrlimit(RLIMIT_NOFILE, &before);
    assert_non_null(watch);
    seen[0] = '\0';
    assert_int_equal(watch_add(watch, folder), polling ? -EMFILE : 0);
}

static void end(void)
{
    watch_free(watch);
    uv_close((uv_handle_t *)&deadline, NULL);
    uv_run(&loop, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(&loop), 0);
}

static void give_up(uv_timer_t *timer)
{
    (void)timer;
    gave_up = true;
}

/* Turns the loop until the text was noted; fails only where it never comes. */
static void await(const char *text)
{
    gave_up = false;
    uv_timer_start(&deadline, give_up, PATIENCE_MS, 0);
    while (!strstr(seen, text) && !gave_up)
        uv_run(&loop, UV_RUN_ONCE);
    if (gave_up)
        print_error("expected \"%s\" in:\n%s", text, seen);
    assert_false(gave_up);
    uv_timer_stop(&deadline);
}

static int count(const char *text)
{
    int found = 0;

    for (const char *at = seen; (at = strstr(at, text)); at++)
        found++;
    return found;
}

/* Each change is noted once, however many events it is made of. */
static void test_files(void **state)
{
    (void)state;
    begin();
    write_file(in_folder("a.cs"), "1");
    write_file(in_folder("a.cs"), "12");
    write_file(in_folder("x.tmp"), "1");
    rename(in_folder("x.tmp"), in_folder("b.cs"));
    await("changed /b.cs\n");
    await("changed /a.cs\n");
    assert_int_equal(count("changed /a.cs"), 1);
    assert_int_equal(count(".tmp"), 0);
    unlink(in_folder("a.cs"));
    write_file(in_folder("end"), "");
    await("changed /end\n");
    assert_int_equal(count("changed /a.cs"), 2);
    end();
}

/* Opening and reading are no changes; neither is what we write ourselves. */
static void test_what_is_no_event(void **state)
{
    struct file_identity identity;
    char byte;
    int descriptor;

    (void)state;
    write_file(in_folder("a.cs"), "1");
    begin();
    descriptor = open(in_folder("a.cs"), O_RDONLY);
    assert_int_equal(read(descriptor, &byte, 1), 1);
    close(descriptor);
    write_file(in_folder("own.tmp"), "ours");
    assert_true(path_identity(in_folder("own.tmp"), &identity));
    watch_expect(watch, in_folder("own.cs"), &identity);
    rename(in_folder("own.tmp"), in_folder("own.cs"));
    watch_expect(watch, in_folder("a.cs"), NULL);
    unlink(in_folder("a.cs"));
    write_file(in_folder("end"), "");
    await("changed /end\n");
    assert_int_equal(count("own.cs"), 0);
    assert_int_equal(count("a.cs"), 0);
    /* Once somebody else touches it, it is theirs. */
    write_file(in_folder("own.cs"), "theirs");
    await("changed /own.cs\n");
    end();
}

static void test_folders(void **state)
{
    (void)state;
    begin();
    mkdir(in_folder("sub"), 0700);
    await("came /sub\n");
    assert_true(watch_has(watch, in_folder("sub")));
    assert_int_equal(watch_count(watch), 2);
    write_file(in_folder("sub/a.cs"), "1");
    await("changed /sub/a.cs\n");
    /* A folder that moves takes its watch along under its new name. */
    rename(in_folder("sub"), in_folder("moved"));
    await("gone /sub\n");
    await("came /moved\n");
    assert_false(watch_has(watch, in_folder("sub")));
    write_file(in_folder("moved/b.cs"), "1");
    await("changed /moved/b.cs\n");
    assert_int_equal(count("/sub/b.cs"), 0);
    unlink(in_folder("moved/a.cs"));
    unlink(in_folder("moved/b.cs"));
    rmdir(in_folder("moved"));
    await("gone /moved\n");
    assert_int_equal(watch_count(watch), 1);
    end();
}

static void test_root_gone(void **state)
{
    (void)state;
    begin();
    mkdir(in_folder("root"), 0700);
    await("came /root\n");
    watch_remove(watch, folder);
    assert_int_equal(watch_count(watch), 0);
    assert_int_equal(watch_add(watch, in_folder("root")), 0);
    rmdir(in_folder("root"));
    await("gone /root\n");
    assert_int_equal(watch_add(watch, in_folder("root")), -ENOENT);
    end();
}

/* A link to a folder is no folder. */
static void test_links(void **state)
{
    (void)state;
    begin();
    mkdir(in_folder("real"), 0700);
    await("came /real\n");
    assert_int_equal(symlink("real", in_folder("link")), 0);
    await("changed /link\n");
    assert_int_equal(watch_add(watch, in_folder("link")), -ENOTDIR);
    assert_int_equal(count("came /link"), 0);
    end();
}

/* Events come in blocks; what a turn has no room for is handled in the next one, whole blocks too.
 */
static void test_turns(void **state)
{
    enum { MANY = 2 * TURN_THINGS };
    struct turn_figures figures;
    struct turn *turn;
    char name[64];

    (void)state;
    begin();
    turn = turn_new(&loop);
    for (int i = 0; i < MANY; i++) {
        snprintf(name, sizeof name, "a file among others %d.tmp", i);
        write_file(in_folder(name), "");
    }
    write_file(in_folder("end"), "");
    await("changed /end\n");
    turn_figures(turn, &figures);
    /* The timer that notes the change is the other part that may do one thing. */
    assert_true(figures.most_things <= TURN_THINGS + 1 && figures.cut >= 3);
    turn_free(turn);
    end();
}

/* What may be read, and by whom, is a change too: nothing else tells that it may now. */
static void test_permissions(void **state)
{
    (void)state;
    write_file(in_folder("a.cs"), "1");
    begin();
    chmod(in_folder("a.cs"), 0);
    await("changed /a.cs\n");
    mkdir(in_folder("sub"), 0700);
    await("came /sub\n");
    chmod(in_folder("sub"), 0);
    await("folder /sub\n");
    chmod(in_folder("sub"), 0700);
    end();
}

/* No descriptor is left for inotify: folders are listed and compared. */
static void test_poll(void **state)
{
    (void)state;
    mkdir(in_folder("sub"), 0700);
    write_file(in_folder("a.cs"), "1");
    assert_int_equal(symlink("a.cs", in_folder("l.cs")), 0);
    polling = true;
    begin();
    polling = false;
    assert_int_equal(watch_add(watch, in_folder("sub")), -EMFILE);
    assert_int_equal(watch_count(watch), 2);
    write_file(in_folder("sub/b.cs"), "1");
    await("changed /sub/b.cs\n");
    write_file(in_folder("a.cs"), "12");
    await("changed /a.cs\n");
    await("changed /l.cs\n");
    chmod(in_folder("sub/b.cs"), 0400);
    mkdir(in_folder("new"), 0700);
    await("came /new\n");
    assert_int_equal(count("changed /a.cs\n"), 1);
    unlink(in_folder("a.cs"));
    rename(in_folder("sub"), in_folder("moved"));
    await("gone /sub\n");
    await("came /moved\n");
    await("changed /a.cs\nchanged /l.cs\n");
    assert_false(watch_has(watch, in_folder("sub")));
    chmod(in_folder("moved"), 0500);
    await("folder /moved\n");
    end();
}

/* The overflow itself cannot be caused at will: the back end's report can. */
static void test_lost(void **state)
{
    (void)state;
    begin();
    for (int i = 0; i < 5; i++)
        watch_report(watch, WATCH_LOST, NULL, NULL);
    assert_int_equal(count("lost"), 1);
    gave_up = false;
    uv_timer_start(&deadline, give_up, PATIENCE_MS, 0);
    while (count("lost") < 2 && !gave_up)
        uv_run(&loop, UV_RUN_ONCE);
    assert_false(gave_up);
    uv_timer_stop(&deadline);
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_files, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(test_what_is_no_event, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(test_folders, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(test_root_gone, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(test_links, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(test_turns, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(test_permissions, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(test_poll, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(test_lost, make_folder, remove_folder),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
