#include "daemon/compiler/gpu/kernel_inside.h"
#include "daemon/compiler/graph/decimal.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- text ---- */

void kernel_line(struct kernel *k, const char *format, ...)
{
    va_list arguments;

    if (k->counts)
        return;
    for (int i = 0; i < k->indent; i++)
        strbuf_add(&k->body, "    ");
    va_start(arguments, format);
    strbuf_vprintf(&k->body, format, arguments);
    va_end(arguments);
    strbuf_char(&k->body, '\n');
}

/* The line that opens a block has begun at start. */
static void kernel_enter(struct kernel *k, size_t start, bool loop)
{
    struct kernel_state *s = state_of(k);

    if (s->depth == MOST_DEPTH)
        BUG(k->context, "a kernel nests deeper than %d blocks", MOST_DEPTH);
    s->blocks[s->depth++] = (struct kernel_block){.memo_count = k->memo_count,
                                                  .assumed_count = k->assumed_count,
                                                  .declared_count = s->declared_count,
                                                  .visit_count = s->visit_count,
                                                  .held = k->held,
                                                  .loop = loop,
                                                  .start = start};
    kernel_line(k, "{");
    k->indent++;
}

void kernel_open(struct kernel *k, const char *format, ...)
{
    size_t start = k->body.length;
    va_list arguments;

    for (int i = 0; i < k->indent; i++)
        strbuf_add(&k->body, "    ");
    va_start(arguments, format);
    strbuf_vprintf(&k->body, format, arguments);
    va_end(arguments);
    strbuf_char(&k->body, '\n');
    kernel_enter(k, start, !strncmp(format, "for ", 4));
}

void kernel_close(struct kernel *k)
{
    struct kernel_state *s = state_of(k);

    s->depth--;
    k->memo_count = s->blocks[s->depth].memo_count;
    k->assumed_count = s->blocks[s->depth].assumed_count;
    s->declared_count = s->blocks[s->depth].declared_count;
    k->held = s->blocks[s->depth].held;
    visits_leave(k, s->blocks[s->depth].visit_count);
    k->indent--;
    kernel_line(k, "}");
}

/* The place of a name among all that were given out: an open table, always with room left. */
static struct kernel_name *name_place(const struct kernel *k, const char *name)
{
    uint32_t hash = 2166136261u; /* FNV-1a: G. Fowler, L. Noll, P. Vo */

    for (const char *p = name; *p; p++)
        hash = (hash ^ (uint8_t)*p) * 16777619u;
    for (uint32_t i = hash;; i++) {
        struct kernel_name *place = &k->names[i & (uint32_t)(k->name_room - 1)];

        if (!place->base || !strcmp(place->base, name))
            return place;
    }
}

static void make_room(struct kernel *k)
{
    struct kernel_name *old = k->names;
    int room = k->name_room;

    if (4 * (k->name_count + 1) <= 3 * room)
        return;
    k->name_room = room ? 2 * room : 64;
    k->names = NEW_ARRAY(k->arena, k->name_room, struct kernel_name);
    for (int i = 0; i < room; i++)
        if (old[i].base)
            *name_place(k, old[i].base) = old[i];
}

const char *kernel_name(struct kernel *k, const char *base)
{
    struct kernel_name *taken, *place;
    const char *name = base;

    make_room(k);
    taken = place = name_place(k, base);
    /* "i" taken twice is "i1": not to be confused with "i1" itself, nor with "w0" taken again. */
    while (place->base) {
        size_t n = strlen(base);
        bool digit = n && base[n - 1] >= '0' && base[n - 1] <= '9';

        name = kernel_text(k, digit ? "%s_%d" : "%s%d", base, taken->next++);
        place = name_place(k, name);
    }
    *place = (struct kernel_name){name, 1};
    k->name_count++;
    return name;
}

const char *kernel_text(struct kernel *k, const char *format, ...)
{
    va_list arguments;
    struct strbuf s;

    strbuf_init(&s, k->arena);
    va_start(arguments, format);
    strbuf_vprintf(&s, format, arguments);
    va_end(arguments);
    return s.text;
}

static bool is_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '.';
}

bool text_is_atom(const char *text)
{
    if (*text == '-' && text[1] >= '0' && text[1] <= '9')
        text++;
    while (is_word(*text))
        text++;
    return !*text;
}

/* One call or one parenthesis from end to end: needs no parentheses, but is not free to repeat. */
static bool text_is_closed(const char *text)
{
    int depth = 0;

    while (is_word(*text))
        text++;
    if (*text != '(')
        return !*text;
    for (; *text; text++) {
        depth += *text == '(';
        depth -= *text == ')';
        if (!depth)
            return !text[1];
    }
    return false;
}

const char *kernel_closed(struct kernel *k, const char *text)
{
    return text_is_atom(text) || text_is_closed(text) ? text : kernel_text(k, "(%s)", text);
}

