#include "daemon/compiler/model/load.h"
#include "daemon/compiler/model/build.h"
#include "daemon/compiler/model/control.h"
#include "daemon/compiler/model/functions.h"
#include <stdlib.h>
#include <string.h>

enum {
    OLDEST_IR = 3,
    NEWEST_IR = 13,
    ATTEMPTS = 3,     /* to read a file that does not change meanwhile */
    NAMES_LISTED = 8, /* of layers or initializers in one message */
};

/* ---- the file ---- */

/* A model's file while it is loaded. */
struct reading {
    struct context *c;
    struct model *m;
    struct arena *scratch;
    struct file_source *source; /* tensors keep pointing at it */
    struct scan scan;
    struct externals *externals;
    const char *missing, *why; /* a data file that cannot be used */
};

static bool same_identity(const struct file_identity *a, const struct file_identity *b)
{
    return a->device == b->device && a->inode == b->inode && a->size == b->size &&
           a->modified_ns == b->modified_ns && a->changed_ns == b->changed_ns;
}

static bool scan_model(struct reading *r, struct file *file)
{
    const struct files_functions *functions = r->m->files->functions;
    struct file_identity before, after;

    for (int attempt = 0; attempt < ATTEMPTS; attempt++) {
        struct scan_fault fault;
        bool good;

        if (!functions->identity(file, &before))
            break;
        good = scan_file(r->c, r->scratch, r->m->files, file, before.size, &onnx__model__descriptor,
                         &r->scan, &fault);
        if (!functions->identity(file, &after))
            break;
        if (!same_identity(&before, &after))
            continue;
        if (good && !before.size) {
            diagnose(r->c, NULL, TUKI0101, NULL, "the file is empty");
            good = false;
        } else if (!good)
            diagnose(r->c, NULL, TUKI0101, fault.advice, "at byte %llu%s%s: %s",
                     (unsigned long long)fault.offset, *fault.field ? ", " : "", fault.field,
                     fault.what);
        r->m->content = r->scan.content;
        return good;
    }
    context_escape(r->c, ESCAPE_SYSTEM, "%s cannot be read, or changes while it is", r->m->path);
}

/* The model's bytes and data files: scanned, hashed, and held by m. false: reported. */
static bool read_model(struct reading *r, struct context *c, struct files *files, const char *path,
                       const char *name, struct model *m)
{
    const char *why = "";
    struct file *file;

    *m = (struct model){.path = path, .files = files};
    *r = (struct reading){.c = c, .m = m};
    file = files->functions->open(files, &c->arena, path, &why);
    if (!file) {
        diagnose(c, NULL, TUKI0100, NULL, "%s cannot be read: %s", name, why);
        return false;
    }
    model_hold(c, m, file);
    r->scratch = arena_child(&c->arena);
    r->source = NEW(&c->arena, struct file_source);
    file_source_init(r->source, files, file);
    if (!scan_model(r, file))
        return false;
    c->constants.file_bytes += r->scan.size;
    r->externals = externals_open(c, m, &r->scan, &r->missing, &r->why);
    return true;
}

void model_close(struct model *m)
{
    for (int i = 0; i < m->open_count; i++)
        m->files->functions->close(m->open[i]);
    free(m->open);
    m->open = NULL;
    m->open_count = m->open_room = 0;
}

bool model_hash(struct context *c, struct files *files, const char *path, struct hash *hash)
{
    struct model *m = NEW(&c->arena, struct model);
    jmp_buf outer;
    struct reading r;
    bool good;

    /* Nobody else knows m, should the job be left. */
    memcpy(&outer, &c->escape, sizeof outer);
    if (setjmp(c->escape)) {
        model_close(m);
        memcpy(&c->escape, &outer, sizeof outer);
        longjmp(c->escape, 1);
    }
    good = read_model(&r, c, files, path, path, m);
    if (good && r.missing) {
        diagnose(c, NULL, TUKI0102, NULL, "its data file %s cannot be used: %s", r.missing, r.why);
        good = false;
    }
    *hash = m->content;
    arena_free(r.scratch);
    model_close(m);
    memcpy(&c->escape, &outer, sizeof outer);
    return good;
}

/* ---- the graph ---- */

