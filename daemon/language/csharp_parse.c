/* Tokens to declarations: csharp_parse of csharp_tree.h. */
#include "daemon/language/csharp_skip.h"
#include "daemon/language/csharp_tree.h"

/* A namespace, a type or the file whose end has not been seen yet. */
struct frame {
    bool type, braces;
    bool owner; /* the type's end is this frame's end */
    uint32_t node, block, declaration;
};

struct parser {
    struct csharp_tree *tree;
    const struct csharp_tokens *tokens;
    struct csharp_arena *arena;
    struct frame *frames;
    size_t frame_count, frame_capacity;
    uint32_t end;   /* the number of tokens */
    uint32_t floor; /* tokens below it are not gone back to */
};

struct member {
    uint32_t start; /* with attributes */
    struct csharp_span attributes, modifiers;
    bool partial, constant;
};

static struct frame *top(struct parser *parser)
{
    return &parser->frames[parser->frame_count - 1];
}

static void push(struct parser *parser, struct frame frame)
{
    parser->frames = csharp_arena_grow(parser->arena, parser->frames, parser->frame_count,
                                       &parser->frame_capacity, sizeof *parser->frames);
    parser->frames[parser->frame_count++] = frame;
}

static void pop(struct parser *parser, uint32_t end)
{
    struct frame *frame = &parser->frames[--parser->frame_count];

    if (frame->type && frame->owner)
        parser->tree->declarations[frame->declaration].end = end;
}

static uint32_t open_block(struct parser *parser, uint32_t parent, uint32_t node)
{
    struct csharp_tree *tree = parser->tree;

    tree->blocks = csharp_arena_grow(parser->arena, tree->blocks, tree->block_count,
                                     &tree->block_capacity, sizeof *tree->blocks);
    tree->blocks[tree->block_count] = (struct csharp_block){parent, node, CSHARP_NONE};
    return (uint32_t)tree->block_count++;
}

static void add_member(struct parser *parser, uint32_t type, uint32_t token,
                       enum csharp_member_kind kind)
{
    struct csharp_tree *tree = parser->tree;
    uint32_t number = (uint32_t)tree->member_count;

    tree->members = csharp_arena_grow(parser->arena, tree->members, tree->member_count++,
                                      &tree->member_capacity, sizeof *tree->members);
    tree->members[number] = (struct csharp_member_token){token, CSHARP_NONE, kind};
    if (tree->nodes[type].last_member == CSHARP_NONE)
        tree->nodes[type].first_member = number;
    else
        tree->members[tree->nodes[type].last_member].next = number;
    tree->nodes[type].last_member = number;
    tree->nodes[type].member_count++;
}

/* A member whose name hides the same name further out. */
static void add_named(struct parser *parser, uint32_t type, uint32_t token,
                      enum csharp_member_kind kind)
{
    add_member(parser, type, token, kind);
    csharp_tree_add(parser->tree, type, parser->tokens->tokens[token].name, 0, CSHARP_NODE_MEMBER);
}

/* One or more `[...]`; the attributes in them go to the tree. */
static uint32_t parse_attributes(struct parser *parser, uint32_t i)
{
    const struct csharp_tokens *tokens = parser->tokens;
    struct csharp_tree *tree = parser->tree;
    uint32_t arity, behind;

    while (csharp_is(tokens, i, '[')) {
        bool ours = true;
        i++;
        if (csharp_is_name(tokens, i) && csharp_is(tokens, i + 1, ':')) {
            ours = csharp_word_at(tokens, i) == CSHARP_WORD_TYPE;
            i += 2;
        }
        while (!csharp_is(tokens, i, ']')) {
            struct csharp_attribute_tokens attribute = {.name = {i, i}};
            if (csharp_starts_declaration(tokens, i))
                return i;
            while (csharp_is_name(tokens, i)) {
                i++;
                if (csharp_is(tokens, i, '<') && (behind = csharp_skip_angles(tokens, i, &arity)))
                    i = behind;
                if (!csharp_is(tokens, i, '.') && !csharp_is(tokens, i, CSHARP_COLONS))
                    break;
                i++;
            }
            attribute.name.end = i;
            attribute.arguments = (struct csharp_span){i, i};
            if (csharp_is(tokens, i, '(')) {
                behind = csharp_skip_group(tokens, i, parser->end);
                attribute.arguments.start = i + 1;
                attribute.arguments.end = behind - (csharp_is(tokens, behind - 1, ')') ? 1 : 0);
                if (attribute.arguments.end < attribute.arguments.start)
                    attribute.arguments.end = attribute.arguments.start;
                i = behind;
            }
            attribute.end = i;
            if (ours && attribute.name.end > attribute.name.start) {
                tree->attributes =
                    csharp_arena_grow(parser->arena, tree->attributes, tree->attribute_count,
                                      &tree->attribute_capacity, sizeof *tree->attributes);
                tree->attributes[tree->attribute_count++] = attribute;
            }
            if (csharp_is(tokens, i, ','))
                i++;
            else if (!csharp_is(tokens, i, ']'))
                break;
        }
        if (!csharp_is(tokens, i, ']')) {
            /* What is not an attribute: up to the bracket, if it comes. */
            i = csharp_skip_expression(tokens, i, parser->end);
            if (!csharp_is(tokens, i, ']'))
                return i;
        }
        i++;
    }
    return i;
}

