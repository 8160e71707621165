#ifndef DAEMON_SERVER_DOCUMENTS_H
#define DAEMON_SERVER_DOCUMENTS_H
/*
 * What editors have open. A document is known by its file: two URIs that lead to one file (escapes,
 * links in the path, hard links) are one document; answers use the URI that the editor opened it
 * with. Loop thread.
 */
#include "daemon/server/table.h"
#include "daemon/server/text.h"
#include <stdbool.h>
#include <stdint.h>

struct document {
    uint64_t session;
    char *uri;  /* as didOpen said */
    char *path; /* canonical; NULL for schemes that are accepted and ignored */
    int64_t version;
    struct text *text; /* held; never NULL */
    uint64_t change;   /* counts every change of any document; the latest is the truth */
    uint64_t opening;  /* the change that it was opened by: versions start anew with it */

    /* Of documents.c. */
    struct document *same_path, *same_file;
    char *identity; /* device and inode of the file when it was opened or saved; NULL: none */
};

struct documents {
    struct document **list;
    size_t count;
    uint64_t changes;
    struct table by_path; /* the first of those with that path */
    struct table by_file; /* by device and inode, likewise */
};

void documents_release(struct documents *documents);

/* Opens, or sets anew where that session has it open. The text is taken. */
struct document *documents_open(struct documents *documents, uint64_t session, const char *uri,
                                int64_t version, struct text *text);
/* Applies contentChanges. 0, or as lsp_text_change(). */
int document_change(struct documents *documents, struct document *document, int64_t version,
                    const struct json *changes, enum lsp_encoding encoding);
/* The same, where somebody has applied them: the text is taken; what it was until then is returned,
 * for the caller to drop. */
struct text *document_set(struct documents *documents, struct document *document, int64_t version,
                          struct text *text);
/* The file may be another one since it was saved. */
void document_saved(struct documents *documents, struct document *document);
/* Returns the text that it had, for the caller to drop. */
struct text *documents_close(struct documents *documents, struct document *document);

/* By any URI of the file. NULL: that session has it not open. */
struct document *documents_find(struct documents *documents, uint64_t session, const char *uri);
/* By canonical path; of one session, or of all (session 0: the one changed last). */
struct document *documents_find_path(struct documents *documents, uint64_t session,
                                     const char *path);
/* Any document of the session; NULL: none is open. */
struct document *documents_of(struct documents *documents, uint64_t session);

#endif
