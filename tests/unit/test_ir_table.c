/* The table of operations: for each row an instance that verifies, survives printing, reading and
 * copying; and for each column a change of it that is refused with the diagnostic of that column.
 */
#include <criterion/criterion.h>
#include <string.h>

#include "ir/foreign.h"
#include "ir/ir.h"

static const char HEAD[] = "ptir 1\nmodule sm_90a\n"
                           "enc #s = smem [order=(1, 0), swizzle=128]\n"
                           "enc #acc = wgmma [shape=(64, 64, 16), warps=(4, 1)]\n"
                           "kernel @k(%ph: ptr<f16> [inout, shape=(64, 64)], %p: ptr<f32>, %d: "
                           "desc<64x64xf16, #s> [of=%ph], %n: i32, %q: i64, "
                           "%x: f32, %c: i1, %pn: ptr<i32>) [warps=4] {\n";
static const char PRELUDE[] = "  %r = ring.new [slots=2, full=1, empty=4] : ring<2>\n"
                              "  %bar = bar.new : bar<1>\n"
                              "  %bufs = buf.new : buf<smem, 2x64x64xf16, #s>\n"
                              "  %buf = buf.view %bufs, 0 : buf<smem, 64x64xf16, #s>\n"
                              "  %z = const 0.0 : tile<64x64xf32, #acc>\n"
                              "  %i = iota : tile<64xi32>\n"
                              "  %row = const 1.0 : tile<1x64xf32>\n";

