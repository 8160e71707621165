#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "protocol/frame.h"
#include "protocol/json.h"
#include "protocol/message.h"

/* A JSON string of so many bytes. */
static struct shared *text_of(size_t length, char c)
{
    struct buffer text = BUFFER_EMPTY;
    struct shared *shared;

    assert_int_equal(buffer_reserve(&text, length), 0);
    memset(text.data, c, length);
    text.data[0] = text.data[length - 1] = '"';
    text.data[length] = '\0';
    text.length = length;
    shared = shared_new(&text);
    assert_non_null(shared);
    assert_int_equal(text.length, 0);
    return shared;
}

/* All bytes of a message, by way of its runs. */
static void collect(const struct message *message, size_t from, struct buffer *all)
{
    struct message_run runs[16];
    size_t count = message_runs(message, from, runs, 16);

    buffer_clear(all);
    for (size_t i = 0; i < count; i++) {
        assert_true(runs[i].length > 0);
        buffer_append(all, runs[i].bytes, runs[i].length);
    }
    assert_int_equal(all->length, message_length(message) - from);
}

/* What is written with texts between is what is printed with their copies. */
static void test_a_tree_is_written_as_it_is_printed(void **state)
{
    static const size_t lengths[] = {2, 100, MESSAGE_CUT - 1, MESSAGE_CUT, MESSAGE_CUT + 1, 300000};
    struct buffer whole = BUFFER_EMPTY, all = BUFFER_EMPTY;

    (void)state;
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++)
        for (int form = 0; form < 3; form++) {
            struct shared *a = text_of(lengths[i], 'a'), *b = text_of(90000, 'b');
            struct json *tree = json_new_object(), *list = json_new_array();
            struct message message = MESSAGE_EMPTY;
            struct message_run some[2];

            json_set_int(tree, "before", 1);
            json_set(tree, "text", json_new_shared(a));
            json_append(list, json_new_shared(b));
            if (form)
                json_append(list, json_new_shared(a));
            json_set(tree, "list", list);
            if (form == 2)
                json_set_string(tree, "after", "z");
            buffer_clear(&whole);
            assert_int_equal(json_print(&whole, tree), 0);
            assert_int_equal(json_write(&message, tree), 0);
            json_free(tree);
            /* The message holds what it needs. */
            shared_drop(a);
            shared_drop(b);
            assert_int_equal(message.cut_count, 1 + (lengths[i] >= MESSAGE_CUT) * (1 + (form > 0)));
            assert_true(message.bytes.length < whole.length);
            collect(&message, 0, &all);
            assert_int_equal(all.length, whole.length);
            assert_memory_equal(all.data, whole.data, whole.length);
            for (size_t from = 0; from <= whole.length; from += whole.length / 17 + 1) {
                collect(&message, from, &all);
                assert_memory_equal(all.data, whole.data + from, whole.length - from);
            }
            assert_int_equal(message_runs(&message, whole.length, some, 2), 0);
            assert_int_equal(message_runs(&message, 0, some, 2), 2);

            assert_int_equal(frame_message(&message), 0);
            buffer_clear(&all);
            assert_int_equal(frame_write(&all, whole.data, whole.length), 0);
            buffer_release(&whole);
            whole = all;
            all = (struct buffer)BUFFER_EMPTY;
            collect(&message, 0, &all);
            assert_memory_equal(all.data, whole.data, whole.length);
            message_release(&message);
            assert_int_equal(message_length(&message), 0);
        }
    buffer_release(&whole);
    buffer_release(&all);
}

static void test_a_failed_tree_leaves_the_message(void **state)
{
    struct shared *text = text_of(100000, 'x');
    struct message message = MESSAGE_EMPTY;
    struct json *tree = json_new_array();

    (void)state;
    buffer_append_text(&message.bytes, "kept");
    json_append(tree, json_new_shared(text));
    json_append(tree, NULL);
    assert_int_equal(json_write(&message, tree), -ENOMEM);
    assert_int_equal(message.cut_count, 0);
    assert_string_equal(message.bytes.data, "kept");
    json_free(tree);
    assert_true(json_failed(json_new_shared(NULL)));
    shared_drop(text);
    message_release(&message);
}

static void test_a_body_beyond_the_limit(void **state)
{
    struct message message = MESSAGE_EMPTY;
    struct shared *text = text_of(FRAME_BODY_LIMIT, 'x');

    (void)state;
    assert_int_equal(message_append_shared(&message, text), 0);
    buffer_append_byte(&message.bytes, ' ');
    assert_int_equal(frame_message(&message), -EMSGSIZE);
    assert_int_equal(message_length(&message), FRAME_BODY_LIMIT + 1);
    message.bytes.length = 0;
    assert_int_equal(frame_message(&message), 0);
    shared_drop(text);
    message_release(&message);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_tree_is_written_as_it_is_printed),
        cmocka_unit_test(test_a_failed_tree_leaves_the_message),
        cmocka_unit_test(test_a_body_beyond_the_limit),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
