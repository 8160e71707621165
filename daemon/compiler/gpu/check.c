/* Names, types and the rules of the dialect, on the trees of parse.c. */
#include "daemon/compiler/gpu/dialect.h"
#include <string.h>

enum { CALL_DEPTH_MAX = 12, LOCALS_MAX = 2048 };

struct declared {
    int slot;
    int scope;    /* that it was declared in */
    bool live;    /* that scope is still open */
    bool counter; /* of a loop: not to be assigned */
    const struct expression *start;
};

struct checker {
    struct arena *arena;
    struct refusal *refusal;
    struct dialect *dialect;
    struct method *method;
    /* Names of the method so far, closed scopes' too: C# refuses a name that an inner scope used.
     */
    struct declared *names;
    int name_count, name_room;
    int scope_start; /* index of the innermost scope's first name */
    int scope;       /* its number */
    int scopes;      /* numbers given */
};

static const struct {
    const char *name;
    int arguments;
} mathf[] = {
#define X(symbol, name, arguments) {name, arguments},
    MATHF_FUNCTIONS(X)
#undef X
};

#define REFUSE(c, at, ...) refuse((c)->refusal, (at)->line, (at)->column, __VA_ARGS__)

static void check(struct checker *c, struct expression *e);

static struct local *local_of(struct checker *c, const struct expression *e)
{
    return &c->method->locals[e->slot];
}

/* ---- constants */

static bool is_constant(const struct expression *e)
{
    return e->kind == EXPRESSION_INT;
}

static void become_int(struct checker *c, struct expression *e, int64_t value)
{
    if (value < INT32_MIN || value > INT32_MAX)
        REFUSE(c, e, "a constant beyond int");
    e->kind = EXPRESSION_INT;
    e->integer = (int32_t)value;
    e->part_count = 0;
}

static void become_float(struct expression *e, float value)
{
    e->kind = EXPRESSION_FLOAT;
    e->type = KERNEL_FLOAT;
    e->number = value;
    e->part_count = 0;
}

static void fold_int(struct checker *c, struct expression *e)
{
    bool divides = e->sign == SIGN_DIVIDE || e->sign == SIGN_REMAINDER;
    if (divides && is_constant(e->part[1]) && e->part[1]->integer <= 0)
        REFUSE(c, e, "an integer division by zero or by a negative number");
    if (divides && is_constant(e->part[0]) && e->part[0]->integer < 0)
        REFUSE(c, e, "an integer division of a negative number");
    if (!is_constant(e->part[0]) || !is_constant(e->part[1]))
        return;
    int64_t a = e->part[0]->integer, b = e->part[1]->integer;
    switch (e->sign) {
    case SIGN_ADD:
        become_int(c, e, a + b);
        break;
    case SIGN_SUBTRACT:
        become_int(c, e, a - b);
        break;
    case SIGN_MULTIPLY:
        become_int(c, e, a * b);
        break;
    case SIGN_DIVIDE:
        become_int(c, e, a / b);
        break;
    case SIGN_REMAINDER:
        become_int(c, e, a % b);
        break;
    default:
        break;
    }
}

/* ---- expressions */

/* Makes *e of the wanted type, as C# converts by itself: int to float. */
static void convert(struct checker *c, struct expression **e, enum kernel_type wanted)
{
    struct expression *from = *e;
    if (from->type == wanted)
        return;
    if (from->type != KERNEL_INT || wanted != KERNEL_FLOAT)
        REFUSE(c, from, "%s where %s is needed", kernel_type_name(from->type),
               kernel_type_name(wanted));
    if (is_constant(from)) {
        become_float(from, (float)from->integer);
        return;
    }
    struct expression *cast =
        expression_new(c->arena, EXPRESSION_CAST, from->line, from->column, 1);
    cast->type = KERNEL_FLOAT;
    cast->part[0] = from;
    *e = cast;
}

static bool is_number(enum kernel_type type)
{
    return type == KERNEL_INT || type == KERNEL_FLOAT;
}

