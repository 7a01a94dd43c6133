/* ptx_check.c: a module against the instruction table: spellings, floors of version and target,
 * facts of whole kernels. One pass over the statements; operands are ptx_check_ops.c's. */
#include <string.h>

#include "base/suggest.h"
#include "emit/ptx_checker.h"

/* ---- the closest spelling ------------------------------------------------------------------- */

/* Fewer edits than `limit`, and than it has letters: else any short word would be near. */
static pg_nearest nearest_of(pg_str wanted, uint32_t limit)
{
    uint32_t len = (uint32_t)wanted.len;
    return (pg_nearest){.wanted = wanted, .word = {"", 0}, .distance = len < limit ? len : limit};
}

/* The word of the opcode's patterns that is closest to `wanted`. */
static pg_nearest closest_word(pg_isa_range rows, pg_str wanted)
{
    pg_nearest s = nearest_of(wanted, 4);
    for (uint32_t r = rows.first; r < rows.end; r++) {
        const char *p = pg_isa_rows[r].modifiers;
        while (*p != 0) {
            size_t skip = strspn(p, ".|()[]");
            size_t n = strcspn(p + skip, ".|()[]");
            pg_str word = {p + skip, n};
            if (n > 2 && word.ptr[n - 2] == ':' && word.ptr[n - 3] != ':') {
                word.len -= 2; /* the name that it is bound to */
            }
            if (word.len != 0 && memchr(word.ptr, '#', word.len) == NULL && word.ptr[0] != ':') {
                pg_nearest_try(&s, word);
            }
            p += skip + n;
        }
    }
    return s;
}

static void report_opcode(pg_ptx_checker *c)
{
    pg_str op = c->words.at[0];
    pg_nearest s = nearest_of(op, 3);
    bool is_shown = !pg_diags_is_full(c->diags, PG_SEV_ERROR);
    for (uint32_t r = 1; is_shown && r < PG_ISA_COUNT; r++) {
        pg_nearest_try(&s, pg_str_of(pg_isa_rows[r].opcode));
    }
    bool is_close = s.word.len != 0;
    pg_diag_add(c->diags, PG_D_PTX_OPCODE, c->s->loc, PG_STR_ARG(op),
                is_close ? "; did you mean " : "", is_close ? (int)s.word.len : 0, s.word.ptr);
}

void pg_ptx_report_spelling(pg_ptx_checker *c)
{
    pg_isa_range rows = pg_isa_rows_of(c->words.at[0]);
    if (rows.first == rows.end) {
        report_opcode(c);
        return;
    }
    uint32_t at = 1;
    (void)pg_isa_match(&c->words, UINT32_MAX, &at);
    if (at >= c->words.n) {
        pg_diag_add(c->diags, PG_D_PTX_INCOMPLETE, c->s->loc, PG_STR_ARG(c->s->text), "", "");
        return;
    }
    pg_str bad = c->words.at[at];
    pg_nearest s = {.distance = 0};
    if (!pg_diags_is_full(c->diags, PG_SEV_ERROR)) {
        s = closest_word(rows, bad);
    }
    char word[PG_LONGEST_WORD + 1] = {0};
    bool is_close = s.distance != 0 && s.word.len != 0;
    if (is_close) {
        memcpy(word, s.word.ptr, s.word.len);
    }
    int n_bad = bad.len > 60 ? 60 : (int)bad.len;
    pg_diag_add(c->diags, PG_D_PTX_MODIFIER, c->s->loc, PG_STR_ARG(c->words.at[0]), n_bad, bad.ptr,
                is_close ? "; did you mean ." : "", word);
}

/* ---- floors --------------------------------------------------------------------------------- */

static void check_floor(pg_ptx_checker *c, const pg_ptx_floor *fl, pg_loc loc, pg_str what)
{
    if (fl->version > c->m->version) {
        pg_diag_add(c->diags, PG_D_PTX_VERSION, loc, PG_STR_ARG(fl->what), fl->version / 10U,
                    fl->version % 10U, c->m->version / 10U, c->m->version % 10U);
    }
    const char *why = c->target.floor != 0 ? pg_ptx_target_lacks(&c->target, fl) : NULL;
    if (why != NULL) {
        pg_diag_add(c->diags, PG_D_PTX_TARGET, loc, PG_STR_ARG(what), PG_STR_ARG(c->m->target),
                    why);
    }
}

