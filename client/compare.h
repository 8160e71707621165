#ifndef CLIENT_COMPARE_H
#define CLIENT_COMPARE_H
/*
 * How far computed outputs are from expected ones, and whether that is near enough.
 *
 * Types and shapes must match. Floats of real models: every element has to satisfy
 *     |a - b| <= 1e-4 + 4e-3 * max|b| + 1e-2 * |b|        (max over the finite values of the
 * tensor) 8-bit outputs: |a - b| <= 1.001 * scale. Other integers and booleans: equal. An expected
 * infinity counts as +-65504, the largest that 16 bits hold, and so does a computed one where an
 * infinity is expected; an expected NaN is skipped. --atol and --rtol make it |a - b| <= atol +
 * rtol * |b| for floats and 8 bits alike; --min-snr judges the signal-to-noise ratio instead.
 */
#include "client/meaning.h"

struct tolerance {
    bool custom; /* atol and rtol were given */
    double atol, rtol;
    bool by_snr;
    double min_snr; /* dB */
};

/* Figures over any number of outputs. */
struct comparison {
    double max_abs;   /* max |a - b| */
    double max_rel;   /* max |a - b| / |b| over b other than 0 */
    double snr;       /* least of the outputs, in dB; infinite where nothing differs */
    int64_t compared; /* outputs whose numbers were looked at */
    int64_t failed;   /* elements out of tolerance, or outputs of a wrong type, shape or ratio */
    char why[256];    /* the first of them: one line, "" while none */
};

void comparison_init(struct comparison *c);
/* Adds one output. scratch holds the numbers meanwhile. */
void comparison_add(struct comparison *c, const struct tolerance *tolerance,
                    const struct meaning *meaning, const struct tensor *computed,
                    const struct tensor *expected, struct arena *scratch);

#endif
