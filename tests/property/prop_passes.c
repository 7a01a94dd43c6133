/* Random programs (gen.c): passes keep their meaning bit for bit, and their promises.
 *
 *   prop_passes [FIRST_SEED N_SEEDS]       prints "N passed, N failed, N skipped"
 *   prop_passes --print SEED               the program
 *
 * For each program: it verifies; print(parse(x)) is a fixed point; for each list of passes, with
 * every check of the manager on (verify each, round trip, clone, twice), the interpreter gives the
 * same bytes before and after. A program whose layouts cannot agree (PG2020, PG2021) is skipped for
 * that list. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sched/pass.h"
#include "tests/property/data.h"

static const char *const pass_lists[] = {"simplify", "layouts,order,sync",
                                         "simplify,layouts,simplify",
                                         "simplify,layouts,simplify,order,pipeline,sync,simplify"};

/* One program's objects. */
typedef struct subject {
    pg_ctx ctx;
    pg_arena arena;
    pg_diags diags;
    pg_strbuf text, text2;
    pg_module *m;
} subject;

static void subject_begin(subject *s)
{
    memset(s, 0, sizeof *s);
    if (pg_ctx_init(&s->ctx, pg_alloc_default()) != PG_OK) {
        exit(2);
    }
    pg_arena_init(&s->arena, pg_alloc_default());
    pg_diags_init(&s->diags, &s->arena, pg_alloc_default());
    pg_strbuf_init(&s->text, pg_alloc_default());
    pg_strbuf_init(&s->text2, pg_alloc_default());
}

static void subject_end(subject *s)
{
    pg_module_destroy(s->m);
    pg_strbuf_fini(&s->text);
    pg_strbuf_fini(&s->text2);
    pg_arena_fini(&s->arena);
    pg_ctx_fini(&s->ctx);
}

static pg_verdict fail(const subject *s, uint64_t seed, const char *what)
{
    (void)fprintf(stderr, "seed %llu: %s\n", (unsigned long long)seed, what);
    for (uint32_t i = 0; i < s->diags.n && i < 4; i++) {
        const pg_diag *d = &s->diags.at[i];
        (void)fprintf(stderr, "  %u:%u: PG%04u %s\n", d->loc.line, d->loc.column,
                      pg_diag_infos[d->id].number, d->message.ptr);
    }
    return PG_FAILED;
}

static bool run(subject *s, pg_data *out, uint64_t seed)
{
    const pg_interp_options opt = {.grid = {1, 1, 1}, .seed = seed};
    pg_data_fill(out, seed);
    return pg_interp_run(s->m->kernels, out->args, PG_DATA_N + 1, &opt, &s->diags) == PG_OK;
}

static bool has_layout_limit(const pg_diags *d)
{
    for (uint32_t i = 0; i < d->n; i++) {
        if (d->at[i].id == PG_D_LAYOUT_TWO || d->at[i].id == PG_D_LAYOUT_BACK) {
            return true;
        }
    }
    return false;
}

static pg_verdict check_list(pg_str program, const pg_data *want, pg_data *got, uint64_t seed,
                             const char *list, uint32_t checks)
{
    subject s;
    pg_verdict v = PG_PASSED;
    char what[96];
    subject_begin(&s);
    pg_pass_options opt = {.passes = pg_str_of(list),
                           .verify = PG_VERIFY_EACH,
                           .checks = checks,
                           .shuffle = seed,
                           .pass_limit = UINT32_MAX};
    (void)snprintf(what, sizeof what, "passes %s", list);
    if (pg_parse(&s.ctx, program, &s.diags, &s.m) != PG_OK) {
        v = fail(&s, seed, "does not parse");
    } else if (pg_passes_run(s.m, &opt, &s.arena, &s.m, NULL, NULL, NULL) != PG_OK) {
        v = has_layout_limit(&s.diags) ? PG_SKIPPED : fail(&s, seed, what);
    } else if (!run(&s, got, seed)) {
        v = fail(&s, seed, what);
    } else if (!pg_data_equal(want, got)) {
        (void)snprintf(what, sizeof what, "passes %s change the result", list);
        v = fail(&s, seed, what);
    }
    subject_end(&s);
    return v;
}

/* Counts into tally[pg_verdict]. */
static void check_program(pg_str program, uint64_t seed, pg_data *want, pg_data *got,
                          uint32_t tally[3])
{
    subject s;
    subject_begin(&s);
    pg_verdict v = PG_PASSED;
    if (pg_parse(&s.ctx, program, &s.diags, &s.m) != PG_OK || pg_verify(s.m, 0) != PG_OK) {
        v = fail(&s, seed, "does not parse or verify");
    }
    if (v == PG_PASSED) {
        pg_module *again = NULL;
        pg_print(&s.text, s.m);
        if (pg_parse(&s.ctx, pg_strbuf_str(&s.text), &s.diags, &again) != PG_OK) {
            v = fail(&s, seed, "printed text does not parse");
        } else {
            pg_print(&s.text2, again);
            v = pg_str_eq(pg_strbuf_str(&s.text), pg_strbuf_str(&s.text2))
                    ? v
                    : fail(&s, seed, "print(parse(x)) is no fixed point");
        }
        pg_module_destroy(again);
    }
    if (v == PG_PASSED && !run(&s, want, seed)) {
        v = fail(&s, seed, "the interpreter finds a fault");
    }
    tally[v]++;
    subject_end(&s);
    for (size_t i = 0; v == PG_PASSED && i < PG_COUNT_OF(pass_lists); i++) {
        const uint32_t checks = PG_CHECK_ROUNDTRIP | PG_CHECK_CLONE | PG_CHECK_TWICE;
        tally[check_list(program, want, got, seed, pass_lists[i], checks)]++;
    }
    /* The others replace the module: here what a pass knows of it from an earlier run stays. */
    if (v == PG_PASSED) {
        const char *all = pass_lists[PG_COUNT_OF(pass_lists) - 1];
        tally[check_list(program, want, got, seed, all, PG_CHECK_TWICE)]++;
    }
}

int main(int argc, char **argv)
{
    const bool is_print = argc == 3 && strcmp(argv[1], "--print") == 0;
    const uint64_t first = argc == 3 && !is_print ? strtoull(argv[1], NULL, 10) : 1;
    const uint64_t n = argc == 3 && !is_print ? strtoull(argv[2], NULL, 10) : 300;
    pg_data want = {0}, got = {0};
    uint32_t tally[3] = {0};
    pg_strbuf text;
    pg_strbuf_init(&text, pg_alloc_default());
    if (is_print) {
        const uint64_t seed = strtoull(argv[2], NULL, 10);
        pg_gen_program(&text, &(pg_gen_options){seed, 20 + (uint32_t)(seed % 60), false});
        (void)fputs(text.ptr, stdout);
        pg_strbuf_fini(&text);
        return 0;
    }
    for (uint64_t seed = first; seed < first + n; seed++) {
        pg_strbuf_clear(&text);
        pg_gen_program(&text, &(pg_gen_options){seed, 20 + (uint32_t)(seed % 60), false});
        check_program(pg_strbuf_str(&text), seed, &want, &got, tally);
    }
    pg_strbuf_fini(&text);
    pg_data_free(&want);
    pg_data_free(&got);
    return pg_verdicts_print(tally);
}
