/* test_int.c: integer, logic and bit-field instructions at their edges. */
#include <criterion/criterion.h>

#include "tests/exec/harness.h"

#define CHECK(rows) exec_check_rows(rows, sizeof(rows) / sizeof(rows)[0])
#define M1          0xFFFFFFFFu
#define M1L         UINT64_MAX

Test(exec_int, add_sub)
{
    static const exec_row rows[] = {
        {'r', "add.u32 %r3, %r0, %r1;", M1, 2, 0, 1},
        {'r', "add.sat.s32 %r3, %r0, %r1;", 0x7FFFFFFF, 1, 0, 0x7FFFFFFF},
        {'r', "add.sat.s32 %r3, %r0, %r1;", 0x80000000, M1, 0, 0x80000000},
        {'r', "sub.sat.s32 %r3, %r0, %r1;", 0x80000000, 1, 0, 0x80000000},
        {'r', "sub.s32 %r3, %r0, %r1;", 0, 1, 0, M1},
        {'d', "add.s64 %rd3, %rd0, %rd1;", M1L, 1, 0, 0},
        {'d', "sub.u64 %rd3, %rd0, %rd1;", 0, 1, 0, M1L},
        {'h', "add.u16 %h3, %h0, %h1;", 0xFFFF, 3, 0, 2},
        {'h', "sub.s16 %h3, %h0, %h1;", 0, 1, 0, 0xFFFF},
        {'r', "add.cc.u32 %r4, %r0, %r1; addc.u32 %r3, 10, 20;", M1, 1, 0, 31},
        {'r', "add.cc.u32 %r4, %r0, %r1; addc.u32 %r3, 10, 20;", 5, 1, 0, 30},
        {'r', "sub.cc.u32 %r4, %r0, %r1; subc.u32 %r3, 10, 3;", 0, 1, 0, 6},
        {'d', "add.cc.u64 %rd4, %rd0, %rd1; addc.u64 %rd3, 1, 1;", M1L, 1, 0, 3},
        {'r', "add.cc.u32 %r4, %r0, %r1; addc.cc.u32 %r4, %r0, %r1; addc.u32 %r3, 0, 0;", M1, M1, 0,
         1},
        {'r', "mad.lo.cc.u32 %r4, %r0, %r1, 1; madc.hi.u32 %r3, %r0, %r1, 0;", M1, M1, 0, M1 - 1},
        {'r', "mad.lo.cc.u32 %r4, %r0, %r1, %r2; madc.hi.u32 %r3, %r0, %r1, 0;", M1, M1, M1,
         M1 - 1 + 1},
    };
    CHECK(rows);
}

/* By the loops of the ISA's page: a above b above the low bits of c. */
Test(exec_int, pack)
{
    static const exec_row rows[] = {
        {'r', "cvt.pack.sat.u16.s32 %r3, %r0, %r1;", 0x12345, 0xFFFFFFF0, 0, 0xFFFF0000},
        {'r', "cvt.pack.sat.u16.s32 %r3, %r0, %r1;", 0x1234, 0xFFFF, 0, 0x1234FFFF},
        {'r', "cvt.pack.sat.s16.s32 %r3, %r0, %r1;", 0x8000, 0xFFFF7FFF, 0, 0x7FFF8000},
        {'r', "cvt.pack.sat.s16.s32 %r3, %r0, %r1;", 5, 0xFFFFFFFE, 0, 0x0005FFFE},
        {'r', "cvt.pack.sat.u8.s32.b32 %r3, %r0, %r1, %r2;", 300, M1, 0xAABBCCDD, 0xCCDDFF00},
        {'r', "cvt.pack.sat.s8.s32.b32 %r3, %r0, %r1, %r2;", 300, M1 - 299, 0xAABBCCDD, 0xCCDD7F80},
        {'r', "cvt.pack.sat.u4.s32.b32 %r3, %r0, %r1, %r2;", 3, 99, 0xAABBCCDD, 0xBBCCDD3F},
        {'r', "cvt.pack.sat.s4.s32.b32 %r3, %r0, %r1, %r2;", M1, M1 - 99, 0xAABBCCDD, 0xBBCCDDF8},
        {'r', "cvt.pack.sat.u2.s32.b32 %r3, %r0, %r1, %r2;", 2, 99, 0xAABBCCDD, 0xABBCCDDB},
        {'r', "cvt.pack.sat.s2.s32.b32 %r3, %r0, %r1, %r2;", 7, M1 - 6, 0xAABBCCDD, 0xABBCCDD6},
    };
    CHECK(rows);
}

