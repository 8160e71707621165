#include "daemon/language/script_inside.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PREFIX_SIZE 256
#define NAME_SIZE 512

/* Everything that a script's pointers lead to, freed at once. */
struct script_memory {
    struct script_memory *next;
    max_align_t bytes[];
};

void *script_allocate(struct script *script, size_t size)
{
    struct script_memory *block = calloc(1, sizeof *block + (size ? size : 1));

    if (!block)
        return NULL;
    block->next = script->memory;
    script->memory = block;
    return block->bytes;
}

char *script_copy(struct script *script, const char *bytes, size_t length)
{
    char *text = script_allocate(script, length + 1);

    if (text && length)
        memcpy(text, bytes, length);
    return text;
}

char *script_print(struct script *script, const char *format, ...)
{
    va_list arguments, again;
    char *text = NULL;
    int length;

    va_start(arguments, format);
    va_copy(again, arguments);
    length = vsnprintf(NULL, 0, format, arguments);
    if (length >= 0)
        text = script_allocate(script, (size_t)length + 1);
    if (text)
        vsnprintf(text, (size_t)length + 1, format, again);
    va_end(again);
    va_end(arguments);
    return text;
}

void script_base(const char *path, char *base, size_t size)
{
    const char *slash = strrchr(path, '/');
    const char *name = slash ? slash + 1 : path;
    size_t length = strlen(name);

    if (length > 3 && strcmp(name + length - 3, ".cs") == 0)
        length -= 3;
    snprintf(base, size, "%.*s", (int)length, name);
}

const char *script_asset_folder(const char *folder)
{
    for (const char *at = folder; *at;) {
        const char *end = strchr(at, '/');
        size_t length = end ? (size_t)(end - at) : strlen(at);

        if (length == 6 && memcmp(at, "Assets", 6) == 0)
            return at;
        at = end ? end + 1 : at + length;
    }
    return folder + strlen(folder);
}

bool script_possible(const char *text, size_t size)
{
    /* The name may be written with escapes, too. */
    return memmem(text, size, "OnnxGpu", 7) || memmem(text, size, "\\u", 2) ||
           memmem(text, size, "\\U", 2);
}

struct script *script_hold(struct script *script)
{
    if (script)
        atomic_fetch_add(&script->references, 1);
    return script;
}

void script_release(struct script *script)
{
    if (!script || atomic_fetch_sub(&script->references, 1) > 1)
        return;
    lsp_text_release(&script->text);
    while (script->memory) {
        struct script_memory *next = script->memory->next;

        free(script->memory);
        script->memory = next;
    }
    free(script);
}

/* --- names ---------------------------------------------------------------------------------- */

/* "public static": the modifiers that another declaration repeats, without partial. */
static char *modifiers(struct script *script, const struct csharp_type *type)
{
    char *text = script_copy(script, "", 0), *at;

    if (!text || !(text = script_copy(script, type->modifiers.bytes, type->modifiers.length)))
        return NULL;
    at = strstr(text, "partial");
    if (at) {
        char *rest = at + strlen("partial");

        if (*rest == ' ')
            rest++;
        else if (at > text)
            at--;
        memmove(at, rest, strlen(rest) + 1);
    }
    return text;
}

static char *outer_header(struct script *script, const struct csharp_type *type)
{
    const char *before = modifiers(script, type);

    return before ? script_print(script, "%s%spartial %s %s%s", before, *before ? " " : "",
                                 type->keyword, type->spelling.bytes, type->type_parameters.bytes)
                  : NULL;
}

/* "A.B.Outer.Name" without @. */
static char *full_name(struct script *script, const struct csharp_class *class)
{
    struct buffer name = BUFFER_EMPTY;
    char *text = NULL;

    for (size_t i = 0; i < class->namespace_name.length; i++)
        if (class->namespace_name.bytes[i] != '@')
            buffer_append_byte(&name, class->namespace_name.bytes[i]);
    for (size_t i = 0; i <= class->enclosing_count; i++) {
        const struct csharp_text *part =
            i < class->enclosing_count ? &class->enclosing[i]->name : &class->type.name;

        if (name.length)
            buffer_append_byte(&name, '.');
        buffer_append(&name, part->bytes, part->length);
    }
    if (!name.failed)
        text = script_copy(script, name.data, name.length);
    buffer_release(&name);
    return text;
}

