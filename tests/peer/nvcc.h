/* nvcc.h: PTX of the peer programs by nvcc, kept in a folder under names that hold a hash of what
 * it was made from. */
#ifndef PEER_NVCC_H
#define PEER_NVCC_H

#include <stdbool.h>
#include <stddef.h>

typedef struct nvcc_job {
    const char *name; /* of the program: NAME.cu in the folder of sources */
    const char *arch; /* "sm_90a" */
    char ptx[4096];   /* out: the text; not there where nvcc failed */
} nvcc_job;

/* A path, or a name that PATH finds. */
bool nvcc_is_there(const char *nvcc);
/* Several at a time; what the folder of texts has already is left as it is. */
void nvcc_compile(const char *nvcc, const char *source_dir, const char *cache_dir, nvcc_job *jobs,
                  size_t n_jobs);

#endif
