#include "daemon/server/report.h"

#include "daemon/server/memory.h"
#include "daemon/server/path.h"
#include "daemon/server/server.h"
#include "protocol/uri.h"
#include <stdlib.h>
#include <string.h>

/* One diagnostic before it becomes JSON. Strings are borrowed but where owned. */
struct item {
    struct lsp_range range;
    enum diagnostic_code code;
    const char *message;
    const char *layer, *op;
    const char *model; /* argument as written; NULL: none */
    int argument;      /* -1: none */
    struct lsp_related *related;
    size_t related_count;
    size_t order;
};

struct list {
    struct item *items;
    size_t count;
    /* What many items have in common: the URI, and the place, that was asked for last. */
    const char *uri_path;
    char *uri;
    const struct script *range_script;
    struct csharp_range range_of;
    struct lsp_range range;
};

char *report_uri(const struct workspace *workspace, const char *path, uint64_t session)
{
    struct document *document =
        session ? documents_find_path(&workspace->server->documents, session, path) : NULL;
    char *uri = NULL;

    if (document)
        return memory_text(document->uri);
    return uri_from_path(path, &uri) == 0 ? uri : memory_text("");
}

static char *uri_of(struct list *list, const struct workspace *workspace, const char *path,
                    const struct report_options *options)
{
    if (!list->uri_path || strcmp(list->uri_path, path) != 0) {
        free(list->uri);
        list->uri = report_uri(workspace, path, options->session);
        list->uri_path = path;
    }
    return memory_text(list->uri);
}

static struct item *add(struct list *list)
{
    struct item *item;

    list->items = memory_grow(list->items, list->count, sizeof *list->items);
    item = &list->items[list->count];
    *item = (struct item){.argument = -1, .order = list->count};
    list->count++;
    return item;
}

static void add_related(struct item *item, char *uri, struct lsp_range range, char *message)
{
    item->related = memory_grow(item->related, item->related_count, sizeof *item->related);
    item->related[item->related_count++] = (struct lsp_related){uri, range, message};
}

/* Finding a place costs as much as its line is long. */
static struct lsp_range script_range(struct list *list, const struct script *script,
                                     struct csharp_range range, enum lsp_encoding encoding)
{
    if (list->range_script != script || list->range_of.start != range.start ||
        list->range_of.end != range.end) {
        list->range = lsp_text_range(&script->text, range.start, range.end, encoding);
        list->range_script = script;
        list->range_of = range;
    }
    return list->range;
}

/* --- what a script shows ---------------------------------------------------------------------- */

static void add_problem(struct list *list, const struct script *script,
                        const struct script_problem *problem, const struct report_options *options)
{
    struct item *item = add(list);

    item->range = script_range(list, script, problem->range, options->encoding);
    item->code = problem->code;
    item->message = problem->message;
    item->argument = problem->argument;
}

static void add_outcome(struct list *list, const struct unit *unit,
                        const struct report_options *options)
{
    const struct member *member = unit->member;
    const struct script *script = member->script;
    const struct script_unit *row = &script->units[unit->number];
    const struct outcome *outcome = unit->outcome;

    for (size_t i = 0; i < outcome->diagnostic_count; i++) {
        const struct outcome_diagnostic *from = &outcome->diagnostics[i];
        const struct script_model *model = &row->models[from->model];
        struct item *item = add(list);

        item->range = script_range(list, script, model->range, options->encoding);
        item->code = from->code;
        item->message = from->message;
        item->layer = from->layer;
        item->op = from->op;
        item->model = model->argument;
        item->argument = model->number;
        /* There is nothing to point to in a model that is not there. */
        if (from->code != TUKI0100)
            add_related(item, uri_of(list, member->workspace, model->path, options),
                        from->view[options->encoding],
                        from->layer ? memory_printf("layer %s", from->layer)
                                    : memory_text("in the model"));
    }
}