/* An instance of each row, after the prelude. */
static const char *const instances[PG_OP_COUNT] = {
    [PG_OP_CONST] = "%a = const 1 : i32",
    [PG_OP_SPLAT] = "%a = splat %x : tile<4xf32>",
    [PG_OP_IOTA] = "%a = iota [dim=1] : tile<4x4xi32>",
    [PG_OP_BROADCAST] = "%a = broadcast %row : tile<4x64xf32>",
    [PG_OP_EXPAND] = "%a = expand %i [dim=1] : tile<64x1xi32>",
    [PG_OP_RESHAPE] = "%a = reshape %i : tile<8x8xi32>",
    [PG_OP_TRANSPOSE] = "%a = transpose %row [perm=(1, 0)] : tile<64x1xf32>",
    [PG_OP_REDUCE] = "%a = reduce %row [dim=1, op=sum] : tile<1xf32>",
    [PG_OP_IADD] = "%a = iadd %n, 1 [nw] : i32",
    [PG_OP_ISUB] = "%a = isub %n, 1 [nw] : i32",
    [PG_OP_IMUL] = "%a = imul %i, %i [nw] : tile<64xi32>",
    [PG_OP_IDIV] = "%a = idiv %n, 3 : i32",
    [PG_OP_UDIV] = "%a = udiv %n, 3 : i32",
    [PG_OP_IREM] = "%a = irem %n, 3 : i32",
    [PG_OP_UREM] = "%a = urem %n, 3 : i32",
    [PG_OP_ICDIV] = "%a = icdiv %n, 3 : i32",
    [PG_OP_IMIN] = "%a = imin %n, 3 : i32",
    [PG_OP_IMAX] = "%a = imax %n, 3 : i32",
    [PG_OP_UMIN] = "%a = umin %n, 3 : i32",
    [PG_OP_UMAX] = "%a = umax %n, 3 : i32",
    [PG_OP_AND] = "%a = and %c, true : i1",
    [PG_OP_OR] = "%a = or %n, 3 : i32",
    [PG_OP_XOR] = "%a = xor %n, 3 : i32",
    [PG_OP_SHL] = "%a = shl %q, 3 : i64",
    [PG_OP_ISHR] = "%a = ishr %n, 3 : i32",
    [PG_OP_USHR] = "%a = ushr %n, 3 : i32",
    [PG_OP_INEG] = "%a = ineg %n : i32",
    [PG_OP_IABS] = "%a = iabs %n : i32",
    [PG_OP_FADD] = "%a = fadd %x, 1.5 : f32",
    [PG_OP_FSUB] = "%a = fsub %x, 1.5 : f32",
    [PG_OP_FMUL] = "%a = fmul %row, 1.5 : tile<1x64xf32>",
    [PG_OP_FDIV] = "%a = fdiv %x, 1.5 [approx] : f32",
    [PG_OP_FREM] = "%a = frem %x, 1.5 : f32",
    [PG_OP_FMIN] = "%a = fmin %x, 1.5 : f32",
    [PG_OP_FMAX] = "%a = fmax %x, 1.5 : f32",
    [PG_OP_FNEG] = "%a = fneg %x : f32",
    [PG_OP_FABS] = "%a = fabs %x : f32",
    [PG_OP_FMA] = "%a = fma %x, %x, 1.0 : f32",
    [PG_OP_EXP] = "%a = exp %x : f32",
    [PG_OP_EXP2] = "%a = exp2 %x : f32",
    [PG_OP_LOG2] = "%a = log2 %x : f32",
    [PG_OP_SQRT] = "%a = sqrt %x [approx] : f32",
    [PG_OP_RSQRT] = "%a = rsqrt %x : f32",
    [PG_OP_TANH] = "%a = tanh %x [approx] : f32",
    [PG_OP_ERF] = "%a = erf %x : f32",
    [PG_OP_ICMP] = "%a = icmp %n, 1 [is=lt] : i1",
    [PG_OP_UCMP] = "%a = ucmp %i, 1 [is=lt] : tile<64xi1>",
    [PG_OP_FCMP] = "%a = fcmp %x, 1.0 [is=ne] : i1",
    [PG_OP_SELECT] = "%a = select %c, %x, 1.0 : f32",
    [PG_OP_CAST] = "%a = cast %n : f16",
    [PG_OP_UCAST] = "%a = ucast %i : tile<64xf32>",
    [PG_OP_ADDPTR] = "%a = addptr %p, %i : tile<64xptr<f32>>",
    [PG_OP_LOAD] = "%a = load %p, %c, 0.0 [cache=ca] : f32",
    [PG_OP_STORE] = "store %p, %x, %c [cache=wb]",
    [PG_OP_MMA] = "%a = const 0.0 : tile<64x64xf16>\n"
                  "  %e = mma %a, %a, 0.0 [transa, transb] : tile<64x64xf32>",
    [PG_OP_UMMA] = "%a = const 1 : tile<64x64xi8>\n  %e = umma %a, %a, 0 : tile<64x64xi32>",
    [PG_OP_COPY] = "%a = copy %z : tile<64x64xf32>",
    [PG_OP_ATOMIC_ADD] = "atomic.add %p, 1.0, %c",
    [PG_OP_ATOMIC_MAX] = "%a = addptr %pn, %i : tile<64xptr<i32>>\n  atomic.max %a, %i",
    [PG_OP_ATOMIC_UMAX] = "%a = addptr %pn, %i : tile<64xptr<i32>>\n  atomic.umax %a, %i",
    [PG_OP_PROGRAM_ID] = "%a = program_id [axis=y] : i32",
    [PG_OP_NUM_PROGRAMS] = "%a = num_programs [axis=z] : i32",
    [PG_OP_FOR] = "%a = for %j in 0 to %n step 1 carry (%b = 0) [stages=2, unroll=4, part=@x] : "
                  "i32 {\n    yield %b\n  }",
    [PG_OP_WHILE] = "%a = while carry (%b = 0) : i32 {\n    %e = icmp %b, %n [is=lt] : i1\n"
                    "    yield %e\n  } do {\n    %e = iadd %b, 1 : i32\n    yield %e\n  }",
    [PG_OP_IF] = "%a = if %c [part=(@x)] : i32 {\n    yield 1\n  } else {\n    yield 2\n  }",
    [PG_OP_YIELD] = "%a = for %j in 0 to %n step 1 carry (%b = 0) : i32 {\n    yield %b\n  }",
    [PG_OP_RETURN] = "",
    [PG_OP_GRID] = "",
    [PG_OP_BUF_NEW] = "%a = buf.new [align=128] : buf<smem, 16x16xf32>",
    [PG_OP_BUF_VIEW] = "%a = buf.view %bufs, %n : buf<smem, 64x64xf16, #s>",
    [PG_OP_BUF_LOAD] = "%a = buf.load %buf : tile<64x64xf16>",
    [PG_OP_BUF_STORE] = "%a = const 0.0 : tile<64x64xf16>\n  buf.store %buf, %a",
    [PG_OP_ASYNC_GET] = "%h = splat %ph : tile<64x64xptr<f16>>\n  async.get %h, %buf",
    [PG_OP_ASYNC_COMMIT] = "async.commit",
    [PG_OP_ASYNC_WAIT] = "async.wait [in_flight=2]",
    [PG_OP_RING_NEW] = "%a = ring.new [slots=3, full=1, empty=4] : ring<3>",
    [PG_OP_RING_PRIME] = "ring.prime %r [lag=1, per=warp]",
    [PG_OP_RING_NEXT] = "%a, %b = ring.next %r, %n, 0 : i32, i32",
    [PG_OP_BAR_NEW] = "%a = bar.new [count=3] : bar<2>",
    [PG_OP_BAR_INIT] = "bar.init %bar",
    [PG_OP_BAR_EXPECT] = "bar.expect %r, 0 [side=full, bytes=16]",
    [PG_OP_BAR_ARRIVE] = "bar.arrive %r, 0 [side=empty, per=warp]",
    [PG_OP_BAR_WAIT] = "bar.wait %bar, 0, 0",
    [PG_OP_TMA_LOAD] = "tma.get %d, %buf, %r, 0, 0, %n [side=full]",
    [PG_OP_TMA_STORE] = "tma.put %d, %buf, 0, %n",
    [PG_OP_TMA_COMMIT] = "tma.commit",
    [PG_OP_TMA_WAIT] = "tma.wait [in_flight=1, read]",
    [PG_OP_MMA_BEGIN] = "%a = mma.begin %z : token\n  %e = mma.wait %a : tile<64x64xf32, #acc>",
    [PG_OP_MMA_FENCE] = "mma.fence",
    [PG_OP_MMA_ASYNC] =
        "%b = mma.begin %z : token\n  %a = mma.async %buf, %buf, %b [transb] : token\n"
        "  %e = mma.wait %a : tile<64x64xf32, #acc>",
    [PG_OP_MMA_WAIT] = "%b = mma.begin %z : token\n  mma.wait %b [in_flight=1]\n"
                       "  %e = mma.wait %b : tile<64x64xf32, #acc>",
    [PG_OP_FENCE] = "fence [kind=gpu]",
    [PG_OP_CTA_SYNC] = "cta.sync",
    [PG_OP_PART_SYNC] = "partition @a [warps=4] {\n    part.sync [id=3]\n  }",
    [PG_OP_WARP_SYNC] = "warp.sync",
    [PG_OP_ELECT] = "elect [warp=1] {\n  }",
    [PG_OP_PARTITION] = "partition @a [warps=4, default, regs=64] {\n  }",
};

