#include "daemon/compiler/model/foreign.h"
#include <stdbool.h>
#include <string.h>

/* Fewer are no evidence. */
enum { FEWEST_CHARACTERS = 8 };

/* Sources: git-lfs/docs/spec.md; PKWARE APPNOTE 4.3.7; HDF5 File Format 3.0, II.A; tensorflow lite
 * schema.fbs (file_identifier); numpy.lib.format; pickletools (opcode PROTO); RFC 1952, 2.3.1. */
static const struct {
    size_t at, length;
    const char *bytes;
    struct foreign file;
} formats[] = {
    {0,
     15,
     "version https:/",
     {"it is a Git LFS pointer, which stands for the model: `git lfs pull` fetches it",
      "Fetch the model, or export it again"}},
    {0,
     4,
     "PK\3\4",
     {"it is a ZIP archive (as PyTorch and Keras save checkpoints), no ONNX file",
      "Export the model as ONNX (PyTorch: torch.onnx.export; Keras: tf2onnx), or unpack it"}},
    {0,
     8,
     "\x89HDF\r\n\x1a\n",
     {"it is an HDF5 file (as Keras saves), no ONNX file",
      "Export the model as ONNX (python -m tf2onnx.convert --keras)"}},
    {4,
     4,
     "TFL3",
     {"it is a TensorFlow Lite file, no ONNX file",
      "Export the model as ONNX (python -m tf2onnx.convert --tflite)"}},
    {0, 6, "\x93NUMPY", {"it is a NumPy array, no ONNX file", NULL}},
    {0,
     2,
     "\x80\2",
     {"it is a Python pickle (as PyTorch saved checkpoints), no ONNX file",
      "Export the model as ONNX (PyTorch: torch.onnx.export)"}},
    {0, 2, "\x1f\x8b", {"it is compressed by gzip", "Unpack it (gunzip)"}},
    {0,
     1,
     "<",
     {"it is HTML or XML, perhaps the page of a download, no ONNX file",
      "Download the file itself, not the page about it, or export the model again"}},
};

static const struct foreign text = {"it is text, no ONNX file", NULL};

const struct foreign *foreign_kind(const uint8_t *first, size_t count)
{
    bool plain = count >= FEWEST_CHARACTERS;

    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++)
        if (formats[i].at + formats[i].length <= count &&
            !memcmp(first + formats[i].at, formats[i].bytes, formats[i].length))
            return &formats[i].file;
    for (size_t i = 0; i < count; i++)
        plain = plain &&
                ((first[i] >= ' ' && first[i] < 0x7f) || (first[i] >= '\t' && first[i] <= '\r'));
    return plain ? &text : NULL;
}
