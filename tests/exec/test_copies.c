/* test_copies.c: copies between pairs of random encodings: linear layouts whose vectors are sums of
 * the tile's, with replicas in registers, lanes and warps, and blocked ones and fragments; one to
 * eight warps; elements of 1 to 64 bits and pointers; alone, in a loop, in partitions. The
 * interpreter knows nothing of layouts; the executor runs the PTX with races on. */
#include <stdio.h>
#include <string.h>

#include "base/num.h"
#include "ir/elem.h"
#include "tests/draw.h"

#include "both.h"

enum { MAX_N = 4096, MAX_BITS = 12 };

typedef enum place { ALONE, IN_LOOP, IN_PARTITION, IN_PARTITION_LOOP, N_PLACES } place;
static const char *const place_names[] = {"alone", "in a loop", "in a partition",
                                          "in a loop in a partition"};

typedef struct copy_case {
    uint32_t rank, dims[3], warps, sm;
    pg_elem elem; /* of memory; I1: a mask of them is copied */
    bool is_ptr;  /* pointers to them are copied */
    place at;
    uint64_t seed;
} copy_case;

static uint32_t n_pass, n_fail, n_skip;
static uint32_t n_form[4]; /* programs whose PTX shows: memory, shuffles, matrices, movmatrix */

static uint32_t log2_of(uint32_t x)
{
    return x <= 1 ? 0 : pg_log2(x);
}

/* ---- encodings ------------------------------------------------------------------------------- */

/* The unit vectors of the tile as one number each: dimensions side by side. */
static uint32_t units_of(const copy_case *c, uint32_t *unit)
{
    uint32_t n = 0, at = 0;
    for (uint32_t d = c->rank; d-- > 0;) {
        for (uint32_t b = 0; b < log2_of(c->dims[d]); b++) {
            unit[n++] = 1u << (at + b);
        }
        at += log2_of(c->dims[d]);
    }
    return n;
}

static void put_vector(pg_strbuf *t, const copy_case *c, uint32_t v)
{
    uint32_t shift[3] = {0}, at = 0;
    for (uint32_t d = c->rank; d-- > 0;) {
        shift[d] = at;
        at += log2_of(c->dims[d]);
    }
    pg_put(t, "(");
    for (uint32_t d = 0; d < c->rank; d++) {
        pg_putf(t, "%s%u", d == 0 ? "" : ", ", (v >> shift[d]) & (c->dims[d] - 1));
    }
    pg_put(t, ")");
}

static void put_vectors(pg_strbuf *t, const copy_case *c, const char *name, const uint32_t *v,
                        uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        pg_put(t, i == 0 ? name : ", ");
        put_vector(t, c, v[i]);
    }
    pg_put(t, n == 0 ? "" : ")");
}

/* A random basis of the tile and some zeros, dealt to registers, lanes and warps. */
static void put_linear(pg_strbuf *t, const copy_case *c, uint64_t *seed)
{
    uint32_t v[32] = {0};
    uint32_t n = units_of(c, v), n_warp = log2_of(c->warps);
    const uint32_t n_mix = draw_below(seed, 3) == 0 ? 0 : draw_below(seed, 2 * n + 1);
    for (uint32_t i = 0; i < n_mix; i++) { /* sums keep it a basis */
        const uint32_t a = draw_below(seed, n), b = draw_below(seed, n);
        v[a] ^= a == b ? 0 : v[b];
    }
    uint32_t total = n + draw_below(seed, 3);
    while (total < 5 + n_warp) {
        total++;
    }
    for (uint32_t i = total; i-- > 1;) { /* shuffled, but often in order */
        const uint32_t k = draw_below(seed, 2) == 0 ? i : draw_below(seed, i + 1), x = v[i];
        v[i] = v[k];
        v[k] = x;
    }
    const uint32_t n_reg = total - 5 - n_warp;
    pg_put(t, "linear [");
    put_vectors(t, c, "reg=(", v, n_reg);
    pg_put(t, n_reg == 0 ? "" : ", ");
    put_vectors(t, c, "lane=(", v + n_reg, 5);
    pg_put(t, n_warp == 0 ? "" : ", ");
    put_vectors(t, c, "warp=(", v + n_reg + 5, n_warp);
    pg_put(t, "]");
}

