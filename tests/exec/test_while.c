/* test_while.c: loops whose number of turns is not known before, in the interpreter and, lowered,
 * in the executor: no turn, one, a few and many; with one to eight warps. Each is a kernel of %a
 * (in), %o (inout), both of 4096 elements, and %n; %i, %pa, %a0 and %po are the first 256 indices,
 * pointers to %a, what is there, and pointers to %o. */
#include <stdio.h>
#include <string.h>

#include "both.h"

enum { N = 4096 };

typedef struct program {
    const char *name, *body;
} program;

static const program programs[] = {
#include "while.inc"
};

static both_result try_program(const program *p, uint32_t n, uint32_t warps, const char *passes)
{
    static int32_t in[N], out[N];
    for (int32_t i = 0; i < N; i++) {
        in[i] = (i * 37 + 11) % 257;
        out[i] = (i * 91 + 5) % 1009;
    }
    pg_strbuf text, why;
    pg_strbuf_init(&text, pg_alloc_default());
    pg_strbuf_init(&why, pg_alloc_default());
    pg_putf(&text,
            "ptir 1\nmodule sm_80\nkernel @t(%%a: ptr<i32> [in, align=16], %%o: ptr<i32> [inout, "
            "align=16], %%n: i32) [warps=%u] {\n"
            "  %%i = iota : tile<256xi32>\n"
            "  %%pa = addptr %%a, %%i : tile<256xptr<i32>>\n"
            "  %%po = addptr %%o, %%i : tile<256xptr<i32>>\n"
            "  %%a0 = load %%pa : tile<256xi32>\n%s  return\n}\n",
            warps, p->body);
    both_arg args[3] = {{.elem = PG_I32, .data = in, .n = N},
                        {.elem = PG_I32, .data = out, .n = N, .is_out = true},
                        {.elem = PG_I32, .bits = n}};
    both_case c = {
        .text = text.ptr, .passes = passes, .args = args, .n_args = 3, .grid = {1, 1, 1}};
    both_result result = both_run(&c, &why);
    if (result != BOTH_AGREE) {
        printf("%s, n = %u, %u warps, passes %s:\n%s\n", p->name, n, warps, passes,
               why.ptr != NULL ? why.ptr : "");
    }
    pg_strbuf_fini(&text);
    pg_strbuf_fini(&why);
    return result;
}

int main(void)
{
    static const uint32_t ns[] = {0, 1, 2, 5, 30}, warps[] = {1, 4, 8};
    static const char *const passes[] = {"layouts,order,pipeline,sync",
                                         "simplify,layouts,simplify,order,pipeline,sync,simplify"};
    uint32_t n[3] = {0};
    for (uint32_t p = 0; p < sizeof programs / sizeof programs[0]; p++) {
        for (uint32_t k = 0; k < 5; k++) {
            for (uint32_t w = 0; w < 3; w++) {
                n[try_program(&programs[p], ns[k], warps[w], passes[(k + w) % 2])]++;
            }
        }
    }
    printf("%u passed, %u failed, %u skipped\n", n[BOTH_AGREE], n[BOTH_DIFFER], n[BOTH_SKIPPED]);
    return n[BOTH_DIFFER] + n[BOTH_SKIPPED] == 0 ? 0 : 1;
}
