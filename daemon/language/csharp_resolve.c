#include "daemon/language/csharp_resolve.h"
#include "daemon/language/csharp_skip.h"

enum {
    OUTWARD = 128, /* scopes around a name that are asked */
    USINGS = 64,   /* using directives of one block that are asked */
    BASES = 16,    /* base classes of one class that are asked */
    DEPTH = 8,     /* names that must be resolved to resolve a name */
};

static uint32_t resolve(struct csharp_tree *tree, struct csharp_place place,
                        struct csharp_span name, int depth);

static uint32_t base_of(struct csharp_tree *tree, uint32_t type, int depth)
{
    struct csharp_node *node = &tree->nodes[type];
    uint32_t base;

    if (node->kind != CSHARP_NODE_TYPE || node->progress != CSHARP_UNTRIED || !node->span.end)
        return node->kind == CSHARP_NODE_TYPE ? node->base : CSHARP_NONE;
    /* While it is tried it has no base, which ends circles. A base is looked up outside the type.
     */
    node->progress = CSHARP_TRYING;
    base = resolve(tree, (struct csharp_place){node->parent, node->block}, node->span, depth + 1);
    node->progress = CSHARP_TRIED;
    if (base != CSHARP_NONE && tree->nodes[base].kind == CSHARP_NODE_TYPE)
        node->base = base;
    return node->base;
}

/* Directly in parent, or in a base class of it. */
static uint32_t find_inside(struct csharp_tree *tree, uint32_t parent, uint32_t name,
                            uint32_t arity, int depth)
{
    uint32_t found = csharp_tree_find(tree, parent, name, arity);

    for (int i = 0; i < BASES && found == CSHARP_NONE && parent != CSHARP_NONE; i++) {
        parent = base_of(tree, parent, depth);
        if (parent != CSHARP_NONE)
            found = csharp_tree_find(tree, parent, name, arity);
    }
    return found;
}

static uint32_t alias_target(struct csharp_tree *tree, uint32_t alias, int depth)
{
    struct csharp_node *node = &tree->nodes[alias];
    uint32_t block = node->block, around = tree->blocks[block].parent;

    if (node->progress == CSHARP_UNTRIED) {
        /* Directives of one block do not see each other. */
        node->progress = CSHARP_TRYING;
        if (around != CSHARP_NONE)
            node->base = resolve(tree, (struct csharp_place){tree->blocks[block].node, around},
                                 node->span, depth + 1);
        else
            node->base =
                resolve(tree, (struct csharp_place){0, CSHARP_NONE}, node->span, depth + 1);
        node = &tree->nodes[alias];
        node->progress = CSHARP_TRIED;
    }
    return node->base;
}

static uint32_t using_target(struct csharp_tree *tree, uint32_t block, struct csharp_using *using,
                             int depth)
{
    if (using->progress == CSHARP_UNTRIED) {
        using->progress = CSHARP_TRYING;
        using->node = resolve(
            tree, (struct csharp_place){tree->blocks[block].node, tree->blocks[block].parent},
            using->name, depth + 1);
        using->progress = CSHARP_TRIED;
    }
    return using->node;
}

/* What the using directives of a block say about a name. */
static uint32_t find_used(struct csharp_tree *tree, uint32_t block, uint32_t name, uint32_t arity,
                          int depth)
{
    uint32_t found = CSHARP_NONE, using, target;

    if (arity == 0) {
        found = csharp_tree_find(tree, csharp_alias_scope(block), name, 0);
        if (found != CSHARP_NONE)
            return alias_target(tree, found, depth);
    }
    using = tree->blocks[block].first_using;
    for (int i = 0; i < USINGS && using != CSHARP_NONE && found == CSHARP_NONE; i++) {
        struct csharp_using *entry = &tree->usings[using];
        target = using_target(tree, block, entry, depth);
        if (target != CSHARP_NONE) {
            found = csharp_tree_find(tree, target, name, arity);
            /* `using A;` brings in the types of A, but not the namespaces in it. */
            if (found != CSHARP_NONE && !entry->is_static &&
                tree->nodes[found].kind != CSHARP_NODE_TYPE)
                found = CSHARP_NONE;
        }
        using = entry->next;
    }
    return found;
}

