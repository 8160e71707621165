#include "daemon/server/workspace.h"

#include "daemon/server/log.h"
#include "daemon/server/memory.h"
#include "daemon/server/path.h"
#include "daemon/server/progress.h"
#include "daemon/server/publish.h"
#include "daemon/server/server.h"
#include "daemon/server/settle.h"
#include "daemon/server/write.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* After a file could not be written: twice as long each time. */
#define RETRY_MS 2000
#define RETRY_LIMIT_MS 300000

struct compile_work {
    struct job job;
    struct unit *unit; /* NULL: the unit is gone, or newer work has taken over */
    struct server *server;
    struct script *script;
    int number;
    bool keep;
    atomic_bool *cancel; /* the outcome's, where that keeps the compile */
    struct outcome *outcome;
    bool written;
};

struct write_work {
    struct job job;
    struct unit *unit; /* NULL: the unit is gone */
    struct server *server;
    struct outcome *outcome; /* owns the compile; only that part is used */
    char *folder, *script;
    bool with_text;
    struct hash fingerprint;
    struct outputs outputs;
    bool good, gone; /* gone: with the script, whose end is yet to be heard of */
};

struct unit *unit_new(struct member *member, int number)
{
    struct unit *unit = memory_new(sizeof *unit);

    unit->id = ++member->workspace->last_id;
    unit->member = member;
    unit->number = number;
    unit->revision = 1;
    return unit;
}

bool unit_at_rest(const struct unit *unit)
{
    if (unit->writing)
        return false;
    /* What is shown while somebody keeps writing is the last complete state; that is all there is
     * to wait for. */
    if (unit->written_since_ms)
        return unit->written_long;
    return !unit->compiling && unit->current == unit->revision;
}

bool unit_uses_model(const struct unit *unit, const char *path, int *model)
{
    const struct script_unit *row;

    if (!unit->member->script)
        return false;
    row = &unit->member->script->units[unit->number];
    for (int i = 0; i < row->options.model_count; i++)
        if (strcmp(row->options.models[i], path) == 0) {
            if (model)
                *model = i;
            return true;
        }
    return false;
}

bool unit_generates(const struct unit *unit, const char *path)
{
    const struct member *member = unit->member;
    const char *name = path_name(path), *last;
    const struct script_unit *row;

    if (member->kind != MEMBER_SCRIPT || !member->script)
        return false;
    last = path_name(member->path);
    if (name - path != last - member->path ||
        strncmp(path, member->path, (size_t)(name - path)) != 0)
        return false;
    row = &member->script->units[unit->number];
    return strcmp(name, row->file) == 0 || outputs_is_asset(name, row->options.file_stem);
}

/* --- what is over --------------------------------------------------------------------------- */

static void dispose(void *outcome)
{
    outcome_drop(outcome);
}

/* So many diagnostics are given back at once. */
#define FEW 256

/* A compile holds as much memory as its model is large, a text is long, diagnostics are many, and
 * giving that back takes its time. Accepts NULL. */
static void drop_later(struct server *server, struct outcome *outcome)
{
    size_t length = 0;

    if (outcome && outcome->text_json)
        shared_bytes(outcome->text_json, &length);
    if (outcome && (outcome->compile || length >= MESSAGE_CUT || outcome->diagnostic_count > FEW) &&
        !server->workspace->leaving)
        jobs_dispose(server->jobs, dispose, outcome);
    else
        outcome_drop(outcome);
}

void unit_concern(struct unit *unit)
{
    struct member *member = unit->member;
    const struct compile_options *options = &member->script->units[unit->number].options;
    struct path_list paths = {NULL, 0};

    for (int m = 0; m < options->model_count; m++)
        path_list_add(&paths, options->models[m]);
    for (size_t i = 0; unit->outcome && i < unit->outcome->snapshot.count; i++)
        path_list_add(&paths, unit->outcome->snapshot.list[i].path);
    concerns_set(&member->workspace->concerns, member, &unit->concern, &paths);
}

void unit_free(struct unit *unit)
{
    struct path_list none = {NULL, 0};

    concerns_set(&unit->member->workspace->concerns, unit->member, &unit->concern, &none);
    if (unit->compiling) {
        unit->compiling->unit = NULL;
        jobs_cancel(&unit->compiling->job);
    }
    /* What is being written is written to its end: half a set of files helps nobody. */
    if (unit->writing)
        unit->writing->unit = NULL;
    drop_later(unit->member->workspace->server, unit->outcome);
    free(unit->write_why);
    free(unit);
}

