/* pass.c: the pass table as C and the manager that runs it.
 *
 *   by pass:    needs of all? -> for each pass: on every kernel -> properties -> checks -> print
 *   by kernel:  needs of all? -> for each kernel: every pass -> properties
 *
 * I1  m->props holds exactly what the passes that ran promised and none broke since.
 * I2  Scratch memory of a pass is released before the next one begins.
 * I3  A check (round trip, clone) replaces the module by one that prints the same text; the
 *     properties go over to the replacement.
 * I4  A pass changes no kernel but the one it is given, and no pass asks what another kernel is
 *     like: both orders give the same kernels. What differs is how encodings are numbered that
 *     several kernels get, so that by kernel is for those who do not look at the IR. */
#include "sched/pass.h"

#include "base/suggest.h"

#define PASS(fn, ...) pg_status pg_pass_##fn(pg_pass_env *env, pg_kernel *k, pg_change *change);
#include "sched/passes.def"

// clang-format off
#define PASS(fn, name, needs, gives, breaks, keeps, doc) {name, pg_pass_##fn, needs, gives, breaks, keeps, doc},
const pg_pass pg_passes[] = {
#include "sched/passes.def"
};
static const char pass_names[] = /* for messages */
#define PASS(fn, name, ...) " " name
#include "sched/passes.def"
    ;
// clang-format on
const uint32_t pg_n_passes = (uint32_t)PG_COUNT_OF(pg_passes);

static const char *const prop_names[] = {"laid-out", "pipelined",
                                         "synced"}; /* bit i of PG_PROP_* */
_Static_assert((1u << PG_COUNT_OF(prop_names)) - 1 == PG_PROP_ALL, "a property has no name");

/* One entry of a parsed --passes list. */
typedef struct pass_entry {
    const pg_pass *pass;
    pg_str args;
} pass_entry;
typedef PG_VEC(pass_entry) pass_list;

typedef struct manager {
    pg_module *m;
    const pg_pass_options *opt;
    pg_arena scratch; /* of the running pass */
    pg_arena lists;   /* of the manager */
    pg_strbuf before, after;
    pass_list list;
    PG_VEC(pg_pass_stat) stats;
    pg_arena *out;
} manager;

const pg_pass *pg_pass_find(pg_str name)
{
    for (uint32_t i = 0; i < pg_n_passes; i++) {
        if (pg_str_is(name, pg_passes[i].name)) {
            return &pg_passes[i];
        }
    }
    return NULL;
}

void pg_sink_put(const pg_sink *sink, pg_str text)
{
    if (sink->write && text.len > 0) {
        sink->write(sink->user, text.ptr, text.len);
    }
}

/* Takes the text up to the next comma that is outside brackets off *rest. */
static pg_str next_item(pg_str *rest)
{
    size_t depth = 0, i = 0;
    for (; i < rest->len; i++) {
        char c = rest->ptr[i];
        if (c == ',' && depth == 0) {
            break;
        }
        depth += c == '[' ? 1 : 0;
        depth -= c == ']' && depth > 0 ? 1 : 0;
    }
    pg_str item = pg_str_sub(*rest, 0, i);
    *rest = pg_str_sub(*rest, i + 1, rest->len);
    return item;
}

static pg_str trim(pg_str s)
{
    size_t from = 0, to = s.len;
    while (from < to && s.ptr[from] == ' ') {
        from++;
    }
    while (to > from && s.ptr[to - 1] == ' ') {
        to--;
    }
    return pg_str_sub(s, from, to);
}

/* "name=value": splits at the first '='; false without one. */
static bool split_option(pg_str item, pg_str *name, pg_str *value)
{
    for (size_t i = 0; i < item.len; i++) {
        if (item.ptr[i] == '=') {
            *name = trim(pg_str_sub(item, 0, i));
            *value = trim(pg_str_sub(item, i + 1, item.len));
            return true;
        }
    }
    return false;
}

int64_t pg_pass_arg(const pg_pass_env *env, const char *name, int64_t if_absent)
{
    pg_str rest = env->args;
    while (rest.len > 0) {
        pg_str key, value;
        int64_t x;
        if (split_option(next_item(&rest), &key, &value) && pg_str_is(key, name) &&
            pg_parse_i64(value, &x)) {
            return x;
        }
    }
    return if_absent;
}

