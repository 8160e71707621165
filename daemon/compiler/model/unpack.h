#ifndef COMPILER_UNPACK_H
#define COMPILER_UNPACK_H
/*
 * Tensors as messages have them, as tensors of the compiler. Raw and typed data, inside the file or
 * out of it, give the same tensor: elements that lie in the file as the compiler wants them are
 * used by position, others are decoded when they are read, small ones (up to 1 KiB) right away.
 *
 * TensorProto, onnx.proto: float_data holds float32 and complex64; int32_data every type of up to
 * 32 bits but float32 and uint32 (float16 and the like as their bits; two 4-bit elements or four
 * 2-bit ones to a number); int64_data int64; double_data float64 and complex128; uint64_data uint32
 * and uint64; raw_data everything but strings, little-endian.
 */
#include "daemon/compiler/model/external.h"

struct unpacker {
    struct context *c;
    const struct scan *scan;
    struct source *file;         /* that was scanned */
    struct externals *externals; /* NULL: there is no external data */
    uint64_t dense;              /* bytes that sparse tensors have become so far */
};

/* t as a tensor in the job's arena; the same one each time. NULL with *code (TUKI0107, TUKI0102)
 * and *why, a clause. A tensor of strings has its count, but no payload. */
struct tensor *unpack_tensor(struct unpacker *e, const Onnx__Tensor *t, enum diagnostic_code *code,
                             const char **why);
/* t made dense, likewise. */
struct tensor *unpack_sparse(struct unpacker *e, const Onnx__SparseTensor *t,
                             enum diagnostic_code *code, const char **why);

#endif
