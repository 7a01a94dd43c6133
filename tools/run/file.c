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

static bool replace(const char *path, pg_str head, pg_str body)
{
    pg_strbuf name;
    pg_strbuf_init(&name, pg_alloc_default());
    FILE *out = open_beside(path, &name);
    bool is_good = out != NULL && put_all(out, head, body);
    int error = errno;
    if (out != NULL) {
        bool is_closed = fclose(out) == 0;
        error = is_good ? errno : error;
        is_good = is_good && is_closed;
        if (is_good && rename(name.ptr, path) != 0) {
            error = errno;
            is_good = false;
        }
        if (!is_good) {
            (void)unlink(name.ptr);
        }
    }
    pg_strbuf_fini(&name);
    errno = error;
    return is_good;
}

run_exit run_write_file(const run_msgs *m, const char *path, pg_str head, pg_str body)
{
    bool is_good;
    struct stat about;
    if (strcmp(path, "-") == 0) {
        is_good = put_all(stdout, head, body);
    } else if (stat(path, &about) == 0 && !S_ISREG(about.st_mode)) {
        FILE *out = fopen(path, "wb"); /* a device or pipe is written, never replaced */
        is_good = out != NULL && put_all(out, head, body);
        if (out != NULL) {
            is_good = fclose(out) == 0 && is_good;
        }
    } else {
        char *target = realpath(path, NULL); /* through links, so that a link stays one */
        is_good = replace(target == NULL ? path : target, head, body);
        int error = errno;
        free(target);
        errno = error;
    }
    if (!is_good) {
        return run_fail(m, RUN_TOOL, RUN_MSG_CANNOT_WRITE, path, strerror(errno));
    }
    return RUN_OK;
}