uint32_t pg_tie(pg_pass_env *env, uint32_t n)
{
    if (env->options->shuffle == 0 || n < 2) {
        return 0;
    }
    uint64_t x = env->ties += UINT64_C(0x9e3779b97f4a7c15); /* splitmix64 */
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return (uint32_t)((x ^ x >> 31) % n);
}

bool pg_pass_explains(const pg_pass_env *env, const char *topic)
{
    pg_str rest = env->options->explain;
    if (!env->options->sink.write) {
        return false;
    }
    while (rest.len > 0) {
        pg_str item = trim(next_item(&rest));
        if (pg_str_is(item, topic) || pg_str_is(item, "all")) {
            return true;
        }
    }
    return false;
}

static pg_status bad_pass(manager *mg, pg_str name)
{
    pg_nearest near = pg_nearest_of(name);
    for (uint32_t i = 0; i < pg_n_passes; i++) {
        pg_nearest_try(&near, pg_str_of(pg_passes[i].name));
    }
    return pg_diag_add(mg->m->diags, PG_D_PASS_UNKNOWN, (pg_loc){0}, PG_STR_ARG(name),
                       pg_nearest_text(&near, &mg->lists, mg->m->ctx->alloc), pass_names);
}

/* Every option must be `name=integer`; which names a pass takes is a column of its own file. */
static pg_status check_args(manager *mg, pg_str text, pg_str args)
{
    while (args.len > 0) {
        pg_str key, value;
        int64_t x;
        if (!split_option(next_item(&args), &key, &value) || !pg_parse_i64(value, &x)) {
            return pg_diag_add(mg->m->diags, PG_D_PASS_SYNTAX, (pg_loc){0}, PG_STR_ARG(text));
        }
    }
    return PG_OK;
}

static pg_status add_item(manager *mg, pg_str item)
{
    pass_entry e = {0};
    pg_str name = item;
    for (size_t i = 0; i < item.len; i++) {
        if (item.ptr[i] == '[') {
            if (item.ptr[item.len - 1] != ']') {
                return pg_diag_add(mg->m->diags, PG_D_PASS_SYNTAX, (pg_loc){0}, PG_STR_ARG(item));
            }
            name = trim(pg_str_sub(item, 0, i));
            e.args = pg_str_sub(item, i + 1, item.len - 1);
            break;
        }
    }
    e.pass = pg_pass_find(name);
    if (!e.pass) {
        return bad_pass(mg, name);
    }
    PG_TRY(check_args(mg, item, e.args));
    return pg_vec_push(&mg->lists, &mg->list, e) ? PG_OK : PG_E_NOMEM;
}

static pg_status read_list(manager *mg)
{
    pg_str rest = trim(mg->opt->passes);
    if (rest.len == 0) {
        rest = pg_str_of(pg_pipeline_of(mg->m->sm));
    } else if (pg_str_is(rest, "none")) {
        rest = (pg_str){0};
    }
    while (rest.len > 0) {
        PG_TRY(add_item(mg, trim(next_item(&rest))));
    }
    const pg_str stop = mg->opt->stop_after, print = mg->opt->print_after;
    if (stop.len > 0 && !pg_pass_find(stop)) {
        return bad_pass(mg, stop);
    }
    if (print.len > 0 && !pg_str_is(print, "all") && !pg_str_is(print, "changed") &&
        !pg_pass_find(print)) {
        return bad_pass(mg, print);
    }
    return PG_OK;
}

/* The message about a missing property names the first pass that gives it. */
static pg_status check_needs(manager *mg, const pg_pass *p, uint32_t props)
{
    const uint32_t missing = p->needs & ~props;
    for (uint32_t b = 0; b < PG_COUNT_OF(prop_names); b++) {
        if (!(missing >> b & 1)) {
            continue;
        }
        const char *giver = "?";
        for (uint32_t i = pg_n_passes; i-- > 0;) {
            giver = pg_passes[i].gives >> b & 1 ? pg_passes[i].name : giver;
        }
        return pg_diag_add(mg->m->diags, PG_D_PASS_NEEDS, (pg_loc){0}, p->name, prop_names[b],
                           giver);
    }
    return PG_OK;
}

