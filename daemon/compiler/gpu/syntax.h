#ifndef COMPILER_GPU_SYNTAX_H
#define COMPILER_GPU_SYNTAX_H
/*
 * The tree of a method of a generated file, and the parser that makes it.
 *
 * The parser (parse.c) takes statements and expressions of C# as far as generated files use any; it
 * knows no names and no types. Kernels and their helpers are then resolved and typed in place by
 * the checker (check.c): only kinds marked "checked" are left. Host methods (Load, Run, Use,
 * SetTokens) stay as parsed and are interpreted (host.c).
 *
 * All nodes live in the arena of the parse and are not changed after checking.
 */
#include "daemon/compiler/gpu/lexer.h"

enum kernel_type {
    KERNEL_NONE, /* not known yet */
    KERNEL_VOID,
    KERNEL_BOOL,
    KERNEL_INT,
    KERNEL_FLOAT,
    KERNEL_VECTOR4,
    KERNEL_COLOR4,
    KERNEL_BUFFER,  /* GpuBuffer2D */
    KERNEL_TABLE,   /* Vector4[] */
    KERNEL_ID,      /* KernelId */
    KERNEL_IDS,     /* int[], host only */
    KERNEL_TEXTURE, /* Texture2D, host only */
};

/* "float", "Vector4[]" … */
const char *kernel_type_name(enum kernel_type type);

enum operator_sign {
    SIGN_ADD,
    SIGN_SUBTRACT,
    SIGN_MULTIPLY,
    SIGN_DIVIDE,
    SIGN_REMAINDER,
    SIGN_LESS,
    SIGN_LESS_EQUAL,
    SIGN_GREATER,
    SIGN_GREATER_EQUAL,
    SIGN_EQUAL,
    SIGN_NOT_EQUAL,
    SIGN_AND,
    SIGN_OR,
};

/* The functions of Mathf that a kernel may call: name and number of arguments. */
#define MATHF_FUNCTIONS(X)                                                                         \
    X(ABS, "Abs", 1)                                                                               \
    X(ACOS, "Acos", 1)                                                                             \
    X(ASIN, "Asin", 1)                                                                             \
    X(ATAN, "Atan", 1)                                                                             \
    X(ATAN2, "Atan2", 2)                                                                           \
    X(CEIL, "Ceil", 1)                                                                             \
    X(CLAMP, "Clamp", 3)                                                                           \
    X(COS, "Cos", 1)                                                                               \
    X(EXP, "Exp", 1)                                                                               \
    X(FLOOR, "Floor", 1)                                                                           \
    X(LOG, "Log", 1)                                                                               \
    X(MAX, "Max", 2)                                                                               \
    X(MIN, "Min", 2)                                                                               \
    X(POW, "Pow", 2)                                                                               \
    X(ROUND, "Round", 1)                                                                           \
    X(SIGN, "Sign", 1)                                                                             \
    X(SIN, "Sin", 1)                                                                               \
    X(SQRT, "Sqrt", 1)                                                                             \
    X(TAN, "Tan", 1)

enum mathf_function {
#define X(symbol, name, arguments) MATHF_##symbol,
    MATHF_FUNCTIONS(X)
#undef X
};

enum expression_kind {
    EXPRESSION_INT,       /* checked: integer */
    EXPRESSION_FLOAT,     /* checked: number */
    EXPRESSION_BOOL,      /* checked: integer 0 or 1 */
    EXPRESSION_NEGATE,    /* checked: part[0] */
    EXPRESSION_NOT,       /* checked: part[0] */
    EXPRESSION_BINARY,    /* checked: sign, part[0], part[1]; both of one type */
    EXPRESSION_CHOOSE,    /* checked: part[0] ? part[1] : part[2] */
    EXPRESSION_CAST,      /* checked: part[0] to type (int, float), written or implied */
    EXPRESSION_LOCAL,     /* checked: number of the local in `slot` */
    EXPRESSION_ID,        /* checked: id.x (slot 0) or id.y (slot 1) */
    EXPRESSION_COMPONENT, /* checked: component `slot` of part[0] */
    EXPRESSION_FETCH,     /* checked: buffer part[0] at part[1], part[2] */
    EXPRESSION_ENTRY,     /* checked: table part[0] at part[1] */
    EXPRESSION_COLOR,     /* checked: new Color4 of four parts */
    EXPRESSION_MATHF,     /* checked: function `slot` of its parts */
    EXPRESSION_CALL,      /* checked: helper `callee` of its parts; parsed: part[0] is called */
    EXPRESSION_INLINE,    /* made from a call by inline.c: `body`, then the value part[0] */
    EXPRESSION_NAME,      /* parsed: a name */
    EXPRESSION_MEMBER,    /* parsed: part[0].name */
    EXPRESSION_INDEX,     /* parsed: part[0] at part[1] and, with three parts, part[2] */
    EXPRESSION_NEW,       /* parsed: new name(parts) */
    EXPRESSION_ENTRIES,   /* parsed: new Vector4[] { … }; `entries`, `slot` of them */
    EXPRESSION_NULL,      /* parsed */
};

