#include "daemon/compiler/model/build.h"
#include "daemon/compiler/model/constant.h"
#include "daemon/compiler/model/control.h"
#include "daemon/compiler/model/functions.h"
#include <stdarg.h>
#include <string.h>

enum {
    OLDEST_OPSET = 7,
    NEWEST_OPSET = 26,
    NAME_INSIDE = 128, /* bytes of a name, and of what stands before it, that inlined bodies show */
};

static void report(struct builder *b, const struct place *place, enum diagnostic_code code,
                   const char *advice, const char *detail, va_list arguments)
{
    struct strbuf text;

    b->stopped |= (code >= TUKI0101 && code <= TUKI0105) || code == TUKI0107;
    if (++b->reports > MOST_REPORTS)
        return;
    strbuf_init(&text, &b->c->arena);
    strbuf_vprintf(&text, detail, arguments);
    diagnose(b->c, place, code, advice, "%s", text.text);
}

void build_report(struct builder *b, const struct place *place, enum diagnostic_code code,
                  const char *detail, ...)
{
    va_list arguments;

    va_start(arguments, detail);
    report(b, place, code, NULL, detail, arguments);
    va_end(arguments);
}

void build_advise(struct builder *b, const struct place *place, enum diagnostic_code code,
                  const char *advice, const char *detail, ...)
{
    va_list arguments;

    va_start(arguments, detail);
    report(b, place, code, advice, detail, arguments);
    va_end(arguments);
}

struct place build_place(const struct call *call)
{
    return (struct place){
        .kind = PLACE_LAYER, .index = call->position, .layer = call->name, .op = call->op_type};
}

void build_poison(const struct call *call)
{
    for (int i = 0; i < call->output_count; i++)
        if (call->outputs[i])
            call->outputs[i]->poisoned = true;
}

static const char *shown(struct builder *b, struct label label)
{
    return label_text(&b->c->arena, label, LABEL_SHOWN);
}

/* ---- opsets ---- */

static struct label domain_label(ProtobufCBinaryData domain)
{
    struct label label = label_from(domain);

    return label_equal(label, label_of("ai.onnx")) ? label_of("") : label;
}

bool build_imports(struct builder *b, struct scope *imports, size_t count,
                   Onnx__OperatorSetId **list)
{
    bool good = true;

    for (size_t i = 0; i < count; i++) {
        struct label domain = domain_label(list[i]->domain);
        int64_t *version = NEW(b->scratch, int64_t);
        bool is_new;

        *version = list[i]->version;
        *scope_place(imports, domain, &is_new) = version;
        if (!domain.length && (*version < OLDEST_OPSET || *version > NEWEST_OPSET)) {
            build_report(b, NULL, TUKI0103, "it is of opset %lld; %d to %d are supported",
                         (long long)*version, OLDEST_OPSET, NEWEST_OPSET);
            good = false;
        }
    }
    return good;
}

/* The opset of domain in body, -1 where it is not imported. */
static int64_t opset_of(const struct body *body, struct label domain)
{
    void *version = NULL;

    return scope_find(body->imports, domain, &version) ? *(int64_t *)version : -1;
}

int64_t build_opset(const struct body *body)
{
    return opset_of(body, label_of(""));
}

/* ---- types ---- */

bool build_type(const Onnx__TypeInfo *info, enum element_type *type, struct shape *shape,
                size_t *axes)
{
    const Onnx__TypeInfo__TensorType *t = info ? info->tensor_type : NULL;
    int64_t dims[MAX_AXES];

    *type = TYPE_UNKNOWN;
    *shape = shape_unknown;
    *axes = 0;
    if (info && !t &&
        (info->sequence_type || info->map_type || info->optional_type || info->sparse_tensor_type))
        return false;
    if (!t)
        return true;
    *type = (enum element_type)t->elem_type;
    if (!t->shape)
        return true;
    *axes = t->shape->n_dim;
    if (*axes > MAX_AXES)
        return true;
    for (size_t i = 0; i < *axes; i++)
        dims[i] = t->shape->dim[i]->has_dim_value ? t->shape->dim[i]->dim_value : -1;
    *shape = shape_of((int)*axes, dims);
    return true;
}

const char *build_kind(const Onnx__TypeInfo *info)
{
    return info->sequence_type   ? "a sequence"
           : info->optional_type ? "an optional value"
           : info->map_type      ? "a map"
                                 : "a sparse tensor";
}