/* Whether the contextual word at token i is a modifier here, and not the name of a type or member.
 */
static bool is_contextual_modifier(const struct csharp_tokens *tokens, uint32_t i)
{
    enum csharp_word next = csharp_word_at(tokens, i + 1);

    if (csharp_is(tokens, i + 1, '('))
        return true;
    if (!csharp_is_name(tokens, i + 1))
        return false;
    if (next && (csharp_word_role(next) == CSHARP_ROLE_K || csharp_is_modifier(tokens, i + 1) ||
                 next == CSHARP_WORD_RECORD))
        return true;
    switch (tokens->tokens[i + 2].mark) {
    case ';':
    case '=':
    case ',':
    case '{':
    case CSHARP_ARROW:
        return false;
    }
    return true;
}

static uint32_t parse_modifiers(struct parser *parser, uint32_t i, struct member *member)
{
    const struct csharp_tokens *tokens = parser->tokens;

    for (; csharp_is_modifier(tokens, i); i++) {
        enum csharp_word word = csharp_word_at(tokens, i);
        if (csharp_word_role(word) == CSHARP_ROLE_C && !is_contextual_modifier(tokens, i))
            break;
        member->partial |= word == CSHARP_WORD_PARTIAL;
        member->constant |= word == CSHARP_WORD_CONST;
    }
    member->modifiers.end = i;
    return i;
}

static bool is_record(const struct csharp_tokens *tokens, uint32_t i)
{
    enum csharp_word next = csharp_word_at(tokens, i + 1);

    if (csharp_word_at(tokens, i) != CSHARP_WORD_RECORD || !csharp_is_name(tokens, i + 1))
        return false;
    if (next == CSHARP_WORD_CLASS || next == CSHARP_WORD_STRUCT)
        return true;
    switch (tokens->tokens[i + 2].mark) {
    case '{':
    case '(':
    case '<':
    case ':':
    case ';':
        return true;
    }
    return csharp_word_at(tokens, i + 2) == CSHARP_WORD_WHERE ||
           tokens->tokens[i + 2].kind == CSHARP_TOKEN_END;
}

/* The parameters of a record, which are its properties. Token i is behind the `(`. */
static void parse_record_parameters(struct parser *parser, uint32_t i, uint32_t end, uint32_t type)
{
    const struct csharp_tokens *tokens = parser->tokens;

    while (i < end) {
        uint32_t start = i, name;
        while (i < end && csharp_is(tokens, i, '['))
            i = csharp_skip_group(tokens, i, end);
        while (csharp_word_at(tokens, i) == CSHARP_WORD_IN ||
               csharp_word_at(tokens, i) == CSHARP_WORD_PARAMS)
            i++;
        name = csharp_skip_type(tokens, i);
        if (name && name < end && csharp_is_name(tokens, name)) {
            add_named(parser, type, name, CSHARP_PROPERTY);
            i = name + 1;
        }
        i = csharp_skip_expression(tokens, i, end);
        if (i < end && (i == start || csharp_is(tokens, i, ',')))
            i++;
        else if (i < end && !csharp_is(tokens, i, ','))
            return;
    }
}

