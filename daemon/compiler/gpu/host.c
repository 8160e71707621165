#include "daemon/compiler/gpu/host.h"
#include "daemon/compiler/context.h"
#include <string.h>

/* More statements than any honest host method executes, and deeper calls. */
enum { FUEL = 200 * 1000 * 1000, CALLS_MAX = 8, LOCALS_MAX = 256 };

enum value_kind {
    VALUE_NULL,
    VALUE_INT,
    VALUE_FLOAT,
    VALUE_BOOL,
    VALUE_COLOR,
    VALUE_BUFFER,  /* i: index */
    VALUE_TEXTURE, /* i: index */
    VALUE_TABLE,   /* entries, i: count */
    VALUE_IDS,
    VALUE_FORMAT, /* i */
};

struct value {
    enum value_kind kind;
    int32_t i;
    float f;
    float color[4];
    float (*entries)[4];
};

struct number {
    const char *name;
    int32_t value;
    bool constant;
};

struct host {
    struct program *program;
    struct method **methods;
    int method_count, method_room;
    struct number *numbers;
    int number_count, number_room;
};

struct variable {
    const char *name;
    struct value value;
};

/* One execution: the call that is running, and what is shared by those below it. */
struct running {
    struct host *host;
    struct refusal *refusal;
    const struct host_effects *effects;
    const int32_t *ids;
    int id_count;
    struct variable locals[LOCALS_MAX];
    int local_count, frame; /* of the call that runs: its first local */
    int calls;
    int fuel;
};

#define REFUSE(h, at, ...) refuse((h)->refusal, (at)->line, (at)->column, __VA_ARGS__)

struct host *host_new(struct program *p)
{
    struct host *h = NEW(&p->context->arena, struct host);
    h->program = p;
    return h;
}

void host_add_method(struct host *h, struct method *m)
{
    APPEND(&h->program->context->arena, h->methods, h->method_count, h->method_room) = m;
}

static struct number *find_number(const struct host *h, const char *name)
{
    for (int i = 0; i < h->number_count; i++)
        if (strcmp(h->numbers[i].name, name) == 0)
            return &h->numbers[i];
    return NULL;
}

bool host_add_number(struct host *h, const char *name, int32_t value, bool constant)
{
    if (find_number(h, name) != NULL)
        return false;
    APPEND(&h->program->context->arena, h->numbers, h->number_count, h->number_room) =
        (struct number){name, value, constant};
    return true;
}

struct method *host_find(const struct host *h, const char *name, int parameters)
{
    for (int i = 0; i < h->method_count; i++)
        if (h->methods[i]->parameter_count == parameters && strcmp(h->methods[i]->name, name) == 0)
            return h->methods[i];
    return NULL;
}

struct method *host_method(const struct host *h, int i)
{
    return i < h->method_count ? h->methods[i] : NULL;
}

int32_t host_number(const struct host *h, const char *name, int32_t otherwise)
{
    const struct number *n = find_number(h, name);
    return n != NULL ? n->value : otherwise;
}

/* ---- expressions */

static struct value evaluate(struct running *h, const struct expression *e);
static void call(struct running *h, const struct expression *e);

static struct value of_int(int32_t i)
{
    return (struct value){.kind = VALUE_INT, .i = i};
}

static struct value of_bool(bool b)
{
    return (struct value){.kind = VALUE_BOOL, .i = b};
}

static int32_t as_int(struct running *h, const struct expression *e)
{
    struct value v = evaluate(h, e);
    if (v.kind != VALUE_INT)
        REFUSE(h, e, "not an int");
    return v.i;
}

static bool as_bool(struct running *h, const struct expression *e)
{
    struct value v = evaluate(h, e);
    if (v.kind != VALUE_BOOL)
        REFUSE(h, e, "not a bool");
    return v.i != 0;
}

static float as_float(struct running *h, const struct expression *e)
{
    struct value v = evaluate(h, e);
    if (v.kind != VALUE_INT && v.kind != VALUE_FLOAT)
        REFUSE(h, e, "not a number");
    return v.kind == VALUE_INT ? (float)v.i : v.f;
}

