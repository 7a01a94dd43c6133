/* stats.c: what an access costs in passes over the 32 banks of shared memory, and in 32-byte
 * sectors of global memory.
 *
 * Banks are 4 bytes wide. Lanes are served in phases: 32 lanes of up to 4 bytes, 16 of 8, 8 of 16
 * (a matrix of ldmatrix or stmatrix is such a phase). A phase takes as many passes as the bank that
 * holds most different words of it; the least is one pass for each phase. */
#include "tools/exec/exec.h"

enum { N_BANKS = 32, MAX_WORDS = 64 };

/* Passes that the lanes of one phase need. */
static uint32_t passes_of(const uint64_t *at, uint32_t lanes, uint32_t size)
{
    uint64_t words[MAX_WORDS];
    uint32_t n = 0;
    uint32_t load[N_BANKS] = {0};
    uint32_t most = 0;
    pg_foreach_lane(l, lanes)
    {
        for (uint64_t word = at[l] / 4; word <= (at[l] + size - 1) / 4 && n < MAX_WORDS; word++) {
            bool is_known = false;
            for (uint32_t k = n; k > 0 && load[word % N_BANKS] != 0 && !is_known; k--) {
                is_known = words[k - 1] == word;
            }
            if (!is_known) {
                words[n++] = word;
                uint32_t m = ++load[word % N_BANKS];
                most = m > most ? m : most;
            }
        }
    }
    return most;
}

static void count_shared(pe_line *line, const uint64_t *at, uint32_t mask, uint32_t size)
{
    uint32_t per = size <= 4 ? 32 : size <= 8 ? 16 : size <= 16 ? 8 : 4;
    uint32_t phase = per == 32 ? PE_ALL : (1u << per) - 1u;
    line->n_shared++;
    for (uint32_t first = 0; first < PE_LANES; first += per) {
        uint32_t lanes = mask & phase << first;
        if (lanes != 0) {
            line->n_least++;
            line->n_wavefronts += passes_of(at, lanes, size);
        }
    }
}

static void count_global(pe_line *line, const uint64_t *at, uint32_t mask, uint32_t size)
{
    uint64_t sectors[PE_LANES * 2];
    uint32_t n = 0;
    pg_foreach_lane(l, mask)
    {
        for (uint64_t s = at[l] / 32; s <= (at[l] + size - 1) / 32 && n < PE_LANES * 2; s++) {
            bool is_known = false;
            for (uint32_t k = n; k > 0 && !is_known; k--) {
                is_known = sectors[k - 1] == s;
            }
            if (!is_known) {
                sectors[n++] = s;
            }
        }
    }
    line->n_global++;
    line->n_sectors += n;
}

void pe_count_touch(pe_warp *w, const pe_inst *i, uint32_t mask, const pe_touch *t)
{
    pe_line *line = &w->cta->worker->stats.lines[i - w->cta->launch->m->code.at];
    uint64_t at[PE_LANES];
    uint32_t shared = 0;
    uint32_t global = 0;
    pg_foreach_lane(l, mask)
    {
        at[l] = t->at[l] + (uint64_t)t->imm;
        uint32_t space = t->space;
        if (space == PG_PTX_SP_NONE) {
            space = pe_window_of(at[l], &at[l]);
        }
        shared |= space == PG_PTX_SP_SHARED ? 1u << l : 0;
        global |= space == PG_PTX_SP_GLOBAL ? 1u << l : 0;
    }
    if (shared != 0) {
        count_shared(line, at, shared, t->size);
    }
    if (global != 0) {
        count_global(line, at, global, t->size);
    }
}
