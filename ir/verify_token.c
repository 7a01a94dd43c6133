/* verify_token.c: tokens of asynchronous matrix operations are linear.
 *
 * I1 every token is consumed exactly once: by mma.async, by a loop that carries it, by a yield, or
 * by the mma.wait that gives the accumulator. A wait without a result does not consume. I2 it is
 * consumed in the region that defines it, or in both branches of one `if` there. */
#include "ir/verify.h"

typedef struct consumption {
    const pg_inst
        *by; /* the operation in the token's own region: the consumer, or the `if` around it */
    uint8_t branches; /* 0: the consumer itself; bits: branches of the `if` */
} consumption;

static bool consumes(const pg_inst *i, uint32_t index)
{
    return i->op == PG_OP_MMA_ASYNC || i->op == PG_OP_YIELD || (i->op == PG_OP_FOR && index >= 3) ||
           (i->op == PG_OP_MMA_WAIT && i->n_out != 0);
}

static const pg_region *home_of(const pg_value *v)
{
    return v->kind == PG_V_ARG                        ? v->region
           : v->kind == PG_V_RESULT && v->def != NULL ? v->def->parent
                                                      : NULL;
}

static const char *name_of(const pg_verifier *v, pg_val token)
{
    pg_str name = pg_sym_text(&v->m->ctx->syms, pg_value_of(v->k, token)->name);
    return name.len == 0 ? "token" : name.ptr;
}

static void consume(pg_verifier *v, consumption *all, pg_val token, const pg_inst *i)
{
    const pg_region *home = home_of(pg_value_of(v->k, token));
    const pg_inst *at = i;
    uint8_t branch = 0;
    while (at->parent != home) {
        const pg_inst *owner = at->parent == NULL ? NULL : at->parent->owner;
        if (owner == NULL || owner->op != PG_OP_IF) {
            pg_verify_error(v, PG_D_TOKEN_REGION, i->loc, name_of(v, token),
                            owner == NULL ? "another region" : pg_verify_op_text(owner));
            return;
        }
        branch = owner->regions[0] == at->parent ? 1 : 2;
        at = owner;
    }
    consumption *c = &all[token.id];
    bool is_other_branch = branch != 0 && c->by == at && (c->branches & branch) == 0;
    if (c->by != NULL && !is_other_branch) {
        pg_verify_error(v, PG_D_TOKEN_TWICE, i->loc, name_of(v, token), c->by->loc.line);
        return;
    }
    c->by = at;
    c->branches |= branch;
}

void pg_verify_tokens(pg_verifier *v)
{
    const pg_kernel *k = v->k;
    const pg_region *body = k->body;
    consumption *all = NULL;
    const bool may_have_tokens = pg_kernel_has(k, PG_OP_MMA_BEGIN) ||
                                 pg_kernel_has(k, PG_OP_MMA_ASYNC) ||
                                 pg_kernel_has(k, PG_OP_MMA_WAIT);
    if (body == NULL || !may_have_tokens) {
        return;
    }
    for (const pg_inst *i = body->first; i != NULL; i = pg_inst_walk(i, body)) {
        for (uint32_t j = 0; j < i->n_in; j++) {
            if (pg_val_info(k, i->in[j])->kind != PG_TY_TOKEN || !consumes(i, j)) {
                continue;
            }
            all = all != NULL ? all : PG_NEWS(&v->scratch, consumption, k->values.n);
            if (all == NULL) {
                return;
            }
            consume(v, all, i->in[j], i);
        }
    }
    for (const pg_inst *i = body->first; i != NULL; i = pg_inst_walk(i, body)) {
        const pg_region *inside = i->op == PG_OP_FOR && i->n_regions > 0 ? i->regions[0] : NULL;
        uint32_t n_args = inside == NULL ? 0 : inside->n_args;
        for (uint32_t r = 0; r < (uint32_t)i->n_out + n_args; r++) {
            pg_val token = r < i->n_out ? i->out[r] : inside->args[r - i->n_out];
            if (pg_val_info(k, token)->kind != PG_TY_TOKEN) {
                continue;
            }
            const consumption *c = all == NULL ? NULL : &all[token.id];
            if (c == NULL || c->by == NULL || (c->branches != 0 && c->branches != 3)) {
                pg_verify_error(v, PG_D_TOKEN_LOST, i->loc, name_of(v, token));
            }
        }
    }
}
