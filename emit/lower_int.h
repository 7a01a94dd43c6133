/* lower_int.h: what the files of the lowering share.
 *
 * A value is an array of elements, one per register index of its layout (a scalar has one). An
 * element is a PTX register plus an immediate, or an immediate alone: so `iota + const`, index
 * tiles and pointer tiles collapse to few registers, and addresses come out as [reg+imm].
 *
 * I1  i8 and i16 stand sign-extended in 32-bit registers; i1 is a predicate.
 * I2  only i32, i64 and pointers have a register and an immediate at once.
 *     What tiles of rows and columns have in few different elements is computed once for each:
 *     pg_lv.same.
 * I3  facts hold for a register's value, not for the element's.
 * I4  pure instructions are numbered: the same opcode and operands in the dominating scope give the
 *     same register. Registers that loops change are written only where no number can see it: at
 *     the end of the loop's body, whose scope closes there. */
#ifndef PG_EMIT_LOWER_INT_H
#define PG_EMIT_LOWER_INT_H

#include "emit/lower.h"
#include "ir/convert.h"
#include "ir/elem.h"
#include "ir/interp.h"
#include "ir/layout.h"
#include "ir/target.h"

typedef struct pg_el {
    uint32_t reg; /* register id + 1; 0: the immediate alone */
    bool is_nw;   /* reg + imm does not wrap as a signed number of its type */
    int64_t imm;  /* integers: sign-extended; floats: the pattern; i1: 0 or 1 */
} pg_el;

typedef struct pg_fact { /* of a register with an integer */
    int64_t lo, hi;
    uint8_t align; /* log2 of a power of two that divides it; 63 for 0 */
} pg_fact;

typedef struct pg_part {    /* what a register of 64 bits was made of, and what last of it */
    uint32_t of[2];         /* of[0] + of[1], ids + 1; */
    uint32_t shift;         /* or of[0] << shift; all 0: something else */
    uint32_t vn;            /* its number, where it was made so */
    uint32_t serial;        /* of its making: an id that is used again has another */
    uint32_t base, by, sum; /* base + (it << by) is sum - 1, if sum is not 0, */
    uint32_t sum_serial;    /* as long as that is still the sum that it was */
} pg_part;

/* What lies in shared memory: a buffer, a ring's or an array's barriers. */
typedef struct pg_smem_obj {
    const pg_inst *inst;
    uint32_t offset;
    uint32_t n_slots, slot_stride; /* barriers: n of 8 bytes */
    uint32_t n_bytes;
} pg_smem_obj;

/* Launch facts of a kernel that the manifest needs too. */
typedef struct pg_launch_plan {
    uint32_t n_warps;      /* all warps of a CTA */
    uint32_t kernel_warps; /* the declared ones */
    uint32_t min_ctas;
    uint32_t entry_regs; /* registers per thread at entry where setmaxnreg is used, else 0 */
    uint32_t smem;       /* bytes */
    PG_VEC(pg_smem_obj) objs;
} pg_launch_plan;

/* Reports what cannot be placed; fills the plan as far as it goes. */
pg_status pg_launch_plan_make(const pg_kernel *k, pg_arena *arena, pg_diags *diags,
                              pg_launch_plan *out);

/* The manifest with what only the emitted code knows, its version. */
pg_status pg_lw_manifest(pg_strbuf *out, const pg_kernel *k, const pg_launch_plan *plan,
                         uint32_t ptx_version, pg_diags *diags);

typedef enum pg_lv_kind { PG_LV_NONE, PG_LV_TILE, PG_LV_SMEM, PG_LV_TOKEN, PG_LV_DESC } pg_lv_kind;

typedef struct pg_lv { /* what a value became */
    uint8_t kind;
    bool has_slot; /* SMEM: a view of one slot */
    bool is_bytes; /* SMEM: `slot` counts bytes (lower_cursor.c) */
    uint32_t n;
    pg_el *el;      /* TILE; TOKEN: accumulators */
    uint32_t *word; /* TILE: ids of 32-bit registers with `per` elements each, instead of el;
                       pg_lw_lv takes them apart */
    uint32_t per;
    uint32_t same; /* TILE: bits of r that el[r] is known not to depend on: el[r & ~same] */
    uint32_t sym;  /* DESC: parameter */
    const pg_smem_obj *obj; /* SMEM */
    pg_el slot;
} pg_lv;