typedef struct fixture {
    pg_ctx ctx;
    pg_arena arena;
    pg_diags diags;
    pg_strbuf text;
    pg_module *m;
} fixture;

static void make(fixture *f, pg_op op)
{
    pg_alloc alloc = pg_alloc_default();
    cr_assert_eq(pg_ctx_init(&f->ctx, alloc), PG_OK);
    pg_arena_init(&f->arena, alloc);
    pg_diags_init(&f->diags, &f->arena, alloc);
    pg_strbuf_init(&f->text, alloc);
    pg_putf(&f->text, "%s  launch {\n    grid 1, 2, %%n\n  }\n%s  %s\n  return\n}\n", HEAD, PRELUDE,
            instances[op]);
    f->m = NULL;
    pg_status s = pg_parse(&f->ctx, pg_strbuf_str(&f->text), &f->diags, &f->m);
    s = s == PG_OK ? pg_verify(f->m, 0) : s;
    cr_assert_eq(s, PG_OK, "%s: %s", pg_op_infos[op].text,
                 f->diags.n != 0 ? f->diags.at[0].message.ptr : "?");
}

static void end(fixture *f)
{
    pg_module_destroy(f->m);
    pg_strbuf_fini(&f->text);
    pg_arena_fini(&f->arena);
    pg_ctx_fini(&f->ctx);
}

