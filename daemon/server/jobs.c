#include "daemon/server/jobs.h"

#include "daemon/server/memory.h"
#include "daemon/server/turn.h"
#include "protocol/message.h"
#include <stdlib.h>
#include <uv.h>

/* One worker's turn; libuv's request lives beside the job, so that no other file needs to know of
 * it. */
struct worker_turn {
    uv_work_t request;
    struct job *job;
};

struct list {
    struct job *first, *last;
    size_t count;
};

/* Those that wait or run, have a subject and are not cancelled: at most one for each. */
struct subjects {
    struct job **buckets;
    size_t capacity; /* a power of two */
    size_t count;
};

struct jobs {
    uv_loop_t *loop;
    int workers;
    int running, background; /* background: of those that run */
    struct list waiting[JOB_PRIORITIES];
    struct list finished; /* to be handed back */
    struct subjects subjects;
    struct job **running_jobs;
    uv_async_t wake;
};

static void list_append(struct list *list, struct job *job)
{
    job->next = NULL;
    job->before = list->last;
    *(list->last ? &list->last->next : &list->first) = job;
    list->last = job;
    list->count++;
}

static void list_remove(struct list *list, struct job *job)
{
    *(job->before ? &job->before->next : &list->first) = job->next;
    *(job->next ? &job->next->before : &list->last) = job->before;
    job->next = job->before = NULL;
    list->count--;
}

/* --- subjects ------------------------------------------------------------------------------- */

static struct job **bucket(const struct subjects *subjects, uint64_t subject)
{
    return &subjects->buckets[subject * 0x9E3779B97F4A7C15u >> 32 & (subjects->capacity - 1)];
}

static void subjects_grow(struct subjects *subjects)
{
    struct subjects bigger = {.capacity = subjects->capacity ? subjects->capacity * 2 : 16};

    bigger.buckets = memory_new(bigger.capacity * sizeof(struct job *));
    bigger.count = subjects->count;
    for (size_t i = 0; i < subjects->capacity; i++)
        for (struct job *job = subjects->buckets[i], *next; job; job = next) {
            struct job **at = bucket(&bigger, job->subject);

            next = job->next_subject;
            job->next_subject = *at;
            *at = job;
        }
    free(subjects->buckets);
    *subjects = bigger;
}

static void subjects_add(struct subjects *subjects, struct job *job)
{
    struct job **at;

    if (!job->subject)
        return;
    if (subjects->count == subjects->capacity)
        subjects_grow(subjects);
    at = bucket(subjects, job->subject);
    job->next_subject = *at;
    *at = job;
    subjects->count++;
}

static void subjects_drop(struct subjects *subjects, struct job *job)
{
    struct job **at = subjects->capacity ? bucket(subjects, job->subject) : NULL;

    while (at && *at && *at != job)
        at = &(*at)->next_subject;
    if (!at || !*at)
        return;
    *at = job->next_subject;
    subjects->count--;
}

static struct job *subjects_find(const struct subjects *subjects, uint64_t subject)
{
    struct job *job = subject && subjects->capacity ? *bucket(subjects, subject) : NULL;

    while (job && job->subject != subject)
        job = job->next_subject;
    return job;
}

/* --- running -------------------------------------------------------------------------------- */

bool job_cancelled(const struct job *job)
{
    return atomic_load_explicit(&job->cancel, memory_order_relaxed);
}

static void pump(struct jobs *jobs);

static void work(uv_work_t *request)
{
    struct worker_turn *turn = request->data;

    if (!job_cancelled(turn->job))
        turn->job->run(turn->job);
}

/* Hands back in the next turn what is over. */
static void hand_back_later(struct jobs *jobs)
{
    uv_ref((uv_handle_t *)&jobs->wake);
    uv_async_send(&jobs->wake);
}

/* Hands back what is over, as much as this turn has room for. */
static void hand_back(struct jobs *jobs)
{
    while (jobs->finished.first) {
        struct job *job = jobs->finished.first;

        list_remove(&jobs->finished, job);
        job->done(job);
        if (!turn_more(jobs->loop))
            break;
    }
    if (jobs->finished.first)
        hand_back_later(jobs);
}

