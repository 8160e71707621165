#include "protocol/endpoint.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "protocol/buffer.h"

#define TEXT(x) #x
#define TEXT_OF(x) TEXT(x)
#define SOCKET_NAME "onnxgpud-" TEXT_OF(ENDPOINT_PROTOCOL) ".sock"

_Static_assert(sizeof(((struct sockaddr_un *)0)->sun_path) >= ENDPOINT_PATH_SIZE - 4,
               "a socket's path is at most four bytes shorter elsewhere");

/* Longest path that this system's sockets can have. */
#define PATH_LIMIT                                                                                 \
    (sizeof(((struct sockaddr_un *)0)->sun_path) < ENDPOINT_PATH_SIZE                              \
         ? sizeof(((struct sockaddr_un *)0)->sun_path) - 1                                         \
         : (size_t)ENDPOINT_PATH_SIZE - 1)

static const char *environment(const char *name)
{
    const char *value = getenv(name);

    /* The XDG specification: a relative path in these variables is to be ignored. */
    return value && value[0] == '/' ? value : NULL;
}

/* FNV-1a, 64 bits: only to give different long paths different short names. */
static uint64_t hash_text(const char *text)
{
    uint64_t hash = 14695981039346656037u;

    for (; *text; text++)
        hash = (hash ^ (unsigned char)*text) * 1099511628211u;
    return hash;
}

/* The three paths from that of the socket. False where it is too long. */
static bool fill(struct endpoint *endpoint, const struct buffer *path)
{
    size_t folder;

    if (path->length > PATH_LIMIT)
        return false;
    memcpy(endpoint->socket, path->data, path->length + 1);
    memcpy(endpoint->lock, path->data, path->length);
    memcpy(endpoint->lock + path->length, ".lock", sizeof(".lock"));
    folder = (size_t)(strrchr(endpoint->socket, '/') - endpoint->socket);
    if (folder == 0)
        folder = 1;
    memcpy(endpoint->folder, endpoint->socket, folder);
    endpoint->folder[folder] = '\0';
    return true;
}

int endpoint_locate(struct endpoint *endpoint, const char *path)
{
    struct buffer wanted = BUFFER_EMPTY;
    const char *runtime = environment("XDG_RUNTIME_DIR");
    char folder[PATH_MAX];
    int rc = 0;

    memset(endpoint, 0, sizeof(*endpoint));
    if (path && *path) {
        if (*path != '/') {
            if (!getcwd(folder, sizeof(folder))) {
                rc = -errno;
                goto out;
            }
            buffer_append_text(&wanted, folder);
            buffer_append_byte(&wanted, '/');
        }
        buffer_append_text(&wanted, path);
        if (wanted.failed)
            goto memory;
        endpoint->chosen = true;
        if (fill(endpoint, &wanted))
            goto out;
        endpoint->chosen = false;
    } else if (runtime) {
        size_t length = strlen(runtime);

        /* Without slashes at the end: `folder/` would follow a link. */
        while (length > 1 && runtime[length - 1] == '/')
            length--;
        buffer_append(&wanted, runtime, length);
        buffer_append_text(&wanted, "/" SOCKET_NAME);
        if (wanted.failed)
            goto memory;
        if (fill(endpoint, &wanted))
            goto out;
    }

    {
        struct buffer brief = BUFFER_EMPTY;

        buffer_printf(&brief, "/tmp/onnxgpud-%ld/", (long)geteuid());
        if (path && *path)
            buffer_printf(&brief, "%016llx.sock", (unsigned long long)hash_text(wanted.data));
        else
            buffer_append_text(&brief, SOCKET_NAME);
        if (brief.failed || !fill(endpoint, &brief))
            rc = -ENOMEM;
        buffer_release(&brief);
    }
    goto out;

memory:
    rc = -ENOMEM;
out:
    buffer_release(&wanted);
    return rc;
}

int endpoint_prepare(const struct endpoint *endpoint, char *reason, size_t size)
{
    const char *what = NULL;
    struct stat status;
    int folder = -1;
    int rc = 0;

    if (!endpoint->chosen && mkdir(endpoint->folder, 0700) < 0 && errno != EEXIST) {
        rc = -errno;
        what = "cannot be made";
        goto out;
    }
    folder = open(endpoint->folder,
                  O_RDONLY | O_DIRECTORY | O_CLOEXEC | (endpoint->chosen ? 0 : O_NOFOLLOW));
    if (folder < 0) {
        rc = -errno;
        what = "cannot be opened";
        /* Linux says ENOTDIR for a link too when both flags are given. */
        if ((rc == -ENOTDIR || rc == -ELOOP) && lstat(endpoint->folder, &status) == 0) {
            rc = S_ISLNK(status.st_mode) ? -ELOOP : -ENOTDIR;
            what = rc == -ELOOP ? "is a link" : "is no folder";
        }
        goto out;
    }
    if (endpoint->chosen)
        goto out;
    if (fstat(folder, &status) < 0) {
        rc = -errno;
        what = "cannot be read";
    } else if (status.st_uid != geteuid()) {
        rc = -EPERM;
        what = "belongs to another user";
    } else if (status.st_mode & 077) {
        rc = -EACCES;
        what = "is open to other users (its mode has to be 0700)";
    }
out:
    if (folder >= 0)
        close(folder);
    if (rc < 0 && reason && size)
        snprintf(reason, size, "the folder %s of the socket %s", endpoint->folder, what);
    return rc;
}

