#include "protocol/json.h"

#include <cJSON.h>
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "protocol/utf8.h"

/*
 * A `struct json` is a cJSON node. cJSON's own parser is not used, for it takes texts that are no
 * JSON (any control character as a space, invalid UTF-8, 01, trailing bytes) and loses what JSON
 * says: digits beyond a double's, numbers of 64 characters, strings behind \u0000. Its printer
 * stops at such a string too. So nodes hold a little more than cJSON puts there:
 *
 *   strings     type cJSON_String, valuestring the bytes (perhaps with zeros), valueint their
 * number numbers     type cJSON_Raw, valuestring their text spliced     type cJSON_Raw, valueint 1
 *   shared      the same with cJSON_IsReference, valuestring the struct shared
 *   containers  valueint 1 where something could not be set
 *   strings and numbers that were parsed: valuedouble their offset in the text, else below 0
 *
 * cJSON is left with its default allocator, so that memory may pass to and fro.
 */

static cJSON *node(const struct json *value)
{
    return (cJSON *)(void *)(uintptr_t)value;
}

static struct json *json(const cJSON *item)
{
    return (struct json *)(void *)(uintptr_t)item;
}

/* What constructors return without memory, for NULL means absent to many who take values. Nobody
 * writes to it, so that all threads can share it. */
static const cJSON failed = {.type = cJSON_Invalid};

bool json_failed(const struct json *value)
{
    return value == json(&failed);
}

/* For constructors: never NULL. */
static struct json *built(const cJSON *item)
{
    return json(item ? item : &failed);
}

static bool is_type(const struct json *value, int type)
{
    return value && (node(value)->type & 0xFF) == type;
}

static bool is_number(const struct json *value)
{
    return is_type(value, cJSON_Raw) && !node(value)->valueint;
}

/* --- parsing ------------------------------------------------------------------------------- */

struct parser {
    const char *text;
    size_t length;
    size_t at;
    int depth;
    size_t values;
    bool places; /* keep offsets for json_raw */
    struct json_error error;
};

static cJSON *parse_value(struct parser *parser);

static void *fail_at(struct parser *parser, size_t offset, const char *message)
{
    if (!parser->error.message) {
        parser->error.offset = offset;
        parser->error.message = message;
    }
    return NULL;
}

static void *fail(struct parser *parser, const char *message)
{
    return fail_at(parser, parser->at, message);
}

/* The byte at the parser's place; 0 at the end (and for a zero byte, which is an error anywhere).
 */
static char peek(const struct parser *parser)
{
    return parser->at < parser->length ? parser->text[parser->at] : '\0';
}

static void skip_blanks(struct parser *parser)
{
    while (parser->at < parser->length) {
        char c = parser->text[parser->at];

        if (c != ' ' && c != '\t' && c != '\n' && c != '\r')
            return;
        parser->at++;
    }
}

static bool read_hex4(const struct parser *parser, size_t at, uint32_t *code)
{
    *code = 0;
    if (parser->length - at < 4)
        return false;
    for (size_t i = 0; i < 4; i++) {
        char c = parser->text[at + i];
        uint32_t digit;

        if (c >= '0' && c <= '9')
            digit = (uint32_t)(c - '0');
        else if (c >= 'a' && c <= 'f')
            digit = (uint32_t)(c - 'a') + 10;
        else if (c >= 'A' && c <= 'F')
            digit = (uint32_t)(c - 'A') + 10;
        else
            return false;
        *code = *code << 4 | digit;
    }
    return true;
}

