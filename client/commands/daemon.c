/*
 * The daemon that runs, if one does: what it is doing, ending it, its log. Never starts one.
 */
#include "client/command.h"
#include "client/connection.h"
#include "protocol/methods.h"
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

/* Time for what is under way to be given up. */
enum { STOP_MS = 10000 };

/* Objects and arrays as indented lines, everything else as JSON has it. */
static void print(const struct json *value, int depth)
{
    json_each(child, value)
    {
        struct buffer text = BUFFER_EMPTY;
        const char *name = json_name(child), *string = json_value_string(child);
        bool nested = json_type(child) == JSON_OBJECT || json_type(child) == JSON_ARRAY;

        printf("%*s%s%s", depth * 2, "", name ? name : "-", name ? ":" : "");
        if (nested && json_count(child)) {
            putchar('\n');
            print(child, depth + 1);
        } else if (nested) {
            puts(" none");
        } else if (string) {
            printf(" %s\n", string);
        } else if (!json_print(&text, child)) {
            printf(" %s\n", text.data);
        }
        buffer_release(&text);
    }
}

static enum exit_status status(struct invocation *v, struct connection *c, struct json *answer)
{
    (void)v, (void)c;
    print(answer, 0);
    return EXIT_FINE;
}

static enum exit_status stop(struct invocation *v, struct connection *c, struct json *answer)
{
    (void)answer;
    if (c->peer.pid <= 1 || kill((pid_t)c->peer.pid, SIGTERM))
        invocation_fail(v, "the daemon (process %" PRId64 ") cannot be told to leave: %s",
                        c->peer.pid, strerror(errno));
    if (!connection_wait_closed(c, STOP_MS))
        invocation_fail(v, "the daemon (process %" PRId64 ") does not leave", c->peer.pid);
    return EXIT_FINE;
}

static enum exit_status show_log(struct invocation *v, struct connection *c, struct json *answer)
{
    const char *path = json_string(answer, "log");
    char bytes[1 << 14];
    size_t got;

    (void)c;
    if (!path || !*path)
        invocation_fail(v, "the daemon keeps no log file (onnxgpud --log-file)");
    FILE *file = fopen(path, "re");
    if (!file)
        invocation_fail(v, "%s: %s", path, strerror(errno));
    while ((got = fread(bytes, 1, sizeof bytes, file)))
        fwrite(bytes, 1, got, stdout);
    bool whole = !ferror(file);
    fclose(file);
    if (!whole)
        invocation_fail(v, "%s cannot be read", path);
    return EXIT_FINE;
}

static const struct action {
    const char *name;
    bool asks;      /* for the daemon's status first */
    bool fine_idle; /* nothing to do where none runs */
    enum exit_status (*act)(struct invocation *v, struct connection *c, struct json *answer);
} actions[] = {
    {"status", true, false, status},
    {"stop", false, true, stop},
    {"log", true, false, show_log},
};

static enum exit_status run(struct invocation *v)
{
    static struct connection connection; /* reachable however the invocation is left */
    const struct action *action = NULL;
    struct json *answer = NULL;

    for (size_t i = 0; i < sizeof actions / sizeof *actions; i++)
        if (!strcmp(actions[i].name, v->operands[0]))
            action = &actions[i];
    if (!action)
        invocation_misuse(v, "daemon takes status, stop or log, not \"%s\"", v->operands[0]);
    int rc = connection_open(&connection, invocation_value(v, "socket"));
    if (rc == -ENOENT || rc == -ECONNREFUSED) {
        invocation_note(v, "no daemon runs");
        return action->fine_idle ? EXIT_FINE : EXIT_TROUBLE;
    }
    if (rc)
        invocation_fail(v, "%s", connection.why);
    if (action->asks && !(answer = connection_ask(&connection, method_name(METHOD_status), NULL)))
        invocation_fail(v, "%s", connection.why);
    enum exit_status result = action->act(v, &connection, answer);
    json_free(answer);
    connection_release(&connection);
    return result;
}

const struct command command_daemon = {
    .name = "daemon",
    .arguments = "status|stop|log",
    .documentation = "The daemon that runs: what it does, ending it, its log.",
    .min_operands = 1,
    .max_operands = 1,
    .run = run,
};
