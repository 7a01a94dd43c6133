/* child.h: the vendor's tools as child processes: finding them, running them, reading what they
 * left. Starts no shell. Internal to tools/. */
#ifndef PTXASM_CHILD_H
#define PTXASM_CHILD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Path of a program, to be freed by the caller, or NULL: `path_or_null` itself if it can be
 * executed; else the first of this name in PATH; else the one that tools/deps installed, under this
 * variable of its environment file. */
char *child_find(const char *path_or_null, const char *name, const char *variable);

typedef enum child_end { CHILD_ENDED, CHILD_NOT_STARTED, CHILD_TIMEOUT } child_end;
/* Runs argv with nothing to read, stdout and stderr in the file `log`; state as waitpid gives it. A
 * timeout of 0 waits for ever. */
child_end child_run(const char *const *argv, const char *log, uint32_t timeout_ms, int *out_state);

/* Whole file, NUL-terminated, to be freed by the caller; NULL if it cannot be read. */
char *child_read_file(const char *path, size_t *out_size);
double child_now_ms(void);

#endif
