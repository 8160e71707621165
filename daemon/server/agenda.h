#ifndef DAEMON_SERVER_AGENDA_H
#define DAEMON_SERVER_AGENDA_H
/*
 * What the workspace has yet to do of its own accord: a branch is switched, and thousands of files
 * are others. It is done path by path, in each turn of the loop as much as that has room for. What
 * is asked for meanwhile does not depend on it, for whoever asks has his files looked at anew. Loop
 * thread.
 */
#include <stdbool.h>

struct workspace;
struct agenda;

struct agenda *agenda_new(struct workspace *workspace);
/* Forgets what is left. Ends with the loop's next turn. */
void agenda_free(struct agenda *agenda);

/* workspace_changed() is due for the path. */
void agenda_change(struct agenda *agenda, const char *path);
/* workspace_decide() is due for it, once that can be known. */
void agenda_decide(struct agenda *agenda, const char *path);
/* The same for all in folder that concerns somebody, and the models there. */
void agenda_change_below(struct agenda *agenda, const char *folder);
/* The same for all members and models there. */
void agenda_decide_below(struct agenda *agenda, const char *folder);
/* The results of scans wait to be taken (roots_take_some()), or what could not be decided before
 * may be now. */
void agenda_wake(struct agenda *agenda);
/* Whether it is yet to be decided who stands for the path. */
bool agenda_is_undecided(const struct agenda *agenda, const char *path);
bool agenda_is_empty(const struct agenda *agenda);

#endif
