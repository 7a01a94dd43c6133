#include "peer.h"
#include "hopper/codes.cuh"
#include "hopper/hopper.cuh"
/* Tiles of 64 x 128, B MN-major: two blocks of columns. */
PEER_SM90A(4, 128, 4096, 14000, PEER_BITS, 24576)
#define T_M 70
#define T_N 200
#define T_K 60
#define T_TN 128
#define T_STEPS 4
#define T_BITS 16
#define T_CODE code_f16
#define T_OP (wg_f16_n128<1, 1, 0, 1>)
#define T_SWA 128
#define T_SWB 128
#define T_TA 0
#define T_TB 1
#define T_ACC float
#define T_N_ACC 64
#define T_OUT(c, i) float_bits(c[i])
#define T_WANT want_float
#include "hopper/tile.cuh"