/* The last instruction of this kind. */
static pg_inst *find(const fixture *f, pg_op op)
{
    pg_kernel *k = f->m->kernels;
    pg_region *root = op == PG_OP_GRID ? k->launch : k->body;
    pg_inst *found = NULL;
    for (pg_inst *i = root->first; i != NULL; i = pg_inst_walk(i, root)) {
        found = i->op == op ? i : found;
    }
    cr_assert_not_null(found, "%s", pg_op_infos[op].text);
    return found;
}

static void expect(fixture *f, pg_op op, pg_diag_id want, const char *what)
{
    bool is_there = false;
    cr_assert_neq(pg_verify(f->m, 0), PG_OK, "%s accepts %s", pg_op_infos[op].text, what);
    for (uint32_t i = 0; i < f->diags.n; i++) {
        is_there = is_there || f->diags.at[i].id == want;
    }
    cr_assert(is_there, "%s with %s: PG%04u did not come, but %s", pg_op_infos[op].text, what,
              pg_diag_infos[want].number, f->diags.at[0].message.ptr);
}

/* The list by which operations share a function says the same as the column of flags. */
Test(ir_table, elementwise_operations_are_listed)
{
    bool is_listed[PG_OP_COUNT] = {false};
#define ELEMENTWISE(id) is_listed[PG_OP_##id] = true;
#include "ir/elementwise.def"
    for (uint32_t op = 1; op < PG_OP_COUNT; op++) {
        cr_expect_eq(is_listed[op], (pg_op_infos[op].flags & PG_F_ELEM) != 0, "%s",
                     pg_op_infos[op].text);
    }
}

Test(ir_table, every_row_is_accepted_and_survives_text_and_copy)
{
    for (uint32_t op = 1; op < PG_OP_COUNT; op++) {
        fixture f;
        pg_module *again;
        pg_strbuf one, two, three;
        cr_assert_not_null(instances[op], "%s has no instance", pg_op_infos[op].text);
        make(&f, (pg_op)op);
        (void)find(&f, (pg_op)op);
        pg_strbuf_init(&one, f.ctx.alloc);
        pg_strbuf_init(&two, f.ctx.alloc);
        pg_strbuf_init(&three, f.ctx.alloc);
        pg_print(&one, f.m);
        cr_assert_eq(pg_parse(&f.ctx, pg_strbuf_str(&one), &f.diags, &again), PG_OK);
        pg_print(&two, again);
        pg_module_destroy(again);
        cr_assert_eq(pg_module_clone(f.m, &f.diags, &again), PG_OK);
        cr_assert_eq(pg_verify(again, 0), PG_OK);
        pg_print(&three, again);
        pg_module_destroy(again);
        cr_assert_str_eq(one.ptr, two.ptr);
        cr_assert_str_eq(one.ptr, three.ptr);
        pg_strbuf_fini(&one);
        pg_strbuf_fini(&two);
        pg_strbuf_fini(&three);
        end(&f);
    }
}

Test(ir_table, column_operand_count)
{
    for (uint32_t op = 1; op < PG_OP_COUNT; op++) {
        fixture f;
        make(&f, (pg_op)op);
        pg_inst *i = find(&f, (pg_op)op);
        const pg_op_info *info = &pg_op_infos[op];
        if (info->n_in > 0) {
            i->n_in = (uint16_t)(info->n_in - 1);
            expect(&f, (pg_op)op, PG_D_OPERAND_COUNT, "too few operands");
        } else if (info->n_in == 0) {
            i->in = &f.m->kernels->params[3].val;
            i->n_in = 1;
            expect(&f, (pg_op)op, PG_D_OPERAND_COUNT, "an operand too many");
        }
        end(&f);
    }
}

