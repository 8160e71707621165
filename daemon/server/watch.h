#ifndef DAEMON_SERVER_WATCH_H
#define DAEMON_SERVER_WATCH_H
/*
 * What changes in folders. A folder is watched, never a file; whoever walks a tree watches each
 * folder before listing it, so that nothing is missed between the two. How changes are noticed is a
 * back end's business (watch_inotify.c); that they have settled, are not our own, and are reported
 * once, is decided here. Where the system has no more watches to give, or hears of other machines'
 * changes not at all, folders are looked at every 2 s (watch_poll.c).
 *
 * All on the loop thread, but for watch_add() and watch_expect(), which any thread may call.
 */
#include "daemon/compiler/model/load.h"
#include <stdbool.h>
#include <stddef.h>

struct uv_loop_s;
struct folders;
struct watch;

struct watch_events {
    void *state;
    /* Asked for each file that changes: false spares the rest. */
    bool (*wanted)(void *state, const char *path);
    /* A wanted file came, went or changed, and has settled. */
    void (*changed)(void *state, const char *path);
    /* A folder came (it is not watched yet, nor is what lies below it), or went with all below it.
     */
    void (*folder_came)(void *state, const char *folder);
    void (*folder_gone)(void *state, const char *folder);
    /* A folder may be listed by others than before. */
    void (*folder_changed)(void *state, const char *folder);
    /* Changes were lost: everything has to be looked at again. At most once a second. */
    void (*lost)(void *state);
};

/* NULL with a negative error code in *error. */
struct watch *watch_new(struct uv_loop_s *loop, const struct watch_events *events, int *error);
/* Ends with the loop's next turn. NULL is fine. */
void watch_free(struct watch *watch);

/*
 * Watches one folder (canonical; what lies below it is not). Watching it again is fine. 0; -ENOSPC
 * or -EMFILE: a limit of the system is reached, and the folder is looked at every 2 s instead; else
 * negative errno.
 */
int watch_add(struct watch *watch, const char *folder);
/* Stops watching the folder and all below it. */
void watch_remove(struct watch *watch, const char *folder);
bool watch_has(struct watch *watch, const char *folder);
size_t watch_count(struct watch *watch);

/* A change that somebody else noticed; settles as any. */
void watch_touch(struct watch *watch, const char *path);

/* The daemon is about to put the file with this identity at path (NULL: to delete it): that is no
 * event. */
void watch_expect(struct watch *watch, const char *path, const struct file_identity *identity);

/* --- for back ends -------------------------------------------------------------------------- */

enum watch_kind {
    WATCH_FILE, /* created, closed after writing, moved in or out, deleted, permissions changed */
    WATCH_FOLDER_CAME,    /* created or moved in */
    WATCH_FOLDER_CHANGED, /* its permissions; name may be NULL: the watched folder itself */
    WATCH_FOLDER_GONE,    /* deleted or moved out */
    WATCH_SELF_GONE,      /* the watched folder itself; name is NULL */
    WATCH_LOST,           /* folder and name are NULL */
};
/* Loop thread. */
void watch_report(struct watch *watch, enum watch_kind kind, const char *folder, const char *name);

struct watch_backend {
    const char *name;
    /* The folders are to be held; each back end keeps those of its own kind there. */
    void *(*start)(struct watch *watch, struct folders *folders, struct uv_loop_s *loop,
                   int *error);
    int (*add)(void *state, const char *folder); /* any thread */
    void (*remove)(void *state, const char *folder);
    void (*stop)(void *state); /* frees the state, with the loop's next turn */
};
extern const struct watch_backend watch_inotify;
/* Compares listings: what no event tells of. */
extern const struct watch_backend watch_poll;

#endif
