/* ir.h: the SSA IR in plain C structs: context, module, kernel, region, instruction, value.
 *
 * Values are ids into the kernel's value table; instructions live in the module's arena at stable
 * addresses, linked in regions. Structured control only: `for`, `while`, `if`, `partition`, `elect`
 * own regions; a region ends in a terminator
 * (`yield`; `return` for a kernel's body; `grid` for its launch region; elect and partition regions
 * have none). Users of values are an analysis (uses.h), not lists. Order comes from ids and lists,
 * never from addresses.
 *
 * Out of memory is sticky in the module's arena: functions return id 0 or NULL then, and every
 * function accepts those. */
#ifndef PG_IR_IR_H
#define PG_IR_IR_H

#include "base/diag.h"
#include "base/map.h"
#include "ir/op.h"

typedef struct pg_ctx { /* what modules of one thread share; outlives them */
    pg_alloc alloc;
    pg_arena arena;
    pg_interner syms;
    pg_types *types;
    pg_words words; /* of the tables */
    /* What passes and emission found out of types and opcodes: sched/layouts_enc.c,
     * emit/lower_int.h. NULL at first. */
    struct pg_layouts_kept *layouts;
    struct pg_lw_kept *lowering;
} pg_ctx;

pg_status pg_ctx_init(pg_ctx *ctx, pg_alloc alloc);
void pg_ctx_fini(pg_ctx *ctx);

typedef struct pg_val {
    uint32_t id; /* 0: none */
} pg_val;
static inline bool pg_val_eq(pg_val a, pg_val b)
{
    return a.id == b.id;
}

typedef struct pg_inst pg_inst;
typedef struct pg_region pg_region;
typedef struct pg_kernel pg_kernel;
typedef struct pg_module pg_module;

typedef enum pg_val_kind {
    PG_V_NONE,
    PG_V_CONST, /* literal; printed in place; a tile constant has all elements equal */
    PG_V_PARAM, /* kernel parameter `index` */
    PG_V_ARG,   /* argument `index` of a region: `for`: 0 the induction variable, then the carried
                   values; `while`: the carried values, in each of its regions */
    PG_V_RESULT /* result `index` of `def` */
} pg_val_kind;

typedef struct pg_value {
    uint8_t kind;   /* pg_val_kind */
    bool is_poison; /* constants: the undefined value */
    uint16_t index;
    pg_type type;
    pg_sym name;           /* as written, without %; 0: the printer numbers it */
    union {                /* by kind; look at it first */
        pg_inst *def;      /* RESULT */
        pg_region *region; /* ARG: the region whose argument it is */
        uint64_t bits; /* CONST: value pattern of one element, integers sign-extended to 64 bits,
                            * floats as the bit pattern of the element type (f16: 16 bits, ...) */
    };
} pg_value;

/* Attribute values. Lists hold items of kind INT, VAL, SYM, DYN or LIST. */
typedef enum pg_aval_kind {
    PG_AV_NONE,
    PG_AV_FLAG,
    PG_AV_INT,
    PG_AV_WORD,
    PG_AV_SYM,
    PG_AV_VAL,
    PG_AV_DYN,
    PG_AV_LIST
} pg_aval_kind;
typedef struct pg_aval pg_aval;
struct pg_aval {
    uint8_t kind;
    uint32_t n;           /* LIST */
    int64_t num;          /* INT: value; WORD: index in the table row's words */
    pg_sym sym;           /* SYM */
    pg_val val;           /* VAL */
    const pg_aval *items; /* LIST */
};
typedef struct pg_attr {
    uint8_t id; /* pg_attr_id */
    pg_aval val;
} pg_attr;
typedef struct pg_attrs { /* sorted by id, unique */
    pg_attr *at;
    uint32_t n;
    bool is_partial; /* the text had an error in them: what is missing may have been meant */
} pg_attrs;

