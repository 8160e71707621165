#ifndef COMPILER_LABEL_H
#define COMPILER_LABEL_H
/*
 * Names as a file has them (any bytes, NUL included), what they look like to people, and what they
 * stand for.
 */
#include "daemon/compiler/graph/graph.h"

/* How many bytes of a name are shown at most; the rest is an ellipsis. */
enum { LABEL_SHOWN = 512 };

bool label_equal(struct label a, struct label b);
/* Valid UTF-8 on one line: control characters, line separators and bytes that are no UTF-8 as \n,
 * \x07 …; at most shown bytes of the name, then "…". */
const char *label_text(struct arena *a, struct label label, size_t shown);
/* The label that has these very characters. */
struct label label_of(const char *text);

/* What names stand for in one list of nodes. Inner scopes see the outer ones' names. */
struct scope {
    struct arena *arena;
    const struct scope *outer;
    struct scope_entry *entries; /* a power of two of them */
    int count, room;
};

void scope_init(struct scope *s, struct arena *arena, const struct scope *outer);
/* The place of label's meaning in s itself, made (with NULL) where it is new. Valid until the next
 * call. */
void **scope_place(struct scope *s, struct label label, bool *is_new);
/* Looks in s, then outwards. false where nobody knows the label; *meaning may be NULL (known to be
 * left out). */
bool scope_find(const struct scope *s, struct label label, void **meaning);

#endif
