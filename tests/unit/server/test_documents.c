#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/server/folder.h"

#include <errno.h>
#include <sys/stat.h>

#include "daemon/server/documents.h"

static struct document *open_document(struct documents *documents, uint64_t session,
                                      const char *uri, const char *text)
{
    int error;
    struct text *copy = text_new(text, strlen(text), &error);

    assert_non_null(copy);
    return documents_open(documents, session, uri, 1, copy);
}

static const char *uri(const char *name)
{
    static char text[2][256];
    static int next;

    next = !next;
    snprintf(text[next], sizeof text[next], "file://%s", in_folder(name));
    return text[next];
}

/* Every way to spell the URI of one file is one document. */
static void test_spellings(void **state)
{
    struct documents documents = {.list = NULL};
    struct document *document;
    char text[256];

    (void)state;
    write_file(in_folder("a b.cs"), "");
    document = open_document(&documents, 1, uri("a%20b.cs"), "x");
    assert_ptr_equal(documents_find(&documents, 1, uri("a%20b.cs")), document);
    assert_ptr_equal(documents_find(&documents, 1, uri("%61%20b.cs")), document);
    snprintf(text, sizeof text, "file://localhost%s", in_folder("a%20b.cs"));
    assert_ptr_equal(documents_find(&documents, 1, text), document);
    snprintf(text, sizeof text, "file://%s", in_folder("./sub/../a%20b.cs"));
    mkdir(in_folder("sub"), 0700);
    assert_ptr_equal(documents_find(&documents, 1, text), document);
    assert_null(documents_find(&documents, 2, uri("a%20b.cs")));
    assert_null(documents_find(&documents, 1, uri("other.cs")));
    assert_string_equal(document->uri, uri("a%20b.cs"));
    assert_string_equal(document->path, in_folder("a b.cs"));
    documents_release(&documents);
}

/* A link to its folder, and a hard link, lead to the same file. */
static void test_links(void **state)
{
    struct documents documents = {.list = NULL};
    struct document *document;

    (void)state;
    mkdir(in_folder("real"), 0700);
    write_file(in_folder("real/a.cs"), "");
    assert_int_equal(symlink("real", in_folder("link")), 0);
    assert_int_equal(link(in_folder("real/a.cs"), in_folder("hard.cs")), 0);
    document = open_document(&documents, 1, uri("link/a.cs"), "x");
    assert_string_equal(document->path, in_folder("real/a.cs"));
    assert_ptr_equal(documents_find(&documents, 1, uri("real/a.cs")), document);
    assert_ptr_equal(documents_find_path(&documents, 0, in_folder("hard.cs")), document);
    /* An atomic save puts another file there: the name is what stays. */
    write_file(in_folder("new"), "");
    assert_int_equal(rename(in_folder("new"), in_folder("real/a.cs")), 0);
    assert_ptr_equal(documents_find(&documents, 1, uri("link/a.cs")), document);
    document_saved(&documents, document);
    assert_null(documents_find_path(&documents, 0, in_folder("hard.cs")));
    documents_release(&documents);
}

/* Of two sessions, the one that changed it last has the truth. */
static void test_sessions(void **state)
{
    struct documents documents = {.list = NULL};
    struct document *first, *second;
    struct json *changes;
    static const char text[] = "[{\"text\":\"new\"}]";

    (void)state;
    first = open_document(&documents, 1, uri("a.cs"), "one");
    second = open_document(&documents, 2, uri("a.cs"), "two");
    assert_ptr_not_equal(first, second);
    assert_ptr_equal(documents_find_path(&documents, 0, in_folder("a.cs")), second);
    changes = json_parse(text, strlen(text), NULL);
    assert_int_equal(document_change(&documents, first, 5, changes, LSP_UTF16), 0);
    json_free(changes);
    assert_int_equal(first->version, 5);
    assert_string_equal(first->text->lsp.bytes.data, "new");
    assert_ptr_equal(documents_find_path(&documents, 0, in_folder("a.cs")), first);
    assert_ptr_equal(documents_find_path(&documents, 2, in_folder("a.cs")), second);
    text_drop(documents_close(&documents, first));
    assert_ptr_equal(documents_find_path(&documents, 0, in_folder("a.cs")), second);
    assert_null(documents_of(&documents, 1));
    assert_ptr_equal(documents_of(&documents, 2), second);
    documents_release(&documents);
}

static void test_what_is_no_change(void **state)
{
    struct documents documents = {.list = NULL};
    struct document *document = open_document(&documents, 1, uri("a.cs"), "one");
    static const char text[] = "[{\"range\":3,\"text\":\"new\"}]";
    struct json *changes = json_parse(text, strlen(text), NULL);

    (void)state;
    assert_int_equal(document_change(&documents, document, 2, changes, LSP_UTF16), -EINVAL);
    assert_int_equal(document->version, 1);
    assert_string_equal(document->text->lsp.bytes.data, "one");
    json_free(changes);
    /* Opened again: the newer text counts, and there is still one. */
    assert_ptr_equal(open_document(&documents, 1, uri("%61.cs"), "two"), document);
    assert_string_equal(document->uri, uri("%61.cs"));
    assert_int_equal(documents.count, 1);
    documents_release(&documents);
}

static void test_other_schemes(void **state)
{
    struct documents documents = {.list = NULL};
    struct document *document = open_document(&documents, 1, "untitled:Untitled-1", "x");

    (void)state;
    assert_null(document->path);
    assert_ptr_equal(documents_find(&documents, 1, "untitled:Untitled-1"), document);
    assert_null(documents_find(&documents, 1, "untitled:Untitled-2"));
    assert_null(documents_find_path(&documents, 0, "/Untitled-1"));
    text_drop(documents_close(&documents, document));
    assert_int_equal(documents.count, 0);
    documents_release(&documents);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_spellings, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(test_links, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(test_sessions, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(test_what_is_no_change, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(test_other_schemes, make_folder, remove_folder),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
