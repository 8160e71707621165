#include "daemon/compiler/model/foreign.h"
#include <stdbool.h>
#include <string.h>

/* Fewer are no evidence. */
enum { FEWEST_CHARACTERS = 8 };

/* Sources: git-lfs/docs/spec.md; PKWARE APPNOTE 4.3.7; HDF5 File Format 3.0, II.A; tensorflow lite
 * schema.fbs (file_identifier); numpy.lib.format; pickletools (opcode PROTO); RFC 1952, 2.3.1. */
static const struct {
    size_t at, length;
    const char *bytes, *kind;
} formats[] = {
    {0, 15, "version https:/",
     "it is a Git LFS pointer, which stands for the model: `git lfs pull` fetches it"},
    {0, 4, "PK\3\4", "it is a ZIP archive (as PyTorch and Keras save checkpoints), no ONNX file"},
    {0, 8, "\x89HDF\r\n\x1a\n", "it is an HDF5 file (as Keras saves), no ONNX file"},
    {4, 4, "TFL3", "it is a TensorFlow Lite file, no ONNX file"},
    {0, 6, "\x93NUMPY", "it is a NumPy array, no ONNX file"},
    {0, 2, "\x80\2", "it is a Python pickle (as PyTorch saved checkpoints), no ONNX file"},
    {0, 2, "\x1f\x8b", "it is compressed by gzip"},
    {0, 1, "<", "it is HTML or XML, perhaps the page of a download, no ONNX file"},
};

const char *foreign_kind(const uint8_t *first, size_t count)
{
    bool text = count >= FEWEST_CHARACTERS;

    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++)
        if (formats[i].at + formats[i].length <= count &&
            !memcmp(first + formats[i].at, formats[i].bytes, formats[i].length))
            return formats[i].kind;
    for (size_t i = 0; i < count; i++)
        text = text &&
               ((first[i] >= ' ' && first[i] < 0x7f) || (first[i] >= '\t' && first[i] <= '\r'));
    return text ? "it is text, no ONNX file" : NULL;
}
