#include "daemon/compiler/gpu/simulate.h"
#include "daemon/compiler/context.h"
#include "daemon/compiler/gpu/execute.h"
#include "daemon/compiler/gpu/host.h"
#include "daemon/compiler/graph/half.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

struct payload {
    const unsigned char *bytes; /* borrowed; NULL: not given yet */
    size_t size;
};

struct simulation {
    struct context *context;
    struct arena *arena; /* its own: surfaces and tables */
    struct program *program;
    enum rounding rounding;
    struct surface *surfaces; /* by buffer */
    struct payload *payloads; /* by texture */
    bool (*execute)(struct machine *);
    int shape; /* number that is wanted, -1 for the cheapest */
};

struct simulation *simulation_new(struct context *c, struct program *p, enum rounding rounding)
{
    struct arena *arena = arena_child(&c->arena);
    struct simulation *s = NEW(arena, struct simulation);
    s->context = c;
    s->arena = arena;
    s->program = p;
    s->rounding = rounding;
    s->surfaces = NEW_ARRAY(arena, p->buffer_count, struct surface);
    s->payloads = NEW_ARRAY(arena, p->texture_count, struct payload);
    for (int i = 0; i < p->buffer_count; i++) {
        size_t cells = (size_t)p->buffers[i].width * (size_t)p->buffers[i].height;
        s->surfaces[i].width = p->buffers[i].width;
        s->surfaces[i].height = p->buffers[i].height;
        for (int k = 0; k < 4; k++) {
            union cell *all = NEW_ARRAY(arena, cells + 2 * SHAPE_LANES, union cell);
            s->surfaces[i].plane[k] = all + SHAPE_LANES;
        }
    }
    simulation_choose(s, -1, true);
    return s;
}

void simulation_choose(struct simulation *s, int shape, bool wide)
{
    s->shape = shape;
    s->execute = execute_block_plain;
#if defined(__x86_64__)
    if (wide && __builtin_cpu_supports("avx2"))
        s->execute = execute_block_avx2;
#else
    (void)wide;
#endif
}

void simulation_free(struct simulation *s)
{
    if (s != NULL)
        arena_free(s->arena);
}

/* ---- what buffers hold */

static enum gpu_format format_of(const struct simulation *s, int buffer)
{
    return s->program->buffers[buffer].format;
}

static float byte_value(unsigned byte)
{
    return (float)byte / 255.0f;
}

static unsigned byte_of(float v)
{
    if (!(v > 0.0f)) /* a NaN too */
        return 0;
    return v >= 1.0f ? 255u : (unsigned)floorf(v * 255.0f + 0.5f);
}

/* Stores at most SHAPE_LANES numbers as a buffer holds them. */
static void store(const struct simulation *s, enum gpu_format format, union cell *to,
                  const union cell *values, int count)
{
    if (format == GPU_FORMAT_BYTE) {
        for (int i = 0; i < count; i++)
            to[i].f = byte_value(byte_of(values[i].f));
        return;
    }
    uint16_t halves[SHAPE_LANES];
    if (s->rounding == ROUND_NEAREST)
        half_from_floats(halves, &values->f, (size_t)count);
    else
        half_from_floats_zero(halves, &values->f, (size_t)count);
    half_to_floats(&to->f, halves, (size_t)count);
}

static size_t cell_count(const struct simulation *s, int buffer)
{
    return (size_t)s->surfaces[buffer].width * (size_t)s->surfaces[buffer].height;
}

void simulation_set(struct simulation *s, int buffer, int x, int y, const float rgba[4])
{
    const struct surface *to = &s->surfaces[buffer];
    if (x < 0 || y < 0 || x >= to->width || y >= to->height)
        BUG(s->context, "cell %d, %d outside buffer %d", x, y, buffer);
    for (int k = 0; k < 4; k++) {
        const union cell v = {.f = rgba[k]};
        store(s, format_of(s, buffer), &to->plane[k][(size_t)y * (size_t)to->width + (size_t)x], &v,
              1);
    }
}

void simulation_get(const struct simulation *s, int buffer, int x, int y, float rgba[4])
{
    const struct surface *from = &s->surfaces[buffer];
    if (x < 0 || y < 0 || x >= from->width || y >= from->height)
        BUG(s->context, "cell %d, %d outside buffer %d", x, y, buffer);
    for (int k = 0; k < 4; k++)
        rgba[k] = from->plane[k][(size_t)y * (size_t)from->width + (size_t)x].f;
}

