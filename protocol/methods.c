#include "protocol/methods.h"

#include <string.h>

#define REQUEST RPC_REQUEST
#define NOTIFICATION RPC_NOTIFICATION
#define N METHOD_NEW
#define R METHOD_RUNNING
#define S METHOD_SHUT_DOWN

static const struct method methods[METHOD_COUNT] = {
#define METHOD_IN(id, name, kind, states, doc)                                                     \
    [METHOD_##id] = {METHOD_##id, name, true, kind, states, doc},
#define METHOD_OUT(id, name, kind, doc) [METHOD_##id] = {METHOD_##id, name, false, kind, 0, doc},
#include "protocol/methods.def"
#undef METHOD_IN
#undef METHOD_OUT
};

const struct method *method_get(enum method_id id)
{
    return &methods[id];
}

const char *method_name(enum method_id id)
{
    return methods[id].name;
}

const struct method *method_find(const char *name)
{
    for (size_t i = 0; i < METHOD_COUNT; i++)
        if (strcmp(methods[i].name, name) == 0)
            return &methods[i];
    return NULL;
}

int method_admit(enum method_state state, const struct rpc_message *message,
                 const struct method **method)
{
    const struct method *row = method_find(message->method);

    *method = NULL;
    if (row && (!row->incoming || row->kind != message->kind))
        row = NULL;
    if (row && (row->states & state)) {
        *method = row;
        return 0;
    }
    if (message->kind != RPC_REQUEST)
        return METHOD_DROP;
    switch (state) {
    case METHOD_NEW:
        return RPC_NOT_INITIALIZED;
    case METHOD_RUNNING:
        /* A known request that is not for this state opens a session that is open already. */
        return row ? RPC_INVALID_REQUEST : RPC_METHOD_NOT_FOUND;
    case METHOD_SHUT_DOWN:
        break;
    }
    return RPC_INVALID_REQUEST;
}
