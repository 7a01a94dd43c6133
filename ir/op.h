/* op.h: the operation and attribute tables as C. Nothing else lists operations. */
#ifndef PG_IR_OP_H
#define PG_IR_OP_H

#include "ir/type.h"

typedef enum pg_op {
    PG_OP_NONE,
#define OP(id, ...) PG_OP_##id,
#include "ir/ops.def"
    PG_OP_COUNT
} pg_op;

typedef enum pg_attr_id {
    PG_A_NONE,
#define A(id, ...) PG_A_##id,
#include "ir/attrs.def"
    PG_A_COUNT
} pg_attr_id;

#define PG_MAX_IN 8 /* operand classes of a row; a variadic row repeats its last */

/* Operand classes and effects share one word. */
enum {
    PG_C_NONE,
    PG_C_T,
    PG_C_E,
    PG_C_X,
    PG_C_V,
    PG_C_M,
    PG_C_NUM,
    PG_C_TILE,
    PG_C_I32,
    PG_C_INT,
    PG_C_PTR,
    PG_C_DESC,
    PG_C_BUF,
    PG_C_RING,
    PG_C_BAR,
    PG_C_TOKEN,
    PG_C_DATA,
    PG_C_ANY,
    PG_C_MASK = 0xff,
    PG_E_READ = 0x100,
    PG_E_WRITE = 0x200,
    PG_E_ARRIVE = 0x400,
    PG_E_WAIT = 0x800,
    PG_E_INIT = 0x1000,
    PG_E_ASYNC = 0x2000 /* the effect happens later, at a time of its own */
};
/* PG_C_BAR accepts rings too, PG_C_DATA scalars and tiles of numbers and pointers. PG_C_V: the
 * value stored, of the pointer's element and shape. */

typedef enum pg_res {
    PG_R_NONE,  /* no result */
    PG_R_TYPED, /* one, any scalar or tile */
    PG_R_INT,
    PG_R_FLOAT, /* one, scalar or tile of that class; all C_T operands have its type */
    PG_R_TILE,
    PG_R_TILE_INT,
    PG_R_CMP,  /* i1 in the operands' shape */
    PG_R_CAST, /* operand's shape, other element */
    PG_R_PTR,
    PG_R_LOAD,
    PG_R_I32,
    PG_R_I32X2,
    PG_R_BUF,
    PG_R_RING,
    PG_R_BAR,
    PG_R_TOKEN,
    PG_R_MMA_WAIT, /* none, or the accumulator tile */
    PG_R_REGION    /* what the region yields */
} pg_res;

enum {                 /* flags */
       PG_F_PURE = 1,  /* no effect, result depends on operands only: may be folded, shared, moved,
                          removed */
       PG_F_ELEM = 2,  /* elementwise */
       PG_F_COMM = 4,  /* first two operands may be swapped */
       PG_F_SHAPE = 8, /* moves elements, keeps values */
       PG_F_INEXACT = 16, /* result may differ by some ulp between interpreter and machine */
       PG_F_REGION = 32,
       PG_F_TERM = 64,
       PG_F_SYMBOL = 128,
       PG_F_ALLOC = 256,
       PG_F_SYNC = 512
};
enum { PG_L_TILE = 1, PG_L_HW = 2, PG_L_LAUNCH = 4, PG_L_BOTH = 3, PG_L_ANY = 7 };

typedef struct pg_op_info {
    const char *text, *doc;
    int8_t n_in; /* -1: variadic */
    uint8_t n_opt;
    uint8_t n_classes;
    uint16_t ins[PG_MAX_IN];
    uint8_t res;    /* pg_res */
    uint64_t attrs; /* bit (1 << PG_A_x) */
    uint16_t flags;
    uint8_t level;
    uint16_t sm;
} pg_op_info;
extern const pg_op_info pg_op_infos[PG_OP_COUNT];

typedef enum pg_attr_kind {
    PG_AK_FLAG,
    PG_AK_INT,
    PG_AK_INTS,
    PG_AK_WORD,
    PG_AK_SYM,
    PG_AK_SYMS,
    PG_AK_VAL,
    PG_AK_VALS,
    PG_AK_NEST
} pg_attr_kind;
typedef struct pg_attr_info {
    const char *text, *words, *doc;
    uint8_t kind;
} pg_attr_info;
extern const pg_attr_info pg_attr_infos[PG_A_COUNT];

/* Words of WORD attributes by index in their table row: is=eq is 0, ... */
enum { PG_IS_EQ, PG_IS_NE, PG_IS_LT, PG_IS_LE, PG_IS_GT, PG_IS_GE };
enum { PG_REDUCE_SUM, PG_REDUCE_MAX, PG_REDUCE_MIN };
enum { PG_SIDE_FULL, PG_SIDE_EMPTY };
enum { PG_PER_THREAD, PG_PER_WARP, PG_PER_ONE };
enum { PG_FENCE_MBARRIER_INIT, PG_FENCE_PROXY_ASYNC, PG_FENCE_CTA, PG_FENCE_GPU };
enum { PG_AXIS_X, PG_AXIS_Y, PG_AXIS_Z };

/* The tables' words by hash; a context has them. Open addressing: what is found is compared. */
enum { PG_WORD_SLOTS = 256 };
typedef struct pg_words {
    uint8_t ops[PG_WORD_SLOTS];   /* pg_op; 0: empty */
    uint8_t attrs[PG_WORD_SLOTS]; /* pg_attr_id */
} pg_words;
void pg_words_init(pg_words *w);
pg_op pg_op_find(const pg_words *w, pg_str text);        /* PG_OP_NONE if unknown */
pg_attr_id pg_attr_find(const pg_words *w, pg_str text); /* PG_A_NONE if unknown */
/* The operation of this name with another first letter: iadd of fadd for 'i'. PG_OP_NONE if there
 * is none, or it is the same. */
pg_op pg_op_sibling(const pg_words *w, pg_op op, char letter);
/* Class and effects of the i-th operand of an operation with n operands. */
static inline uint16_t pg_op_in(pg_op op, uint32_t i, uint32_t n)
{
    const pg_op_info *info = &pg_op_infos[op < PG_OP_COUNT ? op : PG_OP_NONE];
    if (i < info->n_classes && i < n) {
        return info->ins[i];
    }
    const bool repeats = info->n_in < 0 && info->n_classes != 0 && i < n;
    return repeats ? info->ins[info->n_classes - 1] : (uint16_t)PG_C_NONE;
}

#endif
