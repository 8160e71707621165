#ifndef DAEMON_SERVER_CONCERN_H
#define DAEMON_SERVER_CONCERN_H
/*
 * Which members a path concerns: those that lie there, read it, name it, or come to it through a
 * link. So that
 * a change costs what it changes, and not a look at everything that there is. Loop thread.
 */
#include "daemon/server/path.h"
#include "daemon/server/tree.h"

struct member;

struct concerns {
    struct tree by_path; /* struct concerned, in concern.c */
};

/* From here on these paths concern the member instead of those of `was`, which become the new ones;
 * now is taken. A member may have several lists. */
void concerns_set(struct concerns *concerns, struct member *member, struct path_list *was,
                  struct path_list *now);
/* The members, in no order, valid until the next concerns_set(). */
struct member *const *concerns_of(const struct concerns *concerns, const char *path, size_t *count);
/* Accepts a zeroed one. */
void concerns_release(struct concerns *concerns);

#endif