void build_no_tensor(struct builder *b, const struct place *place, const char *what)
{
    build_advise(b, place, TUKI0115,
                 "Export with tensors of float32 as the model's inputs and outputs", "it is %s",
                 what);
}

void build_records(struct builder *b, struct body *body, size_t count, Onnx__ValueInfo **infos)
{
    (void)b;
    for (size_t i = 0; i < count; i++) {
        struct scope own = body->scope;
        struct value *v;
        enum element_type type;
        struct shape shape;
        void *meaning = NULL;
        size_t axes;

        own.outer = NULL;
        if (!scope_find(&own, label_from(infos[i]->name), &meaning) || !meaning)
            continue;
        v = meaning;
        if (!build_type(infos[i]->type, &type, &shape, &axes))
            continue;
        /* The file's graph knows better than a function that was written once for all calls. */
        if (shape.axes >= 0 && (!*body->prefix || v->recorded.axes < 0))
            v->recorded = shape;
        if (!body->is_function && !v->recorded_type)
            v->recorded_type = type;
        if (!v->type)
            v->type = type;
    }
}

/* ---- bodies ---- */

static const char *inner_name(struct builder *b, const char *prefix, const char *name)
{
    return arena_printf(&b->c->arena, "%s/%s",
                        label_text(b->scratch, label_of(prefix), NAME_INSIDE), name);
}

struct body *build_body(struct builder *b, const struct call *call, const struct scope *outer,
                        const struct scope *imports)
{
    struct body *body = NEW(b->scratch, struct body);

    *body = (struct body){.imports = imports,
                          .bound = call->body->bound,
                          .bound_count = call->body->bound_count,
                          .is_function = call->body->is_function,
                          .position = call->position,
                          .depth = call->body->depth + 1};
    body->prefix = *call->name ? call->name
                               : arena_printf(b->scratch, "%s #%d", call->op_type, call->position);
    scope_init(&body->scope, b->scratch, outer);
    return body;
}

bool build_afford(struct builder *b, const struct call *call, size_t count, Onnx__Node **nodes)
{
    struct place place = build_place(call);

    if (call->body->depth == DEEPEST_BODY) {
        build_report(b, &place, TUKI0101, "functions and branches lie more than %d deep",
                     (int)DEEPEST_BODY);
        return false;
    }
    b->inlined++;
    for (size_t i = 0; i < count && b->inlined <= LARGEST_INLINING; i++)
        b->inlined += 1 + (int64_t)(nodes[i]->n_input + nodes[i]->n_output + nodes[i]->n_attribute);
    if (b->inlined <= LARGEST_INLINING)
        return true;
    if (!b->too_large)
        build_report(b, &place, TUKI0101, "its functions unfold to more than can be held");
    b->too_large = true;
    return false;
}

static const char *value_name(struct builder *b, const struct body *body, struct label label)
{
    if (!*body->prefix)
        return shown(b, label);
    return inner_name(b, body->prefix, label_text(b->scratch, label, NAME_INSIDE));
}

static struct value *new_value(struct builder *b, const struct body *body, struct label label)
{
    struct value *v = graph_value(b->graph, value_name(b, body, label), TYPE_UNKNOWN, NULL);

    /* Inlined values have a label of their own: the function's names are not the file's. */
    if (!*body->prefix)
        v->label = label;
    return v;
}

static void make_constant(struct value *v, struct tensor *t)
{
    v->constant = t;
    v->type = t->type;
    v->shape = t->shape;
}

static void add_initializer(struct builder *b, struct body *body, struct label label,
                            struct tensor *t, enum diagnostic_code code, const char *why)
{
    struct value *v = new_value(b, body, label);
    bool is_new;
    void **meaning = scope_place(&body->scope, label, &is_new);

    if (!t) {
        build_report(b, NULL, code, "initializer %s: %s", v->name, why);
        v->poisoned = true;
    } else {
        make_constant(v, t);
    }
    if (!is_new)
        build_report(b, NULL, TUKI0105, "value %s is defined by two initializers", v->name);
    *meaning = v;
}

