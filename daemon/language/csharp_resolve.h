/* csharp_resolve: what a name stands for. C# specification, 7.8 and 12.8.4. For the files csharp*.c
 * only. */
#ifndef DAEMON_LANGUAGE_CSHARP_RESOLVE_H
#define DAEMON_LANGUAGE_CSHARP_RESOLVE_H

#include "daemon/language/csharp_tree.h"

/* Where a name stands: inside that type or namespace, and in which block. */
struct csharp_place {
    uint32_t node, block;
};

/*
 * The node that a dotted name (`A.B<int>.C`, `global::A`, `alias::A`) stands for at place, or
 * CSHARP_NONE where this file does not define it. The span must be that name and nothing else.
 */
uint32_t csharp_resolve(struct csharp_tree *tree, struct csharp_place place,
                        struct csharp_span name);

/* Whether an attribute's name at place means Tsukimi.OnnxGpuAttribute. */
bool csharp_is_onnxgpu(struct csharp_tree *tree, struct csharp_place place,
                       struct csharp_span name);

#endif
