#include "daemon/server/incoming.h"

#include "daemon/server/channel.h"
#include "daemon/server/log.h"
#include "daemon/server/memory.h"
#include "daemon/server/server.h"
#include "daemon/server/session.h"
#include "daemon/server/turn.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

typedef void entry(struct session *session, const struct request *request);

static entry *const entries[METHOD_COUNT] = {
#define METHOD_IN(id, name, kind, states, doc) [METHOD_##id] = method_##id,
#define METHOD_OUT(id, name, kind, doc)
#include "protocol/methods.def"
#undef METHOD_IN
#undef METHOD_OUT
};

/* For what never became a request. */
static void refuse(struct session *session, const char *id, int code, const char *message)
{
    struct message body = MESSAGE_EMPTY;

    if (rpc_write_error(&body.bytes, id, code, message, NULL) < 0)
        body.bytes.failed = true;
    session_send(session, &body);
}

/* --- receiving ------------------------------------------------------------------------------ */

static void handle_response(struct session *session, const struct rpc_message *message)
{
    int64_t id;

    if (!rpc_message_number(message, &id))
        return;
    for (size_t i = 0; i < session->asked_count; i++) {
        struct session_asked asked = session->asked[i];

        if (asked.id != id)
            continue;
        session->asked[i] = session->asked[--session->asked_count];
        asked.function(session, asked.state, message->result, message->error);
        return;
    }
}

static void handle_call(struct session *session, struct rpc_message *message, const char *text)
{
    struct request request = {.params = message->params, .message = message, .text = text};
    const struct method *method;
    int rc = method_admit(session->state, message, &method);

    if (rc == METHOD_DROP)
        return;
    if (rc < 0) {
        refuse(session, message->id, rc, rpc_code_text(rc));
        return;
    }
    if (message->kind == RPC_REQUEST) {
        request.answer.session = session->id;
        rc = rpc_registry_open(&session->registry, message->id, method->name, NULL,
                               &request.answer.ticket);
        if (rc < 0) {
            refuse(session, message->id, rc == -EEXIST ? RPC_INVALID_REQUEST : RPC_REQUEST_FAILED,
                   rc == -EEXIST ? "a request with this id is open" : "too many requests are open");
            return;
        }
    }
    entries[method->id](session, &request);
}

static void handle(struct session *session, struct rpc_message *message, const char *text)
{
    switch (message->kind) {
    case RPC_REQUEST:
    case RPC_NOTIFICATION:
        handle_call(session, message, text);
        break;
    case RPC_RESPONSE:
        handle_response(session, message);
        break;
    case RPC_INVALID:
        log_line(LOG_WARNING, "session %llu: %s", (unsigned long long)session->id, message->reason);
        if (message->answer)
            refuse(session, message->id, message->code, message->reason);
        break;
    }
}

static void handle_or_end(struct session *session, int error, struct rpc_message *message,
                          const char *text)
{
    if (error < 0) {
        log_line(LOG_ERROR, "out of memory while reading a message");
        session_end(session, 1, false);
    } else {
        handle(session, message, text);
    }
}

/* --- long messages ---------------------------------------------------------------------------- */

/* Read by a worker, and given back by one: a tree may have a million values. */
struct long_message {
    struct rpc_message message;
    struct buffer text;
};

struct read_work {
    struct job job;
    struct server *server;
    uint64_t session;
    struct frame_pieces pieces;
    struct long_message *read;
    int error;
};

static void long_message_free(void *thing)
{
    struct long_message *read = thing;

    rpc_message_release(&read->message);
    buffer_release(&read->text);
    free(read);
}

static void read_run(struct job *job)
{
    struct read_work *work = (struct read_work *)job;
    struct buffer *text = &work->read->text;

    work->error = frame_pieces_join(&work->pieces, text);
    if (work->error == 0)
        work->error = rpc_message_read(&work->read->message, text->data, text->length);
}

