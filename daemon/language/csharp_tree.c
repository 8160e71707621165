/* The tree of names that csharp_parse.h describes: nodes and how they are found. */
#include "daemon/language/csharp_tree.h"

static size_t hash_of(uint32_t parent, uint32_t name, uint32_t arity)
{
    uint64_t hash = parent;

    hash = (hash ^ name) * 0x9e3779b97f4a7c15u;
    hash = (hash ^ hash >> 29 ^ arity) * 0xbf58476d1ce4e5b9u;
    hash = (hash ^ hash >> 32 ^ name) * 0x94d049bb133111ebu;
    return (size_t)(hash ^ hash >> 31);
}

static void place(struct csharp_tree *tree, uint32_t number)
{
    const struct csharp_node *node = &tree->nodes[number];
    size_t mask = tree->slot_count - 1,
           slot = hash_of(node->parent, node->name, node->arity) & mask;

    while (tree->slots[slot] != CSHARP_NONE)
        slot = (slot + 1) & mask;
    tree->slots[slot] = number;
}

uint32_t csharp_tree_find(const struct csharp_tree *tree, uint32_t parent, uint32_t name,
                          uint32_t arity)
{
    size_t mask = tree->slot_count - 1, slot = hash_of(parent, name, arity) & mask;
    uint32_t number;

    if (!tree->slot_count)
        return CSHARP_NONE;
    for (; (number = tree->slots[slot]) != CSHARP_NONE; slot = (slot + 1) & mask) {
        const struct csharp_node *node = &tree->nodes[number];
        if (node->parent == parent && node->name == name && node->arity == arity)
            return number;
    }
    return CSHARP_NONE;
}

uint32_t csharp_tree_add(struct csharp_tree *tree, uint32_t parent, uint32_t name, uint32_t arity,
                         enum csharp_node_kind kind)
{
    uint32_t number = name ? csharp_tree_find(tree, parent, name, arity) : CSHARP_NONE;
    bool found = number != CSHARP_NONE;

    if (found && tree->nodes[number].kind == kind)
        return number;
    if ((tree->node_count + 1) * 2 > tree->slot_count) {
        tree->slot_count = tree->slot_count ? tree->slot_count * 2 : 256;
        tree->slots = csharp_arena_alloc(tree->arena, tree->slot_count, sizeof *tree->slots);
        for (size_t i = 0; i < tree->slot_count; i++)
            tree->slots[i] = CSHARP_NONE;
        for (uint32_t i = 0; i < tree->node_count; i++)
            if (tree->nodes[i].placed)
                place(tree, i);
    }
    tree->nodes = csharp_arena_grow(tree->arena, tree->nodes, tree->node_count,
                                    &tree->node_capacity, sizeof *tree->nodes);
    number = (uint32_t)tree->node_count++;
    tree->nodes[number] = (struct csharp_node){.parent = parent,
                                               .name = name,
                                               .arity = arity,
                                               .kind = (uint8_t)kind,
                                               .placed = name && !found,
                                               .partial = true,
                                               .base = CSHARP_NONE,
                                               .first_member = CSHARP_NONE,
                                               .last_member = CSHARP_NONE};
    if (tree->nodes[number].placed)
        place(tree, number);
    return number;
}
