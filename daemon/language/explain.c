#include "daemon/language/model.h"

static struct json *layer_json(const struct compile_layer *layer)
{
    struct json *entry = json_new_object(), *fused = json_new_array();

    for (int i = 0; i < layer->fused_count; i++)
        json_append_string(fused, layer->fused[i]);
    json_set_string(entry, "name", layer->name);
    json_set_string(entry, "op", layer->op);
    if (*layer->part)
        json_set_string(entry, "part", layer->part);
    json_set(entry, "fused", fused);
    json_set_string(entry, "kernel", layer->kernel);
    json_set_int(entry, "steps", layer->steps);
    json_set_int(entry, "fetches", layer->fetches);
    json_set_int(entry, "macs", layer->macs);
    json_set_int(entry, "width", layer->width);
    json_set_int(entry, "height", layer->height);
    json_set_string(entry, "layout", layer->layout);
    return entry;
}

static struct json *make(struct compile *compile, enum compile_status status, const char **why)
{
    const struct diagnostics *diagnostics = compile_diagnostics(compile, 0);
    const struct compile_cost *cost;
    struct json *result, *layers, *operators;

    if (status != COMPILE_OK) {
        *why = "the model is refused";
        for (int i = diagnostics->count; i-- > 0;)
            if (diagnostic_info(diagnostics->list[i].code)->severity == SEVERITY_ERROR)
                *why = diagnostics->list[i].message;
        return NULL;
    }
    cost = compile_explain(compile);
    if (!cost) {
        *why = compile_why(compile);
        return NULL;
    }
    result = json_new_object();
    layers = json_new_array();
    operators = json_new_object();
    json_set_int(result, "steps", cost->steps);
    json_set_int(result, "fetches", cost->fetches);
    json_set_int(result, "macs", cost->macs);
    json_set_int(result, "bufferBytes", cost->buffer_bytes);
    json_set_int(result, "weightBytes", cost->weight_bytes);
    json_set_int(result, "nodes", cost->nodes);
    for (int i = 0; i < cost->operator_count; i++)
        json_set_int(operators, cost->operators[i].op, cost->operators[i].count);
    json_set(result, "operators", operators);
    for (int i = 0; i < cost->layer_count; i++)
        json_append(layers, layer_json(&cost->layers[i]));
    json_set(result, "layers", layers);
    return result;
}

/* onnxgpu/explain: what one evaluation costs, by layer and in all. */
void method_explain(struct session *session, const struct request *request)
{
    model_request(session, request, make);
}
