#include "both.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "emit/lower.h"
#include "ir/elem.h"
#include "ir/interp.h"
#include "sched/pass.h"
#include "tools/exec/ptxexec.h"

enum { MAX_ARGS = 16 };

typedef struct run {
    const both_case *c;
    pg_strbuf *why;
    pg_ctx ctx;
    pg_arena arena;
    pg_diags diags;
    pg_module *module;
    void *expected[MAX_ARGS], *got[MAX_ARGS];
    uint8_t *poison[MAX_ARGS];
    pg_strbuf ptx;
    bool is_skipped;
} run;

uint32_t both_size(pg_elem e)
{
    uint32_t bits = pg_elem_infos[e].bits;
    return bits < 8 ? 1 : bits / 8;
}

static void say_diags(run *r)
{
    for (uint32_t i = 0; i < r->diags.n; i++) {
        pg_diag_print(r->why, &r->diags.at[i], PG_STR("case"), pg_str_of(r->c->text));
    }
}

static bool fail(run *r, const char *what)
{
    pg_putf(r->why, "%s\n", what);
    say_diags(r);
    return false;
}

/* ---- the interpreter ------------------------------------------------------------------------- */

static bool interpret(run *r)
{
    pg_interp_arg args[MAX_ARGS] = {{{0}, 0}};
    for (uint32_t i = 0; i < r->c->n_args; i++) {
        const both_arg *a = &r->c->args[i];
        if (a->n == 0) {
            args[i].bits = a->bits;
            continue;
        }
        size_t size = (size_t)a->n * both_size(a->elem);
        r->expected[i] = calloc(1, size);
        r->poison[i] = calloc(1, size);
        memset(r->poison[i], a->data == NULL, size);
        if (a->data != NULL) {
            memcpy(r->expected[i], a->data, size);
        }
        args[i].array = (pg_interp_array){r->expected[i], size, r->poison[i]};
    }
    pg_interp_options opt = {.grid = {r->c->grid[0], r->c->grid[1], r->c->grid[2]}};
    pg_status s = pg_interp_run(r->module->kernels, args, r->c->n_args, &opt, &r->diags);
    return s == PG_OK || fail(r, "the interpreter refuses");
}

/* Layouts that cannot agree without moving data: nothing to compare. */
static bool has_layout_limit(const pg_diags *d)
{
    bool is_found = false;
    for (uint32_t i = 0; i < d->n; i++) {
        is_found = is_found || d->at[i].id == PG_D_LAYOUT_TWO || d->at[i].id == PG_D_LAYOUT_BACK;
    }
    return is_found;
}

/* ---- PTX ------------------------------------------------------------------------------------- */

static bool compile(run *r)
{
    pg_pass_options opt = {.pass_limit = UINT32_MAX};
    opt.shuffle = r->c->shuffle;
    opt.passes = pg_str_of(r->c->passes != NULL ? r->c->passes : "layouts");
    bool stopped;
    pg_module *m = r->module;
    pg_status s = pg_passes_run(m, &opt, &r->arena, &m, NULL, NULL, &stopped);
    r->module = m;
    if (s != PG_OK) {
        r->is_skipped = has_layout_limit(&r->diags);
        return fail(r, "passes fail");
    }
    pg_ptx_module *ptx;
    if (pg_lower(m, NULL, &r->arena, &r->diags, &ptx) != PG_OK) {
        return fail(r, "lowering fails");
    }
    if (pg_ptx_check(ptx, &r->diags) != PG_OK) {
        fail(r, "the PTX checker complains");
    }
    pg_ptx_write(&r->ptx, ptx);
    return r->diags.n_errors == 0;
}

static bool say_report(run *r, ptxexec_report *rep)
{
    for (size_t i = 0; i < ptxexec_report_diag_count(rep); i++) {
        pg_putf(r->why, "executor: %s\n", ptxexec_report_diag(rep, i).message);
    }
    for (size_t i = 0; i < ptxexec_report_fault_count(rep) && i < 3; i++) {
        ptxexec_fault f = ptxexec_report_fault(rep, i);
        pg_putf(r->why, "executor: line %u: %s\n", f.at.line, f.message);
    }
    return false;
}

