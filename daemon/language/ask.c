#include "daemon/language/ask.h"

#include "daemon/server/path.h"
#include "daemon/server/server.h"
#include "protocol/uri.h"
#include <errno.h>
#include <stdlib.h>

char *ask_path(struct session *session, const struct request *request, const char *uri)
{
    char *path = NULL, *canonical;
    int rc = uri ? uri_to_path(uri, &path) : -EINVAL;

    if (rc < 0) {
        answer_error(session->server, request->answer, RPC_INVALID_PARAMS,
                     rc == -EPROTONOSUPPORT ? "the URI is not that of a file"
                                            : "a file URI is needed");
        return NULL;
    }
    canonical = path_canonical(path);
    free(path);
    return canonical;
}

void ask_end(struct question *question)
{
    if (question->release)
        question->release(question);
    free(question->path);
    free(question);
}

static void at_rest(void *state, struct member *member)
{
    struct question *question = state;

    question->reply(question, member);
}

static void reported(void *state, const struct report *report)
{
    struct question *question = state;

    question->report(question, report);
    ask_end(question);
}

void ask_report(struct question *question, struct report_notes *notes,
                void (*answer)(struct question *question, const struct report *report))
{
    question->report = answer;
    report_make(question->server, notes, reported, question);
}

void ask(struct session *session, const struct request *request, struct question *question)
{
    question->server = session->server;
    question->answer = request->answer;
    workspace_ensure(session->server->workspace, question->path, at_rest, question);
}

struct report_options ask_options(const struct question *question)
{
    const struct session *session = session_find(question->server, question->answer.session);

    if (!session)
        return (struct report_options){LSP_UTF16, false, 0};
    return (struct report_options){session->encoding,
                                   session->related_information || !session->editor, session->id};
}