typedef struct pg_lw_layout { /* a tile's layout, with what is asked often */
    pg_layout l;
    pg_type type; /* that it was made for; others of its shape may have it too */
    uint32_t n_regs, n_warps;
    uint32_t *coord;            /* of register r at lane 0, warp 0: coord[r * rank + d] */
    uint32_t free_reg;          /* register bits that are replicas */
    uint32_t same[PG_MAX_RANK]; /* register bits that do not change the coordinate along d */
    uint32_t free_thread;       /* bits of the thread's index in the partition that are replicas */
} pg_lw_layout;
static inline uint32_t *pg_lw_coord(const pg_lw_layout *l, uint32_t reg)
{
    return l->coord + (size_t)reg * l->l.rank;
}

typedef struct pg_vn { /* a numbered instruction */
    uint32_t reg;
    uint32_t stmt; /* in the body */
} pg_vn;

/* Sums of two registers and products of a register and a number that were made lately: most
 * elements of a tile are a register that others have too, and a number. Gone when a scope closes.
 */
enum { PG_LW_SUMS = 32 };
typedef struct pg_lw_sum {
    uint32_t reg; /* of the result, + 1 */
    pg_elem e;
    uint32_t a, b; /* registers + 1; a is 0: nothing is here; b is 0: a times k */
    int64_t k;     /* with b: 0: a + b; else a + b times k, an address */
    pg_fact f;     /* of the result */
    bool is_part_nw;
} pg_lw_sum;

typedef struct pg_move_reg {          /* a register, to the moves of one call */
    uint32_t stamp;                   /* of the call that the rest is of */
    uint32_t n_readers, first_reader; /* moves still to come: how many, the first + 1 */
    uint32_t writer;                  /* move + 1 */
} pg_move_reg;

typedef struct pg_move_room { /* of pg_lw_moves, kept from call to call */
    pg_move_reg *of;          /* by register */
    uint32_t n_regs, stamp;
    pg_vec_u32 next_reader; /* by move: + 1 */
    pg_vec_u32 ready;
} pg_move_room;

typedef struct pg_loop_plan { /* how a loop's carried values are held; outlives a second try */
    bool *is_expanded;
    uint8_t *align;
    uint8_t *guess; /* alignments to begin with, at most */
} pg_loop_plan;

typedef struct pg_lw_layout_of_type {
    pg_lw_layout *layout;
    uint32_t next; /* of the type, with other warps: index + 1 */
} pg_lw_layout_of_type;

/* What emission found out of opcodes and types, kept with the context. */
typedef struct pg_lw_kept {
    pg_arena *arena; /* the context's */
    pg_ptx_spellings *spellings;
    PG_VEC(uint32_t) layout_of; /* by type: index of the first in layout_at, + 1 */
    PG_VEC(pg_lw_layout_of_type) layout_at;
    pg_map ways; /* lower_smem.c: (tile, buffer, warps, operation, target) -> index */
    PG_VEC(const struct pg_smem_way *) way_at;
} pg_lw_kept;

typedef struct pg_lw {
    pg_module *m;
    pg_kernel *k;
    const pg_types *types;
    pg_lw_kept *kept;
    uint32_t n_kernels; /* of the module */
    const pg_target *target;
    pg_arena scratch;
    pg_diags *diags;
    const pg_lower_options *opt;
    pg_ptx_module *ptx;
    pg_ptx_builder b;
    pg_launch_plan plan;
    uint32_t smem_sym;
    pg_lv *vals;      /* by value id */
    uint32_t *n_uses; /* by value id: as operands */
    pg_fact *facts;
    uint32_t n_facts;
    PG_VEC(pg_part) parts; /* of sums of 64 bits (lower_sum.c) */
    uint32_t *part_at;     /* by register: index in parts + 1, or 0 */
    uint32_t n_part_at;
    uint32_t n_sums_made; /* the last pg_part.serial */
    PG_VEC(pg_vn) vn;
    pg_index vn_index; /* of vn, by opcode and operands */
    pg_lw_sum sums[PG_LW_SUMS];
    pg_move_room moves;
    pg_loop_plan **loops;  /* by instruction id */
    uint32_t *slot_bytes;  /* by value id: what a number of slots is held times; 0: one */
    uint8_t *cursor_marks; /* by value id: of lower_cursor.c */
    /* where we are */
    const pg_inst *part; /* enclosing partition or NULL */
    uint32_t first_warp, n_warps;
    bool is_elected; /* one lane runs this */
    bool is_setmax_done;
    const pg_inst *yield; /* terminator of the region walked last */
} pg_lw;

