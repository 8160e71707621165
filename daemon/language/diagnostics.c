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

/* The name of a result: the same diagnostics, the same name. */
static void name_result(const struct json *diagnostics, char name[33])
{
    struct buffer text = BUFFER_EMPTY;
    struct hasher hasher;
    struct hash hash;

    json_print(&text, diagnostics);
    hasher_init(&hasher);
    hasher_add(&hasher, text.data ? text.data : "", text.length);
    hash = hasher_finish(&hasher);
    snprintf(name, 33, "%016llx%016llx", (unsigned long long)hash.high,
             (unsigned long long)hash.low);
    buffer_release(&text);
}

static void reply(struct question *question, struct member *member)
{
    const struct pull *pull = (const struct pull *)question;
    const struct report_options options = ask_options(question);
    struct session *session = answer_session(question->server, question->answer);
    struct json *diagnostics, *report;
    char name[33];

    if (!session)
        return;
    diagnostics =
        member ? report_file(member->workspace, question->path, &options) : json_new_array();
    publish_pulled(session, question->path, diagnostics);
    name_result(diagnostics, name);
    report = json_new_object();
    json_set_string(report, "resultId", name);
    if (pull->previous && strcmp(pull->previous, name) == 0) {
        json_set_string(report, "kind", "unchanged");
        json_free(diagnostics);
    } else {
        json_set_string(report, "kind", "full");
        json_set(report, "items", diagnostics);
    }
    answer_result(question->server, question->answer, report);
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
