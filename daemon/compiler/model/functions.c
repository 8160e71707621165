#include "daemon/compiler/model/functions.h"
#include <string.h>

struct function {
    const Onnx__Function *proto;
    struct scope imports;
    bool imported; /* imports are read, once */
    bool valid;    /* … and in range */
    bool active;   /* being inlined */
};

/* Names may hold any byte, so their lengths keep them apart. */
static struct label key(struct arena *a, ProtobufCBinaryData domain, ProtobufCBinaryData name,
                        ProtobufCBinaryData overload)
{
    ProtobufCBinaryData parts[] = {domain, name, overload};
    struct strbuf text;

    if (label_equal(label_from(domain), label_of("ai.onnx")))
        parts[0].len = 0;
    strbuf_init(&text, a);
    for (int i = 0; i < 3; i++) {
        strbuf_printf(&text, "%zu:", parts[i].len);
        if (parts[i].len)
            strbuf_add_bytes(&text, parts[i].data, parts[i].len);
    }
    return (struct label){text.text, text.length};
}

void functions_init(struct builder *b)
{
    const Onnx__Model *m = b->model;

    scope_init(&b->functions, b->scratch, NULL);
    for (size_t i = 0; i < m->n_functions; i++) {
        const Onnx__Function *proto = m->functions[i];
        struct function *f = NEW(b->scratch, struct function);
        bool is_new;
        void **place = scope_place(
            &b->functions, key(b->scratch, proto->domain, proto->name, proto->overload), &is_new);

        f->proto = proto;
        if (is_new)
            *place = f;
        else
            build_report(b, NULL, TUKI0105, "the function %s is defined twice",
                         label_text(&b->c->arena, label_from(proto->name), LABEL_SHOWN));
    }
}

struct function *function_find(const struct builder *b, const Onnx__Node *node)
{
    struct arena_mark mark = arena_mark(b->scratch);
    void *found = NULL;

    if (b->functions.count)
        scope_find(&b->functions, key(b->scratch, node->domain, node->op_type, node->overload),
                   &found);
    arena_rewind(b->scratch, mark);
    return found;
}

/* What references to attributes mean inside f: the call's own, then f's defaults for those that it
 * leaves out. */
static void bind_attributes(struct builder *b, const struct call *call, struct body *body,
                            const Onnx__Function *f)
{
    struct place place = build_place(call);
    struct attribute *given, *defaults, *bound;
    int given_count, default_count, count;

    given = build_attributes(b, call->body, &place, call->proto->n_attribute,
                             call->proto->attribute, &given_count);
    defaults =
        build_attributes(b, body, &place, f->n_attribute_proto, f->attribute_proto, &default_count);
    bound = NEW_ARRAY(b->scratch, given_count + default_count, struct attribute);
    for (count = 0; count < given_count; count++)
        bound[count] = given[count];
    for (int i = 0; i < default_count; i++) {
        bool is_given = false;

        for (int k = 0; k < given_count; k++)
            is_given |= !strcmp(given[k].name, defaults[i].name);
        if (!is_given)
            bound[count++] = defaults[i];
    }
    body->bound = bound;
    body->bound_count = count;
}

static void bind_inputs(struct builder *b, const struct call *call, struct body *body,
                        const Onnx__Function *f)
{
    struct place place = build_place(call);

    for (size_t i = 0; i < f->n_input; i++) {
        bool is_new;
        void **meaning = scope_place(&body->scope, label_from(f->input[i]), &is_new);

        if (!is_new)
            build_report(b, &place, TUKI0105, "its function defines the input %s twice",
                         label_text(&b->c->arena, label_from(f->input[i]), LABEL_SHOWN));
        else
            *meaning = i < (size_t)call->input_count ? call->inputs[i] : NULL;
    }
}

void function_inline(struct builder *b, const struct call *call, struct function *f)
{
    const Onnx__Function *proto = f->proto;
    struct place place = build_place(call);
    struct owed *owed;
    struct body *body;

    if (f->active) {
        build_report(b, &place, TUKI0104, "the function %s calls itself", call->op_type);
        goto fault;
    }
    if ((size_t)call->input_count > proto->n_input ||
        (size_t)call->output_count > proto->n_output) {
        build_report(
            b, &place, TUKI0106, "it has %d inputs and %d outputs; the function %s has %zu and %zu",
            call->input_count, call->output_count, call->op_type, proto->n_input, proto->n_output);
        goto fault;
    }
    if (!build_afford(b, call, proto->n_node, proto->node))
        goto fault;
    if (!f->imported) {
        f->imported = true;
        scope_init(&f->imports, b->scratch, NULL);
        f->valid = build_imports(b, &f->imports, proto->n_opset_import, proto->opset_import);
    }
    if (!f->valid)
        goto fault;
    f->active = true;
    body = build_body(b, call, NULL, &f->imports);
    body->is_function = true;
    bind_inputs(b, call, body, proto);
    bind_attributes(b, call, body, proto);
    owed = NEW_ARRAY(b->scratch, proto->n_output, struct owed);
    for (size_t i = 0; i < proto->n_output; i++)
        owed[i] = (struct owed){.label = label_from(proto->output[i]),
                                .value = i < (size_t)call->output_count ? call->outputs[i] : NULL};
    build_nodes(b, body, proto->n_node, proto->node, owed, (int)proto->n_output);
    build_pay(b, body, call, owed, (int)proto->n_output, "function");
    build_records(b, body, proto->n_value_info, proto->value_info);
    f->active = false;
    return;
fault:
    build_poison(call);
}
