/* standin.h: a libcuda.so.1 for machines without a GPU. It holds the caller to the driver's rules,
 * writes each call into a log, can let any call fail, and runs kernels on the executor.
 *
 * It is steered by the environment:
 *   PTXGEN_STANDIN_LOG=FILE       appends one line for each call, MISUSE for a rule that was
 * broken, and at the end LEAK for what was not given back, then END PTXGEN_STANDIN_FAIL=N:CODE the
 * N-th call, from 1, does nothing and returns CODE PTXGEN_STANDIN_SM=90          compute capability
 *   PTXGEN_STANDIN_PTX=80         newest .version that it takes: 80 for 8.0
 *   PTXGEN_STANDIN_REFUSE=TEXT    its compiler refuses the first line that holds TEXT
 *   PTXGEN_STANDIN_SHARED=BYTES   what a CTA may have at most; 232448
 *   PTXGEN_STANDIN_DEVICES=0      no device; `none`: cuInit says so
 *   PTXGEN_STANDIN_RUN=0          kernels are launched, but not run: for PTX beyond the executor
 *
 * Built with STANDIN_OLD it lacks what drivers before 12.0 lack, with STANDIN_ANCIENT also what
 * those before 11.8 lack. */
#ifndef TESTS_GPU_STANDIN_H
#define TESTS_GPU_STANDIN_H

#include "tools/exec/ptxexec.h"
#include "tools/run/cuda_api.h"

enum { MAX_FUNCTIONS = 16, MAX_PARAMS = 64, MAX_BLOCKS = 256 };

typedef struct CUfunc_st {
    struct CUmod_st *module;
    char name[128];
    uint32_t n_params;
    size_t offset[MAX_PARAMS], size[MAX_PARAMS];
    uint32_t max_dynamic; /* shared memory, bytes */
    int may_be_wide;      /* clusters of more than 8 CTAs */
} CUfunc_st;

typedef struct CUmod_st {
    ptxexec_module *code; /* NULL: not to be run */
    char *text;
    uint32_t n_functions;
    CUfunc_st functions[MAX_FUNCTIONS];
} CUmod_st;

typedef struct state {
    unsigned long n_calls;
    int is_up;      /* cuInit */
    int n_retained; /* of the primary context */
    struct CUctx_st *current;
    ptxexec_device *memory;
    struct {
        uint64_t address, size;
    } blocks[MAX_BLOCKS];
    uint32_t n_blocks;
    CUmod_st *module;
    unsigned sticky; /* what a kernel did wrong: the context is lost */
} state;

extern state standin;

/* log.c part: one line of the log. */
void standin_log(const char *format, ...) __attribute__((format(printf, 1, 2)));
void standin_misuse(const char *format, ...) __attribute__((format(printf, 1, 2)));
long standin_number(const char *name, long otherwise);

/* standin_ptx.c: the parameters of an entry, read out of the text by a reader of its own. False:
 * there is no such entry. */
int standin_find_entry(const char *text, const char *name, CUfunc_st *out);
/* 80 for ".version 8.0"; 0 without one. */
long standin_version_of(const char *text);

#endif
