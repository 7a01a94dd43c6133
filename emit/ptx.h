/* ptx.h: PTX text as an object model: module, functions, statements, operands.
 *
 * Lowering builds it, the reader makes it from anybody's text, the checker compares it with
 * ptx_isa.def, the writer prints it, the executor decodes it. Reader and writer are inverse:
 * read(write(m)) equals m, and write(read(text)) equals text for every text that the writer made.
 *
 * Everything lives in one arena owned by the caller and is freed with it. Indices are stable;
 * statements and pools only grow, except by pg_ptx_rollback. */
#ifndef PG_EMIT_PTX_H
#define PG_EMIT_PTX_H

#include "base/diag.h"
#include "base/map.h"
#include "base/vec.h"

typedef enum pg_ptx_type {
    PG_PTX_T_NONE,
#define T(id, text, bits, cls) PG_PTX_##id,
#include "emit/ptx_types.def"
    PG_PTX_T_COUNT
} pg_ptx_type;

typedef struct pg_ptx_type_info {
    const char *text;
    uint8_t bits;
    char cls; /* 'U' 'S' 'B' 'F' 'P' */
} pg_ptx_type_info;
extern const pg_ptx_type_info pg_ptx_type_infos[PG_PTX_T_COUNT];

typedef enum pg_ptx_space {
    PG_PTX_SP_NONE,
    PG_PTX_SP_REG,
    PG_PTX_SP_CONST,
    PG_PTX_SP_GLOBAL,
    PG_PTX_SP_LOCAL,
    PG_PTX_SP_PARAM,
    PG_PTX_SP_SHARED,
    PG_PTX_SP_COUNT
} pg_ptx_space;

/* ---- operands ---------------------------------------------------------------------------- */

typedef enum pg_ptx_opnd_kind {
    PG_PTX_O_NONE,
    PG_PTX_O_REG,   /* id: register of the function; flag NEG: !%p; flag MINUS never */
    PG_PTX_O_SREG,  /* id: pg_ptx_sreg; n: component 0..3 for .x .y .z .w, 255 without */
    PG_PTX_O_INT,   /* imm: the value, two's complement; flag UNSIGNED if written with U */
    PG_PTX_O_F32,   /* imm: bit pattern, written 0f........ */
    PG_PTX_O_F64,   /* imm: bit pattern, written 0d................ */
    PG_PTX_O_SYM,   /* id: module symbol (variable, function, parameter name); imm: + offset */
    PG_PTX_O_LABEL, /* id: label of the function */
    PG_PTX_O_ADDR,  /* [base + imm]: id: pool index of the base (REG, SYM, or INT) */
    PG_PTX_O_TADDR, /* [base, {c0, c1}, ...]: pool[id .. id+n): base address parts, then vectors */
    PG_PTX_O_VEC,   /* {a, b, ...}: pool[id .. id+n) */
    PG_PTX_O_LIST,  /* (a, b, ...) of a call: pool[id .. id+n) */
    PG_PTX_O_PAIR,  /* d|p: pool[id], pool[id+1] */
    PG_PTX_O_SINK   /* _ */
} pg_ptx_opnd_kind;

enum { PG_PTX_OF_NEG = 1, PG_PTX_OF_UNSIGNED = 2 };
enum { PG_PTX_MAX_NEST = 3 }; /* operands within operands: [base, {c0, c1}] is two */

typedef struct pg_ptx_opnd {
    uint8_t kind; /* pg_ptx_opnd_kind */
    uint8_t flags;
    uint16_t n;
    uint32_t id;
    int64_t imm;
} pg_ptx_opnd;

/* Special registers: one table in ptx_isa.c (%tid, %ntid, %laneid, %clock64, ...). */
typedef enum pg_ptx_sreg {
    PG_PTX_SREG_NONE,
#define SREG(id, ...) PG_PTX_SREG_##id,
#include "emit/ptx_sregs.def"
    PG_PTX_SREG_COUNT
} pg_ptx_sreg;

typedef struct pg_ptx_sreg_info {
    const char *text;     /* "%tid" */
    uint8_t n_components; /* 0: scalar; 3 or 4: .x .y .z (.w) */
    uint8_t type;         /* pg_ptx_type */
    uint16_t min_version; /* 80 = PTX ISA 8.0 */
    uint16_t min_sm;
} pg_ptx_sreg_info;
extern const pg_ptx_sreg_info pg_ptx_sreg_infos[PG_PTX_SREG_COUNT];

/* ---- statements -------------------------------------------------------------------------- */

