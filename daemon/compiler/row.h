#ifndef COMPILER_ROW_H
#define COMPILER_ROW_H
/*
 * Bytes of a cache row: numbers and texts one after the other. A reader never reads outside,
 * whatever the row holds: after the first field that is not there, everything reads as 0 and "" and
 * row_good() is false.
 */
#include "daemon/compiler/graph/hash.h"
#include "daemon/compiler/strbuf.h"

void row_put(struct strbuf *s, uint64_t number);
void row_put_text(struct strbuf *s, const char *text);
void row_put_bytes(struct strbuf *s, const void *bytes, size_t size);
void row_put_hash(struct strbuf *s, struct hash hash);

struct row {
    const char *bytes; /* borrowed */
    size_t size, at;
    bool bad;
};
uint64_t row_get(struct row *r);
/* A count of things that take at least one byte each; bad where the row is too short for them. */
int row_get_count(struct row *r);
/* NUL-terminated, in arena. */
const char *row_get_text(struct row *r, struct arena *arena);
const char *row_get_bytes(struct row *r, struct arena *arena, size_t *size);
struct hash row_get_hash(struct row *r);
/* Everything was there, and nothing is left. */
bool row_good(const struct row *r);

#endif
