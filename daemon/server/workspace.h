#ifndef DAEMON_SERVER_WORKSPACE_H
#define DAEMON_SERVER_WORKSPACE_H
/*
 * Which scripts there are, which models each of them uses, and what became of both. Loop thread;
 * the work itself is done by jobs, whose results come back here.
 *
 *     member   a script, or a model that stands for itself because no script names it
 *     unit     one attribute of a script (or that model): one compile, one generated file
 *
 * A member is kept while it lies in a root and has units, is open in an editor, or was asked for
 * (loose).
 */
#include "daemon/language/script.h"
#include "daemon/server/concern.h"
#include "daemon/server/jobs.h"
#include "daemon/server/outcome.h"
#include "daemon/server/path.h"
#include "daemon/server/tree.h"

struct server;
struct workspace;
struct member;

struct unit {
    uint64_t id;
    struct member *member;
    int number;              /* in its member's script */
    struct outcome *outcome; /* the last complete one; NULL: none yet */
    struct compile_work *compiling;
    struct write_work *writing;
    uint64_t revision;        /* grows with every reason to compile again */
    uint64_t current;         /* the revision that the outcome is of */
    bool unwritten;           /* the outcome waits until the script is saved */
    int64_t retry_ms;         /* writing failed, and is tried again then; 0: it did not */
    int64_t retry_wait_ms;    /* after how long, the last time */
    char *write_why;          /* what was said of that; NULL: nothing */
    int64_t written_since_ms; /* a model is being written by somebody since then; 0: no */
    bool written_long;        /* for longer than changes are waited for */
    int64_t restored_ms;      /* when its files were last written for a change that was not ours */
    int64_t restore_ms;       /* when they are to be again; 0: there is no reason to */
    struct hash told;         /* fingerprint of the last onnxgpu/generated */
    struct path_list concern; /* the paths that its member is found by for it (concern.h) */
};

enum member_kind { MEMBER_SCRIPT, MEMBER_MODEL };

typedef void member_waiter(void *state, struct member *member); /* member NULL: it is gone */

struct member {
    enum member_kind kind;
    struct workspace *workspace;
    uint64_t id;
    char *path;               /* canonical */
    struct script *script;    /* NULL: not read yet */
    int64_t version;          /* of the document that script was read from; -1: from the disk */
    uint64_t change;          /* of that document */
    bool saved;               /* the text is what the disk holds */
    struct snapshot disk;     /* the script's file, as it was read */
    struct path_list links;   /* on the way to it and to the models that it names */
    struct path_list concern; /* the paths that it is found by, whatever its units */
    struct unit **units;
    size_t unit_count;
    bool loose; /* somebody asked for it */
    bool again; /* somebody was writing the script: it is to be read again */
    struct read_work *reading;
    struct check_work *checking;
    uint64_t revision;
    int64_t busy_since_ms; /* 0: at rest */
    struct member_wait {
        member_waiter *function;
        void *state;
    } * waiters;
    size_t waiter_count;
};

struct workspace *workspace_new(struct server *server);
/* Everything that still runs is cancelled; call when the jobs are idle. */
void workspace_free(struct workspace *workspace);

/* A folder that somebody wants watched; counted. Scanned at once where it is new. path is made
 * canonical. */
void workspace_add_root(struct workspace *workspace, const char *path);
void workspace_remove_root(struct workspace *workspace, const char *path);
bool workspace_in_roots(const struct workspace *workspace, const char *path);
size_t workspace_root_count(const struct workspace *workspace);
const char *workspace_root(const struct workspace *workspace, size_t index);

/* The document of that path was opened, changed, saved or closed. */
void workspace_edited(struct workspace *workspace, const char *path);
/* From the watch. */
bool workspace_wanted(void *workspace, const char *path);
void workspace_changed(void *workspace, const char *path);
void workspace_folder_came(void *workspace, const char *folder);
void workspace_folder_changed(void *workspace, const char *folder);
void workspace_folder_gone(void *workspace, const char *folder);
void workspace_lost(void *workspace);

struct member *workspace_find(const struct workspace *workspace, const char *path);
/* `size_t at = 0; while ((member = workspace_each(workspace, &at)))`. */
struct member *workspace_each(const struct workspace *workspace, size_t *at);

/*
 * Looks whether what is known of the file at path (a script, or else a model) is still so, brings
 * up to date what is not, and calls waiter once all is at rest: later, never from within.
 */