Test(ir_table, column_operand_classes)
{
    for (uint32_t op = 1; op < PG_OP_COUNT; op++) {
        for (uint32_t j = 0; j < PG_MAX_IN; j++) {
            fixture f;
            make(&f, (pg_op)op);
            pg_inst *i = find(&f, (pg_op)op);
            bool is_any = j >= i->n_in || (pg_op_in((pg_op)op, j, i->n_in) & PG_C_MASK) == PG_C_ANY;
            /* A descriptor is of no class but its own; a pointer to f16 is not a descriptor. */
            bool is_desc = !is_any && (pg_op_in((pg_op)op, j, i->n_in) & PG_C_MASK) == PG_C_DESC;
            if (!is_any && op != PG_OP_ICMP && op != PG_OP_UCMP && op != PG_OP_FCMP) {
                pg_inst_set_in(i, j, f.m->kernels->params[is_desc ? 0 : 2].val);
                expect(&f, (pg_op)op, PG_D_OPERAND_CLASS, "an operand of another class");
            }
            end(&f);
        }
    }
}

Test(ir_table, column_result)
{
    for (uint32_t op = 1; op < PG_OP_COUNT; op++) {
        fixture f;
        make(&f, (pg_op)op);
        pg_inst *i = find(&f, (pg_op)op);
        uint8_t res = pg_op_infos[op].res;
        if (i->n_out != 0 && res != PG_R_REGION) {
            pg_val_set_type(f.m->kernels, i->out[0],
                            pg_val_type(f.m->kernels, f.m->kernels->params[2].val));
            expect(&f, (pg_op)op, PG_D_RESULT_CLASS, "a result of another class");
        } else if (res == PG_R_NONE) {
            i->out = &f.m->kernels->params[3].val;
            i->n_out = 1;
            expect(&f, (pg_op)op, PG_D_OP_RESULT_COUNT, "a result");
        }
        end(&f);
    }
}

Test(ir_table, column_attributes)
{
    for (uint32_t op = 1; op < PG_OP_COUNT; op++) {
        for (uint32_t a = 1; a < PG_A_COUNT; a++) {
            fixture f;
            make(&f, (pg_op)op);
            pg_inst *i = find(&f, (pg_op)op);
            if ((pg_op_infos[op].attrs >> a & 1) == 0) {
                pg_attr_set_flag(f.m->kernels, &i->attrs, (pg_attr_id)a);
                bool is_later = a == PG_A_PART || a == PG_A_STAGE || a == PG_A_ON;
                expect(&f, (pg_op)op, is_later ? PG_D_NOT_YET : PG_D_ATTR_NOT_TAKEN,
                       pg_attr_infos[a].text);
            }
            end(&f);
        }
    }
}

Test(ir_table, columns_target_and_level)
{
    for (uint32_t op = 1; op < PG_OP_COUNT; op++) {
        fixture f;
        make(&f, (pg_op)op);
        pg_inst *i = find(&f, (pg_op)op);
        const pg_op_info *info = &pg_op_infos[op];
        if (info->sm != 0) {
            f.m->sm = info->sm - 1u;
            expect(&f, (pg_op)op, PG_D_NEEDS_SM, "an older target");
            f.m->sm = 90;
        }
        f.diags.n = 0;
        pg_region *launch = f.m->kernels->launch;
        pg_region *body = f.m->kernels->body;
        if ((info->level & PG_L_LAUNCH) == 0) {
            pg_inst_move_before(i, launch->first);
            expect(&f, (pg_op)op, PG_D_LEVEL, "a place in the launch region");
        } else if ((info->level & PG_L_BOTH) == 0) {
            pg_inst_move_before(i, body->first);
            expect(&f, (pg_op)op, PG_D_LEVEL, "a place outside the launch region");
        }
        end(&f);
    }
}