/* Token i is `class`, `struct`, `interface` or `record`. */
static uint32_t parse_type(struct parser *parser, uint32_t i, const struct member *member)
{
    const struct csharp_tokens *tokens = parser->tokens;
    struct csharp_tree *tree = parser->tree;
    struct frame *around = top(parser);
    struct csharp_declaration declaration = {.parent = around->declaration,
                                             .block = around->block,
                                             .start = member->start,
                                             .name = CSHARP_NONE,
                                             .keyword = i,
                                             .modifiers = member->modifiers};
    uint32_t number, name = 0, arity = 0, behind, base = CSHARP_NONE;
    bool nested = around->type;

    switch (csharp_word_at(tokens, i++)) {
    case CSHARP_WORD_STRUCT:
        declaration.kind = CSHARP_STRUCT;
        break;
    case CSHARP_WORD_INTERFACE:
        declaration.kind = CSHARP_INTERFACE;
        break;
    case CSHARP_WORD_RECORD:
        declaration.kind =
            csharp_word_at(tokens, i) == CSHARP_WORD_STRUCT ? CSHARP_RECORD_STRUCT : CSHARP_RECORD;
        i += csharp_word_at(tokens, i) == CSHARP_WORD_STRUCT ||
             csharp_word_at(tokens, i) == CSHARP_WORD_CLASS;
        break;
    default:
        declaration.kind = CSHARP_CLASS;
    }
    if (csharp_is_name(tokens, i) && !csharp_starts_declaration(tokens, i)) {
        declaration.name = i;
        name = tokens->tokens[i++].name;
    }
    if (csharp_is(tokens, i, '<') && (behind = csharp_skip_angles(tokens, i, &arity))) {
        declaration.type_parameters = (struct csharp_span){i, behind};
        i = behind;
    } else {
        arity = 0;
    }

    declaration.node = csharp_tree_add(tree, around->node, name, arity, CSHARP_NODE_TYPE);
    if (nested) {
        declaration.depth = tree->declarations[around->declaration].depth + 1;
        if (declaration.name != CSHARP_NONE)
            add_member(parser, around->node, declaration.name, CSHARP_NESTED_TYPE);
    }
    if (csharp_is(tokens, i, '(')) {
        behind = csharp_skip_group(tokens, i, parser->end);
        if (declaration.kind == CSHARP_RECORD)
            parse_record_parameters(parser, i + 1, behind, declaration.node);
        i = behind;
    }
    if (csharp_is(tokens, i, ':'))
        base = i + 1;
    while (i < parser->end && !csharp_is(tokens, i, '{') && !csharp_is(tokens, i, ';') &&
           !csharp_is(tokens, i, '}') && !csharp_starts_declaration(tokens, i)) {
        if (csharp_is(tokens, i, '[') &&
            ((tokens->tokens[i].flags & CSHARP_TOKEN_FIRST) || csharp_is(tokens, i - 1, ':') ||
             csharp_is(tokens, i - 1, ',')))
            break; /* attributes: what follows is another declaration */
        i = csharp_is(tokens, i, '(') ? csharp_skip_group(tokens, i, parser->end) : i + 1;
    }

    if (declaration.kind == CSHARP_CLASS || declaration.kind == CSHARP_RECORD)
        declaration.attributes = member->attributes;
    else
        tree->attribute_count = member->attributes.start;
    tree->nodes[declaration.node].partial &= member->partial;
    tree->nodes[declaration.node].block = around->block;
    if (base != CSHARP_NONE && tree->nodes[declaration.node].span.end == 0) {
        behind = csharp_skip_type(tokens, base);
        tree->nodes[declaration.node].span = (struct csharp_span){base, behind ? behind : base};
    }
    declaration.end = i + csharp_is(tokens, i, ';');
    tree->declarations =
        csharp_arena_grow(parser->arena, tree->declarations, tree->declaration_count,
                          &tree->declaration_capacity, sizeof *tree->declarations);
    number = (uint32_t)tree->declaration_count++;
    tree->declarations[number] = declaration;
    if (csharp_is(tokens, i, '{')) {
        push(parser, (struct frame){.type = true,
                                    .braces = true,
                                    .owner = true,
                                    .node = declaration.node,
                                    .block = declaration.block,
                                    .declaration = number});
        return i + 1;
    }
    return declaration.end;
}

