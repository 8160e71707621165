#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <semaphore.h>
#include <stdlib.h>
#include <string.h>
#include <uv.h>

#include "daemon/server/jobs.h"
#include "daemon/server/turn.h"

/* A job that says when it began, and waits to be let go. */
struct gate_job {
    struct job job;
    char name;
    bool *freed;
};

static uv_loop_t loop;
static struct jobs *jobs;
static sem_t began, go;
static char order[64]; /* names in the order of done(), capital where cancelled */
static atomic_int running, most;

static void run(struct job *job)
{
    int now = atomic_fetch_add(&running, 1) + 1, before = atomic_load(&most);

    (void)job;
    while (before < now && !atomic_compare_exchange_weak(&most, &before, now))
        ;
    sem_post(&began);
    sem_wait(&go);
    atomic_fetch_sub(&running, 1);
}

static void done(struct job *job)
{
    struct gate_job *gate = (struct gate_job *)job;
    size_t length = strlen(order);

    order[length] = job_cancelled(job) ? (char)(gate->name - 'a' + 'A') : gate->name;
    order[length + 1] = '\0';
    free(gate);
}

static struct gate_job *make(char name, enum job_priority priority, uint64_t subject,
                             uint64_t revision)
{
    struct gate_job *gate = calloc(1, sizeof *gate);

    assert_non_null(gate);
    gate->name = name;
    gate->job.run = run;
    gate->job.done = done;
    gate->job.priority = priority;
    gate->job.subject = subject;
    gate->job.revision = revision;
    return gate;
}

static struct job *submit(char name, enum job_priority priority, uint64_t subject,
                          uint64_t revision)
{
    struct gate_job *gate = make(name, priority, subject, revision);
    struct job *job = jobs_submit(jobs, &gate->job);

    if (job != &gate->job)
        free(gate);
    return job;
}

static void begin(int workers)
{
    int error;

    assert_int_equal(uv_loop_init(&loop), 0);
    jobs = jobs_new(&loop, workers, &error);
    assert_non_null(jobs);
    sem_init(&began, 0, 0);
    sem_init(&go, 0, 0);
    order[0] = '\0';
    atomic_store(&most, 0);
}

static void end(void)
{
    uv_run(&loop, UV_RUN_DEFAULT);
    assert_true(jobs_idle(jobs));
    jobs_free(jobs);
    uv_run(&loop, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(&loop), 0);
    sem_destroy(&began);
    sem_destroy(&go);
}

static void let_go(int count)
{
    for (int i = 0; i < count; i++)
        sem_post(&go);
}

static void test_priorities(void **state)
{
    struct jobs_counts counts;

    (void)state;
    begin(1);
    submit('a', JOB_BACKGROUND, 0, 0);
    sem_wait(&began);
    submit('b', JOB_BACKGROUND, 0, 0);
    submit('c', JOB_FILE, 0, 0);
    submit('d', JOB_INTERACTIVE, 0, 0);
    submit('e', JOB_INTERACTIVE, 0, 0);
    jobs_count(jobs, &counts);
    assert_int_equal(counts.running, 1);
    assert_int_equal(counts.waiting[JOB_INTERACTIVE], 2);
    assert_int_equal(counts.waiting[JOB_FILE], 1);
    assert_int_equal(counts.waiting[JOB_BACKGROUND], 1);
    let_go(5);
    end();
    assert_string_equal(order, "adecb");
}

static void test_raise(void **state)
{
    struct job *job;

    (void)state;
    begin(1);
    submit('a', JOB_INTERACTIVE, 0, 0);
    sem_wait(&began);
    submit('b', JOB_FILE, 0, 0);
    job = submit('c', JOB_BACKGROUND, 0, 0);
    jobs_raise(job, JOB_INTERACTIVE);
    jobs_raise(job, JOB_BACKGROUND);
    let_go(3);
    end();
    assert_string_equal(order, "acb");
}

/* Background work leaves a worker free, and never are there more than there may be. */
static void test_limits(void **state)
{
    (void)state;
    begin(3);
    for (char name = 'a'; name < 'f'; name++)
        submit(name, JOB_BACKGROUND, 0, 0);
    sem_wait(&began);
    sem_wait(&began);
    struct jobs_counts counts;

    jobs_count(jobs, &counts);
    assert_int_equal(counts.running, 2);
    submit('x', JOB_INTERACTIVE, 0, 0);
    sem_wait(&began);
    submit('y', JOB_INTERACTIVE, 0, 0);
    jobs_count(jobs, &counts);
    assert_int_equal(counts.running, 3);
    assert_int_equal(counts.waiting[JOB_INTERACTIVE], 1);
    let_go(7);
    end();
    assert_int_equal(strlen(order), 7);
    assert_int_equal(atomic_load(&most), 3);
}

