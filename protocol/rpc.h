#ifndef PROTOCOL_RPC_H
#define PROTOCOL_RPC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "protocol/buffer.h"
#include "protocol/json.h"

/*
 * JSON-RPC 2.0 as LSP uses it: what a body is, what an answer looks like, and that every request
 * gets exactly one.
 *
 * Everything here is about bodies; frame.h puts them into frames. The writers append the text of
 * one body to `out`. All of it belongs to one thread, the one that owns the connection.
 */

enum rpc_code {
#define RPC_ERROR(name, code, text, when) RPC_##name = code,
#include "protocol/rpc_errors.def"
#undef RPC_ERROR
};

/* The standard text of a code, for answers that have nothing better; never NULL. */
const char *rpc_code_text(int code);

/* --- reading ------------------------------------------------------------------------------- */

enum rpc_kind { RPC_REQUEST, RPC_NOTIFICATION, RPC_RESPONSE, RPC_INVALID };

struct rpc_message {
    enum rpc_kind kind;
    struct json *root;  /* owned; NULL where the body is no JSON */
    char *id;           /* owned: the id's very bytes, as a C string; "null" where there is none
                           to echo (and for a response that answers what we could not send) */
    const char *method; /* of requests and notifications; borrowed from root */
    const struct json *params; /* object or array; NULL where absent or null */
    const struct json *result; /* of a response without error */
    const struct json *error;  /* of a response with one: an object */
    int code;                  /* of an invalid message: the error to answer … */
    const char *reason;        /* … and why, static */
    bool answer;               /* of an invalid message: false where answering could start a loop,
                                  because it looks like a response */
};

/* Reads one body. 0, or -ENOMEM and the message is empty. The text is not needed afterwards. */
int rpc_message_read(struct rpc_message *message, const char *text, size_t length);
void rpc_message_release(struct rpc_message *message);
/* Hands the message over; what it was borrowed from stays valid. The one that is left is empty. */
struct rpc_message rpc_message_take(struct rpc_message *message);

/* The id of a response to one of our own requests, whose ids are numbers. False: not one of ours.
 */
bool rpc_message_number(const struct rpc_message *message, int64_t *id);

/* The raw id in the params of `$/cancelRequest`, as a new C string; NULL where it is none (or
 * memory is out). `text` is the body that the message was read from. */
char *rpc_cancelled_id(const struct rpc_message *message, const char *text);

/* True where two raw ids are the same JSON value: "a" and "\u0061" are, 1 and "1" are not. */
bool rpc_id_equal(const char *a, const char *b);

/* --- writing ------------------------------------------------------------------------------- */

/*
 * Each appends one body. `id` is raw JSON text, result, params and data are taken (NULL: absent,
 * and a result is then null). 0 or -ENOMEM; nothing is appended then. A notification may be long,
 * and holds the long texts in its params instead of a copy.
 *
 * rpc_write_result and rpc_write_error are for what the registry does not know: invalid messages
 * and blocking clients. Requests of a connection are answered through rpc_registry_answer_*.
 */
int rpc_write_request(struct buffer *out, int64_t id, const char *method, struct json *params);
int rpc_write_notification(struct message *out, const char *method, struct json *params);
int rpc_write_result(struct buffer *out, const char *id, struct json *result);
int rpc_write_error(struct buffer *out, const char *id, int code, const char *message,
                    struct json *data);

/* --- exactly one answer -------------------------------------------------------------------- */

/* Requests that one connection may have open. */
#define RPC_PENDING_LIMIT 4096
#define RPC_BUCKETS 1024 /* so that an id is found without a look at the others */

struct rpc_pending {
    uint64_t ticket;    /* never 0, never used twice by a registry */
    char *id;           /* raw, owned by the registry */
    const char *method; /* as given to open; borrowed */
    void *work;     /* the caller's, for cancelling what runs; borrowed, may be set at any time */
    bool cancelled; /* rpc_registry_cancel was called */

    /* Of rpc.c. */
    uint64_t hash;            /* of the id as a value */
    struct rpc_pending *next; /* in its bucket */
};

/*
 * The requests of one connection that are not answered yet. Work that runs elsewhere remembers the
 * ticket, a number, and nothing dangles when the connection goes.
 */
struct rpc_registry {
    struct rpc_pending **entries; /* by ascending ticket */
    struct rpc_pending **by_id;   /* RPC_BUCKETS lists; NULL before the first request */
    size_t count;
    size_t capacity;
    uint64_t last; /* the last ticket given */
};

void rpc_registry_init(struct rpc_registry *registry);

/* Forgets all that is open (the connection is gone, nobody can be answered). */
void rpc_registry_release(struct rpc_registry *registry);

/*
 * Opens a request. `id` is raw and copied, `method` is borrowed until the answer (a name from
 * methods.def). 0 with the ticket in *ticket; -EEXIST where the same id is open already (answer
 * with rpc_write_error, INVALID_REQUEST); -ENOSPC at RPC_PENDING_LIMIT (REQUEST_FAILED); -ENOMEM.
 */
int rpc_registry_open(struct rpc_registry *registry, const char *id, const char *method, void *work,
                      uint64_t *ticket);

/* Borrowed until the answer; NULL where it was answered already or never opened. */
struct rpc_pending *rpc_registry_find(struct rpc_registry *registry, uint64_t ticket);
struct rpc_pending *rpc_registry_find_id(struct rpc_registry *registry, const char *id);

/* Marks the open request with this raw id and returns it; NULL where none is open (that is no
 * error: the answer may have crossed the cancel). It still has to be answered. */
struct rpc_pending *rpc_registry_cancel(struct rpc_registry *registry, const char *id);

/* Requests open. rpc_registry_at gives them by ascending ticket. */
size_t rpc_registry_count(const struct rpc_registry *registry);
struct rpc_pending *rpc_registry_at(const struct rpc_registry *registry, size_t index);

/*
 * Answers a request and closes it: puts the body into `out`, which is empty, and takes result or
 * data. A result that is longer than a frame may be (frame.h) becomes the error REQUEST_FAILED,
 * which says so. 0; -EALREADY where that ticket was answered before, -ENOENT where it was never
 * given (both are broken invariants of the caller, and out stays empty); -ENOMEM: the request is
 * closed, and since no answer could be made, the connection has to end.
 */
int rpc_registry_answer_result(struct rpc_registry *registry, uint64_t ticket, struct json *result,
                               struct message *out);
int rpc_registry_answer_error(struct rpc_registry *registry, uint64_t ticket, int code,
                              const char *text, struct json *data, struct message *out);

#endif