/* Two numbers to the type that C# computes with. */
static enum kernel_type unify(struct checker *c, const struct expression *e, struct expression **a,
                              struct expression **b)
{
    if (!is_number((*a)->type) || !is_number((*b)->type))
        REFUSE(c, e, "an operator between %s and %s", kernel_type_name((*a)->type),
               kernel_type_name((*b)->type));
    if ((*a)->type == KERNEL_INT && (*b)->type == KERNEL_INT)
        return KERNEL_INT;
    convert(c, a, KERNEL_FLOAT);
    convert(c, b, KERNEL_FLOAT);
    return KERNEL_FLOAT;
}

static void check_name(struct checker *c, struct expression *e)
{
    for (int i = c->name_count; i-- > 0;) {
        const struct declared *d = &c->names[i];
        if (!d->live || strcmp(c->method->locals[d->slot].name, e->name) != 0)
            continue;
        e->kind = EXPRESSION_LOCAL;
        e->slot = d->slot;
        e->type = c->method->locals[d->slot].type;
        return;
    }
    REFUSE(c, e, "%s is no local and no parameter", e->name);
}

static void check_member(struct checker *c, struct expression *e)
{
    static const char colors[] = "rgba", vectors[] = "xyzw", ids[] = "xy";
    struct expression *of = e->part[0];
    check(c, of);
    const char *names = of->type == KERNEL_COLOR4    ? colors
                        : of->type == KERNEL_VECTOR4 ? vectors
                        : of->type == KERNEL_ID      ? ids
                                                     : "";
    const char *found = strlen(e->name) == 1 ? strchr(names, e->name[0]) : NULL;
    if (found == NULL || *names == '\0')
        REFUSE(c, e, "%s has no component %s", kernel_type_name(of->type), e->name);
    e->slot = (int)(found - names);
    if (of->type == KERNEL_ID) {
        e->kind = EXPRESSION_ID;
        e->type = KERNEL_INT;
        e->part_count = 0;
    } else {
        e->kind = EXPRESSION_COMPONENT;
        e->type = KERNEL_FLOAT;
    }
}

static void check_index(struct checker *c, struct expression *e)
{
    for (int i = 0; i < e->part_count; i++)
        check(c, e->part[i]);
    for (int i = 1; i < e->part_count; i++)
        if (e->part[i]->type != KERNEL_INT)
            REFUSE(c, e->part[i], "an index that is %s", kernel_type_name(e->part[i]->type));
    if (e->part[0]->type == KERNEL_BUFFER && e->part_count == 3) {
        e->kind = EXPRESSION_FETCH;
        e->type = KERNEL_COLOR4;
    } else if (e->part[0]->type == KERNEL_TABLE && e->part_count == 2) {
        e->kind = EXPRESSION_ENTRY;
        e->type = KERNEL_VECTOR4;
    } else {
        REFUSE(c, e, "%s with %d indices", kernel_type_name(e->part[0]->type), e->part_count - 1);
    }
    for (int i = 1; i < e->part_count; i++)
        if (is_constant(e->part[i]) && e->part[i]->integer < 0)
            REFUSE(c, e->part[i], "a negative index");
}

static void drop_callee(struct expression *e)
{
    e->part++;
    e->part_count--;
}

static void check_mathf(struct checker *c, struct expression *e)
{
    const char *name = e->part[0]->name;
    size_t row = 0;
    while (row < sizeof mathf / sizeof mathf[0] && strcmp(mathf[row].name, name) != 0)
        row++;
    if (row == sizeof mathf / sizeof mathf[0])
        REFUSE(c, e, "Mathf.%s is not allowed in a kernel", name);
    drop_callee(e);
    if (e->part_count != mathf[row].arguments)
        REFUSE(c, e, "Mathf.%s with %d arguments instead of %d", name, e->part_count,
               mathf[row].arguments);
    bool all_int = true;
    for (int i = 0; i < e->part_count; i++) {
        check(c, e->part[i]);
        all_int = all_int && e->part[i]->type == KERNEL_INT;
    }
    if (all_int && (row == MATHF_ABS || row == MATHF_MIN || row == MATHF_MAX || row == MATHF_CLAMP))
        REFUSE(c, e, "Mathf.%s of int", name);
    for (int i = 0; i < e->part_count; i++)
        convert(c, &e->part[i], KERNEL_FLOAT);
    e->kind = EXPRESSION_MATHF;
    e->type = KERNEL_FLOAT;
    e->slot = (int)row;
}