/* ---- what text cannot say ------------------------------------------------------------------ */

static void make_text(fixture *f, const char *text)
{
    pg_alloc alloc = pg_alloc_default();
    cr_assert_eq(pg_ctx_init(&f->ctx, alloc), PG_OK);
    pg_arena_init(&f->arena, alloc);
    pg_diags_init(&f->diags, &f->arena, alloc);
    pg_strbuf_init(&f->text, alloc);
    cr_assert_eq(pg_parse(&f->ctx, pg_str_of(text), &f->diags, &f->m), PG_OK);
}

Test(ir_verify, operands_regions_and_names_that_only_a_builder_can_break)
{
    fixture f;
    make(&f, PG_OP_FOR);
    pg_kernel *k = f.m->kernels;
    pg_inst *loop = find(&f, PG_OP_FOR);
    pg_val start = loop->in[0];
    pg_inst_set_in(loop, 0, (pg_val){0});
    expect(&f, PG_OP_FOR, PG_D_NO_OPERAND, "no operand");
    pg_inst_set_in(loop, 0, start);
    f.diags.n = 0;
    loop->n_regions = 0;
    expect(&f, PG_OP_FOR, PG_D_REGION_COUNT, "no region");
    loop->n_regions = 1;
    f.diags.n = 0;
    pg_kernel *twin = pg_kernel_new(f.m, k->name, (pg_loc){99, 1});
    pg_inst_append(twin->body, pg_inst_new(twin, PG_OP_RETURN, 0, NULL, 0, NULL, 0));
    expect(&f, PG_OP_FOR, PG_D_KERNEL_TWICE, "a kernel of the same name");
    end(&f);
}

Test(ir_verify, property_laid_out)
{
    static const char text[] =
        "ptir 1\nmodule sm_80\n"
        "enc #a = blocked [order=(0), regs=(2), lanes=(32), warps=(1)]\n"
        "enc #b = blocked [order=(0, 1), regs=(2, 1), lanes=(32, 1), warps=(1, 1)]\n"
        "enc #c = blocked [order=(0, 1), regs=(1, 1), lanes=(32, 1), warps=(1, 1)]\n"
        "kernel @k() [warps=1] {\n"
        "  %i = iota : tile<64xi32, #a>\n"
        "  %j = expand %i [dim=1] : tile<64x1xi32, #b>\n"
        "  %k = expand %i [dim=1] : tile<64x1xi32, #c>\n"
        "  %l = iota : tile<64xi32>\n"
        "  return\n}\n";
    fixture f;
    make_text(&f, text);
    cr_assert_eq(pg_verify(f.m, 0), PG_OK);
    cr_assert_eq(pg_verify(f.m, 1), PG_E_INVALID);
    cr_assert_eq(f.diags.n, 2);
    cr_assert_eq(f.diags.at[0].id, PG_D_MOVES_DATA);
    cr_assert_eq(f.diags.at[0].loc.line, 9);
    cr_assert_eq(f.diags.at[1].id, PG_D_NOT_LAID_OUT);
    cr_assert_eq(f.diags.at[1].loc.line, 10);
    end(&f);
}

Test(ir_parse, more_operands_than_an_instruction_holds)
{
    fixture f;
    pg_alloc alloc = pg_alloc_default();
    cr_assert_eq(pg_ctx_init(&f.ctx, alloc), PG_OK);
    pg_arena_init(&f.arena, alloc);
    pg_diags_init(&f.diags, &f.arena, alloc);
    pg_strbuf_init(&f.text, alloc);
    pg_put(&f.text, "ptir 1\nmodule sm_80\nkernel @k(%n: i32) {\n  yield %n");
    for (uint32_t i = 0; i < 70000; i++) {
        pg_put(&f.text, ", %n");
    }
    pg_put(&f.text, "\n  return\n}\n");
    cr_assert_eq(pg_parse(&f.ctx, pg_strbuf_str(&f.text), &f.diags, &f.m), PG_E_PARSE);
    cr_assert_eq(f.diags.at[0].id, PG_D_TOO_MANY);
    end(&f);
}

