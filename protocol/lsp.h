#ifndef PROTOCOL_LSP_H
#define PROTOCOL_LSP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "protocol/buffer.h"
#include "protocol/json.h"

/*
 * The types of LSP 3.17 that we use, and texts with positions in them.
 *
 * Inside the daemon a place in a text is a byte offset. In messages it is a line, counted from 0,
 * and a number of code units before it in that line; what a unit is was negotiated. Lines end at
 * `\n`,
 * `\r\n` or `\r`. A byte that is no UTF-8 counts one unit in every encoding.
 */

enum lsp_encoding { LSP_UTF16, LSP_UTF8, LSP_UTF32 }; /* UTF-16 is the default, hence 0 */

struct lsp_position {
    uint32_t line;
    uint32_t character;
};

struct lsp_range {
    struct lsp_position start;
    struct lsp_position end; /* exclusive */
};

/* "utf-16", "utf-8", "utf-32". */
const char *lsp_encoding_name(enum lsp_encoding encoding);

/* The encoding to use, from the params of `initialize`: the first that we know of
 * capabilities.general.positionEncodings, which lists them by the client's preference. */
enum lsp_encoding lsp_encoding_negotiate(const struct json *params);

/* --- texts --------------------------------------------------------------------------------- */

/* A text with the offsets at which its lines begin. Fields are for reading. */
struct lsp_text {
    struct buffer bytes;
    size_t *lines;     /* lines[0] is 0; ascending */
    size_t line_count; /* at least 1 once set */
    size_t line_capacity;
};

#define LSP_TEXT_EMPTY                                                                             \
    {                                                                                              \
        BUFFER_EMPTY, NULL, 0, 0                                                                   \
    }

void lsp_text_release(struct lsp_text *text);

/* Sets the whole text to a copy of `bytes`, which may be anything. 0, -ENOMEM, or -EFBIG beyond
 * 2^31 - 1 bytes; the text is as before then. */
int lsp_text_set(struct lsp_text *text, const char *bytes, size_t length);

/* Sets the whole text to that of another one. Errors as lsp_text_set. */
int lsp_text_copy(struct lsp_text *text, const struct lsp_text *from);

/* Replaces the bytes from `start` to `end` (clamped to the text). Errors as lsp_text_set. */
int lsp_text_replace(struct lsp_text *text, size_t start, size_t end, const char *bytes,
                     size_t length);

/* The offset of a position. Beyond the end of a line: the end of that line, before its terminator;
 * beyond the last line: the end of the text. Inside a character: the start of that character. */
size_t lsp_text_offset(const struct lsp_text *text, struct lsp_position position,
                       enum lsp_encoding encoding);

/* The position of an offset (clamped to the text). Inside a character: that of its start; inside a
 * line's terminator: the end of that line. */
struct lsp_position lsp_text_position(const struct lsp_text *text, size_t offset,
                                      enum lsp_encoding encoding);

struct lsp_range lsp_text_range(const struct lsp_text *text, size_t start, size_t end,
                                enum lsp_encoding encoding);

/*
 * Applies the `contentChanges` of textDocument/didChange, in their order: with a range a
 * replacement in the text that the changes before have left, without one the whole text. A range
 * whose end lies before its start is read the other way round. 0; -EINVAL where the array or one of
 * its elements has another shape (nothing is applied then); -ENOMEM or -EFBIG (the text is then no
 * longer the client's).
 */
int lsp_text_change(struct lsp_text *text, const struct json *changes, enum lsp_encoding encoding);

/* --- positions and ranges as JSON ---------------------------------------------------------- */

/* False where it has another shape. Numbers beyond uint32_t are clamped, negative ones refused. */
bool lsp_position_read(const struct json *value, struct lsp_position *position);
bool lsp_range_read(const struct json *value, struct lsp_range *range);

/* New values, by the rules of json.h for building. */
struct json *lsp_position_json(struct lsp_position position);
struct json *lsp_range_json(struct lsp_range range);

/* Below 0, 0, above 0: a before, at, after b. */
int lsp_position_compare(struct lsp_position a, struct lsp_position b);

/* --- diagnostics --------------------------------------------------------------------------- */

enum lsp_severity { LSP_ERROR = 1, LSP_WARNING = 2, LSP_INFORMATION = 3, LSP_HINT = 4 };

struct lsp_related {
    const char *uri;
    struct lsp_range range;
    const char *message;
};

/* All strings are borrowed. */
struct lsp_diagnostic {
    struct lsp_range range;
    enum lsp_severity severity;
    const char *code; /* "TUKI0110" */
    const char *message;
    const struct lsp_related *related;
    size_t related_count;
    struct json *data; /* taken; NULL: no data */
};

/* A Diagnostic, source "onnxgpu"; relatedInformation only where `related_information`, the client's
 * textDocument.publishDiagnostics.relatedInformation, is true and there is some. */
struct json *lsp_diagnostic_json(const struct lsp_diagnostic *diagnostic, bool related_information);

/* The params of textDocument/publishDiagnostics. `diagnostics` (an array) is taken; `version` below
 * 0 is left out. */
struct json *lsp_publish_params(const char *uri, int64_t version, struct json *diagnostics);

#endif