static void check_call(struct checker *c, struct expression *e)
{
    struct expression *callee = e->part[0];
    if (callee->kind == EXPRESSION_MEMBER && callee->part[0]->kind == EXPRESSION_NAME &&
        strcmp(callee->part[0]->name, "Mathf") == 0) {
        check_mathf(c, e);
        return;
    }
    if (callee->kind != EXPRESSION_NAME)
        REFUSE(c, e, "a call of something that is no helper");
    struct method *m = dialect_find(c->dialect, callee->name);
    if (m == NULL)
        REFUSE(c, e, "%s is no helper", callee->name);
    if (m->kernel)
        REFUSE(c, e, "a call of the kernel %s", m->name);
    drop_callee(e);
    if (e->part_count != m->parameter_count)
        REFUSE(c, e, "%s with %d arguments instead of %d", m->name, e->part_count,
               m->parameter_count);
    for (int i = 0; i < e->part_count; i++) {
        check(c, e->part[i]);
        convert(c, &e->part[i], m->locals[i].type);
    }
    e->callee = m;
    e->type = m->type;
}

static void check_binary(struct checker *c, struct expression *e)
{
    check(c, e->part[0]);
    check(c, e->part[1]);
    if (e->sign == SIGN_AND || e->sign == SIGN_OR) {
        for (int i = 0; i < 2; i++)
            convert(c, &e->part[i], KERNEL_BOOL);
        e->type = KERNEL_BOOL;
        return;
    }
    enum kernel_type type = unify(c, e, &e->part[0], &e->part[1]);
    if (e->sign >= SIGN_LESS) {
        e->type = KERNEL_BOOL;
        return;
    }
    e->type = type;
    if (type == KERNEL_INT)
        fold_int(c, e);
}

static void check_choose(struct checker *c, struct expression *e)
{
    for (int i = 0; i < 3; i++)
        check(c, e->part[i]);
    convert(c, &e->part[0], KERNEL_BOOL);
    enum kernel_type type = e->part[1]->type;
    if (type != e->part[2]->type)
        type = unify(c, e, &e->part[1], &e->part[2]);
    if (type > KERNEL_COLOR4)
        REFUSE(c, e, "a choice between two %s", kernel_type_name(type));
    e->type = type;
}

static void check_cast(struct checker *c, struct expression *e)
{
    struct expression *of = e->part[0];
    check(c, of);
    if (!is_number(e->type) || !is_number(of->type))
        REFUSE(c, e, "a cast of %s to %s", kernel_type_name(of->type), kernel_type_name(e->type));
    if (e->type == KERNEL_INT && of->kind == EXPRESSION_FLOAT &&
        !(of->number > -2147483904.0f && of->number < 2147483648.0f))
        REFUSE(c, e, "a constant beyond int");
    if (e->type == KERNEL_INT && is_constant(of))
        become_int(c, e, of->integer);
    else if (e->type == KERNEL_FLOAT && is_constant(of))
        become_float(e, (float)of->integer);
}

static void check_new(struct checker *c, struct expression *e)
{
    if (strcmp(e->name, "Color4") != 0 || e->part_count != 4)
        REFUSE(c, e, "new %s with %d arguments in a kernel", e->name, e->part_count);
    for (int i = 0; i < 4; i++) {
        check(c, e->part[i]);
        convert(c, &e->part[i], KERNEL_FLOAT);
    }
    e->kind = EXPRESSION_COLOR;
    e->type = KERNEL_COLOR4;
}

