#include "daemon/compiler/compiler.h"
#include "daemon/server/log.h"
#include "daemon/server/memory.h"
#include "daemon/server/server.h"
#include "protocol/endpoint.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define EXIT_USE 2
#define CACHE_LIMIT_MIB 512
#define IDLE_EXIT_S 600
#define JOBS_LIMIT 64

enum option {
#define OPTION(symbol, name, value, text) OPTION_##symbol,
#include "daemon/options.def"
#undef OPTION
    OPTION_COUNT
};

static const struct {
    const char *name, *value, *text;
} table[OPTION_COUNT] = {
#define OPTION(symbol, name, value, text) {name, value, text},
#include "daemon/options.def"
#undef OPTION
};

struct command_line {
    struct server_options server;
    const char **watch;
    char *cache; /* the default place; owned */
    bool no_cache, leave;
    enum log_level level;
    const char *log_file;
};

static void print_help(void)
{
    printf("usage: onnxgpud [OPTION]…\n\n"
           "Compiles the ONNX models that C# scripts name, in the background, and tells editors "
           "what is wrong.\n\n");
    for (int i = 0; i < OPTION_COUNT; i++) {
        char left[64];

        snprintf(left, sizeof left, "%s%s%s", table[i].name, table[i].value ? " " : "",
                 table[i].value ? table[i].value : "");
        printf("  %-22s %s\n", left, table[i].text);
    }
}

/* A whole number from 0 to limit; -1 for anything else. */
static long parse_number(const char *text, long limit)
{
    char *end;
    long number;

    errno = 0;
    number = strtol(text, &end, 10);
    return errno || end == text || *end || number < 0 || number > limit ? -1 : number;
}

static int wrong_use(const char *name, const char *why)
{
    fprintf(stderr, "onnxgpud: %s %s (see --help)\n", name, why);
    return EXIT_USE;
}

static int find_option(const char *argument, const char **value)
{
    for (int i = 0; i < OPTION_COUNT; i++) {
        size_t length = strlen(table[i].name);

        *value = NULL;
        if (strcmp(argument, table[i].name) == 0)
            return i;
        if (table[i].value && strncmp(argument, table[i].name, length) == 0 &&
            argument[length] == '=') {
            *value = argument + length + 1;
            return i;
        }
    }
    return -1;
}

static int apply(struct command_line *line, enum option option, const char *value)
{
    struct server_options *server = &line->server;
    const char *name = table[option].name;
    long number;
    int level;

    switch (option) {
    case OPTION_STDIO:
        server->stdio = true;
        break;
    case OPTION_LISTEN:
        server->socket = value;
        break;
    case OPTION_WATCH:
        line->watch = memory_grow(line->watch, server->watch_count, sizeof *line->watch);
        line->watch[server->watch_count++] = value;
        break;
    case OPTION_WRITE:
        server->write = true;
        break;
    case OPTION_NO_WRITE:
        server->write = false;
        break;
    case OPTION_CACHE:
        server->cache = value;
        break;
    case OPTION_NO_CACHE:
        line->no_cache = true;
        break;
    case OPTION_CACHE_LIMIT:
        number = parse_number(value, 1 << 20);
        if (number < 0)
            return wrong_use(name, "takes a number of mebibytes");
        server->cache_limit = (uint64_t)number << 20;
        break;
    case OPTION_JOBS:
        number = parse_number(value, JOBS_LIMIT);
        if (number < 1)
            return wrong_use(name, "takes a number from 1 to 64");
        server->jobs = (int)number;
        break;
    case OPTION_IDLE_EXIT:
        number = parse_number(value, 1 << 24);
        if (number < 0)
            return wrong_use(name, "takes a number of seconds");
        server->idle_exit = (int)number;
        break;
    case OPTION_LOG_LEVEL:
        level = log_level_parse(value);
        if (level < 0)
            return wrong_use(name, "takes error, warning, info or debug");
        line->level = (enum log_level)level;
        break;
    case OPTION_LOG_FILE:
        line->log_file = value;
        break;
    case OPTION_VERSION:
        printf("onnxgpud %s (compiler %s, protocol %d)\n", ENDPOINT_BUILD, compiler_version,
               ENDPOINT_PROTOCOL);
        line->leave = true;
        break;
    case OPTION_HELP:
        print_help();
        line->leave = true;
        break;
    case OPTION_COUNT:
        break;
    }
    return 0;
}

