#ifndef CLIENT_BATCH_H
#define CLIENT_BATCH_H
/*
 * What `check` and `compile` have in common: every script's attributes, and every model that no
 * script among the given paths names, compiled one after another in this process; what is wrong is
 * handed on in a fixed order, each once.
 *
 * A script's diagnostics are sorted by their place in the script: those of the script itself and
 * those of its models, at the argument that names the model. A model on its own shows its
 * diagnostics at itself, where the text view has the layer. A class file of an earlier, good
 * compile is reported stale (TUKI0151). A broken invariant of the compiler fails that one compile
 * (TUKI0190), and work goes on.
 */
#include "client/report.h"
#include "client/sources.h"
#include "daemon/language/script.h"

/* One compile: a script's attribute, or a model on its own. */
struct batch_unit {
    const struct source_file *source;
    const struct script *script;    /* NULL: a model on its own */
    const struct script_unit *unit; /* NULL: likewise */
    struct compile_options options; /* as they will be used; `prepare` may change them */
};

struct batch {
    struct invocation *invocation;
    /* Before a compile, may be NULL: sets options that the command line decides. */
    void (*prepare)(struct batch *b, struct batch_unit *unit);
    /* After a compile, may be NULL: job is COMPILE_OK, and nothing forbids writing. */
    void (*done)(struct batch *b, struct batch_unit *unit, struct compile *job);
    /* Everything that is wrong. */
    void (*report)(struct batch *b, const struct report *r);
    int errors, compiled; /* counted here */
};

/* Goes through all operands. Trouble of our own ends the program. */
void batch_run(struct batch *b);

#endif