static void check(struct checker *c, struct expression *e)
{
    switch (e->kind) {
    case EXPRESSION_INT:
        e->type = KERNEL_INT;
        return;
    case EXPRESSION_FLOAT:
        e->type = KERNEL_FLOAT;
        return;
    case EXPRESSION_BOOL:
        e->type = KERNEL_BOOL;
        return;
    case EXPRESSION_NAME:
        check_name(c, e);
        return;
    case EXPRESSION_MEMBER:
        check_member(c, e);
        return;
    case EXPRESSION_INDEX:
        check_index(c, e);
        return;
    case EXPRESSION_CALL:
        check_call(c, e);
        return;
    case EXPRESSION_NEW:
        check_new(c, e);
        return;
    case EXPRESSION_BINARY:
        check_binary(c, e);
        return;
    case EXPRESSION_CHOOSE:
        check_choose(c, e);
        return;
    case EXPRESSION_CAST:
        check_cast(c, e);
        return;
    case EXPRESSION_NEGATE:
        check(c, e->part[0]);
        if (!is_number(e->part[0]->type))
            REFUSE(c, e, "a minus before %s", kernel_type_name(e->part[0]->type));
        e->type = e->part[0]->type;
        if (is_constant(e->part[0]))
            become_int(c, e, -(int64_t)e->part[0]->integer);
        else if (e->part[0]->kind == EXPRESSION_FLOAT)
            become_float(e, -e->part[0]->number);
        return;
    case EXPRESSION_NOT:
        check(c, e->part[0]);
        convert(c, &e->part[0], KERNEL_BOOL);
        e->type = KERNEL_BOOL;
        return;
    default:
        REFUSE(c, e, "an expression that is not allowed in a kernel");
    }
}

/* ---- statements */

static struct declared *declare(struct checker *c, int slot)
{
    const struct local *l = &c->method->locals[slot];
    static const char *const types[] = {"Mathf",     "Gpu",         "Vector4", "Color4",
                                        "GpuFormat", "GpuBuffer2D", "KernelId"};
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++)
        if (strcmp(l->name, types[i]) == 0)
            REFUSE(c, l, "the local %s hides a type", l->name);
    for (int i = 0; i < c->name_count; i++) {
        bool inner = i >= c->scope_start;
        if ((inner || c->names[i].live) &&
            strcmp(c->method->locals[c->names[i].slot].name, l->name) == 0)
            REFUSE(c, l, "%s is declared twice", l->name);
    }
    struct declared *d = &APPEND(c->arena, c->names, c->name_count, c->name_room);
    *d = (struct declared){.slot = slot, .scope = c->scope, .live = true};
    return d;
}

static struct declared *declared_of(struct checker *c, int slot)
{
    for (int i = c->name_count; i-- > 0;)
        if (c->names[i].slot == slot)
            return &c->names[i];
    return NULL;
}

struct scope {
    int start, number;
};

static struct scope open_scope(struct checker *c)
{
    struct scope outer = {c->scope_start, c->scope};
    c->scope_start = c->name_count;
    c->scope = ++c->scopes;
    return outer;
}

static void close_scope(struct checker *c, struct scope outer)
{
    for (int i = c->scope_start; i < c->name_count; i++)
        c->names[i].live = false;
    c->scope_start = outer.start;
    c->scope = outer.number;
}

static void check_list(struct checker *c, struct statement *s);

static void check_declaration(struct checker *c, struct statement *s)
{
    if (s->type < KERNEL_BOOL || s->type > KERNEL_COLOR4)
        REFUSE(c, s, "a local of type %s", kernel_type_name(s->type));
    if (c->method->local_count >= LOCALS_MAX)
        REFUSE(c, s, "more than %d locals", LOCALS_MAX);
    check(c, s->value);
    convert(c, &s->value, s->type);
    s->slot = c->method->local_count;
    APPEND(c->arena, c->method->locals, c->method->local_count, c->method->local_room) =
        (struct local){.name = s->name, .type = s->type, .line = s->line, .column = s->column};
    declare(c, s->slot)->start = s->value;
}

/* The target of an assignment, which has to be a local as a whole. */
static struct declared *check_target(struct checker *c, struct statement *s)
{
    if (s->target->kind == EXPRESSION_MEMBER)
        REFUSE(c, s, "a component is assigned");
    if (s->target->kind != EXPRESSION_NAME)
        REFUSE(c, s, "something other than a local is assigned");
    check(c, s->target);
    const struct local *l = local_of(c, s->target);
    if (l->type < KERNEL_BOOL || l->type > KERNEL_COLOR4)
        REFUSE(c, s, "a parameter of type %s is assigned", kernel_type_name(l->type));
    return declared_of(c, s->target->slot);
}