static void finish(struct jobs *jobs, struct job *job)
{
    subjects_drop(&jobs->subjects, job);
    job->state = JOB_FINISHED;
    list_append(&jobs->finished, job);
}

static void after(uv_work_t *request, int status)
{
    struct worker_turn *turn = request->data;
    struct job *job = turn->job;
    struct jobs *jobs = job->jobs;

    (void)status;
    free(turn);
    for (int i = 0; i < jobs->workers; i++)
        if (jobs->running_jobs[i] == job)
            jobs->running_jobs[i] = NULL;
    jobs->running--;
    jobs->background -= job->priority == JOB_BACKGROUND;
    finish(jobs, job);
    /* Every worker may come here in one turn. */
    if (turn_has_room(jobs->loop))
        hand_back(jobs);
    else
        hand_back_later(jobs);
    pump(jobs);
}

static void start(struct jobs *jobs, struct job *job)
{
    struct worker_turn *turn = memory_new(sizeof *turn);
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

    uv_unref((uv_handle_t *)&jobs->wake);
    hand_back(jobs);
}

struct jobs *jobs_new(struct uv_loop_s *loop, int workers, int *error)
{
    struct jobs *jobs = memory_new(sizeof *jobs);

    jobs->loop = loop;
    jobs->workers = workers > 0 ? workers : 1;
    jobs->running_jobs = memory_new((size_t)jobs->workers * sizeof(struct job *));
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

struct job *jobs_submit(struct jobs *jobs, struct job *job)
{
    struct job *other = subjects_find(&jobs->subjects, job->subject);

    if (other && other->revision == job->revision) {
        jobs_raise(other, job->priority);
        return other;
    }
    if (other)
        jobs_cancel(other);
    job->jobs = jobs;
    job->state = JOB_WAITING;
    subjects_add(&jobs->subjects, job);
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
    subjects_drop(&jobs->subjects, job);
    if (job->state != JOB_WAITING)
        return;
    list_remove(&jobs->waiting[job->priority], job);
    finish(jobs, job);
    hand_back_later(jobs);
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
        counts->waiting[p] = jobs->waiting[p].count;
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

/* --- giving back ---------------------------------------------------------------------------- */

struct dispose_job {
    struct job job;
    void (*dispose)(void *thing);
    void *thing;
};

static void dispose_run(struct job *job)
{
    struct dispose_job *work = (struct dispose_job *)job;

    work->dispose(work->thing);
    work->thing = NULL;
}

static void dispose_done(struct job *job)
{
    struct dispose_job *work = (struct dispose_job *)job;

    if (work->thing)
        work->dispose(work->thing); /* cancelled before it ran */
    free(work);
}

void jobs_dispose(struct jobs *jobs, void (*dispose)(void *thing), void *thing)
{
    struct dispose_job *work;

    if (!thing)
        return;
    work = memory_new(sizeof *work);
    work->job.run = dispose_run;
    work->job.done = dispose_done;
    work->job.priority = JOB_FILE;
    work->dispose = dispose;
    work->thing = thing;
    jobs_submit(jobs, &work->job);
}

static void drop(void *bytes)
{
    shared_drop(bytes);
}

void jobs_drop(struct jobs *jobs, struct shared *bytes)
{
    size_t length = 0;

    if (bytes)
        shared_bytes(bytes, &length);
    if (length >= MESSAGE_CUT)
        jobs_dispose(jobs, drop, bytes);
    else
        shared_drop(bytes);
}

static void closed(uv_handle_t *handle)
{
    struct jobs *jobs = handle->data;

    free(jobs->subjects.buckets);
    free(jobs->running_jobs);
    free(jobs);
}

void jobs_free(struct jobs *jobs)
{
    if (jobs)
        uv_close((uv_handle_t *)&jobs->wake, closed);
}
