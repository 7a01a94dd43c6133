/* async.cuh: mbarriers, tensor copies and roles of warps, as functions. */
#ifndef PEER_ASYNC_H
#define PEER_ASYNC_H
#ifdef __CUDACC__

FN void mbar_init(u64 *b, u32 n) { asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(address(b)), "r"(n) : "memory"); }
FN void mbar_init_done(void) { asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory"); }
FN void mbar_expect(u64 *b, u32 bytes)
{
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(address(b)), "r"(bytes) : "memory");
}
FN void mbar_arrive(u64 *b) { asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(address(b)) : "memory"); }
FN void mbar_wait(u64 *b, u32 parity)
{
    asm volatile("{\n.reg .pred done;\nAGAIN:\nmbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
                 "@!done bra AGAIN;\n}" ::"r"(address(b)), "r"(parity)
                 : "memory");
}
FN u32 elect_one(void)
{
    u32 is_it;
    asm volatile("{\n.reg .pred p;\nelect.sync _|p, 0xFFFFFFFF;\nselp.u32 %0, 1, 0, p;\n}" : "=r"(is_it)::"memory");
    return is_it;
}
template <int N> FN void registers_up(void) { asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(N)); }
template <int N> FN void registers_down(void) { asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(N)); }

FN void tma_load2(void *to, const peer_map *map, u64 *b, s32 x, s32 y)
{
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];" ::
                     "r"(address(to)), "l"(map), "r"(x), "r"(y), "r"(address(b))
                 : "memory");
}
FN void tma_store2(const peer_map *map, const void *from, s32 x, s32 y)
{
    asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%0, {%1, %2}], [%3];" ::"l"(map), "r"(x), "r"(y),
                 "r"(address(from))
                 : "memory");
}
FN void tma_add2(const peer_map *map, const void *from, s32 x, s32 y)
{
    asm volatile("cp.reduce.async.bulk.tensor.2d.global.shared::cta.add.bulk_group [%0, {%1, %2}], [%3];" ::"l"(map), "r"(x),
                 "r"(y), "r"(address(from))
                 : "memory");
}
FN void bulk_commit(void) { asm volatile("cp.async.bulk.commit_group;" ::: "memory"); }
template <int N> FN void bulk_wait(void) { asm volatile("cp.async.bulk.wait_group %0;" ::"n"(N) : "memory"); }
template <int N> FN void bulk_wait_read(void) { asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(N) : "memory"); }
FN void bar_sync(u32 id, u32 n) { asm volatile("bar.sync %0, %1;" ::"r"(id), "r"(n) : "memory"); }
FN void bar_arrive(u32 id, u32 n) { asm volatile("bar.arrive %0, %1;" ::"r"(id), "r"(n) : "memory"); }
#endif
#endif
