#ifndef PROTOCOL_JSON_H
#define PROTOCOL_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "protocol/buffer.h"
#include "protocol/message.h"

/*
 * JSON (RFC 8259), strictly: the whole text is one value with nothing after it, valid UTF-8 without
 * a byte order mark, at most JSON_DEPTH containers inside each other, surrogate escapes in pairs.
 * Where an object names a member twice, the last one counts, everywhere alike.
 *
 * A value is a `struct json *` whatever its type. Values read from a message are borrowed from the
 * tree; only the root is freed. All readers accept NULL and treat it as a value that is absent, so
 * that paths need no checks on the way:
 *
 *     const char *uri = json_string(json_member(params, "textDocument"), "uri");
 *
 * Any thread, one at a time for each tree.
 */

#define JSON_DEPTH 256
#define JSON_VALUES ((size_t)1 << 20) /* a tree takes some hundred bytes a value */

struct json;

enum json_type {
    JSON_ABSENT, /* a NULL pointer */
    JSON_NULL,
    JSON_BOOL,
    JSON_NUMBER,
    JSON_STRING,
    JSON_ARRAY,
    JSON_OBJECT,
};

struct json_error {
    size_t offset;       /* byte at which the text stops being JSON */
    const char *message; /* static; "out of memory" where it was that */
};

/* The tree of a text, or NULL with *error filled (may be NULL). Free it with json_free. Takes time
 * linear in length. Texts beyond INT_MAX bytes are refused. */
struct json *json_parse(const char *text, size_t length, struct json_error *error);

/* Frees a root and all below it. NULL is fine. */
void json_free(struct json *value);

/* --- reading ------------------------------------------------------------------------------- */

enum json_type json_type(const struct json *value);

/* A member of an object; NULL where there is none or it is no object. */
const struct json *json_member(const struct json *object, const char *name);

/* The same, but NULL unless the member is an array or an object, respectively. */
const struct json *json_array(const struct json *object, const char *name);
const struct json *json_object(const struct json *object, const char *name);

/* A member as a C string; NULL where absent, no string, or one with a zero byte inside. */
const char *json_string(const struct json *object, const char *name);

/* A member as an integer: `fallback` where absent, no number, not whole, or outside int64_t. */
int64_t json_int(const struct json *object, const char *name, int64_t fallback);

/* A member as a double: `fallback` where absent or no number. Beyond the range of double: infinite.
 */
double json_real(const struct json *object, const char *name, double fallback);

/* A member as a truth value: `fallback` where absent or neither true nor false. */
bool json_bool(const struct json *object, const char *name, bool fallback);

/* The same for a value itself, such as the element of an array. */
const char *json_value_string(const struct json *value);
bool json_value_int(const struct json *value, int64_t *out); /* false: as json_int's fallback */
bool json_value_bool(const struct json *value, bool fallback);

/* The bytes of a string, zero bytes included (always valid UTF-8); NULL where it is no string.
 * A zero byte that does not count follows. */
const char *json_value_text(const struct json *value, size_t *length);

/* Children of an array or object in the order of the text. For an object all of them, also members
 * that a later one of the same name overrides. */
size_t json_count(const struct json *value);
const struct json *json_first(const struct json *value);
const struct json *json_next(const struct json *child);
const char *json_name(const struct json *child); /* of a member; NULL for an element */

#define json_each(child, value)                                                                    \
    for (const struct json *child = json_first(value); child; child = json_next(child))

/*
 * The very bytes of a number or a string (quotes and escapes included) in the text that it was
 * parsed from, which the caller still has. NULL for other types and for values that were built.
 */
const char *json_raw(const struct json *value, const char *text, size_t *length);

/* --- building ------------------------------------------------------------------------------ */

/*
 * A tree is built without looking and checked once, when it is printed. Where memory is out a
 * constructor returns a value that stands for that (json_failed): it reads as absent, freeing it
 * does nothing, setting it or setting something in it marks the container, and json_print of any
 * tree with such a mark returns -ENOMEM. The setters take `value` whatever happens; a NULL value is
 * such a failure too, a NULL container only frees the value. To leave a member out, do not set it;
 * JSON's null is json_new_null().
 *
 * Strings may hold any bytes: what is no UTF-8 becomes U+FFFD, one a byte. Members stay in the
 * order in which they were set; setting a name twice gives it twice, which callers avoid.
 */
struct json *json_new_object(void);
struct json *json_new_array(void);
struct json *json_new_null(void);
struct json *json_new_bool(bool value);
struct json *json_new_int(int64_t value);       /* all digits */
struct json *json_new_real(double value);       /* shortest that reads back; else null */
struct json *json_new_string(const char *text); /* NULL text gives null */
struct json *json_new_text(const char *text, size_t length);
struct json *json_new_raw(const char *text, size_t length); /* JSON text, spliced in as it is */
/* JSON text too, but neither copied nor held by the tree: somebody holds it while the tree lives.
 */
struct json *json_new_shared(struct shared *text);

void json_set(struct json *object, const char *name, struct json *value);
void json_set_null(struct json *object, const char *name);
void json_set_bool(struct json *object, const char *name, bool value);
void json_set_int(struct json *object, const char *name, int64_t value);
void json_set_real(struct json *object, const char *name, double value);
void json_set_string(struct json *object, const char *name, const char *text);
void json_set_text(struct json *object, const char *name, const char *text, size_t length);
void json_set_raw(struct json *object, const char *name, const char *text, size_t length);
void json_append(struct json *array, struct json *value);
void json_append_string(struct json *array, const char *text);

/* Appends the text of a tree, without spaces. Equal trees print equal bytes. 0 or -ENOMEM, also for
 * a NULL, failed or marked tree; nothing is appended then. */
int json_print(struct buffer *out, const struct json *value);
/* The same to a message, which then holds the long shared texts instead of a copy. */
int json_write(struct message *out, const struct json *value);

/* An own copy of a tree, parsed or built, by the rules for building (json_raw does not know the
 * copy); of NULL, NULL. */
struct json *json_copy(const struct json *value);

/* True for what a constructor or json_copy returned without memory. */
bool json_failed(const struct json *value);

#endif
