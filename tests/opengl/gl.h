#ifndef TESTS_OPENGL_GL_H
#define TESTS_OPENGL_GL_H
/*
 * OpenGL 3.3 without a window, found while the program runs: EGL is loaded by name, on Mesa's
 * surfaceless platform or on the first of the machine's devices, so that neither headers nor
 * libraries are needed to build. What is declared here is what the tests call (Khronos, "EGL 1.5"
 * and "OpenGL 3.3 core profile").
 *
 * One context at a time, current on the thread that opened it.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef unsigned gl_enum;

enum {
    GL_NO_ERROR = 0,
    GL_TRIANGLES = 0x0004,
    GL_DITHER = 0x0BD0,
    GL_PACK_ALIGNMENT = 0x0D05,
    GL_UNPACK_ALIGNMENT = 0x0CF5,
    GL_TEXTURE_2D = 0x0DE1,
    GL_UNSIGNED_BYTE = 0x1401,
    GL_HALF_FLOAT = 0x140B,
    GL_RGBA = 0x1908,
    GL_RENDERER = 0x1F01,
    GL_VERSION = 0x1F02,
    GL_NEAREST = 0x2600,
    GL_TEXTURE_MAG_FILTER = 0x2800,
    GL_TEXTURE_MIN_FILTER = 0x2801,
    GL_TEXTURE_WRAP_S = 0x2802,
    GL_TEXTURE_WRAP_T = 0x2803,
    GL_CLAMP_TO_EDGE = 0x812F,
    GL_TEXTURE0 = 0x84C0,
    GL_RGBA8 = 0x8058,
    GL_TEXTURE_MAX_LEVEL = 0x813D,
    GL_RGBA16F = 0x881A,
    GL_FRAGMENT_SHADER = 0x8B30,
    GL_VERTEX_SHADER = 0x8B31,
    GL_COMPILE_STATUS = 0x8B81,
    GL_LINK_STATUS = 0x8B82,
    GL_FRAMEBUFFER_COMPLETE = 0x8CD5,
    GL_COLOR_ATTACHMENT0 = 0x8CE0,
    GL_FRAMEBUFFER = 0x8D40,
};

/* result, name without gl, parameters */
#define GL_FUNCTIONS(X)                                                                            \
    X(const char *, GetString, (gl_enum name))                                                     \
    X(gl_enum, GetError, (void))                                                                   \
    X(void, Disable, (gl_enum what))                                                               \
    X(void, Finish, (void))                                                                        \
    X(void, PixelStorei, (gl_enum name, int value))                                                \
    X(void, GenTextures, (int count, unsigned *textures))                                          \
    X(void, DeleteTextures, (int count, const unsigned *textures))                                 \
    X(void, BindTexture, (gl_enum target, unsigned texture))                                       \
    X(void, ActiveTexture, (gl_enum unit))                                                         \
    X(void, TexParameteri, (gl_enum target, gl_enum name, int value))                              \
    X(void, TexImage2D,                                                                            \
      (gl_enum target, int level, int inside, int width, int height, int border, gl_enum format,   \
       gl_enum type, const void *cells))                                                           \
    X(void, TexSubImage2D,                                                                         \
      (gl_enum target, int level, int x, int y, int width, int height, gl_enum format,             \
       gl_enum type, const void *cells))                                                           \
    X(void, GenFramebuffers, (int count, unsigned *framebuffers))                                  \
    X(void, DeleteFramebuffers, (int count, const unsigned *framebuffers))                         \
    X(void, BindFramebuffer, (gl_enum target, unsigned framebuffer))                               \
    X(void, FramebufferTexture2D,                                                                  \
      (gl_enum target, gl_enum attachment, gl_enum kind, unsigned texture, int level))             \
    X(gl_enum, CheckFramebufferStatus, (gl_enum target))                                           \
    X(void, ReadPixels,                                                                            \
      (int x, int y, int width, int height, gl_enum format, gl_enum type, void *cells))            \
    X(void, Viewport, (int x, int y, int width, int height))                                       \
    X(void, GenVertexArrays, (int count, unsigned *arrays))                                        \
    X(void, DeleteVertexArrays, (int count, const unsigned *arrays))                               \
    X(void, BindVertexArray, (unsigned array))                                                     \
    X(void, DrawArrays, (gl_enum mode, int first, int count))                                      \
    X(unsigned, CreateShader, (gl_enum kind))                                                      \
    X(void, ShaderSource,                                                                          \
      (unsigned shader, int count, const char *const *texts, const int *lengths))                  \
    X(void, CompileShader, (unsigned shader))                                                      \
    X(void, GetShaderiv, (unsigned shader, gl_enum name, int *value))                              \
    X(void, GetShaderInfoLog, (unsigned shader, int size, int *length, char *text))                \
    X(void, DeleteShader, (unsigned shader))                                                       \
    X(unsigned, CreateProgram, (void))                                                             \
    X(void, AttachShader, (unsigned program, unsigned shader))                                     \
    X(void, LinkProgram, (unsigned program))                                                       \
    X(void, GetProgramiv, (unsigned program, gl_enum name, int *value))                            \
    X(void, GetProgramInfoLog, (unsigned program, int size, int *length, char *text))              \
    X(void, UseProgram, (unsigned program))                                                        \
    X(void, DeleteProgram, (unsigned program))                                                     \
    X(int, GetUniformLocation, (unsigned program, const char *name))                               \
    X(void, Uniform1i, (int location, int value))                                                  \
    X(void, Uniform4fv, (int location, int count, const float *values))

struct gl {
#define X(result, name, parameters) result(*name) parameters;
    GL_FUNCTIONS(X)
#undef X
    const char *renderer, *version; /* as the device calls itself */
};

/* Opens the context of the process. false: *why says why there is none, in one line. */
bool gl_open(struct gl *gl, char why[256]);
void gl_close(void);

#endif
