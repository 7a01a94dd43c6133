/* file.h: whole files in and out. A file is written under another name and renamed when complete,
 * so that no reader ever sees half of it. */
#ifndef PG_RUN_FILE_H
#define PG_RUN_FILE_H

#include "base/arena.h"
#include "base/strbuf.h"
#include "tools/run/message.h"

/* Text of a file, or of standard input for "-"; ends in NUL, lives in the arena. */
run_exit run_read_file(const run_msgs *m, pg_arena *a, const char *path, pg_str *out);
/* Writes a file, or standard output for "-". */
run_exit run_write_file(const run_msgs *m, const char *path, pg_str head, pg_str body);

#endif
