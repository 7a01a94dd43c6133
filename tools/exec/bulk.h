/* bulk.h: bulk and tensor copies: what one of them moves, and when its parts happen.
 *
 * I1  A copy stays in its CTA's list until its last chunk is written, and if it belongs to a bulk
 * group, until its thread waited for it to be complete. I2  A chunk is read before it is written,
 * and its bytes are counted at the barrier when it is written. I3  A chunk covers whole lines of
 * 128 bytes of shared memory, so that swizzles stay within it. */
#ifndef PTXEXEC_BULK_H
#define PTXEXEC_BULK_H

#include "tools/exec/exec.h"
#include "tools/exec/mbar.h"
#include "tools/exec/tensormap.h"

enum { PE_BULK_CHUNKS = 4, PE_BULK_LINE = 128 };

typedef enum pe_bulk_kind {
    PE_BULK_LOAD,  /* global -> shared, signals at a barrier */
    PE_BULK_STORE, /* shared -> global, in a bulk group; also reductions */
    PE_BULK_SEND   /* shared -> shared of another CTA, signals at a barrier there */
} pe_bulk_kind;

typedef struct pe_bulk_chunk {
    uint32_t first, end; /* rows */
    uint64_t write_at;   /* step of the CTA */
    bool is_read, is_written;
} pe_bulk_chunk;

struct pe_bulk {
    pe_bulk_kind kind;
    pe_warp *w; /* who issued it */
    const pe_inst *i;
    uint32_t lane;
    pe_cta *home;    /* whose shared memory `shared` is in */
    uint32_t shared; /* address there */
    uint32_t source; /* SEND: address in the issuer's shared memory */
    uint32_t mbar;   /* address in home's shared memory */
    uint32_t group;  /* STORE: bulk commits of the lane before it */
    /* rows of equal size, the last may be shorter */
    uint32_t row_bytes, n_rows, n_bytes, swizzle;
    uint32_t n_shared; /* bytes of shared memory: whole spans of a swizzle, else n_bytes */
    bool has_map;
    pe_tmap map;
    int32_t coord[PE_TMAP_RANK];
    uint32_t offset[PE_TMAP_RANK - 2]; /* im2col: of the pixels that are read, from those counted */
    uint64_t global;                   /* without a map */
    pe_region *array;
    uint32_t fold, fold_type; /* reductions: see ops_atom.c; fold 0: none */
    /* progress */
    pe_bulk_chunk chunk[PE_BULK_CHUNKS];
    uint32_t n_chunks, n_unread, n_unwritten;
    uint32_t n_tasks; /* that still name it */
    bool is_read_waited, is_waited;
    uint8_t *data, *poison;  /* of chunks that were read and not written */
    uint32_t serial;         /* races */
    pe_moment read_end, end; /* traces only */
};

/* Bytes of a row that lie in the tensor. */
typedef struct pe_bulk_span {
    uint64_t at;         /* global address of the first one */
    uint32_t first, end; /* offsets in the row; equal: none */
} pe_bulk_span;

pe_bulk_span pe_bulk_row(const pe_bulk *b, uint32_t row);
/* Takes the description, checks that all its memory is there, and lets it happen. */
void pe_bulk_issue(const pe_bulk *copy);
/* Groups of the lanes' copies before `first_open` are read, or (not is_read) complete. */
void pe_bulk_wait(pe_warp *w, uint32_t mask, const uint32_t first_open[PE_LANES], bool is_read);
/* All threads left: what they did not wait for is a fault, the rest is brought to its end. */
void pe_bulk_exit(pe_cta *cta);
void pe_bulk_fini(pe_cta *cta);

/* One element of a reduction (ops_atom.c). */
uint32_t pe_bulk_fold_size(const pe_bulk *b);
uint64_t pe_atom_fold(uint32_t op, pg_ptx_type t, uint64_t old, uint64_t b);

/* race.c, race_async.c */
void pe_race_bulk_issue(pe_bulk *b);
void pe_race_bulk_waited(pe_bulk *b, bool is_read); /* by the thread that issued it */
void pe_race_bulk_done_reading(pe_bulk *b);

#endif
