/* test_banks.c: passes over the banks of shared memory, counted twice: from the layouts of the IR
 * by the algebra (ir/layout_access.h, ir/convert.h), and from the addresses that the emitted PTX
 * computes, in the executor. Kernels of the library have no conflicts; layouts that have them show
 * that both counts see them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "emit/lower.h"
#include "ir/convert.h"
#include "ir/parse.h"
#include "ir/verify.h"
#include "kernels/kernels.h"
#include "sched/pass.h"
#include "tools/exec/ptxexec.h"

#include "ptxgen_build.h"

enum { MAX_PAIRS = 8, ARRAY_BYTES = 1 << 19 };

typedef struct bank_case {
    const char *kernel;         /* of the library, or NULL */
    const char *text;           /* else: a program */
    const char *set[MAX_PAIRS]; /* "name=value" */
    const char *arg[MAX_PAIRS]; /* "name=value" of scalars */
    const char *arch;
    bool runs_once;     /* no loop with shared accesses runs twice: the counts must be equal */
    bool has_conflicts; /* a control */
    bool may_be_silent; /* nothing may be exchanged at all */
} bank_case;

typedef struct tally {
    uint64_t wavefronts, extra;
} tally;

typedef struct subject {
    const bank_case *c;
    pg_ctx ctx;
    pg_arena arena;
    pg_diags diags;
    pg_module *m;
    pg_strbuf ptx;
} subject;

static uint32_t n_pass, n_fail;

static bool complain(const subject *s, const char *what)
{
    printf("%s", s->c->kernel != NULL ? s->c->kernel : "program");
    for (uint32_t i = 0; i < MAX_PAIRS && s->c->set[i] != NULL; i++) {
        printf(" %s", s->c->set[i]);
    }
    printf(": %s\n", what);
    for (uint32_t i = 0; i < s->diags.n && i < 3; i++) {
        printf("  %s\n", s->diags.at[i].message.ptr);
    }
    return false;
}

/* ---- the program ----------------------------------------------------------------------------- */

static ptxgen_str str(const char *t, size_t n)
{
    return (ptxgen_str){t, n};
}

/* The kernel's tile IR as text; false if it cannot be built. */
static bool print_kernel(const bank_case *c, pg_strbuf *out)
{
    ptxgen_ctx *ctx = NULL;
    ptxgen_module *m = NULL;
    ptxgen_result *ir = NULL;
    ptxgen_setting set[MAX_PAIRS];
    size_t n = 0;
    for (; n < MAX_PAIRS && c->set[n] != NULL; n++) {
        const char *is = strchr(c->set[n], '=');
        set[n].name = str(c->set[n], (size_t)(is - c->set[n]));
        set[n].value = str(is + 1, strlen(is + 1));
    }
    bool is_good =
        ptxgen_ctx_create(NULL, &ctx) == PTXGEN_OK &&
        ptxgen_kernel_build(ctx, str(c->kernel, strlen(c->kernel)), str(c->arch, strlen(c->arch)),
                            set, n, &m, NULL) == PTXGEN_OK &&
        ptxgen_module_print(m, &ir) == PTXGEN_OK;
    if (is_good) {
        pg_put_str(out, (pg_str){ptxgen_result_ir(ir).ptr, ptxgen_result_ir(ir).len});
    }
    ptxgen_result_destroy(ir);
    ptxgen_module_destroy(m);
    ptxgen_ctx_destroy(ctx);
    return is_good;
}

static bool compile(subject *s)
{
    pg_strbuf text;
    pg_strbuf_init(&text, pg_alloc_default());
    pg_ptx_module *ptx = NULL;
    pg_pass_options opt = {.pass_limit = UINT32_MAX};
    bool stopped = false;
    bool is_good = true;
    if (s->c->kernel != NULL) {
        is_good = print_kernel(s->c, &text);
    } else {
        pg_put(&text, s->c->text);
    }
    is_good = is_good && pg_parse(&s->ctx, pg_strbuf_str(&text), &s->diags, &s->m) == PG_OK &&
              pg_verify(s->m, 0) == PG_OK &&
              pg_passes_run(s->m, &opt, &s->arena, &s->m, NULL, NULL, &stopped) == PG_OK &&
              pg_lower(s->m, NULL, &s->arena, &s->diags, &ptx) == PG_OK;
    if (is_good) {
        pg_ptx_write(&s->ptx, ptx);
    }
    pg_strbuf_fini(&text);
    return is_good || complain(s, "does not compile");
}

/* ---- by the algebra -------------------------------------------------------------------------- */

