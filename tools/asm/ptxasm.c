/* ptxasm.c: finds ptxas, runs it on temporary files, collects what it left. Files rather than
 * pipes: no pipe can fill up, and a child that is killed leaves nothing half read. */
#include "tools/asm/ptxasm.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tools/asm/child.h"

enum { MAX_EXTRA = 64, PATH_ROOM = 4096 };

const char *ptxasm_status_text(ptxasm_status s)
{
    static const char *const texts[] = {
        "assembled",
        "ptxas found errors",
        "ptxas was not found or cannot be started",
        "ptxas took too long",
        "ptxas died or failed without a message",
        "temporary files could not be written or read",
        "memory ran out",
    };
    return (size_t)s < sizeof texts / sizeof texts[0] ? texts[s] : "unknown";
}

ptxasm_options ptxasm_options_default(const char *arch)
{
    return (ptxasm_options){.arch = arch, .opt_level = -1};
}

/* ---- files ---------------------------------------------------------------------------------- */

static bool write_file(const char *path, const char *bytes, size_t size)
{
    FILE *f = fopen(path, "wb");
    if (f == NULL) {
        return false;
    }
    bool ok = fwrite(bytes, 1, size, f) == size;
    return fclose(f) == 0 && ok;
}

/* ---- finding -------------------------------------------------------------------------------- */

char *ptxasm_find(const char *path_or_null)
{
    return child_find(path_or_null, "ptxas", "PTXGEN_PTXAS");
}

/* ---- running -------------------------------------------------------------------------------- */

char *ptxasm_version(const char *path)
{
    char log[] = "/tmp/ptxasm-XXXXXX";
    int fd = mkstemp(log);
    if (fd < 0) {
        return NULL;
    }
    (void)close(fd);
    const char *argv[] = {path, "--version", NULL};
    int state = 0;
    size_t size = 0;
    char *version = NULL;
    if (child_run(argv, log, 10000, &state) == CHILD_ENDED) {
        char *text = child_read_file(log, &size);
        char *at = text != NULL ? strstr(text, ", V") : NULL;
        version = at != NULL ? strndup(at + 3, strcspn(at + 3, "\n ,")) : NULL;
        free(text);
    }
    (void)unlink(log);
    return version;
}

typedef struct files {
    char dir[32];
    char ptx[64], cubin[64], log[64];
} files;

static bool make_files(files *f)
{
    (void)snprintf(f->dir, sizeof f->dir, "/tmp/ptxasm-XXXXXX");
    if (mkdtemp(f->dir) == NULL) {
        return false;
    }
    (void)snprintf(f->ptx, sizeof f->ptx, "%s/in.ptx", f->dir);
    (void)snprintf(f->cubin, sizeof f->cubin, "%s/out.cubin", f->dir);
    (void)snprintf(f->log, sizeof f->log, "%s/log", f->dir);
    return true;
}

static void remove_files(const files *f)
{
    (void)unlink(f->ptx);
    (void)unlink(f->cubin);
    (void)unlink(f->log);
    (void)rmdir(f->dir);
}

static void make_argv(const char **argv, const char *tool, const ptxasm_options *opt,
                      const files *f, char arch[64], char level[8])
{
    size_t n = 0;
    (void)snprintf(arch, 64, "--gpu-name=%s", opt->arch);
    argv[n++] = tool;
    argv[n++] = "-v";
    argv[n++] = arch;
    if (opt->opt_level >= 0 && opt->opt_level <= 9) {
        (void)snprintf(level, 8, "-O%d", opt->opt_level);
        argv[n++] = level;
    }
    for (size_t i = 0; i < opt->n_extra && i < MAX_EXTRA; i++) {
        argv[n++] = opt->extra[i];
    }
    argv[n++] = "-o";
    argv[n++] = opt->want_cubin ? f->cubin : "/dev/null";
    argv[n++] = f->ptx;
    argv[n] = NULL;
}

/* What the ended child says about the run. */
static ptxasm_status judge(const ptxasm_result *r, int state)
{
    if (!WIFEXITED(state)) {
        return PTXASM_CRASHED;
    }
    if (WEXITSTATUS(state) == 0) {
        return PTXASM_OK;
    }
    for (size_t i = 0; i < r->n_messages; i++) {
        if (r->messages[i].severity >= PTXASM_ERROR) {
            return PTXASM_REJECTED;
        }
    }
    return WEXITSTATUS(state) == 127 ? PTXASM_NO_TOOL : PTXASM_CRASHED;
}

static ptxasm_status run_in(const files *f, const char *tool, const ptxasm_options *opt,
                            ptxasm_result *out)
{
    const char *argv[MAX_EXTRA + 16];
    char arch[64];
    char level[8];
    make_argv(argv, tool, opt, f, arch, level);
    int state = 0;
    double begin = child_now_ms();
    child_end end = child_run(argv, f->log, opt->timeout_ms, &state);
    if (end == CHILD_NOT_STARTED) {
        return PTXASM_NO_TOOL;
    }
    out->wall_ms = child_now_ms() - begin;
    size_t size = 0;
    out->output = child_read_file(f->log, &size);
    if (end == CHILD_TIMEOUT) {
        return PTXASM_TIMEOUT;
    }
    if (out->output == NULL) {
        return PTXASM_IO;
    }
    if (!ptxasm_parse(out->output, out)) {
        return PTXASM_NO_MEMORY;
    }
    out->exit_code = WIFEXITED(state) ? WEXITSTATUS(state) : -1;
    ptxasm_status status = judge(out, state);
    if (status == PTXASM_OK && opt->want_cubin) {
        out->cubin = (unsigned char *)child_read_file(f->cubin, &out->cubin_size);
        return out->cubin != NULL ? PTXASM_OK : PTXASM_IO;
    }
    return status;
}

ptxasm_status ptxasm_run(const ptxasm_options *opt, const char *ptx, size_t size,
                         ptxasm_result *out)
{
    files f = {0};
    memset(out, 0, sizeof *out);
    char *tool = ptxasm_find(opt->path);
    if (tool == NULL) {
        out->status = PTXASM_NO_TOOL;
    } else if (!make_files(&f)) {
        out->status = PTXASM_IO;
    } else {
        out->status = write_file(f.ptx, ptx, size) ? run_in(&f, tool, opt, out) : PTXASM_IO;
        remove_files(&f);
    }
    free(tool);
    return out->status;
}

void ptxasm_result_free(ptxasm_result *r)
{
    if (r == NULL) {
        return;
    }
    for (size_t i = 0; i < r->n_messages; i++) {
        free(r->messages[i].text);
    }
    for (size_t i = 0; i < r->n_entries; i++) {
        free(r->entries[i].name);
    }
    free(r->messages);
    free(r->entries);
    free(r->cubin);
    free(r->output);
    memset(r, 0, sizeof *r);
}
