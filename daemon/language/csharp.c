#include "daemon/language/csharp.h"
#include "daemon/language/csharp_constant.h"
#include "daemon/language/csharp_skip.h"

#include <stdlib.h>
#include <string.h>

/* The result with what it owns. */
struct result {
    struct csharp csharp; /* first: what csharp_free gets */
    struct csharp_arena kept;
};

/* A class while its attributes are collected. */
struct found {
    struct csharp_class *class;
    struct csharp_attribute *attributes;
    size_t capacity;
};

struct scan {
    struct csharp_tokens tokens;
    struct csharp_tree tree;
    struct csharp_evaluator evaluator;
    struct csharp_arena work, *kept;
    struct csharp_text *namespaces; /* by node; bytes is NULL where it has not been asked for */
};

static struct csharp_range range_of(const struct scan *scan, uint32_t start, uint32_t end)
{
    const struct csharp_token *tokens = scan->tokens.tokens;

    if (start >= end)
        return (struct csharp_range){tokens[start].start, tokens[start].start};
    return (struct csharp_range){tokens[start].start, tokens[end - 1].end};
}

/* A text that is written twice: first without `bytes`, to count, then into them. */
struct writer {
    char *bytes;
    size_t length;
};

static void put(struct writer *writer, const char *bytes, size_t length)
{
    if (writer->bytes)
        memcpy(writer->bytes + writer->length, bytes, length);
    writer->length += length;
}

static void put_name(struct writer *writer, const struct csharp_tokens *tokens, uint32_t token)
{
    const struct csharp_name *name = &tokens->names[tokens->tokens[token].name];

    if (tokens->tokens[token].flags & CSHARP_NAME_VERBATIM)
        put(writer, "@", 1);
    put(writer, name->bytes, name->length);
}

static struct csharp_text text_of(struct scan *scan, const struct writer *writer)
{
    char *bytes = csharp_arena_alloc(scan->kept, writer->length + 1, 1);

    return (struct csharp_text){bytes, writer->length};
}

/* Names with one space between. */
static struct csharp_text words_text(struct scan *scan, struct csharp_span span)
{
    struct csharp_text text = {NULL, 0};

    for (int pass = 0; pass < 2; pass++) {
        struct writer writer = {(char *)text.bytes, 0};
        for (uint32_t i = span.start; i < span.end; i++) {
            if (i > span.start)
                put(&writer, " ", 1);
            put_name(&writer, &scan->tokens, i);
        }
        if (!pass)
            text = text_of(scan, &writer);
    }
    return text;
}

static struct csharp_text parameters_text(struct scan *scan, struct csharp_span span)
{
    const struct csharp_tokens *tokens = &scan->tokens;
    struct csharp_text text = {NULL, 0};

    for (int pass = 0; pass < 2; pass++) {
        struct writer writer = {(char *)text.bytes, 0};
        for (uint32_t i = span.start; i < span.end;) {
            if (csharp_is(tokens, i, '[')) {
                i = csharp_skip_group(tokens, i, span.end);
                continue;
            }
            if (csharp_is(tokens, i, ','))
                put(&writer, ", ", 2);
            else if (csharp_is_name(tokens, i))
                put_name(&writer, tokens, i);
            else
                put(&writer, (const char *)tokens->text + tokens->tokens[i].start,
                    tokens->tokens[i].end - tokens->tokens[i].start);
            if (csharp_is_name(tokens, i) && csharp_is_name(tokens, i + 1))
                put(&writer, " ", 1);
            i++;
        }
        if (!pass)
            text = text_of(scan, &writer);
    }
    return text;
}

static struct csharp_text name_text(struct scan *scan, uint32_t token)
{
    const struct csharp_name *name = &scan->tokens.names[scan->tokens.tokens[token].name];
    struct writer writer = {NULL, name->length};
    struct csharp_text text = text_of(scan, &writer);

    memcpy((char *)text.bytes, name->bytes, name->length);
    return text;
}

/* The namespace that a type's node stands in. Each is written once, however many classes it holds.
 */
