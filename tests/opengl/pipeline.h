#ifndef TESTS_OPENGL_PIPELINE_H
#define TESTS_OPENGL_PIPELINE_H
/*
 * A generated file on OpenGL: a texture a buffer (RGBA16F or RGBA8), a shader a kernel (glsl.h),
 * tables as uniforms, and a draw a step, all as the parsed program (program.h) says.
 *
 * Tables are read when a step is drawn, as program_use() left them. Textures of weights are
 * buffers like any other: whoever writes buffers writes them.
 */
#include "daemon/compiler/gpu/glsl.h"
#include "daemon/compiler/gpu/program.h"
#include "tests/opengl/gl.h"

struct pipeline {
    const struct gl *gl;
    enum glsl_version version;
    const struct program *program;
    struct arena *arena;
    unsigned *textures; /* by buffer */
    unsigned *shaders;  /* by the kernel's number; 0: not yet */
    unsigned vertex, array, framebuffer;
    char why[1024]; /* of the last failure */
};

/* Everything here is released by pipeline_release(). The buffers hold zeros. false: p->why. */
bool pipeline_init(struct pipeline *p, const struct gl *gl, enum glsl_version version,
                   const struct program *program, struct arena *arena);
void pipeline_release(struct pipeline *p);

/* All cells as they lie in memory: 4 halves or 4 bytes a cell, row y = 0 first. */
size_t pipeline_size(const struct pipeline *p, int buffer);
void pipeline_write(struct pipeline *p, int buffer, const void *cells);
bool pipeline_read(struct pipeline *p, int buffer, void *cells);

/* Translates and links what the step needs, if that was not done before. */
bool pipeline_prepare(struct pipeline *p, int step);
/* Draws one step. */
bool pipeline_draw(struct pipeline *p, int step);

#endif
