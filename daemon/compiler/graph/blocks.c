#include "daemon/compiler/graph/blocks.h"
#include "daemon/compiler/operators/recipe.h"

enum { BLOCK = 1 << 15 };

void blocks_init(struct blocks *b, struct context *c, const struct tensor *t)
{
    bool bytes = type_bits(t->type) >= 8;

    *b = (struct blocks){.context = c, .tensor = t, .part = {.type = t->type}};
    if (!t->count)
        return;
    b->whole = arena_child(&c->arena);
    if (bytes)
        b->recipe = recipe_open(t);
    /* Elements of less than a byte do not begin where they please. */
    if (!b->recipe && (!bytes || (t->deferred && !t->data)))
        b->payload = tensor_data(c, t, b->whole);
    b->most = b->recipe ? pick_block(b->recipe) : bytes && t->count > BLOCK ? BLOCK : t->count;
    b->scratch = arena_child(&c->arena);
    /* Numbers of elements, elements, and these converted. */
    arena_reserve(b->scratch, (size_t)(b->most < BLOCK ? b->most : BLOCK) * 24 + 64);
    b->start = arena_mark(b->scratch);
}

bool blocks_next(struct blocks *b)
{
    const struct tensor *t = b->tensor;
    int64_t count = b->most, *at;
    size_t size = (size_t)type_bits(t->type) / 8;

    b->first += b->part.count;
    if (b->first == t->count) {
        if (b->recipe)
            recipe_close(b->recipe);
        arena_free(b->scratch);
        arena_free(b->whole);
        return false;
    }
    context_poll(b->context);
    count = count < t->count - b->first ? count : t->count - b->first;
    arena_rewind(b->scratch, b->start);
    b->part.count = count;
    b->part.shape = shape_of(1, &count);
    b->part.bytes = (size_t)tensor_payload(t->type, count);
    if (b->payload) {
        b->part.data = (const char *)b->payload + (size_t)b->first * size;
        return true;
    }
    at = NEW_ROOM(b->scratch, count, int64_t);
    for (int64_t i = 0; i < count; i++)
        at[i] = b->first + i;
    if (b->recipe) {
        b->part.data = recipe_read(b->recipe, t, (struct positions){count, at});
    } else {
        void *data = arena_room(b->scratch, (size_t)count, size);

        tensor_pick(b->context, t, count, at, data);
        b->part.data = data;
    }
    return true;
}
