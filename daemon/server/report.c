#include "daemon/server/report.h"

#include "daemon/server/memory.h"
#include "daemon/server/path.h"
#include "daemon/server/server.h"
#include "daemon/server/turn.h"
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
    const struct report_options *options;
    /* The place that was asked for last: many items have it in common. */
    const struct script *range_script;
    struct csharp_range range_of;
    struct lsp_range range;
};

/* One unit. */
struct noted {
    struct script *script; /* held */
    int number;            /* in the script */
    bool model;            /* it stands for itself */
    bool written_long;
    struct outcome *outcome; /* held; NULL: none yet */
    size_t order;            /* of noting */
    /* Those that the session knows them by; made, where they are needed, of others. */
    char *script_uri;  /* only where a model is reported */
    char **model_uris; /* of each of the unit's; only where a script is reported */
};

struct report_notes {
    struct report_options options;
    char *model;           /* path of the model that is reported; NULL: it is a script */
    struct script *script; /* held: whose problems are reported; NULL: nobody's */
    int unit;              /* its only unit that is; -1: all are */
    struct noted *units;
    size_t unit_count;
    size_t count; /* of diagnostics, about */
};

/* --- taking notes ----------------------------------------------------------------------------- */

/* NULL: it is not open there. */
static char *uri_of_document(const struct workspace *workspace, const char *path, uint64_t session)
{
    struct document *document =
        session ? documents_find_path(&workspace->server->documents, session, path) : NULL;

    return document ? memory_text(document->uri) : NULL;
}

static char *uri_of_path(const char *path)
{
    char *uri = NULL;

    return uri_from_path(path, &uri) == 0 ? uri : memory_text("");
}

char *report_uri(const struct workspace *workspace, const char *path, uint64_t session)
{
    char *uri = uri_of_document(workspace, path, session);

    return uri ? uri : uri_of_path(path);
}

static struct report_notes *notes_new(const struct report_options *options)
{
    struct report_notes *notes = memory_new(sizeof *notes);

    notes->options = *options;
    notes->unit = -1;
    return notes;
}

static void notes_free(struct report_notes *notes)
{
    for (size_t i = 0; i < notes->unit_count; i++) {
        struct noted *noted = &notes->units[i];

        for (int m = 0; noted->model_uris && m < noted->script->units[noted->number].model_count;
             m++)
            free(noted->model_uris[m]);
        free(noted->model_uris);
        free(noted->script_uri);
        outcome_drop(noted->outcome);
        script_release(noted->script);
    }
    free(notes->units);
    free(notes->model);
    script_release(notes->script);
    free(notes);
}

static struct noted *note(struct report_notes *notes, const struct unit *unit)
{
    struct noted *noted;

    notes->units = memory_grow(notes->units, notes->unit_count, sizeof *notes->units);
    noted = &notes->units[notes->unit_count++];
    *noted = (struct noted){
        .script = script_hold(unit->member->script),
        .number = unit->number,
        .model = unit->member->kind == MEMBER_MODEL,
        .written_long = unit->written_long,
        .order = notes->unit_count,
        .outcome = unit->outcome ? outcome_hold(unit->outcome) : NULL,
    };
    notes->count += 1 + (unit->outcome ? unit->outcome->diagnostic_count : 0);
    return noted;
}

/* A unit of which there is something to say. */
static void note_unit(struct report_notes *notes, const struct unit *unit)
{
    const struct script_unit *row = &unit->member->script->units[unit->number];
    struct noted *noted;

    if (!unit->written_long &&
        (!unit->outcome || (!unit->outcome->diagnostic_count && !unit->outcome->stale)))
        return;
    noted = note(notes, unit);
    noted->model_uris = memory_new((size_t)row->model_count * sizeof *noted->model_uris);
    for (int m = 0; m < row->model_count; m++)
        noted->model_uris[m] =
            uri_of_document(unit->member->workspace, row->models[m].path, notes->options.session);
}

struct report_notes *report_note_unit(const struct unit *unit, const struct report_options *options)
{
    struct report_notes *notes = notes_new(options);

    notes->script = script_hold(unit->member->script);
    notes->unit = unit->number;
    notes->count = (size_t)notes->script->problem_count;
    note_unit(notes, unit);
    return notes;
}

static void note_script(struct report_notes *notes, const struct member *member)
{
    notes->script = script_hold(member->script);
    notes->count = (size_t)member->script->problem_count;
    for (size_t u = 0; u < member->unit_count; u++)
        note_unit(notes, member->units[u]);
}

/* Whether a model says something of it. */
static bool is_news(const struct unit *unit)
{
    const struct outcome *outcome = unit->outcome;

    /* Of one that is not there a script alone does. */
    return unit->written_long ||
           (outcome && outcome->diagnostic_count &&
            (outcome->diagnostic_count > 1 || outcome->diagnostics[0].code != TUKI0100 ||
             unit->member->kind == MEMBER_MODEL));
}

