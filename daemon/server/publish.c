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
/* Those that wait are looked at together, no more often than this. */
#define WAITING_MS 50
/* So many paths are put in order at a time, and looked at for it at most; and after so many looks,
 * whether the turn has room for more. */
#define BATCH 256
#define BATCH_LOOKS 1024
#define LOOKS 64
/* A timer of 0 may come round in the same turn. */
#define NEXT_TURN_MS 1

struct publish {
    struct server *server;
    struct table dirty;   /* paths to look at; the value is the publish */
    size_t at;            /* in dirty: how far it was looked through */
    struct table waiting; /* paths for which it was not time yet; what makes it time touches them */
    int64_t due_ms;       /* when those are looked at all the same */
    bool all;             /* all members are being touched … */
    struct table_walk members; /* … so far */
    char **batch;              /* taken out of dirty, in order */
    size_t batch_count, batch_at;
    uv_timer_t timer;
    bool flushing, closing;
};

/* What a session was told last of a file. */
struct published {
    struct hash hash; /* of the array's text */
    bool empty;       /* the array */
    char *uri;
    int64_t version;
    uint64_t opening; /* of the document that this is a version of; 0: it was not open */
};

/* What a session is about to be told of a file. */
struct telling {
    struct server *server;
    uint64_t session;
    char *path;
    uint64_t change; /* of the document that it is of; 0: it is not open */
    bool again;      /* there is news since */
};

static void flush(uv_timer_t *timer);

struct publish *publish_new(struct server *server)
{
    struct publish *publish = memory_new(sizeof *publish);

    publish->server = server;
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
    table_release(&publish->waiting);
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
    arm(publish, 0);
}

void publish_all(struct publish *publish)
{
    publish->all = true;
    publish->members = (struct table_walk){0, 0};
    arm(publish, 0);
}

static void touch_next(struct publish *publish)
{
    const char *path;
    void *member;

    if (table_walk(&publish->server->workspace->members, &publish->members, &path, &member))
        member_touch(member);
    else
        publish->all = false;
}

static void published_free(struct published *published)
{
    if (!published)
        return;
    free(published->uri);
    free(published);
}

/* What is kept of a report. The URI is taken; document may be NULL. */
static void keep(struct session *session, const char *path, const struct report *report, char *uri,
                 const struct document *document)
{
    struct published *now = memory_new(sizeof *now);

    now->hash = report->hash;
    now->empty = report->empty;
    now->uri = uri;
    now->version = document ? document->version : -1;
    now->opening = document ? document->opening : 0;
    published_free(table_put(&session->published, path, now));
}