const char *kernel_local(struct kernel *k, const char *base, const char *text)
{
    const char *name;

    if (k->counts || text_is_atom(text))
        return text;
    if (*text == '(' && text_is_closed(text))
        text = kernel_text(k, "%.*s", (int)strlen(text) - 2, text + 1);
    name = kernel_name(k, base);
    kernel_line(k, "float %s = %s;", name, text);
    return name;
}

const struct index *kernel_bind(struct kernel *k, const char *base, const struct index *index)
{
    struct strbuf s;
    const char *name;
    int64_t lo, hi;

    if (index_is_plain(index))
        return index;
    name = kernel_name(k, base);
    strbuf_init(&s, k->arena);
    index_print(&s, index, false);
    kernel_line(k, "int %s = %s;", name, s.text);
    declare_name(k, name);
    kernel_range(k, index, &lo, &hi);
    return index_variable(k->pool, name, lo, hi);
}

const struct index *kernel_loop(struct kernel *k, const char *base, int64_t count)
{
    const char *name;

    if (count == 1)
        return kernel_constant(k, 0);
    name = kernel_name(k, base);
    kernel_open(k, "for (int %s = 0; %s < %" PRId64 "; %s++)", name, name, count, name);
    declare_name(k, name);
    return index_variable(k->pool, name, 0, count - 1);
}

void kernel_end_loop(struct kernel *k, int64_t count)
{
    if (count != 1)
        kernel_close(k);
}

bool conditions_print(struct kernel *k, struct strbuf *s, const struct condition *conditions,
                      int count)
{
    bool any = false;

    strbuf_init(s, k->arena);
    for (int i = 0; i < count; i++) {
        struct condition c = conditions[i];
        int64_t lo, hi;

        kernel_range(k, c.of, &lo, &hi);
        if (lo >= c.lo && hi <= c.hi)
            continue;
        if (any)
            strbuf_add(s, " && ");
        condition_print(s, &c);
        any = true;
    }
    return any;
}

int conditions_known(struct kernel *k, const struct condition *conditions, int count)
{
    int known = 1;

    for (int i = 0; i < count; i++) {
        int64_t lo, hi;

        kernel_range(k, conditions[i].of, &lo, &hi);
        if (hi < conditions[i].lo || lo > conditions[i].hi)
            return 0;
        if (lo < conditions[i].lo || hi > conditions[i].hi)
            known = -1;
    }
    return known;
}

int kernel_if(struct kernel *k, const struct condition *conditions, int count)
{
    struct strbuf text;

    switch (conditions_known(k, conditions, count)) {
    case 0:
        return -1;
    case 1:
        return 0;
    }
    if (k->counts) {
        kernel_open(k, "if");
    } else {
        conditions_print(k, &text, conditions, count);
        kernel_open(k, "if (%s)", text.text);
    }
    for (int i = 0; i < count; i++)
        APPEND(k->arena, k->assumed, k->assumed_count, k->assumed_room) = conditions[i];
    return 1;
}

void kernel_end_if(struct kernel *k, int opened)
{
    if (opened == 1)
        kernel_close(k);
}

const char *kernel_format(struct kernel *k, const char *text, const char *const *operands)
{
    const char *bound[10] = {0};
    struct strbuf s;

    strbuf_init(&s, k->arena);
    for (const char *t = text; *t; t++) {
        int i, uses = 0;

        if (*t != '{' || t[1] < '0' || t[1] > '9' || t[2] != '}') {
            strbuf_char(&s, *t);
            continue;
        }
        i = t[1] - '0';
        if (!bound[i]) {
            bound[i] = operands[i];
            for (const char *u = strchr(text, '{'); u; u = strchr(u + 1, '{'))
                uses += u[1] == t[1] && u[2] == '}';
            if (uses > 1)
                bound[i] = kernel_local(k, "v", bound[i]);
        }
        bool argument = t > text &&
                        (t[-1] == '(' || (t[-1] == ' ' && t > text + 1 && t[-2] == ',')) &&
                        (t[3] == ')' || t[3] == ',');
        bool whole = t == text && !t[3];
        bool negative = *bound[i] == '-';
        if (whole || argument || (text_is_closed(bound[i]) && !negative) ||
            (negative && text_is_atom(bound[i]) && t > text && t[-1] == ' '))
            strbuf_add(&s, bound[i]);
        else
            strbuf_printf(&s, "(%s)", bound[i]);
        t += 2;
    }
    return s.text;
}

const char *kernel_number(struct kernel *k, double number)
{
    char text[64];
    float f = (float)number;

    if (f > 3.402823466e38f)
        f = 3.402823466e38f;
    if (f < -3.402823466e38f)
        f = -3.402823466e38f;
    if (f != f || fabsf(f) < 1.17549435e-38f)
        f = 0;
    float_print(text, f);
    /* "65504.0f" reads better as "65504f". */
    char *point = strstr(text, ".0f");
    if (point)
        memcpy(point, "f", 2);
    return arena_strdup(k->arena, text);
}

/* ---- indices ---- */

