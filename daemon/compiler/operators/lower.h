#ifndef COMPILER_LOWER_H
#define COMPILER_LOWER_H
/*
 * The GPU half of the operators: views, expressions and kernels, in lower_*.c by kind. The rows'
 * families name them in their operator_functions; what each function of that struct has to do is
 * said in operator.h.
 */
#include "daemon/compiler/gpu/kernel.h"
#include "daemon/compiler/operators/operator.h"

#define VIEW(name)                                                                                 \
    void name(struct kernel *k, const struct node *n, int output, const struct index *const *at,   \
              struct access *access)
/* lower_views.c */
VIEW(view_reshape); /* Reshape, Flatten, Squeeze, Unsqueeze, Identity, Dropout: same row-major order
                     */
VIEW(view_transpose);
VIEW(view_slice);
VIEW(view_concat);
VIEW(view_split);
VIEW(view_expand);
VIEW(view_tile);
VIEW(view_pad);
VIEW(view_depth); /* DepthToSpace, SpaceToDepth */
VIEW(view_gather);
VIEW(view_resize); /* nearest */
VIEW(view_trilu);
VIEW(view_whole_cells);
VIEW(view_component); /* statistics.c: one of the numbers that a row's statistics are */
#undef VIEW

/* lower_conv.c */
void lower_conv(struct kernel *k, const struct node *n);
void lower_conv_transpose(struct kernel *k, const struct node *n);
int packed_conv(const struct node *n, int input);
int packed_channels(const struct node *n, int input); /* axis 1 of the output and of input 0 */
int64_t reuse_conv(const struct node *n, int input);
int64_t reuse_conv_transpose(const struct node *n, int input);
int64_t window_conv(const struct node *n);
bool scatters_conv(const struct node *n);

/* lower_matmul.c */
void lower_matmul(struct kernel *k, const struct node *n);
int packed_matmul(const struct node *n, int input);
bool widens_matmul(const struct node *n);
int64_t reuse_matmul(const struct node *n, int input);

/* lower_pool.c */
void lower_max_pool(struct kernel *k, const struct node *n);
void lower_average_pool(struct kernel *k, const struct node *n);
void lower_lp_pool(struct kernel *k, const struct node *n);
void lower_lrn(struct kernel *k, const struct node *n);
int64_t reuse_pool(const struct node *n, int input);
int64_t window_pool(const struct node *n);

/* lower_reduce.c: axes as constant input 1 or attribute; the reduced axes of one output element are
 * one loop nest. */
void lower_reduce(struct kernel *k, const struct node *n);
int packed_reduce(const struct node *n, int input);

/* lower_statistics.c */
enum { STATISTICS = 3 }; /* numbers of a row */
void lower_softmax_statistics(struct kernel *k, const struct node *n);
void lower_norm_statistics(struct kernel *k, const struct node *n);
int packed_statistics(const struct node *n, int input);

/* lower_rows.c */
/* Whether four elements of x along axis beside take fewer fetches than four along axis along. */
bool is_cheaper_beside(struct kernel *k, struct value *x, int beside, int along);

/* lower_choice.c */
void lower_choice(struct kernel *k, const struct node *n);
int packed_choice(const struct node *n, int input);
void lower_choice_statistics(struct kernel *k, const struct node *n);
int packed_choice_statistics(const struct node *n, int input);

/* lower_scan.c */
void lower_scan(struct kernel *k, const struct node *n);
int packed_scan(const struct node *n, int input);
int64_t reuse_scan(const struct node *n, int input);

/* lower_sample.c */
/* i as a float expression. */
const char *lower_float(struct kernel *k, const struct index *i);
/* Declares one float a lane, which begins as `first`. */
void lower_sums(struct kernel *k, int lanes, const char **sums, const char *first);
void lower_grid_sample(struct kernel *k, const struct node *n);
void lower_deform_columns(struct kernel *k, const struct node *n);
int packed_sample(const struct node *n, int input);
int64_t reuse_sample(const struct node *n, int input);

/* lower_regions.c */
void lower_roi_align(struct kernel *k, const struct node *n);
void lower_max_roi_pool(struct kernel *k, const struct node *n);

/* lower_resample.c */
void lower_resample(struct kernel *k, const struct node *n);
int packed_resample(const struct node *n, int input);
int64_t reuse_resample(const struct node *n, int input);

/* lower_elementwise.c */
const char *express_elementwise(struct kernel *k, const struct node *n,
                                const char *const *operands);
/* Whether there is an expression for n's operator. */
bool is_expressed(const struct node *n);
/* What an elementwise operator costs an element, in additions; 0 for others. */
int64_t work_elementwise(const struct node *n);
bool clamp_unary(const struct node *n, double *lo,
                 double *hi); /* Relu, and no other of its family */
bool clamp_clip(const struct node *n, double *lo, double *hi);

#endif