void build_initializers(struct builder *b, struct body *body, const Onnx__Graph *graph)
{
    enum diagnostic_code code = TUKI0107;
    const char *why = "";

    for (size_t i = 0; i < graph->n_initializer; i++) {
        const Onnx__Tensor *t = graph->initializer[i];
        struct tensor *made;

        context_poll(b->c);
        made = unpack_tensor(&b->unpacker, t, &code, &why);
        add_initializer(b, body, label_from(t->name), made, code, why);
    }
    for (size_t i = 0; i < graph->n_sparse_initializer; i++) {
        const Onnx__SparseTensor *t = graph->sparse_initializer[i];
        struct label label = t->values ? label_from(t->values->name) : label_of("");
        struct tensor *made;

        context_poll(b->c);
        made = unpack_sparse(&b->unpacker, t, &code, &why);
        add_initializer(b, body, label, made, code, why);
    }
}

/* ---- attributes ---- */

/* Numbers of AttributeProto.AttributeType beyond those that a node can have here. */
enum { PROTO_SPARSE_TENSOR = 11, PROTO_LAST = 14 };

/* Files before IR 2 leave the type out. */
static int type_of(const Onnx__Attribute *p)
{
    return p->has_type && p->type ? p->type
           : p->has_f             ? ATTRIBUTE_FLOAT
           : p->has_i             ? ATTRIBUTE_INT
           : p->has_s             ? ATTRIBUTE_STRING
           : p->t                 ? ATTRIBUTE_TENSOR
           : p->g                 ? ATTRIBUTE_GRAPH
           : p->n_floats          ? ATTRIBUTE_FLOATS
           : p->n_ints            ? ATTRIBUTE_INTS
           : p->n_strings         ? ATTRIBUTE_STRINGS
           : p->sparse_tensor     ? PROTO_SPARSE_TENSOR
                                  : 0;
}

/* Terminated, for comparing with names of our own. */
static struct label terminated(struct builder *b, ProtobufCBinaryData bytes)
{
    char *copy = arena_alloc(&b->c->arena, bytes.len + 1);

    if (bytes.len)
        memcpy(copy, bytes.data, bytes.len);
    return (struct label){copy, bytes.len};
}

static bool read_attribute(struct builder *b, const struct place *place, const Onnx__Attribute *p,
                           struct attribute *a)
{
    enum diagnostic_code code = TUKI0107;
    const char *why = "";
    struct label *strings;
    int type = type_of(p);

    a->type = (enum attribute_type)type;
    switch (type) {
    case ATTRIBUTE_FLOAT:
        a->f = p->f;
        return true;
    case ATTRIBUTE_INT:
        a->i = p->i;
        return true;
    case ATTRIBUTE_STRING:
        a->s = terminated(b, p->s);
        return true;
    case ATTRIBUTE_TENSOR:
    case PROTO_SPARSE_TENSOR:
        a->type = ATTRIBUTE_TENSOR;
        if (type == PROTO_SPARSE_TENSOR && p->sparse_tensor)
            a->tensor = unpack_sparse(&b->unpacker, p->sparse_tensor, &code, &why);
        else if (type == ATTRIBUTE_TENSOR && p->t)
            a->tensor = unpack_tensor(&b->unpacker, p->t, &code, &why);
        else
            why = "it holds no tensor";
        if (!a->tensor)
            build_report(b, place, code, "attribute %s: %s", a->name, why);
        return a->tensor;
    case ATTRIBUTE_FLOATS:
        a->count = (int)p->n_floats;
        a->floats = p->floats;
        return true;
    case ATTRIBUTE_INTS:
        a->count = (int)p->n_ints;
        a->ints = p->ints;
        return true;
    case ATTRIBUTE_STRINGS:
        a->count = (int)p->n_strings;
        a->strings = strings = NEW_ARRAY(&b->c->arena, p->n_strings, struct label);
        for (size_t i = 0; i < p->n_strings; i++)
            strings[i] = terminated(b, p->strings[i]);
        return true;
    default:
        /* Bodies are read where they are built (control.h); types and lists of tensors belong to
         * operators that are not supported. */
        if (type < 1 || type > PROTO_LAST)
            build_report(b, place, TUKI0106, "attribute %s has no type, or an unknown one",
                         a->name);
        return false;
    }
}

static const struct attribute *find_bound(const struct body *body, const char *name)
{
    for (int i = 0; i < body->bound_count; i++)
        if (!strcmp(body->bound[i].name, name))
            return &body->bound[i];
    return NULL;
}

