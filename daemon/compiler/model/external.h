#ifndef COMPILER_EXTERNAL_H
#define COMPILER_EXTERNAL_H
/*
 * The files that tensors lie in: the model's own, and the external data files that it names
 * (TensorProto.external_data, onnx/docs/ExternalData.md): next to the model, each opened once.
 *
 * A data file's whole content counts, not only the ranges that tensors use: it is read once and in
 * order then, however many tensors share or overlap it, and its hash can stand for the file (by its
 * stat) in a cache.
 */
#include "daemon/compiler/model/scan.h"

/* Positions in the model's own file. */
struct file_source {
    struct source source;
    struct files *files;
    struct file *file;
};
void file_source_init(struct file_source *s, struct files *files, struct file *file);

/* Gives file to m, which closes it; closes it and leaves the job where there is no memory. */
void model_hold(struct context *c, struct model *m, struct file *file);

/* The data files of one model. */
struct externals;
/* Opens and hashes every data file that the scanned model names, in the order in which it names
 * them; lists their paths in m->external and makes m->content of m's own hash and theirs. A file
 * that cannot be opened is remembered with the reason (external_range() says it); *missing is then
 * set to one such path, and *why to the reason. Leaves the job where a file keeps changing while it
 * is read. Everything lies in c's arena, open files in m. */
struct externals *externals_open(struct context *c, struct model *m, const struct scan *scan,
                                 const char **missing, const char **why);
/*
 * Where the size bytes of t's elements lie: the source, and *offset in it. NULL with *code
 * (TUKI0102: missing, too short, outside the folder; TUKI0107: malformed, or a length that is not
 * size) and *why, a clause in the arena.
 */
struct source *external_range(struct externals *e, const Onnx__Tensor *t, uint64_t size,
                              uint64_t *offset, enum diagnostic_code *code, const char **why);

#endif