/* Reads the escape whose backslash is at the parser's place into out[4]; its size, 0 on failure. */
static size_t parse_escape(struct parser *parser, char *out)
{
    static const char names[] = "\"\\/bfnrt";
    static const char values[] = "\"\\/\b\f\n\r\t";
    size_t start = parser->at++;
    const char *name;
    uint32_t code, low;

    if (peek(parser) != 'u') {
        name = peek(parser) ? strchr(names, peek(parser)) : NULL;
        if (!name) {
            fail_at(parser, start, "unknown escape");
            return 0;
        }
        parser->at++;
        *out = values[name - names];
        return 1;
    }
    if (!read_hex4(parser, parser->at + 1, &code)) {
        fail_at(parser, start, "\\u without four hexadecimal digits");
        return 0;
    }
    parser->at += 5;
    if (code >= 0xD800 && code <= 0xDFFF) {
        if (code > 0xDBFF || parser->length - parser->at < 6 || parser->text[parser->at] != '\\' ||
            parser->text[parser->at + 1] != 'u' || !read_hex4(parser, parser->at + 2, &low) ||
            low < 0xDC00 || low > 0xDFFF) {
            fail_at(parser, start, "half of a surrogate pair");
            return 0;
        }
        parser->at += 6;
        code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
    }
    return utf8_encode(code, out);
}

/* The place of the quote that ends the string which holds `from`; the text's length or more where
 * there is none. */
static size_t find_quote(const struct parser *parser, size_t from)
{
    size_t at = from;

    while (at < parser->length) {
        const char *quote = memchr(parser->text + at, '"', parser->length - at);
        size_t end, escapes = 0;

        if (!quote)
            return parser->length;
        end = (size_t)(quote - parser->text);
        while (end - escapes > from && parser->text[end - escapes - 1] == '\\')
            escapes++;
        if (escapes % 2 == 0)
            return end;
        at = end + 1;
    }
    return at;
}

#define EACH_BYTE 0x0101010101010101u

/* Copies bytes that stand for themselves, eight at a time, up to the first that may not. */
static size_t copy_plain(const char *from, size_t length, char *to)
{
    size_t at = 0;

    for (uint64_t word; at + sizeof word <= length; at += sizeof word) {
        uint64_t escape;

        memcpy(&word, from + at, sizeof word);
        escape = word ^ (EACH_BYTE * '\\');
        if ((((word - EACH_BYTE * 0x20) & ~word) | ((escape - EACH_BYTE) & ~escape) | word) &
            EACH_BYTE * 0x80)
            break;
        memcpy(to + at, &word, sizeof word);
    }
    return at;
}

/* The bytes of the string at the parser's place, in memory of their own. */
static char *parse_bytes(struct parser *parser, size_t *length)
{
    size_t start = ++parser->at, end = start, used = 0;
    char *bytes;

    /* Decoding never makes a string longer, so its end says how much memory it may need. */
    end = find_quote(parser, end);
    if (end >= parser->length)
        return fail_at(parser, start - 1, "string without end");
    bytes = cJSON_malloc(end - start + 1);
    if (!bytes)
        return fail(parser, "out of memory");

    while (parser->at < end) {
        char c;
        size_t size;

        /* Documents are large, and mostly ASCII that needs no decoding. */
        size = copy_plain(parser->text + parser->at, end - parser->at, bytes + used);
        used += size;
        parser->at += size;
        if (parser->at == end)
            break;
        c = parser->text[parser->at];

        if (c == '\\') {
            size = parse_escape(parser, bytes + used);
            if (!size)
                goto fail;
            used += size;
            continue;
        }
        if ((unsigned char)c < 0x20) {
            fail(parser, "control character in a string");
            goto fail;
        }
        if ((unsigned char)c < 0x80) {
            bytes[used++] = c;
            parser->at++;
            continue;
        }
        size = utf8_decode(parser->text + parser->at, end - parser->at, NULL);
        if (!size) {
            fail(parser, "invalid UTF-8");
            goto fail;
        }
        memcpy(bytes + used, parser->text + parser->at, size);
        used += size;
        parser->at += size;
    }
    parser->at = end + 1;
    bytes[used] = '\0';
    *length = used;
    return bytes;

fail:
    cJSON_free(bytes);
    return NULL;
}

