#include "peer.h"
#include "hopper/codes.cuh"
#include "hopper/hopper.cuh"
/* Halves, both K-major, 128-byte rows. */
PEER_SM90A(4, 128, 4096, 7000, PEER_BITS, 16384)
#define T_M 100
#define T_N 70
#define T_K 150
#define T_TN 64
#define T_STEPS 4
#define T_BITS 16
#define T_CODE code_f16
#define T_OP (wg_f16<1, 1, 0, 0>)
#define T_SWA 128
#define T_SWB 128
#define T_TA 0
#define T_TB 0
#define T_ACC float
#define T_N_ACC 32
#define T_OUT(c, i) float_bits(c[i])
#define T_WANT want_float
#include "hopper/tile.cuh"
