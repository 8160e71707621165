#include "tests/opengl/pipeline.h"
#include <stdio.h>
#include <string.h>

static bool fine(struct pipeline *p, const char *what)
{
    gl_enum error = p->gl->GetError();
    if (error != GL_NO_ERROR)
        snprintf(p->why, sizeof p->why, "OpenGL error 0x%04x: %s", error, what);
    return error == GL_NO_ERROR;
}

/* ---- shaders */

static bool compile(struct pipeline *p, gl_enum kind, const char *text, unsigned *shader)
{
    int status = 0;
    *shader = p->gl->CreateShader(kind);
    p->gl->ShaderSource(*shader, 1, &text, NULL);
    p->gl->CompileShader(*shader);
    p->gl->GetShaderiv(*shader, GL_COMPILE_STATUS, &status);
    if (!status)
        p->gl->GetShaderInfoLog(*shader, sizeof p->why, NULL, p->why);
    return status != 0;
}

static bool make_shader(struct pipeline *p, const struct method *kernel)
{
    unsigned *program = &p->shaders[kernel->number], fragment = 0;
    int status = 0;
    *program = p->gl->CreateProgram();
    if (compile(p, GL_FRAGMENT_SHADER, glsl_fragment(p->arena, kernel, p->version), &fragment)) {
        p->gl->AttachShader(*program, p->vertex);
        p->gl->AttachShader(*program, fragment);
        p->gl->LinkProgram(*program);
        p->gl->GetProgramiv(*program, GL_LINK_STATUS, &status);
        if (!status)
            p->gl->GetProgramInfoLog(*program, sizeof p->why, NULL, p->why);
    }
    p->gl->DeleteShader(fragment);
    return status != 0;
}

/* ---- textures */

static bool is_half(const struct pipeline *p, int buffer)
{
    return p->program->buffers[buffer].format == GPU_FORMAT_HALF;
}

static gl_enum cell_type(const struct pipeline *p, int buffer)
{
    return is_half(p, buffer) ? GL_HALF_FLOAT : GL_UNSIGNED_BYTE;
}

size_t pipeline_size(const struct pipeline *p, int buffer)
{
    const struct program_buffer *b = &p->program->buffers[buffer];
    return (size_t)b->width * (size_t)b->height * (is_half(p, buffer) ? 8 : 4);
}

static void make_texture(struct pipeline *p, int buffer)
{
    const struct program_buffer *b = &p->program->buffers[buffer];
    void *zeros = arena_alloc(p->arena, pipeline_size(p, buffer));
    p->gl->GenTextures(1, &p->textures[buffer]);
    p->gl->BindTexture(GL_TEXTURE_2D, p->textures[buffer]);
    p->gl->TexParameteri(GL_TEXTURE_2D, GL_TEXTURE_MIN_FILTER, GL_NEAREST);
    p->gl->TexParameteri(GL_TEXTURE_2D, GL_TEXTURE_MAG_FILTER, GL_NEAREST);
    p->gl->TexParameteri(GL_TEXTURE_2D, GL_TEXTURE_WRAP_S, GL_CLAMP_TO_EDGE);
    p->gl->TexParameteri(GL_TEXTURE_2D, GL_TEXTURE_WRAP_T, GL_CLAMP_TO_EDGE);
    p->gl->TexParameteri(GL_TEXTURE_2D, GL_TEXTURE_MAX_LEVEL, 0);
    p->gl->TexImage2D(GL_TEXTURE_2D, 0, is_half(p, buffer) ? GL_RGBA16F : GL_RGBA8, b->width,
                      b->height, 0, GL_RGBA, cell_type(p, buffer), zeros);
}

void pipeline_write(struct pipeline *p, int buffer, const void *cells)
{
    const struct program_buffer *b = &p->program->buffers[buffer];
    p->gl->BindTexture(GL_TEXTURE_2D, p->textures[buffer]);
    p->gl->TexSubImage2D(GL_TEXTURE_2D, 0, 0, 0, b->width, b->height, GL_RGBA, cell_type(p, buffer),
                         cells);
}

static bool attach(struct pipeline *p, int buffer)
{
    p->gl->FramebufferTexture2D(GL_FRAMEBUFFER, GL_COLOR_ATTACHMENT0, GL_TEXTURE_2D,
                                p->textures[buffer], 0);
    if (p->gl->CheckFramebufferStatus(GL_FRAMEBUFFER) == GL_FRAMEBUFFER_COMPLETE)
        return true;
    snprintf(p->why, sizeof p->why, "%s cannot be drawn to", p->program->buffers[buffer].name);
    return false;
}