static pg_status run_on(manager *mg, const pass_entry *e, pg_pass_env *env, pg_kernel *k,
                        pg_change *change)
{
    const pg_arena_mark mark = pg_arena_mark_get(&mg->scratch);
    pg_change c = PG_UNCHANGED;
    pg_status st = e->pass->run(env, k, &c);
    st = st == PG_OK ? pg_arena_status(&mg->scratch) : st;
    pg_arena_release(&mg->scratch, mark);
    if (c == PG_CHANGED) {
        *change = PG_CHANGED;
    }
    return st == PG_OK ? pg_arena_status(&mg->m->arena) : st;
}

static pg_pass_env env_of(manager *mg, const pass_entry *e)
{
    return (pg_pass_env){.module = mg->m,
                         .scratch = &mg->scratch,
                         .diags = mg->m->diags,
                         .options = mg->opt,
                         .args = e->args,
                         .ties = mg->opt->shuffle};
}

static pg_status run_pass(manager *mg, const pass_entry *e, pg_change *change)
{
    pg_pass_env env = env_of(mg, e);
    *change = PG_UNCHANGED;
    for (pg_kernel *k = mg->m->kernels; k; k = k->next) {
        PG_TRY(run_on(mg, e, &env, k, change));
    }
    return PG_OK;
}

static uint32_t props_after(const pass_entry *e, uint32_t props)
{
    return (props & ~e->pass->breaks) | e->pass->gives;
}

static pg_status print_module(pg_strbuf *b, const pg_module *m)
{
    pg_strbuf_clear(b);
    pg_print(b, m);
    return pg_strbuf_status(b);
}

/* Two modules that print the same text: messages go on to speak of the author's lines. */
static void keep_places(pg_module *to, const pg_module *from)
{
    const pg_kernel *k = from->kernels;
    for (pg_kernel *t = to->kernels; t != NULL && k != NULL; t = t->next, k = k->next) {
        t->loc = k->loc;
        for (uint32_t i = 0; i < t->n_params && i < k->n_params; i++) {
            t->params[i].loc = k->params[i].loc;
        }
        pg_region *const of[] = {t->launch, t->body};
        const pg_region *const in[] = {k->launch, k->body};
        for (uint32_t r = 0; r < PG_COUNT_OF(of); r++) {
            pg_inst *a = of[r] == NULL ? NULL : of[r]->first;
            const pg_inst *b = in[r] == NULL ? NULL : in[r]->first;
            for (; a != NULL && b != NULL; a = pg_inst_walk(a, of[r]), b = pg_inst_walk(b, in[r])) {
                a->loc = b->loc;
            }
        }
    }
}

/* Takes `fresh` in the place of the module if both print the same text, and else destroys it. */
static pg_status replace_module(manager *mg, pg_module *fresh, bool *is_same)
{
    pg_status st = print_module(&mg->after, fresh);
    *is_same = st == PG_OK && pg_str_eq(pg_strbuf_str(&mg->before), pg_strbuf_str(&mg->after));
    if (!*is_same) {
        pg_module_destroy(fresh);
        return st;
    }
    fresh->props = mg->m->props;
    keep_places(fresh, mg->m);
    pg_module_destroy(mg->m);
    mg->m = fresh;
    return PG_OK;
}

static pg_status check_twice(manager *mg, const pass_entry *e)
{
    pg_change change;
    PG_TRY(print_module(&mg->before, mg->m));
    for (pg_kernel *k = mg->m->kernels; k; k = k->next) {
        k->simplified.is_known = false; /* that it may leave out is what is checked */
    }
    PG_TRY(run_pass(mg, e, &change));
    PG_TRY(print_module(&mg->after, mg->m));
    if (change == PG_CHANGED || !pg_str_eq(pg_strbuf_str(&mg->before), pg_strbuf_str(&mg->after))) {
        return pg_diag_add(mg->m->diags, PG_D_PASS_TWICE, (pg_loc){0}, e->pass->name);
    }
    return PG_OK;
}

