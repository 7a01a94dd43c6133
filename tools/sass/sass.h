/* sass.h: what a cubin holds: registers, shared memory, barriers and stack from the ELF file
 * itself, instructions from the vendor's disassembler as a child process, where there is one.
 * Memory comes from the caller's arena. */
#ifndef PG_SASS_H
#define PG_SASS_H

#include "base/arena.h"

/* Classes of instructions, in the order of kinds.def, and what is in no row. */
enum {
#define NAME(word)        +1
#define KIND(name, words) +1
    SASS_OTHER = 0
#include "tools/sass/kinds.def"
    ,
    SASS_CLASS_COUNT
};
const char *sass_class_name(uint32_t which);

typedef struct sass_counts {
    uint32_t n;
    uint32_t by_class[SASS_CLASS_COUNT];
} sass_counts;

typedef struct sass_kernel {
    pg_str name;
    uint32_t registers, barriers, stack, shared; /* bytes of static shared memory */
    uint32_t code_bytes;                         /* with the assembler's filling */
    /* from the disassembler: */
    bool is_listed;
    sass_counts all;
    /* The innermost loop with matrix instructions; without any, with FFMA, else with global loads.
     */
    sass_counts loop;
    uint32_t spill_stores, spill_loads; /* bytes of local memory that its instructions access */
} sass_kernel;

typedef struct sass_file {
    uint32_t sm; /* 80, 90, ... */
    uint32_t n;
    sass_kernel *kernels;
} sass_file;

/* The functions of a cubin, in the order of its symbols. What is wrong with it, or NULL. */
const char *sass_read_cubin(pg_arena *a, pg_str bytes, sass_file *out);

/* Counts the instructions in what nvdisasm -c or cuobjdump -sass printed. False: memory ran out. */
bool sass_read_listing(pg_arena *a, pg_str text, sass_file *file);

typedef enum sass_status { SASS_OK, SASS_NO_TOOL, SASS_FAILED, SASS_NO_MEMORY } sass_status;
/* Runs the disassembler on the file of this path, and reads what it prints; tool_or_null as in
 * ptxasm_find. On SASS_FAILED *why holds what it said. */
sass_status sass_disassemble(pg_arena *a, const char *path, const char *tool_or_null,
                             sass_file *file, const char **why);

#endif
