#include "daemon/server/workspace.h"

#include "daemon/server/agenda.h"
#include "daemon/server/log.h"
#include "daemon/server/memory.h"
#include "daemon/server/path.h"
#include "daemon/server/progress.h"
#include "daemon/server/publish.h"
#include "daemon/server/scan.h"
#include "daemon/server/server.h"
#include "daemon/server/settle.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define ATTEMPTS 4

/* Reads a script's file, or takes the editor's text, and says what it asks for. */
struct read_work {
    struct job job;
    struct member *member; /* NULL: gone, or newer work has taken over */
    struct server *server;
    enum member_kind kind;
    char *path;
    struct text *text; /* of the editor, held; NULL: the disk's */
    int64_t version;
    uint64_t change;

    bool busy; /* somebody writes it just now */
    bool exists, saved;
    struct snapshot disk;
    struct path_list links;
    struct script *script; /* NULL: it does not exist, or cannot be read */
};

/* Asks whether what was read is still what lies there. */
struct check_work {
    struct job job;
    struct member *member; /* NULL: gone */
    struct server *server;
    struct snapshot disk;
    enum snapshot_state disk_state;
    struct unit_check {
        uint64_t id, revision;
        struct snapshot snapshot;
        char **models;
        struct hash *contents;
        int model_count;
        enum snapshot_state state;
        bool confirmed;
        int64_t now_ns;
    } * units;
    size_t unit_count;
};

static void dispose(void *script)
{
    script_release(script);
}

/* Accepts NULL. */
static void release_later(struct script *script, const struct workspace *workspace)
{
    if (script && script->text.bytes.length > TEXT_SMALL && !workspace->leaving)
        jobs_dispose(workspace->server->jobs, dispose, script);
    else
        script_release(script);
}

/* Where it lies, and the links that lead there. */
static void concern(struct member *member)
{
    struct path_list paths = {NULL, 0};

    path_list_add(&paths, member->path);
    for (size_t i = 0; i < member->links.count; i++)
        if (strcmp(member->links.list[i], member->path) != 0) {
            /* None is there twice, and a look for each at all others takes long. */
            paths.list = memory_grow(paths.list, paths.count, sizeof *paths.list);
            paths.list[paths.count++] = memory_text(member->links.list[i]);
        }
    concerns_set(&member->workspace->concerns, member, &member->concern, &paths);
}

struct member *member_new(struct workspace *workspace, enum member_kind kind, const char *path)
{
    struct member *member = memory_new(sizeof *member);

    member->kind = kind;
    member->workspace = workspace;
    member->id = ++workspace->last_id;
    member->path = memory_text(path);
    member->version = -1;
    snapshot_init(&member->disk);
    table_put(&workspace->members, path, member);
    concern(member);
    return member;
}

static void release_waiters(struct member *member, struct member *result)
{
    struct member_wait *waiters = member->waiters;
    size_t count = member->waiter_count;

    member->waiters = NULL;
    member->waiter_count = 0;
    for (size_t i = 0; i < count; i++)
        waiters[i].function(waiters[i].state, result);
    free(waiters);
}

void member_free(struct member *member)
{
    struct path_list none = {NULL, 0};

    member_touch(member);
    concerns_set(&member->workspace->concerns, member, &member->concern, &none);
    table_take(&member->workspace->members, member->path);
    if (member->reading) {
        member->reading->member = NULL;
        member->workspace->reading--;
        jobs_cancel(&member->reading->job);
    }
    if (member->checking) {
        member->checking->member = NULL;
        jobs_cancel(&member->checking->job);
    }
    for (size_t i = 0; i < member->unit_count; i++)
        unit_free(member->units[i]);
    free(member->units);
    release_waiters(member, NULL);
    release_later(member->script, member->workspace);
    snapshot_release(&member->disk);
    path_list_release(&member->links);
    free(member->path);
    free(member);
}

bool member_writable(const struct member *member)
{
    const struct workspace *workspace = member->workspace;

    return workspace->server->options->write &&
           (workspace_in_roots(workspace, member->path) ||
            documents_find_path(&workspace->server->documents, 0, member->path));
}

bool member_at_rest(const struct member *member)
{
    if (member->reading || member->checking || !member->script)
        return false;
    if (member->again &&
        workspace_now_ms(member->workspace) - member->busy_since_ms < SETTLE_LIMIT_MS)
        return false;
    for (size_t i = 0; i < member->unit_count; i++)
        if (!unit_at_rest(member->units[i]))
            return false;
    return true;
}

