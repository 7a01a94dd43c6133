/* race_cells.h: what is remembered of accesses to shared memory (race.c has the invariants). */
#ifndef PTXEXEC_RACE_CELLS_H
#define PTXEXEC_RACE_CELLS_H

#include "tools/exec/mbar.h"
#include "tools/exec/race.h"

enum { PAGE = 256 }; /* bytes */
#define READ_STRONG 0x80000000u
#define READ_ASYNC  0x40000000u /* through the async proxy */
#define READ_STORE  0x20000000u /* a store of what another one had stored: see supersede() */
#define READ_FLAGS  (READ_STRONG | READ_ASYNC | READ_STORE)

typedef struct cell {
    uint32_t w_clock, w_pc, w_serial;
    uint16_t w_tid;
    uint8_t w_kind;
    bool is_object;   /* a part of an mbarrier */
    uint32_t w_phase; /* of the agent that it signalled with, 0: none */
    uint16_t w_agent;
    uint32_t readers; /* warps with a mark */
} cell;

typedef struct read_mark {
    uint32_t clock, lanes;
    uint32_t pc; /* | READ_FLAGS that hold for all of them */
} read_mark;

typedef struct pe_page {
    uint32_t shift;     /* log2 of a cell's bytes */
    uint32_t n_flights; /* reads by the async proxy under way here, or near */
    bool is_whole;
    bool is_remote; /* another CTA touched it */
    cell whole;
    cell *cells;
    read_mark *reads;     /* [cell][warp] */
    pe_wg_mark *products; /* [16 bytes][slot], NULL before the first */
} page;

/* The page of an address, with cells for accesses of `size` bytes; NULL when out of memory. */
page *pe_page_of(pe_cta *cta, uint64_t address, uint32_t size);
void pe_page_expand(page *p); /* I3: all its cells are up to date */

#endif