/* A leaf that owns `bytes`, which may be NULL after a failure. */
static cJSON *new_leaf(int type, char *bytes, size_t length, double offset)
{
    cJSON *item = bytes ? cJSON_CreateNull() : NULL;

    if (!item) {
        cJSON_free(bytes);
        return NULL;
    }
    item->type = type;
    item->valuestring = bytes;
    item->valueint = type == cJSON_String ? (int)length : 0;
    item->valuedouble = offset;
    return item;
}

static double place(const struct parser *parser)
{
    return parser->places ? (double)parser->at : -1.0;
}

static cJSON *parse_string(struct parser *parser)
{
    double offset = place(parser);
    size_t length = 0;
    char *bytes = parse_bytes(parser, &length);
    cJSON *item = new_leaf(cJSON_String, bytes, length, offset);

    return item ? item : fail(parser, "out of memory");
}

static bool skip_digits(struct parser *parser)
{
    size_t start = parser->at;

    while (peek(parser) >= '0' && peek(parser) <= '9')
        parser->at++;
    return parser->at > start;
}

static cJSON *parse_number(struct parser *parser)
{
    double offset = place(parser);
    size_t start = parser->at;
    char *text;
    cJSON *item;

    if (peek(parser) == '-')
        parser->at++;
    if (peek(parser) == '0')
        parser->at++;
    else if (!skip_digits(parser))
        return fail_at(parser, start, "value expected");
    if (peek(parser) == '.') {
        parser->at++;
        if (!skip_digits(parser))
            return fail(parser, "digit expected");
    }
    if (peek(parser) == 'e' || peek(parser) == 'E') {
        parser->at++;
        if (peek(parser) == '+' || peek(parser) == '-')
            parser->at++;
        if (!skip_digits(parser))
            return fail(parser, "digit expected");
    }
    text = cJSON_malloc(parser->at - start + 1);
    if (text) {
        memcpy(text, parser->text + start, parser->at - start);
        text[parser->at - start] = '\0';
    }
    item = new_leaf(cJSON_Raw, text, 0, offset);
    return item ? item : fail(parser, "out of memory");
}

static cJSON *parse_word(struct parser *parser)
{
    static const struct {
        const char *word;
        size_t length;
        int type;
    } words[] = {
        {"true", 4, cJSON_True},
        {"false", 5, cJSON_False},
        {"null", 4, cJSON_NULL},
    };

    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        cJSON *item;

        if (parser->length - parser->at < words[i].length ||
            memcmp(parser->text + parser->at, words[i].word, words[i].length) != 0)
            continue;
        item = cJSON_CreateNull();
        if (!item)
            return fail(parser, "out of memory");
        item->type = words[i].type;
        parser->at += words[i].length;
        return item;
    }
    return fail(parser, "value expected");
}

/* The name of a member, with its colon. A zero byte in it becomes U+FFFD: names are C strings, and
 * cut off there it would be another name. */
static char *parse_name(struct parser *parser)
{
    size_t length = 0;
    char *bytes;

    skip_blanks(parser);
    if (peek(parser) != '"')
        return fail(parser, "name expected");
    bytes = parse_bytes(parser, &length);
    if (bytes && memchr(bytes, '\0', length)) {
        struct buffer name = BUFFER_EMPTY;

        for (size_t i = 0; i < length; i++)
            if (bytes[i])
                buffer_append_byte(&name, bytes[i]);
            else
                buffer_append_text(&name, "\xEF\xBF\xBD");
        cJSON_free(bytes);
        bytes = buffer_take(&name, NULL);
        if (!bytes)
            return fail(parser, "out of memory");
    }
    if (!bytes)
        return NULL;
    skip_blanks(parser);
    if (peek(parser) != ':') {
        cJSON_free(bytes);
        return fail(parser, "`:` expected");
    }
    parser->at++;
    return bytes;
}

