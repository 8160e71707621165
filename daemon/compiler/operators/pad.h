#ifndef COMPILER_PAD_H
#define COMPILER_PAD_H
/* Where a padded element comes from. For nodes that were inferred, with known shapes. */
#include "daemon/compiler/graph/graph.h"

enum pad_mode { PAD_CONSTANT, PAD_REFLECT, PAD_EDGE, PAD_WRAP };

struct pad {
    enum pad_mode mode;
    int64_t begin[MAX_AXES], end[MAX_AXES]; /* negative: crops */
};

/* false where pads or axes are not constant. */
bool pad_read(const struct node *n, const struct shape *input, struct pad *pad);
/* The index along an axis of `length` elements that output index i shows; -1: the constant. With
 * negative pads the crop comes first, so that reflection and wrapping see what is left. */
int64_t pad_index(enum pad_mode mode, int64_t begin, int64_t end, int64_t length, int64_t i);

#endif
