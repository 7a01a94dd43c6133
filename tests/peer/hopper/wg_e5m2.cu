#include "peer.h"
#include "hopper/codes.cuh"
#include "hopper/hopper.cuh"
/* 8-bit floats, e5m2, rows of 64 bytes and none. */
PEER_SM90A(2, 128, 4096, 4480, PEER_BITS, 8192)
#define T_M 64
#define T_N 70
#define T_K 130
#define T_TN 64
#define T_STEPS 2
#define T_BITS 8
#define T_CODE code_e5m2
#define T_OP (wg_e5m2<1, 1>)
#define T_SWA 64
#define T_SWB 0
#define T_TA 0
#define T_TB 0
#define T_ACC float
#define T_N_ACC 32
#define T_OUT(c, i) float_bits(c[i])
#define T_WANT want_float
#include "hopper/tile.cuh"