Test(exec_int, mul)
{
    static const exec_row rows[] = {
        {'r', "mul.lo.s32 %r3, %r0, %r1;", M1, M1, 0, 1},
        {'r', "mul.hi.u32 %r3, %r0, %r1;", M1, M1, 0, M1 - 1},
        {'r', "mul.hi.s32 %r3, %r0, %r1;", M1, 2, 0, M1},
        {'d', "mul.wide.u32 %rd3, %r0, %r1;", M1, M1, 0, 0xFFFFFFFE00000001u},
        {'d', "mul.wide.s32 %rd3, %r0, %r1;", M1, 2, 0, UINT64_MAX - 1},
        {'r', "mul.wide.u16 %r3, %h0, %h1;", 0xFFFF, 0xFFFF, 0, 0xFFFE0001},
        {'r', "mul.wide.s16 %r3, %h0, %h1;", 0xFFFF, 2, 0, 0xFFFFFFFE},
        {'d', "mul.hi.u64 %rd3, %rd0, %rd1;", M1L, M1L, 0, M1L - 1},
        {'d', "mul.hi.s64 %rd3, %rd0, %rd1;", M1L, M1L, 0, 0},
        {'h', "mul.hi.s16 %h3, %h0, %h1;", 0x8000, 0x8000, 0, 0x4000},
        {'h', "mul.lo.u16 %h3, %h0, %h1;", 0x1234, 0x10, 0, 0x2340},
        {'r', "mad.lo.s32 %r3, %r0, %r1, %r2;", 3, 5, M1, 14},
        {'r', "mad.hi.u32 %r3, %r0, %r1, %r2;", M1, M1, 3, 1},
        {'r', "mad.hi.sat.s32 %r3, %r0, %r1, %r2;", 0x40000000, 0x40000000, 0x7FFFFFFF, 0x7FFFFFFF},
        {'d', "mad.wide.u32 %rd3, %r0, %r1, %rd2;", M1, 2, 5, 0x200000003u},
        {'d', "mad.lo.u64 %rd3, %rd0, %rd1, %rd2;", 1u << 31, 16, 7, 0x800000007u},
        {'r', "mul24.lo.u32 %r3, %r0, %r1;", 0xFF000003, 5, 0, 15},
        {'r', "mul24.lo.s32 %r3, %r0, %r1;", 0x00FFFFFF, 5, 0, 0xFFFFFFFB},
        {'r', "mul24.hi.u32 %r3, %r0, %r1;", 0xFFFFFF, 0xFFFFFF, 0, 0xFFFFFE00},
        {'r', "mad24.lo.u32 %r3, %r0, %r1, %r2;", 7, 8, 9, 65},
        {'r', "dp4a.u32.u32 %r3, %r0, %r1, %r2;", 0x01020304, 0x05060708, 100,
         100 + 5 + 12 + 21 + 32},
        {'r', "dp4a.s32.s32 %r3, %r0, %r1, %r2;", 0xFFFFFFFF, 0x01010101, 10, 6},
        {'r', "vabsdiff4.u32.u32.u32 %r3, %r0, %r1, %r2;", 0x00FF0510, 0xFF000F08, 99, 0xFFFF0A08},
        {'r', "vabsdiff4.u32.u32.u32.add %r3, %r0, %r1, %r2;", 0x00FF0510, 0xFF000F08, 99,
         99 + 510 + 18},
        {'r', "vabsdiff4.u32.s32.s32.add %r3, %r0, %r1, %r2;", 0x00FF0580, 0xFF000F7F, 0,
         1 + 1 + 10 + 255},
        {'r', "dp2a.lo.s32.u32 %r3, %r0, %r1, %r2;", 0xFFFF0003, 0x0605, 1, 1 + 15 - 6},
    };
    CHECK(rows);
}