static void note_model(struct report_notes *notes, const struct workspace *workspace,
                       const char *path)
{
    size_t count;
    struct member *const *members = concerns_of(&workspace->concerns, path, &count);
    bool named = false;

    notes->model = memory_text(path);
    /* Until a script knows what is to be said, the model by itself says it. */
    for (size_t i = 0; i < count && !named; i++)
        for (size_t u = 0; members[i]->kind == MEMBER_SCRIPT && u < members[i]->unit_count; u++)
            named = named || (members[i]->units[u]->outcome &&
                              unit_uses_model(members[i]->units[u], path, NULL));
    for (size_t i = 0; i < count; i++)
        for (size_t u = 0; u < members[i]->unit_count; u++) {
            const struct unit *unit = members[i]->units[u];

            if ((members[i]->kind == MEMBER_SCRIPT || !named) && is_news(unit) &&
                unit_uses_model(unit, path, NULL))
                note(notes, unit)->script_uri =
                    uri_of_document(workspace, members[i]->path, notes->options.session);
        }
}

struct report_notes *report_note_file(const struct workspace *workspace, const char *path,
                                      const struct report_options *options)
{
    const struct member *member = workspace_find(workspace, path);
    struct report_notes *notes = notes_new(options);

    if (!member || member->kind == MEMBER_MODEL)
        note_model(notes, workspace, path);
    else if (member->script)
        note_script(notes, member);
    return notes;
}

/* --- items ------------------------------------------------------------------------------------ */

static struct item *add(struct list *list)
{
    struct item *item;

    list->items = memory_grow(list->items, list->count, sizeof *list->items);
    item = &list->items[list->count];
    *item = (struct item){.argument = -1, .order = list->count};
    list->count++;
    return item;
}

/* Of a file that the session has not open, it is made. */
static const char *uri_of(char **uri, const char *path)
{
    if (!*uri)
        *uri = uri_of_path(path);
    return *uri;
}

/* The message is taken. */
static void add_related(struct item *item, const char *uri, struct lsp_range range, char *message)
{
    item->related = memory_grow(item->related, item->related_count, sizeof *item->related);
    item->related[item->related_count++] = (struct lsp_related){uri, range, message};
}

/* Finding a place costs as much as its line is long. */
static struct lsp_range script_range(struct list *list, const struct script *script,
                                     struct csharp_range range)
{
    if (list->range_script != script || list->range_of.start != range.start ||
        list->range_of.end != range.end) {
        list->range =
            lsp_text_range(&script->text, range.start, range.end, list->options->encoding);
        list->range_script = script;
        list->range_of = range;
    }
    return list->range;
}

/* --- what a script shows ---------------------------------------------------------------------- */

static void add_problems(struct list *list, const struct script *script, int unit)
{
    for (int i = 0; i < script->problem_count; i++) {
        const struct script_problem *problem = &script->problems[i];
        struct item *item;

        if (unit >= 0 && problem->unit != unit &&
            (problem->unit >= 0 || strcmp(problem->name, script->units[unit].name) != 0))
            continue;
        item = add(list);
        item->range = script_range(list, script, problem->range);
        item->code = problem->code;
        item->message = problem->message;
        item->argument = problem->argument;
    }
}

static void add_outcome(struct list *list, const struct noted *noted)
{
    const struct script_unit *row = &noted->script->units[noted->number];
    const struct outcome *outcome = noted->outcome;

    for (size_t i = 0; i < outcome->diagnostic_count; i++) {
        const struct outcome_diagnostic *from = &outcome->diagnostics[i];
        const struct script_model *model = &row->models[from->model];
        struct item *item = add(list);

        item->range = script_range(list, noted->script, model->range);
        item->code = from->code;
        item->message = from->message;
        item->layer = from->layer;
        item->op = from->op;
        item->model = model->argument;
        item->argument = model->number;
        /* There is nothing to point to in a model that is not there. */
        if (from->code != TUKI0100)
            add_related(item, uri_of(&noted->model_uris[from->model], model->path),
                        from->view[list->options->encoding],
                        from->layer ? memory_printf("layer %s", from->layer)
                                    : memory_text("in the model"));
    }
}

/* At the first argument. */
static struct item *add_of_unit(struct list *list, const struct noted *noted,
                                enum diagnostic_code code)
{
    const struct script_model *model = &noted->script->units[noted->number].models[0];
    struct item *item = add(list);

    item->range = script_range(list, noted->script, model->range);
    item->code = code;
    item->model = model->argument;
    item->argument = model->number;
    return item;
}

