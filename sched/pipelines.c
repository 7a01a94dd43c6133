/* pipelines.c: the order of passes for each target. Read it top to bottom: this is the compiler. */
#include "sched/pass.h"

/* simplify before layouts: fewer tiles need a layout. Again after it: a value that was computed
 * once for each of two layouts may fold or be shared, and constants gained encodings. order before
 * pipeline: it looks at accesses as the author wrote them, before loads run ahead. After pipeline:
 * addresses that only the loads of a loop used are dead there. */
static const char any_target[] = "simplify,layouts,simplify,order,pipeline,sync,simplify";

typedef struct pipeline_row {
    uint32_t least_sm;
    const char *passes;
} pipeline_row;

static const pipeline_row pipelines[] = {
    /* newest target first */
    {90, any_target},
    {0, any_target},
};

const char *pg_pipeline_of(uint32_t sm)
{
    for (size_t i = 0; i < PG_COUNT_OF(pipelines); i++) {
        if (sm >= pipelines[i].least_sm) {
            return pipelines[i].passes;
        }
    }
    return any_target;
}
