#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "protocol/frame.h"
#include "protocol/rpc.h"

static const struct {
    const char *text;
    enum rpc_kind kind;
    const char *id;
    int code;    /* of invalid ones */
    bool silent; /* invalid, but not to be answered */
} messages[] = {
    {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"m\"}", RPC_REQUEST, "1", 0, false},
    {"{\"params\":[1],\"method\":\"m\",\"id\":9007199254740993,\"jsonrpc\":\"2.0\"}", RPC_REQUEST,
     "9007199254740993", 0, false},
    {"{\"jsonrpc\":\"2.0\",\"id\":1234567890123460,\"method\":\"m\",\"params\":{}}", RPC_REQUEST,
     "1234567890123460", 0, false},
    {"{\"jsonrpc\":\"2.0\",\"id\":123456789012345678901234567890,\"method\":\"m\"}", RPC_REQUEST,
     "123456789012345678901234567890", 0, false},
    {"{\"jsonrpc\":\"2.0\",\"id\":-3,\"method\":\"m\"}", RPC_REQUEST, "-3", 0, false},
    {"{\"jsonrpc\":\"2.0\",\"id\":\"a\\u0041\\\"\\/\",\"method\":\"m\"}", RPC_REQUEST,
     "\"a\\u0041\\\"\\/\"", 0, false},
    {"{\"jsonrpc\":\"2.0\",\"id\":\"\",\"method\":\"m\"}", RPC_REQUEST, "\"\"", 0, false},
    {"{\"jsonrpc\":\"2.0\",\"\\u0069d\":7,\"method\":\"m\"}", RPC_REQUEST, "7", 0, false},
    {"{\"jsonrpc\":\"2.0\",\"id\":1,\"id\":2,\"method\":\"m\"}", RPC_REQUEST, "2", 0, false},
    {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"shutdown\",\"params\":null}", RPC_REQUEST, "1", 0,
     false},
    {"{\"jsonrpc\":\"2.0\",\"method\":\"m\"}", RPC_NOTIFICATION, "null", 0, false},
    {"{\"jsonrpc\":\"2.0\",\"method\":\"m\",\"params\":{\"id\":5}}", RPC_NOTIFICATION, "null", 0,
     false},
    {"{\"jsonrpc\":\"2.0\",\"id\":4,\"result\":null}", RPC_RESPONSE, "4", 0, false},
    {"{\"jsonrpc\":\"2.0\",\"id\":4,\"result\":{},\"error\":null}", RPC_RESPONSE, "4", 0, false},
    {"{\"jsonrpc\":\"2.0\",\"id\":\"x\",\"error\":{\"code\":1,\"message\":\"\"}}", RPC_RESPONSE,
     "\"x\"", 0, false},
    {"{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32700,\"message\":\"\"}}", RPC_RESPONSE,
     "null", 0, false},
    /* no JSON */
    {"", RPC_INVALID, "null", RPC_PARSE_ERROR, false},
    {"{", RPC_INVALID, "null", RPC_PARSE_ERROR, false},
    {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"m\"}x", RPC_INVALID, "null", RPC_PARSE_ERROR,
     false},
    {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\xFF\"}", RPC_INVALID, "null", RPC_PARSE_ERROR,
     false},
    /* no message */
    {"[]", RPC_INVALID, "null", RPC_INVALID_REQUEST, false},
    {"[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"m\"}]", RPC_INVALID, "null", RPC_INVALID_REQUEST,
     false},
    {"1", RPC_INVALID, "null", RPC_INVALID_REQUEST, false},
    {"null", RPC_INVALID, "null", RPC_INVALID_REQUEST, false},
    {"{}", RPC_INVALID, "null", RPC_INVALID_REQUEST, false},
    {"{\"jsonrpc\":\"2.0\",\"id\":1}", RPC_INVALID, "1", RPC_INVALID_REQUEST, false},
    {"{\"id\":1,\"method\":\"m\"}", RPC_INVALID, "1", RPC_INVALID_REQUEST, false},
    {"{\"jsonrpc\":2.0,\"id\":1,\"method\":\"m\"}", RPC_INVALID, "1", RPC_INVALID_REQUEST, false},
    {"{\"jsonrpc\":\"1.0\",\"id\":1,\"method\":\"m\"}", RPC_INVALID, "1", RPC_INVALID_REQUEST,
     false},
    {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":7}", RPC_INVALID, "1", RPC_INVALID_REQUEST, false},
    {"{\"jsonrpc\":\"2.0\",\"method\":1}", RPC_INVALID, "null", RPC_INVALID_REQUEST, false},
    {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"m\",\"params\":\"p\"}", RPC_INVALID, "1",
     RPC_INVALID_REQUEST, false},
    {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"m\",\"params\":3}", RPC_INVALID, "1",
     RPC_INVALID_REQUEST, false},
    {"{\"jsonrpc\":\"2.0\",\"id\":null,\"method\":\"m\"}", RPC_INVALID, "null", RPC_INVALID_REQUEST,
     false},
    {"{\"jsonrpc\":\"2.0\",\"id\":1.5,\"method\":\"m\"}", RPC_INVALID, "null", RPC_INVALID_REQUEST,
     false},
    {"{\"jsonrpc\":\"2.0\",\"id\":1.0,\"method\":\"m\"}", RPC_INVALID, "null", RPC_INVALID_REQUEST,
     false},
    {"{\"jsonrpc\":\"2.0\",\"id\":1e3,\"method\":\"m\"}", RPC_INVALID, "null", RPC_INVALID_REQUEST,
     false},
    {"{\"jsonrpc\":\"2.0\",\"id\":true,\"method\":\"m\"}", RPC_INVALID, "null", RPC_INVALID_REQUEST,
     false},
    {"{\"jsonrpc\":\"2.0\",\"id\":[1],\"method\":\"m\"}", RPC_INVALID, "null", RPC_INVALID_REQUEST,
     false},
    {"{\"jsonrpc\":\"2.0\",\"id\":{},\"method\":\"m\"}", RPC_INVALID, "null", RPC_INVALID_REQUEST,
     false},
    /* broken responses: answering them could go on for ever */
    {"{\"jsonrpc\":\"2.0\",\"result\":1}", RPC_INVALID, "null", RPC_INVALID_REQUEST, true},
    {"{\"jsonrpc\":\"2.0\",\"id\":null,\"result\":1}", RPC_INVALID, "null", RPC_INVALID_REQUEST,
     true},
    {"{\"jsonrpc\":\"2.0\",\"id\":1.5,\"result\":1}", RPC_INVALID, "null", RPC_INVALID_REQUEST,
     true},
    {"{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":\"no\"}", RPC_INVALID, "1", RPC_INVALID_REQUEST,
     true},
    {"{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":null}", RPC_INVALID, "1", RPC_INVALID_REQUEST, true},
    {"{\"id\":1,\"result\":1}", RPC_INVALID, "1", RPC_INVALID_REQUEST, true},
};