void simulation_write(struct simulation *s, int buffer, const float *rgba)
{
    size_t cells = cell_count(s, buffer);
    union cell values[SHAPE_LANES];
    for (size_t done = 0; done < cells; done += SHAPE_LANES) {
        size_t count = cells - done < SHAPE_LANES ? cells - done : SHAPE_LANES;
        for (size_t k = 0; k < 4; k++) {
            for (size_t i = 0; i < count; i++)
                values[i].f = rgba[(done + i) * 4 + k];
            store(s, format_of(s, buffer), s->surfaces[buffer].plane[k] + done, values, (int)count);
        }
    }
}

void simulation_read(const struct simulation *s, int buffer, float *rgba)
{
    size_t cells = cell_count(s, buffer);
    for (size_t k = 0; k < 4; k++)
        for (size_t i = 0; i < cells; i++)
            rgba[i * 4 + k] = s->surfaces[buffer].plane[k][i].f;
}

void simulation_write_raw(struct simulation *s, int buffer, const void *bytes)
{
    const unsigned char *from = bytes;
    size_t cells = cell_count(s, buffer);
    union cell *const *plane = s->surfaces[buffer].plane;
    if (format_of(s, buffer) == GPU_FORMAT_BYTE) {
        for (size_t i = 0; i < cells; i++)
            for (size_t k = 0; k < 4; k++)
                plane[k][i].f = byte_value(from[i * 4 + k]);
        return;
    }
    for (size_t done = 0; done < cells; done += SHAPE_LANES) {
        size_t count = cells - done < SHAPE_LANES ? cells - done : SHAPE_LANES;
        uint16_t halves[4 * SHAPE_LANES];
        float values[4 * SHAPE_LANES];
        for (size_t i = 0; i < 4 * count; i++)
            halves[i] = (uint16_t)(from[(done * 4 + i) * 2] | from[(done * 4 + i) * 2 + 1] << 8);
        half_to_floats(values, halves, 4 * count);
        for (size_t i = 0; i < count; i++)
            for (size_t k = 0; k < 4; k++)
                plane[k][done + i].f = values[i * 4 + k];
    }
}

void simulation_read_raw(const struct simulation *s, int buffer, void *bytes)
{
    unsigned char *to = bytes;
    size_t cells = cell_count(s, buffer);
    union cell *const *plane = s->surfaces[buffer].plane;
    bool byte = format_of(s, buffer) == GPU_FORMAT_BYTE;
    for (size_t i = 0; i < cells * 4; i++) {
        float v = plane[i % 4][i / 4].f;
        if (byte) {
            to[i] = (unsigned char)byte_of(v);
            continue;
        }
        uint16_t half = half_from_float(v);
        to[2 * i] = (unsigned char)half;
        to[2 * i + 1] = (unsigned char)(half >> 8);
    }
}

void simulation_set_table(struct simulation *s, int table, const float (*entries)[4], int count)
{
    struct program_table *t = &s->program->tables[table];
    t->entries = arena_array(&s->context->arena, (size_t)count, sizeof *entries);
    memcpy(t->entries, entries, (size_t)count * sizeof *entries);
    t->count = count;
}

/* ---- host methods */

static size_t payload_size(const struct simulation *s, int buffer)
{
    return cell_count(s, buffer) * (format_of(s, buffer) == GPU_FORMAT_HALF ? 8 : 4);
}

bool simulation_texture(struct simulation *s, int texture, const void *bytes, size_t size)
{
    for (int i = 0; i < s->program->buffer_count; i++)
        if (s->program->buffers[i].texture == texture && payload_size(s, i) != size)
            return false;
    s->payloads[texture] = (struct payload){bytes, size};
    return true;
}

static void load(void *data, struct refusal *r, int buffer, int texture)
{
    struct simulation *s = data;
    const struct payload *payload = &s->payloads[texture];
    const char *name = s->program->textures[texture].name;
    if (payload->bytes == NULL)
        refuse(r, 0, 0, "the texture %s is missing", name);
    if (payload->size != payload_size(s, buffer))
        refuse(r, 0, 0, "the texture %s has not the size of its buffer", name);
    simulation_write_raw(s, buffer, payload->bytes);
}

static void set(void *data, int buffer, int x, int y, const float rgba[4])
{
    simulation_set(data, buffer, x, y, rgba);
}

static bool host_fault(struct simulation_error *error, const struct dialect_error *why,
                       const char *method)
{
    *error = (struct simulation_error){
        .kernel = method, .step = -1, .line = why->line, .column = why->column};
    memcpy(error->reason, why->reason, sizeof error->reason);
    return false;
}

