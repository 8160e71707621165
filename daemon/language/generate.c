#include "daemon/language/ask.h"
#include "daemon/server/log.h"
#include "daemon/server/memory.h"
#include "daemon/server/path.h"
#include "daemon/server/server.h"
#include "daemon/server/write.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct generate {
    struct question question;
    char *class_name, *known; /* known: the fingerprint that the caller has, or NULL */
    char **models;
    int model_count;
    uint64_t unit, current; /* what was known when the question came; 0: nothing */

    /* What the answer is made from; held. */
    struct script *script;
    int number; /* of the unit in the script */
    struct outcome *outcome;
};

/* --- the answer ------------------------------------------------------------------------------- */

static bool concerns(const struct script *script, const struct script_problem *problem, int number)
{
    return problem->unit == number ||
           (problem->unit < 0 && strcmp(problem->name, script->units[number].name) == 0);
}

/* The outcome's own, where the script adds nothing to it. */
static struct hash fingerprint(const struct script *script, int number,
                               const struct outcome *outcome)
{
    struct hasher hasher;
    bool plain = true;

    hasher_init(&hasher);
    hasher_add_hash(&hasher, outcome->fingerprint);
    for (int i = 0; i < script->problem_count; i++)
        if (concerns(script, &script->problems[i], number)) {
            plain = false;
            hasher_add_text(&hasher, script->problems[i].message);
        }
    return plain ? outcome->fingerprint : hasher_finish(&hasher);
}

static void answer(struct question *question, const struct report *report)
{
    const struct generate *generate = (const struct generate *)question;
    const struct script *script = generate->script;
    const struct outcome *outcome = generate->outcome;
    struct json *result = json_new_object(), *sources, *assets;
    char print[HASH_TEXT_SIZE], *folder;

    hash_print(print, fingerprint(script, generate->number, outcome));
    json_set_string(result, "fingerprint", print);
    if (generate->known && strcmp(generate->known, print) == 0) {
        json_set_bool(result, "unchanged", true);
        answer_result(question->server, question->answer, result);
        return;
    }
    sources = json_new_array();
    assets = json_new_array();
    if (outcome->status == COMPILE_OK && !script->units[generate->number].blocked) {
        struct json *source = json_new_object();

        json_set_string(source, "hintName", outcome->file_name);
        json_set(source, "text", json_new_shared(outcome->text_json));
        json_append(sources, source);
        folder = path_folder(script->path);
        for (size_t i = 0; i < outcome->asset_count; i++) {
            struct json *asset = json_new_object();
            char *path = path_join(folder, outcome->assets[i].name);

            json_set_string(asset, "path", path);
            json_set_int(asset, "bytes", outcome->assets[i].bytes);
            json_append(assets, asset);
            free(path);
        }
        free(folder);
    }
    json_set(result, "sources", sources);
    json_set(result, "assets", assets);
    json_set(result, "diagnostics", report_json(report));
    answer_result(question->server, question->answer, result);
}

/* --- an attribute that the script, as it is known here, does not have --------------------------
 */

/*
 * The caller reads a newer text than the disk holds, or a class that lies elsewhere. What it asks
 * for is compiled all the same: as the script would be that says just that.
 */
struct once {
    struct job job;
    struct server *server;
    struct generate *generate; /* with the script that says just that */
    struct outcome *outcome;
    atomic_bool *cancel;
};

static void once_run(struct job *job)
{
    struct once *once = (struct once *)job;
    struct script *script = once->generate->script;
    struct outputs outputs;
    bool written = false;

    once->outcome =
        outcome_new(script, 0, &once->server->compile_cache.base, &once->cancel, true, &written);
    if (once->outcome && once->outcome->compile) {
        char *folder = path_folder(script->path);
        const struct write_order order = {
            .compile = once->outcome->compile,
            .folder = folder,
            .cache = once->server->cache,
            .watch = once->server->watch,
            .cancel = &job->cancel,
        };

        if (!write_files(&order, &outputs) && !job_cancelled(job))
            log_line(LOG_WARNING, "%s", outputs.why);
        outputs_release(&outputs);
        free(folder);
        outcome_drop_compile(once->outcome);
    }
}

static void once_done(struct job *job)
{
    struct once *once = (struct once *)job;
    struct generate *generate = once->generate;
    struct question *question = &generate->question;
    const struct report_options options = ask_options(question);

    generate->outcome = once->outcome;
    if (generate->outcome) {
        struct member member = {.kind = MEMBER_SCRIPT,
                                .workspace = once->server->workspace,
                                .script = generate->script,
                                .path = generate->script->path};
        struct unit unit = {.member = &member, .outcome = generate->outcome};

        ask_report(question, report_note_unit(&unit, &options), answer);
    } else {
        answer_error(question->server, question->answer, RPC_REQUEST_FAILED,
                     "a model is being written");
        ask_end(question);
    }
    free(once->cancel);
    free(once);
}

static void add_literal(struct buffer *text, const char *value)
{
    buffer_append_text(text, "@\"");
    for (; *value; value++) {
        buffer_append_byte(text, *value);
        if (*value == '"')
            buffer_append_byte(text, '"');
    }
    buffer_append_byte(text, '"');
}