static void touch_models(const struct workspace *workspace, const struct script_unit *row)
{
    for (int m = 0; m < row->options.model_count; m++) {
        publish_touch(workspace->server->publish, row->options.models[m]);
        agenda_decide(workspace->agenda, row->options.models[m]);
    }
}

void unit_touch(const struct unit *unit)
{
    const struct member *member = unit->member;

    publish_touch(member->workspace->server->publish, member->path);
    touch_models(member->workspace, &member->script->units[unit->number]);
}

void member_touch(struct member *member)
{
    publish_touch(member->workspace->server->publish, member->path);
    for (int u = 0; member->script && u < member->script->unit_count; u++)
        touch_models(member->workspace, &member->script->units[u]);
}

void member_settle(struct member *member)
{
    if (!member_at_rest(member))
        return;
    member->busy_since_ms = 0;
    member_touch(member);
    release_waiters(member, member);
}

void member_wait_for(struct member *member, member_waiter *waiter, void *state)
{
    member->waiters = memory_grow(member->waiters, member->waiter_count, sizeof *member->waiters);
    member->waiters[member->waiter_count++] = (struct member_wait){waiter, state};
}

/* --- reading -------------------------------------------------------------------------------- */

/* The disk's text; NULL: missing, unreadable, or too large to be a script. */
static char *read_disk(struct read_work *work, size_t *size)
{
    char *text = NULL;

    for (int attempt = 0;; attempt++) {
        snapshot_release(&work->disk);
        snapshot_note(&work->disk, work->path);
        work->exists = work->disk.list[0].exists;
        if (work->exists && snapshot_being_written(work->path)) {
            work->busy = true;
            return NULL;
        }
        if (!work->exists || scan_read_file(work->path, CSHARP_TEXT_MAX, &text, size) < 0)
            return NULL;
        if (snapshot_steady(&work->disk))
            return text;
        free(text);
        text = NULL;
        if (attempt + 1 >= ATTEMPTS) {
            work->busy = true;
            return NULL;
        }
    }
}

static void trace_links(struct read_work *work)
{
    char *here = path_folder(work->path);

    path_trace(work->path, true, &work->links);
    for (int u = 0; u < work->script->unit_count; u++)
        for (int m = 0; m < work->script->units[u].model_count; m++) {
            const char *argument = work->script->units[u].models[m].argument;
            char *path = *argument == '/' ? memory_text(argument) : path_join(here, argument);

            /* What is at the end is the compile's to know. */
            path_trace(path, false, &work->links);
            free(path);
        }
    free(here);
}

static void watch_folder_of(struct watch *watch, const char *path)
{
    char *folder = path_folder(path);

    if (!watch_has(watch, folder))
        watch_add(watch, folder);
    free(folder);
}

static void watch_folders(struct read_work *work)
{
    for (int u = -1; u < work->script->unit_count; u++)
        for (int m = 0; m < (u < 0 ? 1 : work->script->units[u].options.model_count); m++)
            watch_folder_of(work->server->watch,
                            u < 0 ? work->path : work->script->units[u].options.models[m]);
    /* Where a link leads is watched, too: that is where its content changes. */
    for (size_t i = 0; i < work->links.count; i++)
        watch_folder_of(work->server->watch, work->links.list[i]);
}

static void read_run(struct job *job)
{
    struct read_work *work = (struct read_work *)job;
    const char *shown = NULL;
    char *disk = NULL;
    size_t size = 0, length = 0;

    if (work->kind == MEMBER_MODEL) {
        snapshot_note(&work->disk, work->path);
        work->exists = true;
        work->script = script_of_model(work->path);
    } else {
        disk = read_disk(work, &size);
        if (work->text)
            shown = text_bytes(work->text, &length);
        work->saved = !shown || (disk && size == length && memcmp(disk, shown, size) == 0);
        if (shown) {
            /* What the editor shows needs no waiting for the disk. */
            work->busy = false;
            work->exists = true;
            work->script = script_read(work->path, shown, length, path_canonical);
        } else if (disk) {
            work->script = script_read(work->path, disk, size, path_canonical);
        }
    }
    if (work->script) {
        trace_links(work);
        watch_folders(work);
    }
    free(disk);
}

