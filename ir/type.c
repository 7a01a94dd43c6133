#include "ir/type.h"

#include <string.h>

#include "base/index.h"
#include "base/vec.h"

const pg_elem_info pg_elem_infos[PG_ELEM_COUNT] = {
    [PG_ELEM_NONE] = {"none", 0, ' '},
/* clang-format off */
#define CLASS_I 'I'
#define CLASS_F 'F'
#define E(id, text, bits, cls) [PG_##id] = {text, bits, CLASS_##cls},
#include "ir/types.def"
    /* clang-format on */
};

/* Lately asked: (type, encoding) -> type, (type, element) -> type. */
enum { RECENT = 64 };
typedef struct recent_type {
    uint32_t type, other; /* type 0: nothing is here */
    pg_type with;
} recent_type;
typedef struct memo_item {
    pg_memo_key key;
    const void *value;
} memo_item;

typedef struct memo {
    pg_index index;
    PG_VEC(memo_item) items;
} memo;

struct pg_type_tables {
    pg_arena *arena;
    memo memo;
    pg_index type_index, enc_index; /* item i has id i + 1 */
    recent_type with_enc[RECENT], with_elem[RECENT];
    pg_interner texts;
    PG_VEC(pg_type) of_text; /* by id in texts */
};

_Static_assert(sizeof(pg_type_info) % 4 == 0 && sizeof(pg_memo_key) % 4 == 0 &&
                   offsetof(pg_enc_info, basis) % 4 == 0 && PG_MAX_BASIS % 2 == 0 &&
                   sizeof((pg_enc_info){0}.basis[0]) % 2 == 0,
               "keys are whole words, rows of vectors in pairs");

static const pg_type_info no_type;
static const pg_enc_info no_enc;

pg_types *pg_types_new(pg_arena *arena)
{
    pg_types *t = PG_NEW(arena, pg_types);
    if (t == NULL) {
        return NULL;
    }
    struct pg_type_tables *tables = PG_NEW(arena, struct pg_type_tables);
    if (tables == NULL) {
        return NULL;
    }
    t->tables = tables;
    tables->arena = arena;
    pg_index_init(&tables->memo.index, arena);
    pg_index_init(&tables->type_index, arena);
    pg_index_init(&tables->enc_index, arena);
    pg_interner_init(&tables->texts, arena);
    bool is_ok = pg_vec_push(arena, &t->types, &no_type) && pg_vec_push(arena, &t->encs, &no_enc);
    return is_ok ? t : NULL;
}

static uint8_t class_of(const pg_type_info *info)
{
    if (info->kind != PG_TY_SCALAR && info->kind != PG_TY_TILE) {
        return 0;
    }
    const char cls = pg_elem_infos[info->elem].cls;
    const uint8_t of_elem = cls == 'I' ? PG_TYPE_INT : cls == 'F' ? PG_TYPE_FLOAT : 0;
    return PG_TYPE_DATA | (info->is_ptr != 0 ? PG_TYPE_PTR : of_elem);
}

/* Only what the kind uses, so that equal types are equal bytes, padding included. */
static void normalise_type(pg_type_info *to, const pg_type_info *from)
{
    memset(to, 0, sizeof *to);
    to->kind = from->kind;
    if (from->kind == PG_TY_RING || from->kind == PG_TY_BAR) {
        to->dims[0] = from->dims[0];
        return;
    }
    if (from->kind == PG_TY_TOKEN) {
        return;
    }
    to->elem = from->elem;
    to->is_ptr = from->is_ptr != 0;
    to->classes = class_of(to);
    if (from->kind == PG_TY_SCALAR) {
        return;
    }
    to->space = from->kind == PG_TY_BUF ? from->space : (uint8_t)PG_SPACE_NONE;
    to->rank = from->rank <= PG_MAX_RANK ? from->rank : PG_MAX_RANK;
    for (uint32_t d = 0; d < to->rank; d++) {
        to->dims[d] = from->dims[d];
    }
    to->enc = from->enc;
}

static uint64_t mix(uint64_t h, uint64_t x)
{
    h = (h ^ x) * UINT64_C(0x9e3779b97f4a7c15);
    return h ^ h >> 29;
}

