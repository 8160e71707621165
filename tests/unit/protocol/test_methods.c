#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "protocol/methods.h"

static void test_rows(void **state)
{
    (void)state;
    for (int i = 0; i < METHOD_COUNT; i++) {
        const struct method *method = method_get((enum method_id)i);

        assert_int_equal(method->id, i);
        /* Finds itself: no name is there twice. */
        assert_ptr_equal(method_find(method->name), method);
        assert_string_equal(method_name(method->id), method->name);
        assert_true(method->kind == RPC_REQUEST || method->kind == RPC_NOTIFICATION);
        assert_int_equal(method->incoming, method->states != 0);
        assert_int_equal(method->documentation[strlen(method->documentation) - 1], '.');
        assert_null(strchr(method->documentation, '\n'));
    }
    assert_null(method_find("textDocument/didopen"));
    assert_null(method_find(""));
}

static int admit(enum method_state state, enum rpc_kind kind, const char *name)
{
    struct rpc_message message = {.kind = kind, .method = name};
    const struct method *method = NULL;
    int rc = method_admit(state, &message, &method);

    if (rc == 0)
        assert_ptr_equal(method, method_find(name));
    else
        assert_null(method);
    return rc;
}

/* The table "Lifecycle of a connection". */
static void test_lifecycle(void **state)
{
    static const struct {
        enum rpc_kind kind;
        const char *name;
        int states[3]; /* new, running, shut down */
    } rows[] = {
        {RPC_REQUEST, "initialize", {0, RPC_INVALID_REQUEST, RPC_INVALID_REQUEST}},
        {RPC_REQUEST, "onnxgpu/hello", {0, RPC_INVALID_REQUEST, RPC_INVALID_REQUEST}},
        {RPC_REQUEST, "shutdown", {RPC_NOT_INITIALIZED, 0, RPC_INVALID_REQUEST}},
        {RPC_REQUEST, "onnxgpu/generate", {RPC_NOT_INITIALIZED, 0, RPC_INVALID_REQUEST}},
        {RPC_REQUEST, "textDocument/diagnostic", {RPC_NOT_INITIALIZED, 0, RPC_INVALID_REQUEST}},
        {RPC_REQUEST, "no/such", {RPC_NOT_INITIALIZED, RPC_METHOD_NOT_FOUND, RPC_INVALID_REQUEST}},
        {RPC_REQUEST, "$/noSuch", {RPC_NOT_INITIALIZED, RPC_METHOD_NOT_FOUND, RPC_INVALID_REQUEST}},
        /* of the wrong kind or direction */
        {RPC_REQUEST,
         "textDocument/didOpen",
         {RPC_NOT_INITIALIZED, RPC_METHOD_NOT_FOUND, RPC_INVALID_REQUEST}},
        {RPC_REQUEST, "exit", {RPC_NOT_INITIALIZED, RPC_METHOD_NOT_FOUND, RPC_INVALID_REQUEST}},
        {RPC_REQUEST,
         "client/registerCapability",
         {RPC_NOT_INITIALIZED, RPC_METHOD_NOT_FOUND, RPC_INVALID_REQUEST}},
        {RPC_NOTIFICATION, "shutdown", {METHOD_DROP, METHOD_DROP, METHOD_DROP}},
        {RPC_NOTIFICATION, "initialize", {METHOD_DROP, METHOD_DROP, METHOD_DROP}},
        {RPC_NOTIFICATION, "$/progress", {METHOD_DROP, METHOD_DROP, METHOD_DROP}},
        {RPC_NOTIFICATION, "$/noSuch", {METHOD_DROP, METHOD_DROP, METHOD_DROP}},
        {RPC_NOTIFICATION, "no/such", {METHOD_DROP, METHOD_DROP, METHOD_DROP}},
        {RPC_NOTIFICATION, "textDocument/didOpen", {METHOD_DROP, 0, METHOD_DROP}},
        {RPC_NOTIFICATION, "$/cancelRequest", {METHOD_DROP, 0, METHOD_DROP}},
        {RPC_NOTIFICATION, "exit", {0, 0, 0}},
    };
    static const enum method_state states[] = {METHOD_NEW, METHOD_RUNNING, METHOD_SHUT_DOWN};

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        for (size_t s = 0; s < 3; s++) {
            int rc = admit(states[s], rows[i].kind, rows[i].name);

            if (rc != rows[i].states[s])
                fail_msg("%s in state %zu: %d", rows[i].name, s, rc);
        }
    }
}

static int bound;

#define METHOD_IN(id, name, kind, states, doc)                                                     \
    static void entry_##id(void)                                                                   \
    {                                                                                              \
        bound++;                                                                                   \
    }
#define METHOD_OUT(id, name, kind, doc)
#include "protocol/methods.def"
#undef METHOD_IN
#undef METHOD_OUT

/* The way in which a server binds its entries. */
static void test_binding(void **state)
{
    static void (*const entries[METHOD_COUNT])(void) = {
#define METHOD_IN(id, name, kind, states, doc) [METHOD_##id] = entry_##id,
#define METHOD_OUT(id, name, kind, doc)
#include "protocol/methods.def"
#undef METHOD_IN
#undef METHOD_OUT
    };
    int incoming = 0;

    (void)state;
    for (int i = 0; i < METHOD_COUNT; i++) {
        assert_int_equal(entries[i] != NULL, method_get((enum method_id)i)->incoming);
        if (entries[i]) {
            incoming++;
            entries[i]();
        }
    }
    assert_int_equal(bound, incoming);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows),
        cmocka_unit_test(test_lifecycle),
        cmocka_unit_test(test_binding),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