static void check_assignment(struct checker *c, struct statement *s)
{
    const struct declared *d = check_target(c, s);
    if (d->counter)
        REFUSE(c, s, "the counter %s of a loop is assigned", local_of(c, s->target)->name);
    check(c, s->value);
    if (s->compound && !is_number(s->target->type))
        REFUSE(c, s, "an operator on %s", kernel_type_name(s->target->type));
    convert(c, &s->value, s->target->type);
    if (s->compound && s->target->type == KERNEL_INT &&
        (s->sign == SIGN_DIVIDE || s->sign == SIGN_REMAINDER) && is_constant(s->value) &&
        s->value->integer <= 0)
        REFUSE(c, s, "an integer division by zero or by a negative number");
    local_of(c, s->target)->assigned = true;
}

/* How often `i = from; i SIGN to; i += by` runs; refuses what never ends or leaves int. */
static uint32_t trips_of(struct checker *c, const struct statement *s, enum operator_sign sign,
                         int64_t from, int64_t to, int64_t by)
{
    int64_t trips = 0;
    switch (sign) {
    case SIGN_LESS_EQUAL:
    case SIGN_LESS:
        to += sign == SIGN_LESS_EQUAL;
        if (from < to && by <= 0)
            REFUSE(c, s, "a loop that does not end");
        trips = from < to ? (to - from + by - 1) / by : 0;
        break;
    case SIGN_GREATER_EQUAL:
    case SIGN_GREATER:
        to -= sign == SIGN_GREATER_EQUAL;
        if (from > to && by >= 0)
            REFUSE(c, s, "a loop that does not end");
        trips = from > to ? (from - to - by - 1) / -by : 0;
        break;
    case SIGN_NOT_EQUAL:
        if (from != to && (by == 0 || (to - from) % by != 0 || (to - from) / by < 0))
            REFUSE(c, s, "a loop that does not end");
        trips = from != to ? (to - from) / by : 0;
        break;
    case SIGN_EQUAL:
        if (from == to && by == 0)
            REFUSE(c, s, "a loop that does not end");
        trips = from == to;
        break;
    default:
        REFUSE(c, s, "a loop whose condition is no comparison");
    }
    int64_t end = from + trips * by;
    if (trips > UINT32_MAX || end < INT32_MIN || end > INT32_MAX)
        REFUSE(c, s, "a loop whose counter leaves int");
    return (uint32_t)trips;
}

/* The statement before a list's end; NULL if the list is empty. */
static struct statement **last_of(struct statement **list)
{
    while (*list != NULL && (*list)->next != NULL)
        list = &(*list)->next;
    return list;
}

static void check_loop(struct checker *c, struct statement *s)
{
    struct scope outer = open_scope(c);
    if (s->is_while) {
        struct statement **last = s->body->kind == STATEMENT_BLOCK ? last_of(&s->body->body) : NULL;
        if (last == NULL || *last == NULL || (*last)->kind != STATEMENT_ASSIGN)
            REFUSE(c, s, "a while whose body does not end with the step of its counter");
        s->last = *last;
        *last = NULL;
    } else {
        check_declaration(c, s->first);
        s->slot = s->first->slot;
    }

    struct expression *e = s->value;
    check(c, e);
    if (e->kind != EXPRESSION_BINARY || e->sign < SIGN_LESS || e->sign > SIGN_NOT_EQUAL ||
        e->part[0]->kind != EXPRESSION_LOCAL || e->part[0]->type != KERNEL_INT ||
        !is_constant(e->part[1]))
        REFUSE(c, e, "a loop's condition that does not compare its int counter with a constant");
    if (s->is_while)
        s->slot = e->part[0]->slot;
    else if (s->slot != e->part[0]->slot)
        REFUSE(c, e, "a loop's condition that is not about its counter");

    struct declared *d = declared_of(c, s->slot);
    if (s->is_while && (d->scope != outer.number || d->counter ||
                        c->method->locals[s->slot].assigned || d->start == NULL))
        REFUSE(c, s, "a while whose counter is not fresh from its declaration in the same block");
    if (!is_constant(d->start))
        REFUSE(c, s, "a loop whose counter does not start at a constant");
    s->from = d->start->integer;

    struct statement *step = s->last;
    if (step->kind != STATEMENT_ASSIGN || !step->compound ||
        (step->sign != SIGN_ADD && step->sign != SIGN_SUBTRACT))
        REFUSE(c, step, "a loop's step that is not ++, --, += or -=");
    check_target(c, step);
    check(c, step->value);
    if (step->target->slot != s->slot)
        REFUSE(c, step, "a loop's step that is not of its counter");
    if (!is_constant(step->value))
        REFUSE(c, step, "a loop's step that is not constant");
    int64_t by = step->sign == SIGN_ADD ? step->value->integer : -(int64_t)step->value->integer;
    if (by < INT32_MIN || by > INT32_MAX)
        REFUSE(c, step, "a loop's step beyond int");
    s->by = (int32_t)by;
    s->trips = trips_of(c, s, e->sign, s->from, e->part[1]->integer, by);

    d->counter = true;
    check_list(c, s->body);
    close_scope(c, outer);
}

