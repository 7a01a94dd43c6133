/* spec.h: the arguments of `ptxgen exec`, one text for each kernel parameter:
 *
 *     u32:7 s32:-1 ... f16:1.5 f32:1.5 f64:2.0 null     value
 *     bytes:FILE                                        by-value struct, raw bytes
 *     in:FILE.npy[:DTYPE]                               pointer to a copy of the array
 *     out:FILE.npy:DTYPE:DIMxDIM                        pointer to a poisoned array, written after
 *                                                       the run
 *     inout:IN.npy:OUT.npy[:DTYPE]                      both
 *     zero:BYTES                                        pointer to zeroed memory
 *     @N[+BYTES]                                        pointer into the array of argument N, from
 * 0 tmap:ARRAY:box=64x128[:...]                       tensor map of an array: @N[+BYTES], or as
 * in:, out:, inout: (tmap.h has the options) */
#ifndef PG_RUN_SPEC_H
#define PG_RUN_SPEC_H

#include "tools/run/device.h"

typedef struct run_specs {
    run_param *params;
    run_buffer *buffers;
    run_array *arrays;      /* of the buffers */
    const char **out_files; /* of the buffers; NULL: none */
    uint32_t n_params, n_buffers;
} run_specs;

run_exit run_specs_parse(const run_msgs *m, pg_arena *a, const char *const *texts, uint32_t n,
                         run_specs *out);
/* Writes the out: and inout: arrays of a finished launch. */
run_exit run_specs_write(const run_msgs *m, pg_arena *a, const run_specs *s);

#endif
