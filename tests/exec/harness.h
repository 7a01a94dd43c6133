/* harness.h: runs snippets and small modules on the executor. */
#ifndef TESTS_EXEC_HARNESS_H
#define TESTS_EXEC_HARNESS_H

#include <stdint.h>
#include <string.h>

#include "tools/exec/ptxexec.h"

/* One thread for each element: a[k], b[k], c[k] stand in %rd0..2 (64 bits), %r0..2, %f0..2, %h0..2
 * (low parts), %fd0..2 and %p0..2 (bit 0). The snippet's result is %r3 %rd3 %f3 %fd3 %h3 or %p3, as
 * `kind` says: r d f e h p. Fails the running test when the module does not load or a fault is
 * reported. */
void exec_eval_all(const char *snippet, char kind, uint32_t n, const uint64_t *abc[3],
                   uint64_t *out);
uint64_t exec_eval(const char *snippet, char kind, uint64_t a, uint64_t b, uint64_t c);

typedef struct exec_row {
    char kind;
    const char *snippet;
    uint64_t a, b, c, expected;
} exec_row;
void exec_check_rows(const exec_row *rows, size_t n);

/* A kernel `k` with the parameter .u64 out, which points to out_size bytes (poisoned) labelled
 * "out". */
typedef struct exec_job {
    const char *ptx;
    uint32_t grid, block, dynamic_shared, host_threads;
    uint64_t seed, max_steps;
    uint32_t out_size;
    /* results */
    ptxexec_status status;
    ptxexec_report *report; /* exec_job_end destroys it */
    uint8_t out[4096];
    uint64_t n_poison;
} exec_job;
void exec_job_run(exec_job *job);
void exec_job_end(exec_job *job);
ptxexec_fault exec_job_fault(const exec_job *job); /* the first; fails the test if there is none */

#define EXEC_HEAD(target) ".version 8.0\n.target " target "\n.address_size 64\n"
/* A body for exec_job: %rd1 is `out`; %r1 the thread's number in the CTA. */
#define EXEC_KERNEL(body)                                                                    \
    EXEC_HEAD("sm_90")                                                                       \
    ".visible .entry k(.param .u64 out)\n{\n"                                                \
    ".reg .pred %p<8>;\n.reg .b16 %h<8>;\n.reg .b32 %r<16>;\n.reg .b64 %rd<16>;\n.reg .f32 " \
    "%f<8>;\n"                                                                               \
    "ld.param.u64 %rd1, [out];\nmov.u32 %r1, %tid.x;\n" body "ret;\n}\n"

#endif
