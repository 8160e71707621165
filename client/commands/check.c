/*
 * Prints what is wrong with scripts, models and whole folders, and writes nothing.
 */
#include "client/batch.h"

static const char *const formats[] = {"text", "json", NULL};

static void print_text(struct batch *b, const struct report *r)
{
    (void)b;
    report_text(stderr, r);
}

static void print_json(struct batch *b, const struct report *r)
{
    if (!report_json(stdout, r))
        context_escape(b->invocation->context, ESCAPE_MEMORY, "out of memory");
}

static enum exit_status run(struct invocation *v)
{
    struct batch b = {.invocation = v};

    b.report = invocation_choice(v, "format", formats) == 1 ? print_json : print_text;
    batch_run(&b);
    return b.errors ? EXIT_WRONG : EXIT_FINE;
}

static const struct option options[] = {
    {"format", 0, "FORMAT", false, "text (on stderr, the default) or json (on stdout, one a line)"},
    {NULL, 0, NULL, false, NULL},
};

const struct command command_check = {
    .name = "check",
    .arguments = "PATH...",
    .documentation = "What is wrong with scripts, models or folders.",
    .options = options,
    .min_operands = 1,
    .max_operands = -1,
    .run = run,
};
