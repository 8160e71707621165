#ifndef PROTOCOL_ENDPOINT_H
#define PROTOCOL_ENDPOINT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "protocol/json.h"

/*
 * Where the daemon is met, and who is there. Daemon and clients ask the same functions, so that
 * they cannot disagree.
 */

/* The protocol's major version: in the socket's name and in `onnxgpu/hello`. Raise it when an old
 * peer could misunderstand a new one. */
#define ENDPOINT_PROTOCOL 1

/* The build: tells two versions apart that speak the same protocol. */
#ifndef ENDPOINT_BUILD
#define ENDPOINT_BUILD "0.1.0"
#endif

/* sun_path holds 108 bytes with the final zero. */
#define ENDPOINT_PATH_SIZE 108

struct endpoint {
    char folder[ENDPOINT_PATH_SIZE];   /* that the socket lies in, without a slash at its end */
    char socket[ENDPOINT_PATH_SIZE];   /* absolute, never longer than 107 bytes */
    char lock[ENDPOINT_PATH_SIZE + 8]; /* the file that is locked before the socket is touched */
    bool chosen; /* the caller named the path: its folder is the caller's business */
};

/*
 * Finds the place. `path` is what --socket or --listen said; NULL or empty:
 * $XDG_RUNTIME_DIR/onnxgpud-1.sock, and where that variable is unset, not absolute, or makes a path
 * longer than 107 bytes: /tmp/onnxgpud-UID/onnxgpud-1.sock. A named path that is too long becomes
 * /tmp/onnxgpud-UID/HASH.sock, HASH from its bytes, so that both sides still meet. A relative path
 * is taken from the working folder. Nothing is created. 0, or negative errno of the working folder.
 */
int endpoint_locate(struct endpoint *endpoint, const char *path);

/*
 * Makes the folder (mode 0700, one level) where it is missing, and checks that it is a folder, no
 * link, ours, and closed to others. A folder of a path that the caller chose only has to be one. 0;
 * -ELOOP or -ENOTDIR: a link or no folder; -EPERM: another owner; -EACCES: open to others; else
 * negative errno. On failure `reason` (may be NULL) holds a sentence.
 */
int endpoint_prepare(const struct endpoint *endpoint, char *reason, size_t size);

/*
 * Connects, blocking for at most timeout_ms (0: do not wait), and returns a blocking descriptor
 * with close-on-exec, or: -ENOENT        nothing there -ENOTSOCK      something that is no socket
 * (a link included): leave it alone -ECONNREFUSED  a dead socket: nobody listens. The only proof
 * that it may be unlinked -ETIMEDOUT     somebody listens but did not accept in time -EPERM the
 * peer is another user; nothing was sent -ENAMETOOLONG  use endpoint_locate else negative errno.
 */
int endpoint_connect(const char *path, int timeout_ms);

/* Checks that the peer of a connected Unix socket is our own user (effective uid). 0, -EPERM, or
 * negative errno. For both sides. */
int endpoint_check_peer(int descriptor);

/* What to tell users when endpoint_connect failed with `error`; never NULL. */
const char *endpoint_error_text(int error);

/* The default path of the cache in *path, a new C string: $XDG_CACHE_HOME/onnxgpu/cache.sqlite,
 * else
 * ~/.cache/onnxgpu/cache.sqlite (the home from $HOME, else from the user database). Nothing is
 * created. 0, -ENOENT where there is no home, -ENOMEM. */
int endpoint_cache_path(char **path);

/* --- the handshake ------------------------------------------------------------------------- */

struct endpoint_hello {
    int64_t protocol;
    char build[64];
    int64_t pid;
};

/* The params, and the result, of `onnxgpu/hello`: {"protocol","build","pid"} of this process. */
struct json *endpoint_hello_json(void);

/* Reads the peer's. 0; -EINVAL: another shape (filled with what was readable); -EPROTO: another
 * major version. A differing build is no error: compare hello->build with ENDPOINT_BUILD. */
int endpoint_hello_read(const struct json *value, struct endpoint_hello *hello);

#endif