static struct csharp_text namespace_text(struct scan *scan, uint32_t node)
{
    const struct csharp_node *nodes = scan->tree.nodes;
    struct csharp_text text = {NULL, 0};
    uint32_t space, *path, count = 0;

    while (nodes[node].kind == CSHARP_NODE_TYPE)
        node = nodes[node].parent;
    if (scan->namespaces[node].bytes)
        return scan->namespaces[node];
    for (space = node; space; space = nodes[space].parent)
        count++;
    path = csharp_arena_alloc(&scan->work, count, sizeof *path);
    for (space = node; space; space = nodes[space].parent)
        path[--count] = space;
    for (space = node; space; space = nodes[space].parent)
        count++;
    for (int pass = 0; pass < 2; pass++) {
        struct writer writer = {(char *)text.bytes, 0};
        for (uint32_t i = 0; i < count; i++) {
            if (i)
                put(&writer, ".", 1);
            put_name(&writer, &scan->tokens, nodes[path[i]].spelling);
        }
        if (!pass)
            text = text_of(scan, &writer);
    }
    scan->namespaces[node] = text;
    return text;
}

static const struct csharp_type *type_of(struct scan *scan, uint32_t number)
{
    static const char *const keywords[] = {
        [CSHARP_CLASS] = "class",
        [CSHARP_STRUCT] = "struct",
        [CSHARP_INTERFACE] = "interface",
        [CSHARP_RECORD] = "record",
        [CSHARP_RECORD_STRUCT] = "record struct",
    };
    struct csharp_declaration *declaration = &scan->tree.declarations[number];
    struct csharp_type *type = declaration->result;
    uint32_t name = declaration->name;

    if (type)
        return type;
    type = csharp_arena_alloc(scan->kept, 1, sizeof *type);
    declaration->result = type;
    type->kind = declaration->kind;
    type->keyword = keywords[declaration->kind];
    type->name = type->spelling = (struct csharp_text){"", 0};
    type->name_range = range_of(scan, declaration->keyword + 1, declaration->keyword + 1);
    if (name != CSHARP_NONE) {
        type->name = name_text(scan, name);
        type->spelling = words_text(scan, (struct csharp_span){name, name + 1});
        type->name_range = range_of(scan, name, name + 1);
    }
    type->modifiers = words_text(scan, declaration->modifiers);
    type->type_parameters = parameters_text(scan, declaration->type_parameters);
    for (uint32_t i = declaration->modifiers.start; i < declaration->modifiers.end; i++)
        type->partial |= csharp_word_at(&scan->tokens, i) == CSHARP_WORD_PARTIAL;
    type->range = range_of(scan, declaration->start, declaration->end);
    return type;
}

/* Collects the arguments of one attribute, elements of arrays each by itself. */
struct arguments {
    struct scan *scan;
    struct csharp_place place;
    struct csharp_argument *items;
    size_t count, capacity;
};

static struct csharp_argument *add_argument(struct arguments *arguments, struct csharp_span span)
{
    struct csharp_argument *argument;

    arguments->items = csharp_arena_grow(arguments->scan->kept, arguments->items, arguments->count,
                                         &arguments->capacity, sizeof *arguments->items);
    argument = &arguments->items[arguments->count++];
    *argument = (struct csharp_argument){.name = {"", 0}};
    argument->range = range_of(arguments->scan, span.start, span.end);
    csharp_evaluate(&arguments->scan->evaluator, arguments->place, span, argument);
    return argument;
}

/* The elements of `new[] {…}`, `new string[n] {…}` or `[…]`: true where the span is one of these.
 */
static bool array_elements(const struct csharp_tokens *tokens, struct csharp_span span,
                           struct csharp_span *elements)
{
    uint32_t i = span.start, behind;

