#ifndef COMPILER_EXCESS_H
#define COMPILER_EXCESS_H
/*
 * TUKI0135: layers whose stored results may exceed what 16 bits hold, and from which size of their
 * input on (R12). Looks at what the steps of a plan store: a square inside a step whose result is
 * bounded is none, nor is what is held times a power of two and so fits.
 */
#include "daemon/compiler/gpu/plan.h"

/* After plan_ranges() and once all steps are there. One warning for each reason. */
void report_excess(struct plan *p);

#endif