static int as_buffer(struct running *h, const struct expression *e)
{
    struct value v = evaluate(h, e);
    if (v.kind != VALUE_BUFFER || h->host->program->buffers[v.i].width == 0)
        REFUSE(h, e, "not a buffer that was made");
    return v.i;
}

static struct variable *find_local(struct running *h, const char *name)
{
    for (int i = h->local_count; i-- > h->frame;)
        if (strcmp(h->locals[i].name, name) == 0)
            return &h->locals[i];
    return NULL;
}

static struct value name_value(struct running *h, const struct expression *e)
{
    const struct program *p = h->host->program;
    const struct variable *local = find_local(h, e->name);
    if (local != NULL)
        return local->value;
    int i = program_find_buffer(p, e->name);
    if (i >= 0)
        return (struct value){.kind = VALUE_BUFFER, .i = i};
    i = program_find_texture(p, e->name);
    if (i >= 0)
        return (struct value){.kind = VALUE_TEXTURE, .i = i};
    i = program_find_table(p, e->name);
    if (i >= 0)
        return p->tables[i].entries == NULL ? (struct value){.kind = VALUE_NULL}
                                            : (struct value){.kind = VALUE_TABLE,
                                                             .i = p->tables[i].count,
                                                             .entries = p->tables[i].entries};
    const struct number *n = find_number(h->host, e->name);
    if (n == NULL)
        REFUSE(h, e, "%s is not known", e->name);
    return of_int(n->value);
}

static struct value member_value(struct running *h, const struct expression *e)
{
    const struct expression *of = e->part[0];
    if (of->kind == EXPRESSION_NAME && strcmp(of->name, "GpuFormat") == 0) {
        bool half = strcmp(e->name, "Half") == 0;
        if (!half && strcmp(e->name, "Byte") != 0)
            REFUSE(h, e, "the format %s", e->name);
        return (struct value){.kind = VALUE_FORMAT, .i = half ? GPU_FORMAT_HALF : GPU_FORMAT_BYTE};
    }
    struct value v = evaluate(h, of);
    if (v.kind == VALUE_IDS && strcmp(e->name, "Length") == 0)
        return of_int(h->id_count);
    if (v.kind == VALUE_TABLE && strcmp(e->name, "Length") == 0)
        return of_int(v.i);
    if (v.kind == VALUE_BUFFER && strcmp(e->name, "Width") == 0)
        return of_int(h->host->program->buffers[v.i].width);
    if (v.kind == VALUE_BUFFER && strcmp(e->name, "Height") == 0)
        return of_int(h->host->program->buffers[v.i].height);
    REFUSE(h, e, "the member %s", e->name);
}

static bool compare(enum operator_sign sign, double a, double b)
{
    switch (sign) {
    case SIGN_LESS:
        return a < b;
    case SIGN_LESS_EQUAL:
        return a <= b;
    case SIGN_GREATER:
        return a > b;
    case SIGN_GREATER_EQUAL:
        return a >= b;
    case SIGN_EQUAL:
        return a == b;
    default:
        return a != b;
    }
}

static struct value int_arithmetic(struct running *h, const struct expression *e, int32_t a,
                                   int32_t b)
{
    uint32_t x = (uint32_t)a, y = (uint32_t)b;
    switch (e->sign) {
    case SIGN_ADD:
        return of_int((int32_t)(x + y));
    case SIGN_SUBTRACT:
        return of_int((int32_t)(x - y));
    case SIGN_MULTIPLY:
        return of_int((int32_t)(x * y));
    default:
        if (b == 0 || (a == INT32_MIN && b == -1))
            REFUSE(h, e, "an integer division that overflows");
        return of_int(e->sign == SIGN_DIVIDE ? a / b : a % b);
    }
}

static struct value float_arithmetic(struct running *h, const struct expression *e, float a,
                                     float b)
{
    struct value v = {.kind = VALUE_FLOAT};
    switch (e->sign) {
    case SIGN_ADD:
        v.f = a + b;
        return v;
    case SIGN_SUBTRACT:
        v.f = a - b;
        return v;
    case SIGN_MULTIPLY:
        v.f = a * b;
        return v;
    case SIGN_DIVIDE:
        v.f = a / b;
        return v;
    default:
        REFUSE(h, e, "a float remainder");
    }
}

