#include "daemon/compiler/gpu/flatten.h"

enum { NODES_MAX = 1 << 20 };

struct flattener {
    struct arena *arena;
    struct flat *flat;
    int nodes;
};

/* One copy of a method: what stands for each of its locals. */
struct instance {
    const struct method *method;
    struct expression **meaning; /* by the method's slot; NULL until declared */
    struct expression *result;   /* the local that returns assign; NULL in a kernel */
    struct statement **tail;     /* where the next statement goes */
};

static struct expression *copy(struct flattener *f, struct instance *in,
                               const struct expression *e);
static void copy_list(struct flattener *f, struct instance *in, const struct statement *s);

static bool counted(struct flattener *f)
{
    return ++f->nodes <= NODES_MAX;
}

static struct expression *new_local(struct flattener *f, enum kernel_type type, bool assigned,
                                    int parameter)
{
    struct expression *e = expression_new(f->arena, EXPRESSION_LOCAL, 0, 0, 0);
    e->type = type;
    e->slot = f->flat->local_count;
    APPEND(f->arena, f->flat->locals, f->flat->local_count, f->flat->local_room) =
        (struct flat_local){.type = type, .assigned = assigned, .parameter = parameter};
    return e;
}

static struct statement *append(struct flattener *f, struct instance *in, enum statement_kind kind,
                                int line, int column)
{
    struct statement *s = NEW(f->arena, struct statement);
    s->kind = kind;
    s->line = line;
    s->column = column;
    *in->tail = s;
    in->tail = &s->next;
    return s;
}

static void append_declaration(struct flattener *f, struct instance *in,
                               const struct expression *local, struct expression *value, int line,
                               int column)
{
    struct statement *s = append(f, in, STATEMENT_DECLARE, line, column);
    s->slot = local->slot;
    s->type = local->type;
    s->value = value;
    f->flat->locals[local->slot].start = value;
}

static bool has_return(const struct statement *s)
{
    for (; s != NULL; s = s->next)
        if (s->kind == STATEMENT_RETURN || has_return(s->body) || has_return(s->other))
            return true;
    return false;
}

/* The helper's only return is its last statement: no result local is needed. */
static bool returns_at_end(const struct statement *s)
{
    for (; s != NULL && s->next != NULL; s = s->next)
        if (s->kind == STATEMENT_RETURN || has_return(s->body) || has_return(s->other))
            return false;
    return s != NULL && s->kind == STATEMENT_RETURN;
}

/* Stands for itself wherever it is written: nothing in a helper changes it. */
static bool is_simple(const struct expression *e)
{
    return e->kind == EXPRESSION_INT || e->kind == EXPRESSION_FLOAT || e->kind == EXPRESSION_BOOL ||
           e->kind == EXPRESSION_LOCAL || e->kind == EXPRESSION_ID;
}

static struct expression *inlined(struct flattener *f, struct instance *outer,
                                  const struct expression *call)
{
    const struct method *m = call->callee;
    struct expression *e = expression_new(f->arena, EXPRESSION_INLINE, call->line, call->column, 1);
    struct instance in = {.method = m, .tail = &e->body};
    e->type = call->type;
    in.meaning = NEW_ARRAY(f->arena, m->local_count, struct expression *);
    for (int i = 0; i < m->parameter_count; i++) {
        struct expression *value = copy(f, outer, call->part[i]);
        if (value->type == KERNEL_BUFFER || (is_simple(value) && !m->locals[i].assigned)) {
            in.meaning[i] = value;
            continue;
        }
        in.meaning[i] = new_local(f, m->locals[i].type, m->locals[i].assigned, -1);
        append_declaration(f, &in, in.meaning[i], value, value->line, value->column);
    }
    if (!returns_at_end(m->body->body)) {
        in.result = new_local(f, m->type, true, -1);
        append_declaration(f, &in, in.result, NULL, call->line, call->column);
        copy_list(f, &in, m->body->body);
        e->part[0] = in.result;
        return e;
    }
    const struct statement *s = m->body->body;
    while (s->next != NULL)
        s = s->next;
    copy_list(f, &in, m->body->body);
    e->part[0] = copy(f, &in, s->value);
    return e;
}