void publish_forget(struct session *session)
{
    void *published;
    size_t at = 0;

    while (table_each(&session->published, &at, NULL, &published))
        published_free(published);
    table_release(&session->published);
    /* Whoever makes what is in there finds that the session is over. */
    table_release(&session->telling);
    table_release(&session->late);
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

void publish_pulled(struct session *session, const char *path, const struct report *report)
{
    keep(session, path, report, memory_text(""), NULL);
    /* It was not known yet that the session has it when the news came. */
    if (report->later)
        publish_touch(session->server->publish, path);
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

/* Where what the session was given last is out of date, it is to ask again. */
static void tell_to_pull(struct session *session, const char *path, const struct report *report)
{
    const struct published *last = table_get(&session->published, path);

    if (!last || hash_equal(last->hash, report->hash))
        return;
    keep(session, path, report, memory_text(""), NULL);
    session->pull_news = true;
    if (report->later)
        arm(session->server->publish, 0);
}

static void notify(struct session *session, const char *uri, int64_t version,
                   struct json *diagnostics)
{
    session_notify(session, METHOD_publish_diagnostics,
                   lsp_publish_params(uri, version, diagnostics), false);
}

static void push(struct session *session, const char *path, const struct document *document,
                 const struct report *report)
{
    struct published *last = table_get(&session->published, path);
    int64_t version = document ? document->version : -1;
    uint64_t opening = document ? document->opening : 0;
    bool same, renamed;
    char *uri = NULL;

    if (!last && report->empty && !document)
        return;
    if (last && opening == last->opening && version < last->version)
        return;
    uri = report_uri(session->server->workspace, path, session->id);
    same = last && hash_equal(last->hash, report->hash);
    renamed = last && strcmp(last->uri, uri) != 0;
    if (same && !renamed &&
        (report->empty || (last->version == version && last->opening == opening))) {
        last->version = version;
        last->opening = opening;
        goto out;
    }
    /* Under another URI than before, the old one is emptied. */
    if (renamed && !last->empty)
        notify(session, last->uri, -1, json_new_array());
    if (session->over)
        goto out;
    if (!report->empty || document)
        keep(session, path, report, memory_text(uri), document);
    else
        published_free(table_take(&session->published, path));
    if (document || !report->empty || !renamed)
        notify(session, uri, version, report_json(report));
out:
    free(uri);
}

static uint64_t change_of(const struct document *document)
{
    return document ? document->change : 0;
}

static void take_report(void *state, const struct report *report)
{
    struct telling *telling = state;
    struct server *server = telling->server;
    struct session *session = session_find(server, telling->session);
    struct document *document;

    if (!session || session->over)
        goto out;
    table_take(&session->telling, telling->path);
    if (session->state != METHOD_RUNNING)
        goto out;
    document = documents_find_path(&server->documents, session->id, telling->path);
    if (change_of(document) != telling->change)
        telling->again = true;
    else if (report->text && session->pull)
        tell_to_pull(session, telling->path, report);
    else if (report->text)
        push(session, telling->path, document, report);
    if (telling->again)
        publish_touch(server->publish, telling->path);
out:
    free(telling->path);
    free(telling);
}

/* Tells the session of the file, where it has to be told. */
static void tell(struct session *session, const char *path)
{
    struct server *server = session->server;
    const struct member *member = workspace_find(server->workspace, path);
    struct document *document = documents_find_path(&server->documents, session->id, path);
    const struct report_options options = {session->encoding, session->related_information,
                                           session->id};
    struct telling *telling = table_get(&session->telling, path);

    /* One after the other, so that the last one says what there is to say. */
    if (telling) {
        telling->again = true;
        return;
    }
    /* Of what is said of a file again and again, the last is enough for who reads slowly. */
    if (!session->pull && session_is_behind(session)) {
        table_put(&session->late, path, session);
        return;
    }
    /* What was never asked for is asked for when it is wanted. */
    if (session->pull && (!document || !table_get(&session->published, path)))
        return;
    if (!session->pull && document && member && member->kind == MEMBER_SCRIPT &&
        !is_of(member, document))
        return;
    telling = memory_new(sizeof *telling);
    telling->server = server;
    telling->session = session->id;
    telling->path = memory_text(path);
    telling->change = change_of(document);
    table_put(&session->telling, path, telling);
    report_make(server, report_note_file(server->workspace, path, &options), take_report, telling);
}

static int compare(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static int64_t now_ms(const struct publish *publish)
{
    return (int64_t)uv_now(publish->timer.loop);
}

static void wait_for(struct publish *publish, const char *path, int64_t left)
{
    int64_t due = now_ms(publish) + (left > WAITING_MS ? left : WAITING_MS);

    if (!publish->waiting.count || due < publish->due_ms)
        publish->due_ms = due;
    table_put(&publish->waiting, path, publish);
}

/* A path that is to be looked at, to be freed; NULL: there is none. */
static char *take_dirty(struct publish *publish)
{
    char *path;

    if (!publish->dirty.count && publish->waiting.count && now_ms(publish) >= publish->due_ms) {
        struct table empty = publish->dirty;

        publish->dirty = publish->waiting;
        publish->waiting = empty;
    }
    path = table_pop(&publish->dirty, &publish->at);
    if (path)
        table_take(&publish->waiting, path);
    return path;
}

/* The next paths that it is time for, in their order. */
static void fill(struct publish *publish)
{
    publish->batch_at = publish->batch_count = 0;
    for (int looks = 1; publish->batch_count < BATCH && looks < BATCH_LOOKS; looks++) {
        char *path = take_dirty(publish);
        int64_t left;

        if (!path)
            break;
        left = patience(publish->server->workspace, path);
        if (left) {
            wait_for(publish, path, left);
            free(path);
        } else {
            publish->batch =
                memory_grow(publish->batch, publish->batch_count, sizeof *publish->batch);
            publish->batch[publish->batch_count++] = path;
        }
        if (looks % LOOKS == 0 && !turn_has_room(publish->timer.loop))
            break;
    }
    if (publish->batch_count)
        qsort(publish->batch, publish->batch_count, sizeof *publish->batch, compare);
}

static void publish_path(struct publish *publish, const char *path)
{
    for (struct session *session = publish->server->sessions, *next; session; session = next) {
        next = session->next;
        if (session->over || !session->editor || !session->ready ||
            session->state != METHOD_RUNNING || !publish_interested(session, path))
            continue;
        tell(session, path);
    }
}

void publish_late(struct session *session)
{
    const char *path;
    void *value;
    size_t at = 0;

    if (!session->late.count || session_is_behind(session))
        return;
    while (table_each(&session->late, &at, &path, &value))
        publish_touch(session->server->publish, path);
    table_release(&session->late);
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

static bool is_left(const struct publish *publish)
{
    return publish->all || publish->batch_at < publish->batch_count || publish->dirty.count;
}

static void flush(uv_timer_t *timer)
{
    struct publish *publish = timer->data;
    bool more;

    publish->flushing = true;
    do {
        if (publish->all)
            touch_next(publish);
        else if (publish->batch_at < publish->batch_count)
            publish_next(publish);
        else
            fill(publish);
        more = turn_more(timer->loop);
    } while (more && is_left(publish));
    tell_of_news(publish->server);
    publish->flushing = false;
    if (is_left(publish))
        arm(publish, NEXT_TURN_MS);
    else if (publish->waiting.count)
        arm(publish,
            (uint64_t)(publish->due_ms > now_ms(publish) ? publish->due_ms - now_ms(publish)
                                                         : NEXT_TURN_MS));
}

void publish_generated(struct publish *publish, const char *script, char *const *files,
                       size_t count, struct hash fingerprint)
{
    struct server *server = publish->server;
    char print[HASH_TEXT_SIZE];

    hash_print(print, fingerprint);
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
