#include "daemon/server/parent.h"

#include "daemon/server/log.h"
#include "daemon/server/memory.h"
#include "daemon/server/server.h"
#include "daemon/server/session.h"
#include <limits.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <uv.h>

struct parent {
    uv_poll_t poll;
    int descriptor;
    struct session *session;
};

static void closed(uv_handle_t *handle)
{
    struct parent *parent = handle->data;

    close(parent->descriptor);
    free(parent);
}

static void died(uv_poll_t *poll, int status, int events)
{
    struct parent *parent = poll->data;
    struct session *session = parent->session;

    (void)status;
    (void)events;
    log_line(LOG_INFO, "the editor's process has ended");
    session_end(session, session->state == METHOD_SHUT_DOWN ? 0 : 1, false);
}

void parent_watch(struct session *session, int64_t pid)
{
    struct parent *parent;
    int descriptor;

    if (!session->stdio || session->parent || pid <= 0 || pid > INT_MAX)
        return;
    /* A process descriptor cannot come to mean another process, as a number can. */
    descriptor = (int)syscall(SYS_pidfd_open, (pid_t)pid, 0);
    if (descriptor < 0)
        return;
    parent = memory_new(sizeof *parent);
    parent->descriptor = descriptor;
    parent->session = session;
    if (uv_poll_init(session->server->loop, &parent->poll, descriptor) < 0) {
        close(descriptor);
        free(parent);
        return;
    }
    parent->poll.data = parent;
    uv_poll_start(&parent->poll, UV_READABLE, died);
    uv_unref((uv_handle_t *)&parent->poll);
    session->parent = parent;
}

void parent_forget(struct session *session)
{
    struct parent *parent = session->parent;

    if (!parent)
        return;
    session->parent = NULL;
    uv_close((uv_handle_t *)&parent->poll, closed);
}
