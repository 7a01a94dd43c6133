/* type.h: interned types and encodings. Equal ids mean equal types. Text forms:
 *   i32  f16  ptr<f16>  token  tile<128x64xf16>  tile<128x64xf16, #enc>  tile<128xptr<f16>>
 * tile<i32> is not a type desc<128x64xf16, #enc>  buf<smem, 4x128x64xf16, #enc>  ring<4>  bar<2>
 * tensor<?x64xf16, #enc>            */
#ifndef PG_IR_TYPE_H
#define PG_IR_TYPE_H

#include "base/intern.h"

#define PG_MAX_RANK 5
#define PG_DYN      (-1) /* a ? extent */

typedef enum pg_elem {
    PG_ELEM_NONE,
#define E(id, text, bits, cls) PG_##id,
#include "ir/types.def"
    PG_ELEM_COUNT
} pg_elem;

typedef struct pg_elem_info {
    const char *text;
    uint8_t bits;
    char cls; /* 'I' or 'F' */
} pg_elem_info;
extern const pg_elem_info pg_elem_infos[PG_ELEM_COUNT];

typedef enum pg_type_kind {
    PG_TY_NONE,
    PG_TY_SCALAR, /* elem, or pointer to elem if is_ptr */
    PG_TY_TILE,   /* rank dims of elem (pointers to elem if is_ptr), enc optional */
    PG_TY_DESC,   /* TMA descriptor: box dims, elem, enc = layout of the box in shared memory */
    PG_TY_BUF, /* space, dims (a leading slots dimension is an ordinary dimension), elem, enc of the
                  last two dims */
    PG_TY_RING, /* n slots */
    PG_TY_BAR,  /* n barriers */
    PG_TY_TOKEN,
    PG_TY_TENSOR, /* whole array in device memory; dims may be PG_DYN */
    PG_TY_COUNT
} pg_type_kind;

typedef enum pg_space {
    PG_SPACE_NONE,
    PG_SPACE_SMEM,
    PG_SPACE_DSMEM,
    PG_SPACE_TMEM,
    PG_SPACE_COUNT
} pg_space;

typedef struct pg_type {
    uint32_t id; /* 0: none */
} pg_type;
typedef struct pg_enc {
    uint32_t id; /* 0: none */
} pg_enc;

typedef struct pg_type_info {
    uint8_t kind; /* pg_type_kind */
    uint8_t elem; /* pg_elem */
    uint8_t is_ptr;
    uint8_t space; /* pg_space */
    uint8_t rank;
    uint8_t classes;           /* PG_TYPE_*; interning sets it */
    int32_t dims[PG_MAX_RANK]; /* rings and barriers: dims[0] is their count */
    pg_enc enc;
} pg_type_info;

/* An encoding is its kind and parameters; names belong to modules. */
typedef enum pg_enc_kind {
    PG_ENC_NONE,
    PG_ENC_SMEM,    /* order, swizzle (0 32 64 128), pad (elements per row) */
    PG_ENC_BLOCKED, /* regs, lanes, warps (each per dim), order (fastest first) */
    PG_ENC_WGMMA,   /* shape (64, n, k), warps (per dim; warps[0] a multiple of 4) */
    PG_ENC_LINEAR,  /* reg, lane, warp, or offset alone for buffers: lists of basis vectors, each a
                       coordinate per dim */
    PG_ENC_MMA,     /* shape (16, 8, k), warps (per dim): accumulator of mma.sync */
    PG_ENC_DOT,     /* operand 0 or 1 of the matrix operation whose accumulator is `of` */
    PG_ENC_SLICE,   /* `of` without dimension `dim` */
    PG_ENC_KIND_COUNT
} pg_enc_kind;

#define PG_MAX_BASIS 40 /* bits of register + lane + warp (or offset) indices together */

typedef struct pg_enc_info {
    uint8_t kind; /* pg_enc_kind */
    uint8_t rank;
    uint8_t order[PG_MAX_RANK]; /* smem, blocked: dims, fastest first */
    uint8_t operand;            /* dot */
    uint8_t dim;                /* slice */
    pg_enc of;                  /* dot, slice */
    uint16_t swizzle, pad;
    uint16_t shape[3];
    uint16_t regs[PG_MAX_RANK], lanes[PG_MAX_RANK], warps[PG_MAX_RANK];
    uint8_t n_reg, n_lane, n_warp,
        n_offset; /* linear: how many basis vectors of each; in this order in basis[] */
    uint16_t basis[PG_MAX_BASIS][PG_MAX_RANK];
} pg_enc_info;

enum {
    PG_TYPE_DATA = 1,
    PG_TYPE_INT = 2,
    PG_TYPE_FLOAT = 4,
    PG_TYPE_PTR = 8
}; /* scalars and tiles */

typedef struct pg_type_known { /* what the verifier has found right */
    bool is_good;
    uint8_t warps; /* so many hold the tile; 0: not known of any */
} pg_type_known;