static struct expression *copy(struct flattener *f, struct instance *in, const struct expression *e)
{
    if (!counted(f)) /* the tree is thrown away: any node will do */
        return expression_new(f->arena, EXPRESSION_INT, e->line, e->column, 0);
    if (e->kind == EXPRESSION_CALL)
        return inlined(f, in, e);
    if (e->kind == EXPRESSION_LOCAL)
        return in->meaning[e->slot];
    struct expression *c = expression_new(f->arena, e->kind, e->line, e->column, e->part_count);
    c->type = e->type;
    c->sign = e->sign;
    c->slot = e->slot;
    c->integer = e->integer;
    c->number = e->number;
    for (int i = 0; i < e->part_count; i++)
        c->part[i] = copy(f, in, e->part[i]);
    return c;
}

static struct expression *declared(struct flattener *f, struct instance *in,
                                   const struct statement *s)
{
    const struct local *l = &in->method->locals[s->slot];
    return in->meaning[s->slot] = new_local(f, l->type, l->assigned, -1);
}

static void copy_into(struct flattener *f, struct instance *in, struct statement **head,
                      const struct statement *list, const struct statement *rest)
{
    struct statement **tail = in->tail;
    in->tail = head;
    copy_list(f, in, list);
    copy_list(f, in, rest);
    in->tail = tail;
}

/* True if what follows was taken along, into a branch. */
static bool copy_statement(struct flattener *f, struct instance *in, const struct statement *s)
{
    struct statement *c;
    struct expression *value;
    switch (s->kind) {
    case STATEMENT_DECLARE:
        value = copy(f, in, s->value);
        append_declaration(f, in, declared(f, in, s), value, s->line, s->column);
        return false;
    case STATEMENT_ASSIGN:
        value = copy(f, in, s->value);
        c = append(f, in, STATEMENT_ASSIGN, s->line, s->column);
        c->target = copy(f, in, s->target);
        c->value = value;
        c->compound = s->compound;
        c->sign = s->sign;
        return false;
    case STATEMENT_CALL:
        value = copy(f, in, s->value);
        append(f, in, STATEMENT_CALL, s->line, s->column)->value = value;
        return false;
    case STATEMENT_RETURN:
        if (in->result == NULL)
            return false; /* the value is copied by who wants it */
        value = copy(f, in, s->value);
        c = append(f, in, STATEMENT_ASSIGN, s->line, s->column);
        c->target = in->result;
        c->value = value;
        return false;
    case STATEMENT_BLOCK:
        copy_list(f, in, s->body);
        return false;
    case STATEMENT_IF:
        value = copy(f, in, s->value);
        c = append(f, in, STATEMENT_IF, s->line, s->column);
        c->value = value;
        if (has_return(s->body) != has_return(s->other)) {
            bool then = has_return(s->body);
            copy_into(f, in, &c->body, s->body, then ? NULL : s->next);
            copy_into(f, in, &c->other, s->other, then ? s->next : NULL);
            return true;
        }
        copy_into(f, in, &c->body, s->body, NULL);
        copy_into(f, in, &c->other, s->other, NULL);
        return false;
    case STATEMENT_LOOP:
        if (s->first != NULL)
            copy_statement(f, in, s->first);
        c = append(f, in, STATEMENT_LOOP, s->line, s->column);
        c->slot = in->meaning[s->slot]->slot;
        c->from = s->from;
        c->by = s->by;
        c->trips = s->trips;
        f->flat->locals[c->slot].assigned = true;
        copy_into(f, in, &c->body, s->body, NULL);
        return false;
    }
    return false;
}

static void copy_list(struct flattener *f, struct instance *in, const struct statement *s)
{
    for (; s != NULL && counted(f); s = s->next)
        if (copy_statement(f, in, s))
            return;
}

struct flat *flatten(struct arena *arena, const struct method *kernel)
{
    struct flattener f = {.arena = arena, .flat = NEW(arena, struct flat)};
    struct instance in = {.method = kernel, .tail = &f.flat->body};
    f.flat->kernel = kernel;
    in.meaning = NEW_ARRAY(arena, kernel->local_count, struct expression *);
    for (int i = 0; i < kernel->parameter_count; i++)
        in.meaning[i] = new_local(&f, kernel->locals[i].type, false, i);
    copy_list(&f, &in, kernel->body->body);
    const struct statement *s = kernel->body->body;
    while (s->next != NULL)
        s = s->next;
    f.flat->result = copy(&f, &in, s->value);
    return f.nodes <= NODES_MAX ? f.flat : NULL;
}
