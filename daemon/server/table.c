#include "daemon/server/table.h"

#include "daemon/server/memory.h"
#include <stdlib.h>
#include <string.h>

/* FNV-1a. */
static uint64_t hash_text(const char *text)
{
    uint64_t hash = 14695981039346656037u;

    for (; *text; text++)
        hash = (hash ^ (unsigned char)*text) * 1099511628211u;
    return hash ^ hash >> 32;
}

void table_release(struct table *table)
{
    for (size_t i = 0; i < table->capacity; i++)
        free(table->entries[i].key);
    free(table->entries);
    *table = (struct table){.moves = table->moves + 1};
}

/* The entry of key, or NULL. An entry that was taken out has a value of NULL and keeps its hash as
 * a stepping stone.
 */
static struct table_entry *find(const struct table *table, const char *key, uint64_t hash)
{
    if (table->capacity == 0)
        return NULL;
    for (size_t i = hash & (table->capacity - 1);; i = (i + 1) & (table->capacity - 1)) {
        struct table_entry *entry = &table->entries[i];

        if (!entry->key && !entry->hash)
            return NULL;
        if (entry->key && entry->hash == hash && strcmp(entry->key, key) == 0)
            return entry;
    }
}

static void insert(struct table *table, char *key, void *value, uint64_t hash)
{
    size_t i = hash & (table->capacity - 1);

    while (table->entries[i].key || table->entries[i].hash)
        i = (i + 1) & (table->capacity - 1);
    table->entries[i] = (struct table_entry){key, value, hash};
    table->count++;
    table->used++;
}

static void grow(struct table *table)
{
    struct table bigger = {.capacity = 16, .moves = table->moves + 1};

    while (bigger.capacity < (table->count + 1) * 2)
        bigger.capacity *= 2;
    bigger.entries = memory_new(bigger.capacity * sizeof *bigger.entries);
    for (size_t i = 0; i < table->capacity; i++)
        if (table->entries[i].key)
            insert(&bigger, table->entries[i].key, table->entries[i].value, table->entries[i].hash);
    free(table->entries);
    *table = bigger;
}

void *table_get(const struct table *table, const char *key)
{
    struct table_entry *entry = find(table, key, hash_text(key) | 1);

    return entry ? entry->value : NULL;
}

void *table_put(struct table *table, const char *key, void *value)
{
    uint64_t hash = hash_text(key) | 1; /* 0 marks a free place */
    struct table_entry *entry = find(table, key, hash);

    if (entry) {
        void *before = entry->value;

        entry->value = value;
        return before;
    }
    if ((table->used + 1) * 4 > table->capacity * 3)
        grow(table);
    insert(table, memory_text(key), value, hash);
    return NULL;
}

static void take_out(struct table *table, struct table_entry *entry)
{
    entry->key = NULL;
    entry->value = NULL;
    table->count--;
}

void *table_take(struct table *table, const char *key)
{
    struct table_entry *entry = find(table, key, hash_text(key) | 1);
    void *value = entry ? entry->value : NULL;

    if (entry) {
        free(entry->key);
        take_out(table, entry);
    }
    return value;
}

char *table_pop(struct table *table, size_t *at)
{
    struct table_entry *entry;
    char *key;

    if (!table->count)
        return NULL;
    /* What was put in behind the search is found the next time round. */
    do
        entry = &table->entries[(*at)++ & (table->capacity - 1)];
    while (!entry->key);
    key = entry->key;
    take_out(table, entry);
    /* A large table would be searched from end to end for a single entry. */
    if (!table->count)
        table_release(table);
    return key;
}

bool table_each(const struct table *table, size_t *at, const char **key, void **value)
{
    while (*at < table->capacity) {
        const struct table_entry *entry = &table->entries[(*at)++];

        if (entry->key) {
            if (key)
                *key = entry->key;
            *value = entry->value;
            return true;
        }
    }
    return false;
}

bool table_walk(const struct table *table, struct table_walk *walk, const char **key, void **value)
{
    if (walk->moves != table->moves)
        *walk = (struct table_walk){.moves = table->moves};
    return table_each(table, &walk->at, key, value);
}
