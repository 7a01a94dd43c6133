/* Kernels and regions of the public builder.
 *
 * I1  After the first error nothing is added and every call gives value 0.
 * I2  scope[0] is the kernel's body; the launch region, while open, is scope[1] with no owner.
 * I3  Every region is appended to its owner before it is filled, so that an abandoned builder
 * leaves a whole tree. */
#include "build.h"

bool pg_build_is_live(const ptxgen_builder *b)
{
    return b != NULL && b->status == PG_OK && !b->m->ir->arena.is_oom &&
           !b->m->ctx->ir.arena.is_oom;
}

/* Calls need not have lines; the reader finds the place by the kernel, and by what was built
 * before. */
const char *pg_build_place(ptxgen_builder *b)
{
    const pg_interner *syms = &b->m->ir->ctx->syms;
    pg_strbuf text;
    pg_strbuf_init(&text, b->m->ctx->alloc);
    pg_putf(&text, "@%.*s", PG_STR_ARG(pg_sym_text(syms, b->k->name)));
    if (b->k->n_insts != 0) {
        pg_putf(&text, ", after operation %u", (unsigned)b->k->n_insts);
        pg_putf(&text, " (`%s`)", b->last == NULL ? "?" : pg_op_infos[b->last->op].text);
    }
    const char *copy = pg_arena_str(&b->m->arena, pg_strbuf_str(&text)).ptr;
    pg_strbuf_fini(&text);
    return copy == NULL ? "" : copy;
}

const char *pg_build_suggestion(ptxgen_builder *b, const pg_nearest *near)
{
    return pg_nearest_text(near, &b->m->arena, b->m->ctx->alloc);
}

void ptxgen_build_at(ptxgen_builder *b, uint32_t line, uint32_t column)
{
    if (b == NULL) {
        return;
    }
    b->at = (pg_loc){line, column};
    b->m->has_places = true;
    if (b->k->loc.line == 0) {
        b->k->loc = b->at;
    }
}

void ptxgen_build_error(ptxgen_builder *b, const char *message)
{
    if (pg_build_is_live(b)) {
        pg_build_fail(b, PG_D_BUILD, message == NULL ? "" : message);
    }
}

bool pg_build_count(ptxgen_builder *b, uint64_t n, const void *array)
{
    if (n > PG_BUILD_MOST || (n != 0 && array == NULL)) {
        pg_build_fail(b, PG_D_BUILD,
                      n > PG_BUILD_MOST ? "an operation has at most 65000 operands or results"
                                        : "a count is given without its array");
        return false;
    }
    return true;
}

bool pg_build_open(ptxgen_builder *b, pg_region *region, pg_inst *owner)
{
    if (b->depth == PG_BUILD_DEPTH) {
        pg_build_fail(b, PG_D_BUILD, "more than 64 regions are open at once");
        return false;
    }
    b->scope[b->depth++] = (pg_build_scope){region, owner};
    return true;
}

ptxgen_status ptxgen_kernel_begin(ptxgen_module *m, const char *name, ptxgen_builder **out)
{
    if (out == NULL) {
        return PTXGEN_E_MISUSE;
    }
    *out = NULL;
    if (m == NULL || name == NULL || m->builder != NULL) {
        return PTXGEN_E_MISUSE;
    }
    pg_alloc a = m->ctx->alloc;
    ptxgen_builder *b = a.resize(a.user, NULL, 0, sizeof *b);
    if (b == NULL) {
        return PTXGEN_E_NOMEM;
    }
    *b = (ptxgen_builder){.m = m};
    b->k = pg_kernel_new(m->ir, pg_intern(&m->ir->ctx->syms, pg_str_of(name)), (pg_loc){0, 0});
    if (b->k == NULL) {
        (void)a.resize(a.user, b, sizeof *b, 0);
        return PTXGEN_E_NOMEM;
    }
    (void)pg_build_open(b, b->k->body, NULL);
    m->builder = b;
    *out = b;
    return PTXGEN_OK;
}

ptxgen_status ptxgen_kernel_end(ptxgen_builder *b)
{
    if (b == NULL) {
        return PTXGEN_E_MISUSE;
    }
    if (pg_build_is_live(b) && b->depth != 1) {
        pg_build_fail(b, PG_D_BUILD, "a region is still open at the end of the kernel");
    }
    (void)pg_build_inst(b, "return", 0, NULL, 0, NULL, 0);
    ptxgen_module *m = b->m;
    pg_status s = b->status;
    if (s == PG_OK && (m->ir->arena.is_oom || m->ctx->ir.arena.is_oom)) {
        s = PG_E_NOMEM;
    }
    (void)m->ctx->alloc.resize(m->ctx->alloc.user, b, sizeof *b, 0);
    m->builder = NULL;
    return (ptxgen_status)s;
}

