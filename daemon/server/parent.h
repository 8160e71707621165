#ifndef DAEMON_SERVER_PARENT_H
#define DAEMON_SERVER_PARENT_H
/*
 * The process that an editor names as its own in `initialize`: when it dies, so does a stdio
 * server. A process id that is not visible from here (another container's) is not used.
 */
#include <stdint.h>

struct session;

void parent_watch(struct session *session, int64_t pid);
void parent_forget(struct session *session);

#endif
