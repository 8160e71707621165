/*
 * csharp: finds [OnnxGpu("...")] attributes on classes in the text of a C# script, without a C#
 * compiler.
 *
 * A pure function of its arguments: no files, no globals, no locale. Any thread may call it,
 * several at once. Any bytes may come in (a user is typing, a file is no C# at all): it never
 * crashes, never hangs, and takes time and memory linear in the length of the text. A text that is
 * not finished loses only what follows the break: an attribute that stands before an unclosed
 * string, comment, parenthesis or brace is found all the same.
 *
 * What is understood, and what is ignored, is what the C# language (version 14) says:
 *  - comments, every form of string and character literal (regular, verbatim, interpolated with
 * nested strings and format clauses, raw), `#if` regions that are not compiled, verbatim
 * identifiers (@class), escapes in identifiers;
 *  - `OnnxGpu`, `OnnxGpuAttribute`, the same behind `Tsukimi.` or `global::Tsukimi.`, an alias of
 * the type or of the namespace (`using G = Tsukimi.OnnxGpuAttribute;`), the target `type:`, several
 * attributes in a list, several lists, several partial declarations of one class. An unqualified
 * name counts whether or not the script says `using Tsukimi;` (another file may say `global
 * using`), but not where this file itself gives that name to something else (an alias, a type of
 * its own in scope). Any other qualified name (`Other.OnnxGpu`) is not ours;
 *  - the attribute counts on classes and on record classes; on anything else C# itself reports it.
 *
 * Text is bytes: UTF-8, with or without a byte order mark. A byte sequence that is not UTF-8 reads
 * as U+FFFD, as the C# compiler reads it. All positions are byte offsets into the text as given
 * (the byte order mark counts); ranges are half open. Only the first CSHARP_TEXT_MAX bytes are
 * read, as though the file ended there.
 */
#ifndef DAEMON_LANGUAGE_CSHARP_H
#define DAEMON_LANGUAGE_CSHARP_H

#include <stdbool.h>
#include <stddef.h>

/* Four mebibytes: far above any script that a person writes. */
#define CSHARP_TEXT_MAX ((size_t)4 << 20)

/* Types nested deeper than this are read past, but not reported. */
#define CSHARP_NESTING_MAX 32

/* A folded concatenation longer than this is not a path; it counts as not constant. A single
 * literal has no such limit. */
#define CSHARP_FOLDED_MAX ((size_t)4096)

struct csharp_range {
    size_t start, end;
};

/* UTF-8, valid, with a NUL after it; may hold NUL inside ("\0" is a legal escape). */
struct csharp_text {
    const char *bytes;
    size_t length;
};

enum csharp_argument_kind {
    /* One string literal of any form: "a", @"a", """a""", and $"a" that has no hole. */
    CSHARP_ARGUMENT_LITERAL,
    /* Another constant expression: a concatenation, a `const string` of this file, nameof,
       parentheses. */
    CSHARP_ARGUMENT_FOLDED,
    /* Anything else: a hole, a u8 suffix, null, a number, a name this file does not define, a
       literal with an error in it. */
    CSHARP_ARGUMENT_NOT_CONSTANT,
    /* Constant, and "" ; or no expression at all where one must stand, as in ("a", ): the range is
       empty then. */
    CSHARP_ARGUMENT_EMPTY,
};

struct csharp_argument {
    enum csharp_argument_kind kind;
    /* `X = ...`: sets a property of the attribute, so it is no model. `x: ...` is not named in this
     * sense. */
    bool named;
    /* X of a named argument, else "". */
    struct csharp_text name;
    /* The decoded value. "" for NOT_CONSTANT, except that a literal with an error in it (not closed
       yet, a bad escape) has what could be read of it, for completion. */
    struct csharp_text value;
    /* The expression, without `X =` or `x:`. Elements of an array, `new[] {"a", "b"}`, `new
       string[] {...}` or
       ["a", "b"], are one argument each, with the element's own range. */
    struct csharp_range range;
};

