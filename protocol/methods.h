#ifndef PROTOCOL_METHODS_H
#define PROTOCOL_METHODS_H

#include <stdbool.h>
#include <stddef.h>

#include "protocol/rpc.h"

/* The methods of methods.def, and which of them may come when. Constant data: any thread. */

enum method_id {
#define METHOD_IN(id, name, kind, states, doc) METHOD_##id,
#define METHOD_OUT(id, name, kind, doc) METHOD_##id,
#include "protocol/methods.def"
#undef METHOD_IN
#undef METHOD_OUT
    METHOD_COUNT
};

/* The states of a connection; values are bits of method.states. */
enum method_state { METHOD_NEW = 1, METHOD_RUNNING = 2, METHOD_SHUT_DOWN = 4 };

struct method {
    enum method_id id;
    const char *name;
    bool incoming;      /* from the client to the server */
    enum rpc_kind kind; /* RPC_REQUEST or RPC_NOTIFICATION */
    unsigned states;    /* in which the server takes it; 0 for outgoing ones */
    const char *documentation;
};

const struct method *method_get(enum method_id id);
const char *method_name(enum method_id id);

/* Either direction; NULL where there is none. */
const struct method *method_find(const char *name);

/*
 * Whether to handle an incoming request or notification (the table "Lifecycle of a connection"):
 *   0  handle it: *method is its row
 *   1  drop it silently
 *  <0  the error code to answer with (requests only)
 * A request's name sent as a notification, or the other way round, is an unknown method; so is one
 * that only the server sends.
 */
#define METHOD_DROP 1
int method_admit(enum method_state state, const struct rpc_message *message,
                 const struct method **method);

#endif
