/* decode.h: statements of the PTX object model -> pe_inst. One decoder function per opcode, listed
 * in exec_ops.def. A decoder *takes* the modifiers that it knows; one that is left over makes the
 * instruction unsupported, so that nothing is ever skipped silently. */
#ifndef PTXEXEC_DECODE_H
#define PTXEXEC_DECODE_H

#include "tools/exec/exec.h"

enum { PE_MAX_MODS = 16 };

typedef struct pe_fixup { /* a branch whose label's pc is not known yet */
    uint32_t pc, label;
    uint32_t *where; /* NULL: target of the instruction at pc */
    pg_loc loc;
} pe_fixup;

typedef struct pe_dec {
    ptxexec_module *m;
    pe_func *f;
    const pg_ptx_func *pf;
    const pg_ptx_stmt *s;
    PG_VEC(pe_fixup) fixups;
    pg_str op;               /* first word */
    pg_str mod[PE_MAX_MODS]; /* the others, without the dot */
    bool is_taken[PE_MAX_MODS];
    uint32_t n_mods;
    pe_inst i; /* under construction: guard and source are set */
    bool is_failed;
    uint32_t used_bytes; /* of the data of a load, a bit for each: what .pragma says just before */
    /* the function */
    pe_opnd carry;              /* predicate row of the carry flag, PE_NONE until used */
    const uint32_t *row_of_reg; /* by register */
    const uint32_t *local_at; /* by module symbol: offset in the frame's local memory, UINT32_MAX */
    const uint32_t *param_at; /* by module symbol: offset in the parameter block, UINT32_MAX */
} pe_dec;

typedef void (*pe_decoder)(pe_dec *d);

/* Modifiers. */
bool pe_take(pe_dec *d, const char *word);
/* The first that is one of the words, as its index + 1; 0 if none. `words` is separated by blanks.
 */
uint32_t pe_take_one(pe_dec *d, const char *words);
pg_ptx_type
pe_take_type(pe_dec *d); /* first modifier left that names a type; NONE if there is none */

uint32_t pe_type_bits(pg_ptx_type t);
char pe_type_class(pg_ptx_type t); /* 'U' 'S' 'B' 'F' 'P' */
bool pe_type_is_signed(pg_ptx_type t);

/* Operands, by index into the statement's. Width 1, 16, 32, 64 or 128 bits; a register of 128 bits
 * is two rows of 64, the lower first. They add instructions of
 * their own for special registers and symbols. On failure they report once and return PE_NONE. */
const pg_ptx_opnd *pe_arg(pe_dec *d, uint32_t k);
uint32_t pe_n_args(const pe_dec *d);
pe_opnd pe_in(pe_dec *d, uint32_t k, uint32_t bits);
pe_opnd pe_in_opnd(pe_dec *d, const pg_ptx_opnd *o, uint32_t bits);
/* Floating immediates become bit patterns of type t. */
pe_opnd pe_in_type(pe_dec *d, uint32_t k, pg_ptx_type t);
pe_opnd pe_out(pe_dec *d, uint32_t k, uint32_t bits);
pe_opnd pe_out_opnd(pe_dec *d, const pg_ptx_opnd *o, uint32_t bits);
uint32_t pe_reg_bits(const pe_dec *d, const pg_ptx_opnd *o); /* declared width; 0 if no register */
pe_opnd pe_temp(pe_dec *d, uint32_t bits);
pe_opnd pe_const32(pe_dec *d, uint32_t x);
pe_opnd pe_const64(pe_dec *d, uint64_t x);
/* [base + offset]: sets i.a (64-bit row of addresses) and i.imm, or for a 32-bit base i.c. */
void pe_in_address(pe_dec *d, uint32_t k);

/* Ends. pe_emit adds d->i with that handler (NULL: the type has none, reported). */
void pe_emit(pe_dec *d, pe_fn fn);
void pe_emit_micro(pe_dec *d, pe_inst i);
void pe_unsupported(pe_dec *d, const char *why);
void pe_invalid(pe_dec *d, const char *why);
void *pe_new(pe_dec *d, size_t size, size_t count); /* zeroed, in the module's arena */

#define EXEC(opcode, decoder) void decoder(pe_dec *d);
#include "tools/exec/exec_ops.def"

/* The rest of cp.async.mbarrier.arrive, of cp.async.bulk and cp.reduce.async.bulk. */
void pe_dec_copies_arrive(pe_dec *d);
void pe_dec_bulk(pe_dec *d, bool is_reduce);
/* The rest of barrier.cluster, of st.async and red.async. */
void pe_dec_cluster_barrier(pe_dec *d);
void pe_dec_send(pe_dec *d, bool is_reduce);
/* mma of elements of 4 bits and less; false: it is none. */
bool pe_dec_mma_bits(pe_dec *d);
/* Takes the operation of an atomic; 0 if there is none. pe_atom_fold does it. */
uint32_t pe_atom_take(pe_dec *d);

pe_decoder pe_decoder_find(pg_str opcode);
/* Decodes all functions with bodies; errors go to m->diags. */
void pe_decode_module(ptxexec_module *m);
void pe_read_sources(ptxexec_module *m);  /* source.c */
void pe_layout_module(ptxexec_module *m); /* variables, entries; before decoding */
void pe_layout_shared(ptxexec_module *m); /* after decoding: needs to know who names what */

/* Variables and parameters of a function in its frame's local memory; parameters of an entry. */
void pe_layout_frame(ptxexec_module *m, pe_func *f, uint32_t *local_at, const uint32_t *rows);
void pe_layout_params(ptxexec_module *m, pe_func *f, uint32_t *param_at);
uint64_t pe_sym_size(const pg_ptx_sym *s);
uint32_t pe_sym_align(const pg_ptx_sym *s);

/* Finds who touches the registers of wgmma; the statements' sources start at first_src (track.c).
 */
void pe_track_func(pe_dec *d, uint32_t first_src);

/* fn for moves that decoding inserts */
void pe_mov_sreg(pe_warp *w, const pe_inst *i, uint32_t mask);
void pe_mov_symbol(pe_warp *w, const pe_inst *i, uint32_t mask);
uint32_t pe_sreg_find(pg_str text, uint32_t *out_bits); /* 0: not known */

#endif
