#include "client/edges.h"
#include "daemon/compiler/gpu/layout.h"
#include "daemon/compiler/graph/elements.h"
#include <math.h>
#include <string.h>

int64_t quantise(float x, float scale, int64_t zero_point, enum element_type steps)
{
    float least = (float)steps_least(steps), most = least + 255;
    float q = rintf(x / scale) + (float)zero_point;

    if (!(q > least)) /* NaN too */
        return (int64_t)least;
    return q < most ? (int64_t)q : (int64_t)most;
}

/* One buffer of an edge: where its elements lie. */
struct placement {
    struct layout layout;
    struct shape shape; /* of one item */
    int64_t count;      /* elements of one item */
    int buffer;
    bool bytes;
    int64_t cells;
};

static bool place_item(struct placement *at, const struct program *p,
                       const struct compile_edge *edge, int item, struct arena *arena,
                       const char **why)
{
    const char *name = item ? arena_printf(arena, "%sItem%d", edge->field, item) : edge->field;
    struct layout *l = &at->layout;

    memset(at, 0, sizeof *at);
    at->buffer = program_find_buffer(p, name);
    if (at->buffer < 0) {
        *why = arena_printf(arena, "the generated class has no buffer %s", name);
        return false;
    }
    const struct program_buffer *b = &p->buffers[at->buffer];
    at->bytes = b->format == GPU_FORMAT_BYTE;
    at->cells = (int64_t)b->width * b->height;
    at->shape = edge->shape;
    if (edge->items > 1)
        at->shape.dim[0] = 1;
    at->count = shape_count(&at->shape);
    l->packed = edge->packed;
    l->x_count = edge->x_count;
    l->y_count = edge->y_count;
    memcpy(l->x, edge->x, sizeof l->x);
    memcpy(l->y, edge->y, sizeof l->y);
    l->length_x = 1;
    l->height = 1;
    for (int i = 0; i < l->x_count; i++)
        l->length_x *= at->shape.dim[l->x[i]];
    for (int i = 0; i < l->y_count; i++)
        l->height *= at->shape.dim[l->y[i]];
    l->groups = l->packed >= 0 ? (at->shape.dim[l->packed] + 3) / 4 : 1;
    l->width = l->length_x * l->groups;
    if (l->width == b->width && l->height == b->height)
        return true;
    *why = arena_printf(arena, "%s is %d by %d cells, its layout says %lld by %lld", name, b->width,
                        b->height, (long long)l->width, (long long)l->height);
    return false;
}

/* Index among a buffer's numbers (four a cell) of element at[]. */
static size_t number_at(const struct placement *p, const int64_t *at)
{
    int64_t x, y;
    int component;

    layout_place(&p->layout, &p->shape, at, &x, &y, &component);
    return (size_t)((y * p->layout.width + x) * 4 + component);
}

static void step_on(const struct shape *s, int64_t *at)
{
    for (int axis = s->axes - 1; axis >= 0; axis--) {
        if (++at[axis] < s->dim[axis])
            return;
        at[axis] = 0;
    }
}

static void write_item(struct simulation *s, const struct placement *p,
                       const struct meaning *meaning, const struct tensor *t, const float *numbers,
                       struct arena *arena)
{
    int64_t at[MAX_AXES] = {0};

    if (p->bytes) {
        unsigned char *cells = NEW_ARRAY(arena, p->cells * 4, unsigned char);
        int64_t least = steps_least(meaning->steps);

        for (int64_t i = 0; i < p->count; i++, step_on(&p->shape, at)) {
            int64_t q = t->type == TYPE_FLOAT32 ? quantise(numbers[i], meaning->scale,
                                                           meaning->zero_point, meaning->steps)
                                                : (int64_t)numbers[i];

            cells[number_at(p, at)] = (unsigned char)(q - least);
        }
        simulation_write_raw(s, p->buffer, cells);
    } else {
        float *cells = NEW_ARRAY(arena, p->cells * 4, float);

        for (int64_t i = 0; i < p->count; i++, step_on(&p->shape, at))
            cells[number_at(p, at)] = numbers[i];
        simulation_write(s, p->buffer, cells);
    }
}

