#include "daemon/server/publish.h"

#include "daemon/server/agenda.h"
#include "daemon/server/memory.h"
#include "daemon/server/path.h"
#include "daemon/server/report.h"
#include "daemon/server/server.h"
#include "daemon/server/session.h"
#include "daemon/server/turn.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <uv.h>

/* What is known of a script is shown once all of it is known; but nobody is kept waiting longer
 * than this. */
#define PATIENCE_MS 500
/* So many paths are put in order at a time, and looked at for it at most. */
#define BATCH 256
#define BATCH_LOOKS 1024
/* A timer of 0 may come round in the same turn. */
#define NEXT_TURN_MS 1

struct publish {
    struct server *server;
    struct table dirty; /* paths; the value is the publish */
    size_t at;          /* in dirty: how far it was looked through */
    int64_t wait_ms;    /* how long the first of those passed over has to wait; -1: there is none */
    bool touched;       /* something was put in since that began, perhaps behind it */
    char **batch;       /* taken out of dirty, in order */
    size_t batch_count, batch_at;
    uv_timer_t timer;
    bool flushing, closing;
};

/* What a session was told last of a file. */
struct published {
    char *text; /* of the array */
    char *uri;
    int64_t version;
    uint64_t opening; /* of the document that this is a version of; 0: it was not open */
};

static void flush(uv_timer_t *timer);

struct publish *publish_new(struct server *server)
{
    struct publish *publish = memory_new(sizeof *publish);

    publish->server = server;
    publish->wait_ms = -1;
    uv_timer_init(server->loop, &publish->timer);
    publish->timer.data = publish;
    uv_unref((uv_handle_t *)&publish->timer);
    return publish;
}

static void closed(uv_handle_t *handle)
{
    struct publish *publish = handle->data;

    while (publish->batch_at < publish->batch_count)
        free(publish->batch[publish->batch_at++]);
    free(publish->batch);
    table_release(&publish->dirty);
    free(publish);
}

void publish_free(struct publish *publish)
{
    if (!publish)
        return;
    publish->closing = true;
    uv_close((uv_handle_t *)&publish->timer, closed);
}

static void arm(struct publish *publish, uint64_t wait)
{
    /* Whoever flushes arms for what is left when it ends. */
    if (publish->closing || publish->flushing)
        return;
    if (!uv_is_active((uv_handle_t *)&publish->timer) ||
        uv_timer_get_due_in(&publish->timer) > wait)
        uv_timer_start(&publish->timer, flush, wait, 0);
}

void publish_touch(struct publish *publish, const char *path)
{
    if (!publish || publish->closing)
        return;
    table_put(&publish->dirty, path, publish);
    publish->touched = true;
    arm(publish, 0);
}

void publish_all(struct publish *publish)
{
    struct workspace *workspace = publish->server->workspace;
    struct member *member;
    size_t at = 0;

    while ((member = workspace_each(workspace, &at)))
        member_touch(member);
}

static void published_free(struct published *published)
{
    if (!published)
        return;
    free(published->text);
    free(published->uri);
    free(published);
}

void publish_forget(struct session *session)
{
    void *published;
    size_t at = 0;

    while (table_each(&session->published, &at, NULL, &published))
        published_free(published);
    table_release(&session->published);
}

static bool interested_itself(const struct session *session, const char *path)
{
    for (size_t i = 0; i < session->root_count; i++)
        if (path_inside(session->roots[i], path))
            return true;
    return documents_find_path(&session->server->documents, session->id, path) != NULL;
}

bool publish_interested(const struct session *session, const char *path)
{
    struct member *const *members;
    size_t count;

    if (session->stdio || interested_itself(session, path))
        return true;
    members = concerns_of(&session->server->workspace->concerns, path, &count);
    for (size_t i = 0; i < count; i++)
        for (size_t u = 0; u < members[i]->unit_count; u++)
            if (unit_uses_model(members[i]->units[u], path, NULL) &&
                interested_itself(session, members[i]->path))
                return true;
    return false;
}

/* How long to wait for a script and its units; 0: they are at rest. */
static int64_t member_patience(const struct workspace *workspace, const struct member *member)
{
    int64_t left;

    if (member_at_rest(member))
        return 0;
    /* A text that is being read has other positions than what is known. */
    if (member->reading)
        return PATIENCE_MS;
    left = member->busy_since_ms + PATIENCE_MS - workspace_now_ms(workspace);
    return left > 0 ? left : 0;
}

