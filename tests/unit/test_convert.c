/* Conversion plans, carried out on the numbers of elements: every register of the destination must
 * get the right one, for all pairs of layouts. */
#include "ir/convert.h"

#include "layout_world.h"

enum { LANES = 32, ALL = PG_CONVERT_LDMATRIX | PG_CONVERT_STMATRIX | PG_CONVERT_HAS_MOVMATRIX };

static uint32_t element(const pg_layout *l, uint32_t reg, uint32_t lane, uint32_t warp)
{
    const uint32_t index[PG_LIN_DIM_COUNT] = {reg, lane, warp, 0, 0};
    uint32_t coord[PG_MAX_RANK] = {0};
    pg_layout_at(l, index, coord);
    return coord[0] * l->dims[1] + coord[1];
}

static uint32_t offset_of(const pg_layout *mem, uint32_t elem)
{
    const uint32_t coord[PG_MAX_RANK] = {elem / mem->dims[1], elem % mem->dims[1]};
    uint32_t index[PG_LIN_DIM_COUNT];
    cr_assert(pg_layout_find(mem, coord, index));
    return index[PG_LIN_OFFSET];
}

static uint32_t spread(const uint8_t *bits, uint32_t n, uint32_t i)
{
    uint32_t reg = 0;
    for (uint32_t b = 0; b < n; b++) {
        reg |= (i >> b & 1) << bits[b];
    }
    return reg;
}

static uint32_t n_warps(const pg_layout *l)
{
    return pg_layout_size(l, PG_LIN_WARP);
}

/* What an instruction does with the memory at one place: `reg` of a thread and a memory offset. */
typedef void (*touch_fn)(uint32_t *mem, uint32_t offset, const pg_layout *l, uint32_t reg,
                         uint32_t lane, uint32_t warp);

static void put(uint32_t *mem, uint32_t offset, const pg_layout *l, uint32_t reg, uint32_t lane,
                uint32_t warp)
{
    mem[offset] = element(l, reg, lane, warp);
}

static void check(uint32_t *mem, uint32_t offset, const pg_layout *l, uint32_t reg, uint32_t lane,
                  uint32_t warp)
{
    cr_assert_eq(mem[offset], element(l, reg, lane, warp), "reg %u lane %u warp %u", reg, lane,
                 warp);
}

static uint32_t access_mask(const pg_bank_access *a)
{
    return spread(a->reg_bits, a->n_log2, (1u << a->n_log2) - 1u);
}

static void run_plain(const pg_layout *l, const pg_layout *mem, const pg_bank_move *m,
                      uint32_t *bytes, touch_fn touch)
{
    for (uint32_t w = 0; w < n_warps(l); w++) {
        for (uint32_t lane = 0; lane < LANES; lane++) {
            for (uint32_t reg = 0; reg < pg_layout_size(l, PG_LIN_REG); reg++) {
                if (reg & access_mask(&m->access)) {
                    continue;
                }
                uint32_t at = offset_of(mem, element(l, reg, lane, w));
                cr_assert_eq(at % (1u << m->access.n_log2), 0, "aligned");
                for (uint32_t i = 0; i < 1u << m->access.n_log2; i++) {
                    uint32_t r = reg | spread(m->access.reg_bits, m->access.n_log2, i);
                    touch(bytes, at + i, l, r, lane, w);
                }
            }
        }
    }
}

/* One matrix whose first register is `reg`: the address of row r comes from the thread that holds
 * its first element; lane l gets elements per * (l % 4) .. of row l / 4, or, transposed, element
 * l / 4 of rows 2 * (l % 4), + 1. */
