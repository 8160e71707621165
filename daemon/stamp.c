#include "daemon/stamp.h"
#include "daemon/compiler/compiler.h"
#include "daemon/compiler/operators/operator.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static void add_field(struct strbuf *s, const char *text)
{
    for (; *text; text++)
        if (*text == '%' || *text == '\t' || *text == '\n' || *text == '\r')
            strbuf_printf(s, "%%%02X", (unsigned char)*text);
        else
            strbuf_char(s, *text);
}

void stamp_begin(struct strbuf *text, const char *socket)
{
    strbuf_add(text, "onnxgpu-stamp\t1\nsocket\t");
    add_field(text, socket);
    strbuf_char(text, '\n');
}

static void add_values(struct strbuf *s, struct value *const *values, int count)
{
    if (!count)
        strbuf_char(s, '-');
    for (int i = 0; i < count; i++) {
        const struct shape *shape = &values[i]->shape;

        strbuf_printf(s, "%s%s", i ? ";" : "", type_name(values[i]->type));
        if (shape->axes < 0) {
            strbuf_char(s, '?');
            continue;
        }
        strbuf_char(s, '[');
        for (int axis = 0; axis < shape->axes; axis++) {
            strbuf_add(s, axis ? "," : "");
            if (shape->dim[axis] < 0)
                strbuf_char(s, '?');
            else
                strbuf_printf(s, "%" PRId64, shape->dim[axis]);
        }
        strbuf_char(s, ']');
    }
}

struct job {
    struct context context;
    struct model model;
};

/* In a function of its own: what setjmp() may clobber stays outside. */
static void read_model(struct job *job, const char *file)
{
    model_load(&job->context, &files_system, file, &job->model);
    if (job->model.graph)
        infer_graph(job->model.graph);
}

bool stamp_model(struct strbuf *text, const char *file, const char *path, char *why, size_t size)
{
    struct job *job = NEW(text->arena, struct job);
    bool good = true;

    context_init(&job->context, NULL);
    if (setjmp(job->context.escape) == 0) {
        read_model(job, file);
    } else if (job->context.reason != ESCAPE_BUG && job->context.reason != ESCAPE_REFUSED) {
        snprintf(why, size, "%s", job->context.why);
        good = false;
    }
    if (good) {
        const struct graph *g = job->model.graph;
        char print[HASH_TEXT_SIZE];

        strbuf_add(text, "model\t");
        add_field(text, path);
        hash_print(print, job->model.content);
        strbuf_printf(text, "\t%s\t", print);
        add_values(text, g ? g->inputs : NULL, g ? g->input_count : 0);
        strbuf_char(text, '\t');
        add_values(text, g ? g->outputs : NULL, g ? g->output_count : 0);
        strbuf_printf(text, "\t%s\n", compiler_version);
    }
    model_close(&job->model);
    context_release(&job->context);
    return good;
}