static void add_unit(struct list *list, const struct unit *unit,
                     const struct report_options *options)
{
    const struct script *script = unit->member->script;
    const struct script_unit *row = &script->units[unit->number];

    if (unit->outcome)
        add_outcome(list, unit, options);
    if (unit->outcome && unit->outcome->stale) {
        struct item *item = add(list);

        item->range = script_range(list, script, row->models[0].range, options->encoding);
        item->code = TUKI0151;
        item->message = NULL;
        item->layer = row->file; /* made into a message below */
        item->model = row->models[0].argument;
        item->argument = row->models[0].number;
    }
    if (unit->written_long) {
        struct item *item = add(list);

        item->range = script_range(list, script, row->models[0].range, options->encoding);
        item->code = TUKI0152;
        item->model = row->models[0].argument;
        item->argument = row->models[0].number;
    }
}

static void add_script(struct list *list, const struct member *member,
                       const struct report_options *options)
{
    for (int i = 0; i < member->script->problem_count; i++)
        add_problem(list, member->script, &member->script->problems[i], options);
    for (size_t u = 0; u < member->unit_count; u++)
        add_unit(list, member->units[u], options);
}

/* --- what a model shows ----------------------------------------------------------------------- */

static bool same_item(const struct item *item, const struct outcome_diagnostic *diagnostic,
                      const struct report_options *options)
{
    /* Of many, nearly all differ by where they are. */
    return memcmp(&item->range, &diagnostic->view[options->encoding], sizeof item->range) == 0 &&
           item->code == diagnostic->code && item->message &&
           strcmp(item->message, diagnostic->message) == 0;
}

/* One diagnostic for the model, however many arguments name it. */
static void add_model_diagnostic(struct list *list, const struct unit *unit,
                                 const struct outcome_diagnostic *diagnostic,
                                 const struct report_options *options)
{
    const struct member *member = unit->member;
    const struct script_model *model =
        &member->script->units[unit->number].models[diagnostic->model];
    struct item *item = NULL;

    for (size_t i = 0; i < list->count && !item; i++)
        if (same_item(&list->items[i], diagnostic, options))
            item = &list->items[i];
    if (!item) {
        item = add(list);
        item->range = diagnostic->view[options->encoding];
        item->code = diagnostic->code;
        item->message = diagnostic->message;
        item->layer = diagnostic->layer;
        item->op = diagnostic->op;
    }
    if (member->kind == MEMBER_SCRIPT)
        add_related(item, uri_of(list, member->workspace, member->path, options),
                    script_range(list, member->script, model->range, options->encoding),
                    memory_text("named here"));
}

static void add_model_of(struct list *list, const struct unit *unit, const char *path,
                         const struct report_options *options)
{
    const struct script_unit *row = &unit->member->script->units[unit->number];

    for (size_t i = 0; unit->outcome && i < unit->outcome->diagnostic_count; i++) {
        const struct outcome_diagnostic *diagnostic = &unit->outcome->diagnostics[i];

        /* A model that is not there shows its absence where it is named. */
        if ((diagnostic->code != TUKI0100 || unit->member->kind == MEMBER_MODEL) &&
            strcmp(row->models[diagnostic->model].path, path) == 0)
            add_model_diagnostic(list, unit, diagnostic, options);
    }
    if (unit->written_long && list->count == 0)
        add(list)->code = TUKI0152;
}

static int compare_members(const void *a, const void *b)
{
    return strcmp((*(const struct member *const *)a)->path,
                  (*(const struct member *const *)b)->path);
}

static void add_model(struct list *list, const struct workspace *workspace, const char *path,
                      const struct report_options *options)
{
    struct member **members = NULL;
    size_t count = 0, all;
    struct member *const *concerned = concerns_of(&workspace->concerns, path, &all);
    bool named = false;

    for (size_t i = 0; i < all; i++)
        for (size_t u = 0; u < concerned[i]->unit_count; u++)
            if (unit_uses_model(concerned[i]->units[u], path, NULL)) {
                members = memory_grow(members, count, sizeof *members);
                members[count++] = concerned[i];
                /* Until a script knows what is to be said, the model by itself says it. */
                named = named ||
                        (concerned[i]->kind == MEMBER_SCRIPT && concerned[i]->units[u]->outcome);
                break;
            }
    if (count)
        qsort(members, count, sizeof *members, compare_members);
    for (size_t s = 0; s < count; s++) {
        if (named && members[s]->kind == MEMBER_MODEL)
            continue;
        for (size_t u = 0; u < members[s]->unit_count; u++)
            if (unit_uses_model(members[s]->units[u], path, NULL))
                add_model_of(list, members[s]->units[u], path, options);
    }
    free(members);
}