ptxgen_module *ptxgen_builder_module(const ptxgen_builder *b)
{
    return b == NULL ? NULL : b->m;
}

/* ---- attributes ------------------------------------------------------------------------------ */

static void no_attr(ptxgen_builder *b, const char *name)
{
    pg_nearest near = pg_nearest_of(pg_str_of(name));
    for (uint32_t id = 1; id < PG_A_COUNT; id++) {
        pg_nearest_try(&near, pg_str_of(pg_attr_infos[id].text));
    }
    near.word = near.distance == 0 ? PG_STR("") : near.word; /* the name is right */
    pg_build_fail(b, PG_D_BUILD_ATTR, name == NULL ? "" : name, pg_build_suggestion(b, &near));
}

static void set_attr(ptxgen_builder *b, pg_attrs *attrs, const char *name, int64_t value)
{
    pg_attr_id id = pg_attr_find(&b->m->ir->ctx->words, pg_str_of(name));
    pg_attr_kind kind = pg_attr_infos[id].kind;
    if (id != PG_A_NONE && kind == PG_AK_INT) {
        pg_attr_set_int(b->k, attrs, id, value);
    } else if (id != PG_A_NONE && kind == PG_AK_FLAG) {
        if (value != 0) {
            pg_attr_set_flag(b->k, attrs, id);
        }
    } else {
        no_attr(b, name);
    }
}

void ptxgen_kernel_attr(ptxgen_builder *b, const char *name, int64_t value)
{
    if (pg_build_is_live(b)) {
        set_attr(b, &b->k->attrs, name, value);
    }
}

void ptxgen_kernel_cluster(ptxgen_builder *b, uint32_t x, uint32_t y, uint32_t z)
{
    const uint32_t extents[3] = {x, y, z};
    pg_aval *items = pg_build_is_live(b) ? PG_NEWS(&b->m->ir->arena, pg_aval, 3) : NULL;
    for (uint32_t d = 0; items != NULL && d < 3; d++) {
        items[d] = (pg_aval){.kind = PG_AV_INT, .num = extents[d]};
    }
    if (items != NULL) {
        pg_attr_set(b->k, &b->k->attrs, PG_A_CLUSTER,
                    (pg_aval){.kind = PG_AV_LIST, .n = 3, .items = items});
    }
}

/* An operation that an attribute may be for. */
static bool has_last(ptxgen_builder *b)
{
    const bool is_live = pg_build_is_live(b);
    if (is_live && b->last == NULL) {
        pg_build_fail(b, PG_D_BUILD,
                      "an attribute stands behind its operation, and none is built yet");
    }
    return is_live && b->last != NULL;
}

void ptxgen_op_attr(ptxgen_builder *b, const char *name, int64_t value)
{
    if (has_last(b)) {
        set_attr(b, &b->last->attrs, name, value);
    }
}

/* Index of `word` among the blank-separated words, or -1. */
static int64_t word_index(const char *words, const char *word)
{
    pg_str all = pg_str_of(words);
    int64_t index = 0;
    for (size_t from = 0; from < all.len; index++) {
        size_t to = from;
        while (to < all.len && all.ptr[to] != ' ') {
            to++;
        }
        if (pg_str_is(pg_str_sub(all, from, to), word)) {
            return index;
        }
        from = to + 1;
    }
    return -1;
}

void ptxgen_op_word(ptxgen_builder *b, const char *name, const char *word)
{
    if (!has_last(b)) {
        return;
    }
    pg_attr_id id = pg_attr_find(&b->m->ir->ctx->words, pg_str_of(name));
    int64_t index = -1;
    if (id != PG_A_NONE && pg_attr_infos[id].kind == PG_AK_WORD && word != NULL) {
        index = word_index(pg_attr_infos[id].words, word);
    }
    if (index < 0) {
        no_attr(b, name);
        return;
    }
    pg_attr_set(b->k, &b->last->attrs, id, (pg_aval){.kind = PG_AV_WORD, .num = index});
}

/* ---- parameters and launch ------------------------------------------------------------------- */