static void add_inputs(struct builder *b, struct body *body, const Onnx__Graph *proto)
{
    struct graph *g = b->graph;
    struct strbuf known;
    int known_count = 0;

    strbuf_init(&known, &b->c->arena);
    for (size_t i = 0; i < proto->n_input; i++) {
        const Onnx__ValueInfo *info = proto->input[i];
        struct label label = label_from(info->name);
        struct place place = {.kind = PLACE_INPUT, .index = g->input_count};
        enum element_type type;
        struct shape shape;
        struct value *v;
        void **meaning;
        size_t axes;
        bool is_new, is_tensor = build_type(info->type, &type, &shape, &axes);

        context_poll(b->c);
        meaning = scope_place(&body->scope, label, &is_new);
        v = is_new ? NULL : *meaning;
        place.layer = label_text(&b->c->arena, label, LABEL_SHOWN);
        if (v && v->input < 0) {
            /* An initializer: IR 3 asked that they be inputs too. */
            if (known_count++ < NAMES_LISTED)
                strbuf_printf(&known, "%s%s", known_count > 1 ? ", " : "", v->name);
            v->recorded = shape;
            v->recorded_type = type;
            continue;
        }
        if (v) {
            build_report(b, &place, TUKI0105, "it is defined twice");
            continue;
        }
        v = graph_value(g, place.layer, type, &shape);
        v->label = label;
        v->recorded = shape;
        v->input = g->input_count;
        *meaning = v;
        APPEND(&b->c->arena, g->inputs, g->input_count, g->input_room) = v;
        if (!is_tensor) {
            build_no_tensor(b, &place, build_kind(info->type));
            v->poisoned = true;
        } else if (axes > MAX_AXES) {
            build_report(b, &place, TUKI0114, "it has %zu axes", axes);
            v->poisoned = true;
        }
    }
    if (known_count)
        diagnose(b->c, NULL, TUKI0144, NULL, "%s %s also %s and %s taken as %s",
                 arena_printf(
                     &b->c->arena, "%s%s", known.text,
                     known_count > NAMES_LISTED
                         ? arena_printf(&b->c->arena, " and %d more", known_count - NAMES_LISTED)
                         : ""),
                 known_count > 1 ? "are" : "is", known_count > 1 ? "graph inputs" : "a graph input",
                 known_count > 1 ? "are" : "is", known_count > 1 ? "constants" : "a constant");
}

static void add_outputs(struct builder *b, struct body *body, const Onnx__Graph *proto)
{
    struct graph *g = b->graph;
    struct arena *a = &b->c->arena;

    g->outputs = NEW_ARRAY(a, proto->n_output, struct value *);
    g->output_names = NEW_ARRAY(a, proto->n_output, const char *);
    g->output_shapes = NEW_ARRAY(a, proto->n_output, struct shape);
    g->output_types = NEW_ARRAY(a, proto->n_output, enum element_type);
    for (size_t i = 0; i < proto->n_output; i++) {
        const Onnx__ValueInfo *info = proto->output[i];
        struct label label = label_from(info->name);
        const char *name = label_text(a, label, LABEL_SHOWN);
        struct place place = {.kind = PLACE_OUTPUT, .index = g->output_count, .layer = name};
        int at = g->output_count;
        struct value *v;
        void *meaning = NULL;
        size_t axes;

        context_poll(b->c);
        if (!label.length || !scope_find(&body->scope, label, &meaning) || !meaning) {
            build_report(b, &place, TUKI0105, "it is never produced");
            continue;
        }
        v = meaning;
        if (!build_type(info->type, &g->output_types[at], &g->output_shapes[at], &axes))
            build_no_tensor(b, &place, build_kind(info->type));
        if (v->recorded.axes < 0)
            v->recorded = g->output_shapes[at];
        if (!v->type)
            v->type = g->output_types[at];
        v->output_count++;
        g->outputs[at] = v;
        g->output_names[at] = name;
        g->output_count++;
    }
}

static const char *const infer_again = "Run shape inference on the model and save it again";

