#include "daemon/compiler/model/label.h"
#include <string.h>
#include <xxhash.h>

bool label_equal(struct label a, struct label b)
{
    return a.length == b.length && (!a.length || !memcmp(a.bytes, b.bytes, a.length));
}

struct label label_of(const char *text)
{
    return (struct label){text, strlen(text)};
}

/* Length of the well-formed UTF-8 sequence at s (Unicode 15, table 3-7), 0 where there is none. */
static size_t sequence(const uint8_t *s, size_t left, uint32_t *point)
{
    static const uint32_t smallest[] = {0, 0, 0x80, 0x800, 0x10000};
    size_t length = s[0] < 0x80 ? 1 : s[0] >= 0xf0 ? 4 : s[0] >= 0xe0 ? 3 : s[0] >= 0xc2 ? 2 : 0;

    if (!length || length > left || s[0] > 0xf4)
        return 0;
    *point = length == 1 ? s[0] : s[0] & (0xffu >> (length + 1));
    for (size_t i = 1; i < length; i++) {
        if ((s[i] & 0xc0) != 0x80)
            return 0;
        *point = *point << 6 | (s[i] & 0x3f);
    }
    if (*point < smallest[length] || *point > 0x10ffff || (*point >= 0xd800 && *point < 0xe000))
        return 0;
    return length;
}

const char *label_text(struct arena *a, struct label label, size_t shown)
{
    const uint8_t *bytes = (const uint8_t *)label.bytes;
    struct strbuf text;

    if (!label.length)
        return "";
    strbuf_init(&text, a);
    for (size_t i = 0; i < label.length;) {
        uint32_t point = 0;
        size_t length = sequence(bytes + i, label.length - i, &point);

        if (i + (length ? length : 1) > shown) {
            strbuf_add(&text, "\xe2\x80\xa6");
            break;
        }
        if (!length)
            strbuf_printf(&text, "\\x%02x", bytes[i++]);
        else if (point == '\n' || point == '\r' || point == '\t')
            strbuf_add(&text, point == '\n' ? "\\n" : point == '\r' ? "\\r" : "\\t");
        else if (point < 0x20 || point == 0x7f)
            strbuf_printf(&text, "\\x%02x", point);
        else if ((point >= 0x80 && point < 0xa0) || point == 0x2028 || point == 0x2029)
            strbuf_printf(&text, "\\u%04x", point);
        else
            strbuf_add_bytes(&text, bytes + i, length);
        i += length;
    }
    return text.text;
}

struct scope_entry {
    struct label label;
    uint64_t hash;
    void *meaning;
    bool used;
};

void scope_init(struct scope *s, struct arena *arena, const struct scope *outer)
{
    *s = (struct scope){.arena = arena, .outer = outer};
}

static uint64_t hash_of(struct label label)
{
    return label.length ? XXH3_64bits(label.bytes, label.length) : 0;
}

static struct scope_entry *probe(const struct scope *s, struct label label, uint64_t hash)
{
    for (size_t i = (size_t)hash;; i++) {
        struct scope_entry *entry = &s->entries[i & (size_t)(s->room - 1)];

        if (!entry->used || (entry->hash == hash && label_equal(entry->label, label)))
            return entry;
    }
}

static void grow(struct scope *s)
{
    struct scope_entry *old = s->entries;
    int room = s->room;

    s->room = room ? room * 2 : 16;
    s->entries = NEW_ARRAY(s->arena, s->room, struct scope_entry);
    for (int i = 0; i < room; i++)
        if (old[i].used)
            *probe(s, old[i].label, old[i].hash) = old[i];
}

void **scope_place(struct scope *s, struct label label, bool *is_new)
{
    uint64_t hash = hash_of(label);
    struct scope_entry *entry;

    if (s->count >= s->room / 2)
        grow(s);
    entry = probe(s, label, hash);
    *is_new = !entry->used;
    if (!entry->used) {
        *entry = (struct scope_entry){.label = label, .hash = hash, .used = true};
        s->count++;
    }
    return &entry->meaning;
}

bool scope_find(const struct scope *s, struct label label, void **meaning)
{
    uint64_t hash = hash_of(label);

    for (; s; s = s->outer) {
        const struct scope_entry *entry = s->room ? probe(s, label, hash) : NULL;

        if (entry && entry->used) {
            *meaning = entry->meaning;
            return true;
        }
    }
    return false;
}