ptxgen_value ptxgen_param(ptxgen_builder *b, const char *name, ptxgen_type type)
{
    if (!pg_build_is_live(b)) {
        return (ptxgen_value){0};
    }
    if (name == NULL || type.id == 0) {
        pg_build_fail(b, PG_D_BUILD, "a parameter needs a name and a type");
        return (ptxgen_value){0};
    }
    pg_sym sym = pg_intern(&b->m->ir->ctx->syms, pg_str_of(name));
    return (ptxgen_value){pg_kernel_add_param(b->k, sym, (pg_type){type.id}, b->at).id};
}

static pg_param *find_param(ptxgen_builder *b, ptxgen_value v)
{
    for (uint32_t i = 0; v.id != 0 && i < b->k->n_params; i++) {
        if (b->k->params[i].val.id == v.id) {
            return &b->k->params[i];
        }
    }
    pg_build_fail(b, PG_D_BUILD, "the value is no parameter of this kernel");
    return NULL;
}

void ptxgen_param_attr(ptxgen_builder *b, ptxgen_value param, const char *name, int64_t value)
{
    pg_param *p = pg_build_is_live(b) ? find_param(b, param) : NULL;
    if (p != NULL) {
        set_attr(b, &p->attrs, name, value);
    }
}

void ptxgen_param_dims(ptxgen_builder *b, ptxgen_value param, const char *name, uint32_t n,
                       const ptxgen_value *dims)
{
    pg_param *p = pg_build_is_live(b) ? find_param(b, param) : NULL;
    if (p == NULL) {
        return;
    }
    pg_attr_id id = pg_attr_find(&b->m->ir->ctx->words, pg_str_of(name));
    if ((id != PG_A_SHAPE && id != PG_A_STRIDES) || n == 0 || n > PG_MAX_RANK || dims == NULL) {
        no_attr(b, name);
        return;
    }
    pg_aval *items = PG_NEWS(&b->m->ir->arena, pg_aval, n);
    for (uint32_t i = 0; items != NULL && i < n; i++) {
        int64_t x = 0;
        if (pg_val_int(b->k, (pg_val){dims[i].id}, &x)) {
            items[i] = (pg_aval){.kind = PG_AV_INT, .num = x};
        } else {
            items[i] = (pg_aval){.kind = PG_AV_VAL, .val = {dims[i].id}};
        }
    }
    if (items != NULL) {
        pg_attr_set(b->k, &p->attrs, id, (pg_aval){.kind = PG_AV_LIST, .n = n, .items = items});
    }
}

void ptxgen_param_of(ptxgen_builder *b, ptxgen_value desc, ptxgen_value pointer)
{
    pg_param *p = pg_build_is_live(b) ? find_param(b, desc) : NULL;
    if (p != NULL && find_param(b, pointer) != NULL) {
        pg_attr_set(b->k, &p->attrs, PG_A_OF, (pg_aval){.kind = PG_AV_VAL, .val = {pointer.id}});
    }
}

void ptxgen_launch_begin(ptxgen_builder *b)
{
    if (!pg_build_is_live(b)) {
        return;
    }
    if (b->k->launch != NULL || b->depth != 1) {
        pg_build_fail(b, PG_D_BUILD, "one launch region stands at the start of a kernel");
        return;
    }
    b->k->launch = pg_region_new(b->k, NULL);
    if (b->k->launch != NULL) {
        (void)pg_build_open(b, b->k->launch, NULL);
    }
}

void ptxgen_launch_end(ptxgen_builder *b, ptxgen_value x, ptxgen_value y, ptxgen_value z)
{
    if (!pg_build_is_live(b)) {
        return;
    }
    if (b->depth != 2 || b->scope[1].region != b->k->launch) {
        pg_build_fail(b, PG_D_BUILD, "the launch region is not open");
        return;
    }
    ptxgen_value in[3] = {x, y, z};
    uint32_t n = z.id != 0 ? 3 : (y.id != 0 ? 2 : 1);
    (void)pg_build_inst(b, "grid", n, in, 0, NULL, 0);
    b->depth--;
}

/* ---- regions --------------------------------------------------------------------------------- */

/* The arguments of a region, 0 for all of NULL (I1). Last of a call: `out` may be what it was
 * given.
 */
static void args_out(const pg_region *region_or_null, size_t n, ptxgen_value *out)
{
    const pg_region *r = region_or_null;
    for (size_t i = 0; out != NULL && i < n; i++) {
        out[i] = (ptxgen_value){r != NULL && i < r->n_args ? r->args[i].id : 0};
    }
}