static cJSON *parse_container(struct parser *parser, int type, char close)
{
    cJSON *container = NULL;
    char *name = NULL;

    if (parser->depth == JSON_DEPTH)
        return fail(parser, "nested too deeply");
    container = cJSON_CreateNull();
    if (!container)
        return fail(parser, "out of memory");
    container->type = type;
    parser->depth++;
    parser->at++;
    skip_blanks(parser);
    if (peek(parser) == close)
        goto done;
    for (;;) {
        cJSON *child;

        if (type == cJSON_Object) {
            name = parse_name(parser);
            if (!name)
                goto fail;
        }
        child = parse_value(parser);
        if (!child)
            goto fail;
        child->string = name;
        name = NULL;
        cJSON_AddItemToArray(container, child);
        skip_blanks(parser);
        if (peek(parser) == close)
            goto done;
        if (peek(parser) != ',') {
            fail(parser, type == cJSON_Object ? "`,` or `}` expected" : "`,` or `]` expected");
            goto fail;
        }
        parser->at++;
    }
done:
    parser->at++;
    parser->depth--;
    return container;
fail:
    cJSON_free(name);
    cJSON_Delete(container);
    return NULL;
}

static cJSON *parse_value(struct parser *parser)
{
    skip_blanks(parser);
    if (parser->values++ == JSON_VALUES)
        return fail(parser, "too many values");
    switch (peek(parser)) {
    case '{':
        return parse_container(parser, cJSON_Object, '}');
    case '[':
        return parse_container(parser, cJSON_Array, ']');
    case '"':
        return parse_string(parser);
    case 't':
    case 'f':
    case 'n':
        return parse_word(parser);
    default:
        return parse_number(parser);
    }
}

static struct json *parse_text(const char *text, size_t length, bool places,
                               struct json_error *error)
{
    struct parser parser = {.text = text, .length = length, .places = places};
    cJSON *root = NULL;

    if (length > INT_MAX) {
        fail(&parser, "text too long");
        goto out;
    }
    root = parse_value(&parser);
    if (!root)
        goto out;
    skip_blanks(&parser);
    if (parser.at < length) {
        fail(&parser, "text after the value");
        cJSON_Delete(root);
        root = NULL;
    }
out:
    if (error)
        *error = parser.error;
    return json(root);
}

struct json *json_parse(const char *text, size_t length, struct json_error *error)
{
    return parse_text(text, length, true, error);
}

void json_free(struct json *value)
{
    if (!json_failed(value))
        cJSON_Delete(node(value));
}

/* --- reading ------------------------------------------------------------------------------- */

enum json_type json_type(const struct json *value)
{
    if (!value)
        return JSON_ABSENT;
    switch (node(value)->type & 0xFF) {
    case cJSON_NULL:
        return JSON_NULL;
    case cJSON_False:
    case cJSON_True:
        return JSON_BOOL;
    case cJSON_String:
        return JSON_STRING;
    case cJSON_Array:
        return JSON_ARRAY;
    case cJSON_Object:
        return JSON_OBJECT;
    default:
        return is_number(value) ? JSON_NUMBER : JSON_ABSENT;
    }
}

const struct json *json_member(const struct json *object, const char *name)
{
    const struct json *found = NULL;

    if (!is_type(object, cJSON_Object))
        return NULL;
    json_each(child, object) if (strcmp(node(child)->string, name) == 0) found = child;
    return found;
}

const struct json *json_array(const struct json *object, const char *name)
{
    const struct json *value = json_member(object, name);

    return is_type(value, cJSON_Array) ? value : NULL;
}

const struct json *json_object(const struct json *object, const char *name)
{
    const struct json *value = json_member(object, name);

    return is_type(value, cJSON_Object) ? value : NULL;
}

const char *json_string(const struct json *object, const char *name)
{
    return json_value_string(json_member(object, name));
}

int64_t json_int(const struct json *object, const char *name, int64_t fallback)
{
    int64_t number;

    return json_value_int(json_member(object, name), &number) ? number : fallback;
}