static void add_unit(struct list *list, const struct noted *noted)
{
    if (noted->outcome)
        add_outcome(list, noted);
    /* The file's name is made into a message below. */
    if (noted->outcome && noted->outcome->stale)
        add_of_unit(list, noted, TUKI0151)->layer = noted->script->units[noted->number].file;
    if (noted->written_long)
        add_of_unit(list, noted, TUKI0152);
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
static void add_model_diagnostic(struct list *list, struct noted *noted,
                                 const struct outcome_diagnostic *diagnostic)
{
    const struct script_model *model =
        &noted->script->units[noted->number].models[diagnostic->model];
    struct item *item = NULL;

    for (size_t i = 0; i < list->count && !item; i++)
        if (same_item(&list->items[i], diagnostic, list->options))
            item = &list->items[i];
    if (!item) {
        item = add(list);
        item->range = diagnostic->view[list->options->encoding];
        item->code = diagnostic->code;
        item->message = diagnostic->message;
        item->layer = diagnostic->layer;
        item->op = diagnostic->op;
    }
    if (!noted->model)
        add_related(item, uri_of(&noted->script_uri, noted->script->path),
                    script_range(list, noted->script, model->range), memory_text("named here"));
}

static void add_model(struct list *list, struct noted *noted, const char *path)
{
    const struct script_unit *row = &noted->script->units[noted->number];

    for (size_t i = 0; noted->outcome && i < noted->outcome->diagnostic_count; i++) {
        const struct outcome_diagnostic *diagnostic = &noted->outcome->diagnostics[i];

        /* A model that is not there shows its absence where it is named. */
        if ((diagnostic->code != TUKI0100 || noted->model) &&
            strcmp(row->models[diagnostic->model].path, path) == 0)
            add_model_diagnostic(list, noted, diagnostic);
    }
    if (noted->written_long && list->count == 0)
        add(list)->code = TUKI0152;
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
static void print_list(struct list *list, struct buffer *text)
{
    if (list->count)
        qsort(list->items, list->count, sizeof *list->items, compare_items);
    buffer_append_byte(text, '[');
    for (size_t i = 0; i < list->count; i++) {
        struct item *item = &list->items[i];
        struct json *json = item_json(item, list->options);

        if (i)
            buffer_append_byte(text, ',');
        text->failed = json_print(text, json) < 0 || text->failed;
        json_free(json);
        for (size_t r = 0; r < item->related_count; r++)
            free((char *)item->related[r].message);
        free(item->related);
    }
    buffer_append_byte(text, ']');
    free(list->items);
}

static int compare_units(const void *a, const void *b)
{
    const struct noted *left = a, *right = b;
    int order = strcmp(left->script->path, right->script->path);

    return order ? order : (left->order > right->order) - (left->order < right->order);
}

/* Any thread. */
static void make(struct report_notes *notes, struct report *report)
{
    struct list list = {.options = &notes->options};
    struct buffer text = BUFFER_EMPTY;
    struct hasher hasher;

    if (notes->script)
        add_problems(&list, notes->script, notes->unit);
    if (notes->model && notes->unit_count)
        qsort(notes->units, notes->unit_count, sizeof *notes->units, compare_units);
    for (size_t i = 0; i < notes->unit_count; i++)
        if (notes->model)
            add_model(&list, &notes->units[i], notes->model);
        else
            add_unit(&list, &notes->units[i]);
    report->empty = list.count == 0;
    print_list(&list, &text);
    if (!text.failed) {
        hasher_init(&hasher);
        hasher_add(&hasher, text.data, text.length);
        report->hash = hasher_finish(&hasher);
        report->text = shared_new(&text);
    }
    buffer_release(&text);
}

/* --- here or elsewhere ------------------------------------------------------------------------ */

/* So many diagnostics are made into text on the loop thread. */
#define FEW 16

struct report_work {
    struct job job;
    struct report_notes *notes; /* NULL: given back */
    struct report report;
    report_taker *taker;
    void *state;
};

static void report_run(struct job *job)
{
    struct report_work *work = (struct report_work *)job;

    make(work->notes, &work->report);
    notes_free(work->notes);
    work->notes = NULL;
}

static void report_done(struct job *job)
{
    struct report_work *work = (struct report_work *)job;

    work->taker(work->state, &work->report);
    jobs_drop(job->jobs, work->report.text);
    if (work->notes)
        notes_free(work->notes);
    free(work);
}

void report_make(struct server *server, struct report_notes *notes, report_taker *taker,
                 void *state)
{
    struct report report = {.text = NULL};
    struct report_work *work;

    if (notes->count <= FEW) {
        turn_did(server->loop, notes->count);
        make(notes, &report);
        notes_free(notes);
        taker(state, &report);
        shared_drop(report.text);
        return;
    }
    work = memory_new(sizeof *work);
    work->job.run = report_run;
    work->job.done = report_done;
    work->job.priority = JOB_INTERACTIVE;
    work->notes = notes;
    work->report.later = true;
    work->taker = taker;
    work->state = state;
    jobs_submit(server->jobs, &work->job);
}

struct json *report_json(const struct report *report)
{
    return json_new_shared(report->text);
}
