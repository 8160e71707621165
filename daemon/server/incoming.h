#ifndef DAEMON_SERVER_INCOMING_H
#define DAEMON_SERVER_INCOMING_H
/*
 * What arrives on a connection: messages, handled one after the other, in each turn of the loop as
 * many as it has room for. Long ones are read by a worker, and those behind them wait. Nothing is
 * received while something waits, so that what a client sends ahead stays in its pipe. Loop thread.
 */
#include <stddef.h>

struct session;

/* Of the channel; state is the session. */
void incoming_received(void *state, const char *bytes, size_t length);
void incoming_ended(void *state, int error);
/* Handles what waits. */
void incoming_work(struct session *session);

#endif
