#include "daemon/server/workspace.h"

#include "daemon/server/agenda.h"
#include "daemon/server/log.h"
#include "daemon/server/memory.h"
#include "daemon/server/path.h"
#include "daemon/server/progress.h"
#include "daemon/server/publish.h"
#include "daemon/server/scan.h"
#include "daemon/server/server.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <uv.h>

#define TICK_MS 200
#define LOOSE_LIMIT 256
#define RESTORE_MS 5000 /* two daemons of different versions must not fight over a file */
/* A generated file that goes may be the first of a folder that somebody is deleting. */
#define DELETING_MS 1000

struct workspace_timer {
    uv_timer_t handle;
};

int64_t workspace_now_ms(const struct workspace *workspace)
{
    return (int64_t)uv_now(workspace->server->loop) + 1; /* 0 means never */
}

static void tick(uv_timer_t *handle);

struct workspace *workspace_new(struct server *server)
{
    struct workspace *workspace = memory_new(sizeof *workspace);

    workspace->server = server;
    workspace->timer = memory_new(sizeof *workspace->timer);
    uv_timer_init(server->loop, &workspace->timer->handle);
    workspace->timer->handle.data = workspace;
    uv_unref((uv_handle_t *)&workspace->timer->handle);
    workspace->agenda = agenda_new(workspace);
    roots_begin(workspace);
    return workspace;
}

static void timer_closed(uv_handle_t *handle)
{
    free(handle);
}

struct member *workspace_each(const struct workspace *workspace, size_t *at)
{
    void *member;

    return table_each(&workspace->members, at, NULL, &member) ? member : NULL;
}

void workspace_free(struct workspace *workspace)
{
    struct member *member;
    size_t at = 0;

    if (!workspace)
        return;
    workspace->leaving = true;
    while ((member = workspace_each(workspace, &at)))
        member_free(member);
    table_release(&workspace->members);
    tree_release(&workspace->models);
    concerns_release(&workspace->concerns);
    roots_end(workspace);
    agenda_free(workspace->agenda);
    uv_close((uv_handle_t *)&workspace->timer->handle, timer_closed);
    free(workspace);
}

struct member *workspace_find(const struct workspace *workspace, const char *path)
{
    return table_get(&workspace->members, path);
}

/* --- models that stand for themselves --------------------------------------------------------- */

/* Whether a script names the model; known: and what is to be said of it. */
static bool named(const struct workspace *workspace, const char *path, bool known)
{
    size_t count;
    struct member *const *members = concerns_of(&workspace->concerns, path, &count);

    for (size_t i = 0; i < count; i++)
        for (size_t u = 0; members[i]->kind == MEMBER_SCRIPT && u < members[i]->unit_count; u++)
            if (unit_uses_model(members[i]->units[u], path, NULL) &&
                (!known || members[i]->units[u]->outcome))
                return true;
    return false;
}

/* A model that a script begins to name is shown by whom it was until the script knows as much. */
static bool is_needless(const struct member *member)
{
    const struct workspace *workspace = member->workspace;

    return member->kind == MEMBER_MODEL && !member->waiter_count && !member->loose &&
           (!tree_get(&workspace->models, member->path) || named(workspace, member->path, true));
}

/* Which models no script names is known once all scripts are. */
bool workspace_is_decided(const struct workspace *workspace)
{
    return !workspace->reading && !workspace->scanning && !workspace->leaving;
}

void workspace_decide(struct workspace *workspace, const char *path)
{
    struct member *member = workspace_find(workspace, path);

    if (!workspace_is_decided(workspace)) {
        agenda_decide(workspace->agenda, path);
        return;
    }
    if (!workspace_in_roots(workspace, path))
        tree_take(&workspace->models, path);
    if (!member) {
        if (tree_get(&workspace->models, path) && !named(workspace, path, false))
            member_read(member_new(workspace, MEMBER_MODEL, path), JOB_BACKGROUND);
    } else if (member->kind == MEMBER_MODEL ? is_needless(member)
                                            : member->script && !member_wanted(member)) {
        member_free(member);
    }
}