/* ---- statements ----------------------------------------------------------------------------- */

static void check_guard(pg_ptx_checker *c, const pg_ptx_stmt *s)
{
    if (s->guard.kind == PG_PTX_O_REG && s->guard.id < c->f->regs.n &&
        c->f->regs.at[s->guard.id].type != PG_PTX_PRED) {
        pg_diag_add(c->diags, PG_D_PTX_GUARD, s->loc, PG_STR_ARG(s->text));
    }
}

/* N of wgmma: every eighth for floats; 8, 24 and multiples of 16 for integers and bits. */
static void check_wgmma_shape(pg_ptx_checker *c, uint32_t row)
{
    bool is_int = row == PG_ISA_WGMMA_S32 || row == PG_ISA_WGMMA_S32_MIX || row == PG_ISA_WGMMA_B1;
    for (uint32_t i = 1; i < c->words.n; i++) {
        pg_str w = c->words.at[i];
        uint64_t n = 0;
        size_t k = w.len;
        while (k > 4 && w.ptr[k - 1] != 'k') {
            k--;
        }
        if (!pg_str_starts(w, PG_STR("m64n")) || k < 5 ||
            !pg_parse_u64(pg_str_sub(w, 4, k - 1), &n)) {
            continue;
        }
        bool ok = n >= 8 && n <= 256 && n % 8 == 0;
        if (is_int) {
            ok = ok && (n == 8 || n == 24 || n % 16 == 0);
        }
        if (!ok) {
            pg_diag_add(c->diags, PG_D_PTX_MODIFIER, c->s->loc, PG_STR_ARG(c->words.at[0]),
                        PG_STR_ARG(w), "; N is 8 to 256 in steps of ",
                        is_int ? "16, or 8 or 24" : "8");
        }
    }
}

static void check_stmt(pg_ptx_checker *c, pg_ptx_stmt *s)
{
    c->s = s;
    pg_isa_split(s->text, &c->words);
    check_guard(c, s);
    uint32_t row = s->row < PG_ISA_COUNT ? s->row : PG_ISA_NONE;
    if (row == PG_ISA_NONE) {
        row = pg_isa_match(&c->words, s->n_ops, NULL);
        s->row = (uint16_t)row;
    }
    if (row == PG_ISA_NONE || !pg_isa_bind((pg_isa_id)row, &c->words, &c->bound)) {
        pg_ptx_report_spelling(c);
        return;
    }
    pg_ptx_floor fl = {0};
    pg_ptx_floor_add_stmt(&fl, c->m, c->f, s, row, &c->words);
    check_floor(c, &fl, s->loc, s->text);
    if (strcmp(pg_isa_rows[row].opcode, "wgmma") == 0) {
        check_wgmma_shape(c, row);
    }
    pg_ptx_check_operands(c, row);
}

/* ---- whole kernels -------------------------------------------------------------------------- */

static bool has_directive(const pg_ptx_func *f, const char *word)
{
    for (uint32_t i = 0; i < f->directives.n; i++) {
        if (pg_str_starts(f->directives.at[i], pg_str_of(word))) {
            return true;
        }
    }
    return false;
}

static bool calls_extern(const pg_ptx_checker *c, const pg_ptx_stmt *s)
{
    if (s->row != PG_ISA_CALL) {
        return false;
    }
    for (uint32_t i = 0; i < s->n_ops; i++) {
        const pg_ptx_opnd *o = &c->f->pool.at[s->ops + i];
        if (o->kind != PG_PTX_O_SYM || c->m->syms.at[o->id].kind != PG_PTX_SYM_FUNC) {
            continue;
        }
        const pg_ptx_sym *sym = &c->m->syms.at[o->id];
        return sym->func >= c->m->funcs.n || !c->m->funcs.at[sym->func]->has_body;
    }
    return false;
}