static void put_blocked(pg_strbuf *t, const copy_case *c, uint64_t *seed)
{
    uint32_t part[3][3], left[3] = {2u << draw_below(seed, 3), 32, c->warps};
    const uint32_t turn = draw_below(seed, c->rank);
    for (uint32_t k = 0; k < 3; k++) {
        for (uint32_t d = 0; d < c->rank; d++) {
            const bool is_last = d + 1 == c->rank;
            part[k][d] = is_last ? left[k] : 1u << draw_below(seed, log2_of(left[k]) + 1);
            left[k] /= part[k][d];
        }
    }
    static const char *const names[3] = {"regs", "lanes", "warps"};
    pg_put(t, "blocked [order=(");
    for (uint32_t d = 0; d < c->rank; d++) {
        pg_putf(t, "%s%u", d == 0 ? "" : ", ", (turn + d) % c->rank);
    }
    for (uint32_t k = 0; k < 3; k++) {
        pg_putf(t, "), %s=(", names[k]);
        for (uint32_t d = 0; d < c->rank; d++) {
            pg_putf(t, "%s%u", d == 0 ? "" : ", ", part[k][d]);
        }
    }
    pg_put(t, ")]");
}

static void put_encoding(pg_strbuf *t, const copy_case *c, uint64_t *seed)
{
    const uint32_t kind = draw_below(seed, 4);
    const uint32_t m = 1u << draw_below(seed, log2_of(c->warps) + 1);
    if (c->rank == 2 && kind == 0 && c->dims[0] >= 16 * m && c->dims[1] >= 8 * c->warps / m) {
        pg_putf(t, "mma [shape=(16, 8, 16), warps=(%u, %u)]", m, c->warps / m);
    } else if (kind == 1) {
        put_blocked(t, c, seed);
    } else {
        put_linear(t, c, seed);
    }
}

/* ---- programs -------------------------------------------------------------------------------- */

static void put_tile(pg_strbuf *t, const copy_case *c, const char *elem, const char *enc)
{
    pg_put(t, "tile<");
    for (uint32_t d = 0; d < c->rank; d++) {
        pg_putf(t, "%ux", c->dims[d]);
    }
    pg_putf(t, "%s%s%s>", elem, enc[0] != '\0' ? ", " : "", enc);
}

static void put_op(pg_strbuf *t, const copy_case *c, const char *text, const char *elem,
                   const char *enc)
{
    pg_putf(t, "  %s : ", text);
    put_tile(t, c, elem, enc);
    pg_put(t, "\n");
}

/* %<name>: row-major number of each element in the encoding. */
static void put_numbers(pg_strbuf *t, const copy_case *c, const char *name, const char *enc)
{
    char line[96];
    uint32_t stride = 1;
    for (uint32_t d = c->rank; d-- > 0;) {
        (void)snprintf(line, sizeof line, "%%%si%u = iota [dim=%u]", name, d, d);
        put_op(t, c, line, "i32", enc);
        (void)snprintf(line, sizeof line, "%%%sm%u = imul %%%si%u, %u", name, d, name, d, stride);
        put_op(t, c, line, "i32", enc);
        if (d + 1 == c->rank) {
            (void)snprintf(line, sizeof line, "%%%ss%u = iadd %%%sm%u, 0", name, d, name, d);
        } else {
            (void)snprintf(line, sizeof line, "%%%ss%u = iadd %%%sm%u, %%%ss%u", name, d, name, d,
                           name, d + 1);
        }
        put_op(t, c, line, "i32", enc);
        stride *= c->dims[d];
    }
}

