/* live_flow.c: basic blocks of a function and the edges between them.
 *
 * I1  A block ends behind each branch, return and trap, and before each label.
 * I2  Every statement is in exactly one block; blocks stand in order of the text.
 * I3  A loop is what stands between a block and the last that jumps back to it. That is exact for
 *     structured code, and good enough for the rest: only `held` asks.
 * I4  Edges out of blocks that nothing reaches are left out: what stands there is never live. */
#include <string.h>

#include "emit/live_int.h"

typedef struct edge {
    uint32_t from, to;
} edge;

typedef struct flow {
    pg_live *l;
    PG_VEC(edge) edges;
    pg_map labels; /* name -> label id, made for the first indirect branch */
    bool has_labels;
} flow;

static bool leaves(uint16_t what)
{
    return (what & (PG_LIVE_JUMP | PG_LIVE_STOP)) != 0;
}

static bool make_blocks(pg_live *l, const pg_live_span *spans, uint32_t n_spans)
{
    const pg_ptx_func *f = l->f;
    l->block_of = PG_NEWS(l->arena, uint32_t, f->body.n + 1);
    bool *is_cut = PG_NEWS(l->arena, bool, f->body.n + 1);
    if (l->block_of == NULL || is_cut == NULL) {
        return false;
    }
    for (uint32_t i = 0; i < n_spans; i++) {
        is_cut[spans[i].first < f->body.n ? spans[i].first : f->body.n] = true;
        is_cut[spans[i].end < f->body.n ? spans[i].end : f->body.n] = true;
    }
    bool begins = true;
    for (uint32_t i = 0; i < f->body.n; i++) {
        const pg_ptx_stmt *s = &f->body.at[i];
        if (begins || is_cut[i] ||
            (s->kind == PG_PTX_S_LABEL && l->blocks.at[l->blocks.n - 1].first != i)) {
            if (!pg_vec_push(l->arena, &l->blocks, ((pg_live_block){.first = i}))) {
                return false;
            }
        }
        l->block_of[i] = l->blocks.n - 1;
        l->blocks.at[l->blocks.n - 1].end = i + 1;
        begins = leaves(l->what[i]);
    }
    return true;
}

static bool add_edge(flow *fl, uint32_t from, uint32_t to)
{
    return pg_vec_push(fl->l->arena, &fl->edges, ((edge){from, to}));
}

static bool add_label_edge(flow *fl, uint32_t from, uint32_t label)
{
    const pg_ptx_func *f = fl->l->f;
    uint32_t at = label < f->label_at.n ? f->label_at.at[label] : UINT32_MAX;
    return at >= f->body.n || add_edge(fl, from, fl->l->block_of[at]);
}

static bool name_labels(flow *fl)
{
    const pg_ptx_func *f = fl->l->f;
    pg_map_init(&fl->labels, fl->l->arena);
    fl->has_labels = true;
    for (uint32_t i = 0; i < f->labels.n; i++) {
        if (!pg_map_put_str(&fl->labels, f->labels.at[i], i)) {
            return false;
        }
    }
    return true;
}

static bool is_name(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '$' || c == '%';
}

/* `.branchtargets $a, $b` behind the label that an indirect branch names. */
static bool add_table_edges(flow *fl, uint32_t from, uint32_t label)
{
    const pg_ptx_func *f = fl->l->f;
    uint32_t at = label < f->label_at.n ? f->label_at.at[label] : UINT32_MAX;
    if (!fl->has_labels && !name_labels(fl)) {
        return false;
    }
    if (at == UINT32_MAX || at + 1 >= f->body.n || f->body.at[at + 1].kind != PG_PTX_S_RAW) {
        return true;
    }
    pg_str text = f->body.at[at + 1].text;
    const pg_str word = PG_STR(".branchtargets");
    if (!pg_str_starts(text, word)) {
        return true;
    }
    for (size_t i = word.len; i < text.len;) {
        size_t n = 0;
        while (i + n < text.len && is_name(text.ptr[i + n])) {
            n++;
        }
        const uint32_t *to = n == 0 ? NULL : pg_map_get_str(&fl->labels, (pg_str){text.ptr + i, n});
        if (to != NULL && !add_label_edge(fl, from, *to)) {
            return false;
        }
        i += n + 1;
    }
    return true;
}

