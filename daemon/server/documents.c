#include "daemon/server/documents.h"

#include "daemon/server/memory.h"
#include "daemon/server/path.h"
#include "protocol/uri.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

static void document_free(struct document *document)
{
    free(document->uri);
    free(document->path);
    lsp_text_release(&document->text);
    free(document);
}

void documents_release(struct documents *documents)
{
    for (size_t i = 0; i < documents->count; i++)
        document_free(documents->list[i]);
    free(documents->list);
    *documents = (struct documents){NULL, 0, 0};
}

void document_saved(struct document *document)
{
    struct file_identity identity;

    document->device = document->inode = 0;
    if (document->path && path_identity(document->path, &identity)) {
        document->device = identity.device;
        document->inode = identity.inode;
    }
}

/* The same file: by its path, else by what the file system says it is. */
static bool same_file(const struct document *document, const char *path, bool look)
{
    struct file_identity identity;

    if (!document->path)
        return false;
    if (strcmp(document->path, path) == 0)
        return true;
    return look && document->inode && path_identity(path, &identity) &&
           identity.device == document->device && identity.inode == document->inode;
}

struct document *documents_find_path(struct documents *documents, uint64_t session,
                                     const char *path)
{
    struct document *found = NULL;

    /* Paths first: they cost nothing, and after an atomic save they are what stays. */
    for (int look = 0; look < 2 && !found; look++)
        for (size_t i = 0; i < documents->count; i++) {
            struct document *document = documents->list[i];

            if ((session == 0 || document->session == session) && same_file(document, path, look) &&
                (!found || document->change > found->change))
                found = document;
        }
    return found;
}

struct document *documents_find(struct documents *documents, uint64_t session, const char *uri)
{
    struct document *found = NULL;
    char *path = NULL, *canonical;

    for (size_t i = 0; i < documents->count; i++)
        if (documents->list[i]->session == session && strcmp(documents->list[i]->uri, uri) == 0)
            return documents->list[i];
    if (uri_to_path(uri, &path) == 0) {
        canonical = path_canonical(path);
        found = documents_find_path(documents, session, canonical);
        free(canonical);
    }
    free(path);
    return found;
}

struct document *documents_of(struct documents *documents, uint64_t session)
{
    for (size_t i = 0; i < documents->count; i++)
        if (documents->list[i]->session == session)
            return documents->list[i];
    return NULL;
}

struct document *documents_open(struct documents *documents, uint64_t session, const char *uri,
                                int64_t version, const char *text, size_t length, int *error)
{
    struct document *document = documents_find(documents, session, uri);
    bool fresh = !document;
    char *path = NULL;

    if (fresh) {
        document = memory_new(sizeof *document);
        document->session = session;
        document->text = (struct lsp_text)LSP_TEXT_EMPTY;
        if (uri_to_path(uri, &path) == 0)
            document->path = path_canonical(path);
        free(path);
    }
    free(document->uri);
    document->uri = memory_text(uri);
    document->version = version;
    document->change = ++documents->changes;
    document_saved(document);
    *error = lsp_text_set(&document->text, text, length);
    if (*error < 0) {
        if (fresh)
            document_free(document);
        return NULL;
    }
    if (fresh) {
        documents->list = memory_grow(documents->list, documents->count, sizeof *documents->list);
        documents->list[documents->count++] = document;
    }
    return document;
}

int document_change(struct documents *documents, struct document *document, int64_t version,
                    const struct json *changes, enum lsp_encoding encoding)
{
    int rc = lsp_text_change(&document->text, changes, encoding);

    if (rc == 0) {
        document->version = version;
        document->change = ++documents->changes;
    }
    return rc;
}

void documents_close(struct documents *documents, struct document *document)
{
    for (size_t i = 0; i < documents->count; i++)
        if (documents->list[i] == document) {
            documents->list[i] = documents->list[--documents->count];
            break;
        }
    document_free(document);
}