static void run_matrix(const pg_layout *l, const pg_layout *mem, const pg_bank_move *m,
                       uint32_t *bytes, touch_fn touch)
{
    uint32_t per = 1u << m->access.n_log2;
    bool is_trans = m->kind == PG_MOVE_MATRIX_TRANS;
    for (uint32_t w = 0; w < n_warps(l); w++) {
        for (uint32_t reg = 0; reg < pg_layout_size(l, PG_LIN_REG); reg++) {
            if (reg & access_mask(&m->access)) {
                continue;
            }
            for (uint32_t lane = 0; lane < LANES; lane++) {
                for (uint32_t i = 0; i < per; i++) {
                    uint32_t r = reg | spread(m->access.reg_bits, m->access.n_log2, i);
                    uint32_t row = is_trans ? 2 * (lane % 4) + i : lane / 4;
                    uint32_t column = is_trans ? lane / 4 : per * (lane % 4) + i;
                    uint32_t holder = is_trans ? row / 2 : 4 * row;
                    uint32_t first =
                        is_trans ? reg | spread(m->access.reg_bits, m->access.n_log2, row % 2)
                                 : reg;
                    uint32_t at = offset_of(mem, element(l, first, holder, w));
                    cr_assert_eq(at % (4 * per), 0, "rows of 16 bytes");
                    touch(bytes, at + column, l, r, lane, w);
                }
            }
        }
    }
}

static void run_move(const pg_layout *l, const pg_layout *mem, const pg_bank_move *m,
                     uint32_t *bytes, touch_fn touch)
{
    (m->kind == PG_MOVE_PLAIN ? run_plain : run_matrix)(l, mem, m, bytes, touch);
}

static void run_shuffle(const pg_convert_plan *p, const pg_layout *from, const pg_layout *to)
{
    const pg_shuffle *s = &p->shuffle;
    uint32_t pack = 1u << s->n_pack_log2, regs = pg_layout_size(to, PG_LIN_REG);
    for (uint32_t w = 0; w < n_warps(to); w++) {
        for (uint32_t lane = 0; lane < LANES; lane++) {
            bool *got = calloc(regs, sizeof *got);
            for (uint32_t round = 0; round < 1u << s->n_round_bits; round++) {
                uint32_t src = pg_shuffle_source(s, round, lane);
                uint32_t offered = pg_shuffle_offered(s, round, src);
                uint32_t taken = pg_shuffle_taken(s, round, lane);
                for (uint32_t i = 0; i < pack; i++) {
                    uint32_t f = offered | spread(s->from_pack, s->n_pack_log2, i);
                    uint32_t t = taken | spread(s->to_pack, s->n_pack_log2, i);
                    cr_assert_eq(element(from, f, src, w), element(to, t, lane, w));
                    got[t] = true;
                }
            }
            for (uint32_t r = 0; r < regs; r++) {
                cr_assert(got[r & ~pg_layout_free_bits(to, PG_LIN_REG)]);
            }
            free(got);
        }
    }
}

static void run_registers(const pg_convert_plan *p, const pg_layout *from, const pg_layout *to)
{
    for (uint32_t w = 0; w < n_warps(to); w++) {
        for (uint32_t lane = 0; lane < LANES; lane++) {
            for (uint32_t r = 0; r < pg_layout_size(to, PG_LIN_REG); r++) {
                cr_assert_eq(element(to, r, lane, w),
                             element(from, pg_convert_source_reg(p, r), lane, w));
            }
        }
    }
}

/* movmatrix turns an 8x8 matrix whose row l / 4 lane l has, two columns a register. */
static void run_movmatrix(const pg_convert_plan *p, const pg_layout *from, const pg_layout *to)
{
    for (uint32_t w = 0; w < n_warps(to); w++) {
        for (uint32_t lane = 0; lane < LANES; lane++) {
            for (uint32_t r = 0; r < pg_layout_size(to, PG_LIN_REG); r++) {
                const uint32_t index[PG_LIN_DIM_COUNT] = {r, lane, w, 0, 0};
                uint32_t src[PG_MAX_RANK] = {0};
                pg_layout_at(&p->map, index, src);
                cr_assert_eq(element(to, r, lane, w), element(from, src[0], src[1], w));
                cr_assert_eq(src[1] / 8, lane % 4, "the row of the source is the pair of columns");
                cr_assert_eq(src[1] % 4, lane / 8, "its pair of columns is the row");
            }
        }
    }
}