struct attribute *build_attributes(struct builder *b, const struct body *body,
                                   const struct place *place, size_t count,
                                   Onnx__Attribute **protos, int *made)
{
    struct attribute *list;

    *made = 0;
    if (count > MOST_ATTRIBUTES) {
        build_report(b, place, TUKI0106, "it has %zu attributes", count);
        return NULL;
    }
    list = NEW_ARRAY(&b->c->arena, count, struct attribute);
    for (size_t i = 0; i < count; i++) {
        const Onnx__Attribute *p = protos[i];
        struct attribute *a = &list[*made];
        bool good = true;

        *a = (struct attribute){.name = shown(b, label_from(p->name))};
        for (int k = 0; k < *made && good; k++)
            if (!strcmp(list[k].name, a->name)) {
                build_report(b, place, TUKI0106, "it has the attribute %s twice", a->name);
                good = false;
            }
        if (!good)
            continue;
        if (p->ref_attr_name.len && body->is_function) {
            const struct attribute *bound =
                find_bound(body, shown(b, label_from(p->ref_attr_name)));

            /* One that the call leaves out is left out here too. */
            if (bound) {
                const char *name = a->name;

                *a = *bound;
                a->name = name;
                ++*made;
            }
        } else if (p->ref_attr_name.len) {
            build_report(b, place, TUKI0106,
                         "attribute %s refers to an attribute of a function, and lies in none",
                         a->name);
        } else if (read_attribute(b, place, p, a)) {
            ++*made;
        }
    }
    return list;
}

/* ---- nodes ---- */

struct node *build_node(struct builder *b, const struct call *call)
{
    struct node *n = NEW(&b->c->arena, struct node);

    n->name = call->name;
    n->op_type = call->op_type;
    n->domain = call->domain;
    n->position = call->position;
    graph_append(b->graph, n);
    n->output_count = call->output_count;
    n->outputs = call->outputs;
    for (int i = 0; i < n->output_count; i++)
        if (n->outputs[i]) {
            n->outputs[i]->producer = n;
            n->outputs[i]->producer_output = i;
        }
    node_pad_inputs(n, call->input_count);
    for (int i = 0; i < call->input_count; i++)
        node_set_input(n, i, call->inputs[i]);
    return n;
}

void build_refuse(struct builder *b, const struct call *call)
{
    struct place place = build_place(call);
    const struct operator_refusal *r = operator_refusal(call->op_type);

    build_advise(
        b, &place, r->code, r->advice, "%s",
        r->reason ? r->reason
                  : arena_printf(&b->c->arena, "the operator %s is not supported", call->op_type));
}

/* What to do about operators of domains that exporters write. */
static const struct {
    const char *domain, *op, *advice; /* op NULL: any */
} foreign[] = {
    {"com.microsoft", NULL,
     "Take the model as it was before ONNX Runtime optimised it, or export with standard ONNX "
     "operators"},
    {"ai.onnx.ml", "ZipMap", "Export without it (skl2onnx: options={'zipmap': False})"},
    {"ai.onnx.ml", "Scaler", "Export it as Sub and Div, or scale in the script"},
    {"ai.onnx.ml", "Normalizer", "Export it as LpNormalization, or normalise in the script"},
    {"ai.onnx.ml", NULL,
     "Export a neural network (in PyTorch, say): this one is of classic machine learning, without "
     "standard ONNX operators"},
    {"ai.onnx.contrib", NULL,
     "Prepare texts and images in the script, and export the model from the numbers on"},
    {"org.pytorch.aten", NULL,
     "Export with a newer opset (PyTorch: opset_version), or without this operation of PyTorch"},
};

static const char *foreign_advice(const struct call *call)
{
    for (size_t i = 0; i < sizeof foreign / sizeof *foreign; i++)
        if (!strcmp(foreign[i].domain, call->domain) &&
            (!foreign[i].op || !strcmp(foreign[i].op, call->op_type)))
            return foreign[i].advice;
    return NULL;
}

/* Why operator_find() has no row. */
static void report_operator(struct builder *b, const struct call *call, int64_t opset)
{
    struct place place = build_place(call);
    struct arena *a = &b->c->arena;
    const struct operator* other = NULL;

    if (*call->domain) {
        build_advise(b, &place, TUKI0111, foreign_advice(call),
                     "%s is an operator of the domain %s", call->op_type, call->domain);
        return;
    }
    for (const struct operator* op = operator_rows(); op->name; op++)
        if (!*op->domain && !strcmp(op->name, call->op_type))
            other = op;
    if (other && other->since > opset)
        build_advise(b, &place, TUKI0110,
                     arena_printf(a, "Export with opset %d or later, or in a form that avoids it",
                                  other->since),
                     "%s exists from opset %d on; the model is of opset %lld", call->op_type,
                     other->since, (long long)opset);
    else if (other)
        build_advise(b, &place, TUKI0110, operator_refusal(call->op_type)->advice,
                     "%s exists up to opset %d; the model is of opset %lld", call->op_type,
                     other->until, (long long)opset);
    else
        build_refuse(b, call);
}