/* Token i is `namespace`. */
static uint32_t parse_namespace(struct parser *parser, uint32_t i)
{
    const struct csharp_tokens *tokens = parser->tokens;
    uint32_t node, start = i;
    bool braces;

    while (top(parser)->type)
        pop(parser, start);
    node = top(parser)->node;
    for (i++; csharp_is_name(tokens, i) && !csharp_starts_declaration(tokens, i);) {
        node =
            csharp_tree_add(parser->tree, node, tokens->tokens[i].name, 0, CSHARP_NODE_NAMESPACE);
        parser->tree->nodes[node].spelling = i++;
        if (!csharp_is(tokens, i, '.'))
            break;
        i++;
    }
    braces = csharp_is(tokens, i, '{');
    push(parser, (struct frame){.braces = braces,
                                .node = node,
                                .block = open_block(parser, top(parser)->block, node),
                                .declaration = CSHARP_NONE});
    return i + (braces || csharp_is(tokens, i, ';'));
}

/* Token i is `using`, outside types. */
static uint32_t parse_using(struct parser *parser, uint32_t i)
{
    const struct csharp_tokens *tokens = parser->tokens;
    struct csharp_tree *tree = parser->tree;
    struct csharp_block *block = &tree->blocks[top(parser)->block];
    uint32_t start = i++, node, behind;
    bool is_static = csharp_word_at(tokens, i) == CSHARP_WORD_STATIC;

    i += is_static;
    i += csharp_word_at(tokens, i) == CSHARP_WORD_UNSAFE;
    if (csharp_is_name(tokens, i) && csharp_is(tokens, i + 1, '=')) {
        behind = csharp_skip_expression(tokens, i + 2, parser->end);
        if (csharp_tree_find(tree, csharp_alias_scope(top(parser)->block), tokens->tokens[i].name,
                             0) == CSHARP_NONE) {
            node = csharp_tree_add(tree, csharp_alias_scope(top(parser)->block),
                                   tokens->tokens[i].name, 0, CSHARP_NODE_ALIAS);
            tree->nodes[node].span = (struct csharp_span){i + 2, behind};
            tree->nodes[node].block = top(parser)->block;
        }
        return behind + csharp_is(tokens, behind, ';');
    }
    behind = csharp_skip_type(tokens, i);
    if (!behind || !csharp_is(tokens, behind, ';'))
        return csharp_skip_statement(tokens, start, parser->end);
    tree->usings = csharp_arena_grow(parser->arena, tree->usings, tree->using_count,
                                     &tree->using_capacity, sizeof *tree->usings);
    tree->usings[tree->using_count] = (struct csharp_using){.next = block->first_using,
                                                            .name = {i, behind},
                                                            .node = CSHARP_NONE,
                                                            .is_static = is_static};
    block->first_using = (uint32_t)tree->using_count++;
    return behind + 1;
}

/* What follows the parameters of a method, or the name of a property: up to behind the body. */
static uint32_t skip_body(struct parser *parser, uint32_t i)
{
    const struct csharp_tokens *tokens = parser->tokens;

    while (i < parser->end && !csharp_is(tokens, i, '}') && !csharp_starts_declaration(tokens, i)) {
        if (csharp_is(tokens, i, ';'))
            return i + 1;
        if (csharp_is(tokens, i, '{'))
            return csharp_skip_block(tokens, i, parser->end);
        if (csharp_is(tokens, i, CSHARP_ARROW)) {
            i = csharp_skip_expression(tokens, i + 1, parser->end);
            return i + csharp_is(tokens, i, ';');
        }
        if (csharp_is(tokens, i, '(') || csharp_is(tokens, i, '['))
            i = csharp_skip_group(tokens, i, parser->end);
        else
            i++;
    }
    return i;
}

