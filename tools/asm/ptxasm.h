/* ptxasm.h: runs ptxas as a child process and gives back what it said, as data.
 * Needs libc and POSIX only; starts no shell, reads no environment but PATH (to find ptxas).
 * Everything in a result belongs to it until ptxasm_result_free. Safe to use from several threads
 * at once. */
#ifndef PTXASM_H
#define PTXASM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum ptxasm_status {
    PTXASM_OK = 0,
    PTXASM_REJECTED, /* ptxas ran and found errors */
    PTXASM_NO_TOOL,  /* there is no ptxas, or it cannot be started */
    PTXASM_TIMEOUT,
    PTXASM_CRASHED, /* ptxas died, or failed without a message */
    PTXASM_IO,      /* temporary files could not be written or read */
    PTXASM_NO_MEMORY
} ptxasm_status;
const char *ptxasm_status_text(ptxasm_status s);

typedef struct ptxasm_options {
    const char *path;         /* ptxas; NULL: look for it as ptxasm_find does */
    const char *arch;         /* "sm_90a" */
    int opt_level;            /* 0..3; -1: ptxas's own default */
    bool want_cubin;          /* else the machine code is thrown away */
    uint32_t timeout_ms;      /* 0: none */
    const char *const *extra; /* further arguments */
    size_t n_extra;
} ptxasm_options;
/* { .opt_level = -1 } and zeros; arch must be set. */
ptxasm_options ptxasm_options_default(const char *arch);

/* As ptxas says it; only the last two make it fail. */
typedef enum ptxasm_severity {
    PTXASM_INFO,
    PTXASM_WARNING,
    PTXASM_ERROR,
    PTXASM_FATAL
} ptxasm_severity;

typedef struct ptxasm_message {
    ptxasm_severity severity;
    uint32_t line; /* of the PTX text; 0: none */
    char code[8];  /* "C7508", or "" */
    char *text;
} ptxasm_message;

/* One `Compiling entry function` or `Function properties` block. */
typedef struct ptxasm_entry {
    char *name;
    bool is_entry;
    uint32_t registers, barriers;
    uint32_t stack, spill_stores, spill_loads; /* bytes */
    uint32_t smem, cmem;                       /* bytes; static shared, constant bank 0 */
    double compile_ms;                         /* 0 when ptxas does not say */
} ptxasm_entry;

typedef struct ptxasm_result {
    ptxasm_status status;
    int exit_code;
    ptxasm_message *messages; /* errors, warnings and infos with a code, in order */
    size_t n_messages;
    ptxasm_entry *entries;
    size_t n_entries;
    unsigned char *cubin;
    size_t cubin_size;
    char *output; /* all that ptxas wrote, NUL-terminated */
    double wall_ms;
} ptxasm_result;

/* Path of ptxas, to be freed by the caller, or NULL: `path_or_null` itself if it can be executed;
 * else the first in PATH; else the one that tools/deps installed beside the sources. */
char *ptxasm_find(const char *path_or_null);
/* "13.0.88" of the tool, to be freed by the caller, or NULL. */
char *ptxasm_version(const char *path);

/* Assembles the text. *out is always filled; free it whatever the status. */
ptxasm_status ptxasm_run(const ptxasm_options *opt, const char *ptx, size_t size,
                         ptxasm_result *out);
void ptxasm_result_free(ptxasm_result *r);

/* Parses what ptxas wrote to stderr; ptxasm_run does it, tests do it alone. False when memory runs
 * out. */
bool ptxasm_parse(const char *text, ptxasm_result *out);

/* IR line of a PTX line by the map that pg_ptx_write_map makes; 0 if unknown. A message that ptxas
 * puts a line late (a missing `;`) finds the last line before it that has one. */
uint32_t ptxasm_source_line(const uint32_t *line_of, size_t n_lines, uint32_t ptx_line);

#endif
