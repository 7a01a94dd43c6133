/* ptxasm.c: finds ptxas, runs it on temporary files, collects what it left. Files rather than
 * pipes: no pipe can fill up, and a child that is killed leaves nothing half read. */
#include "tools/asm/ptxasm.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#ifndef PTXASM_TOOLS_ENV
#define PTXASM_TOOLS_ENV ""
#endif

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

/* Whole file, NUL-terminated; NULL if it cannot be read. */
static char *read_file(const char *path, size_t *out_size)
{
    FILE *f = fopen(path, "rb");
    if (f == NULL) {
        return NULL;
    }
    size_t n = 0;
    size_t room = 1 << 14;
    char *buffer = malloc(room);
    while (buffer != NULL) {
        n += fread(buffer + n, 1, room - n - 1, f);
        if (n + 1 < room) {
            break;
        }
        char *bigger = realloc(buffer, room *= 2);
        if (bigger == NULL) {
            free(buffer);
        }
        buffer = bigger;
    }
    if (buffer != NULL) {
        buffer[n] = 0;
        *out_size = n;
    }
    (void)fclose(f);
    return buffer;
}

static bool write_file(const char *path, const char *bytes, size_t size)
{
    FILE *f = fopen(path, "wb");
    if (f == NULL) {
        return false;
    }
    bool ok = fwrite(bytes, 1, size, f) == size;
    return fclose(f) == 0 && ok;
}

static double now_ms(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

/* ---- finding -------------------------------------------------------------------------------- */

static bool is_program(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISREG(st.st_mode) && access(path, X_OK) == 0;
}

static char *find_in_path(void)
{
    const char *path = getenv("PATH");
    while (path != NULL && *path != 0) {
        size_t n = strcspn(path, ":");
        size_t room = n + sizeof "/ptxas";
        char *file = malloc(room);
        if (file == NULL) {
            return NULL;
        }
        (void)snprintf(file, room, "%.*s/ptxas", (int)n, path);
        if (n != 0 && is_program(file)) {
            return file;
        }
        free(file);
        path += path[n] == ':' ? n + 1 : n;
    }
    return NULL;
}

/* The line export PTXGEN_PTXAS='...' of the file that tools/deps wrote. */
static char *find_installed(void)
{
    static const char key[] = "PTXGEN_PTXAS='";
    size_t size = 0;
    char *text = PTXASM_TOOLS_ENV[0] != 0 ? read_file(PTXASM_TOOLS_ENV, &size) : NULL;
    char *found = NULL;
    char *at = text != NULL ? strstr(text, key) : NULL;
    if (at != NULL) {
        at += sizeof key - 1;
        at[strcspn(at, "'\n")] = 0;
        found = is_program(at) ? strdup(at) : NULL;
    }
    free(text);
    return found;
}

char *ptxasm_find(const char *path_or_null)
{
    if (path_or_null != NULL) {
        return is_program(path_or_null) ? strdup(path_or_null) : NULL;
    }
    char *found = find_in_path();
    return found != NULL ? found : find_installed();
}

/* ---- running -------------------------------------------------------------------------------- */

/* Starts argv with stdout and stderr in the file `log`; 0 or errno. */
static int start(const char *const *argv, const char *log, pid_t *out_pid)
{
    extern char **environ; /* NOLINT(cppcoreguidelines-avoid-non-const-global-variables): POSIX's */
    posix_spawn_file_actions_t files;
    int rc = posix_spawn_file_actions_init(&files);
    if (rc != 0) {
        return rc;
    }
    rc = posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
    if (rc == 0) {
        rc = posix_spawn_file_actions_addopen(&files, 1, log, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    }
    if (rc == 0) {
        rc = posix_spawn_file_actions_adddup2(&files, 1, 2);
    }
    if (rc == 0) {
        char *const *args;
        memcpy(&args, &argv, sizeof args); /* posix_spawn does not write to them */
        rc = posix_spawn(out_pid, argv[0], &files, NULL, args, environ);
    }
    (void)posix_spawn_file_actions_destroy(&files);
    return rc;
}

/* Waits for the child; false when the time ran out, the child is then gone too. */
static bool wait_for(pid_t pid, uint32_t timeout_ms, int *out_state)
{
    double end = now_ms() + timeout_ms;
    int state = 0;
    for (;;) {
        pid_t got = waitpid(pid, &state, timeout_ms != 0 ? WNOHANG : 0);
        if (got == pid || (got < 0 && errno != EINTR)) {
            *out_state = state;
            return true;
        }
        if (timeout_ms != 0 && now_ms() > end) {
            (void)kill(pid, SIGKILL);
            while (waitpid(pid, &state, 0) < 0 && errno == EINTR) {
            }
            return false;
        }
        struct timespec nap = {.tv_nsec = 1000000};
        (void)nanosleep(&nap, NULL);
    }
}

char *ptxasm_version(const char *path)
{
    char log[] = "/tmp/ptxasm-XXXXXX";
    int fd = mkstemp(log);
    if (fd < 0) {
        return NULL;
    }
    (void)close(fd);
    const char *argv[] = {path, "--version", NULL};
    pid_t pid = 0;
    int state = 0;
    size_t size = 0;
    char *version = NULL;
    if (start(argv, log, &pid) == 0 && wait_for(pid, 10000, &state)) {
        char *text = read_file(log, &size);
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
    pid_t pid = 0;
    int state = 0;
    double begin = now_ms();
    if (start(argv, f->log, &pid) != 0) {
        return PTXASM_NO_TOOL;
    }
    bool ended = wait_for(pid, opt->timeout_ms, &state);
    out->wall_ms = now_ms() - begin;
    size_t size = 0;
    out->output = read_file(f->log, &size);
    if (!ended) {
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
        out->cubin = (unsigned char *)read_file(f->cubin, &out->cubin_size);
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
