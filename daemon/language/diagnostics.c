#include "daemon/language/ask.h"
#include "daemon/language/pull.h"
#include "daemon/server/memory.h"
#include "daemon/server/publish.h"
#include "daemon/server/server.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct pull {
    struct question question;
    struct pull *next;
    char *previous; /* the result that the client has; NULL: none */
};

static void answer(struct question *question, const struct report *report)
{
    const struct pull *pull = (const struct pull *)question;
    struct session *session = answer_session(question->server, question->answer);
    struct json *result;
    char name[HASH_TEXT_SIZE]; /* of the result: the same diagnostics, the same name */

    if (!session)
        return;
    if (report->text)
        publish_pulled(session, question->path, report);
    hash_print(name, report->hash);
    result = json_new_object();
    json_set_string(result, "resultId", name);
    if (pull->previous && strcmp(pull->previous, name) == 0) {
        json_set_string(result, "kind", "unchanged");
    } else {
        json_set_string(result, "kind", "full");
        json_set(result, "items", report_json(report));
    }
    answer_result(question->server, question->answer, result);
}

static void reply(struct question *question, struct member *member)
{
    const struct report_options options = ask_options(question);
    const struct workspace *workspace = question->server->workspace;

    (void)member; /* of one that is gone there is nothing to say */
    if (answer_open(question->server, question->answer))
        ask_report(question, report_note_file(workspace, question->path, &options), answer);
    else
        ask_end(question);
}

static void release(struct question *question)
{
    struct pull *pull = (struct pull *)question;
    struct session *session = session_find(question->server, question->answer.session);

    for (struct pull **at = session ? &session->pulls : NULL; at && *at; at = &(*at)->next)
        if (*at == pull) {
            *at = pull->next;
            break;
        }
    free(pull->previous);
}

void pull_content_modified(struct session *session, const char *path)
{
    for (const struct pull *pull = session->pulls; pull && !session->over; pull = pull->next)
        if (strcmp(pull->question.path, path) == 0)
            answer_error(session->server, pull->question.answer, RPC_CONTENT_MODIFIED,
                         "the document has changed");
}

/* textDocument/diagnostic: all diagnostics of one document, when the client asks. */
void method_diagnostic(struct session *session, const struct request *request)
{
    const char *uri = json_string(json_member(request->params, "textDocument"), "uri");
    const char *previous = json_string(request->params, "previousResultId");
    struct pull *pull;
    char *path;

    if (!session->pull) {
        answer_error(session->server, request->answer, RPC_METHOD_NOT_FOUND,
                     "diagnostics are published in this session");
        return;
    }
    path = ask_path(session, request, uri);
    if (!path)
        return;
    pull = memory_new(sizeof *pull);
    pull->question.path = path;
    pull->question.reply = reply;
    pull->question.release = release;
    pull->previous = memory_text(previous);
    pull->next = session->pulls;
    session->pulls = pull;
    ask(session, request, &pull->question);
}
