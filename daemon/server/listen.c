#include "daemon/server/listen.h"

#include "daemon/server/log.h"
#include "daemon/server/memory.h"
#include "protocol/endpoint.h"
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>
#include <uv.h>

#define BACKLOG 64
#define CONNECT_MS 500

struct server_listener {
    struct endpoint endpoint;
    int lock, socket;
    dev_t device; /* of the socket that we made */
    ino_t inode;
    uv_poll_t poll;
    listener_accepted *accepted;
    void *state;
    bool closing;
};

/* The lock outlives every crash of its holder only as long as the holder lives. */
static int take_lock(struct server_listener *listener)
{
    listener->lock = open(listener->endpoint.lock, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (listener->lock < 0) {
        log_line(LOG_ERROR, "%s: %s", listener->endpoint.lock, strerror(errno));
        return -errno;
    }
    if (flock(listener->lock, LOCK_EX | LOCK_NB) < 0) {
        int error = errno == EWOULDBLOCK ? EADDRINUSE : errno;

        log_line(LOG_ERROR, "a daemon is running already (%s is locked)", listener->endpoint.lock);
        return -error;
    }
    return 0;
}

/* Makes room for our socket; only a refused connection proves that one is dead. */
static int clear_place(struct server_listener *listener)
{
    const char *path = listener->endpoint.socket;
    int rc = endpoint_connect(path, CONNECT_MS);

    if (rc >= 0) {
        close(rc);
        log_line(LOG_ERROR, "a daemon is running already at %s", path);
        return -EADDRINUSE;
    }
    if (rc == -ENOENT)
        return 0;
    if (rc == -ECONNREFUSED)
        return unlink(path) < 0 && errno != ENOENT ? -errno : 0;
    log_line(LOG_ERROR, "%s: %s", path, endpoint_error_text(rc));
    return rc;
}

static int bind_socket(struct server_listener *listener)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    struct stat status;
    mode_t mask;
    int rc;

    memcpy(address.sun_path, listener->endpoint.socket, strlen(listener->endpoint.socket) + 1);
    listener->socket = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (listener->socket < 0)
        return -errno;
    /* There are no other threads yet that could make files under this mask. */
    mask = umask(0177);
    rc = bind(listener->socket, (const struct sockaddr *)&address, sizeof address) < 0 ? -errno : 0;
    umask(mask);
    if (rc == 0 &&
        (lstat(listener->endpoint.socket, &status) < 0 || listen(listener->socket, BACKLOG) < 0))
        rc = -errno;
    if (rc == 0) {
        listener->device = status.st_dev;
        listener->inode = status.st_ino;
    }
    return rc;
}

static void readable(uv_poll_t *poll, int status, int events)
{
    struct server_listener *listener = poll->data;
    int descriptor;

    (void)events;
    if (status < 0)
        return;
    descriptor = accept4(listener->socket, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (descriptor < 0)
        return;
    if (endpoint_check_peer(descriptor) < 0) {
        log_line(LOG_WARNING, "a connection of another user was refused");
        close(descriptor);
        return;
    }
    listener->accepted(listener->state, descriptor);
}

static void release(struct server_listener *listener)
{
    if (listener->socket >= 0)
        close(listener->socket);
    if (listener->lock >= 0)
        close(listener->lock);
    free(listener);
}

struct server_listener *listener_new(struct uv_loop_s *loop, const char *path,
                                     listener_accepted *accepted, void *state, int *error)
{
    struct server_listener *listener = memory_new(sizeof *listener);
    char reason[256] = "";

    listener->lock = listener->socket = -1;
    listener->accepted = accepted;
    listener->state = state;
    *error = endpoint_locate(&listener->endpoint, path);
    if (*error == 0)
        *error = endpoint_prepare(&listener->endpoint, reason, sizeof reason);
    if (*error < 0 && *reason)
        log_line(LOG_ERROR, "%s", reason);
    if (*error == 0)
        *error = take_lock(listener);
    if (*error == 0)
        *error = clear_place(listener);
    if (*error == 0) {
        *error = bind_socket(listener);
        if (*error < 0)
            log_line(LOG_ERROR, "%s: %s", listener->endpoint.socket, strerror(-*error));
    }
    if (*error == 0)
        *error = uv_poll_init(loop, &listener->poll, listener->socket);
    if (*error < 0) {
        release(listener);
        return NULL;
    }
    listener->poll.data = listener;
    uv_poll_start(&listener->poll, UV_READABLE, readable);
    log_line(LOG_INFO, "listening at %s", listener->endpoint.socket);
    return listener;
}

static void unlink_ours(struct server_listener *listener)
{
    struct stat status;

    if (lstat(listener->endpoint.socket, &status) == 0 && S_ISSOCK(status.st_mode) &&
        status.st_dev == listener->device && status.st_ino == listener->inode)
        unlink(listener->endpoint.socket);
}

static void closed(uv_handle_t *handle)
{
    release(handle->data);
}

void listener_close(struct server_listener *listener)
{
    if (listener->closing)
        return;
    listener->closing = true;
    unlink_ours(listener);
    uv_close((uv_handle_t *)&listener->poll, closed);
}
