/* layout_text.h: a layout for people: tables, pictures, JSON. */
#ifndef PG_IR_LAYOUT_TEXT_H
#define PG_IR_LAYOUT_TEXT_H

#include "base/diag.h"
#include "ir/ir.h"
#include "ir/layout.h"

typedef struct pg_layout_view {
    pg_layout layout;
    const pg_types *types;
    pg_enc enc;
    pg_loc loc; /* of the encoding in its text */
    const char *elem;
    uint32_t elem_bits;
    uint32_t n_warps;
    bool is_memory; /* an offset, not registers */
} pg_layout_view;

/* Text `{ "enc" #name "=" body } [ body ]`: the last encoding is meant. */
pg_status pg_parse_enc_text(pg_ctx *ctx, pg_str text, pg_diags *diags, pg_enc *out, pg_loc *loc);
void pg_layout_put_table(pg_strbuf *out, const pg_layout_view *v);
/* At most 64 x 64 elements of the last two dimensions, at 0 of those before. */
void pg_layout_put_svg(pg_strbuf *out, const pg_layout_view *v);
void pg_layout_put_json(pg_strbuf *out, const pg_layout_view *v);

#endif
