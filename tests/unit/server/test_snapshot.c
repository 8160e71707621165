#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/server/folder.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>

#include "daemon/server/path.h"
#include "daemon/server/snapshot.h"

/* As though the files had been read so long after their last change, however long it took. */
static void read_after(struct snapshot *snapshot, int64_t ns)
{
    for (size_t i = 0; i < snapshot->count; i++) {
        const struct file_identity *identity = &snapshot->list[i].identity;

        snapshot->list[i].read_ns =
            ns + (identity->modified_ns > identity->changed_ns ? identity->modified_ns
                                                               : identity->changed_ns);
    }
}

static void test_states(void **state)
{
    struct snapshot snapshot, copy;

    (void)state;
    write_file(in_folder("a"), "1");
    snapshot_init(&snapshot);
    snapshot_note(&snapshot, in_folder("a"));
    snapshot_note(&snapshot, in_folder("a"));
    assert_int_equal(snapshot.count, 1);
    assert_true(snapshot_has(&snapshot, in_folder("a")));
    assert_true(snapshot_steady(&snapshot));
    /* Just written: a second write could leave the same stat. */
    read_after(&snapshot, 1000000);
    assert_int_equal(snapshot_state(&snapshot), SNAPSHOT_UNSURE);
    read_after(&snapshot, 3000000000);
    assert_int_equal(snapshot_state(&snapshot), SNAPSHOT_SAME);
    snapshot_copy(&copy, &snapshot);
    write_file(in_folder("new"), "1");
    rename(in_folder("new"), in_folder("a"));
    assert_int_equal(snapshot_state(&snapshot), SNAPSHOT_CHANGED);
    assert_false(snapshot_steady(&copy));
    snapshot_release(&snapshot);
    snapshot_release(&copy);
}

/* What was missing is a state too. */
static void test_missing(void **state)
{
    struct snapshot snapshot;

    (void)state;
    snapshot_init(&snapshot);
    snapshot_note(&snapshot, in_folder("a"));
    assert_int_equal(snapshot_state(&snapshot), SNAPSHOT_SAME);
    write_file(in_folder("a"), "1");
    assert_int_equal(snapshot_state(&snapshot), SNAPSHOT_CHANGED);
    snapshot_release(&snapshot);
}

static void test_confirmed(void **state)
{
    struct snapshot snapshot;

    (void)state;
    write_file(in_folder("a"), "1");
    snapshot_init(&snapshot);
    snapshot_note(&snapshot, in_folder("a"));
    snapshot_confirm(&snapshot, file_clock_ns() + 3000000000);
    assert_int_equal(snapshot_state(&snapshot), SNAPSHOT_SAME);
    snapshot_release(&snapshot);
}

/* While a descriptor is open for writing, the file is not read. */
static void test_writers(void **state)
{
    struct snapshot snapshot;
    struct context context;
    const char *why = NULL;
    struct file *file;
    int writer;

    (void)state;
    context_init(&context, NULL);
    assert_false(snapshot_being_written(in_folder("a")));
    write_file(in_folder("a"), "1");
    assert_false(snapshot_being_written(in_folder("a")));
    writer = open(in_folder("a"), O_WRONLY);
    assert_true(writer >= 0);
    assert_true(snapshot_being_written(in_folder("a")));
    snapshot_init(&snapshot);
    file = snapshot.files.functions->open(&snapshot.files, &context.arena, in_folder("a"), &why);
    assert_null(file);
    assert_true(snapshot.written);
    assert_string_equal(snapshot.writing, in_folder("a"));
    assert_non_null(why);
    snapshot_release(&snapshot);
    close(writer);

    assert_false(snapshot_being_written(in_folder("a")));
    file = snapshot.files.functions->open(&snapshot.files, &context.arena, in_folder("a"), &why);
    assert_non_null(file);
    assert_false(snapshot.written);
    assert_int_equal(snapshot.count, 1);
    snapshot.files.functions->close(file);
    /* External data is known by its canonical path. */
    mkdir(in_folder("sub"), 0700);
    file = snapshot.files.functions->open_inside(&snapshot.files, &context.arena, folder,
                                                 "sub/../a", &why);
    assert_non_null(file);
    assert_int_equal(snapshot.count, 1);
    snapshot.files.functions->close(file);
    snapshot_release(&snapshot);
    context_release(&context);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_states, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(test_missing, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(test_confirmed, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(test_writers, make_folder, remove_folder),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
