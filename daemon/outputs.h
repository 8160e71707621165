#ifndef DAEMON_OUTPUTS_H
#define DAEMON_OUTPUTS_H
/*
 * The files that a good compile leaves in the user's folder: the generated part of the class, the
 * weight assets and their .meta files, and nothing else.
 *
 * Each file is replaced atomically (a temporary name in the same folder, renamed), and only where
 * its bytes differ: neither an editor nor Unity wakes up for nothing. Order: assets first, the
 * class last, so that a class on disk never names an asset that is not there. After a good write
 * the same model's assets that are not listed any more are deleted with their .meta files; a .cs
 * is never deleted. Temporary files that a killed process left there go too. A .meta to which an
 * editor added lines of its own is left alone as long as its identity is ours. Blocking; one folder
 * by one thread at a time.
 */
#include "daemon/compiler/compiler.h"

/* What a caller that watches the folder, or remembers what it wrote, wants to know. Each may be
 * NULL; all are called from outputs_write(). */
struct outputs_hooks {
    /* Whether the file at path is known to hold what this asset comes to: then it is not made. */
    bool (*known)(void *state, const char *path, const struct compile_asset *asset);
    /* The file at path now holds the asset; written: it did not before. */
    void (*made)(void *state, const char *path, const struct compile_asset *asset, bool written);
    /* The file temporary is about to become path; NULL: path is about to be deleted. */
    void (*replacing)(void *state, const char *path, const char *temporary);
};

struct outputs {
    const char *folder;                /* where the files lie; "" is the working folder. Borrowed */
    bool withhold_text;                /* write the assets only */
    const struct outputs_hooks *hooks; /* borrowed; NULL: none */
    void *state;                       /* of the hooks */
    const atomic_bool *cancel;         /* borrowed; NULL: none. Seen: outputs_write() is false */
    char **written; /* paths (folder/name) whose bytes changed, deleted ones not among them */
    int written_count, written_room;
    int deleted;   /* assets and .meta files */
    char why[512]; /* of a failure */
};

/* false: outputs->why says which file and why; what was written before stays. `written` grows in
 * either case. job is COMPILE_OK. */
bool outputs_write(struct outputs *outputs, struct compile *job);
void outputs_release(struct outputs *outputs);

/* Whether name is an asset, or the .meta of one, of the files that begin with stem:
 * STEM.w<digits>[s][Style<digits>].asset[.meta]. */
bool outputs_is_asset(const char *name, const char *stem);

/* Whether name is that of a file on its way (.NAME.PID-NUMBER of one of our files). */
bool outputs_is_temporary(const char *name);
/* Deletes the temporary files in folder whose makers were killed. How many are left that may be of
 * a dead process, but are too young for that to be certain. Blocking. */
int outputs_sweep(const char *folder);

/* Writes bytes to path by the same rule. 1: written, 0: the same already, -1: failed, and why (size
 * bytes) says so. */
int output_replace(const char *path, const void *bytes, size_t length, char *why, size_t size);

#endif
