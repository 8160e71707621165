#ifndef COMPILER_TEXT_H
#define COMPILER_TEXT_H
/*
 * The text view of a model (`onnxgpu show`, onnxgpu/modelText), and where diagnostics about a model
 * point:
 *
 *     model NAME (IR 8, opset 17)
 *     input image: float32 [1, 3, 64, 64]
 *     constants: 4 tensors, 1234 elements, 4936 bytes
 *     #0 Conv conv1(image, conv1.weight: float32 [8, 3, 3, 3], conv1.bias: float32 [8])
 *         -> x: float32 [1, 8, 64, 64] {pads=[1, 1, 1, 1]}                      (on one line)
 *     output out: float32 [1, 3, 64, 64]
 *
 * Nodes stand in the file's order. Constants of up to eight elements are printed with their values:
 * axes=[0, 1]. Made right after infer_graph(), so that show and check speak of the same lines;
 * passes may change the graph afterwards. Lives in the context's arena.
 */
#include "daemon/compiler/graph/graph.h"

/* Lines and columns count from 1, columns in code points; ends are exclusive. */
struct text_range {
    int line, column, end_line, end_column;
};

struct text_line {
    enum place_kind kind;
    int index;               /* of the input, of the node in the file, of the output */
    const char *name;        /* of the layer, input or output */
    const char *op;          /* of a layer */
    struct text_range range; /* the subject: "Conv conv1", "image" */
};

struct model_text {
    const char *text; /* ends in a line end */
    size_t length;
    const struct text_line *lines; /* inputs, layers, outputs, in the text's order */
    int line_count;
};

/* g may be NULL (a model that could not be loaded): then the text says so. */
struct model_text *model_text_new(struct context *c, const struct graph *g);
/* The subject that place names; the first line where there is none (PLACE_MODEL). Layers that share
 * a position (an inlined function) are told apart by name and operator where that is possible. */
struct text_range model_text_range(const struct model_text *t, const struct place *place);

#endif