/* --- changes -------------------------------------------------------------------------------- */

static bool unit_reads(const struct unit *unit, const char *path)
{
    if (unit_uses_model(unit, path, NULL))
        return true;
    return unit->outcome && snapshot_has(&unit->outcome->snapshot, path);
}

/* By its ending: spares looking at all who generate files. */
static bool may_be_generated(const char *path)
{
    return path_ends(path, ".Model.cs") || path_ends(path, ".asset") ||
           path_ends(path, ".asset.meta");
}

bool workspace_wanted(void *state, const char *path)
{
    const struct workspace *workspace = state;
    struct member *member;
    size_t at = 0, count;

    /* Hidden files are nobody's scripts or models: temporary ones, ours among them. */
    if (path_name(path)[0] == '.')
        return false;
    if (workspace_find(workspace, path))
        return true;
    if (path_ends(path, ".cs") || path_ends(path, ".onnx"))
        return true;
    concerns_of(&workspace->concerns, path, &count);
    if (count)
        return true;
    while (may_be_generated(path) && (member = workspace_each(workspace, &at)))
        for (size_t u = 0; u < member->unit_count; u++)
            if (unit_generates(member->units[u], path))
                return true;
    return false;
}

static void restore_later(struct unit *unit)
{
    struct workspace *workspace = unit->member->workspace;
    int64_t now = workspace_now_ms(workspace);

    unit->restore_ms = now + DELETING_MS;
    if (unit->restored_ms && unit->restored_ms + RESTORE_MS > unit->restore_ms)
        unit->restore_ms = unit->restored_ms + RESTORE_MS;
    workspace_tick_in(workspace, unit->restore_ms - now);
}

static void restore(struct unit *unit)
{
    unit->restore_ms = 0;
    unit->restored_ms = workspace_now_ms(unit->member->workspace);
    unit_outdate(unit, JOB_BACKGROUND);
}

void workspace_changed(void *state, const char *path)
{
    struct workspace *workspace = state;
    struct member *const *members;
    struct member *member;
    struct stat status;
    bool generated = false;
    size_t at = 0, count;

    members = concerns_of(&workspace->concerns, path, &count);
    for (size_t i = 0; i < count; i++) {
        /* Where a path leads is found out by reading the script. */
        if (path_list_has(&members[i]->links, path))
            member_read(members[i], JOB_FILE);
        for (size_t u = 0; u < members[i]->unit_count; u++)
            if (unit_reads(members[i]->units[u], path))
                unit_outdate(members[i]->units[u], JOB_BACKGROUND);
    }
    while (may_be_generated(path) && (member = workspace_each(workspace, &at)))
        for (size_t u = 0; u < member->unit_count; u++)
            if (unit_generates(member->units[u], path)) {
                generated = true;
                restore_later(member->units[u]);
            }
    member = workspace_find(workspace, path);
    if (path_ends(path, ".onnx") && workspace_in_roots(workspace, path)) {
        if (stat(path, &status) == 0 && S_ISREG(status.st_mode))
            tree_put(&workspace->models, path, workspace);
        else
            tree_take(&workspace->models, path);
        workspace_decide(workspace, path);
    } else if (member && member->kind == MEMBER_SCRIPT) {
        member_read(member, JOB_FILE);
    } else if (!generated && path_ends(path, ".cs") && workspace_in_roots(workspace, path)) {
        member_read(member_new(workspace, MEMBER_SCRIPT, path), JOB_FILE);
    }
}

void workspace_folder_came(void *state, const char *folder)
{
    struct workspace *workspace = state;

    /* What was missing may have come with it, and what was a file may be the folder now. */
    agenda_change_below(workspace->agenda, folder);
    if (path_name(folder)[0] != '.' && workspace_in_roots(workspace, folder))
        roots_scan(workspace, folder, false);
}

