#include "daemon/language/ask.h"
#include "daemon/server/memory.h"

#include <stdlib.h>

static void answer(struct question *question, const struct report *report)
{
    struct json *result = json_new_object();

    json_set(result, "diagnostics", report_json(report));
    answer_result(question->server, question->answer, result);
}

static void reply(struct question *question, struct member *member)
{
    const struct report_options options = ask_options(question);

    if (!member || !member->script ||
        (member->kind == MEMBER_SCRIPT && member->version < 0 && member->disk.count &&
         !member->disk.list[0].exists)) {
        answer_error(question->server, question->answer, RPC_REQUEST_FAILED,
                     "there is no such file");
        ask_end(question);
        return;
    }
    ask_report(question, report_note_file(member->workspace, question->path, &options), answer);
}

/* onnxgpu/check: all diagnostics of one script or model. */
void method_check(struct session *session, const struct request *request)
{
    char *path = ask_path(session, request, json_string(request->params, "uri"));
    struct question *question;

    if (!path)
        return;
    question = memory_new(sizeof *question);
    question->path = path;
    question->reply = reply;
    ask(session, request, question);
}
