#ifndef DAEMON_SERVER_OUTCOME_H
#define DAEMON_SERVER_OUTCOME_H
/*
 * What one compile came to, in a form that outlives the compile: what editors are told, what is
 * served, what has to be written. Made on a worker, then the loop thread's, which alone looks at
 * the snapshot and the compile with what belongs to it, and may change them. All else never
 * changes, and may be read by whoever holds the outcome.
 */
#include "daemon/language/script.h"
#include "daemon/server/snapshot.h"
#include "protocol/json.h"
#include "protocol/message.h"

struct outcome_diagnostic {
    enum diagnostic_code code;
    int model;                  /* number among the unit's models */
    char *message, *layer, *op; /* layer and op NULL where there is none */
    struct lsp_range view[3];   /* in the text view of the model, by enum lsp_encoding */
};

struct outcome_asset {
    char *name;
    int64_t bytes;
};

struct outcome {
    atomic_size_t holders;
    enum compile_status status; /* OK, REFUSED or FAILED */
    char *why;                  /* FAILED: one line */
    struct outcome_diagnostic *diagnostics;
    size_t diagnostic_count;
    int errors;
    struct hash *contents; /* of each model */
    int model_count;
    char **external; /* files with weights, of all models */
    size_t external_count;
    struct snapshot snapshot; /* everything that was read */
    bool stale;               /* not OK, and a generated file of an earlier compile lies there */

    /* OK only. */
    char *file_name;
    char *buffers;            /* "FilterInput: image [1, 3, 8, 8]", a line each */
    struct shared *text_json; /* the generated text as a JSON string */
    struct outcome_asset *assets;
    size_t asset_count;
    struct compile *compile; /* until it was written; owned, NULL where nothing is to be written */
    struct snapshot *kept;   /* what that compile reads through; owned */
    atomic_bool *cancel;     /* what that compile looks at; owned */

    struct hash fingerprint; /* of all that a client is served */
};

/* Compiles unit number `unit` of script; the caller is the first holder. *written: a model is being
 * written, and there is no outcome (NULL). NULL with neither *written nor the cancel flag set: out
 * of memory. keep: the compile is to be written afterwards, and goes on looking at the flag, which
 * the outcome then takes (*cancel is NULL). Worker. */
struct outcome *outcome_new(struct script *script, int unit, struct compile_cache *cache,
                            atomic_bool **cancel, bool keep, bool *written);
struct outcome *outcome_hold(struct outcome *outcome);
/* Accepts NULL. Any thread. */
void outcome_drop(struct outcome *outcome);
/* Frees what was kept for writing. Accepts an outcome that keeps nothing. */
void outcome_drop_compile(struct outcome *outcome);
/* Whether the models' contents, read again, hash to these; false also where somebody writes them.
 * Worker. */
bool outcome_contents_same(char *const *models, const struct hash *contents, int count,
                           const atomic_bool *cancel);

#endif
