#include "daemon/compiler/model/scan.h"
#include "daemon/compiler/model/foreign.h"
#include <limits.h>
#include <string.h>

enum {
    WINDOW =
        1 << 18, /* large enough to hash at memory speed, small enough for the second-level cache */
    DEPTH = 100, /* protobuf's own default; a body inside a body takes three */
    SMALL = 1 << 10,    /* stretches up to this size are kept in memory */
    SHORTEST_ROW = 256, /* bytes of a row whose figures are worth their own memory */
    FIELDS = 24,        /* more than any message of the schema has */
    LENGTH_BYTES = 5,   /* of a length whose value is not known yet when it is written */
    LONGEST_VARINT = 10,
    ON_STACK = 16, /* fields of one message that protobuf-c notes without allocating */
};

/* What unpacking may allocate. The largest language models' exports take a tenth of it. */
static const uint64_t BUDGET = (uint64_t)256 << 20;

enum wire { WIRE_VARINT = 0, WIRE_64BIT = 1, WIRE_LENGTH = 2, WIRE_32BIT = 5 };

struct frame {
    const ProtobufCMessageDescriptor *type;
    const ProtobufCFieldDescriptor *field; /* by which its parent holds it; NULL for the root */
    uint32_t index;                        /* among that field's occurrences */
    uint64_t end;
    size_t length_at;      /* in the message: where its length is to be written */
    int tensor;            /* its number, or -1 */
    uint64_t element_type; /* of a tensor, so far */
    uint64_t axes;         /* of a tensor: dims read so far … */
    uint64_t row;          /* … and the product of all but the first; 0: too large or none */
    uint32_t members;
    uint32_t seen[FIELDS];
};

struct scanner {
    struct context *c;
    struct arena *arena;
    struct files *files;
    struct file *file;
    struct hasher *content;
    uint8_t *window;
    size_t at, filled; /* in the window */
    size_t hashed;     /* in the window: what is before it counts in the content already … */
    bool apart;        /* … but not what is passed now, which has a hash of its own */
    uint64_t base;     /* position of the window in the file */
    uint64_t size;
    uint8_t first[FOREIGN_BYTES]; /* of the file */
    size_t first_count;
    uint64_t budget;
    struct frame stack[DEPTH];
    int depth;
    const ProtobufCFieldDescriptor *field; /* being read, NULL between fields */
    uint64_t field_at;                     /* where it begins */
    uint8_t *message;
    size_t length, room;
    struct scan *out;
    struct scan_fault *fault;
};

static uint64_t position(const struct scanner *s)
{
    return s->base + s->at;
}

/* "graph.node[3].attribute[0].name": the fields on the stack, then the one being read. */
static const char *path(struct scanner *s)
{
    struct strbuf text;

    strbuf_init(&text, s->arena);
    for (int i = 1; i <= s->depth; i++) {
        const ProtobufCFieldDescriptor *field = i < s->depth ? s->stack[i].field : s->field;
        const struct frame *parent = &s->stack[i - 1];
        uint32_t index;

        if (!field)
            break;
        index = i < s->depth ? s->stack[i].index : parent->seen[field - parent->type->fields];
        strbuf_printf(&text, "%s%s", text.length ? "." : "", field->name);
        if (field->label == PROTOBUF_C_LABEL_REPEATED)
            strbuf_printf(&text, "[%u]", index);
    }
    return text.text;
}

static bool fail_at(struct scanner *s, uint64_t offset, const char *what)
{
    *s->fault = (struct scan_fault){.offset = offset, .field = path(s), .what = what};
    return false;
}

static bool fail(struct scanner *s, const char *what)
{
    return fail_at(s, s->field_at, what);
}

/* What was passed since the last time counts in the content's hash. */
static void hash_passed(struct scanner *s)
{
    if (!s->apart)
        hasher_add(s->content, s->window + s->hashed, s->at - s->hashed);
    s->hashed = s->at;
}

