#include "daemon/compiler/gpu/index.h"
#include "daemon/compiler/context.h"
#include <inttypes.h>
#include <string.h>

enum atom_kind { ATOM_VARIABLE, ATOM_DIV, ATOM_MOD, ATOM_CLAMP };

struct atom {
    enum atom_kind kind;
    int id; /* in order of making: the order of terms in a sum */
    const char *name;
    const struct index *of;
    int64_t by, lo, hi; /* by: divisor */
    struct atom *next;
};

struct term {
    int64_t factor;
    const struct atom *atom;
};

struct index {
    int64_t constant, lo, hi;
    const struct index *next; /* in its bucket */
    int count;
    struct term terms[];
};

enum { BUCKETS = 256, MOST_TERMS = 64 };

struct index_pool {
    struct arena *arena;
    int atoms;
    struct atom *atom[BUCKETS];
    const struct index *index[BUCKETS];
};

/* A sum while it is put together. */
struct sum {
    int64_t constant;
    int count;
    struct term terms[MOST_TERMS];
};

struct index_pool *index_pool_new(struct arena *arena)
{
    struct index_pool *p = NEW(arena, struct index_pool);

    p->arena = arena;
    return p;
}

static uint64_t mix(uint64_t h, uint64_t v)
{
    h = (h ^ v) * 0x9e3779b97f4a7c15u;
    return h ^ h >> 29;
}

static int64_t divide_down(int64_t a, int64_t b)
{
    return a / b - (a % b < 0);
}

static int64_t gcd(int64_t a, int64_t b)
{
    a = a < 0 ? -a : a;
    b = b < 0 ? -b : b;
    while (b) {
        int64_t r = a % b;
        a = b;
        b = r;
    }
    return a;
}

static const struct atom *atom_make(struct index_pool *p, struct atom wanted)
{
    uint64_t h =
        mix(mix((uint64_t)wanted.kind, (uint64_t)(uintptr_t)wanted.of), (uint64_t)wanted.by);
    struct atom *a;

    for (const char *n = wanted.name; n && *n; n++)
        h = mix(h, (unsigned char)*n);
    h = mix(mix(h, (uint64_t)wanted.lo), (uint64_t)wanted.hi);
    for (a = p->atom[h % BUCKETS]; a; a = a->next)
        if (a->kind == wanted.kind && a->of == wanted.of && a->by == wanted.by &&
            a->lo == wanted.lo && a->hi == wanted.hi &&
            (a->name == wanted.name || (a->name && wanted.name && !strcmp(a->name, wanted.name))))
            return a;
    a = arena_memdup(p->arena, &wanted, sizeof wanted);
    a->id = p->atoms++;
    if (wanted.name)
        a->name = arena_strdup(p->arena, wanted.name);
    a->next = p->atom[h % BUCKETS];
    p->atom[h % BUCKETS] = a;
    return a;
}

static void sum_add(struct index_pool *p, struct sum *s, int64_t factor, const struct atom *atom)
{
    int i = 0;

    while (i < s->count && s->terms[i].atom->id < atom->id)
        i++;
    if (i < s->count && s->terms[i].atom == atom) {
        s->terms[i].factor += factor;
        if (!s->terms[i].factor) {
            s->count--;
            memmove(s->terms + i, s->terms + i + 1, (size_t)(s->count - i) * sizeof *s->terms);
        }
        return;
    }
    if (!factor)
        return;
    if (s->count == MOST_TERMS)
        BUG(p->arena->context, "an index has more than %d terms", MOST_TERMS);
    memmove(s->terms + i + 1, s->terms + i, (size_t)(s->count - i) * sizeof *s->terms);
    s->terms[i] = (struct term){factor, atom};
    s->count++;
}

static void sum_add_index(struct index_pool *p, struct sum *s, int64_t factor,
                          const struct index *a)
{
    s->constant += factor * a->constant;
    for (int i = 0; i < a->count; i++)
        sum_add(p, s, factor * a->terms[i].factor, a->terms[i].atom);
}

/* f * k * (B / k) + f * (B % k) is f * B. */
static bool sum_rejoin(struct index_pool *p, struct sum *s)
{
    for (int m = 0; m < s->count; m++) {
        const struct atom *mod = s->terms[m].atom;

        if (mod->kind != ATOM_MOD)
            continue;
        for (int d = 0; d < s->count; d++) {
            const struct atom *div = s->terms[d].atom;
            int64_t factor = s->terms[m].factor;

            if (div->kind != ATOM_DIV || div->of != mod->of || div->by != mod->by ||
                s->terms[d].factor != factor * mod->by)
                continue;
            sum_add(p, s, -factor * mod->by, div);
            sum_add(p, s, -factor, mod);
            sum_add_index(p, s, factor, mod->of);
            return true;
        }
    }
    return false;
}

