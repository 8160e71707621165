#include "daemon/server/log.h"
#include "daemon/server/memory.h"
#include "daemon/server/server.h"
#include "daemon/server/session.h"
#include "daemon/server/turn.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* The cache may be held by another process for a moment, so its figures are asked for on a worker.
 */
struct status_work {
    struct job job;
    struct server *server;
    struct answer answer;
    struct cache_stats cache;
    size_t resident; /* bytes */
};

static void status_run(struct job *job)
{
    struct status_work *work = (struct status_work *)job;
    FILE *file = fopen("/proc/self/statm", "re");
    unsigned long pages = 0;

    cache_stats(work->server->cache, &work->cache);
    if (file && fscanf(file, "%*u %lu", &pages) == 1)
        work->resident = (size_t)pages * (size_t)sysconf(_SC_PAGESIZE);
    if (file)
        fclose(file);
}

static struct json *cache_json(const struct cache_stats *stats)
{
    struct json *cache = json_new_object(), *rows = json_new_object();

    json_set_bool(cache, "on", stats->on);
    if (!stats->on)
        json_set_string(cache, "why", stats->why);
    json_set_int(cache, "hits", (int64_t)stats->hits);
    json_set_int(cache, "misses", (int64_t)stats->misses);
    json_set_int(cache, "puts", (int64_t)stats->puts);
    json_set_int(cache, "evicted", (int64_t)stats->evicted);
    json_set_int(cache, "badRows", (int64_t)stats->bad_rows);
    json_set_int(cache, "busy", (int64_t)stats->busy);
    for (int kind = 1; kind < CACHE_KIND_END; kind++)
        json_set_int(rows, cache_kind_name((enum cache_kind)kind), (int64_t)stats->rows[kind]);
    json_set(cache, "rows", rows);
    json_set_int(cache, "bytes", (int64_t)stats->bytes);
    json_set_int(cache, "limit", (int64_t)stats->limit_bytes);
    return cache;
}

static struct json *workspaces_json(const struct workspace *workspace)
{
    struct json *list = json_new_array();

    for (size_t i = 0; i < workspace_root_count(workspace); i++)
        json_append_string(list, workspace_root(workspace, i));
    return list;
}

static struct json *models_json(const struct workspace_counts *counts)
{
    struct json *models = json_new_object();

    json_set_int(models, "ok", (int64_t)counts->ok);
    json_set_int(models, "refused", (int64_t)counts->refused);
    json_set_int(models, "failed", (int64_t)counts->failed);
    json_set_int(models, "compiling", (int64_t)counts->compiling);
    json_set_int(models, "beingWritten", (int64_t)counts->being_written);
    return models;
}

static struct json *queue_json(const struct server *server)
{
    struct json *queue = json_new_object();
    struct jobs_counts counts;

    jobs_count(server->jobs, &counts);
    json_set_int(queue, "workers", counts.workers);
    json_set_int(queue, "running", (int64_t)counts.running); /* this very question is done */
    json_set_int(queue, "interactive", (int64_t)counts.waiting[JOB_INTERACTIVE]);
    json_set_int(queue, "files", (int64_t)counts.waiting[JOB_FILE]);
    json_set_int(queue, "background", (int64_t)counts.waiting[JOB_BACKGROUND]);
    return queue;
}

static void status_done(struct job *job)
{
    struct status_work *work = (struct status_work *)job;
    struct server *server = work->server;
    struct json *result = json_new_object(), *watched = json_new_object(),
                *memory = json_new_object();
    struct workspace_counts counts;
    struct turn_figures turn;

    workspace_count(server->workspace, &counts);
    turn_figures(server->turn, &turn);
    json_set_string(result, "version", ENDPOINT_BUILD);
    json_set_int(result, "protocol", ENDPOINT_PROTOCOL);
    json_set_string(result, "compiler", compiler_version);
    json_set_int(result, "pid", (int64_t)getpid());
    json_set_int(result, "uptimeMs", server_uptime_ms(server));
    if (log_place())
        json_set_string(result, "log", log_place());
    json_set(result, "workspaces", workspaces_json(server->workspace));
    json_set_int(watched, "folders", (int64_t)watch_count(server->watch));
    json_set_bool(watched, "complete", counts.folders_not_watched == 0);
    json_set_int(watched, "scans", (int64_t)counts.scans);
    json_set(result, "watched", watched);
    json_set_int(result, "scripts", (int64_t)counts.scripts);
    json_set(result, "models", models_json(&counts));
    json_set(result, "queue", queue_json(server));
    json_set_int(result, "longestTurnUs", turn.longest_us);
    json_set_int(result, "mostThingsInATurn", (int64_t)turn.most_things);
    json_set_int(result, "compiles", (int64_t)counts.compiles);
    json_set_int(result, "answersFromMemory", (int64_t)counts.answers_from_memory);
    json_set(result, "cache", cache_json(&work->cache));
    json_set_int(memory, "resident", (int64_t)work->resident);
    json_set(result, "memory", memory);
    answer_result(server, work->answer, result);
    free(work);
}

/* onnxgpu/status: what the daemon is and does. */
void method_status(struct session *session, const struct request *request)
{
    struct status_work *work = memory_new(sizeof *work);

    work->job.run = status_run;
    work->job.done = status_done;
    work->job.priority = JOB_INTERACTIVE;
    work->server = session->server;
    work->answer = request->answer;
    rpc_registry_find(&session->registry, request->answer.ticket)->work = &work->job;
    jobs_submit(session->server->jobs, &work->job);
}