/* Reads on. What of the window was not passed yet moves to its front. */
static bool refill(struct scanner *s)
{
    size_t held = s->filled - s->at;
    uint64_t left;
    int64_t got;

    context_poll(s->c);
    hash_passed(s);
    memmove(s->window, s->window + s->at, held);
    s->base += s->at;
    s->at = s->hashed = 0;
    s->filled = held;
    left = s->size - s->base - held;
    got = s->files->functions->read(s->file, s->base + held, s->window + held,
                                    left < WINDOW - held ? (size_t)left : WINDOW - held);
    if (got < 0)
        context_escape(s->c, ESCAPE_SYSTEM, "the model's file cannot be read at byte %llu",
                       (unsigned long long)(s->base + held));
    if (got == 0)
        return fail_at(s, s->base + held, "the file ends early");
    s->filled += (size_t)got;
    if (!s->base && !s->first_count) {
        s->first_count = s->filled < FOREIGN_BYTES ? s->filled : FOREIGN_BYTES;
        memcpy(s->first, s->window, s->first_count);
    }
    return true;
}

/* Memory that unpacking will take. Every number in a file is paid for here before anything is done
 * about it. */
static bool charge(struct scanner *s, uint64_t bytes)
{
    if (bytes > s->budget)
        return fail(s, "the model has more structure than can be unpacked (256 MiB)");
    s->budget -= bytes;
    return true;
}

static void put(struct scanner *s, const void *bytes, size_t size)
{
    if (s->room - s->length < size) {
        size_t room = s->room ? s->room * 2 : 1 << 12;
        uint8_t *grown;

        while (room - s->length < size)
            room *= 2;
        grown = arena_alloc(s->arena, room);
        if (s->length)
            memcpy(grown, s->message, s->length);
        s->message = grown;
        s->room = room;
    }
    memcpy(s->message + s->length, bytes, size);
    s->length += size;
}

static void put_varint(struct scanner *s, uint64_t value)
{
    uint8_t bytes[LONGEST_VARINT];
    size_t size = 0;

    do {
        bytes[size++] = (uint8_t)((value & 0x7f) | (value > 0x7f ? 0x80 : 0));
        value >>= 7;
    } while (value);
    put(s, bytes, size);
}

static void put_tag(struct scanner *s, uint32_t id, enum wire wire)
{
    put_varint(s, (uint64_t)id << 3 | (uint64_t)wire);
}

static bool next_varint(struct scanner *s, uint64_t end, uint64_t *value)
{
    uint64_t v = 0;

    for (unsigned i = 0; i < LONGEST_VARINT; i++) {
        uint8_t byte;

        if (position(s) >= end)
            return fail_at(s, position(s), "a number runs past the end of its message");
        if (s->at == s->filled && !refill(s))
            return false;
        byte = s->window[s->at++];
        v |= (uint64_t)(byte & 0x7f) << (7 * i);
        if (!(byte & 0x80)) {
            *value = v;
            return true;
        }
    }
    return fail(s, "a number has more than ten bytes");
}

enum pass { PASS_DROP, PASS_KEEP, PASS_COUNT };

/* Goes over size bytes, which the caller knows to be there: drops them, keeps them in the message,
 * or counts (into *count) the varints that they hold. hasher, where it is not NULL, sees them. */
static bool pass(struct scanner *s, uint64_t size, enum pass what, uint64_t *count, void *copy,
                 struct hasher *hasher)
{
    unsigned run = 0;

    while (size) {
        size_t piece;

        if (s->at == s->filled && !refill(s))
            return false;
        piece = s->filled - s->at;
        if (piece > size)
            piece = (size_t)size;
        if (what == PASS_KEEP)
            put(s, s->window + s->at, piece);
        if (hasher)
            hasher_add(hasher, s->window + s->at, piece);
        if (copy) {
            memcpy(copy, s->window + s->at, piece);
            copy = (uint8_t *)copy + piece;
        }
        if (what == PASS_COUNT) {
            const uint8_t *bytes = s->window + s->at;
            uint64_t ends = 0;

            for (size_t i = 0; i < piece; i++) {
                bool more = bytes[i] & 0x80;

                ends += !more;
                run = more ? run + 1 : 0;
                if (run >= LONGEST_VARINT)
                    return fail(s, "a number has more than ten bytes");
            }
            *count += ends;
        }
        s->at += piece;
        size -= piece;
    }
    if (run)
        return fail(s, "the last number of a list is cut off");
    return true;
}