    if (csharp_is(tokens, i, '[')) {
        behind = csharp_skip_group(tokens, i, span.end);
        *elements = (struct csharp_span){i + 1, behind - 1};
        return behind == span.end && csharp_is(tokens, behind - 1, ']') && behind > i + 1;
    }
    if (csharp_word_at(tokens, i) != CSHARP_WORD_NEW)
        return false;
    /* The type: `string`, `String`, `System.String`, `global::System.String`, with `?`; or none. */
    for (i++; i < span.end && (csharp_is_name(tokens, i) || csharp_is(tokens, i, '.') ||
                               csharp_is(tokens, i, CSHARP_COLONS) || csharp_is(tokens, i, '?'));)
        i++;
    if (i >= span.end || !csharp_is(tokens, i, '['))
        return false;
    i = csharp_skip_group(tokens, i, span.end);
    if (i == span.end) {
        *elements = (struct csharp_span){i, i};
        return true;
    }
    if (!csharp_is(tokens, i, '{'))
        return false;
    behind = csharp_skip_block(tokens, i, span.end);
    *elements = (struct csharp_span){i + 1, behind - 1};
    return behind == span.end && csharp_is(tokens, behind - 1, '}') && behind > i + 1;
}

/* The parts of a list between commas. A comma at the end of an array's list adds nothing. */
static void add_arguments(struct arguments *arguments, struct csharp_span span, bool array)
{
    const struct csharp_tokens *tokens = &arguments->scan->tokens;
    uint32_t i = span.start;

    while (i < span.end) {
        struct csharp_span expression = {i, i}, elements;
        uint32_t name = CSHARP_NONE;
        if (!array && csharp_is_name(tokens, i) && i + 1 < span.end &&
            ((csharp_is(tokens, i + 1, '=') && !csharp_is(tokens, i + 2, '=')) ||
             csharp_is(tokens, i + 1, ':'))) {
            if (csharp_is(tokens, i + 1, '='))
                name = i;
            expression.start = i + 2;
        }
        expression.end = csharp_skip_expression(tokens, expression.start, span.end);
        i = expression.end;
        if (i < span.end && !csharp_is(tokens, i, ',')) {
            /* Broken text: what is left belongs to this argument. */
            expression.end = i = span.end;
        }
        if (name == CSHARP_NONE && !array && array_elements(tokens, expression, &elements)) {
            add_arguments(arguments, elements, true);
        } else {
            struct csharp_argument *argument = add_argument(arguments, expression);
            argument->named = name != CSHARP_NONE;
            if (argument->named)
                argument->name = name_text(arguments->scan, name);
        }
        if (i < span.end && ++i == span.end && !array)
            add_argument(arguments, (struct csharp_span){i, i});
    }
}

static void add_attribute(struct scan *scan, struct found *found, struct csharp_place place,
                          const struct csharp_attribute_tokens *tokens)
{
    struct arguments arguments = {.scan = scan, .place = place};
    struct csharp_attribute *attribute;

    found->attributes =
        csharp_arena_grow(scan->kept, found->attributes, found->class->attribute_count,
                          &found->capacity, sizeof *found->attributes);
    found->class->attributes = found->attributes;
    attribute = &found->attributes[found->class->attribute_count++];
    attribute->range = range_of(scan, tokens->name.start, tokens->end);
    add_arguments(&arguments, tokens->arguments, false);
    attribute->arguments = arguments.items;
    attribute->argument_count = arguments.count;
}

static struct found *find_class(struct scan *scan, uint32_t node)
{
    struct found *found = scan->tree.nodes[node].result;

    if (found)
        return found;
    found = csharp_arena_alloc(&scan->work, 1, sizeof *found);
    found->class = csharp_arena_alloc(&scan->work, 1, sizeof *found->class);
    scan->tree.nodes[node].result = found;
    return found;
}