/* ptxas drops setmaxnreg silently unless it knows the register count at entry (its C7504, C7508).
 */
static void check_setmaxnreg(pg_ptx_checker *c)
{
    const pg_ptx_func *f = c->f;
    pg_loc loc = {0};
    bool has_it = false;
    bool has_extern = false;
    for (uint32_t i = 0; i < f->body.n; i++) {
        if (f->body.at[i].kind == PG_PTX_S_INST) {
            has_extern = has_extern || calls_extern(c, &f->body.at[i]);
            if (f->body.at[i].row == PG_ISA_SETMAXNREG && !has_it) {
                has_it = true;
                loc = f->body.at[i].loc;
            }
        }
    }
    if (!has_it) {
        return;
    }
    bool knows_threads = has_directive(f, ".maxntid") || has_directive(f, ".reqntid");
    bool knows_regs =
        has_directive(f, ".maxnreg") || (knows_threads && has_directive(f, ".minnctapersm"));
    if (f->is_entry && !knows_regs) {
        pg_diag_add(c->diags, PG_D_PTX_SETMAXNREG, loc,
                    knows_threads ? "the entry has no .minnctapersm (C7508)"
                                  : "the entry's register count is unknown (C7508)");
    }
    if (has_extern) {
        pg_diag_add(c->diags, PG_D_PTX_SETMAXNREG, loc,
                    "the kernel calls an extern function (C7504)");
    }
}

static void check_func(pg_ptx_checker *c, pg_ptx_func *f)
{
    static const char *const cluster[] = {".reqnctapercluster", ".maxclusterrank",
                                          ".explicitcluster", ".blocksareclusters"};
    c->f = f;
    c->n_seen = 0;
    c->seen = f->regs.n != 0 ? PG_NEWS(c->m->arena, uint32_t, f->regs.n) : NULL;
    pg_loc loc = c->m->syms.at[f->sym].loc;
    for (size_t i = 0; i < PG_COUNT_OF(cluster); i++) {
        pg_ptx_floor fl = {.version = i == 3 ? 90 : 78, .sm = 90, .what = pg_str_of(cluster[i])};
        if (has_directive(f, cluster[i])) {
            check_floor(c, &fl, loc, fl.what);
        }
    }
    if (has_directive(f, cluster[0]) && has_directive(f, cluster[1])) {
        pg_diag_add(c->diags, PG_D_PTX_UNIFORM, loc,
                    ".reqnctapercluster and .maxclusterrank exclude each other");
    }
    for (uint32_t i = 0; i < f->body.n; i++) {
        if (f->body.at[i].kind == PG_PTX_S_INST) {
            check_stmt(c, &f->body.at[i]);
        } else if (f->body.at[i].kind == PG_PTX_S_REGS &&
                   f->regdecls.at[f->body.at[i].id].type == PG_PTX_B128) {
            pg_ptx_floor fl = {.version = 83, .sm = 70, .what = PG_STR(".b128")};
            check_floor(c, &fl, f->body.at[i].loc, fl.what);
        }
    }
    check_setmaxnreg(c);
}

pg_status pg_ptx_check(pg_ptx_module *m, pg_diags *diags)
{
    pg_ptx_checker c = {.m = m, .diags = diags, .target = pg_ptx_target_of(m->target)};
    uint32_t n_before = diags->n_errors;
    pg_loc top = {1, 1};
    if (c.target.floor == 0) {
        pg_diag_add(diags, PG_D_PTX_TARGET, top, 3, "PTX", PG_STR_ARG(m->target),
                    "; the table does not know it");
    } else if (c.target.floor > m->version) {
        pg_diag_add(diags, PG_D_PTX_VERSION, top, PG_STR_ARG(m->target), c.target.floor / 10U,
                    c.target.floor % 10U, m->version / 10U, m->version % 10U);
    }
    for (uint32_t i = 0; i < m->funcs.n; i++) {
        check_func(&c, m->funcs.at[i]);
    }
    pg_diags_sort(diags);
    PG_TRY(pg_arena_status(m->arena));
    return diags->n_errors != n_before ? pg_diags_status(diags) : PG_OK;
}