typedef enum pg_ptx_stmt_kind {
    PG_PTX_S_INST,
    PG_PTX_S_LABEL,   /* id: label */
    PG_PTX_S_REGS,    /* declaration of registers: id: index into regdecls */
    PG_PTX_S_VAR,     /* declaration of a .local/.shared/.param variable: id: module symbol */
    PG_PTX_S_OPEN,    /* { */
    PG_PTX_S_CLOSE,   /* } */
    PG_PTX_S_COMMENT, /* text: a // line of its own, without the slashes' leading blank */
    PG_PTX_S_RAW /* text: .loc, .pragma, .file, .branchtargets, .callprototype ... kept as written
                  */
} pg_ptx_stmt_kind;

typedef struct pg_ptx_stmt {
    uint8_t kind;
    uint8_t n_ops;
    uint16_t row;      /* index into pg_isa_rows; 0 = not resolved or unknown */
    uint32_t id;       /* INST: of its spelling, where a builder made it; else as above */
    uint32_t ops;      /* pool index of the first operand */
    pg_ptx_opnd guard; /* NONE, or REG with or without NEG */
    pg_str text; /* INST: the whole opcode with modifiers, "ld.global.v4.f32"; others as above */
    pg_loc loc;  /* reader: where it stands in the text; lowering: line of the IR */
} pg_ptx_stmt;

typedef struct pg_ptx_remark { /* a comment behind a statement, on its line */
    uint32_t stmt;
    pg_str text;
} pg_ptx_remark;

typedef struct pg_ptx_reg {
    pg_str name;   /* with the % */
    uint8_t type;  /* pg_ptx_type as declared */
    uint32_t decl; /* index into regdecls */
} pg_ptx_reg;

/* `.reg .b32 %r<10>;` has base "%r" and count 10 and stands for %r0..%r9; else count 0 and one
 * name. */
typedef struct pg_ptx_regdecl {
    uint8_t type;
    pg_str base;
    uint32_t count;
    uint32_t first_reg; /* its registers are first_reg .. first_reg + max(count, 1) */
    bool same_line;     /* printed on the line of the declaration before: `.reg .b32 %a, %b;` */
} pg_ptx_regdecl;

/* ---- symbols: variables, functions, parameters --------------------------------------------- */

typedef enum pg_ptx_sym_kind { PG_PTX_SYM_VAR, PG_PTX_SYM_FUNC, PG_PTX_SYM_PARAM } pg_ptx_sym_kind;
enum { /* linkage and attributes of a symbol */
       PG_PTX_L_VISIBLE = 1,
       PG_PTX_L_EXTERN = 2,
       PG_PTX_L_WEAK = 4,
       PG_PTX_L_COMMON = 8
};

typedef struct pg_ptx_sym {
    uint8_t kind;  /* pg_ptx_sym_kind */
    uint8_t space; /* variables: pg_ptx_space */
    uint8_t type;  /* element type */
    uint8_t linkage;
    uint8_t vec;   /* 0, 2 or 4 for .v2 .v4 */
    bool is_array; /* written with [] or [n] */
    bool is_ptr;   /* parameter with .ptr; ptr_space, ptr_align say which */
    uint8_t ptr_space;
    uint32_t ptr_align;
    uint32_t align;   /* bytes; 0: natural */
    uint64_t n_elems; /* product of the extents; 0 for [] */
    pg_str name;
    pg_str dims;               /* "[12]" or "[2][3]" as written, for the writer */
    pg_str attributes;         /* ".attribute(.managed)" as written, empty without */
    pg_str init;               /* initialiser text as written, empty without */
    const uint8_t *init_bytes; /* decoded initialiser, n_elems * size bytes, or NULL */
    uint32_t func; /* function symbols: index into funcs; parameters: of which function */
    /* Relocations of initialisers with symbol names: pairs (byte offset, symbol). */
    const uint32_t *relocs;
    uint32_t n_relocs;
    pg_loc loc;
} pg_ptx_sym;

/* Statements [first, end) that one partition of the IR became. The text does not tell: the reader
 * makes none. */
typedef struct pg_ptx_part {
    pg_str name;
    uint32_t first, end;
    uint32_t n_warps;
    uint32_t inst; /* number of the partition's instruction in its kernel */
} pg_ptx_part;