/* A simple name at place: in the types around it, then in the namespaces around it and their
 * directives. */
static uint32_t find_outward(struct csharp_tree *tree, struct csharp_place place, uint32_t name,
                             uint32_t arity, int depth)
{
    uint32_t node = place.node, found = CSHARP_NONE, block = place.block, outer;
    int steps = 0;

    while (node != CSHARP_NONE && tree->nodes[node].kind == CSHARP_NODE_TYPE && steps++ < OUTWARD) {
        found = find_inside(tree, node, name, arity, depth);
        if (found != CSHARP_NONE)
            return found;
        node = tree->nodes[node].parent;
    }
    while (node != CSHARP_NONE && steps++ < OUTWARD) {
        found = csharp_tree_find(tree, node, name, arity);
        if (found != CSHARP_NONE)
            return found;
        if (block != CSHARP_NONE && tree->blocks[block].node == node) {
            found = find_used(tree, block, name, arity, depth);
            if (found != CSHARP_NONE)
                return found;
            outer = tree->blocks[block].parent;
            block = outer;
            /* A block of no name stands in its parent's namespace. */
            if (outer != CSHARP_NONE && tree->blocks[outer].node == node)
                continue;
        }
        node = tree->nodes[node].parent;
    }
    return CSHARP_NONE;
}

static uint32_t resolve(struct csharp_tree *tree, struct csharp_place place,
                        struct csharp_span name, int depth)
{
    const struct csharp_tokens *tokens = tree->tokens;
    uint32_t i = name.start, found = CSHARP_NONE, arity, behind, word;
    bool first = true;

    if (depth > DEPTH)
        return CSHARP_NONE;
    while (i < name.end && csharp_is_name(tokens, i)) {
        word = tokens->tokens[i].name;
        behind = i + 1;
        arity = 0;
        if (first && csharp_is(tokens, behind, CSHARP_COLONS)) {
            uint32_t block = place.block;
            found = csharp_word_at(tokens, i) == CSHARP_WORD_GLOBAL ? 0 : CSHARP_NONE;
            for (int n = 0; n < OUTWARD && found == CSHARP_NONE && block != CSHARP_NONE; n++) {
                found = csharp_tree_find(tree, csharp_alias_scope(block), word, 0);
                if (found != CSHARP_NONE)
                    found = alias_target(tree, found, depth);
                block = tree->blocks[block].parent;
            }
        } else {
            if (csharp_is(tokens, behind, '<') &&
                !(behind = csharp_skip_angles(tokens, behind, &arity)))
                return CSHARP_NONE;
            found = first ? find_outward(tree, place, word, arity, depth)
                          : find_inside(tree, found, word, arity, depth);
        }
        if (found == CSHARP_NONE || behind >= name.end)
            return behind == name.end ? found : CSHARP_NONE;
        if (!csharp_is(tokens, behind, '.') && !csharp_is(tokens, behind, CSHARP_COLONS))
            return CSHARP_NONE;
        i = behind + 1;
        first = false;
    }
    return CSHARP_NONE;
}

uint32_t csharp_resolve(struct csharp_tree *tree, struct csharp_place place,
                        struct csharp_span name)
{
    return resolve(tree, place, name, 0);
}

/* What a name means where the types of other files matter: Tsukimi and OnnxGpuAttribute are not in
 * this one. */
enum meaning { OTHER, TSUKIMI, ATTRIBUTE };

static enum meaning meaning_of(struct csharp_tree *tree, struct csharp_place place,
                               struct csharp_span name, bool attribute, int depth);

/* The alias of that name that is in force at place, or CSHARP_NONE; a type or namespace that is
 * nearer hides it. */