static void call_use(struct simulation *s, struct refusal *r, int32_t style)
{
    struct program *p = s->program;
    const struct host_effects effects = {.data = s, .load = load};
    struct method *m = host_find(p->host, arena_printf(s->arena, "Use%s", p->prefix), 1);
    if (m != NULL) {
        host_call(p->host, r, &effects, m, &style, NULL, 0);
        return;
    }
    /* One style: Load has recorded which texture goes where. */
    for (int i = 0; i < p->buffer_count; i++)
        if (p->buffers[i].texture >= 0)
            load(s, r, i, p->buffers[i].texture);
}

bool simulation_use(struct simulation *s, int style, struct simulation_error *error)
{
    struct dialect_error why = {0};
    struct refusal r = {.error = &why};
    if (setjmp(r.escape) != 0)
        return host_fault(error, &why, "Use");
    call_use(s, &r, style);
    return true;
}

static void call_set_tokens(struct simulation *s, struct refusal *r, int input, const int32_t *ids,
                            int count)
{
    struct program *p = s->program;
    const struct host_effects effects = {.data = s, .set = set};
    struct method *m =
        host_find(p->host,
                  input == 0 ? arena_printf(s->arena, "Set%sTokens", p->prefix)
                             : arena_printf(s->arena, "Set%sTokens%d", p->prefix, input),
                  1);
    if (m == NULL)
        refuse(r, 0, 0, "there is no token input %d", input);
    host_call(p->host, r, &effects, m, NULL, ids, count);
}

bool simulation_set_tokens(struct simulation *s, int input, const int32_t *ids, int count,
                           struct simulation_error *error)
{
    struct dialect_error why = {0};
    struct refusal r = {.error = &why};
    if (setjmp(r.escape) != 0)
        return host_fault(error, &why, "SetTokens");
    call_set_tokens(s, &r, input, ids, count);
    return true;
}

/* ---- steps */

/* The cheapest of the shapes that come into question. */
static struct bytecode *compile(struct simulation *s, struct arena *scratch,
                                const struct program_step *step)
{
    const struct surface *to = &s->surfaces[step->destination];
    struct flat *flat = flatten(scratch, step->kernel);
    struct shape shapes[SHAPE_CANDIDATES];
    struct bytecode *best = NULL;
    if (flat == NULL)
        return NULL;
    int count = shape_candidates(flat, to->width, to->height, shapes);
    for (int i = 0; i < count; i++) {
        if (s->shape >= 0 && s->shape % count != i)
            continue;
        struct bytecode *code = bytecode_emit(scratch, flat, &shapes[i]);
        if (code != NULL && (best == NULL || code->nanoseconds < best->nanoseconds))
            best = code;
    }
    return best;
}

static union cell *lanes_new(struct arena *arena)
{
    return NEW_ARRAY(arena, SHAPE_LANES, union cell);
}

static struct machine *machine_new(struct simulation *s, struct arena *scratch,
                                   const struct bytecode *code, const struct program_step *step)
{
    struct machine *m = NEW(scratch, struct machine);
    int parameters = step->argument_count + 1;
    m->context = s->context;
    m->code = code;
    m->surfaces = NEW_ARRAY(scratch, parameters, const struct surface *);
    m->tables = arena_array(scratch, (size_t)parameters, sizeof *m->tables);
    int *counts = NEW_ARRAY(scratch, parameters, int);
    for (int i = 0; i < step->argument_count; i++) {
        int index = step->arguments[i].index;
        if (step->arguments[i].is_table) {
            m->tables[i + 1] = (const float(*)[4])s->program->tables[index].entries;
            counts[i + 1] = s->program->tables[index].count;
        } else {
            m->surfaces[i + 1] = &s->surfaces[index];
        }
    }
    m->table_counts = counts;

    m->uniform = NEW_ARRAY(scratch, code->constant_count + code->uniforms + 4, union cell);
    m->uniform += code->constant_count;
    for (int i = 0; i < code->constant_count; i++)
        m->uniform[-1 - i] = code->constants[i];
    m->own = NEW_ARRAY(scratch, code->varyings + 4, union cell *);
    m->varying = NEW_ARRAY(scratch, code->varyings + 4, union cell *);
    for (int i = 0; i < code->varyings; i++)
        m->varying[i] = m->own[i] = lanes_new(scratch);
    m->scratch = lanes_new(scratch);
    m->index = NEW_ARRAY(scratch, SHAPE_LANES, int32_t);
    m->masks = NEW_ARRAY(scratch, code->levels + 1, int32_t *);
    m->mask_full = NEW_ARRAY(scratch, code->levels + 1, bool);
    for (int i = 0; i <= code->levels; i++)
        m->masks[i] = NEW_ARRAY(scratch, SHAPE_LANES, int32_t);
    memset(m->masks[0], 0xff, SHAPE_LANES * sizeof *m->masks[0]);
    m->mask_full[0] = true;
    return m;
}

