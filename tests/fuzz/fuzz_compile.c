/*
 * Any bytes as a model: it is compiled or refused with a diagnostic, and what it compiles to, where
 * it is small, is parsed and run without leaving its buffers. Good first inputs are small models of
 * one operator.
 */
#include "daemon/compiler/compiler.h"
#include "daemon/compiler/gpu/simulate.h"
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static bool is_small(const struct program *p)
{
    uint64_t work = 0;

    for (int i = 0; i < p->buffer_count; i++)
        if ((uint64_t)p->buffers[i].width * (uint64_t)p->buffers[i].height > 1 << 12)
            return false;
    for (int i = 0; i < p->step_count; i++) {
        struct dialect_cost cost = dialect_cost(p->steps[i].kernel);

        if (cost.alu > 1 << 12 || cost.fetches > 1 << 12 || cost.entries > 1 << 12 ||
            cost.macs > 1 << 12)
            return false;
        work += cost.alu + cost.fetches + cost.entries + cost.macs + 10;
    }
    return work < 1 << 14 && p->buffer_count <= 64;
}

static void give_textures(struct context *c, struct compile *job, struct program *p,
                          struct simulation *s)
{
    struct simulation_error error = {0};
    int count;
    const struct compile_asset *assets = compile_assets(job, &count);

    for (int i = 0; i < count; i++) {
        unsigned char *payload = NEW_ARRAY(&c->arena, assets[i].payload, unsigned char);
        int texture = program_find_texture(p, assets[i].field);

        if (texture < 0 || !compile_asset_payload(job, i, payload) ||
            !simulation_texture(s, texture, payload, (size_t)assets[i].payload))
            abort();
    }
    if (count && !simulation_use(s, 0, &error))
        abort();
}

static void run(struct compile *job)
{
    static struct context c;
    struct dialect_error error = {0};
    struct simulation_error fault = {0};
    size_t length;
    const char *text = compile_text(job, &length);

    context_init(&c, NULL);
    if (setjmp(c.escape) == 0) {
        struct program *p = program_parse(&c, text, length, &error);

        if (!p)
            abort();
        if (is_small(p)) {
            struct simulation *s = simulation_new(&c, p, ROUND_NEAREST);

            give_textures(&c, job, p, s);
            if (!simulation_run(s, 0, INT32_MAX, &fault))
                abort();
            simulation_free(s);
        }
    } else if (c.reason == ESCAPE_BUG) {
        abort();
    }
    context_release(&c);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    static const char *const path = "m.onnx";
    struct files_memory memory;
    struct compile_options options = {.script = "M",
                                      .modifiers = "public",
                                      .type_parameters = "",
                                      .space = "",
                                      .asset_folder = "",
                                      .models = &path,
                                      .model_count = 1};
    struct compile *job;

    files_memory_init(&memory, path, bytes, size);
    job = compile_new(&options, &memory.files, NULL, NULL);
    if (!job)
        return 0;
    switch (compile_run(job)) {
    case COMPILE_OK:
        if (compile_diagnostics(job, 0)->errors)
            abort();
        run(job);
        break;
    case COMPILE_REFUSED:
        if (!compile_diagnostics(job, 0)->errors)
            abort();
        break;
    default:
        if (compile_broken(job))
            abort();
        break;
    }
    compile_free(job);
    return 0;
}
