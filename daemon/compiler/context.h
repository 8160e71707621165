#ifndef COMPILER_CONTEXT_H
#define COMPILER_CONTEXT_H
/*
 * The context of one job (one compile, run, verify …): its memory, its diagnostics, its way out.
 *
 * A job is pure and runs on one thread: nothing here is shared between threads but the cancel flag.
 * Every allocation of a job comes from an arena of its context, so leaving in the middle frees all.
 *
 * Three channels of failure:
 *   - what is wrong with the user's files is a diagnostic (diagnostics.h), and work goes on;
 *   - trouble with the system (memory, reading) and cancellation leave the job by context_escape();
 *   - a broken invariant leaves the job by BUG(), which is context_escape() with a report.
 * The caller of the job sets the way out once:
 *
 *     struct context c;
 *     context_init(&c, cancel);
 *     if (setjmp(c.escape) == 0) { work(&c); } else { look at c.reason and c.why; }
 *     context_release(&c);
 */
#include "daemon/compiler/arena.h"
#include "daemon/compiler/diagnostics.h"
#include <setjmp.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum escape_reason {
    ESCAPE_NONE,
    ESCAPE_MEMORY,    /* an allocation failed or passed the job's limit */
    ESCAPE_CANCELLED, /* the cancel flag was seen */
    ESCAPE_SYSTEM,    /* reading or writing failed for a reason that is not the user's */
    ESCAPE_REFUSED,   /* nothing can stand in for what is wrong with the user's files, which was
                         reported */
    ESCAPE_AGAIN,     /* only without rows of the cache can be told what is spent */
    ESCAPE_BUG,       /* a broken invariant: TUKI0190 */
    ESCAPE_STYLES,    /* a decision needs numbers in which models that are compiled into one differ:
                         c->differing */
};

/* context.style: none of them, what is decided holds for all */
enum { STYLE_ANY = -1 };
struct tensor_styles;

struct context;

/* What arenas may hold together, while somebody holds them to it. */
struct arena_limit {
    size_t most;   /* bytes; 0: no limit */
    size_t before; /* that were held when it was set */
    /* More is asked for: leaves the job. */
    void (*passed)(struct context *c, void *subject);
    void *subject;
};

/* What was spent on constants (operators/work.h). */
struct constants_account {
    uint64_t
        file_bytes; /* of all files that were read: what may be spent is in proportion to them */
    double steps;   /* spent so far */
    double written; /* elements that go into assets */
    double saved;   /* steps that rows of the cache stand for, at most */
    size_t kept;    /* bytes of numbers that are kept for as long as the job */
    bool exempt;    /* what is computed now was counted already */
};

struct context {
    jmp_buf escape;
    enum escape_reason reason;
    char why[256];
    const atomic_bool *cancel; /* borrowed, may be NULL; set by another thread */
    struct arena arena;        /* lives as long as the job */
    struct arena_chunk *spare; /* chunks between two uses: arena.c's */
    size_t spare_bytes;
    size_t held; /* bytes of all chunks that arenas have now */
    struct arena_limit limit;
    struct constants_account constants;
    struct diagnostics diagnostics;
    /* Models that share one graph and are compiled into one (graph/styles.h): how many, and whose
     * numbers a constant has now in which they differ. */
    int styles, style;
    const struct tensor_styles *differing; /* ESCAPE_STYLES: the constant */
};

/* Prepares an empty context. cancel is borrowed and may be NULL. */
void context_init(struct context *c, const atomic_bool *cancel);
/* Frees all memory of the job. Accepts a context that was only zeroed. */
void context_release(struct context *c);
/* Leaves the job through c->escape. Never returns. */
_Noreturn void context_escape(struct context *c, enum escape_reason reason, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* To be called in every loop whose length an input decides; leaves when the job was cancelled. */
void context_poll(struct context *c);

#define BUG(c, ...) context_escape((c), ESCAPE_BUG, __VA_ARGS__)

#endif