/* What the file records of what is no layer's result: inference compares the others. */
static void check_records(struct builder *b)
{
    const struct graph *g = b->graph;

    for (int i = 0; i < g->value_count; i++) {
        const struct value *v = g->values[i];

        if (!v->constant)
            continue;
        if (v->recorded_type && v->recorded_type != v->type)
            build_advise(b, NULL, TUKI0106, infer_again,
                         "the constant %s is %s, and the model records %s", v->name,
                         type_name(v->type), type_name(v->recorded_type));
        else if (shape_contradicts(&v->recorded, &v->shape))
            build_advise(b, NULL, TUKI0117, infer_again,
                         "the constant %s has the shape %s, and the model records %s", v->name,
                         shape_text(&b->c->arena, &v->shape),
                         shape_text(&b->c->arena, &v->recorded));
    }
    for (int i = 0; i < g->output_count; i++) {
        const struct value *v = g->outputs[i];
        struct place place = {.kind = PLACE_OUTPUT, .index = i, .layer = g->output_names[i]};

        if (!v->producer && g->output_types[i] && g->output_types[i] != v->type)
            build_advise(b, &place, TUKI0106, infer_again, "it is %s, and the model records %s",
                         type_name(v->type), type_name(g->output_types[i]));
    }
}

static bool check_header(struct builder *b, struct scope *imports)
{
    const Onnx__Model *m = b->model;
    bool good = true;

    if (!m->has_ir_version || !m->graph || !m->n_opset_import) {
        build_report(b, NULL, TUKI0101, "it has no %s",
                     !m->has_ir_version ? "ir_version"
                     : !m->graph        ? "graph"
                                        : "opset_import");
        return false;
    }
    if (m->ir_version < OLDEST_IR || m->ir_version > NEWEST_IR) {
        build_advise(b, NULL, TUKI0103,
                     arena_printf(&b->c->arena,
                                  "Export with an IR version from %d to %d (in Python: "
                                  "model.ir_version = 10 before onnx.save)",
                                  OLDEST_IR, NEWEST_IR),
                     "it is of IR version %lld; %d to %d are supported", (long long)m->ir_version,
                     OLDEST_IR, NEWEST_IR);
        good = false;
    }
    return build_imports(b, imports, m->n_opset_import, m->opset_import) && good;
}

static void build_graph(struct builder *b)
{
    struct scope imports;
    struct body body = {.imports = &imports, .prefix = "", .position = -1};
    const Onnx__Graph *proto = b->model->graph;
    struct graph *g = b->graph;
    void *opset = NULL;
    int before;

    scope_init(&imports, b->scratch, NULL);
    scope_init(&body.scope, b->scratch, NULL);
    if (!check_header(b, &imports))
        return;
    g->name = label_text(&b->c->arena, label_from(proto->name), LABEL_SHOWN);
    g->ir_version = (int)b->model->ir_version;
    if (scope_find(&imports, label_of(""), &opset))
        g->opset = (int)*(int64_t *)opset;
    functions_init(b);
    build_initializers(b, &body, proto);
    add_inputs(b, &body, proto);
    build_nodes(b, &body, proto->n_node, proto->node, NULL, 0);
    build_records(b, &body, proto->n_value_info, proto->value_info);
    add_outputs(b, &body, proto);
    check_records(b);
    if (b->stopped || !build_sort(b))
        return;
    before = g->node_count;
    build_upgrade(b, 0);
    if (control_resolve(b) || b->graph->node_count > before)
        build_sort(b);
}

void model_load(struct context *c, struct files *files, const char *path, struct model *m)
{
    model_load_as(c, files, path, path, m);
}

void model_load_as(struct context *c, struct files *files, const char *path, const char *name,
                   struct model *m)
{
    struct reading r;
    struct builder b = {.c = c};

    if (!read_model(&r, c, files, path, name, m))
        goto out;
    b.model = (const Onnx__Model *)scan_unpack(&c->arena, &r.scan, &onnx__model__descriptor);
    if (!b.model) {
        diagnose(c, NULL, TUKI0101, NULL, "it cannot be unpacked");
        goto out;
    }
    b.scratch = r.scratch;
    b.graph = graph_new(c);
    b.unpacker = (struct unpacker){
        .c = c, .scan = &r.scan, .file = &r.source->source, .externals = r.externals};
    build_graph(&b);
    if (!b.stopped)
        m->graph = b.graph;
out:
    arena_free(r.scratch);
}