/* Goes over whole rows of float32 as pass() does, and notes the figures of each. The window has
 * room for a row at least. */
static bool pass_rows(struct scanner *s, uint64_t rows, size_t row, struct floats_figures *figures,
                      struct hasher *hasher)
{
    while (rows) {
        uint64_t held = (s->filled - s->at) / row;

        if (!held && !refill(s))
            return false;
        held = held < rows ? held : rows;
        hasher_add(hasher, s->window + s->at, (size_t)held * row);
        rows -= held;
        for (; held; held--, s->at += row)
            *figures++ = floats_figures(s->window + s->at, row / sizeof(float));
    }
    return true;
}

static enum wire wire_of(ProtobufCType type)
{
    switch (type) {
    case PROTOBUF_C_TYPE_FLOAT:
    case PROTOBUF_C_TYPE_FIXED32:
    case PROTOBUF_C_TYPE_SFIXED32:
        return WIRE_32BIT;
    case PROTOBUF_C_TYPE_DOUBLE:
    case PROTOBUF_C_TYPE_FIXED64:
    case PROTOBUF_C_TYPE_SFIXED64:
        return WIRE_64BIT;
    case PROTOBUF_C_TYPE_STRING:
    case PROTOBUF_C_TYPE_BYTES:
    case PROTOBUF_C_TYPE_MESSAGE:
        return WIRE_LENGTH;
    default:
        return WIRE_VARINT;
    }
}

static unsigned wire_width(enum wire wire)
{
    return wire == WIRE_32BIT ? 4 : wire == WIRE_64BIT ? 8 : 0;
}

/* Fields that nobody here reads; documentation strings of exporters hold whole stack traces. */
static bool is_dropped(const ProtobufCFieldDescriptor *field)
{
    return !strcmp(field->name, "doc_string") || !strcmp(field->name, "metadata_props") ||
           !strcmp(field->name, "denotation");
}

static bool is_elements(const struct frame *frame, const ProtobufCFieldDescriptor *field)
{
    if (frame->type != &onnx__tensor__descriptor)
        return false;
    switch (field->id) {
    case ELEMENTS_FLOAT:
    case ELEMENTS_INT32:
    case ELEMENTS_INT64:
    case ELEMENTS_RAW:
    case ELEMENTS_DOUBLE:
    case ELEMENTS_UINT64:
        return true;
    default:
        return false;
    }
}

static struct scan_stretch *add_stretch(struct scanner *s, struct frame *frame,
                                        const struct scan_stretch *stretch)
{
    struct scan *out = s->out;

    APPEND(s->arena, out->stretches, out->stretch_count, out->stretch_room) = *stretch;
    out->tensors[frame->tensor].count++;
    return &out->stretches[out->stretch_count - 1];
}

/* Bytes of a row (one index of axis 0) of a stretch whose rows are to be measured; 0: they are not.
 * Dims and type stand before the elements in every file that follows the fields' order. */
static size_t row_to_measure(const struct scanner *s, const struct frame *frame, uint64_t size)
{
    uint64_t row;

    if (size <= SMALL || (s->field->id != ELEMENTS_RAW && s->field->id != ELEMENTS_FLOAT) ||
        frame->element_type != TYPE_FLOAT32 ||
        __builtin_mul_overflow(frame->row, sizeof(float), &row) || row < SHORTEST_ROW ||
        row > WINDOW || size % row)
        return 0;
    return (size_t)row;
}

