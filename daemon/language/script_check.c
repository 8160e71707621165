/* What is wrong with a class as the script has it, before any model is looked at. */
#include "daemon/language/script_inside.h"

#include <stdlib.h>
#include <string.h>

bool script_add_problem(struct script *script, enum diagnostic_code code, struct csharp_range range,
                        int unit, int argument, const char *detail, const char *advice)
{
    if (!advice)
        advice = diagnostic_info(code)->advice;
    struct script_problem *grown =
        realloc(script->problems, ((size_t)script->problem_count + 1) * sizeof *grown);

    if (!grown)
        return false;
    script->problems = grown;
    grown[script->problem_count] = (struct script_problem){
        .code = code,
        .range = range,
        .message = detail ? script_print(script, "%s. %s.", detail, advice) : NULL,
        .unit = unit,
        .argument = argument,
    };
    return grown[script->problem_count++].message != NULL;
}

bool script_check_partial(struct script *script, const struct csharp_class *class)
{
    bool found = false;

    if (class->partial)
        return true;
    for (size_t i = 0; i < class->enclosing_count; i++) {
        const struct csharp_type *outer = class->enclosing[i];

        if (outer->partial)
            continue;
        found = true;
        if (!script_add_problem(
                script, TUKI0140, outer->name_range, -1, -1,
                script_print(script,
                             "%s %s: it is not partial, and %s with its attribute lies inside",
                             outer->keyword, outer->name.bytes, class->type.name.bytes),
                NULL))
            return false;
    }
    return (class->type.partial && found) ||
           script_add_problem(
               script, TUKI0140, class->type.name_range, -1, -1,
               script_print(script, "class %s: it is not partial", class->type.name.bytes), NULL);
}

/* Whether a word stands among modifiers. */
static bool has_modifier(const struct csharp_type *type, const char *word)
{
    size_t length = strlen(word);

    for (const char *at = type->modifiers.bytes; (at = strstr(at, word)); at += length)
        if ((at == type->modifiers.bytes || at[-1] == ' ') && (!at[length] || at[length] == ' '))
            return true;
    return false;
}

/* Classes that no other file can give members to, though they are partial. */
bool script_check_form(struct script *script, const struct csharp_class *class, bool *fit)
{
    const struct csharp_type *type = &class->type;

    *fit = true;
    for (size_t i = 0; i <= class->enclosing_count; i++) {
        const struct csharp_type *one =
            i < class->enclosing_count ? class->enclosing[i] : &class->type;

        if (!has_modifier(one, "file"))
            continue;
        *fit = false;
        if (!script_add_problem(
                script, TUKI0140, one->name_range, -1, -1,
                script_print(
                    script,
                    "%s %s: it is local to its file, and no other file can hold a part of it",
                    one->keyword, one->name.bytes),
                "Take file away"))
            return false;
    }
    if (!has_modifier(type, "static"))
        return true;
    *fit = false;
    return script_add_problem(
        script, TUKI0140, type->name_range, -1, -1,
        script_print(script, "%s %s: it is static, and buffers and methods are those of an object",
                     type->keyword, type->name.bytes),
        "Take static away");
}

/* Types that generated code uses by their simple names. The first three stand before a dot, where
 * any member would hide them. */
static const char *const used[] = {"Gpu",      "Mathf",   "GpuFormat", "Color4",
                                   "KernelId", "Vector4", "Texture2D", "GpuBuffer2D"};
enum { USED_BEFORE_DOT = 3, USED_COUNT = sizeof used / sizeof *used };

static bool is_used(const char *name, size_t length, int count)
{
    for (int i = 0; i < count; i++)
        if (strlen(used[i]) == length && memcmp(used[i], name, length) == 0)
            return true;
    return false;
}

static bool add_collision(struct script *script, int u, const char *detail)
{
    struct script_unit *unit = &script->units[u];

    unit->blocked = true;
    return script_add_problem(script, TUKI0142, unit->models[0].range, u, unit->models[0].number,
                              detail, "Rename it");
}

/* The words of a text, whatever stands between them: false where add_collision() failed. */
static bool check_words(struct script *script, int u, const struct csharp_text *text,
                        const char *what)
{
    const char *prefix = script->units[u].options.prefix;

    for (size_t at = 0; at < text->length;) {
        size_t length = strcspn(text->bytes + at, " .,<>@");
        char *word = script_copy(script, text->bytes + at, length);

        if (!word)
            return false;
        if (is_used(word, length, USED_COUNT) &&
            !add_collision(
                script, u,
                script_print(script,
                             "%s: generated code means a type of the target by this name, and "
                             "it is that of a %s",
                             word, what)))
            return false;
        if (*what == 't' && length && compile_name_collides(prefix, word) &&
            !add_collision(script, u,
                           script_print(script,
                                        "%s: a member and a %s of the class would have this name",
                                        word, what)))
            return false;
        at += length + (text->bytes[at + length] != '\0');
    }
    return true;
}

