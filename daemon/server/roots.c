#include "daemon/server/workspace.h"

#include "daemon/outputs.h"
#include "daemon/server/agenda.h"
#include "daemon/server/log.h"
#include "daemon/server/memory.h"
#include "daemon/server/path.h"
#include "daemon/server/progress.h"
#include "daemon/server/scan.h"
#include "daemon/server/server.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <uv.h>

/* How often roots are looked after. Events do not tell all: a folder that is somebody's working
 * folder is deleted without one, and where its parents are moved, or something is mounted over it,
 * its own watch goes on as though nothing had happened. */
#define LOOK_MS 2000

struct roots_timer {
    uv_timer_t handle;
};

/* Looks where the roots are, and for what dead processes left. */
struct look_work {
    struct job job;
    struct server *server;
    struct seen {
        char *path;
        bool there;
        uint64_t device, inode;
    } * roots;
    size_t root_count;
    struct path_list folders; /* with leftovers, before and after */
    struct path_list swept;   /* of these: nothing is left there */
};

struct scan_work {
    struct job job;
    struct server *server;
    char *folder;
    bool everything; /* changes were lost: what is known below the folder is looked at again */
    bool missing;
    struct scan scan;

    /* What is taken of it is taken by and by. */
    struct scan_work *next;
    size_t scripts_taken, models_taken, known_taken;
    char **known; /* with `everything`: members and models below the folder */
    size_t known_count;
    struct table_walk members, models;
    bool knows_members, knows_models;
};

/* So much of what is known is looked through at a time. */
#define LOOKS 64

/* --- roots ---------------------------------------------------------------------------------- */

bool workspace_in_roots(const struct workspace *workspace, const char *path)
{
    for (size_t i = 0; i < workspace->root_count; i++)
        if (path_inside(workspace->roots[i].path, path))
            return true;
    return false;
}

size_t workspace_root_count(const struct workspace *workspace)
{
    return workspace->root_count;
}

const char *workspace_root(const struct workspace *workspace, size_t index)
{
    return workspace->roots[index].path;
}

static struct root *find_root(struct workspace *workspace, const char *path)
{
    for (size_t i = 0; i < workspace->root_count; i++)
        if (strcmp(workspace->roots[i].path, path) == 0)
            return &workspace->roots[i];
    return NULL;
}

/* A root is a folder, whatever links lead to it. */
static char *root_path(const char *path)
{
    char *resolved = realpath(path, NULL);

    return resolved ? resolved : path_canonical(path);
}

void workspace_add_root(struct workspace *workspace, const char *path)
{
    char *canonical = root_path(path);
    struct root *root = find_root(workspace, canonical);

    if (root) {
        root->count++;
        free(canonical);
        return;
    }
    workspace->roots =
        memory_grow(workspace->roots, workspace->root_count, sizeof *workspace->roots);
    workspace->roots[workspace->root_count++] = (struct root){.path = canonical, .count = 1};
    roots_scan(workspace, canonical, false);
}

void workspace_remove_root(struct workspace *workspace, const char *path)
{
    char *canonical = root_path(path);
    struct root *root = find_root(workspace, canonical);

    if (!root || --root->count)
        goto out;
    free(root->path);
    *root = workspace->roots[--workspace->root_count];
    if (workspace_in_roots(workspace, canonical))
        goto out;
    watch_remove(workspace->server->watch, canonical);
    /* Which of them are still wanted is looked at by and by. */
    agenda_decide_below(workspace->agenda, canonical);
    /* What lies below and is a root of its own lost its watches with the rest. */
    for (size_t i = 0; i < workspace->root_count; i++)
        if (path_inside(canonical, workspace->roots[i].path))
            roots_scan(workspace, workspace->roots[i].path, true);
out:
    free(canonical);
}

/* --- scanning ------------------------------------------------------------------------------- */

static void scan_job(struct job *job)
{
    struct scan_work *work = (struct scan_work *)job;
    struct stat status;

    work->missing = stat(work->folder, &status) < 0 || !S_ISDIR(status.st_mode);
    if (!work->missing)
        scan_run(&work->scan, work->folder, work->server->watch, &job->cancel);
}

static bool among(char *const *list, size_t count, const char *path)
{
    size_t low = 0, high = count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = strcmp(list[middle], path);

        if (order == 0)
            return true;
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return false;
}

struct member *workspace_get_script(struct workspace *workspace, const char *path)
{
    struct member *member = workspace_find(workspace, path);