struct pg_inst {
    pg_inst *prev, *next;
    pg_region *parent;
    uint16_t op; /* pg_op */
    uint16_t n_in, n_out, n_regions;
    uint32_t id; /* number in order of creation within the kernel */
    pg_loc loc;
    pg_sym sym; /* partition: its name */
    pg_attrs attrs;
    pg_val *in;
    pg_val *out;
    pg_region **regions; /* for: body; while: test and body; if: then and else (an absent else is an
                            empty region); partition, elect: body */
};

struct pg_region {
    pg_inst *owner; /* NULL: body or launch region of the kernel */
    pg_kernel *kernel;
    pg_inst *first, *last;
    pg_val *args;
    uint32_t n_args;
};

typedef struct pg_param {
    pg_val val;
    pg_attrs attrs;
    pg_loc loc;
} pg_param;

struct pg_kernel {
    pg_module *module;
    pg_kernel *next;
    pg_sym name;
    pg_loc loc;
    pg_attrs attrs; /* warps, min_ctas, cluster */
    pg_param *params;
    uint32_t n_params;
    pg_region *launch; /* NULL: none */
    pg_region *body;
    PG_VEC(pg_value) values;            /* [0] is none */
    pg_map consts;                      /* (type, bits) -> value */
    uint32_t n_insts;                   /* next instruction id */
    uint32_t n_in_body;                 /* operations in the body, in all its regions */
    uint64_t ops[PG_OP_COUNT / 64 + 1]; /* bits of operations that were ever made in it */
    uint32_t stamp;                     /* changes with every edit; analyses compare it */
    uint32_t n_typed;                   /* so many of them only gave a value another type */
    struct {                            /* when `simplify` had nothing left to do */
        bool is_known, has_encs;        /* has_encs: some value had an encoding then */
        uint32_t stamp, n_typed;
    } simplified;
};

typedef struct pg_enc_name {
    pg_sym name;
    pg_enc enc;
    pg_loc loc;
} pg_enc_name;

struct pg_module {
    pg_ctx *ctx;
    pg_arena arena;
    pg_diags *diags;          /* where builder, parser, verifier and passes report */
    uint32_t props;           /* PG_PROP_* that hold (sched/pass.h) */
    uint32_t sm;              /* 90 */
    bool sm_arch;             /* sm_90a: architecture-specific features */
    pg_sym target;            /* "sm_90a" */
    PG_VEC(pg_enc_name) encs; /* in order of the text */
    struct {
        const char *hint;
        uint32_t next;
    } enc_hints[4]; /* of pg_module_enc_name: lower numbers are taken */
    pg_kernel *kernels, *last_kernel;
};

/* A module with its own arena; destroy frees all of it. diags may be changed later. */
pg_status pg_module_create(pg_ctx *ctx, pg_diags *diags, pg_module **out);
void pg_module_destroy(pg_module *m);
/* Deep copy in the same context (for --check=clone and snapshots). */
pg_status pg_module_clone(const pg_module *m, pg_diags *diags, pg_module **out);
/* Parses "sm_90a" and stores it; PG_E_UNSUPPORTED and a diagnostic for an unknown target. */
pg_status pg_module_set_target(pg_module *m, pg_str target, pg_loc loc);
/* Name for an encoding: the module's first name for it, else a new `#<hint><n>`. */
pg_sym pg_module_enc_name(pg_module *m, pg_enc e, const char *hint);

/* ---- reading ------------------------------------------------------------------------------------
 */

static inline const pg_value *pg_value_of(const pg_kernel *k, pg_val v)
{
    return &k->values.at[v.id < k->values.n ? v.id : 0];
}
static inline pg_type pg_val_type(const pg_kernel *k, pg_val v)
{
    return pg_value_of(k, v)->type;
}
static inline const pg_type_info *pg_val_info(const pg_kernel *k, pg_val v)
{
    return pg_type_get(k->module->ctx->types, pg_value_of(k, v)->type);
}
static inline bool pg_val_is_const(const pg_kernel *k, pg_val v)
{
    return pg_value_of(k, v)->kind == PG_V_CONST;
}
/* The operation whose result it is; NULL for others. */
static inline pg_inst *pg_val_def(const pg_kernel *k, pg_val v)
{
    const pg_value *value = pg_value_of(k, v);
    return value->kind == PG_V_RESULT ? value->def : NULL;
}
/* Integer constant as int64; false if it is none. */
bool pg_val_int(const pg_kernel *k, pg_val v, int64_t *out);