static bool check_arity(struct builder *b, const struct call *call, const struct operator* op,
                        int opset)
{
    struct place place = build_place(call);
    struct operator_arity arity = operator_arity(op, opset);
    const char *where = arity.op ? arena_printf(&b->c->arena, " at opset %d", opset) : "";
    int wanted = call->output_count;

    while (wanted && !call->outputs[wanted - 1])
        wanted--;
    for (int i = 0; i < arity.min_inputs; i++)
        if (i >= call->input_count || !call->inputs[i]) {
            build_report(b, &place, TUKI0106, "its input %d is missing; %s needs %d%s", i,
                         call->op_type, arity.min_inputs, where);
            return false;
        }
    /* Of a list of operands each is one. (A loop's begins behind what may be left out.) */
    for (int i = arity.min_inputs;
         arity.max_inputs < 0 && arity.min_inputs && i < call->input_count; i++)
        if (!call->inputs[i]) {
            build_report(b, &place, TUKI0106,
                         "its input %d is missing; %s takes any number, but none may be left out%s",
                         i, call->op_type, where);
            return false;
        }
    if (arity.max_inputs >= 0 && call->input_count > arity.max_inputs) {
        build_report(b, &place, TUKI0106, "it has %d inputs; %s takes at most %d%s",
                     call->input_count, call->op_type, arity.max_inputs, where);
        return false;
    }
    if (call->output_count < op->min_outputs ||
        (arity.max_outputs >= 0 && wanted > arity.max_outputs)) {
        build_report(b, &place, TUKI0106, "it has %d outputs; %s has %s %d%s", wanted,
                     call->op_type, call->output_count < op->min_outputs ? "at least" : "at most",
                     call->output_count < op->min_outputs ? op->min_outputs : arity.max_outputs,
                     where);
        return false;
    }
    return true;
}

static const char *const type_names[] = {
    [ATTRIBUTE_FLOAT] = "a float",       [ATTRIBUTE_INT] = "an int",
    [ATTRIBUTE_STRING] = "a string",     [ATTRIBUTE_TENSOR] = "a tensor",
    [ATTRIBUTE_GRAPH] = "a graph",       [ATTRIBUTE_FLOATS] = "a list of floats",
    [ATTRIBUTE_INTS] = "a list of ints", [ATTRIBUTE_STRINGS] = "a list of strings",
};

static bool is_there(const struct operator_attribute *row, const struct node *n)
{
    return row->since <= n->opset && (!row->until || n->opset <= row->until);
}

/* Whether a has a place in n's operator, whose rows begin at first; of that type. */
static bool check_attribute(struct builder *b, const struct place *place, const struct node *n,
                            const struct operator_attribute *first, const struct attribute *a)
{
    const struct operator_attribute *row = first, *other = NULL;

    for (; row->op && !strcmp(row->op, n->op_type); row++)
        if (!strcmp(row->name, a->name)) {
            if (is_there(row, n))
                break;
            other = row;
        }
    if (!row->op || strcmp(row->op, n->op_type)) {
        if (other)
            build_report(b, place, TUKI0106,
                         "it has the attribute %s, which %s has %s opset %d; the model is of opset "
                         "%d",
                         a->name, n->op_type, other->since > n->opset ? "from" : "up to",
                         other->since > n->opset ? other->since : other->until, n->opset);
        else
            build_report(b, place, TUKI0106, "it has the attribute %s, which %s does not have",
                         a->name, n->op_type);
        return false;
    }
    if (row->type != a->type)
        build_report(b, place, TUKI0106, "its attribute %s is %s and has to be %s", a->name,
                     type_names[a->type], type_names[row->type]);
    else if (row->flag && a->i != 0 && a->i != 1)
        build_report(b, place, TUKI0106, "its attribute %s is %lld instead of 0 or 1", a->name,
                     (long long)a->i);
    else
        return true;
    return false;
}

