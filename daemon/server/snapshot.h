#ifndef DAEMON_SERVER_SNAPSHOT_H
#define DAEMON_SERVER_SNAPSHOT_H
/*
 * The files that a job has read, each with what stat said before its first byte: whether they are
 * still those can be asked afterwards, by any thread. While somebody writes a file, it is not read
 * at all.
 *
 * A snapshot belongs to one thread at a time.
 */
#include "daemon/compiler/compiler.h"

struct snapshot_file {
    char *path;
    bool exists;
    struct file_identity identity;
    int64_t read_ns; /* CLOCK_REALTIME of the stat */
};

struct snapshot {
    struct files files; /* what the job reads through: the file system, noted down */
    struct snapshot_file *list;
    size_t count;
    bool written;  /* a file was being written when it was to be read */
    char *writing; /* that file */
};

void snapshot_init(struct snapshot *snapshot);
/* Accepts an empty one, and leaves one. */
void snapshot_release(struct snapshot *snapshot);
/* Notes a file as if it had been opened now. */
void snapshot_note(struct snapshot *snapshot, const char *path);

enum snapshot_state {
    SNAPSHOT_SAME,    /* and old enough that a stat stands for the content */
    SNAPSHOT_UNSURE,  /* the same stat, but so young that the content may differ */
    SNAPSHOT_CHANGED, /* or is being written */
};
/* Of all files together: the worst. */
enum snapshot_state snapshot_state(const struct snapshot *snapshot);
/* Whether every stat is as it was: asked right after reading. */
bool snapshot_steady(const struct snapshot *snapshot);
/* The contents were read again, after now_ns, and are the same. */
void snapshot_confirm(struct snapshot *snapshot, int64_t now_ns);
bool snapshot_has(const struct snapshot *snapshot, const char *path);
/* Deep copy, of the list alone. */
void snapshot_copy(struct snapshot *to, const struct snapshot *from);

/* Whether somebody has the file open for writing; where the system cannot tell, whether it changed
 * less than 2 s ago counts. False for a file that is not there. */
bool snapshot_being_written(const char *path);

#endif