static void run_plan(const pg_convert_plan *p, const pg_layout *from, const pg_layout *to)
{
    switch (p->kind) {
    case PG_CONVERT_REGISTERS: run_registers(p, from, to); return;
    case PG_CONVERT_MOVMATRIX: run_movmatrix(p, from, to); return;
    case PG_CONVERT_SHUFFLE: run_shuffle(p, from, to); return;
    default: break;
    }
    uint32_t n = pg_layout_size(&p->mem, PG_LIN_OFFSET);
    uint32_t *bytes = malloc(n * sizeof *bytes);
    memset(bytes, 0xff, n * sizeof *bytes);
    run_move(from, &p->mem, &p->store, bytes, put);
    run_move(to, &p->mem, &p->load, bytes, check);
    cr_assert_eq(p->n_bytes, n * p->elem_bits / 8);
    free(bytes);
}

/* Wavefronts of a move, from the addresses of its instructions. */
static void check_banks(const pg_layout *l, const pg_layout *mem, const pg_bank_move *m,
                        uint32_t bits)
{
    if (m->kind == PG_MOVE_PLAIN) {
        pg_bank_use counted;
        cr_assert_eq(pg_layout_count_banks(l, mem, bits, &m->access, &counted), PG_LAYOUT_OK);
        cr_assert_eq(counted.n_accesses, m->banks.n_accesses);
        cr_assert_eq(counted.n_phases, m->banks.n_phases);
        cr_assert_eq(counted.n_wavefronts, m->banks.n_wavefronts);
        return;
    }
    uint32_t wavefronts = 0, free_bits = pg_layout_free_bits(l, PG_LIN_REG);
    for (uint32_t reg = 0; reg < pg_layout_size(l, PG_LIN_REG); reg++) {
        if ((reg & (access_mask(&m->access) | free_bits)) != 0) {
            continue;
        }
        uint32_t banks[8] = {0}, lines[8], most = 1; /* of 16 bytes */
        for (uint32_t row = 0; row < 8; row++) {
            bool is_trans = m->kind == PG_MOVE_MATRIX_TRANS;
            uint32_t first =
                is_trans ? reg | spread(m->access.reg_bits, m->access.n_log2, row % 2) : reg;
            uint32_t at = offset_of(mem, element(l, first, is_trans ? row / 2 : 4 * row, 0));
            lines[row] = at * bits / 128;
            bool is_new = true;
            for (uint32_t k = 0; k < row; k++) {
                is_new = is_new && lines[k] != lines[row];
            }
            banks[lines[row] % 8] += is_new;
            most = banks[lines[row] % 8] > most ? banks[lines[row] % 8] : most;
        }
        wavefronts += most;
    }
    cr_assert_eq(wavefronts, m->banks.n_wavefronts);
}

static void check_pairs(const layout_set *s, uint32_t bits, uint32_t flags, uint32_t *kinds,
                        uint32_t *n_matrix, uint32_t *n_conflicts)
{
    for (uint32_t i = 0; i < s->n; i++) {
        for (uint32_t j = 0; j < s->n; j++) {
            pg_convert_plan p;
            pg_layout_error e = pg_convert_plan_make(&s->l[i], &s->l[j], bits, flags, &p);
            cr_assert_eq(e, PG_LAYOUT_OK, "%s to %s: %s", s->name[i], s->name[j],
                         pg_layout_error_text(e));
            run_plan(&p, &s->l[i], &s->l[j]);
            kinds[p.kind]++;
            cr_assert(i != j || p.kind == PG_CONVERT_REGISTERS, "%s", s->name[i]);
            if (p.kind != PG_CONVERT_SHARED) {
                continue;
            }
            check_banks(&s->l[i], &p.mem, &p.store, bits);
            check_banks(&s->l[j], &p.mem, &p.load, bits);
            *n_matrix += p.store.kind != PG_MOVE_PLAIN ? 1u : 0u;
            *n_matrix += p.load.kind != PG_MOVE_PLAIN ? 1u : 0u;
            uint32_t more = p.store.banks.n_wavefronts + p.load.banks.n_wavefronts -
                            p.store.banks.n_phases - p.load.banks.n_phases;
            *n_conflicts += more != 0;
            if (more != 0 && getenv("PG_SHOW") != NULL) {
                printf("%u bits %s to %s: store %u/%u load %u/%u\n", bits, s->name[i], s->name[j],
                       p.store.banks.n_wavefronts, p.store.banks.n_phases,
                       p.load.banks.n_wavefronts, p.load.banks.n_phases);
            }
        }
    }
}

