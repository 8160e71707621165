#ifndef CLIENT_CONNECTION_H
#define CLIENT_CONNECTION_H
/*
 * A blocking conversation with the daemon over its socket: a tool's session, which opens with
 * onnxgpu/hello (protocol/endpoint.h). One thread. The command line never starts a daemon.
 */
#include "protocol/endpoint.h"
#include "protocol/frame.h"

struct connection {
    int descriptor; /* -1: closed */
    int64_t last;   /* id of the last request */
    struct frame_reader reader;
    struct endpoint_hello peer;
    char why[256]; /* of the last failure: one line */
};

/* Connects and shakes hands. 0; -ENOENT or -ECONNREFUSED: no daemon runs; else negative errno (the
 * text is in why). Empty on failure. socket may be NULL: the usual place. */
int connection_open(struct connection *c, const char *socket);
/* Sends a request (params are taken, may be NULL) and waits for its answer, passing over whatever
 * else arrives. The result, to be freed; NULL: why. */
struct json *connection_ask(struct connection *c, const char *method, struct json *params);
/* Waits until the daemon closes its end. false: it did not within so many milliseconds. */
bool connection_wait_closed(struct connection *c, int timeout_ms);
/* Accepts a closed one. */
void connection_release(struct connection *c);

#endif