static bool find_edges(flow *fl)
{
    const pg_ptx_func *f = fl->l->f;
    for (uint32_t b = 0; b < fl->l->blocks.n; b++) {
        const uint32_t at = fl->l->blocks.at[b].end - 1;
        const pg_ptx_stmt *last = &f->body.at[at];
        const uint16_t what = fl->l->what[at];
        const bool is_end = leaves(what) && last->guard.kind == PG_PTX_O_NONE;
        for (uint32_t i = 0; i < last->n_ops && leaves(what); i++) {
            const pg_ptx_opnd *o = &f->pool.at[last->ops + i];
            bool is_good = o->kind != PG_PTX_O_LABEL ||
                           ((what & PG_LIVE_TABLE) != 0 ? add_table_edges(fl, b, o->id)
                                                        : add_label_edge(fl, b, o->id));
            if (!is_good) {
                return false;
            }
        }
        if (!is_end && b + 1 < fl->l->blocks.n && !add_edge(fl, b, b + 1)) {
            return false;
        }
    }
    return true;
}

/* Successors, then what the entry reaches. */
static bool reach(flow *fl)
{
    pg_live *l = fl->l;
    uint32_t n = l->blocks.n;
    l->succ_at = PG_NEWS(l->arena, uint32_t, n + 2);
    l->succ = PG_NEWS(l->arena, uint32_t, fl->edges.n + 1);
    uint32_t *stack = PG_NEWS(l->arena, uint32_t, n + 1);
    if (l->succ_at == NULL || l->succ == NULL || stack == NULL) {
        return false;
    }
    for (uint32_t e = 0; e < fl->edges.n; e++) { /* edges are in order of `from` */
        l->succ[e] = fl->edges.at[e].to;
        l->succ_at[fl->edges.at[e].from + 1]++;
    }
    for (uint32_t b = 0; b < n; b++) {
        l->succ_at[b + 1] += l->succ_at[b];
    }
    uint32_t n_stack = 0;
    if (n != 0) {
        stack[n_stack++] = 0;
        l->blocks.at[0].is_reached = true;
    }
    while (n_stack != 0) {
        uint32_t b = stack[--n_stack];
        for (uint32_t e = l->succ_at[b]; e < l->succ_at[b + 1]; e++) {
            pg_live_block *to = &l->blocks.at[l->succ[e]];
            if (!to->is_reached) {
                to->is_reached = true;
                stack[n_stack++] = l->succ[e];
            }
        }
    }
    return true;
}

static bool turn_edges(flow *fl)
{
    pg_live *l = fl->l;
    uint32_t n = l->blocks.n;
    l->pred_at = PG_NEWS(l->arena, uint32_t, n + 2);
    l->pred = PG_NEWS(l->arena, uint32_t, fl->edges.n + 1);
    if (l->pred_at == NULL || l->pred == NULL) {
        return false;
    }
    for (uint32_t e = 0; e < fl->edges.n; e++) {
        if (l->blocks.at[fl->edges.at[e].from].is_reached) {
            l->pred_at[fl->edges.at[e].to + 2]++;
        }
    }
    for (uint32_t b = 0; b < n; b++) {
        l->pred_at[b + 2] += l->pred_at[b + 1];
    }
    for (uint32_t e = 0; e < fl->edges.n; e++) {
        if (l->blocks.at[fl->edges.at[e].from].is_reached) {
            l->pred[l->pred_at[fl->edges.at[e].to + 1]++] = fl->edges.at[e].from;
        }
    }
    return true;
}

/* Innermost loops: those that begin last of all that are open. */
static bool find_loops(pg_live *l)
{
    uint32_t n = l->blocks.n;
    uint32_t *last = PG_NEWS(l->arena, uint32_t, n + 1); /* of the loop with this header */
    uint32_t *open = PG_NEWS(l->arena, uint32_t, n + 1);
    uint32_t n_open = 0;
    if (last == NULL || open == NULL) {
        return false;
    }
    for (uint32_t b = 0; b < n; b++) {
        for (uint32_t e = l->pred_at[b]; e < l->pred_at[b + 1]; e++) {
            last[b] = l->pred[e] >= b && l->pred[e] + 1 > last[b] ? l->pred[e] + 1 : last[b];
        }
    }
    for (uint32_t b = 0; b < n; b++) {
        while (n_open != 0 && last[open[n_open - 1]] <= b) {
            n_open--;
        }
        if (last[b] != 0) {
            open[n_open++] = b;
        }
        l->blocks.at[b].loop = n_open == 0 ? 0 : open[n_open - 1] + 1;
        l->blocks.at[b].outer = n_open < 2 ? 0 : open[n_open - 2] + 1;
    }
    return true;
}

pg_status pg_live_flow(pg_live *l, const pg_live_span *spans, uint32_t n_spans)
{
    flow fl = {.l = l};
    if (!make_blocks(l, spans, n_spans) || !find_edges(&fl) || !reach(&fl) || !turn_edges(&fl) ||
        !find_loops(l)) {
        return PG_E_NOMEM;
    }
    return PG_OK;
}
