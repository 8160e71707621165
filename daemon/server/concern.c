#include "daemon/server/concern.h"

#include "daemon/server/memory.h"
#include <stdlib.h>
#include <string.h>

struct concerned {
    struct member **members;
    size_t *times; /* how many lists of each hold the path */
    size_t count;
};

static void concerned_free(struct concerned *concerned)
{
    free(concerned->members);
    free(concerned->times);
    free(concerned);
}

static void add(struct concerns *concerns, struct member *member, const char *path)
{
    struct concerned *concerned = tree_get(&concerns->by_path, path);

    if (!concerned) {
        concerned = memory_new(sizeof *concerned);
        tree_put(&concerns->by_path, path, concerned);
    }
    for (size_t i = 0; i < concerned->count; i++)
        if (concerned->members[i] == member) {
            concerned->times[i]++;
            return;
        }
    concerned->members = memory_grow(concerned->members, concerned->count, sizeof(struct member *));
    concerned->times = memory_grow(concerned->times, concerned->count, sizeof *concerned->times);
    concerned->members[concerned->count] = member;
    concerned->times[concerned->count++] = 1;
}

static void drop(struct concerns *concerns, const struct member *member, const char *path)
{
    struct concerned *concerned = tree_get(&concerns->by_path, path);

    for (size_t i = 0; concerned && i < concerned->count; i++)
        if (concerned->members[i] == member) {
            if (--concerned->times[i])
                return;
            concerned->count--;
            concerned->members[i] = concerned->members[concerned->count];
            concerned->times[i] = concerned->times[concerned->count];
            break;
        }
    if (concerned && !concerned->count)
        concerned_free(tree_take(&concerns->by_path, path));
}

void concerns_set(struct concerns *concerns, struct member *member, struct path_list *was,
                  struct path_list *now)
{
    for (size_t i = 0; i < was->count; i++)
        drop(concerns, member, was->list[i]);
    path_list_release(was);
    for (size_t i = 0; i < now->count; i++)
        add(concerns, member, now->list[i]);
    *was = *now;
    *now = (struct path_list){NULL, 0};
}

struct member *const *concerns_of(const struct concerns *concerns, const char *path, size_t *count)
{
    const struct concerned *concerned = tree_get(&concerns->by_path, path);

    *count = concerned ? concerned->count : 0;
    return concerned ? concerned->members : NULL;
}

void concerns_release(struct concerns *concerns)
{
    struct concerned *concerned;

    while ((concerned = tree_pop(&concerns->by_path, "/")))
        concerned_free(concerned);
    tree_release(&concerns->by_path);
}
