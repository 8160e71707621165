#ifndef DAEMON_LANGUAGE_SCRIPT_INSIDE_H
#define DAEMON_LANGUAGE_SCRIPT_INSIDE_H
/* While a script is made: what script.c and script_check.c share. All false and NULL: out of
 * memory. */
#include "daemon/language/script.h"

/* Memory that goes with the script: zeroed, a copy with a NUL behind it, a printed text. */
void *script_allocate(struct script *script, size_t size);
char *script_copy(struct script *script, const char *bytes, size_t length);
char *script_print(struct script *script, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* detail is a clause without final stop; advice: NULL for that of the code. */
bool script_add_problem(struct script *script, enum diagnostic_code code, struct csharp_range range,
                        int unit, int argument, const char *detail, const char *advice);

/* TUKI0140: the class or a type around it is not partial; it is of a form that no other file can
 * give members to (*fit: it is none). */
bool script_check_partial(struct script *script, const struct csharp_class *class);
bool script_check_form(struct script *script, const struct csharp_class *class, bool *fit);
/* TUKI0142: names of units first … of class collide. */
bool script_check_members(struct script *script, const struct csharp_class *class, int first);
/* Names the generated files of all units. TUKI0142: two classes would write one. */
bool script_name_files(struct script *script);

#endif