static bool put_params(run *r, ptxexec_module *m, ptxexec_device *d, uint8_t *params,
                       uint64_t *where)
{
    for (uint32_t i = 0; i < r->c->n_args; i++) {
        const both_arg *a = &r->c->args[i];
        ptxexec_param p;
        if (ptxexec_module_param(m, 0, i, &p) != PTXEXEC_OK) {
            return fail(r, "a parameter is missing");
        }
        uint64_t value = a->bits;
        if (a->n != 0) {
            uint64_t size = (uint64_t)a->n * both_size(a->elem);
            if (ptxexec_device_alloc(d, size, PTXEXEC_FILL_POISON, p.name, &value) != PTXEXEC_OK ||
                (a->data != NULL && ptxexec_device_write(d, value, a->data, size) != PTXEXEC_OK)) {
                return fail(r, "no device memory");
            }
            where[i] = value;
        }
        memcpy(params + p.offset, &value, p.size);
    }
    return true;
}

static bool launch(run *r, ptxexec_module *m, ptxexec_device *d)
{
    uint8_t params[512] = {0};
    uint64_t where[MAX_ARGS] = {0};
    ptxexec_entry e;
    if (ptxexec_module_entry(m, 0, &e) != PTXEXEC_OK || e.param_size > sizeof params ||
        !put_params(r, m, d, params, where)) {
        return fail(r, "no entry");
    }
    ptxexec_launch_options o = {.struct_size = sizeof o,
                                .grid = {r->c->grid[0], r->c->grid[1], r->c->grid[2]},
                                .block = {e.reqntid[0], 1, 1},
                                .dynamic_shared = 160 * 1024,
                                .params = params,
                                .params_size = e.param_size,
                                .races = r->c->races ? PTXEXEC_RACES_ISA : PTXEXEC_RACES_OFF,
                                .collect_stats = r->c->stats != NULL,
                                .seed = 1 + r->c->shuffle};
    ptxexec_report *rep = NULL;
    bool is_ok = ptxexec_launch(d, m, &o, &rep) == PTXEXEC_OK || say_report(r, rep);
    if (is_ok && r->c->stats != NULL) {
        ptxexec_stats st = ptxexec_report_stats(rep);
        r->c->stats->n_wavefronts = st.n_shared_wavefronts;
        r->c->stats->n_extra = st.n_shared_extra;
    }
    ptxexec_report_destroy(rep);
    for (uint32_t i = 0; is_ok && i < r->c->n_args; i++) {
        const both_arg *a = &r->c->args[i];
        if (a->n == 0) {
            continue;
        }
        uint64_t size = (uint64_t)a->n * both_size(a->elem);
        r->got[i] = calloc(1, size);
        uint64_t n_poison, first;
        is_ok = ptxexec_device_read(d, where[i], r->got[i], size, &n_poison, &first) == PTXEXEC_OK;
    }
    return is_ok;
}

static bool execute(run *r)
{
    ptxexec_module *m = NULL;
    ptxexec_device *d = NULL;
    pg_str text = pg_strbuf_str(&r->ptx);
    ptxexec_status loaded = ptxexec_module_load(NULL, text.ptr, text.len, &m);
    bool is_ok = loaded == PTXEXEC_OK;
    r->is_skipped = loaded == PTXEXEC_E_UNSUPPORTED;
    for (size_t i = 0; !is_ok && m != NULL && i < ptxexec_module_diag_count(m); i++) {
        ptxexec_diag x = ptxexec_module_diag(m, i);
        pg_putf(r->why, "executor: line %u: %s\n", x.line, x.message);
    }
    is_ok = is_ok && ptxexec_device_create(NULL, &d) == PTXEXEC_OK && launch(r, m, d);
    ptxexec_device_destroy(d);
    ptxexec_module_destroy(m);
    return is_ok;
}

/* ---- comparison ------------------------------------------------------------------------------ */

