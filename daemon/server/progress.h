#ifndef DAEMON_SERVER_PROGRESS_H
#define DAEMON_SERVER_PROGRESS_H
/*
 * Work-done progress for editors that can show it: begins once work has gone on for 300 ms, at most
 * 10 reports a second, and always an end. Loop thread.
 */
struct server;
struct session;
struct progress;

struct progress *progress_new(struct server *server);
void progress_free(struct progress *progress);
/* Work has begun somewhere. */
void progress_wake(struct progress *progress);
/* The session ends. */
void progress_forget(struct session *session);

#endif
