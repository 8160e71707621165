#include "client/command.h"
#include "client/report.h"
#include "daemon/compiler/model/load.h"
#include "daemon/compiler/model/text.h"
#include "daemon/compiler/operators/operator.h"
#include <stdio.h>

static enum exit_status run(struct invocation *v)
{
    struct context *c = v->context;
    const char *path = v->operands[0];
    struct model model = {0};

    invocation_operand(v, path);
    model_load(c, &files_system, path, &model);
    if (model.graph)
        infer_graph(model.graph);
    diagnostics_sort(&c->diagnostics);
    const struct model_text *text = model_text_new(c, model.graph);
    if (model.graph)
        fwrite(text->text, 1, text->length, stdout);
    model_close(&model);
    if (model.graph)
        return EXIT_FINE;
    for (int i = 0; i < c->diagnostics.count; i++) {
        struct report r = {
            .path = path,
            .line = 1,
            .column = 1,
            .end_line = 1,
            .end_column = 1,
            .code = c->diagnostics.list[i].code,
            .message = c->diagnostics.list[i].message,
        };

        report_text(stderr, &r);
    }
    return EXIT_WRONG;
}

const struct command command_show = {
    .name = "show",
    .arguments = "MODEL",
    .documentation = "The model as text, one node a line.",
    .min_operands = 1,
    .max_operands = 1,
    .run = run,
};
