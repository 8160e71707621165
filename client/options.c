#include "client/options.h"
#include "daemon/compiler/strbuf.h"
#include "protocol/endpoint.h"
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const struct option global_options[] = {
    {"no-daemon", 0, NULL, false, "work in this process, whether or not a daemon runs"},
    {"socket", 0, "PATH", false, "where the daemon is met"},
    {"cache", 0, "FILE", false, "the cache's file"},
    {"no-cache", 0, NULL, false, "compute everything anew"},
    {"quiet", 0, NULL, false, "say nothing that is not asked for"},
    {"version", 0, NULL, false, "print the version"},
    {"help", 'h', NULL, false, "print this, or what a command does"},
    {NULL, 0, NULL, false, NULL},
};

#define COMMAND(name) extern const struct command command_##name;
#include "client/commands.def"
#undef COMMAND

const struct command *const commands[] = {
#define COMMAND(name) &command_##name,
#include "client/commands.def"
#undef COMMAND
    NULL,
};

static const struct option *find_name(const struct option *o, const char *name, size_t length)
{
    for (; o && o->name; o++)
        if (strlen(o->name) == length && !strncmp(o->name, name, length))
            return o;
    return NULL;
}

static const struct option *find_letter(const struct option *o, char letter)
{
    for (; o && o->name; o++)
        if (o->letter == letter)
            return o;
    return NULL;
}

static const struct given *find_given(const struct invocation *v, const char *name)
{
    const struct given *found = NULL;

    for (int i = 0; i < v->given_count; i++)
        if (!strcmp(v->given[i].option->name, name))
            found = &v->given[i];
    return found;
}

const char *invocation_value(const struct invocation *v, const char *name)
{
    const struct given *g = find_given(v, name);

    return g ? g->value : NULL;
}

bool invocation_flag(const struct invocation *v, const char *name)
{
    return find_given(v, name) != NULL;
}

double invocation_number(struct invocation *v, const char *name, double otherwise)
{
    const char *text = invocation_value(v, name);
    char *end;

    if (!text)
        return otherwise;
    double number = strtod(text, &end);
    if (!*text || *end || !isfinite(number))
        invocation_misuse(v, "--%s takes a number, not \"%s\"", name, text);
    return number;
}

uint64_t invocation_integer(struct invocation *v, const char *name, uint64_t otherwise)
{
    const char *text = invocation_value(v, name);
    char *end;

    if (!text)
        return otherwise;
    errno = 0;
    unsigned long long number = strtoull(text, &end, 10);
    if (*text < '0' || *text > '9' || *end || errno)
        invocation_misuse(v, "--%s takes an integer from 0 on, not \"%s\"", name, text);
    return number;
}

int invocation_choice(struct invocation *v, const char *name, const char *const *choices)
{
    const char *text = invocation_value(v, name);
    struct strbuf all;

    if (!text)
        return 0;
    strbuf_init(&all, &v->context->arena);
    for (int i = 0; choices[i]; i++) {
        if (!strcmp(choices[i], text))
            return i;
        strbuf_printf(&all, "%s%s", i ? " or " : "", choices[i]);
    }
    invocation_misuse(v, "--%s is %s, not \"%s\"", name, all.text, text);
}

/* ---- Reading ---- */

struct reader {
    struct invocation *v;
    struct given *given;
    const char **operands;
    char **argv;
    int argc, at;
};

static void give(struct reader *r, const struct option *o, const char *spelling, const char *value)
{
    struct invocation *v = r->v;

    if (!o)
        invocation_misuse(v, "there is no option %s", spelling);
    if (!o->argument && value)
        invocation_misuse(v, "--%s takes no value", o->name);
    if (o->argument && !value) {
        if (r->at == r->argc)
            invocation_misuse(v, "%s needs %s", spelling, o->argument);
        value = r->argv[r->at++];
    }
    if (!o->repeated && o->argument && find_given(v, o->name))
        invocation_misuse(v, "%s is given twice", spelling);
    r->given[v->given_count++] = (struct given){.option = o, .value = value ? value : ""};
}

