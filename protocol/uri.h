#ifndef PROTOCOL_URI_H
#define PROTOCOL_URI_H

#include <stdbool.h>

/*
 * File URIs (RFC 8089, RFC 3986) and paths.
 *
 * Reading is tolerant where clients differ: `file:///a`, `file:/a`, `file://localhost/a`, schemes
 * and escapes in any case, characters escaped or not. Query and fragment are cut off. Nothing is
 * resolved:
 * `..`, links and doubled slashes are the reader's business.
 */

/* True for the scheme `file`, in any case. */
bool uri_is_file(const char *uri);

/*
 * The path of a file URI in *path, a new C string of any bytes but zero. 0; -EPROTONOSUPPORT:
 * another scheme (such documents are accepted and ignored); -EINVAL: no URI, a broken escape or an
 * escaped zero byte, a host other than localhost, no absolute path; -ENOMEM.
 */
int uri_to_path(const char *uri, char **path);

/* The URI of an absolute path in *uri, a new C string: `file://` and the path, in which all bytes
 * but letters, digits, `-._~/` are escaped with upper case digits (what VS Code writes too). 0,
 * -EINVAL for a path that is not absolute, -ENOMEM. */
int uri_from_path(const char *path, char **uri);

/* True where two URIs are the same bytes, or file URIs of the same path. */
bool uri_equal(const char *a, const char *b);

#endif
