#ifndef DAEMON_STAMP_H
#define DAEMON_STAMP_H
/*
 * The stamp: a small text from which the source generator sees that its answer may have changed.
 * Lines of fields with one tab between them:
 *
 *     onnxgpu-stamp  1
 *     socket         /run/user/1000/onnxgpud-1.sock
 *     model          PATH  HASH  INPUTS  OUTPUTS  COMPILER
 *
 * PATH is from the stamped folder, with slashes; HASH is 32 hexadecimal digits over the model's
 * bytes and its external data, zeros where it cannot be read; INPUTS and OUTPUTS are "float32[1,3,
 * 64,64]" without blanks, semicolons between, "?" for an unknown length, "-" where there are none;
 * COMPILER is the compiler's version. Models stand in the order of their paths' bytes. In fields, a
 * percent sign, tabs and line ends are escaped as in URIs (%25, %09, %0A, %0D).
 */
#include "daemon/compiler/context.h"
#include "daemon/compiler/strbuf.h"

void stamp_begin(struct strbuf *text, const char *socket);
/* Reads the model (blocking) in a job of its own. false: the system refused (why); nothing was
 * added then. Faults of the model are no failure: its line says what is known. */
bool stamp_model(struct strbuf *text, const char *file, const char *path, char *why, size_t size);

#endif
