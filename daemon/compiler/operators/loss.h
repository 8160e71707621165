#ifndef COMPILER_LOSS_H
#define COMPILER_LOSS_H
/* What the attributes of NegativeLogLikelihoodLoss and SoftmaxCrossEntropyLoss say. */
#include "daemon/compiler/operators/operator.h"

struct loss {
    bool ignores;
    int64_t ignored; /* the class that counts for nothing */
    enum { LOSS_NONE, LOSS_SUM, LOSS_MEAN } reduction;
};

/* n was inferred without a fault. */
void loss_read(const struct node *n, struct loss *l);

#endif