/* Everything of a class but its attributes. */
static void finish_class(struct scan *scan, uint32_t number, struct csharp_class *class)
{
    const struct csharp_tree *tree = &scan->tree;
    const struct csharp_declaration *declaration = &tree->declarations[number];
    const struct csharp_node *node = &tree->nodes[declaration->node];
    const struct csharp_type **enclosing;
    struct csharp_member *members;
    uint32_t around = declaration->parent, depth = declaration->depth, member = node->first_member;

    class->namespace_name = namespace_text(scan, declaration->node);
    class->type = *type_of(scan, number);
    class->partial = node->partial;
    enclosing = csharp_arena_alloc(scan->kept, depth, sizeof *enclosing);
    class->enclosing = enclosing;
    class->enclosing_count = depth;
    while (depth) {
        enclosing[--depth] = type_of(scan, around);
        class->partial &= tree->nodes[tree->declarations[around].node].partial;
        around = tree->declarations[around].parent;
    }
    members = csharp_arena_alloc(scan->kept, node->member_count, sizeof *members);
    class->members = members;
    class->member_count = node->member_count;
    for (size_t i = 0; i < class->member_count; i++) {
        const struct csharp_member_token *token = &tree->members[member];
        members[i] =
            (struct csharp_member){.kind = token->kind,
                                   .name = name_text(scan, token->token),
                                   .range = range_of(scan, token->token, token->token + 1)};
        member = token->next;
    }
}

static void scan_all(struct scan *scan, struct csharp *csharp)
{
    struct csharp_tree *tree = &scan->tree;
    struct csharp_class *classes;
    uint32_t *order = csharp_arena_alloc(&scan->work, tree->declaration_count, sizeof *order);
    size_t count = 0;

    scan->namespaces = csharp_arena_alloc(&scan->work, tree->node_count, sizeof *scan->namespaces);
    for (uint32_t i = 0; i < tree->declaration_count; i++) {
        const struct csharp_declaration *declaration = &tree->declarations[i];
        struct csharp_place place = {declaration->node, declaration->block};
        if (declaration->name == CSHARP_NONE || declaration->depth > CSHARP_NESTING_MAX)
            continue;
        for (uint32_t k = declaration->attributes.start; k < declaration->attributes.end; k++) {
            struct found *found;
            if (!csharp_is_onnxgpu(tree, place, tree->attributes[k].name))
                continue;
            found = find_class(scan, declaration->node);
            if (!found->class->attribute_count)
                order[count++] = i;
            add_attribute(scan, found, place, &tree->attributes[k]);
        }
    }
    classes = csharp_arena_alloc(scan->kept, count, sizeof *classes);
    for (size_t i = 0; i < count; i++) {
        struct found *found = tree->nodes[tree->declarations[order[i]].node].result;
        classes[i] = *found->class;
        finish_class(scan, order[i], &classes[i]);
    }
    csharp->classes = classes;
    csharp->class_count = count;
}

/* False when out of memory. Nothing that it changes is read after the jump. */
static bool attempt(struct scan *scan, struct result *result, const unsigned char *text,
                    size_t size, const char *const *symbols)
{
    jmp_buf out_of_memory;

    scan->kept = &result->kept;
    scan->work.out_of_memory = scan->kept->out_of_memory = &out_of_memory;
    if (setjmp(out_of_memory))
        return false;
    csharp_tokens_init(&scan->tokens, &scan->work, text, size, symbols);
    csharp_parse(&scan->tree, &scan->work, &scan->tokens);
    scan->evaluator = (struct csharp_evaluator){&scan->tree, scan->kept, size * 16 + 65536};
    scan_all(scan, &result->csharp);
    return true;
}

struct csharp *csharp_scan(const char *text, size_t size, const char *const *symbols)
{
    static const unsigned char nothing[1];
    struct result *result = calloc(1, sizeof *result);
    struct scan *scan = calloc(1, sizeof *scan);
    bool done = result && scan &&
                attempt(scan, result, size ? (const unsigned char *)text : nothing,
                        size < CSHARP_TEXT_MAX ? size : CSHARP_TEXT_MAX, symbols);

    if (scan)
        csharp_arena_release(&scan->work);
    free(scan);
    if (!done && result) {
        csharp_arena_release(&result->kept);
        free(result);
    }
    return done ? &result->csharp : NULL;
}

void csharp_free(struct csharp *csharp)
{
    struct result *result = (struct result *)csharp;

    if (!result)
        return;
    csharp_arena_release(&result->kept);
    free(result);
}
