#ifndef DAEMON_SERVER_SCAN_H
#define DAEMON_SERVER_SCAN_H
/*
 * A walk through a folder and all below it: watches each before listing it, finds scripts that may
 * hold an attribute, and models. Links to folders are not followed (what they lead to inside the
 * root is found anyway), hidden folders are skipped, a folder that was visited under another name
 * too. What a killed process left half written is deleted. Worker.
 */
#include "daemon/server/path.h"
#include "daemon/server/watch.h"
#include <stdatomic.h>

struct scan {
    char **scripts, **models; /* canonical, sorted */
    size_t script_count, model_count;
    uint64_t device, inode; /* of the folder itself; 0: it could not be opened */
    struct path_list
        leftovers; /* folders with temporary files of dead processes, too young to go */
    size_t folders;
    int limit; /* 0, or -ENOSPC, -EMFILE: the first folder that could not be watched for want of …
                */
    char *unwatched;     /* that folder */
    atomic_size_t files; /* looked at so far; any thread may read it */
};

/* folder is canonical. watch may be NULL. */
void scan_run(struct scan *scan, const char *folder, struct watch *watch,
              const atomic_bool *cancel);
void scan_release(struct scan *scan);

/* Reads a regular file of at most limit bytes; *bytes is malloc'ed and has a zero byte behind it.
 * 0, -EFBIG, or negative errno. */
int scan_read_file(const char *path, size_t limit, char **bytes, size_t *size);

#endif
