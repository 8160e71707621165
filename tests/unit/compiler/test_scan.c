#include "daemon/compiler/model/scan.h"
#include "tests/unit/compiler/onnx_bytes.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

struct scanned {
    struct context c;
    struct scan scan;
    struct scan_fault fault;
    bool good;
};

static void scan_bytes(struct scanned *s, const void *bytes, size_t size)
{
    struct files_memory memory;
    struct file *file;
    const char *why;

    context_init(&s->c, NULL);
    files_memory_init(&memory, "m", bytes, size);
    file = memory.files.functions->open(&memory.files, &s->c.arena, "m", &why);
    assert_non_null(file);
    if (setjmp(s->c.escape) == 0)
        s->good = scan_file(&s->c, &s->c.arena, &memory.files, file, size, &onnx__model__descriptor,
                            &s->scan, &s->fault);
    else
        fail_msg("the job was left: %s", s->c.why);
    memory.files.functions->close(file);
}

static void assert_fault(struct strbuf model, const char *field, uint64_t offset, const char *what)
{
    struct scanned s;

    scan_bytes(&s, model.text, model.length);
    assert_false(s.good);
    assert_string_equal(s.fault.field, field);
    assert_int_equal(s.fault.offset, offset);
    assert_non_null(strstr(s.fault.what, what));
    context_release(&s.c);
}

/* Two nodes, a large and a small initializer, an attribute with a tensor. */
static struct strbuf example(size_t large)
{
    struct strbuf graph = message(), tensor, attribute = attribute_of("value", 4);
    int64_t dims[] = {(int64_t)large, 1}, one[] = {1};
    char *weights = arena_alloc(&bytes_context.arena, large * 4 + 1);
    float small = 2.5f;

    for (size_t i = 0; i < large * 4; i++)
        weights[i] = (char)(i * 31 % 251);
    put(&graph, GRAPH_NODE, named(node("Relu", "x", "y"), "first"));
    tensor = raw_tensor(NULL, FLOAT, 1, one, &small, sizeof small);
    put(&attribute, 5, tensor);
    put(&graph, GRAPH_NODE, with(node("Constant", "", "k"), attribute));
    put(&graph, GRAPH_INITIALIZER, raw_tensor("w", FLOAT, 2, dims, weights, large * 4));
    put_text(&graph, 10, "a documentation string");
    put(&graph, GRAPH_INPUT, value_info("x", FLOAT, 2, dims));
    put(&graph, GRAPH_OUTPUT, value_info("y", FLOAT, 2, dims));
    return model_of(8, 13, graph);
}

static void keeps_all_but_elements(void **state)
{
    struct strbuf bytes = example(100000);
    struct scanned s;
    const struct scan_stretch *stretch;
    Onnx__Model *m;

    (void)state;
    scan_bytes(&s, bytes.text, bytes.length);
    assert_true(s.good);
    assert_true(s.scan.length < 400);
    assert_int_equal(s.scan.tensor_count, 2);
    assert_int_equal(s.scan.tensors[0].count, 1);
    stretch = &s.scan.stretches[s.scan.tensors[0].first];
    assert_int_equal(stretch->length, 4);
    assert_memory_equal(stretch->bytes, bytes.text + stretch->offset, 4);
    stretch = &s.scan.stretches[s.scan.tensors[1].first];
    assert_int_equal(stretch->length, 400000);
    assert_int_equal(stretch->field, ELEMENTS_RAW);
    assert_null(stretch->bytes);
    assert_int_equal((uint8_t)bytes.text[stretch->offset + 300], 300 * 31 % 251);

    m = (Onnx__Model *)scan_unpack(&s.c.arena, &s.scan, &onnx__model__descriptor);
    assert_non_null(m);
    assert_int_equal(m->ir_version, 8);
    assert_int_equal(m->graph->n_node, 2);
    assert_memory_equal(m->graph->node[0]->name.data, "first", 5);
    assert_int_equal(m->graph->node[1]->attribute[0]->t->scanned, 0);
    assert_int_equal(m->graph->initializer[0]->scanned, 1);
    assert_int_equal(m->graph->initializer[0]->dims[0], 100000);
    assert_false(m->graph->initializer[0]->has_raw_data);
    assert_false(m->graph->has_doc_string);
    assert_memory_equal(scan_unpack_tensor(&s.c.arena, &s.scan, 1)->name.data, "w", 1);
    context_release(&s.c);
}

