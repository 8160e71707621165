#include "daemon/server/jobs.h"

#include "daemon/server/memory.h"
#include <stdlib.h>
#include <uv.h>

/* One worker's turn; libuv's request lives beside the job, so that no other file needs to know of
 * it. */
struct turn {
    uv_work_t request;
    struct job *job;
};

struct list {
    struct job *first, **last;
};

struct jobs {
    uv_loop_t *loop;
    int workers;
    int running, background; /* background: of those that run */
    struct list waiting[JOB_PRIORITIES];
    struct list finished; /* cancelled before they ran, to be handed back */
    struct job **running_jobs;
    uv_async_t wake;
};

static void list_init(struct list *list)
{
    list->first = NULL;
    list->last = &list->first;
}

static void list_append(struct list *list, struct job *job)
{
    job->next = NULL;
    *list->last = job;
    list->last = &job->next;
}

static void list_remove(struct list *list, struct job *job)
{
    struct job **at = &list->first;

    while (*at != job)
        at = &(*at)->next;
    *at = job->next;
    if (!*at)
        list->last = at;
    job->next = NULL;
}

bool job_cancelled(const struct job *job)
{
    return atomic_load_explicit(&job->cancel, memory_order_relaxed);
}

static void pump(struct jobs *jobs);

static void work(uv_work_t *request)
{
    struct turn *turn = request->data;

    if (!job_cancelled(turn->job))
        turn->job->run(turn->job);
}

static void after(uv_work_t *request, int status)
{
    struct turn *turn = request->data;
    struct job *job = turn->job;
    struct jobs *jobs = job->jobs;

    (void)status;
    free(turn);
    for (int i = 0; i < jobs->workers; i++)
        if (jobs->running_jobs[i] == job)
            jobs->running_jobs[i] = NULL;
    jobs->running--;
    jobs->background -= job->priority == JOB_BACKGROUND;
    job->state = JOB_FINISHED;
    job->done(job);
    pump(jobs);
}

static void start(struct jobs *jobs, struct job *job)
{
    struct turn *turn = memory_new(sizeof *turn);
    int slot = 0;

    while (jobs->running_jobs[slot])
        slot++;
    jobs->running_jobs[slot] = job;
    jobs->running++;
    jobs->background += job->priority == JOB_BACKGROUND;
    job->state = JOB_RUNNING;
    turn->job = job;
    turn->request.data = turn;
    uv_queue_work(jobs->loop, &turn->request, work, after);
}

static void pump(struct jobs *jobs)
{
    int background = jobs->workers > 1 ? jobs->workers - 1 : 1;

    for (int p = 0; p < JOB_PRIORITIES; p++)
        while (jobs->waiting[p].first && jobs->running < jobs->workers &&
               (p != JOB_BACKGROUND || jobs->background < background)) {
            struct job *job = jobs->waiting[p].first;

            list_remove(&jobs->waiting[p], job);
            start(jobs, job);
        }
}

static void woken(uv_async_t *handle)
{
    struct jobs *jobs = handle->data;

    while (jobs->finished.first) {
        struct job *job = jobs->finished.first;

        list_remove(&jobs->finished, job);
        job->done(job);
    }
    uv_unref((uv_handle_t *)&jobs->wake);
    pump(jobs);
}

struct jobs *jobs_new(struct uv_loop_s *loop, int workers, int *error)
{
    struct jobs *jobs = memory_new(sizeof *jobs);

    jobs->loop = loop;
    jobs->workers = workers > 0 ? workers : 1;
    jobs->running_jobs = memory_new((size_t)jobs->workers * sizeof(struct job *));
    for (int p = 0; p < JOB_PRIORITIES; p++)
        list_init(&jobs->waiting[p]);
    list_init(&jobs->finished);
    *error = uv_async_init(loop, &jobs->wake, woken);
    if (*error < 0) {
        free(jobs->running_jobs);
        free(jobs);
        return NULL;
    }
    jobs->wake.data = jobs;
    uv_unref((uv_handle_t *)&jobs->wake);
    return jobs;
}

/* A job about the same subject that nobody has cancelled. */
static struct job *find(struct jobs *jobs, uint64_t subject)
{
    for (int i = 0; i < jobs->workers; i++) {
        struct job *job = jobs->running_jobs[i];

        if (job && job->subject == subject && !job_cancelled(job))
            return job;
    }
    for (int p = 0; p < JOB_PRIORITIES; p++)
        for (struct job *job = jobs->waiting[p].first; job; job = job->next)
            if (job->subject == subject)
                return job;
    return NULL;
}

struct job *jobs_submit(struct jobs *jobs, struct job *job)
{
    struct job *other = job->subject ? find(jobs, job->subject) : NULL;

    if (other && other->revision == job->revision) {
        jobs_raise(other, job->priority);
        return other;
    }
    if (other)
        jobs_cancel(other);
    job->jobs = jobs;
    job->state = JOB_WAITING;
    list_append(&jobs->waiting[job->priority], job);
    pump(jobs);
    return job;
}

void jobs_cancel(struct job *job)
{
    struct jobs *jobs = job->jobs;

    atomic_store(&job->cancel, true);
    if (job->also)
        atomic_store(job->also, true);
    if (job->state != JOB_WAITING)
        return;
    list_remove(&jobs->waiting[job->priority], job);
    job->state = JOB_FINISHED;
    list_append(&jobs->finished, job);
    uv_ref((uv_handle_t *)&jobs->wake);
    uv_async_send(&jobs->wake);
}

void jobs_raise(struct job *job, enum job_priority priority)
{
    if (job->state != JOB_WAITING || priority >= job->priority)
        return;
    list_remove(&job->jobs->waiting[job->priority], job);
    job->priority = priority;
    list_append(&job->jobs->waiting[priority], job);
    pump(job->jobs);
}

void jobs_count(const struct jobs *jobs, struct jobs_counts *counts)
{
    *counts = (struct jobs_counts){.running = (size_t)jobs->running, .workers = jobs->workers};
    for (int p = 0; p < JOB_PRIORITIES; p++)
        for (const struct job *job = jobs->waiting[p].first; job; job = job->next)
            counts->waiting[p]++;
}

bool jobs_idle(const struct jobs *jobs)
{
    for (int p = 0; p < JOB_PRIORITIES; p++)
        if (jobs->waiting[p].first)
            return false;
    return jobs->running == 0 && !jobs->finished.first;
}

void jobs_cancel_all(struct jobs *jobs)
{
    for (int p = 0; p < JOB_PRIORITIES; p++)
        while (jobs->waiting[p].first)
            jobs_cancel(jobs->waiting[p].first);
    for (int i = 0; i < jobs->workers; i++)
        if (jobs->running_jobs[i])
            jobs_cancel(jobs->running_jobs[i]);
}

static void closed(uv_handle_t *handle)
{
    struct jobs *jobs = handle->data;

    free(jobs->running_jobs);
    free(jobs);
}

void jobs_free(struct jobs *jobs)
{
    if (jobs)
        uv_close((uv_handle_t *)&jobs->wake, closed);
}