    if (member && member->kind == MEMBER_MODEL)
        return NULL;
    return member ? member : member_new(workspace, MEMBER_SCRIPT, path);
}

static void know(struct scan_work *work, const char *path)
{
    work->known = memory_grow(work->known, work->known_count, sizeof *work->known);
    work->known[work->known_count++] = memory_text(path);
}

/* Some of what the workspace knows of the folder. */
static void look_what_is_known(struct scan_work *work)
{
    struct workspace *workspace = work->server->workspace;
    const char *path;
    void *value;

    for (int looks = 0; looks < LOOKS && !work->knows_models; looks++)
        if (!work->knows_members) {
            if (!table_walk(&workspace->members, &work->members, &path, &value))
                work->knows_members = true;
            else if (path_inside(work->folder, path))
                know(work, path);
        } else if (!tree_walk(&workspace->models, &work->models, &path)) {
            work->knows_models = true;
        } else if (path_inside(work->folder, path) && !workspace_find(workspace, path)) {
            know(work, path);
        }
}

static void take_script_of(struct workspace *workspace, const char *path)
{
    struct member *member =
        workspace_in_roots(workspace, path) ? workspace_get_script(workspace, path) : NULL;

    /* A reading that is under way may have looked before the file came. */
    if (member)
        member_read(member, JOB_FILE);
}

/* Changes may have been lost: what is known is looked at again. */
static void take_known(struct workspace *workspace, const struct scan *scan, const char *path)
{
    struct member *member = workspace_find(workspace, path);

    if (tree_get(&workspace->models, path) && !among(scan->models, scan->model_count, path)) {
        tree_take(&workspace->models, path);
        workspace_decide(workspace, path);
    }
    if (!member)
        return;
    if (member->kind == MEMBER_SCRIPT && !among(scan->scripts, scan->script_count, path))
        member_read(member, JOB_FILE);
    for (size_t u = 0; u < member->unit_count; u++)
        unit_outdate(member->units[u], JOB_BACKGROUND);
}

static void scan_work_free(struct scan_work *work)
{
    for (size_t i = 0; i < work->known_count; i++)
        free(work->known[i]);
    free(work->known);
    scan_release(&work->scan);
    free(work->folder);
    free(work);
}

/* Takes the first that waits to be taken away. */
static void drop_scanned(struct workspace *workspace)
{
    struct scan_work *work = workspace->scanned;

    workspace->scanned = work->next;
    if (!workspace->scanned)
        workspace->last_scanned = &workspace->scanned;
    workspace->scanning--;
    workspace->scans++;
    scan_work_free(work);
}

bool roots_take_some(struct workspace *workspace)
{
    struct scan_work *work = workspace->scanned;
    const struct scan *scan;

    if (!work)
        return false;
    scan = &work->scan;
    if (work->scripts_taken < scan->script_count)
        take_script_of(workspace, scan->scripts[work->scripts_taken++]);
    else if (work->models_taken < scan->model_count)
        workspace_changed(workspace, scan->models[work->models_taken++]);
    else if (work->everything && !work->knows_models)
        look_what_is_known(work);
    else if (work->known_taken < work->known_count)
        take_known(workspace, scan, work->known[work->known_taken++]);
    else
        drop_scanned(workspace);
    return true;
}

static void scan_done(struct job *job)
{
    struct scan_work *work = (struct scan_work *)job;
    struct workspace *workspace = work->server->workspace;
    struct root *root = find_root(workspace, work->folder);

    if (root) {
        /* One that cannot be opened may be some day. */
        root->missing = work->missing || !work->scan.inode;
        root->device = work->scan.device;
        root->inode = work->scan.inode;
    }
    for (size_t i = 0; i < work->scan.leftovers.count; i++)
        table_put(&workspace->leftovers, work->scan.leftovers.list[i], workspace);
    if (work->scan.limit) {
        workspace->unwatched++;
        if (workspace->unwatched == 1)
            server_warn(work->server,
                        "%s: not all folders can be watched, and these are looked at every 2 s; "
                        "raise %s",
                        work->scan.unwatched,
                        work->scan.limit == -ENOSPC ? "fs.inotify.max_user_watches"
                                                    : "fs.inotify.max_user_instances");
    }
    if (!job_cancelled(job) && !workspace->leaving) {
        log_line(LOG_INFO, "%s: %zu folders, %zu scripts, %zu models", work->folder,
                 work->scan.folders, work->scan.script_count, work->scan.model_count);
        *workspace->last_scanned = work;
        workspace->last_scanned = &work->next;
        agenda_wake(workspace->agenda);
        return;
    }
    workspace->scanning--;
    workspace->scans++;
    scan_work_free(work);
    agenda_wake(workspace->agenda);
}