static struct value binary_value(struct running *h, const struct expression *e)
{
    if (e->sign == SIGN_AND)
        return of_bool(as_bool(h, e->part[0]) && as_bool(h, e->part[1]));
    if (e->sign == SIGN_OR)
        return of_bool(as_bool(h, e->part[0]) || as_bool(h, e->part[1]));
    struct value a = evaluate(h, e->part[0]), b = evaluate(h, e->part[1]);
    bool numbers = (a.kind == VALUE_INT || a.kind == VALUE_FLOAT) &&
                   (b.kind == VALUE_INT || b.kind == VALUE_FLOAT);
    if (!numbers) {
        /* only whether a reference is null */
        if ((e->sign != SIGN_EQUAL && e->sign != SIGN_NOT_EQUAL) ||
            (a.kind != VALUE_NULL && b.kind != VALUE_NULL))
            REFUSE(h, e, "an operator between values of these types");
        return of_bool((a.kind == b.kind) == (e->sign == SIGN_EQUAL));
    }
    if (a.kind == VALUE_INT && b.kind == VALUE_INT)
        return e->sign >= SIGN_LESS ? of_bool(compare(e->sign, a.i, b.i))
                                    : int_arithmetic(h, e, a.i, b.i);
    float x = a.kind == VALUE_INT ? (float)a.i : a.f, y = b.kind == VALUE_INT ? (float)b.i : b.f;
    return e->sign >= SIGN_LESS ? of_bool(compare(e->sign, (double)x, (double)y))
                                : float_arithmetic(h, e, x, y);
}

/* The X of Gpu.X(…), Mathf.X(…); NULL if the call is another. */
static const char *function_of(const struct expression *call, const char *class)
{
    const struct expression *callee = call->part[0];
    if (callee->kind != EXPRESSION_MEMBER || callee->part[0]->kind != EXPRESSION_NAME ||
        strcmp(callee->part[0]->name, class) != 0)
        return NULL;
    return callee->name;
}

static struct value call_value(struct running *h, const struct expression *e)
{
    const char *mathf = function_of(e, "Mathf");
    if (mathf != NULL && e->part_count == 3 &&
        (strcmp(mathf, "Min") == 0 || strcmp(mathf, "Max") == 0)) {
        int32_t a = as_int(h, e->part[1]), b = as_int(h, e->part[2]);
        return of_int((a < b) == (mathf[1] == 'i') ? a : b);
    }
    REFUSE(h, e, "a call that is not known here");
}

static struct value evaluate(struct running *h, const struct expression *e)
{
    struct value v = {.kind = VALUE_NULL};
    switch (e->kind) {
    case EXPRESSION_INT:
        return of_int(e->integer);
    case EXPRESSION_BOOL:
        return of_bool(e->integer != 0);
    case EXPRESSION_FLOAT:
        return (struct value){.kind = VALUE_FLOAT, .f = e->number};
    case EXPRESSION_NULL:
        return v;
    case EXPRESSION_NAME:
        return name_value(h, e);
    case EXPRESSION_MEMBER:
        return member_value(h, e);
    case EXPRESSION_NEGATE:
        v = evaluate(h, e->part[0]);
        if (v.kind == VALUE_INT)
            v.i = (int32_t)(0u - (uint32_t)v.i);
        else if (v.kind == VALUE_FLOAT)
            v.f = -v.f;
        else
            REFUSE(h, e, "a minus before something that is no number");
        return v;
    case EXPRESSION_NOT:
        return of_bool(!as_bool(h, e->part[0]));
    case EXPRESSION_BINARY:
        return binary_value(h, e);
    case EXPRESSION_CHOOSE:
        return evaluate(h, e->part[as_bool(h, e->part[0]) ? 1 : 2]);
    case EXPRESSION_CAST:
        v = evaluate(h, e->part[0]);
        if (e->type == KERNEL_FLOAT && v.kind == VALUE_INT)
            return (struct value){.kind = VALUE_FLOAT, .f = (float)v.i};
        if (e->type == KERNEL_INT && v.kind == VALUE_FLOAT && v.f > -2147483648.0f &&
            v.f < 2147483648.0f)
            return of_int((int32_t)v.f);
        if ((e->type == KERNEL_FLOAT) == (v.kind == VALUE_FLOAT) && v.kind != VALUE_NULL)
            return v;
        REFUSE(h, e, "a cast that is not possible");
    case EXPRESSION_INDEX:
        v = evaluate(h, e->part[0]);
        if (v.kind != VALUE_IDS || e->part_count != 2)
            REFUSE(h, e, "an index of something other than token ids");
        int32_t at = as_int(h, e->part[1]);
        if (at < 0 || at >= h->id_count)
            REFUSE(h, e, "index %d of %d token ids", at, h->id_count);
        return of_int(h->ids[at]);
    case EXPRESSION_NEW:
        if (strcmp(e->name, "Color4") != 0 || e->part_count != 4)
            REFUSE(h, e, "new %s", e->name);
        v.kind = VALUE_COLOR;
        for (int i = 0; i < 4; i++)
            v.color[i] = as_float(h, e->part[i]);
        return v;
    case EXPRESSION_ENTRIES:
        return (struct value){.kind = VALUE_TABLE, .i = e->slot, .entries = e->entries};
    case EXPRESSION_CALL:
        return call_value(h, e);
    default:
        REFUSE(h, e, "an expression that is not known here");
    }
}

