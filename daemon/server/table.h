#ifndef DAEMON_SERVER_TABLE_H
#define DAEMON_SERVER_TABLE_H
/*
 * From a text to a pointer. Keys are copied, values belong to the caller. One thread at a time. A
 * zeroed table is an empty one. The order of table_each() is nobody's promise: what leaves the
 * process is sorted.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct table {
    struct table_entry {
        char *key;
        void *value;
        uint64_t hash;
    } * entries;
    size_t capacity;    /* a power of two, or 0 */
    size_t count, used; /* used: with the places of entries that were taken out */
    size_t moves;       /* how often the entries were put elsewhere */
};

/* Goes through a table while others change it. A zeroed one begins. */
struct table_walk {
    size_t at, moves;
};

/* Frees the keys. */
void table_release(struct table *table);
/* NULL where there is none. */
void *table_get(const struct table *table, const char *key);
/* Returns the value that was there before, or NULL. value may not be NULL. */
void *table_put(struct table *table, const char *key, void *value);
/* Takes the entry out and returns its value; NULL where there is none. */
void *table_take(struct table *table, const char *key);
/* Takes an entry out, one after the other if called again with the same *at (0 in the beginning),
 * whatever is put in meanwhile. Its key, to be freed; NULL where there is none. */
char *table_pop(struct table *table, size_t *at);
/* `size_t at = 0; while (table_each(table, &at, &key, &value))`; the entry just given may be taken
 * out meanwhile, nothing may be put in. key may be NULL. */
bool table_each(const struct table *table, size_t *at, const char **key, void **value);
/* The same where anything may be put in and taken out between the calls: what is there all the
 * while comes once or more. */
bool table_walk(const struct table *table, struct table_walk *walk, const char **key, void **value);

#endif
