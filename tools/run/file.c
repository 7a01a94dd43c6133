#include "tools/run/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MAX_INPUT = 1 << 30, BLOCK = 1 << 16, LONGEST_LINK = 4096 };

static run_exit read_stream(const run_msgs *m, pg_arena *a, FILE *in, const char *path, pg_str *out)
{
    pg_strbuf text;
    pg_strbuf_init(&text, pg_alloc_default());
    char block[BLOCK];
    size_t n;
    while ((n = fread(block, 1, sizeof block, in)) > 0 && text.len <= MAX_INPUT) {
        pg_put_str(&text, (pg_str){block, n});
    }
    run_exit status = RUN_OK;
    if (ferror(in) != 0) {
        status = run_fail(m, RUN_INPUT, RUN_MSG_CANNOT_READ, path, strerror(errno));
    } else if (text.len > MAX_INPUT) {
        status = run_fail(m, RUN_INPUT, RUN_MSG_TOO_LARGE, path);
    } else {
        *out = pg_arena_str(a, pg_strbuf_str(&text));
        if (text.is_oom || a->is_oom) {
            status = run_fail(m, RUN_TOOL, RUN_MSG_NO_MEMORY, path);
        }
    }
    pg_strbuf_fini(&text);
    return status;
}

run_exit run_read_file(const run_msgs *m, pg_arena *a, const char *path, pg_str *out)
{
    if (strcmp(path, "-") == 0) {
        return read_stream(m, a, stdin, "<stdin>", out);
    }
    struct stat about;
    if (stat(path, &about) != 0) {
        return run_fail(m, RUN_INPUT, RUN_MSG_CANNOT_READ, path, strerror(errno));
    }
    if (S_ISDIR(about.st_mode)) {
        return run_fail(m, RUN_INPUT, RUN_MSG_CANNOT_READ, path, "it is a folder");
    }
    FILE *in = fopen(path, "rb");
    if (in == NULL) {
        return run_fail(m, RUN_INPUT, RUN_MSG_CANNOT_READ, path, strerror(errno));
    }
    run_exit status = read_stream(m, a, in, path, out);
    (void)fclose(in);
    return status;
}

static bool put_all(FILE *out, pg_str head, pg_str body)
{
    bool is_good = fwrite(head.ptr, 1, head.len, out) == head.len &&
                   fwrite(body.ptr, 1, body.len, out) == body.len;
    return fflush(out) == 0 && is_good;
}

/* A new file beside `path`: same folder, so that renaming it is one step. */
static FILE *open_beside(const char *path, pg_strbuf *name)
{
    for (unsigned attempt = 0; attempt < 100; attempt++) {
        pg_strbuf_clear(name);
        pg_putf(name, "%s.tmp%ld.%u", path, (long)getpid(), attempt);
        int fd = name->is_oom ? -1 : open(name->ptr, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (fd >= 0) {
            FILE *out = fdopen(fd, "wb");
            if (out == NULL) {
                (void)close(fd);
                (void)unlink(name->ptr);
            }
            return out;
        }
        if (name->is_oom || errno != EEXIST) {
            break;
        }
    }
    return NULL;
}

typedef struct output { /* what becomes of one file */
    char *target;       /* where it goes, through links, so that a link stays one */
    pg_strbuf beside;   /* the whole file under another name; empty: none */
    bool is_special;    /* a device or pipe is written, never replaced; "-" */
    bool is_twice;      /* an earlier one goes there too */
} output;

static bool close_all(FILE *out, bool is_good)
{
    int error = errno;
    bool is_closed = fclose(out) == 0;
    errno = is_good ? errno : error;
    return is_good && is_closed;
}

static char *text_of(pg_strbuf *text)
{
    char *copy = text->is_oom ? NULL : strdup(pg_strbuf_str(text).ptr);
    if (text->is_oom) {
        errno = ENOMEM;
    }
    return copy;
}

/* The folder of a path, with the slash; "" where it names none. */
static pg_str folder_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return (pg_str){path, slash == NULL ? 0 : (size_t)(slash - path) + 1};
}

/* What a link that leads nowhere yet leads to; NULL if this is no link. */
static char *follow(const char *path)
{
    char to[LONGEST_LINK];
    ssize_t n = readlink(path, to, sizeof to);
    if (n < 0 || n == (ssize_t)sizeof to) {
        return NULL;
    }
    pg_strbuf text;
    pg_strbuf_init(&text, pg_alloc_default());
    pg_put_str(&text, n != 0 && to[0] == '/' ? PG_STR("") : folder_of(path));
    pg_put_str(&text, (pg_str){to, (size_t)n});
    char *copy = text_of(&text);
    pg_strbuf_fini(&text);
    return copy;
}

/* The one name of a file that need not be there yet, so that two can be compared; NULL and errno
 * where its folder is not there. */
