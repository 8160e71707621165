#define XXH_STATIC_LINKING_ONLY
#include "daemon/compiler/model/external.h"
#include "daemon/compiler/model/label.h"
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

enum {
    HELD =
        32, /* data files that stay open; exporters that write one file a tensor write hundreds */
    MOST_FILES = 65536, /* data files of one model */
    ATTEMPTS = 3,       /* to read a file that does not change meanwhile */
    WINDOW = 1 << 19,
};

static bool read_position(struct source *s, uint64_t offset, void *bytes, size_t size)
{
    struct file_source *f = (struct file_source *)s;

    return f->files->functions->read(f->file, offset, bytes, size) == (int64_t)size;
}

void file_source_init(struct file_source *s, struct files *files, struct file *file)
{
    *s = (struct file_source){.source = {read_position}, .files = files, .file = file};
}

void model_hold(struct context *c, struct model *m, struct file *file)
{
    if (m->open_count == m->open_room) {
        int room = m->open_room ? m->open_room * 2 : 4;
        struct file **grown = realloc(m->open, (size_t)room * sizeof(struct file *));

        if (!grown) {
            m->files->functions->close(file);
            context_escape(c, ESCAPE_MEMORY, "out of memory");
        }
        m->open = grown;
        m->open_room = room;
    }
    m->open[m->open_count++] = file;
}

/* Closes the file that was held last. */
static void drop(struct model *m)
{
    m->files->functions->close(m->open[--m->open_count]);
}

struct external {
    struct source source;
    struct externals *all;
    const char *location;
    struct file *file; /* NULL: opened for each read */
    struct file_identity identity;
    struct hash content;
    const char *fault; /* why there is no such file */
};

struct externals {
    struct context *c;
    struct model *model;
    const char *folder;
    struct scope files; /* location to struct external */
    int count, held;
};

static bool same_identity(const struct file_identity *a, const struct file_identity *b)
{
    return a->device == b->device && a->inode == b->inode && a->size == b->size &&
           a->modified_ns == b->modified_ns && a->changed_ns == b->changed_ns;
}

static bool read_external(struct source *s, uint64_t offset, void *bytes, size_t size)
{
    struct external *x = (struct external *)s;
    struct files *files = x->all->model->files;
    struct file *file = x->file;
    struct file_identity identity;
    const char *why;
    bool good = false;

    if (!file)
        file = files->functions->open_inside(files, &x->all->c->arena, x->all->folder, x->location,
                                             &why);
    if (!file)
        return false;
    if (x->file ||
        (files->functions->identity(file, &identity) && same_identity(&identity, &x->identity)))
        good = files->functions->read(file, offset, bytes, size) == (int64_t)size;
    if (!x->file)
        files->functions->close(file);
    return good;
}

/* What a tensor's external_data says. */
struct entry {
    const char *location; /* without empty parts and "." */
    uint64_t offset, length;
    bool has_length;
};

static bool is_key(const Onnx__StringEntry *e, const char *key)
{
    return label_equal((struct label){(const char *)e->key.data, e->key.len}, label_of(key));
}

static bool number(const ProtobufCBinaryData *text, uint64_t *value)
{
    uint64_t v = 0;

    if (!text->len)
        return false;
    for (size_t i = 0; i < text->len; i++)
        if (text->data[i] < '0' || text->data[i] > '9' || __builtin_mul_overflow(v, 10, &v) ||
            __builtin_add_overflow(v, (uint64_t)(text->data[i] - '0'), &v))
            return false;
    *value = v;
    return true;
}