static const struct index *sum_intern(struct index_pool *p, struct sum *s)
{
    uint64_t h;
    int64_t lo, hi;
    struct index *made;

    while (sum_rejoin(p, s))
        ;
    h = mix(1, (uint64_t)s->constant);
    lo = hi = s->constant;
    for (int i = 0; i < s->count; i++) {
        const struct term *t = &s->terms[i];

        h = mix(mix(h, (uint64_t)t->factor), (uint64_t)(uintptr_t)t->atom);
        lo += t->factor * (t->factor > 0 ? t->atom->lo : t->atom->hi);
        hi += t->factor * (t->factor > 0 ? t->atom->hi : t->atom->lo);
    }
    for (const struct index *a = p->index[h % BUCKETS]; a; a = a->next)
        if (a->constant == s->constant && a->count == s->count &&
            !memcmp(a->terms, s->terms, (size_t)s->count * sizeof *s->terms))
            return a;
    made = arena_alloc(p->arena, sizeof *made + (size_t)s->count * sizeof *s->terms);
    made->constant = s->constant;
    made->count = s->count;
    made->lo = lo;
    made->hi = hi;
    memcpy(made->terms, s->terms, (size_t)s->count * sizeof *s->terms);
    made->next = p->index[h % BUCKETS];
    p->index[h % BUCKETS] = made;
    return made;
}

static const struct index *index_of_atom(struct index_pool *p, const struct atom *atom)
{
    struct sum s = {0};

    if (atom->lo == atom->hi)
        return index_constant(p, atom->lo);
    sum_add(p, &s, 1, atom);
    return sum_intern(p, &s);
}

const struct index *index_constant(struct index_pool *p, int64_t number)
{
    struct sum s = {.constant = number};

    return sum_intern(p, &s);
}

const struct index *index_variable(struct index_pool *p, const char *name, int64_t lo, int64_t hi)
{
    return index_of_atom(p, atom_make(p, (struct atom){.name = name, .lo = lo, .hi = hi}));
}

const struct index *index_add(struct index_pool *p, const struct index *a, const struct index *b)
{
    struct sum s = {0};

    sum_add_index(p, &s, 1, a);
    sum_add_index(p, &s, 1, b);
    return sum_intern(p, &s);
}

const struct index *index_plus(struct index_pool *p, const struct index *a, int64_t number)
{
    struct sum s = {.constant = number};

    sum_add_index(p, &s, 1, a);
    return sum_intern(p, &s);
}

const struct index *index_times(struct index_pool *p, const struct index *a, int64_t factor)
{
    struct sum s = {0};

    sum_add_index(p, &s, factor, a);
    return sum_intern(p, &s);
}

/* a = by * whole + rest, with rest's constant within 0 … by - 1. */
static void index_split(struct index_pool *p, const struct index *a, int64_t by,
                        const struct index **whole, const struct index **rest)
{
    struct sum w = {.constant = divide_down(a->constant, by)};
    struct sum r = {.constant = a->constant - by * w.constant};

    for (int i = 0; i < a->count; i++) {
        const struct term *t = &a->terms[i];

        if (t->factor % by == 0)
            sum_add(p, &w, t->factor / by, t->atom);
        else
            sum_add(p, &r, t->factor, t->atom);
    }
    *whole = sum_intern(p, &w);
    *rest = sum_intern(p, &r);
    /* What is negative here but never leaves one multiple of by is moved there: -1 - 3 * y over 4,
     * say. */
    int64_t low = divide_down((*rest)->lo, by);
    if (low && low == divide_down((*rest)->hi, by)) {
        *whole = index_plus(p, *whole, low);
        *rest = index_plus(p, *rest, -low * by);
    }
}

/* The greatest common divisor of the factors (not of the constant); 0 without terms. */
static int64_t index_common(const struct index *a)
{
    int64_t common = 0;

    for (int i = 0; i < a->count; i++)
        common = gcd(common, a->terms[i].factor);
    return common;
}

