/*
 * csharp_tree: the names and the declarations of a script, for the files csharp*.c only.
 *
 * One pass over the tokens with a stack of open namespaces and types; statements and expressions
 * are stepped over by their brackets. What it builds is a tree of names (namespaces, types,
 * members, one node for all partial declarations of a type), and a list of the declarations of
 * types, each with the attributes before it.
 */
#ifndef DAEMON_LANGUAGE_CSHARP_TREE_H
#define DAEMON_LANGUAGE_CSHARP_TREE_H

#include "daemon/language/csharp_lexer.h"

#define CSHARP_NONE UINT32_MAX

/* A half open run of tokens. */
struct csharp_span {
    uint32_t start, end;
};

enum csharp_node_kind {
    CSHARP_NODE_NAMESPACE,
    CSHARP_NODE_TYPE,
    CSHARP_NODE_CONSTANT,
    CSHARP_NODE_MEMBER, /* any other member */
    CSHARP_NODE_ALIAS,
};

enum csharp_progress { CSHARP_UNTRIED, CSHARP_TRYING, CSHARP_TRIED };

/* Something that has a name inside something else. Node 0 is the global namespace. */
struct csharp_node {
    uint32_t parent, name, arity;
    uint32_t spelling; /* of a namespace: a token that spells it */
    uint8_t kind;      /* enum csharp_node_kind */
    uint8_t progress;  /* of base, target or value */
    bool placed;       /* can be found by its name */
    bool constant;     /* CONSTANT: value holds */
    bool partial;      /* TYPE: all its declarations are */
    uint32_t block;    /* TYPE, CONSTANT: where its names are looked up (CONSTANT: in parent) */
    struct csharp_span
        span;      /* TYPE: the first of its bases. CONSTANT: the expression. ALIAS: the target */
    uint32_t base; /* TYPE: node of that base. ALIAS: node of the target */
    uint32_t first_member, last_member, member_count; /* TYPE */
    struct csharp_text value;                         /* CONSTANT */
    void *result;                                     /* TYPE: for the caller, as NULL */
};

struct csharp_member_token {
    uint32_t token, next;
    enum csharp_member_kind kind;
};

/* A namespace block (or the file): what using directives it has. Block 0 is the file. */
struct csharp_block {
    uint32_t parent, node, first_using;
};

/* `using A.B;` and `using static A.B;`; aliases are nodes. */
struct csharp_using {
    uint32_t next, node;
    struct csharp_span name;
    uint8_t progress;
    bool is_static;
};

struct csharp_attribute_tokens {
    struct csharp_span name, arguments; /* arguments: between the parentheses */
    uint32_t end;
};

struct csharp_declaration {
    enum csharp_type_kind kind;
    uint32_t node, parent, block, depth; /* parent: the declaration around it, or CSHARP_NONE */
    uint32_t start, end;                 /* tokens, the end exclusive */
    uint32_t name;                       /* token, or CSHARP_NONE */
    uint32_t keyword;                    /* token */
    struct csharp_span modifiers, type_parameters;
    struct csharp_span attributes; /* in csharp_tree.attributes; classes and records only */
    void *result;                  /* for the caller, as NULL */
};

struct csharp_tree {
    struct csharp_tokens *tokens;
    struct csharp_arena *arena;
    struct csharp_node *nodes;
    struct csharp_member_token *members;
    struct csharp_block *blocks;
    struct csharp_using *usings;
    struct csharp_attribute_tokens *attributes;
    struct csharp_declaration *declarations;
    size_t node_count, member_count, block_count, using_count, attribute_count, declaration_count;
    size_t node_capacity, member_capacity, block_capacity, using_capacity, attribute_capacity,
        declaration_capacity;
    uint32_t *slots;
    size_t slot_count;
};

/*
 * Builds the tree from the tokens; all of it lies in arena. One pass with a stack of open
 * namespaces and types; statements and expressions are stepped over by their brackets.
 */
void csharp_parse(struct csharp_tree *tree, struct csharp_arena *arena,
                  struct csharp_tokens *tokens);

/* The node of that name in parent, or CSHARP_NONE. Aliases of a block: parent is
 * csharp_alias_scope(block). */
uint32_t csharp_tree_find(const struct csharp_tree *tree, uint32_t parent, uint32_t name,
                          uint32_t arity);

/* The same, added where there is none. Where the name stands for a thing of another kind already
   (which C# forbids), or there is no name, the new node is found by nobody. */
uint32_t csharp_tree_add(struct csharp_tree *tree, uint32_t parent, uint32_t name, uint32_t arity,
                         enum csharp_node_kind kind);

static inline uint32_t csharp_alias_scope(uint32_t block)
{
    return block | 0x80000000u;
}

#endif
