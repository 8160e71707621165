/*
 * Any text as a generated file, and as a file's kernels: it is refused with a place, or it is run
 * (where it is small) without leaving its buffers, and its kernels can be printed as shaders. Built
 * by hand: clang -g -O1 -fsanitize=fuzzer,address,undefined -D_GNU_SOURCE -I.
 * tests/fuzz/fuzz_dialect.c
 * \
 *         daemon/compiler/{arena,context,diagnostics,strbuf}.c
 * daemon/compiler/graph/{half,decimal}.c \
 *         daemon/compiler/gpu/{lexer,parse,check,dialect,glsl,flatten,shape,bytecode}.c \
 *         daemon/compiler/gpu/{execute_plain,execute_avx2,host,program,simulate}.c -lm
 * Good first inputs are the texts of tests/unit/compiler/test_simulate.c and a generated file.
 */
#include "daemon/compiler/context.h"
#include "daemon/compiler/gpu/glsl.h"
#include "daemon/compiler/gpu/simulate.h"
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static const char before[] =
    "partial class C { GpuBuffer2D I; GpuBuffer2D O; Vector4[] T; const int FSteps = 1;\n"
    "void LoadF() { I = Gpu.Buffer(24, 10, GpuFormat.Half); O = Gpu.Buffer(19, 7, GpuFormat.Half);"
    " T = new Vector4[] { new Vector4(1f, 2f, 3f, 4f), new Vector4(-1f, 0.5f, 7f, 1e9f) }; }\n";
static const char after[] =
    "\nvoid RunF() { RunF(0, 1); }\nvoid RunF(int first, int count) { if (first <= 0 && count > 0 -"
    " first) Gpu.Run(nameof(K), O, I, T); } }";

static void run(struct context *c, struct program *p)
{
    struct simulation_error fault = {0};
    uint64_t work = 0;
    for (int i = 0; i < p->buffer_count; i++)
        if ((uint64_t)p->buffers[i].width * (uint64_t)p->buffers[i].height > 1 << 12)
            return;
    for (int i = 0; i < p->dialect->method_count; i++)
        if (p->dialect->methods[i]->kernel)
            glsl_fragment(&c->arena, p->dialect->methods[i], GLSL_330);
    for (int i = 0; i < p->step_count; i++) {
        struct dialect_cost cost = dialect_cost(p->steps[i].kernel);
        if (cost.alu > 1 << 12 || cost.fetches > 1 << 12 || cost.entries > 1 << 12 ||
            cost.macs > 1 << 12)
            return;
        work += cost.alu + cost.fetches + cost.entries + cost.macs + 10;
    }
    if (work > 1 << 14 || p->buffer_count > 16)
        return;
    for (int shape = -1; shape < 3; shape++) {
        struct simulation *s = simulation_new(c, p, shape & 1 ? ROUND_ZERO : ROUND_NEAREST);
        simulation_choose(s, shape, (shape & 2) == 0);
        if (!simulation_run(s, 0, INT32_MAX, &fault) &&
            (fault.kernel == NULL || fault.line < 1 || fault.reason[0] == '\0'))
            abort();
        simulation_free(s);
    }
}

static void parse(const char *text, size_t size)
{
    static struct context c;
    struct dialect_error error = {0};
    context_init(&c, NULL);
    if (setjmp(c.escape) == 0) {
        struct program *p = program_parse(&c, text, size, &error);
        if (p == NULL && error.reason[0] == '\0')
            abort();
        if (p != NULL)
            run(&c, p);
    } else if (c.reason == ESCAPE_BUG) {
        abort();
    }
    context_release(&c);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    size_t whole = sizeof before - 1 + size + sizeof after - 1;
    char *text = malloc(whole);
    if (text == NULL)
        return 0;
    memcpy(text, before, sizeof before - 1);
    if (size > 0)
        memcpy(text + sizeof before - 1, bytes, size);
    memcpy(text + sizeof before - 1 + size, after, sizeof after - 1);
    parse(text, whole);
    free(text);
    parse((const char *)bytes, size);
    return 0;
}
