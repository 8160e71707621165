#include "daemon/server/server.h"
#include "daemon/server/session.h"

/* onnxgpu/hello: opens a tool's session. Another build may speak; another protocol may not. */
void method_hello(struct session *session, const struct request *request)
{
    struct endpoint_hello hello;
    int rc = endpoint_hello_read(request->params, &hello);

    if (rc < 0) {
        answer_error(session->server, request->answer, RPC_INVALID_PARAMS,
                     "this daemon (%s) speaks protocol %d", ENDPOINT_BUILD, ENDPOINT_PROTOCOL);
        return;
    }
    session->state = METHOD_RUNNING;
    answer_result(session->server, request->answer, endpoint_hello_json());
}