/* The outcome without its compile, which goes elsewhere. */
static struct outcome *part_with_compile(struct outcome *outcome)
{
    struct outcome *taken = memory_new(sizeof *taken);

    atomic_init(&taken->holders, 1);
    taken->compile = outcome->compile;
    taken->kept = outcome->kept;
    taken->cancel = outcome->cancel;
    outcome->compile = NULL;
    outcome->kept = NULL;
    outcome->cancel = NULL;
    return taken;
}

/* --- compiling ------------------------------------------------------------------------------ */

static void compile_run_job(struct job *job)
{
    struct compile_work *work = (struct compile_work *)job;

    cache_begin(work->server->cache);
    work->outcome = outcome_new(work->script, work->number, &work->server->compile_cache.base,
                                &work->cancel, work->keep, &work->written);
    cache_commit(work->server->cache);
    /* Events come from where the bytes lie: behind links, and in folders that no root holds. */
    for (size_t i = 0; work->outcome && i < work->outcome->snapshot.count; i++) {
        char *folder = path_folder(work->outcome->snapshot.list[i].path);

        if (!watch_has(work->server->watch, folder))
            watch_add(work->server->watch, folder);
        free(folder);
    }
}

static void adopt(struct unit *unit, struct compile_work *work)
{
    struct outcome *outcome = work->outcome;

    work->outcome = NULL;
    if (outcome->status == COMPILE_FAILED)
        log_line(LOG_ERROR, "%s: %s", work->script->path, outcome->why);
    drop_later(work->server, unit->outcome);
    unit->outcome = outcome;
    unit->current = work->job.revision;
    unit->written_since_ms = 0;
    unit->written_long = false;
    unit_concern(unit);
}

/* Who stood for the models by themselves is not needed any more. */
static void take_over(const struct unit *unit)
{
    const struct compile_options *options = &unit->member->script->units[unit->number].options;

    for (int m = 0; unit->member->kind == MEMBER_SCRIPT && m < options->model_count; m++)
        workspace_decide(unit->member->workspace, options->models[m]);
}

static void compile_done(struct job *job)
{
    struct compile_work *work = (struct compile_work *)job;
    struct unit *unit = work->unit;
    struct member *member = unit ? unit->member : NULL;

    work->server->workspace->compiles++;
    work->server->workspace->done++;
    if (unit) {
        unit->compiling = NULL;
        if (job_cancelled(job)) {
            ;
        } else if (work->written) {
            if (!unit->written_since_ms)
                unit->written_since_ms = workspace_now_ms(member->workspace);
            workspace_tick_soon(member->workspace);
        } else if (work->outcome) {
            adopt(unit, work);
            unit_write(unit);
            take_over(unit);
        } else {
            log_line(LOG_ERROR, "%s: out of memory while compiling", work->script->path);
            unit->current = job->revision;
        }
        unit_touch(unit);
    }
    drop_later(work->server, work->outcome);
    free(work->cancel);
    script_release(work->script);
    free(work);
    if (member)
        member_settle(member);
}

void unit_start(struct unit *unit, enum job_priority priority)
{
    struct member *member = unit->member;
    struct compile_work *work;

    if (!member->script || member->workspace->leaving)
        return;
    if (member->waiter_count)
        priority = JOB_INTERACTIVE;
    if (unit->compiling && unit->compiling->job.revision == unit->revision) {
        jobs_raise(&unit->compiling->job, priority);
        return;
    }
    if (unit->current == unit->revision)
        return;
    work = memory_new(sizeof *work);
    work->job.run = compile_run_job;
    work->job.done = compile_done;
    work->job.priority = priority;
    work->job.subject = unit->id;
    work->job.revision = unit->revision;
    work->unit = unit;
    work->server = member->workspace->server;
    work->script = script_hold(member->script);
    work->number = unit->number;
    work->cancel = memory_new(sizeof *work->cancel);
    work->job.also = work->cancel;
    work->keep = member->kind == MEMBER_SCRIPT && !member->script->units[unit->number].blocked;
    if (unit->compiling)
        unit->compiling->unit = NULL;
    unit->compiling = work;
    if (member->busy_since_ms == 0)
        member->busy_since_ms = workspace_now_ms(member->workspace);
    jobs_submit(member->workspace->server->jobs, &work->job);
    progress_wake(member->workspace->server->progress);
}

void unit_outdate(struct unit *unit, enum job_priority priority)
{
    unit->revision++;
    unit_start(unit, priority);
}