/* --- as JSON -------------------------------------------------------------------------------- */

static int compare_items(const void *a, const void *b)
{
    const struct item *left = a, *right = b;
    int order = lsp_position_compare(left->range.start, right->range.start);

    return order ? order : (left->order > right->order) - (left->order < right->order);
}

static struct json *item_json(const struct item *item, const struct report_options *options)
{
    const struct diagnostic_info *info = diagnostic_info(item->code);
    const char *layer = item->code == TUKI0151 ? NULL : item->layer;
    struct lsp_diagnostic diagnostic = {
        .range = item->range,
        .severity = (enum lsp_severity)info->severity,
        .code = info->name,
        .message = item->message,
        .related = item->related,
        .related_count = item->related_count,
    };
    char *made = NULL;
    struct json *json;

    if (item->code == TUKI0151)
        made = memory_printf("file %s: it is of an earlier state of the model. %s.", item->layer,
                             info->advice);
    else if (item->code == TUKI0152)
        made = memory_text(
            "model: it is still being written; what is shown is of its last complete state.");
    if (made)
        diagnostic.message = made;
    if (item->model || layer || item->argument >= 0) {
        diagnostic.data = json_new_object();
        if (item->model)
            json_set_string(diagnostic.data, "model", item->model);
        if (layer)
            json_set_string(diagnostic.data, "layer", layer);
        if (layer && item->op)
            json_set_string(diagnostic.data, "op", item->op);
        if (item->argument >= 0)
            json_set_int(diagnostic.data, "argument", item->argument);
    }
    json = lsp_diagnostic_json(&diagnostic, options->related);
    free(made);
    return json;
}

/* As text at once, item by item: a tree of them all would take some tens of allocations each. */
static struct json *list_json(struct list *list, const struct report_options *options)
{
    struct buffer text = BUFFER_EMPTY;
    struct json *array = NULL;

    if (list->count)
        qsort(list->items, list->count, sizeof *list->items, compare_items);
    buffer_append_byte(&text, '[');
    for (size_t i = 0; i < list->count; i++) {
        struct item *item = &list->items[i];
        struct json *json = item_json(item, options);

        if (i)
            buffer_append_byte(&text, ',');
        text.failed = json_print(&text, json) < 0 || text.failed;
        json_free(json);
        for (size_t r = 0; r < item->related_count; r++) {
            free((char *)item->related[r].uri);
            free((char *)item->related[r].message);
        }
        free(item->related);
    }
    buffer_append_byte(&text, ']');
    free(list->items);
    free(list->uri);
    if (text.failed) {
        array = json_new_array();
        json_append(array, NULL); /* incomplete: it cannot be printed */
    } else {
        array = json_new_raw(text.data, text.length);
    }
    buffer_release(&text);
    return array;
}

struct json *report_file(const struct workspace *workspace, const char *path,
                         const struct report_options *options)
{
    const struct member *member = workspace_find(workspace, path);
    struct list list = {.items = NULL};

    if (member && member->kind == MEMBER_SCRIPT) {
        if (member->script)
            add_script(&list, member, options);
    } else {
        add_model(&list, workspace, path, options);
    }
    return list_json(&list, options);
}

struct json *report_unit(const struct unit *unit, const struct report_options *options)
{
    const struct script *script = unit->member->script;
    struct list list = {.items = NULL};

    for (int i = 0; i < script->problem_count; i++)
        if (script->problems[i].unit == unit->number ||
            (script->problems[i].unit < 0 &&
             strcmp(script->problems[i].name, script->units[unit->number].name) == 0))
            add_problem(&list, script, &script->problems[i], options);
    add_unit(&list, unit, options);
    return list_json(&list, options);
}
