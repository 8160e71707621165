/*
 * What one evaluation of a model costs, layer by layer, counted on the generated text.
 */
#include "client/command.h"
#include "client/report.h"
#include "daemon/cost.h"
#include <inttypes.h>
#include <stdio.h>

static const char *const formats[] = {"text", "json", NULL};

static bool print_json(const struct compile_cost *cost)
{
    struct json *root = cost_json(cost);
    struct buffer text = BUFFER_EMPTY;
    bool printed = json_print(&text, root) == 0;

    if (printed)
        printf("%s\n", text.data);
    buffer_release(&text);
    json_free(root);
    return printed;
}

static void print_text(const struct compile_cost *cost)
{
    printf("%-20s %14s %14s %13s  %-14s %s\n", "kernel", "fetches", "multiply-adds", "cells",
           "layout", "layer");
    for (int i = 0; i < cost->layer_count; i++) {
        const struct compile_layer *l = &cost->layers[i];
        char cells[48];

        snprintf(cells, sizeof cells, "%" PRId64 "x%" PRId64, l->width, l->height);
        printf("%-20s %14" PRId64 " %14" PRId64 " %13s  %-14s %s %s", l->kernel, l->fetches,
               l->macs, cells, l->layout, l->op, l->name);
        if (*l->part)
            printf(" (%s)", l->part);
        for (int k = 0; k < l->fused_count; k++)
            printf(" + %s", l->fused[k]);
        if (l->steps != 1)
            printf(" (%" PRId64 " steps)", l->steps);
        putchar('\n');
    }
    printf("%d nodes after folding, %" PRId64 " steps, %" PRId64 " fetches, %" PRId64
           " multiply-adds, %" PRId64 " bytes of buffers, %" PRId64 " bytes of weights\n",
           cost->nodes, cost->steps, cost->fetches, cost->macs, cost->buffer_bytes,
           cost->weight_bytes);
}

static enum exit_status run(struct invocation *v)
{
    const char *path = v->operands[0];
    bool json = invocation_choice(v, "format", formats) == 1;
    struct compile_options options = {.models = &path, .model_count = 1};
    enum exit_status result = EXIT_TROUBLE;
    const struct compile_cost *cost;

    invocation_operand(v, path);
    struct compile *job = compile_new(&options, &files_system, invocation_cache(v), NULL);
    if (!job)
        context_escape(v->context, ESCAPE_MEMORY, "out of memory");
    switch (compile_run(job)) {
    case COMPILE_OK:
        cost = compile_explain(job);
        if (!cost)
            break;
        if (!json)
            print_text(cost);
        else if (!print_json(cost))
            break;
        result = EXIT_FINE;
        break;
    case COMPILE_REFUSED:
        report_all(stderr, path, job, 0);
        result = EXIT_WRONG;
        break;
    case COMPILE_FAILED:
    case COMPILE_CANCELLED:
        break;
    }
    if (result == EXIT_TROUBLE && compile_broken(job)) {
        report_broken(stderr, path, job);
        result = EXIT_WRONG;
    } else if (result == EXIT_TROUBLE)
        fprintf(stderr, "onnxgpu: %s: %s\n", path, compile_why(job));
    compile_free(job);
    return result;
}

static const struct option options[] = {
    {"format", 0, "FORMAT", false, "text (the default) or json"},
    {NULL, 0, NULL, false, NULL},
};

const struct command command_explain = {
    .name = "explain",
    .arguments = "MODEL",
    .documentation = "What one evaluation costs, layer by layer and in all.",
    .options = options,
    .min_operands = 1,
    .max_operands = 1,
    .run = run,
};
