#ifndef DAEMON_SERVER_WRITE_H
#define DAEMON_SERVER_WRITE_H
/*
 * Puts generated files beside their script. Each file is written under a temporary name in the same
 * folder and renamed, only where its bytes differ; the assets come first, then the source, then
 * assets of the same model that are no longer listed go, with their `.meta`. A `.cs` is never
 * deleted.
 *
 * On a worker; one write of a unit at a time.
 */
#include "cache/cache.h"
#include "daemon/compiler/compiler.h"
#include "daemon/server/watch.h"

/* Begins the name of every temporary file: such names are no events. */
#define WRITE_TEMPORARY ".onnxgpu-"

struct write_order {
    struct compile *compile; /* COMPILE_OK */
    const char *folder;      /* of the script, canonical */
    const char *stem;        /* "Sharpen.Filter" */
    bool with_source;        /* the `.cs` too */
    struct cache *cache;     /* may be NULL */
    struct watch *watch;     /* that is told of our own writes; may be NULL */
    const atomic_bool *cancel;
};

struct write_result {
    char **files; /* paths that were written or deleted, in that order */
    size_t count;
    int error;    /* 0, -ECANCELED, or negative errno of … */
    char *failed; /* … this path */
};

void write_files(const struct write_order *order, struct write_result *result);
void write_result_release(struct write_result *result);

/* Whether name is that of an asset of the model: stem, ".w", a digit, letters and digits, ".asset".
 */
bool write_is_asset(const char *stem, const char *name);

#endif