/* A stretch of elements with a length of its own. */
static bool read_stretch(struct scanner *s, struct frame *frame, uint64_t size)
{
    enum wire wire = wire_of(s->field->type);
    struct scan_stretch stretch = {.offset = position(s),
                                   .length = size,
                                   .field = (enum elements_field)s->field->id,
                                   .packed = true};
    size_t row = row_to_measure(s, frame, size);
    void *copy = NULL;
    struct hasher hasher;

    hasher_init(&hasher);
    hash_passed(s);
    s->apart = true;
    if (!charge(s, sizeof stretch * 2 + (row ? size / row * sizeof *stretch.rows : 0)))
        return false;
    if (size && size <= SMALL)
        stretch.bytes = copy = arena_alloc(s->arena, (size_t)size);
    if (wire == WIRE_LENGTH) {
        stretch.count = size;
    } else if (wire != WIRE_VARINT) {
        if (size % wire_width(wire))
            return fail(s, "the length of a list is no multiple of its elements' size");
        stretch.count = size / wire_width(wire);
    }
    if (row) {
        struct floats_figures *rows = NEW_ROOM(&s->c->arena, size / row, struct floats_figures);

        if (!pass_rows(s, size / row, row, rows, &hasher))
            return false;
        stretch.rows = rows;
        stretch.row_count = size / row;
    } else if (!pass(s, size, wire == WIRE_VARINT ? PASS_COUNT : PASS_DROP, &stretch.count, copy,
                     &hasher)) {
        return false;
    }
    hash_passed(s);
    s->apart = false;
    stretch.hash = hasher_finish(&hasher);
    hasher_add_hash(s->content, stretch.hash);
    add_stretch(s, frame, &stretch);
    return true;
}

/* One element in a field of its own; runs of them are one stretch. */
static bool read_element(struct scanner *s, struct frame *frame, uint64_t tag_at)
{
    enum wire wire = wire_of(s->field->type);
    struct scan *out = s->out;
    const struct scan_tensor *tensor = &out->tensors[frame->tensor];
    struct scan_stretch *last =
        tensor->count ? &out->stretches[tensor->first + tensor->count - 1] : NULL;
    uint64_t ignored;

    if (wire == WIRE_VARINT) {
        if (!next_varint(s, frame->end, &ignored))
            return false;
    } else if (!pass(s, wire_width(wire), PASS_DROP, NULL, NULL, NULL)) {
        return false;
    }
    if (!last || last->packed || last->field != (enum elements_field)s->field->id ||
        last->offset + last->length != tag_at) {
        struct scan_stretch stretch = {.offset = tag_at,
                                       .field = (enum elements_field)s->field->id};

        if (!charge(s, sizeof stretch * 2))
            return false;
        last = add_stretch(s, frame, &stretch);
    }
    last->length = position(s) - last->offset;
    last->count++;
    return true;
}

static bool open_message(struct scanner *s, const ProtobufCMessageDescriptor *type, uint64_t size,
                         uint32_t index)
{
    struct frame *frame;

    if (s->depth == DEPTH)
        return fail(s, "messages lie more than 100 deep in each other");
    if (!charge(s, type->sizeof_message + 32))
        return false;
    frame = &s->stack[s->depth];
    memset(frame, 0, sizeof *frame);
    frame->type = type;
    frame->field = s->field;
    frame->index = index;
    frame->end = position(s) + size;
    frame->tensor = -1;
    frame->row = 1;
    if (s->field) {
        static const uint8_t blank[LENGTH_BYTES];

        put_tag(s, s->field->id, WIRE_LENGTH);
        frame->length_at = s->length;
        put(s, blank, sizeof blank);
    }
    if (type == &onnx__tensor__descriptor) {
        struct scan *out = s->out;

        if (!charge(s, sizeof(struct scan_tensor) * 2))
            return false;
        frame->tensor = out->tensor_count;
        APPEND(s->arena, out->tensors, out->tensor_count, out->tensor_room) =
            (struct scan_tensor){.first = out->stretch_count, .at = s->length};
    }
    s->depth++;
    return true;
}

static void close_message(struct scanner *s)
{
    struct frame *frame = &s->stack[--s->depth];
    size_t length;

    if (frame->tensor >= 0) {
        struct scan_tensor *tensor = &s->out->tensors[frame->tensor];

        put_tag(s, 1000, WIRE_VARINT);
        put_varint(s, (uint64_t)frame->tensor);
        tensor->length = s->length - tensor->at;
    }
    if (!frame->field)
        return;
    /* A varint may be padded with empty groups: so the place for it can be left before its value is
     * known. */
    length = s->length - frame->length_at - LENGTH_BYTES;
    for (int i = 0; i < LENGTH_BYTES; i++) {
        s->message[frame->length_at + (size_t)i] =
            (uint8_t)((length & 0x7f) | (i < LENGTH_BYTES - 1 ? 0x80 : 0));
        length >>= 7;
    }
}

