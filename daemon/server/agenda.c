#include "daemon/server/agenda.h"

#include "daemon/server/memory.h"
#include "daemon/server/server.h"
#include "daemon/server/turn.h"
#include <stdlib.h>
#include <uv.h>

/* Paths, each once, taken out in no order. */
struct paths_to_do {
    struct table paths; /* the value is the agenda */
    size_t at;          /* where the search for the next one goes on */
};

struct agenda {
    struct workspace *workspace;
    uv_idle_t idle;
    struct paths_to_do changed, undecided;
};

static void closed(uv_handle_t *handle)
{
    struct agenda *agenda = handle->data;

    table_release(&agenda->changed.paths);
    table_release(&agenda->undecided.paths);
    free(agenda);
}

struct agenda *agenda_new(struct workspace *workspace)
{
    struct agenda *agenda = memory_new(sizeof *agenda);

    agenda->workspace = workspace;
    uv_idle_init(workspace->server->loop, &agenda->idle);
    agenda->idle.data = agenda;
    return agenda;
}

void agenda_free(struct agenda *agenda)
{
    agenda->workspace = NULL;
    uv_close((uv_handle_t *)&agenda->idle, closed);
}

/* A path, to be freed; NULL: there is none. */
static char *take(struct paths_to_do *to_do)
{
    const char *key;
    char *path = NULL;
    void *value;

    if (!to_do->paths.count)
        return NULL;
    /* What was put in behind the search is found the next time round. */
    if (!table_each(&to_do->paths, &to_do->at, &key, &value)) {
        to_do->at = 0;
        table_each(&to_do->paths, &to_do->at, &key, &value);
    }
    path = memory_text(key);
    table_take(&to_do->paths, path);
    /* A large table would be searched from end to end for a single path. */
    if (!to_do->paths.count) {
        table_release(&to_do->paths);
        to_do->at = 0;
    }
    return path;
}

/* Does one thing; false: there is nothing that can be done now. */
static bool one(struct agenda *agenda)
{
    struct workspace *workspace = agenda->workspace;
    char *path;
    bool done;

    if (roots_take_some(workspace))
        return true;
    path = take(&agenda->changed);
    if (path) {
        workspace_changed(workspace, path);
    } else if (workspace_is_decided(workspace)) {
        path = take(&agenda->undecided);
        if (path)
            workspace_decide(workspace, path);
    }
    done = path != NULL;
    free(path);
    return done;
}

static void work(uv_idle_t *handle)
{
    struct agenda *agenda = handle->data;
    bool more = true;

    while (more && !agenda->workspace->leaving) {
        if (!one(agenda)) {
            uv_idle_stop(handle);
            return;
        }
        more = turn_more(handle->loop);
    }
    if (agenda->workspace->leaving)
        uv_idle_stop(handle);
}

void agenda_wake(struct agenda *agenda)
{
    if (agenda->workspace && !agenda->workspace->leaving)
        uv_idle_start(&agenda->idle, work);
}

void agenda_change(struct agenda *agenda, const char *path)
{
    table_put(&agenda->changed.paths, path, agenda);
    agenda_wake(agenda);
}

void agenda_decide(struct agenda *agenda, const char *path)
{
    table_put(&agenda->undecided.paths, path, agenda);
    if (workspace_is_decided(agenda->workspace))
        agenda_wake(agenda);
}

bool agenda_is_undecided(const struct agenda *agenda, const char *path)
{
    return table_get(&agenda->undecided.paths, path) != NULL;
}

bool agenda_is_empty(const struct agenda *agenda)
{
    return !agenda->changed.paths.count && !agenda->undecided.paths.count;
}