enum { PG_PTX_NAME_ROOM = 16 };
typedef struct pg_ptx_func {
    uint32_t sym;
    bool is_entry, has_body;
    pg_vec_u32 params;     /* symbols, in order */
    pg_vec_u32 returns;    /* symbols: registers of a .func come as params of space REG */
    pg_vec_str directives; /* ".reqntid 384, 1, 1", ".minnctapersm 1", in order */
    PG_VEC(pg_ptx_stmt) body;
    PG_VEC(pg_ptx_remark) remarks; /* in order of statements; only the reader makes them */
    PG_VEC(pg_ptx_opnd) pool;
    PG_VEC(pg_ptx_reg) regs;
    bool has_roomy_names; /* PG_PTX_NAME_ROOM bytes from where a register's name begins are there */
    PG_VEC(pg_ptx_regdecl) regdecls;
    pg_vec_str labels;   /* names with the $; index = label id */
    pg_vec_u32 label_at; /* statement index of each label, UINT32_MAX if missing */
    PG_VEC(pg_str) lead; /* comment lines before the function */
    PG_VEC(pg_ptx_part) parts;
} pg_ptx_func;

/* What stands at module level, in order of the text. */
typedef enum pg_ptx_item_kind {
    PG_PTX_I_VAR,
    PG_PTX_I_FUNC,
    PG_PTX_I_COMMENT,
    PG_PTX_I_RAW
} pg_ptx_item_kind;
typedef struct pg_ptx_item {
    uint8_t kind;
    uint32_t id; /* symbol or function */
    pg_str text; /* COMMENT, RAW (.file, .section, ...) */
} pg_ptx_item;

typedef struct pg_ptx_module {
    pg_arena *arena;
    uint16_t version;      /* 80 = .version 8.0 */
    pg_str target;         /* "sm_90a" (the first target), further options in target_options */
    pg_str target_options; /* ", debug" as written */
    uint8_t address_size;  /* 64 */
    pg_vec_str header_comments;
    PG_VEC(pg_ptx_item) items;
    PG_VEC(pg_ptx_sym) syms; /* from 1 on */
    PG_VEC(pg_ptx_func *) funcs;
    struct pg_ptx_spellings *spellings; /* of the builders; may outlive the module */
} pg_ptx_module;

pg_ptx_module *pg_ptx_module_new(pg_arena *arena); /* NULL when out of memory */

/* ---- reader, writer, checker ---------------------------------------------------------------- */

/* Reads PTX text. All errors of the text come in one run (up to PG_MAX_DIAGS), each with line and
 * column. The module borrows nothing from `text`. Accepts newer .version lines than we write. An
 * opcode or form that ptx_isa.def lacks leaves row 0 and is no error here: pg_ptx_check names it.
 */
pg_status pg_ptx_read(pg_arena *arena, pg_str text, pg_diags *diags, pg_ptx_module **out);
/* Prints the module. */
void pg_ptx_write(pg_strbuf *out, const pg_ptx_module *m);
/* The same, and says for each line of the output (line_of->at[n - 1] for line n) the line in `loc`
 * of the statement that it came from, 0 without one. line_of grows in `arena`. Where `source` is
 * not empty, `.loc` and `.file` say it too: the name of what `loc` is a place in. ptxas takes
 * neither quotes nor letters beyond ASCII in a name; they become '_'. */
void pg_ptx_write_map(pg_strbuf *out, const pg_ptx_module *m, pg_arena *arena, pg_vec_u32 *line_of,
                      pg_str source);
/* Compares each statement with ptx_isa.def: unknown opcode or modifier, number and kinds of
 * operands, register types and widths, immediate ranges, version and target; undeclared names and
 * labels. */
pg_status pg_ptx_check(pg_ptx_module *m, pg_diags *diags);
/* Least .version (and at least the target's own floor) that holds everything used. */
uint16_t pg_ptx_min_version(const pg_ptx_module *m);

/* ---- building -------------------------------------------------------------------------------- */

typedef struct pg_ptx_literal { /* an opcode with modifiers, in an instruction of n_ops operands */
    pg_str text;
    uint32_t hash;
    uint32_t id;         /* from 1 on: pg_ptx_stmt.id of the instructions that are spelled so */
    uint16_t row, n_ops; /* row: of ptx_isa.def, 0 if none */
    uint16_t version;    /* that row and words ask for; 0: not looked at so far */
    bool asks_operands;  /* which operands there are may ask for more */
    struct pg_ptx_literal *next; /* of the same place in the table that it was entered in */
} pg_ptx_literal;

/* What was found out of spellings, for all modules that are built with it. It only grows: there are
 * as many as the code that builds has. */
