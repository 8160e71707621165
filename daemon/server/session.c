#include "daemon/server/session.h"

#include "daemon/server/channel.h"
#include "daemon/server/incoming.h"
#include "daemon/server/log.h"
#include "daemon/server/memory.h"
#include "daemon/server/parent.h"
#include "daemon/server/path.h"
#include "daemon/server/progress.h"
#include "daemon/server/publish.h"
#include "daemon/server/server.h"
#include "daemon/server/turn.h"
#include "protocol/uri.h"
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* With more than this the client is behind. */
#define BEHIND ((size_t)1024 * 1024)

/* --- sending -------------------------------------------------------------------------------- */

void session_send(struct session *session, struct message *body)
{
    if (session->over || !session->channel) {
        message_release(body);
        return;
    }
    turn_did(session->server->loop, 1);
    if (body->bytes.failed || frame_message(body) < 0) {
        log_line(LOG_ERROR, "session %llu: a message could not be made",
                 (unsigned long long)session->id);
        message_release(body);
        session_end(session, 1, false);
        return;
    }
    if (!channel_send(session->channel, body)) {
        log_line(LOG_WARNING, "session %llu: the client does not read; closed",
                 (unsigned long long)session->id);
        session_end(session, 1, false);
    }
}

bool session_is_behind(const struct session *session)
{
    return session->channel && channel_queued(session->channel) > BEHIND;
}

void session_notify(struct session *session, enum method_id method, struct json *params,
                    bool optional)
{
    struct message body = MESSAGE_EMPTY;

    if (session->over || !session->channel || (optional && session_is_behind(session))) {
        json_free(params);
        return;
    }
    rpc_write_notification(&body, method_name(method), params);
    if (body.bytes.length == 0)
        body.bytes.failed = true;
    session_send(session, &body);
}

void session_ask(struct session *session, enum method_id method, struct json *params,
                 session_reply *function, void *state)
{
    struct message body = MESSAGE_EMPTY;

    if (session->over || !session->channel) {
        json_free(params);
        function(session, state, NULL, NULL);
        return;
    }
    session->asked = memory_grow(session->asked, session->asked_count, sizeof *session->asked);
    session->asked[session->asked_count++] =
        (struct session_asked){++session->last_request, function, state};
    rpc_write_request(&body.bytes, session->last_request, method_name(method), params);
    if (body.bytes.length == 0)
        body.bytes.failed = true;
    session_send(session, &body);
}

struct session *session_find(struct server *server, uint64_t id)
{
    for (struct session *session = server->sessions; session; session = session->next)
        if (session->id == id)
            return session;
    return NULL;
}

struct session *answer_session(struct server *server, struct answer answer)
{
    struct session *session = session_find(server, answer.session);

    return session && !session->over && rpc_registry_find(&session->registry, answer.ticket)
               ? session
               : NULL;
}

bool answer_open(struct server *server, struct answer answer)
{
    return answer_session(server, answer) != NULL;
}

void answer_result(struct server *server, struct answer answer, struct json *result)
{
    struct session *session = answer_session(server, answer);
    struct message body = MESSAGE_EMPTY;
    int rc;

    if (!session) {
        json_free(result);
        return;
    }
    rc = rpc_registry_answer_result(&session->registry, answer.ticket, result, &body);
    if (rc < 0)
        body.bytes.failed = true;
    session_send(session, &body);
}

void answer_error(struct server *server, struct answer answer, int code, const char *format, ...)
{
    struct session *session = answer_session(server, answer);
    struct message body = MESSAGE_EMPTY;
    char message[512];
    va_list arguments;

    if (!session)
        return;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    if (rpc_registry_answer_error(&session->registry, answer.ticket, code, message, NULL, &body) <
        0)
        body.bytes.failed = true;
    session_send(session, &body);
}

/* --- life ----------------------------------------------------------------------------------- */

static void session_free(struct session *session)
{
    struct server *server = session->server;
    struct session **at = &server->sessions;
    bool stdio = session->stdio;
    int exit_code = session->exit_code;

    while (*at != session)
        at = &(*at)->next;
    *at = session->next;
    if (session->turns.step)
        session->turns.end(session->turns.state);
    frame_reader_release(&session->reader);
    for (size_t i = 0; i < session->root_count; i++)
        free(session->roots[i]);
    free(session->roots);
    free(session->asked);
    free(session);
    server_session_closed(server, stdio, exit_code);
}

