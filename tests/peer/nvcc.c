/* nvcc.c: see nvcc.h.
 *
 * A text is found by the bytes that it was made from (its source, the headers and tables of the
 * folder and of the one above), not by times: several checkouts may share one folder of texts. */
#include "tests/peer/nvcc.h"

#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { N_RUNNING = 2, PATH_SIZE = 4096 };

bool nvcc_is_there(const char *nvcc)
{
    if (strchr(nvcc, '/') != NULL) {
        return access(nvcc, X_OK) == 0;
    }
    char paths[8192];
    const char *path = getenv("PATH");
    if (path == NULL || strlen(path) >= sizeof paths) {
        return false;
    }
    strcpy(paths, path);
    char *rest = NULL;
    for (char *dir = strtok_r(paths, ":", &rest); dir != NULL; dir = strtok_r(NULL, ":", &rest)) {
        char file[PATH_SIZE];
        (void)snprintf(file, sizeof file, "%s/%s", dir, nvcc);
        if (access(file, X_OK) == 0) {
            return true;
        }
    }
    return false;
}

/* ---- names of texts ------------------------------------------------------------------------ */

static uint64_t hash_file(const char *path)
{
    uint64_t h = 14695981039346656037u;
    FILE *f = fopen(path, "rb");
    for (int c = f != NULL ? getc(f) : EOF; c != EOF; c = getc(f)) {
        h = (h ^ (uint64_t)c) * 1099511628211u;
    }
    if (f != NULL) {
        (void)fclose(f);
    }
    return h;
}

/* Whatever a program may include. The sum does not depend on the order in which a folder lists its
 * files. */
static uint64_t hash_headers(const char *source_dir)
{
    uint64_t sum = 0;
    for (int k = 0; k < 2; k++) {
        char path[PATH_SIZE];
        (void)snprintf(path, sizeof path, "%s%s", source_dir, k == 0 ? "" : "/..");
        DIR *dir = opendir(path);
        for (struct dirent *e = dir != NULL ? readdir(dir) : NULL; e != NULL; e = readdir(dir)) {
            const char *dot = strrchr(e->d_name, '.');
            if (dot != NULL &&
                (strcmp(dot, ".h") == 0 || strcmp(dot, ".cuh") == 0 || strcmp(dot, ".def") == 0)) {
                char file[PATH_SIZE + 512];
                (void)snprintf(file, sizeof file, "%s/%s", path, e->d_name);
                sum += hash_file(file);
            }
        }
        if (dir != NULL) {
            (void)closedir(dir);
        }
    }
    return sum;
}

/* ---- compiling ------------------------------------------------------------------------------- */

static pid_t start_nvcc(const char *nvcc, const char *arch, const char *source_dir,
                        const char *source, const char *out)
{
    pid_t child = fork();
    if (child == 0) {
        char option[32];
        char include[PATH_SIZE + 16];
        (void)snprintf(option, sizeof option, "-arch=%s", arch);
        (void)snprintf(include, sizeof include, "-I%s/..", source_dir);
        execlp(nvcc, nvcc, "-ptx", option, "-O3", "-fmad=false", "-w", include, "-o", out, source,
               (char *)NULL);
        _exit(127);
    }
    return child;
}

typedef struct compile {
    pid_t child; /* 0: none */
    char out[PATH_SIZE];
    char part[PATH_SIZE + 32]; /* what nvcc writes; it gets its name when it is whole */
} compile;

/* Waits for one of the compiles, and keeps what it made if nvcc was content. */
static void finish_one(compile *running)
{
    int status = 0;
    pid_t child = wait(&status);
    for (int i = 0; i < N_RUNNING; i++) {
        compile *c = &running[i];
        if (c->child == child || child < 0) {
            if (child > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0) {
                (void)rename(c->part, c->out);
            }
            c->child = 0;
        }
    }
}

static compile *free_slot(compile *running)
{
    for (;;) {
        for (int i = 0; i < N_RUNNING; i++) {
            if (running[i].child == 0) {
                return &running[i];
            }
        }
        finish_one(running);
    }
}

void nvcc_compile(const char *nvcc, const char *source_dir, const char *cache_dir, nvcc_job *jobs,
                  size_t n_jobs)
{
    static compile running[N_RUNNING];
    uint64_t headers = hash_headers(source_dir);
    for (size_t k = 0; k < n_jobs; k++) {
        nvcc_job *job = &jobs[k];
        char source[PATH_SIZE];
        (void)snprintf(source, sizeof source, "%s/%s.cu", source_dir, job->name);
        (void)snprintf(job->ptx, sizeof job->ptx, "%s/%s.%s.%016llx.ptx", cache_dir, job->name,
                       job->arch, (unsigned long long)(hash_file(source) + headers));
        bool is_same =
            k > 0 && strcmp(jobs[k - 1].ptx, job->ptx) == 0; /* several entries of one file */
        if (is_same || access(job->ptx, R_OK) == 0) {
            continue;
        }
        compile *c = free_slot(running);
        (void)snprintf(c->out, sizeof c->out, "%s", job->ptx);
        (void)snprintf(c->part, sizeof c->part, "%s.%ld", c->out, (long)getpid());
        pid_t child = start_nvcc(nvcc, job->arch, source_dir, source, c->part);
        c->child = child > 0 ? child : 0;
    }
    for (int i = 0; i < N_RUNNING; i++) {
        while (running[i].child != 0) {
            finish_one(running);
        }
    }
}