enum { PG_PTX_SPELLINGS = 256 };
typedef struct pg_ptx_spellings {
    pg_arena *arena;
    PG_VEC(pg_ptx_literal *) at;                  /* by id, less 1 */
    pg_ptx_literal *by_address[PG_PTX_SPELLINGS]; /* literals of C */
    pg_ptx_literal *by_text[PG_PTX_SPELLINGS];    /* made at run time */
} pg_ptx_spellings;
pg_ptx_spellings *pg_ptx_spellings_new(pg_arena *arena); /* NULL when out of memory */

/* A cursor at the end of a function's body. Sticky: after a failure nothing is added; ask the arena
 * and diags. */
typedef struct pg_ptx_builder {
    pg_ptx_module *m;
    pg_ptx_func *f;
    pg_diags *diags;
    pg_loc loc;                          /* stamped on new statements */
    uint32_t n_by_class[PG_PTX_T_COUNT]; /* registers made so far, by type: numbers of names */
    uint32_t n_labels;
    bool is_failed;
    pg_ptx_literal none; /* where a spelling finds no memory */
} pg_ptx_builder;

uint32_t pg_ptx_sym_new(pg_ptx_module *m, pg_ptx_sym s); /* copies the name; 0 when out of memory */
pg_ptx_func *pg_ptx_func_new(pg_ptx_module *m, pg_str name, bool is_entry);
uint32_t pg_ptx_param_new(pg_ptx_module *m, pg_ptx_func *f, pg_str name, pg_ptx_type type,
                          uint64_t n_bytes_if_array, uint32_t align); /* symbol */
uint32_t pg_ptx_var_new(pg_ptx_module *m, pg_ptx_space space, pg_str name, pg_ptx_type type,
                        uint64_t n_elems, uint32_t align, uint8_t linkage);
void pg_ptx_builder_init(pg_ptx_builder *b, pg_ptx_module *m, pg_ptx_func *f, pg_diags *diags);
/* New register. pg_ptx_builder_finish gives it a name, which tells the type (%p %h %hb %r %rd %f
 * %fd) and number in order of creation, and makes the declarations: one line per class at the head
 * of the body. It also numbers the registers anew: operands that were made before are of no use
 * after it. */
pg_ptx_opnd pg_ptx_reg_new(pg_ptx_builder *b, pg_ptx_type type);
uint32_t pg_ptx_label_new(pg_ptx_builder *b,
                          const char *hint); /* "$L_<kernel>_<hint>_<n>", no hint: NULL */
void pg_ptx_label_here(pg_ptx_builder *b, uint32_t label);
/* Adds one instruction. `opcode` is the whole spelling, kept by pointer if it is a literal (is
 * copied otherwise by pg_ptx_inst_str). It must be in ptx_isa.def: else an internal error is
 * recorded. Returns the statement, or NULL. */
pg_ptx_stmt *pg_ptx_inst(pg_ptx_builder *b, const char *opcode, uint32_t n_ops,
                         const pg_ptx_opnd *ops);
/* What is known of a spelling that is a literal of C; of one made at run time, which is copied.
 * Never NULL, valid as long as the builder and its module's spellings. */
const pg_ptx_literal *pg_ptx_spell(pg_ptx_builder *b, const char *opcode, uint32_t n_ops);
const pg_ptx_literal *pg_ptx_spell_str(pg_ptx_builder *b, pg_str opcode, uint32_t n_ops);
/* Adds an instruction so spelled. */
pg_ptx_stmt *pg_ptx_inst_spelled(pg_ptx_builder *b, const pg_ptx_literal *l,
                                 const pg_ptx_opnd *ops);
/* The same, the first operand the register that it writes. */
pg_ptx_stmt *pg_ptx_inst_into(pg_ptx_builder *b, const pg_ptx_literal *l, uint32_t reg,
                              const pg_ptx_opnd *others);
/* For spellings made at run time: copies. */
pg_ptx_stmt *pg_ptx_inst_str(pg_ptx_builder *b, pg_str opcode_copied, uint32_t n_ops,
                             const pg_ptx_opnd *ops);
void pg_ptx_guard(pg_ptx_stmt *s_or_null, pg_ptx_opnd pred, bool negated);
void pg_ptx_comment(pg_ptx_builder *b, const char *format, ...)
    PG_PRINTF(2, 3); /* a line of its own */
void pg_ptx_builder_finish(pg_ptx_builder *b);