/* What could be listed cannot be any more, or the other way round. */
void workspace_folder_changed(void *state, const char *folder)
{
    struct workspace *workspace = state;

    if (path_name(folder)[0] != '.' && workspace_in_roots(workspace, folder))
        roots_scan(workspace, folder, true);
}

void workspace_folder_gone(void *state, const char *folder)
{
    struct workspace *workspace = state;

    agenda_change_below(workspace->agenda, folder);
    for (size_t i = 0; i < workspace->root_count; i++)
        if (path_inside(folder, workspace->roots[i].path))
            workspace->roots[i].missing = true;
}

void workspace_lost(void *state)
{
    struct workspace *workspace = state;

    log_line(LOG_WARNING, "changes were lost; looking at everything again");
    for (size_t i = 0; i < workspace->root_count; i++)
        roots_scan(workspace, workspace->roots[i].path, true);
}

void workspace_edited(struct workspace *workspace, const char *path)
{
    struct member *member;

    if (!path_ends(path, ".cs")) {
        publish_touch(workspace->server->publish, path);
        return;
    }
    member = workspace_get_script(workspace, path);
    if (member)
        member_read(member, JOB_INTERACTIVE);
}

/* --- what comes round again ------------------------------------------------------------------- */

/* What the last tick changed may be what somebody waits for. Waiters may bring members to an end,
 * so the search begins anew after each. */
static void settle_waiters(struct workspace *workspace)
{
    struct member *member;
    bool found;

    do {
        size_t at = 0;

        found = false;
        while (!found && (member = workspace_each(workspace, &at)))
            found = member->waiter_count && member_at_rest(member);
        if (found)
            member_settle(member);
    } while (found);
}

/* Of two times, 0 being none. */
static int64_t sooner(int64_t a, int64_t b)
{
    return !a || (b && b < a) ? b : a;
}

static void tick(uv_timer_t *handle)
{
    struct workspace *workspace = handle->data;
    int64_t now = workspace_now_ms(workspace);
    int64_t next = 0;
    bool more = false;
    struct member *member;
    size_t at = 0;

    while ((member = workspace_each(workspace, &at))) {
        if (member->again)
            member_read(member, JOB_FILE);
        for (size_t u = 0; u < member->unit_count; u++)
            unit_tick(member->units[u], now);
        for (size_t u = 0; u < member->unit_count; u++)
            if (member->units[u]->restore_ms && member->units[u]->restore_ms <= now)
                restore(member->units[u]);
        for (size_t u = 0; u < member->unit_count; u++) {
            const struct unit *unit = member->units[u];
            /* What it is time for has to wait for work that is under way. */
            bool waits = unit->retry_ms && unit->retry_ms <= now;

            more = more || unit->written_since_ms || waits;
            next = sooner(next, waits ? 0 : unit->retry_ms);
            next = sooner(next, unit->restore_ms);
        }
        more = more || member->again;
    }
    settle_waiters(workspace);
    if (more)
        workspace_tick_soon(workspace);
    else if (next)
        workspace_tick_in(workspace, next - now);
}

void workspace_tick_in(struct workspace *workspace, int64_t wait_ms)
{
    uv_timer_t *timer = &workspace->timer->handle;

    if (workspace->leaving ||
        (uv_is_active((uv_handle_t *)timer) && uv_timer_get_due_in(timer) <= (uint64_t)wait_ms))
        return;
    uv_timer_start(timer, tick, (uint64_t)wait_ms, 0);
}

void workspace_tick_soon(struct workspace *workspace)
{
    workspace_tick_in(workspace, TICK_MS);
}

/* --- asking --------------------------------------------------------------------------------- */

