#ifndef DAEMON_SERVER_TEXT_H
#define DAEMON_SERVER_TEXT_H
/*
 * A text that several hold at a time: the document that an editor changes, and the worker that
 * reads it meanwhile. Whoever holds one alone may change it; while others do, it stays as it is, on
 * whatever thread.
 */
#include "protocol/lsp.h"
#include <stdatomic.h>

struct jobs;

struct text {
    struct lsp_text lsp; /* for reading */
    atomic_size_t holders;
};

/*
 * Texts up to so many bytes are made, and changes up to so many (the text's bytes for each edit)
 * are applied on the loop thread: in well under a millisecond. All else is a worker's.
 */
#define TEXT_SMALL ((size_t)256 * 1024)
#define TEXT_LITTLE_WORK ((size_t)4 * 1024 * 1024)

/* A copy of the bytes; the caller is the first holder. NULL with -ENOMEM or -EFBIG. */
struct text *text_new(const char *bytes, size_t length, int *error);
struct text *text_hold(struct text *text);
void text_drop(struct text *text); /* NULL is fine */
/* The same where others wait: giving a large one back is a worker's. */
void text_drop_later(struct text *text, struct jobs *jobs);
/* Its bytes; never NULL. */
const char *text_bytes(const struct text *text, size_t *length);

/* Applies contentChanges to what the caller holds: in place where nobody else does, else to a copy,
 * which takes its place. As lsp_text_change(); after -EINVAL the text is as it was. */
int text_change(struct text **text, const struct json *changes, enum lsp_encoding encoding);
/* Whether text_change() may be asked on the loop thread. */
bool text_is_little_work(const struct text *text, const struct json *changes);

#endif