pg_ptx_opnd pg_ptx_int(int64_t x);
pg_ptx_opnd pg_ptx_f32(uint32_t bits);
pg_ptx_opnd pg_ptx_f64(uint64_t bits);
pg_ptx_opnd pg_ptx_sreg_opnd(pg_ptx_sreg id, int component_or_minus_1);
pg_ptx_opnd pg_ptx_sym_opnd(uint32_t sym, int64_t offset);
pg_ptx_opnd pg_ptx_label_opnd(uint32_t label);
pg_ptx_opnd pg_ptx_addr(pg_ptx_builder *b, pg_ptx_opnd base, int64_t offset);
pg_ptx_opnd pg_ptx_taddr(pg_ptx_builder *b, pg_ptx_opnd base, const pg_ptx_opnd *coords,
                         uint32_t n);
pg_ptx_opnd pg_ptx_vec(pg_ptx_builder *b, const pg_ptx_opnd *elems, uint32_t n);
pg_ptx_opnd pg_ptx_pair(pg_ptx_builder *b, pg_ptx_opnd d, pg_ptx_opnd p);
pg_ptx_opnd pg_ptx_sink(void);

/* Marks for optimistic lowering: everything added to the function after the mark is forgotten. */
typedef struct pg_ptx_mark {
    uint32_t n_body, n_pool, n_regs, n_labels, n_parts;
    uint32_t n_by_class[PG_PTX_T_COUNT];
} pg_ptx_mark;
pg_ptx_mark pg_ptx_mark_get(const pg_ptx_builder *b);
void pg_ptx_rollback(pg_ptx_builder *b, pg_ptx_mark mark);

/* ---- the instruction table --------------------------------------------------------------------
 */

/* ptx_isa.def, one row per form:
 *   ISA(id, opcode, modifiers, operands, version, sm, features, doc)
 *     id         PG_ISA_<id>, also the executor's dispatch
 *     opcode     first word: "add"
 *     modifiers  pattern of what follows: words in order; [x] optional, (a|b) choice, $N the type
 * that the pattern names (see ptx_isa.c's head for the grammar): "[.sat](.s32)",
 * ".(u16|u32|u64|s16|s32|s64):T" operands   "d:T, a:T, b:T" - role (d written, a b c read, m
 * memory, ...) and type or kind of each version    least PTX ISA version, 80 = 8.0      sm   least
 * compute capability, 90 = sm_90 features   flags: ARCH_A only on sm_XYa (with the sm column's),
 * ... doc        one sentence */
typedef enum pg_isa_id {
    PG_ISA_NONE,
#define ISA(id, ...) PG_ISA_##id,
#include "emit/ptx_isa.def"
    PG_ISA_COUNT
} pg_isa_id;

/* Targets: what `sm` alone does not say. */
enum {
    PG_ISA_ARCH_A = 1,     /* needs an a or f target (sm_90a, sm_100f) */
    PG_ISA_ONLY_90A = 2,   /* sm_90a and nothing else */
    PG_ISA_DATACENTER = 4, /* a or f targets of sm_100, 103, 110 */
    PG_ISA_CONSUMER = 8,   /* a or f targets of sm_120, 121 */
    PG_ISA_NOT_103 = 16,
    PG_ISA_ONLY_100_103 = 32, /* a or f targets of sm_100, 103 */
    PG_ISA_81_ON_89 = 64      /* on sm_89 from 8.1 on */
};

typedef struct pg_isa_row {
    const char *opcode, *modifiers, *operands;
    uint16_t min_version, min_sm;
    uint32_t features;
    const char *doc;
} pg_isa_row;
extern const pg_isa_row pg_isa_rows[PG_ISA_COUNT];

/* The row whose opcode and modifier pattern fit the spelling, PG_ISA_NONE if there is none. Total
 * order of rows of one opcode decides when several fit. Cost: a binary search and one scan of the
 * opcode's rows. */
pg_isa_id pg_isa_find(pg_str spelling);
/* The same, preferring a row that takes this number of operands (max with two or three inputs). */
pg_isa_id pg_isa_find_for(pg_str spelling, uint32_t n_ops);
/* The n-th modifier (0: first after the opcode) of a spelling, without the dot; empty past the end.
 */
pg_str pg_isa_modifier(pg_str spelling, uint32_t n);
/* Whether the word stands among the modifiers. */
bool pg_isa_has(pg_str spelling, const char *word);
/* The type bound to name 'T' (or 'U', ...) of the row's pattern in this spelling; NONE if unbound.
 */
pg_ptx_type pg_isa_type(pg_isa_id row, pg_str spelling, char name);
pg_ptx_type pg_ptx_type_of(pg_str text); /* "u32" without the dot; NONE if there is no such type */

#endif
