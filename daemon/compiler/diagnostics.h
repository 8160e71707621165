#ifndef COMPILER_DIAGNOSTICS_H
#define COMPILER_DIAGNOSTICS_H
/*
 * What is wrong with a model, in the model's words. diagnostics.def holds one row a code; codes are
 * stable and never reused.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum severity { SEVERITY_ERROR = 1, SEVERITY_WARNING, SEVERITY_INFORMATION };

enum diagnostic_code {
#define DIAGNOSTIC(number, severity, title, advice) TUKI##number,
#include "daemon/compiler/diagnostics.def"
#undef DIAGNOSTIC
    DIAGNOSTIC_CODES
};

struct diagnostic_info {
    const char *name; /* "TUKI0110" */
    enum severity severity;
    const char *title; /* one line, for lists and documentation */
    const char *
        advice; /* what to change in the export; a full sentence, ends every message of this code */
};
const struct diagnostic_info *diagnostic_info(enum diagnostic_code code);

/* What a diagnostic is about: where its line in the text view is, and where it sorts (rulings: the
 * model, then inputs, then layers in the file's order, then outputs). */
enum place_kind { PLACE_MODEL, PLACE_INPUT, PLACE_LAYER, PLACE_OUTPUT };
struct place {
    enum place_kind kind;
    int index;         /* of the input, of the node in the file's list, of the output */
    const char *layer; /* display name of the layer, NULL where there is none */
    const char *op;    /* operator, NULL where there is none */
};

struct diagnostic {
    enum diagnostic_code code;
    struct place place;
    const char *message; /* complete: subject, what is wrong, advice; no line end */
};

struct diagnostics {
    struct diagnostic *list; /* in an arena of the context; sorted by diagnostics_sort() */
    int count, room;
    int errors; /* those of SEVERITY_ERROR */
};

struct context;
/*
 * Reports one fault. The message becomes "<subject>: <detail>. <advice>"; the subject is the
 * place's
 * ("Conv conv1", "Conv #12", "input image"), detail is a clause without final stop, and the advice
 * is the row's, or advice where it is not NULL ("" for none). Reporting the very same code, place
 * and text twice is silently once (S2); after 10000 of one model errors are only counted.
 */
void diagnose(struct context *c, const struct place *place, enum diagnostic_code code,
              const char *advice, const char *detail, ...) __attribute__((format(printf, 5, 6)));
/* Stable order of check: model, inputs, layers in the file's order, outputs; then code. */
void diagnostics_sort(struct diagnostics *d);

#endif
