#ifndef COMPILER_ASSET_H
#define COMPILER_ASSET_H
/*
 * Weight textures as Unity assets: a text-serialised Texture2D and its .meta. Formats: Unity's YAML
 * serialisation of Texture2D (class 28); m_TextureFormat 17 is RGBAHalf, 4 is RGBA32.
 */
#include "daemon/compiler/compiler.h"
#include "daemon/compiler/gpu/kernel.h"

/* The texture's bytes, row y = 0 first, in pieces. false: the sink stopped. */
bool asset_payload(struct context *c, const struct weights *w, compile_sink *sink, void *state);
/* The asset file, in pieces. */
bool asset_write(struct context *c, const char *name, const struct weights *w, compile_sink *sink,
                 void *state);
/* Its length in bytes. */
int64_t asset_bytes(struct arena *a, const char *name, const struct weights *w);
/* Text of the .meta file; the GUID comes from path, the asset's path relative to the folder that
 * holds Assets. */
const char *asset_meta(struct arena *a, const char *path);
/* What the payload is made from: equal recipes, equal payloads. */
struct hash asset_recipe(struct context *c, const struct weights *w);

#endif
