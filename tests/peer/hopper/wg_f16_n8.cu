#include "peer.h"
#include "hopper/codes.cuh"
#include "hopper/hopper.cuh"
/* Tiles of 64 x 8. */
PEER_SM90A(2, 128, 4096, 960, PEER_BITS, 9216)
#define T_M 64
#define T_N 15
#define T_K 70
#define T_TN 8
#define T_STEPS 4
#define T_BITS 16
#define T_CODE code_f16
#define T_OP (wg_f16_n8<1, 1, 0, 0>)
#define T_SWA 128
#define T_SWB 128
#define T_TA 0
#define T_TB 0
#define T_ACC float
#define T_N_ACC 4
#define T_OUT(c, i) float_bits(c[i])
#define T_WANT want_float
#include "hopper/tile.cuh"
