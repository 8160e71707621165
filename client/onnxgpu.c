/*
 * onnxgpu: the command line. Reads the options, finds the command, and leaves with its status.
 */
#include "client/command.h"
#include "client/options.h"
#include "daemon/broken.h"
#include "daemon/heap.h"
#include "protocol/endpoint.h"
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

/* In a function of its own: what setjmp() may clobber stays outside. */
static enum exit_status run(struct invocation *v, int argc, char **argv)
{
    enum exit_status status = EXIT_FINE;

    if (!options_read(v, argc, argv, &status))
        return status;
    heap_prepare();
    return v->command->run(v);
}

/* What ended the program: its use or the system, what was reported of a model while it ran, or a
 * fault of its own, which is TUKI0190. */
static enum exit_status tell(const struct context *context)
{
    char *message;

    if (context->reason == ESCAPE_REFUSED) {
        for (int i = 0; i < context->diagnostics.count; i++) {
            const struct diagnostic *d = &context->diagnostics.list[i];

            if (diagnostic_info(d->code)->severity == SEVERITY_ERROR)
                fprintf(stderr, "onnxgpu: error: %s [%s]\n", d->message,
                        diagnostic_info(d->code)->name);
        }
        return EXIT_WRONG;
    }
    if (context->reason != ESCAPE_BUG) {
        fprintf(stderr, "onnxgpu: %s\n", context->why);
        return EXIT_TROUBLE;
    }
    message = broken_text(context->why, "-");
    fprintf(stderr, "onnxgpu: error: %s [%s]\n", message ? message : context->why,
            diagnostic_info(TUKI0190)->name);
    free(message);
    return EXIT_WRONG;
}

int main(int argc, char **argv)
{
    static struct context context;
    static struct invocation invocation;
    static enum exit_status status = EXIT_TROUBLE;

    /* A reader that went away and a limit of size are failed writes. */
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN);
    context_init(&context, NULL);
    invocation.context = &context;
    if (setjmp(context.escape) == 0)
        status = run(&invocation, argc, argv);
    else
        status = tell(&context);
    cache_close(invocation.cache);
    context_release(&context);
    if (fflush(stdout) || ferror(stdout)) {
        fprintf(stderr, "onnxgpu: standard output cannot be written\n");
        status = EXIT_TROUBLE;
    }
    return (int)status;
}