double json_real(const struct json *object, const char *name, double fallback)
{
    const struct json *value = json_member(object, name);

    return is_number(value) ? strtod(node(value)->valuestring, NULL) : fallback;
}

bool json_bool(const struct json *object, const char *name, bool fallback)
{
    return json_value_bool(json_member(object, name), fallback);
}

const char *json_value_text(const struct json *value, size_t *length)
{
    if (!is_type(value, cJSON_String)) {
        *length = 0;
        return NULL;
    }
    *length = (size_t)node(value)->valueint;
    return node(value)->valuestring;
}

const char *json_value_string(const struct json *value)
{
    size_t length;
    const char *text = json_value_text(value, &length);

    return text && !memchr(text, '\0', length) ? text : NULL;
}

bool json_value_int(const struct json *value, int64_t *out)
{
    const char *text;
    double real;

    if (!is_number(value))
        return false;
    text = node(value)->valuestring;
    if (!strpbrk(text, ".eE")) {
        long long number;

        errno = 0;
        number = strtoll(text, NULL, 10);
        if (errno)
            return false;
        *out = number;
        return true;
    }
    /* Some writers print whole numbers as 1.0; they are whole as long as a double can tell. */
    real = strtod(text, NULL);
    if (!(fabs(real) <= 9007199254740992.0) || floor(real) != real)
        return false;
    *out = (int64_t)real;
    return true;
}

bool json_value_bool(const struct json *value, bool fallback)
{
    return is_type(value, cJSON_True) || (!is_type(value, cJSON_False) && fallback);
}

size_t json_count(const struct json *value)
{
    size_t count = 0;

    json_each(child, value) count += child != NULL;
    return count;
}

const struct json *json_first(const struct json *value)
{
    return value ? json(node(value)->child) : NULL;
}

const struct json *json_next(const struct json *child)
{
    return child ? json(node(child)->next) : NULL;
}

const char *json_name(const struct json *child)
{
    return child ? node(child)->string : NULL;
}

const char *json_raw(const struct json *value, const char *text, size_t *length)
{
    const char *start, *end;

    *length = 0;
    if ((!is_number(value) && !is_type(value, cJSON_String)) || node(value)->valuedouble < 0)
        return NULL;
    start = text + (size_t)node(value)->valuedouble;
    if (is_number(value)) {
        end = start + strlen(node(value)->valuestring);
    } else {
        end = start + 1;
        while (*end != '"')
            end += *end == '\\' ? 2 : 1;
        end++;
    }
    *length = (size_t)(end - start);
    return start;
}

/* --- building ------------------------------------------------------------------------------ */

struct json *json_new_object(void)
{
    return built(cJSON_CreateObject());
}

struct json *json_new_array(void)
{
    return built(cJSON_CreateArray());
}

struct json *json_new_null(void)
{
    return built(cJSON_CreateNull());
}

struct json *json_new_bool(bool value)
{
    return built(cJSON_CreateBool(value));
}

struct json *json_new_int(int64_t value)
{
    char digits[24], *at = digits + sizeof digits, *text;
    uint64_t rest = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
    size_t length;

    do
        *--at = (char)('0' + rest % 10);
    while (rest /= 10);
    if (value < 0)
        *--at = '-';
    length = (size_t)(digits + sizeof digits - at);
    text = cJSON_malloc(length + 1);
    if (text) {
        memcpy(text, at, length);
        text[length] = '\0';
    }
    return built(new_leaf(cJSON_Raw, text, 0, -1));
}

struct json *json_new_real(double value)
{
    struct buffer text = BUFFER_EMPTY;

    if (!isfinite(value))
        return json_new_null();
    for (int digits = 15; digits <= 17; digits++) {
        buffer_clear(&text);
        buffer_printf(&text, "%.*g", digits, value);
        if (text.failed || strtod(text.data, NULL) == value)
            break;
    }
    return built(new_leaf(cJSON_Raw, buffer_take(&text, NULL), 0, -1));
}