/* ---- lower.c --------------------------------------------------------------------------------- */

void pg_lw_region(pg_lw *c, const pg_region *r);  /* sets c->yield */
bool pg_lw_failed(const pg_lw *c);                /* out of memory: stop */
void pg_lw_prepare(pg_lw *c, const pg_region *r); /* makes at this point what nested code shares */

/* One function per row of ops.def. */
#define OP(id, ...) void pg_lower_##id(pg_lw *c, const pg_inst *i);
#include "ir/ops.def"
#define LOWER(id) void pg_lower_##id(pg_lw *c, const pg_inst *i)

/* ---- lower_value.c --------------------------------------------------------------------------- */

/* Numbered pure instruction; the register's id. */
uint32_t pg_lw_pure(pg_lw *c, const char *opcode, pg_ptx_type type, uint32_t n,
                    const pg_ptx_opnd *ops);
/* The register of this instruction + 1 if it is there already, else 0. */
uint32_t pg_lw_known(pg_lw *c, const char *opcode, pg_ptx_opnd a, pg_ptx_opnd b);
uint32_t pg_lw_pure1(pg_lw *c, const char *opcode, pg_ptx_type type, pg_ptx_opnd a);
uint32_t pg_lw_pure2(pg_lw *c, const char *opcode, pg_ptx_type type, pg_ptx_opnd a, pg_ptx_opnd b);
uint32_t pg_lw_pure3(pg_lw *c, const char *opcode, pg_ptx_type type, pg_ptx_opnd a, pg_ptx_opnd b,
                     pg_ptx_opnd d);
pg_ptx_opnd pg_lw_opnd1(pg_lw *c, const char *opcode, pg_ptx_type type, pg_ptx_opnd a);
pg_ptx_opnd pg_lw_opnd2(pg_lw *c, const char *opcode, pg_ptx_type type, pg_ptx_opnd a,
                        pg_ptx_opnd b);
pg_ptx_opnd pg_lw_opnd3(pg_lw *c, const char *opcode, pg_ptx_type type, pg_ptx_opnd a,
                        pg_ptx_opnd b, pg_ptx_opnd d);
/* Instructions with an effect. */
pg_ptx_stmt *pg_lw_emit(pg_lw *c, const char *opcode, uint32_t n, const pg_ptx_opnd *ops);
void pg_lw_emit0(pg_lw *c, const char *opcode);
uint32_t pg_lw_new_reg(pg_lw *c, pg_ptx_type type); /* id; no facts */
static inline pg_ptx_opnd pg_lw_reg(uint32_t id)
{
    return (pg_ptx_opnd){.kind = PG_PTX_O_REG, .id = id};
}
static inline pg_el pg_el_reg(uint32_t id)
{
    return (pg_el){.reg = id + 1, .is_nw = true};
}
static inline pg_el pg_el_imm(int64_t imm)
{
    return (pg_el){.is_nw = true, .imm = imm};
}
static inline bool pg_el_same(pg_el a, pg_el b)
{
    return a.reg == b.reg && a.imm == b.imm;
}
void pg_lw_branch(pg_lw *c, pg_ptx_opnd pred, bool is_negated, uint32_t label);
void pg_lw_jump(pg_lw *c, uint32_t label);

uint32_t pg_lw_scope_open(const pg_lw *c);
void pg_lw_scope_close(pg_lw *c, uint32_t mark);

pg_elem pg_lw_elem(const pg_type_info *t); /* pointers are I64 */
pg_ptx_type pg_lw_reg_type(pg_elem e);
/* The element as an operand: register or immediate; in_reg: register always. */
pg_ptx_opnd pg_lw_use(pg_lw *c, pg_elem e, pg_el v);
pg_ptx_opnd pg_lw_in_reg(pg_lw *c, pg_elem e, pg_el v);
void pg_lw_in_regs(pg_lw *c, pg_elem e, uint32_t n, const pg_el *v,
                   pg_ptx_opnd *out); /* in order */