/* ---- statements */

static void make_buffer(struct running *h, const struct expression *target,
                        const struct expression *e)
{
    int i =
        target->kind == EXPRESSION_NAME ? program_find_buffer(h->host->program, target->name) : -1;
    if (i < 0)
        REFUSE(h, target, "not a buffer");
    if (e->part_count != 3 && e->part_count != 4)
        REFUSE(h, e, "Gpu.Buffer with %d arguments", e->part_count - 1);
    struct program_buffer *b = &h->host->program->buffers[i];
    int32_t width = as_int(h, e->part[1]), height = as_int(h, e->part[2]);
    if (width < 1 || width > 16384 || height < 1 || height > 16384)
        REFUSE(h, e, "a buffer of %d x %d", width, height);
    if (b->width != 0)
        REFUSE(h, e, "the buffer %s is made twice", b->name);
    b->format = GPU_FORMAT_BYTE;
    if (e->part_count == 4) {
        struct value v = evaluate(h, e->part[3]);
        if (v.kind != VALUE_FORMAT)
            REFUSE(h, e->part[3], "not a format");
        b->format = (enum gpu_format)v.i;
    }
    b->width = width;
    b->height = height;
}

static void assign_name(struct running *h, const struct expression *target, struct value v)
{
    struct program *p = h->host->program;
    struct variable *local = find_local(h, target->name);
    if (local != NULL) {
        if (local->value.kind == VALUE_FLOAT && v.kind == VALUE_INT)
            v = (struct value){.kind = VALUE_FLOAT, .f = (float)v.i};
        if (local->value.kind != v.kind)
            REFUSE(h, target, "a value of another type for %s", target->name);
        local->value = v;
        return;
    }
    int i = program_find_table(p, target->name);
    if (i >= 0) {
        if (v.kind != VALUE_TABLE)
            REFUSE(h, target, "not a table");
        p->tables[i].entries = v.entries;
        p->tables[i].count = v.i;
        return;
    }
    struct number *n = find_number(h->host, target->name);
    if (n == NULL || n->constant || (v.kind != VALUE_INT && v.kind != VALUE_BOOL))
        REFUSE(h, target, "an assignment to %s", target->name);
    n->value = v.i;
}

