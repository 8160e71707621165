#ifndef DAEMON_LANGUAGE_ASK_H
#define DAEMON_LANGUAGE_ASK_H
/*
 * Requests about one file, answered once what is known of it is up to date. Loop thread.
 */
#include "daemon/server/report.h"
#include "daemon/server/session.h"

struct question {
    struct server *server;
    struct answer answer;
    char *path; /* canonical */
    /* Answers; member is NULL where the file is not there. Owns nothing afterwards. */
    void (*reply)(struct question *question, struct member *member);
    void (*release)(struct question *question); /* of what a larger struct holds; may be NULL */
};

/* The canonical path of the file that a URI names; NULL, and the request is answered with an error.
 */
char *ask_path(struct session *session, const struct request *request, const char *uri);
/* Takes question, which lies on the heap, its path set. */
void ask(struct session *session, const struct request *request, struct question *question);
/* How the session that asked wants its diagnostics. */
struct report_options ask_options(const struct question *question);

#endif
