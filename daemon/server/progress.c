#include "daemon/server/progress.h"

#include "daemon/server/memory.h"
#include "daemon/server/server.h"
#include "daemon/server/session.h"
#include <stdio.h>
#include <stdlib.h>
#include <uv.h>

#define BEGIN_MS 300
#define REPORT_MS 100

struct progress {
    struct server *server;
    uv_timer_t timer;
    int64_t since_ms; /* 0: at rest */
    uint64_t number;
    bool closing;
};

/* What one client was told. */
struct session_progress {
    char token[32];
    bool created; /* the client has agreed */
    bool over;    /* the work ended before it did */
};

struct progress *progress_new(struct server *server)
{
    struct progress *progress = memory_new(sizeof *progress);

    progress->server = server;
    uv_timer_init(server->loop, &progress->timer);
    progress->timer.data = progress;
    uv_unref((uv_handle_t *)&progress->timer);
    return progress;
}

static void closed(uv_handle_t *handle)
{
    free(handle->data);
}

void progress_free(struct progress *progress)
{
    if (!progress)
        return;
    progress->closing = true;
    uv_close((uv_handle_t *)&progress->timer, closed);
}

static void tell(struct session *session, const char *kind, struct json *value, bool optional)
{
    struct json *params = json_new_object();

    json_set_string(params, "token", session->progress->token);
    json_set_string(value, "kind", kind);
    json_set(params, "value", value);
    session_notify(session, METHOD_progress, params, optional);
}

static void describe(struct progress *progress, struct json *value)
{
    struct workspace_counts counts;
    char message[96];

    workspace_count(progress->server->workspace, &counts);
    if (counts.compiling == 0 && counts.done == 0) {
        snprintf(message, sizeof message, "looking for scripts and models");
    } else {
        snprintf(message, sizeof message, "%zu of %zu compiled", counts.done,
                 counts.done + counts.compiling);
        json_set_int(value, "percentage",
                     (int64_t)(counts.done * 100 / (counts.done + counts.compiling)));
    }
    json_set_string(value, "message", message);
}

static void begin(struct progress *progress, struct session *session)
{
    struct json *value = json_new_object();

    json_set_string(value, "title", "onnxgpu");
    json_set_bool(value, "cancellable", false);
    describe(progress, value);
    tell(session, "begin", value, false);
}

static void end(struct session *session)
{
    if (session->progress->created)
        tell(session, "end", json_new_object(), false);
    free(session->progress);
    session->progress = NULL;
}

static void created(struct session *session, void *state, const struct json *result,
                    const struct json *error)
{
    (void)state;
    (void)result;
    if (!session->progress || session->over)
        return;
    if (error || session->progress->over) {
        free(session->progress);
        session->progress = NULL;
        return;
    }
    session->progress->created = true;
    begin(session->server->progress, session);
}

static void create(struct progress *progress, struct session *session)
{
    struct json *params = json_new_object();

    session->progress = memory_new(sizeof *session->progress);
    snprintf(session->progress->token, sizeof session->progress->token, "onnxgpu/%llu",
             (unsigned long long)++progress->number);
    json_set_string(params, "token", session->progress->token);
    session_ask(session, METHOD_work_done_progress_create, params, created, NULL);
}

static void tick(uv_timer_t *timer)
{
    struct progress *progress = timer->data;
    struct server *server = progress->server;
    bool busy = workspace_busy(server->workspace);
    int64_t now = (int64_t)uv_now(server->loop) + 1;

    for (struct session *session = server->sessions, *next; session; session = next) {
        next = session->next;
        if (session->over || !session->work_done_progress || !session->ready ||
            session->state != METHOD_RUNNING)
            continue;
        if (!busy && session->progress && !session->progress->created) {
            session->progress->over = true;
        } else if (!busy && session->progress) {
            end(session);
        } else if (busy && !session->progress && now - progress->since_ms >= BEGIN_MS) {
            create(progress, session);
        } else if (busy && session->progress && session->progress->created) {
            struct json *value = json_new_object();

            describe(progress, value);
            tell(session, "report", value, true);
        }
    }
    if (!busy) {
        progress->since_ms = 0;
        server->workspace->done = 0;
        uv_timer_stop(timer);
    }
}

void progress_wake(struct progress *progress)
{
    if (!progress || progress->closing || progress->since_ms)
        return;
    progress->since_ms = (int64_t)uv_now(progress->server->loop) + 1;
    uv_timer_start(&progress->timer, tick, REPORT_MS, REPORT_MS);
}

void progress_forget(struct session *session)
{
    free(session->progress);
    session->progress = NULL;
}