/* The text as valid UTF-8, in memory of its own; NULL: there was none. */
static char *valid_copy(const char *text, size_t length, size_t *size)
{
    struct buffer bytes = BUFFER_EMPTY;
    char *copy;

    *size = length;
    if (!utf8_valid(text, length)) {
        utf8_repair(&bytes, text, length);
        return buffer_take(&bytes, size);
    }
    copy = cJSON_malloc(length + 1);
    if (copy) {
        if (length)
            memcpy(copy, text, length);
        copy[length] = '\0';
    }
    return copy;
}

struct json *json_new_text(const char *text, size_t length)
{
    size_t size;
    char *data = valid_copy(text, length, &size);

    if (size > INT_MAX) {
        free(data);
        return built(NULL);
    }
    return built(new_leaf(cJSON_String, data, size, -1));
}

struct json *json_new_string(const char *text)
{
    return text ? json_new_text(text, strlen(text)) : json_new_null();
}

struct json *json_new_raw(const char *text, size_t length)
{
    struct buffer bytes = BUFFER_EMPTY;
    cJSON *item;

    buffer_append(&bytes, text, length);
    item = new_leaf(cJSON_Raw, buffer_take(&bytes, NULL), 0, -1);
    if (item)
        item->valueint = 1;
    return built(item);
}

struct json *json_new_shared(struct shared *text)
{
    cJSON *item = text ? cJSON_CreateNull() : NULL;

    if (item) {
        item->type = cJSON_Raw | cJSON_IsReference;
        item->valuestring = (char *)text;
        item->valueint = 1;
        item->valuedouble = -1;
    }
    return built(item);
}

static void attach(struct json *container, char *name, struct json *value)
{
    if (!container || json_failed(container) || !value || json_failed(value)) {
        if (container && !json_failed(container))
            node(container)->valueint = 1;
        json_free(value);
        free(name);
        return;
    }
    node(value)->string = name;
    cJSON_AddItemToArray(node(container), node(value));
}

void json_set(struct json *object, const char *name, struct json *value)
{
    size_t size;
    char *copy = valid_copy(name, strlen(name), &size);

    if (!copy) {
        json_free(value);
        value = NULL;
    }
    attach(object, copy, value);
}

void json_set_null(struct json *object, const char *name)
{
    json_set(object, name, json_new_null());
}

void json_set_bool(struct json *object, const char *name, bool value)
{
    json_set(object, name, json_new_bool(value));
}

void json_set_int(struct json *object, const char *name, int64_t value)
{
    json_set(object, name, json_new_int(value));
}

void json_set_real(struct json *object, const char *name, double value)
{
    json_set(object, name, json_new_real(value));
}

void json_set_string(struct json *object, const char *name, const char *text)
{
    json_set(object, name, json_new_string(text));
}

void json_set_text(struct json *object, const char *name, const char *text, size_t length)
{
    json_set(object, name, json_new_text(text, length));
}

void json_set_raw(struct json *object, const char *name, const char *text, size_t length)
{
    json_set(object, name, json_new_raw(text, length));
}

void json_append(struct json *array, struct json *value)
{
    attach(array, NULL, value);
}

void json_append_string(struct json *array, const char *text)
{
    json_append(array, json_new_string(text));
}

/* --- printing ------------------------------------------------------------------------------ */

/* How many of the bytes from the first on need no escape, looking at eight at a time. */
static size_t plain(const char *text, size_t length)
{
    size_t at = 0;

    for (uint64_t word; at + sizeof word <= length; at += sizeof word) {
        uint64_t quote, escape;

        memcpy(&word, text + at, sizeof word);
        quote = word ^ (EACH_BYTE * '"');
        escape = word ^ (EACH_BYTE * '\\');
        /* Bytes above 0x7F may stop it, too: they are looked at one by one. */
        if ((((word - EACH_BYTE * 0x20) & ~word) | ((quote - EACH_BYTE) & ~quote) |
             ((escape - EACH_BYTE) & ~escape)) &
            EACH_BYTE * 0x80)
            break;
    }
    return at;
}

