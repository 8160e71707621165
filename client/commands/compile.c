/*
 * Writes the generated files of scripts (beside each script, or into -o DIR) and of models on their
 * own: those that are named, and with -o DIR those of a folder too (unasked, nothing is written
 * beside a model that no script uses). A model with errors leaves what was written before as it is.
 */
#include "client/batch.h"
#include "daemon/asset_cache.h"
#include "daemon/compiler/gpu/lexer.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct compiling {
    struct batch batch;             /* first: what the callbacks get */
    const char *into;               /* -o, NULL: beside the script or model */
    const char *class_name, *space; /* --class */
};

static struct compiling *compiling_of(struct batch *b)
{
    return (struct compiling *)b;
}

static const char *folder_of(struct batch *b, const struct batch_unit *u)
{
    const char *into = compiling_of(b)->into;

    return into ? into : source_folder(&b->invocation->context->arena, u->source->path);
}

static void prepare(struct batch *b, struct batch_unit *u)
{
    struct arena *arena = &b->invocation->context->arena;
    const char *folder = folder_of(b, u);
    char *real = realpath(*folder ? folder : ".", NULL);

    if (real)
        u->options.asset_folder = arena_strdup(arena, script_asset_folder(real));
    free(real);
    if (u->unit || !compiling_of(b)->class_name)
        return;
    u->options.script = u->options.class_name = compiling_of(b)->class_name;
    u->options.space = compiling_of(b)->space;
}

static void done(struct batch *b, struct batch_unit *u, struct compile *job)
{
    static const struct outputs_hooks hooks = {.known = asset_cache_known,
                                               .made = asset_cache_made};
    struct invocation *v = b->invocation;
    struct asset_cache assets = {.cache = v->cache}; /* opened by the compile before */
    struct outputs out = {.folder = folder_of(b, u), .hooks = &hooks, .state = &assets};
    char why[sizeof out.why];

    if (!u->unit && !u->source->named && !compiling_of(b)->into)
        return;
    bool good = outputs_write(&out, job);
    for (int i = 0; i < out.written_count; i++)
        invocation_note(v, "wrote %s", out.written[i]);
    memcpy(why, out.why, sizeof why);
    outputs_release(&out);
    if (!good) {
        compile_free(job);
        invocation_fail(v, "%s", why);
    }
}

static void report(struct batch *b, const struct report *r)
{
    /* Warnings are not asked for where somebody wants quiet; errors always are. */
    if (diagnostic_info(r->code)->severity == SEVERITY_ERROR ||
        !invocation_flag(b->invocation, "quiet"))
        report_text(stderr, r);
}

static bool is_identifier(const char *text, size_t length)
{
    if (!length || (*text >= '0' && *text <= '9'))
        return false;
    for (size_t i = 0; i < length; i++) {
        unsigned char c = (unsigned char)text[i];

        if (!((c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
              c == '_' || c >= 0x80))
            return false;
    }
    return true;
}

/* NAMESPACE.NAME: the last part is the class. */
static void read_class(struct compiling *c, const char *text)
{
    struct invocation *v = c->batch.invocation;
    const char *dot = strrchr(text, '.');

    for (const char *at = text;; at++) {
        size_t length = strcspn(at, ".");

        const char *part = arena_printf(&v->context->arena, "%.*s", (int)length, at);

        if (!is_identifier(at, length))
            invocation_misuse(v, "--class takes NAMESPACE.NAME, not \"%s\"", text);
        if (is_keyword(part))
            invocation_misuse(v, "--class takes NAMESPACE.NAME, and %s is a keyword of C#", part);
        at += length;
        if (!*at)
            break;
    }
    c->class_name = dot ? dot + 1 : text;
    c->space = arena_strdup(&v->context->arena, text);
    ((char *)(uintptr_t)c->space)[dot ? dot - text : 0] = '\0';
}

static enum exit_status run(struct invocation *v)
{
    struct compiling c = {
        .batch = {.invocation = v, .prepare = prepare, .done = done, .report = report},
        .into = invocation_value(v, "output"),
    };
    const char *class_name = invocation_value(v, "class");

    if (class_name)
        read_class(&c, class_name);
    if (c.into && mkdir(c.into, 0777) && errno != EEXIST)
        invocation_fail(v, "%s: %s", c.into, strerror(errno));
    batch_run(&c.batch);
    return c.batch.errors ? EXIT_WRONG : EXIT_FINE;
}

static const struct option options[] = {
    {"output", 'o', "DIR", false, "write into DIR instead of beside the script or model"},
    {"class", 0, "NAMESPACE.NAME", false,
     "the class that a model on its own becomes part of (by default named like the file)"},
    {NULL, 0, NULL, false, NULL},
};

const struct command command_compile = {
    .name = "compile",
    .arguments = "PATH...",
    .documentation = "Writes the generated files of scripts, models or folders.",
    .options = options,
    .min_operands = 1,
    .max_operands = -1,
    .run = run,
};
