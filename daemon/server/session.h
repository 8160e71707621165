#ifndef DAEMON_SERVER_SESSION_H
#define DAEMON_SERVER_SESSION_H
/*
 * One connection: its state, what its client can do, the requests that are open. Loop thread.
 *
 * A method's entry handles one message. A request that needs time is answered later, through a
 * `struct answer`: two numbers, so that nothing dangles when the request was cancelled or the
 * connection has gone.
 */
#include "daemon/server/table.h"
#include "protocol/frame.h"
#include "protocol/lsp.h"
#include "protocol/methods.h"
#include "protocol/rpc.h"

struct server;
struct channel;

struct answer {
    uint64_t session, ticket;
};

struct request {
    const struct json *params;
    struct rpc_message *message; /* may be taken, see rpc_message_take() */
    const char *text;            /* of the body */
    struct answer answer;        /* of requests */
};

/* The answer to a request of ours: result or error, both borrowed; both NULL where the session
 * ended first. */
struct session;
typedef void session_reply(struct session *session, void *state, const struct json *result,
                           const struct json *error);

struct session {
    struct session *next;
    uint64_t id;
    struct server *server;
    struct channel *channel; /* NULL once it is closed */
    bool stdio;
    enum method_state state;
    bool editor; /* began with initialize */
    bool ready;  /* said initialized */
    bool over;   /* closing: nothing is handled any more */
    bool ended;  /* over, and what it had open is closed */
    bool gone;   /* its channel is */
    int exit_code;
    struct frame_reader reader;
    bool held;       /* a worker has a message of it: those behind it wait */
    bool waiting;    /* messages are left for the next turn */
    bool input_over; /* nothing comes after what has arrived */
    struct session_turns {
        bool (*step)(struct session *session, void *state); /* NULL: there is none */
        void (*end)(void *state);
        void *state;
    } turns;
    struct rpc_registry registry;

    enum lsp_encoding encoding;
    bool related_information, pull, work_done_progress, version_support;
    char **roots; /* folders that the session wants watched */
    size_t root_count;
    struct table published; /* of publish.c */
    struct table telling;   /* likewise, as is the next one */
    struct table late;      /* paths of which it is to be told once it has read what was sent */
    bool refreshing, refresh_again;
    bool pull_news;                    /* diagnostics that it pulled are others by now */
    struct session_progress *progress; /* of progress.c */
    struct parent *parent;
    struct pull *pulls; /* of language/diagnostics.c: what was asked and is not answered */

    int64_t last_request;
    struct session_asked {
        int64_t id;
        session_reply *function;
        void *state;
    } * asked;
    size_t asked_count;
};

/* Takes both descriptors. NULL with a negative error code. */
struct session *session_new(struct server *server, int input, int output, bool stdio, int *error);
/* Ends it: what is open is forgotten, what was sent is flushed. */
void session_end(struct session *session, int exit_code, bool flush);
/* Goes on with that, where it is over; by turns. */
void session_end_some(struct session *session);
struct session *session_find(struct server *server, uint64_t id);

/*
 * Messages are handled one after the other. An entry that needs a worker before it is done (the
 * text of a large document is made there) holds the session, so that what comes behind sees what it
 * did; and lets it go on later, never from within. Of incoming.c.
 */
void session_hold(struct session *session);
void session_go_on(struct session *session);
/* The same for what would take too many things for a turn (turn.h): step does one of them, false
 * where that was the last. end is called once, also where the session ends before. */
void session_by_turns(struct session *session, bool (*step)(struct session *session, void *state),
                      void (*end)(void *state), void *state);

/* The one way out of the daemon. Takes the body. */
void session_send(struct session *session, struct message *body);
/* The client has so much to read that what can wait, or be left out, had better. */
bool session_is_behind(const struct session *session);
/* An optional message is dropped where the client is behind. params are taken. */
void session_notify(struct session *session, enum method_id method, struct json *params,
                    bool optional);
void session_ask(struct session *session, enum method_id method, struct json *params,
                 session_reply *function, void *state);

/* Answers, once; where the request is not open any more this does nothing. result is taken; NULL:
 * null. */
void answer_result(struct server *server, struct answer answer, struct json *result);
void answer_error(struct server *server, struct answer answer, int code, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
/* Whether somebody still waits for it. */
bool answer_open(struct server *server, struct answer answer);
struct session *answer_session(struct server *server, struct answer answer);

void session_add_root(struct session *session, const char *uri);
void session_remove_root(struct session *session, const char *uri);

/* The entries of the method table: one function a row. */
#define METHOD_IN(id, name, kind, states, doc)                                                     \
    void method_##id(struct session *session, const struct request *request);
#define METHOD_OUT(id, name, kind, doc)
#include "protocol/methods.def"
#undef METHOD_IN
#undef METHOD_OUT

#endif
