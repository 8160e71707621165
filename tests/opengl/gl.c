#include "tests/opengl/gl.h"
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

enum {
    EGL_NONE = 0x3038,
    EGL_EXTENSIONS = 0x3055,
    EGL_CONTEXT_MAJOR_VERSION = 0x3098,
    EGL_CONTEXT_MINOR_VERSION = 0x30FB,
    EGL_CONTEXT_OPENGL_PROFILE_MASK = 0x30FD,
    EGL_CONTEXT_OPENGL_CORE_PROFILE_BIT = 1,
    EGL_OPENGL_API = 0x30A2,
    EGL_PLATFORM_DEVICE_EXT = 0x313F,
    EGL_PLATFORM_SURFACELESS_MESA = 0x31DD,
};

#define EGL_FUNCTIONS(X)                                                                           \
    X(void *, GetProcAddress, (const char *name))                                                  \
    X(const char *, QueryString, (void *display, int name))                                        \
    X(unsigned, Initialize, (void *display, int *major, int *minor))                               \
    X(unsigned, Terminate, (void *display))                                                        \
    X(unsigned, BindAPI, (unsigned api))                                                           \
    X(void *, CreateContext, (void *display, void *config, void *share, const int *attributes))    \
    X(unsigned, DestroyContext, (void *display, void *context))                                    \
    X(unsigned, MakeCurrent, (void *display, void *draw, void *read, void *context))

static struct {
#define X(result, name, parameters) result(*name) parameters;
    EGL_FUNCTIONS(X)
#undef X
    void *handle, *display, *context; /* handle: what dlopen gave */
} egl;

/* POSIX gives functions as void *, which C does not convert. */
static bool take(void *function, void *address)
{
    memcpy(function, &address, sizeof address);
    return address != NULL;
}

static bool load_egl(char why[256])
{
    egl.handle = dlopen("libEGL.so.1", RTLD_NOW | RTLD_LOCAL);
    if (egl.handle == NULL) {
        snprintf(why, 256, "there is no libEGL.so.1 here");
        return false;
    }
#define X(result, name, parameters)                                                                \
    if (!take(&egl.name, dlsym(egl.handle, "egl" #name))) {                                        \
        snprintf(why, 256, "EGL has no egl" #name);                                                \
        return false;                                                                              \
    }
    EGL_FUNCTIONS(X)
#undef X
    return true;
}

/* The display of a platform, initialised; NULL if it has none. */
static void *display_of(unsigned platform, void *native)
{
    void *(*get)(unsigned, void *, const int *);
    if (!take(&get, egl.GetProcAddress("eglGetPlatformDisplayEXT")))
        return NULL;
    void *display = get(platform, native, NULL);
    return display != NULL && egl.Initialize(display, NULL, NULL) ? display : NULL;
}

static void *any_display(void)
{
    const char *extensions = egl.QueryString(NULL, EGL_EXTENSIONS);
    unsigned (*devices)(int, void **, int *);
    void *display = NULL, *device[8];
    int count = 0;
    if (extensions == NULL)
        return NULL;
    if (strstr(extensions, "EGL_MESA_platform_surfaceless") != NULL)
        display = display_of(EGL_PLATFORM_SURFACELESS_MESA, NULL);
    if (display == NULL && strstr(extensions, "EGL_EXT_platform_device") != NULL &&
        take(&devices, egl.GetProcAddress("eglQueryDevicesEXT")) && devices(8, device, &count))
        for (int i = 0; i < count && display == NULL; i++)
            display = display_of(EGL_PLATFORM_DEVICE_EXT, device[i]);
    return display;
}

static bool make_context(char why[256])
{
    static const int attributes[] = {
        EGL_CONTEXT_MAJOR_VERSION,
        3,
        EGL_CONTEXT_MINOR_VERSION,
        3,
        EGL_CONTEXT_OPENGL_PROFILE_MASK,
        EGL_CONTEXT_OPENGL_CORE_PROFILE_BIT,
        EGL_NONE,
    };
    const char *extensions;
    egl.display = any_display();
    if (egl.display == NULL) {
        snprintf(why, 256, "EGL has no display without a window");
        return false;
    }
    extensions = egl.QueryString(egl.display, EGL_EXTENSIONS);
    if (extensions == NULL || strstr(extensions, "EGL_KHR_no_config_context") == NULL ||
        strstr(extensions, "EGL_KHR_surfaceless_context") == NULL) {
        snprintf(why, 256, "EGL makes no context without a surface");
        return false;
    }
    if (!egl.BindAPI(EGL_OPENGL_API) ||
        (egl.context = egl.CreateContext(egl.display, NULL, NULL, attributes)) == NULL ||
        !egl.MakeCurrent(egl.display, NULL, NULL, egl.context)) {
        snprintf(why, 256, "there is no device with OpenGL 3.3");
        return false;
    }
    return true;
}

static bool load_gl(struct gl *gl, char why[256])
{
#define X(result, name, parameters)                                                                \
    if (!take(&gl->name, egl.GetProcAddress("gl" #name))) {                                        \
        snprintf(why, 256, "OpenGL has no gl" #name);                                              \
        return false;                                                                              \
    }
    GL_FUNCTIONS(X)
#undef X
    gl->renderer = gl->GetString(GL_RENDERER);
    gl->version = gl->GetString(GL_VERSION);
    return true;
}

bool gl_open(struct gl *gl, char why[256])
{
    memset(gl, 0, sizeof *gl);
    if (load_egl(why) && make_context(why) && load_gl(gl, why))
        return true;
    gl_close();
    return false;
}

/* The library stays: what it started may still be running when it would be unmapped. */
void gl_close(void)
{
    if (egl.display != NULL) {
        egl.MakeCurrent(egl.display, NULL, NULL, NULL);
        if (egl.context != NULL)
            egl.DestroyContext(egl.display, egl.context);
        egl.Terminate(egl.display);
    }
    egl.display = egl.context = NULL;
}