/* Of n bytes, a multiple of four. */
static pg_index_key key_of(const void *bytes, size_t n)
{
    const char *at = bytes;
    uint64_t h = n, two;
    uint32_t one = 0;
    for (; n >= sizeof two; n -= sizeof two, at += sizeof two) {
        memcpy(&two, at, sizeof two);
        h = mix(h, two);
    }
    if (n != 0) {
        memcpy(&one, at, sizeof one);
    }
    h = mix(h, one);
    return pg_index_key_of(h, (uint32_t)h);
}

/* Of normalised ones: the rest follows from these. */
static bool is_same_type(const pg_type_info *a, const pg_type_info *b)
{
    return a->kind == b->kind && a->elem == b->elem && a->is_ptr == b->is_ptr &&
           a->space == b->space && a->rank == b->rank && a->enc.id == b->enc.id &&
           memcmp(a->dims, b->dims, sizeof a->dims) == 0;
}

pg_type pg_type_intern(pg_types *t, const pg_type_info *info)
{
    const pg_type none = {0};
    pg_type_info key;
    if (t == NULL || info->kind == PG_TY_NONE) {
        return none;
    }
    normalise_type(&key, info);
    pg_index *index = &t->tables->type_index;
    pg_index_probe p;
    uint32_t id = pg_index_first(index, key_of(&key, sizeof key), &p);
    while (id != 0 && !is_same_type(t->types.at[id], &key)) {
        id = pg_index_next(index, &p);
    }
    if (id != 0) {
        return (pg_type){id};
    }
    pg_type_info *copy = pg_arena_copy(t->tables->arena, &key, sizeof key);
    if (copy == NULL || !pg_vec_reserve(t->tables->arena, &t->types, 1) ||
        !pg_index_add(index, &p)) {
        return none;
    }
    t->types.at[t->types.n] = copy;
    return (pg_type){t->types.n++};
}

static uint32_t find_memo(const memo *m, const pg_memo_key *key, pg_index_probe *p)
{
    uint32_t at = pg_index_first(&m->index, key_of(key, sizeof *key), p);
    while (at != 0 && memcmp(&m->items.at[at - 1].key, key, sizeof *key) != 0) {
        at = pg_index_next(&m->index, p);
    }
    return at;
}

const void *pg_memo_get(const pg_types *t, const pg_memo_key *key)
{
    pg_index_probe p;
    const uint32_t at = find_memo(&t->tables->memo, key, &p);
    return at == 0 ? NULL : t->tables->memo.items.at[at - 1].value;
}

void pg_memo_put(const pg_types *t, const pg_memo_key *key, const void *value, size_t size)
{
    memo *m = &t->tables->memo;
    pg_index_probe p;
    const uint32_t at = find_memo(m, key, &p);
    const memo_item item = {*key, pg_arena_copy(t->tables->arena, value, size)};
    if (item.value == NULL) {
        return;
    }
    if (at != 0) {
        m->items.at[at - 1] = item;
    } else if (pg_vec_reserve(t->tables->arena, &m->items, 1) && pg_index_add(&m->index, &p)) {
        m->items.at[m->items.n++] = item;
    }
}

pg_type pg_type_of_text(const pg_types *t, pg_str text)
{
    const uint32_t id = pg_intern_find(&t->tables->texts, text).id;
    return id < t->tables->of_text.n ? t->tables->of_text.at[id] : (pg_type){0};
}

void pg_type_note_text(pg_types *t, pg_str text, pg_type type)
{
    struct pg_type_tables *tables = t->tables;
    const uint32_t id = pg_intern(&tables->texts, text).id;
    if (id >= tables->of_text.n) {
        const uint32_t more = id + 1 - tables->of_text.n;
        if (!pg_vec_reserve(tables->arena, &tables->of_text, more)) {
            return;
        }
        tables->of_text.n = id + 1; /* the arena's memory is zero */
    }
    if (id != 0) {
        tables->of_text.at[id] = type;
    }
}

