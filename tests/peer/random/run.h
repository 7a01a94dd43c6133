/* run.h: what a file of random programs tells its runner. */
#ifndef PEER_RANDOM_RUN_H
#define PEER_RANDOM_RUN_H

typedef struct random_program {
    const char *name; /* of the kernel; NULL ends the list */
    void (*run)(const unsigned int *in, unsigned long long *out,
                unsigned int n_blocks); /* the same on the host */
    unsigned int n_threads, n_blocks, n_out;
} random_program;

#endif