static pg_status verify_after(manager *mg, const char *pass)
{
    pg_status st = pg_verify(mg->m, mg->m->props);
    if (st == PG_OK || st == PG_E_NOMEM || st == PG_E_RESOURCE) {
        return st; /* what a target has too little of is no defect of the pass that asks for it */
    }
    return pg_diag_add(mg->m->diags, PG_D_PASS_BROKE, (pg_loc){0}, pass);
}

static pg_status run_checks(manager *mg, const pass_entry *e)
{
    const uint32_t checks = mg->opt->checks;
    const char *name = e->pass->name;
    bool is_same = true;
    if (checks & PG_CHECK_TWICE) {
        PG_TRY(check_twice(mg, e));
    }
    if (checks & PG_CHECK_CLONE) {
        pg_module *copy = NULL;
        PG_TRY(print_module(&mg->before, mg->m));
        PG_TRY(pg_module_clone(mg->m, mg->m->diags, &copy));
        PG_TRY(replace_module(mg, copy, &is_same));
        if (!is_same) {
            return pg_diag_add(mg->m->diags, PG_D_PASS_CLONE, (pg_loc){0}, name);
        }
    }
    if (checks & PG_CHECK_ROUNDTRIP) {
        pg_module *copy = NULL;
        PG_TRY(print_module(&mg->before, mg->m));
        pg_status st = pg_parse(mg->m->ctx, pg_strbuf_str(&mg->before), mg->m->diags, &copy);
        is_same = st == PG_OK;
        if (is_same) {
            PG_TRY(replace_module(mg, copy, &is_same));
        } else {
            pg_module_destroy(copy);
        }
        if (st == PG_E_NOMEM) {
            return st;
        }
        if (!is_same) {
            return pg_diag_add(mg->m->diags, PG_D_PASS_ROUNDTRIP, (pg_loc){0}, name);
        }
    }
    return mg->opt->verify == PG_VERIFY_EACH ? verify_after(mg, name) : PG_OK;
}

static pg_status print_after(manager *mg, const char *pass, pg_change change)
{
    const pg_str which = mg->opt->print_after;
    if (!mg->opt->sink.write || !(pg_str_is(which, "all") || pg_str_is(which, pass) ||
                                  (pg_str_is(which, "changed") && change == PG_CHANGED))) {
        return PG_OK;
    }
    pg_strbuf_clear(&mg->before);
    pg_putf(&mg->before, "// after %s%s\n", pass, change == PG_CHANGED ? "" : " (unchanged)");
    pg_print(&mg->before, mg->m);
    PG_TRY(pg_strbuf_status(&mg->before));
    pg_sink_put(&mg->opt->sink, pg_strbuf_str(&mg->before));
    return PG_OK;
}

static uint64_t now_ns(const manager *mg)
{
    return mg->opt->clock_ns == NULL ? 0 : mg->opt->clock_ns(mg->opt->clock_user);
}

static uint32_t count_insts(const pg_module *m)
{
    uint32_t n = 0;
    for (const pg_kernel *k = m->kernels; k != NULL; k = k->next) {
        n += k->n_in_body;
    }
    return n;
}

/* Each pass on all kernels: others may look at the module in between. */
static pg_status run_by_pass(manager *mg)
{
    uint32_t n = count_insts(mg->m);
    for (uint32_t i = 0; i < mg->list.n; i++) {
        const pass_entry *e = &mg->list.at[i];
        pg_pass_stat *stat = &mg->stats.at[i];
        pg_change change = PG_UNCHANGED;
        const uint64_t t0 = now_ns(mg);
        PG_TRY(run_pass(mg, e, &change));
        mg->m->props = props_after(e, mg->m->props);
        stat->ns = now_ns(mg) - t0;
        stat->n_insts_before = n;
        stat->changed = change == PG_CHANGED;
        n = count_insts(mg->m);
        stat->n_insts_after = n;
        mg->stats.n++;
        PG_TRY(run_checks(mg, e));
        PG_TRY(print_after(mg, e->pass->name, change));
    }
    return PG_OK;
}