const struct index *kernel_constant(struct kernel *k, int64_t number)
{
    return index_constant(k->pool, number);
}

struct lanes lanes_along(struct kernel *k, const struct index *const *at, int axes, int axis,
                         int count)
{
    struct lanes e = {.count = count};

    for (int j = 0; j < count; j++)
        for (int a = 0; a < axes; a++)
            e.at[j][a] = a == axis ? index_plus(k->pool, at[a], j) : at[a];
    return e;
}

void kernel_range(struct kernel *k, const struct index *index, int64_t *lo, int64_t *hi)
{
    *lo = index_lo(index);
    *hi = index_hi(index);
    for (int i = k->assumed_count; i-- > 0 && *lo < *hi;) {
        const struct condition *c = &k->assumed[i];
        int64_t scale = index_multiple(c->of), own;
        const struct index *rest;

        /* index = m * of + constant? The condition is in simplest form, so m is the factor of its
         * first term. */
        own = index_ratio(index, c->of);
        if (!own || !scale)
            continue;
        rest = index_add(k->pool, index, index_times(k->pool, c->of, -own));
        if (!index_is_constant(rest))
            continue;
        int64_t a = own * (own > 0 ? c->lo : c->hi) + index_lo(rest);
        int64_t b = own * (own > 0 ? c->hi : c->lo) + index_lo(rest);
        if (a > *lo)
            *lo = a;
        if (b < *hi)
            *hi = b;
    }
}

struct piece *access_piece(struct access *a, int input)
{
    struct piece *p;

    /* Most views have one. */
    if (!a->room) {
        a->pieces = NEW(a->arena, struct piece);
        a->room = 1;
    }
    p = &APPEND(a->arena, a->pieces, a->count, a->room);
    memset(p, 0, sizeof *p);
    p->input = input;
    return p;
}

void piece_when(struct access *a, struct piece *p, const struct index *of, int64_t lo, int64_t hi)
{
    struct condition c;

    /* lo <= g * b + k <= hi is ceil((lo - k) / g) <= b <= floor((hi - k) / g). */
    c.of = index_primitive(a->pool, of, &lo, &hi);
    c.lo = lo;
    c.hi = hi;
    if (condition_known(&c) == 1)
        return;
    if (p->condition_count == MOST_CONDITIONS)
        BUG(a->arena->context, "a piece of a view has more than %d conditions", MOST_CONDITIONS);
    p->conditions[p->condition_count++] = c;
}

void broadcast_index(struct kernel *k, const struct shape *from, const struct shape *s,
                     const struct index *const *at, const struct index **out)
{
    for (int a = 0; a < from->axes; a++)
        out[a] = from->dim[a] == 1 ? kernel_constant(k, 0) : at[s->axes - from->axes + a];
}

const char *memo_find(struct kernel *k, const struct value *v, const struct weights *w, bool cell,
                      const struct index *const *at, int axes)
{
    for (int i = k->memo_count; i-- > 0;) {
        const struct kernel_memo *m = &k->memo[i];

        if (m->value == v && m->weights == w && m->cell == cell &&
            !memcmp(m->at, at, (size_t)axes * sizeof *at))
            return m->text;
    }
    return NULL;
}

void memo_add(struct kernel *k, const struct value *v, const struct weights *w, bool cell,
              const struct index *const *at, int axes, const char *text)
{
    struct kernel_memo *m = &APPEND(k->arena, k->memo, k->memo_count, k->memo_room);

    memset(m, 0, sizeof *m);
    m->value = v;
    m->weights = w;
    m->cell = cell;
    memcpy(m->at, at, (size_t)axes * sizeof *at);
    m->text = text;
}

const char *kernel_pick(struct kernel *k, const char *cell, const struct index *component,
                        bool table)
{
    struct strbuf s;

    if (k->counts)
        return "";
    if (index_is_constant(component))
        return kernel_text(k, "%s.%c", cell, (table ? "xyzw" : "rgba")[index_lo(component)]);
    strbuf_init(&s, k->arena);
    index_print(&s, component, false);
    k->picks = true;
    if (table)
        return kernel_text(k, KERNEL_PREFIX "Pick(new Color4(%s.x, %s.y, %s.z, %s.w), %s)", cell,
                           cell, cell, cell, s.text);
    return kernel_text(k, KERNEL_PREFIX "Pick(%s, %s)", cell, s.text);
}

/* Keeps at[] inside the buffer: what lies beyond is read only for components that are never used.
 */
void limit_index(struct kernel *k, const struct shape *s, int packed, const struct index *const *at,
                 const struct index **limited)
{
    for (int a = 0; a < s->axes; a++) {
        int64_t last = a == packed ? (s->dim[a] + 3) / 4 * 4 - 1 : s->dim[a] - 1, lo, hi;

        kernel_range(k, at[a], &lo, &hi);
        limited[a] = lo >= 0 && hi <= last ? at[a] : index_clamp(k->pool, at[a], 0, s->dim[a] - 1);
    }
}
