// What the compiler makes of half and bfloat arithmetic, conversions, matrix operations and inline PTX.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <mma.h>

__global__ void halves(__half2 *x, __nv_bfloat162 *y, float *z, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        x[i] = __hfma2(x[i], x[i], __float2half2_rn(0.5f));
        y[i] = __hadd2(y[i], __floats2bfloat162_rn(z[i], 1.0f));
        z[i] = tanhf(z[i]) + exp2f(z[i]) * rsqrtf(fabsf(z[i]) + 1.0f) + (float)(double)z[i] / 3.0f;
        atomicAdd(&x[0], x[i]);
    }
}

__global__ void fragments(const __half *a, const __half *b, float *c)
{
    using namespace nvcuda::wmma;
    fragment<matrix_a, 16, 16, 16, __half, row_major> fa;
    fragment<matrix_b, 16, 16, 16, __half, col_major> fb;
    fragment<accumulator, 16, 16, 16, float> fc;
    fill_fragment(fc, 0.0f);
    load_matrix_sync(fa, a, 16);
    load_matrix_sync(fb, b, 16);
    mma_sync(fc, fa, fb, fc);
    store_matrix_sync(c, fc, 16, mem_row_major);
}

__global__ void inlined(unsigned *p)
{
    unsigned lane;
    unsigned long long t;
    asm volatile("{ .reg .pred p; mov.u32 %0, %%laneid; setp.eq.u32 p, %0, 3; @p bra DONE; add.u32 %0, %0, 1; DONE: }"
                 : "=r"(lane));
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(t));
    p[threadIdx.x] = lane + (unsigned)t;
}
