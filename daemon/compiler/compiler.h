#ifndef COMPILER_COMPILER_H
#define COMPILER_COMPILER_H
/*
 * The compiler, seen from outside: models in, generated files and diagnostics out.
 *
 * One compile is one job: made, run, looked at, freed, on one thread at a time (any thread; different compiles in
 * parallel share nothing but the caches given to them). It reads only the models' files, and writes nothing.
 */
#include "daemon/compiler/context.h"
#include "daemon/compiler/graph/hash.h"
#include "daemon/compiler/model/load.h"
#include <stdint.h>

/* A digest of the compiler's own source: part of every cache key, and of stamps, so that no compiler reads what another
 * one made. */
extern const char compiler_version[];

/*
 * Where results of earlier compiles may be found; given by the caller, may be NULL. Calls come from the compile's
 * thread. A wrong or missing answer costs time only: rows are checked by their users.
 */
struct compile_cache {
    /* The row of kind ("layer", "model") under key, in malloc'ed memory; false: none. */
    bool (*get)(struct compile_cache *cache, const char *kind, struct hash key, void **row, size_t *size);
    void (*put)(struct compile_cache *cache, const char *kind, struct hash key, const void *row, size_t size);
    /* The content hash of a file that was hashed before and has not changed since, by its identity. */
    bool (*file_get)(struct compile_cache *cache, const char *path, const struct file_identity *id, struct hash *hash);
    void (*file_put)(struct compile_cache *cache, const char *path, const struct file_identity *id, struct hash hash,
                     int64_t hashed_at_ns);
};

struct compile_options {
    const char *script;       /* base of the generated file's name and of its assets: "Sharpen" */
    const char *class_name;   /* "Sharpen"; NULL: script */
    const char *modifiers;    /* before `partial class`: "public", or "" */
    const char *keyword;      /* "class" or "record"; NULL: "class" */
    const char *type_parameters; /* "<T>" or "" */
    const char *space;        /* namespace, "" for none */
    const char *const *outer; /* headers of the enclosing types, outermost first: "public partial class Outer" */
    int outer_count;
    const char *prefix;       /* NULL: PascalCase of the first model's file name (compile_prefix()) */
    const char *file_stem;    /* of the generated files: NULL: "<script>.<prefix>" */
    const char *asset_folder; /* where the assets will lie, relative to the folder that holds `Assets` ("" where there is
                               * none): only for their GUIDs */
    const char *const *models; /* paths */
    const char *const *names;  /* what messages call these files, as the user wrote them; NULL: their paths */
    int model_count;
};

/* Why there is no result, beside diagnostics. */
enum compile_status {
    COMPILE_OK,        /* no error diagnostics: there is a generated file */
    COMPILE_REFUSED,   /* diagnostics say why */
    COMPILE_CANCELLED,
    COMPILE_FAILED,    /* system trouble or a broken invariant (compile_why()): nothing is known about the model */
};

struct compile; /* one job */

/* A weight asset. Its bytes are made when they are asked for. */
struct compile_asset {
    const char *name;      /* "Sharpen.Filter.w3.asset" */
    const char *field;     /* "Filterw3" */
    int64_t width, height; /* texture */
    bool half;             /* RGBAHalf, else RGBA32 */
    int64_t payload;       /* bytes of the texture */
    int64_t bytes;         /* of the asset file */
    struct hash recipe;    /* of what the payload is made from: same recipe, same bytes of the file */
    const char *meta;      /* text of the companion "<name>.meta" */
    size_t meta_length;
};

/* A buffer at the model's edge, for those who run the model. */
struct compile_edge {
    const char *field; /* "FilterInput", "FilterOutput1" … of item 0 */
    const char *name;  /* of the model's input or output */
    int number;        /* among the model's inputs or outputs */
    int items;         /* buffers: items 1 … have "Item1" … appended */
    bool tokens;       /* written by SetFilterTokens */
    enum element_type type;
    struct shape shape; /* in the model, all items together */
    int packed, x_count, y_count, x[MAX_AXES], y[MAX_AXES]; /* how one item lies in its buffer (gpu/layout.h) */
    int64_t width, height;
};