/* Loads in #u, copies, stores in #v; a loop goes there and back three times, and adds. */
static void put_body(pg_strbuf *t, const copy_case *c, const char *names)
{
    const char *e = pg_elem_infos[c->elem == PG_I1 ? PG_I32 : c->elem].text;
    char pointer[16], in[16], out[16], line[128];
    const bool is_loop = c->at == IN_LOOP || c->at == IN_PARTITION_LOOP;
    (void)snprintf(pointer, sizeof pointer, "ptr<%s>", e);
    (void)snprintf(in, sizeof in, "a%s", names);
    (void)snprintf(out, sizeof out, "o%s", names);
    put_numbers(t, c, "u", "#u");
    put_numbers(t, c, "v", "#v");
    (void)snprintf(line, sizeof line, "%%up = addptr %%%s, %%us0", in);
    put_op(t, c, line, pointer, "#u");
    (void)snprintf(line, sizeof line, "%%vp = addptr %%%s, %%vs0", out);
    put_op(t, c, line, pointer, "#v");
    if (c->is_ptr) {
        put_op(t, c, "%vq = copy %up", pointer, "#v");
        put_op(t, c, "%y = load %vq", e, "#v");
    } else if (is_loop) {
        put_op(t, c, "%x0 = load %up", e, "#u");
        pg_put(t, "  %r = for %k in 0 to 3 step 1 carry (%x = %x0) : ");
        put_tile(t, c, e, "#u");
        pg_put(t, " {\n");
        put_op(t, c, "%w = copy %x", e, "#v");
        put_op(t, c, pg_elem_infos[c->elem].cls == 'F' ? "%w2 = fneg %w" : "%w2 = ineg %w", e,
               "#v");
        put_op(t, c, "%x2 = copy %w2", e, "#u");
        put_op(t, c,
               pg_elem_infos[c->elem].cls == 'F' ? "%x3 = fmax %x2, %x" : "%x3 = isub %x2, %x", e,
               "#u");
        pg_put(t, "  yield %x3\n  }\n");
        put_op(t, c, "%y = copy %r", e, "#v");
    } else if (c->elem == PG_I1) {
        put_op(t, c, "%x = load %up", e, "#u");
        put_op(t, c, "%b = icmp %x, 0 [is=lt]", "i1", "#u");
        put_op(t, c, "%bv = copy %b", "i1", "#v");
        put_op(t, c, "%y = ucast %bv", e, "#v");
    } else {
        put_op(t, c, "%x = load %up", e, "#u");
        put_op(t, c, "%y = copy %x", e, "#v");
    }
    pg_put(t, "  store %vp, %y\n");
}

static void put_program(pg_strbuf *t, const copy_case *c)
{
    const char *e = pg_elem_infos[c->elem == PG_I1 ? PG_I32 : c->elem].text;
    const bool is_split = c->at == IN_PARTITION || c->at == IN_PARTITION_LOOP;
    uint64_t seed = c->seed;
    pg_putf(t, "ptir 1\nmodule sm_%u\nenc #u = ", c->sm);
    put_encoding(t, c, &seed);
    pg_put(t, "\nenc #v = ");
    put_encoding(t, c, &seed);
    pg_putf(t,
            "\nkernel @t(%%a0: ptr<%s> [in], %%o0: ptr<%s> [out], %%a1: ptr<%s> [in], %%o1: "
            "ptr<%s> [out]) [warps=%u] {\n",
            e, e, e, e, c->warps);
    if (is_split) {
        pg_putf(t, "  partition @one [warps=%u, default] {\n", c->warps);
        put_body(t, c, "0");
        pg_putf(t, "  }\n  partition @two [warps=%u] {\n", c->warps);
        put_body(t, c, "1");
        pg_put(t, "  }\n");
    } else {
        put_body(t, c, "0");
    }
    pg_put(t, "  return\n}\n");
}