static uint32_t bits_of(const pg_type_info *t)
{
    const uint32_t bits = t->is_ptr ? 64 : pg_elem_infos[t->elem].bits;
    return bits < 8 ? 8 : bits;
}

/* One execution of an access by all its warps. */
static bool count_one(const subject *s, const pg_kernel *k, const pg_inst *i, tally *out)
{
    pg_layout regs, mem;
    pg_bank_use use;
    const pg_types *types = s->ctx.types;
    const bool is_load = i->op == PG_OP_BUF_LOAD, is_get = i->op == PG_OP_ASYNC_GET;
    const pg_val tile = is_load ? i->out[0] : i->in[is_get ? 0 : 1];
    const pg_val buf = i->in[is_get ? 1 : 0];
    const uint32_t bits = bits_of(pg_val_info(k, buf)), n_warps = pg_inst_warps(i);
    if (pg_layout_of_tile(types, pg_val_type(k, tile), n_warps, &regs) != PG_LAYOUT_OK ||
        pg_layout_of_buf(types, pg_val_type(k, buf), &mem) != PG_LAYOUT_OK) {
        return false;
    }
    if (is_get) {
        pg_bank_access access;
        if (pg_layout_common_access(&regs, &mem, bits, 16, &access) != PG_LAYOUT_OK ||
            pg_layout_banks(&regs, &mem, bits, &access, &use) != PG_LAYOUT_OK) {
            return false;
        }
    } else {
        pg_bank_move move;
        if (pg_bank_move_choose(&regs, &mem, bits, !is_load, pg_convert_flags(s->m->sm), &move) !=
            PG_LAYOUT_OK) {
            return false;
        }
        use = move.banks;
    }
    /* Of warps that hold the same, one stores. */
    const uint32_t n_same = is_load ? 0 : pg_popcount(pg_layout_free_bits(&regs, PG_LIN_WARP));
    out->wavefronts += (uint64_t)use.n_wavefronts * (n_warps >> n_same);
    out->extra += (uint64_t)(use.n_wavefronts - use.n_phases) * (n_warps >> n_same);
    return true;
}

static bool count_all(const subject *s, tally *out)
{
    const pg_kernel *k = s->m->kernels;
    *out = (tally){0, 0};
    for (const pg_inst *i = k->body->first; i != NULL; i = pg_inst_walk(i, k->body)) {
        if ((i->op == PG_OP_BUF_LOAD || i->op == PG_OP_BUF_STORE || i->op == PG_OP_ASYNC_GET) &&
            !count_one(s, k, i, out)) {
            return complain(s, "the algebra has no count");
        }
    }
    return true;
}

/* ---- by the executor ------------------------------------------------------------------------- */

static uint64_t scalar_of(const bank_case *c, const char *name)
{
    for (uint32_t i = 0; i < MAX_PAIRS && c->arg[i] != NULL; i++) {
        const size_t n = strlen(name);
        if (strncmp(c->arg[i], name, n) == 0 && c->arg[i][n] == '=') {
            return strtoull(c->arg[i] + n + 1, NULL, 10);
        }
    }
    return 0;
}

static bool launch(const subject *s, ptxexec_module *m, ptxexec_device *d, tally *out)
{
    static uint8_t zeros[ARRAY_BYTES];
    uint8_t params[512] = {0};
    const pg_kernel *k = s->m->kernels;
    ptxexec_entry e;
    if (ptxexec_module_entry(m, 0, &e) != PTXEXEC_OK || e.param_size > sizeof params) {
        return complain(s, "no entry");
    }
    for (uint32_t i = 0; i < k->n_params; i++) {
        ptxexec_param p;
        uint64_t value = 0;
        if (ptxexec_module_param(m, 0, i, &p) != PTXEXEC_OK) {
            return complain(s, "no parameter");
        }
        if (pg_val_info(k, k->params[i].val)->is_ptr) {
            if (ptxexec_device_alloc(d, ARRAY_BYTES, PTXEXEC_FILL_POISON, p.name, &value) !=
                    PTXEXEC_OK ||
                ptxexec_device_write(d, value, zeros, ARRAY_BYTES) != PTXEXEC_OK) {
                return complain(s, "no device memory");
            }
        } else {
            value = scalar_of(s->c, p.name);
        }
        memcpy(params + p.offset, &value, p.size);
    }
    const ptxexec_launch_options o = {.struct_size = sizeof o,
                                      .grid = {1, 1, 1},
                                      .block = {e.reqntid[0], 1, 1},
                                      .dynamic_shared = 160 * 1024,
                                      .params = params,
                                      .params_size = e.param_size,
                                      .races = PTXEXEC_RACES_ISA,
                                      .collect_stats = 1,
                                      .seed = 1};
    ptxexec_report *r = NULL;
    const ptxexec_status status = ptxexec_launch(d, m, &o, &r);
    const ptxexec_stats stats = ptxexec_report_stats(r);
    *out = (tally){stats.n_shared_wavefronts, stats.n_shared_extra};
    if (status != PTXEXEC_OK && ptxexec_report_fault_count(r) != 0) {
        printf("  %s\n", ptxexec_report_fault(r, 0).message);
    }
    ptxexec_report_destroy(r);
    return status == PTXEXEC_OK || complain(s, "the launch fails");
}