struct csharp_attribute {
    /* From the first letter of the attribute's name (after a target) to behind its closing
     * parenthesis. */
    struct csharp_range range;
    /* In the text's order, named ones included. None for [OnnxGpu], [OnnxGpu()] and [OnnxGpu(new
     * string[0])]. */
    size_t argument_count;
    const struct csharp_argument *arguments;
};

enum csharp_type_kind {
    CSHARP_CLASS,
    CSHARP_STRUCT,
    CSHARP_INTERFACE,
    CSHARP_RECORD, /* `record` and `record class` */
    CSHARP_RECORD_STRUCT,
};

/* One declaration of a type, with what another partial declaration of it must repeat. */
struct csharp_type {
    enum csharp_type_kind kind;
    /* "class", "struct", "interface", "record", "record struct": what to write after `partial`. */
    const char *keyword;
    /* As the language sees it: escapes decoded, no @. "" where the user has not typed it yet
     * (enclosing types only). */
    struct csharp_text name;
    /* The name as it may be written in C#: with its @ where the script writes one. */
    struct csharp_text spelling;
    /* "public static partial": in the script's order, one space between, without the keyword. */
    struct csharp_text modifiers;
    /* "<T, in U>", variance kept, attributes and constraints left out; "" where there are none. */
    struct csharp_text type_parameters;
    bool partial;
    /* The name in the text, its @ included. */
    struct csharp_range name_range;
    /* From the first attribute list or modifier to behind the closing brace (or `;`, or the end of
     * what there is). */
    struct csharp_range range;
};

enum csharp_member_kind {
    CSHARP_FIELD,    /* constants too */
    CSHARP_PROPERTY, /* those that a record's parameters declare too */
    CSHARP_METHOD,
    CSHARP_EVENT,
    CSHARP_NESTED_TYPE, /* classes, structs, interfaces, records, enums, delegates */
};

struct csharp_member {
    enum csharp_member_kind kind;
    struct csharp_text name;
    struct csharp_range range; /* of the name */
};

/* A class with at least one OnnxGpu attribute. Its partial declarations in this file are one entry.
 */
struct csharp_class {
    /* "A.B" as it may be written in C# (@ kept); "" for the global namespace. Nested blocks are
     * joined. */
    struct csharp_text namespace_name;
    /* The types around it, outermost first. */
    size_t enclosing_count;
    const struct csharp_type *const *enclosing;
    /* The first of its declarations that carries the attribute. `partial` in it is about that
     * declaration alone. */
    struct csharp_type type;
    /* Whether every declaration of it in this file, and every type around it, is partial: what
     * TUKI0140 asks. */
    bool partial;
    /* What all its declarations in this file declare directly, in the text's order. No
       constructors, destructors, operators, indexers or explicit interface implementations: they
       have no name to collide with. A name can occur twice (overloads). */
    size_t member_count;
    const struct csharp_member *members;
    /* In the text's order. */
    size_t attribute_count;
    const struct csharp_attribute *attributes;
};

/* In the order in which their first attributes stand. */
struct csharp {
    size_t class_count;
    const struct csharp_class *classes;
};

/*
 * Scans text (size bytes; may be NULL where size is 0). symbols: the preprocessor symbols that are
 * defined when the file begins, ended by NULL; NULL for none. `#define` and `#undef` in the file
 * are honoured. Returns a result of its own (it keeps no pointer into text or symbols), to be freed
 * by csharp_free; NULL only when out of memory.
 *
 * Constants: a name is looked up as C# does, in the class, its base classes, the enclosing types,
 * then the namespaces with their usings (`using static`, aliases), among the types of this file.
 * Constants of other files are not seen.
 */
struct csharp *csharp_scan(const char *text, size_t size, const char *const *symbols);

/* Accepts NULL. */
void csharp_free(struct csharp *csharp);

#endif
