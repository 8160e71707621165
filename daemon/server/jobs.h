#ifndef DAEMON_SERVER_JOBS_H
#define DAEMON_SERVER_JOBS_H
/*
 * Work for other threads. A job is made by its submitter with everything it needs (nothing else is
 * shared), run on a worker, and handed back on the loop thread, which owns it before and after.
 * Every job that is submitted comes to its done() exactly once, cancelled or not. Of many that are
 * over at once, some come back in each turn of the loop (turn.h).
 *
 * Interactive work goes before short work with files, that before background work; within one
 * priority the first comes first. One worker is never given to background work.
 *
 * Work about one subject is shared: submitting the same revision of a subject again joins the job
 * that is there, another revision supersedes it (the old job is cancelled, and comes back before or
 * after the new one).
 */
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum job_priority { JOB_INTERACTIVE, JOB_FILE, JOB_BACKGROUND, JOB_PRIORITIES };

struct jobs;
struct shared;

struct job {
    void (*run)(struct job *job);  /* worker thread */
    void (*done)(struct job *job); /* loop thread; frees the job */
    enum job_priority priority;
    uint64_t subject;   /* 0: none, never shared */
    uint64_t revision;  /* of the subject */
    atomic_bool cancel; /* may be looked at by run() at any time */
    atomic_bool
        *also; /* set together with cancel: for what outlives the job; borrowed, may be NULL */

    /* Of jobs.c. */
    enum job_state { JOB_NEW, JOB_WAITING, JOB_RUNNING, JOB_FINISHED } state;
    struct jobs *jobs;
    struct job *next, *before; /* in the list that it waits in */
    struct job *next_subject;  /* in its bucket */
};

struct uv_loop_s;

/* workers: at least 1, and at most the size of libuv's pool less one. NULL with errno-like code in
 * *error. */
struct jobs *jobs_new(struct uv_loop_s *loop, int workers, int *error);
/* Takes the job; or joins an equal one, which is returned, and gives `job` back to the caller
 * untouched. Returns the job that will do the work. */
struct job *jobs_submit(struct jobs *jobs, struct job *job);
/* The job comes to done() with the flag set; at once (on the next turn of the loop) where no worker
 * has it yet. */
void jobs_cancel(struct job *job);
/* Raises the priority of a waiting job; a lower one changes nothing. */
void jobs_raise(struct job *job, enum job_priority priority);
bool job_cancelled(const struct job *job);
/* Gives a thing back on a worker: what is large takes its time. The thing is taken; NULL is fine.
 */
void jobs_dispose(struct jobs *jobs, void (*dispose)(void *thing), void *thing);
/* The same for bytes that several hold: few at once. NULL is fine. */
void jobs_drop(struct jobs *jobs, struct shared *bytes);

struct jobs_counts {
    size_t waiting[JOB_PRIORITIES];
    size_t running;
    int workers;
};
void jobs_count(const struct jobs *jobs, struct jobs_counts *counts);
/* True where nothing waits, runs or is still to be handed back. */
bool jobs_idle(const struct jobs *jobs);
/* Cancels everything; the loop has to run until jobs_idle(). */
void jobs_cancel_all(struct jobs *jobs);
/* When idle. The loop has to run once more. NULL is fine. */
void jobs_free(struct jobs *jobs);

#endif
