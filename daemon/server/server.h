#ifndef DAEMON_SERVER_SERVER_H
#define DAEMON_SERVER_SERVER_H
/*
 * The process: its loop, its parts, when it begins and when it ends. One loop thread; only that
 * touches anything here, but for the cache, the compile cache and the watch, which say themselves
 * who may call them.
 */
#include "cache/cache.h"
#include "daemon/compile_cache.h"
#include "daemon/server/documents.h"
#include "daemon/server/jobs.h"
#include "daemon/server/watch.h"
#include "daemon/server/workspace.h"
#include "protocol/endpoint.h"

struct session;
struct publish;
struct progress;
struct turn;
struct uv_loop_s;

struct server_options {
    bool stdio;
    int input, output;  /* --stdio: the descriptors of the protocol */
    const char *socket; /* NULL: the default place */
    const char *const *watch;
    size_t watch_count;
    bool write;
    const char *cache;    /* NULL: none */
    uint64_t cache_limit; /* bytes, 0: none */
    int jobs;             /* compiles in the background at a time, at least 1 */
    int idle_exit;        /* seconds, 0: never */
};

struct server {
    struct uv_loop_s *loop;
    const struct server_options *options;
    struct cache *cache;
    struct compile_cache_adapter compile_cache;
    struct jobs *jobs;
    struct watch *watch;
    struct workspace *workspace;
    struct documents documents;
    struct publish *publish;
    struct progress *progress;
    struct session *sessions;
    uint64_t last_session;
    int64_t started_ms;
    struct turn *turn;
    struct server_listener *listener;
    bool leaving;
    int exit_code;
};

/* Runs the daemon until it is told to leave; the exit code of the process. */
int server_run(const struct server_options *options);

/* --- for its parts -------------------------------------------------------------------------- */

/* Ends all sessions, then the process. */
void server_leave(struct server *server, int exit_code);
void server_session_closed(struct server *server, bool stdio, int exit_code);
/* A warning for the log and for every editor. */
void server_warn(struct server *server, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Sessions have messages that wait, or things to close: in the next turn. */
void server_come_back(struct server *server);
int64_t server_uptime_ms(const struct server *server);

#endif
