#ifndef COMPILER_GPU_GLSL_H
#define COMPILER_GPU_GLSL_H
/*
 * A checked kernel as the text of a fragment shader: the second printer over the tree that
 * dialect.h makes, so that what was generated can be run by a graphics pipeline.
 *
 * The shader computes one cell a fragment, the cell (0, 0) at the lower left of the target:
 *   - parameter number i (1 …) of the kernel is the uniform `p<i>`: a sampler2D that is read by
 *     texelFetch of level 0, or `vec4 p<i>[capacity]`;
 *   - the id is the fragment's own cell;
 *   - what the kernel returns is `cell`, the only output.
 *
 * Functions of Mathf become the shader's functions of the same name (Round: `round`, Sign: `sign`,
 * Clamp: `clamp` …), as the target's own translation does it. Where the two differ (ties, sign(0),
 * powers of negative numbers, a clamped NaN) the generated text must not depend on it; that is
 * for the simulation to know and for a run of these shaders to find out. The remainder of floats,
 * which shaders do not have, is written out.
 *
 * No name of the text survives as it is: locals are `v<slot>_<name>`, helpers `f<number>_<name>`,
 * of ASCII letters and digits only, so that none is a word or a reserved name of GLSL.
 *
 * A pure function of the tree; any thread. Memory is the arena's.
 */
#include "daemon/compiler/gpu/dialect.h"

enum glsl_version {
    GLSL_330,    /* OpenGL 3.3 */
    GLSL_300_ES, /* OpenGL ES 3.0, WebGL 2 */
};

/* NUL-terminated. m is a kernel that passed dialect_check(). */
const char *glsl_fragment(struct arena *arena, const struct method *m, enum glsl_version version);

/* The vertex shader of a triangle that covers the whole target; drawn as three vertices without
 * any attributes. */
const char *glsl_vertex(enum glsl_version version);

#endif