/* The unit that asked for the same; NULL: none did. */
static struct unit *take_equal(struct table *units, const struct script *script,
                               const struct script_unit *row)
{
    struct unit *unit = table_get(units, row->file);

    if (!unit || !script_unit_equal(&script->units[unit->number], row))
        return NULL;
    return table_take(units, row->file);
}

/* Units that ask for the same keep what is known of them. */
static void take_script(struct member *member, struct script *script)
{
    struct table old = {.entries = NULL}; /* by the file that they generate */
    struct script *before = member->script;
    size_t at = 0;
    void *unit;

    member_touch(member);
    for (size_t i = 0; i < member->unit_count; i++) {
        unit = member->units[i];
        unit = table_put(&old, before->units[member->units[i]->number].file, unit);
        /* Where two would write one file, neither is written. */
        if (unit)
            unit_free(unit);
    }
    free(member->units);
    member->units = memory_new(((size_t)script->unit_count + 1) * sizeof *member->units);
    member->unit_count = (size_t)script->unit_count;
    member->script = script;
    for (int u = 0; u < script->unit_count; u++) {
        member->units[u] = take_equal(&old, before, &script->units[u]);
        if (member->units[u]) {
            member->units[u]->number = u;
        } else {
            member->units[u] = unit_new(member, u);
            unit_concern(member->units[u]);
        }
    }
    while (table_each(&old, &at, NULL, &unit))
        unit_free(unit);
    table_release(&old);
    release_later(before, member->workspace);
    concern(member);
    member_touch(member);
}

bool member_wanted(const struct member *member)
{
    return member->loose || member->waiter_count ||
           documents_find_path(&member->workspace->server->documents, 0, member->path) ||
           (member->script && member->script->unit_count + member->script->problem_count > 0 &&
            workspace_in_roots(member->workspace, member->path));
}

static void apply(struct member *member, struct read_work *work)
{
    bool open = work->version >= 0;

    if (work->busy) {
        member->again = true;
        workspace_tick_soon(member->workspace);
        return;
    }
    snapshot_release(&member->disk);
    member->disk = work->disk;
    snapshot_init(&work->disk);
    path_list_release(&member->links);
    member->links = work->links;
    work->links = (struct path_list){NULL, 0};
    if (!work->script) {
        work->script = script_read(member->path, "", 0, NULL);
        if (!work->script)
            return;
        if (!work->exists)
            member->loose = false;
    }
    member->saved = work->saved;
    member->version = work->version;
    member->change = work->change;
    take_script(member, work->script);
    work->script = NULL;
    for (size_t i = 0; i < member->unit_count; i++) {
        struct unit *unit = member->units[i];

        if (unit->unwritten && member->saved)
            unit_outdate(unit, open ? JOB_INTERACTIVE : JOB_BACKGROUND);
        else
            unit_start(unit, open ? JOB_INTERACTIVE : JOB_BACKGROUND);
    }
}

static void read_done(struct job *job)
{
    struct read_work *work = (struct read_work *)job;
    struct member *member = work->member;
    struct workspace *workspace = work->server->workspace;

    if (member) {
        member->reading = NULL;
        workspace->reading--;
        if (!job_cancelled(job) && !workspace->leaving)
            apply(member, work);
    }
    release_later(work->script, workspace);
    snapshot_release(&work->disk);
    path_list_release(&work->links);
    text_drop_later(work->text, work->server->jobs);
    free(work->path);
    free(work);
    if (member) {
        if (!member->reading && member->script && !member_wanted(member)) {
            member_free(member);
        } else {
            member_settle(member);
        }
        agenda_wake(workspace->agenda);
    }
}

void member_read(struct member *member, enum job_priority priority)
{
    struct server *server = member->workspace->server;
    struct document *document = documents_find_path(&server->documents, 0, member->path);
    struct read_work *work = memory_new(sizeof *work);

    work->job.run = read_run;
    work->job.done = read_done;
    work->job.priority = priority;
    work->job.subject = member->id;
    work->job.revision = ++member->revision;
    work->member = member;
    work->server = server;
    work->kind = member->kind;
    work->path = memory_text(member->path);
    work->version = -1;
    snapshot_init(&work->disk);
    if (document && member->kind == MEMBER_SCRIPT) {
        work->text = text_hold(document->text);
        work->version = document->version;
        work->change = document->change;
    }
    member->again = false;
    if (member->reading)
        member->reading->member = NULL;
    else
        member->workspace->reading++;
    member->reading = work;
    if (member->busy_since_ms == 0)
        member->busy_since_ms = workspace_now_ms(member->workspace);
    jobs_submit(server->jobs, &work->job);
    progress_wake(server->progress);
}

