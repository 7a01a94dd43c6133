/* wgmma.h: asynchronous matrix products of warp groups, between issue and the wait that covers
 * them.
 *
 * Four warps execute one product together; each comes to it at its own time. The product is issued
 * when the fourth is there; then it reads its matrices in shared memory at times that the seed
 * draws, and its accumulators are written when the first warp waits for it. */
#ifndef PTXEXEC_WGMMA_H
#define PTXEXEC_WGMMA_H

#include "tools/exec/desc.h"
#include "tools/exec/trace.h"

enum {
    PE_WG_WARPS = 4,
    PE_WG_M = 64,
    PE_WG_N = 256,
    PE_WG_ROW = 32,  /* bytes of a row of A, of a column of B */
    PE_WG_K = 32,    /* most elements in these */
    PE_WG_ACCS = 128 /* registers of an accumulator, at most */
};

typedef enum pe_wg_type {
    PE_WG_F16,
    PE_WG_BF16,
    PE_WG_TF32,
    PE_WG_E4M3,
    PE_WG_E5M2,
    PE_WG_S8,
    PE_WG_U8,
    PE_WG_B1,
    PE_WG_F32, /* accumulators only, as the next */
    PE_WG_S32,
    PE_WG_TYPE_COUNT
} pe_wg_type;

typedef struct pe_wgmma { /* an instruction */
    uint32_t n, k;        /* the shape: m is 64 */
    pe_wg_type d_type, a_type, b_type;
    bool is_a_reg, is_a_k_major, is_b_k_major, is_saturating;
    bool is_negative; /* the product of the two scales */
    uint32_t n_d;     /* registers */
    pe_opnd d[PE_WG_ACCS], a[4];
} pe_wgmma;

typedef struct pe_wg_op { /* an instruction on its way */
    const pe_inst *i;
    const pe_wgmma *x;
    uint64_t desc[2];             /* of A and B */
    bool is_adding;               /* scale-d */
    uint32_t joined;              /* warps that executed it: bits */
    uint32_t waited;              /* warps that waited for it */
    uint32_t group;               /* commits before it */
    uint32_t base32[PE_WG_WARPS]; /* frames of the warps */
    uint64_t read_at[2];          /* steps of the CTA, A and B; UINT64_MAX: when it is waited for */
    bool is_read[2];
    bool is_done; /* the accumulators are written */
    /* Rows of A and columns of B, K along the bytes. */
    uint8_t a[PE_WG_M][PE_WG_ROW], b[PE_WG_N][PE_WG_ROW];
    bool is_a_bad[PE_WG_M], is_b_bad[PE_WG_N]; /* some byte of it is poison */
    bool has_bad;
    pe_moment begin, end; /* traces only */
} pe_wg_op;

typedef struct pe_wg_row { /* a register of a warp, by row of its 32-bit bank */
    uint32_t epoch;        /* fences of the warp before the last access */
    uint16_t kind;         /* of the last access: PE_WG_TOUCH_*, or the shape of a wgmma */
    uint8_t n_acc, n_frag; /* products under way that own it as accumulator, as part of A */
} pe_wg_row;
enum { PE_WG_TOUCH_NONE, PE_WG_TOUCH_READ, PE_WG_TOUCH_WRITE, PE_WG_TOUCH_SHAPE };

typedef struct pe_wg_regs { /* a warp's */
    uint32_t n_rows;
    uint32_t n_fences;
    pe_wg_row rows[];
} pe_wg_regs;

typedef struct pe_wgroup {
    uint64_t n_begun; /* products that some warp executed */
    pe_wg_op **ops;   /* the last n_ops of them; behind these: spare */
    uint32_t n_ops, n_made, cap;
    uint64_t n_joined[PE_WG_WARPS]; /* products that the warp executed */
    uint32_t n_commits[PE_WG_WARPS];
    uint32_t agent[PE_WG_WARPS]; /* races: stand in clocks for its products */
    bool has_agents;
} pe_wgroup;

typedef struct pe_wg_scratch { /* host matrices of a product */
    double a[PE_WG_M][PE_WG_K], b[PE_WG_K][PE_WG_N], c[PE_WG_M][PE_WG_N];
    uint32_t bad[PE_WG_WARPS][PE_WG_ACCS];
} pe_wg_scratch;

struct pe_wg { /* a CTA's */
    pe_wgroup group[PE_MAX_WARPS / PE_WG_WARPS];
    pe_wg_scratch scratch;
    uint64_t next_due;
};

/* ---- wgmma.c: groups of products ---- */

pe_wgroup *pe_wg_of(pe_warp *w); /* NULL when out of memory */
/* The warp executes a product. False after a fault. `a`: registers of A, or NULL. */
bool pe_wg_join(pe_warp *w, const pe_inst *i, const uint64_t desc[2], bool is_adding);
void pe_wg_commit(pe_warp *w);
/* At most `n_open` groups of the warp may be open. False: the warp must wait for others. */
bool pe_wg_wait(pe_warp *w, const pe_inst *i, uint64_t n_open);
void pe_wg_advance(pe_cta *cta); /* does what is due at the CTA's step */
/* The lanes `group` wait at a wait_group for ever. */
void pe_wg_report_wait(pe_warp *w, const pe_inst *i, uint32_t group);
/* All threads exited: products that not all warps executed. */
void pe_wg_end(pe_cta *cta);
void pe_wg_fini(pe_cta *cta);

/* ---- wgmma_mul.c: the product ---- */

/* Of ops[0 .. n): one after the other, the last results go to the registers. */
void pe_wg_multiply(pe_cta *cta, uint32_t first_warp, pe_wg_op *const *ops, uint32_t n);

/* ---- wgmma_regs.c: registers in flight ---- */

void pe_wg_fence(pe_warp *w);
/* The warp gives its registers to a product: false after a fault. */
bool pe_wg_lock(pe_warp *w, const pe_inst *i, const pe_wgmma *x);
void pe_wg_unlock(pe_warp *w, const pe_wg_op *op, uint32_t base32);
void pe_wg_regs_free(pe_warp *w);

#endif