struct method;
struct statement;
struct dialect_cost;

struct expression {
    enum expression_kind kind;
    enum kernel_type type;
    int line, column;
    enum operator_sign sign;
    int slot;
    int32_t integer;
    float number;
    const char *name;
    struct expression **part;
    int part_count;
    struct method *callee;
    struct statement *body;
    float (*entries)[4];
    bool varying; /* of a flattened tree: differs from cell to cell of a block */
};

enum statement_kind {
    STATEMENT_DECLARE, /* local `slot`, name, type, its value */
    STATEMENT_ASSIGN,  /* target = value; a compound one keeps its sign and `compound` */
    STATEMENT_CALL,    /* value, for nothing */
    STATEMENT_RETURN,  /* value, NULL in void host methods */
    STATEMENT_IF,      /* value, body, other */
    STATEMENT_LOOP,    /* first; value; last; body. Checked: see below */
    STATEMENT_BLOCK,   /* body */
};

struct statement {
    enum statement_kind kind;
    int line, column;
    enum kernel_type type; /* of a declaration */
    bool compound;
    bool is_while; /* a loop written as while */
    enum operator_sign sign;
    int slot;
    const char *name;
    struct expression *target, *value;
    struct statement *first, *last; /* of a loop */
    struct statement *body, *other; /* first of a list */
    struct statement *next;
    /* A checked loop: local `slot` counts from `from` by `by`, `trips` times, and is assigned
     * nowhere else. `last` is its step, also for a while (taken from the end of the body); `first`
     * its declaration, NULL for a while (whose counter is declared before it). */
    int32_t from, by;
    uint32_t trips;
};

struct local {
    const char *name;
    enum kernel_type type;
    int line, column;
    bool parameter;
    bool assigned; /* other than by its declaration and as a loop's counter */
    int capacity;  /* of a table parameter */
};

struct method {
    const char *name;
    int line, column;
    bool kernel; /* has [Kernel] */
    bool is_static;
    enum kernel_type type; /* returned */
    struct local *locals;  /* the parameters first */
    int local_count, local_room, parameter_count;
    struct statement *body;
    int end_line, end_column;  /* of its closing brace */
    int number;                /* among the methods of its list */
    struct dialect_cost *cost; /* kept by dialect_cost() */
};

struct parser {
    struct lexer lexer;
    struct refusal *refusal;
    struct arena *arena;
    int depth;
    struct token closed; /* the last closing brace of a block */
};

void parser_init(struct parser *p, struct arena *arena, struct refusal *r, const char *text,
                 size_t length);
/* The next token is this sign or keyword. */
bool parser_at(struct parser *p, const char *text);
/* Takes it if it is there. */
bool parser_accept(struct parser *p, const char *text);
/* Takes it or refuses the text. */
struct token parser_expect(struct parser *p, const char *text);
/* Takes a name that is no keyword. */
struct token parser_name(struct parser *p);
/* Takes a type: int, float, bool, void, Vector4, Vector4[], Color4, GpuBuffer2D, KernelId, int[],
 * Texture2D. */
enum kernel_type parser_type(struct parser *p);
/* A method from its parameter list on; attributes, modifiers, type and name were taken. */
void parser_method(struct parser *p, struct method *m);
struct expression *parser_expression(struct parser *p);
struct expression *expression_new(struct arena *arena, enum expression_kind kind, int line,
                                  int column, int parts);

#endif