static char *one_name(const char *path)
{
    enum { MOST_LINKS = 40 };
    if (path[0] == '\0') {
        errno = ENOENT;
        return NULL;
    }
    char *at = strdup(path);
    char *is_there = at == NULL ? NULL : realpath(at, NULL);
    for (int i = 0; at != NULL && is_there == NULL; i++) {
        char *next = follow(at);
        if (next == NULL) {
            break;
        }
        free(at);
        at = next;
        if (i == MOST_LINKS) {
            free(at);
            errno = ELOOP;
            return NULL;
        }
    }
    if (is_there != NULL || at == NULL) {
        free(at);
        return is_there;
    }
    pg_strbuf text;
    pg_strbuf_init(&text, pg_alloc_default());
    pg_str folder = folder_of(at);
    pg_put_str(&text, folder.len == 0 ? PG_STR(".") : folder);
    char *place = text.is_oom ? NULL : realpath(pg_strbuf_str(&text).ptr, NULL);
    const int error = errno;
    pg_strbuf_clear(&text);
    pg_putf(&text, "%s/%s", place == NULL ? "" : place, at + folder.len);
    char *name = place == NULL ? NULL : text_of(&text);
    pg_strbuf_fini(&text);
    free(place);
    free(at);
    errno = name == NULL ? error : errno;
    return name;
}

/* Writes all of it under another name, in the same folder. */
static bool prepare(const run_file *f, output *o)
{
    struct stat about;
    pg_strbuf_init(&o->beside, pg_alloc_default());
    const bool is_there = strcmp(f->path, "-") != 0 && stat(f->path, &about) == 0;
    o->is_special = strcmp(f->path, "-") == 0 || (is_there && !S_ISREG(about.st_mode));
    if (o->is_special) {
        return true;
    }
    if (is_there && access(f->path, W_OK) != 0) {
        return false; /* renaming would replace a file that must not be written */
    }
    o->target = one_name(f->path);
    FILE *out = o->target == NULL ? NULL : open_beside(o->target, &o->beside);
    if (out == NULL) {
        int error = errno;
        pg_strbuf_clear(&o->beside);
        errno = error;
        return false;
    }
    /* Who may read the file that is replaced may read this one, and no one else. */
    const bool is_good = !is_there || fchmod(fileno(out), about.st_mode & 07777) == 0;
    return close_all(out, put_all(out, f->head, f->body) && is_good);
}

static bool write_special(const run_file *f, const output *o)
{
    if (!o->is_special) {
        return true;
    }
    if (strcmp(f->path, "-") == 0) {
        return put_all(stdout, f->head, f->body);
    }
    FILE *out = fopen(f->path, "wb");
    return out != NULL && close_all(out, put_all(out, f->head, f->body));
}

static bool put_in_place(output *o)
{
    if (!o->is_special && rename(o->beside.ptr, o->target) != 0) {
        return false;
    }
    pg_strbuf_clear(&o->beside);
    return true;
}

/* Everything that can fail for want of space or rights comes before the first file is in place. */
static const run_file *write_all(const run_file *files, output *outputs, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (!prepare(&files[i], &outputs[i])) {
            return &files[i];
        }
    }
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j < i; j++) {
            if (!outputs[i].is_special && !outputs[j].is_special &&
                strcmp(outputs[i].target, outputs[j].target) == 0) {
                errno = EEXIST;
                outputs[i].is_twice = true;
                return &files[i];
            }
        }
    }
    for (size_t i = 0; i < n; i++) {
        if (!write_special(&files[i], &outputs[i])) {
            return &files[i];
        }
    }
    for (size_t i = 0; i < n; i++) {
        if (!put_in_place(&outputs[i])) {
            return &files[i];
        }
    }
    return NULL;
}

bool run_is_same_file(const char *a, const char *b)
{
    struct stat of_a, of_b;
    const bool are_files = strcmp(a, "-") != 0 && strcmp(b, "-") != 0 && stat(a, &of_a) == 0 &&
                           stat(b, &of_b) == 0 && S_ISREG(of_a.st_mode);
    return are_files && of_a.st_dev == of_b.st_dev && of_a.st_ino == of_b.st_ino;
}

run_exit run_write_files(const run_msgs *m, const run_file *files, size_t n)
{
    output *outputs = calloc(n == 0 ? 1 : n, sizeof *outputs);
    if (outputs == NULL) {
        return run_fail(m, RUN_TOOL, RUN_MSG_NO_MEMORY, NULL);
    }
    const run_file *failed = write_all(files, outputs, n);
    int error = errno;
    bool is_twice = failed != NULL && outputs[failed - files].is_twice;
    for (size_t i = 0; i < n; i++) {
        if (outputs[i].beside.len != 0) {
            (void)unlink(outputs[i].beside.ptr);
        }
        pg_strbuf_fini(&outputs[i].beside);
        free(outputs[i].target);
    }
    free(outputs);
    if (is_twice) {
        return run_fail(m, RUN_USAGE, RUN_MSG_USAGE_REPEATED, NULL, "the command", failed->path);
    }
    if (failed == NULL) {
        return RUN_OK;
    }
    const char *name = strcmp(failed->path, "-") == 0 ? "<stdout>" : failed->path;
    return run_fail(m, RUN_TOOL, RUN_MSG_CANNOT_WRITE, name, strerror(error));
}

run_exit run_write_file(const run_msgs *m, const char *path, pg_str head, pg_str body)
{
    const run_file file = {path, head, body};
    return run_write_files(m, &file, 1);
}