/* Attributes that operators of the standard domain do not have, have of another type, or need. */
static bool check_attributes(struct builder *b, const struct place *place, const struct node *n)
{
    const struct operator_attribute *first = operator_attributes();
    bool good = true;

    while (first->op && strcmp(first->op, n->op_type))
        first++;
    for (int i = 0; i < n->attribute_count; i++)
        good = check_attribute(b, place, n, first, &n->attributes[i]) && good;
    for (const struct operator_attribute *row = first; row->op && !strcmp(row->op, n->op_type);
         row++)
        if (row->required && is_there(row, n) && !node_find(n, row->name)) {
            build_report(b, place, TUKI0106, "its attribute %s is missing", row->name);
            good = false;
        }
    return good;
}

/* false: some attribute is not readable (reported). */
static bool read_attributes(struct builder *b, const struct call *call, struct node *n)
{
    struct place place = build_place(call);
    int before = b->c->diagnostics.count;

    n->attributes = build_attributes(b, call->body, &place, call->proto->n_attribute,
                                     call->proto->attribute, &n->attribute_count);
    n->attribute_room = n->attribute_count;
    return b->c->diagnostics.count == before;
}

bool build_checked(struct builder *b, const struct call *call, struct node *n,
                   const struct operator* op)
{
    struct place place = build_place(call);
    bool good = read_attributes(b, call, n);

    n->opset = (int)opset_of(call->body, domain_label(call->proto->domain));
    return check_arity(b, call, op, n->opset) && good &&
           (*op->domain || check_attributes(b, &place, n));
}

static void build_operator(struct builder *b, const struct call *call)
{
    struct place place = build_place(call);
    struct label domain = domain_label(call->proto->domain);
    int64_t opset = opset_of(call->body, domain);
    struct node *n = build_node(b, call);
    const struct operator* op = NULL;

    if (opset < 0)
        build_report(b, &place, TUKI0111, "the model does not import the domain %s of %s",
                     *call->domain ? call->domain : "ai.onnx", call->op_type);
    else if (opset <= INT32_MAX)
        op = operator_find(call->domain, call->op_type, (int)opset);
    if (!op)
        read_attributes(b, call, n);
    else if (build_checked(b, call, n, op))
        n->op = op;
    if (opset >= 0 && !op)
        report_operator(b, call, opset);
    if (!n->op)
        build_poison(call);
}

static void build_constant(struct builder *b, const struct call *call)
{
    struct place place = build_place(call);
    const char *why = "it has no value";
    struct attribute *attributes;
    struct tensor *t = NULL;
    int count, before = b->c->diagnostics.count;

    attributes = build_attributes(b, call->body, &place, call->proto->n_attribute,
                                  call->proto->attribute, &count);
    if (call->input_count || call->output_count != 1) {
        build_report(b, &place, TUKI0106, "it has %d inputs and %d outputs; Constant has 0 and 1",
                     call->input_count, call->output_count);
    } else if (b->c->diagnostics.count == before) {
        t = constant_tensor(b->c, attributes, count, &why);
        if (!t)
            build_report(b, &place, TUKI0106, "%s", why);
    }
    if (t && call->outputs[0])
        make_constant(call->outputs[0], t);
    else
        build_poison(call);
}

void build_upgrade(struct builder *b, int from)
{
    struct graph *g = b->graph;
    int count = g->node_count;

    for (int i = from; i < count; i++) {
        struct node *n = g->nodes[i];

        context_poll(b->c);
        if (n->op && n->op->functions->upgrade)
            n->op->functions->upgrade(g, n);
    }
}

/* The value that a name defines here. */
static struct value *declare(struct builder *b, struct body *body, const struct call *call,
                             struct label label, const struct scope *owed)
{
    struct owed *debt = NULL;
    struct value *v;
    void *found = NULL;
    bool is_new;
    void **meaning;

    if (!label.length)
        return NULL;
    if (owed && scope_find(owed, label, &found))
        debt = found;
    if (debt && !debt->paid && debt->value)
        v = debt->value;
    else
        v = new_value(b, body, label);
    meaning = scope_place(&body->scope, label, &is_new);
    if (!is_new) {
        struct place place = build_place(call);

        build_report(b, &place, TUKI0105, "value %s is defined twice", shown(b, label));
        return new_value(b, body, label);
    }
    if (debt)
        debt->paid = true;
    *meaning = v;
    return v;
}

