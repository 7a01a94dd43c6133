/* Operations of the public builder. */
#include "ir/elem.h"
#include "ir/foreign.h"

#include "build.h"

pg_inst *pg_build_inst(ptxgen_builder *b, const char *op_name, uint32_t n_in,
                       const ptxgen_value *in, uint32_t n_out, const pg_type *out_types,
                       uint32_t n_regions)
{
    if (!pg_build_is_live(b)) {
        return NULL;
    }
    pg_op op = pg_op_find(&b->m->ir->ctx->words, pg_str_of(op_name));
    if (op == PG_OP_NONE) {
        pg_nearest near = pg_nearest_of(pg_str_of(op_name));
        for (uint32_t o = 1; o < PG_OP_COUNT; o++) {
            pg_nearest_try(&near, pg_str_of(pg_op_infos[o].text));
        }
        pg_foreign_try(&near, PG_FOREIGN_OP);
        pg_build_fail(b, PG_D_BUILD_OP, op_name == NULL ? "" : op_name,
                      pg_build_suggestion(b, &near));
        return NULL;
    }
    if (n_in > PG_BUILD_MOST + 3 && !pg_build_count(b, n_in, in)) {
        return NULL;
    }
    pg_val *vals = PG_NEWS(&b->m->ir->arena, pg_val, (size_t)n_in + 1);
    if (vals == NULL) {
        return NULL;
    }
    for (uint32_t i = 0; i < n_in; i++) {
        if (in == NULL || in[i].id == 0 || in[i].id >= b->k->values.n) {
            pg_build_fail(b, PG_D_BUILD_OPERAND, i + 1, op_name);
            return NULL;
        }
        vals[i] = (pg_val){in[i].id};
    }
    for (uint32_t i = 0; i < n_out; i++) {
        if (out_types[i].id == 0) {
            pg_build_fail(b, PG_D_BUILD_TYPE, i + 1, op_name);
            return NULL;
        }
    }
    pg_inst *inst = pg_inst_new(b->k, op, n_in, vals, n_out, out_types, n_regions);
    if (inst == NULL) {
        return NULL;
    }
    inst->loc = b->at;
    pg_inst_append(b->scope[b->depth - 1].region, inst);
    b->last = inst;
    return inst;
}

void pg_build_values_out(const pg_inst *inst_or_null, uint32_t n, ptxgen_value *out)
{
    const pg_inst *i = inst_or_null;
    for (uint32_t r = 0; out != NULL && r < n; r++) {
        out[r] = (ptxgen_value){i != NULL && r < i->n_out ? i->out[r].id : 0};
    }
}

static ptxgen_value one(ptxgen_builder *b, const char *op, uint32_t n_in, const ptxgen_value *in,
                        pg_type type)
{
    pg_inst *i = pg_build_inst(b, op, n_in, in, 1, &type, 0);
    return (ptxgen_value){i == NULL ? 0 : i->out[0].id};
}

static pg_type type_of(const ptxgen_builder *b, ptxgen_value v)
{
    return b == NULL ? (pg_type){0} : pg_val_type(b->k, (pg_val){v.id});
}

ptxgen_type ptxgen_value_type(const ptxgen_builder *b, ptxgen_value v)
{
    return (ptxgen_type){type_of(b, v).id};
}

void ptxgen_value_name(ptxgen_builder *b, ptxgen_value v, const char *name)
{
    if (pg_build_is_live(b) && v.id != 0 && v.id < b->k->values.n) {
        b->k->values.at[v.id].name = pg_intern(&b->m->ir->ctx->syms, pg_str_of(name));
    }
}

ptxgen_value ptxgen_const_int(ptxgen_builder *b, ptxgen_type type, int64_t value)
{
    if (!pg_build_is_live(b)) {
        return (ptxgen_value){0};
    }
    const pg_types *types = b->m->ir->ctx->types;
    if (!pg_type_is_int(types, (pg_type){type.id})) {
        pg_build_fail(b, PG_D_BUILD, "ptxgen_const_int makes numbers of integer types only");
        return (ptxgen_value){0};
    }
    if (!pg_elem_fits((pg_elem)pg_type_get(types, (pg_type){type.id})->elem, value)) {
        pg_build_fail(b, PG_D_BUILD, "a number of ptxgen_const_int does not fit into its type");
        return (ptxgen_value){0};
    }
    return (ptxgen_value){pg_const_int(b->k, (pg_type){type.id}, value).id};
}

ptxgen_value ptxgen_const_float(ptxgen_builder *b, ptxgen_type type, double value)
{
    if (!pg_build_is_live(b)) {
        return (ptxgen_value){0};
    }
    if (!pg_type_is_float(b->m->ir->ctx->types, (pg_type){type.id})) {
        pg_build_fail(b, PG_D_BUILD, "ptxgen_const_float makes numbers of float types only");
        return (ptxgen_value){0};
    }
    return (ptxgen_value){pg_const_float(b->k, (pg_type){type.id}, value).id};
}

