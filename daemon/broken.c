#include "daemon/broken.h"

#include "daemon/compiler/graph/hash.h"
#include "daemon/outputs.h"
#include "protocol/endpoint.h"
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* PLACE/onnxgpu/reports, beside the cache and as private as that. NULL: there is no place. */
static char *make_folder(void)
{
    char *cache = NULL, *folder = NULL, *slash;

    if (endpoint_cache_path(&cache) < 0)
        return NULL;
    slash = strrchr(cache, '/');
    if (asprintf(&folder, "%.*s/reports", (int)(slash - cache), cache) < 0)
        folder = NULL;
    free(cache);
    for (char *at = folder; at && (at = strchr(at + 1, '/'));) {
        *at = '\0';
        (void)!mkdir(folder, 0700);
        *at = '/';
    }
    if (folder && mkdir(folder, 0700) && errno != EEXIST) {
        free(folder);
        folder = NULL;
    }
    return folder;
}

/* NULL: it could not be written. */
static char *write_report(const char *why, const char *what)
{
    struct hasher hasher;
    struct hash name;
    char *folder = make_folder(), *path = NULL, *text = NULL, reason[256];
    int length;

    hasher_init(&hasher);
    hasher_add_text(&hasher, compiler_version);
    hasher_add_text(&hasher, why);
    hasher_add_text(&hasher, what);
    name = hasher_finish(&hasher);
    if (!folder || asprintf(&path, "%s/TUKI0190-%016" PRIx64 ".txt", folder, name.high) < 0)
        path = NULL;
    length = asprintf(&text, "onnxgpu: internal error\nbuild: %s\ncompiler: %s\nmodel: %s\n%s\n",
                      ENDPOINT_BUILD, compiler_version, what, why);
    if (path &&
        (length < 0 || output_replace(path, text, (size_t)length, reason, sizeof reason) < 0)) {
        free(path);
        path = NULL;
    }
    if (length >= 0)
        free(text);
    free(folder);
    return path;
}

char *broken_text(const char *why, const char *what)
{
    const struct diagnostic_info *info = diagnostic_info(TUKI0190);
    char *report = write_report(why, what), *message;

    if (asprintf(&message, "model: %s. %s%s%s.", why, info->advice, report ? " and " : "",
                 report ? report : "") < 0)
        message = NULL;
    free(report);
    return message;
}

char *broken_message(const struct compile *job, const char *const *models, int count)
{
    char *what = NULL, *message = NULL;

    if (!compile_broken(job))
        return asprintf(&message, "model: %s.", compile_why(job)) < 0 ? NULL : message;
    /* By its full path, so that it is one fault from wherever the model is named. */
    for (int i = 0; i < count; i++) {
        char *full = realpath(models[i], NULL), *longer = NULL;

        if (asprintf(&longer, "%s%s%s", what ? what : "", what ? ", " : "",
                     full ? full : models[i]) < 0)
            longer = NULL;
        free(full);
        free(what);
        what = longer;
        if (!what)
            return NULL;
    }
    message = broken_text(compile_why(job), what ? what : "-");
    free(what);
    return message;
}
