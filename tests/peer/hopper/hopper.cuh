/* hopper.cuh: the instructions of sm_90a that the programs here use, as functions. */
#ifndef PEER_HOPPER_H
#define PEER_HOPPER_H
#ifdef __CUDACC__

FN u32 address(const void *p) { return (u32)__cvta_generic_to_shared(p); }
FN void wg_fence(void) { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
FN void wg_commit(void) { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
template <int N> FN void wg_wait(void) { asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(N) : "memory"); }
FN void async_fence(void) { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }
/* The compiler may not move what it does with these registers over this line. */
template <int N> FN void wg_hold(float (&c)[N])
{
    for (int i = 0; i < N; i++) {
        asm volatile("" : "+f"(c[i])::"memory");
    }
}
template <int N> FN void wg_hold(u32 (&c)[N])
{
    for (int i = 0; i < N; i++) {
        asm volatile("" : "+r"(c[i])::"memory");
    }
}
/* mode: 0 none, 1 128 bytes, 2 64, 3 32 */
FN u64 wg_desc(u32 start, u32 lbo, u32 sbo, u32 mode)
{
    return (u64)(start >> 4 & 0x3FFF) | (u64)(lbo >> 4) << 16 | (u64)(sbo >> 4) << 32 | (u64)mode << 62;
}

/* ---- products ----
 * WG(name, n, type, kind, of, flags) makes wg_NAME::from_shared<SA, SB, TA, TB>(c, a, b, is_adding), where a and b are
 * descriptors, and wg_NAME::from_registers, where a is four registers. n accumulators of that type (the letter of its operands: kind); flags says
 * which of the immediates the instruction takes: HALVES SA, SB and the major-nesses, FLOATS SA and SB, INTS none. */
#define WG_NAMES_4   "%0, %1, %2, %3"
#define WG_NAMES_16  WG_NAMES_4 \
    ", %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15"
#define WG_NAMES_32  WG_NAMES_16 \
    ", %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31"
#define WG_NAMES_64  WG_NAMES_32 \
    ", %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, %48, %49, " \
    "%50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63"
#define WG_NAMES_128 WG_NAMES_64 \
    ", %64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, %80, %81, " \
    "%82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95, %96, %97, %98, %99, " \
    "%100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, %111, %112, %113, %114, " \
    "%115, %116, %117, %118, %119, %120, %121, %122, %123, %124, %125, %126, %127"
#define WG_LIST_4(kind, i)   kind(c[i]), kind(c[i + 1]), kind(c[i + 2]), kind(c[i + 3])
#define WG_LIST_16(kind, i)  WG_LIST_4(kind, i), WG_LIST_4(kind, i + 4), WG_LIST_4(kind, i + 8), WG_LIST_4(kind, i + 12)
#define WG_LIST_32(kind, i)  WG_LIST_16(kind, i), WG_LIST_16(kind, i + 16)
#define WG_LIST_64(kind, i)  WG_LIST_32(kind, i), WG_LIST_32(kind, i + 32)
#define WG_LIST_128(kind, i) WG_LIST_64(kind, i), WG_LIST_64(kind, i + 64)
/* The numbers of the operands behind n accumulators: a, b, is_adding, SA, SB, TA, TB; a in four registers, b ... TB. */
#define WG_AFTER_4   "%4", "%5", "%6", "%7", "%8", "%9", "%10", "%11", "%12", "%13"
#define WG_AFTER_16  "%16", "%17", "%18", "%19", "%20", "%21", "%22", "%23", "%24", "%25"
#define WG_AFTER_32  "%32", "%33", "%34", "%35", "%36", "%37", "%38", "%39", "%40", "%41"
#define WG_AFTER_64  "%64", "%65", "%66", "%67", "%68", "%69", "%70", "%71", "%72", "%73"
#define WG_AFTER_128 "%128", "%129", "%130", "%131", "%132", "%133", "%134", "%135", "%136", "%137"
#define WG_SHARED_HALVES(sa, sb, ta, tb)    ", " sa ", " sb ", " ta ", " tb
#define WG_SHARED_FLOATS(sa, sb, ta, tb)    ", " sa ", " sb
#define WG_SHARED_INTS(sa, sb, ta, tb)      ""
#define WG_REGISTERS_HALVES(sa, sb, ta, tb) ", " sa ", " sb ", " tb
#define WG_REGISTERS_FLOATS(sa, sb, ta, tb) ", " sa ", " sb
#define WG_REGISTERS_INTS(sa, sb, ta, tb)   ""

#define WG_ASM(n, kind, of, operands, adding, flags, ...)                                                                 \
    asm volatile("{.reg .pred p; setp.ne.b32 p, " adding ", 0;\nwgmma.mma_async.sync.aligned." of " {" WG_NAMES_##n "}, " \
                 operands ", p" flags ";}"                                                                               \
                 : WG_LIST_##n(kind, 0)                                                                                  \
                 : __VA_ARGS__, "r"(is_adding), "n"(SA), "n"(SB), "n"(TA), "n"(TB)                                        \
                 : "memory")
#define WG_SHARED(n, kind, of, flags, a, b, p, sa, sb, ta, tb, ...) \
    WG_ASM(n, kind, of, a ", " b, p, WG_SHARED_##flags(sa, sb, ta, tb), "l"(da), "l"(db))
#define WG_REGISTERS(n, kind, of, flags, a0, a1, a2, a3, b, p, sa, sb, ta, tb)                                \
    WG_ASM(n, kind, of, "{" a0 ", " a1 ", " a2 ", " a3 "}, " b, p, WG_REGISTERS_##flags(sa, sb, ta, tb), "r"(ra[0]), \
           "r"(ra[1]), "r"(ra[2]), "r"(ra[3]), "l"(db))
#define WG_CALL(macro, ...) macro(__VA_ARGS__) /* takes lists apart */
#define WG(name, n, type, kind, of, flags)                                                                  \
    struct wg_##name {                                                                                      \
        typedef type acc;                                                                                   \
        enum { N_ACC = n };                                                                                 \
        template <int SA, int SB, int TA, int TB>                                                           \
        static __device__ __forceinline__ void from_shared(type (&c)[n], u64 da, u64 db, u32 is_adding)     \
        {                                                                                                   \
            WG_CALL(WG_SHARED, n, kind, of, flags, WG_AFTER_##n);                                           \
        }                                                                                                   \
        template <int SA, int SB, int TA, int TB>                                                           \
        static __device__ __forceinline__ void from_registers(type (&c)[n], const u32 (&ra)[4], u64 db,     \
                                                              u32 is_adding)                                \
        {                                                                                                   \
            WG_CALL(WG_REGISTERS, n, kind, of, flags, WG_AFTER_##n);                                        \
        }                                                                                                   \
    }
WG(f16, 32, float, "+f", "m64n64k16.f32.f16.f16", HALVES);
WG(f16_n8, 4, float, "+f", "m64n8k16.f32.f16.f16", HALVES);
WG(f16_n128, 64, float, "+f", "m64n128k16.f32.f16.f16", HALVES);
WG(f16_n256, 128, float, "+f", "m64n256k16.f32.f16.f16", HALVES);
WG(f16_half, 16, u32, "+r", "m64n64k16.f16.f16.f16", HALVES);
WG(bf16, 32, float, "+f", "m64n64k16.f32.bf16.bf16", HALVES);
WG(tf32, 32, float, "+f", "m64n64k8.f32.tf32.tf32", FLOATS);
WG(e4m3, 32, float, "+f", "m64n64k32.f32.e4m3.e4m3", FLOATS);
WG(e5m2, 32, float, "+f", "m64n64k32.f32.e5m2.e5m2", FLOATS);
WG(e4m3_e5m2, 32, float, "+f", "m64n64k32.f32.e4m3.e5m2", FLOATS);
WG(s8, 32, u32, "+r", "m64n64k32.s32.s8.s8", INTS);
WG(u8, 32, u32, "+r", "m64n64k32.s32.u8.u8", INTS);
WG(s8_u8, 32, u32, "+r", "m64n64k32.s32.s8.u8.satfinite", INTS);

#endif
#endif