static uint64_t bits_at(const void *data, pg_elem e, uint32_t i)
{
    uint64_t x = 0;
    memcpy(&x, (const char *)data + (size_t)i * both_size(e), both_size(e));
    return x;
}

/* One unit in the last place of x. */
static double ulp_of(pg_elem e, double x)
{
    int digits = e == PG_F64 ? 53 : e == PG_F32 ? 24 : e == PG_F16 ? 11 : 8;
    int least = e == PG_F64 ? -1074 : e == PG_F32 ? -149 : e == PG_F16 ? -24 : -133;
    int exp;
    (void)frexp(x, &exp);
    exp -= digits;
    return ldexp(1.0, exp < least ? least : exp);
}

static bool is_close(const both_case *c, pg_elem e, uint64_t x, uint64_t y)
{
    if (x == y || pg_elem_infos[e].cls == 'I') {
        return x == y;
    }
    double a = pg_elem_to_f64(e, x), b = pg_elem_to_f64(e, y);
    if (isnan(a) || isnan(b)) {
        return isnan(a) && isnan(b);
    }
    if (c->ulps == 0 || isinf(a) || isinf(b)) {
        return c->ulps != 0 && a == b;
    }
    double most = c->ulps * ulp_of(e, a);
    return fabs(a - b) <= (most > c->absolute ? most : c->absolute);
}

static bool compare(run *r)
{
    uint32_t n_bad = 0;
    for (uint32_t i = 0; i < r->c->n_args; i++) {
        const both_arg *a = &r->c->args[i];
        for (uint32_t j = 0; a->is_out && j < a->n; j++) {
            uint64_t x = bits_at(r->expected[i], a->elem, j), y = bits_at(r->got[i], a->elem, j);
            bool is_unset = r->poison[i][(size_t)j * both_size(a->elem)] != 0;
            if (!is_unset && !is_close(r->c, a->elem, x, y) && n_bad++ < 4) {
                pg_putf(r->why, "argument %u, element %u: expected 0x%llx, got 0x%llx\n", i, j,
                        (unsigned long long)x, (unsigned long long)y);
            }
        }
    }
    return n_bad == 0;
}

both_result both_run(const both_case *c, pg_strbuf *why)
{
    run r = {.c = c, .why = why};
    if (c->n_args > MAX_ARGS || pg_ctx_init(&r.ctx, pg_alloc_default()) != PG_OK) {
        return BOTH_DIFFER;
    }
    pg_arena_init(&r.arena, r.ctx.alloc);
    pg_diags_init(&r.diags, &r.arena, r.ctx.alloc);
    pg_strbuf_init(&r.ptx, r.ctx.alloc);
    bool is_ok = pg_parse(&r.ctx, pg_str_of(c->text), &r.diags, &r.module) == PG_OK &&
                 pg_verify(r.module, 0) == PG_OK;
    is_ok = is_ok ? interpret(&r) && compile(&r) && execute(&r) && compare(&r)
                  : fail(&r, "the program is wrong");
    if (!is_ok && !r.is_skipped && r.ptx.ptr != NULL && c->keep_ptx) {
        pg_put_str(why, pg_strbuf_str(&r.ptx));
    }
    if (c->stats != NULL && r.ptx.ptr != NULL) {
        c->stats->ptx = malloc(r.ptx.len + 1);
        if (c->stats->ptx != NULL) {
            memcpy(c->stats->ptx, r.ptx.ptr, r.ptx.len + 1);
        }
    }
    for (uint32_t i = 0; i < MAX_ARGS; i++) {
        free(r.expected[i]);
        free(r.got[i]);
        free(r.poison[i]);
    }
    if (r.module != NULL) {
        pg_module_destroy(r.module);
    }
    pg_strbuf_fini(&r.ptx);
    pg_arena_fini(&r.arena);
    pg_ctx_fini(&r.ctx);
    return r.is_skipped ? BOTH_SKIPPED : is_ok ? BOTH_AGREE : BOTH_DIFFER;
}

void both_stats_free(both_stats *s)
{
    free(s->ptx);
    s->ptx = NULL;
}