pg_type_known *pg_type_known_of(pg_types *t, pg_type ty)
{
    if (ty.id >= t->known.n) {
        const uint32_t n = ty.id < t->types.n ? t->types.n : ty.id + 1;
        if (!pg_vec_reserve(t->tables->arena, &t->known, n - t->known.n)) {
            return NULL;
        }
        t->known.n = n; /* the arena's memory is zero */
    }
    return &t->known.at[ty.id];
}

bool pg_enc_is_memory(const pg_types *t, pg_enc e)
{
    const pg_enc_info *info = pg_enc_get(t, e);
    return info->kind == PG_ENC_SMEM || (info->kind == PG_ENC_LINEAR && info->n_offset != 0);
}

static void normalise_enc(pg_enc_info *to, const pg_enc_info *from)
{
    memset(to, 0, sizeof *to);
    to->kind = from->kind;
    to->rank = from->rank <= PG_MAX_RANK ? from->rank : PG_MAX_RANK;
    uint32_t rank = to->rank;
    if (from->kind == PG_ENC_LINEAR) {
        uint32_t n = (uint32_t)from->n_reg + from->n_lane + from->n_warp + from->n_offset;
        to->n_reg = from->n_reg;
        to->n_lane = from->n_lane;
        to->n_warp = from->n_warp;
        to->n_offset = from->n_offset;
        for (uint32_t i = 0; i < n && i < PG_MAX_BASIS; i++) {
            memcpy(to->basis[i], from->basis[i], rank * sizeof from->basis[i][0]);
        }
        return;
    }
    if (from->kind == PG_ENC_SMEM) {
        to->swizzle = from->swizzle;
        to->pad = from->pad;
        memcpy(to->order, from->order, rank * sizeof from->order[0]);
        return;
    }
    if (from->kind == PG_ENC_DOT || from->kind == PG_ENC_SLICE) {
        to->of = from->of;
        to->operand = from->kind == PG_ENC_DOT ? from->operand : 0;
        to->dim = from->kind == PG_ENC_SLICE ? from->dim : 0;
        return;
    }
    memcpy(to->warps, from->warps, rank * sizeof from->warps[0]);
    if (from->kind == PG_ENC_WGMMA || from->kind == PG_ENC_MMA) {
        memcpy(to->shape, from->shape, sizeof to->shape);
        return;
    }
    memcpy(to->order, from->order, rank * sizeof from->order[0]);
    memcpy(to->regs, from->regs, rank * sizeof from->regs[0]);
    memcpy(to->lanes, from->lanes, rank * sizeof from->lanes[0]);
}

pg_enc pg_enc_intern(pg_types *t, const pg_enc_info *info)
{
    const pg_enc none = {0};
    pg_enc_info key;
    if (t == NULL || info->kind == PG_ENC_NONE) {
        return none;
    }
    normalise_enc(&key, info);
    pg_index *index = &t->tables->enc_index;
    pg_index_probe p;
    /* Few encodings have vectors, and behind those that they have all is zero. */
    const uint32_t n = (uint32_t)key.n_reg + key.n_lane + key.n_warp + key.n_offset;
    const size_t used = offsetof(pg_enc_info, basis) +
                        (n < PG_MAX_BASIS ? n + n % 2 : PG_MAX_BASIS) * sizeof key.basis[0];
    uint32_t id = pg_index_first(index, key_of(&key, used), &p);
    while (id != 0 && memcmp(t->encs.at[id], &key, used) != 0) {
        id = pg_index_next(index, &p);
    }
    if (id != 0) {
        return (pg_enc){id};
    }
    pg_enc_info *copy = pg_arena_copy(t->tables->arena, &key, sizeof key);
    if (copy == NULL || !pg_vec_reserve(t->tables->arena, &t->encs, 1) ||
        !pg_index_add(index, &p)) {
        return none;
    }
    t->encs.at[t->encs.n] = copy;
    return (pg_enc){t->encs.n++};
}

/* ---- short forms --------------------------------------------------------------------------- */

pg_type pg_type_new_scalar(pg_types *t, pg_elem e, bool is_ptr)
{
    const pg_type_info info = {.kind = PG_TY_SCALAR, .elem = (uint8_t)e, .is_ptr = is_ptr};
    const pg_type type = pg_type_intern(t, &info);
    t->scalars[is_ptr][e] = type;
    return type;
}

