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

void method_did_open(struct session *session, const struct request *request)
{
    const struct json *item = json_member(request->params, "textDocument");
    const char *uri = json_string(item, "uri"), *text;
    struct document *document;
    size_t length;
    int error;

    text = json_value_text(json_member(item, "text"), &length);
    if (!uri || !text)
        return;
    document = documents_open(&session->server->documents, session->id, uri,
                              json_int(item, "version", 0), text, length, &error);
    if (!document) {
        log_line(LOG_ERROR, "%s: %s", uri, strerror(-error));
        return;
    }
    if (document->path)
        workspace_edited(session->server->workspace, document->path);
}

void method_did_change(struct session *session, const struct request *request)
{
    struct document *document = find(session, request);
    const struct json *item = json_member(request->params, "textDocument");
    int rc;

    if (!document)
        return;
    rc = document_change(&session->server->documents, document,
                         json_int(item, "version", document->version + 1),
                         json_member(request->params, "contentChanges"), session->encoding);
    if (rc < 0) {
        log_line(LOG_WARNING, "%s: a change could not be applied: %s", document->uri,
                 strerror(-rc));
        return;
    }
    if (!document->path)
        return;
    pull_content_modified(session, document->path);
    workspace_edited(session->server->workspace, document->path);
}

void method_did_save(struct session *session, const struct request *request)
{
    struct document *document = find(session, request);

    if (!document || !document->path)
        return;
    document_saved(document);
    workspace_edited(session->server->workspace, document->path);
}

void method_did_close(struct session *session, const struct request *request)
{
    struct document *document = find(session, request);
    char *path;

    if (!document)
        return;
    path = memory_text(document->path);
    documents_close(&session->server->documents, document);
    if (path)
        workspace_edited(session->server->workspace, path);
    free(path);
}

/* The daemon watches for itself; what a client sees besides (a network file system's changes)
 * settles as any. */
void method_did_change_watched_files(struct session *session, const struct request *request)
{
    json_each(change, json_array(request->params, "changes"))
    {
        const char *uri = json_string(change, "uri");
        char *path = NULL, *canonical;

        if (!uri || uri_to_path(uri, &path) < 0)
            continue;
        canonical = path_canonical(path);
        if (workspace_wanted(session->server->workspace, canonical))
            watch_touch(session->server->watch, canonical);
        free(canonical);
        free(path);
    }
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