static int64_t now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

int endpoint_check_peer(int descriptor)
{
#ifdef SO_PEERCRED
    struct ucred peer;
    socklen_t size = sizeof(peer);

    if (getsockopt(descriptor, SOL_SOCKET, SO_PEERCRED, &peer, &size) < 0)
        return -errno;
    return peer.uid == geteuid() ? 0 : -EPERM;
#else
    uid_t uid;
    gid_t gid;

    if (getpeereid(descriptor, &uid, &gid) < 0)
        return -errno;
    return uid == geteuid() ? 0 : -EPERM;
#endif
}

static int set_blocking(int descriptor, bool blocking)
{
    int flags = fcntl(descriptor, F_GETFL);

    if (flags < 0)
        return -errno;
    flags = blocking ? flags & ~O_NONBLOCK : flags | O_NONBLOCK;
    return fcntl(descriptor, F_SETFL, flags) < 0 ? -errno : 0;
}

/* connect() on a Unix socket either succeeds at once or finds the queue of the listener full, and
 * then there is nothing to poll for: it has to be tried again. */
static int connect_until(int descriptor, const struct sockaddr_un *address, int64_t deadline)
{
    for (;;) {
        int64_t left;

        if (connect(descriptor, (const struct sockaddr *)address, sizeof(*address)) == 0 ||
            errno == EISCONN)
            return 0;
        if (errno != EAGAIN && errno != EINTR && errno != EINPROGRESS && errno != EALREADY)
            return -errno;
        left = deadline - now_ms();
        if (left <= 0)
            return -ETIMEDOUT;
        poll(NULL, 0, left < 5 ? (int)left : 5);
    }
}

int endpoint_connect(const char *path, int timeout_ms)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    struct stat status;
    int descriptor = -1;
    int rc;

    if (strlen(path) > PATH_LIMIT)
        return -ENAMETOOLONG;
    memcpy(address.sun_path, path, strlen(path) + 1);

    /* For a file that is no socket connect() says ECONNREFUSED, which would be taken for a dead
     * one. */
    if (lstat(path, &status) < 0)
        return errno == ENOTDIR ? -ENOENT : -errno;
    if (!S_ISSOCK(status.st_mode))
        return -ENOTSOCK;

#ifdef SOCK_CLOEXEC
    descriptor = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
#else
    descriptor = socket(AF_UNIX, SOCK_STREAM, 0);
    if (descriptor >= 0)
        fcntl(descriptor, F_SETFD, FD_CLOEXEC);
#endif
    if (descriptor < 0)
        return -errno;
    rc = set_blocking(descriptor, false);
    if (rc == 0)
        rc = connect_until(descriptor, &address, now_ms() + (timeout_ms > 0 ? timeout_ms : 0));
    if (rc == 0)
        rc = endpoint_check_peer(descriptor);
    if (rc == 0)
        rc = set_blocking(descriptor, true);
    if (rc < 0) {
        close(descriptor);
        return rc;
    }
    return descriptor;
}

const char *endpoint_error_text(int error)
{
    switch (error) {
    case -ENOENT:
        return "no daemon is running (there is no socket)";
    case -ENOTSOCK:
        return "the path of the socket holds something else";
    case -ECONNREFUSED:
        return "no daemon is running (its socket is dead)";
    case -ETIMEDOUT:
        return "the daemon does not answer";
    case -EPERM:
        return "the daemon belongs to another user";
    case -ENAMETOOLONG:
        return "the path of the socket is too long";
    default:
        return strerror(-error);
    }
}

int endpoint_cache_path(char **path)
{
    struct buffer out = BUFFER_EMPTY;
    const char *cache = environment("XDG_CACHE_HOME");
    const char *home = environment("HOME");
    struct passwd entry, *found = NULL;
    char strings[4096];

    *path = NULL;
    if (!cache && !home) {
        if (getpwuid_r(geteuid(), &entry, strings, sizeof(strings), &found) == 0 && found)
            home = found->pw_dir;
        if (!home || home[0] != '/')
            return -ENOENT;
    }
    buffer_append_text(&out, cache ? cache : home);
    buffer_append_text(&out, cache ? "/onnxgpu/cache.sqlite" : "/.cache/onnxgpu/cache.sqlite");
    *path = buffer_take(&out, NULL);
    return *path ? 0 : -ENOMEM;
}

/* --- the handshake ------------------------------------------------------------------------- */

struct json *endpoint_hello_json(void)
{
    struct json *hello = json_new_object();

    json_set_int(hello, "protocol", ENDPOINT_PROTOCOL);
    json_set_string(hello, "build", ENDPOINT_BUILD);
    json_set_int(hello, "pid", (int64_t)getpid());
    return hello;
}

int endpoint_hello_read(const struct json *value, struct endpoint_hello *hello)
{
    const char *build = json_string(value, "build");

    hello->protocol = json_int(value, "protocol", -1);
    hello->pid = json_int(value, "pid", -1);
    snprintf(hello->build, sizeof(hello->build), "%s", build ? build : "");
    /* The protocol first: another major version may give the rest another shape. */
    if (hello->protocol >= 0 && hello->protocol != ENDPOINT_PROTOCOL)
        return -EPROTO;
    return hello->protocol < 0 || hello->pid <= 0 || !build ? -EINVAL : 0;
}