static const char *no_scale(struct arena *arena, const char *name)
{
    return arena_printf(arena, "%s is an 8-bit buffer, but the model gives it no scale", name);
}

bool edge_write(struct simulation *s, const struct program *p, const struct compile_edge *edge,
                const struct meaning *meaning, const struct tensor *tensor, struct arena *arena,
                const char **why)
{
    if (tensor->type != edge->type || !shape_equal(&tensor->shape, &edge->shape)) {
        *why = arena_printf(arena, "input %s is %s %s, given is %s %s", edge->name,
                            type_name(edge->type), shape_text(arena, &edge->shape),
                            type_name(tensor->type), shape_text(arena, &tensor->shape));
        return false;
    }
    const float *numbers = tensor_floats(arena->context, tensor, arena);
    for (int item = 0; item < edge->items; item++) {
        struct placement at;

        if (!place_item(&at, p, edge, item, arena, why))
            return false;
        if (at.bytes && !meaning->quantised) {
            *why = no_scale(arena, edge->field);
            return false;
        }
        write_item(s, &at, meaning, tensor, numbers + item * at.count, arena);
    }
    return true;
}

static void read_item(const struct simulation *s, const struct placement *p,
                      const struct meaning *meaning, enum element_type type, void *payload,
                      int64_t first, struct arena *arena)
{
    int64_t at[MAX_AXES] = {0};

    if (p->bytes) {
        unsigned char *cells = NEW_ARRAY(arena, p->cells * 4, unsigned char);
        int64_t least = steps_least(meaning->steps);

        simulation_read_raw(s, p->buffer, cells);
        for (int64_t i = 0; i < p->count; i++, step_on(&p->shape, at)) {
            int64_t q = cells[number_at(p, at)] + least;

            if (type == TYPE_FLOAT32)
                payload_set(payload, type, first + i,
                            (float)(q - meaning->zero_point) * meaning->scale);
            else
                payload_set_integer(payload, type, first + i, q);
        }
    } else {
        float *cells = NEW_ARRAY(arena, p->cells * 4, float);

        simulation_read(s, p->buffer, cells);
        for (int64_t i = 0; i < p->count; i++, step_on(&p->shape, at)) {
            double number = (double)cells[number_at(p, at)];

            payload_set(payload, type, first + i, type_is_integer(type) ? rint(number) : number);
        }
    }
}

struct tensor *edge_read(struct simulation *s, const struct program *p,
                         const struct compile_edge *edge, const struct meaning *meaning,
                         struct arena *arena, const char **why)
{
    void *payload;
    struct tensor *tensor = tensor_new(arena, edge->type, &edge->shape, &payload);

    for (int item = 0; item < edge->items; item++) {
        struct placement at;

        if (!place_item(&at, p, edge, item, arena, why))
            return NULL;
        if (at.bytes && !meaning->quantised) {
            *why = no_scale(arena, edge->field);
            return NULL;
        }
        read_item(s, &at, meaning, edge->type, payload, item * at.count, arena);
    }
    return tensor;
}

bool edge_write_tokens(struct simulation *s, int input, const struct tensor *ids,
                       struct arena *arena, const char **why)
{
    const int64_t *numbers = tensor_integers(arena->context, ids, arena);
    int32_t *narrow = NEW_ARRAY(arena, ids->count, int32_t);
    struct simulation_error error = {0};

    if (ids->count > INT32_MAX) {
        *why = "there are more token ids than an array holds";
        return false;
    }
    for (int64_t i = 0; i < ids->count; i++)
        narrow[i] = numbers[i] > INT32_MAX   ? INT32_MAX
                    : numbers[i] < INT32_MIN ? INT32_MIN
                                             : (int32_t)numbers[i];
    if (simulation_set_tokens(s, input, narrow, (int)ids->count, &error))
        return true;
    *why = arena_printf(arena, "token ids: %s", error.reason);
    return false;
}