Test(convert, all_pairs)
{
    world w;
    world_init(&w);
    const uint32_t flag_sets[] = {ALL, PG_CONVERT_NO_SHUFFLE};
    for (uint32_t bits = 8; bits <= 32; bits *= 2) {
        for (uint32_t f = 0; f < PG_COUNT_OF(flag_sets); f++) {
            layout_set s;
            uint32_t kinds[PG_CONVERT_KIND_COUNT] = {0}, n_matrix = 0, n_conflicts = 0;
            register_layouts(&w, bits, &s);
            check_pairs(&s, bits, flag_sets[f], kinds, &n_matrix, &n_conflicts);
            cr_assert_gt(kinds[PG_CONVERT_SHARED], 0);
            cr_assert((flag_sets[f] & PG_CONVERT_LDMATRIX) == 0 || n_matrix > 0);
            if (getenv("PG_SHOW") != NULL) {
                printf("%u bits, flags %u: %u registers, %u movmatrix, %u shuffle, %u shared, %u "
                       "by matrices, %u with conflicts\n",
                       bits, flag_sets[f], kinds[0], kinds[1], kinds[2], kinds[3], n_matrix,
                       n_conflicts);
            }
        }
    }
    world_fini(&w);
}

Test(convert, outer_digits)
{
    world w;
    world_init(&w);
    layout_set s;
    uint32_t kinds[PG_CONVERT_KIND_COUNT] = {0}, n_matrix = 0, n_conflicts = 0;
    odd_layouts(&w, &s);
    check_pairs(&s, 16, ALL, kinds, &n_matrix, &n_conflicts);
    cr_assert_gt(kinds[PG_CONVERT_SHARED], 0);
    world_fini(&w);
}

/* Between a layout and its like with registers, lanes and replicas put about, within warps. */
Test(convert, random_shuffles)
{
    world w;
    world_init(&w);
    uint32_t n_found = 0;
    for (uint32_t round = 0; round < 300; round++) {
        uint32_t replicas = world_random(&w, 3);
        pg_layout to = random_layout(&w, 4 + replicas, 2, replicas), from = to;
        pg_shuffle s;
        pg_convert_plan p = {.kind = PG_CONVERT_SHUFFLE};
        uint32_t n = 4 + replicas;
        for (uint32_t i = 0; i < 30; i++) { /* mix registers and lanes */
            uint32_t a = world_random(&w, n + 5), b = world_random(&w, n + 5);
            uint32_t *x = a < n ? &from.basis[PG_LIN_REG][a] : &from.basis[PG_LIN_LANE][a - n];
            uint32_t *y = b < n ? &from.basis[PG_LIN_REG][b] : &from.basis[PG_LIN_LANE][b - n];
            *x ^= a == b ? 0 : *y;
        }
        cr_assert_eq(pg_layout_end(&from), PG_LAYOUT_OK);
        if (pg_shuffle_find(&from, &to, 32, &s)) {
            p.shuffle = s;
            run_shuffle(&p, &from, &to);
            n_found++;
        }
        cr_assert(replicas != 0 || n_found > round / 2);
    }
    cr_assert_gt(n_found, 100);
    world_fini(&w);
}

