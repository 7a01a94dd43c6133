/* registers_round.c: the register round: what partitions need, measured on the emitted code,
 * becomes their [regs=...].
 *
 * A CTA starts with the same number of registers in every thread; setmaxnreg moves them between
 * warp groups. A partition that needs little gives, those that need most share what is left.
 *
 * I1  Only kernels in which no partition asks for registers, whose partitions are whole warp
 *     groups, side by side in the kernel's body, and the only ones of the kernel.
 * I2  Numbers are multiples of 8 from 24 on; their sum over the warp groups is at most what the
 *     groups start with: setmaxnreg.inc waits for what others gave, for ever if nobody did.
 * I3  All conditions are tested before the first change. */
#include "ir/target.h"

#include "registers.h"

enum { LEAST = 24, MOST = 248, STEP = 8, WARPS_PER_GROUP = 4 };

typedef struct split {            /* of one kernel */
    const pg_reg_region *regions; /* the kernel's, the kernel itself first */
    uint32_t n;
    uint32_t share, pool; /* pool: registers of one thread in each warp group, summed */
    uint32_t *regs;       /* by region */
} split;

static uint32_t groups_of(const pg_reg_region *g)
{
    return pg_partition_warps(g->part) / WARPS_PER_GROUP;
}

/* The estimate with a tenth more, since it may be so far off. */
static uint32_t need_of(const pg_reg_region *g)
{
    uint32_t regs = g->peak.estimate + g->peak.estimate / 10;
    regs = (regs + STEP - 1) / STEP * STEP;
    return regs < LEAST ? LEAST : regs;
}

static const char *why_not(const split *s)
{
    const pg_module *m = s->regions[0].kernel->module;
    const pg_target *target = pg_target_find(pg_sym_text(&m->ctx->syms, m->target));
    if (target == NULL || !target->is_arch || target->sm < 90) {
        return "the target cannot move registers";
    }
    if (s->share >= PG_LIVE_THREAD_MAX) {
        return "each thread has as many as it can name";
    }
    uint32_t n_groups = 0;
    const pg_region *body = s->regions[0].kernel->body;
    for (uint32_t i = 1; i < s->n; i++) {
        const pg_inst *p = s->regions[i].part;
        if (p == NULL || p->parent != body || (i > 1 && s->regions[i - 1].part->next != p)) {
            return "they do not stand side by side in the kernel's body";
        }
        if (pg_attr_has(&p->attrs, PG_A_REGS)) {
            return "they say themselves";
        }
        if (pg_partition_warps(p) % WARPS_PER_GROUP != 0 ||
            pg_partition_first_warp(p) % WARPS_PER_GROUP != 0) {
            return "they are not whole groups of 4 warps";
        }
        n_groups += groups_of(&s->regions[i]);
    }
    return n_groups * s->share > s->pool ? "they have more warps than the kernel" : NULL;
}

/* Everybody gets what is needed; the rest goes to those that need most, STEP by STEP. */
static bool divide(split *s)
{
    uint32_t given = 0;
    uint32_t most = 0;
    for (uint32_t i = 1; i < s->n; i++) {
        s->regs[i] = need_of(&s->regions[i]);
        s->regs[i] = s->regs[i] > MOST ? MOST : s->regs[i];
        most = s->regs[i] > most ? s->regs[i] : most;
        given += s->regs[i] * groups_of(&s->regions[i]);
    }
    if (given > s->pool) {
        return false;
    }
    for (;;) {
        uint32_t cost = 0;
        for (uint32_t i = 1; i < s->n; i++) {
            cost += s->regs[i] == most ? STEP * groups_of(&s->regions[i]) : 0;
        }
        if (given + cost > s->pool || most + STEP > MOST) {
            return true;
        }
        for (uint32_t i = 1; i < s->n; i++) {
            s->regs[i] += s->regs[i] == most ? STEP : 0;
        }
        most += STEP;
        given += cost;
    }
}

static pg_status explain(const split *s, const pg_sink *sink, const char *why, ptxgen_result *r)
{
    pg_strbuf t;
    pg_strbuf_init(&t, r->alloc);
    pg_putf(&t, "registers: %.*s: ", PG_STR_ARG(s->regions[0].name));
    if (why != NULL) {
        pg_putf(&t, "partitions keep %u each: %s\n", (unsigned)s->share, why);
    } else {
        for (uint32_t i = 1; i < s->n; i++) {
            pg_putf(&t, "%s%.*s gets %u", i == 1 ? "" : ", ", PG_STR_ARG(s->regions[i].name),
                    (unsigned)s->regs[i]);
        }
        pg_putf(&t, " instead of %u each\n", (unsigned)s->share);
    }
    pg_sink_put(sink, pg_strbuf_str(&t));
    pg_status status = pg_strbuf_status(&t);
    pg_strbuf_fini(&t);
    return status;
}

static pg_status choose_one(split *s, const pg_sink *sink, ptxgen_result *r, bool *changed)
{
    const pg_reg_limits limits = pg_reg_limits_of(s->regions[0].kernel);
    s->share = limits.share;
    s->pool = limits.share * (limits.n_warps / WARPS_PER_GROUP);
    s->regs = PG_NEWS(&r->arena, uint32_t, s->n);
    if (s->regs == NULL) {
        return PG_E_NOMEM;
    }
    const char *why = why_not(s);
    if (why == NULL && !divide(s)) {
        why = "together they need more than there are";
    }
    if (sink != NULL) {
        PG_TRY(explain(s, sink, why, r));
    }
    for (uint32_t i = 1; i < s->n && why == NULL; i++) {
        pg_inst *p = s->regions[i].part;
        pg_attr_set_int(p->parent->kernel, &p->attrs, PG_A_REGS, s->regs[i]);
        *changed = true;
    }
    return PG_OK;
}

pg_status pg_regs_choose(pg_module *m, const pg_reg_regions *regions, const pg_sink *sink,
                         ptxgen_result *r, bool *out_changed)
{
    *out_changed = false;
    for (uint32_t i = 0; i < regions->n;) {
        split s = {.regions = &regions->at[i]};
        while (i < regions->n && regions->at[i].kernel == s.regions[0].kernel) {
            i++;
            s.n++;
        }
        if (s.n > 1) {
            PG_TRY(choose_one(&s, sink, r, out_changed));
        }
    }
    return pg_arena_status(&m->arena);
}
