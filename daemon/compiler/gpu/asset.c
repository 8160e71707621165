#include "daemon/compiler/gpu/asset.h"
#include "daemon/compiler/gpu/csharp.h"
#include "daemon/compiler/graph/half.h"
#include "daemon/compiler/graph/hex.h"
#include "daemon/compiler/operators/operator.h"
#include <inttypes.h>
#include <string.h>

enum {
    PIECE = 1 << 15,   /* numbers at a time: all that is made of them stays in the cache */
    WRITTEN = 1 << 18, /* bytes of text at a time */
};

static int64_t payload_size(const struct weights *w)
{
    return w->width * w->height * 8;
}

bool asset_payload(struct context *c, const struct weights *w, compile_sink *sink, void *state)
{
    struct arena *buffer = arena_child(&c->arena);
    uint16_t *halves = NEW_ROOM(buffer, PIECE, uint16_t);
    int64_t row = w->columns * 4, at_once = w->parts ? PIECE / row + 1 : w->rows;
    int64_t padding = w->width * w->height * 4 - w->rows * row;
    bool good = true;

    for (int64_t first = 0; good && first < w->rows; first += at_once) {
        int64_t count = w->rows - first < at_once ? w->rows - first : at_once, total = count * row;
        struct arena_mark mark = arena_mark(buffer);
        const float *numbers = weights_numbers(c, w, first, count, buffer);

        context_poll(c);
        for (int64_t at = 0; good && at < total; at += PIECE) {
            int64_t size = total - at < PIECE ? total - at : PIECE;

            half_from_floats(halves, numbers + at, (size_t)size);
            good = sink(state, halves, (size_t)size * 2);
        }
        arena_rewind(buffer, mark);
    }
    memset(halves, 0, PIECE * sizeof *halves);
    for (; good && padding > 0; padding -= PIECE)
        good = sink(state, halves, (size_t)(padding < PIECE ? padding : PIECE) * 2);
    arena_free(buffer);
    return good;
}

static void print_head(struct strbuf *s, const char *name, const struct weights *w)
{
    size_t stem = strlen(name);

    if (stem > 6 && !strcmp(name + stem - 6, ".asset"))
        stem -= 6;
    strbuf_add(s, "%YAML 1.1\n%TAG !u! tag:unity3d.com,2011:\n--- !u!28 &2800000\nTexture2D:\n"
                  "  m_ObjectHideFlags: 0\n  m_CorrespondingSourceObject: {fileID: 0}\n"
                  "  m_PrefabInstance: {fileID: 0}\n  m_PrefabAsset: {fileID: 0}\n");
    strbuf_printf(s, "  m_Name: %.*s\n", (int)stem, name);
    strbuf_add(s,
               "  m_ImageContentsHash:\n    serializedVersion: 2\n    Hash: "
               "00000000000000000000000000000000\n"
               "  m_ForcedFallbackFormat: 4\n  m_DownscaleFallback: 0\n  serializedVersion: 2\n");
    strbuf_printf(
        s, "  m_Width: %" PRId64 "\n  m_Height: %" PRId64 "\n  m_CompleteImageSize: %" PRId64 "\n",
        w->width, w->height, payload_size(w));
    strbuf_add(
        s, "  m_TextureFormat: 17\n  m_MipCount: 1\n  m_IsReadable: 1\n  m_StreamingMipmaps: 0\n"
           "  m_StreamingMipmapsPriority: 0\n  m_AlphaIsTransparency: 0\n  m_ImageCount: 1\n"
           "  m_TextureDimension: 2\n  m_TextureSettings:\n    serializedVersion: 2\n    "
           "m_FilterMode: 0\n"
           "    m_Aniso: 0\n    m_MipBias: 0\n    m_WrapU: 1\n    m_WrapV: 1\n    m_WrapW: 1\n"
           "  m_LightmapFormat: 0\n  m_ColorSpace: 0\n");
    strbuf_printf(s, "  image data: %" PRId64 "\n  _typelessdata: ", payload_size(w));
}

static const char tail[] = "\n  m_StreamData:\n    offset: 0\n    size: 0\n    path: \n";

/* An asset's text on its way to the sink. */
struct page {
    compile_sink *sink;
    void *state;
    size_t length;
    char text[WRITTEN];
};

static bool page_write(struct page *p)
{
    size_t length = p->length;

    p->length = 0;
    return !length || p->sink(p->state, p->text, length);
}

static bool page_add(struct page *p, const char *text, size_t length)
{
    if (length > WRITTEN - p->length && !page_write(p))
        return false;
    if (length > WRITTEN)
        return p->sink(p->state, text, length);
    memcpy(p->text + p->length, text, length);
    p->length += length;
    return true;
}

static bool page_add_hex(void *state, const void *bytes, size_t size)
{
    struct page *p = state;
    const uint8_t *b = bytes;

    while (size) {
        size_t room = (WRITTEN - p->length) / 2, part = size < room ? size : room;

        hex_print(p->text + p->length, b, part);
        p->length += 2 * part;
        b += part;
        size -= part;
        if (size && !page_write(p))
            return false;
    }
    return true;
}

bool asset_write(struct context *c, const char *name, const struct weights *w, compile_sink *sink,
                 void *state)
{
    struct arena *scratch = arena_child(&c->arena);
    struct page *p = NEW_ROOM(scratch, 1, struct page);
    struct strbuf head;
    bool good;

    p->sink = sink;
    p->state = state;
    p->length = 0;
    strbuf_init(&head, scratch);
    print_head(&head, name, w);
    good = page_add(p, head.text, head.length) && asset_payload(c, w, page_add_hex, p) &&
           page_add(p, tail, sizeof tail - 1) && page_write(p);
    arena_free(scratch);
    return good;
}

int64_t asset_bytes(struct arena *a, const char *name, const struct weights *w)
{
    struct strbuf head;

    strbuf_init(&head, a);
    print_head(&head, name, w);
    return (int64_t)head.length + 2 * payload_size(w) + (int64_t)sizeof tail - 1;
}

const char *asset_meta(struct arena *a, const char *path)
{
    struct hasher h;
    char id[HASH_TEXT_SIZE];

    hasher_init(&h);
    hasher_add_text(&h, "onnxgpud asset");
    hasher_add_text(&h, path);
    hash_print(id, hasher_finish(&h));
    return arena_printf(a,
                        "fileFormatVersion: 2\nguid: %s\nNativeFormatImporter:\n  externalObjects: "
                        "{}\n  mainObjectFileID: "
                        "2800000\n  userData: \n"
                        "  assetBundleName: \n  assetBundleVariant: \n",
                        id);
}

struct hash asset_recipe(struct context *c, const struct weights *w)
{
    struct hasher h;

    hasher_init(&h);
    hasher_add_text(&h, compiler_version);
    hasher_add_number(&h, (uint64_t)w->rows);
    hasher_add_number(&h, (uint64_t)w->columns);
    hasher_add_number(&h, (uint64_t)w->width);
    hasher_add_number(&h, (uint64_t)w->packed);
    hasher_add_number(&h, w->exact);
    if (w->tensor)
        hasher_add_hash(&h, tensor_hash(c, w->tensor));
    if (w->node) {
        node_hash(&h, w->node);
        for (int i = 0; i < w->node->input_count; i++)
            if (w->node->inputs[i] && w->node->inputs[i]->constant)
                hasher_add_hash(&h, tensor_hash(c, w->node->inputs[i]->constant));
    }
    if (w->numbers)
        hasher_add_bytes(&h, w->numbers, (size_t)w->columns * sizeof *w->numbers);
    return hasher_finish(&h);
}