static pg_inst *build_op(ptxgen_builder *b, const char *op, uint32_t n_in, const ptxgen_value *in,
                         uint32_t n_out, const ptxgen_type *out_types)
{
    if (!pg_build_is_live(b)) {
        return NULL;
    }
    pg_op found = pg_op_find(&b->m->ir->ctx->words, pg_str_of(op));
    if (found != PG_OP_NONE && (pg_op_infos[found].flags & (PG_F_REGION | PG_F_TERM)) != 0) {
        pg_build_fail(b, PG_D_BUILD, "operations with regions have functions of their own");
        return NULL;
    }
    if (!pg_build_count(b, n_in, in) || !pg_build_count(b, n_out, out_types)) {
        return NULL;
    }
    pg_type *types = PG_NEWS(&b->m->ir->arena, pg_type, (size_t)n_out + 1);
    for (uint32_t i = 0; types != NULL && i < n_out; i++) {
        types[i] = (pg_type){out_types[i].id};
    }
    return types == NULL ? NULL : pg_build_inst(b, op, n_in, in, n_out, types, 0);
}

void ptxgen_build_op(ptxgen_builder *b, const char *op, uint32_t n_in, const ptxgen_value *in,
                     uint32_t n_out, const ptxgen_type *out_types, ptxgen_value *out)
{
    pg_build_values_out(build_op(b, op, n_in, in, n_out, out_types), n_out, out);
}

ptxgen_value ptxgen_build_unary(ptxgen_builder *b, const char *op, ptxgen_value x)
{
    return one(b, op, 1, &x, type_of(b, x));
}

ptxgen_value ptxgen_build_binary(ptxgen_builder *b, const char *op, ptxgen_value x, ptxgen_value y)
{
    ptxgen_value in[2] = {x, y};
    return one(b, op, 2, in, type_of(b, x));
}

ptxgen_value ptxgen_build_fma(ptxgen_builder *b, ptxgen_value x, ptxgen_value y, ptxgen_value z)
{
    ptxgen_value in[3] = {x, y, z};
    return one(b, "fma", 3, in, type_of(b, x));
}

static pg_type with_elem(ptxgen_builder *b, pg_type t, pg_elem e)
{
    return b == NULL || t.id == 0 ? (pg_type){0}
                                  : pg_type_with_elem(b->m->ir->ctx->types, t, e, false);
}

ptxgen_value ptxgen_build_compare(ptxgen_builder *b, const char *op, const char *is, ptxgen_value x,
                                  ptxgen_value y)
{
    ptxgen_value in[2] = {x, y};
    ptxgen_value r = one(b, op, 2, in, with_elem(b, type_of(b, x), PG_I1));
    ptxgen_op_word(b, "is", is);
    return r;
}

ptxgen_value ptxgen_build_select(ptxgen_builder *b, ptxgen_value condition, ptxgen_value x,
                                 ptxgen_value y)
{
    ptxgen_value in[3] = {condition, x, y};
    return one(b, "select", 3, in, type_of(b, x));
}

ptxgen_value ptxgen_build_cast(ptxgen_builder *b, ptxgen_value x, ptxgen_elem elem)
{
    if (elem <= PTXGEN_ELEM_NONE || elem > PTXGEN_E5M2) {
        ptxgen_build_error(b, "cast to an unknown element type");
        return (ptxgen_value){0};
    }
    return one(b, "cast", 1, &x, with_elem(b, type_of(b, x), (pg_elem)elem));
}

static pg_type shape_of(ptxgen_builder *b, ptxgen_value x, uint32_t rank, const int32_t *dims)
{
    if (!pg_build_is_live(b)) {
        return (pg_type){0};
    }
    pg_types *types = b->m->ir->ctx->types;
    pg_type_info info = *pg_type_get(types, type_of(b, x));
    info.enc = (pg_enc){0};
    info.rank = (uint8_t)rank;
    info.kind = rank == 0 ? PG_TY_SCALAR : PG_TY_TILE;
    for (uint32_t d = 0; d < PG_MAX_RANK; d++) {
        info.dims[d] = d < rank ? dims[d] : 0;
    }
    return pg_type_intern(types, &info);
}