void pg_lw_set_fact(pg_lw *c, uint32_t reg, int64_t lo, int64_t hi, uint32_t align);
pg_fact pg_lw_fact(const pg_lw *c, pg_elem e, pg_el v); /* of the whole element */
pg_fact pg_lw_reg_fact(const pg_lw *c, pg_elem e, uint32_t reg_plus_1);
static inline void pg_elem_range(pg_elem e, int64_t *lo, int64_t *hi) /* least, greatest number */
{
    const uint32_t bits = pg_elem_infos[e].bits;
    const int64_t most = bits >= 64 || bits == 0 ? INT64_MAX : (INT64_C(1) << (bits - 1)) - 1;
    *lo = bits == 1 ? 0 : -most - 1;
    *hi = bits == 1 ? 1 : most;
}

pg_lv *pg_lw_lv(pg_lw *c, pg_val v);
pg_lv *pg_lw_in(pg_lw *c, const pg_inst *i, uint32_t n);
pg_el pg_lw_scalar(pg_lw *c, const pg_inst *i, uint32_t n); /* operand n, one element */
/* Room for result n of the instruction as a tile of `count` elements; NULL: out of memory. */
pg_el *pg_lw_result(pg_lw *c, const pg_inst *i, uint32_t n, uint32_t count);
/* Says so of result 0, and fills in the elements that differ in such bits alone. */
void pg_lw_set_same(pg_lw *c, const pg_inst *i, uint32_t same);
/* Elements of a value of this type held by each thread; 0 and a diagnostic without a layout. */
uint32_t pg_lw_count(pg_lw *c, const pg_inst *i, pg_type t);
const pg_lw_layout *pg_lw_layout_of(pg_lw *c, const pg_inst *i, pg_type tile);
/* What a linear bit of an index adds to the coordinate; a bit that the layout does not have, 0. */
void pg_lw_bit_coord(const pg_layout *l, pg_lin_dim d, uint32_t bit, uint32_t *out);
/* Something that is not lowered: reported at i; its results become zeros. */
void pg_lw_refuse(pg_lw *c, const pg_inst *i, const char *why);

/* ---- lower_index.c: threads and what follows from their numbers ------------------------------ */

uint32_t pg_lw_tid(pg_lw *c);    /* in the CTA */
uint32_t pg_lw_thread(pg_lw *c); /* in the partition */
uint32_t pg_lw_lane_is_0(pg_lw *c);
uint32_t pg_lw_thread_is_0(pg_lw *c);
uint32_t pg_lw_warp(pg_lw *c);       /* of the CTA, uniform */
uint32_t pg_lw_warp_group(pg_lw *c); /* of the partition, uniform */
/* Sum of v[b] over the set bits b of the thread's number in the partition. is_xor: sums may
 * overlap, combine by exclusive or; *mask gets all bits that the result can have. */
pg_el pg_lw_thread_sum(pg_lw *c, const uint32_t *v, uint32_t n, bool is_xor, uint32_t *mask);
/* Coordinate along d of register 0, and what register r adds: out elements for all registers. */
void pg_lw_coords(pg_lw *c, const pg_lw_layout *l, uint32_t d, pg_el *out_or_null);
/* Predicate of the one replica that may store: element 1 where all may. */
pg_el pg_lw_replica_guard(pg_lw *c, const pg_lw_layout *l);
pg_ptx_opnd pg_lw_smem_base(pg_lw *c);
/* Address of `offset` within a slot of an object. */
pg_el pg_lw_smem_addr(pg_lw *c, const pg_smem_obj *obj, pg_el slot, uint32_t offset);

/* ---- lower_int.c: integers ------------------------------------------------------------------- */

/* Registers of 64 bits, by id (lower_sum.c): base + (x << by), a + b, a << by; a + b made of these.
 */
