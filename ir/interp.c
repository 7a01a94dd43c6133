/* interp.c: entry points: arguments, the grid, faults. */
#include "ir/interp.h"

#include <string.h>

#include "ir/interp_int.h"

pg_run pg_rt_fault_row(pg_machine *m, pg_diag_id id, const pg_inst *i, ...)
{
    va_list args;
    va_start(args, i);
    (void)pg_diag_addv(m->diags, id, i->loc, args);
    va_end(args);
    return PG_RUN_FAULT;
}

pg_run pg_rt_oom(pg_machine *m)
{
    m->arena.is_oom = true;
    return PG_RUN_FAULT;
}

static const char *text_of(pg_machine *m, const char *sigil, pg_sym name, uint32_t id)
{
    pg_strbuf text;
    pg_strbuf_init(&text, m->arena.alloc);
    if (name.id != 0) {
        pg_put(&text, sigil);
        pg_put_str(&text, pg_sym_text(&m->k->module->ctx->syms, name));
    } else {
        pg_putf(&text, "%s%u", sigil, id);
    }
    pg_str s = pg_arena_str(&m->arena, pg_strbuf_str(&text));
    pg_strbuf_fini(&text);
    return s.ptr != NULL ? s.ptr : "?";
}

const char *pg_rt_name(pg_machine *m, pg_val v)
{
    return text_of(m, "", pg_value_of(m->k, v)->name, v.id);
}

const char *pg_rt_co_name(pg_machine *m, const pg_co *co)
{
    return co->part == NULL ? "the kernel" : text_of(m, "@", co->part->sym, co->part->id);
}

uint64_t pg_rt_random(pg_machine *m, uint64_t below)
{
    m->rng += UINT64_C(0x9E3779B97F4A7C15);
    return pg_hash_mix(m->rng, UINT64_C(0x2545F4914F6CDD1D)) % below;
}

bool pg_rt_push(pg_machine *m, pg_co *co, const pg_region *region, const pg_inst *owner)
{
    pg_frame f = {.region = region, .next = region->first, .owner = owner};
    return pg_vec_push(&m->arena, &co->frames, f);
}

static pg_status check_args(const pg_kernel *k, const pg_interp_arg *args, uint32_t n_args,
                            pg_diags *diags)
{
    if (n_args != k->n_params) {
        return pg_diag_add(diags, PG_D_RUN_ARGS, k->loc, n_args, k->n_params);
    }
    for (uint32_t p = 0; p < n_args; p++) {
        const pg_interp_array *a = &args[p].array;
        if (pg_val_info(k, k->params[p].val)->is_ptr && a->data == NULL && a->n_bytes != 0) {
            return pg_diag_add(diags, PG_D_RUN_NO_DATA, k->params[p].loc, p,
                               (unsigned long long)a->n_bytes);
        }
    }
    return PG_OK;
}

static pg_status begin(pg_machine *m, pg_kernel *k, const pg_interp_arg *args, uint32_t n_args,
                       pg_diags *diags)
{
    memset(m, 0, sizeof *m);
    m->k = k;
    m->args = args;
    m->n_args = n_args;
    m->diags = diags;
    m->max_steps = UINT64_C(10000000000);
    m->next_due = UINT64_MAX;
    pg_arena_init(&m->arena, k->module->ctx->alloc);
    PG_TRY(check_args(k, args, n_args, diags));
    return pg_rt_slots_init(m);
}

/* Frees; memory that ran out goes before what was reported. */
static pg_status end(pg_machine *m, pg_status status, pg_run run)
{
    bool is_oom = m->arena.is_oom;
    for (uint32_t e = 0; e < m->events.n; e++) {
        m->events.at[e].is_dead = true;
    }
    pg_rt_events_compact(m);
    pg_arena_fini(&m->arena);
    if (is_oom) {
        return PG_E_NOMEM;
    }
    if (status == PG_OK && run != PG_RUN_NEXT) {
        status = pg_diags_status(m->diags);
    }
    return status;
}

static pg_run launch(pg_machine *m)
{
    m->grid[0] = m->grid[1] = m->grid[2] =
        1; /* as the manifest says of a kernel without a region */
    return m->k->launch == NULL ? PG_RUN_NEXT : pg_rt_program(m, m->k->launch);
}

pg_status pg_interp_launch(pg_kernel *k, const pg_interp_arg *args, uint32_t n_args,
                           uint32_t grid[3], pg_diags *diags)
{
    pg_machine m;
    pg_run run = PG_RUN_NEXT;
    pg_status status = begin(&m, k, args, n_args, diags);
    if (status == PG_OK) {
        run = launch(&m);
    }
    memcpy(grid, m.grid, sizeof m.grid);
    return end(&m, status, run);
}

/* Clusters are placed whole. */
static pg_run check_cluster(pg_machine *m)
{
    uint32_t cluster[3];
    pg_kernel_cluster(m->k, cluster);
    for (uint32_t d = 0; d < 3; d++) {
        if (m->grid[d] % cluster[d] != 0) {
            (void)pg_diag_add(m->diags, PG_D_RUN_CLUSTER, m->k->loc, (unsigned)m->grid[d],
                              (unsigned)cluster[d]);
            return PG_RUN_FAULT;
        }
    }
    return PG_RUN_NEXT;
}

static pg_run all_programs(pg_machine *m)
{
    if (check_cluster(m) != PG_RUN_NEXT) {
        return PG_RUN_FAULT;
    }
    uint64_t n = (uint64_t)m->grid[0] * m->grid[1];
    if (n != 0 && m->grid[2] > UINT64_MAX / n) {
        return pg_rt_oom(m);
    }
    n *= m->grid[2];
    for (uint64_t p = 0; p < n; p++) {
        m->pid[0] = (uint32_t)(p % m->grid[0]);
        m->pid[1] = (uint32_t)(p / m->grid[0] % m->grid[1]);
        m->pid[2] = (uint32_t)(p / m->grid[0] / m->grid[1]);
        if (pg_rt_program(m, m->k->body) != PG_RUN_NEXT) {
            return PG_RUN_FAULT;
        }
    }
    return PG_RUN_NEXT;
}

pg_status pg_interp_run(pg_kernel *k, const pg_interp_arg *args, uint32_t n_args,
                        const pg_interp_options *opt, pg_diags *diags)
{
    pg_machine m;
    pg_run run = PG_RUN_NEXT;
    pg_status status = begin(&m, k, args, n_args, diags);
    if (status == PG_OK) {
        m.rng = pg_hash_mix(UINT64_C(0x9E3779B97F4A7C15), opt->seed);
        m.max_steps = opt->max_steps != 0 ? opt->max_steps : m.max_steps;
        memcpy(m.grid, opt->grid, sizeof m.grid);
        if (m.grid[0] == 0) {
            run = launch(&m);
        }
        m.grid[1] += opt->grid[0] != 0 && m.grid[1] == 0;
        m.grid[2] += opt->grid[0] != 0 && m.grid[2] == 0;
        run = run == PG_RUN_NEXT ? all_programs(&m) : run;
    }
    return end(&m, status, run);
}
