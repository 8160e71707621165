#include "client/report.h"
#include "daemon/broken.h"
#include "protocol/json.h"
#include <stdlib.h>

static const char *severity_of(const struct report *r)
{
    switch (diagnostic_info(r->code)->severity) {
    case SEVERITY_ERROR:
        return "error";
    case SEVERITY_WARNING:
        return "warning";
    default:
        return "note";
    }
}

void report_text(FILE *to, const struct report *r)
{
    fprintf(to, "%s:%d:%d: %s: %s [%s]\n", r->path, r->line, r->column, severity_of(r), r->message,
            diagnostic_info(r->code)->name);
}

bool report_json(FILE *to, const struct report *r)
{
    struct json *object = json_new_object();
    struct buffer line = BUFFER_EMPTY;

    json_set_string(object, "path", r->path);
    json_set_int(object, "line", r->line);
    json_set_int(object, "column", r->column);
    json_set_int(object, "endLine", r->end_line);
    json_set_int(object, "endColumn", r->end_column);
    json_set_string(object, "severity", severity_of(r));
    json_set_string(object, "code", diagnostic_info(r->code)->name);
    json_set_string(object, "message", r->message);
    if (r->model)
        json_set_string(object, "model", r->model);
    if (r->layer && *r->layer)
        json_set_string(object, "layer", r->layer);
    if (r->op && *r->op)
        json_set_string(object, "op", r->op);
    bool printed = !json_print(&line, object);
    if (printed)
        fprintf(to, "%s\n", line.data);
    buffer_release(&line);
    json_free(object);
    return printed;
}

void report_model(struct report *r, const char *path, struct compile *job, int model,
                  const struct diagnostic *d)
{
    struct compile_range range = {1, 1, 1, 1};

    if (job && !compile_place(job, model, &d->place, &range))
        range = (struct compile_range){1, 1, 1, 1};
    *r = (struct report){
        .path = path,
        .line = range.line,
        .column = range.column,
        .end_line = range.end_line,
        .end_column = range.end_column,
        .code = d->code,
        .message = d->message,
        .layer = d->place.layer,
        .op = d->place.op,
    };
}

void report_broken(FILE *to, const char *path, const struct compile *job)
{
    char *message = broken_message(job, &path, 1);
    const struct report r = {.path = path,
                             .line = 1,
                             .column = 1,
                             .code = TUKI0190,
                             .message = message ? message : compile_why(job)};

    report_text(to, &r);
    free(message);
}

void report_all(FILE *to, const char *path, struct compile *job, int model)
{
    const struct diagnostics *all = compile_diagnostics(job, model);

    for (int i = 0; i < all->count; i++) {
        struct report r;

        report_model(&r, path, job, model, &all->list[i]);
        report_text(to, &r);
    }
}