void unit_tick(struct unit *unit, int64_t now_ms)
{
    /* What was made was not kept, but the cache makes it again for little. */
    if (unit->retry_ms && now_ms >= unit->retry_ms && !unit->writing && !unit->compiling) {
        unit->retry_ms = 0;
        unit_outdate(unit, JOB_BACKGROUND);
    }
    if (!unit->written_since_ms)
        return;
    if (!unit->written_long && now_ms - unit->written_since_ms >= SETTLE_LIMIT_MS) {
        unit->written_long = true;
        unit_touch(unit);
    }
    unit_start(unit, JOB_BACKGROUND);
}

/* --- writing -------------------------------------------------------------------------------- */

static void write_run(struct job *job)
{
    struct write_work *work = (struct write_work *)job;
    const struct write_order order = {
        .compile = work->outcome->compile,
        .folder = work->folder,
        .with_source = work->with_text,
        .cache = work->server->cache,
        .watch = work->server->watch,
        .cancel = &job->cancel,
    };

    work->good = write_files(&order, &work->outputs);
    work->gone = !work->good && access(work->script, F_OK) < 0;
    /* Here, where others do not wait for it. */
    compile_free(work->outcome->compile);
    work->outcome->compile = NULL;
}

/* A full disk has room again some day, and permissions are given back. Said once, NULL: not at all.
 */
static void retry_later(struct unit *unit, const char *why)
{
    struct workspace *workspace = unit->member->workspace;
    bool news = why && (!unit->write_why || strcmp(unit->write_why, why) != 0);

    unit->retry_wait_ms = unit->retry_wait_ms ? 2 * unit->retry_wait_ms : RETRY_MS;
    if (unit->retry_wait_ms > RETRY_LIMIT_MS)
        unit->retry_wait_ms = RETRY_LIMIT_MS;
    unit->retry_ms = workspace_now_ms(workspace) + unit->retry_wait_ms;
    workspace_tick_in(workspace, unit->retry_wait_ms);
    if (!news)
        return;
    free(unit->write_why);
    unit->write_why = memory_text(why);
    server_warn(workspace->server, "%s", why);
}

static void write_succeeded(struct unit *unit)
{
    unit->retry_ms = unit->retry_wait_ms = 0;
    free(unit->write_why);
    unit->write_why = NULL;
}

static void write_done(struct job *job)
{
    struct write_work *work = (struct write_work *)job;
    struct unit *unit = work->unit;
    struct member *member = unit ? unit->member : NULL;
    const struct outputs *outputs = &work->outputs;

    for (int i = 0; i < outputs->written_count; i++)
        log_line(LOG_INFO, "wrote %s", outputs->written[i]);
    if (unit) {
        unit->writing = NULL;
        if (work->good)
            write_succeeded(unit);
        if (!work->good && !job_cancelled(job)) {
            retry_later(unit, work->gone ? NULL : outputs->why);
        } else if (!job_cancelled(job) &&
                   (outputs->written_count || !hash_equal(unit->told, work->fingerprint))) {
            unit->told = work->fingerprint;
            publish_generated(work->server->publish, member->path, outputs->written,
                              (size_t)outputs->written_count, work->fingerprint);
        }
        unit_write(unit); /* what came meanwhile */
    }
    outputs_release(&work->outputs);
    outcome_drop(work->outcome);
    free(work->folder);
    free(work->script);
    free(work);
    if (member)
        member_settle(member);
}

void unit_write(struct unit *unit)
{
    struct member *member = unit->member;
    const struct script_unit *row;
    struct write_work *work;

    if (!unit->outcome || !unit->outcome->compile || member->workspace->leaving)
        return;
    if (unit->writing) {
        jobs_cancel(&unit->writing->job);
        return;
    }
    row = &member->script->units[unit->number];
    if (row->blocked || !member->saved) {
        /* It would be a file for a text that the user has not saved. The compile is cheap to repeat
         * from the cache, and dear to keep. */
        drop_later(member->workspace->server, part_with_compile(unit->outcome));
        unit->unwritten = !member->saved;
        return;
    }
    work = memory_new(sizeof *work);
    work->job.run = write_run;
    work->job.done = write_done;
    work->job.priority = JOB_FILE;
    work->unit = unit;
    work->server = member->workspace->server;
    work->folder = path_folder(member->path);
    work->script = memory_text(member->path);
    work->with_text = member_writable(member);
    work->fingerprint = unit->outcome->fingerprint;
    work->outcome = part_with_compile(unit->outcome);
    work->job.also = work->outcome->cancel;
    unit->unwritten = false;
    unit->writing = work;
    jobs_submit(member->workspace->server->jobs, &work->job);
    progress_wake(member->workspace->server->progress);
}