uint32_t pg_lw_add_shl64(pg_lw *c, uint32_t base, uint32_t x, uint32_t by);
uint32_t pg_lw_add64(pg_lw *c, uint32_t a, uint32_t b);
uint32_t pg_lw_shl64(pg_lw *c, uint32_t a, uint32_t by);
uint32_t pg_lw_plain_add64(pg_lw *c, uint32_t a, uint32_t b);
/* pointer + index * size, size a power of two. */
pg_el pg_lw_address(pg_lw *c, pg_el pointer, pg_el index, int64_t size);
pg_el pg_lw_iadd(pg_lw *c, pg_elem e, pg_el a, pg_el b, bool is_nw);
pg_el pg_lw_imul(pg_lw *c, pg_elem e, pg_el a, pg_el b, bool is_nw);
pg_el pg_lw_int_op(pg_lw *c, const pg_inst *i, pg_elem e, const pg_el *in);
pg_el pg_lw_i1_op(pg_lw *c, const pg_inst *i, const pg_el *in);
pg_el pg_lw_icmp(pg_lw *c, pg_elem e, int64_t is, bool is_signed, pg_el a, pg_el b);
pg_el pg_lw_sext64(pg_lw *c, pg_elem from, pg_el a); /* to i64 */
pg_el pg_lw_wrap(pg_lw *c, pg_elem e, uint32_t reg); /* i8, i16: invariant I1 */
pg_el pg_el_not(pg_lw *c, pg_el p);
pg_el pg_el_and(pg_lw *c, pg_el p, pg_el q);

/* ---- lower_f64.c ----------------------------------------------------------------------------- */

/* exp, exp2, log2, rsqrt, tanh, erf. */
pg_ptx_opnd pg_lw_function_f64(pg_lw *c, pg_op op, pg_ptx_opnd x);

/* ---- lower_frange.c -------------------------------------------------------------------------- */

typedef struct pg_frange {
    double lo, hi;
} pg_frange;
/* A range of a float's elements that are numbers. */
pg_frange pg_lw_frange(const pg_kernel *k, pg_val v);

/* ---- lower_float.c, lower_cast.c ------------------------------------------------------------- */

pg_el pg_lw_float_op(pg_lw *c, const pg_inst *i, pg_elem e, const pg_el *in);
pg_el pg_lw_fcmp(pg_lw *c, pg_elem e, int64_t is, pg_el a, pg_el b);
pg_el pg_lw_cast(pg_lw *c, pg_elem from, pg_elem to, bool is_signed, pg_el a);
pg_ptx_opnd pg_lw_to_f32(pg_lw *c, pg_elem e, pg_el a); /* f16, bf16, f32 */
pg_el pg_lw_from_f32(pg_lw *c, pg_elem e, pg_ptx_opnd x);

/* ---- lower_mem.c ----------------------------------------------------------------------------- */

typedef struct pg_access {
    bool is_store, is_shared;
    int64_t cache; /* word of attribute `cache`, -1: none */
    pg_elem elem;
    uint32_t n;
    const pg_el *addr;
    const pg_el *mask;  /* NULL: all */
    pg_el guard;        /* predicate for all; immediate 1: none */
    pg_el *val;         /* loads: written */
    const pg_el *other; /* loads; NULL: poison */
    uint32_t free_reg;  /* register bits that are replicas */
} pg_access;
void pg_lw_access(pg_lw *c, const pg_access *a);
/* The operand [base + offset]: of an address, what can be said by 32 bits becomes the offset. */
pg_ptx_opnd pg_lw_memory(pg_lw *c, pg_elem e, pg_el address);
/* An operand as n elements, of which a scalar has one for all. NULL: none, after a failure. */
const pg_el *pg_lw_stretch(pg_lw *c, const pg_inst *i, uint32_t index, uint32_t n);
/* 32-bit words of 1, 2 or 4 elements. */
uint32_t pg_lw_pack(pg_lw *c, pg_elem e, const pg_el *v);
void pg_lw_unpack(pg_lw *c, pg_elem e, uint32_t word, pg_el *v);

/* ---- lower_late.c ---------------------------------------------------------------------------- */

/* Loads and arithmetic before the statements from `anchor` on go right before the first that needs
 * them. */
void pg_lw_late(pg_lw *c, uint32_t anchor);

/* ---- lower_moves.c --------------------------------------------------------------------------- */

typedef struct pg_move { /* dst := src, all at once */
    uint32_t dst;        /* register id */
    pg_elem elem;
    pg_el src;
} pg_move;
const char *pg_lw_move_opcode(pg_ptx_type type);               /* "mov.f32" */
void pg_lw_move(pg_lw *c, uint32_t dst, pg_elem e, pg_el src); /* one */
void pg_lw_moves(pg_lw *c, pg_move *at, uint32_t n);

/* ---- lower_mma.c ----------------------------------------------------------------------------- */

