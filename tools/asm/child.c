/* child.c: the vendor's tools as child processes. */
#include "tools/asm/child.h"

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

/* ---- files and time ----------------------------------------------------------------------- */

char *child_read_file(const char *path, size_t *out_size)
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

double child_now_ms(void)
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

static char *find_in_path(const char *name)
{
    const char *path = getenv("PATH");
    while (path != NULL && *path != 0) {
        size_t n = strcspn(path, ":");
        size_t room = n + strlen(name) + 2;
        char *file = malloc(room);
        if (file == NULL) {
            return NULL;
        }
        (void)snprintf(file, room, "%.*s/%s", (int)n, path, name);
        if (n != 0 && is_program(file)) {
            return file;
        }
        free(file);
        path += path[n] == ':' ? n + 1 : n;
    }
    return NULL;
}

/* The line export VARIABLE='...' of the file that tools/deps wrote. */
static char *find_installed(const char *variable)
{
    size_t size = 0, n = strlen(variable);
    char *text = PTXASM_TOOLS_ENV[0] != 0 ? child_read_file(PTXASM_TOOLS_ENV, &size) : NULL;
    char *found = NULL;
    for (char *at = text; at != NULL && (at = strstr(at, variable)) != NULL; at += n) {
        if (strncmp(at + n, "='", 2) == 0) {
            char *path = at + n + 2;
            path[strcspn(path, "'\n")] = 0;
            found = is_program(path) ? strdup(path) : NULL;
            break;
        }
    }
    free(text);
    return found;
}

char *child_find(const char *path_or_null, const char *name, const char *variable)
{
    if (path_or_null != NULL) {
        return is_program(path_or_null) ? strdup(path_or_null) : NULL;
    }
    char *found = find_in_path(name);
    return found != NULL ? found : find_installed(variable);
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
    double end = child_now_ms() + timeout_ms;
    int state = 0;
    for (;;) {
        pid_t got = waitpid(pid, &state, timeout_ms != 0 ? WNOHANG : 0);
        if (got == pid || (got < 0 && errno != EINTR)) {
            *out_state = state;
            return true;
        }
        if (timeout_ms != 0 && child_now_ms() > end) {
            (void)kill(pid, SIGKILL);
            while (waitpid(pid, &state, 0) < 0 && errno == EINTR) {
            }
            return false;
        }
        struct timespec nap = {.tv_nsec = 1000000};
        (void)nanosleep(&nap, NULL);
    }
}

child_end child_run(const char *const *argv, const char *log, uint32_t timeout_ms, int *out_state)
{
    pid_t pid = 0;
    *out_state = 0;
    if (start(argv, log, &pid) != 0) {
        return CHILD_NOT_STARTED;
    }
    return wait_for(pid, timeout_ms, out_state) ? CHILD_ENDED : CHILD_TIMEOUT;
}
