#ifndef DAEMON_LANGUAGE_PULL_H
#define DAEMON_LANGUAGE_PULL_H
/* textDocument/diagnostic. Loop thread. */

struct session;

/* The document's text changed: what is asked about its past is answered so. */
void pull_content_modified(struct session *session, const char *path);

#endif