/* NULL: *why says which rule it breaks. */
static const char *plain_location(struct arena *a, const ProtobufCBinaryData *text,
                                  const char **why)
{
    const char *bytes = (const char *)text->data;
    struct strbuf plain;

    strbuf_init(&plain, a);
    if (text->len && bytes[0] == '/')
        *why = "it is an absolute path";
    else if (text->len && memchr(bytes, '\0', text->len))
        *why = "it holds a NUL";
    else
        *why = NULL;
    for (size_t i = 0; i < text->len && !*why;) {
        const char *end = memchr(bytes + i, '/', text->len - i);
        size_t length = end ? (size_t)(end - bytes) - i : text->len - i;

        if (length == 2 && !memcmp(bytes + i, "..", 2))
            *why = "it leaves the model's folder by ..";
        else if (length && !(length == 1 && bytes[i] == '.')) {
            if (plain.length)
                strbuf_char(&plain, '/');
            strbuf_add_bytes(&plain, bytes + i, length);
        }
        i += length + 1;
    }
    if (!*why && !plain.length)
        *why = "it is empty";
    return *why ? NULL : plain.text;
}

static bool read_entry(struct arena *a, const Onnx__Tensor *t, struct entry *entry,
                       enum diagnostic_code *code, const char **why)
{
    const ProtobufCBinaryData *location = NULL;
    const char *rule;

    *entry = (struct entry){0};
    for (size_t i = 0; i < t->n_external_data; i++) {
        const Onnx__StringEntry *e = t->external_data[i];
        uint64_t *value = is_key(e, "offset")   ? &entry->offset
                          : is_key(e, "length") ? &entry->length
                                                : NULL;

        if (is_key(e, "location"))
            location = &e->value;
        if (!value)
            continue;
        if (!number(&e->value, value)) {
            *code = TUKI0107;
            *why = arena_printf(
                a, "the %s of its external data is no number: \"%s\"",
                value == &entry->offset ? "offset" : "length",
                label_text(a, (struct label){(const char *)e->value.data, e->value.len}, 64));
            return false;
        }
        entry->has_length |= value == &entry->length;
    }
    if (!location) {
        *code = TUKI0107;
        *why = "its external data has no location";
        return false;
    }
    entry->location = plain_location(a, location, &rule);
    if (!entry->location) {
        *code = TUKI0102;
        *why = arena_printf(
            a, "the location of its external data, \"%s\", is refused: %s",
            label_text(a, (struct label){(const char *)location->data, location->len}, 256), rule);
        return false;
    }
    return true;
}

static struct hash digest_of(XXH3_state_t *state)
{
    XXH128_hash_t digest = XXH3_128bits_digest(state);

    return (struct hash){.high = digest.high64, .low = digest.low64};
}

/* All of file, between two equal looks at its identity. */
static bool hash_file(struct context *c, struct files *files, struct file *file, uint8_t *window,
                      struct external *x)
{
    struct file_identity after;
    XXH3_state_t state;
    uint64_t offset = 0;

    XXH3_128bits_reset(&state);
    if (!files->functions->identity(file, &x->identity))
        return false;
    while (offset < x->identity.size) {
        uint64_t left = x->identity.size - offset;
        int64_t got = files->functions->read(file, offset, window,
                                             left < WINDOW ? (size_t)left : (size_t)WINDOW);

        context_poll(c);
        if (got <= 0)
            return false;
        XXH3_128bits_update(&state, window, (size_t)got);
        offset += (uint64_t)got;
    }
    x->content = digest_of(&state);
    return files->functions->identity(file, &after) && same_identity(&after, &x->identity);
}

static void open_external(struct externals *e, struct external *x, uint8_t *window)
{
    struct model *m = e->model;
    struct files *files = m->files;

    x->fault = "there is no such file";
    if (!files->functions->open_inside)
        return;
    for (int attempt = 0;; attempt++) {
        struct file *file =
            files->functions->open_inside(files, &e->c->arena, e->folder, x->location, &x->fault);

        if (!file)
            return;
        model_hold(e->c, m, file);
        if (hash_file(e->c, files, file, window, x)) {
            x->file = file;
            break;
        }
        drop(m);
        if (attempt + 1 == ATTEMPTS)
            context_escape(e->c, ESCAPE_SYSTEM, "%s/%s cannot be read, or changes while it is",
                           e->folder, x->location);
    }
    x->fault = NULL;
    e->c->constants.file_bytes += x->identity.size;
    if (e->held < HELD) {
        e->held++;
    } else {
        drop(m);
        x->file = NULL;
    }
}

