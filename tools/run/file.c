#include "tools/run/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MAX_INPUT = 1 << 30, BLOCK = 1 << 16 };

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
    char *target; /* where it goes, through links, so that a link stays one; NULL: no such file */
    pg_strbuf beside; /* the whole file under another name; empty: none */
    bool is_special;  /* a device or pipe is written, never replaced; "-" */
} output;

static bool close_all(FILE *out, bool is_good)
{
    int error = errno;
    bool is_closed = fclose(out) == 0;
    errno = is_good ? errno : error;
    return is_good && is_closed;
}

/* Writes all of it under another name, in the same folder. */
static bool prepare(const run_file *f, output *o)
{
    struct stat about;
    pg_strbuf_init(&o->beside, pg_alloc_default());
    o->is_special =
        strcmp(f->path, "-") == 0 || (stat(f->path, &about) == 0 && !S_ISREG(about.st_mode));
    if (o->is_special) {
        return true;
    }
    o->target = realpath(f->path, NULL);
    FILE *out = open_beside(o->target == NULL ? f->path : o->target, &o->beside);
    if (out == NULL) {
        int error = errno;
        pg_strbuf_clear(&o->beside);
        errno = error;
        return false;
    }
    return close_all(out, put_all(out, f->head, f->body));
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

static bool put_in_place(const run_file *f, output *o)
{
    if (!o->is_special && rename(o->beside.ptr, o->target == NULL ? f->path : o->target) != 0) {
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
        if (!write_special(&files[i], &outputs[i])) {
            return &files[i];
        }
    }
    for (size_t i = 0; i < n; i++) {
        if (!put_in_place(&files[i], &outputs[i])) {
            return &files[i];
        }
    }
    return NULL;
}

run_exit run_write_files(const run_msgs *m, const run_file *files, size_t n)
{
    output *outputs = calloc(n == 0 ? 1 : n, sizeof *outputs);
    if (outputs == NULL) {
        return run_fail(m, RUN_TOOL, RUN_MSG_NO_MEMORY, NULL);
    }
    const run_file *failed = write_all(files, outputs, n);
    int error = errno;
    for (size_t i = 0; i < n; i++) {
        if (outputs[i].beside.len != 0) {
            (void)unlink(outputs[i].beside.ptr);
        }
        pg_strbuf_fini(&outputs[i].beside);
        free(outputs[i].target);
    }
    free(outputs);
    return failed == NULL
               ? RUN_OK
               : run_fail(m, RUN_TOOL, RUN_MSG_CANNOT_WRITE, failed->path, strerror(error));
}

run_exit run_write_file(const run_msgs *m, const char *path, pg_str head, pg_str body)
{
    const run_file file = {path, head, body};
    return run_write_files(m, &file, 1);
}