static void assign(struct running *h, const struct statement *s)
{
    const struct expression *target = s->target, *x = s->value;
    if (target->kind == EXPRESSION_INDEX && !s->compound) {
        int b = target->part_count == 3 ? as_buffer(h, target->part[0]) : -1;
        if (b < 0 || h->effects->set == NULL)
            REFUSE(h, s, "a cell cannot be written here");
        const struct program_buffer *buffer = &h->host->program->buffers[b];
        int32_t at_x = as_int(h, target->part[1]), at_y = as_int(h, target->part[2]);
        struct value v = evaluate(h, x);
        if (v.kind != VALUE_COLOR)
            REFUSE(h, x, "not a Color4");
        if (at_x < 0 || at_x >= buffer->width || at_y < 0 || at_y >= buffer->height)
            REFUSE(h, target, "a write outside %s: [%d, %d]", buffer->name, at_x, at_y);
        h->effects->set(h->effects->data, b, at_x, at_y, v.color);
        return;
    }
    if (target->kind != EXPRESSION_NAME)
        REFUSE(h, target, "an assignment that is not known here");
    if (!s->compound) {
        const char *gpu = x->kind == EXPRESSION_CALL ? function_of(x, "Gpu") : NULL;
        if (gpu != NULL && strcmp(gpu, "Buffer") == 0)
            make_buffer(h, target, x);
        else
            assign_name(h, target, evaluate(h, x));
        return;
    }
    struct expression *parts[] = {s->target, s->value};
    const struct expression sum = {.kind = EXPRESSION_BINARY,
                                   .line = s->line,
                                   .column = s->column,
                                   .sign = s->sign,
                                   .part = parts,
                                   .part_count = 2};
    assign_name(h, target, evaluate(h, &sum));
}

static void declare(struct running *h, const char *name, struct value v, int line, int column)
{
    if (h->local_count == LOCALS_MAX)
        refuse(h->refusal, line, column, "too many locals");
    h->locals[h->local_count++] = (struct variable){name, v};
}

static void run_kernel(struct running *h, const struct expression *e)
{
    const struct program *p = h->host->program;
    if (h->effects->run == NULL)
        REFUSE(h, e, "Gpu.Run outside Run");
    const struct expression *name = e->part_count > 2 ? e->part[1] : NULL;
    if (name == NULL || name->kind != EXPRESSION_CALL || name->part_count != 2 ||
        name->part[0]->kind != EXPRESSION_NAME || strcmp(name->part[0]->name, "nameof") != 0 ||
        name->part[1]->kind != EXPRESSION_NAME)
        REFUSE(h, e, "Gpu.Run without nameof(kernel) and a destination");
    struct method *kernel = dialect_find(p->dialect, name->part[1]->name);
    if (kernel == NULL || !kernel->kernel)
        REFUSE(h, name, "%s is no kernel", name->part[1]->name);
    int count = e->part_count - 3;
    if (count != kernel->parameter_count - 1)
        REFUSE(h, e, "%d arguments for the %d parameters of %s", count, kernel->parameter_count - 1,
               kernel->name);

    struct program_step step = {.kernel = kernel, .argument_count = count, .line = e->line};
    step.destination = as_buffer(h, e->part[2]);
    step.arguments = NEW_ARRAY(&p->context->arena, count, struct program_argument);
    int total = 0;
    for (int i = 0; i < count; i++) {
        const struct expression *a = e->part[3 + i];
        const struct local *parameter = &kernel->locals[1 + i];
        int table = a->kind == EXPRESSION_NAME && find_local(h, a->name) == NULL
                        ? program_find_table(p, a->name)
                        : -1;
        if (parameter->type != (table >= 0 ? KERNEL_TABLE : KERNEL_BUFFER))
            REFUSE(h, a, "an argument that is no %s for %s", kernel_type_name(parameter->type),
                   parameter->name);
        if (table < 0) {
            step.arguments[i].index = as_buffer(h, a);
            if (step.arguments[i].index == step.destination)
                REFUSE(h, a, "the destination is also an argument");
            continue;
        }
        step.arguments[i] = (struct program_argument){true, table};
        const struct program_table *t = &p->tables[table];
        if (t->entries == NULL)
            REFUSE(h, a, "the table %s is null", t->name);
        if (t->count > parameter->capacity || t->count > 1023)
            REFUSE(h, a, "the table %s of %d entries for a capacity of %d", t->name, t->count,
                   parameter->capacity);
        total += t->count;
    }
    if (total > 4000)
        REFUSE(h, e, "tables of together %d entries in one step", total);
    h->effects->run(h->effects->data, h->refusal, &step);
}

static bool execute_list(struct running *h, const struct statement *s);

static void invoke(struct running *h, const struct method *m, const struct expression *e,
                   struct value *arguments)
{
    int frame = h->frame, locals = h->local_count;
    if (++h->calls > CALLS_MAX)
        REFUSE(h, e, "calls more than %d deep", CALLS_MAX);
    h->frame = h->local_count;
    for (int i = 0; i < m->parameter_count; i++)
        declare(h, m->locals[i].name, arguments[i], m->line, m->column);
    execute_list(h, m->body->body);
    h->frame = frame;
    h->local_count = locals;
    h->calls--;
}