ptxgen_value ptxgen_build_reduce(ptxgen_builder *b, const char *op, ptxgen_value x, uint32_t dim)
{
    int32_t dims[PG_MAX_RANK] = {0};
    if (!pg_build_is_live(b)) {
        return (ptxgen_value){0};
    }
    const pg_type_info *t = pg_type_get(b->m->ir->ctx->types, type_of(b, x));
    if (t->kind != PG_TY_TILE || dim >= t->rank) {
        ptxgen_build_error(b, "a reduction needs a tile and one of its dimensions");
        return (ptxgen_value){0};
    }
    for (uint32_t d = 0; d + 1 < t->rank; d++) {
        dims[d] = t->dims[d < dim ? d : d + 1];
    }
    ptxgen_value r = one(b, "reduce", 1, &x, shape_of(b, x, t->rank - 1u, dims));
    if (dim != 0) {
        ptxgen_op_attr(b, "dim", dim);
    }
    ptxgen_op_word(b, "op", op);
    return r;
}

ptxgen_value ptxgen_build_stretch(ptxgen_builder *b, ptxgen_value x, uint32_t dim, int32_t extent)
{
    int32_t dims[PG_MAX_RANK] = {0};
    if (!pg_build_is_live(b)) {
        return (ptxgen_value){0};
    }
    const pg_type_info *t = pg_type_get(b->m->ir->ctx->types, type_of(b, x));
    if (t->kind != PG_TY_TILE || dim > t->rank || t->rank == PG_MAX_RANK) {
        ptxgen_build_error(b, "no dimension can be added to this value there");
        return (ptxgen_value){0};
    }
    const uint32_t rank = t->rank + 1u;
    for (uint32_t d = 0; d < rank; d++) {
        dims[d] = d < dim ? t->dims[d] : d == dim ? 1 : t->dims[d - 1];
    }
    ptxgen_value thin = one(b, "expand", 1, &x, shape_of(b, x, rank, dims));
    if (dim != 0) {
        ptxgen_op_attr(b, "dim", dim);
    }
    dims[dim] = extent;
    return extent == 1 ? thin : one(b, "broadcast", 1, &thin, shape_of(b, x, rank, dims));
}

ptxgen_value ptxgen_build_splat(ptxgen_builder *b, ptxgen_value scalar, ptxgen_type tile)
{
    return one(b, "splat", 1, &scalar, (pg_type){tile.id});
}

ptxgen_value ptxgen_build_iota(ptxgen_builder *b, ptxgen_type tile, uint32_t dim)
{
    ptxgen_value r = one(b, "iota", 0, NULL, (pg_type){tile.id});
    if (dim != 0) {
        ptxgen_op_attr(b, "dim", dim);
    }
    return r;
}

ptxgen_value ptxgen_build_addptr(ptxgen_builder *b, ptxgen_value pointer, ptxgen_value offset)
{
    ptxgen_value in[2] = {pointer, offset};
    if (!pg_build_is_live(b)) {
        return (ptxgen_value){0};
    }
    const pg_types *types = b->m->ir->ctx->types;
    pg_type p = type_of(b, pointer), o = type_of(b, offset);
    if (pg_type_get(types, p)->kind == PG_TY_SCALAR && pg_type_get(types, o)->kind == PG_TY_TILE) {
        p = pg_type_with_elem(b->m->ir->ctx->types, o, (pg_elem)pg_type_get(types, p)->elem, true);
    }
    return one(b, "addptr", 2, in, p);
}

ptxgen_value ptxgen_build_load(ptxgen_builder *b, ptxgen_value pointer, ptxgen_value mask,
                               ptxgen_value other)
{
    ptxgen_value in[3] = {pointer, mask, other};
    uint32_t n = other.id != 0 ? 3 : (mask.id != 0 ? 2 : 1);
    pg_type t = type_of(b, pointer);
    if (pg_build_is_live(b)) {
        t = with_elem(b, t, (pg_elem)pg_type_get(b->m->ir->ctx->types, t)->elem);
    }
    return one(b, "load", n, in, t);
}

void ptxgen_build_store(ptxgen_builder *b, ptxgen_value pointer, ptxgen_value value,
                        ptxgen_value mask)
{
    ptxgen_value in[3] = {pointer, value, mask};
    (void)pg_build_inst(b, "store", mask.id != 0 ? 3 : 2, in, 0, NULL, 0);
}

static ptxgen_value axis_op(ptxgen_builder *b, const char *op, uint32_t axis)
{
    static const char *const names[] = {"x", "y", "z"};
    if (axis > 2) {
        ptxgen_build_error(b, "a grid has axes 0, 1 and 2");
        return (ptxgen_value){0};
    }
    pg_type i32 = pg_build_is_live(b) ? pg_type_scalar(b->m->ir->ctx->types, PG_I32) : (pg_type){0};
    ptxgen_value r = one(b, op, 0, NULL, i32);
    ptxgen_op_word(b, "axis", names[axis]);
    return r;
}

ptxgen_value ptxgen_build_program_id(ptxgen_builder *b, uint32_t axis)
{
    return axis_op(b, "program_id", axis);
}

ptxgen_value ptxgen_build_num_programs(ptxgen_builder *b, uint32_t axis)
{
    return axis_op(b, "num_programs", axis);
}