/* The known cases: rows of 16 bytes to an operand of mma are ldmatrix without conflicts. */
Test(convert, ldmatrix_is_found)
{
    world w;
    world_init(&w);
    layout_set s;
    pg_convert_plan p;
    register_layouts(&w, 16, &s);
    cr_assert_eq(pg_convert_plan_make(&s.l[0], &s.l[7], 16, PG_CONVERT_LDMATRIX, &p), PG_LAYOUT_OK);
    cr_assert_eq(p.kind, PG_CONVERT_SHARED);
    cr_assert_eq(p.load.kind, PG_MOVE_MATRIX);
    cr_assert_eq(p.load.n_matrices_log2, 2);
    cr_assert_eq(p.store.access.n_log2, 3);
    cr_assert_eq(p.store.banks.n_wavefronts, p.store.banks.n_phases);
    cr_assert_eq(p.load.banks.n_wavefronts, p.load.banks.n_phases);
    /* B of k rows: its pairs of k stand in different rows of memory. */
    cr_assert_eq(pg_convert_plan_make(&s.l[0], &s.l[8], 16, PG_CONVERT_LDMATRIX, &p), PG_LAYOUT_OK);
    cr_assert_eq(p.load.kind, PG_MOVE_MATRIX_TRANS);
    cr_assert_eq(p.load.banks.n_wavefronts, p.load.banks.n_phases);
    /* An accumulator to rows: stmatrix. */
    cr_assert_eq(pg_convert_plan_make(&s.l[5], &s.l[0], 16, ALL, &p), PG_LAYOUT_OK);
    cr_assert_eq(p.store.kind, PG_MOVE_MATRIX);
    cr_assert_eq(p.load.access.n_log2, 3);
    world_fini(&w);
}

Test(convert, movmatrix_is_found)
{
    world w;
    world_init(&w);
    pg_enc_info tall = {.kind = PG_ENC_MMA, .rank = 2, .shape = {16, 8, 16}, .warps = {1, 1}};
    const int32_t dims[2] = {16, 8};
    pg_layout from = layout_of(&w, PG_F16, dims, 1, tall), to;
    const uint32_t udims[2] = {16, 8};
    cr_assert_eq(pg_layout_begin(&to, 2, udims), PG_LAYOUT_OK);
    cr_assert_eq(pg_layout_add_digit(&to, PG_LIN_REG, 2, 0, 1), PG_LAYOUT_OK);
    cr_assert_eq(pg_layout_add_digit(&to, PG_LIN_REG, 2, 0, 8), PG_LAYOUT_OK);
    cr_assert_eq(pg_layout_add_digit(&to, PG_LIN_LANE, 4, 0, 2), PG_LAYOUT_OK);
    cr_assert_eq(pg_layout_add_digit(&to, PG_LIN_LANE, 8, 1, 1), PG_LAYOUT_OK);
    pg_convert_plan p;
    cr_assert_eq(pg_convert_plan_make(&from, &to, 16, ALL, &p), PG_LAYOUT_OK);
    cr_assert_eq(p.kind, PG_CONVERT_MOVMATRIX);
    run_plan(&p, &from, &to);
    cr_assert_eq(pg_convert_plan_make(&from, &to, 16, 0, &p), PG_LAYOUT_OK);
    cr_assert_neq(p.kind, PG_CONVERT_MOVMATRIX);
    run_plan(&p, &from, &to);
    world_fini(&w);
}

Test(convert, refuses)
{
    world w;
    world_init(&w);
    layout_set s, odd;
    pg_convert_plan p;
    register_layouts(&w, 16, &s);
    odd_layouts(&w, &odd);
    cr_assert_eq(pg_convert_plan_make(&s.l[0], &odd.l[0], 16, ALL, &p), PG_LAYOUT_SHAPE);
    cr_assert_eq(pg_convert_plan_make(&s.l[0], &s.l[1], 4, ALL, &p), PG_LAYOUT_SHAPE);
    world_fini(&w);
}
