/* pipelines.c: the order of passes for each target. Read it top to bottom: this is the compiler. */
#include "sched/pass.h"

/* simplify before layouts: fewer tiles need a layout. Again after it: a value that was computed
 * once for each of two layouts may fold or be shared, and constants gained encodings. After
 * pipeline: addresses that only the loads of a loop used are dead there. */
static const char *const any_target[] = {"simplify", "layouts",  "simplify", "pipeline",
                                         "sync",     "simplify", NULL};

typedef struct pipeline_row {
    uint32_t least_sm;
    const char *const *passes;
} pipeline_row;

static const pipeline_row pipelines[] = {
    /* newest target first */
    {90, any_target},
    {0, any_target},
};

const char *const *pg_pipeline_of(uint32_t sm)
{
    for (size_t i = 0; i < PG_COUNT_OF(pipelines); i++) {
        if (sm >= pipelines[i].least_sm) {
            return pipelines[i].passes;
        }
    }
    return any_target;
}
