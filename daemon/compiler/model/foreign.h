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

struct foreign {
    const char *what;   /* a clause: "it is a Git LFS pointer …" */
    const char *advice; /* what to do; NULL: what TUKI0101 says */
};

/* Static; NULL where nothing is recognised. first: the file's first count bytes, FOREIGN_BYTES
 * where it has as many. */
const struct foreign *foreign_kind(const uint8_t *first, size_t count);

#endif