/* Names around and inside the class that would hide what generated code means. */
static bool check_names(struct script *script, const struct csharp_class *class, int u)
{
    const struct csharp_text *own = &class->type.name;

    if (!check_words(script, u, &class->namespace_name, "namespace") ||
        !check_words(script, u, &class->type.type_parameters, "type parameter") ||
        !check_words(script, u, own, "class"))
        return false;
    for (size_t i = 0; i < class->enclosing_count; i++)
        if (!check_words(script, u, &class->enclosing[i]->name, "type around the class") ||
            !check_words(script, u, &class->enclosing[i]->type_parameters, "type parameter"))
            return false;
    if (compile_name_collides(script->units[u].options.prefix, own->bytes) &&
        !add_collision(
            script, u,
            script_print(script, "%s: a member would have the name of its class", own->bytes)))
        return false;
    for (size_t m = 0; m < class->member_count; m++) {
        const struct csharp_member *member = &class->members[m];

        if (is_used(member->name.bytes, member->name.length,
                    member->kind == CSHARP_NESTED_TYPE ? USED_COUNT : USED_BEFORE_DOT) &&
            !add_collision(
                script, u,
                script_print(script,
                             "%s: generated code means a type of the target by this name, and "
                             "the class has a member of it",
                             member->name.bytes)))
            return false;
    }
    return true;
}

/* A prefix is the class's own: neither another attribute nor a member may use its names. */
bool script_check_members(struct script *script, const struct csharp_class *class, int first)
{
    for (int u = first; u < script->unit_count; u++) {
        struct script_unit *unit = &script->units[u];
        const char *prefix = unit->options.prefix;

        for (int other = first; other < u; other++) {
            if (strcmp(script->units[other].options.prefix, prefix) != 0)
                continue;
            unit->blocked = true;
            if (!script_add_problem(
                    script, TUKI0142, unit->models[0].range, u, unit->models[0].number,
                    script_print(
                        script,
                        "names that begin with %s: \"%s\" of the same class has them already",
                        prefix, script->units[other].models[0].argument),
                    NULL))
                return false;
            break;
        }
        for (size_t m = 0; m < class->member_count; m++) {
            const struct csharp_text *member = &class->members[m].name;
            bool repeated = false;

            for (size_t k = 0; k < m && !repeated; k++)
                repeated = strcmp(class->members[k].name.bytes, member->bytes) == 0;
            if (repeated || !compile_name_collides(prefix, member->bytes))
                continue;
            unit->blocked = true;
            if (!script_add_problem(
                    script, TUKI0142, unit->models[0].range, u, unit->models[0].number,
                    script_print(script, "%s: the class has a member of this name already",
                                 member->bytes),
                    NULL))
                return false;
        }
        if (!check_names(script, class, u))
            return false;
    }
    return true;
}

/* Where two classes would write one file, their names tell the files apart. */
bool script_name_files(struct script *script)
{
    for (int u = 0; u < script->unit_count; u++) {
        struct script_unit *unit = &script->units[u];
        bool shared = false;

        for (int other = 0; other < script->unit_count; other++)
            shared =
                shared || (strcmp(script->units[other].options.prefix, unit->options.prefix) == 0 &&
                           strcmp(script->units[other].name, unit->name) != 0);
        unit->options.file_stem =
            shared ? script_print(script, "%s.%s.%s", unit->options.script,
                                  unit->options.class_name + (*unit->options.class_name == '@'),
                                  unit->options.prefix)
                   : script_print(script, "%s.%s", unit->options.script, unit->options.prefix);
        unit->file = unit->options.file_stem
                         ? script_print(script, "%s.Model.cs", unit->options.file_stem)
                         : NULL;
        if (!unit->file)
            return false;
        for (int other = 0; other < u; other++) {
            if (strcmp(script->units[other].file, unit->file) != 0 ||
                strcmp(script->units[other].name, unit->name) == 0)
                continue;
            unit->blocked = true;
            if (!script_add_problem(script, TUKI0142, unit->models[0].range, u,
                                    unit->models[0].number,
                                    script_print(script, "file %s: class %s writes it already",
                                                 unit->file, script->units[other].name),
                                    NULL))
                return false;
            script->problems[script->problem_count - 1].name = unit->name;
            break;
        }
    }
    return true;
}
