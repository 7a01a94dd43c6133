/* The instruction table: order, matching, binding, operands. */
#include <criterion/criterion.h>
#include <string.h>

#include "emit/ptx_isa.h"

TestSuite(ptx_isa, .timeout = 60);

static pg_isa_id find(const char *s)
{
    return pg_isa_find(pg_str_of(s));
}

Test(ptx_isa, rows_are_sorted_by_opcode)
{
    for (uint32_t i = 2; i < PG_ISA_COUNT; i++) {
        cr_assert(strcmp(pg_isa_rows[i - 1].opcode, pg_isa_rows[i].opcode) <= 0, "%s after %s",
                  pg_isa_rows[i].opcode, pg_isa_rows[i - 1].opcode);
    }
}

Test(ptx_isa, rows_are_complete)
{
    for (uint32_t i = 1; i < PG_ISA_COUNT; i++) {
        const pg_isa_row *r = &pg_isa_rows[i];
        size_t n = strlen(r->doc);
        cr_assert(n > 3 && r->doc[n - 1] == '.', "doc of %s%s", r->opcode, r->modifiers);
        cr_assert(r->min_version >= 10 && r->min_version <= 95, "%s%s", r->opcode, r->modifiers);
    }
}

/* Each operand column parses to as many operands as it has ':' that begin a spec. */
Test(ptx_isa, operand_columns_parse)
{
    for (uint32_t i = 1; i < PG_ISA_COUNT; i++) {
        uint32_t n = 0;
        for (const char *p = pg_isa_rows[i].operands; *p != 0; p = p + strcspn(p, ",")) {
            p += *p == ',' ? 2 : 0;
            n += memchr(p, '@', strcspn(p, ",")) == NULL;
        }
        pg_isa_words w = {.n = 1};
        pg_isa_specs s;
        pg_isa_operands(i, &w, &s);
        cr_assert_eq(s.n, n, "%s%s: %s", pg_isa_rows[i].opcode, pg_isa_rows[i].modifiers,
                     pg_isa_rows[i].operands);
    }
}

Test(ptx_isa, finds_forms)
{
    cr_assert_eq(find("mov.b32"), PG_ISA_MOV);
    cr_assert_eq(find("ret"), PG_ISA_RET);
    cr_assert_eq(find("bra.uni"), PG_ISA_BRA);
    cr_assert_eq(find("ld.global.nc.L1::no_allocate.L2::128B.v4.u32"), PG_ISA_LD_NC);
    cr_assert_eq(find("ld.param.u64"), PG_ISA_LD);
    cr_assert_eq(find("ld.relaxed.gpu.global.u32"), PG_ISA_LD_SYNC);
    cr_assert_eq(find("wgmma.mma_async.sync.aligned.m64n256k16.f32.bf16.bf16"),
                 PG_ISA_WGMMA_F32_F16);
    cr_assert_eq(find("cp.async.bulk.tensor.2d.shared::cluster.global.tile"
                      ".mbarrier::complete_tx::bytes.multicast::cluster"),
                 PG_ISA_TMA_LOAD);
    cr_assert_eq(find("mbarrier.arrive.expect_tx.shared::cluster.b64"),
                 PG_ISA_MBAR_ARRIVE_TX_REMOTE);
}

Test(ptx_isa, finds_nothing)
{
    static const char *const bad[] = {
        "",
        ".",
        "frob",
        "add",
        "add.",
        "add.s32.",
        "add.q9",
        "mov.b32.",
        "ld.shared.nc.u32",
        "ret.uni.uni",
        "m64n8k16",
        "add.u32.u32",
        "wgmma.mma_async.sync.aligned.m64nk16.f32.f16.f16",
        "a.b.c.d.e.f.g.h.i.j.k.l.m.n.o.p.q.r.s.t.u.v.w.x.y.z",
    };
    for (size_t i = 0; i < PG_COUNT_OF(bad); i++) {
        cr_assert_eq(find(bad[i]), PG_ISA_NONE, "'%s'", bad[i]);
    }
}

Test(ptx_isa, modifiers_in_any_order_as_ptxas_takes_them)
{
    cr_assert_eq(find("cvt.f32.rn.s32"), PG_ISA_CVT_I2F);
    cr_assert_eq(find("atom.add.release.gpu.global.u32"), PG_ISA_ATOM_ADD);
    cr_assert_eq(find("mul.s32.lo"), PG_ISA_NONE);
    cr_assert_eq(pg_isa_type(PG_ISA_CVT_I2F, PG_STR("cvt.f32.rn.s32"), 'D'), PG_PTX_F32);
    cr_assert_eq(pg_isa_type(PG_ISA_CVT_I2F, PG_STR("cvt.f32.rn.s32"), 'A'), PG_PTX_S32);
}

Test(ptx_isa, number_of_operands_decides)
{
    cr_assert_eq(pg_isa_find_for(PG_STR("max.f32"), 3), PG_ISA_MAX_F32);
    cr_assert_eq(pg_isa_find_for(PG_STR("max.f32"), 4), PG_ISA_MAX3_F32);
    cr_assert_eq(pg_isa_find_for(PG_STR("max.f32"), 9), PG_ISA_MAX_F32);
}

Test(ptx_isa, words_and_types)
{
    pg_str s = PG_STR("ld.global.v4.f32");
    cr_assert(pg_str_is(pg_isa_modifier(s, 0), "global"));
    cr_assert(pg_str_is(pg_isa_modifier(s, 2), "f32"));
    cr_assert_eq(pg_isa_modifier(s, 3).len, 0);
    cr_assert(pg_isa_has(s, "v4"));
    cr_assert_not(pg_isa_has(s, "ld"));
    cr_assert_eq(pg_isa_type(PG_ISA_LD, s, 'T'), PG_PTX_F32);
    cr_assert_eq(pg_isa_type(PG_ISA_LD, s, 'Q'), PG_PTX_T_NONE);
    cr_assert_eq(pg_isa_type(PG_ISA_NONE, s, 'T'), PG_PTX_T_NONE);
    cr_assert_eq(pg_isa_type(PG_ISA_LD, s, '?'), PG_PTX_T_NONE);
    cr_assert_eq(pg_ptx_type_of(PG_STR("bf16x2")), PG_PTX_BF16X2);
    cr_assert_eq(pg_ptx_type_of(PG_STR("")), PG_PTX_T_NONE);
}

Test(ptx_isa, conditional_operands)
{
    pg_isa_words w;
    pg_isa_specs s;
    pg_isa_split(PG_STR("ld.global.L2::cache_hint.u32"), &w);
    pg_isa_operands(PG_ISA_LD, &w, &s);
    cr_assert_eq(s.n, 3);
    pg_isa_split(PG_STR("setp.lt.xor.s32"), &w);
    pg_isa_operands(PG_ISA_SETP, &w, &s);
    cr_assert_eq(s.n, 4);
    cr_assert(s.at[0].is_written);
    cr_assert_not(s.at[1].is_written);
    cr_assert(pg_isa_takes(PG_ISA_BAR_SYNC, &w, 1) && pg_isa_takes(PG_ISA_BAR_SYNC, &w, 2));
    cr_assert_not(pg_isa_takes(PG_ISA_BAR_SYNC, &w, 3));
}
