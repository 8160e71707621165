#ifndef DAEMON_SERVER_REPORT_H
#define DAEMON_SERVER_REPORT_H
/*
 * What there is to say about a file, as LSP diagnostics: at the arguments of a script, or at the
 * lines of a model's text view, each pointing to the other. Loop thread; reads the workspace.
 */
#include "daemon/server/workspace.h"
#include "protocol/json.h"
#include "protocol/lsp.h"

struct report_options {
    enum lsp_encoding encoding;
    bool related;
    uint64_t session; /* whose URIs of open documents are used; 0: none */
};

/* An array that is text already (to be printed, not read), in the order of positions. path is that
 * of a script or a model. */
struct json *report_file(const struct workspace *workspace, const char *path,
                         const struct report_options *options);
/* Of one unit, as its script shows them, the script's own problems with its class included. */
struct json *report_unit(const struct unit *unit, const struct report_options *options);
/* The URI that a session knows the file by; a new C string. */
char *report_uri(const struct workspace *workspace, const char *path, uint64_t session);

#endif