Test(exec_int, div_rem)
{
    static const exec_row rows[] = {
        {'r', "div.u32 %r3, %r0, %r1;", 7, 0, 0, M1},
        {'r', "rem.u32 %r3, %r0, %r1;", 7, 0, 0, 7},
        {'r', "div.s32 %r3, %r0, %r1;", 0x80000000, M1, 0, 0x80000000},
        {'r', "rem.s32 %r3, %r0, %r1;", 0x80000000, M1, 0, 0},
        {'r', "div.s32 %r3, %r0, %r1;", M1 - 6, 2, 0, M1 - 2},
        {'r', "rem.s32 %r3, %r0, %r1;", M1 - 6, 2, 0, M1},
        {'d', "div.s64 %rd3, %rd0, %rd1;", 1ull << 63, M1L, 0, 1ull << 63},
        {'d', "rem.u64 %rd3, %rd0, %rd1;", 100, 7, 0, 2},
        {'h', "div.s16 %h3, %h0, %h1;", 0xFFF9, 2, 0, 0xFFFD},
        {'h', "rem.u16 %h3, %h0, %h1;", 0xFFFF, 16, 0, 15},
        {'h', "div.u16 %h3, %h0, %h1;", 9, 0, 0, 0xFFFF},
    };
    CHECK(rows);
}

Test(exec_int, sign_min_max)
{
    static const exec_row rows[] = {
        {'r', "abs.s32 %r3, %r0;", 0x80000000, 0, 0, 0x80000000},
        {'r', "abs.s32 %r3, %r0;", M1, 0, 0, 1},
        {'r', "neg.s32 %r3, %r0;", 0x80000000, 0, 0, 0x80000000},
        {'d', "abs.s64 %rd3, %rd0;", M1L - 4, 0, 0, 5},
        {'d', "neg.s64 %rd3, %rd0;", 5, 0, 0, M1L - 4},
        {'h', "neg.s16 %h3, %h0;", 1, 0, 0, 0xFFFF},
        {'r', "min.s32 %r3, %r0, %r1;", M1, 1, 0, M1},
        {'r', "min.u32 %r3, %r0, %r1;", M1, 1, 0, 1},
        {'r', "max.s32 %r3, %r0, %r1;", M1, 1, 0, 1},
        {'d', "max.u64 %rd3, %rd0, %rd1;", M1L, 1, 0, M1L},
        {'d', "min.s64 %rd3, %rd0, %rd1;", M1L, 1, 0, M1L},
        {'h', "max.s16 %h3, %h0, %h1;", 0x8000, 3, 0, 3},
        {'r', "add.u16x2 %r3, %r0, %r1;", 0x8000FFFF, 0x8001FFFF, 0, 0x0001FFFE},
        {'r', "add.s16x2 %r3, %r0, %r1;", 0x7FFF0001, 0x0001FFFE, 0, 0x8000FFFF},
        {'r', "min.u16x2 %r3, %r0, %r1;", 0x8000FFFF, 0x7FFF0001, 0, 0x7FFF0001},
        {'r', "max.u16x2 %r3, %r0, %r1;", 0x8000FFFF, 0x7FFF0001, 0, 0x8000FFFF},
        {'r', "min.s16x2 %r3, %r0, %r1;", 0x8000FFFF, 0x7FFF0001, 0, 0x8000FFFF},
        {'r', "max.s16x2 %r3, %r0, %r1;", 0x8000FFFF, 0x7FFF0001, 0, 0x7FFF0001},
        {'r', "min.relu.s16x2 %r3, %r0, %r1;", 0x8000FFFF, 0x7FFF0001, 0, 0},
        {'r', "max.relu.s16x2 %r3, %r0, %r1;", 0x8000FFFF, 0x0005FFFE, 0, 0x00050000},
        {'r', "sad.u32 %r3, %r0, %r1, %r2;", 3, 10, 100, 107},
        {'r', "sad.s32 %r3, %r0, %r1, %r2;", M1, 10, 100, 111},
        {'r', "cnot.b32 %r3, %r0;", 0, 0, 0, 1},
        {'r', "cnot.b32 %r3, %r0;", 9, 0, 0, 0},
    };
    CHECK(rows);
}

