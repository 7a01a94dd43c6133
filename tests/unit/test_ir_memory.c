/* Memory that runs out: the k-th request fails, for all k, while a module is read, verified,
 * copied, printed. Every time there is a status, nothing leaks, and the same context goes on to do
 * it all once memory is there again. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "ir/ir.h"
#include "ir/uses.h"
#include "tests/failing.h"

static const char good[] =
    "ptir 1\nmodule sm_90a\nenc #b = blocked [order=(0), regs=(2), lanes=(32), warps=(4)]\n"
    "kernel @k(%p: ptr<f32> [inout, shape=(%n, 4)], %n: i32) [warps=4] {\n  launch {\n    grid "
    "%n\n  "
    "}\n"
    "  %i = iota : tile<256xi32, #b>\n  %q = addptr %p, %i : tile<256xptr<f32>, #b>\n"
    "  %r = for %j in 0 to %n step 1 carry (%s = 0.0) : tile<256xf32, #b> {\n"
    "    %v = load %q : tile<256xf32, #b>\n    %t = fadd %v, %s : tile<256xf32, #b>\n    yield "
    "%t\n  }\n"
    "  store %q, %r\n  return\n}\n";
static const char bad[] = "ptir 1\nmodule sm_90a\nkernel @k(%n: i32) {\n  %a = iad %n, 1 : i32\n"
                          "  %b = iadd %n, %zz : i32\n  %c = fadd %n, 1.0 : f32\n  if %n {\n}\n";

/* Everything that a compile does with IR; PG_OK or the first failure. */
static pg_status use(pg_ctx *ctx, const char *text, pg_diags *diags)
{
    pg_module *m = NULL;
    pg_module *copy = NULL;
    pg_uses uses = {.kernel = NULL};
    pg_strbuf out;
    pg_strbuf_init(&out, ctx->alloc);
    pg_status s = pg_parse(ctx, pg_str_of(text), diags, &m);
    s = s == PG_OK ? pg_verify(m, 0) : s;
    s = s == PG_OK ? pg_module_clone(m, diags, &copy) : s;
    if (s == PG_OK) {
        pg_print(&out, copy);
        s = pg_strbuf_status(&out);
    }
    s = s == PG_OK ? pg_uses_get(&uses, copy->kernels, &copy->arena) : s;
    pg_module_destroy(copy);
    pg_module_destroy(m);
    pg_strbuf_fini(&out);
    return s;
}

static void fail_each_request(const char *text, pg_status want)
{
    for (size_t k = 1;; k++) {
        failing f = {.fail_at = k};
        pg_alloc alloc = {&f, resize_failing};
        pg_ctx ctx;
        pg_arena arena;
        pg_diags diags;
        pg_arena_init(&arena, alloc);
        pg_diags_init(&diags, &arena, alloc);
        pg_status s = pg_ctx_init(&ctx, alloc);
        bool has_ctx = s == PG_OK;
        s = has_ctx ? use(&ctx, text, &diags) : s;
        bool has_failed = f.n >= k;
        if (has_failed) {
            cr_assert(s == PG_E_NOMEM || s == want, "request %zu: status %d", k, (int)s);
        } else {
            cr_assert_eq(s, want);
        }
        if (has_ctx) {
            pg_ctx_fini(&ctx);
        }
        pg_arena_fini(&arena);
        cr_assert_eq(f.live_bytes, 0, "request %zu leaks", k);
        if (!has_failed) {
            cr_assert_gt(k, 8);
            return;
        }
    }
}

Test(ir_memory, every_request_fails_once_good_text, .timeout = 60)
{
    fail_each_request(good, PG_OK);
}

Test(ir_memory, every_request_fails_once_bad_text, .timeout = 60)
{
    fail_each_request(bad, PG_E_PARSE);
}

/* ---- analyses and editing ------------------------------------------------------------------ */

typedef struct fixture {
    pg_ctx ctx;
    pg_arena arena;
    pg_diags diags;
    pg_module *m;
} fixture;

static pg_kernel *make(fixture *f)
{
    pg_alloc alloc = pg_alloc_default();
    cr_assert_eq(pg_ctx_init(&f->ctx, alloc), PG_OK);
    pg_arena_init(&f->arena, alloc);
    pg_diags_init(&f->diags, &f->arena, alloc);
    cr_assert_eq(pg_parse(&f->ctx, pg_str_of(good), &f->diags, &f->m), PG_OK);
    return f->m->kernels;
}

static void end(fixture *f)
{
    pg_module_destroy(f->m);
    pg_arena_fini(&f->arena);
    pg_ctx_fini(&f->ctx);
}

static pg_inst *find(pg_kernel *k, pg_op op)
{
    for (pg_inst *i = k->body->first; i != NULL; i = pg_inst_walk(i, k->body)) {
        if (i->op == op) {
            return i;
        }
    }
    return NULL;
}

