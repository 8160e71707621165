#ifndef COMPILER_LOAD_H
#define COMPILER_LOAD_H
/*
 * From a file to a graph in the internal form: scanned (scan.h), unpacked, wired, functions
 * inlined, operators looked up and upgraded, sorted. Shapes are not inferred yet (infer_graph()
 * does). Faults are diagnostics (TUKI0100 to 0107, 0110, 0111).
 */
#include "daemon/compiler/graph/graph.h"

/*
 * The files that a job reads, behind a table of functions so that the daemon, the tests and the
 * fuzzers can stand in for the file system. All calls on the job's thread.
 */
struct file_identity {
    uint64_t device, inode, size;
    int64_t modified_ns, changed_ns;
};
struct stat;
/* What stat() says, in these terms. */
void file_identity_of(const struct stat *status, struct file_identity *id);
bool file_identity_equal(const struct file_identity *a, const struct file_identity *b);
/* Now, by the clock that file systems stamp with: nanoseconds since 1970. */
int64_t file_clock_ns(void);

struct files;
struct file; /* an open regular file */
struct files_functions {
    /* Opens path for reading (regular files only, never blocking); NULL with *why (static or arena
     * text) else. */
    struct file *(*open)(struct files *f, struct arena *a, const char *path, const char **why);
    /* Reads at offset; the number of bytes read, short only at the end; -1 on error. */
    int64_t (*read)(struct file *f, uint64_t offset, void *bytes, size_t size);
    bool (*identity)(struct file *f, struct file_identity *id);
    void (*close)(struct file *f);
    /* Opens folder/location like open, but only where the file that this leads to, every link
     * followed, lies inside folder. NULL: there are no such files. */
    struct file *(*open_inside)(struct files *f, struct arena *a, const char *folder,
                                const char *location, const char **why);
};
struct files {
    const struct files_functions *functions;
};
/* The file system: open(2) without blocking, regular files only, pread(2). Links are followed,
 * except out of the folder that open_inside was given. May be used by several threads at a time. */
extern struct files files_system;
/* A file in memory, for fuzzers and tests: opening path gives these bytes, anything else is
 * missing. */
struct files_memory {
    struct files files;
    const char *path;
    const void *bytes;
    size_t size;
};
void files_memory_init(struct files_memory *m, const char *path, const void *bytes, size_t size);

/* A model that was loaded. Open files are closed by model_close() (call it also after the job was
 * left). */
struct model {
    const char *path;    /* as given */
    struct graph *graph; /* NULL where loading failed (diagnostics say why) */
    /* Of the model's bytes; where it names external data files, of that hash and of every such
     * file's location and whole content. */
    struct hash content;
    /* Paths of the external data files (folder/location), missing ones too. */
    const char **external;
    int external_count;
    struct files *files; /* where the files were opened; borrowed */
    /* Files that tensors still point into; malloc'ed so that they survive the arena. */
    struct file **open;
    int open_count, open_room;
};

/* Loads the model at path. Everything but open files lies in c's arena. */
void model_load(struct context *c, struct files *files, const char *path, struct model *m);
/* The same; in messages the file is called name. */
void model_load_as(struct context *c, struct files *files, const char *path, const char *name,
                   struct model *m);
void model_close(struct model *m);
/* Content hash alone (model and external data), without building a graph: for caches. false:
 * reported. */
bool model_hash(struct context *c, struct files *files, const char *path, struct hash *hash);

/* A .pb file that holds one TensorProto (test data), or a .npy file; NULL with a text in *why. */
struct tensor *tensor_load(struct context *c, const char *path, const char **why);
/* Writes t as a TensorProto named name. false with errno. */
bool tensor_save(struct context *c, const struct tensor *t, const char *name, const char *path);

#endif
