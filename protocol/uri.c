#include "protocol/uri.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "protocol/buffer.h"

static bool is_letter(char c)
{
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static int hex_value(char c)
{
    if (is_digit(c))
        return c - '0';
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return -1;
}

/* Length of the scheme, colon excluded; 0 where there is none. */
static size_t scheme_length(const char *uri)
{
    size_t i = 0;

    if (!is_letter(uri[0]))
        return 0;
    while (is_letter(uri[i]) || is_digit(uri[i]) || uri[i] == '+' || uri[i] == '-' || uri[i] == '.')
        i++;
    return uri[i] == ':' ? i : 0;
}

bool uri_is_file(const char *uri)
{
    return scheme_length(uri) == 4 && strncasecmp(uri, "file", 4) == 0;
}

int uri_to_path(const char *uri, char **path)
{
    struct buffer out = BUFFER_EMPTY;
    const char *at, *end;
    int rc;

    *path = NULL;
    if (!uri_is_file(uri))
        return scheme_length(uri) ? -EPROTONOSUPPORT : -EINVAL;
    at = uri + 5;
    if (at[0] == '/' && at[1] == '/') {
        const char *host = at + 2;
        size_t length = strcspn(host, "/?#");

        if (length && (length != 9 || strncasecmp(host, "localhost", 9) != 0))
            return -EINVAL;
        at = host + length;
    }
    if (*at != '/')
        return -EINVAL;

    rc = -EINVAL;
    end = at + strcspn(at, "?#");
    while (at < end) {
        char c = *at++;

        if (c == '%') {
            int high = hex_value(at[0]);
            int low = high < 0 ? -1 : hex_value(at[1]);

            /* A path cannot hold a zero byte: cutting it off would name another file. */
            if (low < 0 || (high == 0 && low == 0))
                goto out;
            c = (char)(high * 16 + low);
            at += 2;
        }
        buffer_append_byte(&out, c);
    }
    *path = buffer_take(&out, NULL);
    rc = *path ? 0 : -ENOMEM;
out:
    buffer_release(&out);
    return rc;
}

int uri_from_path(const char *path, char **uri)
{
    static const char digits[] = "0123456789ABCDEF";
    struct buffer out = BUFFER_EMPTY;

    *uri = NULL;
    if (path[0] != '/')
        return -EINVAL;
    buffer_append_text(&out, "file://");
    for (; *path; path++) {
        unsigned char c = (unsigned char)*path;

        if (is_letter(*path) || is_digit(*path) || strchr("-._~/", *path)) {
            buffer_append_byte(&out, *path);
        } else {
            char escape[3] = {'%', digits[c >> 4], digits[c & 15]};
            buffer_append(&out, escape, 3);
        }
    }
    *uri = buffer_take(&out, NULL);
    return *uri ? 0 : -ENOMEM;
}

bool uri_equal(const char *a, const char *b)
{
    char *path_a = NULL, *path_b = NULL;
    bool equal = strcmp(a, b) == 0;

    if (!equal && uri_to_path(a, &path_a) == 0 && uri_to_path(b, &path_b) == 0)
        equal = strcmp(path_a, path_b) == 0;
    free(path_a);
    free(path_b);
    return equal;
}
