/*
 * Any bytes as a model, and as a tensor's file: loading ends, with a graph or with diagnostics.
 * Built by hand:
 *     clang -g -O1 -fsanitize=fuzzer,address,undefined -D_GNU_SOURCE -I. -Ibuild/generated
 * tests/fuzz/fuzz_load.c \
 *         daemon/compiler/[a-z]*.c daemon/compiler/{graph,model,operators}/[a-z]*.c
 * build/generated/onnx.pb-c.c \ -lprotobuf-c -lxxhash -lm
 */
#include "daemon/compiler/model/load.h"
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct files_memory memory;
    struct model m = {0};
    struct context c;

    files_memory_init(&memory, "m", bytes, size);
    context_init(&c, NULL);
    if (setjmp(c.escape) == 0) {
        model_load(&c, &memory.files, "m", &m);
        if (!m.graph && !c.diagnostics.errors)
            abort();
        for (int i = 0; m.graph && i < m.graph->value_count; i++) {
            struct tensor *t = m.graph->values[i]->constant;

            if (t && t->bytes < 1 << 20 && !t->deferred) {
                struct arena *scratch = arena_child(&c.arena);

                tensor_data(&c, t, scratch);
                arena_free(scratch);
            }
        }
    } else if (c.reason == ESCAPE_BUG) {
        abort();
    }
    model_close(&m);
    context_release(&c);
    return 0;
}
