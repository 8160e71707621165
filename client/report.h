#ifndef CLIENT_REPORT_H
#define CLIENT_REPORT_H
/*
 * Diagnostics as people and tools read them:
 *
 *     PATH:LINE:COLUMN: error: MESSAGE [TUKI0110]
 *
 * or one JSON object a line. Lines and columns count from 1, columns in code points; ends are
 * exclusive; severities are error, warning, note.
 */
#include "daemon/compiler/compiler.h"
#include <stdio.h>

struct report {
    const char *path;
    int line, column, end_line, end_column;
    enum diagnostic_code code;
    const char *message;
    const char *model;      /* path of the model that it is about; NULL: none, or path itself */
    const char *layer, *op; /* NULL: none */
};

void report_text(FILE *to, const struct report *r);
/* false: out of memory; nothing was written. */
bool report_json(FILE *to, const struct report *r);

/* What is wrong with a model, at the model. Where a place stands is asked of the job; NULL: the
 * first line. */
void report_model(struct report *r, const char *path, struct compile *job, int model,
                  const struct diagnostic *d);

/* A broken invariant of the compiler, at the model, as text; the rest of a report is written to a
 * file that the text names. job is COMPILE_FAILED. */
void report_broken(FILE *to, const char *path, const struct compile *job);

/* All diagnostics of a model, at the model, as text. */
void report_all(FILE *to, const char *path, struct compile *job, int model);

#endif