/* What the scan itself looks at of a tensor. */
static void note_number(struct frame *frame, const ProtobufCFieldDescriptor *field, uint64_t value)
{
    if (frame->type != &onnx__tensor__descriptor)
        return;
    if (field->id == TENSOR_DATA_TYPE)
        frame->element_type = value;
    if (field->id == TENSOR_DIMS && frame->axes++ &&
        __builtin_mul_overflow(frame->row, value, &frame->row))
        frame->row = 0;
}

/* A list of numbers in one field, kept; protobuf-c makes up to eight bytes of each byte. */
static bool read_packed(struct scanner *s, uint64_t size)
{
    enum wire wire = wire_of(s->field->type);

    if (wire != WIRE_VARINT && size % wire_width(wire))
        return fail(s, "the length of a list is no multiple of its elements' size");
    if (!charge(s, wire == WIRE_VARINT ? size * 8 : size * 2))
        return false;
    put_tag(s, s->field->id, WIRE_LENGTH);
    put_varint(s, size);
    if (wire == WIRE_VARINT) {
        size_t before = s->length;
        uint64_t value = 0;
        unsigned run = 0;

        if (!pass(s, size, PASS_KEEP, NULL, NULL, NULL))
            return false;
        for (size_t i = before; i < s->length; i++) {
            value |= (uint64_t)(s->message[i] & 0x7f) << (7 * run);
            run = s->message[i] & 0x80 ? run + 1 : 0;
            if (run >= LONGEST_VARINT)
                return fail(s, "a number has more than ten bytes");
            if (!run) {
                note_number(&s->stack[s->depth - 1], s->field, value);
                value = 0;
            }
        }
        return !run || fail(s, "the last number of a list is cut off");
    }
    return pass(s, size, PASS_KEEP, NULL, NULL, NULL);
}

static bool read_length(struct scanner *s, struct frame *frame, uint64_t *size)
{
    if (!next_varint(s, frame->end, size))
        return false;
    if (*size > frame->end - position(s))
        return fail(s, arena_printf(s->arena, "its length, %llu bytes, runs past the end of %s",
                                    (unsigned long long)*size,
                                    s->depth > 1 ? "the message around it" : "the file"));
    return true;
}

static bool skip_unknown(struct scanner *s, struct frame *frame, unsigned wire)
{
    uint64_t size = 0;

    switch (wire) {
    case WIRE_VARINT:
        return next_varint(s, frame->end, &size);
    case WIRE_LENGTH:
        return read_length(s, frame, &size) && pass(s, size, PASS_DROP, NULL, NULL, NULL);
    case WIRE_32BIT:
    case WIRE_64BIT:
        size = wire_width((enum wire)wire);
        if (size > frame->end - position(s))
            return fail(s, "a field runs past the end of its message");
        return pass(s, size, PASS_DROP, NULL, NULL, NULL);
    default:
        return fail(s, "no field begins like this (wire type 3, 4, 6 or 7)");
    }
}

