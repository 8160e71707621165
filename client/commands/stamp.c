/*
 * Writes the stamp of all models in a folder: what the source generator watches.
 */
#include "daemon/stamp.h"
#include "client/sources.h"
#include "daemon/outputs.h"
#include "protocol/endpoint.h"
#include <string.h>

static enum exit_status run(struct invocation *v)
{
    const char *into = invocation_value(v, "output"), *folder = v->operands[0];
    struct endpoint endpoint;
    struct sources sources;
    struct strbuf text;
    char why[512];

    if (!into)
        invocation_misuse(v, "stamp needs -o FILE");
    int error = endpoint_locate(&endpoint, invocation_value(v, "socket"));
    if (error)
        invocation_fail(v, "the socket's place: %s", strerror(-error));
    sources_collect(v, &sources);
    strbuf_init(&text, &v->context->arena);
    stamp_begin(&text, endpoint.socket);
    for (int i = 0; i < sources.count; i++) {
        const char *path = sources.list[i].path;

        if (sources.list[i].script)
            continue;
        const char *inside = strncmp(path, folder, strlen(folder)) ? path : path + strlen(folder);
        while (*inside == '/')
            inside++;
        if (!stamp_model(&text, path, *inside ? inside : path, why, sizeof why))
            invocation_fail(v, "%s: %s", path, why);
    }
    if (output_replace(into, text.text, text.length, why, sizeof why) < 0)
        invocation_fail(v, "%s", why);
    return EXIT_FINE;
}

static const struct option options[] = {
    {"output", 'o', "FILE", false, "the stamp; written only when it changes"},
    {NULL, 0, NULL, false, NULL},
};

const struct command command_stamp = {
    .name = "stamp",
    .arguments = "DIR",
    .documentation = "Writes what the source generator watches: models and shapes.",
    .options = options,
    .min_operands = 1,
    .max_operands = 1,
    .run = run,
};
