#ifndef DAEMON_BROKEN_H
#define DAEMON_BROKEN_H
/*
 * What remains of a broken invariant: TUKI0190 with the path of a report, a small text beside the
 * cache that a user can send along. One report for one fault of one model, however often it comes
 * back; that it cannot be written is no further trouble. Blocking; any thread.
 */
#include "daemon/compiler/compiler.h"

/*
 * The message of TUKI0190 for a compile that ended as COMPILE_FAILED, malloc'ed; NULL: out of
 * memory. Where the system was the reason (compile_broken() is false), there is nothing to report,
 * and no report is written. `models`: the paths that were compiled, at least one.
 */
char *broken_message(const struct compile *job, const char *const *models, int count);
/* The same of a job that was left by itself. what: the file that it was about. */
char *broken_text(const char *why, const char *what);

#endif