static bool execute(const subject *s, tally *out)
{
    ptxexec_module *m = NULL;
    ptxexec_device *d = NULL;
    bool is_good = ptxexec_module_load(NULL, s->ptx.ptr, s->ptx.len, &m) == PTXEXEC_OK &&
                   ptxexec_device_create(NULL, &d) == PTXEXEC_OK;
    is_good = is_good ? launch(s, m, d, out) : complain(s, "the executor refuses it");
    ptxexec_device_destroy(d);
    ptxexec_module_destroy(m);
    return is_good;
}

/* ---- both ------------------------------------------------------------------------------------ */

static bool agree(const subject *s, const tally *algebra, const tally *run)
{
    char text[160];
    const bank_case *c = s->c;
    bool is_good = (algebra->extra != 0) == c->has_conflicts &&
                   (run->extra != 0) == c->has_conflicts &&
                   (c->may_be_silent || (algebra->wavefronts != 0 && run->wavefronts != 0));
    if (c->runs_once) {
        is_good = is_good && algebra->wavefronts == run->wavefronts && algebra->extra == run->extra;
    }
    (void)snprintf(text, sizeof text,
                   "algebra %llu wavefronts, %llu by conflicts; executor %llu, %llu",
                   (unsigned long long)algebra->wavefronts, (unsigned long long)algebra->extra,
                   (unsigned long long)run->wavefronts, (unsigned long long)run->extra);
    return is_good || complain(s, text);
}

static void run_case(const bank_case *c)
{
    subject s = {.c = c};
    tally algebra = {0, 0}, run = {0, 0};
    if (pg_ctx_init(&s.ctx, pg_alloc_default()) != PG_OK) {
        exit(2);
    }
    pg_arena_init(&s.arena, s.ctx.alloc);
    pg_diags_init(&s.diags, &s.arena, s.ctx.alloc);
    pg_strbuf_init(&s.ptx, s.ctx.alloc);
    const bool is_good =
        compile(&s) && count_all(&s, &algebra) && execute(&s, &run) && agree(&s, &algebra, &run);
    n_pass += is_good;
    n_fail += !is_good;
    pg_module_destroy(s.m);
    pg_strbuf_fini(&s.ptx);
    pg_arena_fini(&s.arena);
    pg_ctx_fini(&s.ctx);
}

/* ---- cases ----------------------------------------------------------------------------------- */

static void run_gemm(void)
{
    static const char *const dtypes[] = {"dtype=f16", "dtype=bf16", "dtype=f32"};
    static const char *const tiles[][4] = {{"tile_m=64", "tile_n=64", "tile_k=32", "warps=4"},
                                           {"tile_m=128", "tile_n=64", "tile_k=32", "warps=4"},
                                           {"tile_m=64", "tile_n=128", "tile_k=64", "warps=8"},
                                           {"tile_m=32", "tile_n=32", "tile_k=16", "warps=1"}};
    static const char *const depths[] = {"k=16", "k=32", "k=64"};
    for (uint32_t i = 0; i < 3 * 4 * 4 * 2 * 2; i++) {
        const uint32_t t = i / 3 % 4, order = i / 12 % 4;
        const bool is_long = i / 48 % 2 != 0;
        bank_case c = {.kernel = "gemm",
                       .arch = i / 96 != 0 ? "sm_90" : "sm_80",
                       .set = {"align=8", dtypes[i % 3], tiles[t][0], tiles[t][1], tiles[t][2],
                               tiles[t][3], order % 2 != 0 ? "a=col" : "b=row",
                               order / 2 != 0 ? "b=col" : "stages=1"},
                       .arg = {"m=32", "n=32",
                               is_long ? "k=256"
                                       : depths[t == 3   ? 0
                                                : t == 2 ? 2
                                                         : 1]},
                       .runs_once = !is_long,
                       .may_be_silent = t == 3}; /* one warp may shuffle */
        run_case(&c);
    }
}

