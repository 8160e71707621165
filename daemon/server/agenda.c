#include "daemon/server/agenda.h"

#include "daemon/server/memory.h"
#include "daemon/server/path.h"
#include "daemon/server/server.h"
#include "daemon/server/turn.h"
#include <stdlib.h>
#include <uv.h>

/* Paths, each once, taken out in no order. */
struct paths_to_do {
    struct table paths; /* the value is the agenda */
    size_t at;          /* where the search for the next one goes on */
};

/* A folder with so much in it that looking for it is done by turns, so many paths at a time. */
#define LARGE 256
#define LOOKS 64

struct below {
    struct below *next;
    char *folder;
    bool decide; /* else change */
    bool second; /* of the two places to look in (places()) */
    struct table_walk walk;
};

struct agenda {
    struct workspace *workspace;
    uv_idle_t idle;
    struct paths_to_do changed, undecided;
    struct below *below, **last_below;
};

static void drop_below(struct agenda *agenda)
{
    struct below *below = agenda->below;

    agenda->below = below->next;
    if (!agenda->below)
        agenda->last_below = &agenda->below;
    free(below->folder);
    free(below);
}

static void closed(uv_handle_t *handle)
{
    struct agenda *agenda = handle->data;

    while (agenda->below)
        drop_below(agenda);
    table_release(&agenda->changed.paths);
    table_release(&agenda->undecided.paths);
    free(agenda);
}

struct agenda *agenda_new(struct workspace *workspace)
{
    struct agenda *agenda = memory_new(sizeof *agenda);

    agenda->workspace = workspace;
    agenda->last_below = &agenda->below;
    uv_idle_init(workspace->server->loop, &agenda->idle);
    agenda->idle.data = agenda;
    return agenda;
}

void agenda_free(struct agenda *agenda)
{
    agenda->workspace = NULL;
    uv_close((uv_handle_t *)&agenda->idle, closed);
}

static bool look_at_next(struct below *below, const struct workspace *workspace, const char **path)
{
    void *value;

    if (below->decide && below->second)
        return table_walk(&workspace->members, &below->walk, path, &value);
    return tree_walk(below->decide || below->second ? &workspace->models
                                                    : &workspace->concerns.by_path,
                     &below->walk, path);
}

/* Some of what lies in a large folder. */
static void look_below(struct agenda *agenda)
{
    struct below *below = agenda->below;
    const char *path;

    for (int looks = 0; looks < LOOKS; looks++)
        if (look_at_next(below, agenda->workspace, &path)) {
            if (path_inside(below->folder, path))
                table_put(&(below->decide ? &agenda->undecided : &agenda->changed)->paths, path,
                          agenda);
        } else if (!below->second) {
            below->second = true;
            below->walk = (struct table_walk){0, 0};
        } else {
            drop_below(agenda);
            break;
        }
}

/* Does one thing; false: there is nothing that can be done now. */
static bool one(struct agenda *agenda)
{
    struct workspace *workspace = agenda->workspace;
    char *path;
    bool done;

    if (roots_take_some(workspace))
        return true;
    if (agenda->below) {
        look_below(agenda);
        return true;
    }
    path = table_pop(&agenda->changed.paths, &agenda->changed.at);
    if (path) {
        workspace_changed(workspace, path);
    } else if (workspace_is_decided(workspace)) {
        path = table_pop(&agenda->undecided.paths, &agenda->undecided.at);
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

static void add_below(struct agenda *agenda, const char *folder, bool decide)
{
    struct below *below = memory_new(sizeof *below);

    below->folder = memory_text(folder);
    below->decide = decide;
    *agenda->last_below = below;
    agenda->last_below = &below->next;
    agenda_wake(agenda);
}

void agenda_change_below(struct agenda *agenda, const char *folder)
{
    const struct tree *trees[] = {&agenda->workspace->concerns.by_path, &agenda->workspace->models};

    for (size_t t = 0; t < sizeof trees / sizeof *trees; t++) {
        size_t count;
        const char **paths;

        if (tree_is_large(trees[t], folder, LARGE)) {
            add_below(agenda, folder, false);
            return;
        }
        paths = tree_below(trees[t], folder, &count);
        for (size_t i = 0; i < count; i++)
            agenda_change(agenda, paths[i]);
        free(paths);
    }
}

void agenda_decide_below(struct agenda *agenda, const char *folder)
{
    add_below(agenda, folder, true);
}

bool agenda_is_undecided(const struct agenda *agenda, const char *path)
{
    for (const struct below *below = agenda->below; below; below = below->next)
        if (below->decide && path_inside(below->folder, path))
            return true;
    return table_get(&agenda->undecided.paths, path) != NULL;
}

bool agenda_is_empty(const struct agenda *agenda)
{
    return !agenda->below && !agenda->changed.paths.count && !agenda->undecided.paths.count;
}