/* --- checking ------------------------------------------------------------------------------- */

static void check_run(struct job *job)
{
    struct check_work *work = (struct check_work *)job;

    work->disk_state = snapshot_state(&work->disk);
    for (size_t i = 0; i < work->unit_count; i++) {
        struct unit_check *check = &work->units[i];

        check->state = snapshot_state(&check->snapshot);
        if (check->state != SNAPSHOT_UNSURE)
            continue;
        check->now_ns = file_clock_ns();
        check->confirmed =
            outcome_contents_same(check->models, check->contents, check->model_count, &job->cancel);
        if (!check->confirmed)
            check->state = SNAPSHOT_CHANGED;
    }
}

static void apply_check(struct member *member, struct check_work *work)
{
    size_t at = 0;

    /* A young script is simply read again. */
    if (work->disk_state != SNAPSHOT_SAME && member->kind == MEMBER_SCRIPT)
        member_read(member, JOB_INTERACTIVE);
    for (size_t i = 0; i < work->unit_count; i++) {
        struct unit_check *check = &work->units[i];

        /* They are in the units' order, but for units that are new or gone since. */
        for (size_t tries = 0; tries < member->unit_count; tries++) {
            struct unit *unit = member->units[at];

            at = (at + 1) % member->unit_count;
            if (unit->id != check->id)
                continue;
            if (unit->revision != check->revision)
                break;
            if (check->state == SNAPSHOT_CHANGED)
                unit_outdate(unit, JOB_INTERACTIVE);
            else if (check->confirmed && unit->outcome)
                snapshot_confirm(&unit->outcome->snapshot, check->now_ns);
            break;
        }
    }
}

static void check_done(struct job *job)
{
    struct check_work *work = (struct check_work *)job;
    struct member *member = work->member;

    if (member) {
        member->checking = NULL;
        if (!job_cancelled(job) && !member->workspace->leaving)
            apply_check(member, work);
    }
    snapshot_release(&work->disk);
    for (size_t i = 0; i < work->unit_count; i++) {
        struct unit_check *check = &work->units[i];

        snapshot_release(&check->snapshot);
        for (int m = 0; m < check->model_count; m++)
            free(check->models[m]);
        free(check->models);
        free(check->contents);
    }
    free(work->units);
    free(work);
    if (member)
        member_settle(member);
}

void member_check(struct member *member)
{
    struct server *server = member->workspace->server;
    struct check_work *work = memory_new(sizeof *work);

    work->job.run = check_run;
    work->job.done = check_done;
    work->job.priority = JOB_INTERACTIVE;
    work->member = member;
    work->server = server;
    if (member->version >= 0)
        snapshot_init(&work->disk); /* the editor's text is the truth */
    else
        snapshot_copy(&work->disk, &member->disk);
    work->units = memory_new((member->unit_count + 1) * sizeof *work->units);
    for (size_t u = 0; u < member->unit_count; u++) {
        const struct unit *unit = member->units[u];
        const struct script_unit *row = &member->script->units[unit->number];
        struct unit_check *check = &work->units[work->unit_count];

        /* What is under way reads everything anew, or is caught by its own look afterwards. */
        if (!unit->outcome || unit->current != unit->revision)
            continue;
        work->unit_count++;
        check->id = unit->id;
        check->revision = unit->revision;
        snapshot_copy(&check->snapshot, &unit->outcome->snapshot);
        check->model_count = row->options.model_count;
        check->models = memory_new((size_t)check->model_count * sizeof *check->models);
        check->contents = memory_new((size_t)check->model_count * sizeof *check->contents);
        for (int m = 0; m < check->model_count; m++) {
            check->models[m] = memory_text(row->options.models[m]);
            check->contents[m] = unit->outcome->contents[m];
        }
    }
    if (member->checking)
        member->checking->member = NULL;
    member->checking = work;
    jobs_submit(server->jobs, &work->job);
}