static void read_option(struct reader *r, const char *word)
{
    const struct command *command = r->v->command;
    const struct option *own = command ? command->options : NULL;
    const struct option *o;

    if (word[1] == '-') {
        const char *equals = strchr(word, '=');
        size_t length = equals ? (size_t)(equals - word) - 2 : strlen(word + 2);

        o = find_name(own, word + 2, length);
        give(r, o ? o : find_name(global_options, word + 2, length), word,
             equals ? equals + 1 : NULL);
        return;
    }
    o = find_letter(own, word[1]);
    o = o ? o : find_letter(global_options, word[1]);
    give(r, o, word, word[2] ? word + 2 : NULL);
}

static const struct command *find_command(struct invocation *v, const char *name)
{
    for (int i = 0; commands[i]; i++)
        if (!strcmp(commands[i]->name, name))
            return commands[i];
    invocation_misuse(v, "there is no command %s", name);
}

static void read_words(struct reader *r)
{
    struct invocation *v = r->v;
    bool ended = false;

    while (r->at < r->argc) {
        const char *word = r->argv[r->at++];

        if (!ended && !strcmp(word, "--"))
            ended = true;
        else if (!ended && word[0] == '-' && word[1])
            read_option(r, word);
        else if (!v->command)
            v->command = find_command(v, word);
        else
            r->operands[v->operand_count++] = word;
    }
}

bool options_read(struct invocation *v, int argc, char **argv, enum exit_status *status)
{
    struct arena *arena = &v->context->arena;
    struct reader r = {
        .v = v,
        .given = NEW_ARRAY(arena, argc, struct given),
        .operands = NEW_ARRAY(arena, argc, const char *),
        .argv = argv,
        .argc = argc,
        .at = 1,
    };
    struct strbuf text;

    v->given = r.given;
    v->operands = r.operands;
    read_words(&r);
    strbuf_init(&text, arena);
    *status = EXIT_FINE;
    if (invocation_flag(v, "help")) {
        options_help(&text, v->command);
        fputs(text.text, stdout);
        return false;
    }
    if (invocation_flag(v, "version")) {
        printf("onnxgpu %s, compiler %s, protocol %d\n", ENDPOINT_BUILD, compiler_version,
               ENDPOINT_PROTOCOL);
        return false;
    }
    if (!v->command) {
        options_help(&text, NULL);
        fputs(text.text, stderr);
        *status = EXIT_TROUBLE;
        return false;
    }
    if (v->operand_count < v->command->min_operands)
        invocation_misuse(v, "%s needs %s", v->command->name, v->command->arguments);
    if (v->command->max_operands >= 0 && v->operand_count > v->command->max_operands)
        invocation_misuse(v, "%s does not take \"%s\"", v->command->name,
                          v->operands[v->command->max_operands]);
    return true;
}

/* ---- Explaining ---- */

static void help_options(struct strbuf *s, const struct option *o)
{
    for (; o && o->name; o++) {
        size_t before = s->length;

        strbuf_add(s, "  ");
        if (o->letter)
            strbuf_printf(s, "-%c, ", o->letter);
        strbuf_printf(s, "--%s", o->name);
        if (o->argument)
            strbuf_printf(s, " %s", o->argument);
        while (s->length - before < 26)
            strbuf_char(s, ' ');
        strbuf_printf(s, "%s%s%s\n", s->length - before > 26 ? "\n                          " : "",
                      o->documentation, o->repeated ? " (may be repeated)" : "");
    }
}

void options_help(struct strbuf *s, const struct command *command)
{
    if (command) {
        strbuf_printf(s, "onnxgpu %s [OPTION]... %s\n%s\n\n", command->name, command->arguments,
                      command->documentation);
        help_options(s, command->options);
    } else {
        strbuf_add(s, "onnxgpu [OPTION]... COMMAND ...\n"
                      "Compiles ONNX models into C# whose kernels run them on the GPU.\n\n");
        for (int i = 0; commands[i]; i++)
            strbuf_printf(s, "  %-8s %-18s %s\n", commands[i]->name, commands[i]->arguments,
                          commands[i]->documentation);
        strbuf_add(s, "\nExit status: 0 fine, 1 errors in a model or script or a failed "
                      "comparison, 2 wrong use or I/O failure.\n\n");
    }
    help_options(s, global_options);
}
