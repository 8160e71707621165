#include "client/connection.h"
#include "protocol/methods.h"
#include "protocol/rpc.h"
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* A daemon answers hello at once; other answers may wait for a compile. */
enum { CONNECT_MS = 2000 };

static bool send_all(struct connection *c, const char *bytes, size_t length)
{
    while (length) {
        ssize_t put = write(c->descriptor, bytes, length);

        if (put < 0 && errno == EINTR)
            continue;
        if (put < 0) {
            snprintf(c->why, sizeof c->why, "writing to the daemon: %s", strerror(errno));
            return false;
        }
        bytes += put;
        length -= (size_t)put;
    }
    return true;
}

/* One more piece of what the daemon sends. */
static bool receive(struct connection *c)
{
    char bytes[1 << 14];
    ssize_t got;

    do
        got = read(c->descriptor, bytes, sizeof bytes);
    while (got < 0 && errno == EINTR);
    if (got <= 0) {
        snprintf(c->why, sizeof c->why, "%s",
                 got ? strerror(errno) : "the daemon closed the connection");
        return false;
    }
    int rc = frame_reader_feed(&c->reader, bytes, (size_t)got);
    if (rc)
        snprintf(c->why, sizeof c->why, "%s",
                 rc == -ENOMEM ? "there is no memory left" : frame_error_text(rc));
    return !rc;
}

/* The result of the request with that id, if this body is its answer. 1: *result is set (NULL: an
 * error answer, why); 0: something else; -1: the connection is of no use any more. */
static int take_answer(struct connection *c, const struct frame *frame, int64_t id,
                       struct json **result)
{
    struct rpc_message message;
    int64_t number;
    int taken = 0;

    if (rpc_message_read(&message, frame->body, frame->length)) {
        snprintf(c->why, sizeof c->why, "there is no memory left");
        return -1;
    }
    if (message.kind == RPC_RESPONSE && rpc_message_number(&message, &number) && number == id) {
        taken = 1;
        *result = message.error ? NULL : json_copy(message.result);
        if (message.error) {
            const char *text = json_string(message.error, "message");

            snprintf(c->why, sizeof c->why, "the daemon answers: %s", text ? text : "an error");
        } else if (!*result || json_failed(*result)) {
            snprintf(c->why, sizeof c->why, "the daemon's answer is empty");
            *result = NULL;
        }
    }
    rpc_message_release(&message);
    return taken;
}

struct json *connection_ask(struct connection *c, const char *method, struct json *params)
{
    struct buffer body = BUFFER_EMPTY, out = BUFFER_EMPTY;
    struct json *result = NULL;
    int64_t id = ++c->last;

    if (rpc_write_request(&body, id, method, params) || frame_write(&out, body.data, body.length)) {
        snprintf(c->why, sizeof c->why, "there is no memory left");
        goto out;
    }
    if (!send_all(c, out.data, out.length))
        goto out;
    for (;;) {
        struct frame frame;
        int rc = frame_reader_next(&c->reader, &frame);

        if (rc < 0) {
            snprintf(c->why, sizeof c->why, "%s", frame_error_text(rc));
            goto out;
        }
        if (rc > 0 && take_answer(c, &frame, id, &result))
            goto out;
        if (rc == 0 && !receive(c))
            goto out;
    }
out:
    buffer_release(&body);
    buffer_release(&out);
    return result;
}

int connection_open(struct connection *c, const char *socket)
{
    struct endpoint endpoint;
    struct json *hello = NULL;
    int rc;

    *c = (struct connection){.descriptor = -1};
    frame_reader_init(&c->reader);
    rc = endpoint_locate(&endpoint, socket);
    if (!rc) {
        c->descriptor = endpoint_connect(endpoint.socket, CONNECT_MS);
        rc = c->descriptor < 0 ? c->descriptor : 0;
    }
    if (rc) {
        snprintf(c->why, sizeof c->why, "%s: %s", endpoint.socket, endpoint_error_text(rc));
        c->descriptor = -1;
        return rc;
    }
    hello = connection_ask(c, method_name(METHOD_hello), endpoint_hello_json());
    if (!hello) {
        rc = -EPIPE;
    } else {
        rc = endpoint_hello_read(hello, &c->peer);
        if (rc == -EPROTO)
            snprintf(c->why, sizeof c->why,
                     "the daemon speaks protocol %" PRId64 ", this program %d", c->peer.protocol,
                     ENDPOINT_PROTOCOL);
        else if (rc)
            snprintf(c->why, sizeof c->why, "the daemon's greeting is of another shape");
    }
    json_free(hello);
    if (rc)
        connection_release(c);
    return rc;
}

static int64_t now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

bool connection_wait_closed(struct connection *c, int timeout_ms)
{
    int64_t deadline = now_ms() + timeout_ms;

    for (;;) {
        struct pollfd one = {.fd = c->descriptor, .events = POLLIN};
        int64_t left = deadline - now_ms();
        char bytes[4096];

        if (left < 0)
            return false;
        int ready = poll(&one, 1, (int)left);
        if (ready < 0 && errno == EINTR)
            continue;
        if (ready <= 0)
            return false;
        ssize_t got = read(c->descriptor, bytes, sizeof bytes);
        if (got == 0 || (got < 0 && errno != EINTR))
            return true;
    }
}

void connection_release(struct connection *c)
{
    if (c->descriptor >= 0)
        close(c->descriptor);
    frame_reader_release(&c->reader);
    c->descriptor = -1;
}