/* --- units ---------------------------------------------------------------------------------- */

static struct script_unit *add_unit(struct script *script)
{
    struct script_unit *grown =
        realloc(script->units, ((size_t)script->unit_count + 1) * sizeof *grown);

    if (!grown)
        return NULL;
    script->units = grown;
    grown[script->unit_count] = (struct script_unit){.blocked = false};
    return &grown[script->unit_count++];
}

/* Takes `name/..`, `.` and doubled slashes out of a path, in place, as C# does with paths: whether
 * name is there, or a link, does not matter. What it begins with stays. */
static void collapse(char *path)
{
    char *root = path + (*path == '/'), *out = root;

    for (char *at = root; *at;) {
        size_t length = strcspn(at, "/");
        char *last = out; /* the segment before */

        while (last > root && last[-1] != '/')
            last--;
        bool parent = length == 2 && memcmp(at, "..", 2) == 0;
        bool here = length == 0 || (length == 1 && *at == '.' && at > path);
        bool named = out > last && !(out - last == 1 && *last == '.') &&
                     !(out - last == 2 && memcmp(last, "..", 2) == 0);
        char *next = at + length + (at[length] == '/');

        if (parent && named) {
            out = last > root ? last - 1 : root;
        } else if (!here && !(parent && *path == '/' && out == root)) {
            if (out > root)
                *out++ = '/';
            memmove(out, at, length);
            out += length;
        }
        at = next;
    }
    *out = '\0';
}

/* The path of an argument, from the script's folder. */
static const char *model_path(struct script *script, const char *folder, const char *argument,
                              char *(*resolve)(const char *path))
{
    char *joined = *argument == '/' || !*folder ? script_print(script, "%s", argument)
                                                : script_print(script, "%s/%s", folder, argument);
    char *resolved;

    if (joined)
        collapse(joined);
    resolved = joined && resolve ? resolve(joined) : NULL;

    if (resolved) {
        joined = script_copy(script, resolved, strlen(resolved));
        free(resolved);
    }
    return joined;
}

static bool read_arguments(struct script *script, const struct csharp_attribute *attribute,
                           const char *folder, struct script_model *models, int *count, bool *bad,
                           char *(*resolve)(const char *path))
{
    int unit = script->unit_count, number = 0;

    for (size_t i = 0; i < attribute->argument_count; i++) {
        const struct csharp_argument *argument = &attribute->arguments[i];
        const char *fault = NULL;

        if (argument->named)
            continue;
        if (argument->kind == CSHARP_ARGUMENT_NOT_CONSTANT)
            fault = "it is not a constant string";
        else if (argument->kind == CSHARP_ARGUMENT_EMPTY)
            fault = "it is empty";
        else if (memchr(argument->value.bytes, 0, argument->value.length))
            fault = "it holds a zero character";
        if (fault) {
            *bad = true;
            if (!script_add_problem(
                    script, TUKI0141, argument->range, unit, number,
                    script_print(script, "argument %d of OnnxGpu: %s", number + 1, fault), NULL))
                return false;
        } else {
            struct script_model *model = &models[(*count)++];

            model->range = argument->range;
            model->number = number;
            model->argument = script_copy(script, argument->value.bytes, argument->value.length);
            if (!model->argument)
                return false;
            model->path = model_path(script, folder, model->argument, resolve);
            if (!model->path)
                return false;
        }
        number++;
    }
    if (number == 0) {
        *bad = true;
        return script_add_problem(script, TUKI0141, attribute->range, unit, -1,
                                  script_print(script, "attribute OnnxGpu: it names no model"),
                                  NULL);
    }
    return true;
}