static int parse(struct command_line *line, int argc, char **argv)
{
    for (int i = 1; i < argc && !line->leave; i++) {
        const char *value;
        int option = find_option(argv[i], &value), rc;

        if (option < 0)
            return wrong_use(argv[i], "is no option");
        if (table[option].value && !value) {
            if (i + 1 >= argc)
                return wrong_use(argv[i], "needs a value");
            value = argv[++i];
        }
        rc = apply(line, (enum option)option, value);
        if (rc)
            return rc;
    }
    if (line->server.stdio && line->server.socket && !line->leave)
        return wrong_use("--stdio", "and --listen exclude each other");
    return 0;
}

/*
 * Standard output belongs to the protocol: whatever else in the process prints goes to standard
 * error from here on.
 */
static int take_standard_streams(struct server_options *server)
{
    server->input = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3);
    server->output = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
    if (server->input < 0 || server->output < 0 || dup2(STDERR_FILENO, STDOUT_FILENO) < 0)
        return -errno;
    close(STDIN_FILENO);
    /* Whatever is opened next must not become standard input. */
    return open("/dev/null", O_RDONLY) < 0 ? -errno : 0;
}

/* Descriptors 0 to 2 that the caller closed would be given to files that are no place for messages.
 */
static void fill_standard_streams(void)
{
    int descriptor;

    do
        descriptor = open("/dev/null", O_RDWR);
    while (descriptor >= 0 && descriptor <= STDERR_FILENO);
    if (descriptor >= 0)
        close(descriptor);
}

static int default_jobs(void)
{
    long processors = sysconf(_SC_NPROCESSORS_ONLN);

    return processors > 8 ? 8 : processors > 1 ? (int)processors : 1;
}

int main(int argc, char **argv)
{
    struct command_line line = {
        .server = {.write = true,
                   .cache_limit = (uint64_t)CACHE_LIMIT_MIB << 20,
                   .idle_exit = IDLE_EXIT_S},
        .level = LOG_WARNING,
    };
    struct server_options *server = &line.server;
    char pool[16];
    int rc;

    fill_standard_streams();
    server->jobs = default_jobs();
    rc = parse(&line, argc, argv);
    if (rc || line.leave)
        goto out;
    rc = log_open(line.log_file, line.level);
    if (rc < 0) {
        fprintf(stderr, "onnxgpud: %s: %s\n", line.log_file, strerror(-rc));
        rc = EXIT_USE;
        goto out;
    }
    /* A client that goes away and a limit of size are errors of write(), and a lease that is broken
     * one of nobody. */
    signal(SIGPIPE, SIG_IGN);
    signal(SIGIO, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN);
    /* One thread more than workers, for libuv's own. */
    snprintf(pool, sizeof pool, "%d", server->jobs + 2);
    setenv("UV_THREADPOOL_SIZE", pool, 1);
    if (!server->cache && endpoint_cache_path(&line.cache) == 0)
        server->cache = line.cache;
    if (line.no_cache)
        server->cache = NULL;
    if (server->stdio && (rc = take_standard_streams(server)) < 0) {
        log_line(LOG_ERROR, "standard input and output: %s", strerror(-rc));
        rc = EXIT_USE;
        goto out;
    }
    server->watch = line.watch;
    rc = server_run(server);
out:
    log_close();
    free(line.cache);
    free(line.watch);
    return rc;
}