static const struct index *index_scaled(struct index_pool *p, const struct index *a, int64_t down)
{
    struct sum s = {.constant = divide_down(a->constant, down)};

    for (int i = 0; i < a->count; i++)
        sum_add(p, &s, a->terms[i].factor / down, a->terms[i].atom);
    return sum_intern(p, &s);
}

const struct index *index_div(struct index_pool *p, const struct index *a, int64_t by)
{
    const struct index *whole, *rest;
    int64_t common, shift = 0;

    if (by == 1)
        return a;
    index_split(p, a, by, &whole, &rest);
    if (rest->lo >= 0 && rest->hi < by)
        return whole;
    /* (g * b + c) / (g * k) is b / k where 0 <= c < g. */
    common = gcd(index_common(rest), by);
    if (common > 1)
        return index_add(p, whole, index_div(p, index_scaled(p, rest, common), by / common));
    if (rest->lo < 0)
        shift = divide_down(-rest->lo + by - 1, by);
    rest = index_plus(p, rest, shift * by);
    if (rest->count == 1 && rest->constant == 0 && rest->terms[0].factor == 1 &&
        rest->terms[0].atom->kind == ATOM_DIV) {
        const struct atom *inner = rest->terms[0].atom;
        return index_plus(p, index_add(p, whole, index_div(p, inner->of, inner->by * by)), -shift);
    }
    const struct atom *q = atom_make(
        p, (struct atom){
               .kind = ATOM_DIV, .of = rest, .by = by, .lo = rest->lo / by, .hi = rest->hi / by});
    return index_plus(p, index_add(p, whole, index_of_atom(p, q)), -shift);
}

const struct index *index_mod(struct index_pool *p, const struct index *a, int64_t by)
{
    const struct index *whole, *rest;
    int64_t common, constant;

    if (by == 1)
        return index_constant(p, 0);
    index_split(p, a, by, &whole, &rest);
    if (rest->lo >= 0 && rest->hi < by)
        return rest;
    common = gcd(index_common(rest), by);
    if (common > 1) {
        constant = rest->constant - common * divide_down(rest->constant, common);
        return index_plus(
            p, index_times(p, index_mod(p, index_scaled(p, rest, common), by / common), common),
            constant);
    }
    if (rest->lo < 0)
        rest = index_plus(p, rest, divide_down(-rest->lo + by - 1, by) * by);
    return index_of_atom(
        p,
        atom_make(p, (struct atom){.kind = ATOM_MOD, .of = rest, .by = by, .lo = 0, .hi = by - 1}));
}

const struct index *index_clamp(struct index_pool *p, const struct index *a, int64_t lo, int64_t hi)
{
    if (a->lo >= lo && a->hi <= hi)
        return a;
    if (a->hi <= lo)
        return index_constant(p, lo);
    if (a->lo >= hi)
        return index_constant(p, hi);
    return index_of_atom(p, atom_make(p, (struct atom){.kind = ATOM_CLAMP,
                                                       .of = a,
                                                       .lo = a->lo > lo ? a->lo : lo,
                                                       .hi = a->hi < hi ? a->hi : hi}));
}

int64_t index_lo(const struct index *a)
{
    return a->lo;
}

int64_t index_hi(const struct index *a)
{
    return a->hi;
}

bool index_is_constant(const struct index *a)
{
    return a->count == 0;
}

int64_t index_multiple(const struct index *a)
{
    return gcd(index_common(a), a->constant);
}

int64_t index_ratio(const struct index *a, const struct index *b)
{
    for (int i = 0; b->count && i < a->count; i++)
        if (a->terms[i].atom == b->terms[0].atom)
            return a->terms[i].factor % b->terms[0].factor
                       ? 0
                       : a->terms[i].factor / b->terms[0].factor;
    return 0;
}

const struct index *index_primitive(struct index_pool *p, const struct index *a, int64_t *lo,
                                    int64_t *hi)
{
    int64_t factor = index_common(a);
    const struct index *bare;

    if (!factor)
        return a;
    bare = index_plus(p, a, -a->constant);
    *lo = -divide_down(-(*lo - a->constant), factor);
    *hi = divide_down(*hi - a->constant, factor);
    if (bare->terms[0].factor < 0) {
        int64_t high = -*lo;

        bare = index_times(p, bare, -1);
        *lo = -*hi;
        *hi = high;
    }
    return index_scaled(p, bare, factor);
}

bool index_is_plain(const struct index *a)
{
    return a->count == 0 || (a->count == 1 && a->constant == 0 && a->terms[0].factor == 1 &&
                             a->terms[0].atom->kind == ATOM_VARIABLE);
}

