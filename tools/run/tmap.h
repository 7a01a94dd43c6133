/* tmap.h: tensor maps of arrays: from what a user or a manifest says (outermost dimension first) to
 * the arguments of cuTensorMapEncodeTiled (innermost first). */
#ifndef PG_RUN_TMAP_H
#define PG_RUN_TMAP_H

#include "tools/exec/ptxexec.h"
#include "tools/run/npy.h"

/* The driver's number of an element type. 8-bit floats and booleans are copied as bytes; tf32 as
 * the f32 words that they are, since it is the matrix operation that drops bits. */
uint32_t run_tmap_type(run_dtype type);

/* The options of a `tmap:` argument behind its array:
 *     box=AxB [swizzle=none|32|64|128] [dtype=T] [oob=zero|nan] [interleave=none|16|32]
 *     [estride=AxB] [dims=AxB] [strides=SxS]
 * with ':' between them. The array says type and extents where they do not; it may have neither.
 * NULL, or what is wrong. Whether the driver would take it is checked where the map is made. */
const char *run_tmap_parse(pg_str text, const run_array *array, ptxexec_tensormap *out);

#endif
