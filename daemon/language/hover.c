#include "daemon/language/ask.h"
#include "daemon/server/memory.h"

#include <stdlib.h>

struct hover {
    struct question question;
    struct lsp_position at;
};

/* What offset lies in: an argument, or an attribute, which stands for its first argument. */
struct found {
    const struct unit *unit; /* NULL: neither */
    int model;               /* number among the unit's */
    struct csharp_range range;
};

static bool lies_in(size_t offset, struct csharp_range range)
{
    return offset >= range.start && offset <= range.end;
}

static struct found find(const struct member *member, size_t offset)
{
    struct found found = {NULL, 0, {0, 0}};

    for (size_t u = 0; u < member->unit_count; u++) {
        const struct script_unit *row = &member->script->units[member->units[u]->number];

        for (int m = 0; m < row->model_count; m++)
            if (lies_in(offset, row->models[m].range))
                return (struct found){member->units[u], m, row->models[m].range};
        if (lies_in(offset, row->range))
            found = (struct found){member->units[u], 0, row->range};
    }
    return found;
}

/* What is said of model `number` beside what is wrong with it, which diagnostics say. */
static void describe(struct buffer *text, const struct outcome *outcome, int number)
{
    buffer_append_text(text, outcome->buffers);
    for (size_t i = 0; i < outcome->diagnostic_count; i++) {
        const struct outcome_diagnostic *diagnostic = &outcome->diagnostics[i];

        if (diagnostic->model == number &&
            diagnostic_info(diagnostic->code)->severity == SEVERITY_INFORMATION)
            buffer_printf(text, "\n%s [%s]\n", diagnostic->message,
                          diagnostic_info(diagnostic->code)->name);
    }
}

static struct json *hover_json(const struct hover *hover, const struct member *member)
{
    const enum lsp_encoding encoding = ask_options(&hover->question).encoding;
    const struct script *script = member->script;
    const struct found found = find(member, lsp_text_offset(&script->text, hover->at, encoding));
    const struct outcome *outcome = found.unit ? found.unit->outcome : NULL;
    struct buffer text = BUFFER_EMPTY;
    struct json *result, *contents;

    if (!outcome || outcome->status != COMPILE_OK)
        return NULL;
    buffer_printf(&text, "%s\n", script->units[found.unit->number].models[found.model].argument);
    describe(&text, outcome, found.model);
    contents = json_new_object();
    json_set_string(contents, "kind", "plaintext");
    json_set(contents, "value", json_new_text(text.data ? text.data : "", text.length));
    result = json_new_object();
    json_set(result, "contents", contents);
    json_set(result, "range",
             lsp_range_json(
                 lsp_text_range(&script->text, found.range.start, found.range.end, encoding)));
    buffer_release(&text);
    return result;
}

static void reply(struct question *question, struct member *member)
{
    const struct hover *hover = (const struct hover *)question;

    answer_result(question->server, question->answer,
                  member && member->kind == MEMBER_SCRIPT && member->script
                      ? hover_json(hover, member)
                      : NULL);
    ask_end(question);
}

/* textDocument/hover: what the model is that an argument names. */
void method_hover(struct session *session, const struct request *request)
{
    struct lsp_position at;
    struct hover *hover;
    char *path;

    if (!lsp_position_read(json_member(request->params, "position"), &at)) {
        answer_error(session->server, request->answer, RPC_INVALID_PARAMS, "a position is needed");
        return;
    }
    path = ask_path(session, request,
                    json_string(json_member(request->params, "textDocument"), "uri"));
    if (!path)
        return;
    hover = memory_new(sizeof *hover);
    hover->question.path = path;
    hover->question.reply = reply;
    hover->at = at;
    ask(session, request, &hover->question);
}