static void run_transpose(void)
{
    static const char *const dtypes[] = {"dtype=f16", "dtype=bf16", "dtype=f32", "dtype=f64",
                                         "dtype=i8",  "dtype=i16",  "dtype=i32", "dtype=i64"};
    static const char *const tiles[][2] = {
        {"tile_m=64", "tile_n=64"}, {"tile_m=32", "tile_n=128"}, {"tile_m=128", "tile_n=32"}};
    static const char *const divs[] = {"div=1", "div=2", "div=8", "div=16"};
    static const char *const warps[] = {"warps=4", "warps=8"};
    for (uint32_t i = 0; i < 8 * 3 * 4 * 2; i++) {
        bank_case c = {.kernel = "transpose",
                       .arch = i % 2 != 0 ? "sm_90" : "sm_80",
                       .set = {dtypes[i % 8], tiles[i / 8 % 3][0], tiles[i / 8 % 3][1],
                               divs[i / 24 % 4], warps[i / 96]},
                       .arg = {"m=48", "n=32"},
                       .runs_once = true};
        run_case(&c);
    }
}

/* Rows that stay in registers, and such that no thread could hold. */
static void run_softmax(void)
{
    static const char *const dtypes[] = {"dtype=f16", "dtype=bf16", "dtype=f32"};
    static const char *const warps[] = {"warps=1", "warps=4", "warps=8"};
    for (uint32_t i = 0; i < 9 + 6; i++) {
        const bool is_held = i < 9;
        bank_case c = {.kernel = "softmax",
                       .arch = "sm_80",
                       .set = {dtypes[i % 3], warps[is_held ? i / 3 : i / 3 - 2], "div=8",
                               is_held ? "length=block" : "block=16384"},
                       .arg = {"rows=1", is_held ? "cols=1000" : "cols=50000"},
                       .runs_once = true,
                       .may_be_silent = i < 3}; /* one warp exchanges by shuffles */
        run_case(&c);
    }
}

/* Rows of 128 bytes: lanes down a column meet in one bank; beside each other's neighbours they do
 * not. */
static void run_controls(void)
{
    static const char *const encodings[] = {
        "linear [reg=((0, 1), (0, 2), (0, 4), (0, 8), (0, 16)), lane=((1, 0), (2, 0), (4, 0), (8, "
        "0), (16, 0))]",
        "linear [reg=((0, 16), (0, 8), (0, 4), (0, 2), (0, 1)), lane=((1, 0), (2, 0), (4, 0), (8, "
        "0), (16, 0))]",
        "linear [reg=((0, 1), (1, 0), (2, 0), (0, 16), (16, 0)), lane=((0, 2), (0, 4), (0, 8), (4, "
        "0), (8, 0))]"};
    static const bool is_bad[] = {true, true, true, false, false, true};
    static const char *const memories[] = {"smem [order=(1, 0)]", "smem [order=(0, 1)]"};
    char text[2048];
    for (uint32_t i = 0; i < 3 * 2; i++) {
        (void)snprintf(text, sizeof text,
                       "ptir 1\nmodule sm_80\nenc #r = %s\nenc #m = %s\n"
                       "kernel @k(%%o: ptr<i32> [out]) [warps=1] {\n"
                       "  %%b = buf.new : buf<smem, 32x32xi32, #m>\n"
                       "  %%x = iota [dim=1] : tile<32x32xi32, #r>\n"
                       "  buf.store %%b, %%x\n  warp.sync\n"
                       "  %%y = buf.load %%b : tile<32x32xi32, #r>\n"
                       "  %%i = iota : tile<32x32xi32, #r>\n"
                       "  %%j = imul %%i, 32 : tile<32x32xi32, #r>\n"
                       "  %%n = iadd %%j, %%x : tile<32x32xi32, #r>\n"
                       "  %%p = addptr %%o, %%n : tile<32x32xptr<i32>, #r>\n"
                       "  store %%p, %%y\n  return\n}\n",
                       encodings[i % 3], memories[i / 3]);
        const bank_case c = {
            .text = text, .arch = "sm_80", .runs_once = true, .has_conflicts = is_bad[i]};
        run_case(&c);
    }
}

int main(void)
{
    run_gemm();
    run_transpose();
    run_softmax();
    run_controls();
    printf("%u passed, %u failed\n", n_pass, n_fail);
    return n_fail == 0 ? 0 : 1;
}
