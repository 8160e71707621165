#ifndef DAEMON_SERVER_REPORT_H
#define DAEMON_SERVER_REPORT_H
/*
 * What there is to say about a file, as LSP diagnostics: at the arguments of a script, or at the
 * lines of a model's text view, each pointing to the other.
 *
 * There may be thousands, and some ten microseconds go into each. So what is to be said is noted on
 * the loop thread, which costs little and holds what is known at that time, and where it is much, a
 * worker makes the text of it.
 */
#include "daemon/server/workspace.h"
#include "protocol/json.h"
#include "protocol/lsp.h"
#include "protocol/message.h"

struct report_options {
    enum lsp_encoding encoding;
    bool related;
    uint64_t session; /* whose URIs of open documents are used; 0: none */
};

struct report {
    struct shared *text; /* a JSON array, in the order of positions; NULL: none was made, for memory
                            is out or the daemon leaves */
    struct hash hash;    /* of the text */
    bool empty;          /* the array */
    bool later;          /* a worker made it: what it says may have changed meanwhile */
};

/* What is to be reported, as it was when it was noted. */
struct report_notes;

/* path is that of a script or a model. Loop thread. */
struct report_notes *report_note_file(const struct workspace *workspace, const char *path,
                                      const struct report_options *options);
/* Of one unit, as its script shows them, the script's own problems with its class included. Loop
 * thread. */
struct report_notes *report_note_unit(const struct unit *unit,
                                      const struct report_options *options);

/* Calls taker, on the loop thread, with the report of the notes, which are taken: from within, or,
 * where it is much, once a worker has made it. The report is borrowed. */
typedef void report_taker(void *state, const struct report *report);
void report_make(struct server *server, struct report_notes *notes, report_taker *taker,
                 void *state);
/* The text of a report; a failed value (json.h) where there is none. The report has to outlive it.
 */
struct json *report_json(const struct report *report);

/* The URI that a session knows the file by; a new C string. Loop thread. */
char *report_uri(const struct workspace *workspace, const char *path, uint64_t session);

#endif
