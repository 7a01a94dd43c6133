/* ptx_spell.c: what is known of spellings of opcodes: their rows are looked for once.
 *
 * I1  A literal of C is known by its address, without a look at its letters. */
#include "emit/ptx.h"

pg_ptx_spellings *pg_ptx_spellings_new(pg_arena *arena)
{
    pg_ptx_spellings *s = PG_NEW(arena, pg_ptx_spellings);
    if (s != NULL) {
        s->arena = arena;
    }
    return s;
}

/* Text that lives as long as the spellings, entered at *head. */
static pg_ptx_literal *enter(pg_ptx_spellings *s, pg_str text, uint32_t n_ops,
                             pg_ptx_literal **head)
{
    pg_ptx_literal *l = PG_NEW(s->arena, pg_ptx_literal);
    if (l == NULL || text.ptr == NULL || !pg_vec_push(s->arena, &s->at, l)) {
        return NULL;
    }
    const pg_isa_id row = n_ops <= UINT8_MAX ? pg_isa_find_for(text, n_ops) : PG_ISA_NONE;
    *l = (pg_ptx_literal){.text = text,
                          .hash = (uint32_t)pg_hash(text.ptr, text.len),
                          .id = s->at.n,
                          .row = (uint16_t)row,
                          .n_ops = (uint16_t)n_ops,
                          .next = *head};
    *head = l;
    return l;
}

static const pg_ptx_literal *or_none(pg_ptx_builder *b, const pg_ptx_literal *l)
{
    if (l == NULL) {
        b->is_failed = true;
        b->none = (pg_ptx_literal){0};
    }
    return l == NULL ? &b->none : l;
}

const pg_ptx_literal *pg_ptx_spell(pg_ptx_builder *b, const char *opcode, uint32_t n_ops)
{
    pg_ptx_spellings *s = b->m->spellings;
    const uint32_t address = (uint32_t)((uintptr_t)opcode >> 2);
    const uint32_t at = (address * UINT32_C(2654435761) >> 20) ^ n_ops;
    pg_ptx_literal **head = &s->by_address[at % PG_PTX_SPELLINGS];
    const pg_ptx_literal *l = *head;
    while (l != NULL && (l->text.ptr != opcode || l->n_ops != n_ops)) {
        l = l->next;
    }
    return l != NULL ? l : or_none(b, enter(s, pg_str_of(opcode), n_ops, head));
}

const pg_ptx_literal *pg_ptx_spell_str(pg_ptx_builder *b, pg_str opcode, uint32_t n_ops)
{
    pg_ptx_spellings *s = b->m->spellings;
    const uint32_t hash = (uint32_t)pg_hash(opcode.ptr, opcode.len);
    pg_ptx_literal **head = &s->by_text[hash % PG_PTX_SPELLINGS];
    const pg_ptx_literal *l = *head;
    while (l != NULL && (l->hash != hash || l->n_ops != n_ops || !pg_str_eq(l->text, opcode))) {
        l = l->next;
    }
    return l != NULL ? l : or_none(b, enter(s, pg_arena_str(s->arena, opcode), n_ops, head));
}
