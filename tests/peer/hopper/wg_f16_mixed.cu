#include "peer.h"
#include "hopper/codes.cuh"
#include "hopper/hopper.cuh"
/* Halves, A without swizzle MN-major, B in 128-byte rows. */
PEER_SM90A(2, 128, 4096, 4095, PEER_BITS, 16384)
#define T_M 63
#define T_N 65
#define T_K 65
#define T_TN 64
#define T_STEPS 4
#define T_BITS 16
#define T_CODE code_f16
#define T_OP (wg_f16<1, 1, 1, 0>)
#define T_SWA 0
#define T_SWB 128
#define T_TA 1
#define T_TB 0
#define T_ACC float
#define T_N_ACC 32
#define T_OUT(c, i) float_bits(c[i])
#define T_WANT want_float
#include "hopper/tile.cuh"
