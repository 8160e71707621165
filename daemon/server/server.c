#include "daemon/server/server.h"

#include "daemon/server/incoming.h"
#include "daemon/server/listen.h"
#include "daemon/server/log.h"
#include "daemon/server/memory.h"
#include "daemon/server/progress.h"
#include "daemon/server/publish.h"
#include "daemon/server/session.h"
#include "daemon/server/turn.h"
#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <uv.h>

#define EXIT_TROUBLE 2
/* Work that does not look at its cancel flag for so long is left behind. Counted by ticks, since a
 * machine that stood still meanwhile gave it no time. */
#define LEAVE_TICK_MS 100
#define LEAVE_TICKS 30

/* What tells the process to leave. Those but the last that were ignored when it began stay so: a
 * shell's background job, nohup. */
static const int told_by[] = {SIGINT, SIGHUP, SIGTERM};
#define SIGNALS (sizeof told_by / sizeof *told_by)

/* What lives as long as the loop. */
struct process {
    struct server server;
    uv_loop_t loop;
    uv_signal_t signals[SIGNALS];
    uv_timer_t idle, leave;
    uv_idle_t back;
    int leave_ticks;
};

static struct process *process_of(struct server *server)
{
    return (struct process *)server;
}

int64_t server_uptime_ms(const struct server *server)
{
    return (int64_t)uv_now(server->loop) - server->started_ms;
}

void server_warn(struct server *server, const char *format, ...)
{
    char message[512];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    log_line(LOG_WARNING, "%s", message);
    for (struct session *session = server->sessions, *next; session; session = next) {
        struct json *params;

        next = session->next;
        if (!session->editor || session->over || session->state != METHOD_RUNNING)
            continue;
        params = json_new_object();
        json_set_int(params, "type", 2);
        json_set_string(params, "message", message);
        session_notify(session, METHOD_log_message, params, true);
    }
}

/* --- what waits for the next turn ------------------------------------------------------------- */

static void come_back(uv_idle_t *handle)
{
    struct process *process = handle->data;

    uv_idle_stop(handle);
    for (struct session *session = process->server.sessions, *next; session; session = next) {
        next = session->next;
        if (session->over)
            session_end_some(session);
        else if (session->waiting)
            incoming_work(session);
    }
}

void server_come_back(struct server *server)
{
    uv_idle_start(&process_of(server)->back, come_back);
}

/* --- leaving -------------------------------------------------------------------------------- */

static void leave_late(uv_timer_t *timer)
{
    struct process *process = timer->data;

    if (++process->leave_ticks < LEAVE_TICKS)
        return;
    /* The work that is left cannot be waited for, and holds memory that cannot be freed. What it
     * would write is written under temporary names. */
    log_line(LOG_WARNING, "left while work was under way");
    _exit(process->server.exit_code);
}

void server_leave(struct server *server, int exit_code)
{
    struct process *process = process_of(server);

    if (server->leaving)
        return;
    server->leaving = true;
    server->exit_code = exit_code;
    server->workspace->leaving = true;
    for (struct session *session = server->sessions, *next; session; session = next) {
        next = session->next;
        session_end(session, exit_code, true);
    }
    if (server->listener)
        listener_close(server->listener);
    server->listener = NULL;
    jobs_cancel_all(server->jobs);
    for (size_t i = 0; i < SIGNALS; i++)
        uv_signal_stop(&process->signals[i]);
    uv_timer_stop(&process->idle);
    uv_timer_start(&process->leave, leave_late, LEAVE_TICK_MS, LEAVE_TICK_MS);
    uv_unref((uv_handle_t *)&process->leave);
}

static void told_to_leave(uv_signal_t *handle, int number)
{
    struct process *process = handle->data;

    log_line(LOG_INFO, "signal %d", number);
    server_leave(&process->server, 0);
}

static void listen_for_signals(struct process *process)
{
    for (size_t i = 0; i < SIGNALS; i++) {
        struct sigaction before;

        if (told_by[i] != SIGTERM && sigaction(told_by[i], NULL, &before) == 0 &&
            before.sa_handler == SIG_IGN)
            continue;
        uv_signal_start(&process->signals[i], told_to_leave, told_by[i]);
        uv_unref((uv_handle_t *)&process->signals[i]);
    }
}

static void idle_over(uv_timer_t *timer)
{
    struct process *process = timer->data;
    struct server *server = &process->server;

    if (server->sessions || workspace_root_count(server->workspace))
        return;
    log_line(LOG_INFO, "nobody has asked for anything; leaving");
    server_leave(server, 0);
}

static void look_idle(struct server *server)
{
    struct process *process = process_of(server);

    if (server->leaving || !server->listener || server->options->idle_exit == 0)
        return;
    uv_timer_stop(&process->idle);
    if (!server->sessions && !workspace_root_count(server->workspace))
        uv_timer_start(&process->idle, idle_over, (uint64_t)server->options->idle_exit * 1000, 0);
}