/* Fields, constants and events: `a = 1, b, c;` from the first name on. */
static uint32_t parse_declarators(struct parser *parser, uint32_t i, enum csharp_member_kind kind,
                                  bool constant)
{
    const struct csharp_tokens *tokens = parser->tokens;
    struct csharp_tree *tree = parser->tree;
    uint32_t type = top(parser)->node, node, behind;

    for (;;) {
        uint32_t name = tokens->tokens[i].name;
        if (!csharp_is_name(tokens, i) || csharp_starts_declaration(tokens, i))
            return i;
        add_member(parser, type, i, kind);
        node = csharp_tree_add(tree, type, name, 0,
                               constant ? CSHARP_NODE_CONSTANT : CSHARP_NODE_MEMBER);
        i++;
        if (csharp_is(tokens, i, '['))
            i = csharp_skip_group(tokens, i, parser->end);
        if (csharp_is(tokens, i, '=')) {
            behind = csharp_skip_expression(tokens, i + 1, parser->end);
            if (constant && tree->nodes[node].span.end == 0) {
                tree->nodes[node].span = (struct csharp_span){i + 1, behind};
                tree->nodes[node].block = top(parser)->block;
            }
            i = behind;
        }
        if (!csharp_is(tokens, i, ','))
            return i + csharp_is(tokens, i, ';');
        i++;
    }
}

/* A member of a type that is no type: a field, property, method, event, constructor, operator …; i
 * is behind modifiers. */
static uint32_t parse_other(struct parser *parser, uint32_t i, const struct member *member)
{
    const struct csharp_tokens *tokens = parser->tokens;
    uint32_t type = top(parser)->node, name, behind, arity;
    bool event = csharp_word_at(tokens, i) == CSHARP_WORD_EVENT, explicit = false;

    i += event;
    if (csharp_word_at(tokens, i) == CSHARP_WORD_IMPLICIT ||
        csharp_word_at(tokens, i) == CSHARP_WORD_EXPLICIT || csharp_is(tokens, i, '~') ||
        (csharp_is_name(tokens, i) && csharp_is(tokens, i + 1, '(')))
        return skip_body(parser, i + 1);
    name = csharp_skip_type(tokens, i);
    if (!name)
        return csharp_skip_statement(tokens, i, parser->end);

    /* The name, or `I<T>.Name`. */
    for (i = name; csharp_is_name(tokens, i); i++) {
        if (csharp_starts_declaration(tokens, i))
            return i;
        if (csharp_word_at(tokens, i) == CSHARP_WORD_OPERATOR ||
            csharp_word_at(tokens, i) == CSHARP_WORD_IMPLICIT ||
            csharp_word_at(tokens, i) == CSHARP_WORD_EXPLICIT ||
            csharp_word_at(tokens, i) == CSHARP_WORD_THIS)
            return skip_body(parser, i + 1);
        name = i;
        behind = i + 1;
        if (csharp_is(tokens, behind, '<'))
            behind = csharp_skip_angles(tokens, behind, &arity);
        if (!behind ||
            (!csharp_is(tokens, behind, '.') && !csharp_is(tokens, behind, CSHARP_COLONS)))
            break;
        explicit = true;
        i = behind;
    }
    if (!csharp_is_name(tokens, i))
        return i > member->start ? i : i + 1;

    switch (tokens->tokens[name + 1].mark) {
    case '<':
    case '(':
        if (!explicit)
            add_named(parser, type, name, CSHARP_METHOD);
        behind =
            csharp_is(tokens, name + 1, '<') ? csharp_skip_angles(tokens, name + 1, &arity) : 0;
        return skip_body(parser, behind ? behind : name + 1);
    case '{':
    case CSHARP_ARROW:
        if (!explicit)
            add_named(parser, type, name, event ? CSHARP_EVENT : CSHARP_PROPERTY);
        i = skip_body(parser, name + 1);
        if (csharp_is(tokens, i, '=')) {
            i = csharp_skip_expression(tokens, i, parser->end);
            i += csharp_is(tokens, i, ';');
        }
        return i;
    }
    return parse_declarators(parser, name, event ? CSHARP_EVENT : CSHARP_FIELD, member->constant);
}

