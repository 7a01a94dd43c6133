#include "peer.h"
#include "hopper/codes.cuh"
#include "hopper/hopper.cuh"
#ifdef __CUDACC__
#include <cuda_fp16.h>
#endif
/* Accumulators of halves. */
PEER_SM90A(1, 128, 4096, 3200, PEER_BITS, 16384)
#define T_M 64
#define T_N 50
#define T_K 90
#define T_TN 64
#define T_STEPS 4
#define T_BITS 16
#define T_CODE code_f16
#define T_OP (wg_f16_f16<1, 1, 0, 0>)
#define T_SWA 128
#define T_SWB 128
#define T_TA 0
#define T_TB 0
#define T_ACC u32
#define T_N_ACC 16
#define T_OUT(c, i) float_bits(__half2float(__ushort_as_half((unsigned short)(c[i / 2] >> (16 * (i % 2))))))
#define T_WANT want_float
#include "hopper/tile.cuh"