void server_session_closed(struct server *server, bool stdio, int exit_code)
{
    if (stdio)
        server_leave(server, exit_code);
    else
        look_idle(server);
}

static void accepted(void *state, int descriptor)
{
    struct server *server = state;
    int error;

    if (!session_new(server, descriptor, descriptor, false, &error)) {
        log_line(LOG_WARNING, "a connection could not be opened: %s", uv_strerror(error));
        close(descriptor);
    }
}

/* --- beginning ------------------------------------------------------------------------------ */

static int open_parts(struct server *server)
{
    const struct server_options *options = server->options;
    const struct watch_events events = {
        .wanted = workspace_wanted,
        .changed = workspace_changed,
        .folder_came = workspace_folder_came,
        .folder_changed = workspace_folder_changed,
        .folder_gone = workspace_folder_gone,
        .lost = workspace_lost,
        .state = NULL,
    };
    struct watch_events bound = events;
    char why[256] = "";
    int error = 0;

    server->cache =
        cache_open(options->cache, options->cache_limit, compiler_version, why, sizeof why);
    if (!server->cache)
        return -ENOMEM;
    if (options->cache && *why)
        log_line(LOG_WARNING, "the cache is off: %s", why);
    compile_cache_init(&server->compile_cache, server->cache);
    server->jobs = jobs_new(server->loop, options->jobs + 1, &error);
    if (!server->jobs)
        return error;
    server->workspace = workspace_new(server);
    bound.state = server->workspace;
    server->watch = watch_new(server->loop, &bound, &error);
    if (!server->watch) {
        log_line(LOG_ERROR, "folders cannot be watched: %s", strerror(-error));
        return error;
    }
    server->publish = publish_new(server);
    server->progress = progress_new(server);
    return 0;
}

static int open_ways_in(struct server *server)
{
    const struct server_options *options = server->options;
    int error = 0;

    if (options->stdio) {
        if (!session_new(server, options->input, options->output, true, &error))
            log_line(LOG_ERROR, "standard input and output cannot be used: %s", uv_strerror(error));
        return error;
    }
    server->listener = listener_new(server->loop, options->socket, accepted, server, &error);
    return error;
}

static void close_parts(struct server *server)
{
    struct process *process = process_of(server);

    server->leaving = true; // a signal that comes now finds nothing left to do
    if (server->workspace)
        server->workspace->leaving = true;
    if (server->jobs)
        jobs_cancel_all(server->jobs);
    uv_run(&process->loop, UV_RUN_DEFAULT);
    workspace_free(server->workspace);
    watch_free(server->watch);
    publish_free(server->publish);
    progress_free(server->progress);
    jobs_free(server->jobs);
    for (size_t i = 0; i < SIGNALS; i++)
        uv_close((uv_handle_t *)&process->signals[i], NULL);
    turn_free(server->turn);
    uv_close((uv_handle_t *)&process->idle, NULL);
    uv_close((uv_handle_t *)&process->back, NULL);
    uv_close((uv_handle_t *)&process->leave, NULL);
    if (server->listener)
        listener_close(server->listener);
    uv_run(&process->loop, UV_RUN_DEFAULT);
    documents_release(&server->documents);
    cache_close(server->cache);
}

int server_run(const struct server_options *options)
{
    struct process *process = memory_new(sizeof *process);
    struct server *server = &process->server;
    int rc;

    rc = uv_loop_init(&process->loop);
    if (rc < 0) {
        log_line(LOG_ERROR, "%s", uv_strerror(rc));
        free(process);
        return EXIT_TROUBLE;
    }
    server->loop = &process->loop;
    server->options = options;
    server->exit_code = EXIT_TROUBLE;
    server->started_ms = (int64_t)uv_now(&process->loop);
    for (size_t i = 0; i < SIGNALS; i++) {
        uv_signal_init(&process->loop, &process->signals[i]);
        process->signals[i].data = process;
    }
    uv_timer_init(&process->loop, &process->idle);
    uv_timer_init(&process->loop, &process->leave);
    uv_idle_init(&process->loop, &process->back);
    process->idle.data = process->leave.data = process->back.data = process;
    server->turn = turn_new(&process->loop);
    /* Before the socket is there: who sees it may end the daemon at once, and it is to take the
     * socket along. */
    listen_for_signals(process);
    rc = open_parts(server);
    if (rc == 0)
        rc = open_ways_in(server);
    if (rc == 0) {
        for (size_t i = 0; i < options->watch_count; i++)
            workspace_add_root(server->workspace, options->watch[i]);
        look_idle(server);
        uv_run(&process->loop, UV_RUN_DEFAULT);
        rc = server->exit_code;
    } else {
        rc = EXIT_TROUBLE;
    }
    close_parts(server);
    uv_loop_close(&process->loop);
    free(process);
    return rc;
}
