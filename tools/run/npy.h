/* npy.h: arrays in files, as NumPy writes them (format versions 1 to 3). */
#ifndef PG_RUN_NPY_H
#define PG_RUN_NPY_H

#include "tools/run/dtype.h"
#include "tools/run/file.h"

#define RUN_MAX_RANK 32

typedef struct run_array {
    run_dtype type;
    uint32_t rank;
    uint64_t shape[RUN_MAX_RANK]; /* outermost first */
    uint64_t n_elems, n_bytes;
    void *data; /* row-major, little-endian */
} run_array;

/* Product of the extents and its bytes; false when they do not fit into memory. */
bool run_array_sizes(run_array *a);
/* Reads a file into the arena. Big-endian and Fortran-ordered files are turned to row-major
 * little-endian. Fails with RUN_INPUT on anything that is not a whole .npy file of plain numbers.
 */
run_exit run_npy_read(const run_msgs *m, pg_arena *arena, const char *path, run_array *out);
/* The same from bytes; `path` is for messages. */
run_exit run_npy_parse(const run_msgs *m, pg_arena *arena, const char *path, pg_str bytes,
                       run_array *out);
/* Gives the elements another type of the same width; false if widths differ. */
bool run_array_retype(run_array *a, run_dtype type);
/* Adds the file of an array to those of a run_write_files; the header lives in the arena, the
 * elements stay where they are. */
run_exit run_npy_file(const run_msgs *m, pg_arena *arena, const char *path, const run_array *a,
                      run_file *out);
/* The header alone, magic included: 64-byte multiple. */
void run_npy_header(pg_strbuf *out, const run_array *a);

#endif