static void run_case(const copy_case *c)
{
    static uint64_t a[2][MAX_N];
    uint64_t seed = c->seed ^ 0x9e3779b97f4a7c15ull;
    const pg_elem e = c->elem == PG_I1 ? PG_I32 : c->elem;
    uint32_t n = 1;
    for (uint32_t d = 0; d < c->rank; d++) {
        n *= c->dims[d];
    }
    for (uint32_t k = 0; k < 2; k++) {
        for (uint32_t i = 0; i < n; i++) {
            const uint64_t x = pg_elem_infos[e].cls == 'F'
                                   ? pg_elem_of_f64(e, (double)(int64_t)(draw(&seed) % 251))
                                   : pg_elem_wrap(e, draw(&seed) * 0x10001ull);
            memcpy((char *)a[k] + (size_t)i * both_size(e), &x, both_size(e));
        }
    }
    const bool is_split = c->at == IN_PARTITION || c->at == IN_PARTITION_LOOP;
    const both_arg args[4] = {{.elem = e, .data = a[0], .n = n},
                              {.elem = e, .n = n, .is_out = true},
                              {.elem = e, .data = a[1], .n = n},
                              {.elem = e, .n = n, .is_out = is_split}};
    pg_strbuf text, why;
    pg_strbuf_init(&text, pg_alloc_default());
    pg_strbuf_init(&why, pg_alloc_default());
    put_program(&text, c);
    both_stats stats = {0};
    const both_case b = {.text = text.ptr,
                         .passes = "layouts,sync",
                         .args = args,
                         .n_args = 4,
                         .grid = {1, 1, 1},
                         .races = true,
                         .stats = &stats};
    const both_result r = both_run(&b, &why);
    static const char *const forms[4] = {"st.shared", "shfl.sync", "stmatrix", "movmatrix"};
    for (uint32_t i = 0; i < 4; i++) {
        n_form[i] += stats.ptx != NULL && strstr(stats.ptx, forms[i]) != NULL;
    }
    n_pass += r == BOTH_AGREE;
    n_skip += r == BOTH_SKIPPED;
    if (r == BOTH_DIFFER && n_fail++ < 4) {
        printf("%s of %u bits, %u warps, seed %llu: %s\n%s\n", place_names[c->at],
               c->is_ptr ? 64 : pg_elem_infos[c->elem].bits, c->warps, (unsigned long long)c->seed,
               why.ptr != NULL ? why.ptr : "", text.ptr);
    }
    both_stats_free(&stats);
    pg_strbuf_fini(&text);
    pg_strbuf_fini(&why);
}

static copy_case random_case(uint64_t seed)
{
    static const pg_elem elems[] = {PG_I1,  PG_I8,  PG_F16, PG_BF16, PG_I16,
                                    PG_F32, PG_I32, PG_F64, PG_I64};
    static const uint32_t targets[] = {80, 90};
    uint64_t s = seed * 0x9e3779b97f4a7c15ull + 1;
    copy_case c = {.rank = 1 + draw_below(&s, 3)};
    uint32_t left = 5 + draw_below(&s, MAX_BITS - 4);
    const uint32_t n = 1u << left;
    for (uint32_t d = 0; d < c.rank; d++) {
        const uint32_t bits = d + 1 == c.rank ? left : draw_below(&s, left + 1);
        c.dims[d] = 1u << bits;
        left -= bits;
    }
    c.at = (place)draw_below(&s, N_PLACES);
    if (c.at == IN_PARTITION_LOOP && n > 2048) {
        c.at = IN_LOOP; /* six buffers in each partition */
    }
    c.warps = 1u << draw_below(&s, 4);
    c.sm = targets[draw_below(&s, 2)];
    c.elem = elems[draw_below(&s, sizeof elems / sizeof elems[0])];
    if (c.elem == PG_I1 || draw_below(&s, 12) == 0) {
        c.is_ptr = c.elem != PG_I1;
        c.at = c.at == IN_LOOP ? ALONE : c.at == IN_PARTITION_LOOP ? IN_PARTITION : c.at;
    }
    c.seed = draw(&s) | 1;
    return c;
}

int main(int argc, char **argv)
{
    unsigned long long first = 1, n = 600;
    if (argc == 3 && (sscanf(argv[1], "%llu", &first) != 1 || sscanf(argv[2], "%llu", &n) != 1)) {
        return 2;
    }
    for (unsigned long long i = first; i < first + n; i++) {
        const copy_case c = random_case(i);
        run_case(&c);
    }
    printf("%u passed, %u failed, %u skipped; with memory %u, shuffles %u, stmatrix %u, "
           "movmatrix %u\n",
           n_pass, n_fail, n_skip, n_form[0], n_form[1], n_form[2], n_form[3]);
    /* Encodings are given, so nothing may be skipped; every way must have been gone. */
    const bool is_whole = n < 600 || (n_form[0] != 0 && n_form[1] != 0 && n_form[2] != 0);
    return n_fail == 0 && n_skip == 0 && is_whole ? 0 : 1;
}
