/* report_json.h: what launches on the executor did, as JSON (docs/executor.md has the schema). */
#ifndef PG_RUN_REPORT_JSON_H
#define PG_RUN_REPORT_JSON_H

#include "tools/run/device.h"

/* Members of JSON lists, filled while a launch runs. */
struct run_json {
    bool is_job;        /* of a kernel that was compiled here: outputs and device too */
    const char *device; /* where it ran; NULL: nowhere yet */
    pg_strbuf messages; /* of loading the PTX; of a job all but faults */
    pg_strbuf launches; /* one for each entry and seed */
    pg_strbuf outputs;  /* of a job: arrays that were compared */
};

/* What comparing one array found: the element that comes closest to its limit, or is farthest
 * beyond. */
typedef struct run_verdict {
    const char *name, *type;
    uint64_t n, n_wrong, at;
    double value, expected, error, bound; /* of the element */
} run_verdict;

void run_json_init(run_json *j);
void run_json_fini(run_json *j);
void run_json_message(run_json *j, const ptxexec_diag *d);
void run_json_note(run_json *j, const run_note *note);
void run_json_output(run_json *j, const run_verdict *v);
void run_json_launch(run_json *j, const run_launch *l, const char *entry, uint64_t seed,
                     const ptxexec_report *r);
/* "key": value */
void run_json_text(pg_strbuf *out, const char *key, const char *text);
void run_json_number(pg_strbuf *out, const char *key, uint64_t x);
/* The whole text, to stdout. */
run_exit run_json_write(const run_msgs *m, const run_json *j, const char *file, run_exit exit);

#endif
