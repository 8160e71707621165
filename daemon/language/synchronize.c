#include "daemon/language/pull.h"
#include "daemon/server/log.h"
#include "daemon/server/memory.h"
#include "daemon/server/path.h"
#include "daemon/server/server.h"
#include "daemon/server/session.h"
#include "protocol/uri.h"

#include <stdlib.h>
#include <string.h>

static struct document *find(struct session *session, const struct request *request)
{
    const char *uri = json_string(json_member(request->params, "textDocument"), "uri");

    return uri ? documents_find(&session->server->documents, session->id, uri) : NULL;
}

/* --- texts ---------------------------------------------------------------------------------- */

/*
 * A document's new text, made on a worker because it is large, or much is changed in it. Messages
 * that come behind wait for it.
 */
struct text_work {
    struct job job;
    struct server *server;
    uint64_t session;
    struct rpc_message message; /* what is borrowed below lives in it */
    char *uri;
    int64_t version;
    const char *bytes; /* of a document that is opened; NULL: it is changed */
    size_t length;
    const struct json *changes;
    enum lsp_encoding encoding;
    struct text *text; /* held; before and after */
    int error;
};

static void opened(struct session *session, const char *uri, int64_t version, struct text *text)
{
    struct server *server = session->server;
    struct document *document = documents_open(&server->documents, session->id, uri, version, text);

    if (document->path)
        workspace_edited(server->workspace, document->path);
}

static void changed(struct session *session, struct document *document)
{
    if (!document->path)
        return;
    pull_content_modified(session, document->path);
    workspace_edited(session->server->workspace, document->path);
}

static void log_refused(const char *uri, int error)
{
    log_line(LOG_WARNING, "%s: a change could not be applied: %s", uri, strerror(-error));
}

static void text_run(struct job *job)
{
    struct text_work *work = (struct text_work *)job;

    if (work->bytes)
        work->text = text_new(work->bytes, work->length, &work->error);
    else
        work->error = text_change(&work->text, work->changes, work->encoding);
    rpc_message_release(&work->message);
}

static void take_text(struct session *session, struct text_work *work)
{
    struct documents *documents = &session->server->documents;
    struct document *document = documents_find(documents, session->id, work->uri);

    if (work->error < 0) {
        log_refused(work->uri, work->error);
    } else if (work->bytes) {
        opened(session, work->uri, work->version, work->text);
        work->text = NULL;
    } else if (document) {
        work->text = document_set(documents, document, work->version, work->text);
        changed(session, document);
    }
}

static void text_done(struct job *job)
{
    struct text_work *work = (struct text_work *)job;
    struct session *session = session_find(work->server, work->session);

    if (session && !session->over && !job_cancelled(job)) {
        take_text(session, work);
        if (!session->over)
            session_go_on(session);
    }
    text_drop_later(work->text, work->server->jobs);
    rpc_message_release(&work->message);
    free(work->uri);
    free(work);
}

static struct text_work *text_work_new(struct session *session, const char *uri, int64_t version)
{
    struct text_work *work = memory_new(sizeof *work);

    work->job.run = text_run;
    work->job.done = text_done;
    work->job.priority = JOB_INTERACTIVE;
    work->server = session->server;
    work->session = session->id;
    work->uri = memory_text(uri);
    work->version = version;
    return work;
}

static void send_to_worker(struct session *session, const struct request *request,
                           struct text_work *work)
{
    work->message = rpc_message_take(request->message);
    session_hold(session);
    jobs_submit(session->server->jobs, &work->job);
}

void method_did_open(struct session *session, const struct request *request)
{
    const struct json *item = json_member(request->params, "textDocument");
    int64_t version = json_int(item, "version", 0);
    const char *uri = json_string(item, "uri"), *bytes;
    size_t length;
    struct text *text;
    int error;

    bytes = json_value_text(json_member(item, "text"), &length);
    if (!uri || !bytes)
        return;
    if (length > TEXT_SMALL) {
        struct text_work *work = text_work_new(session, uri, version);

        work->bytes = bytes;
        work->length = length;
        send_to_worker(session, request, work);
        return;
    }
    text = text_new(bytes, length, &error);
    if (text)
        opened(session, uri, version, text);
    else
        log_refused(uri, error);
}

void method_did_change(struct session *session, const struct request *request)
{
    struct document *document = find(session, request);
    const struct json *item = json_member(request->params, "textDocument");
    const struct json *changes = json_member(request->params, "contentChanges");
    int64_t version;
    int rc;

    if (!document)
        return;
    version = json_int(item, "version", document->version + 1);
    if (!text_is_little_work(document->text, changes)) {
        struct text_work *work = text_work_new(session, document->uri, version);

        work->text = text_hold(document->text);
        work->changes = changes;
        work->encoding = session->encoding;
        send_to_worker(session, request, work);
        return;
    }
    rc =
        document_change(&session->server->documents, document, version, changes, session->encoding);
    if (rc < 0)
        log_refused(document->uri, rc);
    else
        changed(session, document);
}

/* --- the rest ------------------------------------------------------------------------------- */

void method_did_save(struct session *session, const struct request *request)
{
    struct document *document = find(session, request);

    if (!document || !document->path)
        return;
    document_saved(&session->server->documents, document);
    workspace_edited(session->server->workspace, document->path);
}

void method_did_close(struct session *session, const struct request *request)
{
    struct document *document = find(session, request);
    char *path;

    if (!document)
        return;
    path = memory_text(document->path);
    text_drop_later(documents_close(&session->server->documents, document), session->server->jobs);
    if (path)
        workspace_edited(session->server->workspace, path);
    free(path);
}

struct watched_files {
    struct server *server;
    struct rpc_message message;
    const struct json *next; /* of its changes */
};

static bool take_watched_file(struct session *session, void *state)
{
    struct watched_files *files = state;
    const char *uri = json_string(files->next, "uri");
    char *path = NULL, *canonical;

    if (uri && uri_to_path(uri, &path) == 0) {
        canonical = path_canonical(path);
        if (workspace_wanted(session->server->workspace, canonical))
            watch_touch(session->server->watch, canonical);
        free(canonical);
        free(path);
    }
    files->next = json_next(files->next);
    return files->next != NULL;
}

static void watched_files_free(void *state)
{
    struct watched_files *files = state;

    rpc_message_release(&files->message);
    free(files);
}

static void drop_watched_files(void *state)
{
    struct watched_files *files = state;

    jobs_dispose(files->server->jobs, watched_files_free, files);
}

/* The daemon watches for itself; what a client sees besides (a network file system's changes)
 * settles as any. */
void method_did_change_watched_files(struct session *session, const struct request *request)
{
    struct watched_files *files = memory_new(sizeof *files);

    files->server = session->server;
    files->next = json_first(json_array(request->params, "changes"));
    files->message = rpc_message_take(request->message);
    session_by_turns(session, take_watched_file, drop_watched_files, files);
}

void method_did_change_workspace_folders(struct session *session, const struct request *request)
{
    const struct json *event = json_member(request->params, "event");

    json_each(folder, json_array(event, "added"))
        session_add_root(session, json_string(folder, "uri"));
    json_each(folder, json_array(event, "removed"))
        session_remove_root(session, json_string(folder, "uri"));
}

/* There is nothing to set. */
void method_did_change_configuration(struct session *session, const struct request *request)
{
    (void)session;
    (void)request;
}