/* All passes on each kernel, which stays in the cache meanwhile. */
static pg_status run_by_kernel(manager *mg)
{
    mg->stats.n = mg->list.n;
    for (pg_kernel *k = mg->m->kernels; k != NULL; k = k->next) {
        uint32_t n = k->n_in_body;
        for (uint32_t i = 0; i < mg->list.n; i++) {
            const pass_entry *e = &mg->list.at[i];
            pg_pass_stat *stat = &mg->stats.at[i];
            pg_pass_env env = env_of(mg, e);
            pg_change change = PG_UNCHANGED;
            const uint64_t t0 = now_ns(mg);
            PG_TRY(run_on(mg, e, &env, k, &change));
            stat->ns += now_ns(mg) - t0;
            stat->n_insts_before += n;
            stat->changed = stat->changed || change == PG_CHANGED;
            n = k->n_in_body;
            stat->n_insts_after += n;
        }
    }
    for (uint32_t i = 0; i < mg->list.n; i++) {
        mg->m->props = props_after(&mg->list.at[i], mg->m->props);
    }
    return PG_OK;
}

/* What was ended early is printed; the draws of a seed go over all kernels of a pass. */
static bool is_by_kernel(const pg_pass_options *o, bool is_stopped)
{
    return o->drops_ir && !is_stopped && o->verify == PG_VERIFY_END && o->checks == 0 &&
           o->shuffle == 0 && (!o->sink.write || (o->explain.len == 0 && o->print_after.len == 0));
}

/* Cuts the list where stop_after or the limit end it, and makes a row of statistics for each. */
static pg_status prepare_list(manager *mg, bool *stopped)
{
    const pg_pass_options *o = mg->opt;
    uint32_t props = mg->m->props;
    for (uint32_t i = 0; i < mg->list.n; i++) {
        const pg_pass *p = mg->list.at[i].pass;
        if (*stopped || i >= o->pass_limit) {
            *stopped = true;
            mg->list.n = i;
            break;
        }
        PG_TRY(check_needs(mg, p, props));
        props = props_after(&mg->list.at[i], props);
        *stopped = o->stop_after.len > 0 && pg_str_is(o->stop_after, p->name);
    }
    if (!pg_vec_reserve(mg->out, &mg->stats, mg->list.n)) {
        return PG_E_NOMEM;
    }
    for (uint32_t i = 0; i < mg->list.n; i++) {
        mg->stats.at[i] = (pg_pass_stat){.name = mg->list.at[i].pass->name};
    }
    return PG_OK;
}

static pg_status run_all(manager *mg, bool *stopped)
{
    PG_TRY(read_list(mg));
    PG_TRY(prepare_list(mg, stopped));
    PG_TRY(is_by_kernel(mg->opt, *stopped) ? run_by_kernel(mg) : run_by_pass(mg));
    /* PG_VERIFY_EACH has done it already, unless no pass ran. */
    const uint32_t n = mg->list.n;
    return mg->opt->verify == PG_VERIFY_EACH && n > 0
               ? PG_OK
               : verify_after(mg, n == 0 ? "(no pass)" : mg->list.at[n - 1].pass->name);
}

pg_status pg_passes_run(pg_module *m, const pg_pass_options *opt, pg_arena *arena,
                        pg_module **out_module, pg_pass_stat **stats, uint32_t *n_stats,
                        bool *stopped)
{
    manager mg = {.m = m, .opt = opt, .out = arena};
    bool has_stopped = false;
    pg_arena_init(&mg.scratch, m->ctx->alloc);
    pg_arena_init(&mg.lists, m->ctx->alloc);
    pg_strbuf_init(&mg.before, m->ctx->alloc);
    pg_strbuf_init(&mg.after, m->ctx->alloc);
    pg_status st = run_all(&mg, &has_stopped);
    pg_strbuf_fini(&mg.before);
    pg_strbuf_fini(&mg.after);
    pg_arena_fini(&mg.lists);
    pg_arena_fini(&mg.scratch);
    *out_module = mg.m;
    if (stats) {
        *stats = mg.stats.at;
        *n_stats = mg.stats.n;
    }
    if (stopped) {
        *stopped = has_stopped;
    }
    return st;
}
