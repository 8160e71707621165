#ifndef COMPILER_SCAN_H
#define COMPILER_SCAN_H
/*
 * The first pass over a model's file: by position, in windows, front to back, once. It checks the
 * protobuf wire format against the message descriptors (lengths, wire types, depth, a budget for
 * what unpacking would allocate), hashes every byte once, and writes down the message without the
 * elements of its tensors, so that protobuf-c never sees (and so never copies) weights. Where the
 * elements lie is noted instead, and what later passes would read them for: of float32 tensors, the
 * figures of each row.
 *
 * Wire format: protobuf.dev/programming-guides/encoding. Groups are refused; unknown fields,
 * documentation strings and metadata are checked for length and dropped; a singular sub-message
 * that stands twice is refused (protobuf would merge the two, which no exporter relies on and which
 * would lose count of the tensors).
 */
#include "daemon/compiler/graph/floats.h"
#include "daemon/compiler/model/load.h"
#include "onnx.pb-c.h"

/* Fields of Tensor: what its elements are … */
enum { TENSOR_DIMS = 1, TENSOR_DATA_TYPE = 2 };
/* … and those that hold them. */
enum elements_field {
    ELEMENTS_FLOAT = 4,
    ELEMENTS_INT32 = 5,
    ELEMENTS_INT64 = 7,
    ELEMENTS_RAW = 9,
    ELEMENTS_DOUBLE = 10,
    ELEMENTS_UINT64 = 11,
};

/* One stretch of a tensor's elements. */
struct scan_stretch {
    uint64_t offset, length; /* in the file, in bytes */
    uint64_t count;          /* elements; bytes for raw data */
    const void *bytes;       /* the stretch itself where it is small, else NULL */
    struct hash hash;        /* XXH3-128 of the stretch's bytes, where it has a length of its own */
    const struct floats_figures *rows; /* of each index of axis 0, in the job's arena; NULL: not
                                        * measured (no float32, or short rows, or dims came late) */
    uint64_t row_count;
    enum elements_field field;
    bool packed; /* else a run of single fields, each with its tag before it */
};

struct scan_tensor {
    int first, count;    /* of its stretches */
    size_t at, length;   /* of its message within the scan's message */
    bool external;       /* it names external data */
    struct tensor *made; /* what unpack.h made of it, so that it is made once */
};

struct scan {
    struct hash content; /* XXH3-128 of all bytes, where a stretch with a length of its own counts
                          * as its hash */
    uint64_t size;       /* of the file, in bytes */
    const uint8_t *message; /* without elements; a Tensor's `scanned` is its number below */
    size_t length;
    struct scan_tensor *tensors; /* in the file's order */
    int tensor_count, tensor_room;
    struct scan_stretch *stretches; /* in the file's order, so those of a tensor stand together */
    int stretch_count, stretch_room;
};

/* What is wrong with a file, in the terms of TUKI0101. Texts are static or in the arena. */
struct scan_fault {
    uint64_t offset;
    const char *field; /* "graph.node[3].name"; "" for the file as a whole */
    const char *what;  /* a clause */
    const char *advice; /* what to do; NULL: what TUKI0101 says */
};

/*
 * Scans file, which is open and size bytes long, as a message of type root. Everything that is
 * found lies in arena. false: *fault says what is wrong. Leaves the job when it was cancelled or
 * the file cannot be read (ESCAPE_SYSTEM); a file that turns out shorter than size is a fault like
 * a truncated one.
 */
bool scan_file(struct context *c, struct arena *arena, struct files *files, struct file *file,
               uint64_t size, const ProtobufCMessageDescriptor *root, struct scan *scan,
               struct scan_fault *fault);

/* The scan's message, or one tensor of it, unpacked into arena; NULL where protobuf-c refuses it.
 */
ProtobufCMessage *scan_unpack(struct arena *arena, const struct scan *scan,
                              const ProtobufCMessageDescriptor *root);
Onnx__Tensor *scan_unpack_tensor(struct arena *arena, const struct scan *scan, int tensor);

#endif
