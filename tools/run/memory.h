/* memory.h: how much memory this process can have, so that a run that cannot fit says so before it
 * asks for any. A system that promises more than it has would end the process in the middle. */
#ifndef PG_RUN_MEMORY_H
#define PG_RUN_MEMORY_H

#include "tools/run/message.h"

/* The least of what the machine has left and of the limits of the process and its control groups;
 * UINT64_MAX where the system tells nothing. Never less than what can be had: memory that others
 * only borrow counts as free. */
uint64_t run_memory_free(void);
/* *sum += n * times; UINT64_MAX where that is more. */
void run_memory_add(uint64_t *sum, uint64_t n, uint64_t times);
/* Refuses a run that needs more than there is; `arrays` is what the arrays alone have. Bytes. */
run_exit run_memory_check(const run_msgs *m, const char *file, uint64_t arrays, uint64_t need);

#endif