void workspace_ensure(struct workspace *workspace, const char *path, member_waiter *waiter,
                      void *state);
/* The waiters with that state will not be called any more. */
void workspace_forget_waiter(struct workspace *workspace, void *state);

bool member_at_rest(const struct member *member);
bool unit_at_rest(const struct unit *unit);
/* False where the unit's models are read, and shown, as those of another path. */
bool unit_uses_model(const struct unit *unit, const char *path, int *model);
bool workspace_busy(const struct workspace *workspace);

struct workspace_counts {
    size_t scripts, models; /* members; models that stand for themselves */
    size_t ok, refused, failed, compiling, being_written; /* units */
    size_t compiles, answers_from_memory, folders_not_watched, scans;
    size_t done; /* compiles that came to an end since the work began that goes on now */
};
void workspace_count(const struct workspace *workspace, struct workspace_counts *counts);
void workspace_answered_from_memory(struct workspace *workspace);

/* --- between workspace.c, member.c and unit.c ------------------------------------------------- */

struct root {
    char *path;
    size_t count;
    bool missing;
    uint64_t device, inode; /* of the folder that was scanned last; 0: it is being scanned */
};

struct workspace {
    struct server *server;
    struct root *roots;
    size_t root_count;
    struct table members; /* by path */
    struct concerns concerns;
    struct tree models;     /* model files seen in the roots; the value is the workspace */
    struct table leftovers; /* folders with temporary files of dead processes; the value likewise */
    struct workspace_timer *timer;
    struct roots_timer *roots_timer;
    struct agenda *agenda;
    struct scan_work *scanned, **last_scanned; /* of roots.c: found, and not yet taken */
    bool looking;
    uint64_t last_id;
    size_t scanning, reading;
    size_t compiles, from_memory, unwatched, done, scans;
    bool leaving;
};

struct member *member_new(struct workspace *workspace, enum member_kind kind, const char *path);
/* Publishes that there is nothing left to say of it. */
void member_free(struct member *member);
/* Reads the script again, or makes that of a model. */
void member_read(struct member *member, enum job_priority priority);
/* Asks a worker whether files are what they were. */
void member_check(struct member *member);
/* To be called whenever a job of the member came back. */
void member_settle(struct member *member);
void member_wait_for(struct member *member, member_waiter *waiter, void *state);
bool member_writable(const struct member *member);
/* Whether there is a reason to keep it. */
bool member_wanted(const struct member *member);
/* All paths that diagnostics of the member are shown at changed. */
void member_touch(struct member *member);

struct unit *unit_new(struct member *member, int number);
void unit_free(struct unit *unit);
/* There is a reason to compile again. */
void unit_outdate(struct unit *unit, enum job_priority priority);
/* Compiles now, where that is due and not under way. */
void unit_start(struct unit *unit, enum job_priority priority);
/* Writes what the outcome holds, where that is due and allowed. */
void unit_write(struct unit *unit);
/* Every 200 ms while somebody writes a model. */
void unit_tick(struct unit *unit, int64_t now_ms);
/* What the unit reads has changed: the paths that its member is found by. */
void unit_concern(struct unit *unit);
/* The paths that diagnostics of the unit are shown at changed. */
void unit_touch(const struct unit *unit);
/* Whether path is one of the files that are generated for the unit. */
bool unit_generates(const struct unit *unit, const char *path);

/* Whether it is known who names what: no script is being read or looked for. */
bool workspace_is_decided(const struct workspace *workspace);
/* The scripts that name the file at path, or what it holds, may be others: makes the member that
 * stands for it, and ends one that nobody needs. Where nothing is decided, that is done later. */
void workspace_decide(struct workspace *workspace, const char *path);
/* Looks after what comes round again no later than that. */
void workspace_tick_in(struct workspace *workspace, int64_t wait_ms);
void workspace_tick_soon(struct workspace *workspace);
int64_t workspace_now_ms(const struct workspace *workspace);
/* The script of that path, made where there is none; NULL: it is a model. */
struct member *workspace_get_script(struct workspace *workspace, const char *path);

/* Of roots.c. */
void roots_begin(struct workspace *workspace);
void roots_end(struct workspace *workspace);
/* Walks through folder; everything: changes may have been lost, and what is known below it is
 * looked at again. */
void roots_scan(struct workspace *workspace, const char *folder, bool everything);
/* Takes a file of what scans have found; false: there is none. */
bool roots_take_some(struct workspace *workspace);

#endif
