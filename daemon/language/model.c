#include "daemon/language/model.h"

#include "daemon/language/ask.h"
#include "daemon/server/memory.h"
#include "daemon/server/server.h"
#include "daemon/server/snapshot.h"

#include <stdlib.h>
#include <unistd.h>

/* A model that is being written is waited for as long as a change would be. */
#define PAUSE_US 50000
#define PAUSES 40

struct model_work {
    struct job job;
    struct server *server;
    struct answer answer;
    char *path;
    model_result *make;
    struct shared *text; /* of the result; NULL: why */
    char *why;
};

static bool attempt(struct model_work *work, const struct script *script)
{
    struct snapshot snapshot;
    struct compile *compile;
    struct json *result = NULL;
    struct buffer text = BUFFER_EMPTY;
    const char *why = "out of memory";
    bool settled = true;

    snapshot_init(&snapshot);
    compile = compile_new(&script->units[0].options, &snapshot.files,
                          &work->server->compile_cache.base, &work->job.cancel);
    if (compile) {
        enum compile_status status = compile_run(compile);

        if (status == COMPILE_FAILED)
            why = compile_why(compile);
        else if (status != COMPILE_CANCELLED)
            result = work->make(compile, status, &why);
        settled = !snapshot.written && snapshot_steady(&snapshot);
        if (!settled)
            why = "the model is being written";
    }
    shared_drop(work->text);
    free(work->why);
    work->text = result && settled && json_print(&text, result) == 0 ? shared_new(&text) : NULL;
    work->why = work->text ? NULL : memory_text(why);
    buffer_release(&text);
    json_free(result);
    compile_free(compile);
    snapshot_release(&snapshot);
    return settled;
}

static void model_run(struct job *job)
{
    struct model_work *work = (struct model_work *)job;
    struct script *script = script_of_model(work->path);

    if (!script)
        return;
    for (int i = 0; i < PAUSES && !job_cancelled(job) && !attempt(work, script); i++)
        usleep(PAUSE_US);
    script_release(script);
}

static void model_done(struct job *job)
{
    struct model_work *work = (struct model_work *)job;

    if (work->text)
        answer_result(work->server, work->answer, json_new_shared(work->text));
    else
        answer_error(work->server, work->answer, RPC_REQUEST_FAILED, "%s",
                     work->why ? work->why : "out of memory");
    jobs_drop(job->jobs, work->text);
    free(work->why);
    free(work->path);
    free(work);
}

void model_request(struct session *session, const struct request *request, model_result *make)
{
    char *path = ask_path(session, request, json_string(request->params, "uri"));
    struct model_work *work;

    if (!path)
        return;
    work = memory_new(sizeof *work);
    work->job.run = model_run;
    work->job.done = model_done;
    work->job.priority = JOB_INTERACTIVE;
    work->server = session->server;
    work->answer = request->answer;
    work->path = path;
    work->make = make;
    rpc_registry_find(&session->registry, request->answer.ticket)->work = &work->job;
    jobs_submit(session->server->jobs, &work->job);
}