static bool read_field(struct scanner *s, struct frame *frame)
{
    const ProtobufCFieldDescriptor *field;
    uint64_t tag, size, value;
    uint64_t tag_at = position(s);
    unsigned wire;
    enum wire natural;
    uint32_t *seen, index;

    s->field = NULL;
    s->field_at = tag_at;
    if (!next_varint(s, frame->end, &tag))
        return false;
    wire = tag & 7;
    if (tag >> 3 == 0 || tag >> 32)
        return fail(s, "no field has this number");
    field = protobuf_c_message_descriptor_get_field(frame->type, (unsigned)(tag >> 3));
    if (!field || field->id == 1000)
        return skip_unknown(s, frame, wire);
    s->field = field;
    seen = &frame->seen[field - frame->type->fields];
    natural = wire_of(field->type);
    if (is_dropped(field))
        return skip_unknown(s, frame, wire);
    if (wire != natural && !(wire == WIRE_LENGTH && field->label == PROTOBUF_C_LABEL_REPEATED))
        return fail(s, "a field has another wire type than ONNX gives it");
    if (wire != WIRE_LENGTH && wire_width(natural) > frame->end - position(s))
        return fail(s, "a field runs past the end of its message");
    if (is_elements(frame, field)) {
        if (wire != WIRE_LENGTH)
            return read_element(s, frame, tag_at);
        return read_length(s, frame, &size) && read_stretch(s, frame, size);
    }
    /* 96 and 32: what protobuf-c notes of a field, twice because the notes grow by doubling; the
     * pointer to it. */
    if (!charge(s, (frame->members++ < ON_STACK ? 0 : 96) + 32))
        return false;
    if (frame->type == &onnx__tensor__descriptor && !strcmp(field->name, "external_data"))
        s->out->tensors[frame->tensor].external = true;
    index = *seen;
    if (wire == WIRE_LENGTH) {
        if (!read_length(s, frame, &size))
            return false;
        if (field->type == PROTOBUF_C_TYPE_MESSAGE) {
            if (index && field->label != PROTOBUF_C_LABEL_REPEATED)
                return fail(s, "it stands twice");
            if (!open_message(s, field->descriptor, size, index))
                return false;
            ++*seen;
            return true;
        }
        if (natural != WIRE_LENGTH) {
            if (!read_packed(s, size))
                return false;
        } else {
            if (!charge(s, size * 2 + 16))
                return false;
            put_tag(s, field->id, WIRE_LENGTH);
            put_varint(s, size);
            if (!pass(s, size, PASS_KEEP, NULL, NULL, NULL))
                return false;
        }
    } else {
        put_tag(s, field->id, natural);
        if (natural == WIRE_VARINT) {
            if (!next_varint(s, frame->end, &value))
                return false;
            put_varint(s, value);
            note_number(frame, field, value);
        } else if (!pass(s, wire_width(natural), PASS_KEEP, NULL, NULL, NULL)) {
            return false;
        }
    }
    ++*seen;
    return true;
}

/* Where the file is something else altogether, that is its fault. */
static bool explain(struct scanner *s)
{
    const struct foreign *kind = foreign_kind(s->first, s->first_count);

    if (kind)
        *s->fault = (struct scan_fault){.field = "", .what = kind->what, .advice = kind->advice};
    return false;
}

bool scan_file(struct context *c, struct arena *arena, struct files *files, struct file *file,
               uint64_t size, const ProtobufCMessageDescriptor *root, struct scan *scan,
               struct scan_fault *fault)
{
    struct scanner *s = NEW(arena, struct scanner);
    struct hasher content; /* not in the arena, which aligns less than it needs */

    *scan = (struct scan){.size = size};
    *fault = (struct scan_fault){.field = "", .what = ""};
    *s = (struct scanner){.c = c,
                          .arena = arena,
                          .files = files,
                          .file = file,
                          .window = NEW_ROOM(arena, size < WINDOW ? size : WINDOW, uint8_t),
                          .size = size,
                          .content = &content,
                          .budget = BUDGET,
                          .out = scan,
                          .fault = fault};
    hasher_init(s->content);
    if (!open_message(s, root, size, 0))
        return false;
    while (s->depth) {
        struct frame *frame = &s->stack[s->depth - 1];

        if (position(s) == frame->end)
            close_message(s);
        else if (!read_field(s, frame))
            return explain(s);
    }
    hash_passed(s);
    scan->content = hasher_finish(s->content);
    scan->message = s->message;
    scan->length = s->length;
    return true;
}

static void *take(void *arena, size_t size)
{
    return arena_alloc(arena, size);
}

static void forget(void *arena, void *block)
{
    (void)arena;
    (void)block;
}

ProtobufCMessage *scan_unpack(struct arena *arena, const struct scan *scan,
                              const ProtobufCMessageDescriptor *root)
{
    ProtobufCAllocator allocator = {.alloc = take, .free = forget, .allocator_data = arena};

    return protobuf_c_message_unpack(root, &allocator, scan->length, scan->message);
}

Onnx__Tensor *scan_unpack_tensor(struct arena *arena, const struct scan *scan, int tensor)
{
    ProtobufCAllocator allocator = {.alloc = take, .free = forget, .allocator_data = arena};
    const struct scan_tensor *t = &scan->tensors[tensor];

    return onnx__tensor__unpack(&allocator, t->length, scan->message + t->at);
}