static bool read_attribute(struct script *script, const struct csharp_class *class,
                           const struct csharp_attribute *attribute, bool fit, const char *folder,
                           const char *base, const char *name, char *(*resolve)(const char *path))
{
    struct script_model *models =
        script_allocate(script, (attribute->argument_count + 1) * sizeof *models);
    const char **paths = script_allocate(script, (attribute->argument_count + 1) * sizeof *paths);
    const char **names = script_allocate(script, (attribute->argument_count + 1) * sizeof *names);
    const char **outer = script_allocate(script, (class->enclosing_count + 1) * sizeof *outer);
    struct script_unit *unit;
    char prefix[PREFIX_SIZE];
    int count = 0;
    bool bad = false;

    if (!models || !paths || !names || !outer ||
        !read_arguments(script, attribute, folder, models, &count, &bad, resolve))
        return false;
    if (count == 0) {
        for (int i = 0; i < script->problem_count; i++)
            if (script->problems[i].unit == script->unit_count)
                script->problems[i].unit = -1;
        return true;
    }
    for (int i = 0; i < count; i++) {
        paths[i] = models[i].path;
        names[i] = models[i].argument;
    }
    for (size_t i = 0; i < class->enclosing_count; i++)
        if (!(outer[i] = outer_header(script, class->enclosing[i])))
            return false;
    compile_prefix(models[0].argument, prefix, sizeof prefix);

    unit = add_unit(script);
    if (!unit)
        return false;
    unit->name = name;
    unit->range = attribute->range;
    unit->models = models;
    unit->model_count = count;
    unit->blocked = bad || !class->partial || !fit;
    unit->options = (struct compile_options){
        .script = base,
        .class_name = script_copy(script, class->type.spelling.bytes, class->type.spelling.length),
        .modifiers = modifiers(script, &class->type),
        .keyword = class->type.kind == CSHARP_RECORD ? "record" : "class",
        .type_parameters = script_copy(script, class->type.type_parameters.bytes,
                                       class->type.type_parameters.length),
        .space = script_copy(script, class->namespace_name.bytes, class->namespace_name.length),
        .outer = outer,
        .outer_count = (int)class->enclosing_count,
        .prefix = script_copy(script, prefix, strlen(prefix)),
        .asset_folder = script_asset_folder(folder),
        .models = paths,
        .names = names,
        .model_count = count,
    };
    return unit->options.class_name && unit->options.modifiers && unit->options.type_parameters &&
           unit->options.space && unit->options.prefix;
}

static int compare_problems(const void *a, const void *b)
{
    const struct script_problem *left = a, *right = b;

    if (left->range.start != right->range.start)
        return left->range.start < right->range.start ? -1 : 1;
    if (left->code != right->code)
        return left->code < right->code ? -1 : 1;
    return strcmp(left->message, right->message);
}

static bool read_classes(struct script *script, const struct csharp *csharp,
                         char *(*resolve)(const char *path))
{
    const char *slash = strrchr(script->path, '/');
    const char *folder, *base;
    char stem[NAME_SIZE];

    script_base(script->path, stem, sizeof stem);
    base = script_copy(script, stem, strlen(stem));
    folder = script_copy(script, script->path,
                         slash ? (size_t)(slash - script->path) + (slash == script->path) : 0);
    if (!base || !folder)
        return false;
    for (size_t c = 0; c < csharp->class_count; c++) {
        const struct csharp_class *class = &csharp->classes[c];
        const char *name = full_name(script, class);
        int first = script->unit_count, problem = script->problem_count;

        bool fit;

        if (!name || !script_check_partial(script, class) ||
            !script_check_form(script, class, &fit))
            return false;
        for (size_t i = 0; i < class->attribute_count; i++)
            if (!read_attribute(script, class, &class->attributes[i], fit, folder, base, name,
                                resolve))
                return false;
        if (!script_check_members(script, class, first))
            return false;
        for (; problem < script->problem_count; problem++)
            script->problems[problem].name = name;
    }
    return script_name_files(script);
}

/* Lists grow by realloc; what they lead to lives with the rest. */
static bool keep_lists(struct script *script, bool good)
{
    struct script_unit *units = script->units;
    struct script_problem *problems = script->problems;

    script->units =
        good ? script_allocate(script, ((size_t)script->unit_count + 1) * sizeof *units) : NULL;
    script->problems =
        good ? script_allocate(script, ((size_t)script->problem_count + 1) * sizeof *problems)
             : NULL;
    good = script->units && script->problems;
    if (good && units)
        memcpy(script->units, units, (size_t)script->unit_count * sizeof *units);
    if (good && problems) {
        memcpy(script->problems, problems, (size_t)script->problem_count * sizeof *problems);
        qsort(script->problems, (size_t)script->problem_count, sizeof *problems, compare_problems);
    }
    free(units);
    free(problems);
    return good;
}