static struct hash content_of(const void *bytes, size_t size)
{
    struct scanned s;
    struct hash content;

    scan_bytes(&s, bytes, size);
    content = s.good ? s.scan.content : (struct hash){0, 0};
    context_release(&s.c);
    return content;
}

/* Another byte anywhere, dropped fields and elements included, is another content. */
static void hashes_every_byte(void **state)
{
    const size_t sizes[] = {3, 400};

    (void)state;
    for (int k = 0; k < 2; k++) {
        struct strbuf bytes = example(sizes[k]);
        struct hash first = content_of(bytes.text, bytes.length);

        assert_true(first.low || first.high);
        assert_true(hash_equal(content_of(bytes.text, bytes.length), first));
        for (size_t at = 0; at < bytes.length; at++) {
            bytes.text[at] ^= 1;
            assert_false(hash_equal(content_of(bytes.text, bytes.length), first));
            bytes.text[at] ^= 1;
        }
    }
}

/* Rows that begin anywhere in the file and lie across the windows in which it is read. */
static void measures_rows(void **state)
{
    static const struct {
        int64_t rows, row;
        bool typed, measured;
    } cases[] = {
        {3000, 100, false, true}, {3000, 100, true, true}, {5, 60000, false, true},
        {1, 300, false, true},    {2, 64, false, false},   {3000, 63, false, false},
        {3, 70000, false, false},
    };

    (void)state;
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        int64_t dims[] = {cases[k].rows, cases[k].row / 2, 2};
        size_t row = (size_t)(cases[k].row / 2 * 2), count = (size_t)cases[k].rows * row;
        float *numbers = arena_alloc(&bytes_context.arena, count * sizeof *numbers);
        struct strbuf graph = message(), tensor;
        const struct scan_stretch *stretch;
        struct hasher hasher;
        struct hash hash;
        struct scanned s;

        for (size_t i = 0; i < count; i++)
            numbers[i] = (float)((int)(i * 7919 % 2003) - 1000) / 128;
        put(&graph, GRAPH_NODE, named(node("Relu", "x", "y"), k % 2 ? "odd" : "even"));
        if (cases[k].typed) {
            tensor = tensor_of("w", FLOAT, 3, dims);
            put_bytes(&tensor, ELEMENTS_FLOAT, numbers, count * sizeof *numbers);
        } else {
            tensor = raw_tensor("w", FLOAT, 3, dims, numbers, count * sizeof *numbers);
        }
        put(&graph, GRAPH_INITIALIZER, tensor);
        tensor = model_of(8, 13, graph);
        scan_bytes(&s, tensor.text, tensor.length);
        assert_true(s.good);
        stretch = &s.scan.stretches[s.scan.tensors[0].first];
        assert_int_equal(stretch->rows != NULL, cases[k].measured);
        hasher_init(&hasher);
        hasher_add(&hasher, numbers, count * sizeof *numbers);
        hash = hasher_finish(&hasher);
        assert_true(hash_equal(stretch->hash, hash));
        for (size_t r = 0; stretch->rows && r < stretch->row_count; r++) {
            struct floats_figures f = floats_figures(numbers + r * row, row);

            assert_memory_equal(&stretch->rows[r].largest, &f.largest, sizeof f.largest);
            assert_memory_equal(&stretch->rows[r].square_sum, &f.square_sum, sizeof f.square_sum);
        }
        if (stretch->rows)
            assert_int_equal(stretch->row_count, cases[k].rows);
        context_release(&s.c);
    }
}

/* A file that was cut anywhere is refused, or lacks whole fields at its end; either way nothing
 * else happens. */
static void is_cut_anywhere(void **state)
{
    struct strbuf bytes = example(3);
    size_t good = 0;

    (void)state;
    for (size_t size = 0; size < bytes.length; size++) {
        /* A copy of its own, so that a read beyond the end is seen. */
        char *cut = malloc(size + 1);
        struct scanned s;

        memcpy(cut, bytes.text, size);
        scan_bytes(&s, cut, size);
        good += s.good;
        if (!s.good)
            assert_true(s.fault.offset <= size);
        context_release(&s.c);
        free(cut);
    }
    /* After nothing, after ir_version, and after the graph. */
    assert_int_equal(good, 3);
}