Test(exec_int, logic_and_shifts)
{
    static const exec_row rows[] = {
        {'r', "and.b32 %r3, %r0, %r1;", 0xF0F0, 0xFF00, 0, 0xF000},
        {'r', "or.b32 %r3, %r0, 0x0F;", 0xF0, 0, 0, 0xFF},
        {'d', "xor.b64 %rd3, %rd0, %rd1;", M1L, 0xFF, 0, M1L - 0xFF},
        {'r', "not.b32 %r3, %r0;", 0, 0, 0, M1},
        {'p', "mov.pred %p3, %is_explicit_cluster;", 0, 0, 0, 0},
        {'p', "and.pred %p3, %p0, %p1;", 1, 0, 0, 0},
        {'p', "xor.pred %p3, %p0, %p1;", 1, 0, 0, 1},
        {'p', "not.pred %p3, %p0;", 1, 0, 0, 0},
        {'r', "shl.b32 %r3, %r0, %r1;", 1, 31, 0, 0x80000000},
        {'r', "shl.b32 %r3, %r0, %r1;", 1, 32, 0, 0},
        {'r', "shl.b32 %r3, %r0, %r1;", 1, M1, 0, 0},
        {'r', "shr.u32 %r3, %r0, %r1;", M1, 33, 0, 0},
        {'r', "shr.s32 %r3, %r0, %r1;", 0x80000000, 100, 0, M1},
        {'r', "shr.s32 %r3, %r0, %r1;", 0x80000000, 4, 0, 0xF8000000},
        {'d', "shl.b64 %rd3, %rd0, %r1;", 1, 64, 0, 0},
        {'d', "shr.s64 %rd3, %rd0, %r1;", 1ull << 63, 63, 0, M1L},
        {'d', "shr.u64 %rd3, %rd0, %r1;", 1ull << 63, 63, 0, 1},
        {'h', "shl.b16 %h3, %h0, %r1;", 0xFFFF, 4, 0, 0xFFF0},
        {'h', "shr.s16 %h3, %h0, %r1;", 0x8000, 20, 0, 0xFFFF},
        {'r', "shf.l.wrap.b32 %r3, %r0, %r1, %r2;", 0x80000000, 1, 33, 3},
        {'r', "shf.l.clamp.b32 %r3, %r0, %r1, %r2;", 0x80000000, 1, 40, 0x80000000},
        {'r', "shf.r.clamp.b32 %r3, %r0, %r1, %r2;", 5, 7, 40, 7},
        {'r', "shf.r.wrap.b32 %r3, %r0, %r1, %r2;", 0x10, 0xA, 4, 0xA0000001},
        {'r', "lop3.b32 %r3, %r0, %r1, %r2, 0xE8;", 0xC, 0xA, 0x9, 0x8 | 0x8},
        {'r', "lop3.b32 %r3, %r0, %r1, %r2, 0x96;", 0xC, 0xA, 0x9, 0xC ^ 0xA ^ 0x9},
        {'r', "lop3.b32 %r3, %r0, %r1, %r2, 0x01;", 0xC, 0xA, 0x9, ~0xFu & M1},
        /* %p0 is the lowest bit of a */
        {'r', "lop3.or.b32 %r3|%p3, %r0, %r1, %r2, 0x96, %p0;", 0xC, 0xA, 0x9, 0xC ^ 0xA ^ 0x9},
        {'p', "lop3.or.b32 %r4|%p3, %r0, %r1, %r2, 0x80, %p0;", 0xC, 0x4, 0x4, 1},
        {'p', "lop3.or.b32 %r4|%p3, %r0, %r1, %r2, 0x80, %p0;", 0xC, 0x2, 0x4, 0},
        {'p', "lop3.or.b32 _|%p3, %r0, %r1, %r2, 0x80, %p0;", 0xD, 0x2, 0x4, 1},
        {'p', "lop3.or.b32 _|%p3, %r0, %r1, %r2, 0x80, !%p0;", 0xD, 0x2, 0x4, 0},
        {'p', "lop3.and.b32 _|%p3, %r0, %r1, %r2, 0x80, %p0;", 0xD, 0x4, 0x4, 1},
        {'p', "lop3.and.b32 _|%p3, %r0, %r1, %r2, 0x80, %p0;", 0xC, 0x4, 0x4, 0},
        {'p', "lop3.and.b32 _|%p3, %r0, %r1, %r2, 0x80, %p0;", 0xD, 0x2, 0x4, 0},
        {'p', "lop3.and.b32 _|%p0, %r0, %r1, %r2, 0x80, %p0; mov.pred %p3, %p0;", 0xD, 0x4, 0x4, 1},
    };
    CHECK(rows);
}