static void read_done(struct job *job)
{
    struct read_work *work = (struct read_work *)job;
    struct session *session = session_find(work->server, work->session);

    if (session && !session->over && !job_cancelled(job)) {
        session->held = false;
        handle_or_end(session, work->error, &work->read->message, work->read->text.data);
        if (!session->held)
            session_go_on(session);
    }
    frame_pieces_release(&work->pieces);
    jobs_dispose(work->server->jobs, long_message_free, work->read);
    free(work);
}

static void read_long(struct session *session, struct frame *frame)
{
    struct read_work *work = memory_new(sizeof *work);

    work->job.run = read_run;
    work->job.done = read_done;
    work->job.priority = JOB_INTERACTIVE;
    work->server = session->server;
    work->session = session->id;
    work->pieces = frame->pieces;
    work->read = memory_new(sizeof *work->read);
    work->read->message.kind = RPC_INVALID;
    session_hold(session);
    jobs_submit(session->server->jobs, &work->job);
}

static void read_short(struct session *session, const struct frame *frame)
{
    struct rpc_message message;
    int error = rpc_message_read(&message, frame->body, frame->length);

    handle_or_end(session, error, &message, frame->body);
    if (error == 0)
        rpc_message_release(&message);
}

/* --- one after the other ---------------------------------------------------------------------- */

static void end_of_input(struct session *session, int error)
{
    if (frame_reader_pending(&session->reader))
        log_line(LOG_WARNING, "session %llu: the input ended within a message",
                 (unsigned long long)session->id);
    if (error)
        log_line(LOG_INFO, "session %llu: %s", (unsigned long long)session->id, strerror(-error));
    session_end(session, session->state == METHOD_SHUT_DOWN ? 0 : 1, error == 0);
}

static void refuse_frame(struct session *session, int error)
{
    const char *reason = error == -ENOMEM ? "out of memory" : frame_error_text(error);

    log_line(LOG_WARNING, "session %llu: %s", (unsigned long long)session->id, reason);
    refuse(session, "null", RPC_PARSE_ERROR, reason);
    session_end(session, 1, true);
}

static void do_step(struct session *session)
{
    const struct session_turns turns = session->turns;

    if (turns.step(session, turns.state) || session->over)
        return;
    session->turns.step = NULL;
    turns.end(turns.state);
}

void incoming_work(struct session *session)
{
    struct frame frame;
    int rc = 0;

    session->waiting = false;
    while (!session->over && !session->held && !session->waiting) {
        if (session->turns.step)
            do_step(session);
        else if ((rc = frame_reader_next(&session->reader, &frame)) <= 0)
            break;
        else if (frame.pieces.count)
            read_long(session, &frame);
        else
            read_short(session, &frame);
        session->waiting = !turn_more(session->server->loop);
    }
    if (session->over)
        return;
    if (rc < 0) {
        refuse_frame(session, rc);
    } else if (session->held || session->waiting) {
        /* What arrives meanwhile stays where it is. */
        channel_pause(session->channel);
        if (!session->held)
            server_come_back(session->server);
    } else if (session->input_over) {
        end_of_input(session, 0);
    } else {
        channel_resume(session->channel);
    }
}

void session_hold(struct session *session)
{
    session->held = true;
}

void session_go_on(struct session *session)
{
    session->held = false;
    session->waiting = true;
    server_come_back(session->server);
}

void session_by_turns(struct session *session, bool (*step)(struct session *session, void *state),
                      void (*end)(void *state), void *state)
{
    session->turns = (struct session_turns){step, end, state};
}

void incoming_received(void *state, const char *bytes, size_t length)
{
    struct session *session = state;
    int rc = frame_reader_feed(&session->reader, bytes, length);

    if (rc < 0 && !session->held && !session->waiting)
        refuse_frame(session, rc);
    else if (!session->held && !session->waiting)
        incoming_work(session);
    /* A long message is many blocks. */
    if (!session->over && !session->held && !session->waiting &&
        !turn_more(session->server->loop)) {
        session->waiting = true;
        channel_pause(session->channel);
        server_come_back(session->server);
    }
}

void incoming_ended(void *state, int error)
{
    struct session *session = state;

    /* What came before the end is handled first; who cannot be written to needs no answers. */
    if (error == 0 && (session->held || session->waiting))
        session->input_over = true;
    else
        end_of_input(session, error);
}
