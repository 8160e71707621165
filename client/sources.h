#ifndef CLIENT_SOURCES_H
#define CLIENT_SOURCES_H
/*
 * Operands that name scripts, models or folders, made into the list of what to look at.
 *
 * A folder stands for all *.cs and *.onnx in it and below; hidden entries and links to folders are
 * passed over, and so are folders that cannot be read. Within a folder the order is that of the
 * names' bytes, whatever the file system says. A file that several operands name comes once, under
 * the first name. Any named file that does not end in .cs counts as a model.
 */
#include "client/command.h"

struct source_file {
    const char *path; /* as given, or from the folder that was given */
    bool script;
    bool named; /* by an operand itself, not found in a folder */
    uint64_t device, inode;
};

struct sources {
    struct source_file *list;
    int count, room;
};

/* In the invocation's arena. Ends the program where an operand does not exist. */
void sources_collect(struct invocation *v, struct sources *sources);

/* The whole file, in arena; NULL with errno. */
char *source_text(struct arena *arena, const char *path, size_t *length);
/* "a/b" of "a/b/c.cs"; "" where there is no slash. */
const char *source_folder(struct arena *arena, const char *path);

#endif
