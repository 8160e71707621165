#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "protocol/endpoint.h"
#include "protocol/frame.h"
#include "protocol/json.h"
#include "protocol/lsp.h"
#include "protocol/rpc.h"
#include "protocol/uri.h"

/*
 * The nth allocation fails, from n = 1 until the work passes untouched. On the way nothing may
 * crash, leak or come out half: a failure is -ENOMEM (or NULL), and success is the whole result.
 *
 * The program's own malloc stands in for the C library's. A sanitizer has one already; there the
 * work is only done once, without failures.
 */
#if defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define CAN_FAIL 1
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *old, size_t size);
void __libc_free(void *memory);

static long countdown; /* 0: nothing fails */
static long live;      /* blocks that were allocated while counting and are not freed */
static bool counting;

static bool refuse(void)
{
    return counting && countdown > 0 && --countdown == 0;
}

void *malloc(size_t size)
{
    if (refuse())
        return NULL;
    live += counting;
    return __libc_malloc(size);
}

void *calloc(size_t count, size_t size)
{
    if (refuse())
        return NULL;
    live += counting;
    return __libc_calloc(count, size);
}

void *realloc(void *old, size_t size)
{
    if (refuse())
        return NULL;
    live += counting && !old;
    return __libc_realloc(old, size);
}

void free(void *memory)
{
    live -= counting && memory;
    __libc_free(memory);
}
#else
#define CAN_FAIL 0
static long countdown;
static long live;
static bool counting;
#endif

/* Does the work with each allocation failing in turn; `work` says whether it succeeded. */
static void fail_each(bool (*work)(void))
{
    for (long n = 1;; n++) {
        bool done, refused;

        live = 0;
        countdown = CAN_FAIL ? n : 0;
        counting = true;
        done = work();
        counting = false;
        refused = CAN_FAIL && countdown == 0;
        if (live)
            fail_msg("allocation %ld failed: %ld blocks are left", n, live);
        if (done == refused)
            fail_msg("allocation %ld: %s", n, done ? "passed all the same" : "failed for nothing");
        if (done)
            break;
        assert_true(n < 10000);
    }
}

static const char body[] =
    "{\"jsonrpc\":\"2.0\",\"id\":\"a\\u0041\",\"method\":\"textDocument/didChange\",\"params\":{"
    "\"a\\u0000b\":[1,2.5,true,null,\"\xC3\xA9\"],\"textDocument\":{\"uri\":\"file:///a%20b\"},"
    "\"contentChanges\":[{\"text\":"
    "\"one\\ntwo\\n\\n\\n\\n\\n\\n\\n\\n\\n\\n\\n\\n\\n\\n\\n\\n\\n\"},"
    "{\"range\":{\"start\":{\"line\":1,\"character\":0},\"end\":{\"line\":2,\"character\":0}},"
    "\"text\":\"a\\nb\\nc\\nd\\ne\\nf\\ng\\nh\\ni\\nj\\nk\\nl\\nm\\nn\\no\\np\\nq\\nr\\n\"}]}}";

static bool work_message(void)
{
    struct buffer wire = BUFFER_EMPTY;
    struct frame_reader reader;
    struct frame frame;
    struct rpc_message message = {.kind = RPC_INVALID};
    struct lsp_text text = LSP_TEXT_EMPTY;
    struct json *copy = NULL;
    char *path = NULL;
    bool done = false;

    frame_reader_init(&reader);
    if (frame_write(&wire, body, sizeof(body) - 1) < 0 ||
        frame_reader_feed(&reader, wire.data, wire.length) < 0 ||
        frame_reader_next(&reader, &frame) != 1 ||
        rpc_message_read(&message, frame.body, frame.length) < 0)
        goto out;
    /* Whatever was out of memory, this is a request and never called anything else. */
    if (message.kind != RPC_REQUEST || strcmp(message.id, "\"a\\u0041\"") != 0)
        abort();
    copy = json_copy(message.params);
    if (json_failed(copy) ||
        uri_to_path(json_string(json_member(copy, "textDocument"), "uri"), &path) < 0 ||
        lsp_text_change(&text, json_array(copy, "contentChanges"), LSP_UTF16) < 0)
        goto out;
    done = strcmp(path, "/a b") == 0 && text.line_count == 36;
out:
    free(path);
    json_free(copy);
    lsp_text_release(&text);
    rpc_message_release(&message);
    frame_reader_release(&reader);
    buffer_release(&wire);
    return done;
}

static bool work_answers(void)
{
    static const struct lsp_related related = {"file:///r", {{0, 0}, {0, 1}}, "there"};
    struct lsp_diagnostic diagnostic = {.severity = LSP_ERROR,
                                        .code = "TUKI0110",
                                        .message = "bad \xFF",
                                        .related = &related,
                                        .related_count = 1};
    struct rpc_registry registry;
    struct message out = MESSAGE_EMPTY;
    struct json *list = json_new_array();
    uint64_t first = 0, second = 0;
    char *uri = NULL;
    bool done = false;
    int rc;

    rpc_registry_init(&registry);
    diagnostic.data = json_new_object();
    json_set_real(diagnostic.data, "x", 0.1);
    json_append(list, lsp_diagnostic_json(&diagnostic, true));
    rc = rpc_write_notification(&out, "m", lsp_publish_params("file:///a", 1, list));
    if (rc < 0 && out.bytes.length)
        abort();
    if (rc < 0 || uri_from_path("/a b", &uri) < 0 ||
        rpc_registry_open(&registry, "1", "m", NULL, &first) < 0 ||
        rpc_registry_open(&registry, "2", "m", NULL, &second) < 0)
        goto out;
    buffer_clear(&out.bytes);
    rc = rpc_registry_answer_result(&registry, first, endpoint_hello_json(), &out);
    /* Answered or lost with the connection, but never answered again. */
    if (rpc_registry_find(&registry, first) || (rc < 0 && out.bytes.length))
        abort();
    if (rc < 0)
        goto out;
    rc = rpc_registry_answer_error(&registry, second, RPC_REQUEST_FAILED, "no",
                                   json_new_text("d", 1), &out);
    done = rc == 0;
out:
    free(uri);
    rpc_registry_release(&registry);
    message_release(&out);
    return done;
}

static bool work_cache_path(void)
{
    char *path = NULL;
    int rc = endpoint_cache_path(&path);

    if (rc < 0 && (rc != -ENOMEM || path))
        abort();
    free(path);
    return rc == 0;
}

static bool work_place(void)
{
    struct endpoint endpoint;

    return endpoint_locate(&endpoint, "relative.sock") == 0 && endpoint.chosen;
}

static void test_reading(void **state)
{
    (void)state;
    fail_each(work_message);
}

static void test_answering(void **state)
{
    (void)state;
    fail_each(work_answers);
}

static void test_places(void **state)
{
    (void)state;
    setenv("HOME", "/home/of/somebody/with/a/name/that/does/not/fit/into/sixty/four/bytes", 1);
    fail_each(work_cache_path);
    fail_each(work_place);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reading),
        cmocka_unit_test(test_answering),
        cmocka_unit_test(test_places),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
