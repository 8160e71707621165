#include "daemon/server/log.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define LINE_SIZE 2048 /* below PIPE_BUF: written in one piece or not at all */

static const char *const names[] = {"error", "warning", "info", "debug"};

/* The one process-wide state of the daemon: where its lines go is not a matter of any object's. */
static int descriptor = STDERR_FILENO;
static enum log_level limit = LOG_WARNING;
static char *place; /* of the file, absolute; NULL: standard error */

int log_level_parse(const char *name)
{
    for (int i = 0; i < (int)(sizeof names / sizeof *names); i++)
        if (strcmp(names[i], name) == 0)
            return i;
    return -1;
}

int log_open(const char *path, enum log_level level)
{
    int opened = STDERR_FILENO;

    if (path) {
        opened = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOCTTY, 0600);
        if (opened < 0)
            return -errno;
    }
    descriptor = opened;
    limit = level;
    free(place);
    place = path ? realpath(path, NULL) : NULL;
    return 0;
}

void log_close(void)
{
    if (descriptor != STDERR_FILENO)
        close(descriptor);
    descriptor = STDERR_FILENO;
    free(place);
    place = NULL;
}

const char *log_place(void)
{
    return place;
}

void log_line(enum log_level level, const char *format, ...)
{
    struct pollfd ready = {.fd = descriptor, .events = POLLOUT};
    char line[LINE_SIZE];
    struct timespec now;
    struct tm parts;
    size_t length;
    va_list arguments;
    int count;

    if (level > limit)
        return;
    clock_gettime(CLOCK_REALTIME, &now);
    gmtime_r(&now.tv_sec, &parts);
    length = strftime(line, sizeof line, "%Y-%m-%dT%H:%M:%S", &parts);
    length += (size_t)snprintf(line + length, sizeof line - length,
                               ".%03ldZ onnxgpud[%ld] %s: ", now.tv_nsec / 1000000, (long)getpid(),
                               names[level]);
    va_start(arguments, format);
    count = vsnprintf(line + length, sizeof line - length - 1, format, arguments);
    va_end(arguments);
    if (count > 0)
        length +=
            (size_t)count < sizeof line - length - 1 ? (size_t)count : sizeof line - length - 2;
    /* What is logged may hold a name out of a user's file. */
    for (size_t i = 0; i < length; i++)
        if ((unsigned char)line[i] < ' ')
            line[i] = ' ';
    line[length++] = '\n';
    if (poll(&ready, 1, 0) == 1 && (ready.revents & POLLOUT)) {
        ssize_t written = write(descriptor, line, length);

        (void)written;
    }
}
