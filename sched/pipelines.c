/* pipelines.c: the order of passes for each target. Read it top to bottom: this is the compiler. */
#include "sched/pass.h"

/* simplify before layouts: fewer tiles need a layout. Again after it: a value that was computed
 * once for each of two layouts may fold or be shared, and constants gained encodings. */
static const char *const PIPELINE_ANY[] = {"simplify", "layouts", "simplify", NULL};

typedef struct pipeline_row {
    uint32_t least_sm;
    const char *const *passes;
} pipeline_row;

static const pipeline_row PIPELINES[] = {
    /* newest target first */
    {90, PIPELINE_ANY},
    {0, PIPELINE_ANY},
};

const char *const *pg_pipeline_of(uint32_t sm)
{
    for (size_t i = 0; i < PG_COUNT_OF(PIPELINES); i++) {
        if (sm >= PIPELINES[i].least_sm) {
            return PIPELINES[i].passes;
        }
    }
    return PIPELINE_ANY;
}
