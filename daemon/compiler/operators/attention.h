#ifndef COMPILER_ATTENTION_H
#define COMPILER_ATTENTION_H
/* The dimensions of an Attention and of a RotaryEmbedding, whichever way their inputs are laid out.
 */
#include "daemon/compiler/graph/graph.h"

/*
 * Queries [batch, heads, queries, size] or [batch, queries, heads * size] (flat), keys and values
 * likewise with kv_heads; query head h reads key head h / (heads / kv_heads). Source: ONNX
 * Attention-25.
 */
struct attention {
    bool flat;
    int64_t batch, heads, kv_heads, queries, keys /* new ones */, past, size, value_size;
    int64_t total;  /* past + keys */
    double scale;   /* of the product of query and key */
    double softcap; /* 0: none */
    bool causal;
    int64_t left, right; /* window; -1: unbounded */
    int mode;            /* of qk_matmul_output */
};
/* Element (h, t, d) of one batch item lies at h * head + t * step + d. */
struct attention_layout {
    int64_t item, head, step;
};

/* false where ranks, lengths or heads do not fit; *why is static text then, or NULL where shapes
 * are unknown. */
bool attention_read(const struct node *n, struct attention *a, const char **why);
struct attention_layout attention_layout(bool flat, int64_t heads, int64_t length, int64_t size);

/* RotaryEmbedding-23 over [batch, heads, length, size] or [batch, length, heads * size] (flat). */
struct rotary {
    bool flat, interleaved;
    int64_t batch, heads, length, size;
    int64_t rotated; /* leading elements of a head that are rotated */
};
bool rotary_read(const struct node *n, struct rotary *r, const char **why);

#endif
