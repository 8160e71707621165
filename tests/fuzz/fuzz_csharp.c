/* Any bytes as a C# script: no crash, no leak, ranges inside the text, and the same answer twice.
 */
#include "daemon/language/csharp.h"

#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static size_t check(const struct csharp *csharp, size_t size)
{
    size_t sum = csharp->class_count;

    for (size_t i = 0; i < csharp->class_count; i++) {
        const struct csharp_class *class = &csharp->classes[i];
        if (!class->attribute_count || !class->type.name.length || class->type.range.end > size ||
            class->type.name_range.end > class->type.range.end)
            abort();
        for (size_t k = 0; k < class->member_count; k++)
            if (class->members[k].range.end > size ||
                class->members[k].range.start >= class->members[k].range.end)
                abort();
        for (size_t k = 0; k < class->attribute_count; k++) {
            const struct csharp_attribute *attribute = &class->attributes[k];
            if (attribute->range.end > size || attribute->range.start >= attribute->range.end)
                abort();
            for (size_t n = 0; n < attribute->argument_count; n++) {
                const struct csharp_argument *argument = &attribute->arguments[n];
                if (argument->range.start > argument->range.end || argument->range.end > size ||
                    argument->value.bytes[argument->value.length])
                    abort();
                sum = sum * 31 + (size_t)argument->kind + argument->value.length;
            }
        }
    }
    return sum;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const symbols[] = {"A", "UNITY_EDITOR", NULL};
    struct csharp *first = csharp_scan((const char *)data, size, symbols);
    struct csharp *second = csharp_scan((const char *)data, size, symbols);

    if (!first || !second || check(first, size) != check(second, size))
        abort();
    csharp_free(first);
    csharp_free(second);
    return 0;
}