static void check_statement(struct checker *c, struct statement *s)
{
    struct scope outer;
    switch (s->kind) {
    case STATEMENT_DECLARE:
        check_declaration(c, s);
        return;
    case STATEMENT_ASSIGN:
        check_assignment(c, s);
        return;
    case STATEMENT_CALL:
        check(c, s->value);
        return;
    case STATEMENT_RETURN:
        if (s->value == NULL)
            REFUSE(c, s, "a return without a value");
        check(c, s->value);
        convert(c, &s->value, c->method->type);
        return;
    case STATEMENT_IF:
        check(c, s->value);
        convert(c, &s->value, KERNEL_BOOL);
        outer = open_scope(c);
        check_list(c, s->body);
        close_scope(c, outer);
        outer = open_scope(c);
        check_list(c, s->other);
        close_scope(c, outer);
        return;
    case STATEMENT_LOOP:
        check_loop(c, s);
        return;
    case STATEMENT_BLOCK:
        outer = open_scope(c);
        check_list(c, s->body);
        close_scope(c, outer);
        return;
    }
}

static void check_list(struct checker *c, struct statement *s)
{
    for (; s != NULL; s = s->next)
        check_statement(c, s);
}

/* ---- returns */

enum returning { RETURNS_NEVER, RETURNS_SOMETIMES, RETURNS_ALWAYS };

static enum returning returns(struct checker *c, const struct statement *s)
{
    enum returning found = RETURNS_NEVER;
    for (; s != NULL; s = s->next) {
        enum returning one = RETURNS_NEVER, other;
        switch (s->kind) {
        case STATEMENT_RETURN:
            one = RETURNS_ALWAYS;
            break;
        case STATEMENT_BLOCK:
            one = returns(c, s->body);
            if (one == RETURNS_SOMETIMES)
                REFUSE(c, s, "a block that returns only sometimes");
            break;
        case STATEMENT_LOOP:
            if (returns(c, s->body) != RETURNS_NEVER)
                REFUSE(c, s, "a return inside a loop");
            break;
        case STATEMENT_IF:
            one = returns(c, s->body);
            other = returns(c, s->other);
            if (one == RETURNS_SOMETIMES || other == RETURNS_SOMETIMES)
                REFUSE(c, s, "an if with a branch that returns only sometimes");
            if (one != other)
                one = RETURNS_SOMETIMES;
            break;
        default:
            break;
        }
        if (one == RETURNS_ALWAYS && s->next != NULL)
            REFUSE(c, s->next, "a statement after a return");
        if (one != RETURNS_NEVER)
            found = one;
    }
    return found;
}

static int count_returns(const struct statement *s)
{
    int count = 0;
    for (; s != NULL; s = s->next)
        count += (s->kind == STATEMENT_RETURN) + count_returns(s->body) + count_returns(s->other);
    return count;
}

static void check_returns(struct checker *c, const struct method *m)
{
    const struct statement *s = m->body->body;
    const struct {
        int line, column;
    } end = {m->end_line, m->end_column};
    if (m->kernel) {
        while (s != NULL && s->next != NULL)
            s = s->next;
        if (s == NULL || s->kind != STATEMENT_RETURN)
            REFUSE(c, &end, "the kernel %s does not end with a return", m->name);
        if (count_returns(m->body) != 1)
            REFUSE(c, m, "the kernel %s returns more than once", m->name);
    } else if (returns(c, s) != RETURNS_ALWAYS) {
        REFUSE(c, &end, "the helper %s does not return on every path", m->name);
    }
}

