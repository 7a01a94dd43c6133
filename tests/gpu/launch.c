/* launch.c: PTX that no IR makes yet, through the launcher: launch CLUSTER [SHARED [OFFSET [cpu]]].
 * Each CTA of clusters of CLUSTER writes a word, from OFFSET bytes behind the array's start on,
 * which was promised to be a multiple of 16; exits as the launcher says, and prints the words. */
#include <stdio.h>
#include <stdlib.h>

#include "tools/run/device.h"

static const char text[] =
    ".version 7.8\n.target sm_90\n.address_size 64\n"
    ".visible .entry other()\n{\n\tret;\n}\n"
    ".visible .entry k(\n\t.param .u16 a,\n\t.param .align 8 .b8 pad[8],\n\t.param .u64 out)\n{\n"
    "\t.reg .b32 %r<3>;\n\t.reg .b16 %h<2>;\n\t.reg .b64 %rd<4>;\n"
    "\tld.param.u16 %h1, [a];\n\tld.param.u64 %rd1, [out];\n\tmov.u32 %r1, %ctaid.x;\n"
    "\tmul.wide.u32 %rd2, %r1, 4;\n\tadd.u64 %rd3, %rd1, %rd2;\n\tcvt.u32.u16 %r2, %h1;\n"
    "\tadd.u32 %r2, %r2, %r1;\n\tst.global.u32 [%rd3], %r2;\n\tret;\n}\n";

enum { N_CTAS = 32 };

int main(int argc, char **argv)
{
    const uint32_t cluster = argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 10) : 1;
    const uint64_t offset = argc > 3 ? strtoul(argv[3], NULL, 10) : 0;
    const uint16_t a = 100;
    const uint64_t pad = 0;
    const run_msgs msgs = {.to = stderr};
    const run_param params[] = {
        {.spec = "a", .buffer = -1, .bytes = &a, .n_bytes = sizeof a},
        {.spec = "pad", .buffer = -1, .bytes = &pad, .n_bytes = sizeof pad},
        {.spec = "out", .buffer = 0, .offset = offset, .align = 16},
    };
    const run_step steps[] = {
        {.entry = "other", .grid = {1, 1, 1}, .block = {1, 1, 1}, .cluster = {1, 1, 1}},
        {.entry = "k",
         .grid = {N_CTAS, 1, 1},
         .block = {1, 1, 1},
         .cluster = {cluster, 1, 1},
         .smem = argc > 2 ? (uint32_t)strtoul(argv[2], NULL, 10) : 0,
         .params = params,
         .n_params = PG_COUNT_OF(params)},
    };
    run_buffer buffers[] = {
        {.label = "out",
         .n_bytes = N_CTAS * sizeof(uint32_t) + offset,
         .is_output = true,
         .type = RUN_D_U32},
        {.label = "empty", .n_bytes = 0, .is_output = true, .type = RUN_D_U32},
    };
    run_launch l = {.file = "text",
                    .ptx = {text, sizeof text - 1},
                    .device = argc > 4 ? RUN_ON_CPU : RUN_ON_CUDA,
                    .steps = steps,
                    .n_steps = PG_COUNT_OF(steps),
                    .buffers = buffers,
                    .n_buffers = PG_COUNT_OF(buffers)};
    pg_arena arena;
    pg_arena_init(&arena, pg_alloc_default());
    run_exit status = run_launch_all(&msgs, &arena, &l);
    for (int i = 0; status == RUN_OK && i < N_CTAS; i++) {
        printf("%g ", run_elem_get(RUN_D_U32, buffers[0].result + offset + (size_t)i * 4));
    }
    pg_arena_fini(&arena);
    return (int)status;
}