static void names_the_place(void **state)
{
    struct strbuf graph = message(), model = message(), bad = node("A", "x", "y"), attribute;

    (void)state;
    attribute = attribute_of("k", 7);
    put_varint(&attribute, 1 << 3 | 2); /* a second name, 200 bytes long */
    put_varint(&attribute, 200);
    put(&graph, GRAPH_NODE, node("A", "a", "x"));
    put(&graph, GRAPH_NODE, with(bad, attribute));
    put(&model, 7, graph);
    assert_fault(model, "graph.node[1].attribute[0].name", model.length - 3,
                 "its length, 200 bytes, runs past the end of the message around it");
}

static void refuses_damage(void **state)
{
    struct strbuf s;

    (void)state;
    s = message();
    strbuf_add_bytes(&s, "\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 12);
    assert_fault(s, "ir_version", 0, "more than ten bytes");
    s = message();
    strbuf_add_bytes(&s, "\x0b", 1); /* a group */
    assert_fault(s, "ir_version", 0, "wire type");
    s = message();
    strbuf_add_bytes(&s, "\xa3\x06", 2); /* an unknown group, number 100 */
    assert_fault(s, "", 0, "no field begins");
    s = message();
    strbuf_add_bytes(&s, "\x00\x00", 2);
    assert_fault(s, "", 0, "number");
    s = message();
    put_text(&s, 1, "text where a number belongs");
    assert_fault(s, "ir_version", 0, "wire type");
    s = message();
    put_bytes(&s, 7, "", 0);
    put_bytes(&s, 7, "", 0);
    assert_fault(s, "graph", 2, "twice");
    s = message();
    strbuf_add_bytes(&s, "\x3a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 11); /* length 2^64 - 1 */
    assert_fault(s, "graph", 0, "past the end of the file");
}

/* What is no ONNX file at all is called by its name; a damaged one is not. */
static void knows_other_formats(void **state)
{
    static const struct {
        const char *bytes;
        size_t size;
        const char *what;
    } files[] = {
        {"version https://git-lfs.github.com/spec/v1\n", 43, "Git LFS"},
        {"PK\3\4\0\0\0\0", 8, "ZIP"},
        {"\x89HDF\r\n\x1a\n\0\0\0\0", 12, "HDF5"},
        {"\x1c\0\0\0TFL3\0\0", 10, "TensorFlow Lite"},
        {"\x93NUMPY\1\0v\0{'descr'", 18, "NumPy"},
        {"\x80\2}q\0X", 6, "pickle"},
        {"\x1f\x8b\x08\0", 4, "gzip"},
        {"<html>", 6, "HTML"},
        {"import torch\n", 13, "text"},
        {"\x08\x08\x12\x7fpytorch", 11, "past the end"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        struct scanned s;

        scan_bytes(&s, files[i].bytes, files[i].size);
        assert_false(s.good);
        assert_non_null(strstr(s.fault.what, files[i].what));
        context_release(&s.c);
    }
}

static void lists_must_be_whole(void **state)
{
    struct strbuf tensor = message(), graph = message(), model = message();

    (void)state;
    put_bytes(&tensor, 1, "\x01\x80", 2); /* dims, packed */
    put(&graph, GRAPH_INITIALIZER, tensor);
    put(&model, 7, graph);
    assert_fault(model, "graph.initializer[0].dims[0]", 4, "cut off");

    tensor = message(), graph = message(), model = message();
    put_bytes(&tensor, 4, "abcdef", 6); /* float_data */
    put(&graph, GRAPH_INITIALIZER, tensor);
    put(&model, 7, graph);
    assert_fault(model, "graph.initializer[0].float_data[0]", 4, "multiple");

    tensor = message(), graph = message(), model = message();
    put_bytes(&tensor, 7, "\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01", 11); /* int64_data */
    put(&graph, GRAPH_INITIALIZER, tensor);
    put(&model, 7, graph);
    assert_fault(model, "graph.initializer[0].int64_data[0]", 4, "ten bytes");
}

/* Unknown fields are dropped, one that has our own number too. */
static void drops_unknown_fields(void **state)
{
    struct strbuf model = example(2), tensor = message(), graph = message();
    struct scanned s;
    Onnx__Model *m;

    (void)state;
    put_int(&model, 77, 5);
    put_float(&model, 78, 1);
    put_text(&model, 79, "something");
    scan_bytes(&s, model.text, model.length);
    assert_true(s.good);
    context_release(&s.c);

    put_int(&tensor, 1000, 12345);
    put(&graph, GRAPH_INITIALIZER, tensor);
    model = model_of(8, 13, graph);
    scan_bytes(&s, model.text, model.length);
    assert_true(s.good);
    m = (Onnx__Model *)scan_unpack(&s.c.arena, &s.scan, &onnx__model__descriptor);
    assert_int_equal(m->graph->initializer[0]->scanned, 0);
    context_release(&s.c);
}

/* Runs of single elements are one stretch each, packed ones too. */
static void notes_stretches(void **state)
{
    struct strbuf tensor = message(), graph = message(), model;
    struct scanned s;

    (void)state;
    for (int i = 0; i < 300; i++)
        put_int(&tensor, 5, i);
    put_bytes(&tensor, 5, "\x01\x02\xff\x01", 4);
    put_float(&tensor, 4, 1);
    put(&graph, GRAPH_INITIALIZER, tensor);
    model = model_of(8, 13, graph);
    scan_bytes(&s, model.text, model.length);
    assert_true(s.good);
    assert_int_equal(s.scan.stretch_count, 3);
    assert_int_equal(s.scan.stretches[0].count, 300);
    assert_false(s.scan.stretches[0].packed);
    assert_int_equal(s.scan.stretches[1].count, 3);
    assert_true(s.scan.stretches[1].packed);
    assert_int_equal(s.scan.stretches[2].count, 1);
    assert_int_equal(s.scan.stretches[2].length, 5);
    context_release(&s.c);
}

static void bounds_depth(void **state)
{
    struct strbuf inner = message(), model = message();
    struct scanned s;

    (void)state;
    /* Type of type of type …, 40 and 400 deep; a sequence's element is two messages down. */
    for (int deep = 0; deep < 400; deep++) {
        struct strbuf sequence = message(), type = message();

        put(&sequence, 1, inner);
        put(&type, 4, sequence);
        inner = type;
        if (deep == 40 || deep == 399) {
            struct strbuf info = message(), graph = message();

            model = message();
            put(&info, 2, inner);
            put(&graph, GRAPH_INPUT, info);
            put(&model, 7, graph);
            scan_bytes(&s, model.text, model.length);
            assert_int_equal(s.good, deep == 40);
            if (!s.good)
                assert_non_null(strstr(s.fault.what, "100 deep"));
            else
                assert_non_null(scan_unpack(&s.c.arena, &s.scan, &onnx__model__descriptor));
            context_release(&s.c);
        }
    }
}

/* Two bytes a node: what they would take unpacked is counted before it is taken. */
static void bounds_memory(void **state)
{
    enum { NODES = 2 * 1000 * 1000 };
    struct strbuf graph = message(), model = message();
    struct scanned s;

    (void)state;
    for (int i = 0; i < NODES; i++)
        strbuf_add_bytes(&graph, "\x0a\x00", 2);
    put(&model, 7, graph);
    scan_bytes(&s, model.text, model.length);
    assert_false(s.good);
    assert_non_null(strstr(s.fault.what, "unpacked"));
    assert_non_null(strstr(s.fault.field, "graph.node["));
    context_release(&s.c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(keeps_all_but_elements, bytes_begin, bytes_end),
        cmocka_unit_test_setup_teardown(hashes_every_byte, bytes_begin, bytes_end),
        cmocka_unit_test_setup_teardown(measures_rows, bytes_begin, bytes_end),
        cmocka_unit_test_setup_teardown(is_cut_anywhere, bytes_begin, bytes_end),
        cmocka_unit_test_setup_teardown(names_the_place, bytes_begin, bytes_end),
        cmocka_unit_test_setup_teardown(refuses_damage, bytes_begin, bytes_end),
        cmocka_unit_test_setup_teardown(knows_other_formats, bytes_begin, bytes_end),
        cmocka_unit_test_setup_teardown(lists_must_be_whole, bytes_begin, bytes_end),
        cmocka_unit_test_setup_teardown(drops_unknown_fields, bytes_begin, bytes_end),
        cmocka_unit_test_setup_teardown(notes_stretches, bytes_begin, bytes_end),
        cmocka_unit_test_setup_teardown(bounds_depth, bytes_begin, bytes_end),
        cmocka_unit_test_setup_teardown(bounds_memory, bytes_begin, bytes_end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