/* How long to wait until the file is worth publishing; 0: now. */
static int64_t patience(const struct workspace *workspace, const char *path)
{
    struct member *member = workspace_find(workspace, path);
    int64_t left = member ? member_patience(workspace, member) : 0;
    /* Who stands for a model that nobody names is decided once all scripts are read. */
    bool undecided =
        !member && tree_get(&workspace->models, path) &&
        (!workspace_is_decided(workspace) || agenda_is_undecided(workspace->agenda, path));
    bool busy = undecided, known = false;
    size_t count;
    struct member *const *members = concerns_of(&workspace->concerns, path, &count);

    if (member && member->kind == MEMBER_SCRIPT)
        return left;
    /* What a model shows comes from all who name it. */
    for (size_t i = 0; i < count; i++)
        for (size_t u = 0; u < members[i]->unit_count; u++)
            if (unit_uses_model(members[i]->units[u], path, NULL)) {
                int64_t more = member_patience(workspace, members[i]);

                left = more > left ? more : left;
                busy = busy || !member_at_rest(members[i]);
                known = known || members[i]->units[u]->outcome;
            }
    /* Where a script begins to name it, or ends, somebody else has yet to find out what it shows.
     * That nothing is known is no news about it, and what was said before still holds. */
    return busy && !known ? PATIENCE_MS : left;
}

static void refreshed(struct session *session, void *state, const struct json *result,
                      const struct json *error);

static void refresh(struct session *session)
{
    if (session->refreshing) {
        session->refresh_again = true;
        return;
    }
    session->refreshing = true;
    session->refresh_again = false;
    session_ask(session, METHOD_diagnostic_refresh, NULL, refreshed, NULL);
}

static void refreshed(struct session *session, void *state, const struct json *result,
                      const struct json *error)
{
    (void)state;
    (void)result;
    (void)error;
    session->refreshing = false;
    if (session->refresh_again && !session->over)
        refresh(session);
}

void publish_pulled(struct session *session, const char *path, const struct json *diagnostics)
{
    struct buffer text = BUFFER_EMPTY;
    struct published *now;

    if (json_print(&text, diagnostics) == 0) {
        now = memory_new(sizeof *now);
        now->text = memory_text(text.data);
        now->uri = memory_text("");
        now->version = -1;
        published_free(table_put(&session->published, path, now));
    }
    buffer_release(&text);
}

/* Whether what a session that pulls was given last is out of date. */
static bool pull_again(struct session *session, const char *path)
{
    struct server *server = session->server;
    const struct report_options options = {session->encoding, session->related_information,
                                           session->id};
    struct published *last = table_get(&session->published, path);
    struct json *diagnostics;
    struct buffer text = BUFFER_EMPTY;
    bool news;

    /* What was never asked for is asked for when it is wanted. */
    if (!last || !documents_find_path(&server->documents, session->id, path))
        return false;
    diagnostics = report_file(server->workspace, path, &options);
    news = json_print(&text, diagnostics) == 0 && strcmp(last->text, text.data) != 0;
    if (news)
        publish_pulled(session, path, diagnostics);
    json_free(diagnostics);
    buffer_release(&text);
    return news;
}

/* Whether what is known is of this text. Of one that has changed since there is nothing to say; but
 * several editors may have the file open, and the text that was read is then only one of theirs. */
static bool is_of(const struct member *member, const struct document *document)
{
    const struct buffer *text = &document->text->lsp.bytes;

    if (member->change == document->change)
        return true;
    return member->script && !member->reading &&
           member->script->text.bytes.length == text->length &&
           (text->length == 0 ||
            memcmp(member->script->text.bytes.data, text->data, text->length) == 0);
}

static void publish_to(struct session *session, const char *path)
{
    struct server *server = session->server;
    const struct member *member = workspace_find(server->workspace, path);
    struct document *document = documents_find_path(&server->documents, session->id, path);
    const struct report_options options = {session->encoding, session->related_information,
                                           session->id};
    struct published *last = table_get(&session->published, path), *now;
    struct json *diagnostics = report_file(server->workspace, path, &options);
    bool empty, same, renamed;
    int64_t version = document ? document->version : -1;
    uint64_t opening = document ? document->opening : 0;
    struct buffer text = BUFFER_EMPTY;
    char *uri = NULL;

    if (json_print(&text, diagnostics) < 0)
        goto out;
    empty = strcmp(text.data, "[]") == 0;
    if (document && member && member->kind == MEMBER_SCRIPT && !is_of(member, document))
        goto out;
    if (!last && empty && !document)
        goto out;
    if (last && opening == last->opening && version < last->version)
        goto out;
    uri = report_uri(server->workspace, path, session->id);
    same = last && strcmp(last->text, text.data) == 0;
    renamed = last && strcmp(last->uri, uri) != 0;
    if (same && !renamed && (empty || (last->version == version && last->opening == opening))) {
        last->version = version;
        last->opening = opening;
        goto out;
    }
    /* Under another URI than before, the old one is emptied. */
    if (renamed && strcmp(last->text, "[]") != 0)
        session_notify(session, METHOD_publish_diagnostics,
                       lsp_publish_params(last->uri, -1, json_new_array()), false);
    published_free(table_take(&session->published, path));
    if (session->over)
        goto out;
    if (!empty || document) {
        now = memory_new(sizeof *now);
        now->text = memory_text(text.data);
        now->uri = memory_text(uri);
        now->version = version;
        now->opening = opening;
        table_put(&session->published, path, now);
    }
    if (document || !empty || !renamed) {
        session_notify(session, METHOD_publish_diagnostics,
                       lsp_publish_params(uri, version, diagnostics), false);
        diagnostics = NULL;
    }
out:
    free(uri);
    json_free(diagnostics);
    buffer_release(&text);
}

