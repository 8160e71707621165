#include "protocol/lsp.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    enum lsp_encoding encoding;
    const char *name;
} encodings[] = {
    {LSP_UTF16, "utf-16"},
    {LSP_UTF8, "utf-8"},
    {LSP_UTF32, "utf-32"},
};

const char *lsp_encoding_name(enum lsp_encoding encoding)
{
    for (size_t i = 0; i < sizeof(encodings) / sizeof(encodings[0]); i++)
        if (encodings[i].encoding == encoding)
            return encodings[i].name;
    return encodings[0].name;
}

enum lsp_encoding lsp_encoding_negotiate(const struct json *params)
{
    const struct json *general = json_member(json_member(params, "capabilities"), "general");

    json_each(value, json_array(general, "positionEncodings"))
    {
        const char *name = json_value_string(value);

        for (size_t i = 0; name && i < sizeof(encodings) / sizeof(encodings[0]); i++)
            if (strcmp(encodings[i].name, name) == 0)
                return encodings[i].encoding;
    }
    return LSP_UTF16;
}

/* --- positions and ranges as JSON ---------------------------------------------------------- */

static bool read_unsigned(const struct json *object, const char *name, uint32_t *out)
{
    int64_t number;

    if (!json_value_int(json_member(object, name), &number) || number < 0)
        return false;
    *out = number > UINT32_MAX ? UINT32_MAX : (uint32_t)number;
    return true;
}

bool lsp_position_read(const struct json *value, struct lsp_position *position)
{
    return read_unsigned(value, "line", &position->line) &&
           read_unsigned(value, "character", &position->character);
}

bool lsp_range_read(const struct json *value, struct lsp_range *range)
{
    return lsp_position_read(json_member(value, "start"), &range->start) &&
           lsp_position_read(json_member(value, "end"), &range->end);
}

struct json *lsp_position_json(struct lsp_position position)
{
    struct json *value = json_new_object();

    json_set_int(value, "line", position.line);
    json_set_int(value, "character", position.character);
    return value;
}

struct json *lsp_range_json(struct lsp_range range)
{
    struct json *value = json_new_object();

    json_set(value, "start", lsp_position_json(range.start));
    json_set(value, "end", lsp_position_json(range.end));
    return value;
}

int lsp_position_compare(struct lsp_position a, struct lsp_position b)
{
    if (a.line != b.line)
        return a.line < b.line ? -1 : 1;
    return (a.character > b.character) - (a.character < b.character);
}

/* --- diagnostics --------------------------------------------------------------------------- */

static struct json *related_json(const struct lsp_related *related)
{
    struct json *value = json_new_object();
    struct json *location = json_new_object();

    json_set_string(location, "uri", related->uri);
    json_set(location, "range", lsp_range_json(related->range));
    json_set(value, "location", location);
    json_set_string(value, "message", related->message);
    return value;
}

struct json *lsp_diagnostic_json(const struct lsp_diagnostic *diagnostic, bool related_information)
{
    struct json *value = json_new_object();

    json_set(value, "range", lsp_range_json(diagnostic->range));
    json_set_int(value, "severity", (int64_t)diagnostic->severity);
    json_set_string(value, "code", diagnostic->code);
    json_set_string(value, "source", "onnxgpu");
    json_set_string(value, "message", diagnostic->message);
    if (related_information && diagnostic->related_count) {
        struct json *list = json_new_array();

        for (size_t i = 0; i < diagnostic->related_count; i++)
            json_append(list, related_json(&diagnostic->related[i]));
        json_set(value, "relatedInformation", list);
    }
    if (diagnostic->data)
        json_set(value, "data", diagnostic->data);
    return value;
}

struct json *lsp_publish_params(const char *uri, int64_t version, struct json *diagnostics)
{
    struct json *params = json_new_object();

    json_set_string(params, "uri", uri);
    if (version >= 0)
        json_set_int(params, "version", version);
    json_set(params, "diagnostics", diagnostics);
    return params;
}