static const char *folder_of(struct arena *a, const char *path)
{
    const char *slash = strrchr(path, '/');

    if (!slash)
        return ".";
    return slash == path ? "/" : arena_printf(a, "%.*s", (int)(slash - path), path);
}

struct externals *externals_open(struct context *c, struct model *m, const struct scan *scan,
                                 const char **missing, const char **why)
{
    struct externals *e = NEW(&c->arena, struct externals);
    struct arena *scratch = arena_child(&c->arena);
    uint8_t *window = NULL;
    XXH3_state_t state;
    int room = 0;

    *e = (struct externals){.c = c, .model = m, .folder = folder_of(&c->arena, m->path)};
    scope_init(&e->files, &c->arena, NULL);
    *missing = *why = NULL;
    XXH3_128bits_reset(&state);
    XXH3_128bits_update(&state, &m->content, sizeof m->content);
    for (int i = 0; i < scan->tensor_count; i++) {
        struct arena_mark mark = arena_mark(scratch);
        enum diagnostic_code code;
        struct entry entry;
        const char *fault;
        Onnx__Tensor *t;
        bool is_new;
        void **place;

        if (!scan->tensors[i].external)
            continue;
        t = scan_unpack_tensor(scratch, scan, i);
        if (t && t->data_location == 1 && read_entry(scratch, t, &entry, &code, &fault) &&
            e->count < MOST_FILES) {
            struct label label = label_of(entry.location);
            void *known;

            if (!scope_find(&e->files, label, &known)) {
                struct external *x = NEW(&c->arena, struct external);

                if (!window)
                    window = arena_alloc(&c->arena, WINDOW);
                *x = (struct external){.source = {read_external},
                                       .all = e,
                                       .location = arena_strdup(&c->arena, entry.location)};
                place = scope_place(&e->files, label_of(x->location), &is_new);
                *place = x;
                e->count++;
                APPEND(&c->arena, m->external, m->external_count, room) =
                    arena_printf(&c->arena, "%s/%s", e->folder, x->location);
                open_external(e, x, window);
                if (x->fault && !*missing) {
                    *missing = m->external[m->external_count - 1];
                    *why = x->fault;
                }
                XXH3_128bits_update(&state, x->location, strlen(x->location) + 1);
                XXH3_128bits_update(&state, &x->content, sizeof x->content);
            }
        }
        arena_rewind(scratch, mark);
    }
    arena_free(scratch);
    if (e->count)
        m->content = digest_of(&state);
    return e;
}

struct source *external_range(struct externals *e, const Onnx__Tensor *t, uint64_t size,
                              uint64_t *offset, enum diagnostic_code *code, const char **why)
{
    struct arena *a = &e->c->arena;
    struct external *x;
    struct entry entry;
    uint64_t length, end;
    void *known = NULL;
    const char *shown;

    if (!read_entry(a, t, &entry, code, why))
        return NULL;
    *code = TUKI0102;
    shown = label_text(a, label_of(entry.location), 256);
    if (!scope_find(&e->files, label_of(entry.location), &known)) {
        *why = arena_printf(a, "its data file %s is one of more than %d", shown, (int)MOST_FILES);
        return NULL;
    }
    x = known;
    if (x->fault) {
        *why = arena_printf(a, "its data file %s cannot be used: %s", shown, x->fault);
        return NULL;
    }
    length = entry.has_length ? entry.length : size;
    if (__builtin_add_overflow(entry.offset, length, &end) || end > x->identity.size) {
        *why =
            arena_printf(a, "its data file %s is too short: %llu bytes from byte %llu on, of %llu",
                         shown, (unsigned long long)length, (unsigned long long)entry.offset,
                         (unsigned long long)x->identity.size);
        return NULL;
    }
    if (length != size) {
        *code = TUKI0107;
        *why = arena_printf(a, "its external data has %llu bytes, its dims ask for %llu",
                            (unsigned long long)length, (unsigned long long)size);
        return NULL;
    }
    *offset = entry.offset;
    return &x->source;
}