Test(exec_int, fields)
{
    static const exec_row rows[] = {
        {'r', "bfe.u32 %r3, %r0, 4, 8;", 0xABCD, 0, 0, 0xBC},
        {'r', "bfe.s32 %r3, %r0, 4, 8;", 0xABCD, 0, 0, 0xFFFFFFBC},
        {'r', "bfe.u32 %r3, %r0, %r1, %r2;", M1, 40, 5, 0},
        {'r', "bfe.s32 %r3, %r0, %r1, %r2;", 0x80000000, 30, 8, 0xFFFFFFFE},
        {'r', "bfe.u32 %r3, %r0, %r1, %r2;", M1, 3, 0, 0},
        {'d', "bfe.s64 %rd3, %rd0, 60, 4;", 0x9ull << 60, 0, 0, M1L - 6},
        {'r', "bfi.b32 %r3, %r0, %r1, 8, 4;", 0x5, M1, 0, 0xFFFFF5FF},
        {'r', "bfi.b32 %r3, %r0, %r1, 8, 0;", 0x5, 0x77, 0, 0x77},
        {'r', "bfi.b32 %r3, %r0, %r1, 28, 12;", M1, 0, 0, 0xF0000000},
        {'d', "bfi.b64 %rd3, %rd0, %rd1, 32, 32;", 0x12345678, 0x9, 0, 0x1234567800000009u},
        {'r', "bfind.u32 %r3, %r0;", 0x00010000, 0, 0, 16},
        {'r', "bfind.u32 %r3, %r0;", 0, 0, 0, M1},
        {'r', "bfind.s32 %r3, %r0;", M1, 0, 0, M1},
        {'r', "bfind.s32 %r3, %r0;", 0xFFFFFF00, 0, 0, 7},
        {'r', "bfind.shiftamt.u32 %r3, %r0;", 1, 0, 0, 31},
        {'r', "bfind.u64 %r3, %rd0;", 1ull << 40, 0, 0, 40},
        {'r', "brev.b32 %r3, %r0;", 1, 0, 0, 0x80000000},
        {'d', "brev.b64 %rd3, %rd0;", 2, 0, 0, 1ull << 62},
        {'r', "popc.b32 %r3, %r0;", M1, 0, 0, 32},
        {'r', "popc.b64 %r3, %rd0;", M1L, 0, 0, 64},
        {'r', "clz.b32 %r3, %r0;", 0, 0, 0, 32},
        {'r', "clz.b64 %r3, %rd0;", 1, 0, 0, 63},
        {'r', "prmt.b32 %r3, %r0, %r1, 0x7531;", 0x44332211, 0x88776655, 0, 0x88664422},
        {'r', "prmt.b32 %r3, %r0, %r1, 0x000B;", 0x80332211, 0, 0, 0x111111FF},
        {'r', "prmt.b32.f4e %r3, %r0, %r1, %r2;", 0x44332211, 0x88776655, 1, 0x55443322},
        {'r', "prmt.b32.b4e %r3, %r0, %r1, %r2;", 0x44332211, 0x88776655, 0, 0x66778811},
        {'r', "prmt.b32.rc8 %r3, %r0, %r1, %r2;", 0x44332211, 0, 2, 0x33333333},
        {'r', "prmt.b32.rc16 %r3, %r0, %r1, %r2;", 0x44332211, 0, 1, 0x44334433},
        {'r', "bmsk.clamp.b32 %r3, %r0, %r1;", 4, 8, 0, 0xFF0},
        {'r', "szext.clamp.s32 %r3, %r0, %r1;", 0x80, 8, 0, 0xFFFFFF80},
        {'r', "szext.wrap.u32 %r3, %r0, %r1;", 0x1FF, 40, 0, 0xFF},
        {'r', "fns.b32 %r3, %r0, %r1, %r2;", 0xAA, 3, 1, 3},
        {'r', "fns.b32 %r3, %r0, %r1, %r2;", 0xAA, 4, 1, 5},
        {'r', "fns.b32 %r3, %r0, %r1, %r2;", 0xAA, 4, M1, 3},
    };
    CHECK(rows);
}

