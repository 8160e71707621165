#include "client/compare.h"
#include "daemon/compiler/graph/half.h"
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void comparison_init(struct comparison *c)
{
    *c = (struct comparison){.snr = INFINITY};
}

static void fail(struct comparison *c, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
static void fail(struct comparison *c, const char *format, ...)
{
    va_list arguments;

    if (c->failed++)
        return;
    va_start(arguments, format);
    vsnprintf(c->why, sizeof c->why, format, arguments);
    va_end(arguments);
}

/* What is allowed between an element and the expected b. */
struct allowance {
    double fixed, relative;
    bool exact;
};

static struct allowance allowance_of(const struct tolerance *t, const struct meaning *m,
                                     enum element_type type, double largest)
{
    if (m->quantised)
        return t->custom ? (struct allowance){.fixed = t->atol, .relative = t->rtol}
                         : (struct allowance){.fixed = 1.001 * (double)m->scale};
    if (!type_is_float(type))
        return (struct allowance){.exact = true};
    if (t->custom)
        return (struct allowance){.fixed = t->atol, .relative = t->rtol};
    return (struct allowance){.fixed = 1e-4 + 4e-3 * largest, .relative = 1e-2};
}

static void add_integers(struct comparison *c, const struct meaning *m, const int64_t *a,
                         const int64_t *b, int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        double distance = fabs((double)a[i] - (double)b[i]);

        if (a[i] != b[i])
            fail(c, "output %s, element %lld is %lld instead of %lld", m->name, (long long)i,
                 (long long)a[i], (long long)b[i]);
        c->max_abs = fmax(c->max_abs, distance);
        if (b[i])
            c->max_rel = fmax(c->max_rel, distance / fabs((double)b[i]));
    }
}

static double ratio(double signal, double noise)
{
    if (noise == 0)
        return INFINITY;
    return isnan(noise) ? -INFINITY : 10 * log10(signal / noise);
}

static void add_numbers(struct comparison *c, const struct tolerance *t, const struct meaning *m,
                        enum element_type type, const double *a, const double *b, int64_t count)
{
    double largest = 0, signal = 0, noise = 0;
    struct allowance allowed;

    for (int64_t i = 0; i < count; i++)
        if (isfinite(b[i]))
            largest = fmax(largest, fabs(b[i]));
    allowed = allowance_of(t, m, type, largest);
    for (int64_t i = 0; i < count; i++) {
        double want = b[i], got = a[i];

        if (isnan(want))
            continue;
        if (isinf(want)) {
            want = copysign(LARGEST_HALF, want);
            got = isinf(got) ? copysign(LARGEST_HALF, got) : got;
        }
        double distance = fabs(got - want);
        /* Written so that a computed NaN fails. */
        if (!t->by_snr &&
            !(distance <= (allowed.exact ? 0 : allowed.fixed + allowed.relative * fabs(want))))
            fail(c, "output %s, element %lld is %.9g instead of %.9g", m->name, (long long)i, got,
                 want);
        c->max_abs = isnan(distance) ? distance : fmax(c->max_abs, distance);
        if (want != 0)
            c->max_rel = isnan(distance) ? distance : fmax(c->max_rel, distance / fabs(want));
        signal += want * want;
        noise += distance * distance;
    }
    double snr = ratio(signal, noise);
    if (t->by_snr && !(snr >= t->min_snr))
        fail(c, "output %s has a signal-to-noise ratio of %.4g dB", m->name, snr);
    c->snr = fmin(c->snr, snr);
}

void comparison_add(struct comparison *c, const struct tolerance *tolerance,
                    const struct meaning *meaning, const struct tensor *computed,
                    const struct tensor *expected, struct arena *scratch)
{
    struct context *context = scratch->context;
    bool wide = type_is_integer(expected->type) && !meaning->quantised && !tolerance->by_snr;

    if (computed->type != expected->type || !shape_equal(&computed->shape, &expected->shape)) {
        fail(c, "output %s is %s %s instead of %s %s", meaning->name, type_name(computed->type),
             shape_text(scratch, &computed->shape), type_name(expected->type),
             shape_text(scratch, &expected->shape));
        return;
    }
    if (!type_bits(expected->type)) {
        fail(c, "output %s is of type %s, which cannot be compared", meaning->name,
             type_name(expected->type));
        return;
    }
    c->compared++;
    if (wide) /* float64 does not tell all of them apart */
        add_integers(c, meaning, tensor_integers(context, computed, scratch),
                     tensor_integers(context, expected, scratch), expected->count);
    else
        add_numbers(c, tolerance, meaning, expected->type,
                    tensor_doubles(context, computed, scratch),
                    tensor_doubles(context, expected, scratch), expected->count);
}
