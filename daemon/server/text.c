#include "daemon/server/text.h"

#include "daemon/server/jobs.h"
#include "daemon/server/memory.h"
#include <errno.h>
#include <stdlib.h>

struct text *text_new(const char *bytes, size_t length, int *error)
{
    struct text *text = memory_new(sizeof *text);

    text->lsp = (struct lsp_text)LSP_TEXT_EMPTY;
    atomic_init(&text->holders, 1);
    *error = lsp_text_set(&text->lsp, bytes, length);
    if (*error < 0) {
        free(text);
        return NULL;
    }
    return text;
}

struct text *text_hold(struct text *text)
{
    atomic_fetch_add_explicit(&text->holders, 1, memory_order_relaxed);
    return text;
}

void text_drop(struct text *text)
{
    /* What the other holders did with it has to be over before it is freed. */
    if (!text || atomic_fetch_sub_explicit(&text->holders, 1, memory_order_acq_rel) != 1)
        return;
    lsp_text_release(&text->lsp);
    free(text);
}

static void dispose(void *text)
{
    text_drop(text);
}

void text_drop_later(struct text *text, struct jobs *jobs)
{
    if (text && text->lsp.bytes.length > TEXT_SMALL)
        jobs_dispose(jobs, dispose, text);
    else
        text_drop(text);
}

const char *text_bytes(const struct text *text, size_t *length)
{
    *length = text->lsp.bytes.length;
    return *length ? text->lsp.bytes.data : "";
}

int text_change(struct text **text, const struct json *changes, enum lsp_encoding encoding)
{
    struct text *mine = *text;
    int rc;

    /* Others who held it have dropped it for good: nobody comes to hold it but through us. */
    if (atomic_load_explicit(&mine->holders, memory_order_acquire) > 1) {
        mine = memory_new(sizeof *mine);
        mine->lsp = (struct lsp_text)LSP_TEXT_EMPTY;
        atomic_init(&mine->holders, 1);
        rc = lsp_text_copy(&mine->lsp, &(*text)->lsp);
        if (rc < 0) {
            text_drop(mine);
            return rc;
        }
    }
    rc = lsp_text_change(&mine->lsp, changes, encoding);
    if (mine != *text) {
        struct text *other = rc == -EINVAL ? mine : *text;

        if (rc != -EINVAL)
            *text = mine;
        text_drop(other);
    }
    return rc;
}

bool text_is_little_work(const struct text *text, const struct json *changes)
{
    size_t length = text->lsp.bytes.length, work = 0;

    json_each(change, json_type(changes) == JSON_ARRAY ? changes : NULL)
    {
        size_t more;

        json_value_text(json_member(change, "text"), &more);
        if (__builtin_add_overflow(length, more, &length) || length > TEXT_SMALL ||
            __builtin_add_overflow(work, length, &work) || work > TEXT_LITTLE_WORK)
            return false;
    }
    return true;
}
