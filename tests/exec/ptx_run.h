/* ptx_run.h: runs one small PTX kernel `k(in, out)` on the executor and keeps what it found. */
#ifndef PG_TESTS_PTX_RUN_H
#define PG_TESTS_PTX_RUN_H

#include <stddef.h>
#include <stdint.h>

#include "tools/exec/ptxexec.h"

/* The body between the braces sees: %rd1 = in, %rd2 = out (generic and global), %r1 = %tid.x,
 * %r2 = %ctaid.x, and free registers %r3.. %rd3.. %f, %h (16 bits), %d (f64), %p1... `sm` is shared
 * memory at the multiple of 1024 where shared memory begins. Lines of the body start with LINE_1.
 */
enum { PTX_LINE_1 = 21 };
typedef struct ptx_case {
    const char *body;
    const char *directives; /* of the entry, on one line; NULL: none */
    uint32_t grid, block;   /* 0: 1, 32 */
    const void *in;
    size_t in_size;
    size_t out_size;
    uint64_t seed;
    ptxexec_races races;
    uint32_t has_stats;
    uint32_t has_trace;
    uint32_t shared;     /* bytes of `sm`; 0: 64 KiB */
    uint32_t has_poison; /* is_poison is wanted */
} ptx_case;

typedef struct ptx_result {
    ptxexec_status status; /* of the launch, or of loading */
    char message[512];     /* first fault or diagnostic */
    ptxexec_fault fault;   /* first; message is not valid */
    uint64_t n_poison;     /* bytes of out */
    uint8_t out[1 << 16];
    uint8_t is_poison[1 << 14]; /* by word of out */
    ptxexec_stats stats;
    size_t n_lines;
    ptxexec_line_stats lines[64];
    size_t n_events; /* of the trace; names are not valid */
    ptxexec_trace_event events[1024];
} ptx_result;

void ptx_run(const ptx_case *c, ptx_result *out);

#endif