/* namespace A { [OnnxGpu(@"…")] partial class B { } } */
static struct script *write_script(const struct generate *generate)
{
    const char *dot = strrchr(generate->class_name, '.');
    struct buffer text = BUFFER_EMPTY;
    struct script *script = NULL;

    if (dot)
        buffer_printf(&text, "namespace %.*s { ", (int)(dot - generate->class_name),
                      generate->class_name);
    buffer_append_text(&text, "[OnnxGpu(");
    for (int i = 0; i < generate->model_count; i++) {
        if (i)
            buffer_append_text(&text, ", ");
        add_literal(&text, generate->models[i]);
    }
    buffer_printf(&text, ")] partial class %s { }%s", dot ? dot + 1 : generate->class_name,
                  dot ? " }" : "");
    if (!text.failed)
        script = script_read(generate->question.path, text.data, text.length, path_canonical);
    buffer_release(&text);
    /* Whatever else the name of the class turned the text into is none. */
    if (script && (script->unit_count != 1 ||
                   script_find(script, generate->class_name, (const char *const *)generate->models,
                               generate->model_count) < 0)) {
        script_release(script);
        script = NULL;
    }
    return script;
}

static void compile_once(struct generate *generate)
{
    struct question *question = &generate->question;
    struct session *session = answer_session(question->server, question->answer);
    struct once *once;

    generate->script = session ? write_script(generate) : NULL;
    if (!generate->script) {
        answer_error(question->server, question->answer, RPC_INVALID_PARAMS,
                     "class is no name of a class, or models are no paths");
        ask_end(question);
        return;
    }
    once = memory_new(sizeof *once);
    once->job.run = once_run;
    once->job.done = once_done;
    once->job.priority = JOB_INTERACTIVE;
    once->cancel = memory_new(sizeof *once->cancel);
    once->job.also = once->cancel;
    once->server = question->server;
    once->generate = generate;
    rpc_registry_find(&session->registry, question->answer.ticket)->work = &once->job;
    jobs_submit(once->server->jobs, &once->job);
}

/* --- the question ----------------------------------------------------------------------------- */

static struct unit *find_unit(const struct generate *generate, const struct member *member)
{
    int number = -1;

    if (member && member->kind == MEMBER_SCRIPT && member->script)
        number = script_find(member->script, generate->class_name,
                             (const char *const *)generate->models, generate->model_count);
    return number >= 0 ? member->units[number] : NULL;
}

static void reply(struct question *question, struct member *member)
{
    struct generate *generate = (struct generate *)question;
    const struct report_options options = ask_options(question);
    const struct unit *unit = find_unit(generate, member);

    if (!unit) {
        compile_once(generate);
        return;
    }
    if (!unit->outcome) {
        answer_error(question->server, question->answer, RPC_REQUEST_FAILED,
                     unit->written_since_ms ? "the model is being written"
                                            : "the model could not be compiled");
        ask_end(question);
        return;
    }
    if (unit->id == generate->unit && unit->current == generate->current)
        workspace_answered_from_memory(question->server->workspace);
    generate->script = script_hold(member->script);
    generate->number = unit->number;
    generate->outcome = outcome_hold(unit->outcome);
    ask_report(question, report_note_unit(unit, &options), answer);
}

static void release(struct question *question)
{
    struct generate *generate = (struct generate *)question;

    for (int i = 0; i < generate->model_count; i++)
        free(generate->models[i]);
    free(generate->models);
    free(generate->class_name);
    free(generate->known);
    outcome_drop(generate->outcome);
    script_release(generate->script);
}

/* onnxgpu/generate: the generated files of one attribute, or that they are unchanged. */
void method_generate(struct session *session, const struct request *request)
{
    const char *class_name = json_string(request->params, "class");
    const struct json *models = json_array(request->params, "models");
    struct generate *generate;
    struct unit *unit;
    char *path;

    if (!class_name || !*class_name || json_count(models) == 0) {
        answer_error(session->server, request->answer, RPC_INVALID_PARAMS,
                     "class and models are needed");
        return;
    }
    json_each(model, models) if (!json_value_string(model) || !*json_value_string(model))
    {
        answer_error(session->server, request->answer, RPC_INVALID_PARAMS, "models are paths");
        return;
    }
    path = ask_path(session, request, json_string(request->params, "script"));
    if (!path)
        return;
    generate = memory_new(sizeof *generate);
    generate->question.path = path;
    generate->question.reply = reply;
    generate->question.release = release;
    generate->class_name = memory_text(class_name);
    generate->known = memory_text(json_string(request->params, "fingerprint"));
    generate->models = memory_new(json_count(models) * sizeof *generate->models);
    json_each(model, models) generate->models[generate->model_count++] =
        memory_text(json_value_string(model));
    unit = find_unit(generate, workspace_find(session->server->workspace, path));
    if (unit && unit->outcome && unit->current == unit->revision) {
        generate->unit = unit->id;
        generate->current = unit->current;
    }
    ask(session, request, &generate->question);
}
