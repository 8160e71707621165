#include "daemon/language/model.h"

/* The encoding is that of LSP's default: the text is the daemon's own, and its client need not be
 * an editor. */
static struct json *range_json(const struct lsp_text *view, const struct compile_range *range)
{
    const struct lsp_position start = {(uint32_t)(range->line - 1), (uint32_t)(range->column - 1)};
    const struct lsp_position end = {(uint32_t)(range->end_line - 1),
                                     (uint32_t)(range->end_column - 1)};

    return lsp_range_json(lsp_text_range(view, lsp_text_offset(view, start, LSP_UTF32),
                                         lsp_text_offset(view, end, LSP_UTF32), LSP_UTF16));
}

static struct json *make(struct compile *compile, enum compile_status status, const char **why)
{
    struct lsp_text view = LSP_TEXT_EMPTY;
    struct json *result = NULL, *nodes;
    struct compile_node node;
    const char *text = NULL;
    size_t length = 0;

    (void)status;
    if (!compile_show(compile, 0, &text, &length)) {
        const struct diagnostics *diagnostics = compile_diagnostics(compile, 0);

        *why = diagnostics->count ? diagnostics->list[0].message : "the model cannot be read";
        return NULL;
    }
    if (lsp_text_set(&view, text, length) < 0)
        return NULL;
    result = json_new_object();
    nodes = json_new_array();
    for (int i = 0; compile_show_node(compile, 0, i, &node); i++) {
        struct json *entry = json_new_object();

        json_set_string(entry, "name", node.name);
        json_set_string(entry, "op", node.op);
        json_set(entry, "range", range_json(&view, &node.range));
        json_append(nodes, entry);
    }
    json_set_text(result, "text", text, length);
    json_set(result, "nodes", nodes);
    lsp_text_release(&view);
    return result;
}

/* onnxgpu/modelText: a model as text, one node a line, with the range of each node. */
void method_model_text(struct session *session, const struct request *request)
{
    model_request(session, request, make);
}
