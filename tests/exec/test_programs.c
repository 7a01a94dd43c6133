/* test_programs.c: small tile programs in the interpreter and, lowered, in the executor. Each is a
 * kernel of the arguments %a (in), %o (out), both of 4096 elements, %n, and %n4, which is %n
 * rounded down to a multiple of 4. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ir/elem.h"

#include "both.h"

enum { N = 4096 };

typedef struct program {
    const char *name;
    pg_elem elem;
    uint32_t grid;
    int64_t n; /* argument */
    const char *body;
} program;

static const program programs[] = {
#include "programs.inc"
};

static void fill(pg_elem e, void *data)
{
    uint64_t s = 88172645463325252ULL;
    for (uint32_t i = 0; i < N; i++) {
        s ^= s << 13;
        s ^= s >> 7;
        s ^= s << 17;
        bool is_int = pg_elem_infos[e].cls == 'I';
        uint64_t x =
            is_int ? pg_elem_wrap(e, s >> (s & 31)) : pg_elem_of_f64(e, (double)(int64_t)s / 1e18);
        memcpy((char *)data + (size_t)i * both_size(e), &x, both_size(e));
    }
}

static both_result try_program(const program *p, const char *passes, bool is_loud)
{
    static uint64_t data[N];
    fill(p->elem, data);
    pg_strbuf text, why;
    pg_strbuf_init(&text, pg_alloc_default());
    pg_strbuf_init(&why, pg_alloc_default());
    const char *e = pg_elem_infos[p->elem].text;
    pg_putf(&text,
            "ptir 1\nmodule sm_90a\n"
            "enc #sw = smem [order=(1, 0), swizzle=128]\n"
            "enc #sw64 = smem [order=(1, 0), swizzle=64]\n"
            "enc #pad = smem [order=(1, 0), pad=8]\n"
            "kernel @t(%%a: ptr<%s> [in, align=16], %%o: ptr<%s> [out, align=16], %%n: i32, "
            "%%n4: i32 [div=4]) [warps=4] {\n%s  return\n}\n",
            e, e, p->body);
    both_arg args[4] = {{.elem = p->elem, .data = data, .n = N},
                        {.elem = p->elem, .n = N, .is_out = true},
                        {.elem = PG_I32, .bits = (uint64_t)p->n},
                        {.elem = PG_I32, .bits = (uint64_t)(p->n & ~3)}};
    both_case c = {.text = text.ptr,
                   .passes = passes,
                   .args = args,
                   .n_args = 4,
                   .grid = {p->grid, 1, 1},
                   .keep_ptx = is_loud};
    both_result result = both_run(&c, &why);
    if (result == BOTH_DIFFER) {
        printf("%s, passes %s:\n%s", p->name, passes, why.ptr != NULL ? why.ptr : "");
    } else if (result == BOTH_SKIPPED) {
        printf("skipped: %s, passes %s: %s", p->name, passes, why.ptr != NULL ? why.ptr : "\n");
    }
    pg_strbuf_fini(&text);
    pg_strbuf_fini(&why);
    return result;
}

int main(int argc, char **argv)
{
    uint32_t n[3] = {0};
    for (uint32_t i = 0; i < sizeof programs / sizeof programs[0]; i++) {
        if (argc > 1 && strcmp(argv[1], programs[i].name) != 0) {
            continue;
        }
        for (uint32_t k = 0; k < 2; k++) {
            n[try_program(&programs[i], k == 0 ? "layouts,sync" : "simplify,layouts,sync",
                          argc > 1)]++;
        }
    }
    printf("%u passed, %u failed, %u skipped\n", n[BOTH_AGREE], n[BOTH_DIFFER], n[BOTH_SKIPPED]);
    return n[BOTH_DIFFER] + n[BOTH_SKIPPED] == 0 ? 0 : 1;
}