static void test_classes(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(messages) / sizeof(messages[0]); i++) {
        struct rpc_message message;

        assert_int_equal(rpc_message_read(&message, messages[i].text, strlen(messages[i].text)), 0);
        if (message.kind != messages[i].kind || strcmp(message.id, messages[i].id) != 0)
            fail_msg("%s: kind %d, id %s", messages[i].text, (int)message.kind, message.id);
        assert_int_equal(message.code, messages[i].code);
        assert_int_equal(message.reason != NULL, messages[i].kind == RPC_INVALID);
        if (messages[i].kind == RPC_INVALID)
            assert_int_equal(message.answer, !messages[i].silent);
        if (messages[i].kind == RPC_REQUEST || messages[i].kind == RPC_NOTIFICATION)
            assert_non_null(message.method);
        if (messages[i].kind == RPC_RESPONSE)
            assert_true((message.result != NULL) != (message.error != NULL));
        rpc_message_release(&message);
    }
}

static void test_parts(void **state)
{
    static const char request[] =
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"a/b\",\"params\":{\"x\":5}}";
    static const char response[] = "{\"jsonrpc\":\"2.0\",\"id\":12,\"result\":{\"y\":6}}";
    struct rpc_message message;
    int64_t id = 0;

    (void)state;
    rpc_message_read(&message, request, sizeof(request) - 1);
    assert_string_equal(message.method, "a/b");
    assert_int_equal(json_int(message.params, "x", 0), 5);
    assert_false(rpc_message_number(&message, &id));
    rpc_message_release(&message);
    rpc_message_read(&message, response, sizeof(response) - 1);
    assert_int_equal(json_int(message.result, "y", 0), 6);
    assert_true(rpc_message_number(&message, &id));
    assert_int_equal(id, 12);
    rpc_message_release(&message);
    rpc_message_release(&message);
}