int index_deepest(const struct index *a, int (*depth_of)(void *state, const char *name),
                  void *state)
{
    int deepest = 0;

    for (int i = 0; i < a->count; i++) {
        const struct atom *atom = a->terms[i].atom;
        int depth = atom->kind == ATOM_VARIABLE ? depth_of(state, atom->name)
                                                : index_deepest(atom->of, depth_of, state);

        deepest = depth > deepest ? depth : deepest;
    }
    return deepest;
}

static void atom_print(struct strbuf *s, const struct atom *a)
{
    struct strbuf inner;

    switch (a->kind) {
    case ATOM_VARIABLE:
        strbuf_add(s, a->name);
        break;
    case ATOM_DIV:
    case ATOM_MOD:
        index_print(s, a->of, true);
        strbuf_printf(s, " %c %" PRId64, a->kind == ATOM_DIV ? '/' : '%', a->by);
        break;
    case ATOM_CLAMP:
        strbuf_init(&inner, s->arena);
        index_print(&inner, a->of, true);
        strbuf_char(s, '(');
        if (a->of->lo < a->lo)
            strbuf_printf(s, "%s < %" PRId64 " ? %" PRId64 " : ", inner.text, a->lo, a->lo);
        if (a->of->hi > a->hi)
            strbuf_printf(s, "%s > %" PRId64 " ? %" PRId64 " : ", inner.text, a->hi, a->hi);
        strbuf_printf(s, "%s)", inner.text);
        break;
    }
}

void index_print(struct strbuf *s, const struct index *a, bool tight)
{
    bool product = a->count == 1 && a->constant == 0 &&
                   (a->terms[0].factor != 1 || a->terms[0].atom->kind == ATOM_DIV ||
                    a->terms[0].atom->kind == ATOM_MOD);
    bool open =
        tight && (a->count + (a->constant != 0) > 1 || product || (!a->count && a->constant < 0));
    bool first = true;

    if (open)
        strbuf_char(s, '(');
    /* Positive terms first, so that a sum never begins with a sign. */
    for (int turn = 0; turn < 2; turn++) {
        for (int i = 0; i < a->count; i++) {
            const struct term *t = &a->terms[i];
            int64_t size = t->factor < 0 ? -t->factor : t->factor;

            if ((t->factor < 0) != turn)
                continue;
            if (!first)
                strbuf_add(s, turn ? " - " : " + ");
            else if (turn)
                strbuf_char(s, '-');
            /* -a / b would divide first: only a lone quotient may follow a sign, in parentheses. */
            bool group = t->atom->kind != ATOM_VARIABLE && t->atom->kind != ATOM_CLAMP &&
                         (size != 1 || turn ||
                          (t->atom->kind == ATOM_MOD && a->count + (a->constant != 0) > 1));
            if (group)
                strbuf_char(s, '(');
            atom_print(s, t->atom);
            if (group)
                strbuf_char(s, ')');
            if (size != 1)
                strbuf_printf(s, " * %" PRId64, size);
            first = false;
        }
        if (turn == 0 && a->constant > 0) {
            strbuf_printf(s, first ? "%" PRId64 : " + %" PRId64, a->constant);
            first = false;
        }
    }
    if (a->constant < 0 || first)
        strbuf_printf(s, first ? "%" PRId64 : " - %" PRId64, first ? a->constant : -a->constant);
    if (open)
        strbuf_char(s, ')');
}

int condition_known(const struct condition *c)
{
    if (c->of->lo >= c->lo && c->of->hi <= c->hi)
        return 1;
    if (c->of->hi < c->lo || c->of->lo > c->hi)
        return 0;
    return -1;
}

void condition_print(struct strbuf *s, const struct condition *c)
{
    struct strbuf text;
    bool low = c->of->lo<c->lo, high = c->of->hi> c->hi;

    strbuf_init(&text, s->arena);
    index_print(&text, c->of, false);
    if (c->lo == c->hi && (low || high)) {
        strbuf_printf(s, "%s == %" PRId64, text.text, c->lo);
        return;
    }
    if (low)
        strbuf_printf(s, "%s >= %" PRId64, text.text, c->lo);
    if (low && high)
        strbuf_add(s, " && ");
    if (high)
        strbuf_printf(s, "%s < %" PRId64, text.text, c->hi + 1);
    if (!low && !high)
        strbuf_add(s, "true");
}