/* The value that a name means here; one that nothing defines is reported once. */
static struct value *look_up(struct builder *b, struct body *body, const struct call *call,
                             struct label label)
{
    struct place place;
    struct value *v;
    void *meaning = NULL;
    bool is_new;

    if (!label.length || scope_find(&body->scope, label, &meaning))
        return meaning;
    place = build_place(call);
    build_report(b, &place, TUKI0105, "it reads %s, which nothing defines", shown(b, label));
    v = new_value(b, body, label);
    v->poisoned = true;
    *scope_place(&body->scope, label, &is_new) = v;
    return v;
}

static const char *node_name(struct builder *b, const struct body *body, const Onnx__Node *node,
                             size_t index)
{
    if (!*body->prefix)
        return shown(b, label_from(node->name));
    return inner_name(b, body->prefix,
                      node->name.len ? label_text(b->scratch, label_from(node->name), NAME_INSIDE)
                                     : arena_printf(b->scratch, "#%zu", index));
}

static void build_call(struct builder *b, struct call *call)
{
    struct function *f = function_find(b, call->proto);

    if (f)
        function_inline(b, call, f);
    else if (!*call->domain && !strcmp(call->op_type, "Constant"))
        build_constant(b, call);
    else if (!*call->domain && control_is(call->op_type, build_opset(call->body)))
        control_note(b, call);
    else
        build_operator(b, call);
}

void build_nodes(struct builder *b, struct body *body, size_t count, Onnx__Node **nodes,
                 struct owed *owed, int owed_count)
{
    struct call *calls = NEW_ARRAY(b->scratch, count, struct call);
    struct scope debts;
    bool is_new;

    scope_init(&debts, b->scratch, NULL);
    for (int i = 0; i < owed_count; i++) {
        void **place = scope_place(&debts, owed[i].label, &is_new);

        if (is_new)
            *place = &owed[i];
    }
    for (size_t i = 0; i < count; i++) {
        const Onnx__Node *node = nodes[i];
        struct call *call = &calls[i];

        context_poll(b->c);
        *call = (struct call){.body = body,
                              .proto = node,
                              .op_type = shown(b, label_from(node->op_type)),
                              .domain = shown(b, domain_label(node->domain)),
                              .name = node_name(b, body, node, i),
                              .position = body->position < 0 ? (int)i : body->position,
                              .output_count = (int)node->n_output};
        call->outputs = NEW_ARRAY(&b->c->arena, node->n_output, struct value *);
        for (size_t k = 0; k < node->n_output; k++)
            call->outputs[k] =
                declare(b, body, call, label_from(node->output[k]), owed ? &debts : NULL);
    }
    for (size_t i = 0; i < count; i++) {
        const Onnx__Node *node = nodes[i];
        struct call *call = &calls[i];

        context_poll(b->c);
        call->inputs = NEW_ARRAY(b->scratch, node->n_input, struct value *);
        for (size_t k = 0; k < node->n_input; k++) {
            call->inputs[k] = look_up(b, body, call, label_from(node->input[k]));
            if (call->inputs[k])
                call->input_count = (int)k + 1;
        }
        build_call(b, call);
    }
}

void build_pass_on(struct builder *b, const struct call *call, struct value *from, struct value *to)
{
    struct call identity = *call;

    if (from->constant) {
        make_constant(to, from->constant);
        to->producer = NULL;
        return;
    }
    to->poisoned |= from->poisoned;
    identity.op_type = "Identity";
    identity.domain = "";
    identity.inputs = &from;
    identity.input_count = 1;
    identity.outputs = NEW_ARRAY(&b->c->arena, 1, struct value *);
    identity.outputs[0] = to;
    identity.output_count = 1;
    struct node *n = build_node(b, &identity);
    n->op = operator_find("", "Identity", NEWEST_OPSET);
    n->opset = NEWEST_OPSET;
}

void build_pay(struct builder *b, struct body *body, const struct call *call, struct owed *owed,
               int owed_count, const char *what)
{
    struct place place = build_place(call);

    for (int i = 0; i < owed_count; i++) {
        void *meaning = NULL;

        if (owed[i].paid || !owed[i].value)
            continue;
        if (owed[i].label.length && scope_find(&body->scope, owed[i].label, &meaning) && meaning) {
            build_pass_on(b, call, meaning, owed[i].value);
        } else {
            build_report(b, &place, TUKI0105, "output %s of its %s is never produced",
                         shown(b, owed[i].label), what);
            owed[i].value->poisoned = true;
        }
    }
}
