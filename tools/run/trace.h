/* trace.h: what the executor kept of a launch, in the Chrome trace format, which Perfetto shows. */
#ifndef PG_RUN_TRACE_H
#define PG_RUN_TRACE_H

#include "tools/exec/ptxexec.h"
#include "tools/run/message.h"

run_exit run_trace_write(const run_msgs *m, const char *path, const ptxexec_report *r);

#endif
