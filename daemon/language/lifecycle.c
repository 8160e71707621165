#include "daemon/server/memory.h"
#include "daemon/server/parent.h"
#include "daemon/server/publish.h"
#include "daemon/server/server.h"
#include "daemon/server/session.h"

#include <stdlib.h>
#include <string.h>

/* --- initialize ------------------------------------------------------------------------------- */

static void read_client(struct session *session, const struct json *params)
{
    const struct json *capabilities = json_member(params, "capabilities");
    const struct json *document = json_member(capabilities, "textDocument");
    const struct json *workspace = json_member(capabilities, "workspace");
    const struct json *publish = json_member(document, "publishDiagnostics");

    session->encoding = lsp_encoding_negotiate(params);
    session->related_information = json_bool(publish, "relatedInformation", false);
    session->work_done_progress =
        json_bool(json_member(capabilities, "window"), "workDoneProgress", false);
    /* Pull without a way to say that things changed would leave an editor behind. */
    session->pull = json_object(document, "diagnostic") != NULL &&
                    json_bool(json_member(workspace, "diagnostics"), "refreshSupport", false);
    if (session->pull)
        session->related_information =
            json_bool(json_member(document, "diagnostic"), "relatedInformation",
                      session->related_information);
}

static void read_folders(struct session *session, const struct json *params)
{
    const struct json *folders = json_array(params, "workspaceFolders");
    const char *root = json_string(params, "rootUri");

    json_each(folder, folders) session_add_root(session, json_string(folder, "uri"));
    if (!folders && root)
        session_add_root(session, root);
}

static struct json *server_capabilities(const struct session *session)
{
    struct json *capabilities = json_new_object();
    struct json *sync = json_new_object(), *save = json_new_object();
    struct json *workspace = json_new_object(), *folders = json_new_object();

    json_set_string(capabilities, "positionEncoding", lsp_encoding_name(session->encoding));
    json_set_bool(sync, "openClose", true);
    json_set_int(sync, "change", 2);
    json_set_bool(save, "includeText", false);
    json_set(sync, "save", save);
    json_set(capabilities, "textDocumentSync", sync);
    json_set_bool(capabilities, "hoverProvider", true);
    if (session->pull) {
        struct json *diagnostic = json_new_object();

        json_set_string(diagnostic, "identifier", "onnxgpu");
        json_set_bool(diagnostic, "interFileDependencies", true);
        json_set_bool(diagnostic, "workspaceDiagnostics", false);
        json_set(capabilities, "diagnosticProvider", diagnostic);
    }
    json_set_bool(folders, "supported", true);
    json_set_bool(folders, "changeNotifications", true);
    json_set(workspace, "workspaceFolders", folders);
    json_set(capabilities, "workspace", workspace);
    return capabilities;
}

void method_initialize(struct session *session, const struct request *request)
{
    struct json *result = json_new_object(), *info = json_new_object();

    session->state = METHOD_RUNNING;
    session->editor = true;
    read_client(session, request->params);
    read_folders(session, request->params);
    parent_watch(session, json_int(request->params, "processId", 0));
    json_set_string(info, "name", "onnxgpud");
    json_set_string(info, "version", ENDPOINT_BUILD);
    json_set(result, "capabilities", server_capabilities(session));
    json_set(result, "serverInfo", info);
    answer_result(session->server, request->answer, result);
}

/* Scanning comes after the answer. */
void method_initialized(struct session *session, const struct request *request)
{
    (void)request;
    if (session->ready || !session->editor)
        return;
    session->ready = true;
    for (size_t i = 0; i < session->root_count; i++)
        workspace_add_root(session->server->workspace, session->roots[i]);
    publish_all(session->server->publish);
}

/* --- the end -------------------------------------------------------------------------------- */

/* The requests that are open, the oldest first; in the end that to shut down, which is the last. */
static bool give_up_one(struct session *session, void *state)
{
    const struct answer *last = state;
    struct rpc_pending *pending = rpc_registry_at(&session->registry, 0);
    const struct answer answer = {session->id, pending ? pending->ticket : last->ticket};

    if (answer.ticket == last->ticket) {
        session->state = METHOD_SHUT_DOWN;
        answer_result(session->server, *last, NULL);
        return false;
    }
    if (pending->work)
        jobs_cancel(pending->work);
    answer_error(session->server, answer, RPC_SERVER_CANCELLED, "the server is shutting down");
    return true;
}

/* What is open is given up, so that every request has its answer before the last one. */
void method_shutdown(struct session *session, const struct request *request)
{
    struct answer *last = memory_new(sizeof *last);

    *last = request->answer;
    session_by_turns(session, give_up_one, free, last);
}

void method_exit(struct session *session, const struct request *request)
{
    (void)request;
    session_end(session, session->state == METHOD_SHUT_DOWN ? 0 : 1, true);
}

/* --- what may come at any time ---------------------------------------------------------------- */

void method_cancel_request(struct session *session, const struct request *request)
{
    char *id = rpc_cancelled_id(request->message, request->text);
    struct rpc_pending *pending = id ? rpc_registry_cancel(&session->registry, id) : NULL;

    free(id);
    if (!pending)
        return;
    if (pending->work)
        jobs_cancel(pending->work);
    answer_error(session->server, (struct answer){session->id, pending->ticket},
                 RPC_REQUEST_CANCELLED, "the request was cancelled");
}

void method_set_trace(struct session *session, const struct request *request)
{
    (void)session;
    (void)request;
}

/* Progress says that it cannot be cancelled: what is compiled in the background is needed by
 * whoever asks next. */
void method_work_done_progress_cancel(struct session *session, const struct request *request)
{
    (void)session;
    (void)request;
}
