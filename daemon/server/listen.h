#ifndef DAEMON_SERVER_LISTEN_H
#define DAEMON_SERVER_LISTEN_H
/*
 * The socket of the one daemon that runs for a user: a lock on a file decides who that is. Loop
 * thread.
 */
struct uv_loop_s;
struct server_listener;

/* A connection of our own user; the descriptor is the callee's. */
typedef void listener_accepted(void *state, int descriptor);

/* path NULL: the default place. NULL with a negative error code, which was logged. */
struct server_listener *listener_new(struct uv_loop_s *loop, const char *path,
                                     listener_accepted *accepted, void *state, int *error);
/* Stops listening and unlinks the socket where it is still ours; frees with the loop's next turn.
 */
void listener_close(struct server_listener *listener);
#endif