typedef struct pg_types {               /* intern tables of a context */
    PG_VEC(const pg_type_info *) types; /* by id; [0] is of kind NONE */
    PG_VEC(const pg_enc_info *) encs;
    pg_type scalars[2][PG_ELEM_COUNT]; /* by is_ptr; id 0: not asked for yet */
    PG_VEC(pg_type_known) known;       /* by id; longer ones are not known */
    struct pg_type_tables *tables;     /* ir/type.c */
} pg_types;

pg_types *pg_types_new(pg_arena *arena);
pg_type pg_type_intern(pg_types *t, const pg_type_info *info); /* id 0 when out of memory */
pg_enc pg_enc_intern(pg_types *t, const pg_enc_info *info);
/* Never NULL: kind NONE for id 0. */
static inline const pg_type_info *pg_type_get(const pg_types *t, pg_type ty)
{
    return t->types.at[ty.id < t->types.n ? ty.id : 0];
}
static inline const pg_enc_info *pg_enc_get(const pg_types *t, pg_enc e)
{
    return t->encs.at[e.id < t->encs.n ? e.id : 0];
}
bool pg_enc_is_memory(const pg_types *t, pg_enc e); /* of buffers: smem, or linear in offsets */
/* What is wrong with the parameters of an encoding; NULL if nothing. verify_type.c */
const char *pg_enc_fault(const pg_types *t, pg_enc e);

/* What was computed of types and numbers alone is remembered with them, for all modules of the
 * context. A key is what it is and up to four numbers; the value is copied, and stays at its
 * place. get: NULL if nothing is known. put may forget where memory runs out. */
typedef enum pg_memo {
    PG_MEMO_TILE,
    PG_MEMO_BUF,
    PG_MEMO_BACK,
    PG_MEMO_PLAIN,
    PG_MEMO_CONVERT,
    PG_MEMO_MOVE,
    PG_MEMO_CONFLICTS,
    PG_MEMO_COPY,
    PG_MEMO_ACCESS
} pg_memo;
typedef struct pg_memo_key {
    uint32_t what; /* pg_memo */
    uint32_t of[4];
} pg_memo_key;
const void *pg_memo_get(const pg_types *t, const pg_memo_key *key);
void pg_memo_put(const pg_types *t, const pg_memo_key *key, const void *value, size_t size);

/* What is written of a type without names of encodings, for all modules of the context; id 0:
 * not read yet. note may forget where memory runs out. */
pg_type pg_type_of_text(const pg_types *t, pg_str text);
void pg_type_note_text(pg_types *t, pg_str text, pg_type type);

/* Room for what is known of a type; NULL when out of memory. */
pg_type_known *pg_type_known_of(pg_types *t, pg_type ty);

/* Short forms. */
pg_type pg_type_new_scalar(pg_types *t, pg_elem e, bool is_ptr);
static inline pg_type pg_type_scalar(pg_types *t, pg_elem e)
{
    const pg_type known = t->scalars[0][e];
    return known.id != 0 ? known : pg_type_new_scalar(t, e, false);
}
static inline pg_type pg_type_ptr(pg_types *t, pg_elem e)
{
    const pg_type known = t->scalars[1][e];
    return known.id != 0 ? known : pg_type_new_scalar(t, e, true);
}
pg_type pg_type_tile(pg_types *t, pg_elem e, uint32_t rank, const int32_t *dims, pg_enc enc);
pg_type pg_type_with_elem(pg_types *t, pg_type ty, pg_elem e,
                          bool is_ptr); /* same kind, shape, encoding */
pg_type pg_type_with_enc(pg_types *t, pg_type ty, pg_enc enc);
pg_type pg_type_with_dims(pg_types *t, pg_type ty, uint32_t rank, const int32_t *dims);
pg_type pg_type_elem_scalar(pg_types *t,
                            pg_type ty); /* tile<..xT> -> T, tile<..xptr<T>> -> ptr<T> */
pg_type pg_type_token(pg_types *t);

static inline bool pg_type_eq(pg_type a, pg_type b)
{
    return a.id == b.id;
}
static inline bool pg_enc_eq(pg_enc a, pg_enc b)
{
    return a.id == b.id;
}
/* Scalars and tiles: of integers (i1 included), floats, pointers. */
static inline bool pg_type_is_int(const pg_types *t, pg_type ty)
{
    return (pg_type_get(t, ty)->classes & PG_TYPE_INT) != 0;
}
static inline bool pg_type_is_float(const pg_types *t, pg_type ty)
{
    return (pg_type_get(t, ty)->classes & PG_TYPE_FLOAT) != 0;
}
static inline bool pg_type_is_ptr(const pg_types *t, pg_type ty)
{
    return (pg_type_get(t, ty)->classes & PG_TYPE_PTR) != 0;
}
bool pg_type_same_shape(const pg_types *t, pg_type a,
                        pg_type b); /* both scalar, or tiles of the same dims and enc */
int64_t pg_type_n_elems(const pg_types *t,
                        pg_type ty); /* 1 for scalars; -1 if any extent is dynamic */

#endif