static void closed(void *state)
{
    struct session *session = state;

    session->gone = true;
    if (session->ended)
        session_free(session);
}

static void dispose(void *thing)
{
    struct message *message = thing;

    message_release(message);
    free(message);
}

static void sent(void *state, struct message *message)
{
    struct session *session = state;
    struct message *taken;

    /* Tens of mebibytes take their time. */
    if (message->cut_count || message->bytes.capacity >= MESSAGE_CUT) {
        taken = memory_new(sizeof *taken);
        *taken = *message;
        *message = (struct message)MESSAGE_EMPTY;
        jobs_dispose(session->server->jobs, dispose, taken);
    }
    if (!session->over)
        publish_late(session);
}

struct session *session_new(struct server *server, int input, int output, bool stdio, int *error)
{
    struct session *session = memory_new(sizeof *session);
    const struct channel_events events = {.state = session,
                                          .received = incoming_received,
                                          .ended = incoming_ended,
                                          .sent = sent,
                                          .closed = closed};

    session->server = server;
    session->id = ++server->last_session;
    session->stdio = stdio;
    session->state = METHOD_NEW;
    frame_reader_init(&session->reader);
    session->reader.split = true;
    rpc_registry_init(&session->registry);
    session->channel = channel_new(server->loop, input, output, &events, error);
    if (!session->channel) {
        free(session);
        return NULL;
    }
    session->next = server->sessions;
    server->sessions = session;
    *error = channel_start(session->channel);
    if (*error < 0)
        session_end(session, 1, false);
    return session;
}

/* One thing that it has open; false: there is none. */
static bool close_one(struct session *session)
{
    struct server *server = session->server;
    struct document *document;
    char *path;

    /* Where the daemon leaves, nobody sees it. */
    if (session->stdio || server->leaving)
        return false;
    document = documents_of(&server->documents, session->id);
    if (document) {
        path = memory_text(document->path);
        text_drop_later(documents_close(&server->documents, document), server->jobs);
        if (path)
            workspace_edited(server->workspace, path);
        free(path);
        return true;
    }
    if (!session->root_count)
        return false;
    path = session->roots[--session->root_count];
    workspace_remove_root(server->workspace, path);
    free(path);
    return true;
}

void session_end_some(struct session *session)
{
    bool more = true;

    if (session->ended)
        return;
    while (more && close_one(session))
        more = turn_more(session->server->loop);
    if (!more) {
        server_come_back(session->server);
        return;
    }
    session->ended = true;
    if (session->gone)
        session_free(session);
}

/* What works for it is not needed any more. */
static void give_up(struct session *session)
{
    for (size_t i = 0; i < rpc_registry_count(&session->registry); i++) {
        const struct rpc_pending *pending = rpc_registry_at(&session->registry, i);

        if (pending->work)
            jobs_cancel(pending->work);
    }
    rpc_registry_release(&session->registry);
}

void session_end(struct session *session, int exit_code, bool flush)
{
    if (session->over)
        return;
    session->over = true;
    session->exit_code = exit_code;
    for (size_t i = 0; i < session->asked_count; i++)
        session->asked[i].function(session, session->asked[i].state, NULL, NULL);
    session->asked_count = 0;
    progress_forget(session);
    publish_forget(session);
    parent_forget(session);
    give_up(session);
    channel_close(session->channel, flush);
    server_come_back(session->server);
}

static char *root_of(const char *uri)
{
    char *path = NULL, *canonical;

    if (!uri || uri_to_path(uri, &path) < 0)
        return NULL;
    canonical = path_canonical(path);
    free(path);
    return canonical;
}

void session_add_root(struct session *session, const char *uri)
{
    char *path = root_of(uri);

    for (size_t i = 0; path && i < session->root_count; i++)
        if (strcmp(session->roots[i], path) == 0) {
            free(path);
            return;
        }
    if (!path)
        return;
    session->roots = memory_grow(session->roots, session->root_count, sizeof *session->roots);
    session->roots[session->root_count++] = path;
    if (session->ready)
        workspace_add_root(session->server->workspace, path);
}

void session_remove_root(struct session *session, const char *uri)
{
    char *path = root_of(uri);

    for (size_t i = 0; path && i < session->root_count; i++)
        if (strcmp(session->roots[i], path) == 0) {
            free(session->roots[i]);
            session->roots[i] = session->roots[--session->root_count];
            if (session->ready)
                workspace_remove_root(session->server->workspace, path);
            break;
        }
    free(path);
}