static void test_cancelled_ids(void **state)
{
    static const char *const rows[][2] = {
        {"{\"id\":9007199254740993}", "9007199254740993"},
        {"{\"id\":\"\\u0061\"}", "\"\\u0061\""},
        {"{\"id\":1.5}", NULL},
        {"{\"id\":null}", NULL},
        {"{}", NULL},
        {"[1]", NULL},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct buffer text = BUFFER_EMPTY;
        struct rpc_message message;
        char *id;

        buffer_printf(&text, "{\"jsonrpc\":\"2.0\",\"method\":\"$/cancelRequest\",\"params\":%s}",
                      rows[i][0]);
        assert_int_equal(rpc_message_read(&message, text.data, text.length), 0);
        id = rpc_cancelled_id(&message, text.data);
        if (rows[i][1])
            assert_string_equal(id, rows[i][1]);
        else
            assert_null(id);
        free(id);
        rpc_message_release(&message);
        buffer_release(&text);
    }
}

static void test_equal_ids(void **state)
{
    (void)state;
    assert_true(rpc_id_equal("1", "1"));
    assert_false(rpc_id_equal("1", "2"));
    assert_false(rpc_id_equal("1", "\"1\""));
    assert_false(rpc_id_equal("9007199254740993", "9007199254740992"));
    assert_true(rpc_id_equal("0", "-0"));
    assert_false(rpc_id_equal("1", "-1"));
    assert_true(rpc_id_equal("\"a\"", "\"\\u0061\""));
    assert_true(rpc_id_equal("\"\\u00e9\"", "\"\xC3\xA9\""));
    assert_false(rpc_id_equal("\"a\"", "\"\\u0062\""));
    assert_false(rpc_id_equal("\"a\\u0000b\"", "\"a\\u0000c\""));
    assert_false(rpc_id_equal("\"a\"", "\"b\""));
}

static void assert_body(struct buffer *out, const char *expected)
{
    assert_string_equal(out->data, expected);
    buffer_clear(out);
}

static void test_writing(void **state)
{
    struct buffer out = BUFFER_EMPTY;
    struct message notification = MESSAGE_EMPTY;
    struct json *params = json_new_object();

    (void)state;
    json_set_int(params, "x", 1);
    assert_int_equal(rpc_write_request(&out, 3, "m", params), 0);
    assert_body(&out, "{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"m\",\"params\":{\"x\":1}}");
    assert_int_equal(rpc_write_request(&out, INT64_MAX, "m", NULL), 0);
    assert_body(&out, "{\"jsonrpc\":\"2.0\",\"id\":9223372036854775807,\"method\":\"m\"}");
    assert_int_equal(rpc_write_notification(&notification, "n", json_new_array()), 0);
    assert_body(&notification.bytes, "{\"jsonrpc\":\"2.0\",\"method\":\"n\",\"params\":[]}");
    message_release(&notification);
    assert_int_equal(rpc_write_result(&out, "9007199254740993", NULL), 0);
    assert_body(&out, "{\"jsonrpc\":\"2.0\",\"id\":9007199254740993,\"result\":null}");
    assert_int_equal(rpc_write_error(&out, "null", RPC_PARSE_ERROR, NULL, NULL), 0);
    assert_body(&out, "{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32700,\"message\":"
                      "\"parse error\"}}");
    assert_int_equal(rpc_write_error(&out, "\"\\u0061\"", -1, "why \"so\"", json_new_bool(true)),
                     0);
    assert_body(&out, "{\"jsonrpc\":\"2.0\",\"id\":\"\\u0061\",\"error\":{\"code\":-1,\"message\":"
                      "\"why \\\"so\\\"\",\"data\":true}}");
    buffer_release(&out);
}