/* options are copied; files and cache are borrowed until compile_free(). Never NULL but out of memory. */
struct compile *compile_new(const struct compile_options *options, struct files *files,
                            struct compile_cache *cache, const atomic_bool *cancel);
/* Does all the work but the assets' bytes. */
enum compile_status compile_run(struct compile *job);
void compile_free(struct compile *job);

/* All below: after compile_run(), borrowed from the job. */
const char *compile_why(const struct compile *job); /* COMPILE_FAILED: one line; else "" */
/* COMPILE_FAILED: whether by a broken invariant (TUKI0190), and not for want of what the system has. */
bool compile_broken(const struct compile *job);
/* Of model 0, 1 …: sorted as `check` prints them. */
const struct diagnostics *compile_diagnostics(const struct compile *job, int model);
/* Content hash of model's bytes and its external data; zero where it could not be read. */
struct hash compile_content(const struct compile *job, int model);
/* External data files of model (resolved paths), to be watched. */
const char *const *compile_external(const struct compile *job, int model, int *count);
/* COMPILE_OK only. */
const char *compile_file_name(const struct compile *job); /* "Sharpen.Filter.Model.cs" */
const char *compile_text(const struct compile *job, size_t *length);
const struct compile_asset *compile_assets(const struct compile *job, int *count);
const struct compile_edge *compile_inputs(const struct compile *job, int *count);
const struct compile_edge *compile_outputs(const struct compile *job, int *count);
/* Writes asset number i through sink in pieces; sink returns false to stop. false: stopped, or failed (compile_why()). */
typedef bool compile_sink(void *state, const void *bytes, size_t size);
bool compile_asset_write(struct compile *job, int i, compile_sink *sink, void *state);
/* Only the texture's payload (row y = 0 first), as the target's memory holds it: for simulation. bytes has room for the
 * asset's `payload`. false: failed (compile_why()). */
bool compile_asset_payload(struct compile *job, int i, void *bytes);

/* One entry a kernel, for `explain`. */
struct compile_layer {
    const char *name, *op, *kernel;
    const char *part; /* of that layer, where it has several steps ("statistics"), or "" */
    const char *const *fused;
    int fused_count;
    int64_t steps, fetches, macs, width, height;
    const char *layout; /* of what it writes: "c=1 x=3 y=2", the axes on each */
};
struct compile_count {
    const char *op;
    int count;
};
struct compile_cost {
    int64_t steps, fetches, macs, buffer_bytes, weight_bytes;
    int nodes;                             /* of the graph once constants are folded */
    const struct compile_count *operators; /* that are left after all passes, by name */
    int operator_count;
    const struct compile_layer *layers;
    int layer_count;
};
/* Counted on the text that was generated; COMPILE_OK only. NULL: compile_why(). */
const struct compile_cost *compile_explain(struct compile *job);

/* The prefix that a model's file name gives: PascalCase, a legal identifier. Writes at most size bytes with NUL. */
void compile_prefix(const char *path, char *prefix, size_t size);
/* Names that the generated part of the class declares with that prefix and so many outputs …: true where a member of
 * the user's class would collide. */
bool compile_name_collides(const char *prefix, const char *member);
/* Where a diagnostic of a model stands in its text view: 1-based line, columns, end exclusive. The view is made by
 * compile_show(). */
struct compile_range {
    int line, column, end_line, end_column;
};
/* The text view of a model (`onnxgpu show`); text and ranges live as long as the job. false: it could not be loaded. */
bool compile_show(struct compile *job, int model, const char **text, size_t *length);
/* Node number i of the view, in its order; name and op are borrowed. false: there are not so many. */
struct compile_node {
    const char *name, *op;
    struct compile_range range;
};
bool compile_show_node(struct compile *job, int model, int i, struct compile_node *node);
bool compile_place(struct compile *job, int model, const struct place *place, struct compile_range *range);

#endif
