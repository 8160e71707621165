#ifndef COMPILER_JOB_H
#define COMPILER_JOB_H
/* The inside of a compile job: shared by compile.c and remember.c, of no concern to anybody else.
 */
#include "daemon/compiler/compiler.h"
#include "daemon/compiler/gpu/plan.h"
#include "daemon/compiler/model/text.h"

/* What is known of one of the models. */
struct compiled_model {
    struct model file;
    struct diagnostics diagnostics;
    struct model_text *text; /* NULL where it was not made yet */
    struct plan *plan; /* of it alone; NULL where an error was found, or where all was remembered */
    bool remembered;   /* what is here came from the cache */
    int folded_nodes;  /* nodes once constants are folded */
    struct compile_count *operators; /* that are left after all passes, by name */
    int operator_count, operator_room;
};

/* Which weights an asset holds. */
struct asset_place {
    int step, weights, style;
};

struct compile {
    struct context c;
    struct compile_options o;
    struct files *files;
    struct compile_cache *cache;
    bool afresh; /* without its rows of layers: what they stand for cannot be told from outside */
    struct compiled_model *models;
    struct compiled_model *current; /* the one that diagnostics are about now */
    struct model *joined; /* of several models: each read again, the graphs that became one */
    struct plan
        *plan; /* what is printed; NULL where there is an error, or where all was remembered */
    enum compile_status status;
    const char *file_name; /* of the generated file */
    struct strbuf text;
    struct compile_asset *assets;
    struct asset_place *places;
    int asset_count, asset_room, place_count, place_room;
    struct compile_edge *inputs, *outputs;
    int input_count, input_room, output_count, output_room;
    struct compile_cost *cost;
};

/* Fills in all results of an earlier compile of the same models with the same options, without
 * reading them: their content is known by their identities (one a model, zero where it could not be
 * had). false: not remembered, nothing was changed. */
bool compile_recall(struct compile *job, const struct file_identity *identities);
/* Keeps the results (COMPILE_OK) for compile_recall(). */
void compile_remember(struct compile *job);
/* The identity of a model's file; false where it cannot be opened. */
bool compile_identity(struct compile *job, int model, struct file_identity *id);

#endif