struct script *script_read(const char *path, const char *text, size_t size,
                           char *(*resolve)(const char *path))
{
    struct script *script = calloc(1, sizeof *script);
    struct csharp *csharp = NULL;
    struct hasher hasher;
    bool good = false;

    if (!script)
        return NULL;
    atomic_init(&script->references, 1);
    hasher_init(&hasher);
    hasher_add(&hasher, text, size);
    script->content = hasher_finish(&hasher);
    script->path = script_copy(script, path, strlen(path));
    if (!script->path || lsp_text_set(&script->text, text, size) < 0)
        goto out;
    csharp = csharp_scan(text, size, NULL);
    good = csharp && read_classes(script, csharp, resolve);
out:
    csharp_free(csharp);
    good = keep_lists(script, good);
    if (!good) {
        script_release(script);
        return NULL;
    }
    return script;
}

struct script *script_of_model(const char *path)
{
    struct script *script = calloc(1, sizeof *script);
    struct script_model *model;
    struct script_unit *unit;
    const char **paths;
    char prefix[PREFIX_SIZE];

    if (!script)
        return NULL;
    atomic_init(&script->references, 1);
    compile_prefix(path, prefix, sizeof prefix);
    script->path = script_copy(script, path, strlen(path));
    script->units = unit = script_allocate(script, sizeof *unit);
    script->problems = script_allocate(script, sizeof *script->problems);
    model = script_allocate(script, sizeof *model);
    paths = script_allocate(script, sizeof *paths);
    if (!script->path || !unit || !script->problems || !model || !paths ||
        lsp_text_set(&script->text, "", 0) < 0)
        goto memory;
    script->unit_count = 1;
    paths[0] = model->path = model->argument = script->path;
    unit->models = model;
    unit->model_count = 1;
    unit->name = unit->options.prefix = script_copy(script, prefix, strlen(prefix));
    unit->options.script = unit->options.prefix;
    unit->options.modifiers = "public";
    unit->options.type_parameters = unit->options.space = unit->options.asset_folder = "";
    unit->options.models = unit->options.names = paths;
    unit->options.model_count = 1;
    unit->file = script_print(script, "%s.%s.Model.cs", prefix, prefix);
    if (!unit->name || !unit->file)
        goto memory;
    return script;
memory:
    script_release(script);
    return NULL;
}

/* --- asking --------------------------------------------------------------------------------- */

static bool same(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

bool script_unit_equal(const struct script_unit *a, const struct script_unit *b)
{
    const struct compile_options *left = &a->options, *right = &b->options;

    if (!same(a->name, b->name) || !same(a->file, b->file) || a->blocked != b->blocked ||
        !same(left->script, right->script) || !same(left->class_name, right->class_name) ||
        !same(left->modifiers, right->modifiers) || !same(left->keyword, right->keyword) ||
        !same(left->type_parameters, right->type_parameters) || !same(left->space, right->space) ||
        !same(left->prefix, right->prefix) || left->outer_count != right->outer_count ||
        left->model_count != right->model_count)
        return false;
    for (int i = 0; i < left->outer_count; i++)
        if (!same(left->outer[i], right->outer[i]))
            return false;
    for (int i = 0; i < left->model_count; i++)
        if (!same(left->models[i], right->models[i]) || !same(left->names[i], right->names[i]))
            return false;
    return true;
}

/* name holds no @; what a caller gives may, and separates nested types by + where reflection does.
 */
static bool class_equal(const char *name, const char *given)
{
    for (;; name++, given++) {
        while (*given == '@')
            given++;
        if (*name != (*given == '+' ? '.' : *given))
            return false;
        if (!*name)
            return true;
    }
}

int script_find(const struct script *script, const char *class_name, const char *const *arguments,
                int count)
{
    for (int u = 0; u < script->unit_count; u++) {
        const struct script_unit *unit = &script->units[u];
        int i = 0;

        if (unit->model_count != count || !class_equal(unit->name, class_name))
            continue;
        while (i < count && strcmp(unit->models[i].argument, arguments[i]) == 0)
            i++;
        if (i == count)
            return u;
    }
    return -1;
}

int script_find_class(const struct script *script, const char *class_name)
{
    for (int u = 0; u < script->unit_count; u++)
        if (class_equal(script->units[u].name, class_name))
            return u;
    return -1;
}
