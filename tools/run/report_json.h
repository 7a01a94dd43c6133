/* report_json.h: what launches on the executor did, as JSON (docs/executor.md has the schema). */
#ifndef PG_RUN_REPORT_JSON_H
#define PG_RUN_REPORT_JSON_H

#include "tools/run/device.h"

/* Members of two JSON lists, filled while a launch runs. */
struct run_json {
    pg_strbuf messages; /* of loading the PTX */
    pg_strbuf launches; /* one for each entry and seed */
};

void run_json_init(run_json *j);
void run_json_fini(run_json *j);
void run_json_message(run_json *j, const ptxexec_diag *d);
void run_json_launch(run_json *j, const run_launch *l, const char *entry, uint64_t seed,
                     const ptxexec_report *r);
/* The whole text, to stdout. */
run_exit run_json_write(const run_msgs *m, const run_json *j, const char *file, run_exit exit);

#endif
