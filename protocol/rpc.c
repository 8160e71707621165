#include "protocol/rpc.h"

#include "protocol/frame.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *rpc_code_text(int code)
{
    static const struct {
        int code;
        const char *text;
    } rows[] = {
#define RPC_ERROR(name, code, text, when) {code, text},
#include "protocol/rpc_errors.def"
#undef RPC_ERROR
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        if (rows[i].code == code)
            return rows[i].text;
    return "error";
}

/* --- reading ------------------------------------------------------------------------------- */

static bool is_whole(const char *raw, size_t length)
{
    /* Compared as text, 1.0 and 1e0 would be other ids than 1. */
    return !memchr(raw, '.', length) && !memchr(raw, 'e', length) && !memchr(raw, 'E', length);
}

/* The raw text of a string or of a whole number; NULL where the value is no id, or with *memory
 * false where there was none. */
static char *copy_id(const struct json *value, const char *text, bool *memory)
{
    size_t length;
    const char *raw = json_raw(value, text, &length);
    char *copy;

    *memory = true;
    if (!raw || (json_type(value) == JSON_NUMBER && !is_whole(raw, length)))
        return NULL;
    copy = strndup(raw, length);
    *memory = copy != NULL;
    return copy;
}

static void invalidate(struct rpc_message *message, int code, const char *reason)
{
    message->kind = RPC_INVALID;
    message->code = code;
    message->reason = reason;
}

static void classify(struct rpc_message *message)
{
    const struct json *root = message->root;
    const struct json *id = json_member(root, "id");
    const struct json *method = json_member(root, "method");
    const struct json *params = json_member(root, "params");
    const struct json *result = json_member(root, "result");
    const struct json *error = json_member(root, "error");
    const char *version = json_string(root, "jsonrpc");

    if (json_type(root) == JSON_ARRAY) {
        invalidate(message, RPC_INVALID_REQUEST, "batches are not supported");
        return;
    }
    if (json_type(root) != JSON_OBJECT) {
        invalidate(message, RPC_INVALID_REQUEST, "the message is no object");
        return;
    }
    /* Both sides answering each other's errors would never end. */
    if (!method && (result || error))
        message->answer = false;
    if (!version || strcmp(version, "2.0") != 0) {
        invalidate(message, RPC_INVALID_REQUEST, "`jsonrpc` is not \"2.0\"");
        return;
    }

    if (!method && (result || error)) {
        bool refused = json_type(error) == JSON_OBJECT;

        if (!id || (!message->id && !(refused && json_type(id) == JSON_NULL)))
            invalidate(message, RPC_INVALID_REQUEST, "a response without a valid id");
        else if (error && !refused && json_type(error) != JSON_NULL)
            invalidate(message, RPC_INVALID_REQUEST, "the error of a response is no object");
        else if (!refused && !result)
            invalidate(message, RPC_INVALID_REQUEST, "a response without result");
        message->result = refused ? NULL : result;
        message->error = refused ? error : NULL;
        return;
    }

    if (id && !message->id) {
        invalidate(message, RPC_INVALID_REQUEST, "the id is neither a string nor a whole number");
        return;
    }
    message->method = json_value_string(method);
    if (!message->method) {
        invalidate(message, RPC_INVALID_REQUEST, "`method` is missing or no string");
        return;
    }
    switch (json_type(params)) {
    case JSON_OBJECT:
    case JSON_ARRAY:
        message->params = params;
        break;
    case JSON_ABSENT:
    case JSON_NULL:
        break;
    default:
        invalidate(message, RPC_INVALID_REQUEST, "`params` is neither an object nor an array");
        return;
    }
    message->kind = id ? RPC_REQUEST : RPC_NOTIFICATION;
}

int rpc_message_read(struct rpc_message *message, const char *text, size_t length)
{
    struct json_error error = {0, NULL};
    bool memory = true;

    *message = (struct rpc_message){.kind = RPC_RESPONSE, .answer = true};
    message->root = json_parse(text, length, &error);
    if (!message->root) {
        if (strcmp(error.message, "out of memory") == 0)
            return -ENOMEM;
        invalidate(message, RPC_PARSE_ERROR, error.message);
    } else {
        message->id = copy_id(json_member(message->root, "id"), text, &memory);
        if (memory)
            classify(message);
    }
    if (!message->id && memory) {
        message->id = strdup("null");
        memory = message->id != NULL;
    }
    if (!memory) {
        rpc_message_release(message);
        return -ENOMEM;
    }
    return 0;
}

void rpc_message_release(struct rpc_message *message)
{
    json_free(message->root);
    free(message->id);
    *message = (struct rpc_message){.kind = RPC_INVALID};
}

struct rpc_message rpc_message_take(struct rpc_message *message)
{
    struct rpc_message taken = *message;

    *message = (struct rpc_message){.kind = RPC_INVALID};
    return taken;
}

bool rpc_message_number(const struct rpc_message *message, int64_t *id)
{
    return message->kind == RPC_RESPONSE && json_value_int(json_member(message->root, "id"), id);
}

char *rpc_cancelled_id(const struct rpc_message *message, const char *text)
{
    bool memory;

    return copy_id(json_member(message->params, "id"), text, &memory);
}

bool rpc_id_equal(const char *a, const char *b)
{
    struct json *left = NULL, *right = NULL;
    const char *text_a, *text_b;
    size_t length_a, length_b;
    bool equal = strcmp(a, b) == 0;

    /* Only escapes can make different bytes the same string; of numbers only -0 is written twice.
     */
    if (equal || a[0] != '"' || b[0] != '"' || (!strchr(a, '\\') && !strchr(b, '\\')))
        return equal || (strcmp(a[0] == '-' ? a + 1 : a, "0") == 0 &&
                         strcmp(b[0] == '-' ? b + 1 : b, "0") == 0);
    left = json_parse(a, strlen(a), NULL);
    right = json_parse(b, strlen(b), NULL);
    text_a = json_value_text(left, &length_a);
    text_b = json_value_text(right, &length_b);
    equal = text_a && text_b && length_a == length_b && memcmp(text_a, text_b, length_a) == 0;
    json_free(left);
    json_free(right);
    return equal;
}

/* --- writing ------------------------------------------------------------------------------- */

static struct json *new_body(void)
{
    struct json *body = json_new_object();

    json_set_string(body, "jsonrpc", "2.0");
    return body;
}

static int print_body(struct buffer *out, struct json *body)
{
    int rc = json_print(out, body);

    json_free(body);
    return rc;
}

static int write_body(struct message *out, struct json *body)
{
    int rc = json_write(out, body);

    json_free(body);
    return rc;
}

int rpc_write_request(struct buffer *out, int64_t id, const char *method, struct json *params)
{
    struct json *body = new_body();

    json_set_int(body, "id", id);
    json_set_string(body, "method", method);
    if (params)
        json_set(body, "params", params);
    return print_body(out, body);
}

int rpc_write_notification(struct message *out, const char *method, struct json *params)
{
    struct json *body = new_body();

    json_set_string(body, "method", method);
    if (params)
        json_set(body, "params", params);
    return write_body(out, body);
}

static struct json *result_body(const char *id, struct json *result)
{
    struct json *body = new_body();

    json_set_raw(body, "id", id, strlen(id));
    json_set(body, "result", result ? result : json_new_null());
    return body;
}

int rpc_write_result(struct buffer *out, const char *id, struct json *result)
{
    return print_body(out, result_body(id, result));
}

int rpc_write_error(struct buffer *out, const char *id, int code, const char *message,
                    struct json *data)
{
    struct json *body = new_body();
    struct json *error = json_new_object();

    json_set_int(error, "code", code);
    json_set_string(error, "message", message ? message : rpc_code_text(code));
    if (data)
        json_set(error, "data", data);
    json_set_raw(body, "id", id, strlen(id));
    json_set(body, "error", error);
    return print_body(out, body);
}

/* --- exactly one answer -------------------------------------------------------------------- */

void rpc_registry_init(struct rpc_registry *registry)
{
    *registry = (struct rpc_registry){.entries = NULL};
}

/* FNV-1a. */
static uint64_t hash_bytes(const char *bytes, size_t length)
{
    uint64_t hash = 14695981039346656037u;

    for (size_t i = 0; i < length; i++)
        hash = (hash ^ (unsigned char)bytes[i]) * 1099511628211u;
    return hash ^ hash >> 32;
}

/* Equal ids (rpc_id_equal) have equal hashes. */
static uint64_t hash_id(const char *id)
{
    size_t length = strlen(id);
    uint64_t hash;

    if (id[0] == '"' && memchr(id, '\\', length)) {
        struct json *value = json_parse(id, length, NULL);
        const char *text = json_value_text(value, &length);

        hash = text ? hash_bytes(text, length) : 0;
        json_free(value);
        return hash;
    }
    if (id[0] == '"')
        return hash_bytes(id + 1, length >= 2 ? length - 2 : 0);
    return strcmp(id, "-0") == 0 ? hash_bytes("0", 1) : hash_bytes(id, length);
}

static void pending_free(struct rpc_pending *pending)
{
    if (!pending)
        return;
    free(pending->id);
    free(pending);
}

void rpc_registry_release(struct rpc_registry *registry)
{
    for (size_t i = 0; i < registry->count; i++)
        pending_free(registry->entries[i]);
    free(registry->entries);
    free(registry->by_id);
    registry->entries = registry->by_id = NULL;
    /* `last` stays: a ticket of before is still known as one that was given. */
    registry->count = registry->capacity = 0;
}

int rpc_registry_open(struct rpc_registry *registry, const char *id, const char *method, void *work,
                      uint64_t *ticket)
{
    struct rpc_pending *pending = NULL;

    *ticket = 0;
    if (rpc_registry_find_id(registry, id))
        return -EEXIST;
    if (registry->count == RPC_PENDING_LIMIT)
        return -ENOSPC;
    if (!registry->by_id) {
        registry->by_id = calloc(RPC_BUCKETS, sizeof(*registry->by_id));
        if (!registry->by_id)
            return -ENOMEM;
    }
    if (registry->count == registry->capacity) {
        size_t capacity = registry->capacity ? registry->capacity * 2 : 16;
        struct rpc_pending **entries =
            realloc(registry->entries, capacity * sizeof(*registry->entries));

        if (!entries)
            return -ENOMEM;
        registry->entries = entries;
        registry->capacity = capacity;
    }
    pending = calloc(1, sizeof(*pending));
    if (!pending)
        return -ENOMEM;
    pending->id = strdup(id);
    if (!pending->id) {
        pending_free(pending);
        return -ENOMEM;
    }
    pending->ticket = *ticket = ++registry->last;
    pending->method = method;
    pending->work = work;
    pending->hash = hash_id(id);
    pending->next = registry->by_id[pending->hash % RPC_BUCKETS];
    registry->by_id[pending->hash % RPC_BUCKETS] = pending;
    registry->entries[registry->count++] = pending;
    return 0;
}

/* Index of the first entry whose ticket is not below `ticket`. */
static size_t lower_bound(const struct rpc_registry *registry, uint64_t ticket)
{
    size_t low = 0, high = registry->count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (registry->entries[middle]->ticket < ticket)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

struct rpc_pending *rpc_registry_find(struct rpc_registry *registry, uint64_t ticket)
{
    size_t at = lower_bound(registry, ticket);

    if (at == registry->count || registry->entries[at]->ticket != ticket)
        return NULL;
    return registry->entries[at];
}

struct rpc_pending *rpc_registry_find_id(struct rpc_registry *registry, const char *id)
{
    uint64_t hash = hash_id(id);
    struct rpc_pending *pending = registry->by_id ? registry->by_id[hash % RPC_BUCKETS] : NULL;

    while (pending && (pending->hash != hash || !rpc_id_equal(pending->id, id)))
        pending = pending->next;
    return pending;
}

struct rpc_pending *rpc_registry_cancel(struct rpc_registry *registry, const char *id)
{
    struct rpc_pending *pending = rpc_registry_find_id(registry, id);

    if (pending)
        pending->cancelled = true;
    return pending;
}

size_t rpc_registry_count(const struct rpc_registry *registry)
{
    return registry->count;
}

struct rpc_pending *rpc_registry_at(const struct rpc_registry *registry, size_t index)
{
    return index < registry->count ? registry->entries[index] : NULL;
}

/* Takes the request out of the registry: the one place that an answer can start from. */
static int close_request(struct rpc_registry *registry, uint64_t ticket,
                         struct rpc_pending **pending)
{
    size_t at = lower_bound(registry, ticket);
    struct rpc_pending **link;

    if (at == registry->count || registry->entries[at]->ticket != ticket)
        return ticket && ticket <= registry->last ? -EALREADY : -ENOENT;
    *pending = registry->entries[at];
    link = &registry->by_id[(*pending)->hash % RPC_BUCKETS];
    while (*link != *pending)
        link = &(*link)->next;
    *link = (*pending)->next;
    registry->count--;
    memmove(registry->entries + at, registry->entries + at + 1,
            (registry->count - at) * sizeof(*registry->entries));
    return 0;
}

/* The result, or the error that says why it cannot be sent. */
static int write_answer(struct message *out, const char *id, struct json *result)
{
    int rc = write_body(out, result_body(id, result));
    size_t length = message_length(out);
    char text[120];

    if (rc < 0 || length <= FRAME_BODY_LIMIT)
        return rc;
    message_release(out);
    snprintf(text, sizeof(text), "the answer has %zu bytes; a message holds at most %zu MiB",
             length, FRAME_BODY_LIMIT >> 20);
    return rpc_write_error(&out->bytes, id, RPC_REQUEST_FAILED, text, NULL);
}

int rpc_registry_answer_result(struct rpc_registry *registry, uint64_t ticket, struct json *result,
                               struct message *out)
{
    struct rpc_pending *pending = NULL;
    int rc = close_request(registry, ticket, &pending);

    if (rc == 0)
        rc = write_answer(out, pending->id, result);
    else
        json_free(result);
    pending_free(pending);
    return rc;
}

int rpc_registry_answer_error(struct rpc_registry *registry, uint64_t ticket, int code,
                              const char *text, struct json *data, struct message *out)
{
    struct rpc_pending *pending = NULL;
    int rc = close_request(registry, ticket, &pending);

    if (rc == 0)
        rc = rpc_write_error(&out->bytes, pending->id, code, text, data);
    else
        json_free(data);
    pending_free(pending);
    return rc;
}
