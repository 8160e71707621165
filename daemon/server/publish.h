#ifndef DAEMON_SERVER_PUBLISH_H
#define DAEMON_SERVER_PUBLISH_H
/*
 * Diagnostics on their way to editors. Whoever changes something says which paths it may concern;
 * what is published is what differs from what that session was told last. A session gets its
 * diagnostics by push, or by pull and refresh, never both. Loop thread.
 */
#include "daemon/compiler/graph/hash.h"
#include <stdbool.h>
#include <stddef.h>

struct server;
struct session;
struct publish;
struct report;

struct publish *publish_new(struct server *server);
void publish_free(struct publish *publish);

void publish_touch(struct publish *publish, const char *path);
/* Everything anew for a session that has just become ready. */
void publish_all(struct publish *publish);
void publish_forget(struct session *session);
/* The session has pulled these diagnostics of a document. */
void publish_pulled(struct session *session, const char *path, const struct report *report);
/* The session has read some of what was sent: it is told of what had to wait for that. */
void publish_late(struct session *session);
/* Whether the session is told of the file: it lies in a folder of its, is open there, or belongs to
 * a script that does. */
bool publish_interested(const struct session *session, const char *path);

/* onnxgpu/generated to every editor that is interested. */
void publish_generated(struct publish *publish, const char *script, char *const *files,
                       size_t count, struct hash fingerprint);

#endif
