/* cluster.cuh: what the CTAs of a cluster do together, as functions. Addresses of other CTAs are shared::cluster ones. */
#ifndef PEER_CLUSTER_H
#define PEER_CLUSTER_H
#ifdef __CUDACC__

FN u32 cluster_rank(void)
{
    u32 rank;
    asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    return rank;
}
FN void cluster_arrive(void) { asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory"); }
FN void cluster_wait(void) { asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory"); }
FN void cluster_sync(void)
{
    cluster_arrive();
    cluster_wait();
}
/* Where `p` of this CTA lies in CTA `rank`. */
FN u32 address_in(const void *p, u32 rank)
{
    u32 there;
    asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(address(p)), "r"(rank));
    return there;
}
FN u32 load_from(u32 there)
{
    u32 v;
    asm volatile("ld.shared::cluster.u32 %0, [%1];" : "=r"(v) : "r"(there) : "memory");
    return v;
}
FN void mbar_arrive_in(u64 *b, u32 rank)
{
    asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];" ::"r"(address_in(b, rank)) : "memory");
}
FN void mbar_wait_cluster(u64 *b, u32 parity)
{
    asm volatile("{\n.reg .pred done;\nAGAIN:\nmbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 done, [%0], %1;\n"
                 "@!done bra AGAIN;\n}" ::"r"(address(b)),
                 "r"(parity)
                 : "memory");
}
/* To the same place in each CTA of the mask, and to the barrier there. */
FN void tma_multicast2(void *to, const peer_map *map, u64 *b, u32 mask, s32 x, s32 y)
{
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%0], "
                 "[%1, {%2, %3}], [%4], %5;" ::"r"(address(to)),
                 "l"(map), "r"(x), "r"(y), "r"(address(b)), "h"((unsigned short)mask)
                 : "memory");
}
#endif
#endif