static void call(struct running *h, const struct expression *e)
{
    const char *gpu = function_of(e, "Gpu");
    if (gpu != NULL && strcmp(gpu, "Run") == 0) {
        run_kernel(h, e);
        return;
    }
    if (gpu != NULL && strcmp(gpu, "Load") == 0 && e->part_count == 3) {
        int buffer = as_buffer(h, e->part[1]);
        struct value v = evaluate(h, e->part[2]);
        if (v.kind != VALUE_TEXTURE || h->effects->load == NULL)
            REFUSE(h, e, "not a texture that can be loaded here");
        h->host->program->buffers[buffer].texture = v.i;
        h->effects->load(h->effects->data, h->refusal, buffer, v.i);
        return;
    }
    if (e->part[0]->kind != EXPRESSION_NAME)
        REFUSE(h, e, "a call that is not known here");
    struct method *m = host_find(h->host, e->part[0]->name, e->part_count - 1);
    if (m == NULL)
        REFUSE(h, e, "%s is not known", e->part[0]->name);
    struct value arguments[64] = {{0}};
    for (int i = 0; i < m->parameter_count; i++) {
        arguments[i] = evaluate(h, e->part[1 + i]);
        if (arguments[i].kind != VALUE_INT || m->locals[i].type != KERNEL_INT)
            REFUSE(h, e, "an argument that is no int");
    }
    invoke(h, m, e, arguments);
}

/* True when the method returns. */
static bool execute(struct running *h, const struct statement *s)
{
    int locals = h->local_count;
    bool left = false;
    struct value v;
    if (--h->fuel <= 0)
        REFUSE(h, s, "a host method that does not end");
    if ((h->fuel & 0xfff) == 0)
        context_poll(h->host->program->context);
    switch (s->kind) {
    case STATEMENT_DECLARE:
        v = evaluate(h, s->value);
        if (s->type == KERNEL_FLOAT && v.kind == VALUE_INT)
            v = (struct value){.kind = VALUE_FLOAT, .f = (float)v.i};
        declare(h, s->name, v, s->line, s->column);
        return false;
    case STATEMENT_ASSIGN:
        assign(h, s);
        return false;
    case STATEMENT_CALL:
        call(h, s->value);
        return false;
    case STATEMENT_RETURN:
        if (s->value != NULL)
            REFUSE(h, s, "a value is returned");
        return true;
    case STATEMENT_IF:
        left = execute_list(h, as_bool(h, s->value) ? s->body : s->other);
        break;
    case STATEMENT_LOOP:
        if (s->first != NULL)
            execute(h, s->first);
        while (!left && as_bool(h, s->value)) {
            left = execute(h, s->body);
            if (!left && s->last != NULL)
                execute(h, s->last);
        }
        break;
    case STATEMENT_BLOCK:
        left = execute_list(h, s->body);
        break;
    }
    h->local_count = locals;
    return left;
}

static bool execute_list(struct running *h, const struct statement *s)
{
    for (; s != NULL; s = s->next)
        if (execute(h, s))
            return true;
    return false;
}

void host_call(struct host *h, struct refusal *r, const struct host_effects *effects,
               struct method *m, const int32_t *arguments, const int32_t *ids, int id_count)
{
    struct running running = {.host = h,
                              .refusal = r,
                              .effects = effects,
                              .ids = ids,
                              .id_count = id_count,
                              .fuel = FUEL};
    struct value values[64] = {{0}};
    const struct expression at = {.line = m->line, .column = m->column};
    for (int i = 0; i < m->parameter_count; i++) {
        if (m->locals[i].type == KERNEL_IDS && ids != NULL)
            values[i] = (struct value){.kind = VALUE_IDS};
        else if (m->locals[i].type == KERNEL_INT && arguments != NULL)
            values[i] = of_int(arguments[i]);
        else if (m->locals[i].type != KERNEL_IDS)
            refuse(r, m->line, m->column, "a parameter of %s that is not known here", m->name);
    }
    invoke(&running, m, &at, values);
}