struct block {
    int x, y, columns, rows;
};

static void enter_block(struct machine *m, const struct block *b)
{
    const struct bytecode *code = m->code;
    m->lanes = b->columns * b->rows;
    m->uniform[0].i = b->x;
    m->uniform[1].i = b->y;
    for (int row = 0, i = 0; row < b->rows; row++) {
        for (int column = 0; column < b->columns; column++, i++) {
            if (code->lane_x >= 0)
                m->own[code->lane_x][i].i = b->x + column;
            if (code->lane_y >= 0)
                m->own[code->lane_y][i].i = b->y + row;
        }
    }
}

static void leave_block(const struct simulation *s, struct machine *m, const struct block *b,
                        int destination)
{
    const struct surface *to = &s->surfaces[destination];
    for (int k = 0; k < 4; k++) {
        const struct operand *from = &m->code->result[k];
        const union cell *values = from->varying ? m->varying[from->reg] : m->scratch;
        if (!from->varying)
            for (int i = 0; i < m->lanes; i++)
                m->scratch[i] = m->uniform[from->reg];
        for (int row = 0; row < b->rows; row++)
            store(s, format_of(s, destination),
                  to->plane[k] + (size_t)(b->y + row) * (size_t)to->width + b->x,
                  values + row * b->columns, b->columns);
    }
}

static bool kernel_fault(const struct simulation *s, const struct machine *m, const struct block *b,
                         const struct program_step *step, struct simulation_error *error)
{
    const struct op *op = m->fault;
    *error = (struct simulation_error){.kernel = step->kernel->name,
                                       .step = (int)(step - s->program->steps),
                                       .line = op->line,
                                       .column = op->column,
                                       .x = b->x + m->lane % b->columns,
                                       .y = b->y + m->lane / b->columns};
    const char *name =
        op->code == OP_FETCH || op->code == OP_ENTRY ? step->kernel->locals[op->target].name : "";
    if (op->code == OP_FETCH)
        snprintf(error->reason, sizeof error->reason, "%s %s (%d x %d): [%d, %d]", m->reason, name,
                 m->surfaces[op->target]->width, m->surfaces[op->target]->height, m->read_x,
                 m->read_y);
    else if (op->code == OP_ENTRY)
        snprintf(error->reason, sizeof error->reason, "%s %s (%d entries): [%d]", m->reason, name,
                 m->table_counts[op->target], m->read_x);
    else
        snprintf(error->reason, sizeof error->reason, "%s", m->reason);
    return false;
}

/* The end of the piece that starts at `at`: no farther than `size`, its band and the extent. */
static int piece(int at, int size, int band, int extent)
{
    int end = at - at % band + band;
    end = end < extent ? end : extent;
    return end - at < size ? end - at : size;
}

static bool run_step(struct simulation *s, const struct program_step *step,
                     struct simulation_error *error)
{
    struct arena *scratch = arena_child(s->arena);
    struct bytecode *code = compile(s, scratch, step);
    bool fine = code != NULL;
    if (!fine) {
        *error = (struct simulation_error){.kernel = step->kernel->name,
                                           .step = (int)(step - s->program->steps),
                                           .line = step->kernel->line,
                                           .column = step->kernel->column};
        snprintf(error->reason, sizeof error->reason, "the kernel is too large");
    } else {
        const struct shape *shape = &code->shape;
        struct machine *m = machine_new(s, scratch, code, step);
        struct block b = {0, 0, 0, 0};
        for (; fine && b.y < shape->height; b.y += b.rows) {
            b.rows = piece(b.y, shape->rows, shape->band_y, shape->height);
            for (b.x = 0; fine && b.x < shape->width; b.x += b.columns) {
                b.columns = piece(b.x, shape->columns, shape->band_x, shape->width);
                context_poll(s->context);
                enter_block(m, &b);
                fine = s->execute(m);
                if (fine)
                    leave_block(s, m, &b, step->destination);
                else
                    kernel_fault(s, m, &b, step, error);
            }
        }
    }
    arena_free(scratch);
    return fine;
}

bool simulation_run(struct simulation *s, int first, int count, struct simulation_error *error)
{
    for (int i = 0; i < s->program->step_count; i++) {
        if (i < first || (int64_t)i - first >= count)
            continue;
        if (!run_step(s, &s->program->steps[i], error))
            return false;
    }
    return true;
}