static void test_codes(void **state)
{
    (void)state;
    assert_int_equal(RPC_PARSE_ERROR, -32700);
    assert_int_equal(RPC_INVALID_REQUEST, -32600);
    assert_int_equal(RPC_METHOD_NOT_FOUND, -32601);
    assert_int_equal(RPC_INVALID_PARAMS, -32602);
    assert_int_equal(RPC_INTERNAL_ERROR, -32603);
    assert_int_equal(RPC_NOT_INITIALIZED, -32002);
    assert_int_equal(RPC_REQUEST_CANCELLED, -32800);
    assert_int_equal(RPC_CONTENT_MODIFIED, -32801);
    assert_int_equal(RPC_SERVER_CANCELLED, -32802);
    assert_int_equal(RPC_REQUEST_FAILED, -32803);
    assert_string_equal(rpc_code_text(-32601), "method not found");
    assert_string_equal(rpc_code_text(12345), "error");
}

static void test_exactly_one_answer(void **state)
{
    struct rpc_registry registry;
    struct message out = MESSAGE_EMPTY;
    uint64_t first, second, again;
    int work = 0;

    (void)state;
    rpc_registry_init(&registry);
    assert_int_equal(rpc_registry_open(&registry, "1", "m", &work, &first), 0);
    assert_int_equal(rpc_registry_open(&registry, "\"a\"", "n", NULL, &second), 0);
    assert_true(first != 0 && second > first);
    assert_int_equal(rpc_registry_open(&registry, "\"\\u0061\"", "n", NULL, &again), -EEXIST);
    assert_int_equal(again, 0);
    assert_int_equal(rpc_registry_count(&registry), 2);
    assert_ptr_equal(rpc_registry_find(&registry, first)->work, &work);
    assert_string_equal(rpc_registry_at(&registry, 1)->method, "n");
    assert_null(rpc_registry_at(&registry, 2));

    assert_int_equal(rpc_registry_answer_result(&registry, first, json_new_int(5), &out), 0);
    assert_body(&out.bytes, "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":5}");
    assert_null(rpc_registry_find(&registry, first));
    assert_int_equal(rpc_registry_count(&registry), 1);

    /* A second answer, in either form, and an answer to nothing. */
    buffer_append_text(&out.bytes, "");
    assert_int_equal(rpc_registry_answer_result(&registry, first, json_new_int(6), &out),
                     -EALREADY);
    assert_int_equal(rpc_registry_answer_error(&registry, first, RPC_INTERNAL_ERROR, NULL,
                                               json_new_int(6), &out),
                     -EALREADY);
    assert_int_equal(rpc_registry_answer_result(&registry, second + 1, NULL, &out), -ENOENT);
    assert_int_equal(rpc_registry_answer_result(&registry, 0, NULL, &out), -ENOENT);
    assert_string_equal(out.bytes.data, "");

    /* The id is free again, under a ticket of its own. */
    assert_int_equal(rpc_registry_open(&registry, "1", "m", NULL, &again), 0);
    assert_true(again > second);

    assert_non_null(rpc_registry_cancel(&registry, "\"\\u0061\""));
    assert_true(rpc_registry_find(&registry, second)->cancelled);
    assert_false(rpc_registry_find(&registry, again)->cancelled);
    assert_null(rpc_registry_cancel(&registry, "2"));
    assert_int_equal(
        rpc_registry_answer_error(&registry, second, RPC_REQUEST_CANCELLED, NULL, NULL, &out), 0);
    assert_body(&out.bytes,
                "{\"jsonrpc\":\"2.0\",\"id\":\"a\",\"error\":{\"code\":-32800,\"message\":"
                "\"request cancelled\"}}");
    /* Cancelled after the answer: nothing to cancel. */
    assert_null(rpc_registry_cancel(&registry, "\"a\""));

    /* Disconnected before the answer: the work that comes back late is told so. */
    rpc_registry_release(&registry);
    assert_int_equal(rpc_registry_count(&registry), 0);
    assert_int_equal(rpc_registry_answer_result(&registry, again, NULL, &out), -EALREADY);
    rpc_registry_release(&registry);
    message_release(&out);
}