Test(exec_int, compare_and_select)
{
    static const exec_row rows[] = {
        {'p', "setp.lt.s32 %p3, %r0, %r1;", M1, 0, 0, 1},
        {'p', "setp.lt.u32 %p3, %r0, %r1;", M1, 0, 0, 0},
        {'p', "setp.hs.u32 %p3, %r0, %r1;", 5, 5, 0, 1},
        {'p', "setp.ne.b16 %p3, %h0, %h1;", 5, 0x10005, 0, 0},
        {'p', "setp.gt.s64 %p3, %rd0, %rd1;", 1, M1L, 0, 1},
        {'p', "setp.eq.and.s32 %p3, %r0, %r1, %p2;", 5, 5, 0, 0},
        {'p', "setp.eq.or.s32 %p3, %r0, %r1, %p2;", 5, 6, 1, 1},
        {'p', "setp.eq.xor.s32 %p3|%p4, %r0, %r1, %p2; mov.pred %p3, %p4;", 5, 5, 1, 1},
        {'p', "setp.eq.and.s32 %p3, %r0, %r1, !%p2;", 5, 5, 0, 1},
        {'p', "setp.lt.f32 %p3, %f0, %f1;", 0x7FC00000, 0, 0, 0},
        {'p', "setp.ltu.f32 %p3, %f0, %f1;", 0x7FC00000, 0, 0, 1},
        {'p', "setp.nan.f32 %p3, %f0, %f1;", 0x7FC00000, 0, 0, 1},
        {'p', "setp.num.f32 %p3, %f0, %f1;", 0x3F800000, 0, 0, 1},
        {'p', "setp.eq.f32 %p3, %f0, %f1;", 0x80000000, 0, 0, 1},
        {'p', "setp.gt.ftz.f32 %p3, %f0, %f1;", 0x00000001, 0, 0, 0},
        {'p', "setp.neu.f64 %p3, %fd0, %fd1;", 0x7FF8000000000000u, 0, 0, 1},
        {'p', "setp.gt.f16 %p3, %h0, %h1;", 0x3C00, 0xBC00, 0, 1},
        {'r', "set.lt.u32.s32 %r3, %r0, %r1;", 1, 2, 0, M1},
        {'f', "set.lt.f32.s32 %f3, %r0, %r1;", 1, 2, 0, 0x3F800000},
        {'r', "selp.b32 %r3, %r0, %r1, %p2;", 7, 8, 1, 7},
        {'d', "selp.s64 %rd3, %rd0, %rd1, %p2;", 7, 8, 0, 8},
        {'r', "slct.s32.s32 %r3, %r0, %r1, %r2;", 7, 8, M1, 8},
        {'f', "slct.f32.f32 %f3, %f0, %f1, %f2;", 7, 8, 0x80000000, 7},
        {'f', "copysign.f32 %f3, %f0, %f1;", 0x80000000, 0x3F800000, 0, 0xBF800000},
        {'p', "testp.subnormal.f32 %p3, %f0;", 1, 0, 0, 1},
        {'p', "testp.normal.f32 %p3, %f0;", 0, 0, 0, 0},
        {'p', "testp.infinite.f64 %p3, %fd0;", 0xFFF0000000000000u, 0, 0, 1},
        {'p', "testp.notanumber.f32 %p3, %f0;", 0x7F800001, 0, 0, 1},
        {'r', "mov.b32 %r3, {%h0, %h1};", 0x1234, 0x5678, 0, 0x56781234},
        {'d', "mov.b64 %rd3, {%r0, %r1};", 0x1234, 0x5678, 0, 0x567800001234u},
        {'h', "mov.b32 {_, %h3}, %r0;", 0x56781234, 0, 0, 0x5678},
        {'r', "mov.b64 {%r3, _}, %rd0;", 0x5678123400000009u, 0, 0, 9},
        {'r', "{ .reg .b16 %x<4>; mov.b64 {%x0, %x1, %x2, %x3}, %rd0; cvt.u32.u16 %r3, %x2; }",
         0x0004000300020001u, 0, 0, 3},
        {'p', "isspacep.shared %p3, %rd0;", 5, 0, 0, 0},
        {'d', "cvta.shared.u64 %rd4, %rd0; cvta.to.shared.u64 %rd3, %rd4;", 0x440, 0, 0, 0x440},
        {'p', "cvta.local.u64 %rd4, %rd0; isspacep.local %p3, %rd4;", 0x440, 0, 0, 1},
    };
    CHECK(rows);
}
