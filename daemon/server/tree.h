#ifndef DAEMON_SERVER_TREE_H
#define DAEMON_SERVER_TREE_H
/*
 * From a path to a pointer, and from a folder to all that lies below it, without a look at the
 * rest. Paths are absolute and canonical; they are copied, values belong to the caller. One thread
 * at a time. A zeroed tree is an empty one.
 */
#include "daemon/server/table.h"

struct tree {
    struct table nodes; /* struct tree_node, of tree.c: every path with a value, and its folders */
    size_t count;       /* of values */
};

/* Frees all but the values. */
void tree_release(struct tree *tree);
/* NULL where there is none. */
void *tree_get(const struct tree *tree, const char *path);
/* Returns the value that was there before, or NULL. value may not be NULL. */
void *tree_put(struct tree *tree, const char *path, void *value);
/* Takes the value out and returns it; NULL where there is none. */
void *tree_take(struct tree *tree, const char *path);
/* Takes out the value of folder or of something below it; NULL: there is none left. */
void *tree_pop(struct tree *tree, const char *folder);
/* The path of folder or of something below it that has a value, borrowed until that is taken out;
 * NULL: there is none. */
const char *tree_first(const struct tree *tree, const char *folder);
/* The paths with values from folder on, folder among them, in no order: count of them, borrowed
 * until the tree is changed; an array to be freed. */
const char **tree_below(const struct tree *tree, const char *folder, size_t *count);
/* Whether that is a look at more than so many paths, with and without values. */
bool tree_is_large(const struct tree *tree, const char *folder, size_t most);
/* The paths with values of the whole tree, as table_walk(). */
bool tree_walk(const struct tree *tree, struct table_walk *walk, const char **path);

#endif