/* What was asked for once is kept, but not without end: the oldest goes first. */
static void limit_loose(struct workspace *workspace)
{
    struct member *member, *oldest = NULL;
    size_t count = 0, at = 0;

    while ((member = workspace_each(workspace, &at))) {
        if (!member->loose)
            continue;
        count++;
        if (!member->waiter_count && (!oldest || member->id < oldest->id) &&
            !documents_find_path(&workspace->server->documents, 0, member->path))
            oldest = member;
    }
    if (count <= LOOSE_LIMIT || !oldest)
        return;
    oldest->loose = false;
    if (!workspace_in_roots(workspace, oldest->path) || oldest->kind == MEMBER_MODEL)
        member_free(oldest);
}

/* The first script, by path, that names the model. */
static struct member *naming(const struct workspace *workspace, const char *path)
{
    size_t count;
    struct member *const *members = concerns_of(&workspace->concerns, path, &count);
    struct member *first = NULL;

    for (size_t i = 0; i < count; i++)
        for (size_t u = 0; members[i]->kind == MEMBER_SCRIPT && u < members[i]->unit_count; u++)
            if (unit_uses_model(members[i]->units[u], path, NULL) &&
                (!first || strcmp(members[i]->path, first->path) < 0))
                first = members[i];
    return first;
}

void workspace_ensure(struct workspace *workspace, const char *path, member_waiter *waiter,
                      void *state)
{
    struct member *member = workspace_find(workspace, path);

    if (!member)
        member = naming(workspace, path);
    if (!member) {
        member = member_new(workspace, path_ends(path, ".cs") ? MEMBER_SCRIPT : MEMBER_MODEL, path);
        member->loose = true;
        member_wait_for(member, waiter, state);
        member_read(member, JOB_INTERACTIVE);
        limit_loose(workspace);
        return;
    }
    if (!workspace_in_roots(workspace, member->path))
        member->loose = true;
    member_wait_for(member, waiter, state);
    if (member->reading)
        jobs_raise((struct job *)member->reading, JOB_INTERACTIVE);
    for (size_t u = 0; u < member->unit_count; u++)
        if (member->units[u]->compiling)
            jobs_raise((struct job *)member->units[u]->compiling, JOB_INTERACTIVE);
    member_check(member);
}

void workspace_forget_waiter(struct workspace *workspace, void *state)
{
    struct member *member;
    size_t at = 0;

    while ((member = workspace_each(workspace, &at)))
        for (size_t i = 0; i < member->waiter_count;)
            if (member->waiters[i].state == state)
                member->waiters[i] = member->waiters[--member->waiter_count];
            else
                i++;
}

bool workspace_busy(const struct workspace *workspace)
{
    struct member *member;
    size_t at = 0;

    if (workspace->scanning || workspace->reading || !agenda_is_empty(workspace->agenda))
        return true;
    while ((member = workspace_each(workspace, &at)))
        for (size_t u = 0; u < member->unit_count; u++)
            if (member->units[u]->compiling || member->units[u]->writing)
                return true;
    return false;
}

void workspace_answered_from_memory(struct workspace *workspace)
{
    workspace->from_memory++;
}

void workspace_count(const struct workspace *workspace, struct workspace_counts *counts)
{
    struct member *member;
    size_t at = 0;

    *counts = (struct workspace_counts){
        .compiles = workspace->compiles,
        .answers_from_memory = workspace->from_memory,
        .folders_not_watched = workspace->unwatched,
        .scans = workspace->scans,
        .done = workspace->done,
    };
    while ((member = workspace_each(workspace, &at))) {
        if (member->kind == MEMBER_SCRIPT)
            counts->scripts++;
        else
            counts->models++;
        for (size_t u = 0; u < member->unit_count; u++) {
            const struct unit *unit = member->units[u];

            counts->compiling += unit->compiling != NULL;
            counts->being_written += unit->written_since_ms != 0;
            if (!unit->outcome)
                continue;
            counts->ok += unit->outcome->status == COMPILE_OK;
            counts->refused += unit->outcome->status == COMPILE_REFUSED;
            counts->failed += unit->outcome->status == COMPILE_FAILED;
        }
    }
}
