#include "daemon/compiler/diagnostics.h"
#include "daemon/compiler/context.h"
#include "daemon/compiler/strbuf.h"
#include <stdarg.h>
#include <string.h>

static const struct diagnostic_info table[] = {
#define DIAGNOSTIC(number, severity, title, advice)                                                \
    [TUKI##number] = {"TUKI" #number, SEVERITY_##severity, title, advice},
#include "daemon/compiler/diagnostics.def"
#undef DIAGNOSTIC
};

const struct diagnostic_info *diagnostic_info(enum diagnostic_code code)
{
    return &table[code];
}

/* Of one model: each is compared with all before it, and nobody reads more. */
enum { MOST_DIAGNOSTICS = 10000 };

static void subject(struct strbuf *s, const struct place *p)
{
    const char *const none[] = {"model", "input", "layer", "output"};

    if (p->kind == PLACE_LAYER && p->layer && *p->layer)
        strbuf_printf(s, "%s %s", p->op ? p->op : "layer", p->layer);
    else if (p->kind == PLACE_LAYER)
        strbuf_printf(s, "%s #%d", p->op ? p->op : "layer", p->index);
    else if (p->kind != PLACE_MODEL && p->layer && *p->layer)
        strbuf_printf(s, "%s %s", none[p->kind], p->layer);
    else if (p->kind != PLACE_MODEL)
        strbuf_printf(s, "%s #%d", none[p->kind], p->index);
    else
        strbuf_add(s, none[p->kind]);
}

void diagnose(struct context *c, const struct place *place, enum diagnostic_code code,
              const char *advice, const char *detail, ...)
{
    const struct place model = {.kind = PLACE_MODEL};
    struct diagnostics *d = &c->diagnostics;
    struct strbuf message;
    va_list arguments;

    if (!place)
        place = &model;
    if (d->count >= MOST_DIAGNOSTICS) {
        d->errors += table[code].severity == SEVERITY_ERROR;
        return;
    }
    if (!advice)
        advice = table[code].advice;
    strbuf_init(&message, &c->arena);
    subject(&message, place);
    strbuf_add(&message, ": ");
    va_start(arguments, detail);
    strbuf_vprintf(&message, detail, arguments);
    va_end(arguments);
    if (*advice)
        strbuf_printf(&message, ". %s.", advice);
    for (int i = 0; i < d->count; i++)
        if (d->list[i].code == code && d->list[i].place.kind == place->kind &&
            d->list[i].place.index == place->index && !strcmp(d->list[i].message, message.text))
            return;
    APPEND(&c->arena, d->list, d->count, d->room) =
        (struct diagnostic){.code = code, .place = *place, .message = message.text};
    d->errors += table[code].severity == SEVERITY_ERROR;
}

static int compare(const struct diagnostic *a, const struct diagnostic *b)
{
    if (a->place.kind != b->place.kind)
        return a->place.kind < b->place.kind ? -1 : 1;
    if (a->place.index != b->place.index)
        return a->place.index < b->place.index ? -1 : 1;
    return (a->code > b->code) - (a->code < b->code);
}

void diagnostics_sort(struct diagnostics *d)
{
    /* Insertion sort: it is stable, and lists are short. */
    for (int i = 1; i < d->count; i++) {
        struct diagnostic moved = d->list[i];
        int k = i;

        for (; k && compare(&moved, &d->list[k - 1]) < 0; k--)
            d->list[k] = d->list[k - 1];
        d->list[k] = moved;
    }
}
