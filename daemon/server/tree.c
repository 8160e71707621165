#include "daemon/server/tree.h"

#include "daemon/server/memory.h"
#include "daemon/server/path.h"
#include <stdlib.h>
#include <string.h>

/* A folder that nothing has a value in is not there. */
struct tree_node {
    char *path;
    void *value; /* NULL: there is one further below */
    struct tree_node *parent, *child, *next, *before;
};

static void node_free(struct tree_node *node)
{
    free(node->path);
    free(node);
}

void tree_release(struct tree *tree)
{
    void *node;
    size_t at = 0;

    while (table_each(&tree->nodes, &at, NULL, &node))
        node_free(node);
    table_release(&tree->nodes);
    tree->count = 0;
}

void *tree_get(const struct tree *tree, const char *path)
{
    const struct tree_node *node = table_get(&tree->nodes, path);

    return node ? node->value : NULL;
}

static void hang(struct tree_node *node, struct tree_node *parent)
{
    node->parent = parent;
    node->next = parent->child;
    if (parent->child)
        parent->child->before = node;
    parent->child = node;
}

static struct tree_node *node_of(struct tree *tree, const char *path)
{
    struct tree_node *first = NULL, *last = NULL, *node;
    char *here = memory_text(path);

    /* From the path upward, until something is there. */
    while (!(node = table_get(&tree->nodes, here))) {
        node = memory_new(sizeof *node);
        node->path = here;
        table_put(&tree->nodes, here, node);
        if (last)
            hang(last, node);
        first = first ? first : node;
        last = node;
        if (strcmp(here, "/") == 0)
            return first;
        here = path_folder(here);
    }
    free(here);
    if (last)
        hang(last, node);
    return first ? first : node;
}

void *tree_put(struct tree *tree, const char *path, void *value)
{
    struct tree_node *node = node_of(tree, path);
    void *before = node->value;

    tree->count += !before;
    node->value = value;
    return before;
}

static void *take(struct tree *tree, struct tree_node *node)
{
    void *value = node->value;

    node->value = NULL;
    tree->count--;
    while (node && !node->value && !node->child) {
        struct tree_node *parent = node->parent;

        if (node->next)
            node->next->before = node->before;
        if (node->before)
            node->before->next = node->next;
        else if (parent)
            parent->child = node->next;
        table_take(&tree->nodes, node->path);
        node_free(node);
        node = parent;
    }
    return value;
}

void *tree_take(struct tree *tree, const char *path)
{
    struct tree_node *node = table_get(&tree->nodes, path);

    return node && node->value ? take(tree, node) : NULL;
}

static struct tree_node *first(const struct tree *tree, const char *folder)
{
    struct tree_node *node = table_get(&tree->nodes, folder);

    while (node && !node->value)
        node = node->child;
    return node;
}

const char *tree_first(const struct tree *tree, const char *folder)
{
    const struct tree_node *node = first(tree, folder);

    return node ? node->path : NULL;
}

void *tree_pop(struct tree *tree, const char *folder)
{
    struct tree_node *node = first(tree, folder);

    return node ? take(tree, node) : NULL;
}

/* The one that follows in top; NULL: none. */
static const struct tree_node *after(const struct tree_node *node, const struct tree_node *top)
{
    if (node->child)
        return node->child;
    while (node != top && !node->next)
        node = node->parent;
    return node == top ? NULL : node->next;
}

const char **tree_below(const struct tree *tree, const char *folder, size_t *count)
{
    const struct tree_node *top = table_get(&tree->nodes, folder);
    const char **paths = NULL;

    *count = 0;
    for (const struct tree_node *node = top; node; node = after(node, top))
        if (node->value) {
            paths = memory_grow(paths, *count, sizeof *paths);
            paths[(*count)++] = node->path;
        }
    return paths;
}

bool tree_is_large(const struct tree *tree, const char *folder, size_t most)
{
    const struct tree_node *top = table_get(&tree->nodes, folder);
    size_t count = 0;

    for (const struct tree_node *node = top; node && count <= most; node = after(node, top))
        count++;
    return count > most;
}

bool tree_walk(const struct tree *tree, struct table_walk *walk, const char **path)
{
    void *value;

    while (table_walk(&tree->nodes, walk, path, &value)) {
        const struct tree_node *node = value;

        if (node->value)
            return true;
    }
    return false;
}