void roots_scan(struct workspace *workspace, const char *folder, bool everything)
{
    struct scan_work *work = memory_new(sizeof *work);

    work->job.run = scan_job;
    work->job.done = scan_done;
    work->job.priority = JOB_FILE;
    work->server = workspace->server;
    work->folder = memory_text(folder);
    work->everything = everything;
    workspace->scanning++;
    jobs_submit(workspace->server->jobs, &work->job);
    progress_wake(workspace->server->progress);
}

/* --- looking after roots ---------------------------------------------------------------------- */

static void look_run(struct job *job)
{
    struct look_work *work = (struct look_work *)job;
    struct stat status;

    for (size_t i = 0; i < work->root_count; i++) {
        struct seen *seen = &work->roots[i];

        seen->there = stat(seen->path, &status) == 0 && S_ISDIR(status.st_mode);
        if (seen->there) {
            seen->device = status.st_dev;
            seen->inode = status.st_ino;
        }
    }
    for (size_t i = 0; i < work->folders.count; i++)
        if (outputs_sweep(work->folders.list[i]) == 0)
            path_list_add(&work->swept, work->folders.list[i]);
}

static void root_gone(struct workspace *workspace, const char *path)
{
    watch_remove(workspace->server->watch, path);
    workspace_folder_gone(workspace, path);
}

static void apply_look(struct workspace *workspace, const struct seen *seen)
{
    struct root *root = find_root(workspace, seen->path);

    if (!root || (root->inode == 0 && !root->missing))
        return;
    if (!seen->there) {
        if (!root->missing)
            root_gone(workspace, seen->path);
        return;
    }
    if (!root->missing && root->device == seen->device && root->inode == seen->inode)
        return;
    if (!root->missing)
        root_gone(workspace, seen->path);
    root->missing = false;
    root->inode = 0;
    roots_scan(workspace, seen->path, true);
}

static void look_done(struct job *job)
{
    struct look_work *work = (struct look_work *)job;
    struct workspace *workspace = work->server->workspace;

    workspace->looking = false;
    for (size_t i = 0; i < work->root_count; i++) {
        if (!job_cancelled(job) && !workspace->leaving)
            apply_look(workspace, &work->roots[i]);
        free(work->roots[i].path);
    }
    for (size_t i = 0; i < work->swept.count; i++)
        table_take(&workspace->leftovers, work->swept.list[i]);
    path_list_release(&work->folders);
    path_list_release(&work->swept);
    free(work->roots);
    free(work);
}

static void look(uv_timer_t *timer)
{
    struct workspace *workspace = timer->data;
    struct look_work *work;
    const char *folder;
    void *value;
    size_t at = 0;

    /* A file system that does not answer holds one worker, not all. */
    if (workspace->looking || workspace->leaving || !workspace->root_count)
        return;
    workspace->looking = true;
    work = memory_new(sizeof *work);
    work->job.run = look_run;
    work->job.done = look_done;
    work->job.priority = JOB_FILE;
    work->server = workspace->server;
    work->roots = memory_new(workspace->root_count * sizeof *work->roots);
    work->root_count = workspace->root_count;
    for (size_t i = 0; i < work->root_count; i++)
        work->roots[i].path = memory_text(workspace->roots[i].path);
    while (table_each(&workspace->leftovers, &at, &folder, &value))
        path_list_add(&work->folders, folder);
    jobs_submit(workspace->server->jobs, &work->job);
}

void roots_begin(struct workspace *workspace)
{
    workspace->last_scanned = &workspace->scanned;
    workspace->roots_timer = memory_new(sizeof *workspace->roots_timer);
    uv_timer_init(workspace->server->loop, &workspace->roots_timer->handle);
    workspace->roots_timer->handle.data = workspace;
    uv_timer_start(&workspace->roots_timer->handle, look, LOOK_MS, LOOK_MS);
    uv_unref((uv_handle_t *)&workspace->roots_timer->handle);
}

static void timer_closed(uv_handle_t *handle)
{
    free(handle);
}

void roots_end(struct workspace *workspace)
{
    while (workspace->scanned)
        drop_scanned(workspace);
    for (size_t i = 0; i < workspace->root_count; i++)
        free(workspace->roots[i].path);
    free(workspace->roots);
    table_release(&workspace->leftovers);
    uv_close((uv_handle_t *)&workspace->roots_timer->handle, timer_closed);
}