/* Opens, cancels and answers at random, beside a plain record of what is open. */
static void test_registry_against_a_record(void **state)
{
    enum { IDS = 40 };
    uint64_t tickets[IDS] = {0};
    struct rpc_registry registry;
    struct message out = MESSAGE_EMPTY;
    uint32_t seed = 1;
    size_t open = 0;

    (void)state;
    rpc_registry_init(&registry);
    for (int step = 0; step < 20000; step++) {
        char id[16];
        size_t i;
        int rc;

        seed = seed * 1664525u + 1013904223u;
        i = (seed >> 8) % IDS;
        snprintf(id, sizeof(id), i % 2 ? "%zu" : "\"%zu\"", i);
        switch (seed >> 30) {
        case 0:
        case 1:
            rc = rpc_registry_open(&registry, id, "m", NULL,
                                   tickets[i] ? &(uint64_t){0} : &tickets[i]);
            assert_true(rc == 0 || rc == -EEXIST);
            open += rc == 0;
            break;
        case 2:
            assert_int_equal(rpc_registry_cancel(&registry, id) != NULL, tickets[i] != 0);
            break;
        default:
            buffer_clear(&out.bytes);
            rc = rpc_registry_answer_result(&registry, tickets[i], NULL, &out);
            assert_int_equal(rc, tickets[i] ? 0 : -ENOENT);
            if (tickets[i])
                assert_int_equal(rpc_registry_answer_result(&registry, tickets[i], NULL, &out),
                                 -EALREADY);
            open -= rc == 0;
            tickets[i] = 0;
            break;
        }
        assert_int_equal(rpc_registry_count(&registry), open);
    }
    rpc_registry_release(&registry);
    message_release(&out);
}

/* A result that no frame holds is answered all the same, with the reason. */
static void test_a_result_that_is_too_long(void **state)
{
    (void)state;
    for (int over = 0; over < 2; over++) {
        const char *const head = "{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":";
        size_t length = FRAME_BODY_LIMIT - strlen(head) - 1 + (size_t)over;
        struct rpc_registry registry;
        struct message out = MESSAGE_EMPTY;
        struct buffer text = BUFFER_EMPTY;
        struct shared *shared;
        uint64_t ticket;

        buffer_reserve(&text, length);
        memset(text.data, '1', length);
        text.length = length;
        shared = shared_new(&text);
        rpc_registry_init(&registry);
        assert_int_equal(rpc_registry_open(&registry, "7", "m", NULL, &ticket), 0);
        assert_int_equal(
            rpc_registry_answer_result(&registry, ticket, json_new_shared(shared), &out), 0);
        assert_int_equal(rpc_registry_count(&registry), 0);
        if (over) {
            assert_int_equal(out.cut_count, 0);
            assert_body(&out.bytes,
                        "{\"jsonrpc\":\"2.0\",\"id\":7,\"error\":{\"code\":-32803,\"message\":"
                        "\"the answer has 67108865 bytes; a message holds at most 64 MiB\"}}");
        } else {
            assert_int_equal(message_length(&out), FRAME_BODY_LIMIT);
            assert_int_equal(frame_message(&out), 0);
        }
        shared_drop(shared);
        message_release(&out);
        rpc_registry_release(&registry);
    }
}

static void test_requests_have_a_limit(void **state)
{
    struct rpc_registry registry;
    uint64_t ticket;
    char id[16];

    (void)state;
    rpc_registry_init(&registry);
    for (int i = 0; i < RPC_PENDING_LIMIT; i++) {
        snprintf(id, sizeof(id), "%d", i);
        assert_int_equal(rpc_registry_open(&registry, id, "m", NULL, &ticket), 0);
    }
    assert_int_equal(rpc_registry_open(&registry, "-1", "m", NULL, &ticket), -ENOSPC);
    rpc_registry_release(&registry);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_classes),
        cmocka_unit_test(test_parts),
        cmocka_unit_test(test_cancelled_ids),
        cmocka_unit_test(test_equal_ids),
        cmocka_unit_test(test_writing),
        cmocka_unit_test(test_codes),
        cmocka_unit_test(test_exactly_one_answer),
        cmocka_unit_test(test_a_result_that_is_too_long),
        cmocka_unit_test(test_registry_against_a_record),
        cmocka_unit_test(test_requests_have_a_limit),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