static uint32_t parse_member(struct parser *parser, uint32_t i)
{
    const struct csharp_tokens *tokens = parser->tokens;
    struct csharp_tree *tree = parser->tree;
    struct member member = {.start = i};
    uint32_t first = (uint32_t)tree->attribute_count, name;
    bool type = top(parser)->type;
    enum csharp_word word;

    i = parse_attributes(parser, i);
    member.attributes = (struct csharp_span){first, (uint32_t)tree->attribute_count};
    member.modifiers.start = i;
    i = parse_modifiers(parser, i, &member);
    word = csharp_word_at(tokens, i);
    if (word == CSHARP_WORD_CLASS || word == CSHARP_WORD_STRUCT || word == CSHARP_WORD_INTERFACE ||
        is_record(tokens, i))
        return parse_type(parser, i, &member);
    tree->attribute_count = first;

    switch (word) {
    case CSHARP_WORD_NAMESPACE:
        return parse_namespace(parser, i);
    case CSHARP_WORD_ENUM:
        if (type && csharp_is_name(tokens, i + 1))
            add_named(parser, top(parser)->node, i + 1, CSHARP_NESTED_TYPE);
        return skip_body(parser, i + 1);
    case CSHARP_WORD_DELEGATE:
        if (csharp_is(tokens, i + 1, '*'))
            break;
        name = csharp_skip_type(tokens, i + 1);
        if (type && name && csharp_is_name(tokens, name))
            add_named(parser, top(parser)->node, name, CSHARP_NESTED_TYPE);
        return skip_body(parser, name ? name : i + 1);
    case CSHARP_WORD_GLOBAL:
        if (!type && csharp_word_at(tokens, i + 1) == CSHARP_WORD_USING)
            return parse_using(parser, i + 1);
        break;
    case CSHARP_WORD_USING:
        if (!type)
            return parse_using(parser, i);
        break;
    case CSHARP_WORD_EXTENSION:
        /* A block of extension members: they are members of the class around it. */
        if (type && (csharp_is(tokens, i + 1, '(') || csharp_is(tokens, i + 1, '<'))) {
            while (i < parser->end && !csharp_is(tokens, i, '{') && !csharp_is(tokens, i, ';') &&
                   !csharp_is(tokens, i, '}') && !csharp_starts_declaration(tokens, i))
                i = csharp_is(tokens, i, '(') ? csharp_skip_group(tokens, i, parser->end) : i + 1;
            if (!csharp_is(tokens, i, '{'))
                return i;
            push(parser, *top(parser));
            top(parser)->owner = false;
            return i + 1;
        }
        break;
    default:
        break;
    }
    if (i == parser->end || csharp_is(tokens, i, '}'))
        return i;
    return type ? parse_other(parser, i, &member) : csharp_skip_statement(tokens, i, parser->end);
}

/*
 * A member ended where a declaration must begin: goes back to the attributes before it, which the
 * member has swallowed, but not further than the member's second token, nor twice over the same
 * ones.
 */
static uint32_t back_to_attributes(struct parser *parser, uint32_t i, uint32_t start)
{
    const struct csharp_tokens *tokens = parser->tokens;
    uint32_t floor = start + 1 > parser->floor ? start + 1 : parser->floor, keyword = i, at, depth;

    for (;;) {
        while (i > floor && csharp_is_modifier(tokens, i - 1))
            i--;
        if (i <= floor || !csharp_is(tokens, i - 1, ']'))
            break;
        for (at = i, depth = 0; at > floor;) {
            at--;
            if (csharp_is(tokens, at, ']'))
                depth++;
            else if (csharp_is(tokens, at, '[') && !--depth)
                break;
        }
        if (depth)
            break;
        i = at;
    }
    parser->floor = keyword;
    return i;
}

void csharp_parse(struct csharp_tree *tree, struct csharp_arena *arena,
                  struct csharp_tokens *tokens)
{
    struct parser parser = {.tree = tree, .tokens = tokens, .arena = arena};
    uint32_t i = 0, start;

    *tree = (struct csharp_tree){.tokens = tokens, .arena = arena};
    parser.end = (uint32_t)tokens->count;
    csharp_tree_add(tree, CSHARP_NONE, 0, 0, CSHARP_NODE_NAMESPACE);
    push(&parser,
         (struct frame){.block = open_block(&parser, CSHARP_NONE, 0), .declaration = CSHARP_NONE});

    while (i < parser.end) {
        if (csharp_is(tokens, i, '}')) {
            i++;
            if (top(&parser)->braces)
                pop(&parser, i);
            continue;
        }
        if (csharp_is(tokens, i, ';')) {
            i++;
            continue;
        }
        start = i;
        i = parse_member(&parser, start);
        if (i > start && i < parser.end && csharp_starts_declaration(tokens, i))
            i = back_to_attributes(&parser, i, start);
        else if (i == start)
            i++;
    }
    while (parser.frame_count)
        pop(&parser, parser.end);
}