static void test_cancel(void **state)
{
    struct job *first, *second;
    atomic_bool also = false;

    (void)state;
    begin(1);
    first = submit('a', JOB_INTERACTIVE, 0, 0);
    first->also = &also;
    sem_wait(&began);
    second = submit('b', JOB_INTERACTIVE, 0, 0);
    submit('c', JOB_INTERACTIVE, 0, 0);
    jobs_cancel(second); /* never runs, but comes back */
    jobs_cancel(first);  /* runs; it may look at its flag */
    assert_true(job_cancelled(first));
    assert_true(atomic_load(&also));
    let_go(2);
    end();
    assert_int_equal(strlen(order), 3);
    assert_non_null(strchr(order, 'A'));
    assert_non_null(strchr(order, 'B'));
    assert_non_null(strchr(order, 'c'));
}

/* The same revision of a subject is done once; another one takes over. */
static void test_sharing(void **state)
{
    struct job *first, *waiting;

    (void)state;
    begin(1);
    first = submit('a', JOB_BACKGROUND, 7, 1);
    sem_wait(&began);
    assert_ptr_equal(submit('b', JOB_INTERACTIVE, 7, 1), first);
    waiting = submit('c', JOB_BACKGROUND, 8, 1);
    assert_ptr_not_equal(waiting, first);
    assert_ptr_equal(submit('d', JOB_INTERACTIVE, 8, 1), waiting);
    assert_int_equal(waiting->priority, JOB_INTERACTIVE);
    /* Supersedes what waits … */
    assert_ptr_not_equal(submit('e', JOB_BACKGROUND, 8, 2), waiting);
    /* … and what runs. */
    assert_ptr_not_equal(submit('f', JOB_BACKGROUND, 7, 2), first);
    assert_true(job_cancelled(first));
    /* Subject 0 is none. */
    submit('g', JOB_BACKGROUND, 0, 0);
    submit('h', JOB_BACKGROUND, 0, 0);
    let_go(5);
    end();
    assert_int_equal(strlen(order), 6);
    assert_non_null(strchr(order, 'A'));
    assert_non_null(strchr(order, 'C'));
    assert_non_null(strchr(order, 'e'));
    assert_non_null(strchr(order, 'f'));
}

static void test_cancel_all(void **state)
{
    (void)state;
    begin(1);
    submit('a', JOB_INTERACTIVE, 0, 0);
    sem_wait(&began);
    submit('b', JOB_FILE, 0, 0);
    submit('c', JOB_BACKGROUND, 0, 0);
    jobs_cancel_all(jobs);
    assert_false(jobs_idle(jobs));
    let_go(1);
    end();
    assert_int_equal(strlen(order), 3);
    assert_null(strpbrk(order, "abc"));
}

static size_t handed_back;

static void count_done(struct job *job)
{
    handed_back++;
    free(job);
}

/* Many that are over at once come back in several turns of the loop, and all of them do. */
static void test_turns(void **state)
{
    enum { MANY = 3 * TURN_THINGS };
    struct turn_figures figures;
    struct turn *turn;
    size_t before;

    (void)state;
    begin(1);
    turn = turn_new(&loop);
    handed_back = 0;
    submit('a', JOB_INTERACTIVE, 0, 0);
    sem_wait(&began);
    for (int i = 0; i < MANY; i++) {
        struct job *job = calloc(1, sizeof *job);

        assert_non_null(job);
        job->run = run;
        job->done = count_done;
        job->subject = (uint64_t)i + 1;
        jobs_submit(jobs, job);
    }
    jobs_cancel_all(jobs);
    for (int i = 0; i < MANY && handed_back < MANY; i++) {
        before = handed_back;
        uv_run(&loop, UV_RUN_NOWAIT);
        assert_true(handed_back - before <= TURN_THINGS);
    }
    assert_int_equal(handed_back, MANY);
    let_go(1);
    uv_run(&loop, UV_RUN_DEFAULT);
    turn_figures(turn, &figures);
    assert_true(figures.most_things <= TURN_THINGS && figures.cut >= 2);
    turn_free(turn);
    end();
}

/* What is given back is, whether a worker comes to it or not. */
static void dispose(void *thing)
{
    ++*(int *)thing;
}

static void test_dispose(void **state)
{
    int disposed = 0, cancelled = 0;

    (void)state;
    begin(1);
    jobs_dispose(jobs, dispose, NULL);
    jobs_dispose(jobs, dispose, &disposed);
    uv_run(&loop, UV_RUN_DEFAULT);
    assert_int_equal(disposed, 1);
    submit('a', JOB_INTERACTIVE, 0, 0);
    sem_wait(&began);
    jobs_dispose(jobs, dispose, &cancelled);
    jobs_cancel_all(jobs);
    let_go(1);
    end();
    assert_int_equal(cancelled, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_priorities), cmocka_unit_test(test_raise),
        cmocka_unit_test(test_limits),     cmocka_unit_test(test_cancel),
        cmocka_unit_test(test_sharing),    cmocka_unit_test(test_cancel_all),
        cmocka_unit_test(test_turns),      cmocka_unit_test(test_dispose),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
