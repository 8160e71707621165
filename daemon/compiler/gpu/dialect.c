#include "daemon/compiler/gpu/dialect.h"
#include "daemon/compiler/context.h"
#include <string.h>

struct method *dialect_find(const struct dialect *d, const char *name)
{
    for (int i = 0; i < d->method_count; i++)
        if (strcmp(d->methods[i]->name, name) == 0)
            return d->methods[i];
    return NULL;
}

static struct dialect *parse(struct arena *arena, struct refusal *r, const char *text,
                             size_t length)
{
    struct parser p;
    struct dialect *d = NEW(arena, struct dialect);
    parser_init(&p, arena, r, text, length);
    while (lexer_peek(&p.lexer, 0)->kind != TOKEN_END) {
        struct method *m = NEW(arena, struct method);
        if (parser_accept(&p, "[")) {
            struct token name = parser_name(&p);
            if (strcmp(name.text, "Kernel") != 0)
                refuse(r, name.line, name.column, "the attribute %s", name.text);
            parser_expect(&p, "]");
            m->kernel = true;
        }
        if (!parser_accept(&p, "private"))
            parser_accept(&p, "public");
        m->is_static = parser_accept(&p, "static");
        m->type = parser_type(&p);
        struct token name = parser_name(&p);
        m->name = name.text;
        m->line = name.line;
        m->column = name.column;
        parser_method(&p, m);
        APPEND(arena, d->methods, d->method_count, d->method_room) = m;
    }
    dialect_check(arena, r, d);
    return d;
}

struct dialect *dialect_parse(struct arena *arena, const char *text, size_t length,
                              struct dialect_error *error)
{
    struct refusal r = {.error = error};
    if (setjmp(r.escape) != 0)
        return NULL;
    return parse(arena, &r, text, length);
}

/* ---- cost */

static uint64_t plus(uint64_t a, uint64_t b)
{
    uint64_t sum;
    return __builtin_add_overflow(a, b, &sum) ? UINT64_MAX : sum;
}

static uint64_t times(uint64_t a, uint64_t b)
{
    uint64_t product;
    return __builtin_mul_overflow(a, b, &product) ? UINT64_MAX : product;
}

static void add(struct dialect_cost *to, struct dialect_cost c, uint64_t trips)
{
    to->fetches = plus(to->fetches, times(c.fetches, trips));
    to->entries = plus(to->entries, times(c.entries, trips));
    to->macs = plus(to->macs, times(c.macs, trips));
    to->alu = plus(to->alu, times(c.alu, trips));
}

static uint64_t larger(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static bool is_product(const struct expression *e, bool ints)
{
    if (e->kind != EXPRESSION_BINARY || e->sign != SIGN_MULTIPLY)
        return false;
    if (e->type == KERNEL_FLOAT)
        return true;
    return ints && e->part[0]->kind != EXPRESSION_INT && e->part[1]->kind != EXPRESSION_INT;
}

static bool is_sum(const struct expression *e)
{
    return e->kind == EXPRESSION_BINARY && (e->sign == SIGN_ADD || e->sign == SIGN_SUBTRACT);
}

static struct dialect_cost cost_of_method(const struct method *m);

/* `summed`: the value is added to something, so that a product here is half of a multiply-add;
 * `ints`: int products count as such. */
static struct dialect_cost cost_of(const struct expression *e, bool summed, bool ints)
{
    struct dialect_cost cost = {0};
    if (e == NULL)
        return cost;
    bool inner = is_sum(e);
    for (int i = 0; i < e->part_count; i++)
        add(&cost, cost_of(e->part[i], inner, ints), 1);
    switch (e->kind) {
    case EXPRESSION_FETCH:
        cost.fetches = plus(cost.fetches, 1);
        break;
    case EXPRESSION_ENTRY:
        cost.entries = plus(cost.entries, 1);
        break;
    case EXPRESSION_BINARY:
        if (summed && is_product(e, ints)) {
            cost.macs = plus(cost.macs, 1);
            break;
        }
        /* The addition of a multiply-add is the product's; of two products one addition is. */
        if (inner && (is_product(e->part[0], ints) || is_product(e->part[1], ints)))
            break;
        cost.alu = plus(cost.alu, 1);
        break;
    case EXPRESSION_NEGATE:
    case EXPRESSION_NOT:
    case EXPRESSION_CHOOSE:
    case EXPRESSION_CAST:
    case EXPRESSION_MATHF:
        cost.alu = plus(cost.alu, 1);
        break;
    case EXPRESSION_CALL:
        add(&cost, cost_of_method(e->callee), 1);
        break;
    default:
        break;
    }
    return cost;
}

static struct dialect_cost cost_of_assignment(const struct statement *s)
{
    bool sums = s->compound && (s->sign == SIGN_ADD || s->sign == SIGN_SUBTRACT);
    struct dialect_cost cost = cost_of(s->value, sums, sums && s->target->type == KERNEL_INT);
    if (s->compound && !(sums && (is_product(s->value, true) || is_sum(s->value))))
        cost.alu = plus(cost.alu, 1);
    else if (sums && is_sum(s->value) && cost.macs == 0)
        cost.alu = plus(cost.alu, 1);
    return cost;
}

static struct dialect_cost cost_of_list(const struct statement *s)
{
    struct dialect_cost cost = {0};
    for (; s != NULL; s = s->next) {
        struct dialect_cost one, other;
        switch (s->kind) {
        case STATEMENT_ASSIGN:
            add(&cost, cost_of_assignment(s), 1);
            break;
        case STATEMENT_LOOP:
            one = cost_of_list(s->body);
            one.alu = plus(one.alu, 2); /* comparison and step */
            add(&cost, one, s->trips);
            break;
        case STATEMENT_IF:
            add(&cost, cost_of(s->value, false, false), 1);
            one = cost_of_list(s->body);
            other = cost_of_list(s->other);
            add(&cost,
                (struct dialect_cost){.fetches = larger(one.fetches, other.fetches),
                                      .entries = larger(one.entries, other.entries),
                                      .macs = larger(one.macs, other.macs),
                                      .alu = larger(one.alu, other.alu)},
                1);
            break;
        case STATEMENT_BLOCK:
            add(&cost, cost_of_list(s->body), 1);
            break;
        default:
            add(&cost, cost_of(s->value, false, false), 1);
            break;
        }
    }
    return cost;
}

/* Kept with the method: helpers that call helpers twice would otherwise count exponentially long.
 */
static struct dialect_cost cost_of_method(const struct method *m)
{
    if (!m->cost->known) {
        *m->cost = cost_of_list(m->body);
        m->cost->known = true;
    }
    return *m->cost;
}

struct dialect_cost dialect_cost(const struct method *m)
{
    return cost_of_method(m);
}