static void print_text(struct buffer *out, const char *text, size_t length)
{
    static const char names[] = "\b\f\n\r\t\"\\";
    static const char values[] = "bfnrt\"\\";
    size_t done = 0;

    buffer_append_byte(out, '"');
    for (size_t i = 0; i < length; i++) {
        const char *name;
        unsigned char c;

        i += plain(text + i, length - i);
        if (i == length)
            break;
        c = (unsigned char)text[i];
        if (c >= 0x20 && c != '"' && c != '\\')
            continue;
        buffer_append(out, text + done, i - done);
        done = i + 1;
        name = c ? strchr(names, text[i]) : NULL;
        if (name)
            buffer_append(out, (char[2]){'\\', values[name - names]}, 2);
        else
            buffer_printf(out, "\\u%04x", c);
    }
    buffer_append(out, text + done, length - done);
    buffer_append_byte(out, '"');
}

/* Where a tree is printed to. */
struct printer {
    struct buffer *out;
    struct message *message; /* that out belongs to; NULL: shared texts are copied */
};

static void print_shared(struct printer *printer, struct shared *text)
{
    size_t length;
    const char *bytes = shared_bytes(text, &length);

    if (printer->message)
        message_append_shared(printer->message, text);
    else
        buffer_append(printer->out, bytes, length);
}

/* False where the tree is marked as incomplete. */
static bool print_value(struct printer *printer, const struct json *value)
{
    struct buffer *out = printer->out;
    const cJSON *item = node(value);
    bool object = is_type(value, cJSON_Object);

    switch (item->type & 0xFF) {
    case cJSON_True:
        buffer_append_text(out, "true");
        return true;
    case cJSON_False:
        buffer_append_text(out, "false");
        return true;
    case cJSON_Raw:
        if (item->type & cJSON_IsReference)
            print_shared(printer, (struct shared *)(void *)item->valuestring);
        else
            buffer_append_text(out, item->valuestring);
        return true;
    case cJSON_String:
        print_text(out, item->valuestring, (size_t)item->valueint);
        return true;
    case cJSON_Array:
    case cJSON_Object:
        break;
    default:
        buffer_append_text(out, "null");
        return true;
    }
    if (item->valueint)
        return false;
    buffer_append_byte(out, object ? '{' : '[');
    json_each(child, value)
    {
        if (child != json_first(value))
            buffer_append_byte(out, ',');
        if (object) {
            print_text(out, json_name(child), strlen(json_name(child)));
            buffer_append_byte(out, ':');
        }
        if (!print_value(printer, child))
            return false;
    }
    buffer_append_byte(out, object ? '}' : ']');
    return true;
}

static int print(struct printer *printer, const struct json *value)
{
    struct buffer *out = printer->out;
    size_t start = out->length, cuts = printer->message ? printer->message->cut_count : 0;

    if (value && !json_failed(value) && print_value(printer, value) && !out->failed)
        return 0;
    out->length = start;
    if (out->data)
        out->data[start] = '\0';
    while (printer->message && printer->message->cut_count > cuts)
        shared_drop(printer->message->cuts[--printer->message->cut_count].text);
    return -ENOMEM;
}

int json_print(struct buffer *out, const struct json *value)
{
    struct printer printer = {.out = out};

    return print(&printer, value);
}

int json_write(struct message *out, const struct json *value)
{
    struct printer printer = {.out = &out->bytes, .message = out};

    return print(&printer, value);
}

struct json *json_copy(const struct json *value)
{
    struct buffer text = BUFFER_EMPTY;
    struct json *copy = NULL;

    if (!value)
        return NULL;
    if (json_print(&text, value) == 0)
        copy = parse_text(text.data, text.length, false, NULL);
    buffer_release(&text);
    return built(node(copy));
}
