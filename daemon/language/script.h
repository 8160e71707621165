#ifndef DAEMON_LANGUAGE_SCRIPT_H
#define DAEMON_LANGUAGE_SCRIPT_H
/*
 * What a C# script asks for: one unit for each OnnxGpu attribute, with the options of its compile,
 * and what is wrong with the script itself (TUKI0140 to 0142). Pure but for `resolve`: no files are
 * read.
 *
 * A script is made on one thread and never changes afterwards: any number of threads may read it
 * while each holds a reference.
 */
#include "daemon/compiler/compiler.h"
#include "daemon/language/csharp.h"
#include "protocol/lsp.h"
#include <stdatomic.h>

struct script_model {
    const char *argument; /* as the script writes it, decoded */
    const char *path;     /* from the script's folder, or what resolve made of that */
    struct csharp_range range;
    int number; /* of the argument in its attribute, from 0 */
};

/* One attribute with at least one usable argument. */
struct script_unit {
    struct compile_options options; /* strings live in the script */
    const char *name;               /* "Namespace.Outer.Sharpen", without @ */
    const char *file;               /* of the generated file: "Sharpen.Filter.Model.cs" */
    struct csharp_range range;      /* the attribute */
    const struct script_model *models;
    int model_count;
    bool blocked; /* a problem forbids writing; its models are checked all the same */
};

struct script_problem {
    enum diagnostic_code code;
    struct csharp_range range;
    const char *message; /* complete, as those of the compiler */
    const char *name;    /* full name of the class that it is about */
    int unit;            /* that it is about; -1: all units of the class, or none was made */
    int argument;        /* number of the argument, -1 for the class or the whole attribute */
};

struct script {
    char *path; /* as given */
    struct lsp_text text;
    struct hash content; /* of the text's bytes */
    struct script_unit *units;
    int unit_count;
    struct script_problem *problems; /* in the text's order */
    int problem_count;
    atomic_int references;
    struct script_memory *memory;
};

/*
 * Reads size bytes of text (copied) as the script at path. resolve (may be NULL) turns a model's
 * path into the one that it is to be known by, a new C string (NULL: keep). The caller owns one
 * reference. NULL: out of memory.
 */
struct script *script_read(const char *path, const char *text, size_t size,
                           char *(*resolve)(const char *path));
/* A model that stands for itself: a script without text and one unit, whose files would be named
 * for the model. */
struct script *script_of_model(const char *path);
struct script *script_hold(struct script *script);
/* Accepts NULL. */
void script_release(struct script *script);

/* Whether text can hold an attribute at all; false spares the reading. */
bool script_possible(const char *text, size_t size);

/* "Sharpen" of ".../Sharpen.cs", at most size bytes with the NUL. */
void script_base(const char *path, char *base, size_t size);

/* The part of a folder's path from the first component `Assets` on, which lies inside folder; ""
 * where there is none: what assets' GUIDs are made from. */
const char *script_asset_folder(const char *folder);

/* Whether two units come to the same generated file with the same text, as far as the script
 * decides. */
bool script_unit_equal(const struct script_unit *a, const struct script_unit *b);

/* The unit of class (as `onnxgpu/generate` names it: dots or plus signs between, @ or not) whose
 * arguments are these; -1 where there is none. */
int script_find(const struct script *script, const char *class_name, const char *const *arguments,
                int count);
/* The first class of that name, with or without attributes for these arguments: an index of one of
 * its units, or -1.
 */
int script_find_class(const struct script *script, const char *class_name);

#endif