Test(ir_edit, uses_are_found_and_go_stale)
{
    fixture f;
    pg_kernel *k = make(&f);
    pg_uses u = {.kernel = NULL};
    pg_inst *q = find(k, PG_OP_ADDPTR);
    pg_inst *load = find(k, PG_OP_LOAD);
    cr_assert_eq(pg_uses_get(&u, k, &f.arena), PG_OK);
    cr_assert_eq(pg_n_uses(&u, q->out[0]), 2);
    cr_assert_eq(pg_n_uses(&u, k->params[1].val), 3); /* grid, bound, shape */
    uint32_t n = 0;
    pg_foreach_use (use_of, &u, q->out[0]) {
        n += use_of->inst == load && use_of->index == 0;
    }
    cr_assert_eq(n, 1);
    cr_assert(pg_uses_are_fresh(&u, k));
    pg_inst_set_in(load, 0, q->in[0]);
    cr_assert_not(pg_uses_are_fresh(&u, k));
    cr_assert_eq(pg_uses_get(&u, k, &f.arena), PG_OK);
    cr_assert_eq(pg_n_uses(&u, q->out[0]), 1);
    end(&f);
}

Test(ir_edit, replacing_reaches_regions_and_attributes)
{
    fixture f;
    pg_kernel *k = make(&f);
    pg_type i32 = pg_type_scalar(f.ctx.types, PG_I32);
    pg_val n = k->params[1].val;
    pg_val seven = pg_const_int(k, i32, 7);
    cr_assert(pg_val_eq(seven, pg_const_int(k, i32, 7)));
    pg_replace_uses(k, n, seven);
    cr_assert(pg_val_eq(find(k, PG_OP_FOR)->in[1], seven));
    cr_assert(pg_val_eq(k->launch->last->in[0], seven));
    cr_assert(pg_val_eq(pg_attr_get(&k->params[0].attrs, PG_A_SHAPE)->items[0].val, seven));
    pg_val *map = PG_NEWS(&f.arena, pg_val, k->values.n);
    pg_val eight = pg_const_int(k, i32, 8);
    map[seven.id] = n;
    map[n.id] = eight; /* applied transitively */
    pg_replace_all(k, map, eight.id);
    cr_assert(pg_val_eq(find(k, PG_OP_FOR)->in[1], eight));
    end(&f);
}

Test(ir_edit, instructions_move_and_attributes_sort)
{
    fixture f;
    pg_kernel *k = make(&f);
    pg_inst *iota = find(k, PG_OP_IOTA);
    pg_inst *addptr = find(k, PG_OP_ADDPTR);
    pg_inst_move_before(addptr, iota);
    cr_assert_eq(k->body->first, addptr);
    cr_assert_eq(addptr->next, iota);
    cr_assert_eq(iota->prev, addptr);
    cr_assert_eq(pg_verify(f.m, 0), PG_E_INVALID); /* %i is not visible now */
    cr_assert_eq(f.diags.at[0].id, PG_D_NOT_VISIBLE);
    pg_inst_remove(addptr);
    cr_assert_eq(k->body->first, iota);
    pg_inst_insert_after(iota, addptr);
    cr_assert_eq(pg_verify(f.m, 0), PG_OK);
    pg_attr_set_int(k, &addptr->attrs, PG_A_STAGE, 2);
    pg_attr_set_int(k, &addptr->attrs, PG_A_DIM, 1);
    pg_attr_set_int(k, &addptr->attrs, PG_A_STAGE, 3);
    cr_assert_eq(addptr->attrs.n, 2);
    cr_assert_eq(addptr->attrs.at[0].id, PG_A_DIM);
    cr_assert_eq(pg_attr_int(&addptr->attrs, PG_A_STAGE, 0), 3);
    pg_attr_drop(k, &addptr->attrs, PG_A_DIM);
    cr_assert_eq(addptr->attrs.n, 1);
    end(&f);
}

Test(ir_edit, pure_operations_move_past_others)
{
    fixture f;
    pg_kernel *k = make(&f);
    pg_inst *iota = find(k, PG_OP_IOTA);
    pg_inst *addptr = find(k, PG_OP_ADDPTR);
    pg_inst *loop = find(k, PG_OP_FOR);
    pg_inst *store = find(k, PG_OP_STORE);
    cr_assert(pg_inst_is_pure(iota));
    cr_assert_not(pg_inst_is_pure(loop)); /* it loads */
    cr_assert_not(pg_may_reorder(k, iota, addptr));
    cr_assert_not(pg_may_reorder(k, addptr, loop));
    cr_assert(pg_may_reorder(k, iota, store));
    cr_assert_not(pg_may_reorder(k, loop, store));
    end(&f);
}
