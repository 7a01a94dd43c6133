#include "peer.h"
#include "hopper/codes.cuh"
#include "hopper/hopper.cuh"
/* Halves without swizzle, A K-major, B MN-major. */
PEER_SM90A(3, 128, 4096, 8127, PEER_BITS, 8192)
#define T_M 129
#define T_N 63
#define T_K 35
#define T_TN 64
#define T_STEPS 2
#define T_BITS 16
#define T_CODE code_f16
#define T_OP (wg_f16<1, 1, 0, 1>)
#define T_SWA 0
#define T_SWB 0
#define T_TA 0
#define T_TB 1
#define T_ACC float
#define T_N_ACC 32
#define T_OUT(c, i) float_bits(c[i])
#define T_WANT want_float
#include "hopper/tile.cuh"