bool pipeline_read(struct pipeline *p, int buffer, void *cells)
{
    const struct program_buffer *b = &p->program->buffers[buffer];
    if (!attach(p, buffer))
        return false;
    p->gl->ReadPixels(0, 0, b->width, b->height, GL_RGBA, cell_type(p, buffer), cells);
    return fine(p, b->name);
}

/* ---- all of it */

bool pipeline_init(struct pipeline *p, const struct gl *gl, enum glsl_version version,
                   const struct program *program, struct arena *arena)
{
    *p = (struct pipeline){.gl = gl, .version = version, .program = program, .arena = arena};
    p->textures = NEW_ARRAY(arena, program->buffer_count, unsigned);
    p->shaders = NEW_ARRAY(arena, program->dialect->method_count, unsigned);
    gl->Disable(GL_DITHER);
    gl->PixelStorei(GL_PACK_ALIGNMENT, 1);
    gl->PixelStorei(GL_UNPACK_ALIGNMENT, 1);
    gl->GenVertexArrays(1, &p->array);
    gl->BindVertexArray(p->array);
    gl->GenFramebuffers(1, &p->framebuffer);
    gl->BindFramebuffer(GL_FRAMEBUFFER, p->framebuffer);
    gl->ActiveTexture(GL_TEXTURE0);
    for (int i = 0; i < program->buffer_count; i++)
        make_texture(p, i);
    return compile(p, GL_VERTEX_SHADER, glsl_vertex(p->version), &p->vertex) &&
           fine(p, "making buffers");
}

void pipeline_release(struct pipeline *p)
{
    if (p->gl == NULL)
        return;
    p->gl->UseProgram(0);
    for (int i = 0; i < p->program->dialect->method_count; i++)
        p->gl->DeleteProgram(p->shaders[i]);
    p->gl->DeleteShader(p->vertex);
    p->gl->DeleteTextures(p->program->buffer_count, p->textures);
    p->gl->DeleteFramebuffers(1, &p->framebuffer);
    p->gl->DeleteVertexArrays(1, &p->array);
    p->gl = NULL;
}

/* What a fragment shader may count on, whatever this device allows: OpenGL 3.3 grants 16 textures,
 * and no common device has room for more than 4096 vectors of constants. */
enum { BUFFERS_MOST = 16, ENTRIES_MOST = 4096 };

static bool within_limits(struct pipeline *p, const struct method *kernel)
{
    int buffers = 0, entries = 0;
    for (int i = 1; i < kernel->parameter_count; i++) {
        buffers += kernel->locals[i].type == KERNEL_BUFFER;
        entries += kernel->locals[i].capacity;
    }
    if (buffers <= BUFFERS_MOST && entries <= ENTRIES_MOST)
        return true;
    snprintf(p->why, sizeof p->why, "%s reads %d buffers and declares tables of %d entries",
             kernel->name, buffers, entries);
    return false;
}

bool pipeline_prepare(struct pipeline *p, int step)
{
    const struct method *kernel = p->program->steps[step].kernel;
    return p->shaders[kernel->number] != 0 || (within_limits(p, kernel) && make_shader(p, kernel));
}

/* Arguments to uniforms: a table's entries, or the unit that a buffer's texture is bound to. */
static void give_arguments(struct pipeline *p, const struct program_step *step, unsigned shader)
{
    int units = 0;
    for (int i = 0; i < step->argument_count; i++) {
        const struct program_argument *a = &step->arguments[i];
        char uniform[16];
        snprintf(uniform, sizeof uniform, "p%d", i + 1);
        int place = p->gl->GetUniformLocation(shader, uniform); /* -1, ignored: nothing reads it */
        if (a->is_table) {
            const struct program_table *t = &p->program->tables[a->index];
            p->gl->Uniform4fv(place, t->count, t->entries[0]);
            continue;
        }
        p->gl->ActiveTexture(GL_TEXTURE0 + (gl_enum)units);
        p->gl->BindTexture(GL_TEXTURE_2D, p->textures[a->index]);
        p->gl->Uniform1i(place, units++);
    }
    p->gl->ActiveTexture(GL_TEXTURE0);
}

bool pipeline_draw(struct pipeline *p, int number)
{
    const struct program_step *step = &p->program->steps[number];
    const struct program_buffer *to = &p->program->buffers[step->destination];
    if (!pipeline_prepare(p, number) || !attach(p, step->destination))
        return false;
    unsigned shader = p->shaders[step->kernel->number];
    p->gl->UseProgram(shader);
    give_arguments(p, step, shader);
    p->gl->Viewport(0, 0, to->width, to->height);
    p->gl->DrawArrays(GL_TRIANGLES, 0, 3);
    return fine(p, step->kernel->name);
}
