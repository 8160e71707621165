#ifndef COMPILER_FOREIGN_H
#define COMPILER_FOREIGN_H
/*
 * What a file is that was taken for a model and is none: its first bytes tell. Asked only once
 * reading it as ONNX has failed, so that no ONNX file can be mistaken.
 */
#include <stddef.h>
#include <stdint.h>

/* So many bytes are enough. */
enum { FOREIGN_BYTES = 16 };

/* A clause ("it is a Git LFS pointer …"), static; NULL where nothing is recognised. first: the
 * file's first count bytes, FOREIGN_BYTES where it has as many. */
const char *foreign_kind(const uint8_t *first, size_t count);

#endif
