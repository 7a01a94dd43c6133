/* cluster.h: the CTAs of a cluster, which run together and share barriers, clocks and an end.
 * Without clusters each CTA is one. */
#ifndef PTXEXEC_CLUSTER_H
#define PTXEXEC_CLUSTER_H

#include "tools/exec/exec.h"

struct pe_cluster {
    pe_launch *launch;
    pe_worker *worker;
    uint64_t number; /* among the clusters of the launch */
    uint32_t n;      /* CTAs */
    pe_races *races; /* of all of them; NULL: not looked for */
    uint64_t rng;
    /* barrier.cluster */
    uint32_t n_arrived; /* threads */
    uint32_t n_phases;  /* over */
    /* see pe_cluster_run */
    uint64_t stuck_events;
    uint32_t n_time_outs;
    pe_cta ctas[];
};

pe_cluster *pe_cluster_new(pe_launch *l, pe_worker *worker, uint64_t number); /* NULL: no memory */
void pe_cluster_free(pe_cluster *c);
/* Runs until all is done or failed, or for `turns` rounds (0: no limit). True when there is nothing
 * left to run. */
bool pe_cluster_run(pe_cluster *c, uint32_t turns);
bool pe_cluster_failed(const pe_cluster *c);
/* Grid coordinates of one of its CTAs. */
void pe_cluster_place(const pe_launch *l, uint64_t number, uint32_t rank, uint32_t out[3]);
/* The barrier of the cluster may be complete. */
void pe_cluster_recheck(pe_cluster *c);
void pe_cluster_leave(const pe_warp *w, uint32_t mask); /* lanes exited */

#endif