/* Where a literal is left to the verifier, since it is the operation that is wrong, the verifier
 * has something to say: of each operation that computes with one kind of numbers. */
Test(ir_parse, literals_of_wrong_operations_are_refused)
{
    uint32_t n_ops = 0;
    for (int op = PG_OP_NONE + 1; op < PG_OP_COUNT; op++) {
        const pg_op_info *info = &pg_op_infos[op];
        const bool is_compare = info->res == PG_R_CMP;
        const bool wants_float = op == PG_OP_FCMP || info->res == PG_R_FLOAT;
        if (!is_compare && info->res != PG_R_INT && info->res != PG_R_FLOAT) {
            continue;
        }
        for (int value_first = 0; value_first < 2; value_first++) {
            fixture f;
            pg_alloc alloc = pg_alloc_default();
            cr_assert_eq(pg_ctx_init(&f.ctx, alloc), PG_OK);
            pg_arena_init(&f.arena, alloc);
            pg_diags_init(&f.diags, &f.arena, alloc);
            pg_strbuf_init(&f.text, alloc);
            pg_putf(&f.text, "ptir 1\nmodule sm_80\nkernel @k(%%v: %s) {\n  %%r = %s",
                    wants_float ? "i32" : "f32", info->text);
            for (int i = 0; i < info->n_in; i++) { /* text for a float in int's place, or not */
                const bool is_value = i == 0 && value_first != 0;
                pg_put(&f.text, i == 0 ? " " : ", ");
                pg_put(&f.text, is_value ? "%v" : wants_float ? "2.5" : "0x1F");
            }
            /* Of literals alone the type of a comparison is its own. */
            const char *type = is_compare ? "i1" : wants_float ? "i32" : "f32";
            pg_putf(&f.text, "%s : %s\n  return\n}\n", is_compare ? " [is=lt]" : "", type);
            const bool is_parsed =
                pg_parse(&f.ctx, pg_strbuf_str(&f.text), &f.diags, &f.m) == PG_OK;
            const bool is_own_type = is_compare && (value_first == 0 || info->n_in < 2);
            cr_assert(is_own_type || is_parsed, "%s", f.text.ptr);
            if (!is_own_type) {
                cr_assert_eq(pg_verify(f.m, 0), PG_E_INVALID, "%s", f.text.ptr);
                n_ops++;
            }
            end(&f);
        }
    }
    cr_assert_gt(n_ops, 60);
}

/* Words of other languages lead to words that are there, and are none of this one. */
Test(ir_table, foreign_words_lead_to_ours)
{
    static const struct {
        pg_foreign_kind kind;
        const char *theirs, *ours, *other;
    } rows[] = {
#define FOREIGN(kind, theirs, ours, other) {PG_FOREIGN_##kind, theirs, ours, other},
#include "ir/foreign.def"
    };
    pg_words known;
    pg_words_init(&known);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const char *const words[] = {rows[i].ours, rows[i].other};
        pg_nearest near = pg_nearest_of(pg_str_of(rows[i].theirs));
        pg_foreign_try(&near, rows[i].kind);
        cr_assert(pg_str_is(near.word, rows[i].ours), "%s stands twice", rows[i].theirs);
        if (rows[i].kind != PG_FOREIGN_OP) {
            continue;
        }
        cr_assert_eq(pg_op_find(&known, pg_str_of(rows[i].theirs)), PG_OP_NONE, "%s",
                     rows[i].theirs);
        for (size_t w = 0; w < 2 && words[w][0] != '\0'; w++) {
            cr_assert_neq(pg_op_find(&known, pg_str_of(words[w])), PG_OP_NONE, "%s", words[w]);
        }
    }
}