static int compare(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Takes out what it is time for. False: dirty was looked through to its end. */
static bool take_batch(struct publish *publish)
{
    const char *key;
    void *value;

    publish->batch_at = publish->batch_count = 0;
    for (int looks = 0; publish->batch_count < BATCH && looks < BATCH_LOOKS; looks++) {
        int64_t left;

        if (!table_each(&publish->dirty, &publish->at, &key, &value))
            return false;
        left = patience(publish->server->workspace, key);
        if (left) {
            publish->wait_ms =
                publish->wait_ms < 0 || left < publish->wait_ms ? left : publish->wait_ms;
            continue;
        }
        publish->batch = memory_grow(publish->batch, publish->batch_count, sizeof *publish->batch);
        publish->batch[publish->batch_count++] = memory_text(key);
        table_take(&publish->dirty, key);
    }
    return true;
}

/* The next paths, in their order. False: there are none. */
static bool fill(struct publish *publish)
{
    bool left = take_batch(publish);

    if (publish->batch_count)
        qsort(publish->batch, publish->batch_count, sizeof *publish->batch, compare);
    return left || publish->batch_count;
}

static void publish_path(struct publish *publish, const char *path)
{
    for (struct session *session = publish->server->sessions, *next; session; session = next) {
        next = session->next;
        if (session->over || !session->editor || !session->ready ||
            session->state != METHOD_RUNNING || !publish_interested(session, path))
            continue;
        if (session->pull)
            session->pull_news = pull_again(session, path) || session->pull_news;
        else
            publish_to(session, path);
    }
}

static void tell_of_news(struct server *server)
{
    for (struct session *session = server->sessions, *next; session; session = next) {
        next = session->next;
        if (session->pull_news && !session->over)
            refresh(session);
        session->pull_news = false;
    }
}

static void publish_next(struct publish *publish)
{
    char *path = publish->batch[publish->batch_at++];

    /* It may have begun to be worked on since it was taken out. */
    if (patience(publish->server->workspace, path))
        publish_touch(publish, path);
    else
        publish_path(publish, path);
    free(path);
}

static void flush(uv_timer_t *timer)
{
    struct publish *publish = timer->data;
    struct server *server = publish->server;
    bool more = true, left = true;

    publish->flushing = true;
    while (more && left) {
        if (publish->batch_at < publish->batch_count)
            publish_next(publish);
        else
            left = fill(publish);
        more = turn_more(timer->loop);
    }
    tell_of_news(server);
    publish->flushing = false;
    if (left) {
        arm(publish, NEXT_TURN_MS);
        return;
    }
    /* Those passed over are looked at again from the beginning. */
    publish->at = 0;
    if (publish->touched)
        arm(publish, NEXT_TURN_MS);
    else if (publish->wait_ms >= 0)
        arm(publish, (uint64_t)publish->wait_ms);
    publish->touched = false;
    publish->wait_ms = -1;
}

void publish_generated(struct publish *publish, const char *script, char *const *files,
                       size_t count, struct hash fingerprint)
{
    struct server *server = publish->server;
    char print[33];

    snprintf(print, sizeof print, "%016llx%016llx", (unsigned long long)fingerprint.high,
             (unsigned long long)fingerprint.low);
    for (struct session *session = server->sessions, *next; session; session = next) {
        struct json *params, *list;
        char *uri;

        next = session->next;
        if (session->over || !session->editor || !session->ready ||
            session->state != METHOD_RUNNING || !publish_interested(session, script))
            continue;
        params = json_new_object();
        list = json_new_array();
        uri = report_uri(server->workspace, script, session->id);
        json_set_string(params, "script", uri);
        for (size_t i = 0; i < count; i++)
            json_append_string(list, files[i]);
        json_set(params, "files", list);
        json_set_string(params, "fingerprint", print);
        session_notify(session, METHOD_generated, params, false);
        free(uri);
    }
}
