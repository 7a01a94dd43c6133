/* file.h: whole files in and out. A file is written under another name and renamed when complete,
 * so that no reader ever sees half of it. */
#ifndef PG_RUN_FILE_H
#define PG_RUN_FILE_H

#include "base/arena.h"
#include "base/strbuf.h"
#include "tools/run/message.h"

/* Text of a file, or of standard input for "-"; ends in NUL, lives in the arena. */
run_exit run_read_file(const run_msgs *m, pg_arena *a, const char *path, pg_str *out);

/* Are both there, and one file? */
bool run_is_same_file(const char *a, const char *b);

typedef struct run_file { /* to be written: head, then body */
    const char *path;     /* "-": standard output */
    pg_str head, body;
} run_file;

/* Writes all of them, or none: where one cannot be written, no file has changed. Devices and pipes
 * are written in place. */
run_exit run_write_files(const run_msgs *m, const run_file *files, size_t n);
/* One file. */
run_exit run_write_file(const run_msgs *m, const char *path, pg_str head, pg_str body);

#endif
