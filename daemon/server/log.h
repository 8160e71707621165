#ifndef DAEMON_SERVER_LOG_H
#define DAEMON_SERVER_LOG_H
/*
 * Lines for people who look for a fault: on standard error or in a file. Any thread. A reader that
 * does not read never holds the daemon up: a line that would block is dropped.
 */
enum log_level { LOG_ERROR, LOG_WARNING, LOG_INFO, LOG_DEBUG };

/* error, warning, info or debug; -1 for anything else. */
int log_level_parse(const char *name);
/* path NULL: standard error. 0 or negative errno. Before there are threads. */
int log_open(const char *path, enum log_level level);
void log_close(void);
/* The file's absolute path, borrowed until log_close(); NULL where there is none. */
const char *log_place(void);
void log_line(enum log_level level, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