const pg_aval *pg_attr_get(const pg_attrs *a, pg_attr_id id);             /* NULL if absent */
int64_t pg_attr_int(const pg_attrs *a, pg_attr_id id, int64_t if_absent); /* INT and WORD */
bool pg_attr_has(const pg_attrs *a, pg_attr_id id);

/* Every instruction of a region, not of nested ones. The safe form allows removing `i`. */
#define pg_foreach_inst(i, region) for (pg_inst *i = (region)->first; i; i = i->next)
#define pg_foreach_inst_safe(i, region)                                   \
    for (pg_inst *i = (region)->first, *i##_next = i ? i->next : NULL; i; \
         i = i##_next, i##_next = i ? i->next : NULL)
/* Pre-order walk over nested regions: the instruction after `i` in text order within `root`,
 * entering i's regions. */
pg_inst *pg_inst_walk(const pg_inst *i, const pg_region *root);
/* False: the kernel has no such operation, nor ever had. Walks that look for a rare one ask first:
 * what they cost in a large kernel is the way to memory. */
static inline bool pg_kernel_has(const pg_kernel *k, pg_op op)
{
    return (k->ops[op / 64] >> op % 64 & 1) != 0;
}
/* Inner-most enclosing instruction of an operation (`for`, `partition`, ...), or NULL. */
pg_inst *pg_inst_find_parent(const pg_inst *i, pg_op op);
/* CTAs of a cluster along x, y and z; 1, 1, 1 where the kernel has none. */
void pg_kernel_cluster(const pg_kernel *k, uint32_t out[3]);
uint32_t pg_kernel_warps(const pg_kernel *k);
/* Number of warps that run this instruction: the enclosing partition's, else the kernel's. */
uint32_t pg_inst_warps(const pg_inst *i);
/* Accumulator tile type behind a token: of the mma.begin that starts its chain. */
pg_type pg_token_tile(const pg_kernel *k, pg_val token);

/* ---- loops --------------------------------------------------------------------------------------
 * `for` and `while` carry values: each has a start, an argument in each of the loop's regions, an
 * operand of the body's yield, and a result. */

static inline bool pg_is_loop(const pg_inst *i)
{
    return i->op == PG_OP_FOR || i->op == PG_OP_WHILE;
}
/* Index of the operand that starts the first carried value. */
static inline uint32_t pg_loop_in(const pg_inst *loop)
{
    return loop->op == PG_OP_FOR ? 3 : 0;
}
/* Index of the first carried value among a region's arguments. */
static inline uint32_t pg_loop_arg(const pg_inst *loop)
{
    return loop->op == PG_OP_FOR ? 1 : 0;
}
/* The region whose end hands over the carried values; NULL where the builder forgot it. */
static inline pg_region *pg_loop_body(const pg_inst *loop)
{
    return loop->n_regions == 0 ? NULL : loop->regions[loop->n_regions - 1];
}
/* The test of a `while`: its end hands over the condition, and nothing else. */
static inline bool pg_region_is_test(const pg_region *r)
{
    return r->owner != NULL && r->owner->op == PG_OP_WHILE && r->owner->n_regions > 1 &&
           r->owner->regions[0] == r;
}
bool pg_inst_in_loop(const pg_inst *i);
/* What the end of a region hands over: how much, and of which types (id 0: no such item). */
uint32_t pg_region_n_yields(const pg_region *r);
pg_type pg_region_yield_type(const pg_kernel *k, const pg_region *r, uint32_t index);

/* ---- effects ------------------------------------------------------------------------------------
 */

bool pg_inst_is_pure(const pg_inst *i); /* no effect at all, nested regions included */
/* Whether two pointers, descriptors, buffers or barriers may reach the same bytes. Pointer
 * arguments do not if one is `noalias`, `in` or `out`: the role promises that the array is not also
 * reached through another argument that writes it. */
bool pg_may_alias(const pg_kernel *k, pg_val a, pg_val b);
bool pg_may_reorder(const pg_kernel *k, const pg_inst *a,
                    const pg_inst *b); /* exchanging neighbours a; b keeps the meaning */

/* ---- editing (ir.c)
 * ------------------------------------------------------------------------------- */

pg_kernel *pg_kernel_new(pg_module *m, pg_sym name, pg_loc loc);
pg_val pg_kernel_add_param(pg_kernel *k, pg_sym name, pg_type type, pg_loc loc);
pg_region *pg_region_new(pg_kernel *k, pg_inst *owner);
pg_val pg_region_add_arg(pg_region *r, pg_type type, pg_sym name);
/* Detached instruction with room for its operands and results; results get values of the given
 * types. */
pg_inst *pg_inst_new(pg_kernel *k, pg_op op, uint32_t n_in, const pg_val *in, uint32_t n_out,
                     const pg_type *out_types, uint32_t n_regions);
void pg_inst_append(pg_region *r, pg_inst *i);
void pg_inst_insert_before(pg_inst *at, pg_inst *i);
void pg_inst_insert_after(pg_inst *at, pg_inst *i);
void pg_inst_remove(pg_inst *i); /* unlinks; its values stay valid ids */
void pg_inst_move_before(pg_inst *i, pg_inst *at);
/* Changes operands everywhere in the kernel (attributes too): all uses of `from` become `to`.
 * O(kernel). For many at once use pg_replace_all with a table indexed by value id (0: keep), which
 * is applied transitively. */
void pg_replace_uses(pg_kernel *k, pg_val from, pg_val to);
void pg_replace_all(pg_kernel *k, const pg_val *map, uint32_t n);
void pg_inst_set_in(pg_inst *i, uint32_t index, pg_val v);
pg_status pg_inst_add_in(pg_inst *i, pg_val v);                        /* grows the operand list */
pg_val pg_inst_add_out(pg_inst *i, pg_type type, pg_sym name);         /* grows the result list */
void pg_attr_set(pg_kernel *k, pg_attrs *a, pg_attr_id id, pg_aval v); /* inserts or overwrites */
void pg_attr_set_int(pg_kernel *k, pg_attrs *a, pg_attr_id id, int64_t v);
void pg_attr_set_flag(pg_kernel *k, pg_attrs *a, pg_attr_id id);
void pg_attr_drop(pg_kernel *k, pg_attrs *a, pg_attr_id id);
/* Constants are unique per kernel. */
pg_val pg_const(pg_kernel *k, pg_type type, uint64_t bits);
pg_val pg_const_int(pg_kernel *k, pg_type type, int64_t x);
pg_val pg_const_float(pg_kernel *k, pg_type type, double x); /* rounded once to the element type */
pg_val pg_const_poison(pg_kernel *k, pg_type type);
void pg_val_set_type(pg_kernel *k, pg_val v, pg_type type);

/* ---- text (lex.c parse.c print.c verify.c)
 * ----------------------------------------------------------- */

/* Parses `text`; all errors in one run, at line and column. On PG_OK the module is well-formed
 * text, not yet verified. */
pg_status pg_parse(pg_ctx *ctx, pg_str text, pg_diags *diags, pg_module **out);
/* Canonical text: print(parse(x)) is a fixed point. */
void pg_print(pg_strbuf *out, const pg_module *m);
/* Gives kernels, parameters and operations the places that they have in that text. */
pg_status pg_place_by_text(pg_module *m);
void pg_print_inst(pg_strbuf *out, const pg_kernel *k,
                   const pg_inst *i); /* one operation, regions as { ... } */
void pg_print_type(pg_strbuf *out, const pg_module *m, pg_type t);
/* All rules of ops.def and of structure, dominance, target; with PG_PROP_* bits also that each
 * property holds. Reports all errors into the module's diags. */
pg_status pg_verify(pg_module *m, uint32_t props);

#endif