/* ---- methods */

static void check_signature(struct checker *c, const struct method *m)
{
    if (!m->is_static)
        REFUSE(c, m, "%s is not static", m->name);
    if (m->kernel && m->type != KERNEL_COLOR4)
        REFUSE(c, m, "the kernel %s does not return Color4", m->name);
    if (m->type < KERNEL_BOOL || m->type > KERNEL_COLOR4)
        REFUSE(c, m, "the helper %s returns %s", m->name, kernel_type_name(m->type));
    if (m->kernel && (m->parameter_count == 0 || m->locals[0].type != KERNEL_ID))
        REFUSE(c, m, "the kernel %s does not begin with a KernelId", m->name);
    for (int i = 0; i < m->parameter_count; i++) {
        const struct local *l = &m->locals[i];
        bool fits = m->kernel ? (i == 0) == (l->type == KERNEL_ID) &&
                                    (i == 0 || l->type == KERNEL_BUFFER || l->type == KERNEL_TABLE)
                              : (l->type >= KERNEL_BOOL && l->type <= KERNEL_BUFFER);
        if (!fits)
            REFUSE(c, l, "a parameter of type %s in %s", kernel_type_name(l->type), m->name);
        if (l->type == KERNEL_TABLE && l->capacity == 0)
            REFUSE(c, l, "the table %s has no capacity", l->name);
    }
    if (dialect_find(c->dialect, m->name) != m)
        REFUSE(c, m, "the method %s is there twice", m->name);
}

static void check_method(struct checker *c, struct method *m)
{
    c->method = m;
    c->name_count = 0;
    c->scope_start = 0;
    for (int i = 0; i < m->parameter_count; i++)
        declare(c, i);
    check_list(c, m->body->body);
    check_returns(c, m);
}

/* How deep calls go below a method: 0 unknown, -1 being counted. */
static int call_depth(struct checker *c, const struct method *m, int *depth);

static int depth_of_expression(struct checker *c, const struct expression *e, int *depth)
{
    int deepest = 0;
    if (e == NULL)
        return 0;
    if (e->kind == EXPRESSION_CALL) {
        deepest = depth[e->callee->number] != 0 ? depth[e->callee->number]
                                                : call_depth(c, e->callee, depth);
        if (deepest < 0)
            REFUSE(c, e, "%s calls itself", e->callee->name);
        if (deepest > CALL_DEPTH_MAX)
            REFUSE(c, e, "calls more than %d deep", CALL_DEPTH_MAX);
    }
    for (int i = 0; i < e->part_count; i++) {
        int below = depth_of_expression(c, e->part[i], depth);
        deepest = below > deepest ? below : deepest;
    }
    return deepest;
}

static int depth_of_list(struct checker *c, const struct statement *s, int *depth)
{
    int deepest = 0;
    for (; s != NULL; s = s->next) {
        int below[] = {depth_of_expression(c, s->value, depth), depth_of_list(c, s->first, depth),
                       depth_of_list(c, s->body, depth), depth_of_list(c, s->other, depth)};
        for (size_t i = 0; i < sizeof below / sizeof below[0]; i++)
            deepest = below[i] > deepest ? below[i] : deepest;
    }
    return deepest;
}

static int call_depth(struct checker *c, const struct method *m, int *depth)
{
    depth[m->number] = -1;
    int below = depth_of_list(c, m->body, depth);
    return depth[m->number] = below + 1;
}

void dialect_check(struct arena *arena, struct refusal *r, struct dialect *d)
{
    struct checker c = {.arena = arena, .refusal = r, .dialect = d};
    for (int i = 0; i < d->method_count; i++) {
        d->methods[i]->number = i;
        d->methods[i]->cost = NEW(arena, struct dialect_cost);
    }
    for (int i = 0; i < d->method_count; i++)
        check_signature(&c, d->methods[i]);
    for (int i = 0; i < d->method_count; i++)
        check_method(&c, d->methods[i]);
    int *depth = NEW_ARRAY(arena, d->method_count, int);
    for (int i = 0; i < d->method_count; i++)
        if (depth[i] == 0)
            call_depth(&c, d->methods[i], depth);
}
