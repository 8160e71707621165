#ifndef CLIENT_COMMAND_H
#define CLIENT_COMMAND_H
/*
 * The commands of `onnxgpu`: one file each in commands/, which ends in its row; commands.def lists
 * the rows. A row holds all that --help prints.
 *
 * A command runs once, on the main thread. Memory is the invocation's context's; where that runs
 * out, or reading fails in the middle, the program ends with EXIT_TROUBLE.
 */
#include "cache/cache.h"
#include "daemon/compile_cache.h"
#include "daemon/compiler/context.h"

/* What every command answers with. */
enum exit_status {
    EXIT_FINE = 0,    /* warnings allowed */
    EXIT_WRONG = 1,   /* errors in a model or script, a failed comparison */
    EXIT_TROUBLE = 2, /* wrong use, or I/O failure of our own */
};

struct option {
    const char *name;     /* "seed" of --seed; NULL ends the list */
    char letter;          /* 'o' of -o, 0: none */
    const char *argument; /* what the value is called in --help; NULL: a flag */
    bool repeated;        /* may be given several times */
    const char *documentation;
};

/* One use of an option, in the order of the command line. */
struct given {
    const struct option *option;
    const char *value; /* "" of a flag */
};

struct invocation;
struct command {
    const char *name;
    const char *arguments;     /* as --help prints them: "PATH…" */
    const char *documentation; /* one line */
    const struct option *options;
    int min_operands, max_operands; /* max -1: any number */
    enum exit_status (*run)(struct invocation *);
};

struct invocation {
    struct context *context;
    const struct command *command;
    const char *const *operands;
    int operand_count;
    const struct given *given;
    int given_count;
    struct cache *cache; /* opened by invocation_cache() */
    struct compile_cache_adapter adapter;
};

/* The options of every command. */
extern const struct option global_options[];
/* All commands in the order of --help, ended by NULL. */
extern const struct command *const commands[];

/* The last value of an option of the command or of all commands; NULL where it was not given. */
const char *invocation_value(const struct invocation *v, const char *name);
bool invocation_flag(const struct invocation *v, const char *name);
/* A finite number, or an integer from 0 on; otherwise where it was not given. Ends the program
 * (wrong use) where it is none. */
double invocation_number(struct invocation *v, const char *name, double otherwise);
uint64_t invocation_integer(struct invocation *v, const char *name, uint64_t otherwise);
/* The position in choices (ended by NULL) of an option's value, 0 where it was not given. Ends the
 * program where it is none of them. */
int invocation_choice(struct invocation *v, const char *name, const char *const *choices);

/* The cache that --cache, --no-cache and the environment name, as the compiler takes it. Opened
 * once, closed with the program. */
struct compile_cache *invocation_cache(struct invocation *v);

/* Ends the program: "onnxgpu: …" on stderr and EXIT_TROUBLE. invocation_misuse() adds where
 * to read on. */
_Noreturn void invocation_fail(struct invocation *v, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
_Noreturn void invocation_misuse(struct invocation *v, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Ends the program (EXIT_TROUBLE) where the command line names a file that is not there. */
void invocation_operand(struct invocation *v, const char *path);

/* A line on stderr, unless --quiet. */
void invocation_note(const struct invocation *v, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