void pg_lw_prepare_mma(pg_lw *c, const pg_inst *i);
/* ---- lower_smem.c ---------------------------------------------------------------------------- */
void pg_lw_prepare_buf(pg_lw *c, const pg_inst *i);

/* Where a tile's elements lie in a slot of a buffer: what a thread's number selects, and what its
 * registers add to that. The parts that depend on the thread alone are the same instructions at
 * each use, so that what pg_lw_prepare_buf has made outside of loops serves inside. */
typedef struct pg_smem_map {
    pg_layout buf;
    pg_layout_finder finder;
    uint32_t size;  /* bytes of an element */
    bool is_xor;    /* the memory is linear: offsets of bits combine by exclusive or */
    uint32_t n;     /* bits of the thread's number */
    uint32_t v[32]; /* bytes that each adds, or XORs */
    uint32_t *own;  /* bytes that each register does */
} pg_smem_map;

/* How the elements of a tile move to or from a buffer. It follows from types. */
typedef struct pg_smem_way {
    const pg_lw_layout *l;
    pg_smem_map m; /* of matrices: of the addresses that the lanes give */
    pg_bank_move move;
} pg_smem_way;
/* For buf.load, buf.store, async.get; NULL: the layouts do not fit together, or out of memory. */
const pg_smem_way *pg_lw_smem_way(pg_lw *c, const pg_inst *i, pg_val tile);
/* Byte offset in a slot of the element at a coordinate. */
uint32_t pg_lw_smem_offset(const pg_smem_map *m, const uint32_t *at);

enum { PG_SMEM_PARTS = 8 };
typedef struct pg_smem_aim { /* addresses of one operation: what its elements have in common */
    const pg_smem_map *m;
    const pg_lv *buf; /* NULL: only the part that does not depend on the slot */
    bool has_sum;     /* sum and mask: pg_lw_thread_sum of the map's v */
    pg_el sum;
    uint32_t mask;
    uint32_t n_parts; /* addresses made so far, by the bits of `own` that meet the thread's */
    struct {
        uint32_t meet;
        pg_el at;
    } part[PG_SMEM_PARTS];
} pg_smem_aim;
/* Address of what the thread selects, moved by the offset `own`. */
pg_el pg_lw_smem_at(pg_lw *c, pg_smem_aim *a, uint32_t own);
/* Bytes from the buffer's first slot to the view's. */
pg_el pg_lw_slot_skip(pg_lw *c, const pg_lv *buf);
/* ---- lower_cursor.c: numbers of slots that are held in bytes --------------------------------- */
void pg_lw_find_cursors(pg_lw *c, const pg_inst *loop);
uint32_t pg_lw_slot_bytes(const pg_lw *c, pg_val v); /* 0: held as it is */
/* x, which is v as it is held, times `bytes` if that is not 0 and v is not held so yet. */
pg_el pg_lw_in_bytes(pg_lw *c, pg_val v, pg_el x, uint32_t bytes);
/* ---- lower_align.c: alignment of the numbers that a loop carries, by its IR ------------------ */
void pg_lw_guess_align(pg_lw *c, const pg_inst *loop, uint32_t n, uint8_t *align);
/* ---- lower_matrix.c -------------------------------------------------------------------------- */
/* ldmatrix and stmatrix: emits buf.load or buf.store `i` by the move found for it; with is_dry only
 * what does not depend on the slot, for the place outside of loops. */
void pg_lw_matrix(pg_lw *c, const pg_inst *i, const pg_smem_way *way, bool is_dry);
/* Makes the way's map that of the addresses which the lanes give. */
void pg_lw_matrix_map(pg_smem_way *way);
/* Register of number j, if those of an access count fastest. */
uint32_t pg_lw_access_reg(const pg_bank_access *a, uint32_t n_bits, uint32_t j);
/* ---- lower_shuffle.c: a copy within a warp --------------------------------------------------- */
void pg_lw_shuffle(pg_lw *c, const pg_inst *i, const pg_shuffle *s);
void pg_lw_movmatrix(pg_lw *c, const pg_inst *i, const pg_convert_plan *plan);
/* ---- lower_sync.c: address of a barrier of a ring or array ----------------------------------- */
pg_ptx_opnd pg_lw_bar_addr(pg_lw *c, const pg_lv *bar, int64_t side, pg_el slot);
pg_ptx_opnd pg_lw_desc_addr(pg_lw *c, const pg_lv *desc);

#endif
