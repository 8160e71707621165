#include "daemon/cost.h"

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

struct json *cost_json(const struct compile_cost *cost)
{
    struct json *root = json_new_object(), *layers = json_new_array();
    struct json *operators = json_new_object();

    json_set_int(root, "steps", cost->steps);
    json_set_int(root, "fetches", cost->fetches);
    json_set_int(root, "macs", cost->macs);
    json_set_int(root, "bufferBytes", cost->buffer_bytes);
    json_set_int(root, "weightBytes", cost->weight_bytes);
    json_set_int(root, "nodes", cost->nodes);
    for (int i = 0; i < cost->operator_count; i++)
        json_set_int(operators, cost->operators[i].op, cost->operators[i].count);
    json_set(root, "operators", operators);
    for (int i = 0; i < cost->layer_count; i++)
        json_append(layers, layer_json(&cost->layers[i]));
    json_set(root, "layers", layers);
    return root;
}