static void set_dims(pg_type_info *info, uint32_t rank, const int32_t *dims)
{
    info->rank = (uint8_t)(rank <= PG_MAX_RANK ? rank : PG_MAX_RANK);
    for (uint32_t d = 0; d < info->rank; d++) {
        info->dims[d] = dims[d];
    }
}

pg_type pg_type_tile(pg_types *t, pg_elem e, uint32_t rank, const int32_t *dims, pg_enc enc)
{
    pg_type_info info = {.kind = PG_TY_TILE, .elem = (uint8_t)e, .enc = enc};
    set_dims(&info, rank, dims);
    return pg_type_intern(t, &info);
}

static recent_type *recent_of_types(recent_type *all, uint32_t type, uint32_t other)
{
    const uint32_t hash = (type * 31 + other) * UINT32_C(2654435761);
    return &all[(hash >> 16) % RECENT];
}

pg_type pg_type_with_elem(pg_types *t, pg_type ty, pg_elem e, bool is_ptr)
{
    const uint32_t elem = (uint32_t)e | (is_ptr ? 256u : 0u);
    recent_type *recent = recent_of_types(t->tables->with_elem, ty.id, elem);
    if (recent->type != ty.id || recent->other != elem || ty.id == 0) {
        pg_type_info info = *pg_type_get(t, ty);
        info.elem = (uint8_t)e;
        info.is_ptr = is_ptr;
        const pg_type with = pg_type_intern(t, &info);
        if (with.id == 0) {
            return with;
        }
        *recent = (recent_type){ty.id, elem, with};
    }
    return recent->with;
}

pg_type pg_type_with_enc(pg_types *t, pg_type ty, pg_enc enc)
{
    recent_type *recent = recent_of_types(t->tables->with_enc, ty.id, enc.id);
    if (recent->type != ty.id || recent->other != enc.id || ty.id == 0) {
        pg_type_info info = *pg_type_get(t, ty);
        info.enc = enc;
        const pg_type with = pg_type_intern(t, &info);
        if (with.id == 0) {
            return with;
        }
        *recent = (recent_type){ty.id, enc.id, with};
    }
    return recent->with;
}

pg_type pg_type_with_dims(pg_types *t, pg_type ty, uint32_t rank, const int32_t *dims)
{
    pg_type_info info = *pg_type_get(t, ty);
    set_dims(&info, rank, dims);
    return pg_type_intern(t, &info);
}

pg_type pg_type_elem_scalar(pg_types *t, pg_type ty)
{
    const pg_type_info *info = pg_type_get(t, ty);
    const pg_elem elem = (pg_elem)info->elem;
    return elem == PG_ELEM_NONE ? (pg_type){0}
           : info->is_ptr != 0  ? pg_type_ptr(t, elem)
                                : pg_type_scalar(t, elem);
}

pg_type pg_type_token(pg_types *t)
{
    return pg_type_intern(t, &(pg_type_info){.kind = PG_TY_TOKEN});
}

/* ---- questions ----------------------------------------------------------------------------- */

bool pg_type_same_shape(const pg_types *t, pg_type a, pg_type b)
{
    const pg_type_info *x = pg_type_get(t, a);
    const pg_type_info *y = pg_type_get(t, b);
    if (x->kind != y->kind || (x->kind != PG_TY_SCALAR && x->kind != PG_TY_TILE)) {
        return false;
    }
    return x->kind == PG_TY_SCALAR || (x->rank == y->rank && pg_enc_eq(x->enc, y->enc) &&
                                       memcmp(x->dims, y->dims, sizeof x->dims) == 0);
}

int64_t pg_type_n_elems(const pg_types *t, pg_type ty)
{
    const pg_type_info *info = pg_type_get(t, ty);
    int64_t n = 1;
    for (uint32_t d = 0; d < info->rank; d++) {
        if (info->dims[d] < 0) {
            return -1;
        }
        if (info->dims[d] != 0 && n > INT64_MAX / info->dims[d]) {
            return INT64_MAX;
        }
        n *= info->dims[d];
    }
    return n;
}
