#include "daemon/server/documents.h"

#include "daemon/compiler/model/load.h"
#include "daemon/server/memory.h"
#include "daemon/server/path.h"
#include "protocol/uri.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void document_free(struct document *document)
{
    free(document->uri);
    free(document->path);
    free(document->identity);
    text_drop(document->text);
    free(document);
}

void documents_release(struct documents *documents)
{
    for (size_t i = 0; i < documents->count; i++)
        document_free(documents->list[i]);
    free(documents->list);
    table_release(&documents->by_path);
    table_release(&documents->by_file);
    *documents = (struct documents){.list = NULL};
}

/* --- by path and by file -------------------------------------------------------------------- */

static void add_by_path(struct documents *documents, struct document *document)
{
    if (document->path)
        document->same_path = table_put(&documents->by_path, document->path, document);
}

static void drop_by_path(struct documents *documents, struct document *document)
{
    struct document *first = document->path ? table_get(&documents->by_path, document->path) : NULL;
    struct document **at = &first;

    if (!first)
        return;
    while (*at != document)
        at = &(*at)->same_path;
    *at = document->same_path;
    if (first)
        table_put(&documents->by_path, document->path, first);
    else
        table_take(&documents->by_path, document->path);
}

static void drop_by_file(struct documents *documents, struct document *document)
{
    struct document *first =
        document->identity ? table_get(&documents->by_file, document->identity) : NULL;
    struct document **at = &first;

    if (!first)
        return;
    while (*at != document)
        at = &(*at)->same_file;
    *at = document->same_file;
    if (first)
        table_put(&documents->by_file, document->identity, first);
    else
        table_take(&documents->by_file, document->identity);
    free(document->identity);
    document->identity = NULL;
}

static bool file_name_of(const char *path, char name[48])
{
    struct file_identity identity;

    if (!path_identity(path, &identity) || !identity.inode)
        return false;
    snprintf(name, 48, "%llx:%llx", (unsigned long long)identity.device,
             (unsigned long long)identity.inode);
    return true;
}

void document_saved(struct documents *documents, struct document *document)
{
    char name[48];

    drop_by_file(documents, document);
    if (!document->path || !file_name_of(document->path, name))
        return;
    document->identity = memory_text(name);
    document->same_file = table_put(&documents->by_file, name, document);
}

struct document *documents_find_path(struct documents *documents, uint64_t session,
                                     const char *path)
{
    struct document *found = NULL;
    char name[48];

    /* Paths first: they cost nothing, and after an atomic save they are what stays. */
    for (struct document *document = table_get(&documents->by_path, path); document;
         document = document->same_path)
        if ((session == 0 || document->session == session) &&
            (!found || document->change > found->change))
            found = document;
    if (found || !documents->by_file.count || !file_name_of(path, name))
        return found;
    for (struct document *document = table_get(&documents->by_file, name); document;
         document = document->same_file)
        if ((session == 0 || document->session == session) &&
            (!found || document->change > found->change))
            found = document;
    return found;
}

/* --- the rest ------------------------------------------------------------------------------- */

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
                                int64_t version, struct text *text)
{
    struct document *document = documents_find(documents, session, uri);
    char *path = NULL;

    if (!document) {
        document = memory_new(sizeof *document);
        document->session = session;
        if (uri_to_path(uri, &path) == 0)
            document->path = path_canonical(path);
        free(path);
        documents->list = memory_grow(documents->list, documents->count, sizeof *documents->list);
        documents->list[documents->count++] = document;
        add_by_path(documents, document);
    }
    free(document->uri);
    document->uri = memory_text(uri);
    text_drop(document_set(documents, document, version, text));
    document->opening = document->change;
    document_saved(documents, document);
    return document;
}

struct text *document_set(struct documents *documents, struct document *document, int64_t version,
                          struct text *text)
{
    struct text *before = document->text;

    document->text = text;
    document->version = version;
    document->change = ++documents->changes;
    return before;
}

int document_change(struct documents *documents, struct document *document, int64_t version,
                    const struct json *changes, enum lsp_encoding encoding)
{
    int rc = text_change(&document->text, changes, encoding);

    if (rc == 0) {
        document->version = version;
        document->change = ++documents->changes;
    }
    return rc;
}

struct text *documents_close(struct documents *documents, struct document *document)
{
    struct text *text = document->text;

    for (size_t i = 0; i < documents->count; i++)
        if (documents->list[i] == document) {
            documents->list[i] = documents->list[--documents->count];
            break;
        }
    drop_by_path(documents, document);
    drop_by_file(documents, document);
    document->text = NULL;
    document_free(document);
    return text;
}