static uint32_t alias_at(struct csharp_tree *tree, struct csharp_place place, uint32_t name,
                         bool *hidden)
{
    uint32_t node = place.node, block = place.block, found;

    *hidden = false;
    for (int i = 0; i < OUTWARD && node != CSHARP_NONE; i++) {
        found = csharp_tree_find(tree, node, name, 0);
        if (found != CSHARP_NONE && (tree->nodes[found].kind == CSHARP_NODE_TYPE ||
                                     tree->nodes[found].kind == CSHARP_NODE_NAMESPACE)) {
            /* Tsukimi itself may be continued, and the attribute declared, in this file. */
            *hidden = !((tree->nodes[found].kind == CSHARP_NODE_NAMESPACE &&
                         name == tree->tokens->name_tsukimi && node == 0) ||
                        (tree->nodes[found].kind == CSHARP_NODE_TYPE &&
                         name == tree->tokens->name_onnxgpu_attribute &&
                         tree->nodes[node].name == tree->tokens->name_tsukimi &&
                         tree->nodes[node].parent == 0));
            return CSHARP_NONE;
        }
        while (block != CSHARP_NONE && tree->blocks[block].node == node) {
            found = csharp_tree_find(tree, csharp_alias_scope(block), name, 0);
            if (found != CSHARP_NONE)
                return found;
            block = tree->blocks[block].parent;
        }
        node = tree->nodes[node].parent;
    }
    return CSHARP_NONE;
}

/* One name without dots. OTHER with *known false where nothing here defines it. */
static enum meaning simple(struct csharp_tree *tree, struct csharp_place place, uint32_t name,
                           bool *known, int depth)
{
    uint32_t alias, around;
    bool hidden;

    alias = alias_at(tree, place, name, &hidden);
    *known = hidden || alias != CSHARP_NONE;
    if (hidden)
        return OTHER;
    if (alias != CSHARP_NONE) {
        around = tree->blocks[tree->nodes[alias].block].parent;
        return meaning_of(
            tree, (struct csharp_place){tree->blocks[tree->nodes[alias].block].node, around},
            tree->nodes[alias].span, false, depth + 1);
    }
    if (name == tree->tokens->name_tsukimi)
        return TSUKIMI;
    return name == tree->tokens->name_onnxgpu_attribute ? ATTRIBUTE : OTHER;
}

/* attribute: the last name may stand without its ending. */
static enum meaning meaning_of(struct csharp_tree *tree, struct csharp_place place,
                               struct csharp_span name, bool attribute, int depth)
{
    const struct csharp_tokens *tokens = tree->tokens;
    uint32_t i = name.start, last = name.end - 1;
    const struct csharp_token *token;
    enum meaning meaning;
    bool known, global;

    if (name.end <= name.start || depth > DEPTH || !csharp_is_name(tokens, i))
        return OTHER;
    global = csharp_word_at(tokens, i) == CSHARP_WORD_GLOBAL && i < last &&
             csharp_is(tokens, i + 1, CSHARP_COLONS);
    i += global ? 2 : 0;
    if (i > last)
        return OTHER;
    token = &tokens->tokens[last];
    if (i == last && !global) {
        meaning = simple(tree, place, token->name, &known, depth);
        if (known || meaning != OTHER || !attribute || (token->flags & CSHARP_NAME_VERBATIM))
            return meaning;
        if (token->name == tokens->name_onnxgpu)
            return simple(tree, place, tokens->name_onnxgpu_attribute, &known, depth);
        /* [G] may be the alias GAttribute. */
        return simple(tree, place, csharp_tokens_with_attribute(tree->tokens, token->name), &known,
                      depth);
    }
    if (i == last)
        return token->name == tokens->name_tsukimi ? TSUKIMI : OTHER;
    /* Two names: Tsukimi, or an alias of it, and the attribute. */
    if (i + 2 != last || !csharp_is_name(tokens, last) ||
        (!csharp_is(tokens, i + 1, '.') && !csharp_is(tokens, i + 1, CSHARP_COLONS)))
        return OTHER;
    meaning = global ? (tokens->tokens[i].name == tokens->name_tsukimi ? TSUKIMI : OTHER)
                     : simple(tree, place, tokens->tokens[i].name, &known, depth);
    if (meaning != TSUKIMI)
        return OTHER;
    if (token->name == tokens->name_onnxgpu_attribute)
        return ATTRIBUTE;
    return attribute && token->name == tokens->name_onnxgpu &&
                   !(token->flags & CSHARP_NAME_VERBATIM)
               ? ATTRIBUTE
               : OTHER;
}

bool csharp_is_onnxgpu(struct csharp_tree *tree, struct csharp_place place, struct csharp_span name)
{
    return meaning_of(tree, place, name, true, 0) == ATTRIBUTE;
}