static pg_region *begin_for(ptxgen_builder *b, ptxgen_value lo, ptxgen_value hi, ptxgen_value step,
                            uint32_t n, const ptxgen_value *init)
{
    if (!pg_build_count(b, n, init)) {
        return NULL;
    }
    pg_arena *scratch = &b->m->ir->arena;
    ptxgen_value *in = PG_NEWS(scratch, ptxgen_value, (size_t)n + 3);
    pg_type *types = PG_NEWS(scratch, pg_type, (size_t)n + 1);
    if (in == NULL || types == NULL) {
        return NULL;
    }
    in[0] = lo;
    in[1] = hi;
    in[2] = step;
    for (uint32_t i = 0; i < n; i++) {
        in[3 + i] = init[i];
        types[i] = pg_val_type(b->k, (pg_val){init[i].id});
    }
    pg_inst *loop = pg_build_inst(b, "for", n + 3, in, n, types, 1);
    if (loop == NULL) {
        return NULL;
    }
    pg_region *body = loop->regions[0];
    (void)pg_region_add_arg(body, pg_val_type(b->k, (pg_val){hi.id}), (pg_sym){0});
    for (uint32_t i = 0; i < n; i++) {
        (void)pg_region_add_arg(body, types[i], (pg_sym){0});
    }
    return pg_build_open(b, body, loop) ? body : NULL;
}

/* Whether there is room for a loop's arguments, and a start for what it carries. */
static bool has_room(ptxgen_builder *b, uint32_t n_args, const ptxgen_value *args, uint32_t n,
                     const ptxgen_value *init)
{
    if (!pg_build_is_live(b)) {
        return false;
    }
    if ((n_args != 0 && args == NULL) || (n != 0 && init == NULL)) {
        pg_build_fail(b, PG_D_BUILD,
                      "a loop needs room for its arguments and a start for each carried value");
        return false;
    }
    return true;
}

void ptxgen_for_begin(ptxgen_builder *b, ptxgen_value lo, ptxgen_value hi, ptxgen_value step,
                      uint32_t n, const ptxgen_value *init, ptxgen_value *args)
{
    const pg_region *body =
        has_room(b, 1, args, n, init) ? begin_for(b, lo, hi, step, n, init) : NULL;
    args_out(body, (size_t)n + 1, args);
}

/* The innermost open region's owner if it is an `op`; else an error. */
static pg_inst *owner_of(ptxgen_builder *b, pg_op op, const char *what)
{
    if (!pg_build_is_live(b)) {
        return NULL;
    }
    pg_inst *owner = b->scope[b->depth - 1].owner;
    if (owner == NULL || owner->op != op) {
        pg_build_fail(b, PG_D_BUILD, what);
        return NULL;
    }
    return owner;
}

/* Yields n values and closes the innermost region, `owner`'s last. */
static void close_region(ptxgen_builder *b, pg_inst *owner, uint32_t n, const ptxgen_value *yields,
                         ptxgen_value *results)
{
    if (owner != NULL) {
        if (n != 0 || owner->op != PG_OP_IF) {
            (void)pg_build_inst(b, "yield", n, yields, 0, NULL, 0);
        }
        b->depth--;
        b->last = owner;
    }
    pg_build_values_out(pg_build_is_live(b) ? owner : NULL, n, results);
}

void ptxgen_for_end(ptxgen_builder *b, uint32_t n, const ptxgen_value *yields,
                    ptxgen_value *results)
{
    close_region(b, owner_of(b, PG_OP_FOR, "no loop is open here"), n, yields, results);
}

static pg_region *begin_while(ptxgen_builder *b, uint32_t n, const ptxgen_value *init)
{
    if (!pg_build_count(b, n, init)) {
        return NULL;
    }
    pg_type *types = PG_NEWS(&b->m->ir->arena, pg_type, (size_t)n + 1);
    if (types == NULL) {
        return NULL;
    }
    for (uint32_t i = 0; i < n; i++) {
        types[i] = pg_val_type(b->k, (pg_val){init[i].id});
    }
    pg_inst *loop = pg_build_inst(b, "while", n, init, n, types, 2);
    if (loop == NULL) {
        return NULL;
    }
    for (uint32_t r = 0; r < 2; r++) {
        for (uint32_t i = 0; i < n; i++) {
            (void)pg_region_add_arg(loop->regions[r], types[i], (pg_sym){0});
        }
    }
    return pg_build_open(b, loop->regions[0], loop) ? loop->regions[0] : NULL;
}

void ptxgen_while_begin(ptxgen_builder *b, uint32_t n, const ptxgen_value *init, ptxgen_value *args)
{
    args_out(has_room(b, n, args, n, init) ? begin_while(b, n, init) : NULL, n, args);
}

