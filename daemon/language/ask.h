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
    /* Answers and ends the question, now or later; member is NULL where the file is not there. */
    void (*reply)(struct question *question, struct member *member);
    void (*report)(struct question *question, const struct report *report); /* of ask_report() */
    void (*release)(struct question *question); /* of what a larger struct holds; may be NULL */
};

/* The canonical path of the file that a URI names; NULL, and the request is answered with an error.
 */
char *ask_path(struct session *session, const struct request *request, const char *uri);
/* Takes question, which lies on the heap, its path set. */
void ask(struct session *session, const struct request *request, struct question *question);
/* It was answered, or nobody waits for it any more. */
void ask_end(struct question *question);
/* Makes the report of the notes, which are taken, calls answer with it, from within or later, and
 * ends the question. */
void ask_report(struct question *question, struct report_notes *notes,
                void (*answer)(struct question *question, const struct report *report));
/* How the session that asked wants its diagnostics. */
struct report_options ask_options(const struct question *question);

#endif
