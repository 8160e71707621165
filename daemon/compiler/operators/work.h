#ifndef COMPILER_WORK_H
#define COMPILER_WORK_H
/*
 * What constants cost that are computed before the model runs, and how much of it a job may spend.
 *
 * A few bytes of a file can name a constant of gigabytes, or one of few bytes that takes an hour.
 * So what is spent on constants is held in proportion to the files that were read: the work of all
 * together, the elements of one that is needed as a whole, and the memory in which one is computed.
 * Past these its layer is reported (TUKI0110) and the job left (ESCAPE_REFUSED), for nothing can
 * stand in for it. Counted are steps, by shapes and attributes, before the work is begun; never
 * time.
 *
 * What a model's own layers compute when it runs is not counted.
 */
#include "daemon/compiler/operators/operator.h"

/* About how many steps evaluating n as a whole takes, a multiply-add being one. All shapes are
 * known. */
double work_of(const struct node *n);
/* What one element costs that is moved, computed or converted on its own. */
enum { WORK_ELEMENT = 12 };

/* Memory is counted from here on to work_end(), which takes what this gives, in the name of n. */
struct node *work_open(struct node *n);
/* The same, before n is evaluated as a whole, which takes so many steps. reader: who needs its
 * results so; NULL: nobody in particular. */
struct node *work_begin(struct node *n, const struct node *reader, double steps);
void work_end(struct node *n, struct node *outer);
/* Before so many elements of what n computes are to be written into an asset. */
void work_write(struct node *n, int64_t count);
/* Before a table of so many entries is made and searched for the sake of n, which it is part of the
 * kernel of. */
void work_table(struct node *n, int64_t entries);
/* Before so many steps are made for the sake of n. */
void work_spend(struct node *n, double steps);

/*
 * A row of the cache stands for work, and whether a job is refused must not depend on what was
 * cached. So a row knows how many steps were made for it, and these count together with those that
 * the job makes; what the row's constants may have taken, had they not been known already, counts
 * once. Past what may be spent the job is left (ESCAPE_AGAIN), to be done without rows.
 */
/* Instead of so many steps, and so many elements of computed constants in an asset. */
void work_saved(struct context *c, double steps, double elements);
/* Instead of computing the numbers of t, if they have to be. */
void work_saved_constant(struct context *c, const struct tensor *t);

#endif