void ptxgen_while_do(ptxgen_builder *b, ptxgen_value condition, uint32_t n, ptxgen_value *args)
{
    pg_inst *loop = owner_of(b, PG_OP_WHILE, "no test of a loop is open here");
    const bool is_test = loop != NULL && b->scope[b->depth - 1].region == loop->regions[0];
    pg_region *body = NULL;
    if (loop != NULL && (!is_test || (n != 0 && args == NULL))) {
        pg_build_fail(b, PG_D_BUILD, "no test of a loop is open here, or no room for its values");
    } else if (loop != NULL) {
        (void)pg_build_inst(b, "yield", 1, &condition, 0, NULL, 0);
        body = loop->regions[1];
        b->scope[b->depth - 1].region = body;
    }
    args_out(pg_build_is_live(b) ? body : NULL, n, args);
}

void ptxgen_while_end(ptxgen_builder *b, uint32_t n, const ptxgen_value *yields,
                      ptxgen_value *results)
{
    pg_inst *loop = owner_of(b, PG_OP_WHILE, "no loop is open here");
    if (loop != NULL && b->scope[b->depth - 1].region != loop->regions[1]) {
        pg_build_fail(b, PG_D_BUILD, "the loop is still in its test: ptxgen_while_do comes first");
        loop = NULL;
    }
    close_region(b, loop, n, yields, results);
}

void ptxgen_if_begin(ptxgen_builder *b, ptxgen_value condition, uint32_t n,
                     const ptxgen_type *types)
{
    if (!pg_build_is_live(b)) {
        return;
    }
    if (!pg_build_count(b, n, types)) {
        return;
    }
    pg_type *out = PG_NEWS(&b->m->ir->arena, pg_type, (size_t)n + 1);
    for (uint32_t i = 0; out != NULL && i < n; i++) {
        out[i] = (pg_type){types[i].id};
    }
    pg_inst *branch = out == NULL ? NULL : pg_build_inst(b, "if", 1, &condition, n, out, 2);
    if (branch != NULL) {
        (void)pg_build_open(b, branch->regions[0], branch);
    }
}

void ptxgen_else(ptxgen_builder *b, uint32_t n, const ptxgen_value *yields)
{
    pg_inst *branch = owner_of(b, PG_OP_IF, "no condition is open here");
    if (branch == NULL) {
        return;
    }
    if (n != 0) {
        (void)pg_build_inst(b, "yield", n, yields, 0, NULL, 0);
    }
    b->scope[b->depth - 1].region = branch->regions[1];
}

void ptxgen_if_end(ptxgen_builder *b, uint32_t n, const ptxgen_value *yields, ptxgen_value *results)
{
    close_region(b, owner_of(b, PG_OP_IF, "no condition is open here"), n, yields, results);
}

void ptxgen_partition_begin(ptxgen_builder *b, const char *name, uint32_t warps, uint32_t regs,
                            uint32_t is_default)
{
    pg_inst *part = pg_build_is_live(b) ? pg_build_inst(b, "partition", 0, NULL, 0, NULL, 1) : NULL;
    if (part == NULL) {
        return;
    }
    part->sym = pg_intern(&b->m->ir->ctx->syms, pg_str_of(name));
    pg_attr_set_int(b->k, &part->attrs, PG_A_WARPS, warps);
    if (is_default != 0) {
        pg_attr_set_flag(b->k, &part->attrs, PG_A_DEFAULT);
    }
    if (regs != 0) {
        pg_attr_set_int(b->k, &part->attrs, PG_A_REGS, regs);
    }
    (void)pg_build_open(b, part->regions[0], part);
}

void ptxgen_elect_begin(ptxgen_builder *b, uint32_t warp)
{
    pg_inst *elect = pg_build_is_live(b) ? pg_build_inst(b, "elect", 0, NULL, 0, NULL, 1) : NULL;
    if (elect == NULL) {
        return;
    }
    pg_attr_set_int(b->k, &elect->attrs, PG_A_WARP, warp);
    (void)pg_build_open(b, elect->regions[0], elect);
}

void ptxgen_region_end(ptxgen_builder *b)
{
    if (!pg_build_is_live(b)) {
        return;
    }
    pg_inst *owner = b->scope[b->depth - 1].owner;
    if (owner == NULL || (owner->op != PG_OP_PARTITION && owner->op != PG_OP_ELECT)) {
        pg_build_fail(b, PG_D_BUILD, "no partition or elect region is open here");
        return;
    }
    b->depth--;
}
